// Evaluation of simple JSON paths.
#include "sandbox/crd/json_path.hpp"

#include <charconv>

namespace koord::sandbox {
namespace {

std::string_view unquoted(std::string_view text) {
  if (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
    return text.substr(1, text.size() - 2);
  return text;
}

const Json* bracket(const Json& value, std::string_view inner) {
  if (inner.starts_with("?(@.") && inner.ends_with(")")) {
    inner = inner.substr(4, inner.size() - 5);
    std::size_t equals = inner.find("==");
    if (equals == std::string_view::npos || !value.IsArray()) return nullptr;
    auto trim = [](std::string_view s) {
      while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
      while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
      return s;
    };
    std::string_view field = trim(inner.substr(0, equals)), wanted = unquoted(trim(inner.substr(equals + 2)));
    for (const auto& item : value.GetArray()) {
      const Json* member = find(item, field);
      if (member && (member->IsString() ? view(*member) == wanted : write_json(*member) == wanted))
        return &item;
    }
    return nullptr;
  }
  if (value.IsObject()) return find(value, unquoted(inner));
  if (!value.IsArray() || value.Empty()) return nullptr;
  if (inner == "*") return &value[0];
  int index = 0;
  if (std::from_chars(inner.data(), inner.data() + inner.size(), index).ec != std::errc()) return nullptr;
  if (index < 0) index += static_cast<int>(value.Size());
  return index >= 0 && index < static_cast<int>(value.Size())
             ? &value[static_cast<rapidjson::SizeType>(index)]
             : nullptr;
}

}  // namespace

const Json* json_path(const Json& object, std::string_view path) {
  const Json* value = &object;
  while (value && !path.empty()) {
    if (path.front() == '.') {
      path.remove_prefix(1);
      std::string name;
      while (!path.empty() && path.front() != '.' && path.front() != '[') {
        if (path.front() == '\\' && path.size() > 1) path.remove_prefix(1);
        name += path.front();
        path.remove_prefix(1);
      }
      if (!name.empty()) value = find(*value, name);
    } else if (path.front() == '[') {
      std::size_t end = path.find(']');
      if (end == std::string_view::npos) return nullptr;
      value = bracket(*value, path.substr(1, end - 1));
      path.remove_prefix(end + 1);
    } else {
      return nullptr;
    }
  }
  return value;
}

}  // namespace koord::sandbox
