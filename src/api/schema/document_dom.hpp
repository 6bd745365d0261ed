// JsonValue: the DOM behind Document, for the code in src/ that works on whole raw objects.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::api {

class JsonValue;

/// A template only so that JsonValue can hold it before it is complete itself.
template <class V>
struct JsonMemberOf {
  std::string key;
  V value;
};
using JsonMember = JsonMemberOf<JsonValue>;

/// A JSON value. Objects keep the order of their members; numbers keep their text. A plain value type:
/// copies are deep. What was parsed is at most json::kMaxDepth deep, so recursion over it is safe; whoever
/// nests values further checks json_depth.
class JsonValue {
 public:
  struct Number {
    std::string text;
  };
  using Array = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;

  JsonValue() = default;  // null
  explicit JsonValue(bool value) : value_(value) {}
  explicit JsonValue(int64_t value) : value_(Number{std::to_string(value)}) {}
  explicit JsonValue(Number number) : value_(std::move(number)) {}
  explicit JsonValue(std::string_view text) : value_(std::string(text)) {}
  explicit JsonValue(std::string text) : value_(std::move(text)) {}
  explicit JsonValue(const char* text) : value_(std::string(text)) {}
  explicit JsonValue(Array array) : value_(std::move(array)) {}
  explicit JsonValue(Object object) : value_(std::move(object)) {}
  static JsonValue make_object() { return JsonValue(Object{}); }
  static JsonValue make_array() { return JsonValue(Array{}); }

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_number() const { return std::holds_alternative<Number>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  bool same_type(const JsonValue& other) const { return value_.index() == other.value_.index(); }

  /// Of the type asked for, or they throw std::bad_variant_access.
  bool as_bool() const { return std::get<bool>(value_); }
  const std::string& as_string() const { return std::get<std::string>(value_); }
  const std::string& number_text() const { return std::get<Number>(value_).text; }
  Array& array() { return std::get<Array>(value_); }
  const Array& array() const { return std::get<Array>(value_); }
  Object& object() { return std::get<Object>(value_); }
  const Object& object() const { return std::get<Object>(value_); }

  /// Empty if the value is of another type (or the number is no 64-bit integer).
  std::optional<int64_t> to_int() const;
  std::string_view string_or(std::string_view fallback) const;

  /// Members of an object; nullptr if absent or this is no object.
  const JsonValue* find(std::string_view key) const;
  JsonValue* find(std::string_view key) { return const_cast<JsonValue*>(std::as_const(*this).find(key)); }
  /// The value along a chain of object keys, or nullptr.
  template <class... Keys>
  const JsonValue* at(std::string_view key, Keys... rest) const {
    const JsonValue* value = find(key);
    if constexpr (sizeof...(rest) == 0)
      return value;
    else
      return value ? value->at(rest...) : nullptr;
  }
  /// The member, made (null) if it is absent. A value that is no object becomes an empty one first.
  JsonValue& operator[](std::string_view key);
  void set(std::string_view key, JsonValue value) { (*this)[key] = std::move(value); }
  /// True if it was there.
  bool erase(std::string_view key);
  /// Elements of an array, members of an object, else 0.
  size_t size() const;

  friend bool operator==(const JsonValue& a, const JsonValue& b);

 private:
  std::variant<std::monostate, bool, Number, std::string, Array, Object> value_;
};

Result<JsonValue> parse_json(std::string_view text);
void append_json(std::string& out, const JsonValue& value);
std::string to_json(const JsonValue& value);
/// 0 for a scalar; stops counting just past `limit`.
int json_depth(const JsonValue& value, int limit);

/// The value at a JSON pointer, or nullptr.
const JsonValue* find_path(const JsonValue& root, std::string_view pointer);

// The patches on the DOM; see document.hpp. On an error the target may be half changed, except for
// JSON patches.
Result<> merge_patch(JsonValue& target, const JsonValue& patch);
Result<> json_patch(JsonValue& target, const JsonValue& patch);
Result<> strategic_patch(JsonValue& target, const JsonValue& patch, std::string_view group,
                         std::string_view kind);
/// Nothing if the values are equal.
std::optional<JsonValue> merge_diff(const JsonValue& before, const JsonValue& after);

/// What Document holds.
struct DocumentDom {
  JsonValue root;
};

}  // namespace koord::api
