// Random classes, claims and pods: see objects.hpp.
#include "random/claims/objects.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduling::test {

namespace {

constexpr const char* kHasSlot = R"("slot" in device.attributes["gpu.x"])";

api::DeviceSelector cel(std::string_view expression) {
  api::DeviceSelector made;
  made.cel.ensure().expression = Symbol(expression);
  return made;
}

}  // namespace

std::shared_ptr<const api::DeviceClass> ClaimObjects::device_class(const std::string& name) {
  auto made = std::make_shared<api::DeviceClass>();
  made->metadata.name = name;
  auto& selectors = made->spec.selectors;
  if (name != "any")
    selectors.push_back(cel(fmt::format(R"(device.driver == "{}.x")", name == "nic" ? "nic" : "gpu")));
  if (name == "fast" && chance(90)) selectors.push_back(cel(R"(device.attributes["gpu.x"].kind == "fast")"));
  if (name != "slotted") return made;
  if (!chance(10)) selectors.push_back(cel(kHasSlot));
  selectors.push_back(cel(fmt::format(R"(device.attributes["gpu.x"].slot < {})", 1 + below(3))));
  return made;
}

std::string ClaimObjects::selector() {
  switch (below(5)) {
    case 0: return R"(device.attributes["gpu.x"].kind == "fast")";
    case 1: return fmt::format(R"({} && device.attributes["gpu.x"].slot == {})", kHasSlot, below(3));
    case 2: return R"("root" in device.attributes["board.x"] && device.attributes["board.x"].root == "r0")";
    case 3:
      return R"("mem" in device.capacity["gpu.x"] && device.capacity["gpu.x"].mem.compareTo(quantity("4")) >= 0)";
    default:
      return chance(8) ? R"(device.attributes["gpu.x"].slot != 1)" : "!device.allowMultipleAllocations";
  }
}

template <class T>
void ClaimObjects::ask(T& request) {
  static constexpr int kCounts[] = {1, 1, 1, 1, 1, 1, 2, 2, 3};
  request.device_class_name = below(200) != 0 ? one_of(kClasses) : "none";
  const bool gpu = request.device_class_name != "nic" && request.device_class_name != "any";
  if (chance(30)) {
    if (gpu)
      request.selectors.push_back(cel(selector()));
    else
      request.selectors.push_back(
          cel(R"(device.driver == "nic.x" && device.attributes["nic.x"].kind == "fast")"));
  }
  request.allocation_mode = chance(10) ? "All" : "ExactCount";
  if (request.allocation_mode == "ExactCount") request.count = chance(99) ? one_of(kCounts) : 33;
  if (chance(30)) request.tolerations.push_back({chance(50) ? "sick" : "", "Exists", "", "", {}});
  if (chance(10)) request.tolerations.push_back({"sick", chance(50) ? "Equal" : "", "a", "NoSchedule", {}});
  if (!chance(gates_.shares ? 40 : 1)) return;
  request.capacity.ensure().requests[chance(98) ? "mem" : "lanes"] = api::Quantity::from_int(1 + below(3));
}

api::ResourceClaimSpec ClaimObjects::claim_spec() {
  api::ResourceClaimSpec spec;
  const int requests = chance(65) ? 1 : 2;
  bool all = false;
  for (int i = 0; i < requests; ++i) {
    api::DeviceRequest& request = spec.devices.requests.emplace_back();
    request.name = Symbol(fmt::format("r{}", i));
    if (chance(65)) {
      api::ExactDeviceRequest& exactly = request.exactly.ensure();
      ask(exactly);
      if (chance(12)) exactly.admin_access = chance(90);
      all = all || exactly.allocation_mode == "All";
      continue;
    }
    for (int way = 0; way < 2 + below(2); ++way) {
      api::DeviceSubRequest& sub = request.first_available.emplace_back();
      sub.name = Symbol(fmt::format("w{}", way));
      ask(sub);
      all = all || sub.allocation_mode == "All";
    }
  }
  if (!chance(all ? 4 : 35)) return spec;
  api::DeviceConstraint& constraint = spec.devices.constraints.emplace_back();
  const Symbol attribute = chance(60) ? "gpu.x/slot" : "board.x/root";
  if (chance(gates_.shares ? 30 : 1))
    constraint.distinct_attribute = attribute;
  else
    constraint.match_attribute = attribute;
  if (chance(30)) constraint.requests = {"r0"};
  if (chance(10)) constraint.requests = {"r0/w1", "r1"};
  return spec;
}

std::shared_ptr<const api::Pod> ClaimObjects::pod(const std::string& name) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = name;
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = "uid-" + name;
  pod->spec.scheduler_name = "default-scheduler";
  pod->spec.containers.emplace_back().resources.requests["cpu"] = api::Quantity::from_milli(100);
  if (chance(4)) return pod;
  const int claims = chance(70) ? 1 : 2;
  int shared = below(3);
  for (int i = 0; i < claims; ++i) {
    api::PodResourceClaim& entry = pod->spec.resource_claims.emplace_back();
    entry.name = Symbol(fmt::format("c{}", i));
    if (chance(25)) {
      entry.resource_claim_name = kShared[shared++ % 3];
      continue;
    }
    entry.resource_claim_template_name = fmt::format("t{}", below(8));
    if (chance(25) || !templates_.contains(entry.resource_claim_template_name))
      templates_[entry.resource_claim_template_name] = claim_spec();
  }
  return pod;
}

}  // namespace koord::scheduling::test
