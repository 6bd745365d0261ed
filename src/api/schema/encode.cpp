#include "encode.hpp"

#include <algorithm>
#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/json/writer.hpp"
#include "scalar.hpp"

namespace koord::api {
namespace {

// Members of a structure, after the separator.
void write_members(std::string& out, const Schema& schema, const void* object, char separator) {
  for (const Field& field : schema.fields()) {
    const void* value = member(object, field);
    if (!is_written(field, value)) continue;
    out.push_back(std::exchange(separator, ','));
    out.push_back('"');
    out.append(field.name);
    out.append("\":");
    write_value(out, *field.type, value);
  }
  out.append(separator == '{' ? "{}" : "}");
}

}  // namespace

bool is_empty(const Type& type, const void* value) {
  switch (type.kind) {
    case TypeKind::list:
    case TypeKind::map:
    case TypeKind::optional: return type.count(value) == 0;
    case TypeKind::structure:
      return std::ranges::all_of(type.schema().fields(), [&](const Field& field) {
        return is_empty(*field.type, member(value, field));
      });
    default: return empty_scalar(type, value);
  }
}

bool is_written(const Field& field, const void* value) {
  return field.has(Field::kRequired) || field.has(Field::kAlways) || !is_empty(*field.type, value);
}

void write_value(std::string& out, const Type& type, const void* value) {
  switch (type.kind) {
    case TypeKind::structure: write_members(out, type.schema(), value, '{'); break;
    case TypeKind::optional:
      if (type.count(value) == 0)
        out.append("null");
      else if (type.element->kind == TypeKind::time || type.element->kind == TypeKind::micro_time)
        write_scalar(out, *type.element, type.at(value, 0));  // present, so the epoch is a time like others
      else
        write_value(out, *type.element, type.at(value, 0));
      break;
    case TypeKind::list: {
      out.push_back('[');
      for (size_t i = 0, n = type.count(value); i < n; ++i) {
        if (i > 0) out.push_back(',');
        write_value(out, *type.element, type.at(value, i));
      }
      out.push_back(']');
      break;
    }
    case TypeKind::map: {
      out.push_back('{');
      for (size_t i = 0, n = type.count(value); i < n; ++i) {
        if (i > 0) out.push_back(',');
        json::append_string(out, type.key_at(value, i));
        out.push_back(':');
        write_value(out, *type.element, type.at(value, i));
      }
      out.push_back('}');
      break;
    }
    case TypeKind::time:
    case TypeKind::micro_time:
      if (empty_scalar(type, value)) {
        out.append("null");
        break;
      }
      [[fallthrough]];
    default: write_scalar(out, type, value);
  }
}

void encode_to(std::string& out, const void* object, const Schema& schema) {
  const Kind* kind = schema.kind();
  if (!kind) return write_members(out, schema, object, '{');
  out.append("{\"apiVersion\":\"").append(kind->api_version()).append("\",\"kind\":\"").append(kind->kind);
  out.push_back('"');
  write_members(out, schema, object, ',');
}

std::string encode(const void* object, const Schema& schema) {
  std::string out;
  encode_to(out, object, schema);
  return out;
}

}  // namespace koord::api
