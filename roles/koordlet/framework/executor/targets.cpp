// The table of files, and reading them.
#include "framework/executor/targets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "framework/executor/knob_values.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet::executor {

namespace {

constexpr nanoseconds kFirstRetry = std::chrono::seconds(1);
constexpr nanoseconds kLastAbsentRetry = std::chrono::seconds(4);
constexpr nanoseconds kUnsupportedRetry = std::chrono::seconds(60);

template <class T>
Result<T> in_context(Result<T> result, std::string_view what) {
  if (!result) return std::move(result).error().context(what);
  return result;
}

/// Whether the file says what it says of an idle group: 3 shares, or the least weight (older kernels say 0).
bool may_be_idle(host::CgroupVersion version, const Result<KnobValue>& shares) {
  const auto* number = shares ? std::get_if<std::int64_t>(&*shares) : nullptr;
  if (version == host::CgroupVersion::v1) return number && *number == 3;
  return !number || host::shares_to_weight(*number) == 1;
}

}  // namespace

nanoseconds backoff(std::uint64_t failures, nanoseconds last) {
  nanoseconds wait = kFirstRetry;
  for (std::uint64_t i = 1; i < failures && wait < last; ++i) wait *= 2;
  return std::min(wait, last);
}

void set_fine(Target& target) {
  target.state = State::fine;
  target.failures = 0;
  target.logged = false;
  target.refused_value.reset();
  target.rests = false;
}

std::string name_of(const Target& target) {
  if (target.key.empty()) return target.group;
  return target.group.empty() ? target.key : fmt::format("{} {}", target.group, target.key);
}

Result<KnobId> Targets::find(Knob knob, std::string_view group, std::string_view key) {
  if (const auto it = index_.find(KeyView{knob, group, key}); it != index_.end()) {
    Target& target = all_[it->second];
    target.named_at = clock_.mono();
    return KnobId{it->second, target.generation};
  }
  if (host::row(knob).domain == host::KnobDomain::netlink && netlink_ == nullptr)
    return Error(Code::unsupported, fmt::format("{}: nobody here speaks netlink", group));
  KOORD_TRY(path, fs_.write_path(knob, group));
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(all_.size());
    all_.emplace_back();
  } else {
    index = free_.back();
    free_.pop_back();
  }
  Target& target = all_[index];
  target = Target{};
  target.knob = knob;
  target.group = group;
  target.key = key;
  target.depth = static_cast<int>(std::count(group.begin(), group.end(), '/'));
  target.generation = ++last_generation_;
  target.path = std::move(path);
  target.named_at = clock_.mono();
  index_.emplace(Key{knob, target.group, target.key}, index);
  return KnobId{index, target.generation};
}

KnobId Targets::known(Knob knob, std::string_view group, std::string_view key) const {
  const auto it = index_.find(KeyView{knob, group, key});
  return it == index_.end() ? KnobId{} : KnobId{it->second, all_[it->second].generation};
}

void Targets::retry_absent() {
  for (Target& target : all_) {
    if (!is_missing(target)) continue;
    target.retry_at = {};
    target.failures = 0;
  }
}

void Targets::forget_unused(nanoseconds age) {
  const MonoTime now = clock_.mono();
  for (std::uint32_t i = 0; i < all_.size(); ++i) {
    Target& target = all_[i];
    if (target.generation == 0 || target.flight || now - target.named_at < age) continue;
    index_.erase(index_.find(KeyView{target.knob, target.group, target.key}));
    lose(target);
    target = Target{};
    free_.push_back(i);
  }
}

Result<std::string_view> Targets::read_held(Target& target) {
  if (is_left_alone(target)) return target.error;
  if (!target.held) {
    KOORD_TRY(path, fs_.read_path(target.knob, target.group));
    target.held.emplace(std::move(path));
  }
  return noted(target, files_of(target.knob).read(*target.held, buffer_));
}

Result<KnobValue> Targets::current(Knob knob, std::string_view group, std::string_view key) {
  KOORD_TRY(id, find(knob, group, key));
  Target& target = all_[id.index];
  KOORD_TRY(text, read_held(target));
  KOORD_TRY(value, in_context(parse_knob(knob, fs_.version(), text, key), target.held->path()));
  if (is_missing(target)) target.retry_at = {};  // it has come
  if (target.known && !same_value(knob, fs_.version(), *target.known, value)) lose(target);
  return value;
}

