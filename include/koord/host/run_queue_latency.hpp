// RunQueueLatency: how long the tasks of each cgroup waited for a CPU, counted in the kernel by eBPF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/cgroup_knobs.hpp"
#include "koord/host/latency_histogram.hpp"
#include "koord/host/root.hpp"
#include "koord/host/wait_blame.hpp"

namespace koord::host {

/// Counts from the moment of open() on and as long as the object lives. A wait begins when a task wakes up,
/// is born, or is taken off its CPU while it could still run (preempted, or its group's quota used up), and
/// ends when it gets a CPU; the sums are those of the second number of /proc/TASK/schedstat. It is charged to
/// the group that the task is in when it ends. Children are not in their parent's figures. Belongs to one
/// thread at a time.
class RunQueueLatency {
 public:
  /// A cgroup's number: of its folder in the v2 hierarchy, or on v1 in the hierarchy of the cpu controller.
  /// It is the folder's inode number, unique while the folder exists; see cgroup_id().
  using GroupId = std::uint64_t;

  struct Group {
    GroupId id = 0;
    LatencyHistogram histogram;  // cumulative since the group's first wait
  };

  /// How much is counted.
  enum class Tracing : std::uint8_t {
    full,     // each wait
    sampled,  // one of kSampledOneIn, by chance, which counts for as many; nothing by blame()
    paused,   // nothing: the kernel does not call the programs
  };
  static constexpr std::uint64_t kSampledOneIn = 16;

  /// What the programs have cost so far. All events are counted, one in 61 is timed.
  struct Spent {
    std::uint64_t events = 0, timed = 0;
    std::uint64_t timed_ns = 0;  // of CPU, in the programs alone
    bool operator==(const Spent&) const = default;
  };

  /// What could not be counted for want of room in the kernel's tables.
  struct Losses {
    std::uint64_t groups = 0;  // waits of groups that found no place
    std::uint64_t tasks = 0;   // waits that were not begun because too many tasks are alive
    bool operator==(const Losses&) const = default;
  };

  /// Loads and attaches the programs. Never fatal for the caller: Code::unsupported says that this kernel
  /// cannot (no BTF below root.sys, too old, a program rejected), Code::forbidden that this process may not;
  /// the message is one line with the reason. Costs some 50 ms, and 12 MB until it returns.
  /// `with_blame`: with programs that also say who ran meanwhile, or not at all.
  static Result<std::unique_ptr<RunQueueLatency>> open(const Root& root, CgroupVersion version,
                                                       bool with_blame = false);

  RunQueueLatency() = default;
  RunQueueLatency(const RunQueueLatency&) = delete;
  RunQueueLatency& operator=(const RunQueueLatency&) = delete;
  virtual ~RunQueueLatency() = default;

  /// One group. Code::not_found if none of its tasks has waited yet. Prefer snapshot() for many.
  virtual Result<LatencyHistogram> read(GroupId id) = 0;
  /// All groups that have waited, in no order; the vector keeps its capacity, so that the steady state
  /// allocates nothing. A group that comes or goes meanwhile may be missing, never doubled.
  virtual Result<> snapshot(std::vector<Group>& into) = 0;
  /// Frees a group's place. Removed cgroups free theirs themselves.
  virtual Result<> remove(GroupId id) = 0;
  virtual Result<Losses> losses() = 0;
  virtual Result<Spent> spent() = 0;
  /// Full at first. Waits under way are dropped, what was counted stays. To full from paused only, and not
  /// within the same moment: a program may still be running. After an error it is paused.
  virtual Result<> trace(Tracing tracing) = 0;
  /// Groups that the kernel's table holds at most.
  virtual std::size_t capacity() const = 0;
  /// Who ran meanwhile; null where it was not asked for.
  virtual WaitBlame* blame() { return nullptr; }
};

/// The number of a cgroup's folder: on v1 it has to be the folder in the cpu hierarchy, as
/// CgroupFs::folder(Knob::cpu_quota, group) says it.
Result<RunQueueLatency::GroupId> cgroup_id(const std::string& folder);

}  // namespace koord::host
