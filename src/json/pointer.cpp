#include "koord/json/pointer.hpp"

#include <charconv>

namespace koord::json {

Result<std::vector<std::string>> pointer_tokens(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer.front() != '/')
    return Error(Code::invalid, "a JSON pointer starts with '/', not \"" + std::string(pointer) + "\"");
  for (size_t i = 0; i < pointer.size(); ++i) {
    const char c = pointer[i];
    if (c == '/') {
      tokens.emplace_back();
    } else if (c != '~') {
      tokens.back().push_back(c);
    } else if (i + 1 < pointer.size() && (pointer[i + 1] == '0' || pointer[i + 1] == '1')) {
      tokens.back().push_back(pointer[++i] == '0' ? '~' : '/');
    } else {
      return Error(Code::invalid,
                   "a JSON pointer escapes with ~0 and ~1 only: \"" + std::string(pointer) + "\"");
    }
  }
  return tokens;
}

std::optional<size_t> pointer_index(std::string_view token, size_t size) {
  if (token == "-") return size;
  if (token.empty() || (token.size() > 1 && token.front() == '0')) return std::nullopt;
  size_t index = 0;
  const auto [end, failure] = std::from_chars(token.data(), token.data() + token.size(), index);
  if (failure != std::errc() || end != token.data() + token.size()) return std::nullopt;
  return index;
}

}  // namespace koord::json
