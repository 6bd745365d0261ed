// Koordinator's annotations: structs as JSON in a text that anybody may have written.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/base/result.hpp"

namespace koord::api {

/// No annotation of Koordinator's is longer, and a longer one is not read.
inline constexpr std::size_t kMaxAnnotation = std::size_t{64} << 10;

/// The annotation's text; nothing if it is absent or empty. Code::too_large if it is longer than
/// kMaxAnnotation. Errors here and below start with its name and ": ".
Result<std::optional<std::string_view>> annotation_text(const SymbolMap& annotations, std::string_view name);

/// For annotations whose JSON is a struct's object. Others, such as lists and maps, have overloads of both
/// functions beside their struct. `text` is at most kMaxAnnotation long.
template <class T>
Result<> decode_annotation(std::string_view text, T& to) {
  return decode(text, schema<T>(), &to);
}
template <class T>
std::string encode_annotation(const T& value) {
  return encode(value);
}

/// The annotation of the struct, T::kAnnotation; nothing if there is none. Tolerant as decode() is: unknown
/// members are skipped, null is absent. Code::parse with the path of what cannot be read.
template <class T>
Result<std::optional<T>> read_annotation(const SymbolMap& annotations,
                                         std::string_view name = T::kAnnotation) {
  KOORD_TRY(text, annotation_text(annotations, name));
  Result<std::optional<T>> value{std::optional<T>()};
  if (!text) return value;
  if (auto done = decode_annotation(*text, value->emplace()); !done)
    value = std::move(done).error().context(name);
  return value;
}

template <class T>
void set_annotation(SymbolMap& annotations, const T& value, std::string_view name = T::kAnnotation) {
  annotations[name] = Symbol(encode_annotation(value));
}

/// Amounts by resource: {"cpu":"2","memory":"4Gi"}.
struct AnnotatedResources {
  ResourceList resources;
  friend bool operator==(const AnnotatedResources&, const AnnotatedResources&) = default;
};
Result<> decode_annotation(std::string_view text, AnnotatedResources& to);
std::string encode_annotation(const AnnotatedResources& value);

/// Names: ["a","b"].
struct AnnotatedNames {
  std::vector<std::string> names;
  friend bool operator==(const AnnotatedNames&, const AnnotatedNames&) = default;
};
Result<> decode_annotation(std::string_view text, AnnotatedNames& to);
std::string encode_annotation(const AnnotatedNames& value);

}  // namespace koord::api
