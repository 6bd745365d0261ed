// scheduling.koordinator.sh/v1alpha1: DrainNode, a node whose pods are to move to others.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

/// How pods are kept from a node while it is drained.
struct CordonNodePolicy {
  Symbol mode;       // Taint, Label; empty: neither
  SymbolMap labels;  // Label: these
  KOORD_STRUCT(CordonNodePolicy);
};

/// Also the value of pods' annotation koord/api/koordinator/drain.hpp names.
struct DrainMigrationPolicy {
  Symbol mode;                            // WaitFirst, MigrateDirectly; empty: as WaitFirst
  std::optional<Duration> wait_duration;  // WaitFirst: how long a pod may take to end by itself
  Symbol job_mode;                        // of the jobs: ReservationFirst, EvictDirectly; empty: the first
  KOORD_STRUCT(DrainMigrationPolicy);
};

struct DrainNodeSpec {
  std::string node_name;
  std::optional<Duration> ttl;  // from creation on; absent or 0: for ever
  Box<CordonNodePolicy> cordon_policy;
  DrainMigrationPolicy migration_policy;
  Symbol confirm_state;  // WaitForConfirm (also empty), Confirmed, Rejected, Aborted
  KOORD_STRUCT(DrainNodeSpec);
};

struct DrainNodeCondition {
  Symbol type;
  Symbol status;  // True, False, Unknown
  Time last_probe_time;
  Time last_transition_time;
  std::string reason;
  std::string message;
  KOORD_STRUCT(DrainNodeCondition);
};

/// One pod of the node, and how far it is.
struct PodMigration {
  std::string pod_uid;  // "uid" on the wire
  Symbol namespace_;
  std::string pod_name;
  Symbol phase;  // Unmigratable, Waiting, Ready, Available, Unavailable, Migrating, Succeed, Failed
  Time start_timestamp;
  bool charted_after_drain_node_confirmed = false;  // it came to the node later
  std::string reservation_name;
  Symbol reservation_phase;
  Symbol target_node;
  std::string pod_migration_job_name;
  std::optional<bool> pod_migration_job_paused;
  Symbol pod_migration_job_phase;
  KOORD_STRUCT(PodMigration);
};

struct DrainNodeStatus {
  Symbol phase;  // empty (as Pending), Pending, Running, Complete, Aborted
  // On the wire both begin with "pog", as their first writer has it.
  std::vector<PodMigration> pod_migrations;     // by namespace and name
  FlatMap<std::int32_t> pod_migration_summary;  // how many of each phase
  std::vector<DrainNodeCondition> conditions;
  KOORD_STRUCT(DrainNodeStatus);
};

struct DrainNode {
  ObjectMeta metadata;
  DrainNodeSpec spec;
  DrainNodeStatus status;
  KOORD_STRUCT(DrainNode);
};

}  // namespace koord::api
