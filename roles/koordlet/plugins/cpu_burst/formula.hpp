// The figures of CPU burst: how large a container's quota may become, and for how long. Pure functions, and a
// bucket of tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "koord/base/clock.hpp"

namespace koord::koordlet::cpu_burst {

/// What a node says, with what a pod says over it.
struct Settings {
  std::string_view policy;            // none, cpuBurstOnly, cfsQuotaBurstOnly, auto
  std::int64_t burst_percent = 1000;  // of the limit, that may be used later if it was not used before
  std::int64_t quota_percent = 300;   // of the limit, at most
  std::int64_t period_seconds = -1;   // below 0: for as long as it likes

  bool bursts() const { return policy == "auto" || policy == "cpuBurstOnly"; }
  bool scales() const { return policy == "auto" || policy == "cfsQuotaBurstOnly"; }
};

/// cpu.cfs_burst_us of a container with this limit; 0 without one.
std::int64_t burst_us(const Settings& settings, std::int64_t limit_milli);
/// The quota that the kubelet gives for the limit, per 100 ms.
std::int64_t base_quota(std::int64_t limit_milli);

/// How much of the CPUs that LS pods share is in use.
enum class NodeState : std::uint8_t { overload, cooling, idle, unknown };
NodeState node_state(double used_cpus, double shared_cpus, std::int64_t threshold_percent);

enum class Operation : std::uint8_t { up, down, remain };
/// What the container wants, as the node allows it.
Operation allowed(Operation wanted, NodeState node);
/// The next quota: a fifth more or less, between the base and quota_percent of it.
std::int64_t next_quota(std::int64_t present, std::int64_t base, Operation operation,
                        const Settings& settings);

/// How long a container may go on using more than its limit: it saves while it uses less than 60% and pays
/// while it uses 100% and more, in percent of the limit times seconds.
class Bucket {
 public:
  /// It begins with a quarter of what it can hold.
  explicit Bucket(const Settings& settings, MonoTime now);
  Bucket(double tokens, double capacity, MonoTime now) : tokens_(tokens), capacity_(capacity), at_(now) {}
  /// Whether it may at this use, counted since the last call. Another period or percentage begins anew.
  bool allow(const Settings& settings, double used_percent, MonoTime now);
  double tokens() const { return tokens_; }

 private:
  double tokens_ = 0, capacity_ = 0;
  MonoTime at_;
};

}  // namespace koord::koordlet::cpu_burst
