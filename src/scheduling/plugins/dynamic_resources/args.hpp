// DynamicResourcesArgs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/values/box.hpp"
#include "koord/api/values/time.hpp"
#include "koord/scheduling/plugin/args.hpp"

namespace koord::scheduling::dynamic_resources {

/// Attributes that say which GPU a device is, or is a part of.
struct GpuNameAttributes {
  std::vector<std::string> ids, pci_buses;
  KOORD_STRUCT(GpuNameAttributes);
};

/// Attributes that say on which memory node a device is.
struct NumaNodeAttributes {
  std::vector<std::string> attributes;
  KOORD_STRUCT(NumaNodeAttributes);
};

struct DynamicResourcesArgs {
  std::optional<api::Duration> filter_timeout;
  std::optional<api::Duration> binding_timeout;
  api::Box<GpuNameAttributes> gpu_names;    // ours; absent: kGpuIds and kGpuBuses
  api::Box<NumaNodeAttributes> numa_nodes;  // ours; absent: kNumaNodes

  static constexpr nanoseconds kFilterTimeout = std::chrono::seconds(10),
                               kBindingTimeout = std::chrono::seconds(600);

  static constexpr std::string_view kGpuIds[] = {"uuid", "parentUUID"},
                                    kGpuBuses[] = {"resource.kubernetes.io/pciBusID", "pciBusID"},
                                    kNumaNodes[] = {"resource.kubernetes.io/numaNode", "numaNode",
                                                    "numaNodeID", "numa"};

  void validate(const std::string& path, FieldErrors& errors) const;
  /// What the gates forbid, which are not known to validate(): a timeout other than the default of filters
  /// without DRASchedulerFilterTimeout, any of bindings without binding conditions. The error is
  /// Code::invalid.
  Result<> check_gates(bool filters_end, bool binding_conditions) const;
  KOORD_STRUCT(DynamicResourcesArgs);
};

}  // namespace koord::scheduling::dynamic_resources
