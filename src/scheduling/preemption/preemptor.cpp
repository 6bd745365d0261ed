// Preemptor: see preemptor.hpp.
#include "scheduling/preemption/preemptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "scheduling/classes/trial.hpp"
#include "scheduling/preemption/victims.hpp"

namespace koord::scheduling::preemption {

namespace {

constexpr const char* kNobody = "No preemption victims found for incoming pod";

/// A row with the pods that are nominated to it, which come first, and without victims.
class Space final : public Vacancy {
 public:
  /// `alone`: see Profile::with_nominated_alone.
  Space(ClassState& state, Row row, std::vector<const PodInfo*> nominated, bool alone,
        std::unique_ptr<Vacancy> beside = nullptr)
      : trial_(state, row), nominated_(std::move(nominated)), alone_(alone), beside_(std::move(beside)) {}
  void remove(const PodInfo& pod) override {
    trial_.remove(pod);
    if (beside_) beside_->remove(pod);
  }
  void add(const PodInfo& pod) override {
    trial_.add(pod);
    if (beside_) beside_->add(pod);
  }
  /// Those of the row as the pod sees it.
  std::vector<const PodInfo*> pods() const { return trial_.view().pods(); }
  VerdictId judge() override {
    VerdictId verdict = kPass;
    if (!nominated_.empty()) {
      for (const PodInfo* pod : nominated_) trial_.add(*pod);
      verdict = trial_.verdict();
      for (const PodInfo* pod : nominated_) trial_.remove(*pod);
    }
    if (verdict == kPass && (nominated_.empty() || !alone_)) verdict = trial_.verdict();
    return verdict == kPass && beside_ ? beside_->judge() : verdict;
  }

