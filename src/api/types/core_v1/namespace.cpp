// The schema tables of koord/api/types/core_v1/namespace.hpp: Namespace.
#include "koord/api/types/core_v1/namespace.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kNamespaceShort[] = {"ns"};
constexpr Kind kNamespace = {.group = "",
                             .version = "v1",
                             .kind = "Namespace",
                             .plural = "namespaces",
                             .singular = "namespace",
                             .short_names = kNamespaceShort,
                             .namespaced = false,
                             .has_status = true};

}  // namespace

template <>
const Schema& schema<NamespaceStatus>() {
  using T = NamespaceStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(phase, "phase"),
  };
  static const Schema kSchema("NamespaceStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<NamespaceSpec>() {
  using T = NamespaceSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(finalizers, "finalizers"),
  };
  static const Schema kSchema("NamespaceSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Namespace>() {
  using T = Namespace;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
      KOORD_FIELD(status, "status"),
  };
  static const Schema kSchema("Namespace", kRows, type_of<T>, &kNamespace);
  return kSchema;
}

}  // namespace koord::api
