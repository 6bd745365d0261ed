// Document: paths and the patches' entry points.
#include "koord/api/schema/document.hpp"

#include "document_dom.hpp"
#include "koord/json/pointer.hpp"
#include "koord/json/reader.hpp"

namespace koord::api {
namespace {

Result<> put(JsonValue& root, std::string_view path, JsonValue value) {
  KOORD_TRY(tokens, json::pointer_tokens(path));
  if (tokens.size() + static_cast<size_t>(json_depth(value, json::kMaxDepth)) > json::kMaxDepth)
    return Error(Code::invalid,
                 "the result is nested deeper than " + std::to_string(json::kMaxDepth) + " levels");
  JsonValue* at = &root;
  for (const std::string& token : tokens) {
    if (at->is_array()) {
      const auto index = json::pointer_index(token, at->size());
      if (!index || *index > at->size())
        return Error(Code::invalid, std::string(path) + ": no such element: \"" + token + "\"");
      if (*index == at->size()) at->array().emplace_back();
      at = &at->array()[*index];
    } else if (at->is_object() || at->is_null()) {
      at = &(*at)[token];
    } else {
      return Error(Code::invalid, std::string(path) + ": leads through a scalar before \"" + token + "\"");
    }
  }
  *at = std::move(value);
  return {};
}

}  // namespace

Document::Document() : dom_(std::make_unique<DocumentDom>()) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Result<Document> Document::parse(std::string_view json) {
  KOORD_TRY(root, parse_json(json));
  Document document;
  document.dom_->root = std::move(root);
  return document;
}

Document Document::clone() const {
  Document copy;
  copy.dom_->root = dom_->root;
  return copy;
}

std::string Document::to_json() const { return api::to_json(dom_->root); }

bool Document::has(std::string_view path) const { return find_path(dom_->root, path) != nullptr; }

std::optional<std::string_view> Document::get_string(std::string_view path) const {
  const JsonValue* value = find_path(dom_->root, path);
  if (!value || !value->is_string()) return std::nullopt;
  return value->as_string();
}

std::optional<int64_t> Document::get_int(std::string_view path) const {
  const JsonValue* value = find_path(dom_->root, path);
  return value ? value->to_int() : std::nullopt;
}

std::optional<bool> Document::get_bool(std::string_view path) const {
  const JsonValue* value = find_path(dom_->root, path);
  if (!value || !value->is_bool()) return std::nullopt;
  return value->as_bool();
}

size_t Document::size(std::string_view path) const {
  const JsonValue* value = find_path(dom_->root, path);
  return value ? value->size() : 0;
}

std::string Document::get_json(std::string_view path) const {
  const JsonValue* value = find_path(dom_->root, path);
  return value ? api::to_json(*value) : std::string();
}

std::vector<std::string> Document::keys(std::string_view path) const {
  std::vector<std::string> keys;
  const JsonValue* value = find_path(dom_->root, path);
  if (value && value->is_object())
    for (const JsonMember& member : value->object()) keys.push_back(member.key);
  return keys;
}

Result<> Document::set_string(std::string_view path, std::string_view value) {
  return put(dom_->root, path, JsonValue(value));
}
Result<> Document::set_int(std::string_view path, int64_t value) {
  return put(dom_->root, path, JsonValue(value));
}
Result<> Document::set_bool(std::string_view path, bool value) {
  return put(dom_->root, path, JsonValue(value));
}
Result<> Document::set_json(std::string_view path, std::string_view json) {
  KOORD_TRY(value, parse_json(json));
  return put(dom_->root, path, std::move(value));
}

bool Document::remove(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return false;
  auto* parent = const_cast<JsonValue*>(find_path(dom_->root, path.substr(0, slash)));
  const auto token = json::pointer_tokens(path.substr(slash));
  if (!parent || !token) return false;
  if (!parent->is_array()) return parent->erase(token->front());
  const auto index = json::pointer_index(token->front(), parent->size());
  if (!index || *index >= parent->size()) return false;
  parent->array().erase(parent->array().begin() + static_cast<std::ptrdiff_t>(*index));
  return true;
}

bool operator==(const Document& a, const Document& b) { return a.dom().root == b.dom().root; }

Result<> apply_merge_patch(Document& target, std::string_view patch) {
  return apply_patch(target, PatchType::merge, patch, {}, {});
}

Result<> apply_json_patch(Document& target, std::string_view patch) {
  return apply_patch(target, PatchType::json, patch, {}, {});
}

Result<> apply_strategic_patch(Document& target, std::string_view patch, std::string_view group,
                               std::string_view kind) {
  return apply_patch(target, PatchType::strategic, patch, group, kind);
}

Result<> apply_patch(Document& target, PatchType type, std::string_view patch, std::string_view group,
                     std::string_view kind) {
  KOORD_TRY(parsed, parse_json(patch));
  JsonValue result = target.dom().root;  // so that a patch that fails changes nothing
  switch (type) {
    case PatchType::merge: KOORD_CHECK(merge_patch(result, parsed)); break;
    case PatchType::json: KOORD_CHECK(json_patch(result, parsed)); break;
    case PatchType::strategic: KOORD_CHECK(strategic_patch(result, parsed, group, kind)); break;
    case PatchType::apply: return Error(Code::unsupported, "apply is the server's");
  }
  target.dom().root = std::move(result);
  return {};
}

std::optional<std::string> merge_diff(const Document& before, const Document& after) {
  const auto patch = merge_diff(before.dom().root, after.dom().root);
  if (!patch) return std::nullopt;
  return to_json(*patch);
}

}  // namespace koord::api
