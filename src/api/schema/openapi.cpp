#include "openapi.hpp"

#include "koord/api/schema/crd.hpp"
#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kPreserve = "x-kubernetes-preserve-unknown-fields";
constexpr std::string_view kQuantityPattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";

class Printer {
 public:
  Printer(OpenApiFor purpose, bool preserve_unknown) : purpose_(purpose), preserve_(preserve_unknown) {}

  JsonValue structure(const Schema& schema) const {
    JsonValue out = typed("object");
    if (schema.kind() && !schema.kind()->doc.empty()) out.set("description", JsonValue(schema.kind()->doc));
    JsonValue properties = JsonValue::make_object();
    JsonValue required = JsonValue::make_array();
    if (schema.kind()) {
      properties.set("apiVersion", described("string", "The group and version of this object's schema."));
      properties.set("kind", described("string", "The name of this object's schema."));
    }
    for (const Field& field : schema.fields()) {
      properties.set(field.name, this->field(field));
      if (field.has(Field::kRequired)) required.array().emplace_back(field.name);
    }
    if (required.size() > 0) out.set("required", std::move(required));
    if (properties.size() > 0) out.set("properties", std::move(properties));
    if (preserve_) out.set(kPreserve, JsonValue(true));
    return out;
  }

 private:
  static JsonValue typed(std::string_view type, std::string_view format = {}) {
    JsonValue out = JsonValue::make_object();
    out.set("type", JsonValue(type));
    if (!format.empty()) out.set("format", JsonValue(format));
    return out;
  }
  static JsonValue described(std::string_view type, std::string_view doc) {
    JsonValue out = typed(type);
    out.set("description", JsonValue(doc));
    return out;
  }
  static JsonValue int_or_string() {
    JsonValue out = JsonValue::make_object();
    JsonValue choices = JsonValue::make_array();
    choices.array().push_back(typed("integer"));
    choices.array().push_back(typed("string"));
    out.set("anyOf", std::move(choices));
    out.set("x-kubernetes-int-or-string", JsonValue(true));
    return out;
  }

  JsonValue field(const Field& row) const {
    JsonValue out = value(*row.type);
    if (!row.doc_text.empty()) out.set("description", JsonValue(row.doc_text));
    if (!row.format_text.empty()) out.set("format", JsonValue(row.format_text));
    if (!row.pattern_text.empty()) out.set("pattern", JsonValue(row.pattern_text));
    if (row.minimum) out.set("minimum", JsonValue(*row.minimum));
    if (row.maximum) out.set("maximum", JsonValue(*row.maximum));
    if (row.min_length_limit >= 0) out.set("minLength", JsonValue(int64_t{row.min_length_limit}));
    if (row.max_length_limit >= 0) out.set("maxLength", JsonValue(int64_t{row.max_length_limit}));
    if (!row.enum_values.empty()) {
      JsonValue names = JsonValue::make_array();
      for (const std::string_view name : row.enum_values) names.array().emplace_back(name);
      out.set("enum", std::move(names));
    }
    if (!row.default_text.empty()) {
      if (auto parsed = parse_json(row.default_text)) out.set("default", std::move(*parsed));
    }
    if (row.has(Field::kPreserve)) out.set(kPreserve, JsonValue(true));
    if (purpose_ == OpenApiFor::discovery && (!row.merge_key_name.empty() || row.has(Field::kSetList))) {
      out.set("x-kubernetes-patch-strategy", JsonValue("merge"));
      if (!row.merge_key_name.empty()) out.set("x-kubernetes-patch-merge-key", JsonValue(row.merge_key_name));
    }
    return out;
  }

  JsonValue value(const Type& type) const {
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
        JsonValue out = int_or_string();
        out.set("pattern", JsonValue(kQuantityPattern));
        return out;
      }
      case TypeKind::raw: {
        JsonValue out = typed("object");
        out.set(kPreserve, JsonValue(true));
        return out;
      }
      case TypeKind::structure:
        if (purpose_ == OpenApiFor::crd && &type == &type_of<ObjectMeta>) return typed("object");
        return structure(type.schema());
      case TypeKind::list: {
        JsonValue out = typed("array");
        out.set("items", value(*type.element));
        return out;
      }
      case TypeKind::map: {
        JsonValue out = typed("object");
        out.set("additionalProperties", value(*type.element));
        return out;
      }
      case TypeKind::optional: return value(*type.element);
    }
    return JsonValue::make_object();
  }

  const OpenApiFor purpose_;
  const bool preserve_;
};

}  // namespace

JsonValue openapi(const Schema& schema, OpenApiFor purpose, bool preserve_unknown) {
  return Printer(purpose, preserve_unknown).structure(schema);
}

std::string openapi_schema(const Schema& schema, bool preserve_unknown) {
  return to_json(openapi(schema, OpenApiFor::discovery, preserve_unknown));
}

}  // namespace koord::api
