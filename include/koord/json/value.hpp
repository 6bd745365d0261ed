// A JSON document in memory: values and the arena that they lie in.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "koord/base/result.hpp"

namespace koord::json {

/// Memory that is given back as a whole: values have no destructors and are never freed one by one.
class Arena {
 public:
  Arena() = default;
  Arena(Arena&& other) noexcept { swap(other); }
  Arena& operator=(Arena&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Arena();

  /// Aligned for values; uninitialised.
  void* allocate(std::size_t size);
  /// What `old` of `size` bytes had, in `wanted` bytes; in place where it was the last to be taken.
  void* grow(void* old, std::size_t size, std::size_t wanted);
  /// Bytes taken since the beginning or the last clear().
  std::size_t used() const { return used_; }
  /// Everything that lies here ends. The largest piece of memory is kept for what comes.
  void clear();

 private:
  struct Chunk;
  void swap(Arena& other) noexcept {
    std::swap(chunk_, other.chunk_);
    std::swap(at_, other.at_);
    std::swap(end_, other.end_);
    std::swap(used_, other.used_);
  }
  void add_chunk(std::size_t size);

  Chunk* chunk_ = nullptr;  // the newest, which is the largest
  char* at_ = nullptr;
  char* end_ = nullptr;
  std::size_t used_ = 0;
};

enum class Type : std::uint8_t { null, boolean, number, string, array, object };

struct Member;

/// One JSON value: 16 bytes that hold a scalar, or lead to elements and members in an Arena, which must live
/// longer and be the same for all that a value contains. Numbers are int64, uint64 or double, like those of
/// an API server; the text that a number had is not kept. Objects keep the order of their members.
///
/// Moved, never copied (see clone); what was moved from is null. Any thread, one at a time. Functions walk
/// into values recursively: what is read is at most kMaxDepth deep, and who nests values further checks
/// depth().
///
/// Inside it is RapidJSON's value, which only value.cpp sees: here it is bytes.
class alignas(8) Value {
 public:
  Value() = default;  // null
  template <std::same_as<bool> B>
  explicit Value(B value) {
    set_bool(value);
  }
  template <std::signed_integral I>
  explicit Value(I value) {
    set_int(value);
  }
  template <std::unsigned_integral U>
    requires(!std::same_as<U, bool>)
  explicit Value(U value) {
    set_uint(value);
  }
  explicit Value(double value) { set_double(value); }
  static Value object();
  static Value array();

  Value(Value&& other) noexcept { take(other); }
  Value& operator=(Value&& other) noexcept {
    if (this != &other) take(other);
    return *this;
  }
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;
  ~Value() = default;

  Type type() const;
  bool is_null() const { return type() == Type::null; }
  bool is_bool() const { return type() == Type::boolean; }
  bool is_number() const { return type() == Type::number; }
  bool is_string() const { return type() == Type::string; }
  bool is_array() const { return type() == Type::array; }
  bool is_object() const { return type() == Type::object; }
  bool is_true() const;
  /// A number that fits int64.
  bool is_int() const { return to_int().has_value(); }

  /// A string's text; empty for other types.
  std::string_view text() const;
  /// Empty if it is no number or does not fit: 1.0 is a double, as in Go.
  std::optional<std::int64_t> to_int() const;
  std::optional<std::uint64_t> to_uint() const;
  /// Any number; empty for other types.
  std::optional<double> to_double() const;

  /// Elements of an array, members of an object, else 0.
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  /// Empty for other types. Valid until an element or a member is added.
  std::span<Value> elements();
  std::span<const Value> elements() const;
  std::span<Member> members();
  std::span<const Member> members() const;
  /// The element; `index` is less than size().
  Value& operator[](std::size_t index) { return elements()[index]; }
  const Value& operator[](std::size_t index) const { return elements()[index]; }

  /// Whatever it was, it is one of these now, and empty.
  void set_null() { *this = Value(); }
  void set_object() { *this = object(); }
  void set_array() { *this = array(); }

  /// Of an array; of a value that is none it makes one first. `index` is at most size().
  Value& push_back(Value&& element, Arena& arena);
  Value& insert(std::size_t index, Value&& element, Arena& arena);
  /// Elements of an array or members of an object, the order of the others kept. Linear in what follows.
  void erase(std::size_t index, std::size_t count = 1);
  /// Adds a member without looking whether there is one of that name. The key is copied.
  Value& append(std::string_view key, Value&& value, Arena& arena);
  /// All that `unwanted(element)` (of an object: unwanted(member)) is true for, in one pass.
  template <class Predicate>
  void erase_if(Predicate unwanted);

