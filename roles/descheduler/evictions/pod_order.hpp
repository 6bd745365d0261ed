// PodRank: which of several pods goes first.
#pragma once

#include <compare>
#include <cstdint>

namespace koord::api {
struct Pod;
}

namespace koord::descheduler {

/// Read once from a pod; the lesser goes first: Koordinator's priority class (free, batch, mid, prod, none),
/// the priority, Kubernetes' quality of service (BestEffort first), Koordinator's (BE, LS, LSR, then LSE and
/// SYSTEM, none), controller.kubernetes.io/pod-deletion-cost, the cost of an eviction, what a plugin says,
/// and of pods alike the younger.
struct PodRank {
  std::int8_t koord_priority = 0;
  std::int32_t priority = 0;
  std::int8_t kube_qos = 0, koord_qos = 0;
  std::int32_t deletion_cost = 0, eviction_cost = 0;
  double plugin = 0;         // the plugin's own, before age; the lesser first
  std::int64_t created = 0;  // negative seconds, so that the younger is less

  friend auto operator<=>(const PodRank&, const PodRank&) = default;
};

PodRank rank_of(const api::Pod& pod, double plugin = 0);

}  // namespace koord::descheduler
