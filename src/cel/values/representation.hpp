// What lies behind values: buffers of lists and maps, and how they are made.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "koord/api/values/quantity.hpp"
#include "koord/cel/shape.hpp"
#include "koord/cel/value.hpp"

namespace koord::cel {

struct MapEntry {
  Value key, value;
};

/// Elements follow it. A list of `size` elements that are all of `used` may grow in place: whoever holds it
/// with its old size does not see what comes.
struct ListBuffer {
  std::uint32_t capacity, used;
  Value* items() { return reinterpret_cast<Value*>(this + 1); }
  const Value* items() const { return reinterpret_cast<const Value*>(this + 1); }
};

/// The same with entries, and an open-addressed index of them once there are many.
struct MapBuffer {
  std::uint32_t capacity, used;
  std::uint32_t* index;      // entry number + 1, or 0
  std::uint32_t index_size;  // a power of two
  MapEntry* entries() { return reinterpret_cast<MapEntry*>(this + 1); }
  const MapEntry* entries() const { return reinterpret_cast<const MapEntry*>(this + 1); }
};

struct JsonNode {
  const json::Value* value;
  const Shape* shape;
};

/// An address, or a prefix: 4 or 16 bytes, the most significant first.
struct Network {
  std::array<std::uint8_t, 16> bytes;
  std::uint8_t length;  // 4 or 16
  std::uint8_t bits;    // of a prefix
};

/// An error with this message (copied).
Value fail(Memory& memory, std::string_view message);
Value no_such_overload();
/// The error that a Memory which is exhausted gives.
Value out_of_memory();
Value out_of_budget();

/// Refers to a copy of `text`.
Value copy_string(std::string_view text, Memory& memory);
Value copy_bytes(std::string_view bytes, Memory& memory);

Value empty_list();
Value empty_map();
/// `list` and the element: in place where `list` reaches its buffer's end.
Value append(Value list, Value element, Memory& memory);
/// A list with room for `count` elements that append() fills.
Value list_with_room(std::size_t count, Memory& memory);
Value concatenate(Value a, Value b, Memory& memory);
/// The map with the entry put, or replaced (then it is copied).
Value put(Value map, Value key, Value value, Memory& memory);
Value make_optional(Value value, Memory& memory);
Value no_optional();
/// Of an optional that has one.
Value optional_value(Value optional);
inline bool has_value(Value optional) { return optional.pointer() != nullptr; }

const api::Quantity& quantity_of(Value value);
Value make_quantity(const api::Quantity& quantity, Memory& memory);
inline const Network& network_of(Value value) { return *static_cast<const Network*>(value.pointer()); }

/// What runs of a value are counted as: code points, bytes, elements, entries; 1 for scalars.
std::uint64_t actual_size(Value value);
/// The type that type() gives.
const Type& runtime_type(Value value);
std::size_t code_points(std::string_view text);
/// As Go's %g prints it.
std::string real_text(double value);
/// Go's %q of a text.
std::string go_quoted(std::string_view text);
/// -1, 0, 1; empty if the two have no order.
std::optional<int> order(Value a, Value b);

}  // namespace koord::cel
