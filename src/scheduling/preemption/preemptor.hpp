// Preemptor: looks for pods of a lower priority whose going makes room for one that fits nowhere.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/classes/random.hpp"
#include "koord/scheduling/cluster/nominator.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/preemption/budgets.hpp"
#include "scheduling/preemption/dry_runs.hpp"
#include "scheduling/preemption/lowest_priorities.hpp"
#include "scheduling/preemption/sample.hpp"

namespace koord::scheduling::preemption {

/// What besides a row has to have room for the preemptor, and who may go for that (a quota).
class RoomBeside {
 public:
  virtual ~RoomBeside() = default;
  /// Not chosen, though it is of a lower priority.
  virtual bool spares(const PodInfo& victim, const PodInfo& preemptor) const = 0;
  /// For as long as one row is looked at.
  virtual std::unique_ptr<Vacancy> beside(const PodInfo& preemptor) const = 0;
};

/// kube-scheduler's rule, for the plugin that it is made for: what that plugin is asked is handed on to it.
/// Made in the plugin's constructor; belongs to the engine's thread.
class Preemptor {
 public:
  /// Who is not chosen, of pods of a lower priority. The same for all preemptors of a class and a priority.
  using Spares = bool (*)(const PodInfo& victim, const PodInfo& preemptor);

  /// nullptr: nobody is spared.
  Preemptor(const PluginContext& context, Sample sample, Spares spares = nullptr);
  /// With one `beside` the rows nothing is kept of a class: its pods differ in what is beside.
  Preemptor(const PluginContext& context, Sample sample, const RoomBeside& beside);
  Preemptor(const Preemptor&) = delete;
  Preemptor& operator=(const Preemptor&) = delete;

  /// PostFilter. unschedulable: nothing can be done, and why.
  PostFilterResult make_room(PodAttempt& attempt, const Diagnosis& diagnosis);
  /// Not while its victims are asked to go: what that makes free may not be seen yet. It is tried again
  /// afterwards. Who is not asked may be tried all the same: make_room() leaves it alone.
  bool may_enqueue(const PodInfo& pod) const;
  /// PostFilterPlugin's.
  void preempted(const api::Pod& pod, bool all);

 private:
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
  void list_rows(const PodAttempt& attempt, const Diagnosis& diagnosis);
  std::optional<Row> row_that_empties(const PodAttempt& attempt);
  void look_for_candidates(Search& search);
  PostFilterResult choose_among(Search& search, const ExtenderAnswer& answer);
  std::vector<const PodInfo*> nominated_before(const PodAttempt& attempt, const Symbol& job, Row row) const;
  const DryRuns::Entry& dry_run(const PodAttempt& attempt, Row row, DryRuns::Entry& own);
  DryRuns::Entry& kept(ClassState& state, std::int32_t priority, Row row) const;
  PostFilterResult preempt(const PodAttempt& attempt, const Search& search);

  const Sample sample_;
  const Spares spares_;
  const RoomBeside* beside_ = nullptr;
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
