// NodeAffinity: spec.nodeSelector and node affinity, and what the arguments add to every pod's.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "koord/api/rules/node_selector.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/plugin/sign.hpp"

namespace koord::scheduling {

namespace node_affinity {

struct NodeAffinityArgs {
  api::Box<api::NodeAffinity> added_affinity;

  void validate(const std::string& path, FieldErrors& errors) const;
  KOORD_STRUCT(NodeAffinityArgs);
};
KOORD_OBJECT(NodeAffinityArgs, args_kind("NodeAffinityArgs"),
             ROW(added_affinity).doc("Node affinity that every pod of the profile has too."));

void NodeAffinityArgs::validate(const std::string& path, FieldErrors& errors) const {
  if (!added_affinity) return;
  const std::string at = fmt::format("{}.addedAffinity", path);
  api::ErrorTexts texts;
  if (added_affinity->required)
    api::CompiledNodeSelector(
        *added_affinity->required,
        api::ListPlace{at}.text("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"), &texts);
  for (std::size_t i = 0; i < added_affinity->preferred.size(); ++i)
    api::CompiledNodeTerm(added_affinity->preferred[i].preference,
                          {at, "preferredDuringSchedulingIgnoredDuringExecution", i}, &texts);
  for (const std::string& text : texts.texts()) errors.add(text);
}

namespace {

const api::NodeAffinity* affinity_of(const api::Pod& pod) {
  return pod.spec.affinity && pod.spec.affinity->node_affinity ? pod.spec.affinity->node_affinity.get()
                                                               : nullptr;
}

/// The nodes that all terms together allow by metadata.name; absent if one of them names none.
std::optional<std::set<std::string>> named_nodes(const api::NodeSelector& selector) {
  std::set<std::string> all;
  for (const api::NodeSelectorTerm& term : selector.node_selector_terms) {
    std::optional<std::set<std::string>> of_term;
    for (const api::NodeSelectorRequirement& r : term.match_fields) {
      if (r.key != "metadata.name" || r.operator_ != "In") continue;
      std::set<std::string> names;
      for (const Symbol& v : r.values)
        if (!of_term || of_term->contains(v.str())) names.insert(v.str());
      of_term = std::move(names);
    }
    if (!of_term) return std::nullopt;
    all.merge(*of_term);
  }
  return all;
}

struct FilterState final : PodState {
  explicit FilterState(std::shared_ptr<const api::RequiredNodeAffinity> r) : required(std::move(r)) {}
  std::shared_ptr<const api::RequiredNodeAffinity> required;
};
struct ScoreState final : PodState {
  api::PreferredNodeAffinity preferred;
};

/// A pod's malformed terms count as if they were not there; the API server lets none through.
api::PreferredNodeAffinity compile(const api::NodeAffinity* affinity) {
  return affinity == nullptr ? api::PreferredNodeAffinity() : api::PreferredNodeAffinity(affinity->preferred);
}

/// Read once per version of a pod.
std::shared_ptr<const api::RequiredNodeAffinity> required_affinity(const PodInfo& pod) {
  auto required = pod.read.share<const api::RequiredNodeAffinity>();
  if (required == nullptr)
    pod.read.put(required = std::make_shared<const api::RequiredNodeAffinity>(pod.pod->spec));
  return required;
}

class NodeAffinity final : public Plugin,
                           public NodeFilterPlugin,
                           public PreFilterPlugin,
                           public ScorePlugin,
                           public PreScorePlugin,
                           public EventPlugin {
 public:
  NodeAffinity(const NodeAffinityArgs& args, const PluginContext& context)
      : added_preferred_(compile(args.added_affinity.get())),
        rejected_(context.verdicts.intern(
            {context.index, true, {"node(s) didn't match Pod's node affinity/selector"}})),
        rejected_by_added_(context.verdicts.intern(
            {context.index, true, {"node(s) didn't match scheduler-enforced node affinity"}})) {
    if (args.added_affinity && args.added_affinity->required)
      added_required_.emplace(*args.added_affinity->required);
  }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    sign_required_affinity(pod.pod->spec, signature);
    const api::NodeAffinity* affinity = affinity_of(*pod.pod);
    signature.add(affinity == nullptr ? 0 : static_cast<std::int64_t>(affinity->preferred.size()));
    if (affinity != nullptr)
      for (const auto& p : affinity->preferred) {
        signature.add(p.weight);
        sign_term(p.preference, signature);
      }
    return true;
  }

  Depends filter_depends() const override { return Depends::node; }
  FilterPlugin::Prepared prepare_filter(const PodInfo& pod) override {
    FilterPlugin::Prepared prepared;
    prepared.state = std::make_unique<FilterState>(required_affinity(pod));
    const api::NodeSelector* required = required_node_selector(pod.pod->spec);
    prepared.skip = required == nullptr && pod.pod->spec.node_selector.empty() && !added_required_;
    if (required == nullptr || required->node_selector_terms.empty()) return prepared;
    std::optional<std::set<std::string>> names = named_nodes(*required);
    if (!names) return prepared;
    if (names->empty()) {
      prepared.rejected = "pod affinity terms conflict";
    } else {
      prepared.only_nodes.emplace(names->begin(), names->end());
    }
    return prepared;
  }
  VerdictId filter_node(PodState* state, const NodeTable& nodes, Row row) const override {
    const api::Node& node = *nodes.node(row);
    if (!allowed(node)) return rejected_by_added_;
    return static_cast<FilterState*>(state)->required->matches(node) ? kPass : rejected_;
  }

  Depends score_depends() const override { return Depends::node; }
  Normalize normalize() const override { return Normalize::to_best; }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override {
    const api::NodeAffinity* affinity = affinity_of(*pod.pod);
    auto state = std::make_unique<ScoreState>();
    state->preferred = compile(affinity);
    bool none = (affinity == nullptr || affinity->preferred.empty()) && added_preferred_.empty();
    return {std::move(state), none};
  }
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    const api::PreferredNodeAffinity& preferred = static_cast<ScoreState*>(state)->preferred;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const api::ObjectMeta& node = nodes.node(rows[i])->metadata;
      out[i] = static_cast<std::int32_t>(preferred.score(node.labels, node.name) +
                                         added_preferred_.score(node.labels, node.name));
    }
  }

  EventMask events() const override { return events_of(EventKind::node_add, EventKind::node_label); }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    const auto required = required_affinity(pod);
    const auto matches = [&](const api::Node& node) { return allowed(node) && required->matches(node); };
    return matches(*event.new_node) && (event.old_node == nullptr || !matches(*event.old_node));
  }

 private:
  bool allowed(const api::Node& node) const {
    return !added_required_ || added_required_->matches(node.metadata.labels, node.metadata.name);
  }

  std::optional<api::CompiledNodeSelector> added_required_;
  api::PreferredNodeAffinity added_preferred_;
  VerdictId rejected_, rejected_by_added_;
};

}  // namespace
}  // namespace node_affinity

extern const PluginEntry kNodeAffinity{
    .name = "NodeAffinity",
    .args = &args_type<node_affinity::NodeAffinityArgs>,
    .make = &make_with<node_affinity::NodeAffinity, node_affinity::NodeAffinityArgs>};

}  // namespace koord::scheduling
