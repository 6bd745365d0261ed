// The file of --standalone-config: what a machine without Kubernetes wants of the agent.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/api/schema/schema.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::koordlet {

/// What a group asks for, each where it is said.
struct StandaloneRequests {
  std::optional<api::Quantity> cpu, memory;
  KOORD_STRUCT(StandaloneRequests);
};
/// What it may use; said here it is known, and enforced by nobody.
struct StandaloneLimits {
  std::optional<api::Quantity> memory;
  KOORD_STRUCT(StandaloneLimits);
};

/// A cgroup that is treated as a pod is: measured, and protected or held back.
struct StandaloneGroup {
  std::string name;
  /// "batch.slice", below every hierarchy's root. "*" stands for any part of a name: each cgroup that
  /// matches is a group, "NAME/CGROUP". So is each child of a best-effort slice that has any.
  std::string cgroup_path;
  Symbol qos;       // LSE, LSR, LS, BE, SYSTEM
  Symbol priority;  // koord-prod, ...; optional
  api::Box<StandaloneRequests> requests;
  api::Box<StandaloneLimits> limits;
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

/// The cgroups that a group of the configuration stands for.
struct FoundGroups {
  /// Relative to the hierarchy's root, ascending; none is inside of another one.
  std::vector<std::string> members;
  /// The one above them that is best-effort as a whole, where there is one: it is limited in their place.
  std::string whole;
  friend bool operator==(const FoundGroups&, const FoundGroups&) = default;
};
/// The names of the groups below a group; nothing: there is no such group.
using ListGroups = std::function<std::optional<std::vector<std::string>>(const std::string& group)>;
/// Whether a group has processes of its own.
using HasProcesses = std::function<bool(const std::string& group)>;
/// By place in config.groups; the first that matches a cgroup has it. A group that is written without "*" is
/// its own member whether it exists or not.
std::vector<FoundGroups> find_groups(const StandaloneConfig& config, const ListGroups& list,
                                     const HasProcesses& has_processes);

/// The members appear as running pods of no namespace, whose uid is their name.
Inventory standalone_inventory(const StandaloneConfig& config, const Machine& machine,
                               const std::vector<FoundGroups>& found);

}  // namespace koord::koordlet
