// Fields as markdown.
#include "koord/api/schema/docs.hpp"

#include <fmt/format.h>

#include <utility>

#include "koord/api/schema/table.hpp"

namespace koord::api {

namespace {

constexpr int kMaxDepth = 8;

std::string type_name(const Type& type) {
  switch (type.kind) {
    case TypeKind::boolean: return "bool";
    case TypeKind::int32:
    case TypeKind::int64: return "integer";
    case TypeKind::float64: return "number";
    case TypeKind::quantity: return "quantity";
    case TypeKind::time:
    case TypeKind::micro_time: return "time";
    case TypeKind::duration: return "duration";
    case TypeKind::int_or_string: return "integer or string";
    case TypeKind::raw: return "any";
    case TypeKind::structure: return "object";
    case TypeKind::list: return "list of " + type_name(*type.element);
    case TypeKind::map: return "map of " + type_name(*type.element);
    case TypeKind::optional: return type_name(*type.element);
    default: return "string";
  }
}

/// What lists, maps and optionals hold in the end, and the path to it.
std::pair<const Type*, std::string> innermost(const Type* type, std::string at) {
  while (type->kind == TypeKind::optional || type->kind == TypeKind::list || type->kind == TypeKind::map) {
    if (type->kind == TypeKind::list) at += "[]";
    if (type->kind == TypeKind::map) at += "{}";
    type = type->element;
  }
  return {type, std::move(at)};
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
  return out;
}

/// Fields whose names say all, together in the last row of what they are in.
void append_rows(std::string& out, const Schema& schema, const std::string& path, int depth) {
  std::string plain;
  for (const Field& field : schema.fields()) {
    std::string at = path;
    const bool inlined = field.has(Field::kInlined);
    if (!inlined) at += fmt::format("{}{}", path.empty() ? "" : ".", field.name);
    const auto [type, inner] = innermost(field.type, at);
    const bool deeper = type->kind == TypeKind::structure && depth < kMaxDepth;
    const std::string_view means = meaning(field);
    if (!inlined && !means.empty())
      out += fmt::format("| `{}` | {} | {} | {} |\n", at, type_name(*field.type),
                         field.default_text.empty() ? "" : fmt::format("`{}`", field.default_text),
                         escaped(means));
    else if (!inlined && !deeper)
      plain += fmt::format("{}`{}` ({}{})", plain.empty() ? "" : ", ", field.name, type_name(*field.type),
                           field.default_text.empty() ? "" : fmt::format(", default {}", field.default_text));
    if (deeper) append_rows(out, type->schema(), inner, depth + 1);
  }
  if (!plain.empty())
    out += fmt::format("| {} | | | {} |\n", path.empty() ? "others" : fmt::format("others of `{}`", path),
                       plain);
}

}  // namespace

std::string fields_markdown(const Schema& schema) {
  std::string out = "| field | type | default | meaning |\n|---|---|---|---|\n";
  append_rows(out, schema, "", 0);
  return out;
}

}  // namespace koord::api
