// LoadAwareScheduling: not onto nodes that use too much, and rather onto those that use little, by what their
// NodeMetrics report and by what the pods that were bound since are estimated to use.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "scheduling/plugins/load_aware_scheduling/describe.hpp"
#include "scheduling/plugins/load_aware_scheduling/node_loads.hpp"

namespace koord::scheduling {

namespace load_aware {
namespace {

constexpr std::int64_t kMaxScore = 100;

struct State final : PodState {
  Amounts estimated;
  bool prod = false;
  bool daemon = false;  // of a DaemonSet: it goes where it has to
};

/// 100 where nothing is used, 0 where all of it is.
std::int64_t least_used(std::int64_t used, std::int64_t there) {
  return there == 0 || used > there ? 0 : (there - used) * kMaxScore / there;
}

class LoadAwareScheduling final : public Plugin,
                                  public FilterPlugin,
                                  public PreFilterPlugin,
                                  public ScorePlugin,
                                  public ReservedByRowPlugin,
                                  public EventPlugin,
                                  public TimedPlugin,
                                  public ServicePlugin {
 public:
  LoadAwareScheduling(const LoadAwareSchedulingArgs& args, const PluginContext& context)
      : context_(context),
        args_(args),
        metrics_(context.objects.watch<api::NodeMetric>()),
        loads_(args_, context.nodes, metrics_, context.clock),
        weights_(loads_.resources().numbers(args_.resource_weights)),
        expired_(intern("node(s) nodeMetric expired")) {
    for (std::size_t i = 0; i < loads_.resources().size(); ++i) {
      const std::string& name = loads_.resources().name(i);
      too_much_.push_back(intern(fmt::format("node(s) {} usage exceed threshold", name)));
      too_much_aggregated_.push_back(
          intern(fmt::format("node(s) {} aggregated usage exceed threshold", name)));
    }
    weight_sum_ = args_.dominant_resource_weight;
    for (const std::int64_t weight : weights_) weight_sum_ += weight;
    events_ = metrics_.events(ObjectAction::add, ObjectAction::update, ObjectAction::remove) |
              events_of(EventKind::node_add, EventKind::node_allocatable, EventKind::node_annotation,
                        EventKind::assigned_pod_delete, EventKind::assigned_pod_label,
                        EventKind::assigned_pod_scale_down, EventKind::assigned_pod_update,
                        EventKind::own_pod_label, EventKind::own_pod_scale_down, EventKind::own_pod_update);
    context.observe(loads_);
  }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    const State state = read(pod);
    for (const std::int64_t amount : state.estimated) signature.add(amount);
    signature.add(state.prod * 2 + state.daemon);
    return true;
  }

  Depends filter_depends() const override { return Depends::pods; }
  FilterPlugin::Prepared prepare_filter(const PodInfo& pod) override {
    FilterPlugin::Prepared prepared;
    auto state = std::make_unique<State>(read(pod));
    prepared.skip = state->daemon;
    prepared.state = std::move(state);
    return prepared;
  }
  void filter(PodState* state, const NodeTable&, std::span<const Row> rows,
              std::span<VerdictId> out) const override {
    const auto& s = *static_cast<State*>(state);
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = judge(s, rows[i]);
  }

  Depends score_depends() const override { return Depends::pods; }
  ScorePlugin::Prepared prepare_score(const PodInfo& pod) override {
    return {std::make_unique<State>(read(pod)), false};
  }
  void score(PodState* state, const NodeTable&, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    const auto& s = *static_cast<State*>(state);
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = static_cast<std::int32_t>(weigh(s, rows[i]));
  }

  EventMask events() const override { return events_; }
  /// The original tries again whenever any NodeMetric changes; here when one changes by which the pod may go
  /// to its node. So the other events that have to do with that node count, too.
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    std::string_view node;
    switch (event.kind) {
      case EventKind::own_pod_label:
      case EventKind::own_pod_scale_down:
      case EventKind::own_pod_update: return true;
      case EventKind::node_add:
      case EventKind::node_allocatable:
      case EventKind::node_annotation: node = event.new_node->metadata.name; break;
      case EventKind::assigned_pod_delete:
      case EventKind::assigned_pod_label:
      case EventKind::assigned_pod_scale_down:
      case EventKind::assigned_pod_update: node = event.old_pod->spec.node_name.view(); break;
      default:
        node = static_cast<const api::NodeMetric*>(event.new_object != nullptr ? event.new_object
                                                                               : event.old_object)
                   ->metadata.name;
    }
    if (node.empty()) return true;  // it was assumed there
    const Row row = context_.nodes.find(node);
    return row != kNoRow && context_.nodes.node(row) && judge(read(pod), row) == kPass;
  }

