// Candidates: running pods whose room a reservation may take over, so that it keeps that room when they go.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scheduling/plugins/reservation/ledger.hpp"
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

/// Those of one reservation: for a cycle, until pods on rows or the ledger change.
struct Candidates {
  const Ledger::Entry* of = nullptr;
  std::shared_ptr<const api::Pod> reserve_pod = {};
  std::vector<Row> rows = {};  // ascending
  /// Of each row, in the order in which they are taken.
  std::vector<std::vector<Candidate>> on = {};

  /// nullptr: none there.
  const std::vector<Candidate>* at(Row row) const;
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
