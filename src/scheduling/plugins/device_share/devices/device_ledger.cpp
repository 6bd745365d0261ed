// DeviceLedger: see device_ledger.hpp.
#include "scheduling/plugins/device_share/devices/device_ledger.hpp"

#include <algorithm>
#include <unordered_map>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::device_share {

namespace {

/// What lodgers have of the devices of `of`, added up, no more than these are.
std::vector<Given::Device> taken_of(const Given& of, std::span<const DeviceLedger::Holder* const> lodgers) {
  std::vector<Given::Device> taken;
  taken.reserve(of.devices.size());
  for (const Given::Device& device : of.devices) {
    Given::Device& sum = taken.emplace_back();
    sum.type = device.type;
    sum.minor = device.minor;
    for (const DeviceLedger::Holder* const lodger : lodgers)
      for (const Given::Device& its : lodger->given->devices)
        if (its.type == device.type && its.minor == device.minor) sum.amounts.add(its.amounts);
    sum.amounts.limit(device.amounts);
  }
  return taken;
}

bool is_of(const DeviceLedger::Holder& holder, std::string_view uid) {
  return holder.pod->pod != nullptr && holder.pod->pod->metadata.uid == uid;
}

}  // namespace

void DeviceLedger::bind(std::shared_ptr<const DeviceShape> shape,
                        const std::array<Places, kDeviceTypes>& healthy) {
  devices_.shape = std::move(shape);
  healthy_ = healthy;
  recount();
}

void DeviceLedger::withhold(Places gpus) {
  withheld_ = gpus;
  recount();
}

void DeviceLedger::add(Holder holder) {
  if (of(*holder.pod) != nullptr) return;
  const bool alone = holder.in.empty() && lodgers_ == 0 && !holder.given->is_unclear();
  lodgers_ += holder.in.empty() ? 0 : 1;
  holders_.push_back(std::move(holder));
  if (!alone) return recount();
  for (const Given::Device& device : holders_.back().given->devices) count(device);
}

void DeviceLedger::remove(const PodInfo& pod) {
  const auto it = std::ranges::find_if(holders_, [&](const Holder& each) { return each.pod == &pod; });
  if (it == holders_.end()) return;
  lodgers_ -= it->in.empty() ? 0 : 1;
  *it = std::move(holders_.back());
  holders_.pop_back();
  recount();
}

const Given* DeviceLedger::of(const PodInfo& pod) const {
  const auto it = std::ranges::find_if(holders_, [&](const Holder& each) { return each.pod == &pod; });
  return it != holders_.end() ? it->given.get() : nullptr;
}

const DeviceLedger::Holder* DeviceLedger::find(std::string_view uid) const {
  const auto it = std::ranges::find_if(holders_, [&](const Holder& each) { return is_of(each, uid); });
  return it != holders_.end() ? &*it : nullptr;
}

std::vector<Given::Device> DeviceLedger::lodged(const Holder& reservation) const {
  std::vector<const Holder*> lodgers;
  if (reservation.pod->pod != nullptr)
    for (const Holder& holder : holders_)
      if (holder.in == reservation.pod->pod->metadata.uid && holder.pod != reservation.pod)
        lodgers.push_back(&holder);
  return taken_of(*reservation.given, lodgers);
}

std::vector<Given::Device> DeviceLedger::kept(const Holder& reservation) const {
  std::vector<Given::Device> kept = reservation.given->devices;
  const std::vector<Given::Device> taken = lodged(reservation);
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i].amounts.subtract(taken[i].amounts);
  return kept;
}

/// One pass, of whom nearly always only a few hold devices of one machine.
void DeviceLedger::recount() {
  const DeviceShape& shape = *devices_.shape;
  devices_.used.assign(shape.devices, Amounts());
  devices_.functions.assign(shape.words, 0);
  devices_.taken = {};
  devices_.gone = {};
  devices_.healthy = healthy_;
  devices_.healthy[index(DeviceType::gpu)] &= ~withheld_;
  gone_.clear();
  for (const Holder& holder : holders_) {
    for (const Given::Device& device : holder.given->devices) count(device);
    for (const DeviceType type : kAllDeviceTypes)
      if (holder.given->unclear[index(type)]) devices_.healthy[index(type)] = 0;
  }
  if (lodgers_ == 0) return;
  std::unordered_map<std::string_view, std::vector<const Holder*>> lodgers;
  for (const Holder& holder : holders_)
    if (!holder.in.empty() && !is_of(holder, holder.in)) lodgers[holder.in].push_back(&holder);
  for (const Holder& holder : holders_) {
    if (holder.pod->pod == nullptr) continue;
    const auto its = lodgers.find(holder.pod->pod->metadata.uid);
    if (its == lodgers.end()) continue;
    for (const Given::Device& twice : taken_of(*holder.given, its->second))
      if (const std::size_t place = shape.place(twice.type, twice.minor); place != kMostPlaces)
        devices_.used[shape.of(twice.type).first + place].subtract(twice.amounts);
  }
}

void DeviceLedger::count(const Given::Device& device) {
  const DeviceShape& shape = *devices_.shape;
  const DeviceShape::OfType& of = shape.of(device.type);
  const std::size_t place = shape.place(device.type, device.minor);
  if (place == kMostPlaces) {
    if (gone_.emplace(device.type, device.minor).second) ++devices_.gone[index(device.type)];
    return;
  }
  Amounts& used = devices_.used[of.first + place];
  used.add(device.amounts);
  if (!used.zero()) devices_.taken[index(device.type)] |= Places{1} << place;
  const DeviceShape::Device& its = of.devices[place];
  for (const api::AllocatedFunction& function : device.vfs) {
    // Machines may have the same bus twice: all that have it are taken.
    const auto found =
        std::ranges::equal_range(its.functions, function.bus_id, {}, &DeviceShape::Function::bus_id);
    for (auto it = found.begin(); it != found.end(); ++it) {
      const auto at = static_cast<std::size_t>(it - its.functions.begin());
      devices_.functions[its.first_word + at / 64] |= std::uint64_t{1} << at % 64;
    }
  }
}

}  // namespace koord::scheduling::device_share
