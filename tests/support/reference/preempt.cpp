// DefaultPreemption, for the scheduler's oracle: every node is a candidate, none is sampled.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "support/reference/cycle.hpp"
#include "support/reference/evaluate.hpp"

namespace koord::reference {

namespace {

constexpr std::string_view kNoHelp = "Preemption is not helpful for scheduling";
constexpr std::string_view kNoVictims = "No preemption victims found for incoming pod";

/// What has not started counts as started now, so after all others.
api::Time start_of(const api::Pod& pod) {
  return pod.status.start_time.value_or(api::Time(std::chrono::sys_seconds::max()));
}
bool more_important(const api::Pod* a, const api::Pod* b) {
  return priority(*a) != priority(*b) ? priority(*a) > priority(*b) : start_of(*a) < start_of(*b);
}

/// Those whose end breaks a budget, if they are ended in this order.
std::set<const api::Pod*> violating(const Cluster& cluster, const std::vector<const api::Pod*>& pods) {
  std::set<const api::Pod*> out;
  std::map<std::string, std::int64_t> left;  // of the budgets
  for (const auto& [key, b] : cluster.budgets) left[key] = b->status.disruptions_allowed;
  for (const api::Pod* pod : pods) {
    if (pod->metadata.labels.empty()) continue;
    for (const auto& [key, b] : cluster.budgets) {
      const Selector selector = Selector::of(b->spec.selector.get());
      if (b->metadata.namespace_ != pod->metadata.namespace_ || selector.is_everything() ||
          !selector.matches(pod->metadata.labels) ||
          b->status.disrupted_pods.find(pod->metadata.name) != nullptr)
        continue;
      if (--left[key] < 0) out.insert(pod);
    }
  }
  return out;
}

struct Trial {
  std::optional<Preemption::Candidate> candidate;
  std::vector<std::string> reasons;  // of a node that is none
  std::vector<const api::Pod*> victims;
};

Trial try_node(const Cluster& cluster, const api::Pod& pod, Cycle cycle, NodeState node) {
  Trial trial;
  std::vector<const api::Pod*> weaker;
  for (const Counted& p : node.pods)
    if (priority(*p.pod) < priority(pod)) weaker.push_back(p.pod);
  if (weaker.empty()) {
    trial.reasons = {std::string(kNoVictims)};
    return trial;
  }
  for (const api::Pod* p : weaker) cycle.remove(*p, node);
  if (const Filtered rejected = cycle.filter(node)) {
    trial.reasons = rejected->reasons;
    return trial;
  }
  std::stable_sort(weaker.begin(), weaker.end(), more_important);
  Preemption::Candidate& candidate = trial.candidate.emplace();
  for (std::size_t i = 1; i < weaker.size(); ++i)
    candidate.certain = candidate.certain && more_important(weaker[i - 1], weaker[i]);
  const std::set<const api::Pod*> protected_ones = violating(cluster, weaker);
  for (const bool violates : {true, false}) {
    for (const api::Pod* p : weaker) {
      if (protected_ones.contains(p) != violates) continue;
      cycle.add(*p, node);
      if (cycle.filter(node)) {
        cycle.remove(*p, node);
        trial.victims.push_back(p);
        candidate.violations += violates ? 1 : 0;
      }
    }
  }
  std::stable_sort(trial.victims.begin(), trial.victims.end(), more_important);
  for (const api::Pod* p : trial.victims) candidate.victims.push_back(key_of(*p));
  return trial;
}

/// Keeps those for which `cost` is least.
template <class Cost>
void keep_least(std::map<std::string, Trial>& trials, const Cost& cost) {
  if (trials.empty()) return;
  auto least = cost(trials.begin()->second);
  for (const auto& [name, trial] : trials) least = std::min(least, cost(trial));
  std::erase_if(trials, [&](const auto& each) { return least < cost(each.second); });
}

bool ends_by_preemption(const api::Pod& pod) {
  if (!pod.metadata.deletion_timestamp) return false;
  for (const auto& c : pod.status.conditions)
    if (c.type == "DisruptionTarget") return c.status == "True" && c.reason == "PreemptionByScheduler";
  return false;
}

}  // namespace

Preemption preempt(const Cluster& cluster, const Config& config, const api::Pod& pod) {
  Preemption out;
  if (pod.spec.preemption_policy == "Never") {
    out.message = "preemption: not eligible due to preemptionPolicy=Never.";
    return out;
  }
  const State state = state_of(cluster);
  const Answer answer = evaluate(cluster, config, pod);
  const Symbol& nominated = pod.status.nominated_node_name;
  for (const NodeState& n : state) {
    const auto& rejected = answer.nodes.at(n.node->metadata.name).rejected;
    if (n.node->metadata.name != nominated.view() || (rejected && rejected->unresolvable)) continue;
    for (const Counted& p : n.pods)
      if (priority(*p.pod) < priority(pod) && ends_by_preemption(*p.pod)) {
        out.message = "preemption: not eligible due to a terminating pod on the nominated node.";
        return out;
      }
  }
  const Cycle cycle(cluster, config, pod, state);
  std::map<std::string, Trial> trials;
  std::map<std::string, std::size_t> reasons;
  for (const NodeState& n : state) {
    const std::string& name = n.node->metadata.name;
    const auto& rejected = answer.nodes.at(name).rejected;
    Trial trial;
    if (!rejected || rejected->unresolvable)
      trial.reasons = {std::string(kNoHelp)};
    else
      trial = try_node(cluster, pod, cycle, n);
    for (const std::string& r : trial.reasons) ++reasons[r];
    if (!trial.candidate) continue;
    out.candidates[name] = *trial.candidate;
    trials[name] = std::move(trial);
  }
  if (trials.empty()) {
    std::set<std::string> parts;
    for (const auto& [reason, n] : reasons) parts.insert(fmt::format("{} {}", n, reason));
    out.message =
        fmt::format("preemption: 0/{} nodes are available: {}.", state.size(), fmt::join(parts, ", "));
    return out;
  }
  keep_least(trials, [](const Trial& t) { return t.candidate->violations; });
  keep_least(trials, [](const Trial& t) { return std::int64_t{priority(*t.victims[0])}; });
  keep_least(trials, [](const Trial& t) {
    std::int64_t sum = 0;
    for (const api::Pod* p : t.victims) sum += std::int64_t{priority(*p)} + (std::int64_t{1} << 31);
    return sum;
  });
  keep_least(trials, [](const Trial& t) { return t.victims.size(); });
  // The latest of the starts of the oldest among the most important victims, which come first.
  keep_least(trials, [](const Trial& t) { return -start_of(*t.victims[0]).at.time_since_epoch().count(); });
  for (const auto& [name, trial] : trials) out.best.insert(name);
  return out;
}

}  // namespace koord::reference
