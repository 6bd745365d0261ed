// The QoS manager's tick: plans, decisions, the journal, the writes; and setting free.
#include "framework/qos/manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "framework/executor/knob_values.hpp"
#include "framework/qos/group_tree.hpp"
#include "framework/qos/managed_strategy.hpp"
#include "framework/qos/undo.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet {
namespace {
using host::Knob;
/// Whether the group has none of another knob while this is decided (KnobRow::suspends).
bool suspends(const Arbiter::Decision& decision) {
  return host::row(decision.intent->knob).suspends && *decision.value == KnobValue(std::int64_t{1});
}

/// How often the files of what is in force are looked at: of a plan that stands, and of others what is below
/// the groups that they name, or sets them free.
constexpr nanoseconds kLookAgain = std::chrono::seconds(10);
constexpr nanoseconds kForgetAfter = std::chrono::minutes(5), kForgetEvery = std::chrono::minutes(1);
constexpr nanoseconds kLogAgain = std::chrono::minutes(5);
constexpr std::string_view kWaiting = "waiting for the NodeSLO: what is held back stays so";
constexpr std::string_view kWaitingForPods = "waiting for the node's pods: what is held back stays so";
constexpr std::string_view kAdopted = "held back since an earlier agent",
                           kSetFree = "set free: nothing is wanted of it any more";

constexpr metrics::Metric kLimited{
    .name = "koordlet_limited_groups",
    .type = metrics::Type::gauge,
    .help = "Cgroup knobs that the agent holds away from what sets them free."};
constexpr metrics::Metric kConflicts{.name = "koordlet_plan_conflicts_total",
                                     .help = "Values that a strategy wanted and did not get."};

}  // namespace

const metrics::Table QosManager::kMetrics = {&kLimited, &kConflicts};

class QosManager::Impl final : public KnobReader {
 public:
  Impl(Dependencies with, Options options)
      : executor_(with.executor),
        clock_(with.clock),
        log_(with.log),
        options_(std::move(options)),
        tree_(with.executor, with.clock, options_.relist),
        arbiter_(with.executor, tree_),
        journal_(options_.journal),
        forgot_(with.clock.mono()),
        limited_(with.metrics.gauge(kLimited)),
        conflicts_(with.metrics.counter(kConflicts)),
        actions_(with.actions),
        processes_(std::move(with.processes)),
        resctrl_(with.resctrl),
        context_{with.executor.version(),
                 *this,
                 std::move(with.topology),
                 with.gates,
                 with.clock,
                 with.log,
                 with.metrics,
                 with.series,
                 with.actions,
                 options_.seconds,
                 options_.is_set,
                 with.resctrl} {}

  Result<> make(StrategyTable table) {
    for (const StrategyEntry* row : table) {
      auto strategy = row->make(context_);
      if (!strategy) return std::move(strategy).error().context(row->name);
      ManagedStrategy::Settings settings;
      settings.enabled =
          row->gates.empty() || std::any_of(row->gates.begin(), row->gates.end(),
                                            [this](auto gate) { return context_.gates.enabled(gate); });
      if (!row->interval.empty()) {
        settings.interval = options_.seconds(row->interval);
        settings.enabled = settings.enabled && settings.interval.count() > 0;
      }
      const auto keeper = std::ranges::find(processes_, row->sets, &ProcessSettings::kind);
      settings.processes = keeper != processes_.end() ? *keeper : nullptr;
      settings.groups = row->cache_groups ? resctrl_ : nullptr;
      settings.dry = std::erase(options_.dry_run, row->name) > 0;
      strategies_.push_back({.row = row, .strategy = std::move(*strategy), .settings = settings});
    }
    if (resctrl_ != nullptr) resctrl_->expect(std::ranges::count(table, true, &StrategyEntry::cache_groups));
    if (!options_.dry_run.empty())
      return Error(Code::invalid, fmt::format("no strategy has the name \"{}\"", options_.dry_run.front()));
    if (const auto loaded = journal_.load(); !loaded)
      log_.warn("cannot read what an earlier agent throttled; looking at the known groups only",
                kv("error", loaded.error()));
    else if (!journal_.entries().empty())
      log_.info("found what an earlier agent throttled", kv("groups", journal_.entries().size()));
    if (journal_.unknown_rows() > 0)
      log_.warn(
          "an agent of another version changed files that this one does not know: they stay as they are",
          kv("files", journal_.unknown_rows()));
    return {};
  }

