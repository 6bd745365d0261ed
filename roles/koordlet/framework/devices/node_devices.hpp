// NodeDevices: the devices of the node, as all sources say them together, and what else of them hooks go by.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/devices/device_reading.hpp"

namespace koord::koordlet {

/// What processes of containers that share a GPU wait for one another by; HAMi-core wants it in each.
inline constexpr std::string_view kIsolationLock = "/tmp/vgpulock";

/// What HAMi-core, which holds a container to its part of a GPU, needs of the host.
struct GpuIsolation {
  std::string library;  // its path, on the host and in containers
  std::string missing;  // what is not there, in words; empty: nothing
  friend bool operator==(const GpuIsolation&, const GpuIsolation&) = default;
};

/// As NVIDIA's driver names a whole GPU, in a Device and in CDI's files.
inline constexpr std::string_view kGpuUuid = "GPU-";

/// Names by which a container runtime that speaks CDI gives devices, as the host's files say.
struct CdiNames {
  struct Rdma {
    std::string name;   // "nvidia.com/net-rdma=0000:3b:00.2"
    std::string verbs;  // what it gives: "uverbs2"
    friend bool operator==(const Rdma&, const Rdma&) = default;
  };
  std::map<std::int32_t, std::string> gpus;       // by minor: "nvidia.com/gpu=GPU-..."
  std::map<std::string, Rdma, std::less<>> rdma;  // by bus id
  friend bool operator==(const CdiNames&, const CdiNames&) = default;
};

struct NodeDevices {
  std::vector<api::DeviceInfo> devices;  // as the sources name them: no id and no minor of a type twice
  GpuDescription gpus;
  /// Of devices of such a type one that is missing may be there all the same.
  bool gpus_complete = true, rdma_complete = true;
  /// By bus id, of RDMA cards and their virtual functions: "uverbs0", in /dev/infiniband.
  std::map<std::string, std::string, std::less<>> verbs;
  GpuIsolation isolation;
  CdiNames cdi;
  friend bool operator==(const NodeDevices&, const NodeDevices&) = default;
};

}  // namespace koord::koordlet
