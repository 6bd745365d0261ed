#include "sandbox/crd/rule_path.hpp"

namespace koord::sandbox {
namespace {

/// A text in single quotation marks, taken off `path`, which begins with one.
std::optional<std::string> quoted_name(std::string_view& path) {
  std::string name;
  for (std::size_t i = 1; i < path.size(); ++i) {
    if (path[i] == '\'') {
      path.remove_prefix(i + 1);
      return name;
    }
    if (path[i] == '\\' && i + 1 < path.size()) {
      static constexpr std::string_view kNames = "abfnrtv'\\", kPlain = "\a\b\f\n\r\t\v'\\";
      const std::size_t at = kNames.find(path[++i]);
      if (at == std::string_view::npos) return std::nullopt;
      name += kPlain[at];
      continue;
    }
    name += path[i];
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> rule_path(std::string_view path, const json::Value& schema) {
  std::string out;
  const json::Value* at = &schema;
  while (!path.empty()) {
    std::string name;
    const bool bracket = path[0] == '[';
    if (!bracket && path[0] != '.') return std::nullopt;
    path.remove_prefix(1);
    if (bracket) {
      if (!path.starts_with('\'')) return std::nullopt;
      const auto quoted = quoted_name(path);
      if (!quoted || !path.starts_with(']')) return std::nullopt;
      path.remove_prefix(1);
      name = *quoted;
    } else {
      name = path.substr(0, path.find_first_of(".["));
      path.remove_prefix(name.size());
      if (name.empty()) return std::nullopt;
    }
    if (const json::Value* properties = find(*at, "properties")) {
      at = find(*properties, name);
      if (!at) return std::nullopt;
      out += (out.empty() ? "" : ".") + name;
      continue;
    }
    const json::Value* additional = find(*at, "additionalProperties");
    if (!additional || !additional->is_object()) return std::nullopt;
    at = additional;
    out += "[" + name + "]";
  }
  if (out.empty()) return std::nullopt;
  return out;
}

}  // namespace koord::sandbox
