// What a DrainNode needs next: the state machine, pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drain/drain_rules.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"

namespace koord::descheduler::drain {

/// A pod that is to leave: one of the node's that does not stay there as a matter of course.
struct LeavingPod {
  std::shared_ptr<const api::Pod> pod;
  std::string why_not;  // why it may not be evicted, for people; empty: it may
};

/// What there is in the cluster of what a DrainNode is about. Only what has been read for certain.
struct NodeScene {
  const api::Node* node = nullptr;  // nullptr: there is none of that name
  std::vector<LeavingPod> pods;     // by namespace and name
  /// Those that it has made, and those of others that have the names which it would give.
  std::vector<std::shared_ptr<const api::Reservation>> reservations;
  std::vector<std::shared_ptr<const api::PodMigrationJob>> jobs;
  std::vector<std::string> foreign_rooms;  // others' reservations that keep room on the node, by name
  std::string held_by;                     // another DrainNode that has the node; empty: none
};

struct NodeWrite {
  enum class Act {
    kCordon,    // the node as cordoned() has it
    kUncordon,  // as uncordoned() has it
    kCreateReservation,
    kCreateJob,
    kDeleteJob,
    kDeleteReservation,
    kDeleteDrain,  // the DrainNode itself
  };
  Act act = Act::kCordon;
  std::string name;                        // of what is made or deleted
  std::string uid;                         // of what is deleted
  std::shared_ptr<const api::Pod> pod;     // what a reservation or job is for
  const api::Reservation* room = nullptr;  // kCreateJob: nullptr where none is wanted
  bool paused = false;                     // kCreateJob
};

/// Writes in their order, then the status. Nothing is remembered between two steps, and a step that was cut
/// off anywhere is begun anew from what there then is: whatever is made has a name that follows from the
/// DrainNode and the pod, and says whose it is.
struct NodeStep {
  std::vector<NodeWrite> writes;
  std::optional<api::DrainNodeStatus> status;  // if it differs from what is there
  std::vector<DrainEvent> events;              // once that is written
  std::optional<WallTime> wake_at;             // when it is to be looked at again though nothing changes
};

NodeStep next_step(const api::DrainNode& drain, const NodeScene& scene, WallTime now);

/// Whether nothing in the cluster is left of what it has set and made.
bool is_undone(const api::DrainNode& drain, const NodeScene& scene);

/// The job that evicts a pod. `room`: what it is to go to; nullptr: it is evicted without.
api::PodMigrationJob job_for(const api::DrainNode& drain, const api::Pod& pod, const api::Reservation* room,
                             bool paused);

}  // namespace koord::descheduler::drain
