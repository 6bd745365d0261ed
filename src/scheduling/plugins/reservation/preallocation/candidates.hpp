// Candidates: running pods whose room a reservation may take over, so that it keeps that room when they go.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "koord/scheduling/cluster/pod_info.hpp"
#include "scheduling/plugins/reservation/rules/room.hpp"
#include "scheduling/plugins/reservation/rules/wants.hpp"

namespace koord::scheduling::reservation {

struct Candidate {
  const PodInfo* pod;
  api::ResourceList requests;
  std::int64_t priority = 0;  // as its annotation says
  std::int64_t score = 0;     // how full the reservation would be with it alone
  /// An attempt that came to nothing has written into it already that it has room of the reservation: where
  /// that is placed beside it, it counts as one of its pods, whoever else does.
  bool held = false;
};

/// In the reservation's own order: by the priority that they say (Cluster), or by how full they make it; then
/// by their uids. Held ones come first.
void put_in_order(std::vector<Candidate>& candidates, bool by_priority);

/// What the annotation says of a pod's priority among candidates; 0: nothing, or nothing that makes sense.
std::int64_t priority_among_candidates(std::string_view text);

/// Whether the pod, which the reservation is for, goes together with it. Other than a pod that is placed, it
/// does not mind that the reservation is closed. `node_labels` as in match().
bool takes_part(Wants wants, const Facts& reservation, const api::ResourceList& requests,
                const api::SymbolMap* node_labels);

}  // namespace koord::scheduling::reservation
