// InterPodAffinity: pods that want to be near certain others, or far from them, by the domains of topology
// keys; and those others' own wishes.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/plugins/inter_pod_affinity/preferred.hpp"
#include "scheduling/plugins/inter_pod_affinity/required.hpp"

namespace koord::scheduling {

namespace inter_pod_affinity {

struct InterPodAffinityArgs {
  std::optional<std::int32_t> hard_pod_affinity_weight;
  bool ignore_preferred_terms_of_existing_pods = false;

  void validate(const std::string& path, FieldErrors& errors) const;
  KOORD_STRUCT(InterPodAffinityArgs);
};
KOORD_OBJECT(
    InterPodAffinityArgs, args_kind("InterPodAffinityArgs"),
    ROW(hard_pod_affinity_weight)
        .default_json("1")
        .doc("What a required affinity term of a pod counts as for the pods that it selects, 0 to 100."),
    ROW(ignore_preferred_terms_of_existing_pods)
        .doc("Pods without preferred terms of their own are not scored by those of others."));

void InterPodAffinityArgs::validate(const std::string& path, FieldErrors& errors) const {
  const std::int32_t weight = hard_pod_affinity_weight.value_or(1);
  if (weight < 0 || weight > 100)
    errors.invalid(fmt::format("{}.hardPodAffinityWeight", path), std::to_string(weight),
                   "not in valid range [0, 100]");
}

namespace {

/// The labels of a pod are not signed: what follows from them is found for the pod of each cycle, mostly by
/// looking at a number. So pods that differ in labels alone (each of a Job's or StatefulSet's has one of its
/// own) are one class.
class InterPodAffinity final : public Plugin,
                               public CrossNodeFilterPlugin,
                               public PreFilterPlugin,
                               public CrossNodeScorePlugin,
                               public PreScorePlugin,
                               public EventPlugin {
 public:
  InterPodAffinity(const InterPodAffinityArgs& args, const PluginContext& context)
      : args_(args),
        table_(context.shared.get<TermTable>(context)),
        namespace_events_(context.objects.watch<api::Namespace>().events(
            ObjectAction::add, ObjectAction::update, ObjectAction::remove)) {
    const auto verdict = [&](bool unresolvable, const char* why) {
      return context.verdicts.intern({context.index, unresolvable, {why}});
    };
    const VerdictId far = verdict(true, "node(s) didn't match pod affinity rules"),
                    disliked = verdict(false, "node(s) didn't match pod anti-affinity rules"),
                    repelled = verdict(false, "node(s) didn't satisfy existing pods anti-affinity rules");
    using State = RequiredState;
    for (const bool first : {false, true})
      for (std::size_t flags = 0; flags < State::kFlags; ++flags) {
        VerdictId& verdict_id = verdicts_[first][flags];
        if ((flags & State::kNoLabel) != 0 || (!first && (flags & State::kNobodyThere) != 0)) {
          verdict_id = far;
        } else if ((flags & State::kDisliked) != 0) {
          verdict_id = disliked;
        } else {
          verdict_id = (flags & State::kRepelled) != 0 ? repelled : kPass;
        }
      }
  }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    const auto terms = table_.of(pod);
    signature.add(terms ? static_cast<std::int64_t>(terms->serial()) : 0);
    return true;
  }

  std::unique_ptr<PodState> prepare_cross_node_filter(const PodInfo& pod) override {
    return std::make_unique<RequiredState>(table_, table_.of(pod));
  }
  PreFiltered pre_filter(PodState& state, const PodInfo& pod) override {
    const auto terms = table_.of(pod);
    if (terms && !terms->error().empty())
      return {.skip = false, .rejected = fmt::format("parsing pod: {}", terms->error())};
    return {.skip = !required(state).update(labels(pod)), .rejected = {}};
  }
  void filter(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    const RequiredState& says = required(state);
    says.judge(rows, verdicts_[says.first_of_its_kind()], nodes, out);
  }
  void add_pod(PodState& state, const PodInfo& pod, const PodInfo& other, Row row) override {
    required(state).imagine(labels(pod), other, row, 1);
  }
  void remove_pod(PodState& state, const PodInfo& pod, const PodInfo& other, Row row) override {
    required(state).imagine(labels(pod), other, row, -1);
  }

