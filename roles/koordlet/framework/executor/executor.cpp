// The executor: comparing, the two passes, backoff, the limit of writes.
#include "framework/executor/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "framework/audit/auditor.hpp"
#include "framework/executor/knob_values.hpp"
#include "koord/host/cgroup_paths.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::Knob;

constexpr nanoseconds kFirstRetry = std::chrono::seconds(1);
constexpr nanoseconds kLastRetry = std::chrono::seconds(60);
constexpr nanoseconds kLastAbsentRetry = std::chrono::seconds(4);
constexpr nanoseconds kUnsupportedRetry = std::chrono::seconds(60);
/// So many other values are tried at once, then one in a while: a wish that changes with every tick is
/// refused with every tick.
constexpr std::uint64_t kOtherValues = 3;
constexpr nanoseconds kOtherValueRetry = std::chrono::seconds(4);
constexpr nanoseconds kLogAgain = std::chrono::minutes(5);
constexpr int kAuditVerbosity = 3;

enum class State : std::uint8_t { fine, absent, unsupported, refused };

struct Target {
  Knob knob{};
  std::string group;
  int depth = 0;
  std::uint32_t generation = 0;  // 0: free
  std::string path;              // to write
  std::optional<host::HeldFile> held;

  std::uint64_t inode = 0;  // 0: not looked at yet
  // Rounds end with apply().
  std::uint64_t looked = 0, tried = 0, renewed = 0;  // the round in which it was, last
  std::optional<KnobValue> known;
  MonoTime known_at{}, named_at{};

  State state = State::fine;
  Error error;
  std::uint64_t failures = 0;  // in a row
  std::optional<KnobValue> refused_value;
  MonoTime retry_at{}, refused_at{}, logged_at{};  // retry_at: unless it is fine
  bool logged = false;
};

struct Key {
  Knob knob;
  std::string group;
};
struct KeyView {
  Knob knob;
  std::string_view group;
};
struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(const KeyView& key) const {
    return std::hash<std::string_view>{}(key.group) * 31 + static_cast<std::size_t>(key.knob);
  }
  std::size_t operator()(const Key& key) const { return (*this)(KeyView{key.knob, key.group}); }
};
struct KeyEqual {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a.knob == b.knob && a.group == b.group;
  }
};

/// A file that is to be looked at in this call.
struct Work {
  std::uint32_t index = 0;
  const Wish* wish = nullptr;
  bool done = false;
};

