// NodePorts: no two pods on a node take the same host port of the same protocol on overlapping addresses.
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace node_ports {
namespace {

struct State final : PodState {
  std::vector<HostPort> ports;
};

class NodePorts final : public Plugin, public NodeFilterPlugin, public PreFilterPlugin, public EventPlugin {
 public:
  explicit NodePorts(const PluginContext& context)
      : rejected_(context.verdicts.intern(
            {context.index, false, {"node(s) didn't have free ports for the requested pod ports"}})) {}
  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(static_cast<std::int64_t>(pod.ports.size()));
    for (const HostPort& p : pod.ports) {
      signature.add(p.ip.view());
      signature.add(p.protocol.view());
      signature.add(p.port);
    }
    return true;
  }
  Depends filter_depends() const override { return Depends::pods; }
  Prepared prepare_filter(const PodInfo& pod) override {
    Prepared prepared;
    prepared.skip = pod.ports.empty();
    auto state = std::make_unique<State>();
    state->ports = pod.ports;
    prepared.state = std::move(state);
    return prepared;
  }
  VerdictId filter_node(PodState* state, const NodeTable& nodes, Row row) const override {
    return collide(static_cast<State*>(state)->ports, nodes.ports(row)) ? rejected_ : kPass;
  }
  VerdictId filter_view(PodState* state, const NodeTable&, const NodeView& view) const override {
    return view.collides(static_cast<State*>(state)->ports) ? rejected_ : kPass;
  }
  EventMask events() const override { return events_of(EventKind::node_add, EventKind::assigned_pod_delete); }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    return event.kind == EventKind::node_add || collide(pod.ports, host_ports(*event.old_pod));
  }

 private:
  VerdictId rejected_;
};

}  // namespace
}  // namespace node_ports

extern const PluginEntry kNodePorts{.name = "NodePorts", .make = &make<node_ports::NodePorts>};

}  // namespace koord::scheduling
