#include "sandbox/crd/expression_shape.hpp"

#include <algorithm>

namespace koord::sandbox {
namespace {

using cel::Shape;
using cel::TypeKind;
using ShapePtr = std::unique_ptr<Shape>;

ShapePtr scalar(Shape::Expect expect, TypeKind kind, Shape::Format format = Shape::Format::none) {
  auto shape = std::make_unique<Shape>();
  shape->expect = expect;
  shape->format = format;
  shape->type = cel::simple_type(kind);
  return shape;
}

ShapePtr text_shape(std::string_view format) {
  using Format = Shape::Format;
  const auto text = [](TypeKind kind, Format form) { return scalar(Shape::Expect::string, kind, form); };
  if (format == "byte") return text(TypeKind::bytes, Format::byte);
  if (format == "duration") return text(TypeKind::duration, Format::duration);
  if (format == "date") return text(TypeKind::timestamp, Format::date);
  if (format == "date-time") return text(TypeKind::timestamp, Format::date_time);
  return text(TypeKind::string, Format::none);
}

ShapePtr list_shape(const json::Value& schema) {
  const json::Value* items = find(schema, "items");
  auto element =
      items ? expression_shape(*items, true_at(*items, "x-kubernetes-embedded-resource")) : nullptr;
  if (!element) return nullptr;
  auto shape = std::make_unique<Shape>();
  shape->expect = Shape::Expect::array;
  shape->type = cel::list_type(element->type);
  shape->element = std::move(element);
  const std::string_view kind = text_at(schema, "x-kubernetes-list-type");
  if (kind == "set") shape->list = Shape::List::set;
  if (kind == "map") shape->list = Shape::List::map;
  if (const json::Value* keys = find(schema, "x-kubernetes-list-map-keys"))
    for (const json::Value& key : keys->elements()) shape->map_keys.emplace_back(key.text());
  return shape;
}

void add_field(Shape& shape, std::string_view name, ShapePtr field) {
  const std::string escaped = cel::escape_name(name);
  if (field && !escaped.empty()) shape.fields.push_back({escaped, std::string(name), std::move(field)});
}

/// Sorts the fields, of two of one name the first counts, and makes the type of them.
void close(Shape& shape) {
  auto& fields = shape.fields;
  std::ranges::stable_sort(fields, {}, &Shape::Field::name);
  const auto again = std::ranges::unique(fields, {}, &Shape::Field::name);
  fields.erase(again.begin(), again.end());
  std::vector<cel::Type::Field> types;
  types.reserve(fields.size());
  for (const Shape::Field& field : fields) types.push_back({field.name, field.shape->type});
  shape.type = cel::structure_type("object", std::move(types));
  shape.closed = true;
}

ShapePtr object_shape(const json::Value& schema, bool resource) {
  auto shape = std::make_unique<Shape>();
  shape->expect = Shape::Expect::object;
  const json::Value* additional = find(schema, "additionalProperties");
  if (additional && additional->is_object()) {
    shape->element = expression_shape(*additional, true_at(*additional, "x-kubernetes-embedded-resource"));
    if (!shape->element) return nullptr;
    shape->type = cel::map_type(cel::simple_type(TypeKind::string), shape->element->type);
    return shape;
  }
  if (resource) {
    const auto text = [] { return scalar(Shape::Expect::string, TypeKind::string); };
    add_field(*shape, "apiVersion", text());
    add_field(*shape, "kind", text());
    auto metadata = std::make_unique<Shape>();
    metadata->expect = Shape::Expect::object;
    add_field(*metadata, "name", text());
    add_field(*metadata, "generateName", text());
    close(*metadata);
    add_field(*shape, "metadata", std::move(metadata));
  }
  if (const json::Value* properties = find(schema, "properties"))
    for (const json::Member& member : properties->members())
      add_field(*shape, member.key(),
                expression_shape(member.value, true_at(member.value, "x-kubernetes-embedded-resource")));
  close(*shape);
  return shape;
}

}  // namespace

std::unique_ptr<cel::Shape> expression_shape(const json::Value& schema, bool resource) {
  const std::string_view type = text_at(schema, "type");
  ShapePtr shape;
  if (true_at(schema, "x-kubernetes-int-or-string"))
    shape = scalar(Shape::Expect::any, TypeKind::dyn);
  else if (type == "array")
    shape = list_shape(schema);
  else if (type == "object")
    shape = object_shape(schema, resource);
  else if (type == "string")
    shape = text_shape(text_at(schema, "format"));
  else if (type == "boolean")
    shape = scalar(Shape::Expect::boolean, TypeKind::boolean);
  else if (type == "number")
    shape = scalar(Shape::Expect::number, TypeKind::real);
  else if (type == "integer")
    shape = scalar(Shape::Expect::integer, TypeKind::integer);
  if (shape) shape->nullable = true_at(schema, "nullable");
  return shape;
}

}  // namespace koord::sandbox