  void tick(const TickView& view) {
    const Inventory& inventory = *view.inventory;
    inventory_ = &inventory;
    actions_.tick(inventory, view.pods_listed);
    if (inventory.pods_known) ahead_.begin(clock_.mono());
    tree_.start_tick(inventory.generation);
    const bool changed = std::exchange(generation_, inventory.generation) != inventory.generation;
    if (changed) {
      executor_.retry_absent();
      executor_.look_again(Knob::cpu_quota);  // the kubelet may have resized a pod, which it tells afterwards
    }
    if (changed || view.facts != facts_)
      for (ManagedStrategy& one : strategies_) {
        one.turn.stands = false;
        one.turn.look_at = {};
      }
    facts_ = view.facts;
    // Which CPUs are exclusively somebody's holds for what was set free, too.
    if (std::exchange(own_cpus_, inventory.own_cpus) != inventory.own_cpus)
      for (ManagedStrategy& one : strategies_) one.off.released = false;
    for (ManagedStrategy& one : strategies_) ask(one, view);
    for (ProcessSettings* const processes : processes_) processes->tick();
    if (resctrl_ != nullptr && resctrl_->tick()) executor_.retry_absent();
    const Executor::Outcome outcome = settle(Executor::Pace::limited);
    const MonoTime now = clock_.mono();
    for (ManagedStrategy& one : strategies_)
      if (now >= one.turn.look_at) one.turn.look_at = now + kLookAgain;
    if (!inventory.be_roots.empty())
      for (std::uint32_t i = 0; i < strategies_.size(); ++i)
        if (strategies_[i].off.is && is_settled(i)) strategies_[i].off.released = true;
    if (outcome.failed + outcome.absent > 0) tree_.forget();  // a group has come or gone
    if (clock_.mono() - forgot_ >= kForgetEvery) {
      forgot_ = clock_.mono();
      executor_.forget_unused(kForgetAfter);
    }
  }

  Result<> write_ahead(std::span<const Ahead::Value> values) {
    return ahead_.write(values, executor_, arbiter_, journal_, clock_.mono());
  }
  Result<> note_given(std::span<const Ahead::Given> values) {
    return ahead_.note(values, executor_, journal_, clock_.mono());
  }
  Result<std::size_t> cleanup(const Inventory& inventory) {
    inventory_ = &inventory;
    ahead_.forget();
    tree_.start_tick(inventory.generation);
    tree_.forget();
    for (ManagedStrategy& one : strategies_) {
      one.plan.start(one.row->name);
      one.delta = PlanDelta::changed;
      one.strategy->release(inventory, one.plan);
    }
    const Executor::Outcome outcome = settle(Executor::Pace::at_once);
    const GivenBack given = give_back(processes_, resctrl_);
    const Result<> freed = end_cleanup();
    if (given.failed) return *given.failed;
    KOORD_CHECK(freed);
    return outcome.written + given.count;
  }
  Result<> end_cleanup() {
    if (std::ranges::any_of(strategies_,
                            [](const ManagedStrategy& one) { return one.plan.keeps(Knob::cpuset_cpus); }))
      KOORD_CHECK(settle_kept());
    KOORD_CHECK(check_all_free(executor_, journal_));
    KOORD_CHECK(journal_.save());
    if (journal_.unknown_rows() > 0)
      return Error(Code::unsupported,
                   fmt::format("not everything could be set free: {} files that an agent of another version "
                               "changed and this one does not know",
                               journal_.unknown_rows()));
    return {};
  }

