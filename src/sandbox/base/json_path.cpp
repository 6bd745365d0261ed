// Reading and following simple JSON paths.
#include "sandbox/base/json_path.hpp"

#include <charconv>

#include "koord/json/writer.hpp"

namespace koord::sandbox {
namespace {

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

JsonPath::JsonPath(std::string_view text) {
  while (!text.empty() && !malformed_) {
    if (text.front() == '.') {
      text.remove_prefix(1);
      std::string name;
      while (!text.empty() && text.front() != '.' && text.front() != '[') {
        if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
        name += text.front();
        text.remove_prefix(1);
      }
      if (!name.empty()) steps_.push_back({Step::Form::member, std::move(name), "", 0});
      continue;
    }
    const std::size_t end = text.front() == '[' ? text.find(']') : std::string_view::npos;
    malformed_ = end == std::string_view::npos || !read_bracket(text.substr(1, end - 1));
    if (!malformed_) text.remove_prefix(end + 1);
  }
}

bool JsonPath::read_bracket(std::string_view inner) {
  if (inner.starts_with("?(@.") && inner.ends_with(")")) {
    inner = inner.substr(4, inner.size() - 5);
    const std::size_t equals = inner.find("==");
    if (equals == std::string_view::npos) return false;
    steps_.push_back({Step::Form::filter, std::string(trimmed(inner.substr(0, equals))),
                      std::string(unquoted(trimmed(inner.substr(equals + 2)))), 0});
    return true;
  }
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(inner.data(), inner.data() + inner.size(), index);
  if (inner == "*")
    steps_.push_back({Step::Form::first, "", "", 0});
  else if (error == std::errc() && end == inner.data() + inner.size())
    steps_.push_back({Step::Form::index, std::string(inner), "", index});
  else
    steps_.push_back({Step::Form::member, std::string(unquoted(inner)), "", 0});
  return true;
}

const json::Value* JsonPath::follow(const Step& step, const json::Value& value) {
  if (step.form == Step::Form::filter) {
    for (const json::Value& item : value.elements()) {
      const json::Value* member = find(item, step.name);
      if (member &&
          (member->is_string() ? member->text() == step.wanted : json::to_text(*member) == step.wanted))
        return &item;
    }
    return nullptr;
  }
  if (value.is_object()) return find(value, step.name);
  if (!value.is_array() || step.form == Step::Form::member) return nullptr;
  const auto size = static_cast<std::int64_t>(value.size());
  const std::int64_t index = step.index < 0 ? step.index + size : step.index;
  return index >= 0 && index < size ? &value[static_cast<std::size_t>(index)] : nullptr;
}

const json::Value* JsonPath::find_in(const json::Value& object) const {
  if (malformed_) return nullptr;
  const json::Value* value = &object;
  for (auto step = steps_.begin(); value && step != steps_.end(); ++step) value = follow(*step, *value);
  return value;
}

}  // namespace koord::sandbox
