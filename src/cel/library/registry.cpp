// All functions of the base environment, put together from the tables once.
#include <functional>
#include <map>
#include <string>

#include "cel/library/function.hpp"
#include "cel/library/tables.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

using Words = std::map<std::string, TypeRef, std::less<>>;

const Words& words() {
  static const Words kWords = {
      {"dyn", simple_type(TypeKind::dyn)},
      {"null", simple_type(TypeKind::null)},
      {"bool", simple_type(TypeKind::boolean)},
      {"int", simple_type(TypeKind::integer)},
      {"uint", simple_type(TypeKind::unsigned_integer)},
      {"double", simple_type(TypeKind::real)},
      {"string", simple_type(TypeKind::string)},
      {"bytes", simple_type(TypeKind::bytes)},
      {"duration", simple_type(TypeKind::duration)},
      {"timestamp", simple_type(TypeKind::timestamp)},
      {"quantity", structure_type("kubernetes.Quantity", {})},
      {"url", structure_type("kubernetes.URL", {})},
      {"semver", structure_type("kubernetes.Semver", {})},
      {"format", structure_type("kubernetes.NamedFormat", {})},
      {"ip", opaque_type("net.IP")},
      {"cidr", opaque_type("net.CIDR")},
  };
  return kWords;
}

/// Reads one type from the front of `text`.
TypeRef read_type(std::string_view& text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::size_t size = 0;
  while (size < text.size() && (std::isalpha(static_cast<unsigned char>(text[size])) != 0)) ++size;
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(size);
  if (word.size() == 1) {
    auto type = std::make_shared<Type>();
    type->kind = TypeKind::parameter;
    type->name = word;
    return type;
  }
  if (const auto found = words().find(word); found != words().end()) return found->second;
  std::vector<TypeRef> parameters;
  while (text.starts_with('(') || text.starts_with(',')) {
    text.remove_prefix(1);
    parameters.push_back(read_type(text));
  }
  text.remove_prefix(1);
  if (word == "list") return list_type(parameters[0]);
  if (word == "map") return map_type(parameters[0], parameters[1]);
  return word == "optional" ? optional_type(parameters[0]) : type_type(parameters[0]);
}

Overload overload_of(const Declaration& row) {
  Overload overload;
  overload.id = row.id;
  overload.run = row.run;
  std::string_view text = row.signature;
  if (!text.starts_with('(')) {
    overload.member = true;
    overload.parameters.push_back(read_type(text));
    text.remove_prefix(1);
  }
  text.remove_prefix(1);
  while (!text.starts_with(')')) {
    overload.parameters.push_back(read_type(text));
    if (text.starts_with(',')) text.remove_prefix(1);
  }
  text.remove_prefix(std::string_view(") -> ").size());
  overload.result = read_type(text);
  return overload;
}

bool is_single(std::string_view name) {
  return name.find('_') != std::string_view::npos || name == "@in" || name == "size" || name == "matches" ||
         name == "type" || name == "dyn" || name == "contains" || name == "startsWith" || name == "endsWith";
}

using Functions = std::map<std::string, Function, std::less<>>;

Functions all_functions() {
  Functions functions;
  for (const auto table :
       {operator_table(), conversion_table(), time_table(), string_table(), regex_table(), list_table(),
        optional_table(), url_table(), quantity_table(), semver_table(), network_table(), format_table()})
    for (const Declaration& row : table) {
      Function& function = functions[std::string(row.function)];
      function.name = row.function;
      function.single = is_single(row.function);
      function.overloads.push_back(overload_of(row));
    }
  return functions;
}

}  // namespace

const Function* find_function(std::string_view name) {
  static const Functions kFunctions = all_functions();
  const auto found = kFunctions.find(name);
  return found == kFunctions.end() ? nullptr : &found->second;
}

TypeRef find_type(std::string_view name) {
  static const Words kTypes = [] {
    Words types;
    for (const TypeKind kind :
         {TypeKind::boolean, TypeKind::integer, TypeKind::unsigned_integer, TypeKind::real, TypeKind::string,
          TypeKind::bytes, TypeKind::null, TypeKind::duration, TypeKind::timestamp, TypeKind::type}) {
      const TypeRef& type = simple_type(kind);
      types.emplace(std::string(name_of(*type)), type);
    }
    const TypeRef& dyn = simple_type(TypeKind::dyn);
    types.emplace("list", list_type(dyn));
    types.emplace("map", map_type(dyn, dyn));
    types.emplace("optional_type", optional_type(dyn));
    types.emplace("net.IP", words().at("ip"));
    types.emplace("net.CIDR", words().at("cidr"));
    return types;
  }();
  const auto found = kTypes.find(name);
  return found == kTypes.end() ? nullptr : found->second;
}

TypeRef type_of(std::string_view text) { return read_type(text); }

bool accepts(const Type& type, Value value) {
  if (type.kind == TypeKind::dyn || type.kind == TypeKind::parameter) return true;
  const Type& actual = runtime_type(value);
  return name_of(type) == name_of(actual);
}

}  // namespace koord::cel
