// Resctrl by pod: one that says what it shall have of caches and bandwidth has a group of its own, which goes
// with it.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "framework/qos/plugin.hpp"
#include "framework/resctrl/pod_groups.hpp"
#include "framework/resctrl/resctrl_groups.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "plugins/resctrl/classes.hpp"
#include "plugins/resctrl/parts.hpp"
#include "plugins/resctrl/terms.hpp"

namespace koord::koordlet {

namespace resctrl {
namespace {

constexpr std::string_view kReason = "node.koordinator.sh/resctrl of the pod";

template <class Part>
const Part* find(const std::vector<Part>& parts, int id) {
  const auto it = std::ranges::find(parts, id, &Part::cache_id);
  return it == parts.end() ? nullptr : &*it;
}

/// Best-effort pods have at most what their class has: what they say is their author's word.
struct Bound {
  std::optional<Range> range;
  std::optional<std::int64_t> percent;
};

Range within(Range range, const std::optional<Range>& bound) {
  if (!bound) return range;
  const Range both{std::max(range.start, bound->start), std::min(range.end, bound->end)};
  return is_range(both) ? both : *bound;
}

class Pods final : public Strategy {
 public:
  explicit Pods(const PluginContext& context) : context_(context) {}

  StrategyStatus status() const override { return status_; }
  void release(const Inventory&, Plan&) override { status_ = {false, "off: its gate is"}; }
  bool look(const TickView&) override { return info() != info_; }

  void plan(const TickView& view, Plan& plan) override {
    const Inventory& inventory = *view.inventory;
    if (!inventory.pods_known) {
      status_ = {false, "waiting for the node's pods: what is in force stays so"};
      return plan.hold();
    }
    if (!inventory.slo && !inventory.slo_known) {
      status_ = {false, "waiting for the NodeSLO: what is in force stays so"};
      return plan.hold();
    }
    info_ = info();
    const Bound best_effort = bound_of(inventory);
    std::size_t pods = 0;
    std::set<std::string> told;
    for (const auto& pod : inventory.all_pods) {
      if (!has_own_parts(*pod) || pod->group.empty()) continue;
      const api::PodResctrl* const said = pod->terms.find<api::PodResctrl>();
      ++pods;
      std::string group = pod_group(pod->uid);
      if (info_) want(plan, *pod, *said, group, class_of(*pod) == kBe ? best_effort : Bound{}, told);
      const std::size_t of = class_of(*pod);
      plan.share({std::move(group),
                  {pod->group},
                  std::string(of < kClassGroups.size() ? kClassGroups.at(of) : std::string_view())});
    }
    told_ = std::move(told);
    status_.active = pods > 0;
    status_.summary.clear();
    const auto to = std::back_inserter(status_.summary);
    if (pods > 0 && !info_)
      fmt::format_to(to, "caches cannot be divided here: {}", context_.resctrl->absent());
    else
      fmt::format_to(to, "{} pods with parts of their own", pods);
  }

 private:
  std::shared_ptr<const host::ResctrlInfo> info() const {
    return context_.resctrl != nullptr ? context_.resctrl->info() : nullptr;
  }

  static Bound bound_of(const Inventory& inventory) {
    const api::ResourceQosStrategy* const slo =
        inventory.slo ? inventory.slo->resource_qos_strategy.get() : nullptr;
    const api::ResourceQos* const be = slo != nullptr ? slo->be_class.get() : nullptr;
    const api::ResctrlQosConfig* const said = be != nullptr ? be->resctrl_qos.get() : nullptr;
    Bound bound;
    if (said == nullptr || !said->enable.value_or(false)) return bound;
    const Range range{said->cat_range_start_percent.value_or(0), said->cat_range_end_percent.value_or(0)};
    if (is_range(range)) bound.range = range;
    if (said->mba_percent && *said->mba_percent > 0 && *said->mba_percent <= 100)
      bound.percent = *said->mba_percent;
    return bound;
  }

  void want(Plan& plan, const PodInfo& pod, const api::PodResctrl& said, std::string_view group,
            const Bound& bound, std::set<std::string>& told) const {
    const std::vector<int> none;
    const std::vector<int>& caches = info_->caches.empty() ? none : info_->caches.front().ids;
    const std::vector<int>& paths = info_->bandwidth ? info_->bandwidth->ids : none;
    for (const int id : caches) {
      const auto* const own = find(said.llc.schemata_per_cache, id);
      const auto& range = own != nullptr && !own->range.empty() ? own->range : said.llc.schemata.range;
      if (!range.empty())
        want_cache(plan, *info_, group, id, within({range[0], range[1]}, bound.range), kReason);
      else if (bound.range)
        want_cache(plan, *info_, group, id, *bound.range, kReason);
    }
    for (const int id : paths) {
      const auto* const own = find(said.mb.schemata_per_cache, id);
      auto percent = own != nullptr && own->percent ? own->percent : said.mb.schemata.percent;
      if (bound.percent) percent = std::min(percent.value_or(*bound.percent), *bound.percent);
      if (percent) want_bandwidth(plan, *info_->bandwidth, group, id, *percent, kReason);
    }
    name_missing(pod, said.llc, caches, "llc", told);
    name_missing(pod, said.mb, paths, "mb", told);
  }

  /// Caches that the pod names and this machine has not: once.
  void name_missing(const PodInfo& pod, const api::ResctrlParts& parts, const std::vector<int>& ids,
                    std::string_view what, std::set<std::string>& told) const {
    for (const api::ResctrlPartOfCache& part : parts.schemata_per_cache) {
      if (std::ranges::find(ids, part.cache_id) != ids.end()) continue;
      std::string key = fmt::format("{} {}", pod.uid, what);
      if (!told_.contains(key))
        context_.log.warn(
            "a pod names a cache that this machine has not, or cannot divide: it is passed over",
            kv("pod", fmt::format("{}/{}", pod.ns, pod.name)), kv("annotation", api::kResctrl),
            kv("of", what), kv("cacheID", part.cache_id));
      told.insert(std::move(key));
      return;
    }
  }

  const PluginContext& context_;
  std::shared_ptr<const host::ResctrlInfo> info_;
  std::set<std::string> told_;
  StrategyStatus status_;
};

constexpr std::string_view kGates[] = {"Resctrl"};

}  // namespace
}  // namespace resctrl

extern const StrategyEntry kResctrlPods{
    .name = "Resctrl",
    .gates = resctrl::kGates,
    .replan = Replan::on_change,
    .cache_groups = true,
    .swept_groups = kPodGroups,
    .needs_slo = false,
    .terms = &read_resctrl_terms,
    .make = &make<resctrl::Pods>,
};

}  // namespace koord::koordlet
