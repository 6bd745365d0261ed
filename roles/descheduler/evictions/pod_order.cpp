// See pod_order.hpp.
#include "evictions/pod_order.hpp"

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/descheduling.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::descheduler {

namespace {

std::int8_t order_of(api::KoordPriority priority) {
  switch (priority) {
    case api::KoordPriority::free: return 1;
    case api::KoordPriority::batch: return 2;
    case api::KoordPriority::mid: return 3;
    case api::KoordPriority::prod: return 4;
    case api::KoordPriority::none: return 5;
  }
  return 5;
}

std::int8_t order_of(api::KoordQos qos) {
  switch (qos) {
    case api::KoordQos::be: return 1;
    case api::KoordQos::ls: return 2;
    case api::KoordQos::lsr: return 3;
    case api::KoordQos::lse:
    case api::KoordQos::system: return 4;
    case api::KoordQos::none: return 5;
  }
  return 5;
}

std::int8_t order_of(api::KubeQos qos) {
  switch (qos) {
    case api::KubeQos::besteffort: return 1;
    case api::KubeQos::burstable: return 2;
    case api::KubeQos::guaranteed: return 3;
  }
  return 3;
}

}  // namespace

PodRank rank_of(const api::Pod& pod, double plugin) {
  const api::KubeQos kube = api::kube_qos(pod);
  const api::KoordQos qos = api::with_default(api::koord_qos(pod), kube);
  return {.koord_priority = order_of(api::with_default(api::koord_priority(pod), qos)),
          .priority = pod.spec.priority.value_or(0),
          .kube_qos = order_of(kube),
          .koord_qos = order_of(qos),
          .deletion_cost = api::deletion_cost(pod.metadata.annotations),
          .eviction_cost = api::eviction_cost(pod.metadata.annotations),
          .plugin = plugin,
          .created = -pod.metadata.creation_timestamp.at.time_since_epoch().count()};
}

}  // namespace koord::descheduler