nanoseconds backoff(std::uint64_t failures, nanoseconds last) {
  nanoseconds wait = kFirstRetry;
  for (std::uint64_t i = 1; i < failures && wait < last; ++i) wait *= 2;
  return std::min(wait, last);
}

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
        files_(files),
        clock_(clock),
        log_(std::move(log)),
        options_(options),
        auditor_(auditor),
        tokens_(options.burst),
        refilled_(clock.mono()) {
    const auto durations = metrics.histograms(kDuration);
    succeeded_ = durations.with({"cgroup", "success"});
    failed_ = durations.with({"cgroup", "failed"});
  }

  Result<KnobId> find(Knob knob, std::string_view group) {
    if (const auto it = index_.find(KeyView{knob, group}); it != index_.end()) {
      Target& target = targets_[it->second];
      target.named_at = clock_.mono();
      return KnobId{it->second, target.generation};
    }
    KOORD_TRY(path, fs_.write_path(knob, group));
    std::uint32_t index = 0;
    if (free_.empty()) {
      index = static_cast<std::uint32_t>(targets_.size());
      targets_.emplace_back();
    } else {
      index = free_.back();
      free_.pop_back();
    }
    Target& target = targets_[index];
    target = Target{};
    target.knob = knob;
    target.group = group;
    target.depth = static_cast<int>(std::count(group.begin(), group.end(), '/'));
    target.generation = ++last_generation_;
    target.path = std::move(path);
    target.named_at = clock_.mono();
    index_.emplace(Key{knob, target.group}, index);
    return KnobId{index, target.generation};
  }

  KnobId known(Knob knob, std::string_view group) const {
    const auto it = index_.find(KeyView{knob, group});
    return it == index_.end() ? KnobId{} : KnobId{it->second, targets_[it->second].generation};
  }

  bool is_due(KnobId id, const KnobValue& wanted) {
    return is_live(id) && is_due(targets_[id.index], wanted, clock_.mono());
  }

  bool is_renewed(KnobId id) const { return is_live(id) && targets_[id.index].renewed == round_; }

  Outcome apply(std::span<const Wish> wishes, Pace pace) {
    const Outcome outcome = apply_round(wishes, pace);
    ++round_;
    return outcome;
  }

  Outcome apply_round(std::span<const Wish> wishes, Pace pace) {
    Outcome outcome;
    pace_ = pace;
    const MonoTime now = clock_.mono();
    work_.clear();
    for (const Wish& wish : wishes) {
      if (!is_live(wish.target)) {
        ++outcome.absent;
        continue;
      }
      Target& target = targets_[wish.target.index];
      target.named_at = now;
      if (is_due(target, *wish.value, now))
        work_.push_back({wish.target.index, &wish});
      else if (target.state != State::fine)
        ++(target.tried != round_ ? outcome.waiting : outcome.absent);
    }
    if (work_.empty()) return outcome;
    std::sort(work_.begin(), work_.end(), [this](const Work& a, const Work& b) {
      const Target& x = targets_[a.index];
      const Target& y = targets_[b.index];
      return std::tie(x.depth, x.knob, x.group) < std::tie(y.depth, y.knob, y.group);
    });
    cut_ = false;
    narrow_.clear();
    for (std::size_t i = 0; i < work_.size() && !cut_; ++i) {
      widen(work_[i], now, outcome);
      if (cut_) outcome.deferred += work_.size() - i;
    }
    for (std::size_t i = work_.size(); i > 0 && !cut_; --i) {
      Work& work = work_[i - 1];
      if (work.done) continue;
      write(targets_[work.index], *work.wish, *work.wish->value, now, outcome);
      if (cut_) ++outcome.deferred;
    }
    return outcome;
  }

  bool holds(KnobId id, const KnobValue& value) const {
    if (!is_live(id)) return false;
    const Target& target = targets_[id.index];
    return target.known && same_value(target.knob, fs_.version(), *target.known, value);
  }

  bool is_absent(KnobId id) const {
    if (!is_live(id)) return true;
    const State state = targets_[id.index].state;
    return state == State::absent || state == State::unsupported;
  }

  void retry_absent() {
    for (Target& target : targets_) {
      if (!is_missing(target)) continue;
      target.retry_at = {};
      target.failures = 0;
    }
  }

  Result<KnobValue> current(Knob knob, std::string_view group) {
    KOORD_TRY(id, find(knob, group));
    Target& target = targets_[id.index];
    if (is_left_alone(target)) return target.error;
    if (!target.held) {
      KOORD_TRY(path, fs_.read_path(knob, group));
      target.held.emplace(std::move(path));
    }
    KOORD_TRY(text, noted(target, files_.read(*target.held, buffer_)));
    KOORD_TRY(value, in_context(parse_knob(knob, fs_.version(), text, group), target.held->path()));
    if (is_missing(target)) target.retry_at = {};  // it has come
    if (target.known && !same_value(knob, fs_.version(), *target.known, value)) target.known.reset();
    return value;
  }

  Result<KnobValue> setting(Knob knob, std::string_view group) {
    KOORD_TRY(id, find(knob, group));
    Target& target = targets_[id.index];
    if (is_left_alone(target)) return target.error;
    return read_setting(target);
  }

  Result<std::vector<std::string>> children(Knob knob, std::string_view group) {
    KOORD_TRY(id, find(knob, group));
    Target& target = targets_[id.index];
    if (target.state == State::absent && is_left_alone(target)) return target.error;
    KOORD_TRY(folder, fs_.folder(knob, group));
    return noted(target, files_.folders(folder));
  }

  std::optional<Error> refused(Knob knob, std::string_view group) const {
    const auto it = index_.find(KeyView{knob, group});
    if (it == index_.end() || targets_[it->second].state != State::refused) return std::nullopt;
    return targets_[it->second].error;
  }

  std::vector<Failure> failures() const {
    std::vector<Failure> list;
    for (const Target& target : targets_)
      if (target.generation != 0 && target.state == State::refused)
        list.push_back({target.knob, target.group, target.error, target.failures});
    return list;
  }

  void forget_unused(nanoseconds age) {
    const MonoTime now = clock_.mono();
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
      Target& target = targets_[i];
      if (target.generation == 0 || now - target.named_at < age) continue;
      index_.erase(index_.find(KeyView{target.knob, target.group}));
      target = Target{};
      free_.push_back(i);
    }
  }

  std::size_t size() const { return index_.size(); }
  CgroupVersion version() const { return fs_.version(); }

 private:
  template <class T>
  static Result<T> in_context(Result<T> result, std::string_view what) {
    if (!result) return std::move(result).error().context(what);
    return result;
  }

  bool is_live(KnobId id) const {
    return id.index < targets_.size() && id.generation != 0 && targets_[id.index].generation == id.generation;
  }

  static bool is_missing(const Target& target) {
    return target.state == State::absent || target.state == State::unsupported;
  }
  /// Nothing is asked of the kernel before its time.
  bool is_left_alone(const Target& target) const {
    return is_missing(target) && clock_.mono() < target.retry_at;
  }

  bool is_due(Target& target, const KnobValue& wanted, MonoTime now) {
    if (target.state != State::fine && now < target.retry_at) {
      // What the file system forbids it forbids for every value; another value may fit where one did not.
      if (target.state != State::refused || target.error.code() == Code::forbidden ||
          target.refused_value == wanted)
        return false;
      if (target.failures > kOtherValues && now - target.refused_at < kOtherValueRetry) return false;
    }
    look(target);
    if (is_missing(target)) return false;
    return target.state == State::refused || !target.known ||
           now - target.known_at >= options_.force_refresh ||
           !same_value(target.knob, fs_.version(), *target.known, wanted);
  }

  /// Whether the file is there, and the one that it was.
  void look(Target& target) {
    if (std::exchange(target.looked, round_) == round_) return;
    const std::uint64_t inode = files_.inode(target.path);
    if (inode == 0) {
      set_missing(target, Error(Code::not_found, fmt::format("{}: it does not exist", target.path)));
      return;
    }
    if (is_missing(target)) set_fine(target);
    if (inode == target.inode) return;
    if (std::exchange(target.inode, inode) == 0) return;
    target.renewed = round_;
    target.known.reset();
    target.held.reset();
    set_fine(target);  // nobody has refused this one
  }

  /// What a reading tells of its target.
  template <class T>
  Result<T> noted(Target& target, Result<T> read) {
    if (!read && is_absence(read.error())) set_missing(target, read.error());
    return read;
  }

  Result<KnobValue> read_setting(Target& target) {
    host::HeldFile file(target.path);
    KOORD_TRY(text, noted(target, files_.read(file, buffer_)));
    return in_context(parse_knob(target.knob, fs_.version(), text, target.group), target.path);
  }

  bool is_parents_set(const KnobValue& value) const {
    const auto* cpus = std::get_if<host::CpuSet>(&value);
    return fs_.version() == CgroupVersion::v2 && cpus && cpus->empty();
  }
  Result<std::string> parents_set(const Target& target) {
    const auto slash = target.group.rfind('/');
    KOORD_TRY(path,
              fs_.read_path(target.knob, slash == std::string::npos ? "" : target.group.substr(0, slash)));
    host::HeldFile file(std::move(path));
    KOORD_TRY(text, files_.read(file, buffer_));
    return std::string(host::trimmed(text));
  }

  /// The first pass, for one file.
  void widen(Work& work, MonoTime now, Outcome& outcome) {
    Target& target = targets_[work.index];
    const KnobValue& wanted = *work.wish->value;
    const auto found = read_setting(target);
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
    if (!host::is_levelled(target.knob)) {
      work.done = true;
      write(target, *work.wish, wanted, now, outcome);
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
    if (!write(target, *work.wish, *wider, now, outcome)) {
      if (!cut_) narrow_.push_back(&target);
      work.done = true;
    } else {
      work.done = same_value(target.knob, fs_.version(), *wider, wanted);
    }
  }

  bool write(Target& target, const Wish& wish, const KnobValue& value, MonoTime now, Outcome& outcome) {
    const auto text = print_knob(target.knob, fs_.version(), value, target.group);
    if (!text) {
      refuse(target, text.error(), *wish.value, now, outcome);
      return false;
    }
    if (!take_token(now)) {
      cut_ = true;
      return false;
    }
    const MonoTime start = clock_.mono();
    std::string stored = *text;
    auto written = files_.write(target.path, stored);
    // In v2 a group that has processes of its own, and had a set, takes no empty one: "as wide as the parent"
    // is then the parent's set.
    if (!written && written.error().code() == Code::io && is_parents_set(value)) {
      if (const auto above = parents_set(target)) written = files_.write(target.path, stored = *above);
    }
    const std::chrono::duration<double, std::milli> took = clock_.mono() - start;
    if (!written) {
      if (written.error().code() != Code::not_found) failed_.observe(took.count());
      refuse(target, written.error(), *wish.value, now, outcome);
      return false;
    }
    succeeded_.observe(took.count());
    ++outcome.written;
    accept(target, value, now);
    audit(target, wish, host::trimmed(stored));
    return true;
  }

  void accept(Target& target, const KnobValue& value, MonoTime now) {
    if (target.state == State::refused && target.logged)
      log_.info("a cgroup file can be written again", kv("file", target.path),
                kv("failures", target.failures));
    set_fine(target);
    target.known = value;
    target.known_at = now;
  }

  static void set_fine(Target& target) {
    target.state = State::fine;
    target.failures = 0;
    target.logged = false;
    target.refused_value.reset();
  }

  static bool is_absence(const Error& error) {
    return error.code() == Code::not_found || error.code() == Code::unsupported;
  }

  /// The group or its file does not exist.
  void set_missing(Target& target, const Error& error) {
    if (std::exchange(target.tried, round_) == round_ && is_missing(target)) return;
    target.known.reset();
    ++target.failures;
    const auto folder = fs_.folder(target.knob, target.group);
    const bool has_folder = folder && files_.inode(*folder) != 0;
    if (has_folder && target.state != State::unsupported)
      log_.v(1, "this kernel has no such cgroup file", kv("file", target.path));
    target.state = has_folder ? State::unsupported : State::absent;
    target.error = error;
    target.retry_at =
        clock_.mono() + (has_folder ? kUnsupportedRetry : backoff(target.failures, kLastAbsentRetry));
  }

  void refuse(Target& target, const Error& error, const KnobValue& wanted, MonoTime now, Outcome& outcome) {
    if (is_absence(error)) {
      ++outcome.absent;
      set_missing(target, error);
      return;
    }
    target.known.reset();
    ++target.failures;
    ++outcome.failed;
    target.tried = round_;
    target.state = State::refused;
    target.error = error;
    target.refused_value = wanted;
    target.refused_at = now;
    target.retry_at = now + backoff(target.failures, kLastRetry);
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

  void audit(const Target& target, const Wish& wish, std::string_view text) {
    if (!auditor_) return;
    std::string message = fmt::format("update {} to {}", target.path, text);
    if (!wish.reason.empty()) message.append(": ").append(wish.reason);
    AuditEvent event;
    event.type = "group";
    event.name = target.group;
    event.reason = wish.audit_reason;
    event.message = message;
    auditor_->record(kAuditVerbosity, event);
  }

  const host::CgroupFs& fs_;
  KernelFiles& files_;
  Clock& clock_;
  Logger log_;
  Options options_;
  Auditor* auditor_;
  metrics::Histogram succeeded_, failed_;

  std::vector<Target> targets_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<Key, std::uint32_t, KeyHash, KeyEqual> index_;
  std::uint32_t last_generation_ = 0;
  std::uint64_t round_ = 1;
  host::ReadBuffer buffer_;
  double tokens_;
  MonoTime refilled_;

  Pace pace_ = Pace::limited;
  std::vector<Work> work_;
  std::vector<const Target*> narrow_;  // could not be widened in this call
  bool cut_ = false;                   // the limit of writes was reached in this call
};

Executor::Executor(const host::CgroupFs& fs, KernelFiles& files, Clock& clock, Logger log,
                   metrics::Registry& metrics, Options options, Auditor* auditor)
    : impl_(std::make_unique<Impl>(fs, files, clock, std::move(log), metrics, options, auditor)) {}
Executor::~Executor() = default;

Result<KnobId> Executor::find(Knob knob, std::string_view group) { return impl_->find(knob, group); }
KnobId Executor::known(Knob knob, std::string_view group) const { return impl_->known(knob, group); }
Executor::Outcome Executor::apply(std::span<const Wish> wishes, Pace pace) {
  return impl_->apply(wishes, pace);
}
bool Executor::holds(KnobId target, const KnobValue& value) const { return impl_->holds(target, value); }
bool Executor::is_absent(KnobId target) const { return impl_->is_absent(target); }
bool Executor::is_due(KnobId target, const KnobValue& value) { return impl_->is_due(target, value); }
bool Executor::is_renewed(KnobId target) const { return impl_->is_renewed(target); }
void Executor::retry_absent() { impl_->retry_absent(); }
Result<KnobValue> Executor::current(Knob knob, std::string_view group) { return impl_->current(knob, group); }
Result<KnobValue> Executor::setting(Knob knob, std::string_view group) { return impl_->setting(knob, group); }
Result<std::vector<std::string>> Executor::children(Knob knob, std::string_view group) {
  return impl_->children(knob, group);
}
std::optional<Error> Executor::refused(Knob knob, std::string_view group) const {
  return impl_->refused(knob, group);
}
std::vector<Executor::Failure> Executor::failures() const { return impl_->failures(); }
void Executor::forget_unused(nanoseconds age) { impl_->forget_unused(age); }
std::size_t Executor::size() const { return impl_->size(); }
CgroupVersion Executor::version() const { return impl_->version(); }

}  // namespace koord::koordlet
