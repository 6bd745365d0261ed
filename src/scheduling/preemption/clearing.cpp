// Clearing: see clearing.hpp.
#include "scheduling/preemption/clearing.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "scheduling/classes/trial.hpp"
#include "scheduling/preemption/job_costs.hpp"
#include "scheduling/preemption/victims.hpp"

namespace koord::scheduling::preemption {

namespace {

/// More jobs have no pods in a cluster.
constexpr std::int64_t kMostJobs = std::int64_t{1} << 24;

}  // namespace

/// A row with the pods of the group that have a place there, of which none may lose it, and with those that
/// were set aside there, as far as they are back.
class Clearing::Together final : public Vacancy {
 public:
  Together(Clearing& clearing, Asked& asked, Row row, Victims members)
      : clearing_(clearing), asked_(asked), row_(row), members_(std::move(members)) {}
  void remove(const PodInfo& pod) override {
    std::erase(back_, &pod);
    for (RoomBeside* beside : clearing_.beside_) beside->set_aside(pod);
  }
  void add(const PodInfo& pod) override {
    back_.push_back(&pod);
    for (RoomBeside* beside : clearing_.beside_) beside->bring_back(pod);
  }
  /// As if the members came one after the other.
  VerdictId judge() override {
    if (!clearing_.accounts_hold()) return kAbsent;
    Placements& places = clearing_.places_;
    for (std::size_t first = 0; first < members_.size();) {
      const void* const kind = places.kind_of(*members_[first]->pod);
      if (kind == nullptr || kind != asked_.kind)
        asked_ = {.attempt = places.ask(*members_[first]->pod), .kind = kind};
      if (asked_.attempt == nullptr) return kAbsent;
      const PodAttempt& attempt = *asked_.attempt;
      Trial trial(attempt.state(), row_);
      for (std::size_t i = first; i < members_.size(); ++i) trial.remove(*members_[i]);
      for (const PodInfo* pod : back_) trial.add(*pod);
      const Symbol job = attempt.profile.job_of(attempt.pod);
      for (const PodInfo* pod : clearing_.by_.nominated_before(attempt, job, row_)) trial.add(*pod);
      do {
        if (const VerdictId verdict = trial.verdict(); verdict != kPass) return verdict;
        trial.add(*members_[first++]);
      } while (kind != nullptr && first < members_.size() && places.kind_of(*members_[first]->pod) == kind);
    }
    return kPass;
  }
  Row row() const { return row_; }
  const Victims& back() const { return back_; }
  bool has_members() const { return !members_.empty(); }

 private:
  Clearing& clearing_;
  Asked& asked_;
  const Row row_;
  const Victims members_;
  Victims back_;
};

Clearing::Clearing(Preemptor& by, Placements& places, const Profile& profile, std::int32_t priority)
    : by_(by), places_(places), priority_(priority) {
  for (const auto& p : profile.admits)
    if (auto* const beside = dynamic_cast<RoomBeside*>(profile.plugins[p.index].plugin.get()))
      beside_.push_back(beside);
}

Clearing::~Clearing() {
  for (const auto& [row, pods] : aside_)
    for (const PodInfo* pod : pods) bring_back(row, *pod);
  for (const auto& [pod, row] : freed_)
    for (RoomBeside* beside : beside_) beside->bring_back(*pod);
}

void Clearing::set_aside(Row row, const Victims& victims) {
  if (victims.empty()) return;
  const auto known = std::ranges::find(aside_, row, &decltype(aside_)::value_type::first);
  Victims& gone = known != aside_.end() ? known->second : aside_.emplace_back(row, Victims{}).second;
  for (const PodInfo* victim : victims) {
    places_.set_aside(row, *victim);
    for (RoomBeside* beside : beside_) beside->set_aside(*victim);
    gone.push_back(victim);
  }
}

/// What it uses of its quota may stay free all the same.
void Clearing::bring_back(Row row, const PodInfo& victim) {
  places_.bring_back(row, victim);
  if (freed_.contains(&victim)) return;
  for (RoomBeside* beside : beside_) beside->bring_back(victim);
}

/// False: the quota that the preemptor is of has room for the pod, or it is of none.
bool Clearing::lacks_beside(const api::Pod& pod) {
  const PodInfo* const info = by_.beside_ != nullptr ? places_.find(pod) : nullptr;
  const VerdictId verdict = info != nullptr ? by_.beside_->beside(*info)->judge() : kPass;
  if (verdict == kPass) return false;
  why_ = {.nodes = by_.nodes_.nodes()};
  if (kept_)
    why_.reasons[std::string(Preemptor::kKeptByBudgets)] = why_.nodes;
  else if (freed_.empty())
    why_.reasons[std::string(Preemptor::kNoPotentialVictims)] = why_.nodes;
  else
    why_.count(by_.verdicts_[verdict], why_.nodes);
  return true;
}

/// By which, beside their kind, pods differ in whose going helps them.
Symbol Clearing::account(const api::Pod& pod) const {
  const PodInfo* const info = by_.beside_ != nullptr ? places_.find(pod) : nullptr;
  return info != nullptr ? by_.beside_->account(*info) : Symbol();
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
    const PodAttempt* const attempt = pod == &trigger ? places_.ask_of_nodes(trigger) : nullptr;
    ending = ending || attempt == nullptr || !by_.verdicts_[attempt->state().verdict(row)].unresolvable;
  }
  return std::string(never    ? Preemptor::kNever
                     : asked  ? Preemptor::kAsked
                     : ending ? Preemptor::kVictimsEnd
                              : std::string_view());
}

