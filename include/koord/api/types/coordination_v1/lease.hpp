// coordination.k8s.io/v1: Lease.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct LeaseSpec {
  std::string holder_identity;
  std::optional<int32_t> lease_duration_seconds;
  std::optional<MicroTime> acquire_time;
  std::optional<MicroTime> renew_time;
  std::optional<int32_t> lease_transitions;
  Symbol strategy;
  std::string preferred_holder;

  friend bool operator==(const LeaseSpec&, const LeaseSpec&) = default;
};
KOORD_API_SCHEMA(LeaseSpec);

struct Lease {
  ObjectMeta metadata;
  LeaseSpec spec;

  friend bool operator==(const Lease&, const Lease&) = default;
};
KOORD_API_SCHEMA(Lease);

}  // namespace koord::api
