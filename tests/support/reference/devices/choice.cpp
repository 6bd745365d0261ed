// Which of a machine's devices a pod gets: see choice.hpp.
#include "support/reference/devices/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace koord::reference {

namespace {

const std::string kGpuType = "gpu";

bool nothing(const DeviceAmounts& amounts) {
  return std::ranges::all_of(amounts, [](const auto& each) { return each.second == 0; });
}

/// A GPU's memory from its ratio, or the ratio from the memory.
void complete(DeviceAmounts& amounts, const DeviceAmounts& total) {
  const std::string memory(api::kGpuMemory), ratio(api::kGpuMemoryRatio);
  const std::int64_t all = amount_of(total, memory);
  if (!amounts.contains(memory))
    amounts[memory] = amount_of(amounts, ratio) * all / 100;
  else if (!amounts.contains(ratio))
    amounts[ratio] = all == 0 ? 0
                              : static_cast<std::int64_t>(static_cast<double>(amounts[memory]) /
                                                          static_cast<double>(all) * 100);
}

}  // namespace

DeviceChoice::DeviceChoice(const DeviceArgs& args, const DeviceRequest& asks, const DeviceMachine& machine,
                           bool reserving)
    : args_(args), asks_(asks), machine_(machine), reserving_(reserving) {
  if (!asks.again) return;
  for (const char* type : kDeviceTypes) {
    const auto* const had = asks.again->devices.find(type);
    if (had == nullptr) continue;
    for (const api::AllocatedDevice& each : *had) {
      DeviceAmounts amounts = device_amounts(type, each.resources);
      if (type == kGpuType) {
        const auto at = listed(type).find(each.minor);
        if (at == listed(type).end() || nothing(at->second.total)) {
          again_lacks_ = {fmt::format("fillGPUTotalMem failed: no healthy gpu device with minor {} of "
                                      "allocation, node: {}",
                                      each.minor, machine.name),
                          false};
          return;
        }
        complete(amounts, at->second.total);
      }
      for (const auto& [name, amount] : amounts) within_[type][each.minor][name] += amount;
      within_[type].try_emplace(each.minor);
      if (!each.extension || each.extension->vfs.empty()) continue;
      std::set<std::string>& buses = buses_[type][each.minor];
      buses.clear();
      for (const api::AllocatedFunction& function : each.extension->vfs) buses.insert(function.bus_id);
    }
  }
}

const std::map<int, DeviceMachine::One>& DeviceChoice::listed(const std::string& type) const {
  static const std::map<int, One> kNone;
  const auto at = machine_.devices.find(type);
  return at != machine_.devices.end() ? at->second : kNone;
}

bool DeviceChoice::looks_for(const std::string& type) const {
  if (!asks_.wants(type)) return false;
  const bool waits = machine_.planned && !reserving_ && asks_.wants(kGpuType) && !asks_.shares &&
                     !asks_.joint.empty() && type != asks_.joint[0];
  return !waits;
}

std::int64_t DeviceChoice::count(const std::string& type) const {
  const DeviceRequest::OfType& of = asks_.types.at(type);
  if (of.strategy != "ApplyForAll" || type == kGpuType) return of.count;
  const auto& all = listed(type);
  if (of.selector)
    return std::ranges::count_if(all,
                                 [&](const auto& each) { return of.selector->matches(each.second.labels); });
  const auto gone = machine_.gone.find(type);
  return static_cast<std::int64_t>(all.size() + (gone != machine_.gone.end() ? gone->second.size() : 0));
}

bool DeviceChoice::allowed(const std::string& type, int minor, const One& one) const {
  const auto& selector = asks_.types.at(type).selector;
  if (selector && !selector->matches(one.labels)) return false;
  const auto within = within_.find(type);
  return within == within_.end() || within->second.contains(minor);
}

DeviceAmounts DeviceChoice::free(const std::string& type, int minor, const One& one) const {
  DeviceAmounts free = one.free();
  const auto within = within_.find(type);
  if (within == within_.end()) return free;
  const auto at = within->second.find(minor);
  for (auto& [name, amount] : free)
    amount = at != within->second.end() ? std::min(amount, amount_of(at->second, name)) : 0;
  return free;
}

bool DeviceChoice::fits(const std::string& type, int minor, const One& one) const {
  const DeviceAmounts left = free(type, minor, one);
  // What a device does not have at all is not asked of it.
  return std::ranges::all_of(asks_.types.at(type).each, [&](const auto& each) {
    return !left.contains(each.first) || each.second <= left.at(each.first);
  });
}

bool DeviceChoice::in_use(int minor, const One& one) const {
  if (!asks_.again) return one.in_use();
  if (!allowed(kGpuType, minor, one)) return one.in_use();
  if (!one.healthy) return false;
  const DeviceAmounts left = free(kGpuType, minor, one);
  return std::ranges::any_of(one.total,
                             [&](const auto& each) { return each.second > amount_of(left, each.first); });
}

