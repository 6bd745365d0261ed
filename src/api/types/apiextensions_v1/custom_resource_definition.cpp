// The schema tables of koord/api/types/apiextensions_v1/custom_resource_definition.hpp:
// CustomResourceDefinition.
#include "koord/api/types/apiextensions_v1/custom_resource_definition.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kCustomResourceDefinitionShort[] = {"crd", "crds"};
constexpr Kind kCustomResourceDefinition = {.group = "apiextensions.k8s.io",
                                            .version = "v1",
                                            .kind = "CustomResourceDefinition",
                                            .plural = "customresourcedefinitions",
                                            .singular = "customresourcedefinition",
                                            .short_names = kCustomResourceDefinitionShort,
                                            .namespaced = false,
                                            .has_status = true};

}  // namespace

template <>
const Schema& schema<CrdNames>() {
  using T = CrdNames;
  static constexpr Field kRows[] = {
      KOORD_FIELD(plural, "plural").required(), KOORD_FIELD(singular, "singular"),
      KOORD_FIELD(short_names, "shortNames"),   KOORD_FIELD(kind, "kind").required(),
      KOORD_FIELD(list_kind, "listKind"),       KOORD_FIELD(categories, "categories"),
  };
  static const Schema kSchema("CrdNames", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CrdPrinterColumn>() {
  using T = CrdPrinterColumn;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(), KOORD_FIELD(type, "type").required(),
      KOORD_FIELD(format, "format"),        KOORD_FIELD(description, "description"),
      KOORD_FIELD(priority, "priority"),    KOORD_FIELD(json_path, "jsonPath").required(),
  };
  static const Schema kSchema("CrdPrinterColumn", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CrdValidation>() {
  using T = CrdValidation;
  static constexpr Field kRows[] = {
      KOORD_FIELD(open_apiv3_schema, "openAPIV3Schema"),
  };
  static const Schema kSchema("CrdValidation", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CrdScale>() {
  using T = CrdScale;
  static constexpr Field kRows[] = {
      KOORD_FIELD(spec_replicas_path, "specReplicasPath").required(),
      KOORD_FIELD(status_replicas_path, "statusReplicasPath").required(),
      KOORD_FIELD(label_selector_path, "labelSelectorPath"),
  };
  static const Schema kSchema("CrdScale", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CrdStatusSubresource>() {
  static const Schema kSchema("CrdStatusSubresource", {}, type_of<CrdStatusSubresource>);
  return kSchema;
}

template <>
const Schema& schema<CrdSubresources>() {
  using T = CrdSubresources;
  static constexpr Field kRows[] = {
      KOORD_FIELD(status, "status"),
      KOORD_FIELD(scale, "scale"),
  };
  static const Schema kSchema("CrdSubresources", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CrdVersion>() {
  using T = CrdVersion;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").required(),
      KOORD_FIELD(served, "served").required(),
      KOORD_FIELD(storage, "storage").required(),
      KOORD_FIELD(deprecated, "deprecated"),
      KOORD_FIELD(schema, "schema"),
      KOORD_FIELD(subresources, "subresources"),
      KOORD_FIELD(additional_printer_columns, "additionalPrinterColumns"),
  };
  static const Schema kSchema("CrdVersion", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CrdSpec>() {
  using T = CrdSpec;
  static constexpr Field kRows[] = {
      KOORD_FIELD(group, "group").required(), KOORD_FIELD(names, "names").required(),
      KOORD_FIELD(scope, "scope").required(), KOORD_FIELD(versions, "versions").required(),
      KOORD_FIELD(conversion, "conversion"),  KOORD_FIELD(preserve_unknown_fields, "preserveUnknownFields"),
  };
  static const Schema kSchema("CrdSpec", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CrdCondition>() {
  using T = CrdCondition;
  static constexpr Field kRows[] = {
      KOORD_FIELD(type, "type").required(),
      KOORD_FIELD(status, "status").required(),
      KOORD_FIELD(last_transition_time, "lastTransitionTime"),
      KOORD_FIELD(reason, "reason"),
      KOORD_FIELD(message, "message"),
  };
  static const Schema kSchema("CrdCondition", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CrdStatus>() {
  using T = CrdStatus;
  static constexpr Field kRows[] = {
      KOORD_FIELD(conditions, "conditions"),
      KOORD_FIELD(accepted_names, "acceptedNames"),
      KOORD_FIELD(stored_versions, "storedVersions"),
  };
  static const Schema kSchema("CrdStatus", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<CustomResourceDefinition>() {
  using T = CustomResourceDefinition;
  static constexpr Field kRows[] = {
      KOORD_FIELD(metadata, "metadata"),
      KOORD_FIELD(spec, "spec"),
      KOORD_FIELD(status, "status"),
  };
  static const Schema kSchema("CustomResourceDefinition", kRows, type_of<T>, &kCustomResourceDefinition);
  return kSchema;
}

}  // namespace koord::api
