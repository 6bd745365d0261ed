// NodeResourcesFit: the node has room for what the pod asks; scores nodes by how full they are.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/scoring/node_resources_fit_args.hpp"
#include "scheduling/extended_resources/extended_resources.hpp"

namespace koord::scheduling {

namespace node_resources_fit {
namespace {

struct FilterState final : PodState {
  explicit FilterState(VerdictTable& t) : table(t) {}
  ~FilterState() override {
    for (const auto& [lacking, verdict] : verdicts) table.release(verdict);
  }
  FilterState(const FilterState&) = delete;
  FilterState& operator=(const FilterState&) = delete;

  VerdictTable& table;
  std::vector<Amount> wanted;  // none is zero or ignored
  /// Held, by the set of resources that are short and whether the node could never have the room, as bits,
  /// and the first of those that share a bit.
  std::map<std::pair<std::uint64_t, std::size_t>, VerdictId> verdicts;
};
/// Of the bits that tell what is short the last one but one is shared by all wanted resources from there on,
/// and the last one says that the node could never have the room.
constexpr std::size_t kShared = 62, kNever = 63;

struct ScoreState final : PodState {
  std::vector<std::int64_t> requests;
};

ResourceScorer make_scorer(const ScoringStrategy& strategy, NodeTable& nodes) {
  using Strategy = ResourceScorer::Strategy;
  auto resources = scored_resources(strategy.resources, nodes);
  if (strategy.type == "LeastAllocated") return {Strategy::least_allocated, std::move(resources)};
  if (strategy.type == "MostAllocated") return {Strategy::most_allocated, std::move(resources)};
  std::vector<ResourceScorer::Point> shape;
  for (const ShapePoint& p : strategy.requested_to_capacity_ratio->shape)
    shape.push_back({p.utilization, std::int64_t{p.score} * 10});
  return {Strategy::ratio, std::move(resources), std::move(shape)};
}

class NodeResourcesFit final : public Plugin,
                               public FilterPlugin,
                               public PreFilterPlugin,
                               public ScorePlugin,
                               public PreScorePlugin,
                               public EventPlugin {
 public:
  NodeResourcesFit(const NodeResourcesFitArgs& args, const PluginContext& context)
      : context_(context),
        args_(args),
        extended_(ExtendedResources::of(context)),
        scorer_(make_scorer(*args.scoring_strategy, context.nodes)) {
    events_ = events_of(EventKind::node_add, EventKind::node_allocatable, EventKind::assigned_pod_delete,
                        EventKind::assigned_pod_scale_down, EventKind::own_pod_scale_down);
    if (extended_ == nullptr) return;
    class_events_ = extended_->classes().events(ObjectAction::add, ObjectAction::update);
    events_ = events_ | class_events_;
    score_devices(scorer_, context);
  }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    const Requests& r = pod.requests;
    for (std::int64_t n : {r.cpu, r.memory, r.storage, r.nonzero_cpu, r.nonzero_memory}) signature.add(n);
    signature.add(static_cast<std::int64_t>(r.scalars.size()));
    for (const Amount& a : r.scalars) {
      signature.add(a.resource);
      signature.add(a.amount);
    }
    return true;
  }

