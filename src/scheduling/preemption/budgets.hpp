// Budgets: which evictions would break a disruption budget.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/api/rules/selector.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::preemption {

/// The cluster's PodDisruptionBudgets, as far as preemption reads them. One thread.
class Budgets {
 public:
  /// Of pods that go one after the other.
  struct Answer {
    std::vector<bool> broken;  // [i]: a budget of the i-th is broken by then
    bool asked = false;        // a budget has a say about one of them
  };

  /// One was added, changed, or is gone (`now` null).
  void change(const api::PodDisruptionBudget* before, const api::PodDisruptionBudget* now);
  /// A pod that the API server is evicting already uses up nothing and breaks nothing.
  Answer ask(std::span<const PodInfo* const> pods) const;

  bool empty() const { return by_namespace_.empty(); }

  /// Grow with each change that may change an answer, and with each that may change which budgets have a say.
  std::uint64_t version() const { return version_; }
  std::uint64_t selectors_version() const { return selectors_version_; }

 private:
  struct Budget {
    api::Selector selector;
    std::int32_t allowed = 0;
    api::FlatMap<api::Time> disrupted;
  };
  std::unordered_map<Symbol, std::map<std::string, Budget, std::less<>>> by_namespace_;
  std::uint64_t version_ = 0, selectors_version_ = 0;
};

}  // namespace koord::scheduling::preemption
