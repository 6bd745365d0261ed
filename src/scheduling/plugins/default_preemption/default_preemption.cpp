// DefaultPreemption: a pod that fits nowhere has pods of a lower priority removed from one node.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/classes/random.hpp"
#include "koord/scheduling/cluster/nominator.hpp"
#include "scheduling/classes/trial.hpp"
#include "scheduling/plugins/default_preemption/args.hpp"
#include "scheduling/plugins/default_preemption/dry_runs.hpp"
#include "scheduling/plugins/default_preemption/lowest_priorities.hpp"

namespace koord::scheduling {

namespace default_preemption {
namespace {

constexpr const char* kNobody = "No preemption victims found for incoming pod";
constexpr const char* kNotHelpful = "Preemption is not helpful for scheduling";

/// A row with the pods that are nominated to it, which come first, and without victims.
class Space final : public Vacancy {
 public:
  Space(ClassState& state, Row row, std::vector<const PodInfo*> nominated)
      : trial_(state, row), nominated_(std::move(nominated)) {}
  void remove(const PodInfo& pod) override { trial_.remove(pod); }
  void add(const PodInfo& pod) override { trial_.add(pod); }
  /// Those of the row as the pod sees it.
  std::vector<const PodInfo*> pods() const { return trial_.view().pods(); }
  VerdictId judge() override {
    if (!nominated_.empty()) {
      for (const PodInfo* pod : nominated_) trial_.add(*pod);
      const VerdictId verdict = trial_.verdict();
      for (const PodInfo* pod : nominated_) trial_.remove(*pod);
      if (verdict != kPass) return verdict;
    }
    return trial_.verdict();
  }