 private:
  Trial trial_;
  const std::vector<const PodInfo*> nominated_;
  const bool alone_;
  const std::unique_ptr<Vacancy> beside_;
};

bool ends_for_preemption(const api::Pod& pod) {
  if (!pod.metadata.deletion_timestamp) return false;
  const auto& conditions = pod.status.conditions;
  const auto it = std::find_if(conditions.begin(), conditions.end(),
                               [](const api::PodCondition& c) { return c.type == "DisruptionTarget"; });
  return it != conditions.end() && it->status == "True" && it->reason == "PreemptionByScheduler";
}

PostFilterResult refused(std::string why, std::optional<Symbol> nominate = {}) {
  return {.status = {StatusCode::unschedulable, fmt::format("preemption: {}", why)},
          .nominate = std::move(nominate),
          .preemption = {.tried = true}};
}

/// Of a placeholder that it was looked for a node that empties already.
struct LookedForEmptying {};

}  // namespace

Preemptor::Preemptor(const PluginContext& context, Sample sample, Spares spares)
    : sample_(sample),
      spares_(spares),
      nodes_(context.nodes),
      verdicts_(context.verdicts),
      nominator_(context.nominator),
      cycle_(context.cycle),
      index_(context.index),
      lowest_(context.nodes) {
  context.observe(lowest_);
  auto& budgets = context.objects.watch<api::PodDisruptionBudget>();
  budgets.on_change([this](const auto* before, const auto* now) { budgets_.change(before, now); });
}

Preemptor::Preemptor(const PluginContext& context, Sample sample, const RoomBeside& beside)
    : Preemptor(context, sample) {
  beside_ = &beside;
}

Preemptor::Preemptor(const PluginContext& context, JobRule rule, Spares spares)
    : Preemptor(context, Sample{}, spares) {
  jobs_ = rule;
}

bool Preemptor::may_enqueue(const PodInfo& pod) const {
  const auto it = waiting_.find(pod.pod->metadata.uid);
  if (it == waiting_.end()) return true;
  it->second = true;
  return false;
}

Symbol Preemptor::nomination(const PodInfo& pod) const {
  Symbol node = nominator_.node_of(pod);
  return node.empty() ? pod.pod->status.nominated_node_name : node;
}

void Preemptor::preempted(const api::Pod& pod, bool all) {
  const auto it = waiting_.find(pod.metadata.uid);
  if (it == waiting_.end()) return;
  const bool wanted = it->second;
  waiting_.erase(it);
  // The same victim may be refused again and again.
  if (!all) return cycle_.back_off(pod);
  if (wanted) cycle_.activate(pod);
}

PostFilterResult Preemptor::make_room(PodAttempt& attempt, const Diagnosis& diagnosis) {
  if (std::string why = not_eligible(attempt); !why.empty())
    return refused(std::move(why), kept_nomination(attempt.pod));
  Search search(attempt);
  if (attempt.talk != nullptr && attempt.talk->answer != nullptr)
    return choose_among(search, *attempt.talk->answer);
  list_rows(attempt, diagnosis);
  if (const auto row = row_that_empties(attempt))
    return {.nominate = nodes_.name(*row), .preemption = {.tried = true}};
  jobs_ ? look_by_jobs(search) : look_for_candidates(search);
  if (!search.best) {
    // No row is in its way: victims would not help against what refuses it.
    if (jobs_ && search.diagnosis.reasons.empty()) return {.status = {StatusCode::unschedulable, {}}};
    return refused(fit_error(search.diagnosis), Symbol());
  }
  if (attempt.talk != nullptr && !jobs_) return {.status = {StatusCode::pending, ""}};
  return preempt(attempt, search);
}

/// Of a pod the status says it; what stands for another object may have it nowhere but here.
std::optional<Symbol> Preemptor::kept_nomination(const PodInfo& pod) const {
  Symbol node = jobs_ || is_placeholder(*pod.pod) ? nominator_.node_of(pod) : Symbol();
  return node.empty() ? std::nullopt : std::optional(std::move(node));
}

std::string Preemptor::not_eligible(const PodAttempt& attempt) const {
  const api::Pod& pod = *attempt.pod.pod;
  if (pod.spec.preemption_policy == "Never") return std::string(kNever);
  if (!may_enqueue(attempt.pod)) return std::string(kAsked);
  const Row row = nominated_row(attempt.pod);
  if (row == kNoRow || verdicts_[attempt.state().verdict(row)].unresolvable ||
      !waits_for_victims(attempt.pod, row))
    return "";
  return std::string(jobs_ ? kVictimsEnd : "not eligible due to a terminating pod on the nominated node.");
}

/// kNoRow: it is nominated to no node that is there.
Row Preemptor::nominated_row(const PodInfo& pod) const {
  const Symbol nominated = nomination(pod);
  const Row row = nominated.empty() ? kNoRow : nodes_.find(nominated.view());
  return row != kNoRow && nodes_.node(row) ? row : kNoRow;
}

bool Preemptor::waits_for_victims(const PodInfo& pod, Row nominated) const {
  return std::ranges::any_of(nodes_.pods(nominated), [&](const PodInfo* other) {
    return other->priority < pod.priority && ends_for_preemption(*other->pod) &&
           (!jobs_ || may_go(*other, pod));
  });
}

void Preemptor::list_rows(const PodAttempt& attempt, const Diagnosis& diagnosis) {
  rows_.clear();
  if (!diagnosis.prefilter_message.empty()) {  // said of all nodes alike
    if (diagnosis.code != StatusCode::unschedulable) return;
    for (Row row = 0; row < nodes_.rows(); ++row)
      if (nodes_.node(row)) rows_.push_back(row);
  } else {
    attempt.state().verdicts(by_row_);
    VerdictId last = kAbsent;
    bool out = true;  // where `last` is said
    for (Row row = 0; row < by_row_.size(); ++row) {
      if (by_row_[row] != last) {
        last = by_row_[row];
        out = last == kAbsent || verdicts_[last].unresolvable;
      }
      if (!out) rows_.push_back(row);
    }
  }
  if (attempt.hopeless.empty()) return;
  std::erase_if(rows_, [&](Row row) {
    return std::binary_search(attempt.hopeless.begin(), attempt.hopeless.end(), row);
  });
}

/// Where a placeholder was nominated, its object need not say. Who is tried for the first time since a start
/// goes where pods that somebody preempted end and leave room enough, before others are asked to go.
std::optional<Row> Preemptor::row_that_empties(const PodAttempt& attempt) {
  const PodInfo& pod = attempt.pod;
  if (!is_placeholder(*pod.pod) || pod.kept.find<LookedForEmptying>() != nullptr) return {};
  pod.kept.put(std::make_shared<LookedForEmptying>());
  if (!nominator_.node_of(pod).empty()) return {};
  const Symbol job = attempt.profile.job_of(pod);
  std::vector<const PodInfo*> ending;
  for (const Row row : rows_) {
    if (lowest_.of(row) >= pod.priority) continue;
    ending.clear();
    for (const PodInfo* other : nodes_.pods(row))
      if (other->priority < pod.priority && ends_for_preemption(*other->pod)) ending.push_back(other);
    if (ending.empty()) continue;
    Space space(attempt.state(), row, nominated_before(attempt, job, row),
                attempt.profile.with_nominated_alone);
    for (const PodInfo* other : ending) space.remove(*other);
    if (space.judge() == kPass) return row;
  }
  return {};
}

/// The best candidate of as many as the arguments say, from a random one on. kube-scheduler, too, looks
/// further for one that breaks no budget.
void Preemptor::look_for_candidates(Search& search) {
  const std::vector<Row>& rows = rows_;
  const std::size_t wanted = sample_.of(rows.size());
  std::size_t fine = 0, breaking = 0, looked_at = 0, nobody = 0;
  std::unordered_map<VerdictId, std::uint32_t> no_help;
  std::map<std::string, std::uint32_t> odd;
  const std::size_t from = rows.empty() ? 0 : random_.below(static_cast<std::uint32_t>(rows.size()));
  for (; looked_at < rows.size() && (fine == 0 || fine + breaking < wanted); ++looked_at) {
    const Row row = rows[(from + looked_at) % rows.size()];
    if (lowest_.of(row) >= search.attempt.pod.priority) {
      ++nobody;
      continue;
    }
    DryRuns::Entry own;
    const DryRuns::Entry& entry = dry_run(search.attempt, row, search.attempt.pod.priority, own);
    switch (entry.run.outcome) {
      case DryRun::Outcome::nobody: ++nobody; continue;
      case DryRun::Outcome::no_help: ++no_help[entry.run.verdict]; continue;
      case DryRun::Outcome::no_one_needs:
        ++odd[fmt::format("expected at least one victim pod on node \"{}\"", nodes_.name(row).view())];
        continue;
      case DryRun::Outcome::victims: break;
    }
    if (entry.loss.violations == 0) {
      ++fine;
    } else if (breaking < wanted) {
      ++breaking;
    } else {
      continue;
    }
    if (VictimTalk* talk = search.attempt.talk) {
      auto& candidate = talk->candidates[nodes_.name(row).str()];
      for (const PodInfo* pod : entry.run.victims.pods) candidate.pods.push_back(pod->pod);
      candidate.violations = entry.run.victims.violations;
    }
    if (search.best != nullptr && !(entry.loss < search.best->loss)) continue;
    search.row = row;
    search.best = &entry;
    if (&entry == &own) search.best = &(search.held = std::move(own));
  }
  if (search.best != nullptr) return;
  Diagnosis& d = search.diagnosis;
  d.nodes = nodes_.nodes();
  d.reasons = std::move(odd);
  if (nobody > 0) d.reasons[kNobody] += static_cast<std::uint32_t>(nobody);
  for (const auto& [verdict, count] : no_help)
    for (const std::string& reason : verdicts_[verdict].reasons) d.reasons[reason] += count;
  if (looked_at < d.nodes)
    d.reasons[std::string(kNotHelpful)] += d.nodes - static_cast<std::uint32_t>(looked_at);
}

/// The one that costs least of all.
void Preemptor::look_by_jobs(Search& search) {
  struct Candidate {
    Row row;
    const DryRuns::Entry* entry;
  };
  std::vector<Candidate> candidates;
  std::deque<DryRuns::Entry> own;  // what is not kept
  JobCosts costs;
  const PodAttempt& attempt = search.attempt;
  std::map<std::string, std::uint32_t>& reasons = search.diagnosis.reasons;
  std::uint32_t nobody = 0;
  std::map<VerdictId, std::uint32_t> without_victims;
  for (const Row row : rows_) {
    const DryRuns::Entry* entry = nullptr;
    if (lowest_.of(row) < attempt.pod.priority) {
      entry = &dry_run(attempt, row, attempt.pod.priority, own.emplace_back());
      if (entry != &own.back()) own.pop_back();
    }
    if (entry == nullptr || entry->run.outcome == DryRun::Outcome::nobody) {
      ++nobody;
      ++without_victims[attempt.state().verdict(row)];
      continue;
    }
    costs.add(entry->jobs);
    candidates.push_back({row, entry});
  }
  costs.rank();
  std::int64_t least = 0;
  for (const auto& [row, entry] : candidates) {
    const DryRun& run = entry->run;
    if (run.outcome == DryRun::Outcome::no_help)
      for (const std::string& reason : verdicts_[run.verdict].reasons) ++reasons[reason];
    if (run.outcome != DryRun::Outcome::victims) continue;
    if (run.victims.violations > 0 && !jobs_->breaks_budgets) {
      ++reasons[std::string(kKeptByBudgets)];
      continue;
    }
    const std::int64_t cost = costs.of(entry->jobs);
    if (search.best != nullptr &&
        (cost > least || (cost == least && nodes_.name(row).view() > nodes_.name(search.row).view())))
      continue;
    least = cost;
    search.row = row;
    search.best = entry;
  }
  if (search.best != nullptr) {
    for (DryRuns::Entry& entry : own)
      if (&entry == search.best) search.best = &(search.held = std::move(entry));
    return;
  }
  // In Koordinator's words, which says of nodes without victims that there are none only where no other ones
  // are.
  search.diagnosis.nodes = nodes_.nodes();
  if (rows_.empty()) reasons[std::string(kNotHelpful)] = nodes_.nodes();
  if (candidates.empty()) {
    if (nobody > 0) reasons[std::string(kNoPotentialVictims)] = nobody;
    return;
  }
  for (const auto& [verdict, nodes] : without_victims)
    for (const std::string& reason : verdicts_[verdict].reasons) reasons[reason] += nodes;
}

/// Among the candidates that extenders have left. Victims that have gone since need not be asked to.
PostFilterResult Preemptor::choose_among(Search& search, const ExtenderAnswer& answer) {
  if (!answer.victims_error.empty())
    return {.status = {StatusCode::error, fmt::format("preemption: {}", answer.victims_error)},
            .preemption = {.tried = true}};
  for (const auto& [node, named] : *answer.victims) {
    const Row row = nodes_.find(node);
    if (row == kNoRow || !nodes_.node(row)) continue;
    DryRuns::Entry entry;
    entry.run.victims.violations = named.violations;
    for (const std::string& uid : named.pods)
      for (const PodInfo* pod : nodes_.pods(row))
        if (pod->pod->metadata.uid == uid) entry.run.victims.pods.push_back(pod);
    if (entry.run.victims.pods.empty()) continue;
    entry.loss = entry.run.victims.loss();
    if (search.best != nullptr && !(entry.loss < search.best->loss)) continue;
    search.row = row;
    search.best = &(search.held = std::move(entry));
  }
  if (search.best == nullptr) return refused("no candidate node for preemption");
  return preempt(search.attempt, search);
}

/// Those that come before it: of the same priority, too.
std::vector<const PodInfo*> Preemptor::nominated_before(const PodAttempt& attempt, const Symbol& job,
                                                        Row row) const {
  std::vector<const PodInfo*> before;
  for (const PodInfo* other : nominator_.on(row))
    if (attempt.profile.yields(attempt.pod, job, *other, nominator_)) before.push_back(other);
  return before;
}

/// What would be said with these gone, of the pod beside those that are nominated to the row.
VerdictId Preemptor::verdict_without(const PodAttempt& attempt, Row row,
                                     std::span<const PodInfo* const> gone) const {
  Space space(attempt.state(), row, nominated_before(attempt, attempt.profile.job_of(attempt.pod), row),
              attempt.profile.with_nominated_alone);
  for (const PodInfo* pod : gone) space.remove(*pod);
  return space.judge();
}

/// `own` is used where nothing is kept. Those of a lower priority than `priority` may go.
const DryRuns::Entry& Preemptor::dry_run(const PodAttempt& attempt, Row row, std::int32_t priority,
                                         DryRuns::Entry& own) {
  ClassState& state = attempt.state();
  const PodInfo& pod = attempt.pod;
  const auto nominated = nominator_.on(row);
  const Symbol job = nominated.empty() ? Symbol() : attempt.profile.job_of(pod);
  // Its own nomination is nobody else's, and whom its job spares is not what the class spares.
  const bool keep = beside_ == nullptr && !state.reaches_over_rows() && job.empty() &&
                    std::find(nominated.begin(), nominated.end(), &pod) == nominated.end();
  DryRuns::Entry& entry = keep ? kept(state, priority, row) : own;
  DryRuns::Stamp stamp{nodes_.changes(row), nominator_.changes(row), state.delta_version(row),
                       budgets_.version()};
  if (entry.made && !entry.run.budgets_asked) stamp.budgets = budgets_.selectors_version();
  if (entry.made && entry.stamp == stamp) return entry;
  Space space(state, row, nominated_before(attempt, job, row), attempt.profile.with_nominated_alone,
              beside_ != nullptr ? beside_->beside(pod) : nullptr);
  std::vector<const PodInfo*> seen;  // if it is not all of the row's
  if (stamp.delta != 0) seen = space.pods();
  std::span<const PodInfo* const> pods =
      stamp.delta != 0 ? std::span<const PodInfo* const>(seen) : nodes_.pods(row);
  if (spares_ != nullptr || beside_ != nullptr) {
    if (stamp.delta == 0) seen.assign(pods.begin(), pods.end());
    std::erase_if(seen, [&](const PodInfo* other) { return !may_go(*other, pod); });
    pods = seen;
  }
  static const Budgets kNone;
  entry.run = select_victims(space, pods, priority, jobs_ && jobs_->breaks_budgets ? kNone : budgets_,
                             jobs_ ? &more_important_of_jobs : &more_important);
  if (jobs_) {
    std::vector<const PodInfo*> lower;
    for (const PodInfo* other : pods)
      if (other->priority < priority) lower.push_back(other);
    entry.jobs = job_priorities(lower);
  }
  entry.loss = entry.run.victims.loss();
  entry.stamp = stamp;
  entry.stamp.budgets = entry.run.budgets_asked ? budgets_.version() : budgets_.selectors_version();
  entry.made = true;
  return entry;
}

DryRuns::Entry& Preemptor::kept(ClassState& state, std::int32_t priority, Row row) const {
  auto* all = state.kept<DryRuns>();
  if (all == nullptr) all = &state.keep(std::make_unique<DryRuns>());
  DryRuns::OfPlugin& runs = all->of(index_);
  if (runs.priority != priority) {
    runs.rows.clear();
    runs.priority = priority;
  }
  if (runs.rows.size() < nodes_.rows()) runs.rows.resize(nodes_.rows());
  return runs.rows[row];
}

/// One that is to go, unless it goes already.
void Preemptor::note(const PodInfo& victim, Preemption& preemption) const {
  if (victim.pod->metadata.deletion_timestamp) return;
  const bool waited = cycle_.reject(victim.pod->metadata.uid, index_, "preempted");
  preemption.victims.push_back({victim.pod, waited});
}

PostFilterResult Preemptor::preempt(const PodAttempt& attempt, const Search& search) {
  const PodInfo& pod = attempt.pod;
  const Victims& victims = search.best->run.victims;
  PostFilterResult result{.nominate = nodes_.name(search.row),
                          .preemption = {.chosen = victims.pods.size(), .tried = true}};
  Preemption& p = result.preemption;
  if (jobs_) p.job = text(placed_name(*pod.pod));
  for (const PodInfo* victim : victims.pods) note(*victim, p);
  if (p.victims.empty()) return result;
  for (const PodInfo* other : nominator_.on(search.row))
    if (other->priority < pod.priority && !nominator_.is_foreign(*other))
      p.nominations.push_back({other->pod});
  waiting_[pod.pod->metadata.uid] = false;
  return result;
}

}  // namespace koord::scheduling::preemption
