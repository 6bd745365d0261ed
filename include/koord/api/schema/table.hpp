// The tables behind schemas: a row a field, and what a C++ type looks like to the code that walks them
// (codec, diff, manifests, docs). Included by the .cpp files with tables and by the walkers, never by a
// header of types.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "koord/api/schema/kind.hpp"
#include "koord/api/schema/schema.hpp"
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
};

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
    if constexpr (kScalarKind<T> == TypeKind::structure) {
      type.schema = &T::koord_schema;
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
struct TypeMaker<std::optional<V>> : OptionalMaker<V, std::optional<V>> {
  static_assert(kScalarKind<V> != TypeKind::structure, "an optional structure is a Box, see schema.hpp");
};
template <class V>
struct TypeMaker<Box<V>> : OptionalMaker<V, Box<V>> {};
template <class V>
struct TypeMaker<Maybe<V>> : OptionalMaker<V, Maybe<V>> {};

}  // namespace detail

/// One row of a table. Rows are made with ROW and refined by the methods:
///   ROW(host_port).range(0, 65535).doc("Port on the node.")
struct Field {
  enum Flag : uint16_t {
    kRequired = 1,    // must be present: strict decoding, manifests; always written
    kAlways = 2,      // written even when empty
    kImmutable = 4,   // never part of a diff
    kAtomic = 8,      // structure or list: server-side apply owns it as a whole
    kSetList = 16,    // list of scalars: patches add and remove single elements
    kInlined = 32,    // structure: its fields are those of the enclosing object
    kPreserve = 64,   // undescribed fields are kept: x-kubernetes-preserve-unknown-fields
    kUnlisted = 128,  // no field at all: a member that only the program has
    kUntyped = 256,   // any JSON, not just an object
    kNullable = 512,  // writers in Go give null where there is nothing: the manifest lets it pass
  };

  std::string_view name = {};  // on the wire
  uint32_t offset = 0;
  uint16_t flags = 0;
  const Type* type = nullptr;
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

  template <class M>
  constexpr Field with(M Field::*member, M value) const {
    Field f = *this;
    f.*member = value;
    return f;
  }
  constexpr Field with(Flag flag) const { return with(&Field::flags, static_cast<uint16_t>(flags | flag)); }

  /// For names that do not follow from the member's.
  constexpr Field wire(std::string_view text) const { return with(&Field::name, text); }
  constexpr Field required() const { return with(kRequired); }
  constexpr Field always() const { return with(kAlways); }
  constexpr Field immutable() const { return with(kImmutable); }
  constexpr Field atomic() const { return with(kAtomic); }
  constexpr Field set_list() const { return with(kSetList); }
  constexpr Field inlined() const { return with(kInlined); }
  constexpr Field preserve_unknown() const { return with(kPreserve); }
  constexpr Field untyped() const { return with(kUntyped); }
  constexpr Field nullable() const { return with(kNullable); }
  constexpr Field merge_key(std::string_view key) const { return with(&Field::merge_key_name, key); }
  constexpr Field default_json(std::string_view text) const { return with(&Field::default_text, text); }
  constexpr Field doc(std::string_view text) const { return with(&Field::doc_text, text); }
  constexpr Field format(std::string_view text) const { return with(&Field::format_text, text); }
  constexpr Field pattern(std::string_view text) const { return with(&Field::pattern_text, text); }
  constexpr Field one_of(std::span<const std::string_view> v) const { return with(&Field::enum_values, v); }
  constexpr Field min(int64_t value) const { return with(&Field::minimum, std::optional(value)); }
  constexpr Field max(int64_t value) const { return with(&Field::maximum, std::optional(value)); }
  constexpr Field range(int64_t least, int64_t most) const { return min(least).max(most); }
  constexpr Field min_length(int32_t value) const { return with(&Field::min_length_limit, value); }
  constexpr Field max_length(int32_t value) const { return with(&Field::max_length_limit, value); }
};

