// The codec's entry points for reading, and comparison.
#include "koord/api/schema/codec.hpp"

#include "encode.hpp"
#include "object_decoder.hpp"
#include "scalar.hpp"

namespace koord::api {

std::string_view content_type(PatchType type) {
  switch (type) {
    case PatchType::strategic: return "application/strategic-merge-patch+json";
    case PatchType::merge: return "application/merge-patch+json";
    case PatchType::json: return "application/json-patch+json";
    case PatchType::apply: return "application/apply-patch+yaml";
  }
  return {};
}

namespace {

Result<> decode_text(std::string_view json, ObjectDecoder::Mode mode, const Schema& schema, void* object) {
  ObjectDecoder decoder(mode, true);
  decoder.start(schema.self(), object, true);
  return json::read(json, decoder);
}

Result<> decode_value(const json::Value& value, ObjectDecoder::Mode mode, const Schema& schema,
                      void* object) {
  ObjectDecoder decoder(mode, true);
  decoder.start(schema.self(), object, true);
  auto done = json::read(value, decoder);
  // The decoder's own errors have their path, the reader's lack it.
  if (!done && !decoder.error()) return std::move(done).error().context(decoder.path());
  return done;
}

}  // namespace

Result<> decode(std::string_view json, const Schema& schema, void* object) {
  return decode_text(json, ObjectDecoder::Mode::tolerant, schema, object);
}

Result<> decode(const json::Value& value, const Schema& schema, void* object) {
  return decode_value(value, ObjectDecoder::Mode::tolerant, schema, object);
}

Result<> decode_strict(std::string_view json, const Schema& schema, void* object) {
  return decode_text(json, ObjectDecoder::Mode::strict, schema, object);
}

Result<> decode_strict(const json::Value& value, const Schema& schema, void* object) {
  return decode_value(value, ObjectDecoder::Mode::strict, schema, object);
}

Result<> apply_defaults(void* object, const Schema& schema) {
  for (const Field& field : schema.fields()) {
    void* value = static_cast<char*>(object) + field.offset;
    const bool absent = is_empty(*field.type, value);
    if (absent && !field.default_text.empty()) {
      ObjectDecoder decoder(ObjectDecoder::Mode::strict, true);
      decoder.start(*field.type, value, false, "." + std::string(field.name));
      KOORD_CHECK(json::read(field.default_text, decoder));
    }
    const Type* type = field.type;
    if (type->kind == TypeKind::optional && type->count(value) != 0) {
      value = type->append(value);
      type = type->element;
    }
    if (type->kind == TypeKind::structure) KOORD_CHECK(apply_defaults(value, type->schema()));
    if (type->kind == TypeKind::list && type->element->kind == TypeKind::structure)
      for (size_t i = 0; i < type->count(value); ++i)
        KOORD_CHECK(apply_defaults(const_cast<void*>(type->at(value, i)), type->element->schema()));
  }
  return {};
}

bool equal(const void* a, const void* b, const Type& type) {
  switch (type.kind) {
    case TypeKind::structure:
      for (const Field& field : type.schema().fields())
        if (!equal(member(a, field), member(b, field), *field.type)) return false;
      return true;
    case TypeKind::list:
    case TypeKind::map:
    case TypeKind::optional: {
      const size_t n = type.count(a);
      if (n != type.count(b)) return false;
      for (size_t i = 0; i < n; ++i) {
        if (type.kind == TypeKind::map && type.key_at(a, i) != type.key_at(b, i)) return false;
        if (!equal(type.at(a, i), type.at(b, i), *type.element)) return false;
      }
      return true;
    }
    default: return equal_scalar(type, a, b);
  }
}

}  // namespace koord::api
