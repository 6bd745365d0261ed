// Random objects of worlds with devices: see objects.hpp.
#include "random/devices/objects.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/koordinator/scheduling.hpp"

namespace koord::scheduling::test {

namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;

api::Quantity n(std::int64_t amount) { return api::Quantity::from_int(amount); }

api::DeviceInfo info_of(const char* type, int minor) {
  api::DeviceInfo info;
  info.type = Symbol(type);
  info.minor = minor;
  info.id = fmt::format("{}-{}", type, minor);
  info.health = true;
  return info;
}

}  // namespace

DeviceObjects::Machine DeviceObjects::build() {
  static constexpr int kCounts[] = {1, 2, 2, 3, 4, 4, 8, 8, 8, 16};
  static constexpr const char* kModels[] = {"", "", "A100", "H100", "H20"};
  Machine made;
  const bool npus = chance(15), placed = chance(80), unknown_zone = chance(5);
  const int gpus = npus ? 1 + below(4) : one_of(kCounts), zones = 1 + below(std::min(gpus, 3)),
            switches = zones * (1 + below(3));
  made.vendor = npus ? "huawei" : chance(30) ? "nvidia" : "";
  made.model = npus ? (chance(80) ? "Ascend-310P" : "Ascend-910") : one_of(kModels);
  made.isolated = chance(30);
  made.well_planned = chance(12);
  const std::int64_t memory = chance(50) ? 16 : 80;
  for (int i = 0; i < gpus; ++i) {
    api::DeviceInfo& gpu = made.devices.emplace_back(info_of("gpu", i));
    gpu.labels["kind"] = chance(70) ? "fast" : "slow";
    gpu.resources = {
        {api::kGpuCore, n(100)}, {api::kGpuMemoryRatio, n(100)}, {api::kGpuMemory, n(memory * kGi)}};
    if (npus) {
      gpu.resources[api::kNpuCore] = n(8);
      gpu.resources[api::kNpuCpu] = n(7);
      gpu.resources[api::kNpuDvpp] = n(100);
    }
    if (!placed || (i > 0 && chance(1))) continue;
    gpu.topology = api::Box<api::DeviceTopology>(api::DeviceTopology());
    const int pcie = i * switches / gpus;
    gpu.topology->node_id = unknown_zone ? -1 : pcie * zones / switches;
    gpu.topology->pcie_id = std::to_string(pcie);
  }
  add_nics(made, zones, switches, placed);
  for (int i = below(5) - 2; i > 0; --i) {
    api::DeviceInfo& fpga = made.devices.emplace_back(info_of("fpga", i));
    fpga.resources[api::kFpga] = n(100);
  }
  if (chance(20)) made.partitions = random_partitions(gpus);
  return made;
}

void DeviceObjects::add_nics(Machine& to, int zones, int switches, bool placed) {
  if (chance(25)) return;
  const int each = chance(80) ? 1 : 2, functions = below(4);
  int minor = chance(50) ? 0 : 1;
  for (int pcie = 0; pcie < switches; ++pcie)
    for (int i = 0; i < each; ++i, ++minor) {
      if (chance(15)) continue;  // a switch without
      api::DeviceInfo& nic = to.devices.emplace_back(info_of("rdma", minor));
      nic.resources[api::kRdma] = n(100);
      nic.labels["kind"] = chance(80) ? "fast" : "slow";
      if (placed) {
        nic.topology = api::Box<api::DeviceTopology>(api::DeviceTopology());
        nic.topology->node_id = pcie * zones / switches;
        nic.topology->pcie_id = std::to_string(pcie);
      }
      if (functions == 0) continue;
      for (const char* use : {"general", "storage"}) {
        if (chance(30)) continue;
        api::VirtualFunctionGroup& group = nic.vf_groups.emplace_back();
        group.labels["use"] = use;
        for (int f = 0; f < functions; ++f)
          group.vfs.push_back(
              {f, fmt::format("0000:{:02x}:{}.{}", minor, *use == 'g' ? 0 : 1, functions - f)});
      }
    }
}

