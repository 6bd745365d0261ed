// TaintToleration: keeps pods off nodes with NoSchedule and NoExecute taints that they do not tolerate, and
// prefers nodes with few PreferNoSchedule taints of that kind.
#include "framework/args.hpp"
#include "framework/sign.hpp"
#include "koord/api/rules/toleration.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduler {

namespace taint_toleration {
namespace {

struct State final : PodState {
  std::shared_ptr<const api::Pod> pod;
};

bool untolerated(const api::Node& node, const api::Pod& pod) {
  return api::untolerated(node.spec.taints, pod.spec.tolerations) != nullptr;
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
    auto state = std::make_unique<State>();
    state->pod = pod.pod;
    FilterPlugin::Prepared prepared;
    prepared.state = std::move(state);
    return prepared;
  }
  VerdictId filter_node(PodState* state, const NodeTable& nodes, Row row) const override {
    return untolerated(*nodes.node(row), *static_cast<State*>(state)->pod) ? rejected_ : kPass;
  }

  Depends score_depends() const override { return Depends::node; }
  Normalize normalize() const override { return Normalize::to_worst; }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override {
    auto state = std::make_unique<State>();
    state->pod = pod.pod;
    return {std::move(state), false};
  }
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    const auto& tolerations = static_cast<State*>(state)->pod->spec.tolerations;
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = static_cast<std::int32_t>(
          api::count_untolerated_preferences(nodes.node(rows[i])->spec.taints, tolerations));
  }

  EventMask events() const override {
    return events_of(EventKind::node_add, EventKind::node_taint, EventKind::own_pod_toleration);
  }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    if (event.kind == EventKind::own_pod_toleration) return true;
    return (event.old_node == nullptr || untolerated(*event.old_node, *pod.pod)) &&
           !untolerated(*event.new_node, *pod.pod);
  }

 private:
  VerdictId rejected_;
};

}  // namespace
}  // namespace taint_toleration

extern const PluginEntry kTaintToleration{.name = "TaintToleration",
                                          .make = &make<taint_toleration::TaintToleration>};

}  // namespace koord::scheduler
