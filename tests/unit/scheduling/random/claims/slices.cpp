// Random nodes and what drivers say of their devices: see objects.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "random/claims/objects.hpp"

namespace koord::scheduling::test {

namespace {

constexpr const char* kZones[] = {"za", "zb"};

api::Quantity n(std::int64_t amount) { return api::Quantity::from_int(amount); }

api::NodeSelector in_zone(const char* zone) {
  api::NodeSelector selector;
  selector.node_selector_terms.emplace_back().match_expressions.push_back({"zone", "In", {Symbol(zone)}});
  return selector;
}

}  // namespace

std::shared_ptr<const api::Node> ClaimObjects::node(const std::string& name) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = name;
  node->metadata.labels["kubernetes.io/hostname"] = Symbol(name);
  if (chance(90)) node->metadata.labels["zone"] = one_of(kZones);
  node->status.allocatable = {{"cpu", n(64)}, {"memory", n(std::int64_t{256} << 30)}, {"pods", n(100)}};
  return node;
}

/// Of a few units, in steps or not.
api::DeviceCapacity ClaimObjects::capacity(bool shared) {
  api::DeviceCapacity made;
  made.value = n(shared ? 3 + below(4) : 2 + below(6));
  if (!chance(40)) return made;
  api::CapacityRequestPolicy& policy = made.request_policy.ensure();
  if (chance(60)) policy.default_ = n(1 + below(2));
  const int kind = below(3);
  if (kind == 0) policy.valid_values = {n(1), n(3)};
  if (kind != 1) return made;
  auto& range = policy.valid_range.ensure();
  range.min = n(1);
  if (chance(50)) range.max = n(3);
  if (chance(50)) range.step = n(2);
  return made;
}

api::SliceDevice ClaimObjects::device(const std::string& driver, int number, bool counted) {
  api::SliceDevice made;
  made.name = Symbol(fmt::format("d{}", number));
  if (chance(90)) made.attributes[chance(80) ? "slot" : Symbol(driver + "/slot")].int_ = below(3);
  made.attributes["kind"].string = chance(60) ? "fast" : "slow";
  if (chance(75)) made.attributes["board.x/root"].string = chance(50) ? "r0" : "r1";
  if (chance(20)) made.attributes["version"].version = chance(50) ? "1.2.3" : "2.0.0";
  const bool shared = chance(gates_.shares ? 35 : 4);
  if (shared) made.allow_multiple_allocations = true;
  if (chance(gates_.shares ? 90 : 40)) made.capacity["mem"] = capacity(shared);
  if (chance(gates_.taints ? 20 : 3))
    made.taints.push_back({"sick", chance(50) ? "a" : "", chance(80) ? "NoSchedule" : "None", {}});
  if (below(200) == 0) made.binding_conditions.push_back("ready");
  if (counted || below(400) == 0) {
    api::DeviceCounterConsumption& consumed = made.consumes_counters.emplace_back();
    consumed.counter_set = below(200) != 0 ? "set" : "another";
    consumed.counters["mem"].value = n(1 + below(4));
  }
  return made;
}

void ClaimObjects::select_nodes(api::ResourceSliceSpec& spec) {
  const int kind = below(gates_.partitions ? 4 : 3);
  if (kind == 0) spec.node_selector.ensure() = in_zone(one_of(kZones));
  if (kind == 1) spec.all_nodes = true;
  if (kind == 2) spec.node_name = Symbol(node_name());
  if (kind != 3) return;
  spec.per_device_node_selection = true;
  for (api::SliceDevice& device : spec.devices) {
    const int of = below(3);
    if (of == 0) device.node_selector.ensure() = in_zone(one_of(kZones));
    if (of == 1) device.all_nodes = true;
    if (of == 2) device.node_name = Symbol(node_name());
  }
}

std::vector<ClaimObjects::Slice> ClaimObjects::publish(const std::string& driver, const std::string& pool) {
  const std::string id = driver + "/" + pool;
  const bool wide = pool == "fabric";
  int& generation = generations_[id];
  if (generation == 0 || chance(75)) ++generation;
  const bool counted = chance(gates_.partitions ? 35 : 2);
  const int slices = 1 + below(wide ? 3 : 2), count = slices + (counted ? 1 : 0);
  std::vector<Slice> all;
  int devices = chance(90) ? 0 : 3;  // their names go on, or others come in their place
  const auto add = [&](const std::string& part, api::ResourceSliceSpec spec) {
    spec.driver = Symbol(driver);
    spec.pool.name = Symbol(pool);
    spec.pool.generation = generation;
    spec.pool.resource_slice_count = chance(99) ? count : count + 1;
    auto made = std::make_shared<api::ResourceSlice>();
    // Slices of a new generation come beside those of the old one, or in their place.
    made->metadata.name = fmt::format("{}-{}-{}{}", pool, driver, part, generation % 3);
    made->metadata.uid = made->metadata.name;
    made->spec = std::move(spec);
    all.push_back(made);
  };
  for (int i = 0; i < slices; ++i) {
    api::ResourceSliceSpec spec;
    const int here = 1 + below(wide ? 2 : 3);
    for (int each = 0; each < here; ++each) {
      spec.devices.push_back(device(driver, devices, counted && chance(85)));
      if (below(200) != 0) ++devices;
    }
    if (wide)
      select_nodes(spec);
    else
      spec.node_name = Symbol(pool);
    add(std::to_string(i), std::move(spec));
  }
  if (!counted) return all;
  api::ResourceSliceSpec spec;
  api::CounterSet& set = spec.shared_counters.emplace_back();
  set.name = "set";
  set.counters["mem"].value = n(3 + below(5));
  if (chance(30)) set.counters["lanes"].value = n(4);
  if (wide)
    spec.all_nodes = true;
  else
    spec.node_name = Symbol(pool);
  add("c", std::move(spec));
  return all;
}

api::AllocationResult ClaimObjects::given(const reference::ByKey<api::ResourceSlice>& slices,
                                          const std::string& node) {
  api::AllocationResult made;
  for (const auto& [name, slice] : slices) {
    if (!chance(30)) continue;
    for (const api::SliceDevice& device : slice->spec.devices) {
      if (!chance(40)) continue;
      // A part taken beyond all counters would let others have parts: who waits hears nothing of that.
      if (device.allow_multiple_allocations && !device.consumes_counters.empty()) continue;
      auto& result = made.devices.results.emplace_back();
      result.request = "r0";
      result.driver = slice->spec.driver;
      result.pool = slice->spec.pool.name;
      result.device = chance(95) ? device.name : "gone";
      if (chance(10)) result.admin_access = true;
      if (!device.allow_multiple_allocations || chance(10)) continue;
      result.share_id = fmt::format("share-{}", ++made_);
      for (const auto& [capacity, of] : device.capacity) result.consumed_capacity[capacity] = n(1);
    }
  }
  if (!chance(80)) return made;
  made.node_selector.ensure().node_selector_terms.emplace_back().match_fields.push_back(
      {"metadata.name", "In", {Symbol(node)}});
  return made;
}

}  // namespace koord::scheduling::test
