// scheduling.koordinator.sh/v1alpha1: Reservation, room on a node that is kept for pods to come.
#pragma once

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/object_reference.hpp"
#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct ReservationControllerReference {
  OwnerReference owner;  // inlined on the wire
  Symbol namespace_;
  KOORD_STRUCT(ReservationControllerReference);
};

/// Pods that may use a reservation: all that is said must hold.
struct ReservationOwner {
  Box<ObjectReference> object;
  Box<ReservationControllerReference> controller;
  Box<LabelSelector> label_selector;
  KOORD_STRUCT(ReservationOwner);
};

struct ReservationPreAllocationPolicy {
  Symbol mode;  // Default, Cluster
  bool enable_multiple = false;
  KOORD_STRUCT(ReservationPreAllocationPolicy);
};

struct ReservationSpec {
  RawJson template_;  // a pod template, whole as its writer has it
  std::vector<ReservationOwner> owners;
  std::optional<Duration> ttl;  // from creation on; 0: for ever
  std::optional<Time> expires;  // instead of ttl
  bool pre_allocation = false;
  Box<ReservationPreAllocationPolicy> pre_allocation_policy;
  std::optional<bool> allocate_once;
  Symbol allocate_policy;  // Aligned, Restricted; empty: as if there were none
  bool unschedulable = false;
  std::vector<Taint> taints;
  KOORD_STRUCT(ReservationSpec);
};

struct ReservationCondition {
  Symbol type;  // Scheduled, Ready
  Symbol status;
  Symbol reason;
  std::string message;
  Time last_probe_time;
  Time last_transition_time;
  KOORD_STRUCT(ReservationCondition);
};

struct ReservationStatus {
  Symbol phase;  // Pending, Available, Succeeded, Waiting, Failed
  std::vector<ReservationCondition> conditions;
  std::vector<ObjectReference> current_owners;
  Symbol node_name;
  ResourceList allocatable;
  ResourceList allocated;
  KOORD_STRUCT(ReservationStatus);
};

struct Reservation {
  ObjectMeta metadata;
  ReservationSpec spec;
  ReservationStatus status;
  KOORD_STRUCT(Reservation);
};

}  // namespace koord::api
