// Turns: which of a workload's migrations evicts first, so that its new pods take the rooms that are meant
// for them.
#pragma once

#include "koord/api/types/scheduling_v1alpha1/pod_migration_job.hpp"
#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"

namespace koord::descheduler::migration {

/// Any pod of a workload may take the Reservation of any of its migrations; the scheduler gives the one whose
/// label reservation-order is the least. A migration that evicted out of this order would lose its successor
/// to another's Reservation, and its own would stay empty (spare_rooms.hpp). True where `other`, a job of the
/// same workload that has not ended, has to ask for its eviction before a job with the Reservation `own` may:
/// it has not yet, and `others`, its Reservation, comes before `own` and is free, or may be for all that is
/// known (nullptr: not heard of, where it refers to one). One that finds no node, or serves one pod alone,
/// holds up nobody.
bool goes_before(const api::PodMigrationJob& other, const api::Reservation* others,
                 const api::Reservation& own);

/// It has room for one pod that is named, not for those of a workload.
bool is_for_one_pod(const api::Reservation& reservation);

}  // namespace koord::descheduler::migration
