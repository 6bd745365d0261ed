// Types of the Common Expression Language, as declared and as inferred.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace koord::cel {

struct Type;
using TypeRef = std::shared_ptr<const Type>;

enum class TypeKind : std::uint8_t {
  error,  // of an expression that was refused: it agrees with everything, so that one mistake is told once
  dyn,
  null,
  boolean,
  integer,
  unsigned_integer,
  real,
  string,
  bytes,
  duration,
  timestamp,
  list,       // one parameter
  map,        // two: key and value
  type,       // at most one: the type of a type
  optional,   // one
  opaque,     // a library's (net.IP), compared by name
  structure,  // named fields: an object of a schema, a request, a device
  parameter,  // a type variable of a signature or of an inference
};

/// Immutable, shared by whatever mentions it.
struct Type {
  struct Field {
    std::string name;
    TypeRef type;
  };

  TypeKind kind = TypeKind::dyn;
  std::string name;  // of opaque, structure and parameter
  std::vector<TypeRef> parameters;
  std::vector<Field> fields;  // of a structure, by name
  std::size_t variable = 0;   // of a parameter that an inference made: its number, from 1
  std::uint64_t weight = 1;   // types that printing it prints: a type may mention another twice

  /// nullptr if a structure has no such field.
  const Type* field(std::string_view name) const;
};

/// The one type of a kind that has neither a name nor parameters.
const TypeRef& simple_type(TypeKind kind);
TypeRef list_type(TypeRef element);
TypeRef map_type(TypeRef key, TypeRef value);
TypeRef optional_type(TypeRef value);
TypeRef type_type(TypeRef of);
TypeRef opaque_type(std::string name);
/// `fields` in any order; of two of one name the first counts.
TypeRef structure_type(std::string name, std::vector<Type::Field> fields);

/// Whether both are one type, with parameters and names.
bool same_type(const Type& a, const Type& b);
/// As error messages print it: "list(int)", "map(string, dyn)".
std::string to_string(const Type& type);
/// Without parameters, as type() prints it: "list", "google.protobuf.Timestamp".
std::string_view name_of(const Type& type);

}  // namespace koord::cel
