// spare_room(): see spare_rooms.hpp.
#include "migration/jobs/spare_rooms.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "koord/api/koordinator/reservation.hpp"
#include "migration/jobs/conditions.hpp"
#include "migration/jobs/turns.hpp"

namespace koord::descheduler::migration {
namespace {

using Pods = std::vector<std::shared_ptr<const api::Pod>>;

bool is_over(const api::Pod& pod) { return pod.status.phase == "Succeeded" || pod.status.phase == "Failed"; }

/// Nobody of the workload is on its way.
bool is_settled(const Pods& workload, std::int64_t replicas) {
  std::int64_t bound = 0;
  for (const auto& pod : workload) {
    if (is_over(*pod)) continue;
    if (pod->metadata.deletion_timestamp || pod->spec.node_name.empty()) return false;
    ++bound;
  }
  return bound >= replicas;
}

/// By the pods: a Reservation says so later than a pod that is bound to it.
std::set<std::string> rooms_of(const Pods& workload) {
  std::set<std::string> taken;
  for (const auto& pod : workload)
    if (const auto room = api::read_annotation<api::ReservationAllocated>(pod->metadata.annotations);
        room && *room)
      taken.insert((*room)->uid);
  return taken;
}

/// Nobody has refused so far that its pod goes, or it goes.
bool is_going(const Migration& migration) {
  const api::PodMigrationJobCondition* said = condition_of(migration.job->status, "Eviction");
  if (said == nullptr) return false;
  return said->status == "True" || said->reason == "Evicting" || migration.asked || !migration.pod ||
         migration.pod->metadata.deletion_timestamp;
}

}  // namespace

bool has_lost_its_room(const api::Reservation* room, const api::Pod* pod) {
  return room != nullptr && room->status.phase == "Succeeded" && !is_for_one_pod(*room) && pod != nullptr &&
         !pod->metadata.deletion_timestamp;
}

Spare spare_room(const Migration& own, const std::vector<Migration>& others, const Pods& workload,
                 std::int64_t replicas) {
  if (replicas <= 0) return Spare::none;
  const std::set<std::string> taken = rooms_of(workload);
  std::size_t free = 0, may_become = 0, before = 0;
  for (const Migration& other : others) {
    if (has_lost_its_room(other.room.get(), other.pod.get())) {
      before += other.job->metadata.name < own.job->metadata.name ? 1 : 0;
    } else if (other.room && other.room->status.phase == "Available" && !is_for_one_pod(*other.room) &&
               other.room->status.current_owners.empty() && !taken.contains(other.room->metadata.uid) &&
               other.room->status.node_name != own.pod->spec.node_name && is_going(other)) {
      ++(other.pod ? may_become : free);
    }
  }
  if (free > before && is_settled(workload, replicas)) return Spare::there;
  return free + may_become > 0 ? Spare::perhaps : Spare::none;
}

}  // namespace koord::descheduler::migration
