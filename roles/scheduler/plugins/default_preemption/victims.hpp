// Victims: which pods of a node would have to go for another one, and whose going is the least loss.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "framework/pod_info.hpp"
#include "framework/resource_cells.hpp"
#include "framework/verdict.hpp"
#include "plugins/default_preemption/budgets.hpp"

namespace koord::scheduler::default_preemption {

/// Of one node.
struct Victims {
  std::vector<const PodInfo*> pods;  // the most important first
  std::int64_t violations = 0;       // how many of them a disruption budget would keep
};

/// Which of two pods is rather kept: the one of the higher priority, then the one that has run for longer
/// (before it starts a pod has not run at all), and of equal ones the first by namespace and name.
bool more_important(const PodInfo& a, const PodInfo& b);

/// A node as it would be.
class Trial {
 public:
  virtual ~Trial() = default;
  virtual void remove(const PodInfo& pod) = 0;
  virtual void add(const PodInfo& pod) = 0;
  /// kPass: the preemptor could go there now.
  virtual VerdictId judge() = 0;
};

struct DryRun {
  enum class Outcome : std::uint8_t {
    victims,       // the preemptor fits without `victims`
    nobody,        // there is no pod of a lower priority
    no_help,       // it does not fit without all of them either: `verdict`
    no_one_needs,  // it fits with all of them: whoever said that it does not must be asked again
  };
  Outcome outcome;
  VerdictId verdict = kPass;
  Victims victims;
};

/// The fewest of `pods` (the node's, in any order) that have to go for a pod of this priority, by
/// kube-scheduler's rule: all of a lower priority go; if that helps they come back one by one, those first
/// that a budget would keep, in the order of their importance, as long as the preemptor still fits. The node
/// is left as it would be without the victims.
DryRun select_victims(Trial& node, std::span<const PodInfo* const> pods, std::int32_t priority,
                      const Budgets& budgets);

struct Candidate {
  Row row = kNoRow;
  Victims victims;  // at least one
};

/// The place of the best of them: the one with the fewest violations of budgets, then with the lowest highest
/// priority, the smallest sum of priorities, the fewest victims, the latest start of those of the highest
/// priority; of equal ones the first. At least one candidate.
std::size_t choose(std::span<const Candidate> candidates);

}  // namespace koord::scheduler::default_preemption
