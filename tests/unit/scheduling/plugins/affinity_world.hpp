// Nodes and pods with affinity for tests of InterPodAffinity, a line each, and the plugin alone beside them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

using Labels = api::SymbolMap;

/// Of ?labelSelector= syntax.
inline api::LabelSelector label_selector(std::string_view text) {
  api::LabelSelector out;
  const api::Selector parsed = api::Selector::parse(text).value();
  for (const api::SelectorRequirement& r : parsed.requirements()) {
    using Op = api::SelectorOp;
    const char* op = r.op == Op::exists                             ? "Exists"
                     : r.op == Op::does_not_exist                   ? "DoesNotExist"
                     : r.op == Op::not_in || r.op == Op::not_equals ? "NotIn"
                                                                    : "In";
    out.match_expressions.push_back({r.key, op, r.values});
  }
  return out;
}

struct Term {
  std::string selector;
  std::string key;
  std::vector<Symbol> namespaces = {};
  std::optional<std::string> of_namespaces = {};
  std::int32_t weight = 1;  // of a preferred one

  api::PodAffinityTerm make() const {
    api::PodAffinityTerm term;
    term.label_selector = label_selector(selector);
    term.topology_key = key;
    term.namespaces = namespaces;
    if (of_namespaces) term.namespace_selector = label_selector(*of_namespaces);
    return term;
  }
};

/// A pod, and the number of its node.
struct AffinityPod {
  int node = -1;
  Labels labels = {};
  std::vector<Term> near = {}, away = {}, likes = {}, dislikes = {};
  const char* name_of_namespace = "default";

  std::shared_ptr<const api::Pod> make(const std::string& name) const {
    return make_pod(name, "100m", "128Mi", [&](api::Pod& p) { edit(p); });
  }
  void edit(api::Pod& p) const {
    p.metadata.namespace_ = name_of_namespace;
    p.metadata.labels = labels;
    for (const auto* list : {&near, &away, &likes, &dislikes})
      for (const Term& term : *list) {
        api::Affinity& affinity = p.spec.affinity.ensure();
        const bool anti = list == &away || list == &dislikes;
        api::PodAffinity& of = (anti ? affinity.pod_anti_affinity : affinity.pod_affinity).ensure();
        if (list == &near || list == &away) {
          of.required.push_back(term.make());
        } else {
          of.preferred.push_back({term.weight, term.make()});
        }
      }
  }
};

/// The plugin, the tables that it reads and nothing else.
struct PluginAlone {
  explicit PluginAlone(const std::vector<Labels>& labels_of_nodes, std::string_view args = {}) {
    const PluginEntry& row = *find_plugin(plugin_table(), "InterPodAffinity");
    std::shared_ptr<void> made = row.args->make_default();
    if (!args.empty()) {
      auto done = api::decode_strict(args, row.args->schema(), made.get());
      if (!done) throw std::runtime_error(done.error().message());
      row.args->set_defaults(made.get());
    }
    plugin = row.make(made, context).value();
    filter = dynamic_cast<CrossNodeFilterPlugin*>(plugin.get());
    score = dynamic_cast<CrossNodeScorePlugin*>(plugin.get());
    for (const Labels& labels : labels_of_nodes) put_node(static_cast<int>(nodes.rows()), labels);
  }

  static std::string node_name(int number) { return fmt::format("n{}", number); }
  void put_node(int number, const Labels& labels) {
    nodes.set_node(
        nodes.row_of(Symbol(node_name(number))),
        make_node(node_name(number), "4", "8Gi", [&](api::Node& n) { n.metadata.labels = labels; }));
  }
  void remove_node(int number) { nodes.set_node(nodes.find(node_name(number)), nullptr); }
  void put_namespace(const char* name, const Labels& labels) {
    auto object = std::make_shared<api::Namespace>();
    object->metadata.name = name;
    object->metadata.labels = labels;
    context.objects.find(kube::kObjectType<api::Namespace>)->put({"", name}, object);
  }

  PodInfo& info(const AffinityPod& pod) {
    const std::string name = fmt::format("p{}", ++made);
    return *pods.emplace_back(std::make_unique<PodInfo>(make_pod_info(pod.make(name), nodes.resources())));
  }
  /// On its node.
  PodInfo& put(const AffinityPod& pod) {
    PodInfo& there = info(pod);
    there.pod = changed(there.pod, [&](api::Pod& p) { p.spec.node_name = node_name(pod.node); });
    nodes.add_pod(nodes.row_of(Symbol(node_name(pod.node))), there);
    return there;
  }
  void remove(const PodInfo& pod, int node) { nodes.remove_pod(nodes.find(node_name(node)), pod); }

  std::vector<Row> rows() const {
    std::vector<Row> all;
    for (Row row = 0; row < nodes.rows(); ++row)
      if (nodes.node(row)) all.push_back(row);
    return all;
  }
  /// What is said of each node in the state of a class; one word if the nodes are not looked at. "!" behind a
  /// reason: preemption does not help.
  std::vector<std::string> filtered(PodState& state, const PodInfo& pod) {
    const PreFiltered said = filter->pre_filter(state, pod);
    if (!said.rejected.empty()) return {said.rejected};
    if (said.skip) return {"skip"};
    return looked_at(state);
  }
  std::vector<std::string> looked_at(PodState& state) {
    const std::vector<Row> all = rows();
    std::vector<VerdictId> out(all.size());
    filter->filter(state, nodes, all, out);
    std::vector<std::string> texts;
    for (const VerdictId id : out) {
      const Verdict& verdict = verdicts[id];
      texts.push_back(id == kPass ? "" : verdict.reasons.at(0) + (verdict.unresolvable ? "!" : ""));
    }
    return texts;
  }
  std::vector<std::string> filtered(const AffinityPod& pod) {
    const PodInfo& asked = info(pod);
    return filtered(*filter->prepare_cross_node_filter(asked), asked);
  }
  /// Normalised; absent if the plugin has no say.
  std::optional<std::vector<std::int64_t>> scored(PodState& state, const PodInfo& pod) {
    const std::vector<Row> all = rows();
    if (!score->may_score(state, pod) || !score->pre_score(state, pod, nodes, all)) return std::nullopt;
    std::vector<std::int64_t> out(all.size());
    score->score(state, nodes, all, out);
    score->normalize(state, all, out);
    return out;
  }
  std::optional<std::vector<std::int64_t>> scored(const AffinityPod& pod) {
    const PodInfo& asked = info(pod);
    return scored(*score->prepare_cross_node_score(asked), asked);
  }

  // An engine without profiles has the tables.
  ManualClock clock;
  Engine engine{clock, {}};
  const PluginContext context = engine.context();
  NodeTable& nodes = context.nodes;
  VerdictTable& verdicts = context.verdicts;
  PodSelectors& selectors = context.selectors;
  std::unique_ptr<Plugin> plugin;
  std::vector<std::unique_ptr<PodInfo>> pods;
  CrossNodeFilterPlugin* filter = nullptr;
  CrossNodeScorePlugin* score = nullptr;
  int made = 0;
};

}  // namespace koord::scheduling::test