std::int64_t DeviceChoice::score(const std::string& type, const DeviceAmounts& total,
                                 const DeviceAmounts& free) const {
  std::int64_t sum = 0, weights = 0;
  for (const auto& [name, weight] : args_.weights) {
    const bool is_of = type == kGpuType ? name != api::kRdma && name != api::kFpga
                                        : name == (type == "rdma" ? api::kRdma : api::kFpga);
    const std::int64_t has = amount_of(total, name);
    if (!is_of || has == 0) continue;
    const std::int64_t left = std::min(amount_of(free, name), has);
    const std::int64_t used =
        amount_of(free, name) > has ? has : has - left + amount_of(asks_.types.at(type).each, name);
    sum += weight *
           (args_.most ? std::min(used, has) * 100 / has : std::max<std::int64_t>(has - used, 0) * 100 / has);
    weights += weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

const DeviceMachine::Function* DeviceChoice::function(const std::string& type, int minor,
                                                      const One& one) const {
  const std::set<std::string>* only = nullptr;
  if (const auto of = buses_.find(type); of != buses_.end())
    if (const auto at = of->second.find(minor); at != of->second.end()) only = &at->second;
  for (const DeviceMachine::Function& each : one.functions)
    if (!one.taken.contains(each.bus) && asks_.types.at(type).functions->matches(each.labels) &&
        (only == nullptr || only->contains(each.bus)))
      return &each;
  return nullptr;
}

/// What cannot be had whatever is free.
DeviceChoice::Why DeviceChoice::lacks() const {
  for (const char* type : kDeviceTypes) {
    if (!looks_for(type)) continue;
    const bool any = !listed(type).empty() || machine_.gone.contains(type);
    if (!any || count(type) == 0) return {fmt::format("Insufficient {} devices", type), true};
  }
  for (const char* type : kDeviceTypes)
    if (looks_for(type) && asks_.types.at(type).functions &&
        std::ranges::none_of(listed(type), [](const auto& each) { return each.second.has_groups; }))
      return {fmt::format("Insufficient {} VirtualFunctions", type), true};
  return {};
}

DeviceChoice::Why DeviceChoice::choose() {
  Why why = [&]() -> Why {
    if (again_lacks_.refused()) return again_lacks_;
    if (Why lack = lacks(); lack.refused()) return lack;
    const auto wanted =
        std::ranges::count_if(kDeviceTypes, [&](const char* type) { return looks_for(type); });
    if (wanted > 1 && !asks_.joint.empty())
      if (Why none = choose_jointly(); none.refused()) return none;
    for (const char* type : kDeviceTypes)
      if (looks_for(type) && !chosen_.contains(type))
        if (Why none = choose_of(type, count(type), {}); none.refused()) return none;
    return {};
  }();
  if (why.refused()) chosen_.clear();
  for (auto& [type, all] : chosen_)
    for (api::AllocatedDevice& each : all) {
      const One& one = listed(type).at(each.minor);
      DeviceAmounts amounts = asks_.types.at(type).each;
      if (type == kGpuType) complete(amounts, one.total);
      for (const auto& [name, amount] : amounts) each.resources[name] = api::Quantity::from_int(amount);
      each.id = one.id;
      if (type != kGpuType || of_template_.empty()) continue;
      each.extension = api::Box<api::AllocatedDeviceExtension>(api::AllocatedDeviceExtension());
      each.extension->gpu_shared_resource_template = of_template_;
    }
  return why;
}

/// The first type as if alone, the others at the switches of what that came to.
DeviceChoice::Why DeviceChoice::choose_jointly() {
  const std::string& first = asks_.joint[0];
  if (Why none = choose_of(first, count(first), {}); none.refused()) return none;
  const std::set<std::string> switches = switches_of(first);
  for (const std::string& type : asks_.joint) {
    if (type == first || !looks_for(type)) continue;
    std::int64_t least = count(type);
    if (asks_.same_pcie) least = std::max(least, static_cast<std::int64_t>(switches.size()));
    if (Why none = choose_of(type, least, switches); none.refused()) return none;
  }
  for (const std::string& type : asks_.joint)
    if (asks_.same_pcie && looks_for(type) && switches_of(type) != switches)
      return {"node(s) Device Joint-Allocate rules violation", false};
  return {};
}

DeviceChoice::Why DeviceChoice::choose_of(const std::string& type, std::int64_t count,
                                          const std::set<std::string>& switches) {
  if (type == kGpuType) {
    bool by_score = false;
    if (Why none = choose_gpus(by_score); none.refused() || !by_score) return none;
    count = this->count(type);
    choose_by_score(type, count, {});
  } else {
    choose_by_score(type, std::max(count, static_cast<std::int64_t>(switches.size())), switches);
  }
  if (static_cast<std::int64_t>(chosen_[type].size()) >= count) return {};
  return {fmt::format("Insufficient {} devices", type), false};
}

DeviceChoice::Why DeviceChoice::choose_gpus(bool& by_score) {
  if (asks_.by_template) {
    const auto of = asks_.templates.find(api::gpu_model_key(machine_.vendor, machine_.model));
    if (of == asks_.templates.end()) return {"no matched GPU shared resource template", true};
    if (of->second.size() == 1) of_template_ = of->second[0];
  }
  if (!asks_.shares) {
    Why none = choose_partition();
    if (!none.refused()) return none;
    if (asks_.by_partition || machine_.honors) return none;
  }
  return choose_group(by_score);
}

DeviceChoice::Why DeviceChoice::choose_partition() {
  if (!machine_.has_table) return {"node(s) missing GPU Partition Table", true};
  const auto size = static_cast<int>(asks_.types.at(kGpuType).count);
  const auto of = machine_.table.find(size);
  if (of == machine_.table.end()) return {"node(s) Unsupported number of GPU requests", true};
  std::set<int> used;
  for (const auto& [minor, one] : listed(kGpuType))
    if (in_use(minor, one)) used.insert(minor);
  const auto may = [&](const api::GpuPartition& partition) {
    const bool narrow = asks_.bandwidth &&
                        (!partition.ring_bus_bandwidth || *partition.ring_bus_bandwidth < *asks_.bandwidth);
    return !narrow && std::ranges::all_of(partition.minors, [&](int minor) {
      const auto at = listed(kGpuType).find(minor);
      return at != listed(kGpuType).end() && at->second.healthy && allowed(kGpuType, minor, at->second) &&
             !used.contains(minor);
    });
  };
  const api::GpuPartition* best = nullptr;
  std::int64_t best_left = 0;
  const int highest = of->second.front().allocation_score;
  for (const api::GpuPartition& each : of->second) {
    if (!may(each) || (asks_.highest_only && each.allocation_score < highest)) continue;
    std::set<int> taken = used;
    taken.insert(each.minors.begin(), each.minors.end());
    const std::int64_t left = left_whole(taken);
    if (best != nullptr &&
        std::tuple(best->allocation_score, best_left) >= std::tuple(each.allocation_score, left))
      continue;
    best = &each;
    best_left = left;
  }
  if (best == nullptr) return {"Insufficient Partitioned GPU Devices", false};
  for (const int minor : best->minors) take(kGpuType, minor, nullptr);
  return {};
}

/// Of larger partitions, and of those of the same size, with the best score: an 8 counts for more than all
/// 4s, a 4 for more than all 2s.
std::int64_t DeviceChoice::left_whole(const std::set<int>& taken) const {
  std::int64_t left = 0;
  for (const auto& [size, weight] : std::map<int, std::int64_t>{{8, 10000}, {4, 100}, {2, 1}}) {
    const auto of = machine_.table.find(size);
    if (size < asks_.types.at(kGpuType).count || of == machine_.table.end()) continue;
    for (const api::GpuPartition& each : of->second)
      if (each.allocation_score == of->second.front().allocation_score &&
          std::ranges::none_of(each.minors, [&](int minor) { return taken.contains(minor); }))
        left += weight * each.allocation_score;
  }
  return left;
}

/// The machine, its memory nodes and their switches; none: it does not say where all its GPUs are.
std::vector<DeviceChoice::Group> DeviceChoice::groups() const {
  Group machine;
  std::map<int, std::map<std::string, std::vector<int>>> tree;
  for (const auto& [minor, one] : listed(kGpuType)) {
    if (!one.placed) return {};
    machine.minors.push_back(minor);
    tree[one.zone][one.pcie].push_back(minor);
  }
  std::vector<Group> all;
  if (machine.minors.empty()) return all;
  machine.on_the_way = {machine.minors};
  for (const auto& [number, switches] : tree) {
    Group zone = machine;
    zone.depth = 2;
    zone.minors.clear();
    for (const auto& [name, minors] : switches)
      zone.minors.insert(zone.minors.end(), minors.begin(), minors.end());
    std::ranges::sort(zone.minors);
    zone.on_the_way.push_back(zone.minors);
    for (const auto& [name, minors] : switches) {
      Group one = zone;
      one.depth = 3;
      one.minors = minors;
      one.on_the_way.push_back(minors);
      all.push_back(one);
    }
    all.push_back(zone);
  }
  all.push_back(machine);
  return all;
}

/// The nearest GPUs; of equally near ones those with more in use around them, then, of a share, the one that
/// scores best.
DeviceChoice::Why DeviceChoice::choose_group(bool& by_score) {
  const auto count = static_cast<std::size_t>(asks_.types.at(kGpuType).count);
  const std::vector<Group> all = groups();
  const bool scoped = !asks_.scope.empty();
  if (all.empty() || (asks_.shares && count > 1)) {
    by_score = !scoped;
    if (by_score) return {};
    return {all.empty() ? "node(s) missing GPU Device Topology Tree" : "node(s) Unsupported Multi-Shared GPU",
            true};
  }
  static const std::map<std::string, int> kDepths{{"Node", 1}, {"NUMANode", 2}, {"PCIe", 3}, {"Device", 4}};
  const auto depth = kDepths.find(asks_.scope);
  std::optional<std::tuple<int, int, std::int64_t>> best;
  std::vector<int> chosen;
  for (const Group& group : all) {
    if (depth != kDepths.end() && group.depth < depth->second) continue;
    std::vector<int> may;
    std::int64_t score = -1;
    for (const int minor : group.minors) {
      const One& one = listed(kGpuType).at(minor);
      if (!one.healthy || !allowed(kGpuType, minor, one) || !fits(kGpuType, minor, one)) continue;
      if (!asks_.shares) {
        may.push_back(minor);
        continue;
      }
      const std::int64_t its = this->score(kGpuType, one.total, free(kGpuType, minor, one));
      if (its <= score) continue;
      score = its;
      may = {minor};
    }
    if (may.size() < count) continue;
    may.resize(count);
    const auto around = std::ranges::count_if(group.on_the_way, [&](const std::vector<int>& minors) {
      return std::ranges::any_of(minors,
                                 [&](int minor) { return in_use(minor, listed(kGpuType).at(minor)); });
    });
    const std::tuple<int, int, std::int64_t> its{group.depth, static_cast<int>(around), score};
    if (best && its <= *best) continue;
    best = its;
    chosen = may;
  }
  if (!best) return {scoped ? "Insufficient Topology Scoped GPU Devices" : "Insufficient GPU Devices", false};
  for (const int minor : chosen) take(kGpuType, minor, nullptr);
  return {};
}

/// The best score first, then the lowest minor; of switches by turns one of each.
void DeviceChoice::choose_by_score(const std::string& type, std::int64_t most,
                                   const std::set<std::string>& switches) {
  constexpr int kLast = 1000;
  std::vector<std::tuple<int, std::int64_t, int>> order;  // turn, score, minor
  for (const auto& [minor, one] : listed(type))
    if (allowed(type, minor, one))
      order.emplace_back(0, -score(type, one.total, free(type, minor, one)), minor);
  std::ranges::sort(order);
  if (!switches.empty()) {
    std::map<std::string, int> turns;
    for (auto& [turn, score, minor] : order) {
      const One& one = listed(type).at(minor);
      turn = one.placed && switches.contains(one.pcie) ? turns[one.pcie]++ : kLast;
    }
    std::ranges::sort(order);
  }
  for (const auto& [turn, score, minor] : order) {
    if (static_cast<std::int64_t>(chosen_[type].size()) >= most) return;
    const One& one = listed(type).at(minor);
    if (nothing(free(type, minor, one)) || !fits(type, minor, one)) continue;
    const DeviceMachine::Function* with = nullptr;
    if (asks_.types.at(type).functions && (with = function(type, minor, one)) == nullptr) continue;
    take(type, minor, with);
  }
}

void DeviceChoice::take(const std::string& type, int minor, const DeviceMachine::Function* function) {
  api::AllocatedDevice& made = chosen_[type].emplace_back();
  made.minor = minor;
  if (function == nullptr) return;
  made.extension = api::Box<api::AllocatedDeviceExtension>(api::AllocatedDeviceExtension());
  made.extension->vfs.push_back({function->minor, function->bus});
}

std::set<std::string> DeviceChoice::switches_of(const std::string& type) const {
  std::set<std::string> switches;
  if (const auto of = chosen_.find(type); of != chosen_.end())
    for (const api::AllocatedDevice& each : of->second)
      if (const One& one = listed(type).at(each.minor); one.placed) switches.insert(one.pcie);
  return switches;
}

std::int64_t DeviceChoice::score() const {
  if (lacks().refused()) return 0;
  std::int64_t sum = 0;
  for (const char* type : kDeviceTypes) {
    if (!looks_for(type)) continue;
    const auto& selector = asks_.types.at(type).selector;
    DeviceAmounts total, free;
    for (const auto& [minor, one] : listed(type)) {
      if (selector && !selector->matches(one.labels)) continue;
      for (const auto& [name, amount] : one.total) total[name] += amount;
      for (const auto& [name, amount] : one.free()) free[name] += amount;
    }
    sum += score(type, total, free);
  }
  return sum;
}

}  // namespace koord::reference
