// DrainSoon: a plugin to copy. Nodes that will be drained soon carry a label; they take short-lived pods
// alone, and those rather than other nodes. src/scheduling/README.md walks through it; in production it would
// lie in src/scheduling/plugins/drain_soon/drain_soon.cpp.
#include <fmt/format.h>

#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling {

namespace drain_soon {

/// What a configuration may say of it, with its defaults; unknown keys are refused by themselves.
struct DrainSoonArgs {
  std::string node_label, pod_label;

  void validate(const std::string& path, FieldErrors& errors) const {
    if (node_label == pod_label)
      errors.invalid(path + ".podLabel", fmt::format("\"{}\"", pod_label), "must not be nodeLabel, too");
  }
  KOORD_STRUCT(DrainSoonArgs);
};
KOORD_OBJECT(
    DrainSoonArgs, args_kind("DrainSoonArgs"),
    ROW(node_label)
        .default_json(R"("example.com/drain-soon")")
        .doc("The label of nodes that will be drained."),
    ROW(pod_label).default_json(R"("example.com/short-lived")").doc("The label of pods that end before."));

namespace {

class DrainSoon final : public Plugin, public NodeFilterPlugin, public ScorePlugin, public EventPlugin {
 public:
  DrainSoon(const DrainSoonArgs& args, const PluginContext& context)
      : node_label_(args.node_label),
        pod_label_(args.pod_label),
        // Made once: what is answered for a row is a number. True: who preempts cannot help it.
        rejected_(context.verdicts.intern({context.index, true, {"node(s) will be drained soon"}})) {}

  /// All that it reads of a pod: pods that say the same here are asked about once.
  bool sign(const PodInfo& pod, Signature& signature) const override {
    signature.add(is_short(*pod.pod));
    return true;
  }

  /// It looks at the node's object, and at none of the pods on it.
  Depends filter_depends() const override { return Depends::node; }
  FilterPlugin::Prepared prepare_filter(const PodInfo& pod) override {
    FilterPlugin::Prepared prepared;
    prepared.skip = is_short(*pod.pod);
    return prepared;
  }
  VerdictId filter_node(PodState*, const NodeTable& nodes, Row row) const override {
    return is_drained(*nodes.node(row)) ? rejected_ : kPass;
  }

  Depends score_depends() const override { return Depends::node; }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override { return {nullptr, !is_short(*pod.pod)}; }
  void score(PodState*, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = is_drained(*nodes.node(rows[i])) ? 100 : 0;
  }

  /// What may undo its rejection. Without it the pod would wait for five minutes.
  EventMask events() const override {
    return events_of(EventKind::node_add, EventKind::node_label, EventKind::own_pod_label);
  }
  bool worth_retrying(const PodInfo&, const ClusterEvent& event) const override {
    return event.kind == EventKind::own_pod_label ? is_short(*event.new_pod) : !is_drained(*event.new_node);
  }

 private:
  bool is_short(const api::Pod& pod) const { return pod.metadata.labels.contains(pod_label_); }
  bool is_drained(const api::Node& node) const { return node.metadata.labels.contains(node_label_); }

  std::string node_label_, pod_label_;
  VerdictId rejected_;
};

}  // namespace
}  // namespace drain_soon

extern const PluginEntry kDrainSoon{.name = "DrainSoon",
                                    .args = &args_type<drain_soon::DrainSoonArgs>,
                                    .make = &make_with<drain_soon::DrainSoon, drain_soon::DrainSoonArgs>};

}  // namespace koord::scheduling
