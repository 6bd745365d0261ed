// GangScheduling: Kubernetes' own gangs, whose pods are placed together or not at all.
#include <optional>

#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/gangs/gang_plugin.hpp"
#include "scheduling/plugins/gang_scheduling/kube_book.hpp"
#include "scheduling/plugins/gang_scheduling/one_domain.hpp"
#include "scheduling/preemption/preemptor.hpp"

namespace koord::scheduling {

namespace gang_scheduling {
namespace {

/// Kubernetes' front door of the engine for gangs (gangs/gang_plugin.hpp). Where DefaultPreemption makes room
/// for single pods room is made for a gang as for one, see Clearing.
class GangScheduling final : public gangs::GangPlugin, public PostFilterPlugin {
 public:
  explicit GangScheduling(const PluginContext& context)
      : GangScheduling(context.shared.get<KubeBook>(context), context) {}

  bool may_enqueue(const PodInfo& pod) const override {
    return preemptor_.may_enqueue(pod) && GangPlugin::may_enqueue(pod);
  }
  /// For who is tried alone DefaultPreemption does.
  PostFilterResult post_filter(PodAttempt&, const Diagnosis&) override {
    return {.status = {StatusCode::unschedulable, {}}};
  }
  void preempted(const api::Pod& pod, bool all) override { preemptor_.preempted(pod, all); }

 private:
  GangScheduling(KubeBook& book, const PluginContext& context)
      : GangPlugin(book, context),
        book_(book),
        domain_(context),
        preemptor_(context, preemption::JobRule{}, nullptr) {}

  preemption::Preemptor* preemptor() override { return &preemptor_; }

  std::optional<Gathered> gather(Group& group, Member& leader, Placements& places, Costs costs) override {
    if (leader.gang->near.empty()) return std::nullopt;
    return domain_.place(leader.gang->near, *leader.gang, book_.pending(group), leader, places, costs);
  }

  KubeBook& book_;
  OneDomain domain_;
  preemption::Preemptor preemptor_;
};

}  // namespace
}  // namespace gang_scheduling

extern const PluginEntry kGangScheduling{
    .name = "GangScheduling", .gate = "GangScheduling", .make = &make<gang_scheduling::GangScheduling>};

}  // namespace koord::scheduling
