// solve(): which nodes get how many pods of a gang, so that they lie near to one another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "koord/api/koordinator/gang.hpp"
#include "scheduling/plugins/coscheduling/topology/layers.hpp"
#include "scheduling/plugins/coscheduling/topology/tree.hpp"

namespace koord::scheduling::coscheduling::topology {

/// What a gang asks for.
struct Ask {
  std::int64_t pods = 0;
  /// All of them lie in one domain of this layer; 0: of the cluster.
  std::size_t gather = 0;
  std::vector<std::int64_t> multiples = {};  // by layer, see Counters
};

/// The lowest layer that its members must gather in, and its multiples. PreferGather asks for nothing:
/// whoever is placed by topology is gathered as far as there is room.
struct Wishes {
  Ask ask;                              // without `pods`
  std::vector<std::string> unknown;     // layers that it names and that there are not
  bool impossible = false;              // it must gather in such layers alone
  std::vector<std::string> strategies;  // that nobody knows
};
Wishes read_wishes(const api::NetworkTopologySpec& spec, const Layers& layers);

/// How good domains are, by id. What is empty is zero for all.
struct Worth {
  std::span<const std::int64_t> offers;    // Counters::offers(), with the ask's multiples
  std::span<const std::int64_t> existing;  // pods that belong there, too, with sums in all domains
  std::span<const std::int64_t> scores;    // the same
};

/// Nodes and how many pods each gets, at least one; near ones follow one another.
using Plan = std::vector<std::pair<Tree::Id, std::int64_t>>;

/// As Koordinator's network_topology_solver: of the lowest domains that have room for all, and whose own
/// domains up to the one that gathers have it too, the first by: more pods that are there, fewer places (both
/// first compared for themselves, then domain by domain upwards), a higher score, the name (of two that are
/// called the same: their parents'). Within it the domains with more places come first. With multiples this
/// is greedy: where the first domain cannot be filled the next is tried. Absent: no domain has room for all.
/// It costs the domains that have.
std::optional<Plan> solve(const Tree& tree, const Ask& ask, const Worth& worth);

/// Whether `a` comes before `b`, of the same layer; `fewer_first`: the one with fewer places.
bool comes_before(const Tree& tree, const Worth& worth, Tree::Id a, Tree::Id b, bool fewer_first);

}  // namespace koord::scheduling::coscheduling::topology
