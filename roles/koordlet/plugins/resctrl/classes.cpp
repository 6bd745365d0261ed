// Resctrl by class: the pods of LSE and LSR, of LS and of BE share a part of the last-level caches and of the
// memory's bandwidth each, as the NodeSLO's resctrlQOS has it.
#include "plugins/resctrl/classes.hpp"

#include <fmt/format.h>

#include <iterator>
#include <memory>
#include <optional>
#include <string>

#include "framework/qos/plugin.hpp"
#include "framework/resctrl/resctrl_groups.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "plugins/resctrl/parts.hpp"

namespace koord::koordlet {

namespace resctrl {

std::size_t class_of(const PodInfo& pod) {
  switch (api::with_default(pod.qos, pod.kube_qos)) {
    case Qos::lse:
    case Qos::lsr: return 0;
    case Qos::ls: return 1;
    case Qos::be: return kBe;
    case Qos::none:
    case Qos::system: break;
  }
  return kClassGroups.size();
}

namespace {

constexpr std::string_view kGate = "RdtResctrl", kCounting = "ResctrlCollector", kHookGate = "Resctrl";
constexpr std::string_view kReason = "resctrlQOS of its class";

class Classes final : public Strategy {
 public:
  explicit Classes(const PluginContext& context)
      : context_(context),
        divides_(context.gates.enabled(kGate)),
        counts_(context.gates.enabled(kCounting) && context.is_set("enable-resctrl-collector")),
        hook_(context.gates.enabled(kHookGate)) {}

  StrategyStatus status() const override { return status_; }
  void release(const Inventory&, Plan&) override { status_ = {false, "off: its gate is"}; }
  bool look(const TickView&) override { return info() != info_; }

  void plan(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    if (!inventory.pods_known) {
      status_ = {false, "waiting for the node's pods: what is in force stays so"};
      return plan.hold();
    }
    info_ = info();
    std::size_t groups = 0, values = plan.intents().size();
    for (std::size_t i = 0; i < kClassGroups.size(); ++i) {
      const api::ResctrlQosConfig* const said = said_of(inventory, i);
      const bool divided = divides_ && said != nullptr && said->enable.value_or(false);
      if (!divided && !(counts_ && info_ && (info_->occupancy || info_->local_bytes || info_->total_bytes)))
        continue;
      const std::string_view name = kClassGroups.at(i);
      plan.share({fmt::format("{}{}", divided ? "" : kCountedBelow, name), pods_of(inventory, i)});
      ++groups;
      if (!divided) continue;
      wanted_ = true;
      if (info_) want_parts(plan, name, *said);
    }
    values = plan.intents().size() - values;
    status_.active = groups > 0;
    status_.summary.clear();
    const auto to = std::back_inserter(status_.summary);
    if (groups == 0)
      fmt::format_to(to, "off: no class has resctrlQOS enabled");
    else if (!info_)
      fmt::format_to(to, "caches cannot be divided here: {}", context_.resctrl->absent());
    else
      fmt::format_to(to, "{} groups, {} parts of caches and bandwidth", groups, values);
    if (wanted_ && info_) tell_once();
  }

 private:
  std::shared_ptr<const host::ResctrlInfo> info() const {
    return context_.resctrl != nullptr ? context_.resctrl->info() : nullptr;
  }

  static const api::ResctrlQosConfig* said_of(const Inventory& inventory, std::size_t i) {
    const api::ResourceQosStrategy* const slo =
        inventory.slo ? inventory.slo->resource_qos_strategy.get() : nullptr;
    if (slo == nullptr) return nullptr;
    const api::ResourceQos* const one = (i == 0     ? slo->lsr_class
                                         : i == kBe ? slo->be_class
                                                    : slo->ls_class)
                                            .get();
    return one != nullptr ? one->resctrl_qos.get() : nullptr;
  }

  std::vector<std::string> pods_of(const Inventory& inventory, std::size_t i) const {
    std::vector<std::string> groups;
    for (const auto& pod : inventory.all_pods)
      if (class_of(*pod) == i && !pod->group.empty() && !(hook_ && has_own_parts(*pod)))
        groups.push_back(pod->group);
    return groups;
  }

  void want_parts(Plan& plan, std::string_view group, const api::ResctrlQosConfig& said) {
    const Range range{said.cat_range_start_percent.value_or(0), said.cat_range_end_percent.value_or(0)};
    if (said.cat_range_start_percent && said.cat_range_end_percent) {
      if (is_range(range)) {
        if (!info_->caches.empty())
          for (const int id : info_->caches.front().ids) want_cache(plan, *info_, group, id, range, kReason);
      } else {
        tell(group,
             fmt::format("catRangeStartPercent {} and catRangeEndPercent {}: expected 0 <= start < end "
                         "<= 100",
                         range.start, range.end));
      }
    }
    if (!said.mba_percent) return;
    if (*said.mba_percent <= 0 || *said.mba_percent > 100)
      return tell(group, fmt::format("mbaPercent {}: expected one from 1 to 100", *said.mba_percent));
    if (!info_->bandwidth) return;
    for (const int id : info_->bandwidth->ids)
      want_bandwidth(plan, *info_->bandwidth, group, id, *said.mba_percent, kReason);
  }

  /// What the NodeSLO says and makes no sense: until it says something else.
  void tell(std::string_view group, std::string what) {
    if (std::string& said = group == kClassGroups[0]     ? said_[0]
                            : group == kClassGroups[kBe] ? said_[2]
                                                         : said_[1];
        said != what) {
      said = std::move(what);
      context_.log.warn("a class' resctrlQOS is not applied", kv("class", group), kv("why", said));
    }
  }

  /// What this machine cannot.
  void tell_once() {
    if (std::exchange(told_, true)) return;
    if (info_->caches.empty())
      context_.log.info("the last-level cache cannot be divided here (there is no CAT): only bandwidth is");
    if (!info_->bandwidth)
      context_.log.info("the memory's bandwidth cannot be divided here (there is no MBA): only caches are");
    else if (info_->bandwidth->scale == host::BandwidthScale::megabytes)
      context_.log.info(
          "resctrl is mounted with mba_MBps: what a percentage of the bandwidth is nobody can tell, and it "
          "stays undivided");
  }

  const PluginContext& context_;
  bool divides_, counts_, hook_;
  std::shared_ptr<const host::ResctrlInfo> info_;
  bool wanted_ = false, told_ = false;
  std::array<std::string, 3> said_;
  StrategyStatus status_;
};

constexpr std::string_view kGates[] = {"RdtResctrl", "ResctrlCollector"};

}  // namespace
}  // namespace resctrl

extern const StrategyEntry kRdtResctrl{
    .name = "RdtResctrl",
    .gates = resctrl::kGates,
    .interval = "reconcile-interval-seconds",
    .replan = Replan::on_change,
    .cache_groups = true,
    .make = &make<resctrl::Classes>,
};

}  // namespace koord::koordlet
