// PodTopologySpread: keeps pods that a selector selects evenly over the domains of a topology key, or prefers
// it; pods without constraints of their own by those of the arguments.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/plugin/sign.hpp"
#include "scheduling/plugins/pod_topology_spread/args.hpp"
#include "scheduling/plugins/pod_topology_spread/bound.hpp"
#include "scheduling/plugins/pod_topology_spread/default_selector.hpp"

namespace koord::scheduling {

namespace pod_topology_spread {
namespace {

constexpr char kMismatch[] = "node(s) didn't match pod topology spread constraints";
constexpr char kMissingLabel[] =
    "node(s) didn't match pod topology spread constraints (missing required label)";

/// What the pod that was tried last is counted with, as long as nothing of that changes.
struct Defaults {
  LabelSetRef labels;  // held: no other set comes to have its address
  Symbol kind, owner;
  std::uint64_t generation = 0;
  bool known = false;
  std::optional<api::LabelSelector> selector;
};

struct FilterState final : PodState {
  HardConstraints constraints;
  std::string error;                 // of a selector, also of one that is only preferred
  std::optional<Defaults> defaults;  // without constraints of the pod's own
};
struct ScoreState final : PodState {
  SoftConstraints constraints;
  std::optional<Defaults> defaults;
};

FilterState& filtering(PodState& state) { return static_cast<FilterState&>(state); }
ScoreState& scoring(PodState& state) { return static_cast<ScoreState&>(state); }

bool has_all_keys(const api::Node& node, std::span<const Constraint> constraints) {
  return std::all_of(constraints.begin(), constraints.end(),
                     [&](const Constraint& c) { return node.metadata.labels.contains(c.key); });
}

/// What counts does so only in its namespace, and once it is on a node; or it is the pod itself.
bool involved(const api::Pod& changed, const api::Pod& pod) {
  return changed.metadata.uid == pod.metadata.uid ||
         (!changed.spec.node_name.empty() && changed.metadata.namespace_ == pod.metadata.namespace_);
}

template <class T>
EventMask any_event(const PluginContext& context) {
  return context.objects.watch<T>().events(ObjectAction::add, ObjectAction::update, ObjectAction::remove);
}

class PodTopologySpread final : public Plugin,
                                public CrossNodeFilterPlugin,
                                public CrossNodeScorePlugin,
                                public EventPlugin {
 public:
  PodTopologySpread(const PodTopologySpreadArgs& args, const PluginContext& context)
      : by_system_(args.by_system()),
        cluster_{context.nodes, context.topology, context.selectors,
                 context.shared.get<SpreadCounts>(context.nodes)},
        mismatch_(context.verdicts.intern({context.index, false, {kMismatch}})),
        missing_label_(context.verdicts.intern({context.index, true, {kMissingLabel}})) {
    const auto& defaults = by_system_ ? system_constraints() : args.default_constraints;
    default_hard_ = read(defaults, {}, kDoNotSchedule);
    default_soft_ = read(defaults, {}, kScheduleAnyway);
    if (!defaults.empty()) default_selector_ = &context.shared.get<DefaultSelector>(context.objects);
    if (!default_hard_.empty())
      owner_events_ = any_event<api::Service>(context) | any_event<api::ReplicationController>(context) |
                      any_event<api::ReplicaSet>(context) | any_event<api::StatefulSet>(context);
  }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    const api::PodSpec& spec = pod.pod->spec;
    const api::ObjectMeta& meta = pod.pod->metadata;
    const auto& constraints = spec.topology_spread_constraints;
    bool affinity = false, taints = false;
    const auto inclusion = [&](const Constraint& c) {
      affinity = affinity || c.honor_affinity;
      taints = taints || c.honor_taints;
    };
    signature.add(static_cast<std::int64_t>(constraints.size()));
    if (constraints.empty()) {
      std::ranges::for_each(default_hard_, inclusion);
      std::ranges::for_each(default_soft_, inclusion);
      // What it is counted with is looked up for each pod; but events ask for one of a group.
      if (!default_hard_.empty()) {
        const api::OwnerReference* owner = api::controller_of(meta);
        signature.add(meta.namespace_.view());
        signature.add(owner == nullptr ? std::string_view() : owner->kind.view());
        signature.add(owner == nullptr ? std::string_view() : owner->name.view());
        signature.add(static_cast<std::int64_t>(meta.labels.size()));
        for (const auto& [key, value] : meta.labels) {
          signature.add(key.view());
          signature.add(value.view());
        }
      }
    } else {
      signature.add(meta.namespace_.view());
      for (const std::string_view action : {kDoNotSchedule, kScheduleAnyway}) {
        const std::vector<Constraint> all = read(constraints, meta.labels, action);
        signature.add(static_cast<std::int64_t>(all.size()));
        for (const Constraint& c : all) {
          inclusion(c);
          signature.add(c.max_skew);
          signature.add(c.min_domains);
          signature.add(c.key.view());
          signature.add((c.honor_affinity ? 1 : 0) + (c.honor_taints ? 2 : 0) + (c.selector ? 4 : 0));
          if (c.selector) sign_selector(*c.selector, signature);
        }
      }
    }
    if (affinity) sign_required_affinity(spec, signature);
    if (taints) sign_tolerations(*pod.pod, signature);
    return true;
  }

