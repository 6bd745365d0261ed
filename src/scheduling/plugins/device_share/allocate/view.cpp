// View: see view.hpp.
#include "scheduling/plugins/device_share/allocate/view.hpp"

#include <algorithm>
#include <bit>

namespace koord::scheduling::device_share {

namespace {
bool occurs(std::span<const Given::Device> devices, DeviceType type) {
  return std::ranges::any_of(devices, [&](const Given::Device& device) { return device.type == type; });
}
}  // namespace

View::View(const NodeDevices& node, const BoundDemand& demand, const Seen& seen)
    : node_(node), demand_(demand), seen_(seen) {
  for (const DeviceType type : kAllDeviceTypes) {
    if (!looks_for(type)) continue;
    Places& allowed = allowed_[index(type)];
    allowed = demand.types[index(type)].selected;
    if (seen.numa_nodes != 0) allowed &= shape().on(type, seen.numa_nodes);
    if (!seen.within.empty() && occurs(seen.within, type)) allowed &= places(type, seen.within);
    if (!seen.among.empty() && occurs(seen.among, type)) allowed &= places(type, seen.among);
  }
}

bool View::looks_for(DeviceType type) const {
  const DeviceDemand& demand = this->demand();
  if (!demand.of(type).wanted) return false;
  const bool waits = demand.secondary_can_wait && shape().secondary_well_planned.value_or(false) &&
                     !seen_.reserving && !demand.joint.empty() && type != demand.joint.front();
  return !waits;
}

int View::count(DeviceType type) const {
  const TypeDemand& asked = demand().of(type);
  if (asked.strategy != Strategy::apply_for_all || type == DeviceType::gpu) return asked.count;
  return asked.selector ? std::popcount(demand_.types[index(type)].selected) : node_.count(type);
}

Amounts View::free(DeviceType type, std::size_t place) const {
  Amounts free = total(type, place);
  Amounts used = node_.used_of(type, place);
  const std::int32_t minor = shape().of(type).devices[place].minor;
  for (const Given::Device& back : seen_.given_back)
    if (back.minor == minor && back.type == type) used.subtract(back.amounts);
  free.subtract(used);
  if (seen_.within.empty() || !occurs(seen_.within, type)) return free;
  Amounts within;
  for (const Given::Device& each : seen_.within)
    if (each.minor == minor && each.type == type) within.add(each.amounts);
  free.limit(within);
  return free;
}

Places View::fitting(DeviceType type) const {
  const Amounts& part = demand().of(type).per_device;
  Places fitting = 0;
  for (Places left = healthy(type); left != 0; left &= left - 1) {
    const auto place = static_cast<std::size_t>(std::countr_zero(left));
    if (part.fits(free(type, place))) fitting |= Places{1} << place;
  }
  return fitting;
}

Places View::used(DeviceType type) const {
  const Places taken = node_.taken[index(type)];
  if (seen_.given_back.empty() && seen_.within.empty()) return taken;
  Places used = taken & ~allowed(type);
  for (Places left = healthy(type); left != 0; left &= left - 1) {
    const auto place = static_cast<std::size_t>(std::countr_zero(left));
    Amounts gone = total(type, place);
    gone.subtract(free(type, place));
    if (!gone.zero()) used |= Places{1} << place;
  }
  return used;
}

std::int32_t View::free_function(DeviceType type, std::size_t place) const {
  const DeviceShape::Device& device = shape().of(type).devices[place];
  const std::vector<std::uint64_t>& selected = demand_.types[index(type)].functions;
  const Given::Device* named = nullptr;
  if (seen_.designated != nullptr)
    for (const Given::Device& each : seen_.designated->devices)
      if (each.type == type && each.minor == device.minor && !each.vfs.empty()) named = &each;
  for (std::size_t word = 0; word < (device.functions.size() + 63) / 64; ++word) {
    const std::size_t at = device.first_word + word;
    for (std::uint64_t left = selected[at] & ~node_.functions[at]; left != 0; left &= left - 1) {
      const std::size_t function = 64 * word + static_cast<std::size_t>(std::countr_zero(left));
      if (named == nullptr || std::ranges::find(named->vfs, device.functions[function].bus_id,
                                                &api::AllocatedFunction::bus_id) != named->vfs.end())
        return static_cast<std::int32_t>(function);
    }
  }
  return Choice::kNoFunction;
}

Places View::places(DeviceType type, std::span<const Given::Device> devices) const {
  Places places = 0;
  for (const Given::Device& device : devices) {
    if (device.type != type) continue;
    const std::size_t place = shape().place(type, device.minor);
    if (place != kMostPlaces) places |= Places{1} << place;
  }
  return places;
}

}  // namespace koord::scheduling::device_share
