// Machines with devices, for tests: eight GPUs by two on four PCIe switches of two memory nodes, with a NIC
// each.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::scheduling::test {

inline api::DeviceInfo device_info(std::string_view type, std::int32_t minor,
                                   const api::ResourceList& resources) {
  api::DeviceInfo info;
  info.type = type;
  info.minor = minor;
  info.id = fmt::format("{}-{}", type, minor);
  info.health = true;
  info.resources = resources;
  return info;
}

inline void put_at(api::DeviceInfo& info, std::int32_t numa_node, std::string_view pcie) {
  api::DeviceTopology topology;
  topology.socket_id = numa_node;
  topology.node_id = numa_node;
  topology.pcie_id = pcie;
  info.topology = topology;
}

inline api::ResourceList whole_gpu() {
  return {{api::kGpuCore, api::Quantity::must("100")},
          {api::kGpuMemory, api::Quantity::must("80Gi")},
          {api::kGpuMemoryRatio, api::Quantity::must("100")}};
}

/// GPUs 0 to 7 and NICs 1 to 4, of the kind "fakeW", with so many virtual functions each.
inline api::Device eight_gpus(int functions = 4) {
  api::Device device;
  device.metadata.name = "node";
  for (std::int32_t i = 0; i < 4; ++i) {
    api::DeviceInfo nic = device_info("rdma", i + 1, {{api::kRdma, api::Quantity::must("100")}});
    nic.labels["type"] = Symbol("fakeW");
    put_at(nic, i / 2, std::to_string(i));
    api::VirtualFunctionGroup group;
    group.labels["type"] = Symbol("general");
    for (std::int32_t f = 0; f < functions; ++f)
      group.vfs.push_back({f, fmt::format("0000:{}f:00.{}", i, f + 2)});
    nic.vf_groups.push_back(group);
    device.spec.devices.push_back(nic);
  }
  for (std::int32_t i = 0; i < 8; ++i) {
    api::DeviceInfo gpu = device_info("gpu", i, whole_gpu());
    put_at(gpu, i / 4, std::to_string(i / 2));
    device.spec.devices.push_back(gpu);
  }
  return device;
}

}  // namespace koord::scheduling::test
