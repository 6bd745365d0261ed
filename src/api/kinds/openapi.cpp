#include "openapi.hpp"

#include "koord/api/kinds/crd.hpp"
#include "koord/api/types/core_v1/object_reference.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/json/writer.hpp"

namespace koord::api {

using json::Value;

namespace {

constexpr std::string_view kListType = "x-kubernetes-list-type";
constexpr std::string_view kMapType = "x-kubernetes-map-type";
constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kQuantityPattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";

// What Kubernetes' server-side apply owns as a whole wherever it stands.
bool is_whole(const Type& type) {
  return &type == &type_of<LabelSelector> || &type == &type_of<ObjectReference>;
}

class Printer {
 public:
  Printer(OpenApiFor purpose, bool preserve_unknown, json::Arena& arena)
      : purpose_(purpose), preserve_(preserve_unknown), arena_(arena) {}

  Value structure(const Schema& schema) const {
    Value out = typed("object");
    if (schema.kind() && !schema.kind()->doc.empty())
      set_text(out, "description", schema.kind()->doc, arena_);
    Value properties = Value::object();
    Value required = Value::array();
    if (schema.kind()) {
      set(properties, "apiVersion", described("string", "The group and version of this object's schema."),
          arena_);
      set(properties, "kind", described("string", "The name of this object's schema."), arena_);
    }
    for (const Field& field : schema.fields()) {
      set(properties, field.name, this->field(field), arena_);
      if (field.has(Field::kRequired)) required.push_back(make_text(field.name, arena_), arena_);
    }
    if (!required.empty()) set(out, "required", std::move(required), arena_);
    if (!properties.empty()) set(out, "properties", std::move(properties), arena_);
    if (preserve_) set(out, kPreserve, Value(true), arena_);
    return out;
  }

 private:
  Value typed(std::string_view type, std::string_view format = {}) const {
    Value out = Value::object();
    set_text(out, "type", type, arena_);
    if (!format.empty()) set_text(out, "format", format, arena_);
    return out;
  }
  Value described(std::string_view type, std::string_view doc) const {
    Value out = typed(type);
    set_text(out, "description", doc, arena_);
    return out;
  }
  Value open() const {
    Value out = Value::object();
    set(out, kPreserve, Value(true), arena_);
    return out;
  }
  Value int_or_string() const {
    Value out = Value::object();
    Value choices = Value::array();
    choices.push_back(typed("integer"), arena_);
    choices.push_back(typed("string"), arena_);
    set(out, "anyOf", std::move(choices), arena_);
    set(out, "x-kubernetes-int-or-string", Value(true), arena_);
    return out;
  }

  Value field(const Field& row) const {
    Value out = row.has(Field::kUntyped) ? open() : value(*row.type);
    if (!row.doc_text.empty()) set_text(out, "description", row.doc_text, arena_);
    if (!row.format_text.empty()) set_text(out, "format", row.format_text, arena_);
    if (!row.pattern_text.empty()) set_text(out, "pattern", row.pattern_text, arena_);
    if (row.minimum) set(out, "minimum", Value(*row.minimum), arena_);
    if (row.maximum) set(out, "maximum", Value(*row.maximum), arena_);
    if (row.min_length_limit >= 0) set(out, "minLength", Value(row.min_length_limit), arena_);
    if (row.max_length_limit >= 0) set(out, "maxLength", Value(row.max_length_limit), arena_);
    if (!row.enum_values.empty()) {
      Value names = Value::array();
      for (const std::string_view name : row.enum_values) names.push_back(make_text(name, arena_), arena_);
      set(out, "enum", std::move(names), arena_);
    }
    if (!row.default_text.empty()) {
      if (const auto parsed = json::parse(row.default_text))
        set(out, "default", clone(*parsed, arena_), arena_);
    }
    if (row.has(Field::kNullable)) set(out, "nullable", Value(true), arena_);
    if (row.has(Field::kPreserve)) set(out, kPreserve, Value(true), arena_);
    if (purpose_ == OpenApiFor::crd && row.has(Field::kAtomic))
      set(out, row.type->kind == TypeKind::list ? kListType : kMapType, json::make_const("atomic"), arena_);
    if (purpose_ == OpenApiFor::discovery && (!row.merge_key_name.empty() || row.has(Field::kSetList))) {
      set(out, "x-kubernetes-patch-strategy", json::make_const("merge"), arena_);
      if (!row.merge_key_name.empty())
        set_text(out, "x-kubernetes-patch-merge-key", row.merge_key_name, arena_);
    }
    return out;
  }

  Value value(const Type& type) const {
    switch (type.kind) {
      case TypeKind::boolean: return typed("boolean");
      case TypeKind::int32: return typed("integer", "int32");
      case TypeKind::int64: return typed("integer", "int64");
      case TypeKind::float64: return typed("number", "double");
      case TypeKind::string:
      case TypeKind::symbol:
      case TypeKind::duration: return typed("string");
      case TypeKind::time:
      case TypeKind::micro_time: return typed("string", "date-time");
      case TypeKind::int_or_string: return int_or_string();
      case TypeKind::quantity: {
        Value out = int_or_string();
        set_text(out, "pattern", kQuantityPattern, arena_);
        return out;
      }
      case TypeKind::raw: {
        Value out = typed("object");
        set(out, kPreserve, Value(true), arena_);
        return out;
      }
      case TypeKind::structure: {
        if (purpose_ == OpenApiFor::crd && &type == &type_of<ObjectMeta>) return typed("object");
        Value out = structure(type.schema());
        if (purpose_ == OpenApiFor::crd && is_whole(type))
          set(out, kMapType, json::make_const("atomic"), arena_);
        return out;
      }
      case TypeKind::list: {
        Value out = typed("array");
        set(out, "items", value(*type.element), arena_);
        return out;
      }
      case TypeKind::map: {
        Value out = typed("object");
        set(out, "additionalProperties", value(*type.element), arena_);
        return out;
      }
      case TypeKind::optional: return value(*type.element);
    }
    return Value::object();
  }

  const OpenApiFor purpose_;
  const bool preserve_;
  json::Arena& arena_;
};

}  // namespace

Value openapi(const Schema& schema, OpenApiFor purpose, bool preserve_unknown, json::Arena& arena) {
  return Printer(purpose, preserve_unknown, arena).structure(schema);
}

std::string openapi_schema(const Schema& schema, bool preserve_unknown) {
  json::Arena arena;
  return json::to_text(openapi(schema, OpenApiFor::discovery, preserve_unknown, arena));
}

}  // namespace koord::api
