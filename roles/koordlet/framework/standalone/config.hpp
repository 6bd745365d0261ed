// The file of --standalone-config: what a machine without Kubernetes wants of the agent.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/inventory.hpp"
#include "koord/api/schema/schema.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::koordlet {

/// A cgroup that is treated as a pod is: measured, and protected or held back.
struct StandaloneGroup {
  std::string name;
  std::string cgroup_path;  // "batch.slice", below every hierarchy's root
  Symbol qos;               // LSE, LSR, LS, BE, SYSTEM
  Symbol priority;          // koord-prod, ...; optional
  KOORD_STRUCT(StandaloneGroup);
};

struct StandaloneConfig {
  std::string node_name;  // of metrics and the API; empty: --node-name, NODE_NAME or the host's name
  /// Kept for what is in no group: an amount, or whole CPUs ("0-1"). Optional.
  api::Quantity reserved_cpu;
  std::string reserved_cpus;
  api::NodeSloSpec node_slo;  // over the defaults; hostApplications in it count, too
  std::vector<StandaloneGroup> groups;
  std::vector<api::HostApplicationSpec> host_applications;
  KOORD_STRUCT(StandaloneConfig);
};

/// Strict: an unknown or duplicate key, a value out of range, two groups of one name or path are errors
/// "FILE:LINE: PATH: what".
Result<StandaloneConfig> read_standalone(std::string_view text, const std::string& file);

/// What the machine has.
struct Machine {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;  // bytes
  friend bool operator==(const Machine&, const Machine&) = default;
};
/// The groups appear as running pods of no namespace, whose uid is their name.
Inventory standalone_inventory(const StandaloneConfig& config, const Machine& machine);

}  // namespace koord::koordlet
