// scheduling.koordinator.sh/v1alpha1: PodMigrationJob, a pod that is to move to another node.
#pragma once

#include "koord/api/types/core_v1/object_reference.hpp"
#include "koord/api/types/meta_v1/delete_options.hpp"
#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

/// Reserved for later in upstream, too.
struct PodMigrationPreemptionOptions {
  KOORD_STRUCT(PodMigrationPreemptionOptions);
};

struct PodMigrationReservationOptions {
  Box<ObjectReference> reservation_ref;  // absent: one is made
  RawJson template_;                     // of that one: what is absent follows from the pod
  Box<PodMigrationPreemptionOptions> preemption_options;
  KOORD_STRUCT(PodMigrationReservationOptions);
};

struct PodMigrationJobSpec {
  bool paused = false;
  std::optional<Duration> ttl;  // from creation on; absent or 0: it never times out
  Symbol mode;                  // ReservationFirst, EvictDirectly; empty: the controller's default
  Box<ObjectReference> pod_ref;
  Box<PodMigrationReservationOptions> reservation_options;
  Box<DeleteOptions> delete_options;
  KOORD_STRUCT(PodMigrationJobSpec);
};

struct PodMigrationJobCondition {
  Symbol type;
  Symbol status;  // True, False, Unknown
  Time last_probe_time;
  Time last_transition_time;
  Symbol reason;
  std::string message;
  KOORD_STRUCT(PodMigrationJobCondition);
};

struct PodMigrationPreemptedReservation {
  Symbol namespace_;
  std::string name;
  Symbol node_name;
  Symbol phase;
  Box<ObjectReference> preempted_pod_ref;
  std::vector<ObjectReference> pods_ref;
  KOORD_STRUCT(PodMigrationPreemptedReservation);
};

struct PodMigrationJobStatus {
  Symbol phase;   // empty (as Pending), Pending, Running, Succeeded, Failed, Aborted
  Symbol status;  // the type of the condition that was set last, or Complete
  Symbol reason;
  std::string message;
  std::vector<PodMigrationJobCondition> conditions;
  Symbol node_name;              // of the reservation
  Box<ObjectReference> pod_ref;  // the pod that has the reservation
  std::vector<ObjectReference> preempted_pods_ref;
  std::vector<PodMigrationPreemptedReservation> preempted_pods_reservation;
  KOORD_STRUCT(PodMigrationJobStatus);
};

struct PodMigrationJob {
  ObjectMeta metadata;
  PodMigrationJobSpec spec;
  PodMigrationJobStatus status;
  KOORD_STRUCT(PodMigrationJob);
};

}  // namespace koord::api
