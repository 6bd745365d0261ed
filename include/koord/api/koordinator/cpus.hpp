// CPUs and memory nodes: what pods ask for and are given, and what is said of a node's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/schema/schema.hpp"

namespace koord::api {

/// How a pod's CPUs are to be chosen.
struct ResourceSpec {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/resource-spec";

  // Default, FullPCPUs, SpreadByPCPUs, ConstrainedBurst; empty: nothing is said.
  Symbol required_cpu_bind_policy;
  Symbol preferred_cpu_bind_policy;
  Symbol preferred_cpu_exclusive_policy;  // None, PCPULevel, NUMANodeLevel
  KOORD_STRUCT(ResourceSpec);
};

struct NumaNodeResource {
  int32_t node = 0;
  ResourceList resources;
  KOORD_STRUCT(NumaNodeResource);
};

/// What a pod was given, written with its binding.
struct ResourceStatus {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/resource-status";

  std::string cpuset;  // a list as the kernel has it, "0-3,8"
  std::vector<NumaNodeResource> numa_node_resources;
  KOORD_STRUCT(ResourceStatus);
};

/// How a pod is to be aligned with memory nodes.
struct NumaTopologySpec {
  static constexpr std::string_view kAnnotation = "scheduling.koordinator.sh/numa-topology-spec";

  Symbol numa_topology_policy;        // BestEffort, Restricted, SingleNUMANode; empty: the node's
  Symbol single_numa_node_exclusive;  // Preferred, Required
  KOORD_STRUCT(NumaTopologySpec);
};

// Of a NodeResourceTopology.

/// What its CPUs are.
struct CpuBasicInfo {
  static constexpr std::string_view kAnnotation = "node.koordinator.sh/cpu-basic-info";

  std::string cpu_model;
  bool hyper_thread_enabled = false;
  bool turbo_enabled = false;
  std::string cat_l3_cbm_mask;
  std::string vendor_id;
  KOORD_STRUCT(CpuBasicInfo);
};

struct CpuInfo {
  int32_t id = 0;
  int32_t core = 0;
  int32_t socket = 0;
  int32_t node = 0;  // the memory node
  KOORD_STRUCT(CpuInfo);
};
struct CpuTopology {
  static constexpr std::string_view kAnnotation = "node.koordinator.sh/cpu-topology";

  std::vector<CpuInfo> detail;
  KOORD_STRUCT(CpuTopology);
};

struct PodCpuAlloc {
  Symbol namespace_;
  std::string name;
  std::string uid;
  std::string cpuset;
  bool managed_by_kubelet = false;
  KOORD_STRUCT(PodCpuAlloc);
};
/// CPUs that the kubelet gave to pods of its own accord.
struct PodCpuAllocs {
  static constexpr std::string_view kAnnotation = "node.koordinator.sh/pod-cpu-allocs";

  std::vector<PodCpuAlloc> pods;
  friend bool operator==(const PodCpuAllocs&, const PodCpuAllocs&) = default;
};
Result<> decode_annotation(std::string_view text, PodCpuAllocs& to);
std::string encode_annotation(const PodCpuAllocs& value);

struct CpuSharedPool {
  int32_t socket = 0;
  int32_t node = 0;
  std::string cpuset;
  KOORD_STRUCT(CpuSharedPool);
};
/// CPUs that nobody has for himself.
struct CpuSharedPools {
  static constexpr std::string_view kAnnotation = "node.koordinator.sh/cpu-shared-pools",
                                    kBestEffortAnnotation = "node.koordinator.sh/be-cpu-shared-pools";

  std::vector<CpuSharedPool> pools;
  friend bool operator==(const CpuSharedPools&, const CpuSharedPools&) = default;
};
Result<> decode_annotation(std::string_view text, CpuSharedPools& to);
std::string encode_annotation(const CpuSharedPools& value);

struct KubeletCpuManagerPolicy {
  static constexpr std::string_view kAnnotation = "kubelet.koordinator.sh/cpu-manager-policy";

  Symbol policy;  // static, none
  StringMap options;
  std::string reserved_cpus;
  KOORD_STRUCT(KubeletCpuManagerPolicy);
};

}  // namespace koord::api
