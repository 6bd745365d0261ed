#include "encode.hpp"

#include <algorithm>

#include "koord/api/schema/codec.hpp"
#include "scalar.hpp"
#include "value_writer.hpp"

namespace koord::api {
namespace {

template <class Out>
void write_members(Out& json, const Schema& schema, const void* object) {
  for (const Field& field : schema.fields()) {
    const void* value = member(object, field);
    if (!is_written(field, value)) continue;
    json.key(field.name);
    write_value(json, *field.type, value);
  }
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

template <class Out>
void write_value(Out& json, const Type& type, const void* value) {
  switch (type.kind) {
    case TypeKind::structure:
      json.begin_object();
      write_members(json, type.schema(), value);
      json.end_object();
      break;
    case TypeKind::optional:
      if (type.count(value) == 0)
        json.null();
      else if (type.element->kind == TypeKind::time || type.element->kind == TypeKind::micro_time)
        write_scalar(json, *type.element, type.at(value, 0));  // present, so the epoch is a time like others
      else
        write_value(json, *type.element, type.at(value, 0));
      break;
    case TypeKind::list:
      json.begin_array();
      for (size_t i = 0, n = type.count(value); i < n; ++i)
        write_value(json, *type.element, type.at(value, i));
      json.end_array();
      break;
    case TypeKind::map:
      json.begin_object();
      for (size_t i = 0, n = type.count(value); i < n; ++i) {
        json.key(type.key_at(value, i));
        write_value(json, *type.element, type.at(value, i));
      }
      json.end_object();
      break;
    case TypeKind::time:
    case TypeKind::micro_time:
      if (empty_scalar(type, value)) {
        json.null();
        break;
      }
      [[fallthrough]];
    default: write_scalar(json, type, value);
  }
}

template void write_value(json::Writer& json, const Type& type, const void* value);

namespace {

template <class Out>
void write_object(Out& json, const Schema& schema, const void* object) {
  json.begin_object();
  if (const Kind* kind = schema.kind()) {
    json.member("apiVersion", kind->api_version());
    json.member("kind", kind->kind);
  }
  write_members(json, schema, object);
  json.end_object();
}

}  // namespace

void encode_to(std::string& out, const void* object, const Schema& schema) {
  json::Writer json(out);
  write_object(json, schema, object);
}

json::Value encode(const void* object, const Schema& schema, json::Arena& arena) {
  ValueWriter json(arena);
  write_object(json, schema, object);
  return json.take();
}

std::string encode(const void* object, const Schema& schema) {
  std::string out;
  encode_to(out, object, schema);
  return out;
}

}  // namespace koord::api
