// The executor: comparing, the two passes, backoff, the limit of writes.
#include "framework/executor/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "framework/audit/auditor.hpp"
#include "framework/executor/knob_values.hpp"
#include "framework/executor/targets.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {
namespace {

/// Groups first, then the machine's settings by what they become.
std::int64_t turn(host::Knob knob, const KnobValue& value) {
  const host::KnobDomain domain = host::row(knob).domain;
  if (domain != host::KnobDomain::proc_sys && domain != host::KnobDomain::sys)
    return std::numeric_limits<std::int64_t>::min();
  const auto* number = std::get_if<std::int64_t>(&value);
  return number != nullptr ? *number : 0;
}

/// The place of a group's files in the order of writes: shares before the group goes idle, and after it has
/// ceased to be, since an idle one takes none and the kernel keeps none for it.
int place(host::Knob knob, const KnobValue& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  const auto& suspends = host::row(knob).suspends;
  const bool ceases = suspends && number && *number == 0;
  return ceases ? 2 * static_cast<int>(*suspends) - 1 : 2 * static_cast<int>(knob);
}

using executor::Flight;
using executor::is_absence;
using executor::is_missing;
using executor::set_fine;
using executor::State;
using executor::Target;
using executor::Targets;
using host::CgroupVersion;
using host::Knob;

constexpr nanoseconds kLastRetry = std::chrono::seconds(60);
/// So many other values are tried at once, then one in a while: a request that changes with every tick is
/// refused with every tick.
constexpr std::uint64_t kOtherValues = 3;
constexpr nanoseconds kOtherValueRetry = std::chrono::seconds(4);
constexpr nanoseconds kLogAgain = std::chrono::minutes(5);
/// How often it is asked whether a group is still idle that shares are wanted of.
constexpr nanoseconds kRest = std::chrono::seconds(10);
constexpr int kAuditVerbosity = 3;

enum class Written : std::uint8_t { done, pending, failed };

/// A file that is to be looked at in this call.
struct Work {
  std::uint32_t index = 0;
  const WriteRequest* request = nullptr;
  bool done = false;
};

constexpr metrics::Metric kDuration{.name = "koordlet_resource_update_duration_milliseconds",
                                    .type = metrics::Type::histogram,
                                    .help = "How long writes to cgroup files took.",
                                    .labels = {"type", "status"},
                                    .bounds = metrics::exponential_bounds(0.01, 4, 8)};

}  // namespace

const metrics::Table Executor::kMetrics = {&kDuration};

class Executor::Impl {
 public:
  Impl(const host::CgroupFs& fs, KernelFiles& files, Clock& clock, Logger log, metrics::Registry& metrics,
       Options options, Auditor* auditor)
      : fs_(fs),
        clock_(clock),
        log_(std::move(log)),
        targets_(fs, files, options.netlink, clock, log_),
        options_(options),
        auditor_(auditor),
        tokens_(options.burst),
        refilled_(clock.mono()) {
    const auto durations = metrics.histograms(kDuration);
    succeeded_ = durations.with({"cgroup", "success"});
    failed_ = durations.with({"cgroup", "failed"});
  }

  Targets& targets() { return targets_; }
  const Targets& targets() const { return targets_; }

  bool is_due(KnobId id, const KnobValue& wanted) {
    Target* const target = targets_.get(id);
    return target && is_due(*target, wanted, clock_.mono());
  }

  bool is_renewed(KnobId id) const {
    const Target* const target = targets_.get(id);
    return target && target->renewed == targets_.round();
  }

  Outcome apply(std::span<const WriteRequest> requests, Pace pace) {
    Outcome outcome;
    outcome_ = &outcome;
    apply_round(requests, pace, outcome);
    outcome_ = nullptr;
    targets_.end_round();
    for (const std::uint32_t index : pending_) tell_if_late(targets_.at(index));
    return outcome;
  }