  std::unique_ptr<PodState> prepare_cross_node_filter(const PodInfo& pod) override {
    auto state = std::make_unique<FilterState>();
    if (pod.pod->spec.topology_spread_constraints.empty()) {
      if (!default_hard_.empty()) state->defaults.emplace();
      return state;
    }
    auto hard = HardConstraints::bind(cluster_, pod, own(*pod.pod, kDoNotSchedule), nullptr);
    if (hard) {
      state->constraints = std::move(*hard);
    } else {
      state->error = fmt::format(
          "get constraints from pod: obtaining pod's hard topology spread "
          "constraints: {}",
          hard.error().message());
    }
    for (const Constraint& c : own(*pod.pod, kScheduleAnyway))
      if (const auto selector = selector_of(c); !selector && state->error.empty())
        state->error = fmt::format(
            "calculating preScoreState: obtaining pod's soft topology spread "
            "constraints: {}",
            selector.error().message());
    return state;
  }
  PreFiltered pre_filter(PodState& any, const PodInfo& pod) override {
    FilterState& state = filtering(any);
    if (!state.error.empty()) return {.rejected = state.error, .code = StatusCode::error};
    if (state.defaults && renew(*state.defaults, pod)) {
      state.constraints = {};
      if (state.defaults->selector)
        if (auto hard = HardConstraints::bind(cluster_, pod, default_hard_, &*state.defaults->selector))
          state.constraints = std::move(*hard);
    }
    if (state.constraints.empty()) return {.skip = true};
    state.constraints.begin(cluster_, *pod.pod);
    return {};
  }
  void filter(PodState& state, const NodeTable&, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    filtering(state).constraints.filter(rows, missing_label_, mismatch_, out);
  }
  void add_pod(PodState& state, const PodInfo& pod, const PodInfo& other, Row row) override {
    filtering(state).constraints.add(cluster_, *pod.pod, *other.pod, row, 1);
  }
  void remove_pod(PodState& state, const PodInfo& pod, const PodInfo& other, Row row) override {
    filtering(state).constraints.add(cluster_, *pod.pod, *other.pod, row, -1);
  }

  std::unique_ptr<PodState> prepare_cross_node_score(const PodInfo& pod) override {
    auto state = std::make_unique<ScoreState>();
    if (pod.pod->spec.topology_spread_constraints.empty()) {
      if (!default_soft_.empty()) state->defaults.emplace();
    } else if (auto soft =
                   SoftConstraints::bind(cluster_, pod, own(*pod.pod, kScheduleAnyway), nullptr, true)) {
      state->constraints = std::move(*soft);
    }
    return state;
  }
  bool may_score(PodState& any, const PodInfo& pod) override {
    ScoreState& state = scoring(any);
    if (state.defaults && renew(*state.defaults, pod)) {
      state.constraints = {};
      if (state.defaults->selector)
        if (auto soft =
                SoftConstraints::bind(cluster_, pod, default_soft_, &*state.defaults->selector, !by_system_))
          state.constraints = std::move(*soft);
    }
    return !state.constraints.empty();
  }
  bool pre_score(PodState& state, const PodInfo&, const NodeTable&, std::span<const Row> feasible) override {
    scoring(state).constraints.begin(cluster_, feasible);
    return true;
  }
  void score(PodState& state, const NodeTable&, std::span<const Row> rows,
             std::span<std::int64_t> out) const override {
    scoring(state).constraints.score(rows, out);
  }
  void normalize(PodState& state, std::span<const Row> rows, std::span<std::int64_t> scores) const override {
    scoring(state).constraints.normalize(rows, scores);
  }

