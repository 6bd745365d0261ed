// Blame: who ran while others waited for a CPU, as the kernel's programs count it, made into BlamedWaits and
// metrics.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/blamed_waits.hpp"
#include "framework/inventory.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/wait_blame.hpp"

namespace koord::koordlet {

class RunQueue;

/// The event loop's thread. Costs nothing where nobody asked for it.
class Blame {
 public:
  static const metrics::Table kMetrics;
  /// How old the reading before may be, for one that somebody acts on.
  static constexpr nanoseconds kLate = std::chrono::milliseconds(2500);
  /// How often it is read which pods best-effort work made wait.
  static constexpr nanoseconds kPodsPeriod = std::chrono::seconds(5);

  struct Parts {
    host::WaitBlame* counters = nullptr;  // null: nobody asked, or it is not available
    std::string reason;                   // why not; empty: nobody asked
    const host::CgroupFs& cgroups;
    const RunQueue& run_queue;  // knows whose a cgroup is
    Logger& log;
    metrics::Registry& registry;
  };
  explicit Blame(Parts parts);

  bool wanted() const { return parts_.counters != nullptr || !parts_.reason.empty(); }
  bool available() const { return parts_.counters != nullptr; }
  const std::string& reason() const { return parts_.reason; }
  /// At every tick, after RunQueue's.
  void tick(MonoTime now, const std::shared_ptr<const Inventory>& inventory);

  /// Of the time since the tick before; null where it is not available.
  const BlamedWaits* waits() const { return available() ? &waits_ : nullptr; }
  /// Seconds of waiting of the pod's tasks, if it is LSE, LSR or LS, that best-effort work caused within the
  /// last kPodsPeriod. 0 if there was none, or nobody knows.
  double of_pod(const std::string& uid) const;

 private:
  void name_groups(const Inventory& inventory);
  void name(const std::string& group, host::CpuTier tier);
  Result<host::WaitBlame::GroupId> id_of(const std::string& group) const;
  void read(MonoTime now);
  void publish(const host::WaitBlame::State& now, nanoseconds period);
  void count(const host::WaitBlame::State& now);
  void count_losses();
  void read_pods(MonoTime now);
  std::string_view why_unfit(nanoseconds period) const;

  Parts parts_;
  std::array<std::array<metrics::Counter, host::WaitBlame::kRunners>, host::kCpuTiers> seconds_;
  std::array<metrics::Histogram, host::kCpuTiers> caused_;
  metrics::Counter lost_groups_, lost_tasks_, lost_unseen_;

  BlamedWaits waits_;
  bool naming_fails_ = false, reading_fails_ = false;
  std::optional<MonoTime> last_;  // reading; nothing: none yet, or it failed
  host::WaitBlame::State total_{};
  host::WaitBlame::Losses lost_, new_losses_;
  std::uint64_t new_waits_ = 0;   // of all tiers, in the last period
  std::uint64_t unknown_ns_ = 0;  // of who waits in vain for an answer, in the last period
  std::uint64_t generation_ = 0;  // of the inventory, as it was named
  bool named_ = false;            // all groups that there are, pods' included
  bool tiers_known_ = false;      // the same, for the whole of the last period
  std::vector<host::WaitBlame::Named> names_;
  std::vector<std::string> missing_;  // groups that have no cgroup

  MonoTime pods_due_{};
  bool pods_read_ = false;
  std::vector<host::WaitBlame::Group> groups_;
  std::unordered_map<host::WaitBlame::GroupId, std::uint64_t> group_ns_;
  std::unordered_map<std::string, double> pods_;  // seconds, by uid
};

}  // namespace koord::koordlet
