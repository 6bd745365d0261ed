// Shape: how the values of a schema are read, beside the types that they are declared with.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "koord/cel/type.hpp"

namespace koord::cel {

/// A schema as expressions see it. Immutable once used; values that are read by it refer to it.
struct Shape {
  enum class Format : std::uint8_t { none, date, date_time, duration, byte };
  enum class List : std::uint8_t { atomic, set, map };
  /// What a value must be; `any` is for objects without fields, preserved ones and
  /// x-kubernetes-int-or-string.
  enum class Expect : std::uint8_t { any, object, array, string, number, integer, boolean };
  struct Field {
    std::string name;  // escaped: what an expression writes
    std::string json_name;
    std::unique_ptr<Shape> shape;
  };

  TypeRef type;
  std::vector<Field> fields;       // by name
  std::unique_ptr<Shape> element;  // of an array's items, of an object's other members
  std::vector<std::string> map_keys;
  Expect expect = Expect::any;
  Format format = Format::none;
  List list = List::atomic;
  bool nullable = false;
  bool closed = false;  // only its fields are seen

  const Field* field(std::string_view name) const;
  const Field* json_field(std::string_view name) const;
};

/// How expressions write a property's name: "namespace" is "__namespace__", "a-b" is "a__dash__b". Empty if
/// it cannot be written.
std::string escape_name(std::string_view name);

}  // namespace koord::cel
