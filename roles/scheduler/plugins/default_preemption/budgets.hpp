// Budgets: which evictions would break a disruption budget.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/pod_info.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"

namespace koord::scheduler::default_preemption {

/// The cluster's PodDisruptionBudgets, as far as preemption reads them. One thread.
class Budgets {
 public:
  /// One was added, changed, or is gone (`now` null).
  void change(const api::PodDisruptionBudget* before, const api::PodDisruptionBudget* now);
  /// For pods that go one after the other: [i] is true if a budget of pods[i] would be broken by then. A pod
  /// that the API server is evicting already uses up nothing and breaks nothing.
  std::vector<bool> broken_by(std::span<const PodInfo* const> pods) const;

 private:
  struct Budget {
    api::Selector selector;
    std::int32_t allowed = 0;
    api::FlatMap<api::Time> disrupted;
  };
  std::unordered_map<Symbol, std::map<std::string, Budget, std::less<>>> by_namespace_;
};

}  // namespace koord::scheduler::default_preemption
