// Schemas: how a plain struct looks as JSON. One table row a field; codec, diff, manifests and docs walk
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "koord/api/values/box.hpp"
#include "koord/api/values/maybe.hpp"
#include "koord/api/values/raw_json.hpp"
#include "koord/api/values/string_map.hpp"
#include "koord/base/symbol.hpp"

namespace koord::api {

class Quantity;
class IntOrString;
struct MicroTime;
struct Duration;
class Schema;
struct Kind;

/// The schema of a struct. A header that declares such a struct puts KOORD_API_SCHEMA(Struct) after it, in
/// namespace koord::api or with the full name; a .cpp defines the specialisation.
template <class T>
const Schema& schema();
#define KOORD_API_SCHEMA(T) \
  template <>               \
  const ::koord::api::Schema& schema<T>()

/// What a value is in memory. Scalars are known to the codec; the others come with functions.
enum class TypeKind : uint8_t {
  boolean,
  int32,
  int64,
  float64,
  string,         // std::string
  symbol,         // Symbol
  quantity,       // a string or a number on the wire
  time,           // RFC 3339, seconds
  micro_time,     // RFC 3339, microseconds
  duration,       // Go's duration text
  int_or_string,  // a number or a string
  enumeration,    // an enum class, its names on the wire
  raw,            // RawJson: any value
  structure,
  list,      // std::vector or List
  map,       // FlatMap
  optional,  // std::optional, Maybe or Box
};

/// The runtime description of a C++ type: what the codec needs to build, read and compare a value of it
/// through a pointer. Always a constant, see type_of.
struct Type {
  TypeKind kind;
  uint32_t size = 0;
  const Type* element = nullptr;        // of list, map, optional
  const Schema& (*schema)() = nullptr;  // of structure

