// Clearing: see clearing.hpp.
#include "scheduling/preemption/clearing.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "scheduling/classes/trial.hpp"
#include "scheduling/preemption/job_costs.hpp"
#include "scheduling/preemption/victims.hpp"

namespace koord::scheduling::preemption {

/// A row with the pods of the group that have a place there, of which none may lose it, and with those that
/// were set aside there, as far as they are back.
class Clearing::Together final : public Vacancy {
 public:
  Together(const Preemptor& by, Placements& places, Row row, std::vector<const PodInfo*> members)
      : by_(by), places_(places), row_(row), members_(std::move(members)) {}
  void remove(const PodInfo& pod) override { std::erase(back_, &pod); }
  void add(const PodInfo& pod) override { back_.push_back(&pod); }
  /// As if the members came one after the other.
  VerdictId judge() override {
    for (std::size_t first = 0; first < members_.size();) {
      const void* const kind = places_.kind_of(*members_[first]->pod);
      if (kind == nullptr || kind != kind_) {
        asked_ = places_.ask(*members_[first]->pod);
        kind_ = kind;
      }
      if (asked_ == nullptr) return kAbsent;
      Trial trial(asked_->state(), row_);
      for (std::size_t i = first; i < members_.size(); ++i) trial.remove(*members_[i]);
      for (const PodInfo* pod : back_) trial.add(*pod);
      const Symbol job = asked_->profile.job_of(asked_->pod);
      for (const PodInfo* pod : by_.nominated_before(*asked_, job, row_)) trial.add(*pod);
      do {
        if (const VerdictId verdict = trial.verdict(); verdict != kPass) return verdict;
        trial.add(*members_[first++]);
      } while (kind != nullptr && first < members_.size() && places_.kind_of(*members_[first]->pod) == kind);
    }
    return kPass;
  }