 private:
  void set_bool(bool value);
  void set_int(std::int64_t value);
  void set_uint(std::uint64_t value);
  void set_double(double value);
  void take(Value& other) noexcept {
    std::byte bytes[16];
    std::memcpy(bytes, other.node_, sizeof(bytes));
    std::memset(other.node_, 0, sizeof(bytes));
    std::memcpy(node_, bytes, sizeof(bytes));
  }
  template <class Item, class Predicate>
  void keep(std::span<Item> items, Predicate& unwanted);

  std::byte node_[16] = {};  // zeros are null
};

struct Member {
  Value name;  // a string
  Value value;

  std::string_view key() const { return name.text(); }
};

/// A value and the memory of all that it contains.
class Document : public Value {
 public:
  Document() = default;
  Document(Document&&) noexcept = default;
  Document& operator=(Document&&) noexcept = default;
  using Value::operator=;

  Arena& arena() { return arena_; }
  /// Reads one whole document (see reader.hpp for what is refused); of members with one name the last counts,
  /// as in Go. What was here ends, its memory is used again. After an error it is null. Linear in the text,
  /// but for objects of many members with suspicious names (n log n).
  Result<> read(std::string_view text);

 private:
  Arena arena_;
};

Result<Document> parse(std::string_view text);

/// `text` copied, or referred to: it must live as long as the value (a literal).
Value make_text(std::string_view text, Arena& arena);
Value make_const(std::string_view literal);
/// Deep; strings too.
Value clone(const Value& value, Arena& arena);
Document clone(const Value& value);

/// nullptr if `object` is no object, or has no such member.
Value* find(Value& object, std::string_view key);
const Value* find(const Value& object, std::string_view key);
/// Follows a path of members; nullptr as soon as one is missing.
template <class... Keys>
Value* find(Value& object, std::string_view key, Keys... rest) {
  Value* child = find(object, key);
  return child ? find(*child, rest...) : nullptr;
}
template <class... Keys>
const Value* find(const Value& object, std::string_view key, Keys... rest) {
  const Value* child = find(object, key);
  return child ? find(*child, rest...) : nullptr;
}

/// The string at the path, or empty if there is none or it is of another type.
template <class... Keys>
std::string_view text_at(const Value& object, Keys... keys) {
  const Value* value = find(object, keys...);
  return value ? value->text() : std::string_view{};
}
template <class... Keys>
std::optional<std::int64_t> int_at(const Value& object, Keys... keys) {
  const Value* value = find(object, keys...);
  return value ? value->to_int() : std::nullopt;
}
template <class... Keys>
bool true_at(const Value& object, Keys... keys) {
  const Value* value = find(object, keys...);
  return value && value->is_true();
}

/// Replaces or adds a member; the key is copied. What is no object becomes one.
Value& set(Value& object, std::string_view key, Value&& value, Arena& arena);
Value& set_text(Value& object, std::string_view key, std::string_view text, Arena& arena);
Value& set_int(Value& object, std::string_view key, std::int64_t value, Arena& arena);
/// Adds a member if there is none (null counts as none, as in Go); returns the member.
Value& set_default(Value& object, std::string_view key, Value&& value, Arena& arena);
/// Of a text, the empty one counts as none, too.
Value& default_text(Value& object, std::string_view key, std::string_view literal, Arena& arena);
Value& default_int(Value& object, std::string_view key, std::int64_t value, Arena& arena);
/// The member as an object (array), which is made if it is absent or of another type.
Value& object_at(Value& object, std::string_view key, Arena& arena);
Value& array_at(Value& object, std::string_view key, Arena& arena);
/// True if it was there.
bool remove(Value& object, std::string_view key);

/// null, "", {}, [] and absent are alike.
bool is_empty(const Value* value);
/// Containers within one another: 0 for a scalar. Stops counting just past `limit`.
int depth(const Value& value, int limit);

/// A total order by value: the order of members does not count, that of elements does; 1 and 1.0 are equal.
/// n log n in the sizes of objects.
std::weak_ordering compare(const Value& a, const Value& b);
bool operator==(const Value& a, const Value& b);
/// The same, where absent and empty are alike.
bool same(const Value* a, const Value* b);

template <class Item, class Predicate>
void Value::keep(std::span<Item> items, Predicate& unwanted) {
  std::size_t kept = 0;
  for (Item& item : items) {
    if (unwanted(std::as_const(item))) continue;
    if (&items[kept] != &item) items[kept] = std::move(item);
    ++kept;
  }
  if (kept != items.size()) erase(kept, items.size() - kept);
}

template <class Predicate>
void Value::erase_if(Predicate unwanted) {
  if constexpr (std::is_invocable_v<Predicate, const Value&>)
    keep(elements(), unwanted);
  else
    keep(members(), unwanted);
}

}  // namespace koord::json