  Depends filter_depends() const override { return Depends::pods; }
  FilterPlugin::Prepared prepare_filter(const PodInfo& pod) override {
    auto state = std::make_unique<FilterState>(context_.verdicts);
    state->wanted.push_back({kPods, 1});
    auto want = [&](ResourceId id, std::int64_t amount) {
      if (amount > 0) state->wanted.push_back({id, amount});
    };
    want(kCpu, pod.requests.cpu);
    want(kMemory, pod.requests.memory);
    want(kStorage, pod.requests.storage);
    for (const Amount& a : pod.requests.scalars)
      if (!ignored(context_.nodes.resources().name(a.resource))) want(a.resource, a.amount);
    FilterPlugin::Prepared prepared;
    prepared.state = std::move(state);
    return prepared;
  }
  void filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    auto& s = *static_cast<FilterState*>(state);
    // Resource by resource: two columns at a time.
    lacking_.assign(rows.size(), 0);
    bool in_order = !rows.empty();
    for (std::size_t i = 0; i < rows.size(); ++i) in_order &= rows[i] == rows[0] + i;
    for (std::size_t w = 0; w < s.wanted.size(); ++w) {
      const Amount& a = s.wanted[w];
      const std::int64_t* there = nodes.allocatable_column(a.resource);
      const std::int64_t* used = nodes.used_column(a.resource);
      const std::size_t bit = std::min(w, kShared);
      const bool nowhere = there == nullptr && nodes.cells().holders(a.resource) == 0;
      if (is_backed(a.resource)) {
        for (std::size_t i = 0; i < rows.size(); ++i)
          lacking_[i] |= std::uint64_t{is_short(a, nodes, rows[i])} << bit;
        continue;
      }
      if (there != nullptr && in_order) {
        for (std::size_t i = 0; i < rows.size(); ++i)
          lacking_[i] |= std::uint64_t{a.amount > there[rows[0] + i] - used[rows[0] + i]} << bit;
        continue;
      }
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const bool lacks = there != nullptr ? a.amount > there[rows[i]] - used[rows[i]]
                                            : nowhere || is_short(a, nodes, rows[i]);
        lacking_[i] |= std::uint64_t{lacks} << bit;
      }
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      out[i] = lacking_[i] == 0 ? kPass : verdict(s, nodes, rows[i], lacking_[i], [&](const Amount& a) {
        return is_short(a, nodes, rows[i]);
      });
  }
  VerdictId filter_view(PodState* state, const NodeTable& nodes, const NodeView& view) const override {
    auto& s = *static_cast<FilterState*>(state);
    const auto lacks = [&](const Amount& a) {
      return a.amount > view.allocatable(a.resource) - view.used(a.resource) &&
             !is_devices(a.resource, view.allocatable(a.resource));
    };
    std::uint64_t lacking = 0;
    for (std::size_t w = 0; w < s.wanted.size(); ++w)
      lacking |= std::uint64_t{lacks(s.wanted[w])} << std::min(w, kShared);
    return lacking == 0 ? kPass : verdict(s, nodes, view.row(), lacking, lacks);
  }

  Depends score_depends() const override { return Depends::pods; }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override {
    auto state = std::make_unique<ScoreState>();
    state->requests = scorer_.requests(pod);
    return {std::move(state), false};
  }
  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    scorer_.score(static_cast<ScoreState*>(state)->requests, nodes, rows, out);
  }
  std::int32_t score_view(PodState* state, const NodeTable&, const NodeView& view) const override {
    return scorer_.score(static_cast<ScoreState*>(state)->requests, view);
  }

