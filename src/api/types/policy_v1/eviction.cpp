// The schema tables of koord/api/types/policy_v1/eviction.hpp: Eviction.
#include "koord/api/types/policy_v1/eviction.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr Kind kEviction = {
    .group = "policy", .version = "v1", .kind = "Eviction", .plural = "evictions", .singular = "eviction"};

}  // namespace

template <>
const Schema& schema<Eviction>() {
  using T = Eviction;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(delete_options, "deleteOptions"),
  };
  static const Schema kSchema("Eviction", kRows, type_of<T>, &kEviction);
  return kSchema;
}

}  // namespace koord::api