  void apply_round(std::span<const WriteRequest> requests, Pace pace, Outcome& outcome) {
    pace_ = pace;
    const MonoTime now = applied_ = clock_.mono();
    work_.clear();
    for (const WriteRequest& request : requests) {
      Target* const target = targets_.get(request.target);
      if (target && host::row(target->knob).suspends && *request.value == KnobValue(std::int64_t{0}) &&
          is_due(*target, *request.value, now))
        forget_suspended(*target);
    }
    for (const WriteRequest& request : requests) {
      Target* const live = targets_.get(request.target);
      if (!live) {
        ++outcome.absent;
        continue;
      }
      Target& target = *live;
      target.named_at = now;
      if (target.flight)
        ++outcome.pending;
      else if (is_due(target, *request.value, now))
        work_.push_back({request.target.index, &request});
      else if (target.rests)
        ++outcome.waiting;
      else if (target.state != State::fine)
        ++(target.tried != targets_.round() ? outcome.waiting : outcome.absent);
    }
    if (work_.empty()) return;
    std::sort(work_.begin(), work_.end(), [this](const Work& a, const Work& b) {
      const Target& x = targets_.at(a.index);
      const Target& y = targets_.at(b.index);
      // The machine's settings after the groups', what is switched off before what is switched on: what a
      // group may not have while the machine has not is taken from it first.
      const std::int64_t on_x = turn(x.knob, *a.request->value);
      const std::int64_t on_y = turn(y.knob, *b.request->value);
      const int place_x = place(x.knob, *a.request->value);
      const int place_y = place(y.knob, *b.request->value);
      return std::tie(on_x, x.depth, place_x, x.group, x.key) <
             std::tie(on_y, y.depth, place_y, y.group, y.key);
    });
    cut_ = false;
    narrow_.clear();
    waiting_.clear();
    for (const std::uint32_t index : pending_) waiting_.push_back(&targets_.at(index));
    for (std::size_t i = 0; i < work_.size() && !cut_; ++i) {
      widen(work_[i], now, outcome);
      if (cut_) outcome.deferred += work_.size() - i;
    }
    for (std::size_t i = work_.size(); i > 0 && !cut_; --i) {
      Work& work = work_[i - 1];
      if (work.done) continue;
      Target& target = targets_.at(work.index);
      const auto below = [&](const Target* other) { return host::is_below(other->group, target.group); };
      if (!waits(target, below, outcome)) write(target, *work.request, *work.request->value, now, outcome);
      if (cut_) ++outcome.deferred;
    }
  }

  bool holds(KnobId id, const KnobValue& value) const {
    const Target* const target = targets_.get(id);
    return target && target->known && same_value(target->knob, fs_.version(), *target->known, value);
  }

  bool is_absent(KnobId id) const {
    const Target* const target = targets_.get(id);
    return !target || is_missing(*target);
  }

  std::optional<Error> refused(Knob knob, std::string_view group, std::string_view key) const {
    const Target* const target = targets_.get(targets_.known(knob, group, key));
    if (!target || target->state != State::refused) return std::nullopt;
    return target->error;
  }

  std::vector<Failure> failures() const {
    std::vector<Failure> list;
    for (const Target& target : targets_.all())
      if (target.generation != 0 && target.state == State::refused && target.named_at >= applied_)
        list.push_back({target.knob, executor::name_of(target), target.error, target.failures});
    for (const std::uint32_t index : pending_)
      if (const Target& target = targets_.at(index); is_late(target))
        list.push_back({target.knob, executor::name_of(target), lateness(target), 1});
    return list;
  }

  void look_again(Knob knob) {
    const MonoTime before = clock_.mono() - options_.force_refresh;
    for (Target& target : targets_.all())
      if (target.knob == knob) target.known_at = std::min(target.known_at, before);
  }

  std::size_t pending() const { return pending_.size(); }
  bool is_others(KnobId id) const {
    const Target* const target = targets_.get(id);
    return target && target->others;
  }
  CgroupVersion version() const { return fs_.version(); }

 private:
  bool is_due(Target& target, const KnobValue& wanted, MonoTime now) {
    if (target.flight) return false;
    if (target.state != State::fine && now < target.retry_at) {
      // What the file system forbids it forbids for every value; another value may fit where one did not.
      if (target.state != State::refused || target.error.code() == Code::forbidden ||
          target.refused_value == wanted)
        return false;
      if (target.failures > kOtherValues && now - target.refused_at < kOtherValueRetry) return false;
    }
    targets_.look(target);
    if (is_missing(target) || target.others) return false;
    if (target.rests && now - target.known_at < kRest) return false;
    return target.state == State::refused || !target.known ||
           now - target.known_at >= options_.force_refresh ||
           !same_value(target.knob, fs_.version(), *target.known, wanted);
  }

  bool is_parents_set(const KnobValue& value) const {
    const auto* cpus = std::get_if<host::CpuSet>(&value);
    return fs_.version() == CgroupVersion::v2 && cpus && cpus->empty();
  }

