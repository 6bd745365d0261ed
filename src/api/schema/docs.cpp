// Fields as markdown.
#include "koord/api/schema/docs.hpp"

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

void append_rows(std::string& out, const Schema& schema, const std::string& path, int depth) {
  for (const Field& field : schema.fields()) {
    const Type* type = field.type;
    std::string at = path;
    if (!field.has(Field::kInlined)) at += (path.empty() ? "" : ".") + std::string(field.name);
    if (!field.has(Field::kInlined)) {
      out += "| `" + at + "` | " + type_name(*type) + " | ";
      if (!field.default_text.empty()) out += "`" + std::string(field.default_text) + "`";
      out += " | ";
      for (const char c : field.doc_text) out += c == '|' ? std::string("\\|") : std::string(1, c);
      out += " |\n";
    }
    while (type->kind == TypeKind::optional || type->kind == TypeKind::list || type->kind == TypeKind::map) {
      if (type->kind == TypeKind::list) at += "[]";
      if (type->kind == TypeKind::map) at += "{}";
      type = type->element;
    }
    if (type->kind == TypeKind::structure && depth < kMaxDepth)
      append_rows(out, type->schema(), at, depth + 1);
  }
}

}  // namespace

std::string fields_markdown(const Schema& schema) {
  std::string out = "| field | type | default | meaning |\n|---|---|---|---|\n";
  append_rows(out, schema, "", 0);
  return out;
}

}  // namespace koord::api