  EventMask events() const override { return events_; }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    if (class_events_.has(event.kind)) return could_back(pod, event);
    switch (event.kind) {
      case EventKind::node_add: return could_fit(pod, *event.new_node);
      case EventKind::node_allocatable:
        return could_fit(pod, *event.new_node) && grew(pod, *event.old_node, *event.new_node);
      case EventKind::assigned_pod_scale_down: return scaled_down(pod, event);
      default: return true;
    }
  }

 private:
  bool ignored(std::string_view name) const {
    if (!is_extended_resource(name)) return false;
    auto has = [](const std::vector<std::string>& list, std::string_view what) {
      return std::find(list.begin(), list.end(), what) != list.end();
    };
    return has(args_.ignored_resources, name) ||
           has(args_.ignored_resource_groups, name.substr(0, name.find('/')));
  }

  bool is_backed(ResourceId id) const {
    return extended_ != nullptr && id >= kFirstScalar && extended_->class_of(id) != nullptr;
  }
  /// Whether a node that lists so much of the resource may give it as devices: not this plugin's then.
  bool is_devices(ResourceId id, std::int64_t listed) const { return listed <= 0 && is_backed(id); }
  bool is_short(const Amount& a, const NodeTable& nodes, Row row) const {
    return a.amount > nodes.allocatable(a.resource, row) - nodes.used(a.resource, row) &&
           !is_devices(a.resource, nodes.allocatable(a.resource, row));
  }

  template <class Lacks>
  VerdictId verdict(FilterState& s, const NodeTable& nodes, Row row, std::uint64_t lacking,
                    const Lacks& lacks) const {
    // Of those that share a bit the first one stands for all of them: nobody reads more names than these.
    std::size_t shared = kShared;
    if ((lacking >> kShared & 1) != 0)
      while (!lacks(s.wanted[shared])) ++shared;
    const auto each = [&](auto&& f) {
      for (std::size_t w = 0; w < std::min(s.wanted.size(), kShared); ++w)
        if ((lacking >> w & 1) != 0) f(w);
      if ((lacking >> kShared & 1) != 0) f(shared);
    };
    bool never = false;
    each([&](std::size_t w) {
      never |= w != 0 && s.wanted[w].amount > nodes.allocatable(s.wanted[w].resource, row);
    });
    auto [it, added] = s.verdicts.try_emplace({lacking | std::uint64_t{never} << kNever, shared}, kPass);
    if (added) {
      Verdict v{context_.index, never, {}};
      each([&](std::size_t w) {
        v.reasons.push_back(
            w == 0 ? "Too many pods"
                   : fmt::format("Insufficient {}", nodes.resources().name(s.wanted[w].resource)));
      });
      it->second = context_.verdicts.hold(std::move(v));
    }
    return it->second;
  }

  /// On the empty node.
  bool could_fit(const PodInfo& pod, const api::Node& node) const {
    if (amount(node, kPods) < 1) return false;
    bool fits = true;
    each(pod, [&](ResourceId id, std::int64_t wanted) {
      fits = fits && (wanted <= amount(node, id) || is_devices(id, amount(node, id)));
    });
    return fits;
  }
  bool grew(const PodInfo& pod, const api::Node& before, const api::Node& after) const {
    bool more = amount(after, kPods) > amount(before, kPods);
    each(pod, [&](ResourceId id, std::int64_t) {
      more = more || amount(after, id) > amount(before, id) || is_devices(id, amount(after, id));
    });
    return more;
  }
  /// Whether the class that has come, or has another name for its devices, backs what the pod asks for.
  bool could_back(const PodInfo& pod, const ClusterEvent& event) const {
    const auto *before = static_cast<const api::DeviceClass*>(event.old_object),
               *now = static_cast<const api::DeviceClass*>(event.new_object);
    const auto& name = now->spec.extended_resource_name;
    if (before != nullptr && before->spec.extended_resource_name == name) return false;
    const std::string of_class = fmt::format("{}{}", ExtendedResources::kOfClass, now->metadata.name);
    return std::ranges::any_of(pod.requests.scalars, [&](const Amount& a) {
      const std::string_view asked = context_.nodes.resources().name(a.resource);
      return (name && *name == asked) || (before == nullptr && asked == of_class);
    });
  }
  bool scaled_down(const PodInfo& pod, const ClusterEvent& event) const {
    Requests before = requests_of(*event.old_pod), after = requests_of(*event.new_pod);
    bool less = false;
    each(pod, [&](ResourceId id, std::int64_t) { less = less || before[id] > after[id]; });
    return less;
  }
  Requests requests_of(const api::Pod& pod) const {
    // The event's objects outlive the call: no ownership is needed.
    return make_pod_info({std::shared_ptr<const api::Pod>(), &pod}, context_.nodes.resources()).requests;
  }
  /// Of what counts.
  template <class F>
  void each(const PodInfo& pod, F&& f) const {
    if (pod.requests.cpu > 0) f(kCpu, pod.requests.cpu);
    if (pod.requests.memory > 0) f(kMemory, pod.requests.memory);
    if (pod.requests.storage > 0) f(kStorage, pod.requests.storage);
    for (const Amount& a : pod.requests.scalars)
      if (!ignored(context_.nodes.resources().name(a.resource))) f(a.resource, a.amount);
  }
  std::int64_t amount(const api::Node& node, ResourceId id) const {
    const api::Quantity* q = node.status.allocatable.find(context_.nodes.resources().name(id));
    return q == nullptr ? 0 : id == kCpu ? q->milli_value() : q->value();
  }

  PluginContext context_;
  NodeResourcesFitArgs args_;
  ExtendedResources* extended_;  // nullptr: the gate is off
  ResourceScorer scorer_;
  EventMask events_, class_events_;
  mutable std::vector<std::uint64_t> lacking_;  // of filter(), by row: a bit for each resource that is short
};

}  // namespace
}  // namespace node_resources_fit

extern const PluginEntry kNodeResourcesFit{
    .name = "NodeResourcesFit",
    .args = &args_type<NodeResourcesFitArgs>,
    .make = &make_with<node_resources_fit::NodeResourcesFit, NodeResourcesFitArgs>};

}  // namespace koord::scheduling
