// Which memory nodes a pod gets by a policy, for the scheduler's oracle: all combinations of hints, one after
// the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/reference/numa_machine.hpp"

namespace koord::reference {

/// A bit each.
using NodeSet = std::uint64_t;

struct Hint {
  NodeSet nodes = 0;
  bool preferred = false;
  std::int64_t score = 0;
};
using Hints = std::map<std::string, std::vector<Hint>>;  // by resource

struct Chosen {
  std::vector<std::string> reasons;  // none: it is admitted
  std::optional<NodeSet> nodes;      // absent: any will do
};
/// `apart`: pods of one memory node and of several are not mixed.
Chosen choose_nodes(const Machine& machine, const std::string& policy, bool apart, const Hints& hints);

NodeSet all_nodes(const Machine& machine);
/// All sets of the machine's memory nodes: fewer first, then those of lower numbers.
std::vector<NodeSet> sets_of_nodes(const Machine& machine);

}  // namespace koord::reference
