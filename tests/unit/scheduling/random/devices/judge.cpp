// What pods are given beside what the oracle gives, and who waits: see devices_world.hpp.
#include <fmt/format.h>

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "random/devices/devices_world.hpp"
#include "support/reference/devices/machine.hpp"
#include "support/reference/matching.hpp"

namespace koord::scheduling::test {

namespace {

using Given = std::map<std::string, std::vector<api::AllocatedDevice>>;

/// By type and minor: nobody says in which order they are written.
Given sorted(Given given) {
  std::erase_if(given, [](const auto& each) { return each.second.empty(); });
  for (auto& [type, devices] : given) std::ranges::sort(devices, {}, &api::AllocatedDevice::minor);
  return given;
}

std::string text(const Given& given) {
  api::DeviceAllocations said;
  for (const auto& [type, devices] : given) said.devices[type] = devices;
  return api::encode_annotation(said);
}

Given given_to(const api::Pod& pod) {
  Given given;
  if (const auto said = reference::devices_of(pod))
    for (const auto& [type, devices] : said->devices) given[type.str()] = devices;
  return given;
}

}  // namespace

bool RandomDevicesWorld::excused(const Decision& d, const reference::Answer& expected) {
  const std::string key = reference::key_of(*d.pod);
  // What can wait until a node is chosen may then not be there.
  for (const auto& [name, node] : cluster_.nodes) {
    if (expected.feasible == 0 || expected.nodes.at(name).rejected) continue;
    const std::string refused = reference::device_gift(cluster_, oracle_, *waiting_.at(key), *node).refused;
    if (refused.empty() || d.message().find(refused) == std::string::npos) continue;
    ++met_["Reserve refuses"];
    refused_late_.insert(key);
    return true;
  }
  // A pod that waits is refused node by node when no template is what it asks for any more.
  constexpr std::string_view kNoTemplate = "no matched GPU shared resource template";
  return expected.prefilter_message == kNoTemplate &&
         d.message() ==
             fmt::format("0/{0} nodes are available: {0} {1}.", cluster_.nodes.size(), kNoTemplate);
}

void RandomDevicesWorld::judge_gift(const api::Pod& asked, const api::Pod& bound) {
  const std::string node = bound.spec.node_name.str();
  const auto expected = reference::device_gift(cluster_, oracle_, asked, *cluster_.nodes.at(node));
  if (!expected.refused.empty())
    return tell(api::encode(bound), fmt::format("on {} Reserve should refuse: {}", node, expected.refused));
  const Given given = sorted(given_to(bound)), wanted = sorted(expected.devices);
  if (given != wanted)
    return tell(api::encode(bound), fmt::format("on {} it is given\n  {}, the oracle gives it\n  {}", node,
                                                text(given), text(wanted)));
  if (given.empty() && bound.metadata.annotations.contains(api::DeviceAllocations::kAnnotation))
    return tell(api::encode(bound), "it is given nothing, and bound with what somebody wrote");
  for (const auto& [type, devices] : given) {
    const bool whole = type == "gpu" && devices[0].resources.find(api::kGpuMemoryRatio)->value() >= 100;
    ++met_[type != "gpu"        ? type + " given"
           : !whole             ? "shares of GPUs given"
           : devices.size() > 1 ? "several GPUs given"
                                : "GPUs given"];
    for (const api::AllocatedDevice& each : devices) {
      if (!each.extension) continue;
      ++met_[each.extension->vfs.empty() ? "templates given" : "functions given"];
    }
  }
  if (given.size() > 1) ++met_["devices of several types given"];
  check_gift(asked, bound);
}

/// By the objects alone: nobody else has these, they are there and healthy. What follows from an amount that
/// it asks for (a ratio of memory) may be more than there is where a GPU has become another one.
void RandomDevicesWorld::check_gift(const api::Pod& asked, const api::Pod& bound) {
  const reference::DeviceRequest asks(oracle_, asked);
  const api::Node& node = *cluster_.nodes.at(bound.spec.node_name.str());
  const reference::DeviceMachine machine(cluster_, node);
  const auto wrong = [&](const std::string& what) {
    tell(api::encode(bound), fmt::format("on {} {}", node.metadata.name, what));
  };
  for (const auto& [type, devices] : given_to(bound)) {
    std::set<int> minors;
    for (const api::AllocatedDevice& each : devices) {
      if (!minors.insert(each.minor).second) return wrong("it is given a device twice");
      const auto of = machine.devices.find(type);
      if (of == machine.devices.end() || !of->second.contains(each.minor))
        return wrong("it is given a device that is not there");
      const auto& one = of->second.at(each.minor);
      if (!one.healthy) return wrong("it is given a device that is not healthy");
      for (const auto& [name, amount] : asks.types.at(type).each)
        if (one.total.contains(name) && amount > reference::amount_of(one.free(), name))
          return wrong(fmt::format("{} {} has not so much {} left", type, each.minor, name));
      if (!each.extension) continue;
      for (const auto& function : each.extension->vfs)
        if (one.taken.contains(function.bus_id)) return wrong("it is given a function of another");
    }
  }
}

/// Who fits somewhere does not wait. Of devices that must be near to one another the first are chosen as if
/// they were alone, as Koordinator does: who waits for these may fit when others come.
void RandomDevicesWorld::check_waiting() {
  for (const auto& [key, pod] : waiting_) {
    if (reference::DeviceRequest(oracle_, *pod).same_pcie || refused_late_.contains(key)) continue;
    const reference::Answer now = reference::evaluate(cluster_, oracle_, *pod);
    for (const auto& [name, node] : now.nodes)
      if (!node.rejected) return tell(api::encode(*pod), fmt::format("it waits, and {} would take it", name));
  }
}

std::string RandomDevicesWorld::refusal(const reference::Rejection& by) const {
  return "refused: " + by.reasons[0].substr(0, 26);
}

}  // namespace koord::scheduling::test
