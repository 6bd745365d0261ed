// Choosing victims: see victims.hpp.
#include "plugins/evict/victims.hpp"
#include "plugins/evict/terms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace koord::koordlet::evict {

namespace {

std::int64_t extended(const NodeInfo& node, std::string_view name) {
  for (const ExtendedResource& resource : node.extended)
    if (resource.name == name) return resource.value;
  return 0;
}

/// Both are positive where something is still missing.
bool is_missing(const Amounts& wanted, const Amounts& freed) {
  for (std::size_t i = 0; i < kResources; ++i)
    if (wanted[i] > 0 && wanted[i] > freed[i]) return true;
  return false;
}

bool helps(const Amounts& wanted, const Amounts& freed, const Amounts& frees) {
  for (std::size_t i = 0; i < kResources; ++i)
    if (wanted[i] > 0 && wanted[i] > freed[i] && frees[i] > 0) return true;
  return false;
}

std::int64_t of_class(const PodRequests& requests, bool cpu, PriorityClass priority_class) {
  if (priority_class == PriorityClass::batch) return cpu ? requests.batch_cpu : requests.batch_memory;
  if (priority_class == PriorityClass::mid) return cpu ? requests.mid_cpu : requests.mid_memory;
  return 0;
}

std::int64_t scaled(double used, double scale) {
  return known(used) ? static_cast<std::int64_t>(used * scale) : 0;
}

struct Ranked {
  Candidate candidate;
  std::tuple<std::int64_t, std::int64_t, std::int64_t> rank;
  double weight = 0;
};

std::vector<Candidate> sorted(std::vector<Ranked> all) {
  std::stable_sort(all.begin(), all.end(), [](const Ranked& a, const Ranked& b) {
    if (a.rank != b.rank) return a.rank < b.rank;
    if (a.weight != b.weight) return a.weight > b.weight;
    return a.candidate.pod->name > b.candidate.pod->name;
  });
  std::vector<Candidate> candidates;
  candidates.reserve(all.size());
  for (Ranked& one : all) candidates.push_back(std::move(one.candidate));
  return candidates;
}

}  // namespace

Choice choose(std::span<const Task> tasks, const std::function<Standing(const PodInfo&)>& standing,
              std::int64_t room) {
  Choice choice;
  std::array<Amounts, 2> freed{};
  std::set<std::string_view> counted;  // uids
  const auto total = [&](const Task& task) -> Amounts& {
    return freed[static_cast<std::size_t>(task.target)];
  };
  const auto count = [&](const Candidate& candidate) {
    counted.insert(candidate.pod->uid);
    std::array<Amounts, 2> most{};
    for (const Task& task : tasks) {
      Amounts& sum = most[static_cast<std::size_t>(task.target)];
      const Amounts frees = task.frees(candidate);
      for (std::size_t i = 0; i < kResources; ++i) sum[i] = std::max(sum[i], frees[i]);
    }
    for (std::size_t target = 0; target < freed.size(); ++target)
      for (std::size_t i = 0; i < kResources; ++i) freed[target][i] += most[target][i];
  };
  for (const Task& task : tasks)
    for (const Candidate& candidate : task.candidates)
      if (!counted.contains(candidate.pod->uid) && standing(*candidate.pod) == Standing::pending)
        count(candidate);
  for (const Task& task : tasks) {
    for (const Candidate& candidate : task.candidates) {
      if (!is_missing(task.release, total(task))) break;
      if (counted.contains(candidate.pod->uid) || standing(*candidate.pod) != Standing::free) continue;
      if (room <= 0 || !helps(task.release, total(task), task.frees(candidate))) continue;
      --room;
      choice.victims.push_back({task.feature, candidate.pod});
      count(candidate);
    }
    choice.satisfied.push_back(!is_missing(task.release, total(task)));
  }
  return choice;
}