  std::string narrow_groups(const Inventory& inventory) {
    tree_.start_tick(inventory.generation);
    return koordlet::narrow_groups(inventory, context_.topology().get(), tree_, executor_);
  }

  Result<KnobValue> current(Knob knob, std::string_view group, std::string_view key) override {
    return executor_.current(knob, group, key);
  }
  Result<KnobValue> original(Knob knob, std::string_view group, std::string_view key) override {
    if (const auto* entry = journal_.find(knob, group, key)) return entry->free;
    return executor_.setting(knob, group, key);
  }
  std::optional<Error> refused(Knob knob, std::string_view group, std::string_view key) override {
    return executor_.refused(knob, group, key);
  }
  bool is_others(Knob knob, std::string_view group, std::string_view key) override {
    return executor_.is_others(executor_.known(knob, group, key));
  }
  Result<std::string_view> reading(Knob knob, std::string_view group) override {
    return executor_.reading(knob, group);
  }

  std::vector<StrategyReport> strategies() const {
    std::vector<StrategyReport> reports;
    reports.reserve(strategies_.size());
    for (const ManagedStrategy& one : strategies_) {
      std::optional<nanoseconds> held;
      if (one.hold.since) held = clock_.mono() - *one.hold.since;
      reports.push_back({one.row->name, one.settings.enabled, one.status(), held});
    }
    return reports;
  }

  std::vector<Limit> limits() const {
    std::vector<Limit> limits;
    for (const ManagedStrategy& one : strategies_)
      for (const Intent& intent : one.plan.intents()) {
        const KnobId target = executor_.known(intent.knob, intent.group, intent.key);
        const auto* decision = arbiter_.find(target);
        const bool in_force =
            decision && decision->intent == &intent && executor_.holds(target, *decision->value);
        limits.push_back({intent.knob, name_of(intent.group, intent.key), to_string(intent.value),
                          intent.strategy, intent.reason, in_force, intent.held});
      }
    return limits;
  }

  std::vector<Executor::Failure> failures() const { return executor_.failures(); }

 private:
  /// Has a strategy make its plan, where it is its time, and that plan's actions begin.
  void ask(ManagedStrategy& one, const TickView& view) {
    const Inventory& inventory = *view.inventory;
    const bool needs_slo = one.row->needs_slo;
    const bool acting = needs_slo ? inventory.slo != nullptr : inventory.pods_known;
    const bool told_nothing = needs_slo && inventory.slo_known;
    const bool waiting = !acting && !(told_nothing && inventory.pods_known);
    one.delta = PlanDelta::none;
    if (acting && one.settings.enabled && !one.is_asked(view)) return;  // its last plan counts
    one.delta = PlanDelta::changed;
    one.turn.next = one.turn.looks = acting ? view.at + one.settings.interval : MonoTime{};
    if (one.is_on_change()) one.turn.look_at = {};
    one.plan.start(one.row->name);
    one.off.is = !one.settings.enabled || !(acting || waiting);
    if (one.off.is) {
      one.hold.since.reset();
      if (!one.off.released) one.strategy->release(inventory, one.plan);
      one.hand_over(false);
      if (one.plan.repeats()) one.delta = PlanDelta::repeated;
      return;
    }
    one.off.released = false;
    one.hold.waiting_for = !waiting                     ? std::string_view()
                           : needs_slo && !told_nothing ? kWaiting
                                                        : kWaitingForPods;
    if (acting)
      one.strategy->plan(view, one.plan);
    else
      one.plan.hold();
    if (one.plan.repeats()) one.delta = PlanDelta::repeated;
    keep_held(one, view);
    one.turn.stands = one.is_on_change() && acting && !one.hold.since;
    for (const Action& action : one.plan.actions()) actions_.begin(action, one.settings.dry);
    if (!one.hold.since) one.hand_over();
  }