 private:
  const Preemptor& by_;
  Placements& places_;
  const Row row_;
  const std::vector<const PodInfo*> members_;
  std::vector<const PodInfo*> back_;
  const PodAttempt* asked_ = nullptr;
  const void* kind_ = nullptr;
};

Clearing::Clearing(Preemptor& by, Placements& places, std::int32_t priority)
    : by_(by), places_(places), priority_(priority) {}

Clearing::~Clearing() {
  for (const auto& [row, pods] : aside_)
    for (const PodInfo* pod : pods) places_.bring_back(row, *pod);
}

std::string Clearing::not_eligible(const api::Pod& trigger, const std::vector<const api::Pod*>& pods) {
  bool never = false, asked = false, ending = false;
  for (const api::Pod* pod : pods) {
    const PodInfo* const info = places_.find(*pod);
    if (info == nullptr) continue;
    never = never || pod->spec.preemption_policy == "Never";
    asked = asked || !by_.may_enqueue(*info);
    const Row row = by_.nominated_row(*info);
    if (row == kNoRow || !by_.waits_for_victims(*info, row)) continue;
    const PodAttempt* const attempt = pod == &trigger ? places_.ask(trigger) : nullptr;
    ending = ending || attempt == nullptr || !by_.verdicts_[attempt->state().verdict(row)].unresolvable;
  }
  return std::string(never    ? Preemptor::kNever
                     : asked  ? Preemptor::kAsked
                     : ending ? Preemptor::kVictimsEnd
                              : std::string_view());
}

bool Clearing::place(const api::Pod& pod) {
  why_ = {};
  if (auto placed = places_.place(pod); placed.row != kNoRow) return true;
  const void* const kind = places_.kind_of(pod);
  const PodAttempt* attempt = places_.ask(pod);
  if (attempt == nullptr) return false;
  const bool over_rows = attempt->state().reaches_over_rows();
  reaches_over_rows_ = reaches_over_rows_ || over_rows;
  Candidates& all = candidates_[kind];
  if (!all.listed || kind == nullptr) list(all, *attempt);
  // What is placed elsewhere may have helped it.
  if (over_rows) all.next = 0;
  for (; all.next < all.rows.size(); ++all.next) {
    if (place_on(pod, all.rows[all.next], attempt)) return true;
    if (attempt == nullptr) return false;
  }
  explain(all);
  return false;
}

/// The rows on which pods of this kind are refused by what victims may undo, and on which some may go.
void Clearing::list(Candidates& all, const PodAttempt& attempt) {
  all = {};
  all.listed = true;
  struct Found {
    Row row;
    JobPriorities jobs;
  };
  std::vector<Found> found;
  JobCosts costs;
  by_.list_rows(attempt, attempt.state().diagnose());
  for (const Row row : by_.rows_) {
    if (by_.lowest_.of(row) >= priority_) {
      ++all.nobody;
      continue;
    }
    DryRuns::Entry own;
    const DryRuns::Entry& entry = by_.dry_run(attempt, row, priority_, own);
    if (entry.run.outcome == DryRun::Outcome::nobody) {
      ++all.nobody;
      continue;
    }
    costs.add(entry.jobs);
    if (entry.run.outcome == DryRun::Outcome::no_help && !attempt.state().reaches_over_rows()) {
      ++all.no_help;
      for (const std::string& reason : by_.verdicts_[entry.run.verdict].reasons) ++all.reasons[reason];
      continue;
    }
    found.push_back({row, entry.jobs});
  }
  costs.rank();
  for (const Found& f : found) all.rows.push_back({f.row, costs.of(f.jobs)});
  std::ranges::sort(all.rows, [&](const Candidate& a, const Candidate& b) {
    if (a.cost != b.cost) return a.cost < b.cost;
    return by_.nodes_.name(a.row).view() < by_.nodes_.name(b.row).view();
  });
}

/// Those on the row that may go, beside all that are set aside already; `kept`: others would break a budget.
std::vector<const PodInfo*> Clearing::possible_victims(Row row, const PodAttempt& attempt, bool& kept) const {
  const Symbol job = attempt.profile.job_of(attempt.pod);
  std::vector<const PodInfo*> victims;
  for (const PodInfo* other : by_.nodes_.pods(row))
    if (other->priority < priority_ && by_.may_go(*other, attempt.pod) &&
        (job.empty() || attempt.profile.job_of(*other) != job))
      victims.push_back(other);
  if (by_.jobs_->breaks_budgets || by_.budgets_.empty()) return victims;
  // Who goes already costs no budget anything; of the others the least important first.
  const auto ends = std::partition(victims.begin(), victims.end(), [](const PodInfo* other) {
    return other->pod->metadata.deletion_timestamp.has_value();
  });
  std::sort(ends, victims.end(),
            [](const PodInfo* a, const PodInfo* b) { return more_important_of_jobs(*b, *a); });
  std::vector<const PodInfo*> asked;
  for (const auto& [other, gone] : aside_)
    for (const PodInfo* one : gone)
      if (!one->pod->metadata.deletion_timestamp) asked.push_back(one);
  const std::size_t before = asked.size();
  asked.insert(asked.end(), ends, victims.end());
  const Budgets::Answer answer = by_.budgets_.ask(asked);
  if (!answer.asked) return victims;
  victims.erase(ends, victims.end());
  for (std::size_t i = before; i < asked.size(); ++i) {
    if (!answer.broken[i]) victims.push_back(asked[i]);
    kept = kept || answer.broken[i];
  }
  return victims;
}

/// `attempt`: what the nodes say of the pod, before and, if it has no place, after.
bool Clearing::place_on(const api::Pod& pod, Candidate& candidate, const PodAttempt*& attempt) {
  bool kept = false;
  const std::vector<const PodInfo*> victims = possible_victims(candidate.row, *attempt, kept);
  candidate.verdict = by_.verdict_without(*attempt, candidate.row, victims);
  if (candidate.verdict != kPass) {
    if (kept) candidate.verdict = kAbsent;  // it is for the budgets that it has to stay
    return false;
  }
  for (const PodInfo* victim : victims) places_.set_aside(candidate.row, *victim);
  if (places_.place_on(pod, candidate.row).row == kNoRow) {
    // Somebody reserves nothing for it there.
    for (const PodInfo* victim : victims) places_.bring_back(candidate.row, *victim);
    attempt = places_.ask(pod);
    return false;
  }
  const auto known = std::ranges::find(aside_, candidate.row, &decltype(aside_)::value_type::first);
  std::vector<const PodInfo*>& gone =
      known != aside_.end() ? known->second : aside_.emplace_back(candidate.row, decltype(victims){}).second;
  gone.insert(gone.end(), victims.begin(), victims.end());
  return true;
}

/// In Koordinator's words, which names the nodes without victims only where there are no others.
void Clearing::explain(const Candidates& all) {
  why_ = {.nodes = by_.nodes_.nodes(), .reasons = all.reasons};
  if (all.rows.empty() && all.nobody + all.no_help == 0)
    why_.reasons[std::string(Preemptor::kNotHelpful)] = why_.nodes;
  if (all.rows.empty() && all.no_help == 0 && all.nobody != 0)
    why_.reasons[std::string(Preemptor::kNoPotentialVictims)] = all.nobody;
  for (const Candidate& candidate : all.rows) {
    if (candidate.verdict == kAbsent) ++why_.reasons[std::string(Preemptor::kKeptByBudgets)];
    if (candidate.verdict == kPass || candidate.verdict == kAbsent) continue;
    for (const std::string& reason : by_.verdicts_[candidate.verdict].reasons) ++why_.reasons[reason];
  }
}

/// Brings back whom nobody needs gone: the others.
std::vector<const PodInfo*> Clearing::spare(Row row, const std::vector<const PodInfo*>& gone,
                                            std::vector<const PodInfo*> members) {
  Together space(by_, places_, row, std::move(members));
  static const Budgets kNone;  // they were asked
  // All are gone there already, and are taken back as it goes.
  DryRun run = select_victims(space, gone, priority_, kNone, &more_important_of_jobs);
  if (run.outcome == DryRun::Outcome::no_help) return gone;
  for (const PodInfo* pod : gone)
    if (std::ranges::find(run.victims.pods, pod) == run.victims.pods.end()) places_.bring_back(row, *pod);
  return std::move(run.victims.pods);
}

/// Each where it is, with all others.
bool Clearing::all_fit() {
  return std::ranges::all_of(places_.places(), [&](const Placements::At& place) {
    const PodAttempt* const attempt = places_.ask(*place.pod->pod);
    if (attempt == nullptr) return false;
    Trial trial(attempt->state(), place.row);
    trial.remove(*place.pod);
    return trial.verdict() == kPass;
  });
}

PostFilterResult Clearing::preempt(const api::Pod& trigger, std::string job) {
  const auto all = aside_;
  std::unordered_map<Row, std::vector<const PodInfo*>> on;  // who has a place there
  for (const Placements::At& place : places_.places()) on[place.row].push_back(place.pod);
  for (auto& [row, gone] : aside_) gone = spare(row, gone, std::move(on[row]));
  if (reaches_over_rows_ && !all_fit()) {
    // Who came back to one node is in somebody's way on another.
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const PodInfo* pod : all[i].second)
        if (std::ranges::find(aside_[i].second, pod) == aside_[i].second.end())
          places_.set_aside(all[i].first, *pod);
    aside_ = all;
  }
  PostFilterResult result{.nominate = Symbol(), .preemption = {.job = std::move(job), .tried = true}};
  Preemption& p = result.preemption;
  std::unordered_map<const PodInfo*, bool> members;
  for (const Placements::At& place : places_.places()) {
    members.emplace(place.pod, true);
    const Symbol node = by_.nodes_.name(place.row);
    if (place.pod->pod->metadata.uid == trigger.metadata.uid)
      result.nominate = node;
    else
      p.nominations.push_back({place.pod->pod, node});
  }
  for (const auto& [row, gone] : aside_) {
    p.chosen += gone.size();
    for (const PodInfo* victim : gone) by_.note(*victim, p);
    if (gone.empty()) continue;
    for (const PodInfo* other : by_.nominator_.on(row))
      if (other->priority < priority_ && !by_.nominator_.is_foreign(*other) && !members.contains(other))
        p.nominations.push_back({other->pod});
  }
  if (!p.victims.empty() || !p.nominations.empty()) by_.waiting_[trigger.metadata.uid] = false;
  return result;
}

}  // namespace koord::scheduling::preemption
