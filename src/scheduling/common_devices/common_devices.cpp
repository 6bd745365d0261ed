// CommonDevices: see common_devices.hpp.
#include "scheduling/common_devices/common_devices.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace koord::scheduling {

namespace {

constexpr std::size_t kMostGpus = 64;

/// Programs write one address in several ways: "00000000:3B:00.0" is "0000:3b:00.0".
std::string plain_bus(std::string bus) {
  std::ranges::transform(bus, bus.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  constexpr std::string_view kNoDomain = "0000";
  if (bus.find(':') == 2 * kNoDomain.size() && bus.starts_with(kNoDomain)) bus.erase(0, kNoDomain.size());
  return bus;
}

bool says_gpu(std::string_view driver) {
  constexpr std::string_view kGpu = "gpu";
  const auto same = [](unsigned char letter, char of) { return std::tolower(letter) == of; };
  return !std::ranges::search(driver, kGpu, same).empty();
}

}  // namespace

void CommonDevices::list(const std::string& node, std::vector<Gpu> gpus) {
  if (gpus.empty() && find(node) == nullptr) return;
  if (gpus.size() > kMostGpus) gpus.resize(kMostGpus);
  for (Gpu& gpu : gpus) gpu.bus = plain_bus(std::move(gpu.bus));
  machines_[node].gpus = std::move(gpus);
  names_changed(node);
}

void CommonDevices::share(const std::string& node, Gpus taken, bool unlisted) {
  Machine* machine = find(node);
  if (machine == nullptr && taken == 0 && !unlisted) return;
  if (machine == nullptr) machine = &machines_[node];
  if (machine->shared == taken && machine->unlisted == unlisted) return;
  machine->shared = taken;
  machine->unlisted = unlisted;
  const bool concerns_claims = machine->has_claims();
  forget_if_empty(node);
  if (concerns_claims && claims_side_ != nullptr) claims_side_->others_changed(node);
}

CommonDevices::Gpus CommonDevices::claimed(std::string_view node) const {
  const Machine* const machine = find(node);
  return machine != nullptr ? machine->claimed : 0;
}

void CommonDevices::offer(const std::string& node, std::vector<Offered> devices) {
  if (devices.empty() && find(node) == nullptr) return;
  for (auto& [number, device] : machines_[node].devices) device.told = false;
  for (Offered& each : devices) {
    for (std::string& bus : each.buses) bus = plain_bus(std::move(bus));
    move_here(each.number, node);
    Device& device = machines_[node].devices[each.number];
    device.offered = std::move(each);
    device.told = true;
  }
  std::erase_if(machines_[node].devices, [this](const auto& entry) {
    const bool gone = !entry.second.told && !claimed_.contains(entry.first);
    if (gone) nodes_.erase(entry.first);
    return gone;
  });
  names_changed(node);
}

void CommonDevices::claim(const Claimed& device) {
  Holding& holding = claimed_[device.number];
  if (++holding.claims > 1) return;
  holding.driver = device.driver;
  // A device of which a slice has told is where the slice says.
  const auto known = nodes_.find(device.number);
  holding.node = known != nodes_.end() ? known->second : device.node;
  if (holding.node.empty()) return;
  if (known == nodes_.end()) machines_[holding.node].untold.insert(device.number);
  claims_changed(holding.node);
}

void CommonDevices::release(Number number) {
  const auto it = claimed_.find(number);
  if (it == claimed_.end() || --it->second.claims > 0) return;
  const std::string node = std::move(it->second.node);
  claimed_.erase(it);
  Machine* const machine = find(node);
  if (machine == nullptr) return;
  machine->untold.erase(number);
  const auto device = machine->devices.find(number);
  if (device != machine->devices.end() && !device->second.told) {
    machine->devices.erase(device);
    nodes_.erase(number);
  }
  claims_changed(node);
}

bool CommonDevices::shared(Number number) const {
  const auto node = nodes_.find(number);
  if (node == nodes_.end()) return false;
  const Machine& machine = *find(node->second);
  const Device& device = machine.devices.at(number);
  return (device.is & machine.shared) != 0 || (machine.unlisted && is_of_gpus(device.offered.driver));
}

CommonDevices::Gpus CommonDevices::twice(std::string_view node) const {
  if (claimed_.empty()) return 0;
  const Machine* const machine = find(node);
  if (machine == nullptr) return 0;
  Gpus claimed = 0;
  for (const auto& [number, device] : machine->devices)
    if (claimed_.contains(number)) claimed |= device.is;
  return claimed & machine->shared;
}

bool CommonDevices::nameless(std::string_view node) const {
  if (nodes_.empty()) return false;
  const Machine* const machine = find(node);
  if (machine == nullptr || machine->gpus.empty()) return false;
  const auto of_gpus = [this](const auto& entry) { return is_of_gpus(entry.second.offered.driver); };
  const auto named = [](const auto& entry) { return entry.second.is != 0; };
  return std::ranges::any_of(machine->devices, of_gpus) && std::ranges::none_of(machine->devices, named);
}

CommonDevices::Machine* CommonDevices::find(std::string_view node) {
  const auto it = machines_.find(std::string(node));
  return it != machines_.end() ? &it->second : nullptr;
}

const CommonDevices::Machine* CommonDevices::find(std::string_view node) const {
  const auto it = machines_.find(std::string(node));
  return it != machines_.end() ? &it->second : nullptr;
}

CommonDevices::Gpus CommonDevices::matching(const Machine& machine, const Offered& device) {
  const auto in = [](const std::vector<std::string>& names, const std::string& name) {
    return !name.empty() && std::ranges::find(names, name) != names.end();
  };
  Gpus found = 0;
  for (std::size_t i = 0; i < machine.gpus.size(); ++i)
    if (in(device.ids, machine.gpus[i].id) || in(device.buses, machine.gpus[i].bus)) found |= Gpus{1} << i;
  return found;
}

bool CommonDevices::is_of_gpus(std::string_view driver) const {
  return says_gpu(driver) || gpu_drivers_.contains(std::string(driver));
}

CommonDevices::Gpus CommonDevices::claimed_of(const Machine& machine) const {
  Gpus claimed = 0;
  for (const auto& [number, device] : machine.devices)
    if (claimed_.contains(number)) claimed |= device.is;
  for (const Number number : machine.untold)
    if (is_of_gpus(claimed_.at(number).driver)) claimed = ~Gpus{0};
  return claimed;
}

/// A slice of the node tells of the device, which may have been elsewhere before.
void CommonDevices::move_here(Number number, const std::string& node) {
  const auto leave = [&](const std::string& before) {
    Machine* const machine = before != node ? find(before) : nullptr;
    if (machine == nullptr || machine->devices.erase(number) + machine->untold.erase(number) == 0) return;
    claims_changed(before);
  };
  if (const auto known = nodes_.find(number); known != nodes_.end()) leave(std::string(known->second));
  nodes_[number] = node;
  machines_[node].untold.erase(number);
  const auto holding = claimed_.find(number);
  if (holding == claimed_.end() || holding->second.node == node) return;
  const std::string before = std::exchange(holding->second.node, node);
  leave(before);
}

/// Of a driver that is new here all machines are asked anew: a claim's device of which no slice tells may be
/// one of it.
void CommonDevices::learn_drivers(const Machine& machine) {
  bool learned = false;
  for (const auto& [number, device] : machine.devices)
    if (device.is != 0 && gpu_drivers_.insert(device.offered.driver).second) learned = true;
  if (!learned) return;
  std::vector<std::string> others;
  for (const auto& [node, other] : machines_)
    if (other.has_claims() && other.has_shares()) others.push_back(node);
  for (const std::string& node : others) names_changed(node);
}

void CommonDevices::names_changed(const std::string& node) {
  Machine& machine = machines_[node];
  for (auto& [number, device] : machine.devices) device.is = matching(machine, device.offered);
  machine.claimed = claimed_of(machine);
  learn_drivers(machine);
  forget_if_empty(node);
  if (shares_side_ != nullptr) shares_side_->others_changed(node);
  if (claims_side_ != nullptr) claims_side_->others_changed(node);
}

void CommonDevices::claims_changed(const std::string& node) {
  Machine& machine = machines_[node];
  // Who has no Device asks nothing; it is reckoned when there is one.
  if (!machine.has_shares()) return forget_if_empty(node);
  const Gpus before = std::exchange(machine.claimed, claimed_of(machine));
  const bool changed = before != machine.claimed;
  forget_if_empty(node);
  if (changed && shares_side_ != nullptr) shares_side_->others_changed(node);
}

void CommonDevices::forget_if_empty(const std::string& node) {
  const auto it = machines_.find(node);
  if (it != machines_.end() && !it->second.has_shares() && !it->second.has_claims()) machines_.erase(it);
}

}  // namespace koord::scheduling
