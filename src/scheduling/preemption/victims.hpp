// Victims: which pods of a node would have to go for another one, and whose going is the least loss.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "koord/scheduling/cluster/pod_info.hpp"
#include "koord/scheduling/cluster/resource_cells.hpp"
#include "koord/scheduling/plugin/verdict.hpp"
#include "scheduling/preemption/budgets.hpp"

namespace koord::scheduling::preemption {

/// What is lost with victims, the most weighty first: of two the smaller one is preferred.
struct Loss {
  std::int64_t violations = 0;
  std::int32_t highest_priority = 0;
  std::int64_t priorities = 0;  // their sum, each counted from the lowest that there is
  std::int64_t pods = 0;
  std::int64_t running = 0;  // grows with the time that those of the highest priority have run
  friend auto operator<=>(const Loss&, const Loss&) = default;
};

/// Of one node.
struct Victims {
  std::vector<const PodInfo*> pods;  // the most important first
  std::int64_t violations = 0;       // how many of them a disruption budget would keep

  Loss loss() const;
};

/// Which of two pods is rather kept: the one of the higher priority, then the one that has run for longer
/// (before it starts a pod has not run at all), and of equal ones the first by namespace and name.
bool more_important(const PodInfo& a, const PodInfo& b);
/// The same in Koordinator's preemption of jobs: by priority, job (job_of_victim()) and name, so that who
/// goes is of few jobs.
bool more_important_of_jobs(const PodInfo& a, const PodInfo& b);
/// The job that a pod says it is of, by its label questioned-object-key; those that say none are of one. As
/// long as the pod's object.
std::string_view job_of_victim(const PodInfo& pod);

/// A node as it would be with some pods fewer.
class Vacancy {
 public:
  virtual ~Vacancy() = default;
  virtual void remove(const PodInfo& pod) = 0;
  /// One that was removed.
  virtual void add(const PodInfo& pod) = 0;
  /// kPass: the preemptor could go there now.
  virtual VerdictId judge() = 0;
};

struct DryRun {
  enum class Outcome : std::uint8_t {
    victims,       // the preemptor fits without `victims`
    nobody,        // there is no pod of a lower priority
    no_help,       // it does not fit without all of them either: `verdict`
    no_one_needs,  // it fits with all of them
  };
  Outcome outcome = Outcome::nobody;
  VerdictId verdict = kPass;
  Victims victims;
  bool budgets_asked = false;  // disruption budgets have a say about pods of a lower priority
};

/// Which of two pods is rather kept.
using MoreImportant = bool (*)(const PodInfo& a, const PodInfo& b);

/// The fewest of `pods` (the node's, in any order) that have to go for a pod of this priority, by
/// kube-scheduler's rule: all of a lower priority go; if that helps they come back one by one, those first
/// that a budget would keep, in the order of their importance, as long as the preemptor still fits.
DryRun select_victims(Vacancy& node, std::span<const PodInfo* const> pods, std::int32_t priority,
                      const Budgets& budgets, MoreImportant more = &more_important);

}  // namespace koord::scheduling::preemption
