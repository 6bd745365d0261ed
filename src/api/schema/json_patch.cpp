// JSON patch, RFC 6902, with the bounds that Kubernetes has.
#include <fmt/format.h>

#include <algorithm>

#include "document_dom.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/reader.hpp"

namespace koord::api {
namespace {

constexpr size_t kMaxOperations = 10'000;
// All copy operations together: each could double the document.
constexpr size_t kMaxCopiedBytes = 3u << 20;

Error bad(std::string message) { return Error(Code::invalid, std::move(message)); }

// The container that holds the last token; nullptr if the way does not exist.
JsonValue* parent_of(JsonValue& root, const std::vector<std::string>& tokens) {
  JsonValue* value = &root;
  for (size_t i = 0; i + 1 < tokens.size() && value; ++i) {
    if (value->is_array()) {
      const auto index = json::pointer_index(tokens[i], value->size());
      value = index && *index < value->size() ? &value->array()[*index] : nullptr;
    } else {
      value = value->find(tokens[i]);
    }
  }
  return value;
}

// Checked before each step: what is built must be safe to destroy.
Result<> shallow(const JsonValue& value, size_t levels) {
  if (levels < json::kMaxDepth &&
      static_cast<int>(levels) + json_depth(value, json::kMaxDepth) <= json::kMaxDepth)
    return {};
  return bad(fmt::format("the result is nested deeper than {} levels", json::kMaxDepth));
}

Result<> add(JsonValue& root, std::string_view path, JsonValue value) {
  KOORD_TRY(tokens, json::pointer_tokens(path));
  KOORD_CHECK(shallow(value, tokens.size()));
  if (tokens.empty()) {
    root = std::move(value);
    return {};
  }
  JsonValue* parent = parent_of(root, tokens);
  if (parent && parent->is_object()) {
    (*parent)[tokens.back()] = std::move(value);
    return {};
  }
  if (!parent || !parent->is_array()) return bad(fmt::format("{}: the parent does not exist", path));
  const auto index = json::pointer_index(tokens.back(), parent->size());
  if (!index || *index > parent->size()) return bad(fmt::format("{}: no such index", path));
  parent->array().insert(parent->array().begin() + static_cast<std::ptrdiff_t>(*index), std::move(value));
  return {};
}

Result<JsonValue> take(JsonValue& root, std::string_view path) {
  KOORD_TRY(tokens, json::pointer_tokens(path));
  if (tokens.empty()) return std::exchange(root, JsonValue());
  JsonValue* parent = parent_of(root, tokens);
  if (parent && parent->is_object()) {
    if (JsonValue* value = parent->find(tokens.back())) {
      JsonValue taken = std::move(*value);
      parent->erase(tokens.back());
      return taken;
    }
  } else if (parent && parent->is_array() && tokens.back() != "-") {
    const auto index = json::pointer_index(tokens.back(), parent->size());
    if (index && *index < parent->size()) {
      const auto element = parent->array().begin() + static_cast<std::ptrdiff_t>(*index);
      JsonValue taken = std::move(*element);
      parent->array().erase(element);
      return taken;
    }
  }
  return bad(fmt::format("{}: does not exist", path));
}

Result<> apply_one(JsonValue& root, const JsonValue& operation, size_t& copied) {
  const JsonValue* op_value = operation.find("op");
  const std::string_view op = op_value ? op_value->string_or({}) : std::string_view();
  const JsonValue* path_value = operation.find("path");
  if (!path_value || !path_value->is_string()) return bad("path is missing");
  const std::string& path = path_value->as_string();

  if (op == "add" || op == "replace" || op == "test") {
    const JsonValue* value = operation.find("value");
    if (op == "test") {
      const JsonValue* found = find_path(root, path);
      const JsonValue null;
      if (!found && value && !value->is_null()) return bad(fmt::format("test: {}: does not exist", path));
      if ((found ? *found : null) == (value ? *value : null)) return {};
      return bad(fmt::format("test: {}: has another value", path));
    }
    if (!value) return bad("value is missing");
    if (op == "add") return add(root, path, *value);
    auto* target = const_cast<JsonValue*>(find_path(root, path));
    if (!target) return bad(fmt::format("{}: does not exist", path));
    KOORD_CHECK(shallow(*value, static_cast<size_t>(std::ranges::count(path, '/'))));
    *target = *value;
    return {};
  }
  if (op == "remove") {
    KOORD_TRY(taken, take(root, path));
    static_cast<void>(taken);
    return {};
  }
  if (op != "move" && op != "copy") return bad(fmt::format("unknown op \"{}\"", op));

  const JsonValue* from_value = operation.find("from");
  if (!from_value || !from_value->is_string()) return bad("from is missing");
  const std::string& from = from_value->as_string();
  if (op == "copy") {
    const JsonValue* source = find_path(root, from);
    if (!source) return bad(fmt::format("{}: does not exist", from));
    copied += to_json(*source).size();
    if (copied > kMaxCopiedBytes)
      return bad(fmt::format("copy operations exceed {} bytes in all", kMaxCopiedBytes));
    return add(root, path, JsonValue(*source));
  }
  if (path.size() > from.size() && path.starts_with(from) && path[from.size()] == '/')
    return bad(fmt::format("{}: cannot move into itself", from));
  KOORD_TRY(taken, take(root, from));
  return add(root, path, std::move(taken));
}

}  // namespace

Result<> json_patch(JsonValue& target, const JsonValue& patch) {
  if (!patch.is_array()) return Error(Code::bad_request, "a JSON patch is a list of operations");
  if (patch.size() > kMaxOperations)
    return Error(Code::too_large, fmt::format("a JSON patch has at most {} operations", kMaxOperations));
  JsonValue result = target;
  size_t copied = 0;
  for (size_t i = 0; i < patch.size(); ++i) {
    if (auto done = apply_one(result, patch.array()[i], copied); !done)
      return std::move(done).error().context(fmt::format("operation {}", i));
  }
  target = std::move(result);
  return {};
}

}  // namespace koord::api