 private:
  Trial trial_;
  const std::vector<const PodInfo*> nominated_;
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

class DefaultPreemption final : public Plugin,
                                public PostFilterPlugin,
                                public PreEnqueuePlugin,
                                public EventPlugin {
 public:
  DefaultPreemption(const DefaultPreemptionArgs& args, const PluginContext& context)
      : args_(args),
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

  /// What is kept of a class is kept by priority, so that priorities do not tell classes apart.
  bool sign(const PodInfo&, Signature&) const override { return true; }

  /// Not while its victims are asked to go: what that makes free may not be seen yet.
  bool may_enqueue(const PodInfo& pod) const override {
    const auto it = waiting_.find(pod.pod->metadata.uid);
    if (it == waiting_.end()) return true;
    it->second = true;
    return false;
  }
  /// Its last attempt did, and its nomination does.
  std::string why_kept_out(const PodInfo&) const override { return {}; }
  void preempted(const api::Pod& pod, bool all) override {
    const auto it = waiting_.find(pod.metadata.uid);
    if (it == waiting_.end()) return;
    const bool wanted = it->second;
    waiting_.erase(it);
    // The same victim may be refused again and again.
    if (!all) return cycle_.back_off(pod);
    if (wanted) cycle_.activate(pod);
  }

  // It rejects nobody whom the others do not reject.
  EventMask events() const override { return events_of(EventKind::assigned_pod_delete); }
  bool worth_retrying(const PodInfo&, const ClusterEvent&) const override { return false; }

  PostFilterResult post_filter(PodAttempt& attempt, const Diagnosis& diagnosis) override {
    if (std::string why = not_eligible(attempt); !why.empty()) return refused(std::move(why));
    Search search(attempt);
    if (attempt.talk != nullptr && attempt.talk->answer != nullptr)
      return choose_among(search, *attempt.talk->answer);
    look_for_candidates(search, diagnosis);
    if (!search.best) return refused(fit_error(search.diagnosis), Symbol());
    if (attempt.talk != nullptr) return {.status = {StatusCode::pending, ""}};
    return preempt(attempt, search);
  }

 private:
  struct Search {
    explicit Search(PodAttempt& a) : attempt(a) {}
    PodAttempt& attempt;
    Row row = kNoRow;
    const DryRuns::Entry* best = nullptr;
    DryRuns::Entry held;  // where it is not kept
    Diagnosis diagnosis;  // if there is none
  };

  std::string not_eligible(const PodAttempt& attempt) const {
    const api::Pod& pod = *attempt.pod.pod;
    if (pod.spec.preemption_policy == "Never") return "not eligible due to preemptionPolicy=Never.";
    Symbol nominated = nominator_.node_of(attempt.pod);
    if (nominated.empty()) nominated = pod.status.nominated_node_name;
    const Row row = nominated.empty() ? kNoRow : nodes_.find(nominated.view());
    if (row == kNoRow || !nodes_.node(row) || verdicts_[attempt.state().verdict(row)].unresolvable) return "";
    for (const PodInfo* other : nodes_.pods(row))
      if (other->priority < attempt.pod.priority && ends_for_preemption(*other->pod))
        return "not eligible due to a terminating pod on the nominated node.";
    return "";
  }

  /// The rows that victims could make feasible.
  const std::vector<Row>& potential_rows(const PodAttempt& attempt, const Diagnosis& diagnosis) {
    rows_.clear();
    const bool as_a_whole = !diagnosis.prefilter_message.empty();
    if (as_a_whole && diagnosis.code != StatusCode::unschedulable) return rows_;
    for (Row row = 0; row < nodes_.rows(); ++row) {
      if (!nodes_.node(row)) continue;
      const VerdictId verdict = as_a_whole ? kPass : attempt.state().verdict(row);
      if (verdict == kAbsent || verdicts_[verdict].unresolvable) continue;
      if (!std::binary_search(attempt.hopeless.begin(), attempt.hopeless.end(), row)) rows_.push_back(row);
    }
    return rows_;
  }

  /// The best candidate of as many as the arguments say, from a random one on. kube-scheduler, too, looks
  /// further for one that breaks no budget.
  void look_for_candidates(Search& search, const Diagnosis& diagnosis) {
    const std::vector<Row>& rows = potential_rows(search.attempt, diagnosis);
    const std::size_t wanted = args_.candidates(rows.size());
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
      const DryRuns::Entry& entry = dry_run(search.attempt, row, own);
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
    if (looked_at < d.nodes) d.reasons[kNotHelpful] += d.nodes - static_cast<std::uint32_t>(looked_at);
  }

  /// Among the candidates that extenders have left. Victims that have gone since need not be asked to.
  PostFilterResult choose_among(Search& search, const ExtenderAnswer& answer) {
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
  std::vector<const PodInfo*> nominated_before(const PodAttempt& attempt, const Symbol& job, Row row) const {
    std::vector<const PodInfo*> before;
    for (const PodInfo* other : nominator_.on(row))
      if (attempt.profile.yields(attempt.pod, job, *other, nominator_)) before.push_back(other);
    return before;
  }

  /// `own` is used where nothing is kept.
  const DryRuns::Entry& dry_run(const PodAttempt& attempt, Row row, DryRuns::Entry& own) {
    ClassState& state = attempt.state();
    const PodInfo& pod = attempt.pod;
    const auto nominated = nominator_.on(row);
    const Symbol job = nominated.empty() ? Symbol() : attempt.profile.job_of(pod);
    // Its own nomination is nobody else's, and whom its job spares is not what the class spares.
    const bool keep = !state.reaches_over_rows() && job.empty() &&
                      std::find(nominated.begin(), nominated.end(), &pod) == nominated.end();
    DryRuns::Entry& entry = keep ? kept(state, pod.priority, row) : own;
    DryRuns::Stamp stamp{nodes_.changes(row), nominator_.changes(row), state.delta_version(row),
                         budgets_.version()};
    if (entry.made && !entry.run.budgets_asked) stamp.budgets = budgets_.selectors_version();
    if (entry.made && entry.stamp == stamp) return entry;
    Space space(state, row, nominated_before(attempt, job, row));
    entry.run = stamp.delta == 0 ? select_victims(space, nodes_.pods(row), pod.priority, budgets_)
                                 : select_victims(space, space.pods(), pod.priority, budgets_);
    entry.loss = entry.run.victims.loss();
    entry.stamp = stamp;
    entry.stamp.budgets = entry.run.budgets_asked ? budgets_.version() : budgets_.selectors_version();
    entry.made = true;
    return entry;
  }

  DryRuns::Entry& kept(ClassState& state, std::int32_t priority, Row row) const {
    auto* runs = state.kept<DryRuns>();
    if (runs == nullptr || runs->priority != priority) {
      runs = &state.keep(std::make_unique<DryRuns>());
      runs->priority = priority;
    }
    if (runs->rows.size() < nodes_.rows()) runs->rows.resize(nodes_.rows());
    return runs->rows[row];
  }

  PostFilterResult preempt(const PodAttempt& attempt, const Search& search) {
    const PodInfo& pod = attempt.pod;
    const Victims& victims = search.best->run.victims;
    PostFilterResult result{.nominate = nodes_.name(search.row),
                            .preemption = {.chosen = victims.pods.size(), .tried = true}};
    Preemption& p = result.preemption;
    for (const PodInfo* victim : victims.pods) {
      const std::string& uid = victim->pod->metadata.uid;
      if (victim->pod->metadata.deletion_timestamp) continue;
      const bool waited = cycle_.reject(uid, index_, "preempted");
      p.victims.push_back({victim->pod, waited});
    }
    if (p.victims.empty()) return result;
    for (const PodInfo* other : nominator_.on(search.row))
      if (other->priority < pod.priority && !nominator_.is_foreign(*other))
        p.nominations.push_back({other->pod});
    waiting_[pod.pod->metadata.uid] = false;
    return result;
  }

  const DefaultPreemptionArgs args_;
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
  std::vector<Row> rows_;  // reused
};

}  // namespace
}  // namespace default_preemption

extern const PluginEntry kDefaultPreemption{
    .name = "DefaultPreemption",
    .args = &args_type<default_preemption::DefaultPreemptionArgs>,
    .make = &make_with<default_preemption::DefaultPreemption, default_preemption::DefaultPreemptionArgs>};

}  // namespace koord::scheduling
