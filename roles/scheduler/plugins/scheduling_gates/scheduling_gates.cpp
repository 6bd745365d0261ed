// SchedulingGates: see scheduling_gates.hpp.
#include "plugins/scheduling_gates/scheduling_gates.hpp"

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduler::scheduling_gates {

namespace {

/// A gate's removal is an update of the pod itself, after which the engine asks again.
class SchedulingGates final : public Plugin, public PreEnqueuePlugin {
 public:
  explicit SchedulingGates(const PluginContext&) {}
  std::string_view name() const override { return "SchedulingGates"; }
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool may_enqueue(const PodInfo& pod) const override { return pod.pod->spec.scheduling_gates.empty(); }
};

}  // namespace

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context) {
  return make_plain<SchedulingGates>(args, context);
}

}  // namespace koord::scheduler::scheduling_gates
