// The figures of CPU suppression: how much CPU best-effort work may have, how fast that may grow, and how it
// is shared out. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "koord/host/topology.hpp"

namespace koord::koordlet::cpu_suppress {

inline constexpr std::int64_t kMinQuotaUs = 2000;  // per 100 ms, for all that is best-effort
inline constexpr int kMinCpus = 2;

/// One pod or host application. A pod that is measured but not known counts as latency-sensitive.
struct Consumer {
  double cpu = 0;  // CPUs
  bool best_effort = false;
  bool inside = false;  // its use is part of Load::best_effort_cpu
};

struct Load {
  double node_cpu = 0;  // CPUs, of the whole machine
  std::vector<Consumer> pods, host_applications;
  std::int64_t capacity_milli = 0;
  std::int64_t reserved_milli = 0;  // the larger of what the kubelet and what the annotation keeps
  /// CPUs of the best-effort groups as a whole, with all that is in them, known or not; 0 where it could not
  /// be read: then it is the sum of those who are known.
  double best_effort_cpu = 0;
};

struct Budget {
  std::int64_t milli = 0;                            // for best-effort work; below 0: nothing is left
  double pods_used = 0, host_applications_used = 0;  // the latency-sensitive ones
  double system_used = 0;                            // or reserved, whichever is more
};

/// capacity * threshold - latency-sensitive pods - latency-sensitive host applications - max(system,
/// reserved), at least capacity * minimum.
Budget budget(const Load& load, std::int64_t threshold_percent, std::optional<std::int64_t> min_percent);

/// The next quota (us per 100 ms) on the way to a budget: at least kMinQuotaUs; no change below 1% of the
/// node's CPUs, unless the target is the least quota or there is none yet; growth by 10% of them at most,
/// unless there is none yet. `present` and the answer are sums over all best-effort groups; -1: none.
std::int64_t next_quota(std::int64_t budget_milli, std::int64_t present_us, std::int64_t capacity_milli,
                        std::int64_t min_us = kMinQuotaUs);

/// The next number of CPUs on the way to a budget: at least kMinCpus, growth by a tenth of the machine's
/// (rounded up) at most.
int next_cpu_count(std::int64_t budget_milli, int present, int machine);

/// `count` CPUs of those given: scattered over NUMA nodes and sockets, whole cores first. Nothing if there
/// are not so many.
std::vector<int> choose_cpus(int count, std::vector<host::CpuPlace> available);

/// One best-effort group that has a part of the quota.
struct Claim {
  std::int64_t used_us = 0;                  // per 100 ms
  bool hungry = false;                       // it used nearly all that it had, or that is not known
  std::optional<std::int64_t> most_us = {};  // what it was limited to before koord came
};
/// A quota shared out: at least kMinQuotaUs each; then those that are not hungry get what they use and a
/// quarter more, and the hungry ones the rest in equal parts (max-min fair); what is left then is shared
/// equally. Nobody gets more than its `most_us`. A single group without one gets all.
struct Shares {
  std::vector<std::int64_t> us;  // of each claim
  std::vector<std::size_t> order;
};
/// Into `shares`, whose memory is used again.
void share_out(std::int64_t total_us, std::span<const Claim> claims, Shares& shares);

}  // namespace koord::koordlet::cpu_suppress
