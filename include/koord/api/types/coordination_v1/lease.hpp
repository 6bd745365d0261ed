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
  KOORD_STRUCT(LeaseSpec);
};

struct Lease {
  ObjectMeta metadata;
  LeaseSpec spec;
  KOORD_STRUCT(Lease);
};

}  // namespace koord::api
