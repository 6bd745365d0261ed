// Executor: brings cgroup files to the values that are wanted: compares before it writes, keeps parents at
// least as wide as their children at every step, audits, and lives with what the kernel refuses. It knows a
// file by its inode: one that was made anew under its name is another one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/executor/kernel_files.hpp"
#include "framework/plan/strategy.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/host/cgroup_fs.hpp"

namespace koord::koordlet {

class Auditor;

/// A knob of a group, or one key of it, looked up once and then known by number. Dead after
/// Executor::forget_unused() has dropped it, which happens to those that nobody has named for a while.
struct KnobId {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;  // 0: none
  explicit operator bool() const { return generation != 0; }
  friend bool operator==(const KnobId&, const KnobId&) = default;
};

/// One value for one file. The intent's texts and the value live as long as the call.
struct WriteRequest {
  KnobId target;
  const KnobValue* value = nullptr;
  std::string_view reason;  // for the audit
  std::string_view audit_reason = kUpdateCgroups;
  bool yields = false;  // a value that somebody else writes there stays
  bool frees = false;   // nothing is held back by it
};

/// Used on the event loop's thread. Nothing here waits: writes for which the kernel may reclaim memory are
/// made elsewhere (KernelFiles::write_later). While one is in flight, nothing else is written to its file,
/// nor in an order that it is part of; then the newest request counts.
class Executor {
 public:
  static const metrics::Table kMetrics;
  struct Options {
    /// A value that was found or written is not looked at again for so long
    /// (--resource-force-update-seconds).
    nanoseconds force_refresh = std::chrono::seconds(60);
    /// Writes beyond these wait for the next call: each order of writes may be cut anywhere.
    double writes_per_second = 1000;
    double burst = 2000;
    /// A write in flight that takes longer is a failure that failures() names; it goes on being waited for.
    nanoseconds answer_within = std::chrono::seconds(10);
    /// Writes in flight at once: others wait until one of them has ended.
    std::size_t most_pending = 4;
    /// Who answers for the domain netlink; null: its knobs are Code::unsupported. Outlives the executor.
    KernelFiles* netlink = nullptr;
  };
  struct Outcome {
    std::size_t written = 0;
    std::size_t absent = 0;    // the group or the knob turned out not to exist: tried again later
    std::size_t failed = 0;    // refused by the kernel: tried again with backoff
    std::size_t waiting = 0;   // left alone: absent or refused lately, or shares of a group that is idle
    std::size_t deferred = 0;  // over the rate
    std::size_t pending = 0;   // in flight, or waiting for one that is
    friend bool operator==(const Outcome&, const Outcome&) = default;
  };
  enum class Pace : std::uint8_t { limited, at_once };
  struct Failure {
    host::Knob knob;
    std::string group;  // with the key, where there is one
    Error error;
    std::uint64_t count = 0;  // of attempts in a row
  };

  /// All references outlive the executor; `auditor` may be null.
  Executor(const host::CgroupFs& fs, KernelFiles& files, Clock& clock, Logger log, metrics::Registry& metrics,
           Options options, Auditor* auditor);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Code::invalid for a group that would leave the hierarchy, Code::unsupported if no hierarchy has the
  /// knob. `key`, here and below: which one is meant of a file that has many settings.
  Result<KnobId> find(host::Knob knob, std::string_view group, std::string_view key = {});
  /// Only if find() has been asked for it already; names nothing.
  KnobId known(host::Knob knob, std::string_view group, std::string_view key = {}) const;
  /// Whether apply() would look at the file for this value now. It asks the kernel at most once between two
  /// calls of apply() whether the file is still the same one, and nothing at all before its time.
  bool is_due(KnobId target, const KnobValue& value);
  /// Whether the file was found to be another one than before since the last apply(): what was known of it,
  /// and what it had before koord came, was the other one's.
  bool is_renewed(KnobId target) const;
  /// Two passes: from the roots down, each file gets the looser of what it holds and what it shall hold; from
  /// the leaves up, what it shall hold. A target is named at most once.
  Outcome apply(std::span<const WriteRequest> requests, Pace pace = Pace::limited);
  /// The value was seen in the file or written to it, and nothing has told otherwise since.
  bool holds(KnobId target, const KnobValue& value) const;
  /// Grows when a value that a file held may not be there any more: until then all that it holds() it holds.
  std::uint64_t losses() const;
  bool is_absent(KnobId target) const;
  /// Somebody else has changed what was written, or seen, for a request that yields: nothing is written there
  /// any more until the file is made anew.
  bool is_others(KnobId target) const;
  /// Writes that the kernel has not ended.
  std::size_t pending() const;
  /// Something has come: what was absent, group or file, is looked for again at once. In cgroup v2 a group's
  /// files come when its controllers are switched on.
  void retry_absent();

  /// Somebody else may have written this knob, of any group: what was known of it is looked at again.
  void look_again(host::Knob knob);

  /// Reading: of a group that was absent lately nothing is asked of the kernel, it is Code::not_found.
  ///
  /// What is in force: v2's cpuset.cpus.effective. Keeps the file open. A value that differs from the one
  /// that the executor remembers makes it look at the file again at the next apply().
  Result<KnobValue> current(host::Knob knob, std::string_view group, std::string_view key = {});
  /// What was set: v2's cpuset.cpus. Code::unavailable for the shares of an idle group, which has none.
  Result<KnobValue> setting(host::Knob knob, std::string_view group, std::string_view key = {});
  /// The text of a file that is only read, valid until the next call. Keeps the file open.
  Result<std::string_view> reading(host::Knob knob, std::string_view group);
  /// The names of the groups right below. Code::not_found if there is no such group.
  Result<std::vector<std::string>> children(host::Knob knob, std::string_view group);

  /// Why the kernel refuses what was wanted of a file last; nothing: it does not.
  std::optional<Error> refused(host::Knob knob, std::string_view group, std::string_view key = {}) const;
  /// What the kernel refuses at present, of what was named in the last call of apply() or since.
  std::vector<Failure> failures() const;
  /// Drops what no call has named for `age`.
  void forget_unused(nanoseconds age);
  std::size_t size() const;
  host::CgroupVersion version() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::koordlet
