// NodeName: a pod that names its node goes nowhere else.
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace node_name {
namespace {

struct State final : PodState {
  Symbol name;
};

/// A pod with spec.nodeName is bound and never queued; the filter serves pods that are only evaluated.
class NodeName final : public Plugin, public NodeFilterPlugin, public EventPlugin {
 public:
  explicit NodeName(const PluginContext& context)
      : rejected_(context.verdicts.intern(
            {context.index, true, {"node(s) didn't match the requested node name"}})) {}
  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(pod.pod->spec.node_name.view());
    return true;
  }
  Depends filter_depends() const override { return Depends::node; }
  Prepared prepare_filter(const PodInfo& pod) override {
    Prepared prepared;
    prepared.skip = pod.pod->spec.node_name.empty();
    auto state = std::make_unique<State>();
    state->name = pod.pod->spec.node_name;
    prepared.state = std::move(state);
    return prepared;
  }
  VerdictId filter_node(PodState* state, const NodeTable& nodes, Row row) const override {
    return static_cast<State*>(state)->name == nodes.name(row) ? kPass : rejected_;
  }
  EventMask events() const override { return events_of(EventKind::node_add); }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override { return true; }

 private:
  VerdictId rejected_;
};

}  // namespace
}  // namespace node_name

extern const PluginEntry kNodeName{.name = "NodeName", .make = &make<node_name::NodeName>};

}  // namespace koord::scheduling
