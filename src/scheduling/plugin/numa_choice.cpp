// choose_numa_nodes: see numa_choice.hpp.
#include "koord/scheduling/plugin/numa_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

namespace koord::scheduling {

namespace {

constexpr std::size_t kMostMerged = 8;  // memory nodes

bool may_have(const NumaQuestion& question, NumaMask nodes) {
  if (!question.exclusive) return true;
  return ((std::popcount(nodes) > 1 ? question.single : question.shared) & nodes) == 0;
}

/// As Koordinator goes from one to the next: what comes later is taken for its score, or for its numbers.
bool replaces(const NumaHint& next, const NumaHint& best) {
  const int a = std::popcount(next.nodes), b = std::popcount(best.nodes);
  return a != b ? a < b : next.nodes < best.nodes || next.score > best.score;
}

/// Goes along a list that is asked for masks in about its own order.
class Along {
 public:
  explicit Along(const std::vector<NumaHint>& hints) : hints_(hints) {}
  /// nullptr: the list does not have it.
  const NumaHint* find(NumaMask nodes) {
    for (std::size_t tried = 0; tried < hints_.size(); ++tried) {
      const NumaHint& hint = hints_[at_];
      at_ = at_ + 1 == hints_.size() ? 0 : at_ + 1;
      if (hint.nodes == nodes) return &hint;
    }
    return nullptr;
  }

 private:
  const std::vector<NumaHint>& hints_;
  std::size_t at_ = 0;
};

/// The lists of those who care.
using Caring = std::vector<const NumaHintList*>;

std::optional<NumaHint> best_preferred(const NumaQuestion& question, const Caring& lists) {
  if (lists.empty())
    return may_have(question, question.all) ? std::optional(NumaHint{question.all, true, 0}) : std::nullopt;
  std::vector<Along> others;
  for (std::size_t i = 1; i < lists.size(); ++i) others.emplace_back(*lists[i]->hints);
  std::optional<NumaHint> best;
  for (const NumaHint& hint : *lists[0]->hints) {
    const bool single = question.policy == NumaPolicy::single_numa_node;
    if (!hint.preferred || (single && std::popcount(hint.nodes) != 1) || !may_have(question, hint.nodes))
      continue;
    NumaHint merged = hint;
    for (Along& other : others) {
      const NumaHint* same = other.find(hint.nodes);
      merged.preferred = merged.preferred && same != nullptr && same->preferred;
      if (!merged.preferred) break;
      merged.score += same->score;
    }
    if (merged.preferred && (!best || replaces(merged, *best))) best = merged;
  }
  return best;
}

/// Where nothing is preferred: the narrowest that combinations come to, if all lists have just that.
NumaMask best_of_the_rest(const NumaQuestion& question, const Caring& lists) {
  if (std::popcount(question.all) > static_cast<int>(kMostMerged)) return question.all;
  std::array<NumaMask, kMostMerged> bits{};
  std::size_t count = 0;
  for (NumaMask left = question.all; left != 0; left &= left - 1) bits[count++] = left & -left;
  const auto narrow = [&](NumaMask nodes) {
    std::size_t narrowed = 0;
    for (std::size_t i = 0; i < count; ++i) narrowed |= (nodes & bits[i]) != 0 ? std::size_t{1} << i : 0;
    return narrowed;
  };
  const std::size_t masks = std::size_t{1} << count;
  std::vector<bool> reached(masks);
  reached[masks - 1] = true;
  std::vector<std::int64_t> scores(masks);
  std::vector<std::size_t> named(masks);
  for (const NumaHintList* list : lists) {
    std::vector<bool> next(masks);
    for (const NumaHint& hint : *list->hints) {
      const std::size_t nodes = narrow(hint.nodes);
      scores[nodes] += hint.score;
      ++named[nodes];
      for (std::size_t before = 1; before < masks; ++before)
        if (reached[before]) next[before & nodes] = true;
    }
    reached = std::move(next);
  }
  std::size_t best = masks - 1;
  const auto rank = [&](std::size_t nodes) { return std::pair(std::popcount(nodes), -scores[nodes]); };
  for (std::size_t nodes = 1; nodes < masks; ++nodes)
    if (reached[nodes] && (rank(nodes) < rank(best) || (rank(nodes) == rank(best) && nodes < best)))
      best = nodes;
  if (named[best] < lists.size()) return question.all;
  NumaMask chosen = 0;
  for (std::size_t i = 0; i < count; ++i) chosen |= (best >> i & 1) != 0 ? bits[i] : 0;
  return chosen;
}

/// "0101": as Koordinator prints a mask.
std::string bits(NumaMask nodes) {
  for (int shift = 62; shift > 0; shift -= 2)
    if (nodes > NumaMask{1} << shift) return fmt::format("{:0{}b}", nodes, shift + 2);
  return fmt::format("{:02b}", nodes);
}

std::string why_unaligned(const NumaQuestion& question, const Caring& lists) {
  std::vector<std::string> each;
  for (const NumaHintList* list : lists) {
    std::vector<std::string> preferred, possible;
    for (const NumaHint& hint : *list->hints) {
      possible.push_back(bits(hint.nodes));
      if (hint.preferred) preferred.push_back(possible.back());
    }
    each.push_back(fmt::format("{} prefer [{}] among [{}]", list->resource, fmt::join(preferred, " "),
                               fmt::join(possible, " ")));
  }
  std::sort(each.begin(), each.end());
  const char* const between = question.policy == NumaPolicy::single_numa_node ? "," : " & ";
  return fmt::format("Unaligned NUMA Hint cause {}", fmt::join(each, between));
}

}  // namespace

NumaPolicy parse_numa_policy(std::string_view text) {
  for (const NumaPolicy policy :
       {NumaPolicy::best_effort, NumaPolicy::restricted, NumaPolicy::single_numa_node})
    if (text == to_string(policy)) return policy;
  return NumaPolicy::none;
}
std::string_view to_string(NumaPolicy policy) {
  switch (policy) {
    case NumaPolicy::none: return "";
    case NumaPolicy::best_effort: return "BestEffort";
    case NumaPolicy::restricted: return "Restricted";
    case NumaPolicy::single_numa_node: return "SingleNUMANode";
  }
  return "";
}

NumaChoice choose_numa_nodes(const NumaQuestion& question, std::span<const NumaHintList> lists) {
  if (question.policy == NumaPolicy::none) return {.admitted = true};
  NumaChoice choice{.admitted = true};
  Caring caring;
  for (const NumaHintList& list : lists) {
    if (!list.hints) continue;
    caring.push_back(&list);
    if (list.hints->empty()) choice.reasons.push_back(fmt::format("Unsatisfied NUMA {}", list.resource));
  }
  const bool best_effort = question.policy == NumaPolicy::best_effort;
  if (!choice.reasons.empty()) {
    if (best_effort) return {.admitted = true, .nodes = question.all};
    choice.admitted = false;
    std::sort(choice.reasons.begin(), choice.reasons.end());
    return choice;
  }
  if (const auto best = best_preferred(question, caring)) {
    const bool whole = best->nodes == question.all && question.policy == NumaPolicy::single_numa_node;
    choice.nodes = whole ? 0 : best->nodes;
  } else if (best_effort) {
    choice.nodes = best_of_the_rest(question, caring);
  } else {
    choice.admitted = false;
    choice.reasons.push_back(why_unaligned(question, caring));
  }
  return choice;
}

}  // namespace koord::scheduling
