// Lists, maps and their buffers.
#include <algorithm>
#include <cstring>
#include <functional>

#include "cel/values/compare.hpp"
#include "cel/values/representation.hpp"

namespace koord::cel {
namespace {

constexpr std::uint32_t kIndexed = 8;  // entries from which on a map is indexed

const json::Value& json_of(Value value, const Shape*& shape) {
  if (!value.has_shape()) {
    shape = nullptr;
    return *static_cast<const json::Value*>(value.pointer());
  }
  const auto& node = *static_cast<const JsonNode*>(value.pointer());
  shape = node.shape;
  return *node.value;
}

ListBuffer* new_list(std::size_t capacity, Memory& memory) {
  if (capacity > UINT32_MAX / sizeof(Value)) capacity = UINT32_MAX;  // more than any memory: refused below
  auto* buffer = static_cast<ListBuffer*>(memory.allocate(sizeof(ListBuffer) + capacity * sizeof(Value)));
  if (buffer) *buffer = ListBuffer{static_cast<std::uint32_t>(capacity), 0};
  return buffer;
}

Value as_list(const ListBuffer* buffer, std::uint32_t size) {
  return Value::make(Kind::list, Value::Form::owned, size, buffer);
}

std::uint32_t* slot_of(const MapBuffer& map, Value key) {
  std::uint32_t at = static_cast<std::uint32_t>(hash(key)) & (map.index_size - 1);
  while (map.index[at] != 0 && !same_key(map.entries()[map.index[at] - 1].key, key))
    at = (at + 1) & (map.index_size - 1);
  return &map.index[at];
}

MapBuffer* new_map(std::uint32_t capacity, Memory& memory) {
  auto* buffer =
      static_cast<MapBuffer*>(memory.allocate(sizeof(MapBuffer) + std::size_t{capacity} * sizeof(MapEntry)));
  if (!buffer) return nullptr;
  *buffer = MapBuffer{capacity, 0, nullptr, 0};
  if (capacity > kIndexed) {
    std::uint32_t size = 16;
    while (size < capacity * 2) size *= 2;
    buffer->index = memory.make<std::uint32_t>(size);
    if (!buffer->index) return nullptr;
    std::memset(buffer->index, 0, size * sizeof(std::uint32_t));
    buffer->index_size = size;
  }
  return buffer;
}

void add_entry(MapBuffer& map, const MapEntry& entry) {
  map.entries()[map.used++] = entry;
  if (map.index) *slot_of(map, entry.key) = map.used;
}

/// The number of the key's entry among the first `size`, or `size`.
std::uint32_t entry_number(const MapBuffer& map, std::uint32_t size, Value key) {
  if (map.index) {
    const std::uint32_t found = *slot_of(map, key);
    return found != 0 && found <= size ? found - 1 : size;
  }
  for (std::uint32_t i = 0; i < size; ++i)
    if (same_key(map.entries()[i].key, key)) return i;
  return size;
}

Value as_map(const MapBuffer* buffer, std::uint32_t size) {
  return Value::make(Kind::map, Value::Form::owned, size, buffer);
}

const MapBuffer* map_of(Value value) { return static_cast<const MapBuffer*>(value.pointer()); }
const ListBuffer* list_of(Value value) { return static_cast<const ListBuffer*>(value.pointer()); }

}  // namespace

std::uint32_t size_of(Value container) { return container.count(); }

Value element(Value list, std::uint32_t index, Memory& memory) {
  if (list.form() == Value::Form::owned) return list_of(list)->items()[index];
  const Shape* shape = nullptr;
  const json::Value& value = json_of(list, shape);
  return Value::json(value[index], memory, shape ? shape->element.get() : nullptr);
}

Value empty_list() { return as_list(nullptr, 0); }
Value empty_map() { return as_map(nullptr, 0); }

Value list_with_room(std::size_t count, Memory& memory) {
  if (count == 0) return empty_list();
  const ListBuffer* buffer = new_list(count, memory);
  return buffer ? as_list(buffer, 0) : out_of_memory();
}

Value append(Value list, Value item, Memory& memory) {
  if (list.is_error()) return list;
  const std::uint32_t size = list.count();
  auto* buffer = list.form() == Value::Form::owned ? const_cast<ListBuffer*>(list_of(list)) : nullptr;
  if (!buffer || buffer->used != size || buffer->used == buffer->capacity) {
    auto* grown = new_list(std::max<std::size_t>(4, std::size_t{size} * 2), memory);
    if (!grown) return out_of_memory();
    for (std::uint32_t i = 0; i < size; ++i) grown->items()[i] = element(list, i, memory);
    grown->used = size;
    buffer = grown;
  }
  buffer->items()[buffer->used++] = item;
  return as_list(buffer, size + 1);
}

Value concatenate(Value a, Value b, Memory& memory) {
  if (a.count() == 0) return b;
  if (b.count() == 0) return a;
  const std::uint32_t size = b.count();
  if (a.form() == Value::Form::owned && size == 1) return append(a, element(b, 0, memory), memory);
  Value sum = list_with_room(std::size_t{a.count()} + size, memory);
  for (std::uint32_t i = 0; i < a.count() && !sum.is_error(); ++i)
    sum = append(sum, element(a, i, memory), memory);
  for (std::uint32_t i = 0; i < size && !sum.is_error(); ++i)
    sum = append(sum, element(b, i, memory), memory);
  return sum;
}

std::optional<Value> find(Value map, Value key, Memory& memory) {
  switch (map.form()) {
    case Value::Form::owned: {
      if (map.count() == 0) return std::nullopt;
      const std::uint32_t at = entry_number(*map_of(map), map.count(), key);
      if (at == map.count()) return std::nullopt;
      return map_of(map)->entries()[at].value;
    }
    case Value::Form::json: {
      if (key.kind() != Kind::string) return std::nullopt;
      const Shape* shape = nullptr;
      const json::Value& object = json_of(map, shape);
      if (!memory.step(object.size() / 16)) return out_of_memory();
      std::string_view name = key.text();
      const Shape* member = shape ? shape->element.get() : nullptr;
      if (shape && shape->closed) {
        const Shape::Field* field = shape->field(name);
        if (!field) return std::nullopt;
        name = field->json_name;
        member = field->shape.get();
      }
      const json::Value* found = json::find(object, name);
      if (!found) return std::nullopt;
      return Value::json(*found, memory, member);
    }
    case Value::Form::host:
      if (key.kind() != Kind::string) return std::nullopt;
      return static_cast<const HostMap*>(map.pointer())->find(key.text(), memory);
  }
  return std::nullopt;
}

std::optional<std::pair<Value, Value>> entry(Value map, std::uint32_t index, Memory& memory) {
  switch (map.form()) {
    case Value::Form::owned: {
      const MapEntry& found = map_of(map)->entries()[index];
      return std::pair(found.key, found.value);
    }
    case Value::Form::json: {
      const Shape* shape = nullptr;
      const json::Member& member = json_of(map, shape).members()[index];
      if (!shape || !shape->closed)
        return std::pair(Value::string(member.key()),
                         Value::json(member.value, memory, shape ? shape->element.get() : nullptr));
      const Shape::Field* field = shape->json_field(member.key());
      if (!field) return std::nullopt;
      return std::pair(Value::string(field->name), Value::json(member.value, memory, field->shape.get()));
    }
    case Value::Form::host: {
      const auto [key, value] = static_cast<const HostMap*>(map.pointer())->entry(index, memory);
      return std::pair(Value::string(key), value);
    }
  }
  return std::nullopt;
}

Value put(Value map, Value key, Value value, Memory& memory) {
  const std::uint32_t size = map.count();
  auto* buffer = map.form() == Value::Form::owned ? const_cast<MapBuffer*>(map_of(map)) : nullptr;
  const std::uint32_t at = buffer && size != 0 ? entry_number(*buffer, size, key) : size;
  const bool replaces = buffer && size != 0 && at != size;
  if (!buffer || replaces || buffer->used != size || buffer->used == buffer->capacity) {
    auto* grown = new_map(std::max<std::uint32_t>(4, replaces ? size : size * 2), memory);
    if (!grown) return out_of_memory();
    for (std::uint32_t i = 0; i < size; ++i)
      if (const auto old = entry(map, i, memory))
        add_entry(*grown, {old->first, replaces && i == at ? value : old->second});
    if (replaces) return as_map(grown, grown->used);
    buffer = grown;
  }
  add_entry(*buffer, {key, value});
  return as_map(buffer, buffer->used);
}

}  // namespace koord::cel
