// The schema tables of koord/api/types/core_v1/core_misc.hpp: Namespace, ConfigMap, Secret, Binding.
#include "koord/api/types/core_v1/core_misc.hpp"

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
constexpr std::string_view kConfigMapShort[] = {"cm"};
constexpr Kind kConfigMap = {.group = "",
                             .version = "v1",
                             .kind = "ConfigMap",
                             .plural = "configmaps",
                             .singular = "configmap",
                             .short_names = kConfigMapShort};
constexpr Kind kSecret = {
    .group = "", .version = "v1", .kind = "Secret", .plural = "secrets", .singular = "secret"};
constexpr Kind kBinding = {
    .group = "", .version = "v1", .kind = "Binding", .plural = "bindings", .singular = "binding"};

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

template <>
const Schema& schema<ConfigMap>() {
  using T = ConfigMap;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(data, "data"),
      KOORD_FIELD(binary_data, "binaryData"),
      KOORD_FIELD(immutable, "immutable"),
  };
  static const Schema kSchema("ConfigMap", kRows, type_of<T>, &kConfigMap);
  return kSchema;
}

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
