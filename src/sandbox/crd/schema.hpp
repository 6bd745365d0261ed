// CrdSchema: the OpenAPI v3 schema of a custom resource's version: pruning, defaults, validation.
#pragma once

#include <memory>
#include <string>

#include "sandbox/api/status.hpp"
#include "sandbox/json/dom.hpp"

namespace koord::sandbox {

class CrdSchema {
 public:
  /// `schema` is the openAPIV3Schema of a CRD's version.
  explicit CrdSchema(const Json& schema);

  /// Drops fields that the schema does not describe, unless it preserves them.
  void prune(Json& object) const;
  void apply_defaults(Json& object, JsonAlloc& alloc) const;
  void validate(const Json& object, FieldErrors& errors) const;
  const Json& json() const { return schema_; }

 private:
  JsonDoc schema_;
};

}  // namespace koord::sandbox
