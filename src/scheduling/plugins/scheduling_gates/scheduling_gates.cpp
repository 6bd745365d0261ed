// SchedulingGates: pods with spec.schedulingGates stay out of the queue until all gates are gone.
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace scheduling_gates {
namespace {

/// A gate's removal is an update of the pod itself, after which the engine asks again.
class SchedulingGates final : public Plugin, public PreEnqueuePlugin {
 public:
  explicit SchedulingGates(const PluginContext&) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool may_enqueue(const PodInfo& pod) const override { return pod.pod->spec.scheduling_gates.empty(); }
  /// The API server does when the pod is made (SchedulingGated).
  std::string why_kept_out(const PodInfo&) const override { return {}; }
};

}  // namespace
}  // namespace scheduling_gates

extern const PluginEntry kSchedulingGates{.name = "SchedulingGates",
                                          .make = &make<scheduling_gates::SchedulingGates>};

}  // namespace koord::scheduling
