// The schema tables of koord/api/types/core_v1/binding.hpp: Binding.
#include "koord/api/types/core_v1/binding.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr Kind kBinding = {
    .group = "", .version = "v1", .kind = "Binding", .plural = "bindings", .singular = "binding"};

}  // namespace

template <>
const Schema& schema<Binding>() {
  using T = Binding;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(target, "target").required(),
  };
  static const Schema kSchema("Binding", kRows, type_of<T>, &kBinding);
  return kSchema;
}

}  // namespace koord::api
