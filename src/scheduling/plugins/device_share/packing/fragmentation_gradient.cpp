// FragmentationGradient: a pod goes where it leaves the fewest GPUs that the pods that come could not use.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_set>

#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/row_slots.hpp"
#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "scheduling/plugin/wide_score.hpp"
#include "scheduling/plugins/device_share/device_nodes.hpp"
#include "scheduling/plugins/device_share/device_ways.hpp"
#include "scheduling/plugins/device_share/packing/packed_devices.hpp"
#include "scheduling/plugins/device_share/request/combinations.hpp"

namespace koord::scheduling {

namespace device_share {

struct FragmentationGradientArgs {
  std::int64_t half_life_pods = 4096;

  void validate(const std::string&, FieldErrors& errors) const {
    if (half_life_pods < 1 || half_life_pods > 1'000'000)
      errors.invalid("halfLifePods", std::to_string(half_life_pods), "must be from 1 to 1000000");
  }
  KOORD_STRUCT(FragmentationGradientArgs);
};
KOORD_OBJECT(FragmentationGradientArgs, args_kind("FragmentationGradientArgs"),
             ROW(half_life_pods)
                 .default_json("4096")
                 .doc("What pods ask for is learned from those that come; of one after which so many have "
                      "come half as much is left, 1 to 1000000."));

namespace {

/// More than a pod can make usable or unusable of a row's GPUs, in per mille of one.
constexpr double kRange = 1000.0 * PackedRow::kMostGpus;
/// A third of a per mille of a GPU is a step.
constexpr std::int32_t kMost = 100'000;
constexpr std::int32_t kIndifferent = kMost / 2;
/// Different ones that are told apart; each is asked about for each class of pods and row that has changed.
constexpr std::size_t kMostRequests = 256;

std::int32_t score_of(double more) {
  return static_cast<std::int32_t>(
      std::clamp<double>(std::round(kIndifferent - more * kIndifferent / kRange), 0, kMost));
}

bool asks_for_gpus(const api::Pod& pod) {
  for (const auto* const containers : {&pod.spec.containers, &pod.spec.init_containers})
    for (const api::Container& container : *containers)
      for (const auto& [name, amount] : container.resources.requests)
        if (is_of(DeviceType::gpu, name.view())) return true;
  return false;
}

struct GradientState final : PodState {
  DeviceDemand demand;
  std::int64_t cpu = 0, memory = 0;

  /// On machines of this shape: how much of a GPU its bytes are follows from these.
  PackedRequest on(const DeviceShape& shape) const {
    const auto& gpus = shape.of(DeviceType::gpu).devices;
    return packed_request(demand, cpu, memory, gpus.empty() ? 0 : gpus.front().total[Unit::memory]);
  }
};

/// Nothing is refused here, and which of a node's GPUs a pod gets DeviceShare says: with MostAllocated the
/// fullest that has room, which breaks as little as any other choice.
class FragmentationGradient final : public Plugin,
                                    public ScorePlugin,
                                    public WideScorePlugin,
                                    public EveryPodPlugin {
 public:
  FragmentationGradient(const FragmentationGradientArgs& args, const PluginContext& context)
      : context_(context),
        devices_(context.shared.get<DeviceNodes>(context)),
        mix_(static_cast<std::size_t>(args.half_life_pods), kMostRequests, RequestMix::kUsualTolerance),
        kept_(context.nodes) {
    devices_.objects().on_change([this](const api::Device*, const api::Device*) { usual_memory_.reset(); });
  }

  bool sign(const PodInfo& pod, Signature& signature) const override {
    sign_demand(pod, context_.nodes.resources(), signature);
    signature.add(pod.requests.cpu);
    signature.add(pod.requests.memory);
    return true;
  }

  Depends score_depends() const override { return Depends::pods; }
  std::int32_t most() const override { return kMost; }

  Prepared prepare_score(const PodInfo& pod) override {
    auto state = std::make_unique<GradientState>();
    state->demand = read_demand(pod, context_.nodes.resources(), {});
    state->cpu = pod.requests.cpu;
    state->memory = pod.requests.memory;
    return {std::move(state), false};
  }

  void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
             std::span<std::int32_t> out) const override {
    const auto& s = *static_cast<const GradientState*>(state);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const DeviceNodes::OfRow& of = devices_.of(rows[i]);
      out[i] = of.known ? worth(s, of.ledger.devices(), kept(nodes, rows[i], of)) : kIndifferent;
    }
  }

