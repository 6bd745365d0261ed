// Who has room of which reservation: see reserved_room.hpp.
#include "scheduling/plugin/reserved_room.hpp"

#include "koord/api/koordinator/reservation.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling {

std::string lodges_in(const PodInfo& pod) {
  // Who is a reservation itself has no room of another, whatever its annotations say, nor of its own.
  if (is_placeholder(*pod.pod) || pod.pod->metadata.labels.contains(api::kOperatingModeLabel)) return {};
  if (pod.pod->spec.node_name.empty()) {
    const auto* const choice = pod.kept.find<const RoomChoice>();
    return choice != nullptr ? choice->reservation : std::string();
  }
  if (!pod.pod->metadata.annotations.contains(api::ReservationAllocated::kAnnotation)) return {};
  auto said = api::read_annotation<api::ReservationAllocated>(pod.pod->metadata.annotations);
  return said && *said && (*said)->uid != pod.pod->metadata.uid ? std::move((*said)->uid) : std::string();
}

}  // namespace koord::scheduling
