#include "koord/json/pointer.hpp"

#include <fmt/format.h>

#include <charconv>

#include "koord/json/reader.hpp"

namespace koord::json {

Result<std::vector<std::string>> pointer_tokens(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer.front() != '/')
    return Error(Code::invalid, fmt::format("a JSON pointer starts with '/', not \"{}\"", pointer));
  for (size_t i = 0; i < pointer.size(); ++i) {
    const char c = pointer[i];
    if (c == '/') {
      tokens.emplace_back();
    } else if (c != '~') {
      tokens.back().push_back(c);
    } else if (i + 1 < pointer.size() && (pointer[i + 1] == '0' || pointer[i + 1] == '1')) {
      tokens.back().push_back(pointer[++i] == '0' ? '~' : '/');
    } else {
      return Error(Code::invalid, fmt::format("a JSON pointer escapes with ~0 and ~1 only: \"{}\"", pointer));
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

const Value* find_path(const Value& root, std::string_view pointer) {
  return find_path(const_cast<Value&>(root), pointer);
}

Value* find_path(Value& root, std::string_view pointer) {
  const auto tokens = pointer_tokens(pointer);
  if (!tokens) return nullptr;
  Value* value = &root;
  for (const std::string& token : *tokens) {
    if (value->is_array()) {
      const auto index = pointer_index(token, value->size());
      if (!index || *index >= value->size()) return nullptr;
      value = &(*value)[*index];
    } else if (!(value = find(*value, token))) {
      return nullptr;
    }
  }
  return value;
}

Result<> put_path(Value& root, std::string_view pointer, Value&& value, Arena& arena) {
  KOORD_TRY(tokens, pointer_tokens(pointer));
  if (tokens.size() + static_cast<size_t>(depth(value, kMaxDepth)) > kMaxDepth)
    return Error(Code::invalid, fmt::format("the result is nested deeper than {} levels", kMaxDepth));
  Value* at = &root;
  for (const std::string& token : tokens) {
    if (at->is_array()) {
      const auto index = pointer_index(token, at->size());
      if (!index || *index > at->size())
        return Error(Code::invalid, fmt::format("{}: no such element: \"{}\"", pointer, token));
      at = *index == at->size() ? &at->push_back(Value(), arena) : &(*at)[*index];
    } else if (at->is_object() || at->is_null()) {
      Value* member = find(*at, token);
      at = member ? member : &at->append(token, Value(), arena);
    } else {
      return Error(Code::invalid, fmt::format("{}: leads through a scalar before \"{}\"", pointer, token));
    }
  }
  *at = std::move(value);
  return {};
}

bool remove_path(Value& root, std::string_view pointer) {
  const size_t slash = pointer.rfind('/');
  if (slash == std::string_view::npos) return false;
  Value* parent = find_path(root, pointer.substr(0, slash));
  const auto token = pointer_tokens(pointer.substr(slash));
  if (!parent || !token) return false;
  if (!parent->is_array()) return remove(*parent, token->front());
  const auto index = pointer_index(token->front(), parent->size());
  if (!index || *index >= parent->size()) return false;
  parent->erase(*index);
  return true;
}

}  // namespace koord::json