  // list: adds an empty element. optional: makes the value if it is absent. Both return it.
  void* (*append)(void*) = nullptr;
  // map: the value of a key, made if it is absent; `added` says which.
  void* (*insert)(void*, std::string_view key, bool& added) = nullptr;
  // list and map: the number of elements. optional: 0 or 1.
  size_t (*count)(const void*) = nullptr;
  const void* (*at)(const void*, size_t) = nullptr;
  std::string_view (*key_at)(const void*, size_t) = nullptr;
  // list, map: empties and gives back spare memory if `shrink`, else empties. optional: makes absent.
  void (*reset)(void*) = nullptr;
  void (*shrink)(void*) = nullptr;  // list, map
  // A default-constructed value on the heap, for comparing and for patching.
  void* (*create)() = nullptr;
  void (*destroy)(void*) = nullptr;
  // enumeration: the wire names by value.
  std::span<const std::string_view> names = {};
};

/// An enum class takes part by giving its wire names in order of value (starting at 0):
///   template <> struct EnumNames<Mode> { static constexpr std::string_view values[] = {"none", "auto"}; };
template <class E>
struct EnumNames;

namespace detail {

template <class T>
inline constexpr TypeKind kScalarKind = TypeKind::structure;
template <>
inline constexpr TypeKind kScalarKind<bool> = TypeKind::boolean;
template <>
inline constexpr TypeKind kScalarKind<int32_t> = TypeKind::int32;
template <>
inline constexpr TypeKind kScalarKind<int64_t> = TypeKind::int64;
template <>
inline constexpr TypeKind kScalarKind<double> = TypeKind::float64;
template <>
inline constexpr TypeKind kScalarKind<std::string> = TypeKind::string;
template <>
inline constexpr TypeKind kScalarKind<Symbol> = TypeKind::symbol;
template <>
inline constexpr TypeKind kScalarKind<Quantity> = TypeKind::quantity;
template <>
inline constexpr TypeKind kScalarKind<Time> = TypeKind::time;
template <>
inline constexpr TypeKind kScalarKind<MicroTime> = TypeKind::micro_time;
template <>
inline constexpr TypeKind kScalarKind<Duration> = TypeKind::duration;
template <>
inline constexpr TypeKind kScalarKind<IntOrString> = TypeKind::int_or_string;
template <>
inline constexpr TypeKind kScalarKind<RawJson> = TypeKind::raw;

template <class T>
struct TypeMaker {
  static constexpr Type make() {
    Type type{kScalarKind<T>, sizeof(T)};
    if constexpr (std::is_enum_v<T>) {
      type.kind = TypeKind::enumeration;
      type.names = EnumNames<T>::values;
    } else if constexpr (kScalarKind<T> == TypeKind::structure) {
      type.schema = &::koord::api::schema<T>;
      type.create = [] { return static_cast<void*>(new T()); };
      type.destroy = [](void* p) { delete static_cast<T*>(p); };
    }
    return type;
  }
};

}  // namespace detail

/// The description of T, a constant.
template <class T>
inline constexpr Type type_of = detail::TypeMaker<T>::make();

namespace detail {

template <class E, class L>
struct ListMaker {
  static constexpr Type make() {
    Type type{TypeKind::list, sizeof(L), &type_of<E>};
    type.append = [](void* p) { return static_cast<void*>(&static_cast<L*>(p)->emplace_back()); };
    type.count = [](const void* p) { return static_cast<const L*>(p)->size(); };
    type.at = [](const void* p, size_t i) {
      return static_cast<const void*>(&(*static_cast<const L*>(p))[i]);
    };
    type.reset = [](void* p) { static_cast<L*>(p)->clear(); };
    type.shrink = [](void* p) { static_cast<L*>(p)->shrink_to_fit(); };
    return type;
  }
};

template <class E>
struct TypeMaker<std::vector<E>> : ListMaker<E, std::vector<E>> {};
template <class E>
struct TypeMaker<List<E>> : ListMaker<E, List<E>> {};

template <class V>
struct TypeMaker<FlatMap<V>> {
  using M = FlatMap<V>;
  static constexpr Type make() {
    Type type{TypeKind::map, sizeof(M), &type_of<V>};
    type.insert = [](void* p, std::string_view key, bool& added) {
      M& map = *static_cast<M*>(p);
      const size_t before = map.size();
      V& value = map[key];
      added = map.size() != before;
      return static_cast<void*>(&value);
    };
    type.count = [](const void* p) { return static_cast<const M*>(p)->size(); };
    type.at = [](const void* p, size_t i) {
      return static_cast<const void*>(&static_cast<const M*>(p)->at_index(i).value);
    };
    type.key_at = [](const void* p, size_t i) { return static_cast<const M*>(p)->at_index(i).key.view(); };
    type.reset = [](void* p) { static_cast<M*>(p)->clear(); };
    type.shrink = [](void* p) { static_cast<M*>(p)->shrink_to_fit(); };
    return type;
  }
};

template <class V, class O>
struct OptionalMaker {
  static constexpr Type make() {
    Type type{TypeKind::optional, sizeof(O), &type_of<V>};
    type.append = [](void* p) {
      O& value = *static_cast<O*>(p);
      if (!value.has_value()) value.emplace();
      return static_cast<void*>(&*value);
    };
    type.count = [](const void* p) { return size_t{static_cast<const O*>(p)->has_value()}; };
    type.at = [](const void* p, size_t) { return static_cast<const void*>(&**static_cast<const O*>(p)); };
    type.reset = [](void* p) { static_cast<O*>(p)->reset(); };
    return type;
  }
};
template <class V>
struct TypeMaker<std::optional<V>> : OptionalMaker<V, std::optional<V>> {};
template <class V>
struct TypeMaker<Box<V>> : OptionalMaker<V, Box<V>> {};
template <class V>
struct TypeMaker<Maybe<V>> : OptionalMaker<V, Maybe<V>> {};

}  // namespace detail

/// One row of a schema's table. Rows are made with KOORD_FIELD and refined by the methods:
///   KOORD_FIELD(host_port, "hostPort").min(0).max(65535).doc("Port on the node.")
struct Field {
  enum Flag : uint16_t {
    kRequired = 1,   // must be present: strict decoding, manifests; always written
    kAlways = 2,     // written even when empty
    kImmutable = 4,  // never part of a diff
    kAtomic = 8,     // list or map: replaced as a whole by patches
    kSetList = 16,   // list of scalars: patches add and remove single elements
    kInlined = 32,   // structure: its fields are those of the enclosing object
    kPreserve = 64,  // undescribed fields are kept: x-kubernetes-preserve-unknown-fields
  };

  std::string_view wire = {};
  uint32_t offset = 0;
  const Type* type = nullptr;
  uint16_t flags = 0;
  std::string_view merge_key_name = {};  // list of structures: the key by which patches find a row
  std::string_view default_text = {};    // JSON text
  std::string_view doc_text = {};
  std::string_view format_text = {};  // OpenAPI format where it is not the type's own
  std::string_view pattern_text = {};
  std::span<const std::string_view> enum_values = {};
  std::optional<int64_t> minimum = {};
  std::optional<int64_t> maximum = {};
  int32_t min_length_limit = -1;
  int32_t max_length_limit = -1;

