// VolumeBinding: pods go where their volumes can be used, and claims that wait for their first consumer get
// volumes there.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/storage_v1/csi_driver.hpp"
#include "koord/scheduling/scoring/resource_score.hpp"
#include "scheduling/plugins/volume_binding/args.hpp"
#include "scheduling/plugins/volume_binding/binding_work.hpp"
#include "scheduling/plugins/volume_binding/pod_volumes.hpp"
#include "scheduling/volumes/csi_migration.hpp"
#include "scheduling/volumes/pod_claims.hpp"

namespace koord::scheduling {

namespace volume_binding {
namespace {

class VolumeBinding final : public Plugin,
                            public PerPodFilterPlugin,
                            public PreFilterPlugin,
                            public CrossNodeScorePlugin,
                            public PreScorePlugin,
                            public ReservePlugin,
                            public PreBindPlugin,
                            public EventPlugin {
 public:
  VolumeBinding(nanoseconds timeout, std::vector<ResourceScorer::Point> shape, const PluginContext& context)
      : timeout_(timeout),
        shape_(std::move(shape)),
        verdicts_(context.verdicts),
        index_(context.index),
        sources_{context.nodes,
                 context.shared.get<KnownStorage>(context),
                 context.objects.watch<api::StorageClass>(),
                 context.objects.watch<api::CsiDriver>(),
                 context.topology,
                 context.gates == nullptr || !context.gates->known("VolumeAttributesClass") ||
                     context.gate("VolumeAttributesClass")} {
    for (unsigned bits = 1; bits < rejected_.size(); ++bits) {
      std::vector<std::string> reasons;
      for (std::size_t i = 0; i < kConflictTexts.size(); ++i)
        if ((bits & 1U << i) != 0) reasons.emplace_back(kConflictTexts[i]);
      rejected_[bits] = verdicts_.intern({index_, true, std::move(reasons)});
    }
    using enum ObjectAction;
    auto& stores = context.objects;
    claim_events_ = stores.watch<api::PersistentVolumeClaim>().events(add, update);
    class_changed_ = stores.watch<api::StorageClass>().events(update);
    csi_node_changed_ = stores.watch<api::CsiNode>().events(update);
    driver_changed_ = stores.watch<api::CsiDriver>().events(update);
    capacity_changed_ = stores.watch<api::CsiStorageCapacity>().events(update);
    events_ = claim_events_ | class_changed_ | csi_node_changed_ | driver_changed_ | capacity_changed_ |
              stores.watch<api::PersistentVolume>().events(add, update) |
              stores.watch<api::StorageClass>().events(add) | stores.watch<api::CsiNode>().events(add) |
              stores.watch<api::CsiStorageCapacity>().events(add) |
              events_of(EventKind::node_add, EventKind::node_label);
  }

  /// What is read of claims differs from pod to pod.
  bool sign(const PodInfo&, Signature&) const override { return true; }

  std::unique_ptr<PodState> pre_filter_pod(const PodInfo& pod, PreFiltered& said) override;
  void filter_pod(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
                  std::span<VerdictId> out) const override;

  std::unique_ptr<PodState> prepare_cross_node_score(const PodInfo&) override {
    return std::make_unique<PodState>();
  }
  bool may_score(PodState&, const PodInfo&) override {
    return !shape_.empty() && tried_ != nullptr && tried_->volumes.waits();
  }
  bool pre_score(PodState&, const PodInfo&, const NodeTable&, std::span<const Row>) override { return true; }
  void score(PodState& state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int64_t> out) const override;
  void normalize(PodState&, std::span<const Row>, std::span<std::int64_t>) const override {}

  Status reserve(PodAttempt& attempt) override;
  void unreserve(PodAttempt& attempt) override;
  std::shared_ptr<PreBindWork> pre_bind(PodAttempt& attempt) override;

  EventMask events() const override { return events_; }
  EventMask events_of_pods() const override { return claim_events_ | driver_changed_; }
  bool concerns(const PodInfo& pod, const ClusterEvent& event) const override;
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override;

 private:
  struct State final : PodState {
    State(const Sources& sources, VerdictTable& table) : volumes(sources), verdicts(table) {}
    ~State() override {
      if (failed != kPass) verdicts.release(failed);
    }
    PodVolumes volumes;
    VerdictTable& verdicts;
    VerdictId failed = kPass;  // what went wrong, as a verdict
    // From Reserve on.
    std::vector<VolumeForClaim> bindings;
    std::vector<ClaimForNode> provisions;
  };

  Result<> assume(State& state, Row row, const Symbol& node);
  void restore(State& state);
  std::int64_t score_of(const Placement& placement) const;

  nanoseconds timeout_;
  std::vector<ResourceScorer::Point> shape_;  // empty: nodes are not scored
  VerdictTable& verdicts_;
  PluginIndex index_;
  Sources sources_;
  std::array<VerdictId, 16> rejected_{};  // by conflicts
  EventMask events_, claim_events_, class_changed_, csi_node_changed_, driver_changed_, capacity_changed_;
  State* tried_ = nullptr;  // of this cycle
};

// Filter

std::unique_ptr<PodState> VolumeBinding::pre_filter_pod(const PodInfo& pod, PreFiltered& said) {
  tried_ = nullptr;
  if (!volumes::has_claims(*pod.pod)) return nullptr;
  auto state = std::make_unique<State>(sources_, verdicts_);
  switch (state->volumes.read(*pod.pod, said.rejected)) {
    case PodVolumes::Made::no_claims:
    case PodVolumes::Made::rejected: return nullptr;
    case PodVolumes::Made::error: said.code = StatusCode::error; return nullptr;
    case PodVolumes::Made::ready: break;
  }
  if (state->volumes.usable_everywhere()) return nullptr;
  tried_ = state.get();
  return state;
}

void VolumeBinding::filter_pod(PodState& made, const NodeTable&, std::span<const Row> rows,
                               std::span<VerdictId> out) const {
  auto& state = static_cast<State&>(made);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const unsigned conflicts = state.volumes.conflicts(rows[i]);
    if ((conflicts & PodVolumes::kFailed) == 0) {
      out[i] = rejected_[conflicts];
      continue;
    }
    if (state.failed == kPass) state.failed = verdicts_.hold({index_, false, {state.volumes.error()}, true});
    out[i] = state.failed;
  }
}

// Score

void VolumeBinding::score(PodState&, const NodeTable&, std::span<const Row> rows,
                          std::span<std::int64_t> out) const {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Placement placement;
    out[i] = tried_->volumes.conflicts(rows[i], &placement) == 0 ? score_of(placement) : 0;
  }
}

/// All classes weigh the same.
std::int64_t VolumeBinding::score_of(const Placement& placement) const {
  struct Taken {
    std::int64_t requested = 0, capacity = 0;
  };
  const auto storage = [](const api::ResourceList& list) {
    const api::Quantity* quantity = list.find("storage");
    return quantity != nullptr ? quantity->value() : 0;
  };
  std::map<std::string_view, Taken> classes;
  for (const Placement::Binding& b : placement.bindings) {
    Taken& taken = classes[b.volume->spec.storage_class_name.view()];
    taken.requested += storage(b.claim->spec.resources.requests);
    taken.capacity += storage(b.volume->spec.capacity);
  }
  if (placement.bindings.empty())
    for (const Placement::Provision& p : placement.provisions) {
      if (!p.pool) continue;
      Taken& taken = classes[volumes::class_of(*p.claim)];
      taken.requested += storage(p.claim->spec.resources.requests);
      taken.capacity = p.pool->capacity ? p.pool->capacity->value() : 0;  // once, however many claims
    }
  if (classes.empty()) return 0;
  std::int64_t sum = 0;
  for (const auto& [name, t] : classes)
    sum += on_broken_line(shape_,
                          t.capacity == 0 || t.requested > t.capacity ? 100 : t.requested * 100 / t.capacity);
  return std::llround(static_cast<double>(sum) / static_cast<double>(classes.size()));
}

// From Reserve on

Status VolumeBinding::reserve(PodAttempt& attempt) {
  auto* state = static_cast<State*>(attempt.kept(index_));
  tried_ = nullptr;
  if (state == nullptr || !state->volumes.waits()) return {};
  if (const Result<> assumed = assume(*state, attempt.row, attempt.node); !assumed) {
    restore(*state);
    return {StatusCode::error, assumed.error().message()};
  }
  return {};
}

Result<> VolumeBinding::assume(State& state, Row row, const Symbol& node) {
  Placement placement;
  if (state.volumes.conflicts(row, &placement) != 0)
    return Error(Code::internal, fmt::format("no pod volume found for node \"{}\"", node.view()));
  for (Placement::Binding& b : placement.bindings) {
    auto after = bound_to(b.volume, *b.claim);
    if (after != b.volume) KOORD_CHECK(sources_.storage.volumes.assume(after));
    state.bindings.push_back({std::move(b.volume), std::move(after), std::move(b.claim)});
  }
  for (Placement::Provision& p : placement.provisions) {
    auto after = selected_for(p.claim, node);
    if (after != p.claim) KOORD_CHECK(sources_.storage.claims.assume(after));
    state.provisions.push_back({std::move(p.claim), std::move(after)});
  }
  return {};
}

void VolumeBinding::restore(State& state) {
  for (const VolumeForClaim& v : state.bindings)
    if (v.after != v.before) sources_.storage.volumes.restore(*v.after);
  for (const ClaimForNode& c : state.provisions)
    if (c.after != c.before) sources_.storage.claims.restore(*c.after);
  state.bindings.clear();
  state.provisions.clear();
}

void VolumeBinding::unreserve(PodAttempt& attempt) {
  if (auto* state = static_cast<State*>(attempt.kept(index_))) restore(*state);
}

std::shared_ptr<PreBindWork> VolumeBinding::pre_bind(PodAttempt& attempt) {
  auto* state = static_cast<State*>(attempt.kept(index_));
  if (state == nullptr || !state->volumes.waits()) return nullptr;
  return std::make_shared<BindingWork>(state->bindings, state->provisions, timeout_);
}

// Events

template <class T>
const T& as(const void* object) {
  return *static_cast<const T*>(object);
}

bool VolumeBinding::concerns(const PodInfo& pod, const ClusterEvent& event) const {
  if (claim_events_.has(event.kind)) {
    const api::ObjectMeta& claim = as<api::PersistentVolumeClaim>(event.new_object).metadata;
    return volumes::names_claim(*pod.pod, claim.namespace_, claim.name);
  }
  const std::string& driver = as<api::CsiDriver>(event.new_object).metadata.name;
  const auto& all = pod.pod->spec.volumes;
  return std::any_of(all.begin(), all.end(),
                     [&](const api::Volume& v) { return v.csi && v.csi->driver == driver; });
}

bool VolumeBinding::worth_retrying(const PodInfo&, const ClusterEvent& event) const {
  const void *before = event.old_object, *now = event.new_object;
  if (class_changed_.has(event.kind))
    return as<api::StorageClass>(before).allowed_topologies != as<api::StorageClass>(now).allowed_topologies;
  if (csi_node_changed_.has(event.kind)) {
    const auto migrated = [](const void* node) {
      const Symbol* listed = as<api::CsiNode>(node).metadata.annotations.find(volumes::kMigratedPlugins);
      return listed != nullptr ? *listed : Symbol();
    };
    return migrated(before) != migrated(now);
  }
  if (driver_changed_.has(event.kind))
    return as<api::CsiDriver>(before).spec.storage_capacity.value_or(false) &&
           !as<api::CsiDriver>(now).spec.storage_capacity.value_or(false);
  if (capacity_changed_.has(event.kind)) {
    const api::Quantity *was = volume_limit(as<api::CsiStorageCapacity>(before)),
                        *is = volume_limit(as<api::CsiStorageCapacity>(now));
    return is != nullptr && (was == nullptr || is->value() > was->value());
  }
  return true;
}

Result<std::unique_ptr<Plugin>> make_volume_binding(const Args& made, const PluginContext& context) {
  const auto& args = *static_cast<const VolumeBindingArgs*>(made.get());
  const bool scores = context.gate("StorageCapacityScoring");
  KOORD_TRY(shape, args.scoring_shape(scores));
  std::vector<ResourceScorer::Point> points;
  points.reserve(shape.size());
  for (const auto& p : shape) points.push_back({p.utilization, std::int64_t{p.score} * 10});
  constexpr std::int64_t kLongest = std::int64_t{100} * 365 * 24 * 3600;
  const std::chrono::seconds timeout(std::min(*args.bind_timeout_seconds, kLongest));
  return std::unique_ptr<Plugin>(std::make_unique<VolumeBinding>(timeout, std::move(points), context));
}

}  // namespace
}  // namespace volume_binding

extern const PluginEntry kVolumeBinding{.name = "VolumeBinding",
                                        .args = &args_type<volume_binding::VolumeBindingArgs>,
                                        .make = &volume_binding::make_volume_binding};

}  // namespace koord::scheduling
