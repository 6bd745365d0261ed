// NodeVolumeLimits: no more volumes of a CSI driver at a node than its CSINode allows.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/storage_v1/csi_driver.hpp"
#include "koord/scheduling/config/kube_gates.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "scheduling/plugins/node_volume_limits/attached_volumes.hpp"
#include "scheduling/volumes/pod_claims.hpp"

namespace koord::scheduling {

namespace node_volume_limits {
namespace {

/// What the pod would bring.
struct State final : PodState {
  struct OfDriver {
    Symbol driver;
    std::vector<CountedVolume> volumes;
    VerdictId not_installed = kPass;  // kPass: nobody looks
  };

  explicit State(VerdictTable& table) : verdicts(table) {}
  ~State() override {
    for (const VerdictId id : held) verdicts.release(id);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  VerdictId hold(Verdict verdict) { return held.emplace_back(verdicts.hold(std::move(verdict))); }

  VerdictTable& verdicts;
  std::vector<VerdictId> held;
  std::vector<OfDriver> drivers;  // by name
  VerdictId everywhere = kPass;   // something is wrong with the claims
  // Of a volume that the driver could not tell.
  const volumes::InTreePlugin* broken = nullptr;
  VerdictId broken_verdict = kPass;
};

bool installed(const api::CsiNode* node, const Symbol& driver) {
  if (node == nullptr) return false;
  const auto& there = node->spec.drivers;
  return std::any_of(there.begin(), there.end(), [&](auto& d) { return d.name == driver; });
}

bool contains(const std::vector<Symbol>& all, const Symbol& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// How many volumes a pod brings differs from node to node: what its pods have already is not counted twice.
/// kube-scheduler's gate VolumeLimitScaling: where the cluster knows a driver, it has to be at the node.
class NodeVolumeLimits final : public Plugin,
                               public PerPodFilterPlugin,
                               public PreFilterPlugin,
                               public EventPlugin {
 public:
  explicit NodeVolumeLimits(const PluginContext& context)
      : verdicts_(context.verdicts),
        index_(context.index),
        attached_(context.shared.get<AttachedVolumes>(context)),
        claims_(context.objects.watch<api::PersistentVolumeClaim>()),
        full_(context.verdicts.intern({context.index, false, {"node(s) exceed max volume count"}})) {
    using enum ObjectAction;
    claim_events_ = claims_.events(add, update, remove);
    volume_events_ = context.objects.watch<api::PersistentVolume>().events(add, update, remove);
    class_events_ = context.objects.watch<api::StorageClass>().events(add, remove);
    events_ = events_of(EventKind::node_add, EventKind::assigned_pod_delete) | claim_events_ |
              volume_events_ | class_events_ |
              context.objects.watch<api::CsiNode>().events(add, update, remove) |
              context.objects.watch<api::VolumeAttachment>().events(add, update, remove);
    if (!context.gate(kVolumeLimitScaling)) return;
    csi_drivers_ = &context.objects.watch<api::CsiDriver>();
    driver_events_ = csi_drivers_->events(remove);
    events_ |= driver_events_;
  }

  bool sign(const PodInfo&, Signature&) const override { return true; }

  std::unique_ptr<PodState> pre_filter_pod(const PodInfo& pod, PreFiltered& said) override {
    if (!AttachedVolumes::concerns(*pod.pod)) {
      said.skip = true;
      return nullptr;
    }
    auto state = std::make_unique<State>(verdicts_);
    PodVolumes own = attached_.of(*pod.pod);
    if (!own.missing.empty()) {
      state->everywhere = state->hold({index_, true, {std::move(own.missing)}});
    } else if (!own.error.empty()) {
      state->everywhere = state->hold({index_, false, {std::move(own.error)}, true});
    }
    state->broken = own.broken;
    if (own.broken != nullptr)
      state->broken_verdict = state->hold({index_, false, {std::move(own.broken_error)}, true});
    group(std::move(own.counted), *state);
    said.skip = state->drivers.empty() && state->everywhere == kPass && state->broken == nullptr;
    if (said.skip) return nullptr;
    return state;
  }

  void filter_pod(PodState& state, const NodeTable&, std::span<const Row> rows,
                  std::span<VerdictId> out) const override {
    const auto& s = static_cast<State&>(state);
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = judge(s, attached_.on(rows[i]));
  }
  VerdictId filter_pod_view(PodState& state, const NodeTable&, const NodeView& view) const override {
    return judge(static_cast<State&>(state), attached_.as_in(view));
  }

  EventMask events() const override { return events_; }
  EventMask events_of_pods() const override { return events(); }
  bool worth_retrying(const PodInfo& pod, const ClusterEvent& event) const override {
    if (event.kind == EventKind::node_add) return true;
    if (event.kind == EventKind::assigned_pod_delete) return AttachedVolumes::concerns(*event.old_pod);
    if (driver_events_.has(event.kind)) return true;
    if (claim_events_.has(event.kind) && is_own_claim(*pod.pod, event)) return true;
    if (volume_events_.has(event.kind) && is_own_volume(*pod.pod, event)) return true;
    if (class_events_.has(event.kind) && is_own_class(*pod.pod, event)) return true;
    return is_easier(*pod.pod);
  }

 private:
  void group(std::vector<CountedVolume> counted, State& state) const {
    std::ranges::stable_sort(counted, {}, &CountedVolume::driver);
    for (CountedVolume& volume : counted) {
      if (state.drivers.empty() || state.drivers.back().driver != volume.driver) {
        State::OfDriver& made = state.drivers.emplace_back();
        made.driver = volume.driver;
        if (csi_drivers_ != nullptr && csi_drivers_->find({}, made.driver))
          made.not_installed =
              state.hold({index_,
                          false,
                          {fmt::format("{} CSI driver is not installed on the node", made.driver.view())}});
      }
      state.drivers.back().volumes.push_back(std::move(volume));
    }
  }

  VerdictId judge(const State& s, const NodeVolumes& node) const {
    if (s.everywhere != kPass) return s.everywhere;
    if (s.broken != nullptr && is_migrated(*s.broken, node.csi.get())) return s.broken_verdict;
    if (csi_drivers_ != nullptr)
      for (const State::OfDriver& d : s.drivers)
        if (d.not_installed != kPass && !installed(node.csi.get(), d.driver) &&
            new_volumes(d, node, true) > 0)
          return d.not_installed;
    if (node.drivers.empty()) return kPass;
    for (const State::OfDriver& d : s.drivers) {
      const NodeVolumes::Driver* there = node.driver(d.driver);
      if (there == nullptr || there->attached + static_cast<std::int64_t>(d.volumes.size()) <= there->limit)
        continue;
      const std::int64_t more = new_volumes(d, node, false);
      if (more > 0 && there->attached + more > there->limit) return full_;
    }
    return kPass;
  }

  /// Those that count there; `all`: those that pods have already, too.
  static std::int64_t new_volumes(const State::OfDriver& d, const NodeVolumes& node, bool all) {
    return std::count_if(d.volumes.begin(), d.volumes.end(), [&](const CountedVolume& v) {
      return v.counts_on(node.csi.get()) && (all || !node.has(v.name));
    });
  }

  static bool is_own_claim(const api::Pod& pod, const ClusterEvent& event) {
    const auto* before = static_cast<const api::PersistentVolumeClaim*>(event.old_object);
    const auto* now = static_cast<const api::PersistentVolumeClaim*>(event.new_object);
    if (now == nullptr || !volumes::names_claim(pod, now->metadata.namespace_, now->metadata.name))
      return false;
    return before == nullptr || before->spec.volume_name != now->spec.volume_name ||
           volumes::class_of(*before) != volumes::class_of(*now);
  }

  template <class Is>
  bool any_claim(const api::Pod& pod, const Is& is) const {
    const auto all = volumes::claims_of(pod);
    return std::any_of(all.begin(), all.end(), [&](const volumes::PodClaim& c) {
      const auto claim = claims_.find(pod.metadata.namespace_, c.name);
      return claim && is(*claim);
    });
  }
  bool is_own_volume(const api::Pod& pod, const ClusterEvent& event) const {
    const void* volume = event.new_object != nullptr ? event.new_object : event.old_object;
    const std::string& name = static_cast<const api::PersistentVolume*>(volume)->metadata.name;
    return any_claim(pod, [&](const auto& claim) { return claim.spec.volume_name == name; });
  }
  bool is_own_class(const api::Pod& pod, const ClusterEvent& event) const {
    const void* of = event.new_object != nullptr ? event.new_object : event.old_object;
    const std::string& name = static_cast<const api::StorageClass*>(of)->metadata.name;
    return any_claim(pod, [&](const auto& claim) { return volumes::class_of(claim) == name; });
  }

  bool is_easier(const api::Pod& pod) const {
    const AttachedVolumes::Eased& eased = attached_.eased();
    if (eased.drivers.empty() && eased.volumes.empty() &&
        (csi_drivers_ == nullptr || eased.installed.empty()))
      return false;
    const PodVolumes own = attached_.of(pod);
    return std::any_of(own.counted.begin(), own.counted.end(), [&](const CountedVolume& v) {
      return contains(eased.drivers, v.driver) || contains(eased.volumes, v.name) ||
             (csi_drivers_ != nullptr && contains(eased.installed, v.driver));
    });
  }

  VerdictTable& verdicts_;
  const PluginIndex index_;
  AttachedVolumes& attached_;
  ObjectStore<api::PersistentVolumeClaim>& claims_;
  ObjectStore<api::CsiDriver>* csi_drivers_ = nullptr;  // with the gate
  const VerdictId full_;
  EventMask claim_events_, volume_events_, class_events_, driver_events_, events_;
};

}  // namespace
}  // namespace node_volume_limits

extern const PluginEntry kNodeVolumeLimits{.name = "NodeVolumeLimits",
                                           .make = &make<node_volume_limits::NodeVolumeLimits>};

}  // namespace koord::scheduling
