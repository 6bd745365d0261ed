// NodeAffinity: see node_affinity.hpp.
#include "plugins/node_affinity/node_affinity.hpp"

#include <algorithm>
#include <set>

#include "framework/node_terms.hpp"
#include "koord/api/node.hpp"
#include "koord/api/pod.hpp"

namespace koord::scheduler::node_affinity {

const ArgsType kArgs = args_type<NodeAffinityArgs>("NodeAffinityArgs");

void NodeAffinityArgs::validate(const std::string& path, FieldErrors& errors) const {
  if (!added_affinity) return;
  std::string at = path + ".addedAffinity.";
  if (added_affinity->required)
    validate_terms(*added_affinity->required,
                   at + "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", errors);
  const auto& preferred = added_affinity->preferred;
  for (std::size_t i = 0; i < preferred.size(); ++i)
    validate_term(preferred[i].preference,
                  at + "preferredDuringSchedulingIgnoredDuringExecution[" + std::to_string(i) + "]", errors);
}

namespace {

const api::NodeAffinity* affinity_of(const api::Pod& pod) {
  return pod.spec.affinity && pod.spec.affinity->node_affinity ? pod.spec.affinity->node_affinity.get()
                                                               : nullptr;
}
const api::NodeSelector* required_of(const api::Pod& pod) {
  const api::NodeAffinity* affinity = affinity_of(pod);
  return affinity != nullptr && affinity->required ? affinity->required.get() : nullptr;
}

bool matches(const api::Pod& pod, const api::Node& node) {
  for (const auto& [key, value] : pod.spec.node_selector) {
    const std::string* label = node.metadata.labels.find(key.view());
    if (label == nullptr || *label != value) return false;
  }
  const api::NodeSelector* required = required_of(pod);
  return required == nullptr || any_term_matches(*required, node);
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

struct State final : PodState {
  std::shared_ptr<const api::Pod> pod;
};

class NodeAffinity final : public Plugin, public NodeFilterPlugin, public ScorePlugin, public EventPlugin {
 public:
  NodeAffinity(const NodeAffinityArgs& args, const PluginContext& context)
      : added_(args.added_affinity),
        rejected_(context.verdicts.intern(
            {context.index, true, {"node(s) didn't match Pod's node affinity/selector"}})),
        rejected_by_added_(context.verdicts.intern(
            {context.index, true, {"node(s) didn't match scheduler-enforced node affinity"}})) {}
  std::string_view name() const override { return "NodeAffinity"; }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    const api::PodSpec& spec = pod.pod->spec;
    signature.add(static_cast<std::int64_t>(spec.node_selector.size()));
    for (const auto& [key, value] : spec.node_selector) {
      signature.add(key.view());
      signature.add(value);
    }
    const api::NodeAffinity* affinity = affinity_of(*pod.pod);
    const api::NodeSelector* required = required_of(*pod.pod);
    signature.add(required == nullptr ? -1 : static_cast<std::int64_t>(required->node_selector_terms.size()));
    if (required != nullptr)
      for (const auto& term : required->node_selector_terms) sign_term(term, signature);
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
    auto state = std::make_unique<State>();
    state->pod = pod.pod;
    prepared.state = std::move(state);
    const api::NodeSelector* required = required_of(*pod.pod);
    prepared.skip = required == nullptr && pod.pod->spec.node_selector.empty() && !enforces();
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
    if (enforces() && !any_term_matches(*added_->required, node)) return rejected_by_added_;
    return matches(*static_cast<State*>(state)->pod, node) ? kPass : rejected_;
  }

  Depends score_depends() const override { return Depends::node; }
  Normalize normalize() const override { return Normalize::to_best; }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override {
    const api::NodeAffinity* affinity = affinity_of(*pod.pod);
    bool none =
        (affinity == nullptr || affinity->preferred.empty()) && (!added_ || added_->preferred.empty());
    auto state = std::make_unique<State>();
    state->pod = pod.pod;
    return {std::move(state), none};
  }
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    const api::NodeAffinity* affinity = affinity_of(*static_cast<State*>(state)->pod);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::int64_t sum = 0;
      for (const api::NodeAffinity* terms : {added_ ? added_.get() : nullptr, affinity})
        if (terms != nullptr)
          for (const api::PreferredSchedulingTerm& t : terms->preferred)
            if (t.weight != 0 && term_matches(t.preference, *nodes.node(rows[i]))) sum += t.weight;
      out[i] = static_cast<std::int32_t>(sum);
    }
  }

  EventMask events() const override { return events_of(EventKind::node_add, EventKind::node_label); }
  bool worth_retrying(const PodInfo& pod, const Event& event) const override {
    if (enforces() && !any_term_matches(*added_->required, *event.new_node)) return false;
    return matches(*pod.pod, *event.new_node) &&
           (event.old_node == nullptr || !matches(*pod.pod, *event.old_node));
  }

 private:
  bool enforces() const { return added_ && added_->required; }

  api::Box<api::NodeAffinity> added_;
  VerdictId rejected_, rejected_by_added_;
};

}  // namespace

Result<std::unique_ptr<Plugin>> make(const Args& args, const PluginContext& context) {
  return std::unique_ptr<Plugin>(
      std::make_unique<NodeAffinity>(*static_cast<const NodeAffinityArgs*>(args.get()), context));
}

}  // namespace koord::scheduler::node_affinity

namespace koord::api {

template <>
const Schema& schema<koord::scheduler::node_affinity::NodeAffinityArgs>() {
  using T = koord::scheduler::node_affinity::NodeAffinityArgs;
  static constexpr Field kRows[] = {
      KOORD_FIELD(added_affinity, "addedAffinity")
          .doc("Node affinity that every pod of the profile has too."),
  };
  static const Schema kSchema("NodeAffinityArgs", kRows, type_of<T>);
  return kSchema;
}

}  // namespace koord::api
