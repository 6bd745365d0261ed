// RDMADeviceInject: containers have the RDMA devices that the scheduler gave to their pod.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "framework/devices/device_terms.hpp"
#include "framework/devices/node_devices.hpp"
#include "framework/hooks/reconciler.hpp"

namespace koord::koordlet {

namespace rdma_device_inject {
namespace {

constexpr std::string_view kFolder = "/dev/infiniband";
constexpr std::int64_t kWhole = 100;                                  // percent
constexpr std::string_view kConnections = "/dev/infiniband/rdma_cm";  // what every user of RDMA needs
constexpr std::uint32_t kForAll = 0666;  // whoever the container runs as, as upstream has it

std::int64_t part_of(const GivenDevice& device) { return device.rdma >= 0 ? device.rdma : kWhole; }

/// Whether other pods that run leave no room for it: a function is one pod's, of a card the scheduler gives
/// out percents.
bool is_taken(const Inventory& inventory, const PodInfo& own, const GivenDevice& wanted,
              std::string_view bus_id) {
  std::int64_t sum = wanted.functions.empty() ? part_of(wanted) : 0;
  for (const auto& pod : inventory.all_pods) {
    const DeviceTerms* const terms = pod->uid == own.uid ? nullptr : pod->terms.find<DeviceTerms>();
    if (terms == nullptr || pod->containers.empty()) continue;
    for (const GivenDevice& device : terms->rdma) {
      if (std::ranges::find(device.functions, bus_id) != device.functions.end()) return true;
      if (device.functions.empty() && device.id == bus_id) sum += part_of(device);
    }
  }
  return sum > kWhole;
}

/// Empty: there is none that gives this device.
std::string cdi_name(const HookFacts& facts, const RuntimeRequest& request, const std::string& bus_id,
                     std::string_view verbs) {
  if (!request.takes_cdi || !facts.gates.enabled("CDIDeviceInject")) return {};
  const auto found = facts.devices->cdi.rdma.find(bus_id);
  const bool gives_it = found != facts.devices->cdi.rdma.end() && found->second.verbs == verbs;
  return gives_it ? found->second.name : std::string();
}

void give(const HookFacts& facts, const HookTarget& target, const GivenDevice& device,
          const std::string& bus_id, HookAnswer& answer) {
  const PodInfo& pod = *target.pod;
  const auto refuse = [&](std::string_view why) {
    answer.warnings.push_back(fmt::format("RDMA device {} of its annotation is not given: {}", bus_id, why));
  };
  const auto found = facts.devices->verbs.find(bus_id);
  if (found == facts.devices->verbs.end()) return refuse("this node has no RDMA device of that name");
  if (is_taken(facts.inventory, pod, device, bus_id)) return refuse("another pod has it");
  if (const std::string name = cdi_name(facts, *target.request, bus_id, found->second); !name.empty())
    answer.cdi_devices.push_back(name);
  else
    answer.devices.push_back(
        {.host_path = fmt::format("{}/{}", kFolder, found->second), .path = {}, .file_mode = kForAll});
}

void answer(const HookFacts& facts, const HookTarget& target, HookAnswer& answer) {
  if (target.level != HookLevel::container || target.request == nullptr ||
      target.request->moment != RuntimeMoment::create_container)
    return;
  const DeviceTerms* const terms = target.pod->terms.find<DeviceTerms>();
  if (terms == nullptr || terms->rdma.empty()) return;
  if (facts.devices == nullptr) {
    answer.warnings.emplace_back("its RDMA devices are not given: the node's devices were not looked at yet");
    return;
  }
  for (const GivenDevice& device : terms->rdma) {
    for (const std::string& function : device.functions) give(facts, target, device, function, answer);
    if (device.functions.empty()) give(facts, target, device, device.id, answer);
  }
  if (!answer.devices.empty() || !answer.cdi_devices.empty())
    answer.devices.insert(answer.devices.begin(),
                          {.host_path = std::string(kConnections), .path = {}, .file_mode = kForAll});
}

constexpr Hook kHook{.audit_reason = "rdma device inject", .answer = &answer};
constexpr std::string_view kGates[] = {"RDMADeviceInject"};

}  // namespace
}  // namespace rdma_device_inject

extern const StrategyEntry kRdmaDeviceInject{
    .name = "RDMADeviceInject",
    .gates = rdma_device_inject::kGates,
    .replan = Replan::on_change,
    .hold = kHookHold,
    .needs_slo = false,
    .hook = &rdma_device_inject::kHook,
    .terms = &read_device_terms,
    .make = &reconcile<rdma_device_inject::kHook>,
};

}  // namespace koord::koordlet
