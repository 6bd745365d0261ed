// Victims: see victims.hpp.
#include "plugins/default_preemption/victims.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduler::default_preemption {

namespace {

constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::max();

// Seconds since the epoch.
std::int64_t started(const PodInfo& pod) {
  const auto& at = pod.pod->status.start_time;
  return at ? at->at.time_since_epoch().count() : kNotYet;
}

// What is compared, the smaller the better.
auto loss(const Victims& victims) {
  std::int32_t highest = std::numeric_limits<std::int32_t>::min();
  std::int64_t first = kNotYet;  // start of those
  std::int64_t sum = 0;
  for (const PodInfo* pod : victims.pods) {
    // Above zero, so that many pods of a negative priority are more of a loss than one.
    sum += pod->priority + (std::int64_t{1} << 31);
    if (pod->priority > highest) {
      highest = pod->priority;
      first = kNotYet;
    }
    if (pod->priority == highest) first = std::min(first, started(*pod));
  }
  return std::tuple(victims.violations, highest, sum, victims.pods.size(), -first);
}

}  // namespace

bool more_important(const PodInfo& a, const PodInfo& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  const std::int64_t x = started(a), y = started(b);
  if (x != y) return x < y;
  const api::ObjectMeta &of_a = a.pod->metadata, &of_b = b.pod->metadata;
  const auto order = of_a.namespace_.view().compare(of_b.namespace_.view());
  return order != 0 ? order < 0 : of_a.name < of_b.name;
}

DryRun select_victims(Trial& node, std::span<const PodInfo* const> pods, std::int32_t priority,
                      const Budgets& budgets) {
  std::vector<const PodInfo*> lower;
  for (const PodInfo* pod : pods)
    if (pod->priority < priority) lower.push_back(pod);
  if (lower.empty()) return {.outcome = DryRun::Outcome::nobody};
  for (const PodInfo* pod : lower) node.remove(*pod);
  if (const VerdictId verdict = node.judge(); verdict != kPass)
    return {.outcome = DryRun::Outcome::no_help, .verdict = verdict};

  const auto by_importance = [](const PodInfo* a, const PodInfo* b) { return more_important(*a, *b); };
  std::sort(lower.begin(), lower.end(), by_importance);
  const std::vector<bool> broken = budgets.broken_by(lower);
  DryRun run{.outcome = DryRun::Outcome::victims};
  const auto bring_back = [&](bool kept_by_budgets) {
    for (std::size_t i = 0; i < lower.size(); ++i) {
      if (broken[i] != kept_by_budgets) continue;
      node.add(*lower[i]);
      if (node.judge() == kPass) continue;
      node.remove(*lower[i]);
      run.victims.pods.push_back(lower[i]);
      run.victims.violations += kept_by_budgets;
    }
  };
  bring_back(true);
  bring_back(false);
  std::sort(run.victims.pods.begin(), run.victims.pods.end(), by_importance);
  if (run.victims.pods.empty()) run.outcome = DryRun::Outcome::no_one_needs;
  return run;
}

std::size_t choose(std::span<const Candidate> candidates) {
  std::size_t best = 0;
  auto least = loss(candidates[0].victims);
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    const auto other = loss(candidates[i].victims);
    if (!(other < least)) continue;
    best = i;
    least = other;
  }
  return best;
}

}  // namespace koord::scheduler::default_preemption