namespace detail {

/// A member's name on the wire: host_port is hostPort, operator_ is operator.
template <size_t N>
struct WireName {
  char text[N] = {};
  size_t size = 0;
  consteval WireName(const char (&member)[N]) {  // NOLINT: made from a literal
    bool upper = false;
    for (size_t i = 0; i + 1 < N; ++i) {
      const char c = member[i];
      if (c != '_') text[size++] = static_cast<char>(upper && c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
      upper = c == '_';
    }
  }
};
template <WireName Name>
inline constexpr std::string_view kWireName = {Name.text, Name.size};

/// Takes the place of any member's value.
struct AnyValue {
  template <class M>
  operator M() const;  // NOLINT: implicit on purpose
};
template <class T, size_t... I>
consteval bool takes(std::index_sequence<I...>) {
  return requires { T{(void(I), AnyValue())...}; };
}
/// Whether the aggregate T has more than N members.
template <class T, size_t N>
inline constexpr bool kHasMore = takes<T>(std::make_index_sequence<N + 1>());

template <class... Rows>
consteval std::array<Field, sizeof...(Rows)> rows(const Rows&... row) {
  return {row...};
}
constexpr const Kind* pointer_to(const Kind& kind) { return &kind; }
constexpr const Kind* pointer_to(std::nullptr_t) { return nullptr; }

}  // namespace detail

/// A struct's rows with their index by name. Made by KOORD_SCHEMA.
class Schema {
 public:
  /// All live forever; `kind` is for the objects of an API.
  Schema(std::string_view name, std::span<const Field> rows, const Type& self, const Kind* kind);

  /// The struct's.
  std::string_view name() const { return name_; }
  /// nullptr for parts of objects.
  const Kind* kind() const { return kind_; }
  const Type& self() const { return *self_; }
  /// The rows, those of inlined structures in place of theirs.
  std::span<const Field> fields() const { return fields_; }
  /// nullptr if the name is unknown. Names are case-sensitive.
  const Field* find(std::string_view name) const;

 private:
  std::string_view name_;
  const Kind* kind_;
  const Type* self_;
  std::vector<Field> fields_;
  std::vector<uint8_t> index_;  // open addressing: row number + 1, 0 is free; a power of two
};

/// The row of a member, between the parentheses of KOORD_SCHEMA or KOORD_OBJECT.
#define ROW(member)                                                                     \
  ::koord::api::Field {                                                                 \
    .name = ::koord::api::detail::kWireName<#member>, .offset = offsetof(Self, member), \
    .type = &::koord::api::type_of<decltype(Self::member)>                              \
  }
/// Says that a member is not part of the API: every member has a row or this.
#define NO_ROW(member) \
  ::koord::api::Field { .offset = offsetof(Self, member), .flags = ::koord::api::Field::kUnlisted }

#define KOORD_SCHEMA_OF(T, object_kind, ...)                                                            \
  const ::koord::api::Schema& T::koord_schema() {                                                       \
    using Self [[maybe_unused]] = T;                                                                    \
    static constexpr auto kRows = ::koord::api::detail::rows(__VA_ARGS__);                              \
    static_assert(!::koord::api::detail::kHasMore<T, kRows.size()>, "each member of " #T " has a row"); \
    static constexpr auto kKind = object_kind;                                                          \
    static const ::koord::api::Schema kSchema(#T, kRows, ::koord::api::type_of<T>,                      \
                                              ::koord::api::detail::pointer_to(kKind));                 \
    return kSchema;                                                                                     \
  }                                                                                                     \
  static_assert(true)

/// The table of a struct with KOORD_STRUCT, in the struct's namespace.
#define KOORD_SCHEMA(T, ...) KOORD_SCHEMA_OF(T, nullptr, __VA_ARGS__)
/// The same for an object of the API, whose first member is its metadata if it has that:
///   KOORD_OBJECT(Pod, Kind("v1", "Pod", "pods"), ROW(metadata), ROW(spec), ROW(status));
#define KOORD_OBJECT(T, object_kind, ...) KOORD_SCHEMA_OF(T, object_kind, __VA_ARGS__)

}  // namespace koord::api