/// Mostly aligned ones, some of which lie across.
std::string DeviceObjects::random_partitions(int gpus) {
  if (chance(4)) return "{";
  api::GpuPartitions table;
  for (const int size : {1, 2, 4, 8, 3}) {
    if (size > gpus + 1 || chance(15)) continue;
    auto& of = table.by_size[std::to_string(size)];
    for (int first = 0; first + size <= gpus + (chance(10) ? 1 : 0); first += chance(85) ? size : 1) {
      api::GpuPartition& made = of.emplace_back();
      for (int i = 0; i < size; ++i) made.minors.push_back(first + i);
      if (chance(4)) made.minors.back() = made.minors.front();
      if (chance(3)) made.minors.push_back(first);
      made.allocation_score = chance(70) ? 1 : 1 + below(3);
      if (chance(60)) made.ring_bus_bandwidth = api::Quantity::must(chance(50) ? "200Gi" : "400Gi");
    }
  }
  return api::encode_annotation(table);
}

const DeviceObjects::Machine& DeviceObjects::machine(const std::string& name) {
  const auto [it, fresh] = machines_.try_emplace(name);
  if (fresh) it->second = build();
  return it->second;
}

std::shared_ptr<const api::Node> DeviceObjects::node(const std::string& name, bool rebuilt) {
  if (rebuilt) machines_.erase(name);
  const Machine& of = machine(name);
  auto node = std::make_shared<api::Node>();
  node->metadata.name = name;
  api::SymbolMap& labels = node->metadata.labels;
  labels["kubernetes.io/hostname"] = Symbol(name);
  if (!of.vendor.empty()) labels[api::kGpuVendorLabel] = Symbol(of.vendor);
  if (!of.model.empty() && chance(95)) labels[api::kGpuModelLabel] = Symbol(of.model);
  if (of.isolated) labels[api::kGpuIsolationProviderLabel] = "HAMi-core";
  if (chance(30)) labels[api::kGpuPartitionPolicyLabel] = chance(60) ? "Honor" : "Prefer";
  node->status.allocatable = {{"cpu", n(64)}, {"memory", n(256 * kGi)}, {"pods", n(100)}};
  return node;
}

std::shared_ptr<const api::Device> DeviceObjects::device(const std::string& name) {
  const Machine& of = machine(name);
  auto made = std::make_shared<api::Device>();
  made->metadata.name = name;
  if (of.well_planned)
    made->metadata.labels[api::kSecondaryDeviceWellPlannedLabel] = chance(80) ? "true" : "false";
  if (chance(30)) made->metadata.labels[api::kGpuPartitionPolicyLabel] = chance(60) ? "Honor" : "Prefer";
  if (!of.partitions.empty())
    made->metadata.annotations[api::GpuPartitions::kAnnotation] = Symbol(of.partitions);
  const bool shrinks = chance(15), sick = chance(30);
  for (const api::DeviceInfo& info : of.devices) {
    if (shrinks && chance(30)) continue;
    made->spec.devices.push_back(info);
    if (sick && chance(30)) made->spec.devices.back().health = false;
    if (chance(1)) made->spec.devices.back().resources = {};
  }
  if (chance(10)) std::shuffle(made->spec.devices.begin(), made->spec.devices.end(), random_);
  return made;
}

std::string DeviceObjects::templates() {
  if (chance(20))
    return "huawei-Ascend-310P:\n  vir01:\n    koordinator.sh/gpu-memory: 4Gi\n    huawei.com/npu-core: 1\n  "
           "  huawei.com/npu-cpu: 1\n";
  return "huawei-Ascend-310P:\n"
         "  vir01:\n    koordinator.sh/gpu-memory: 3Gi\n    huawei.com/npu-core: 1\n    huawei.com/npu-cpu: "
         "1\n"
         "  vir02:\n    koordinator.sh/gpu-memory: 6Gi\n    huawei.com/npu-core: 2\n    huawei.com/npu-cpu: "
         "2\n"
         "  vir02_dvpp:\n    koordinator.sh/gpu-memory: 6Gi\n    huawei.com/npu-core: 2\n"
         "    huawei.com/npu-cpu: 2\n    huawei.com/npu-dvpp: 25\n"
         "  vir02_too:\n    koordinator.sh/gpu-memory: 6Gi\n    huawei.com/npu-core: 2\n    "
         "huawei.com/npu-cpu: 2\n"
         "huawei-Ascend-910:\n"
         "  vir01:\n    koordinator.sh/gpu-memory: 3Gi\n    huawei.com/npu-core: 1\n    huawei.com/npu-cpu: "
         "1\n";
}