  EventMask events() const override {
    return events_of(EventKind::assigned_pod_add, EventKind::assigned_pod_label, EventKind::assigned_pod_ends,
                     EventKind::assigned_pod_delete, EventKind::own_pod_label, EventKind::own_pod_toleration,
                     EventKind::node_add, EventKind::node_delete, EventKind::node_label,
                     EventKind::node_taint) |
           owner_events_;
  }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    // By what it is counted with, and whether at all.
    if (owner_events_.has(event.kind)) return pod.pod->spec.topology_spread_constraints.empty();
    // By its labels, where it has no constraints of its own.
    if (event.kind == EventKind::own_pod_label && pod.pod->spec.topology_spread_constraints.empty())
      return !default_hard_.empty();
    const std::vector<Constraint> constraints = hard(*pod.pod);
    if (event.old_node != nullptr || event.new_node != nullptr)
      return node_may_help(constraints, event.old_node, event.new_node);
    // What is being deleted counts no longer.
    return pod_may_help(constraints, *pod.pod, event.old_pod,
                        event.kind == EventKind::assigned_pod_ends ? nullptr : event.new_pod);
  }

 private:
  static std::vector<Constraint> own(const api::Pod& pod, std::string_view action) {
    return read(pod.spec.topology_spread_constraints, pod.metadata.labels, action);
  }

  /// Those of the filter, with the selectors that they are counted with.
  std::vector<Constraint> hard(const api::Pod& pod) const {
    if (!pod.spec.topology_spread_constraints.empty()) return own(pod, kDoNotSchedule);
    if (default_hard_.empty()) return {};
    const std::optional<api::LabelSelector> selector = default_selector_->of(pod);
    if (!selector) return {};
    std::vector<Constraint> all = default_hard_;
    for (Constraint& c : all) c.selector = *selector;
    return all;
  }

  static bool node_may_help(std::span<const Constraint> constraints, const api::Node* before,
                            const api::Node* now) {
    const bool counted = before != nullptr && has_all_keys(*before, constraints);
    const bool counts = now != nullptr && has_all_keys(*now, constraints);
    if (before == nullptr || now == nullptr || counted != counts) return counted || counts;
    return counts && (before->spec.taints != now->spec.taints ||
                      std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& c) {
                        return *before->metadata.labels.find(c.key) != *now->metadata.labels.find(c.key);
                      }));
  }

  static bool pod_may_help(std::span<const Constraint> constraints, const api::Pod& pod,
                           const api::Pod* before, const api::Pod* now) {
    if ((before != nullptr && !involved(*before, pod)) || (now != nullptr && !involved(*now, pod)))
      return false;
    if (before != nullptr && now != nullptr) {
      if (now->metadata.uid == pod.metadata.uid && before->spec.tolerations != now->spec.tolerations &&
          std::any_of(constraints.begin(), constraints.end(), [](const auto& c) { return c.honor_taints; }))
        return true;
      if (before->metadata.labels == now->metadata.labels) return false;
    }
    return std::any_of(constraints.begin(), constraints.end(), [&](const Constraint& c) {
      const auto selector = selector_of(c);
      if (!selector) return true;
      const auto selects = [&](const api::Pod* p) {
        return p != nullptr && selector->matches(p->metadata.labels);
      };
      return selects(before) != selects(now);
    });
  }

  /// True: another selector than last time.
  bool renew(Defaults& defaults, const PodInfo& pod) const {
    cluster_.selectors.label_set(pod);
    const api::OwnerReference* owner = api::controller_of(pod.pod->metadata);
    const Symbol kind = owner != nullptr ? owner->kind : Symbol();
    const Symbol name = owner != nullptr ? owner->name : Symbol();
    const std::uint64_t generation = default_selector_->generation();
    if (defaults.known && defaults.generation == generation && &*defaults.labels == &*pod.labels.set &&
        defaults.kind == kind && defaults.owner == name)
      return false;
    std::optional<api::LabelSelector> selector = default_selector_->of(*pod.pod);
    // The same selector means others in another namespace.
    const bool same = defaults.known && selector == defaults.selector &&
                      defaults.labels->namespace_name() == pod.pod->metadata.namespace_;
    defaults = {pod.labels.set, kind, name, generation, true, std::move(selector)};
    return !same;
  }

  bool by_system_;
  std::vector<Constraint> default_hard_, default_soft_;
  const DefaultSelector* default_selector_ = nullptr;  // where there are defaults
  EventMask owner_events_;                             // of what it looks at, where it matters to the filter
  Cluster cluster_;
  VerdictId mismatch_, missing_label_;
};

}  // namespace
}  // namespace pod_topology_spread

extern const PluginEntry kPodTopologySpread{
    .name = "PodTopologySpread",
    .args = &args_type<pod_topology_spread::PodTopologySpreadArgs>,
    .make = &make_with<pod_topology_spread::PodTopologySpread, pod_topology_spread::PodTopologySpreadArgs>};

}  // namespace koord::scheduling