  std::unique_ptr<PodState> prepare_cross_node_score(const PodInfo& pod) override {
    return std::make_unique<PreferredState>(table_, table_.of(pod), *args_.hard_pod_affinity_weight);
  }
  bool may_score(PodState& state, const PodInfo& pod) override {
    const auto terms = table_.of(pod);
    const bool prefers = terms && !terms->preferred().empty();
    if (args_.ignore_preferred_terms_of_existing_pods && !prefers) return false;
    return preferred(state).update(labels(pod));
  }
  /// may_score() has said it.
  bool pre_score(PodState&, const PodInfo&, const NodeTable&, std::span<const Row>) override { return true; }
  void score(PodState& state, const NodeTable&, std::span<const Row> rows,
             std::span<std::int64_t> out) const override {
    preferred(state).score(rows, out);
  }
  void normalize(PodState&, std::span<const Row>, std::span<std::int64_t> scores) const override {
    inter_pod_affinity::normalize(scores);
  }

  EventMask events() const override {
    return events_of(EventKind::assigned_pod_add, EventKind::assigned_pod_label,
                     EventKind::assigned_pod_delete, EventKind::own_pod_label, EventKind::node_add,
                     EventKind::node_delete, EventKind::node_label) |
           namespace_events_;
  }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    switch (event.kind) {
      case EventKind::node_add:
      case EventKind::node_label: return node_may_help(pod, event);
      case EventKind::assigned_pod_add:
      case EventKind::assigned_pod_label:
      case EventKind::assigned_pod_delete: return pod_may_help(pod, event);
      default: return true;
    }
  }

 private:
  static RequiredState& required(PodState& state) { return static_cast<RequiredState&>(state); }
  static PreferredState& preferred(PodState& state) { return static_cast<PreferredState&>(state); }
  const LabelSet& labels(const PodInfo& pod) const { return table_.selectors().label_set(pod); }

  bool selected(const PodSelectorRef& selector, const api::Pod* pod) const {
    return pod != nullptr &&
           table_.selectors().selects(*selector, pod->metadata.namespace_, pod->metadata.labels);
  }
  /// Pods came, went or changed their labels. The pod stands for all that wait for the same reason, whose
  /// labels may differ: whom another one's anti-affinity meant is not asked.
  bool pod_may_help(const PodInfo& pod, const ClusterEvent& event) const {
    if (event.new_pod == nullptr && event.old_pod->spec.affinity &&
        event.old_pod->spec.affinity->pod_anti_affinity &&
        !event.old_pod->spec.affinity->pod_anti_affinity->required.empty())
      return true;
    const auto terms = table_.of(pod);
    if (!terms) return false;
    // Also when the last one goes that it wants to be near: then it may be the first.
    if (terms->all() && selected(terms->all(), event.old_pod) != selected(terms->all(), event.new_pod))
      return true;
    return std::any_of(terms->anti_affinity().begin(), terms->anti_affinity().end(), [&](const auto& term) {
      return selected(term.selector, event.old_pod) && !selected(term.selector, event.new_pod);
    });
  }
  bool node_may_help(const PodInfo& pod, const ClusterEvent& event) const {
    const auto value = [](const api::Node* node, const Symbol& key) {
      return node == nullptr ? nullptr : node->metadata.labels.find(key.view());
    };
    const auto differs = [&](const Symbol& key) {
      const Symbol *before = value(event.old_node, key), *now = value(event.new_node, key);
      return before == nullptr || now == nullptr ? before != now : *before != *now;
    };
    const auto terms = table_.of(pod);
    // A new node without the key is as good as any for who keeps away from others, or others from it.
    if (event.old_node == nullptr && (!terms || terms->affinity().empty())) return true;
    if (terms) {
      for (const auto& term : terms->affinity())
        if (differs(term.key) && value(event.new_node, term.key) != nullptr) return true;
      if (event.old_node == nullptr) return !terms->anti_affinity().empty();
      for (const auto& term : terms->anti_affinity())
        if (differs(term.key) && value(event.old_node, term.key) != nullptr) return true;
    }
    const auto left = [&](const auto& label) { return table_.repels_in(label.key) && differs(label.key); };
    return event.old_node != nullptr &&
           std::any_of(event.old_node->metadata.labels.begin(), event.old_node->metadata.labels.end(), left);
  }

  InterPodAffinityArgs args_;
  TermTable& table_;
  EventMask namespace_events_;
  std::array<std::array<VerdictId, RequiredState::kFlags>, 2>
      verdicts_{};  // by first_of_its_kind() and flags
};

}  // namespace
}  // namespace inter_pod_affinity

extern const PluginEntry kInterPodAffinity{
    .name = "InterPodAffinity",
    .args = &args_type<inter_pod_affinity::InterPodAffinityArgs>,
    .make = &make_with<inter_pod_affinity::InterPodAffinity, inter_pod_affinity::InterPodAffinityArgs>};

}  // namespace koord::scheduling
