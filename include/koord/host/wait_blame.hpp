// WaitBlame: who ran on the CPUs while others waited for them, by tier, counted in the kernel by eBPF.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/host/cgroup_knobs.hpp"
#include "koord/host/fine_histogram.hpp"
#include "koord/host/root.hpp"
#include "koord/host/stalls.hpp"

namespace koord::host {

/// What a cgroup's tasks are, as name_groups() says; `system` is whoever is below no group that was named.
enum class CpuTier : std::uint8_t { lse, lsr, ls, best_effort, system };
inline constexpr std::size_t kCpuTiers = 5;

/// A part of RunQueueLatency, which see for what a wait is; it lives as long as that. All figures are
/// cumulative. A CPU is charged to whose task is on it, interrupts and what a hypervisor takes included.
/// Known loads are told within 5%, what is caused from another CPU, too.
class WaitBlame {
 public:
  using GroupId = std::uint64_t;

  /// Who has the CPU: a tier, or nobody although somebody waits for it (a wake-up on its way, a quota used
  /// up), or who cannot be told (until a CPU's first switch).
  static constexpr std::size_t kIdle = 5, kUnknown = 6, kRunners = 7;

  /// Of tasks of one tier: waits that have ended.
  struct Waits {
    std::array<std::uint64_t, kRunners> ran_ns{};  // by who ran meanwhile; their sum is that of the waits
    std::uint64_t waits = 0;
    /// What best-effort work caused: it ran on the waiter's CPU, or, if the waiter may use all CPUs, on any
    /// of the same memory node. Nothing of waits by their own quota.
    std::uint64_t caused_ns = 0;
    /// Of LSE, LSR and LS tasks that waited for themselves: their own quota, or one of a group above them,
    /// was used up meanwhile (then all of the wait is kIdle's) or within a quarter of a second before.
    std::uint64_t own_quota_waits = 0;
    std::uint64_t own_quota_ns = 0;  // of those, while somebody ran
    FineHistogram whole;
    FineHistogram caused;  // of waits with such a part only
  };
  using State = std::array<Waits, kCpuTiers>;

  /// Waits that are in no figure here.
  struct Losses {
    std::uint64_t groups = 0;  // of groups that found no place: only missing in groups()
    std::uint64_t tasks = 0;   // not begun because too many tasks are alive
    std::uint64_t unseen = 0;  // the kernel did not tell of a move, or of the end
    bool operator==(const Losses&) const = default;
  };

  /// What best-effort work caused of the waits of one LSE, LSR or LS cgroup; children are not in it.
  struct Group {
    GroupId id = 0;
    std::uint64_t ns = 0, waits = 0;
  };

  struct Named {
    GroupId id = 0;
    CpuTier tier = CpuTier::system;
  };

  WaitBlame() = default;
  WaitBlame(const WaitBlame&) = delete;
  WaitBlame& operator=(const WaitBlame&) = delete;
  virtual ~WaitBlame() = default;

  /// All groups that have a tier of their own; what is below one counts as it, the closest one wins. Holds
  /// from each task's next switch on. Code::too_large beyond capacity().
  virtual Result<> name_groups(std::span<const Named> groups) = 0;
  virtual std::size_t capacity() const = 0;

  virtual Result<> read(State& into) = 0;
  /// In no order; the vector keeps its capacity.
  virtual Result<> groups(std::vector<Group>& into) = 0;
  virtual Result<Losses> losses() = 0;

  /// What else the named groups stand still for. Never fatal, as RunQueueLatency::open().
  virtual Result<std::unique_ptr<Stalls>> open_stalls(const Root& root, CgroupVersion version) = 0;
};

}  // namespace koord::host