  /// What a strategy that cannot tell wanted last stays wanted, but not for ever once pods were known:
  /// before, nobody knows whom it protects.
  void keep_held(ManagedStrategy& one, const TickView& view) {
    if (!one.plan.held()) {
      one.hold.since.reset();
      one.hold.neutral = false;
      if (one.plan.is_whole()) return;
      one.plan.keep_held();
      adopt(one);
      return;
    }
    if (!one.hold.since) one.hold.since = clock_.mono();
    if (clock_.mono() - *one.hold.since < one.row->hold || !view.inventory->pods_known) {
      one.plan.keep_held();
      adopt(one);
      return;
    }
    if (!one.hold.neutral)
      log_.warn(
          "a strategy lacked its inputs for too long: its limits are lifted to the neutral state until the "
          "inputs are back",
          kv("strategy", one.row->name), kv("after", one.row->hold), kv("why", one.status().summary));
    one.hold.neutral = true;
    one.plan.start(one.row->name);
    one.strategy->neutral(view, one.plan);
  }

  /// What a dead agent held down for a strategy that has nothing to go on yet: as the files have it. What it
  /// wanted further down the tree only the files know; the journal keeps that from being set free.
  void adopt(ManagedStrategy& one) {
    for (const Journal::Entry& entry : journal_.entries()) {
      if (entry.strategy != one.row->name || entry.from > 0 || !one.plan.keeps(entry.knob)) continue;
      if (one.plan.names(entry.knob, entry.group, entry.key)) continue;
      auto found = executor_.setting(entry.knob, entry.group, entry.key);
      if (!found || same_value(entry.knob, executor_.version(), *found, entry.free)) continue;
      Intent& intent = one.plan.want(entry.knob, entry.group, std::move(*found), kAdopted);
      intent.key = entry.key;
      intent.held = true;
    }
  }

  /// Of a cleanup that may not widen sets of CPUs: an error that names those that are not wide, none where
  /// there is nothing to widen.
  Result<> settle_kept() {
    const auto topology = context_.topology();
    if (!topology)
      return Error(Code::unavailable, "not everything could be set free: the machine's CPUs are not known");
    KOORD_CHECK(check_all_wide(*inventory_, *topology, tree_, executor_));
    settled_.clear();
    for (const Journal::Entry& entry : journal_.entries())
      if (entry.knob == Knob::cpuset_cpus && is_kubelets_best_effort(*inventory_, entry.group))
        settled_.push_back(entry);
    erase(settled_);
    return {};
  }

  /// From the plans to the files.
  Executor::Outcome settle(Executor::Pace pace) {
    plans_.clear();
    deltas_.clear();
    for (const ManagedStrategy& one : strategies_) {
      plans_.push_back(one.settings.dry ? std::span<const Intent>() : one.plan.intents());
      deltas_.push_back(one.delta);
    }
    auto rulings = arbiter_.decide(plans_, deltas_);
    conflicts_.add(static_cast<double>(arbiter_.conflicts()));
    now_ = clock_.mono();
    const bool all = is_another_shape() || !orphans_.empty() ||
                     std::any_of(strategies_.begin(), strategies_.end(),
                                 [this](const ManagedStrategy& one) { return now_ >= one.turn.look_at; });
    if (all && collect_orphans()) {  // rare: then once more, with them as the weakest plan
      plans_.emplace_back(orphans_);
      deltas_.assign(strategies_.size(), PlanDelta::none);
      rulings = arbiter_.decide(plans_, deltas_);
    }
    collect_due(rulings, all);
    for (const Arbiter::Decision* decision : due_) note(*decision);
    save();  // before the first write
    requests_.clear();
    for (const Arbiter::Decision* decision : due_)
      requests_.push_back({decision->target, decision->value, decision->intent->reason,
                           decision->intent->audit_reason, decision->intent->yields,
                           decision->intent->undo == *decision->value});
    const Executor::Outcome outcome = executor_.apply(requests_, pace);
    if (!journal_.entries().empty()) erase_settled(all);
    save();
    limited_.set(static_cast<double>(journal_.entries().size()));
    return outcome;
  }