Overcommit overcommit(const Inventory& inventory, bool cpu, std::int32_t priority,
                      std::int64_t threshold_percent, std::int64_t lower_percent) {
  Overcommit over;
  std::int64_t batch = 0;
  std::int64_t mid = 0;
  for (const auto& pod : inventory.all_pods) {
    if (pod->effective_priority() > priority) continue;
    const PriorityClass priority_class = pod->effective_class();
    (priority_class == PriorityClass::mid ? mid : batch) += of_class(pod->requests, cpu, priority_class);
  }
  const auto excess = [&](std::int64_t asked, std::string_view name) -> std::int64_t {
    const std::int64_t has = extended(inventory.node, name);
    if (has <= 0) return asked;
    const double share = static_cast<double>(asked) / static_cast<double>(has);
    if (share <= static_cast<double>(threshold_percent) / 100) return 0;
    return static_cast<std::int64_t>(static_cast<double>(asked) -
                                     static_cast<double>(lower_percent) / 100 * static_cast<double>(has));
  };
  of(over.release, cpu ? Resource::batch_cpu : Resource::batch_memory) =
      excess(batch, cpu ? api::kBatchCpu : api::kBatchMemory);
  of(over.release, cpu ? Resource::mid_cpu : Resource::mid_memory) =
      excess(mid, cpu ? api::kMidCpu : api::kMidMemory);
  over.batch = of(over.release, cpu ? Resource::batch_cpu : Resource::batch_memory) > 0;
  over.mid = of(over.release, cpu ? Resource::mid_cpu : Resource::mid_memory) > 0;
  return over;
}

Amounts asked(const Overcommit& over, bool cpu, const PodInfo& pod) {
  Amounts amounts{};
  const PriorityClass priority_class = pod.effective_class();
  const std::int64_t amount = of_class(pod.requests, cpu, priority_class);
  if (over.batch && priority_class == PriorityClass::batch)
    of(amounts, cpu ? Resource::batch_cpu : Resource::batch_memory) = amount;
  if (over.mid && priority_class == PriorityClass::mid)
    of(amounts, cpu ? Resource::mid_cpu : Resource::mid_memory) = amount;
  return amounts;
}

bool allows(const PodInfo& pod, std::string_view feature) {
  const auto& policies = eviction_terms(pod).policies;
  return !policies || std::find(policies->begin(), policies->end(), feature) != policies->end();
}

std::vector<Candidate> best_effort(const TickView& view, std::string_view feature, double Usage::*used,
                                   double scale, const std::function<double(const Candidate&)>& weight) {
  std::vector<Ranked> all;
  for (std::size_t i = 0; i < view.pods.size(); ++i) {
    const auto& pod = view.inventory->pods[i];
    if (pod->qos != Qos::be || !allows(*pod, feature)) continue;
    Ranked one{.candidate = {pod, scaled(view.pods[i].*used, scale)},
               .rank = {pod->priority.value_or(0), 0, 0}};
    one.weight = weight(one.candidate);
    all.push_back(std::move(one));
  }
  return sorted(std::move(all));
}

std::vector<Candidate> by_priority(const TickView& view, std::string_view feature, std::int32_t priority,
                                   double Usage::*used, double scale,
                                   const std::function<double(const Candidate&)>& weight) {
  std::vector<Ranked> all;
  for (std::size_t i = 0; i < view.pods.size(); ++i) {
    const auto& pod = view.inventory->pods[i];
    const std::int32_t own = pod->effective_priority();
    const EvictionTerms& terms = eviction_terms(*pod);
    if (own > priority || !terms.enabled || !allows(*pod, feature) || !known(view.pods[i].*used)) continue;
    Ranked one{.candidate = {pod, scaled(view.pods[i].*used, scale)},
               .rank = {terms.priority, own, terms.within.value_or(own)}};
    one.weight = weight(one.candidate);
    all.push_back(std::move(one));
  }
  return sorted(std::move(all));
}

Choice act(std::span<const Task> tasks, const Actions& actions, Plan& plan) {
  const std::string_view strategy = plan.strategy();
  Choice choice = choose(
      tasks, [&](const PodInfo& pod) { return actions.standing(pod, strategy); }, actions.room(strategy));
  for (const Victim& victim : choice.victims)
    plan.act(victim.pod,
             fmt::format("trigger by koordlet feature {}, kill pod: {}", victim.feature, victim.pod->name));
  return choice;
}

}  // namespace koord::koordlet::evict
