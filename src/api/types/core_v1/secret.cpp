// The schema tables of koord/api/types/core_v1/secret.hpp: Secret.
#include "koord/api/types/core_v1/secret.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr Kind kSecret = {
    .group = "", .version = "v1", .kind = "Secret", .plural = "secrets", .singular = "secret"};

}  // namespace

template <>
const Schema& schema<Secret>() {
  using T = Secret;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(type, "type"),
      KOORD_FIELD(data, "data"),
      KOORD_FIELD(immutable, "immutable"),
  };
  static const Schema kSchema("Secret", kRows, type_of<T>, &kSecret);
  return kSchema;
}

}  // namespace koord::api
