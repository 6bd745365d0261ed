// System configuration: what the NodeSLO says of the machine's memory reclaim and scheduler, as kernel
// settings of the whole node. What nobody says any more goes back to what was found.
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "framework/qos/plugin.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::koordlet {

namespace system_config {
namespace {

using host::Knob;

constexpr std::string_view kReason = "systemConfig reconcile";  // upstream's, in the audit
constexpr std::string_view kSaid = "the NodeSLO's systemStrategy";
constexpr std::int64_t kParts = 10'000;  // of the node's memory
constexpr std::int64_t kAny = INT64_MAX;

/// A setting: its file and what the kernel, or upstream, takes.
struct Setting {
  std::optional<std::int64_t> api::SystemStrategy::*field;
  Knob knob;
  std::string_view file;
  std::int64_t least, most;
};
constexpr Setting kSettings[] = {
    {&api::SystemStrategy::watermark_scale_factor, Knob::proc_sys, "vm/watermark_scale_factor", 10, 400},
    {&api::SystemStrategy::memcg_reap_back_ground, Knob::sys, "kernel/mm/memcg_reaper/reap_background", 0, 1},
    {&api::SystemStrategy::sched_group_identity_enabled, Knob::proc_sys,
     "kernel/sched_group_identity_enabled", 0, 1},
    {&api::SystemStrategy::sched_idle_saver_wmark, Knob::proc_sys, "kernel/sched_idle_saver_wmark", 0, kAny},
    {&api::SystemStrategy::page_cache_limit_enabled, Knob::sys, "kernel/mm/pagecache_limit/enabled", 0, 1},
};
constexpr std::string_view kMinFree = "vm/min_free_kbytes";
constexpr std::int64_t kLeastFree = 10 << 10, kMostFree = 10 << 20;  // KiB

class SystemConfig final : public Strategy {
 public:
  explicit SystemConfig(const PluginContext&) {}
  StrategyStatus status() const override { return status_; }
  void release(const Inventory&, Plan&) override { status_ = {false, "off: no NodeSLO, or its gate is off"}; }

  void plan(const TickView& view, Plan& plan) override {
    const api::SystemStrategy* slo = view.inventory->slo->system_strategy.get();
    const std::int64_t kib = view.inventory->node.capacity_memory >> 10;
    said_ = refused_ = 0;
    if (slo != nullptr && kib <= 0) {
      status_ = {false, "waiting: the node's memory is not known"};
      return plan.hold();
    }
    if (slo != nullptr) {
      if (slo->min_free_kbytes_factor)
        want(plan, Knob::proc_sys, kMinFree, min_free(kib, *slo->min_free_kbytes_factor), kLeastFree,
             kMostFree);
      for (const Setting& setting : kSettings)
        if (const auto& value = slo->*setting.field)
          want(plan, setting.knob, setting.file, *value, setting.least, setting.most);
      for (const auto& [name, on] : slo->sched_features)
        if (Intent* const intent = want(plan, Knob::sched_feature, {}, on ? 1 : 0, 0, 1))
          intent->key = name.view();
    }
    status_.active = said_ > 0;
    status_.summary.clear();
    const auto summary = std::back_inserter(status_.summary);
    fmt::format_to(summary, "{} settings of the kernel", said_);
    if (refused_ > 0) fmt::format_to(summary, ", {} out of range", refused_);
  }

 private:
  static std::int64_t min_free(std::int64_t kib, std::int64_t factor) {
    return factor <= 0 || factor > kParts ? 0 : kib * factor / kParts;
  }
  /// What is out of range is not wanted, neither written nor cut: null.
  Intent* want(Plan& plan, Knob knob, std::string_view file, std::int64_t value, std::int64_t least,
               std::int64_t most) {
    if (value < least || value > most) {
      ++refused_;
      return nullptr;
    }
    ++said_;
    Intent& intent = plan.want(knob, file, value, kSaid);
    intent.audit_reason = kReason;
    return &intent;
  }

  StrategyStatus status_;
  int said_ = 0, refused_ = 0;
};

constexpr std::string_view kGates[] = {"SystemConfig"};

}  // namespace
}  // namespace system_config

extern const StrategyEntry kSystemConfig{
    .name = "SystemConfig",
    .gates = system_config::kGates,
    .interval = "reconcile-interval-seconds",
    .make = &make<system_config::SystemConfig>,
};

}  // namespace koord::koordlet
