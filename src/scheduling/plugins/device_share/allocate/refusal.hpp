// Refusal: why a machine's devices do not serve, in Koordinator's words.
#pragma once

#include <cstdint>
#include <string_view>

#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/device_share/request/amounts.hpp"

namespace koord::scheduling::device_share {

enum class Why : std::uint8_t {
  nothing,  // they serve
  no_devices_of_type,
  no_virtual_functions_of_type,
  too_few_of_type,
  no_matched_template,
  no_partition_table,
  no_partitions_of_size,
  too_few_partitions,
  no_topology_tree,
  shared_multi,
  too_few_scoped,
  too_few_gpus,
  too_few_on_numa_nodes,
  no_primary,
  not_joint,
};

struct Refusal {
  Why why = Why::nothing;
  DeviceType type = DeviceType::gpu;

  bool refused() const { return why != Why::nothing; }
  /// "Insufficient gpu devices"; it lives forever. Empty where nothing is refused.
  std::string_view text() const;
  /// Whether another pod's going could help.
  StatusCode code() const;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

// What the plugin says itself.
inline constexpr std::string_view kNoIsolationProvider = "GPUIsolationProviderHAMICore not found on the node",
                                  kDesignatedLacksNuma = "Designated Allocation Lack NUMA Node ID";

}  // namespace koord::scheduling::device_share