std::string DeviceObjects::allocated(const std::string& node) {
  static constexpr const char* kWrong[] = {"{", R"({"gpu":{}})", "{}", R"({"gpu":[]})",
                                           R"({"npu":[{"minor":0}]})"};
  if (chance(6)) return one_of(kWrong);
  api::DeviceAllocations said;
  const Machine& of = machine(node);
  const int share = chance(50) ? 100 : 10 * (1 + below(10));
  for (const api::DeviceInfo& info : of.devices) {
    if (!chance(15)) continue;
    api::AllocatedDevice& made = said.devices[info.type.view()].emplace_back();
    made.minor = chance(96) ? *info.minor : 30 + below(3);
    if (info.type == "gpu") {
      if (chance(90)) made.resources[api::kGpuCore] = n(share);
      made.resources[api::kGpuMemoryRatio] = n(share);
      if (chance(80)) made.resources[api::kGpuMemory] = n(share * 16 * kGi / 100);
      if (chance(3)) made.resources[api::kNpuCore] = n(1);
    } else {
      made.resources[info.type == "rdma" ? api::kRdma : api::kFpga] = n(chance(50) ? share : 1);
    }
    if (info.vf_groups.empty() || chance(30)) continue;
    made.extension = api::Box<api::AllocatedDeviceExtension>(api::AllocatedDeviceExtension());
    for (const auto& group : info.vf_groups)
      for (const auto& function : group.vfs)
        if (chance(25)) made.extension->vfs.push_back({function.minor, function.bus_id});
  }
  return api::encode_annotation(said);
}

void DeviceObjects::ask_gpus(api::ResourceList& requests) {
  static constexpr int kCounts[] = {1, 1, 1, 2, 2, 3, 4, 8};
  const int count = one_of(kCounts), share = 5 * (1 + below(19)), npu = 1 + below(2);
  switch (below(15)) {
    case 0:
    case 1:
    case 2: requests[api::kGpu] = n(100 * count); break;
    case 3: requests[chance(70) ? api::kNvidiaGpu : api::kHygonDcu] = n(count); break;
    case 4:
      requests[api::kGpuCore] = n(100 * count);
      requests[api::kGpuMemoryRatio] = n(100 * count);
      break;
    case 5: requests[api::kGpu] = n(share); break;
    case 6: requests[api::kGpuMemoryRatio] = n(share); break;
    case 7: requests[api::kGpuMemory] = n((1 + below(20)) * kGi); break;
    case 8:
      requests[api::kGpuCore] = n(share);
      requests[api::kGpuMemoryRatio] = n(5 * (1 + below(19)));
      break;
    case 9:
      requests[api::kGpuCore] = n(share);
      requests[api::kGpuMemory] = n((1 + below(20)) * kGi);
      break;
    case 10:
    case 11:
      requests[api::kGpuShared] = n(count);
      requests[api::kGpuMemoryRatio] = n(count * share);
      if (chance(50)) requests[api::kGpuCore] = n(count * share);
      break;
    case 12:
    case 13:
      requests[api::kGpuShared] = n(1);
      requests[api::kNpuCore] = n(npu);
      requests[api::kNpuCpu] = n(npu);
      requests[api::kGpuMemory] = n((chance(90) ? 3 : 4) * npu * kGi);
      if (chance(30)) requests[api::kNpuDvpp] = n(25);
      break;
    default:  // what does not go together, or not in such parts
      requests[api::kGpuMemoryRatio] = n(chance(50) ? 150 : share);
      if (chance(50)) requests[api::kGpu] = n(chance(50) ? 150 : 100);
      if (chance(50)) requests[api::kGpuShared] = n(3);
      if (chance(30)) requests[api::kNpuCore] = n(1);
  }
}