  std::int32_t score_view(PodState* state, const NodeTable& nodes, const NodeView& view) const override {
    const Row row = view.row();
    if (view.plain()) return ScorePlugin::score_view(state, nodes, view);
    const DeviceNodes::OfRow& of = devices_.of(row);
    if (!of.known) return kIndifferent;
    const DeviceWays ways(of.ledger, view, view.slots().find<const OpenRooms>());
    OfRow seen;
    seen.row = packed_row(ways.devices(), view.allocatable(kCpu) - view.used(kCpu),
                          view.allocatable(kMemory) - view.used(kMemory), ways.ways().front().kept);
    seen.unusable = unusable_soon_and_late(seen.row, mix_.entries());
    return worth(*static_cast<const GradientState*>(state), ways.devices(), seen);
  }

  // EveryPodPlugin
  void pod_seen(const std::shared_ptr<const api::Pod>& pod) override {
    if (!asks_for_gpus(*pod) || !seen_.insert(number(*pod)).second) return;
    const PodInfo info = make_pod_info(pod, context_.nodes.resources());
    const DeviceDemand demand = read_demand(info, context_.nodes.resources(), {});
    if (demand.is_rejected() || !demand.of(DeviceType::gpu).wanted) return;
    const std::int64_t memory = demand.of(DeviceType::gpu).per_device.has(Unit::memory) ? usual_memory() : 0;
    if (!mix_.observe(packed_request(demand, info.requests.cpu, info.requests.memory, memory))) return;
    // All that was said of nodes with GPUs followed from another mix.
    ++version_;
    for (Row row = 0; row < context_.nodes.rows(); ++row)
      if (devices_.of(row).known) context_.nodes.mark(row);
  }
  void pod_left(const api::Pod& pod) override { seen_.erase(number(pod)); }

 private:
  struct OfRow {
    std::uint64_t changes = UINT64_MAX, version = 0;  // as of which the rest is
    PackedRow row;
    double unusable = 0;
  };

  static std::size_t number(const api::Pod& pod) { return std::hash<std::string_view>()(pod.metadata.uid); }

  const OfRow& kept(const NodeTable& nodes, Row row, const DeviceNodes::OfRow& of) const {
    OfRow& kept = kept_[row];
    if (kept.changes == nodes.changes(row) && kept.version == version_) return kept;
    kept.row = packed_row(of.ledger.devices(), nodes.allocatable(kCpu, row) - nodes.used(kCpu, row),
                          nodes.allocatable(kMemory, row) - nodes.used(kMemory, row));
    kept.unusable = unusable_soon_and_late(kept.row, mix_.entries());
    kept.changes = nodes.changes(row);
    kept.version = version_;
    return kept;
  }

  std::int32_t worth(const GradientState& state, const NodeDevices& devices, const OfRow& of) const {
    const auto found =
        gradient(of.row, state.on(*devices.shape), mix_.entries(), of.unusable, &unusable_soon_and_late);
    return found ? score_of(found->more) : 0;
  }

  /// The memory of a GPU that most nodes have; 0: no node has one.
  std::int64_t usual_memory() {
    if (usual_memory_) return *usual_memory_;
    std::map<std::int64_t, int> nodes;
    for (Row row = 0; row < context_.nodes.rows(); ++row) {
      if (!devices_.of(row).known) continue;
      const auto& gpus = devices_.of(row).ledger.devices().shape->of(DeviceType::gpu).devices;
      if (!gpus.empty()) ++nodes[gpus.front().total[Unit::memory]];
    }
    const auto usual = std::ranges::max_element(nodes, {}, [](const auto& each) { return each.second; });
    usual_memory_ = usual != nodes.end() ? usual->first : 0;
    return *usual_memory_;
  }

  PluginContext context_;
  DeviceNodes& devices_;
  RequestMix mix_;
  std::uint64_t version_ = 0;  // of the mix
  mutable RowSlots<OfRow> kept_;
  std::unordered_set<std::size_t> seen_;  // pods that are counted and there
  std::optional<std::int64_t> usual_memory_;
};

}  // namespace
}  // namespace device_share

extern const PluginEntry kFragmentationGradient{
    .name = "FragmentationGradient",
    .args = &args_type<device_share::FragmentationGradientArgs>,
    .make = &make_with<device_share::FragmentationGradient, device_share::FragmentationGradientArgs>};

}  // namespace koord::scheduling
