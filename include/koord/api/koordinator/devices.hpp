// Devices: resources, what pods ask for and are given, and what is said of a node's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

inline constexpr std::string_view kGpu = "koordinator.sh/gpu",     // in percent of a GPU
    kGpuShared = "koordinator.sh/gpu.shared",                      // GPUs that are shared
    kGpuCore = "koordinator.sh/gpu-core",                          // percent
    kGpuMemory = "koordinator.sh/gpu-memory",                      // bytes
    kGpuMemoryRatio = "koordinator.sh/gpu-memory-ratio",           // percent
    kRdma = "koordinator.sh/rdma", kFpga = "koordinator.sh/fpga";  // percent
/// The names that they had before, in the same order but for gpu.shared.
inline constexpr std::string_view kOldGpu = "kubernetes.io/gpu", kOldGpuCore = "kubernetes.io/gpu-core",
                                  kOldGpuMemory = "kubernetes.io/gpu-memory",
                                  kOldGpuMemoryRatio = "kubernetes.io/gpu-memory-ratio",
                                  kOldRdma = "kubernetes.io/rdma", kOldFpga = "kubernetes.io/fpga";
// Vendors' own, each a device.
inline constexpr std::string_view kNvidiaGpu = "nvidia.com/gpu", kAmdGpu = "amd.com/gpu",
                                  kHygonDcu = "dcu.com/gpu", kNpuCore = "huawei.com/npu-core",
                                  kNpuCpu = "huawei.com/npu-cpu", kNpuDvpp = "huawei.com/npu-dvpp";

struct AllocatedFunction {
  int32_t minor = 0;
  std::string bus_id;
  KOORD_STRUCT(AllocatedFunction);
};
struct AllocatedDeviceExtension {
  std::vector<AllocatedFunction> vfs;
  std::string gpu_shared_resource_template;
  KOORD_STRUCT(AllocatedDeviceExtension);
};
struct AllocatedDevice {
  int32_t minor = 0;
  ResourceList resources;
  std::string id;
  Box<AllocatedDeviceExtension> extension;
  KOORD_STRUCT(AllocatedDevice);
};
/// What a pod was given, written with its binding: by type (gpu, rdma, fpga).
struct DeviceAllocations {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/device-allocated";

  FlatMap<std::vector<AllocatedDevice>> devices;
  friend bool operator==(const DeviceAllocations&, const DeviceAllocations&) = default;
};
Result<> decode_annotation(std::string_view text, DeviceAllocations& to);
std::string encode_annotation(const DeviceAllocations& value);

struct DeviceHint {
  Box<LabelSelector> selector;     // of devices
  Box<LabelSelector> vf_selector;  // of virtual functions, of which it gets some then
  Symbol allocate_strategy;        // ApplyForAll, RequestsAsCount
  Symbol required_topology_scope;  // Device, PCIe, NUMANode, Node
  Symbol exclusive_policy;         // DeviceLevel, PCIeLevel
  KOORD_STRUCT(DeviceHint);
};
/// How a pod's devices are to be chosen, by type.
struct DeviceHints {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/device-allocate-hint";

  FlatMap<DeviceHint> hints;
  friend bool operator==(const DeviceHints&, const DeviceHints&) = default;
};
Result<> decode_annotation(std::string_view text, DeviceHints& to);
std::string encode_annotation(const DeviceHints& value);

/// Devices of these types are to be near to one another.
struct DeviceJointAllocate {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/device-joint-allocate";

  std::vector<Symbol> device_types;
  Symbol required_scope;  // SamePCIe
  KOORD_STRUCT(DeviceJointAllocate);
};

struct GpuPartitionSpec {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/gpu-partition-spec";

  Symbol allocate_policy;  // Restricted, BestEffort (also when it said nothing)
  std::optional<Quantity> ring_bus_bandwidth;
  KOORD_STRUCT(GpuPartitionSpec);
};
Result<> decode_annotation(std::string_view text, GpuPartitionSpec& to);

struct GpuPartition {
  std::vector<int32_t> minors;
  Symbol gpu_link_type;  // NVLink
  std::optional<Quantity> ring_bus_bandwidth;
  int32_t allocation_score = 0;
  KOORD_STRUCT(GpuPartition);
};
/// Of a Device: which of a node's GPUs may be given together, by how many.
struct GpuPartitions {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/gpu-partitions";

  FlatMap<std::vector<GpuPartition>> by_size;  // the keys are whole numbers
  friend bool operator==(const GpuPartitions&, const GpuPartitions&) = default;
};
Result<> decode_annotation(std::string_view text, GpuPartitions& to);
std::string encode_annotation(const GpuPartitions& value);

/// GPUs that are shared in fixed parts only, by the key of gpu_model_key() and the part's name. From a
/// ConfigMap.
struct GpuShareTemplates {
  static constexpr std::string_view kDataKey = "data.yaml";

  FlatMap<FlatMap<ResourceList>> by_model;
  friend bool operator==(const GpuShareTemplates&, const GpuShareTemplates&) = default;
};
/// Of the ConfigMap's value; nothing written is no templates. Fields of the wrong type are errors, which name
/// them.
Result<GpuShareTemplates> parse_gpu_share_templates(std::string_view yaml);
/// "huawei-Ascend-310P"
std::string gpu_model_key(std::string_view vendor, std::string_view model);

inline constexpr std::string_view kGpuVendorLabel = "node.koordinator.sh/gpu-vendor",
                                  kGpuModelLabel = "node.koordinator.sh/gpu-model",
                                  kGpuDriverVersionLabel = "node.koordinator.sh/gpu-driver-version",
                                  kGpuPartitionPolicyLabel =
                                      "node.koordinator.sh/gpu-partition-policy",  // Honor, Prefer
    kSecondaryDeviceWellPlannedLabel = "node.koordinator.sh/secondary-device-well-planned",
                                  kGpuIsolationProviderLabel =
                                      "koordinator.sh/gpu-isolation-provider";  // HAMi-core

/// By the label of a Device or Node: its partitions alone may be given; otherwise they are preferred.
bool honors_gpu_partitions(const SymbolMap& labels);

}  // namespace koord::api
