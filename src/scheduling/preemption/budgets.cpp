// Budgets: see budgets.hpp.
#include "scheduling/preemption/budgets.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduling::preemption {

void Budgets::change(const api::PodDisruptionBudget* before, const api::PodDisruptionBudget* now) {
  const api::ObjectMeta& meta = (now != nullptr ? now : before)->metadata;
  if (before != nullptr && now != nullptr && before->spec.selector == now->spec.selector) {
    const api::PodDisruptionBudgetStatus &old = before->status, &fresh = now->status;
    if (old.disruptions_allowed == fresh.disruptions_allowed && old.disrupted_pods == fresh.disrupted_pods)
      return;
  } else {
    ++selectors_version_;
  }
  ++version_;
  const auto drop = [&] {
    const auto space = by_namespace_.find(meta.namespace_);
    if (space == by_namespace_.end()) return;
    space->second.erase(meta.name);
    if (space->second.empty()) by_namespace_.erase(space);
  };
  if (now == nullptr) return drop();
  Result<api::Selector> selector = api::Selector::from(now->spec.selector.get());
  if (!selector || selector->is_nothing()) return drop();
  by_namespace_[meta.namespace_].insert_or_assign(
      meta.name, Budget{*std::move(selector), now->status.disruptions_allowed, now->status.disrupted_pods});
}

Budgets::Answer Budgets::ask(std::span<const PodInfo* const> pods) const {
  Answer answer{std::vector<bool>(pods.size(), false)};
  if (by_namespace_.empty()) return answer;
  std::unordered_map<const Budget*, std::int64_t> left;  // of those that were met
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const api::Pod& pod = *pods[i]->pod;
    const auto space = by_namespace_.find(pod.metadata.namespace_);
    if (space == by_namespace_.end()) continue;
    for (const auto& [name, budget] : space->second) {
      if (!budget.selector.matches(pod.metadata.labels)) continue;
      answer.asked = true;
      if (budget.disrupted.contains(pod.metadata.name)) continue;
      if (--left.try_emplace(&budget, budget.allowed).first->second < 0) answer.broken[i] = true;
    }
  }
  return answer;
}

}  // namespace koord::scheduling::preemption
