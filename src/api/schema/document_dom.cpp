// The DOM: building it from events, look-up, comparison, printing.
#include "document_dom.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "koord/json/pointer.hpp"
#include "koord/json/reader.hpp"
#include "koord/json/writer.hpp"

namespace koord::api {
namespace {

class Builder final : public json::Events {
 public:
  bool on_null() override { return add(JsonValue()); }
  bool on_bool(bool value) override { return add(JsonValue(value)); }
  bool on_number(std::string_view text) override {
    return add(JsonValue(JsonValue::Number{std::string(text)}));
  }
  bool on_string(std::string_view value) override { return add(JsonValue(value)); }
  bool on_begin_object() override { return open(JsonValue::make_object()); }
  bool on_begin_array() override { return open(JsonValue::make_array()); }
  bool on_end_object() override { return close(); }
  bool on_end_array() override { return close(); }
  bool on_key(std::string_view key) override {
    keys_.emplace_back(key);
    return true;
  }
  Error stop_error() override { return Error(Code::internal, "the DOM stops for nothing"); }

  JsonValue take() { return std::move(root_); }

 private:
  bool open(JsonValue container) {
    stack_.push_back(std::move(container));
    return true;
  }
  bool close() {
    JsonValue done = std::move(stack_.back());
    stack_.pop_back();
    return add(std::move(done));
  }
  bool add(JsonValue value) {
    if (stack_.empty()) {
      root_ = std::move(value);
    } else if (JsonValue& top = stack_.back(); top.is_array()) {
      top.array().push_back(std::move(value));
    } else {
      top[keys_.back()] = std::move(value);  // of duplicates the last one counts
      keys_.pop_back();
    }
    return true;
  }

  JsonValue root_;
  std::vector<JsonValue> stack_;
  std::vector<std::string> keys_;
};

std::optional<int64_t> integer(const std::string& text) {
  int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool same_number(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto x = integer(a), y = integer(b);
  if (x && y) return *x == *y;
  return std::strtod(a.c_str(), nullptr) == std::strtod(b.c_str(), nullptr);
}

}  // namespace

std::optional<int64_t> JsonValue::to_int() const {
  return is_number() ? integer(number_text()) : std::nullopt;
}

std::string_view JsonValue::string_or(std::string_view fallback) const {
  return is_string() ? std::string_view(as_string()) : fallback;
}

const JsonValue* JsonValue::find(std::string_view key) const {
  const auto* members = std::get_if<Object>(&value_);
  if (!members) return nullptr;
  for (const JsonMember& member : *members)
    if (member.key == key) return &member.value;
  return nullptr;
}

JsonValue& JsonValue::operator[](std::string_view key) {
  if (!is_object()) value_ = Object{};
  if (JsonValue* value = find(key)) return *value;
  return object().emplace_back(JsonMember{std::string(key), JsonValue()}).value;
}

bool JsonValue::erase(std::string_view key) {
  auto* members = std::get_if<Object>(&value_);
  return members && std::erase_if(*members, [&](const JsonMember& member) { return member.key == key; }) > 0;
}

size_t JsonValue::size() const {
  if (is_array()) return array().size();
  return is_object() ? object().size() : 0;
}

bool operator==(const JsonValue& a, const JsonValue& b) {
  if (!a.same_type(b)) return false;
  if (a.is_bool()) return a.as_bool() == b.as_bool();
  if (a.is_number()) return same_number(a.number_text(), b.number_text());
  if (a.is_string()) return a.as_string() == b.as_string();
  if (a.is_array()) return a.array() == b.array();
  if (a.is_object()) {
    return a.size() == b.size() && std::ranges::all_of(a.object(), [&](const JsonMember& member) {
             const JsonValue* other = b.find(member.key);
             return other && *other == member.value;
           });
  }
  return true;  // null
}

Result<JsonValue> parse_json(std::string_view text) {
  Builder builder;
  KOORD_CHECK(json::read(text, builder));
  return builder.take();
}

void append_json(std::string& out, const JsonValue& value) {
  if (value.is_bool()) {
    out.append(value.as_bool() ? "true" : "false");
  } else if (value.is_number()) {
    out.append(value.number_text());
  } else if (value.is_string()) {
    json::append_string(out, value.as_string());
  } else if (value.is_array()) {
    char separator = '[';
    for (const JsonValue& element : value.array()) {
      out.push_back(std::exchange(separator, ','));
      append_json(out, element);
    }
    out.append(separator == '[' ? "[]" : "]");
  } else if (value.is_object()) {
    char separator = '{';
    for (const JsonMember& member : value.object()) {
      out.push_back(std::exchange(separator, ','));
      json::append_string(out, member.key);
      out.push_back(':');
      append_json(out, member.value);
    }
    out.append(separator == '{' ? "{}" : "}");
  } else {
    out.append("null");
  }
}

std::string to_json(const JsonValue& value) {
  std::string out;
  append_json(out, value);
  return out;
}

int json_depth(const JsonValue& value, int limit) {
  if (limit < 0 || (!value.is_array() && !value.is_object())) return 0;
  int deepest = 0;
  if (value.is_array()) {
    for (const JsonValue& element : value.array())
      deepest = std::max(deepest, json_depth(element, limit - 1));
  } else {
    for (const JsonMember& member : value.object())
      deepest = std::max(deepest, json_depth(member.value, limit - 1));
  }
  return deepest + 1;
}

const JsonValue* find_path(const JsonValue& root, std::string_view pointer) {
  const auto tokens = json::pointer_tokens(pointer);
  if (!tokens) return nullptr;
  const JsonValue* value = &root;
  for (const std::string& token : *tokens) {
    if (value->is_array()) {
      const auto index = json::pointer_index(token, value->size());
      if (!index || *index >= value->size()) return nullptr;
      value = &value->array()[*index];
    } else if (!(value = value->find(token))) {
      return nullptr;
    }
  }
  return value;
}

}  // namespace koord::api
