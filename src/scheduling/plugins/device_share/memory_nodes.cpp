// On which memory nodes a pod may be by its devices, for who decides it.
#include <bit>

#include "scheduling/plugin/numa_masks.hpp"
#include "scheduling/plugins/device_share/allocate/view.hpp"
#include "scheduling/plugins/device_share/device_share.hpp"

namespace koord::scheduling::device_share {

namespace {

/// Of a hint with which the GPUs are those that are best anywhere: more than CPUs and memory score, so that
/// these follow.
constexpr std::int64_t kBestHint = 500;
/// As Koordinator has it: the memory nodes of all that is designated.
std::optional<NumaMask> designated_nodes(const Given& designated, const DeviceShape& shape) {
  NumaMask nodes = 0;
  for (const Given::Device& each : designated.devices) {
    const std::size_t place = shape.place(each.type, each.minor);
    if (place == kMostPlaces) return {};
    const std::int32_t node = shape.of(each.type).devices[place].numa_node;
    if (node < 0 || node >= 64) return {};
    nodes |= NumaMask{1} << node;
  }
  return nodes;
}

}  // namespace

std::unique_ptr<PodState> DeviceShare::prepare_numa_hints(const PodInfo& pod) {
  if (!aligns_) return nullptr;
  // Not by who decides: that one asks here.
  auto state = std::make_unique<State>(demand_of(pod), context_.verdicts, context_.index);
  state->templates = templates_.version();
  if (state->demand.none() || state->demand.is_rejected()) return nullptr;
  state->vendors = vendors_of(pod);
  if (state->vendors.empty()) return state;
  state->beside_claims =
      std::make_unique<State>(demand_of(without(pod, state->vendors)), context_.verdicts, context_.index);
  state->beside_claims->templates = state->templates;
  return state;
}

void DeviceShare::numa_hints(PodState& state, const NodeView& view, std::vector<NumaHintList>& out) const {
  State& s = current(on_row(static_cast<State&>(state), view.row()));
  const DeviceNodes::OfRow& of = devices_.of(view.row());
  if (!of.known || s.demand.none()) return;
  const DeviceWays ways(of.ledger, view, view.slots().find<const OpenRooms>());
  const NodeDevices& devices = ways.devices();
  const BoundDemand& bound = s.on(devices.shape);
  const Seen anywhere;
  const View looked(devices, bound, anywhere);
  std::vector<NumaHint> hints;
  if (s.demand.designated) {
    // Where they are is not said: the filter of who decides has nothing to go by, and this one judges them.
    const auto nodes = designated_nodes(*s.demand.designated, *devices.shape);
    if (!nodes || *nodes == 0) return;
    hints.push_back({*nodes, true, kBestHint});
  } else {
    std::vector<std::uint32_t> numbers;
    for (NumaMask rest = devices.shape->numa_nodes(); rest != 0; rest &= rest - 1)
      numbers.push_back(static_cast<std::uint32_t>(std::countr_zero(rest)));
    if (numbers.empty()) return;
    std::vector<Places> gpus;
    Choice choice;
    for (const std::uint64_t mask : numa_masks(numbers.size())) {
      NumaMask nodes = 0;
      for (std::uint64_t rest = mask; rest != 0; rest &= rest - 1)
        nodes |= NumaMask{1} << numbers[static_cast<std::size_t>(std::countr_zero(rest))];
      if (lacks_on_numa_nodes(devices, bound, Seen{.numa_nodes = nodes}).refused()) continue;
      const bool serves = std::ranges::any_of(ways.ways(), [&](const DeviceWays::Way& way) {
        return !allocate(devices, bound, way.seen(nodes), nullptr, choice).refused();
      });
      if (!serves) continue;
      hints.push_back({nodes, false, 0});
      gpus.push_back(choice.of(DeviceType::gpu).mask);
    }
    // Not even on all of them: the filter says why.
    if (hints.empty() || std::popcount(hints.back().nodes) != static_cast<int>(numbers.size())) return;
    const int narrowest = std::popcount(hints.front().nodes);
    for (std::size_t i = 0; i < hints.size(); ++i) {
      hints[i].preferred = std::popcount(hints[i].nodes) == narrowest;
      if (gpus[i] == gpus.back()) hints[i].score = kBestHint;
    }
  }
  for (const DeviceType type : kAllDeviceTypes)
    if (looked.looks_for(type)) out.push_back({std::string(to_string(type)), hints});
}

}  // namespace koord::scheduling::device_share
