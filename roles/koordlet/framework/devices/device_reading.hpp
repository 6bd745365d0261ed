// DeviceReading: what one source (a folder of files, sysfs, the driver) says of the node's devices now.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/scheduling_v1alpha1/device.hpp"

namespace koord::koordlet {

/// Types as a Device's spec and the scheduler's annotation name them.
inline constexpr std::string_view kGpuType = "gpu", kRdmaType = "rdma";

/// What is said of all GPUs of a node, as labels and an annotation of its Device. Empty: nothing.
struct GpuDescription {
  std::string vendor, model, driver_version;
  std::string partition_policy;  // Honor, Prefer
  std::string partitions;        // JSON: which may be given together
  /// The source knows how they are linked: where it says nothing of partitions there are none. Otherwise
  /// what somebody else wrote of them stays.
  bool knows_partitions = false;
  friend bool operator==(const GpuDescription&, const GpuDescription&) = default;
};

struct DeviceReading {
  std::vector<api::DeviceInfo> devices;  // each with a minor; lastTransitionTime is not set
  GpuDescription gpus;
  /// By bus id, of RDMA cards and their virtual functions: "uverbs0", in /dev/infiniband.
  std::map<std::string, std::string, std::less<>> verbs;
  /// False: something could not be read, so that a device that is missing here may be there all the same.
  bool complete = true;
  /// "FILE: what is wrong, and what happens now", for the log.
  std::vector<std::string> problems;
};

}  // namespace koord::koordlet