  /// Whether other files are decided on than in the last tick, or for other plans, or a plan has begun or
  /// ceased to hold: without that no entry of the journal has become an orphan.
  bool is_another_shape() {
    std::size_t shape = arbiter_.shape();
    for (const ManagedStrategy& one : strategies_) shape = shape * 2 + (one.plan.held() ? 1 : 0);
    return std::exchange(shape_, shape) != shape;
  }

  /// What the executor shall look at: of a knob that was calm nothing, until it loses something or it is
  /// time.
  void collect_due(std::span<Arbiter::Ruling> rulings, bool all) {
    due_.clear();
    const bool lost = std::exchange(losses_, executor_.losses()) != executor_.losses();
    for (Arbiter::Ruling& ruling : rulings) {
      if (ruling.calm && !all && !lost) continue;
      const std::size_t before = due_.size();
      for (const Arbiter::Decision& decision : ruling.decisions)
        if (!is_quiet(decision)) due_.push_back(&decision);
      ruling.calm = due_.size() == before;
    }
    // What comes of a knob that another one suspends hangs on both.
    for (const host::KnobRow& row : host::knob_table()) {
      if (!row.suspended_by) continue;
      Arbiter::Ruling& other = rulings[static_cast<std::size_t>(row.knob)];
      other.calm = other.calm && arbiter_.of(*row.suspended_by).calm;
    }
  }

  /// In force: nothing is asked of the kernel for a while. Whether a group that is limited is still the same
  /// one is asked with every tick, for who makes it anew, as systemd does with a service's, sets it free; not
  /// of a container's, which hardly anybody makes anew.
  bool is_quiet(const Arbiter::Decision& decision) const {
    if (decision.plan >= strategies_.size()) return false;
    const ManagedStrategy::Turn& turn = strategies_[decision.plan].turn;
    const bool limits = decision.level == 0 && decision.intent->undo != *decision.value;
    if (now_ >= turn.look_at || (limits && !turn.stands && !decision.intent->unique)) return false;
    if (const auto* other = suspender_of(decision.intent->knob, decision.group)) {
      const bool in_force = executor_.holds(other->target, *other->value);
      if (in_force && suspends(*other)) return true;     // it has none, and takes none
      if (!in_force && !suspends(*other)) return false;  // it gets them back
    }
    return executor_.holds(decision.target, *decision.value);
  }

  /// What is decided of what suspends the knob, as of a group's being idle; null: nothing.
  const Arbiter::Decision* suspender_of(Knob knob, std::string_view group) const {
    const auto& by = host::row(knob).suspended_by;
    return by ? arbiter_.find(executor_.known(*by, group)) : nullptr;
  }

  /// Entries of the journal of which no plan wants anything: they become a plan of their own.
  bool collect_orphans() {
    orphans_.clear();
    for (const Journal::Entry& entry : journal_.entries()) {
      if (arbiter_.find(executor_.known(entry.knob, entry.group, entry.key))) continue;
      if (ahead_.covers(entry, now_)) continue;
      if (const auto* other = suspender_of(entry.knob, entry.group); other && suspends(*other)) continue;
      const auto owner =
          std::ranges::find(strategies_, entry.strategy, [](const auto& one) { return one.row->name; });
      const bool owned = owner != strategies_.end() && !owner->settings.dry;
      if (owned && owner->plan.keeps(entry.knob)) continue;
      // Who is on CPUs of its own stays so while the kubelet has yet to tell of it.
      const bool of_a_hook = owned && owner->settings.enabled && owner->row->hook != nullptr;
      if (of_a_hook && ahead_.awaits(entry, *inventory_, now_)) continue;
      auto value = freed(entry, *inventory_, context_.topology().get(), executor_);
      if (!value) continue;
      Intent intent;
      intent.knob = entry.knob;
      intent.group = entry.group;
      intent.key = entry.key;
      intent.value = std::move(*value);
      intent.undo = intent.value;
      intent.strategy = owner != strategies_.end() ? owner->row->name : std::string_view("journal");
      intent.reason = kSetFree;
      intent.reach = {entry.from, entry.to, {}};
      orphans_.push_back(std::move(intent));
    }
    return !orphans_.empty();
  }

