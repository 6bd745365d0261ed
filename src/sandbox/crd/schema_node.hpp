// SchemaNode: one schema of a definition, compiled: what is looked up often is sorted, patterns are programs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "koord/cel/pattern.hpp"
#include "koord/json/value.hpp"

namespace koord::sandbox {

struct SchemaRules;

/// Names and values lie in the schema's document.
struct SchemaNode {
  enum class Type : std::uint8_t { any, array, boolean, integer, number, object, string };
  enum class ListType : std::uint8_t { atomic, set, map };
  struct Property {
    std::string_view name;
    std::unique_ptr<SchemaNode> schema;
  };

  SchemaNode();
  SchemaNode(SchemaNode&&) noexcept;
  SchemaNode& operator=(SchemaNode&&) noexcept;
  ~SchemaNode();

  /// nullptr if the schema does not name it.
  const SchemaNode* property(std::string_view name) const;
  /// The schema of a member: a property's or that of all others.
  const SchemaNode* member(std::string_view name) const {
    const SchemaNode* named = property(name);
    return named ? named : additional.get();
  }

  std::vector<Property> properties;  // by name
  std::unique_ptr<SchemaNode> items, additional;
  std::unique_ptr<SchemaRules> rules;      // few have any
  const json::Value* preset = nullptr;     // the default
  std::vector<std::string_view> map_keys;  // of a list of type map
  Type type = Type::any;
  ListType list_type = ListType::atomic;
  bool nullable = false, int_or_string = false;
  bool keeps_unknown = false;  // or additionalProperties: true
  bool embedded = false;       // an object with apiVersion, kind and metadata
  bool fills = false;          // it or a schema in it has a default
};

struct SchemaRules {
  const cel::Pattern* pattern = nullptr;
  const json::Value *minimum = nullptr, *maximum = nullptr;  // numbers
  bool exclusive_minimum = false, exclusive_maximum = false;
  std::optional<std::int64_t> min_length, max_length, min_items, max_items, min_properties, max_properties;
  std::vector<std::string_view> required;
  const json::Value* enumeration = nullptr;  // a list
  std::vector<const json::Value*> allowed;   // its values by json::compare
  std::vector<SchemaNode> all_of, any_of, one_of;
  std::unique_ptr<SchemaNode> negative;
};

std::string_view name_of(SchemaNode::Type type);

}  // namespace koord::sandbox
