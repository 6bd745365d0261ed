// Which memory nodes a pod gets: see numa_hints.hpp.
#include "support/reference/numa_hints.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

namespace koord::reference {

namespace {

int count(NodeSet nodes) {
  int n = 0;
  for (; nodes != 0; nodes &= nodes - 1) ++n;
  return n;
}

/// As Koordinator prints it: pairs of digits, no more than it takes; a power of four takes one pair less.
std::string digits(NodeSet nodes) {
  int width = 2;
  for (int shift = 2; shift < 64; shift += 2)
    if (nodes > NodeSet{1} << shift) width = shift + 2;
  std::string text;
  for (NodeSet left = nodes; left != 0; left >>= 1) text.insert(0, 1, (left & 1) != 0 ? '1' : '0');
  while (static_cast<int>(text.size()) < width) text.insert(0, 1, '0');
  return text;
}

std::string unaligned(const std::string& policy, const Hints& hints) {
  std::vector<std::string> all;
  for (const auto& [resource, list] : hints) {
    std::vector<std::string> preferred, possible;
    for (const Hint& hint : list) {
      possible.push_back(digits(hint.nodes));
      if (hint.preferred) preferred.push_back(digits(hint.nodes));
    }
    all.push_back(fmt::format("{} prefer [{}] among [{}]", resource, fmt::join(preferred, " "),
                              fmt::join(possible, " ")));
  }
  std::sort(all.begin(), all.end());
  return fmt::format("Unaligned NUMA Hint cause {}",
                     fmt::join(all, policy == "SingleNUMANode" ? "," : " & "));
}

bool may_have(const Machine& machine, bool apart, NodeSet nodes) {
  if (!apart) return true;
  for (const int zone : count(nodes) > 1 ? machine.single : machine.shared)
    if ((nodes >> zone & 1) != 0) return false;
  return true;
}

struct Merged {
  NodeSet nodes;
  bool preferred;
  std::int64_t score;
  bool same;  // every list has just these nodes
};

void each_combination(const std::vector<std::vector<Hint>>& lists, std::size_t at, NodeSet nodes,
                      std::vector<const Hint*>& chosen,
                      const std::function<void(NodeSet, const std::vector<const Hint*>&)>& visit) {
  if (at == lists.size()) return visit(nodes, chosen);
  for (const Hint& hint : lists[at]) {
    if ((nodes & hint.nodes) == 0) continue;
    chosen.push_back(&hint);
    each_combination(lists, at + 1, nodes & hint.nodes, chosen, visit);
    chosen.pop_back();
  }
}

}  // namespace

NodeSet all_nodes(const Machine& machine) {
  NodeSet all = 0;
  for (const auto& [zone, amounts] : machine.zones) all |= NodeSet{1} << zone;
  return all;
}

std::vector<NodeSet> sets_of_nodes(const Machine& machine) {
  std::vector<int> zones;
  for (const auto& [zone, amounts] : machine.zones) zones.push_back(zone);
  std::vector<NodeSet> sets;
  const std::function<void(std::size_t, std::size_t, NodeSet)> add = [&](std::size_t from, std::size_t more,
                                                                         NodeSet nodes) {
    if (more == 0) return sets.push_back(nodes);
    for (std::size_t i = from; i < zones.size(); ++i) add(i + 1, more - 1, nodes | NodeSet{1} << zones[i]);
  };
  for (std::size_t size = 1; size <= zones.size(); ++size) add(0, size, 0);
  return sets;
}

Chosen choose_nodes(const Machine& machine, const std::string& policy, bool apart, const Hints& hints) {
  const NodeSet all = all_nodes(machine);
  Chosen chosen;
  for (const auto& [resource, list] : hints)
    if (list.empty()) chosen.reasons.push_back(fmt::format("Unsatisfied NUMA {}", resource));
  if (!chosen.reasons.empty()) {
    if (policy == "BestEffort") return {{}, all};
    return chosen;
  }
  std::vector<std::vector<Hint>> lists;
  for (const auto& [resource, list] : hints) {
    lists.push_back(list);
    if (policy == "SingleNUMANode")
      std::erase_if(lists.back(), [](const Hint& h) { return !h.preferred || count(h.nodes) != 1; });
  }
  // Who does not care prefers all of them.
  if (lists.empty()) lists.push_back({{all, true, 0}});

  std::optional<Merged> best;  // of those that are preferred
  Merged rest{all, false, 0, true};
  std::vector<const Hint*> combination;
  each_combination(lists, 0, all, combination, [&](NodeSet nodes, const std::vector<const Hint*>& of) {
    Merged merged{nodes, true, 0, true};
    for (const Hint* hint : of) {
      merged.same = merged.same && hint->nodes == of[0]->nodes;
      merged.preferred = merged.preferred && hint->preferred && hint->nodes == of[0]->nodes;
      if (hint->nodes == nodes) merged.score += hint->score;
    }
    if (!may_have(machine, apart, nodes)) merged.preferred = false;
    const int n = count(nodes);
    if (merged.preferred) {
      if (!best || n < count(best->nodes) ||
          (n == count(best->nodes) && (nodes < best->nodes || merged.score > best->score)))
        best = merged;
      return;
    }
    // Fewer, then the higher score, then lower numbers; where all say the same rather than where they do not.
    const auto rank = [](const Merged& m) { return std::tuple(count(m.nodes), -m.score, m.nodes, !m.same); };
    if (rank(merged) < rank(rest)) rest = merged;
  });
  if (best) {
    chosen.nodes = best->nodes;
    if (policy == "SingleNUMANode" && best->nodes == all) chosen.nodes.reset();
    return chosen;
  }
  if (policy == "BestEffort") {
    chosen.nodes = rest.same ? rest.nodes : all;
    return chosen;
  }
  chosen.reasons.push_back(unaligned(policy, hints));
  return chosen;
}

}  // namespace koord::reference