bool Clearing::place(const api::Pod& pod) {
  why_ = {};
  if (places_.place(pod).row != kNoRow) return true;
  if (by_.beside_ != nullptr && free_for(pod) && places_.place(pod).row != kNoRow) return true;
  if (lacks_beside(pod)) return false;
  const void* const kind = places_.kind_of(pod);
  const PodAttempt* attempt = places_.ask(pod);
  if (attempt == nullptr) return false;
  const bool over_rows = attempt->state().reaches_over_rows();
  reaches_over_rows_ = reaches_over_rows_ || over_rows;
  Candidates& all = candidates_[{kind, account(pod)}];
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

/// What all that may go for pods of its account use of that is free from now on. False: nothing more is.
bool Clearing::free_for(const api::Pod& pod) {
  const PodAttempt* const attempt = places_.ask_of_nodes(pod);
  if (attempt == nullptr || !freed_accounts_.insert(account(pod)).second) return false;
  std::unordered_map<const PodInfo*, Row> rows;
  Victims victims;
  for (Row row = 0; row < by_.nodes_.rows(); ++row) {
    if (!by_.nodes_.node(row) || by_.lowest_.of(row) >= priority_) continue;
    for (const PodInfo* victim : lower(row, *attempt)) {
      rows.emplace(victim, row);
      victims.push_back(victim);
    }
  }
  kept_ = keep_budgets(victims) || kept_;
  for (const PodInfo* victim : victims) {
    freed_.emplace(victim, rows.at(victim));
    for (RoomBeside* beside : beside_) beside->set_aside(*victim);
  }
  return !victims.empty();
}

bool Clearing::free_all(std::span<const api::Pod* const> pods) {
  if (by_.beside_ == nullptr) return false;
  for (const api::Pod* pod : pods) free_for(*pod);
  costs_.assign(by_.nodes_.rows(), 0);
  return !freed_.empty();
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
    if (by_.beside_ != nullptr) {
      bool kept = false;
      Victims victims;
      if (by_.lowest_.of(row) < priority_) victims = possible_victims(row, attempt, kept);
      if (victims.empty()) {
        ++all.nobody;
        ++all.without_victims[attempt.state().verdict(row)];
        continue;
      }
      found.push_back({row, job_priorities(victims)});
      costs.add(found.back().jobs);
      continue;
    }
    DryRuns::Entry own;
    const DryRuns::Entry* const victims =
        by_.lowest_.of(row) < priority_ ? &by_.dry_run(attempt, row, priority_, own) : nullptr;
    if (victims == nullptr || victims->run.outcome == DryRun::Outcome::nobody) {
      ++all.nobody;
      ++all.without_victims[attempt.state().verdict(row)];
      continue;
    }
    const DryRuns::Entry& entry = *victims;
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

/// Those on the row that may go for the pod, whatever budgets say.
Clearing::Victims Clearing::lower(Row row, const PodAttempt& attempt) const {
  const Symbol job = attempt.profile.job_of(attempt.pod);
  Victims victims;
  for (const PodInfo* other : by_.nodes_.pods(row))
    if (other->priority < priority_ && by_.may_go(*other, attempt.pod) &&
        (job.empty() || attempt.profile.job_of(*other) != job))
      victims.push_back(other);
  return victims;
}

/// Those are left that may go beside all that are set aside already. True: others would break a budget.
bool Clearing::keep_budgets(Victims& victims) const {
  if ((by_.jobs_ && by_.jobs_->breaks_budgets) || by_.budgets_.empty()) return false;
  // Who goes already costs no budget anything; of the others the least important first.
  const auto ends = std::partition(victims.begin(), victims.end(), [](const PodInfo* other) {
    return other->pod->metadata.deletion_timestamp.has_value();
  });
  std::sort(ends, victims.end(),
            [](const PodInfo* a, const PodInfo* b) { return more_important_of_jobs(*b, *a); });
  Victims asked;
  for (const auto& [other, gone] : aside_)
    for (const PodInfo* one : gone)
      if (!one->pod->metadata.deletion_timestamp) asked.push_back(one);
  const std::size_t before = asked.size();
  asked.insert(asked.end(), ends, victims.end());
  const Budgets::Answer answer = by_.budgets_.ask(asked);
  if (!answer.asked) return false;
  bool kept = false;
  victims.erase(ends, victims.end());
  for (std::size_t i = before; i < asked.size(); ++i) {
    if (!answer.broken[i]) victims.push_back(asked[i]);
    kept = kept || answer.broken[i];
  }
  return kept;
}

/// `kept`: others would break a budget.
Clearing::Victims Clearing::possible_victims(Row row, const PodAttempt& attempt, bool& kept) const {
  Victims victims = lower(row, attempt);
  if (by_.beside_ == nullptr)
    kept = keep_budgets(victims);
  else  // budgets were asked then
    std::erase_if(victims, [&](const PodInfo* victim) { return !freed_.contains(victim); });
  return victims;
}

/// `attempt`: what the nodes say of the pod, before and, if it has no place, after.
bool Clearing::place_on(const api::Pod& pod, Candidate& candidate, const PodAttempt*& attempt) {
  bool kept = false;
  const Victims victims = possible_victims(candidate.row, *attempt, kept);
  candidate.verdict = by_.verdict_without(*attempt, candidate.row, victims);
  if (candidate.verdict != kPass) {
    if (kept) candidate.verdict = kAbsent;  // it is for the budgets that it has to stay
    return false;
  }
  set_aside(candidate.row, victims);
  if (places_.place_on(pod, candidate.row).row != kNoRow) return true;
  // Somebody reserves nothing for it there.
  for (const PodInfo* victim : victims) bring_back(candidate.row, *victim);
  if (!victims.empty()) {
    Victims& gone = std::ranges::find(aside_, candidate.row, &decltype(aside_)::value_type::first)->second;
    gone.resize(gone.size() - victims.size());
  }
  attempt = places_.ask(pod);
  return false;
}

void Clearing::open_all(std::span<const api::Pod* const> pods) {
  std::set<std::pair<const void*, Symbol>> kinds;
  std::unordered_map<const PodInfo*, Row> rows;
  Victims victims;
  free_all(pods);
  for (const api::Pod* pod : pods) {
    const Symbol of = account(*pod);
    const void* const kind = places_.kind_of(*pod);
    if (kind != nullptr && !kinds.emplace(kind, of).second) continue;
    const PodAttempt* const attempt = places_.ask_of_nodes(*pod);
    if (attempt == nullptr) continue;
    reaches_over_rows_ = reaches_over_rows_ || attempt->state().reaches_over_rows();
    by_.list_rows(*attempt, attempt->state().diagnose());
    for (const Row row : by_.rows_) {
      if (by_.lowest_.of(row) >= priority_) continue;
      bool kept = false;
      for (const PodInfo* victim :
           by_.beside_ != nullptr ? possible_victims(row, *attempt, kept) : lower(row, *attempt))
        if (rows.emplace(victim, row).second) victims.push_back(victim);
    }
  }
  if (by_.beside_ == nullptr) keep_budgets(victims);
  std::map<Row, Victims> on;
  for (const PodInfo* victim : victims) on[rows.at(victim)].push_back(victim);
  std::map<Row, JobPriorities> jobs;
  JobCosts costs;
  for (const auto& [row, gone] : on) costs.add(jobs[row] = job_priorities(gone));
  costs.rank();
  costs_.assign(by_.nodes_.rows(), 0);
  for (const auto& [row, gone] : on) {
    // Of what costs as much the fewer jobs.
    costs_[row] = costs.of(jobs[row]) * kMostJobs + static_cast<std::int64_t>(jobs[row].size());
    set_aside(row, gone);
  }
  opened_ = true;
  why_ = {.nodes = by_.nodes_.nodes()};
  if (on.empty()) why_.reasons[std::string(Preemptor::kNoPotentialVictims)] = why_.nodes;
}

/// In Koordinator's words, which says of nodes without victims that there are none only where no other ones
/// are.
void Clearing::explain(const Candidates& all) {
  why_ = {.nodes = by_.nodes_.nodes(), .reasons = all.reasons};
  if (all.rows.empty() && all.nobody + all.no_help == 0)
    why_.reasons[std::string(Preemptor::kNotHelpful)] = why_.nodes;
  if (all.rows.empty() && all.no_help == 0 && all.nobody != 0)
    why_.reasons[std::string(Preemptor::kNoPotentialVictims)] = all.nobody;
  else
    for (const auto& [verdict, nodes] : all.without_victims)
      for (const std::string& reason : by_.verdicts_[verdict].reasons) why_.reasons[reason] += nodes;
  for (const Candidate& candidate : all.rows) {
    if (candidate.verdict == kAbsent) ++why_.reasons[std::string(Preemptor::kKeptByBudgets)];
    if (candidate.verdict == kPass || candidate.verdict == kAbsent) continue;
    for (const std::string& reason : by_.verdicts_[candidate.verdict].reasons) ++why_.reasons[reason];
  }
}

bool Clearing::accounts_hold() const {
  return std::ranges::all_of(accounts_,
                             [](const auto& account) { return account.first->holds(*account.second); });
}

/// Brings back whom nobody needs gone, the most important of jobs first.
void Clearing::spare() {
  std::unordered_map<Row, Victims> members;
  std::set<std::pair<RoomBeside*, Symbol>> known;
  accounts_.clear();
  for (const Placements::At& place : places_.places()) {
    members[place.row].push_back(place.pod);
    for (RoomBeside* beside : beside_)
      if (const Symbol of = beside->account(*place.pod); !of.empty() && known.emplace(beside, of).second)
        accounts_.emplace_back(beside, place.pod);
  }
  Asked asked;
  std::deque<Together> spaces;  // as aside_ has them
  struct Gone {
    const PodInfo* pod;
    Together* space;  // nullptr: it is on its row
  };
  std::vector<Gone> all;
  std::set<const PodInfo*> known_gone;
  for (const auto& [row, gone] : aside_) {
    Together& space = spaces.emplace_back(*this, asked, row, std::move(members[row]));
    known_gone.insert(gone.begin(), gone.end());
    // What does not fit without all of them is not for them.
    if (space.judge() != kPass) continue;
    for (const PodInfo* pod : gone) all.push_back({pod, &space});
  }
  for (const PodInfo* pod : known_gone) freed_.erase(pod);
  for (const auto& [pod, row] : freed_) all.push_back({pod, nullptr});
  std::ranges::sort(all, [](const Gone& a, const Gone& b) { return more_important_of_jobs(*a.pod, *b.pod); });
  for (const auto& [pod, space] : all) {
    if (space != nullptr) {
      space->add(*pod);
      if (space->judge() != kPass) space->remove(*pod);
      continue;
    }
    for (RoomBeside* beside : beside_) beside->bring_back(*pod);
    if (accounts_hold()) {
      freed_.erase(pod);
    } else {
      for (RoomBeside* beside : beside_) beside->set_aside(*pod);
    }
  }
  for (std::size_t i = 0; i < spaces.size(); ++i) {
    Victims& gone = aside_[i].second;
    for (const PodInfo* pod : spaces[i].back()) bring_back(spaces[i].row(), *pod);
    std::erase_if(gone, [&](const PodInfo* pod) {
      return std::ranges::find(spaces[i].back(), pod) != spaces[i].back().end();
    });
    std::ranges::sort(gone,
                      [](const PodInfo* a, const PodInfo* b) { return more_important_of_jobs(*a, *b); });
  }
}

/// Who is to go, by row: what is set aside, and whose share of a quota is needed.
std::vector<std::pair<Row, Clearing::Victims>> Clearing::victims() const {
  auto all = aside_;
  std::map<Row, Victims> others;
  for (const auto& [pod, row] : freed_) others[row].push_back(pod);
  for (auto& [row, gone] : others) {
    std::ranges::sort(gone,
                      [](const PodInfo* a, const PodInfo* b) { return more_important_of_jobs(*a, *b); });
    all.emplace_back(row, std::move(gone));
  }
  return all;
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

std::optional<PostFilterResult> Clearing::preempt(const api::Pod& trigger, std::string job) {
  const auto all = aside_;
  spare();
  if (reaches_over_rows_ && !all_fit()) {
    // Who came back to one node is in somebody's way on another.
    std::set<Row> with_members;
    for (const Placements::At& place : places_.places()) with_members.insert(place.row);
    for (const auto& [row, gone] : all) {
      if (opened_ && !with_members.contains(row)) continue;
      Victims back;
      const Victims& still = std::ranges::find(aside_, row, &decltype(aside_)::value_type::first)->second;
      for (const PodInfo* pod : gone)
        if (std::ranges::find(still, pod) == still.end()) back.push_back(pod);
      set_aside(row, back);
    }
    if (opened_ && !all_fit()) return std::nullopt;
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
  for (const auto& [row, gone] : victims()) {
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
