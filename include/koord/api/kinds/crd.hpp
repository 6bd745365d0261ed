// CRD manifests and OpenAPI schemas, printed from the schema tables.
#pragma once

#include <span>
#include <string>

#include "koord/api/schema/schema.hpp"

namespace koord::api {

/// The schemas of the custom resources that koord describes whole, in the order in which they are printed.
std::span<const Schema* const> custom_resources();

/// The schemas of Kubernetes' own kinds that koord describes, in part at least.
std::span<const Schema* const> builtin_kinds();

/// The CustomResourceDefinition of a custom resource's schema as YAML ("---" not included), as `koord crds`
/// prints it and packaging/crds has it.
std::string crd_manifest_yaml(const Schema& schema);
/// The same as JSON.
std::string crd_manifest_json(const Schema& schema);

/// The OpenAPI v3 schema of the described fields, as JSON. `preserve_unknown` adds
/// x-kubernetes-preserve-unknown-fields to every object: for kinds that koord describes in part.
std::string openapi_schema(const Schema& schema, bool preserve_unknown);

}  // namespace koord::api