  /// Writes down what is about to be throttled.
  void note(const Arbiter::Decision& decision) {
    const Intent& intent = *decision.intent;
    if (!host::can_be_undone(intent.knob)) return;
    if (suspends(decision)) note_suspended(decision);
    if (intent.undo) {
      if (decision.level > intent.reach.from || *decision.value == *intent.undo) return;
      const auto* entry = journal_.find(intent.knob, intent.group, intent.key);
      if (entry && entry->free == *intent.undo && entry->from <= intent.reach.from &&
          entry->to >= intent.reach.to)
        return;
      journal_.note({intent.knob, intent.group, intent.reach.from, intent.reach.to, *intent.undo,
                     std::string(intent.strategy), intent.key});
      return;
    }
    if (!executor_.is_due(decision.target, *decision.value)) return;
    const bool noted = journal_.find(intent.knob, decision.group, intent.key) != nullptr;
    // What is noted of a group that was made anew is what another one of that name had.
    if (noted && !executor_.is_renewed(decision.target)) return;
    const auto found = executor_.setting(intent.knob, decision.group, intent.key);
    if (!found) return;
    if (!noted && same_value(intent.knob, executor_.version(), *found, *decision.value)) return;
    journal_.note(
        {intent.knob, std::string(decision.group), 0, 0, *found, std::string(intent.strategy), intent.key});
  }

  /// What a group has of a knob of which it is about to have none.
  void note_suspended(const Arbiter::Decision& by) {
    const Knob knob = *host::row(by.intent->knob).suspends;
    if (!executor_.is_due(by.target, *by.value)) return;
    if (journal_.find(knob, by.group) && !executor_.is_renewed(by.target)) return;
    const auto found = executor_.setting(knob, by.group);
    if (!found) return;
    const auto* wanted = arbiter_.find(executor_.known(knob, by.group));
    const Intent& owner = wanted ? *wanted->intent : *by.intent;
    journal_.note({knob, std::string(by.group), 0, 0, *found, std::string(owner.strategy)});
  }

  static bool is_free(const Arbiter::Decision& decision, const Journal::Entry& entry) {
    return *decision.value == entry.free ||
           (decision.intent->undo && *decision.value == *decision.intent->undo);
  }

  bool is_done(const Arbiter::Decision& decision) const {
    return executor_.holds(decision.target, *decision.value) || executor_.is_absent(decision.target) ||
           executor_.is_others(decision.target);
  }

  /// Whether what an entry of the journal is about is free again, gone, or another program's.
  bool is_settled(const Journal::Entry& entry) const {
    const KnobId target = executor_.known(entry.knob, entry.group, entry.key);
    if (executor_.is_others(target)) return true;  // there is nothing of ours to undo
    if (const auto& by = host::row(entry.knob).suspended_by)
      if (const auto* other = journal_.find(*by, entry.group); other && !is_settled(*other))
        return false;  // it will be lost
    const auto* decision = arbiter_.find(target);
    if (!decision || !is_free(*decision, entry) || !is_done(*decision)) return false;
    const auto& decisions = arbiter_.of(entry.knob).decisions;
    return entry.to == 0 || std::all_of(decisions.begin(), decisions.end(), [&](const auto& other) {
             return !host::is_within(other.group, entry.group) || (is_free(other, entry) && is_done(other));
           });
  }