  std::optional<WallTime> next_time() const override { return loads_.next_expiry(); }
  void time_passed(WallTime now, const std::function<void(const ClusterEvent&)>& happened) override {
    const bool passes =
        *args_.filter_expired_node_metrics && *args_.enable_schedule_when_node_metrics_expired;
    loads_.expire(now, [&](const api::NodeMetric& metric) {
      if (passes)
        happened({.kind = *metrics_.asked(ObjectAction::update),
                  .old_object = &metric,
                  .new_object = &metric,
                  .object_label = metrics_.label(ObjectAction::update)});
    });
  }

  std::vector<std::string_view> service_paths() const override { return {"/node/:nodeName"}; }
  std::optional<ServiceAnswer> serve(const ServiceRequest& request) const override {
    constexpr std::string_view kNode = "/node/";
    if (!request.path.starts_with(kNode)) return std::nullopt;
    return ServiceAnswer{200, describe(loads_, std::string_view(request.path).substr(kNode.size()))};
  }

 private:
  VerdictId intern(std::string reason) const {
    return context_.verdicts.intern({context_.index, false, {std::move(reason)}});
  }

  State read(const PodInfo& pod) const {
    State state;
    const api::KoordPriority of = priority_class(*pod.pod);
    state.prod = of == api::KoordPriority::prod;
    state.daemon = std::ranges::any_of(pod.pod->metadata.owner_references,
                                       [](const auto& owner) { return owner.kind == "DaemonSet"; });
    state.estimated.resize(loads_.resources().size());
    loads_.estimator().estimate(*pod.pod, of, state.estimated);
    return state;
  }

  VerdictId judge(const State& pod, Row row) const {
    if (pod.daemon) return kPass;
    const NodeLoads::Load load = loads_.load(row);
    if (load.state == NodeLoads::State::unreported) return kPass;
    const bool prod = pod.prod && any(load.thresholds->prod),
               aggregated = !prod && load.thresholds->aggregated;
    const Amounts& most = prod         ? load.thresholds->prod
                          : aggregated ? *load.thresholds->aggregated
                                       : load.thresholds->usage;
    if (load.expired && *args_.filter_expired_node_metrics) {
      if (*args_.enable_schedule_when_node_metrics_expired || !any(most)) return kPass;
      return expired_;
    }
    if (load.state == NodeLoads::State::empty) return kPass;
    const std::span<const std::int64_t> used = prod ? load.prod() : load.compared();
    const std::span<const std::int64_t> there = load.allocatable();
    for (std::size_t i = 0; i < most.size(); ++i) {
      if (most[i] == 0 || there[i] == 0) continue;
      const double share = static_cast<double>(used[i] + pod.estimated[i]) / static_cast<double>(there[i]);
      if (std::round(share * 100) > static_cast<double>(most[i]))
        return aggregated ? too_much_aggregated_[i] : too_much_[i];
    }
    return kPass;
  }

  std::int64_t weigh(const State& pod, Row row) const {
    const NodeLoads::Load load = loads_.load(row);
    if (load.state != NodeLoads::State::reported || load.expired || weight_sum_ <= 0) return 0;
    const bool prod = pod.prod && args_.score_according_prod_usage.value_or(false);
    const std::span<const std::int64_t> used = prod ? load.prod() : load.scored();
    const std::span<const std::int64_t> there = load.allocatable();
    std::int64_t sum = 0, dominant = kMaxScore;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      const std::int64_t score = least_used(used[i] + pod.estimated[i], there[i]);
      sum += score * weights_[i];
      dominant = std::min(dominant, score);
    }
    return (sum + dominant * args_.dominant_resource_weight) / weight_sum_;
  }

  PluginContext context_;
  LoadAwareSchedulingArgs args_;
  ObjectStore<api::NodeMetric>& metrics_;
  NodeLoads loads_;
  Amounts weights_;
  std::int64_t weight_sum_ = 0;
  VerdictId expired_;
  std::vector<VerdictId> too_much_, too_much_aggregated_;  // by resource
  EventMask events_;
};

}  // namespace
}  // namespace load_aware

extern const PluginEntry kLoadAwareScheduling{
    .name = "LoadAwareScheduling",
    .args = &args_type<load_aware::LoadAwareSchedulingArgs>,
    .make = &make_with<load_aware::LoadAwareScheduling, load_aware::LoadAwareSchedulingArgs>};

}  // namespace koord::scheduling
