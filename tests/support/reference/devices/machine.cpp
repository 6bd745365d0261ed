// A machine's devices: see machine.hpp.
#include "support/reference/devices/machine.hpp"

#include <algorithm>

namespace koord::reference {

DeviceAmounts DeviceMachine::One::free() const {
  DeviceAmounts free = total;
  for (const auto& [name, amount] : used) free[name] = std::max<std::int64_t>(free[name] - amount, 0);
  return free;
}

bool DeviceMachine::One::in_use() const {
  return std::ranges::any_of(used, [](const auto& each) { return each.second != 0; });
}

std::optional<api::DeviceAllocations> devices_of(const api::Pod& pod) {
  if (pod.spec.node_name.empty()) return std::nullopt;
  auto said = api::read_annotation<api::DeviceAllocations>(pod.metadata.annotations);
  if (!said || !*said) return std::nullopt;
  for (const char* type : kDeviceTypes)
    if (const auto* const of = (*said)->devices.find(type); of != nullptr && !of->empty()) return **said;
  return std::nullopt;
}

std::set<std::string> unclear_of(const api::Pod& pod) {
  std::set<std::string> types;
  if (pod.spec.node_name.empty() || api::read_annotation<api::DeviceAllocations>(pod.metadata.annotations))
    return types;
  for (const auto& [type, amounts] : device_requests(pod)) types.insert(type);
  return types;
}

DeviceMachine::DeviceMachine(const Cluster& cluster, const api::Node& node) {
  name = node.metadata.name;
  const auto now = cluster.devices.find(name), once = cluster.once_devices.find(name);
  known = now != cluster.devices.end() || once != cluster.once_devices.end();
  if (now != cluster.devices.end())
    read(*now->second, true);
  else if (known && once->second != nullptr)
    read(*once->second, false);
  const api::SymbolMap& labels = node.metadata.labels;
  vendor = api::value_or(labels, api::kGpuVendorLabel);
  model = api::value_or(labels, api::kGpuModelLabel);
  isolation = api::value_or(labels, api::kGpuIsolationProviderLabel);
  if (!has_table) {
    // NVLink's of eight GPUs.
    honors = api::value_or(labels, api::kGpuPartitionPolicyLabel) == "Honor";
    has_table =
        (vendor.empty() || vendor == "nvidia") && (model == "H100" || model == "H800" || model == "H20");
    for (int size = 1; has_table && size <= 8; size *= 2)
      for (int minor = 0; minor < 8; ++minor) {
        if (minor % size == 0) table[size].emplace_back().allocation_score = 1;
        table[size].back().minors.push_back(minor);
      }
  }
  for (const auto& [key, pod] : cluster.pods)
    if (pod->spec.node_name.view() == name)
      if (const auto has = devices_of(*pod)) count(*has);
  // Any of them may be somebody's.
  for (const auto& [key, pod] : cluster.pods)
    if (pod->spec.node_name.view() == name)
      for (const std::string& type : unclear_of(*pod))
        for (auto& [minor, one] : devices[type]) {
          one.healthy = false;
          one.total.clear();
        }
}

void DeviceMachine::read(const api::Device& device, bool there) {
  for (const api::DeviceInfo& info : device.spec.devices) {
    const int minor = info.minor.value_or(0);
    if (minor < 0 || std::ranges::find(kDeviceTypes, info.type.view()) == kDeviceTypes.end()) continue;
    One& made = devices[info.type.str()][minor] = One();
    const DeviceAmounts total = device_amounts(info.type.str(), info.resources);
    const bool any = std::ranges::any_of(total, [](const auto& each) { return each.second != 0; });
    made.healthy = there && info.health && any;
    if (made.healthy) made.total = total;
    made.labels = info.labels;
    made.id = info.id;
    made.placed = info.topology.has_value();
    if (made.placed && info.topology->node_id >= 0) made.zone = info.topology->node_id;
    if (made.placed) made.pcie = info.topology->pcie_id;
    for (const api::VirtualFunctionGroup& group : info.vf_groups) {
      made.has_groups = true;
      for (const api::VirtualFunction& function : group.vfs)
        made.functions.push_back({function.bus_id, function.minor, group.labels});
    }
    std::ranges::stable_sort(made.functions, {}, &Function::bus);
  }
  planned = api::value_or(device.metadata.labels, api::kSecondaryDeviceWellPlannedLabel) == "true";
  read_table(device);
}

void DeviceMachine::read_table(const api::Device& device) {
  honors = api::value_or(device.metadata.labels, api::kGpuPartitionPolicyLabel) == "Honor";
  const auto said = api::read_annotation<api::GpuPartitions>(device.metadata.annotations);
  has_table = said && *said;
  if (!has_table) return;
  for (const auto& [key, partitions] : (*said)->by_size) {
    const int size = std::stoi(key.str());
    for (const api::GpuPartition& each : partitions)
      if (std::cmp_equal(each.minors.size(), size) &&
          std::set(each.minors.begin(), each.minors.end()).size() == each.minors.size())
        table[size].push_back(each);
  }
  for (auto& [size, partitions] : table)
    std::ranges::stable_sort(partitions, std::greater<>(), &api::GpuPartition::allocation_score);
}

void DeviceMachine::count(const api::DeviceAllocations& has) {
  for (const char* type : kDeviceTypes) {
    const auto* const of = has.devices.find(type);
    if (of == nullptr) continue;
    for (const api::AllocatedDevice& each : *of) {
      const auto at = devices[type].find(each.minor);
      if (at == devices[type].end()) {
        gone[type].insert(each.minor);
        continue;
      }
      for (const auto& [name, amount] : device_amounts(type, each.resources))
        at->second.used[name] += std::max<std::int64_t>(amount, 0);
      if (!each.extension) continue;
      for (const api::AllocatedFunction& function : each.extension->vfs)
        at->second.taken.insert(function.bus_id);
    }
  }
}

}  // namespace koord::reference
