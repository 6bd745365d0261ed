// TaintToleration: keeps pods off nodes with NoSchedule and NoExecute taints that they do not tolerate, and
// prefers nodes with few PreferNoSchedule taints of that kind.
#include "koord/api/rules/toleration.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/plugin/sign.hpp"

namespace koord::scheduling {

namespace taint_toleration {
namespace {

using Tolerations = api::List<api::Toleration>;

/// No more of the pod: it may be large, and what is prepared outlives it.
struct State final : PodState {
  explicit State(const PodInfo& pod) : tolerations(pod.pod->spec.tolerations) {}
  Tolerations tolerations;
};

bool untolerated(const api::Node& node, const Tolerations& tolerations) {
  return api::untolerated(node.spec.taints, tolerations) != nullptr;
}

class TaintToleration final : public Plugin,
                              public NodeFilterPlugin,
                              public ScorePlugin,
                              public PreScorePlugin,
                              public EventPlugin {
 public:
  explicit TaintToleration(const PluginContext& context)
      : rejected_(context.verdicts.intern({context.index, true, {"node(s) had untolerated taint(s)"}})) {}
  bool sign(const PodInfo& pod, Signature& signature) const override {
    sign_tolerations(*pod.pod, signature);
    return true;
  }

  Depends filter_depends() const override { return Depends::node; }
  FilterPlugin::Prepared prepare_filter(const PodInfo& pod) override {
    FilterPlugin::Prepared prepared;
    prepared.state = std::make_unique<State>(pod);
    return prepared;
  }
  VerdictId filter_node(PodState* state, const NodeTable& nodes, Row row) const override {
    return untolerated(*nodes.node(row), static_cast<State*>(state)->tolerations) ? rejected_ : kPass;
  }

  Depends score_depends() const override { return Depends::node; }
  Normalize normalize() const override { return Normalize::to_worst; }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override {
    return {std::make_unique<State>(pod), false};
  }
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    const Tolerations& tolerations = static_cast<State*>(state)->tolerations;
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = static_cast<std::int32_t>(
          api::count_untolerated_preferences(nodes.node(rows[i])->spec.taints, tolerations));
  }

  EventMask events() const override {
    return events_of(EventKind::node_add, EventKind::node_taint, EventKind::own_pod_toleration);
  }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    if (event.kind == EventKind::own_pod_toleration) return true;
    return (event.old_node == nullptr || untolerated(*event.old_node, pod.pod->spec.tolerations)) &&
           !untolerated(*event.new_node, pod.pod->spec.tolerations);
  }

 private:
  VerdictId rejected_;
};

}  // namespace
}  // namespace taint_toleration

extern const PluginEntry kTaintToleration{.name = "TaintToleration",
                                          .make = &make<taint_toleration::TaintToleration>};

}  // namespace koord::scheduling
