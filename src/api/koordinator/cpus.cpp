#include "koord/api/koordinator/cpus.hpp"

#include "koord/api/schema/table.hpp"
#include "rooted.hpp"

namespace koord::api {

KOORD_SCHEMA(ResourceSpec, ROW(required_cpu_bind_policy).wire("requiredCPUBindPolicy"),
             ROW(preferred_cpu_bind_policy).wire("preferredCPUBindPolicy"),
             ROW(preferred_cpu_exclusive_policy).wire("preferredCPUExclusivePolicy"));
KOORD_SCHEMA(NumaNodeResource, ROW(node).always(), ROW(resources));
KOORD_SCHEMA(ResourceStatus, ROW(cpuset), ROW(numa_node_resources));
KOORD_SCHEMA(NumaTopologySpec, ROW(numa_topology_policy),
             ROW(single_numa_node_exclusive).wire("singleNUMANodeExclusive"));
KOORD_SCHEMA(CpuBasicInfo, ROW(cpu_model).always(), ROW(hyper_thread_enabled), ROW(turbo_enabled),
             ROW(cat_l3_cbm_mask).wire("catL3CbmMask"), ROW(vendor_id).wire("vendorID").always());
KOORD_SCHEMA(CpuInfo, ROW(id).always(), ROW(core).always(), ROW(socket).always(), ROW(node).always());
KOORD_SCHEMA(CpuTopology, ROW(detail));
KOORD_SCHEMA(PodCpuAlloc, ROW(namespace_), ROW(name), ROW(uid), ROW(cpuset), ROW(managed_by_kubelet));
KOORD_SCHEMA(CpuSharedPool, ROW(socket).always(), ROW(node).always(), ROW(cpuset));
KOORD_SCHEMA(KubeletCpuManagerPolicy, ROW(policy), ROW(options), ROW(reserved_cpus).wire("reservedCPUs"));

Result<> decode_annotation(std::string_view text, PodCpuAllocs& to) { return decode_rooted(text, to.pods); }
std::string encode_annotation(const PodCpuAllocs& value) { return encode_rooted(value.pods); }

Result<> decode_annotation(std::string_view text, CpuSharedPools& to) {
  return decode_rooted(text, to.pools);
}
std::string encode_annotation(const CpuSharedPools& value) { return encode_rooted(value.pools); }

}  // namespace koord::api
