// DefaultPreemption: a pod that fits nowhere has pods of a lower priority removed from one node.
#include <algorithm>

#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "scheduling/plugins/default_preemption/args.hpp"
#include "scheduling/preemption/placed_preemption.hpp"
#include "scheduling/preemption/preemptor.hpp"

namespace koord::scheduling {

namespace default_preemption {
namespace {

using preemption::PlacedPreemption;

class DefaultPreemption final : public Plugin,
                                public PostFilterPlugin,
                                public PreEnqueuePlugin,
                                public EventPlugin {
 public:
  DefaultPreemption(const DefaultPreemptionArgs& args, const PluginContext& context)
      : preemptor_(context, {args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute}) {}

  /// What is kept of a class is kept by priority, so that priorities do not tell classes apart.
  bool sign(const PodInfo&, Signature&) const override { return true; }

  bool may_enqueue(const PodInfo& pod) const override { return preemptor_.may_enqueue(pod); }
  /// Its last attempt did, and its nomination does.
  std::string why_kept_out(const PodInfo&) const override { return {}; }
  void preempted(const api::Pod& pod, bool all) override { preemptor_.preempted(pod, all); }

  // It rejects nobody whom the others do not reject.
  EventMask events() const override { return events_of(EventKind::assigned_pod_delete); }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override { return false; }

  PostFilterResult post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) override {
    if (is_placeholder(*attempt.pod.pod) && somebody_else_does(attempt))
      return {.status = {StatusCode::unschedulable, {}}};
    return preemptor_.make_room(attempt, diagnosis);
  }

 private:
  static bool somebody_else_does(const PodAttempt& attempt) {
    return std::ranges::any_of(attempt.profile.plugins, [&](const Profile::Named& named) {
      const auto* const own = dynamic_cast<const PlacedPreemption*>(named.plugin.get());
      return own != nullptr && own->preempts_itself_for(attempt.pod);
    });
  }

  preemption::Preemptor preemptor_;
};

}  // namespace
}  // namespace default_preemption

extern const PluginEntry kDefaultPreemption{
    .name = "DefaultPreemption",
    .args = &args_type<default_preemption::DefaultPreemptionArgs>,
    .make = &make_with<default_preemption::DefaultPreemption, default_preemption::DefaultPreemptionArgs>};

}  // namespace koord::scheduling
