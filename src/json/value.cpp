// Values over RapidJSON's nodes: types, access, edits.
#include "koord/json/value.hpp"

#include <algorithm>
#include <cassert>
#include <new>
#include <vector>

#include "node.hpp"

namespace koord::json {
namespace {

constexpr std::size_t kSmallObject = 16;

rapidjson::GenericStringRef<char> ref(std::string_view text) {
  return {text.data() ? text.data() : "", static_cast<rapidjson::SizeType>(text.size())};
}

std::vector<const Member*> sorted(std::span<const Member> members) {
  std::vector<const Member*> result;
  result.reserve(members.size());
  for (const Member& member : members) result.push_back(&member);
  std::ranges::sort(result, {}, &Member::key);
  return result;
}

// Exact, also where a double meets an integer that it cannot hold.
std::weak_ordering compare_numbers(const Node& a, const Node& b) {
  if (a.IsDouble() || b.IsDouble()) {
    if (a.IsDouble() && b.IsDouble()) {
      if (a.GetDouble() == b.GetDouble()) return std::weak_ordering::equivalent;
      return a.GetDouble() < b.GetDouble() ? std::weak_ordering::less : std::weak_ordering::greater;
    }
    // Of 64 bits and a sign: a long double holds both.
    const auto exact = [](const Node& n) {
      return n.IsDouble()  ? static_cast<long double>(n.GetDouble())
             : n.IsInt64() ? static_cast<long double>(n.GetInt64())
                           : static_cast<long double>(n.GetUint64());
    };
    if (exact(a) == exact(b)) return std::weak_ordering::equivalent;
    return exact(a) < exact(b) ? std::weak_ordering::less : std::weak_ordering::greater;
  }
  if (a.IsInt64() && b.IsInt64()) return a.GetInt64() <=> b.GetInt64();
  if (a.IsUint64() && b.IsUint64()) return a.GetUint64() <=> b.GetUint64();
  return a.IsInt64() ? std::weak_ordering::less : std::weak_ordering::greater;
}

std::weak_ordering compare_objects(std::span<const Member> a, std::span<const Member> b) {
  if (a.size() != b.size()) return a.size() <=> b.size();
  const auto x = sorted(a), y = sorted(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (const auto order = x[i]->key() <=> y[i]->key(); order != 0) return order;
    if (const auto order = compare(x[i]->value, y[i]->value); order != 0) return order;
  }
  return std::weak_ordering::equivalent;
}

bool equal_objects(const Value& a, const Value& b) {
  const auto x = a.members(), y = b.members();
  if (x.size() != y.size()) return false;
  std::size_t i = 0;  // most have their members in one order
  for (; i < x.size() && x[i].key() == y[i].key(); ++i)
    if (!(x[i].value == y[i].value)) return false;
  if (i == x.size()) return true;
  if (x.size() > kSmallObject) return compare_objects(x.subspan(i), y.subspan(i)) == 0;
  return std::ranges::all_of(x.subspan(i), [&](const Member& member) {
    const Value* other = find(b, member.key());
    return other && *other == member.value;
  });
}

}  // namespace

Value Value::object() {
  Value value;
  new (value.node_) Node(rapidjson::kObjectType);
  return value;
}

Value Value::array() {
  Value value;
  new (value.node_) Node(rapidjson::kArrayType);
  return value;
}

void Value::set_bool(bool value) { new (node_) Node(value); }
void Value::set_int(std::int64_t value) { new (node_) Node(value); }
void Value::set_uint(std::uint64_t value) { new (node_) Node(value); }
void Value::set_double(double value) { new (node_) Node(value); }

Type Value::type() const {
  switch (node_of(*this).GetType()) {
    case rapidjson::kNullType: return Type::null;
    case rapidjson::kFalseType:
    case rapidjson::kTrueType: return Type::boolean;
    case rapidjson::kObjectType: return Type::object;
    case rapidjson::kArrayType: return Type::array;
    case rapidjson::kStringType: return Type::string;
    case rapidjson::kNumberType: return Type::number;
  }
  return Type::null;
}

bool Value::is_true() const { return node_of(*this).IsTrue(); }

std::string_view Value::text() const {
  const Node& node = node_of(*this);
  return node.IsString() ? view(node) : std::string_view{};
}

std::optional<std::int64_t> Value::to_int() const {
  const Node& node = node_of(*this);
  if (!node.IsInt64()) return std::nullopt;
  return node.GetInt64();
}

std::optional<std::uint64_t> Value::to_uint() const {
  const Node& node = node_of(*this);
  if (!node.IsUint64()) return std::nullopt;
  return node.GetUint64();
}

std::optional<double> Value::to_double() const {
  const Node& node = node_of(*this);
  if (!node.IsNumber()) return std::nullopt;
  return node.GetDouble();
}

std::size_t Value::size() const {
  const Node& node = node_of(*this);
  return node.IsArray() ? node.Size() : node.IsObject() ? node.MemberCount() : 0;
}

std::span<Value> Value::elements() {
  Node& node = node_of(*this);
  if (!node.IsArray()) return {};
  return {reinterpret_cast<Value*>(node.Begin()), node.Size()};
}
std::span<const Value> Value::elements() const { return const_cast<Value&>(*this).elements(); }

std::span<Member> Value::members() {
  Node& node = node_of(*this);
  if (!node.IsObject() || node.ObjectEmpty()) return {};
  return {reinterpret_cast<Member*>(&*node.MemberBegin()), node.MemberCount()};
}
std::span<const Member> Value::members() const { return const_cast<Value&>(*this).members(); }

Value& Value::push_back(Value&& element, Arena& arena) {
  if (!is_array()) set_array();
  Node& node = node_of(*this);
  NodeMemory memory{&arena};
  node.PushBack(node_of(element), memory);
  return value_of(node[node.Size() - 1]);
}

Value& Value::insert(std::size_t index, Value&& element, Arena& arena) {
  push_back(std::move(element), arena);
  const auto all = elements();
  assert(index < all.size());
  std::byte added[sizeof(Value)];
  void* const place = &all[index];
  std::memcpy(added, &all.back(), sizeof(added));
  std::memmove(static_cast<std::byte*>(place) + sizeof(added), place,
               (all.size() - 1 - index) * sizeof(added));
  std::memcpy(place, added, sizeof(added));
  return all[index];
}

void Value::erase(std::size_t index, std::size_t count) {
  assert(index + count <= size());
  if (count == 0) return;
  Node& node = node_of(*this);
  const auto first = static_cast<std::ptrdiff_t>(index), last = static_cast<std::ptrdiff_t>(index + count);
  if (node.IsArray())
    node.Erase(node.Begin() + first, node.Begin() + last);
  else
    node.EraseMember(node.MemberBegin() + first, node.MemberBegin() + last);
}

Value& Value::append(std::string_view key, Value&& value, Arena& arena) {
  if (!is_object()) set_object();
  Node& node = node_of(*this);
  NodeMemory memory{&arena};
  Node name(ref(key).s, ref(key).length, memory);
  node.AddMember(name, node_of(value), memory);
  return value_of((node.MemberEnd() - 1)->value);
}

Value make_text(std::string_view text, Arena& arena) {
  NodeMemory memory{&arena};
  Node node(ref(text).s, ref(text).length, memory);
  return std::move(value_of(node));
}

Value make_const(std::string_view literal) {
  Node node(ref(literal));
  return std::move(value_of(node));
}

const Value* find(const Value& object, std::string_view key) { return find(const_cast<Value&>(object), key); }

Value* find(Value& object, std::string_view key) {
  for (Member& member : object.members()) {
    const Node& name = node_of(std::as_const(member.name));
    if (name.GetStringLength() == key.size() && std::memcmp(name.GetString(), key.data(), key.size()) == 0)
      return &member.value;
  }
  return nullptr;
}

Value& set(Value& object, std::string_view key, Value&& value, Arena& arena) {
  if (Value* old = find(object, key)) return *old = std::move(value);
  return object.append(key, std::move(value), arena);
}

Value& set_text(Value& object, std::string_view key, std::string_view text, Arena& arena) {
  return set(object, key, make_text(text, arena), arena);
}

Value& set_int(Value& object, std::string_view key, std::int64_t value, Arena& arena) {
  return set(object, key, Value(value), arena);
}

Value& set_default(Value& object, std::string_view key, Value&& value, Arena& arena) {
  if (Value* old = find(object, key); old && !old->is_null()) return *old;
  return set(object, key, std::move(value), arena);
}

Value& default_text(Value& object, std::string_view key, std::string_view literal, Arena& arena) {
  Value* old = find(object, key);
  if (old && !old->is_null() && !(old->is_string() && old->text().empty())) return *old;
  return set(object, key, make_const(literal), arena);
}

Value& default_int(Value& object, std::string_view key, std::int64_t value, Arena& arena) {
  return set_default(object, key, Value(value), arena);
}

Value& object_at(Value& object, std::string_view key, Arena& arena) {
  Value* old = find(object, key);
  if (!old) return set(object, key, Value::object(), arena);
  if (!old->is_object()) old->set_object();
  return *old;
}

Value& array_at(Value& object, std::string_view key, Arena& arena) {
  Value* old = find(object, key);
  if (!old) return set(object, key, Value::array(), arena);
  if (!old->is_array()) old->set_array();
  return *old;
}

bool remove(Value& object, std::string_view key) {
  Value* value = find(object, key);
  if (!value) return false;
  const auto* member =
      reinterpret_cast<const Member*>(reinterpret_cast<const std::byte*>(value) - offsetof(Member, value));
  object.erase(static_cast<std::size_t>(member - object.members().data()));
  return true;
}

bool is_empty(const Value* value) {
  if (!value) return true;
  switch (value->type()) {
    case Type::null: return true;
    case Type::string: return value->text().empty();
    case Type::array:
    case Type::object: return value->empty();
    case Type::boolean:
    case Type::number: break;
  }
  return false;
}

int depth(const Value& value, int limit) {
  if (limit < 0 || (!value.is_array() && !value.is_object())) return 0;
  int deepest = 0;
  for (const Value& element : value.elements()) deepest = std::max(deepest, depth(element, limit - 1));
  for (const Member& member : value.members()) deepest = std::max(deepest, depth(member.value, limit - 1));
  return deepest + 1;
}

std::weak_ordering compare(const Value& a, const Value& b) {
  if (a.type() != b.type()) return a.type() <=> b.type();
  switch (a.type()) {
    case Type::null: return std::weak_ordering::equivalent;
    case Type::boolean: return a.is_true() <=> b.is_true();
    case Type::number: return compare_numbers(node_of(a), node_of(b));
    case Type::string: return a.text() <=> b.text();
    case Type::object: return compare_objects(a.members(), b.members());
    case Type::array: break;
  }
  if (a.size() != b.size()) return a.size() <=> b.size();
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const auto order = compare(a[i], b[i]); order != 0) return order;
  return std::weak_ordering::equivalent;
}

bool operator==(const Value& a, const Value& b) {
  if (a.type() != b.type()) return false;
  if (a.is_object()) return equal_objects(a, b);
  if (a.is_string()) return same_text(a.text(), b.text());
  if (!a.is_array()) return compare(a, b) == 0;
  return std::ranges::equal(a.elements(), b.elements());
}

bool same(const Value* a, const Value* b) { return a && b ? *a == *b : is_empty(a) && is_empty(b); }

}  // namespace koord::json