  /// A set that v2 takes from the parent, and that is wide enough, is not written down: with processes in the
  /// group that could never be given up again.
  bool is_in_force(const Target& target, const KnobValue& wanted) {
    const auto found = targets_.read_in_force(target);
    return found && same_value(target.knob, fs_.version(), *found, wanted);
  }

  /// The first pass, for one file.
  void widen(Work& work, MonoTime now, Outcome& outcome) {
    Target& target = targets_.at(work.index);
    const KnobValue& wanted = *work.request->value;
    const auto found = targets_.read_setting(target);
    if (target.rests) {
      work.done = true;
      rest(target, now, outcome);
      return;
    }
    if (!found && found.error().code() != Code::parse) {
      work.done = true;
      refuse(target, found.error(), wanted, now, outcome);
      return;
    }
    if (found && same_value(target.knob, fs_.version(), *found, wanted)) {
      work.done = true;
      accept(target, *found, now);
      return;
    }
    if (found && work.request->frees && is_parents_set(*found) && is_in_force(target, wanted)) {
      work.done = true;
      accept(target, wanted, now);
      return;
    }
    if (found && work.request->yields && target.known &&
        !same_value(target.knob, fs_.version(), *found, *target.known)) {
      work.done = true;
      leave_to_others(target, *found, wanted, now);
      return;
    }
    if (!host::is_levelled(target.knob)) {
      work.done = true;
      write(target, *work.request, wanted, now, outcome);
      return;
    }
    const auto above = [&](const Target* other) { return host::is_below(target.group, other->group); };
    if (waits(target, above, outcome)) {
      work.done = true;
      return;
    }
    if (!found) return;  // garbled: the second pass writes what is wanted
    const auto wider = widened(target.knob, *found, wanted);
    if (!wider) return;
    for (const auto* above : narrow_) {
      if (above->knob != target.knob || !host::is_below(target.group, above->group)) continue;
      work.done = true;  // the parent could not be widened; the kernel would refuse this one too
      ++outcome.failed;
      return;
    }
    const Written written = write(target, *work.request, *wider, now, outcome);
    if (written == Written::failed && !cut_) narrow_.push_back(&target);
    work.done = written != Written::done || same_value(target.knob, fs_.version(), *wider, wanted);
  }

  Written write(Target& target, const WriteRequest& request, const KnobValue& value, MonoTime now,
                Outcome& outcome) {
    const auto text = print_knob(target.knob, fs_.version(), value, target.key);
    if (!text) {
      refuse(target, text.error(), *request.value, now, outcome);
      return Written::failed;
    }
    const bool later = may_reclaim(target.knob, value);
    if (later && pending_.size() >= options_.most_pending) {
      waiting_.push_back(&target);
      ++outcome.pending;
      return Written::pending;
    }
    if (!take_token(now)) {
      cut_ = true;
      return Written::failed;
    }
    if (later) return write_later(target, request, value, *text, outcome);
    const MonoTime start = clock_.mono();
    std::string stored = *text;
    auto written = targets_.files_of(target.knob).write(target.path, stored);
    // In v2 a group that has processes of its own, and had a set, takes no empty one: "as wide as the parent"
    // is then the parent's set.
    if (!written && written.error().code() == Code::io && is_parents_set(value)) {
      if (const auto above = targets_.parents(target))
        written = targets_.files_of(target.knob).write(target.path, stored = *above);
    }
    const std::chrono::duration<double, std::milli> took = clock_.mono() - start;
    if (!written) {
      if (written.error().code() != Code::not_found) failed_.observe(took.count());
      refuse(target, written.error(), *request.value, now, outcome);
      return Written::failed;
    }
    succeeded_.observe(took.count());
    ++outcome.written;
    accept(target, value, now);
    if (host::row(target.knob).suspends) forget_suspended(target);
    audit(target, request.reason, request.audit_reason, host::trimmed(stored));
    return Written::done;
  }

  /// What there is no limit of is not reclaimed for.
  static bool may_reclaim(Knob knob, const KnobValue& value) {
    const auto* number = std::get_if<std::int64_t>(&value);
    return host::row(knob).blocking && !(number && *number == host::kUnlimited);
  }

  /// Whether a write of one that `stands_before` this file has to end, or to begin, first. Then it waits,
  /// too.
  template <class F>
  bool waits(const Target& target, F stands_before, Outcome& outcome) {
    if (!std::any_of(waiting_.begin(), waiting_.end(),
                     [&](const Target* other) { return other->knob == target.knob && stands_before(other); }))
      return false;
    waiting_.push_back(&target);
    ++outcome.pending;
    return true;
  }

