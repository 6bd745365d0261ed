// Preemptor: looks for pods of a lower priority whose going makes room for one that fits nowhere.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/classes/random.hpp"
#include "koord/scheduling/cluster/nominator.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/preemption/budgets.hpp"
#include "scheduling/preemption/dry_runs.hpp"
#include "scheduling/preemption/lowest_priorities.hpp"
#include "scheduling/preemption/room_beside.hpp"
#include "scheduling/preemption/sample.hpp"

namespace koord::scheduling::preemption {

/// Koordinator's rule for jobs: of the rows on which preemption helps the one that costs the least
/// (JobCosts), of several the first by name; there who is less important of jobs goes.
struct JobRule {
  /// False: nobody goes who is kept by a disruption budget.
  bool breaks_budgets = false;
};

/// kube-scheduler's rule, or that of jobs, for the plugin that it is made for: what that plugin is asked is
/// handed on to it. Made in the plugin's constructor; belongs to the engine's thread.
class Preemptor {
 public:
  /// Who is not chosen, of pods of a lower priority. The same for all preemptors of a class and a priority.
  using Spares = bool (*)(const PodInfo& victim, const PodInfo& preemptor);

  /// nullptr: nobody is spared.
  Preemptor(const PluginContext& context, Sample sample, Spares spares = nullptr);
  /// With one `beside` the rows nothing is kept of a class: its pods differ in what is beside.
  Preemptor(const PluginContext& context, Sample sample, const RoomBeside& beside);
  /// A pod that is tried alone is a job of one; for several that are placed together see Clearing.
  Preemptor(const PluginContext& context, JobRule rule, Spares spares);
  Preemptor(const Preemptor&) = delete;
  Preemptor& operator=(const Preemptor&) = delete;

  /// PostFilter. unschedulable: nothing can be done, and why.
  PostFilterResult make_room(PodAttempt& attempt, const Diagnosis& diagnosis);
  /// Not while its victims are asked to go: what that makes free may not be seen yet. It is tried again
  /// afterwards. Who is not asked may be tried all the same: make_room() leaves it alone.
  bool may_enqueue(const PodInfo& pod) const;
  /// The node that is to be made free for it, empty: none.
  Symbol nomination(const PodInfo& pod) const;
  /// PostFilterPlugin's.
  void preempted(const api::Pod& pod, bool all);

 private:
  friend class Clearing;
  // What is said of rows and pods in Koordinator's words.
  static constexpr std::string_view kNotHelpful = "Preemption is not helpful for scheduling",
                                    kNoPotentialVictims = "no potential victims",
                                    kVictimsEnd =
                                        "not eligible due to terminating pod on the nominated node.",
                                    kNever = "not eligible due to preemptionPolicy=Never.",
                                    kAsked = "not eligible while its victims are being asked to go.";
  /// In ours.
  static constexpr std::string_view kKeptByBudgets = "preemption would break a disruption budget";

  struct Search {
    explicit Search(PodAttempt& a) : attempt(a) {}
    PodAttempt& attempt;
    Row row = kNoRow;
    const DryRuns::Entry* best = nullptr;
    DryRuns::Entry held;  // where it is not kept
    Diagnosis diagnosis;  // if there is none
  };

  std::optional<Symbol> kept_nomination(const PodInfo& pod) const;
  std::string not_eligible(const PodAttempt& attempt) const;
  bool waits_for_victims(const PodInfo& pod, Row nominated) const;
  Row nominated_row(const PodInfo& pod) const;
  void list_rows(const PodAttempt& attempt, const Diagnosis& diagnosis);
  std::optional<Row> row_that_empties(const PodAttempt& attempt);
  void look_for_candidates(Search& search);
  void look_by_jobs(Search& search);
  bool may_go(const PodInfo& victim, const PodInfo& preemptor) const {
    return beside_ != nullptr ? !beside_->spares(victim, preemptor)
                              : spares_ == nullptr || !spares_(victim, preemptor);
  }
  void note(const PodInfo& victim, Preemption& preemption) const;
  PostFilterResult choose_among(Search& search, const ExtenderAnswer& answer);
  std::vector<const PodInfo*> nominated_before(const PodAttempt& attempt, const Symbol& job, Row row) const;
  const DryRuns::Entry& dry_run(const PodAttempt& attempt, Row row, std::int32_t priority,
                                DryRuns::Entry& own);
  VerdictId verdict_without(const PodAttempt& attempt, Row row, std::span<const PodInfo* const> gone) const;
  DryRuns::Entry& kept(ClassState& state, std::int32_t priority, Row row) const;
  PostFilterResult preempt(const PodAttempt& attempt, const Search& search);

  const Sample sample_;
  const Spares spares_;
  const RoomBeside* beside_ = nullptr;
  std::optional<JobRule> jobs_;
  const NodeTable& nodes_;
  const VerdictTable& verdicts_;
  const Nominator& nominator_;
  CycleControl& cycle_;
  const PluginIndex index_;
  LowestPriorities lowest_;
  Budgets budgets_;
  Random random_{1};
  /// Pods whose victims are being asked to go, by uid; true: it was worth another attempt meanwhile.
  mutable std::unordered_map<std::string, bool> waiting_;
  std::vector<Row> rows_;          // of the attempt: those that victims could make feasible
  std::vector<VerdictId> by_row_;  // reused
};

}  // namespace koord::scheduling::preemption
