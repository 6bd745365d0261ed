// Leader election on a Lease, compatible with client-go's.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"

namespace koord::kube {

class Client;

struct LeaderElectionConfig {
  std::string lease_namespace;  // --leader-elect-resource-namespace
  std::string lease_name;       // --leader-elect-resource-name
  /// Differs between any two processes; see make_identity().
  std::string identity;
  nanoseconds lease_duration = std::chrono::seconds(15);
  nanoseconds renew_deadline = std::chrono::seconds(10);
  nanoseconds retry_period = std::chrono::seconds(2);
  /// Give the lease back on stop, so that the next leader need not wait for it to run out.
  bool release_on_stop = true;
  /// Asked before each renewal, on the event loop's thread. False: whoever leads does not do its work, and
  /// the lease is left to run out, so that another one may. Empty: always true.
  std::function<bool()> may_renew = {};
  std::uint64_t seed = 1;  // of the jitter
};

/// Says what is wrong in the flags' terms: lease_duration > renew_deadline > 1.2 * retry_period > 0.
Result<> validate(const LeaderElectionConfig& config);

/// "HOST_UUID", upstream's form; the uuid is random.
std::string make_identity(std::string_view host_name);

/// The use: acquire(), start what only a leader may do, hold(), stop that. One coroutine at a time.
class LeaderElection {
 public:
  LeaderElection(Client& client, Clock& clock, LeaderElectionConfig config);
  ~LeaderElection();

  /// Waits until this process holds the lease; failures are logged and tried again for ever.
  /// Error(Code::not_found) if the namespace is missing, Error(Code::cancelled) if cancelled.
  Task<Result<>> acquire();
  /// Renews the lease. Returns Error(Code::conflict) as soon as it is lost; when cancelled, it gives
  /// the lease back (unless it was told not to) and returns Error(Code::cancelled).
  Task<Result<>> hold();

  /// Whether a write may still begin now: false as soon as the lease could not be renewed for
  /// renew_deadline, even while hold() waits for an answer. Any thread.
  bool leading() const;
  /// Who held the lease when it was last read; empty if unknown or nobody.
  const std::string& holder() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace koord::kube