  Written write_later(Target& target, const WriteRequest& request, const KnobValue& value,
                      const std::string& text, Outcome& outcome) {
    const auto index = targets_.index_of(target);
    targets_.lose(target);
    target.flight = Flight{.value = value,
                           .wanted = *request.value,
                           .text = text,
                           .reason = std::string(request.reason),
                           .audit_reason = request.audit_reason,
                           .began = clock_.mono()};
    pending_.push_back(index);
    targets_.files_of(target.knob)
        .write_later(target.path, text,
                     [this, index, alive = std::weak_ptr<bool>(alive_)](const Result<>& written) {
                       if (!alive.expired()) land(index, written);
                     });
    if (!target.flight) return target.state == State::fine ? Written::done : Written::failed;
    waiting_.push_back(&target);
    ++outcome.pending;
    return Written::pending;
  }

  /// The kernel has ended a write.
  void land(std::uint32_t index, const Result<>& written) {
    Target& target = targets_.at(index);
    const Flight flight = *std::exchange(target.flight, std::nullopt);
    std::erase(pending_, index);
    Outcome later;
    Outcome& outcome = outcome_ != nullptr ? *outcome_ : later;
    const MonoTime now = clock_.mono();
    const std::chrono::duration<double, std::milli> took = now - flight.began;
    if (!written) {
      if (written.error().code() != Code::not_found) failed_.observe(took.count());
      refuse(target, written.error(), flight.wanted, now, outcome);
      return;
    }
    succeeded_.observe(took.count());
    ++outcome.written;
    if (flight.told)
      log_.info("the kernel has ended its write to a cgroup file", kv("file", target.path),
                kv("after", now - flight.began));
    accept(target, flight.value, now);
    audit(target, flight.reason, flight.audit_reason, host::trimmed(flight.text));
  }

  bool is_late(const Target& target) const {
    return target.flight && clock_.mono() - target.flight->began >= options_.answer_within;
  }
  Error lateness(const Target& target) const {
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(clock_.mono() - target.flight->began);
    return Error(Code::timeout,
                 fmt::format("{}: the kernel has not ended the write of {} for {}s, it reclaims memory",
                             target.path, host::trimmed(target.flight->text), seconds.count()));
  }
  void tell_if_late(Target& target) {
    if (!is_late(target) || std::exchange(target.flight->told, true)) return;
    log_.warn("a write to a cgroup file does not end; nothing more is written there until it has",
              kv("file", target.path), kv("value", host::trimmed(target.flight->text)),
              kv("error", lateness(target)));
  }

  /// The value is neither the one that was written nor what was there before: who writes it owns it.
  void leave_to_others(Target& target, const KnobValue& found, const KnobValue& wanted, MonoTime now) {
    log_.warn("another program writes this cgroup file, too; it is left to it until the group is made anew",
              kv("file", target.path), kv("found", to_string(found)), kv("wanted", to_string(wanted)));
    accept(target, found, now);
    target.others = true;
  }

  void accept(Target& target, const KnobValue& value, MonoTime now) {
    if (target.state == State::refused && target.logged)
      log_.info("a cgroup file can be written again", kv("file", target.path),
                kv("failures", target.failures));
    set_fine(target);
    if (target.known && *target.known != value) targets_.lose(target);
    target.known = value;
    target.known_at = now;
  }

  /// Shares of an idle group: they are written when it is idle no more.
  void rest(Target& target, MonoTime now, Outcome& outcome) {
    set_fine(target);
    target.rests = true;
    targets_.lose(target);
    target.known_at = now;
    ++outcome.waiting;
  }

  /// The group goes idle or ceases to be: the kernel has other shares for it now.
  void forget_suspended(const Target& by) {
    Target* const other = targets_.get(targets_.known(*host::row(by.knob).suspends, by.group, by.key));
    if (!other) return;
    targets_.lose(*other);
    other->rests = false;
  }

