// The sandbox's document: RapidJSON's DOM with the guards that outside input needs, and short accessors.
#pragma once

#include <rapidjson/document.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace koord::sandbox {

using Json = rapidjson::Value;
using JsonDoc = rapidjson::Document;
using JsonAlloc = JsonDoc::AllocatorType;

/// Deeper documents are refused before a DOM is made: writing one recurses.
inline constexpr int kMaxJsonDepth = 1000;

/// Parses one whole document; of members with one name the last counts, as in Go. False sets `error`.
/// `reuse` gives the document its first memory.
bool parse_json(std::string_view text, JsonDoc& doc, std::string& error);
std::string write_json(const Json& value);
/// Writes into `out` after clearing it, keeping its capacity.
void write_json(const Json& value, std::string& out);
/// `text` as a JSON string with its quotes.
std::string quote_json(std::string_view text);

inline rapidjson::GenericStringRef<char> ref(std::string_view s) {
  return {s.data() ? s.data() : "", static_cast<rapidjson::SizeType>(s.size())};
}
inline std::string_view view(const Json& string_value) {
  return {string_value.GetString(), string_value.GetStringLength()};
}

/// nullptr if `object` is no object, or has no such member.
Json* find(Json& object, std::string_view key);
const Json* find(const Json& object, std::string_view key);
/// Follows a path of members; nullptr as soon as one is missing.
template <class... Keys>
Json* find(Json& object, std::string_view key, Keys... rest) {
  Json* child = find(object, key);
  return child ? find(*child, rest...) : nullptr;
}
template <class... Keys>
const Json* find(const Json& object, std::string_view key, Keys... rest) {
  const Json* child = find(object, key);
  return child ? find(*child, rest...) : nullptr;
}

/// The string at the path, or empty if there is none or it is of another type.
template <class... Keys>
std::string_view text_at(const Json& object, Keys... keys) {
  const Json* value = find(object, keys...);
  return value && value->IsString() ? view(*value) : std::string_view{};
}
template <class... Keys>
std::optional<std::int64_t> int_at(const Json& object, Keys... keys) {
  const Json* value = find(object, keys...);
  if (!value || !value->IsInt64()) return std::nullopt;
  return value->GetInt64();
}
template <class... Keys>
bool true_at(const Json& object, Keys... keys) {
  const Json* value = find(object, keys...);
  return value && value->IsTrue();
}

Json make_text(std::string_view text, JsonAlloc& alloc);  // copies
Json make_const(std::string_view literal);                // refers; for literals
Json clone(const Json& value, JsonAlloc& alloc);          // strings too

/// Replaces or adds a member; the key is copied.
Json& set(Json& object, std::string_view key, Json&& value, JsonAlloc& alloc);
Json& set_text(Json& object, std::string_view key, std::string_view text, JsonAlloc& alloc);
Json& set_int(Json& object, std::string_view key, std::int64_t value, JsonAlloc& alloc);
/// Adds a member if there is none (null counts as none, as in Go); returns the member.
Json& set_default(Json& object, std::string_view key, Json&& value, JsonAlloc& alloc);
Json& default_text(Json& object, std::string_view key, std::string_view literal, JsonAlloc& alloc);
Json& default_int(Json& object, std::string_view key, std::int64_t value, JsonAlloc& alloc);
/// The member as an object (array), which is made if it is absent or of another type.
Json& object_at(Json& object, std::string_view key, JsonAlloc& alloc);
Json& array_at(Json& object, std::string_view key, JsonAlloc& alloc);
bool remove(Json& object, std::string_view key);
/// null, {}, [] and absent are alike.
bool is_empty(const Json* value);
/// Equality that does not look at the order of members.
bool same(const Json* a, const Json* b);

}  // namespace koord::sandbox
