// The schema tables of koord/api/types/coordination_v1/lease.hpp: Lease.
#include "koord/api/types/coordination_v1/lease.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr Kind kLease = {.group = "coordination.k8s.io",
                         .version = "v1",
                         .kind = "Lease",
                         .plural = "leases",
                         .singular = "lease"};

}  // namespace

template <>
const Schema& schema<LeaseSpec>() {
  using T = LeaseSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(holder_identity, "holderIdentity"),
      KOORD_FIELD(lease_duration_seconds, "leaseDurationSeconds"),
      KOORD_FIELD(acquire_time, "acquireTime"),
      KOORD_FIELD(renew_time, "renewTime"),
      KOORD_FIELD(lease_transitions, "leaseTransitions"),
      KOORD_FIELD(strategy, "strategy"),
      KOORD_FIELD(preferred_holder, "preferredHolder"),
  };
  static const Schema kSchema("LeaseSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Lease>() {
  using T = Lease;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
  };
  static const Schema kSchema("Lease", kRows, type_of<T>, &kLease);
  return kSchema;
}

}  // namespace koord::api
