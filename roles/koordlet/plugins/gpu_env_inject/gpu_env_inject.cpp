// GPUEnvInject: containers see the GPUs that the scheduler gave to their pod, and no others.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "framework/devices/device_terms.hpp"
#include "framework/devices/node_devices.hpp"
#include "framework/devices/vgpu_folders.hpp"
#include "framework/hooks/reconciler.hpp"
#include "koord/api/koordinator/xpu_devices.hpp"

namespace koord::koordlet {

namespace gpu_env_inject {
namespace {

constexpr std::string_view kVisible = "NVIDIA_VISIBLE_DEVICES";
constexpr std::string_view kNone = "void";  // NVIDIA's container runtime gives none, whatever the image says
constexpr std::int64_t kWhole = 100;        // percent

std::int64_t part_of(const GivenDevice& device) {
  return device.memory_ratio >= 0 ? device.memory_ratio : kWhole;
}

/// In percent, what other pods of the node have of it.
std::int64_t taken(const Inventory& inventory, const PodInfo& own, std::int32_t minor) {
  std::int64_t sum = 0;
  for (const auto& pod : inventory.all_pods) {
    const DeviceTerms* const terms = pod->uid == own.uid ? nullptr : pod->terms.find<DeviceTerms>();
    if (terms == nullptr || pod->containers.empty()) continue;  // it runs nothing
    for (const GivenDevice& device : terms->gpus)
      if (device.minor == minor) sum += part_of(device);
  }
  return sum;
}

/// Empty: it is the pod's.
std::string obstacle(const HookFacts& facts, const PodInfo& pod, const GivenDevice& device) {
  const NodeDevices* const node = facts.devices;
  const auto is_gpu = [](const api::DeviceInfo& one) { return one.type == kGpuType; };
  // Where no source knows any, as with a driver that nobody asks, the annotation's word is all there is.
  if (node != nullptr && node->gpus_complete && std::ranges::any_of(node->devices, is_gpu) &&
      std::ranges::none_of(node->devices,
                           [&](const auto& one) { return is_gpu(one) && one.minor == device.minor; }))
    return fmt::format("GPU {} is not reported by this node", device.minor);
  if (const std::int64_t others = taken(facts.inventory, pod, device.minor);
      others + part_of(device) > kWhole)
    return fmt::format("of GPU {} other pods have {}%, and this one says {}%", device.minor, others,
                       part_of(device));
  return {};
}

/// It can hold containers to their part only where the driver comes with the container.
std::string isolation_obstacle(const HookFacts& facts, const RuntimeRequest& request, bool by_cdi) {
  if (facts.devices == nullptr) return "the host was not looked at yet";
  if (!facts.devices->isolation.missing.empty()) return facts.devices->isolation.missing;
  if (by_cdi) return {};  // the names bring the driver, whichever runtime it is
  const std::string& handler = request.sandbox.runtime_handler;
  if (!handler.empty() && handler.find("nvidia") == std::string::npos)
    return fmt::format("its runtime class {} brings no NVIDIA driver into containers", handler);
  return {};
}

/// HAMi-core keeps what the container uses in a folder of the host's, which is the container's own.
void watch(const HookTarget& target, const std::string& library, HookAnswer& answer) {
  const std::string home = vgpu_home(library);
  const std::string name = vgpu_folder_name(target.pod->uid, target.request->container->name);
  if (home.empty() || name.empty()) {
    answer.warnings.push_back(fmt::format("its use of GPUs is not watched: {}",
                                          home.empty() ? "HAMi-core's library lies in a folder of others"
                                                       : "pod or container has no name of Kubernetes'"));
    return;
  }
  answer.env.push_back({"CUDA_DEVICE_MEMORY_SHARED_CACHE", fmt::format("{}/{}.cache", home, name)});
  // Before the library, which lies in it. Programs that it puts there run as whoever calls them.
  answer.mounts.insert(answer.mounts.begin(), {.source = fmt::format("{}/containers/{}", home, name),
                                               .destination = home,
                                               .options = {"rbind", "nosuid", "nodev"}});
}

void isolate(const HookFacts& facts, const HookTarget& target, const GivenDevice& first, bool by_cdi,
             HookAnswer& answer) {
  if (first.memory_ratio < 0) {
    answer.warnings.emplace_back(
        "GPU isolation by HAMi-core: the scheduler's annotation has no gpu-memory-ratio");
    return;
  }
  if (first.memory_ratio >= kWhole) return;
  std::string why = first.memory < 0 ? std::string("the scheduler's annotation has no gpu-memory")
                                     : isolation_obstacle(facts, *target.request, by_cdi);
  if (!why.empty()) {
    answer.warnings.push_back(fmt::format("GPU isolation by HAMi-core is not set up: {}", why));
    return;
  }
  const std::string& library = facts.devices->isolation.library;
  answer.env.push_back({"CUDA_DEVICE_MEMORY_LIMIT", std::to_string(first.memory)});
  if (first.core >= 0) answer.env.push_back({"CUDA_DEVICE_SM_LIMIT", std::to_string(first.core)});
  answer.env.push_back({"LD_PRELOAD", library});
  // The library is every container's: none may write it.
  answer.mounts.push_back({.source = library, .destination = library, .options = {"rbind", "ro"}});
  const std::string lock(kIsolationLock);
  answer.mounts.push_back({.source = lock, .destination = lock, .options = {"rbind"}});
  if (facts.gates.enabled("HamiCoreVGPUMonitor")) watch(target, library, answer);
}

/// The names of all of them; none where one has none, for a container gets its GPUs in one way.
std::vector<std::string> cdi_names(const HookFacts& facts, const RuntimeRequest& request,
                                   const std::vector<std::int32_t>& minors) {
  std::vector<std::string> names;
  if (facts.devices == nullptr || !request.takes_cdi || !facts.gates.enabled("CDIDeviceInject")) return names;
  const std::string& vendor = facts.devices->gpus.vendor;
  if (!vendor.empty() && vendor != api::kVendorNvidia) return names;
  for (const std::int32_t minor : minors) {
    const auto found = facts.devices->cdi.gpus.find(minor);
    const auto reported = std::ranges::find_if(facts.devices->devices, [&](const api::DeviceInfo& one) {
      return one.type == kGpuType && one.minor == minor;
    });
    if (found == facts.devices->cdi.gpus.end() || reported == facts.devices->devices.end()) return {};
    // A file that is older than the cards in this machine.
    const std::string_view name = std::string_view(found->second).substr(found->second.find('=') + 1);
    if (name.starts_with(kGpuUuid) && reported->id.starts_with(kGpuUuid) && name != reported->id) return {};
    names.push_back(found->second);
  }
  return names;
}

void answer(const HookFacts& facts, const HookTarget& target, HookAnswer& answer) {
  if (target.level != HookLevel::container || target.request == nullptr ||
      target.request->moment != RuntimeMoment::create_container)
    return;
  const DeviceTerms* const terms = target.pod->terms.find<DeviceTerms>();
  if (terms == nullptr || terms->gpus.empty()) return;
  std::vector<std::int32_t> minors;
  const GivenDevice* first = nullptr;
  for (const GivenDevice& device : terms->gpus) {
    const std::string why = obstacle(facts, *target.pod, device);
    if (why.empty() && first == nullptr) first = &device;
    if (why.empty())
      minors.push_back(device.minor);
    else
      answer.warnings.push_back(fmt::format("a GPU of its annotation is not given: {}", why));
  }
  answer.cdi_devices = cdi_names(facts, *target.request, minors);
  const bool by_cdi = !answer.cdi_devices.empty();
  // NVIDIA's runtime, if it is one, must not add others.
  const bool none = minors.empty() || by_cdi;
  answer.env.push_back(
      {std::string(kVisible), none ? std::string(kNone) : fmt::format("{}", fmt::join(minors, ","))});
  if (terms->isolated_by_hami && first != nullptr) isolate(facts, target, *first, by_cdi, answer);
}

constexpr Hook kHook{.audit_reason = "gpu env inject", .answer = &answer};
constexpr std::string_view kGates[] = {"GPUEnvInject"};

}  // namespace
}  // namespace gpu_env_inject

extern const StrategyEntry kGpuEnvInject{
    .name = "GPUEnvInject",
    .gates = gpu_env_inject::kGates,
    .replan = Replan::on_change,
    .hold = kHookHold,
    .needs_slo = false,
    .hook = &gpu_env_inject::kHook,
    .terms = &read_device_terms,
    .make = &reconcile<gpu_env_inject::kHook>,
};

}  // namespace koord::koordlet
