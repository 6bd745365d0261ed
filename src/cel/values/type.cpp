// Types: making, comparing and printing them.
#include "koord/cel/type.hpp"

#include <algorithm>
#include <array>

namespace koord::cel {
namespace {

TypeRef make(TypeKind kind, std::string name, std::vector<TypeRef> parameters) {
  auto type = std::make_shared<Type>();
  type->kind = kind;
  type->name = std::move(name);
  type->parameters = std::move(parameters);
  for (const TypeRef& parameter : type->parameters) type->weight += parameter->weight;
  return type;
}

}  // namespace

const Type::Field* find_field(const std::vector<Type::Field>& fields, std::string_view name) {
  const auto at =
      std::lower_bound(fields.begin(), fields.end(), name,
                       [](const Type::Field& field, std::string_view key) { return field.name < key; });
  return at != fields.end() && at->name == name ? &*at : nullptr;
}

const Type* Type::field(std::string_view wanted) const {
  const Field* found = find_field(fields, wanted);
  return found ? found->type.get() : nullptr;
}

const TypeRef& simple_type(TypeKind kind) {
  static const auto kTypes = [] {
    std::array<TypeRef, static_cast<std::size_t>(TypeKind::parameter) + 1> types;
    for (std::size_t i = 0; i < types.size(); ++i) types[i] = make(static_cast<TypeKind>(i), {}, {});
    return types;
  }();
  return kTypes[static_cast<std::size_t>(kind)];
}

TypeRef list_type(TypeRef element) { return make(TypeKind::list, {}, {std::move(element)}); }
TypeRef map_type(TypeRef key, TypeRef value) {
  return make(TypeKind::map, {}, {std::move(key), std::move(value)});
}
TypeRef optional_type(TypeRef value) { return make(TypeKind::optional, {}, {std::move(value)}); }
TypeRef type_type(TypeRef of) { return make(TypeKind::type, {}, {std::move(of)}); }
TypeRef opaque_type(std::string name) { return make(TypeKind::opaque, std::move(name), {}); }

TypeRef structure_type(std::string name, std::vector<Type::Field> fields) {
  auto type = std::make_shared<Type>();
  type->kind = TypeKind::structure;
  type->name = std::move(name);
  std::stable_sort(fields.begin(), fields.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  fields.erase(std::unique(fields.begin(), fields.end(),
                           [](const auto& a, const auto& b) { return a.name == b.name; }),
               fields.end());
  type->fields = std::move(fields);
  return type;
}

bool same_type(const Type& a, const Type& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.name != b.name || a.variable != b.variable) return false;
  return std::equal(a.parameters.begin(), a.parameters.end(), b.parameters.begin(), b.parameters.end(),
                    [](const TypeRef& x, const TypeRef& y) { return same_type(*x, *y); });
}

std::string_view name_of(const Type& type) {
  switch (type.kind) {
    case TypeKind::error: return "!error!";
    case TypeKind::dyn: return "dyn";
    case TypeKind::null: return "null_type";
    case TypeKind::boolean: return "bool";
    case TypeKind::integer: return "int";
    case TypeKind::unsigned_integer: return "uint";
    case TypeKind::real: return "double";
    case TypeKind::string: return "string";
    case TypeKind::bytes: return "bytes";
    case TypeKind::duration: return "google.protobuf.Duration";
    case TypeKind::timestamp: return "google.protobuf.Timestamp";
    case TypeKind::list: return "list";
    case TypeKind::map: return "map";
    case TypeKind::type: return "type";
    case TypeKind::optional: return "optional_type";
    case TypeKind::opaque:
    case TypeKind::structure:
    case TypeKind::parameter: return type.name;
  }
  return {};
}

std::string to_string(const Type& type) {
  switch (type.kind) {
    case TypeKind::null: return "null";
    case TypeKind::duration: return "duration";
    case TypeKind::timestamp: return "timestamp";
    default: break;
  }
  std::string text(name_of(type));
  if (type.parameters.empty()) return text;
  std::string_view separator = "(";
  for (const TypeRef& parameter : type.parameters) {
    text += separator;
    text += to_string(*parameter);
    separator = ", ";
  }
  text += ')';
  return text;
}

}  // namespace koord::cel
