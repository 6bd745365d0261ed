// Targets: what the executor knows of its files, known by number; whether they are there; what they say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/executor/executor.hpp"
#include "framework/executor/kernel_files.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/result.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/file.hpp"

namespace koord::koordlet::executor {

using host::Knob;

enum class State : std::uint8_t { fine, absent, unsupported, refused };

/// A write that was begun off the loop.
struct Flight {
  KnobValue value, wanted;  // what is written, and what shall be there in the end
  std::string text, reason;
  std::string_view audit_reason;
  MonoTime began{};
  bool told = false;  // that it takes long
};

struct Target {
  Knob knob{};
  std::string group, key;
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

  std::optional<Flight> flight;  // a write that the kernel has not ended
  bool others = false;           // somebody else writes it, and it is left to them
  bool rests = false;            // shares of an idle group: the kernel neither tells nor takes any
};

struct Key {
  Knob knob;
  std::string group, key;
};
struct KeyView {
  Knob knob;
  std::string_view group, key;
};
struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(const KeyView& key) const {
    const std::size_t hash =
        std::hash<std::string_view>{}(key.group) * 31 + static_cast<std::size_t>(key.knob);
    return key.key.empty() ? hash : hash ^ std::hash<std::string_view>{}(key.key) * 37;
  }
  std::size_t operator()(const Key& key) const { return (*this)(KeyView{key.knob, key.group, key.key}); }
};
struct KeyEqual {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return a.knob == b.knob && a.group == b.group && a.key == b.key;
  }
};

/// 1 s, doubled with each failure in a row, up to `last`.
nanoseconds backoff(std::uint64_t failures, nanoseconds last);

inline bool is_missing(const Target& target) {
  return target.state == State::absent || target.state == State::unsupported;
}
inline bool is_absence(const Error& error) {
  return error.code() == Code::not_found || error.code() == Code::unsupported;
}
void set_fine(Target& target);
/// The group, the key, or both: for messages.
std::string name_of(const Target& target);

/// References to targets are valid until the next find() or forget_unused().
class Targets {
 public:
  /// `netlink` may be null, as the executor's.
  Targets(const host::CgroupFs& fs, KernelFiles& files, KernelFiles* netlink, Clock& clock, Logger log)
      : fs_(fs), files_(files), netlink_(netlink), clock_(clock), log_(std::move(log)) {}

  // As the executor's, which hands these on.
  Result<KnobId> find(Knob knob, std::string_view group, std::string_view key);
  KnobId known(Knob knob, std::string_view group, std::string_view key) const;
  void retry_absent();
  void forget_unused(nanoseconds age);
  std::size_t size() const { return index_.size(); }
  Result<KnobValue> current(Knob knob, std::string_view group, std::string_view key);
  Result<KnobValue> setting(Knob knob, std::string_view group, std::string_view key);
  Result<std::string_view> reading(Knob knob, std::string_view group);
  Result<std::vector<std::string>> children(Knob knob, std::string_view group);

  /// Who answers for the knob's domain.
  KernelFiles& files_of(Knob knob) {
    return host::row(knob).domain == host::KnobDomain::netlink && netlink_ != nullptr ? *netlink_ : files_;
  }

  /// Null for one that was forgotten.
  Target* get(KnobId id) { return is_live(id) ? &all_[id.index] : nullptr; }
  const Target* get(KnobId id) const { return is_live(id) ? &all_[id.index] : nullptr; }
  Target& at(std::uint32_t index) { return all_[index]; }
  const Target& at(std::uint32_t index) const { return all_[index]; }
  std::uint32_t index_of(const Target& target) const {
    return static_cast<std::uint32_t>(&target - all_.data());
  }
  const std::vector<Target>& all() const { return all_; }
  std::vector<Target>& all() { return all_; }

  /// It is not known any more what the file holds.
  void lose(Target& target) {
    target.known.reset();
    ++losses_;
  }
  std::uint64_t losses() const { return losses_; }

  /// Rounds end with Executor::apply().
  std::uint64_t round() const { return round_; }
  void end_round() { ++round_; }

  /// Whether the file is there, and the one that it was: asked once a round.
  void look(Target& target);
  /// Notes that the group or its file does not exist.
  void set_missing(Target& target, const Error& error);
  /// What was set, from the file that is written. Code::unavailable for the shares of an idle group: then
  /// the target rests.
  Result<KnobValue> read_setting(Target& target);
  /// What the kernel makes of it: v2's cpuset.cpus.effective.
  Result<KnobValue> read_in_force(const Target& target);
  /// What v2 group's parent has in force.
  Result<std::string> parents(const Target& target);

 private:
  bool is_live(KnobId id) const {
    return id.index < all_.size() && id.generation != 0 && all_[id.index].generation == id.generation;
  }
  /// Nothing is asked of the kernel before its time.
  bool is_left_alone(const Target& target) const {
    return is_missing(target) && clock_.mono() < target.retry_at;
  }
  Result<std::string_view> read_held(Target& target);
  bool is_idle(std::string_view group);
  /// What a reading tells of its target.
  template <class T>
  Result<T> noted(Target& target, Result<T> read) {
    if (!read && is_absence(read.error())) set_missing(target, read.error());
    return read;
  }

  const host::CgroupFs& fs_;
  KernelFiles& files_;
  KernelFiles* netlink_;
  Clock& clock_;
  Logger log_;
  std::vector<Target> all_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<Key, std::uint32_t, KeyHash, KeyEqual> index_;
  std::uint32_t last_generation_ = 0;
  std::uint64_t round_ = 1, losses_ = 0;
  MonoTime no_idle_until_{};  // this kernel has no cpu.idle
  host::ReadBuffer buffer_;
};

}  // namespace koord::koordlet::executor