  void refuse(Target& target, const Error& error, const KnobValue& wanted, MonoTime now, Outcome& outcome) {
    if (is_absence(error)) {
      ++outcome.absent;
      targets_.set_missing(target, error);
      return;
    }
    targets_.lose(target);
    ++target.failures;
    ++outcome.failed;
    target.tried = targets_.round();
    target.state = State::refused;
    target.error = error;
    target.refused_value = wanted;
    target.refused_at = now;
    target.retry_at = now + executor::backoff(target.failures, kLastRetry);
    if (target.logged && now - target.logged_at < kLogAgain) return;
    target.logged = true;
    target.logged_at = now;
    log_.warn("cannot write a cgroup file", kv("file", target.path), kv("value", to_string(wanted)),
              kv("error", error), kv("attempts", target.failures));
  }

  bool take_token(MonoTime now) {
    if (pace_ == Pace::at_once) return true;
    const std::chrono::duration<double> since = now - refilled_;
    tokens_ = std::min(options_.burst, tokens_ + since.count() * options_.writes_per_second);
    refilled_ = now;
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

  void audit(const Target& target, std::string_view why, std::string_view reason, std::string_view text) {
    if (!auditor_) return;
    std::string message = fmt::format("update {} to {}", target.path, text);
    if (!why.empty()) message.append(": ").append(why);
    AuditEvent event;
    event.type = "group";
    const std::string name = executor::name_of(target);
    event.name = name;
    event.reason = reason;
    event.message = message;
    auditor_->record(kAuditVerbosity, event);
  }

  const host::CgroupFs& fs_;
  Clock& clock_;
  Logger log_;
  Targets targets_;
  Options options_;
  Auditor* auditor_;
  metrics::Histogram succeeded_, failed_;

  double tokens_;
  MonoTime refilled_;
  MonoTime applied_{};  // the last call of apply()

  Pace pace_ = Pace::limited;
  std::vector<Work> work_;
  std::vector<const Target*> narrow_;  // could not be widened in this call
  // What others have to wait for in this call: writes in flight, and those that could not begin.
  std::vector<const Target*> waiting_;
  std::vector<std::uint32_t> pending_;  // targets with a write in flight
  Outcome* outcome_ = nullptr;          // of the call that runs
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool cut_ = false;  // the limit of writes was reached in this call
};

Executor::Executor(const host::CgroupFs& fs, KernelFiles& files, Clock& clock, Logger log,
                   metrics::Registry& metrics, Options options, Auditor* auditor)
    : impl_(std::make_unique<Impl>(fs, files, clock, std::move(log), metrics, options, auditor)) {}
Executor::~Executor() = default;

Result<KnobId> Executor::find(Knob knob, std::string_view group, std::string_view key) {
  return impl_->targets().find(knob, group, key);
}
KnobId Executor::known(Knob knob, std::string_view group, std::string_view key) const {
  return impl_->targets().known(knob, group, key);
}
Executor::Outcome Executor::apply(std::span<const WriteRequest> requests, Pace pace) {
  return impl_->apply(requests, pace);
}
bool Executor::holds(KnobId target, const KnobValue& value) const { return impl_->holds(target, value); }
std::uint64_t Executor::losses() const { return impl_->targets().losses(); }
bool Executor::is_absent(KnobId target) const { return impl_->is_absent(target); }
bool Executor::is_due(KnobId target, const KnobValue& value) { return impl_->is_due(target, value); }
bool Executor::is_renewed(KnobId target) const { return impl_->is_renewed(target); }
void Executor::retry_absent() { impl_->targets().retry_absent(); }
void Executor::look_again(Knob knob) { impl_->look_again(knob); }
Result<KnobValue> Executor::current(Knob knob, std::string_view group, std::string_view key) {
  return impl_->targets().current(knob, group, key);
}
Result<KnobValue> Executor::setting(Knob knob, std::string_view group, std::string_view key) {
  return impl_->targets().setting(knob, group, key);
}
Result<std::vector<std::string>> Executor::children(Knob knob, std::string_view group) {
  return impl_->targets().children(knob, group);
}
std::optional<Error> Executor::refused(Knob knob, std::string_view group, std::string_view key) const {
  return impl_->refused(knob, group, key);
}
std::vector<Executor::Failure> Executor::failures() const { return impl_->failures(); }
void Executor::forget_unused(nanoseconds age) { impl_->targets().forget_unused(age); }
std::size_t Executor::size() const { return impl_->targets().size(); }
std::size_t Executor::pending() const { return impl_->pending(); }
bool Executor::is_others(KnobId target) const { return impl_->is_others(target); }
Result<std::string_view> Executor::reading(Knob knob, std::string_view group) {
  return impl_->targets().reading(knob, group);
}
CgroupVersion Executor::version() const { return impl_->version(); }

}  // namespace koord::koordlet
