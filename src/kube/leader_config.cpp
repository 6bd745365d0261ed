// What a LeaderConfig must satisfy before an election may start.
#include <fmt/format.h>

#include <random>

#include "koord/kube/leader_election.hpp"

namespace koord::kube {

namespace {
constexpr double kJitterFactor = 1.2;  // client-go's bound between renew deadline and retry period
}  // namespace

Result<> validate(const LeaderElectionConfig& config) {
  const auto wrong = [](std::string message) { return Error(Code::invalid, std::move(message)); };
  if (config.lease_name.empty()) return wrong("--leader-elect-resource-name must not be empty");
  if (config.lease_namespace.empty()) return wrong("--leader-elect-resource-namespace must not be empty");
  if (config.identity.empty()) return wrong("the leader election's identity must not be empty");
  if (config.lease_duration < std::chrono::seconds(1))
    return wrong("--leader-elect-lease-duration must be at least 1s");
  if (config.retry_period <= nanoseconds::zero())
    return wrong("--leader-elect-retry-period must be greater than zero");
  if (config.lease_duration <= config.renew_deadline)
    return wrong("--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline");
  if (static_cast<double>(config.renew_deadline.count()) <=
      static_cast<double>(config.retry_period.count()) * kJitterFactor)
    return wrong("--leader-elect-renew-deadline must be greater than 1.2 times --leader-elect-retry-period");
  return Result<>();
}

std::string make_identity(std::string_view host_name) {
  std::random_device random;
  unsigned char bytes[16];
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);  // RFC 9562: version 4
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string identity = fmt::format("{}_", host_name);
  for (std::size_t i = 0; i < sizeof(bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) identity += '-';
    identity += "0123456789abcdef"[bytes[i] >> 4];
    identity += "0123456789abcdef"[bytes[i] & 15];
  }
  return identity;
}

}  // namespace koord::kube
