// The reservations on a node, and who has what of them, as JSON for people.
#pragma once

#include <string>

#include "koord/scheduling/cluster/object_store.hpp"
#include "scheduling/plugins/reservation/ledger.hpp"

namespace koord::scheduling::reservation {

/// Koordinator's members, in its words; by their names.
std::string describe(const Ledger& ledger, const NodeTable& nodes,
                     const ObjectStore<api::Reservation>& objects, Row row);

}  // namespace koord::scheduling::reservation
