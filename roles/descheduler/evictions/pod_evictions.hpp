// PodEvictions: how a pod is asked to go.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "framework/evictor.hpp"
#include "framework/snapshot.hpp"
#include "koord/base/metrics.hpp"

namespace koord {
class Logger;
namespace kube {
class Client;
class EventRecorder;
}  // namespace kube
}  // namespace koord

namespace koord::descheduler {

enum class EvictionPolicy : std::uint8_t {
  eviction,      // policy/v1 Eviction, which heeds budgets
  deletion,      // "Delete": the pod itself is deleted, whatever budgets say
  soft_eviction  // "SoftEviction": an annotation asks whoever owns the pod to let it go
};
/// Nothing: no policy has that name.
std::optional<EvictionPolicy> eviction_policy(std::string_view name);
std::string_view name_of(EvictionPolicy policy);

/// Belongs to the role's strand.
class PodEvictions {
 public:
  struct Parts {
    Clock& clock;
    const Logger& log;
    kube::Client& client;
    std::function<bool()> may_write;
    metrics::Registry* metrics = nullptr;
  };
  explicit PodEvictions(Parts parts);

  /// Asks for it, of that very pod: its UID is a precondition. Success: it was accepted, or that pod is gone
  /// already. SoftEviction that was asked for the same reason before is not written again.
  /// Code::too_many_requests where a budget forbids it now, with the server's words; Code::invalid where the
  /// delete options speak of another pod. Counted in descheduler_pods_evicted, and logged. Rates, limits and
  /// dry runs are the caller's.
  Task<Result<>> ask(PodPtr pod, EvictionPolicy policy, EvictOptions options);

  static const metrics::Table kMetrics;

 private:
  Task<Result<>> send(const api::Pod& pod, EvictionPolicy policy, const EvictOptions& options);

  Parts parts_;
  metrics::Family<metrics::Counter> evicted_;
};

}  // namespace koord::descheduler
