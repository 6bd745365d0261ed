// Spare rooms: what the migrations of a workload leave for one whose own Reservation another pod has taken.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"

namespace koord::descheduler::migration {

/// A job that has not ended, with what is known of the objects that it refers to; nullptr: there is none.
struct Migration {
  std::shared_ptr<const api::PodMigrationJob> job;
  std::shared_ptr<const api::Reservation> room;
  std::shared_ptr<const api::Pod> pod;  // of the UID that the job names
  bool asked = false;                   // this process has heard that the pod is to go
};

/// The Reservation of a migration is somebody's, and its pod has not gone.
bool has_lost_its_room(const api::Reservation* room, const api::Pod* pod);

enum class Spare : std::uint8_t { none, perhaps, there };

/// Any pod of a workload may take the Reservation of any of its migrations. Where the eviction of `own` is
/// late, the successor of another one's pod takes the room of `own`, and that one's room stays empty: `own`
/// may evict into that. There is such a room if `workload`, all its pods, has `replicas` that are bound and
/// not ending, so that nobody comes for it: it is free, on another node than the pod's, its own pod has gone,
/// and no other migration like `own` comes before. Of a workload whose replicas are not known (0) nobody can
/// tell. `perhaps`: one may become so, by itself or by its end.
Spare spare_room(const Migration& own, const std::vector<Migration>& others,
                 const std::vector<std::shared_ptr<const api::Pod>>& workload, std::int64_t replicas);

}  // namespace koord::descheduler::migration