void DeviceObjects::annotate(api::Pod& pod, bool gpus, bool nics, bool fpgas) {
  static constexpr const char* kScopes[] = {"NUMANode", "PCIe", "Node", "NUMANode", "Device", "Galaxy"};
  api::SymbolMap& annotations = pod.metadata.annotations;
  const auto selector = [&](const char* key, const char* one, const char* other) {
    api::LabelSelector made;
    if (chance(80)) made.match_labels[key] = chance(60) ? one : other;
    return api::Box<api::LabelSelector>(std::move(made));
  };
  api::DeviceHints hints;
  if (gpus && chance(35)) {
    api::DeviceHint& hint = hints.hints["gpu"];
    if (chance(70)) hint.required_topology_scope = one_of(kScopes);
    if (chance(30)) hint.selector = selector("kind", "fast", "slow");
  }
  if (nics && chance(70)) {
    api::DeviceHint& hint = hints.hints["rdma"];
    if (chance(50)) hint.allocate_strategy = chance(60) ? "RequestsAsCount" : "ApplyForAll";
    if (chance(50)) hint.vf_selector = selector("use", "general", "storage");
    if (chance(25)) hint.selector = selector("kind", "fast", "slow");
    if (chance(15)) hint.exclusive_policy = chance(50) ? "DeviceLevel" : "PCIeLevel";
  }
  if (fpgas && chance(30))
    hints.hints["fpga"].allocate_strategy = chance(50) ? "RequestsAsCount" : "ApplyForAll";
  if (!hints.hints.empty()) api::set_annotation(annotations, hints);
  if (chance(1)) annotations[api::DeviceHints::kAnnotation] = R"({"gpu":[]})";
  if (static_cast<int>(gpus) + static_cast<int>(nics) + static_cast<int>(fpgas) > 1 && chance(75)) {
    api::DeviceJointAllocate joint;
    joint.device_types = {"gpu", "rdma"};
    if (fpgas && chance(50)) joint.device_types.emplace_back("fpga");
    if (chance(15)) std::swap(joint.device_types[0], joint.device_types[1]);
    if (chance(50)) joint.required_scope = "SamePCIe";
    api::set_annotation(annotations, joint);
  }
  if (gpus && chance(15)) {
    static constexpr const char* kSpecs[] = {"{}",
                                             R"({"allocatePolicy":"Restricted"})",
                                             R"({"allocatePolicy":"BestEffort"})",
                                             R"({"ringBusBandwidth":"300Gi"})",
                                             R"({"allocatePolicy":"Restricted","ringBusBandwidth":"200Gi"})",
                                             "["};
    annotations[api::GpuPartitionSpec::kAnnotation] = one_of(kSpecs);
  }
}

std::shared_ptr<const api::Pod> DeviceObjects::pod(const std::string& name) {
  auto pod = std::make_shared<api::Pod>();
  api::ObjectMeta& meta = pod->metadata;
  meta.name = name;
  meta.namespace_ = "default";
  meta.uid = "uid-" + name;
  pod->spec.scheduler_name = "default-scheduler";
  api::Container& c = pod->spec.containers.emplace_back();
  c.name = "c";
  api::ResourceList& requests = c.resources.requests;
  requests["cpu"] = api::Quantity::from_milli(100);
  const int what = below(100);
  const bool gpus = what < 80, nics = what >= 70 ? what < 95 : chance(35), fpgas = what >= 95 || chance(6);
  if (gpus) ask_gpus(requests);
  if (nics)
    requests[api::kRdma] = n(chance(40)   ? 1 + below(4)
                             : chance(60) ? 10 * (1 + below(9))
                                          : 100 * (1 + below(2)));
  if (fpgas) requests[api::kFpga] = n(chance(60) ? 100 : chance(90) ? 25 : 130);
  if (chance(15)) meta.labels[api::kGpuIsolationProviderLabel] = "HAMi-core";
  annotate(*pod, gpus, nics, fpgas);
  // A wish, or what an attempt has left there.
  if (chance(4)) meta.annotations[api::DeviceAllocations::kAnnotation] = Symbol(allocated(node_name()));
  return pod;
}

}  // namespace koord::scheduling::test