  /// Takes out of the journal what is settled; of all entries, or of those whose files were looked at.
  void erase_settled(bool all) {
    settled_.clear();
    if (all) {
      for (const Journal::Entry& entry : journal_.entries())
        if (is_settled(entry)) settled_.push_back(entry);
    } else {
      for (const Arbiter::Decision* decision : due_)
        if (const auto* entry = journal_.find(decision->intent->knob, decision->group, decision->intent->key);
            entry && is_settled(*entry))
          settled_.push_back(*entry);
    }
    erase(settled_);
  }
  void erase(const std::vector<Journal::Entry>& entries) {
    for (const Journal::Entry& entry : entries) journal_.erase(entry.knob, entry.group, entry.key);
  }

  /// Whether what a strategy's plan wants is in force everywhere.
  bool is_settled(std::uint32_t strategy) const {
    const Plan& plan = strategies_[strategy].plan;
    if (!plan.is_whole()) return false;
    for (const Intent& intent : plan.intents()) {
      const auto* decision = arbiter_.find(executor_.known(intent.knob, intent.group, intent.key));
      if (decision && decision->plan == strategy && !is_done(*decision)) return false;
    }
    return true;
  }

  void save() {
    const auto saved = journal_.save();
    if (saved) {
      save_failed_.reset();
      return;
    }
    // Protecting goes before being tidy: the known groups are looked at by the next agent in any case.
    if (save_failed_ && clock_.mono() - *save_failed_ < kLogAgain) return;
    save_failed_ = clock_.mono();
    log_.warn(
        "cannot write down what is throttled; an agent that starts after a crash will not know all of it",
        kv("error", saved.error()));
  }

  Executor& executor_;
  Clock& clock_;
  Logger log_;
  Options options_;
  GroupTree tree_;
  Arbiter arbiter_;
  Journal journal_;
  Ahead ahead_;
  MonoTime forgot_;
  std::optional<MonoTime> save_failed_;
  metrics::Gauge limited_;
  metrics::Counter conflicts_;
  Actions& actions_;
  std::vector<ProcessSettings*> processes_;
  ResctrlGroups* resctrl_;
  PluginContext context_;
  std::vector<ManagedStrategy> strategies_;  // in the order of the table
  const Inventory* inventory_ = nullptr;     // of the tick that runs
  std::uint64_t generation_ = 0;             // of the last one
  OwnCpus own_cpus_;                         // the same
  std::shared_ptr<const NodeFacts> facts_;

  // Of one tick; kept for their memory and for limits().
  std::vector<std::span<const Intent>> plans_;
  std::vector<PlanDelta> deltas_;
  std::vector<Intent> orphans_;
  std::vector<const Arbiter::Decision*> due_;
  MonoTime now_{};
  std::optional<std::size_t> shape_;  // of the last decisions; nothing: there were none yet
  std::uint64_t losses_ = 0;          // of the executor, as of the last tick
  std::vector<WriteRequest> requests_;
  std::vector<Journal::Entry> settled_;
};

Result<std::unique_ptr<QosManager>> QosManager::make(StrategyTable table, Dependencies with,
                                                     Options options) {
  auto impl = std::make_unique<Impl>(std::move(with), std::move(options));
  KOORD_CHECK(impl->make(table));
  return std::unique_ptr<QosManager>(new QosManager(std::move(impl)));
}
QosManager::QosManager(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
QosManager::~QosManager() = default;
void QosManager::tick(const TickView& view) { impl_->tick(view); }
Result<> QosManager::write_ahead(std::span<const Ahead::Value> values) { return impl_->write_ahead(values); }
Result<> QosManager::note_given(std::span<const Ahead::Given> values) { return impl_->note_given(values); }
Result<std::size_t> QosManager::cleanup(const Inventory& inventory) { return impl_->cleanup(inventory); }
std::string QosManager::narrow_groups(const Inventory& inventory) { return impl_->narrow_groups(inventory); }
std::vector<QosManager::StrategyReport> QosManager::strategies() const { return impl_->strategies(); }
std::vector<QosManager::Limit> QosManager::limits() const { return impl_->limits(); }
std::vector<Executor::Failure> QosManager::failures() const { return impl_->failures(); }

}  // namespace koord::koordlet
