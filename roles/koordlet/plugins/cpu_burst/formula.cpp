// CPU burst's figures: see formula.hpp.
#include "plugins/cpu_burst/formula.hpp"

#include <algorithm>
#include <chrono>

#include "koord/host/cgroup_knobs.hpp"

namespace koord::koordlet::cpu_burst {

namespace {

constexpr double kUp = 1.2, kDown = 0.8;
constexpr double kCooling = 0.9;  // of the threshold
constexpr double kPays = 100, kSaves = 60;
constexpr double kBegins = 0.25;  // of the capacity

double capacity_of(const Settings& settings) {
  return static_cast<double>(settings.period_seconds) * static_cast<double>(settings.quota_percent - 100);
}

}  // namespace

std::int64_t burst_us(const Settings& settings, std::int64_t limit_milli) {
  if (limit_milli <= 0) return 0;
  const double cpus =
      static_cast<double>(limit_milli) / 1000 * (static_cast<double>(settings.burst_percent) / 100);
  return static_cast<std::int64_t>(cpus * static_cast<double>(host::kDefaultPeriodUs));
}

std::int64_t base_quota(std::int64_t limit_milli) { return host::milli_cpu_to_quota(limit_milli); }

NodeState node_state(double used_cpus, double shared_cpus, std::int64_t threshold_percent) {
  const double threshold = static_cast<double>(threshold_percent) / 100;
  const double ratio = shared_cpus > 0 ? used_cpus / shared_cpus : 1;
  if (ratio >= threshold) return NodeState::overload;
  return ratio >= threshold * kCooling ? NodeState::cooling : NodeState::idle;
}

Operation allowed(Operation wanted, NodeState node) {
  if (node == NodeState::overload) return Operation::down;
  if (node != NodeState::idle && wanted == Operation::up) return Operation::remain;
  return wanted;
}

std::int64_t next_quota(std::int64_t present, std::int64_t base, Operation operation,
                        const Settings& settings) {
  const std::int64_t most = settings.quota_percent > 100
                                ? static_cast<std::int64_t>(static_cast<double>(base) *
                                                            static_cast<double>(settings.quota_percent) / 100)
                                : base;
  double next = static_cast<double>(present);
  if (operation == Operation::up) next *= kUp;
  if (operation == Operation::down) next *= kDown;
  return std::clamp(static_cast<std::int64_t>(next), base, most);
}

Bucket::Bucket(const Settings& settings, MonoTime now)
    : tokens_(capacity_of(settings) * kBegins), capacity_(capacity_of(settings)), at_(now) {}

bool Bucket::allow(const Settings& settings, double used_percent, MonoTime now) {
  if (capacity_ != capacity_of(settings)) *this = Bucket(settings, now);
  const double seconds = std::chrono::duration<double>(now - at_).count();
  if (used_percent >= kPays || used_percent < kSaves) tokens_ += (kPays - used_percent) * seconds;
  tokens_ = std::clamp(tokens_, -capacity_, capacity_);
  at_ = now;
  return tokens_ > 0;
}

}  // namespace koord::koordlet::cpu_burst
