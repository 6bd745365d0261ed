// NodeUnschedulable: keeps pods off cordoned nodes, unless they tolerate that taint.
#include "koord/api/rules/toleration.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace node_unschedulable {
namespace {

/// Tolerating this taint is tolerating spec.unschedulable, whether the node has the taint or not.
bool tolerates_cordon(const api::Pod& pod) {
  static const api::Taint kTaint{"node.kubernetes.io/unschedulable", {}, "NoSchedule", {}};
  return api::tolerates(pod.spec.tolerations, kTaint);
}

class NodeUnschedulable final : public Plugin, public NodeFilterPlugin, public EventPlugin {
 public:
  explicit NodeUnschedulable(const PluginContext& context)
      : rejected_(context.verdicts.intern({context.index, true, {"node(s) were unschedulable"}})) {}
  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(tolerates_cordon(*pod.pod));
    return true;
  }
  Depends filter_depends() const override { return Depends::node; }
  Prepared prepare_filter(const PodInfo& pod) override {
    Prepared prepared;
    prepared.skip = tolerates_cordon(*pod.pod);
    return prepared;
  }
  VerdictId filter_node(PodState*, const NodeTable& nodes, Row row) const override {
    return nodes.node(row)->spec.unschedulable ? rejected_ : kPass;
  }
  EventMask events() const override {
    return events_of(EventKind::node_add, EventKind::node_taint, EventKind::own_pod_toleration);
  }
  bool worth_retrying(const PodInfo&, const ClusterEvent& event) const override {
    if (event.kind == EventKind::own_pod_toleration) return tolerates_cordon(*event.new_pod);
    return !event.new_node->spec.unschedulable &&
           (event.old_node == nullptr || event.old_node->spec.unschedulable);
  }

 private:
  VerdictId rejected_;
};

}  // namespace
}  // namespace node_unschedulable

extern const PluginEntry kNodeUnschedulable{.name = "NodeUnschedulable",
                                            .make = &make<node_unschedulable::NodeUnschedulable>};

}  // namespace koord::scheduling
