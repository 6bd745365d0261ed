// Victims: see victims.hpp.
#include "scheduling/preemption/victims.hpp"

#include <algorithm>
#include <limits>

#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::preemption {

namespace {

constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::max();

// Seconds since the epoch.
std::int64_t started(const PodInfo& pod) {
  const auto& at = pod.pod->status.start_time;
  return at ? at->at.time_since_epoch().count() : kNotYet;
}

}  // namespace

Loss Victims::loss() const {
  Loss loss{.violations = violations,
            .highest_priority = std::numeric_limits<std::int32_t>::min(),
            .pods = static_cast<std::int64_t>(pods.size())};
  std::int64_t first = kNotYet;  // start of those of the highest priority
  for (const PodInfo* pod : pods) {
    // Above zero, so that many pods of a negative priority are more of a loss than one.
    loss.priorities += pod->priority + (std::int64_t{1} << 31);
    if (pod->priority > loss.highest_priority) {
      loss.highest_priority = pod->priority;
      first = kNotYet;
    }
    if (pod->priority == loss.highest_priority) first = std::min(first, started(*pod));
  }
  loss.running = -first;
  return loss;
}

bool more_important(const PodInfo& a, const PodInfo& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  const std::int64_t x = started(a), y = started(b);
  if (x != y) return x < y;
  const api::ObjectMeta &of_a = a.pod->metadata, &of_b = b.pod->metadata;
  const auto order = of_a.namespace_.view().compare(of_b.namespace_.view());
  return order != 0 ? order < 0 : of_a.name < of_b.name;
}

std::string_view job_of_victim(const PodInfo& pod) {
  return api::value_or(pod.pod->metadata.labels, api::kQuestionedObjectKeyLabel);
}

bool more_important_of_jobs(const PodInfo& a, const PodInfo& b) {
  if (a.priority != b.priority) return a.priority > b.priority;
  const std::string_view x = job_of_victim(a), y = job_of_victim(b);
  if (x != y) return x < y;
  const api::ObjectMeta &of_a = a.pod->metadata, &of_b = b.pod->metadata;
  if (of_a.name != of_b.name) return of_a.name < of_b.name;
  return of_a.namespace_.view() < of_b.namespace_.view();
}

DryRun select_victims(Vacancy& node, std::span<const PodInfo* const> pods, std::int32_t priority,
                      const Budgets& budgets, MoreImportant more) {
  DryRun run;
  std::vector<const PodInfo*> lower;
  for (const PodInfo* pod : pods)
    if (pod->priority < priority) lower.push_back(pod);
  if (lower.empty()) return run;
  for (const PodInfo* pod : lower) node.remove(*pod);
  run.verdict = node.judge();
  run.outcome = DryRun::Outcome::no_help;
  if (run.verdict != kPass) return run;

  const auto by_importance = [more](const PodInfo* a, const PodInfo* b) { return more(*a, *b); };
  std::sort(lower.begin(), lower.end(), by_importance);
  const auto [broken, asked] = budgets.ask(lower);
  run.budgets_asked = asked;
  const auto bring_back = [&, &broken = broken](bool kept_by_budgets) {
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
  run.outcome = run.victims.pods.empty() ? DryRun::Outcome::no_one_needs : DryRun::Outcome::victims;
  return run;
}

}  // namespace koord::scheduling::preemption
