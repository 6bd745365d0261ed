// choose_numa_nodes: what becomes of the hints of all providers, by the policy that pod and node have.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "koord/scheduling/plugin/numa_hint_plugin.hpp"

namespace koord::scheduling {

enum class NumaPolicy : std::uint8_t {
  none,
  best_effort,       // the best there is, or all memory nodes
  restricted,        // only what all providers prefer
  single_numa_node,  // only one memory node
};
/// Pods may be refused by it.
constexpr bool is_strict(NumaPolicy policy) {
  return policy == NumaPolicy::restricted || policy == NumaPolicy::single_numa_node;
}
/// BestEffort, Restricted, SingleNUMANode; everything else is none.
NumaPolicy parse_numa_policy(std::string_view text);
std::string_view to_string(NumaPolicy policy);  // "" for none

/// What is asked about a row. It follows from the row and from what providers sign of the pod.
struct NumaQuestion {
  NumaPolicy policy = NumaPolicy::none;
  NumaMask all = 0;  // the machine's memory nodes
  /// Pods of one memory node and pods of several are not mixed.
  bool exclusive = false;
  NumaMask single = 0, shared = 0;  // where pods of the one kind alone are, and where one of the other is
};

struct NumaChoice {
  bool admitted = false;
  NumaMask nodes = 0;  // 0: it is not bound to any
  std::vector<std::string> reasons = {};
  friend bool operator==(const NumaChoice&, const NumaChoice&) = default;
};

/// Koordinator's topology manager. A choice of one hint of each list is preferred if all of them are and name
/// the same memory nodes. The best: preferred, then fewer nodes, then, in the order of the first list, lower
/// numbers or the higher score. Where nothing is preferred, machines of more than eight memory nodes are
/// taken whole.
NumaChoice choose_numa_nodes(const NumaQuestion& question, std::span<const NumaHintList> lists);

}  // namespace koord::scheduling
