// The schema tables of koord/api/types/meta_v1/delete_options.hpp: DeleteOptions.
#include "koord/api/types/meta_v1/delete_options.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr Kind kDeleteOptions = {
    .group = "", .version = "v1", .kind = "DeleteOptions", .plural = "", .singular = "", .namespaced = false};

}  // namespace

template <>
const Schema& schema<Preconditions>() {
  using T = Preconditions;
  static constexpr Field kRows[] = {
      KOORD_FIELD(uid, "uid"),
      KOORD_FIELD(resource_version, "resourceVersion"),
  };
  static const Schema kSchema("Preconditions", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<DeleteOptions>() {
  using T = DeleteOptions;
  static constexpr Field kRows[] = {
      KOORD_FIELD(grace_period_seconds, "gracePeriodSeconds"),
      KOORD_FIELD(preconditions, "preconditions"),
      KOORD_FIELD(propagation_policy, "propagationPolicy"),
      KOORD_FIELD(dry_run, "dryRun"),
  };
  static const Schema kSchema("DeleteOptions", kRows, type_of<T>, &kDeleteOptions);
  return kSchema;
}

}  // namespace koord::api
