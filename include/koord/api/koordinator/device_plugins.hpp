// What vendors' device plugins look for in pods and nodes, since the kubelet tells them of no pod: what it
// was given, when it was bound, and whose turn it is on the node.
#pragma once

#include <cstdint>
#include <string_view>

namespace koord::api {

inline constexpr std::string_view
    kBindTimestamp = "scheduling.koordinator.sh/bind-timestamp",  // of a pod: nanoseconds since 1970
    kGpuMinors = "scheduling.koordinator.sh/gpu-minors",          // of a pod: "0,1"
    kHamiNodeLabel = "hami.io/vgpu-node",                         // of a pod: its node
    kHuaweiPredicateTime = "predicate-time",                      // of a pod: as kBindTimestamp
    kHuaweiNpuCore = "huawei.com/npu-core",                       // of a pod: "0,1", or "0-TEMPLATE"
    kHuaweiAscend310P = "huawei.com/Ascend310P",                  // of a pod: "Ascend310P-0,Ascend310P-1"
    kCambriconAssigned = "CAMBRICON_DSMLU_ASSIGHED",              // of a pod: "false" until it has it
    kCambriconProfile = "CAMBRICON_DSMLU_PROFILE",                // of a pod: MINOR_CORE_MEMORY
    kMetaxAllocated = "metax-tech.com/gpu-devices-allocated",     // of a pod: JSON
    kCambriconLock = "cambricon.com/dsmlu.lock",                  // of a node: TIME,NAMESPACE,POD
    kHamiLock = "hami.io/mutex.lock";                             // of a node: the same

/// The value of kGpuIsolationProviderLabel that HAMi's device plugin is for.
inline constexpr std::string_view kHamiCore = "HAMi-core";

/// Values of kGpuVendorLabel that somebody treats otherwise than the rest.
inline constexpr std::string_view kVendorHuawei = "huawei", kVendorCambricon = "cambricon",
                                  kVendorMetax = "metax";
/// A value of kGpuModelLabel.
inline constexpr std::string_view kModelAscend310Duo = "Ascend-310P3-300I-DUO";

/// In which these vendors count memory, in bytes; their device plugins have to be set to the same.
inline constexpr std::int64_t kCambriconMemoryUnit = std::int64_t{256} << 20,
                              kMetaxMemoryUnit = std::int64_t{1} << 20;

}  // namespace koord::api