  constexpr bool has(Flag flag) const { return (flags & flag) != 0; }
  constexpr Field with(Flag flag) const {
    Field f = *this;
    f.flags = static_cast<uint16_t>(f.flags | flag);
    return f;
  }
  constexpr Field required() const { return with(kRequired); }
  constexpr Field always() const { return with(kAlways); }
  constexpr Field immutable() const { return with(kImmutable); }
  constexpr Field atomic() const { return with(kAtomic); }
  constexpr Field set_list() const { return with(kSetList); }
  constexpr Field inlined() const { return with(kInlined); }
  constexpr Field preserve_unknown() const { return with(kPreserve); }
  constexpr Field merge_key(std::string_view key) const {
    Field f = *this;
    f.merge_key_name = key;
    return f;
  }
  constexpr Field default_json(std::string_view text) const {
    Field f = *this;
    f.default_text = text;
    return f;
  }
  constexpr Field doc(std::string_view text) const {
    Field f = *this;
    f.doc_text = text;
    return f;
  }
  constexpr Field format(std::string_view text) const {
    Field f = *this;
    f.format_text = text;
    return f;
  }
  constexpr Field pattern(std::string_view text) const {
    Field f = *this;
    f.pattern_text = text;
    return f;
  }
  constexpr Field one_of(std::span<const std::string_view> values) const {
    Field f = *this;
    f.enum_values = values;
    return f;
  }
  constexpr Field min(int64_t value) const {
    Field f = *this;
    f.minimum = value;
    return f;
  }
  constexpr Field max(int64_t value) const {
    Field f = *this;
    f.maximum = value;
    return f;
  }
  constexpr Field min_length(int32_t value) const {
    Field f = *this;
    f.min_length_limit = value;
    return f;
  }
  constexpr Field max_length(int32_t value) const {
    Field f = *this;
    f.max_length_limit = value;
    return f;
  }
};

/// A row for member `member` of the struct that the enclosing scope calls T.
#define KOORD_FIELD(member, wire_name)                                                                    \
  ::koord::api::Field {                                                                                   \
    .wire = wire_name, .offset = offsetof(T, member), .type = &::koord::api::type_of<decltype(T::member)> \
  }

/// A struct's table with its index by wire name. Made once per struct, immutable, shared by all threads.
class Schema {
 public:
  /// `name` is the struct's name in documentation. `rows` live forever. `kind` for the objects of an API.
  Schema(std::string_view name, std::span<const Field> rows, const Type& self, const Kind* kind = nullptr,
         std::string_view doc = {});

  std::string_view name() const { return name_; }
  std::string_view doc() const { return doc_; }
  /// nullptr for parts of objects.
  const Kind* kind() const { return kind_; }
  const Type& self() const { return *self_; }
  /// The rows, those of inlined structures in place of theirs.
  std::span<const Field> fields() const { return fields_; }
  /// nullptr if the name is unknown. Names are case-sensitive.
  const Field* find(std::string_view wire) const;

 private:
  std::string_view name_;
  std::string_view doc_;
  const Kind* kind_;
  const Type* self_;
  std::vector<Field> fields_;
  std::vector<uint8_t> index_;  // open addressing: row number + 1, 0 is free; a power of two
};

/// A column that kubectl prints for a custom resource.
struct PrinterColumn {
  std::string_view name;
  std::string_view type;  // string, integer, date, ...
  std::string_view json_path;
  std::string_view description = {};
  std::string_view format = {};
  int32_t priority = 0;  // above 0: with -o wide only
};

/// What the API server calls an object's type, and how it is reached.
struct Kind {
  std::string_view group;  // "" is the core group
  std::string_view version;
  std::string_view kind;
  std::string_view plural;  // the resource in URLs
  std::string_view singular;
  std::span<const std::string_view> short_names = {};
  std::span<const std::string_view> categories = {};
  bool namespaced = true;
  bool custom = false;      // a custom resource: patched by merge patch, strategic merge is not served
  bool has_status = false;  // the status subresource exists
  std::span<const PrinterColumn> columns = {};

  /// "v1" or "apps/v1".
  std::string api_version() const;
};

/// The kind of an object type such as Pod.
template <class T>
const Kind& kind() {
  return *schema<T>().kind();
}

}  // namespace koord::api