Result<std::string_view> Targets::reading(Knob knob, std::string_view group) {
  KOORD_TRY(id, find(knob, group, {}));
  Target& target = all_[id.index];
  KOORD_TRY(text, read_held(target));
  if (is_missing(target)) set_fine(target);
  return text;
}

Result<KnobValue> Targets::setting(Knob knob, std::string_view group, std::string_view key) {
  KOORD_TRY(id, find(knob, group, key));
  Target& target = all_[id.index];
  if (is_left_alone(target)) return target.error;
  return read_setting(target);
}

Result<std::vector<std::string>> Targets::children(Knob knob, std::string_view group) {
  KOORD_TRY(id, find(knob, group, {}));
  Target& target = all_[id.index];
  if (target.state == State::absent && is_left_alone(target)) return target.error;
  KOORD_TRY(folder, fs_.folder(knob, group));
  return noted(target, files_of(knob).folders(folder));
}

void Targets::look(Target& target) {
  if (std::exchange(target.looked, round_) == round_) return;
  const std::uint64_t inode = files_of(target.knob).inode(target.path);
  if (inode == 0) {
    set_missing(target, Error(Code::not_found, fmt::format("{}: it does not exist", target.path)));
    return;
  }
  if (is_missing(target)) set_fine(target);
  // The machine's settings below /proc/sys are never made anew, but each gets another number whenever the
  // kernel, short of memory, has dropped its name from the cache.
  if (host::row(target.knob).domain == host::KnobDomain::proc_sys) return;
  if (inode == target.inode) return;
  if (std::exchange(target.inode, inode) == 0) return;
  target.renewed = round_;
  lose(target);
  target.held.reset();
  target.others = false;
  set_fine(target);  // nobody has refused this one
}

void Targets::set_missing(Target& target, const Error& error) {
  if (std::exchange(target.tried, round_) == round_ && is_missing(target)) return;
  lose(target);
  ++target.failures;
  const auto folder = fs_.folder(target.knob, target.group);
  const bool has_folder = folder && files_of(target.knob).inode(*folder) != 0;
  if (has_folder && target.state != State::unsupported)
    log_.v(1, "this kernel has no such cgroup file", kv("file", target.path));
  target.state = has_folder ? State::unsupported : State::absent;
  target.error = error;
  target.retry_at =
      clock_.mono() + (has_folder ? kUnsupportedRetry : backoff(target.failures, kLastAbsentRetry));
}

Result<KnobValue> Targets::read_setting(Target& target) {
  host::HeldFile file(target.path);
  KOORD_TRY(text, noted(target, files_of(target.knob).read(file, buffer_)));
  auto value = in_context(parse_knob(target.knob, fs_.version(), text, target.key), target.path);
  if (!host::row(target.knob).suspended_by) return value;
  target.rests = may_be_idle(fs_.version(), value) && is_idle(target.group);
  if (target.rests)
    return Error(Code::unavailable, fmt::format("{}: the group is idle and has no shares", target.path));
  return value;
}

Result<KnobValue> Targets::read_in_force(const Target& target) {
  KOORD_TRY(path, fs_.read_path(target.knob, target.group));
  host::HeldFile file(std::move(path));
  KOORD_TRY(text, files_of(target.knob).read(file, buffer_));
  return parse_knob(target.knob, fs_.version(), text, target.key);
}

bool Targets::is_idle(std::string_view group) {
  if (clock_.mono() < no_idle_until_) return false;
  auto path = fs_.read_path(Knob::cpu_idle, group);
  if (!path) return false;
  host::HeldFile file(std::move(*path));
  const auto text = files_.read(file, buffer_);
  if (!text) {
    if (is_absence(text.error())) no_idle_until_ = clock_.mono() + kUnsupportedRetry;
    return false;
  }
  return host::trimmed(*text) == "1";
}

Result<std::string> Targets::parents(const Target& target) {
  const auto slash = target.group.rfind('/');
  KOORD_TRY(path,
            fs_.read_path(target.knob, slash == std::string::npos ? "" : target.group.substr(0, slash)));
  host::HeldFile file(std::move(path));
  KOORD_TRY(text, files_.read(file, buffer_));
  return std::string(host::trimmed(text));
}

}  // namespace koord::koordlet::executor
