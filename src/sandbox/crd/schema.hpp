// CrdSchema: the OpenAPI v3 schema of a custom resource's version: pruning, defaults, validation.
#pragma once

#include <memory>
#include <vector>

#include "koord/json/value.hpp"
#include "sandbox/base/field_path.hpp"
#include "sandbox/base/status.hpp"
#include "sandbox/crd/expression_rules.hpp"
#include "sandbox/crd/schema_node.hpp"

namespace koord::sandbox {

/// Compiled once, when the definition comes. Immutable. What users write bounds neither its time nor its
/// memory: a definition has at most kMaxSchemas schemas and kMaxPatterns different patterns, which share
/// kPatternBytes; defaults add at most kMaxDefaultBytes to an object; validation takes at most kMaxSteps.
class CrdSchema {
 public:
  static constexpr std::size_t kMaxSchemas = 100'000;
  static constexpr std::size_t kMaxPatterns = 512;
  static constexpr std::size_t kPatternBytes = std::size_t{64} * 1024 * 1024;
  static constexpr std::size_t kMaxDefaultBytes = std::size_t{3} * 1024 * 1024;
  /// A value against a schema is a step, as are some bytes against a pattern's instructions.
  static constexpr std::size_t kMaxSteps = 3'000'000;

  /// `schema` is the openAPIV3Schema of a CRD's version, `path` where it stands. What is wrong is added to
  /// `errors`; such a schema must not be used.
  static std::shared_ptr<const CrdSchema> compile(const json::Value& schema, const FieldPath& path,
                                                  StatusCauses& errors);

  /// Drops fields that the schema does not describe, unless it preserves them, and fills defaults in. 413 if
  /// these are too large.
  Outcome<void> complete(json::Value& object, json::Arena& arena) const;
  /// `old` is what the object was, nullptr if it is new. Rules (x-kubernetes-validations) are asked unless an
  /// error keeps them from it.
  void validate(const json::Value& object, const json::Value* old, StatusCauses& errors) const;
  const json::Value& json() const { return schema_; }
  const SchemaNode& root() const { return root_; }

 private:
  json::Document schema_;  // the nodes refer to its texts and values
  std::vector<cel::Pattern> patterns_;
  SchemaNode root_;
  std::shared_ptr<const ExpressionRules> rules_;  // nullptr: it has none
};

}  // namespace koord::sandbox
