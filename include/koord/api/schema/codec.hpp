// The JSON codec of typed objects: read, read strictly, write, and the patch between two versions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "koord/api/schema/schema.hpp"
#include "koord/base/result.hpp"

namespace koord::json {
class Arena;
class Value;
}  // namespace koord::json

namespace koord::api {

/// `apply` is server-side apply, which only a server can do.
enum class PatchType : std::uint8_t { strategic, merge, json, apply };
/// "application/strategic-merge-patch+json" and so on.
std::string_view content_type(PatchType type);

/// Which object a patch is for, beside its name: one of another uid, and one that was written since, are
/// refused by the server as a conflict. Empty: whichever is there.
struct Precondition {
  std::string_view uid, resource_version;
};

struct Patch {
  PatchType type = PatchType::merge;
  std::string body;

  /// The patch for that object alone, in the place of what it said of the two before. Only of strategic and
  /// merge patches, whose body is an object: else it is misuse, and throws std::invalid_argument.
  [[nodiscard]] Patch with_precondition(const Precondition& wanted) &&;
};

/// A strategic or merge patch of a document that is put together already.
Patch make_patch(PatchType type, const json::Value& body, const Precondition& wanted = {});

// The erased forms: `object` points to a value of the type that the schema describes. Text must be UTF-8.

/// Reads into a default-constructed object. Tolerant: unknown fields are skipped, null is absent. An object
/// that carries another `kind` than the schema's, a value of the wrong type (the path is named, such as
/// .spec.containers[0].name), bad JSON or bad UTF-8 (the offset is named) are errors of Code::parse.
Result<> decode(std::string_view json, const Schema& schema, void* object);
/// The same of a document in memory, such as a part of one, with the same errors. What is nested deeper than
/// json::kMaxDepth is one, too, named by the path where it begins to be read.
Result<> decode(const json::Value& value, const Schema& schema, void* object);

/// The same for configuration: an unknown, duplicate or missing required field and a value outside of its
/// row's limits are errors of Code::invalid whose message starts with the path and ": ". Absent fields get
/// their row's default.
Result<> decode_strict(std::string_view json, const Schema& schema, void* object);
Result<> decode_strict(const json::Value& value, const Schema& schema, void* object);

/// Compact JSON, fields in the schema's order, apiVersion and kind first if the schema has a kind.
std::string encode(const void* object, const Schema& schema);
/// Appends instead.
void encode_to(std::string& out, const void* object, const Schema& schema);
/// The document that this text would be read as. It lies in `arena`.
json::Value encode(const void* object, const Schema& schema, json::Arena& arena);

/// What turns `before` into `after`, or nothing if the described fields are equal: a strategic merge patch
/// for Kubernetes' kinds, a merge patch for custom ones. Fields that koord does not describe are not
/// touched, except inside of lists without merge key: such a list is replaced as a whole, and the patch
/// then carries before's metadata.resourceVersion, so that a concurrent change makes a conflict.
/// metadata.resourceVersion, uid, generation and creationTimestamp never count as changes.
std::optional<Patch> diff(const void* before, const void* after, const Schema& schema);

/// A value's defaults from the rows (see decode_strict), where the fields are empty; those of its structures
/// and lists of structures, too.
Result<> apply_defaults(void* object, const Schema& schema);

template <class T>
Result<T> decode(std::string_view json) {
  Result<T> object{T()};
  if (auto done = decode(json, schema<T>(), &*object); !done) object = std::move(done).error();
  return object;
}
template <class T>
Result<T> decode(const json::Value& value) {
  Result<T> object{T()};
  if (auto done = decode(value, schema<T>(), &*object); !done) object = std::move(done).error();
  return object;
}

template <class T>
Result<T> decode_strict(std::string_view json) {
  Result<T> object{T()};
  if (auto done = decode_strict(json, schema<T>(), &*object); !done) object = std::move(done).error();
  return object;
}
template <class T>
Result<T> decode_strict(const json::Value& value) {
  Result<T> object{T()};
  if (auto done = decode_strict(value, schema<T>(), &*object); !done) object = std::move(done).error();
  return object;
}

template <class T>
std::string encode(const T& object) {
  return encode(&object, schema<T>());
}
template <class T>
auto encode(const T& object, json::Arena& arena) {
  return encode(&object, schema<T>(), arena);
}

template <class T>
std::optional<Patch> diff(const T& before, const T& after) {
  return diff(&before, &after, schema<T>());
}

}  // namespace koord::api
