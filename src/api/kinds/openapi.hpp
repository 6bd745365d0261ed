// OpenAPI v3 schemas of typed objects as DOM values.
#pragma once

#include "koord/api/schema/table.hpp"
#include "koord/json/value.hpp"

namespace koord::api {

enum class OpenApiFor {
  crd,        // structural, as a CustomResourceDefinition carries it: metadata is just an object
  discovery,  // for clients: metadata described, patch strategies named
};

/// `preserve_unknown` marks every object as open.
json::Value openapi(const Schema& schema, OpenApiFor purpose, bool preserve_unknown, json::Arena& arena);

}  // namespace koord::api
