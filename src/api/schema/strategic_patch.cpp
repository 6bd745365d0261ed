// Kubernetes' strategic merge patch on raw documents.
#include <fmt/format.h>

#include <algorithm>

#include "document_dom.hpp"
#include "merge_rules.hpp"

namespace koord::api {
namespace {

using Array = JsonValue::Array;

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kElementOrder = "$setElementOrder/";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";

Error bad(std::string message) {
  return Error(Code::bad_request, "strategic merge patch: " + std::move(message));
}

bool is_directive(std::string_view key) {
  return key == kPatch || key == kRetainKeys || key.starts_with(kElementOrder) ||
         key.starts_with(kDeleteFromList);
}

// What a value becomes where there is nothing to merge it with: no nulls, no directives, and nothing of
// what carries a $patch of its own.
JsonValue plain(const JsonValue& value) {
  if (value.is_array()) {
    Array elements;
    for (const JsonValue& element : value.array())
      if (!element.find(kPatch)) elements.push_back(plain(element));
    return JsonValue(std::move(elements));
  }
  if (!value.is_object()) return value;
  JsonValue result = JsonValue::make_object();
  for (const JsonMember& member : value.object()) {
    if (!member.value.is_null() && !is_directive(member.key) && !member.value.find(kPatch))
      result.set(member.key, plain(member.value));
  }
  return result;
}

// The element that `element` stands for: by key for objects, by value for scalars; -1 if there is none.
std::ptrdiff_t index_of(const Array& list, const JsonValue& element, std::string_view key) {
  const JsonValue* wanted = key.empty() ? &element : element.find(key);
  for (size_t i = 0; wanted && i < list.size(); ++i) {
    const JsonValue* have = key.empty() ? &list[i] : list[i].find(key);
    if (have && *have == *wanted) return static_cast<std::ptrdiff_t>(i);
  }
  return -1;
}

// Elements that the patch names come in the patch's order, the others in the server's; where both orders
// know two elements the server's decides which comes first.
Array ordered(Array merged, const Array& patch_order, const Array& server_order, std::string_view key) {
  struct Item {
    JsonValue value;
    std::ptrdiff_t rank;         // within its group
    std::ptrdiff_t server_rank;  // -1 if the server did not have it
  };
  std::vector<Item> named, others;
  for (JsonValue& value : merged) {
    const auto in_patch = index_of(patch_order, value, key);
    const auto in_server = index_of(server_order, value, key);
    (in_patch >= 0 ? named : others)
        .push_back({std::move(value), in_patch >= 0 ? in_patch : in_server, in_server});
  }
  std::ranges::stable_sort(named, {}, &Item::rank);
  std::ranges::stable_sort(others, {}, &Item::rank);
  Array result;
  size_t n = 0, o = 0;
  while (n < named.size() || o < others.size()) {
    const bool other_first =
        o < others.size() && (n == named.size() || (others[o].server_rank >= 0 && named[n].server_rank >= 0 &&
                                                    others[o].server_rank < named[n].server_rank));
    result.push_back(std::move(other_first ? others[o++].value : named[n++].value));
  }
  return result;
}

Result<> check_elements(const Array& list, std::string_view key, std::string_view field) {
  for (const JsonValue& element : list) {
    if (key.empty()) {
      if (element.is_object() || element.is_array()) return bad(fmt::format("{}: a list of scalars", field));
    } else if (!element.is_object()) {
      return bad(fmt::format("{}: a list of objects", field));
    } else if (!element.find(key)) {
      return bad(fmt::format("{}: an element lacks the merge key {}", field, key));
    }
  }
  return {};
}

Result<> merge_object(JsonValue& target, const JsonValue& patch, std::string_view owner);

// Takes the elements with $patch out of `patch` and applies them.
Result<Array> apply_element_directives(Array& target, const Array& patch, const MergeRule& rule) {
  Array rest;
  bool replace = false;
  for (const JsonValue& element : patch) {
    const JsonValue* directive = element.find(kPatch);
    if (!directive) {
      rest.push_back(element);
      continue;
    }
    const std::string_view what = directive->string_or({});
    if (what == "replace") {
      replace = true;
    } else if (what == "delete") {
      const JsonValue* value = element.find(rule.key);
      if (!value) return bad(fmt::format("{}: a deletion lacks the merge key {}", rule.field, rule.key));
      std::erase_if(target, [&](const JsonValue& old) {
        const JsonValue* have = old.find(rule.key);
        return have && *have == *value;
      });
    } else {
      return bad(fmt::format("{}: unknown $patch directive \"{}\"", rule.field, what));
    }
  }
  if (replace) {
    target.clear();
    for (const JsonValue& element : rest) target.push_back(plain(element));
    rest.clear();
  }
  return rest;
}

// A list with a merge key or of a set. `order` overrides the order that the patch's elements give.
Result<> merge_list(JsonValue& target, const JsonValue& patch, const MergeRule& rule, const Array* order) {
  Array server = target.array();
  Array merged = server;
  const bool by_key = rule.kind == MergeRule::Kind::by_key;
  Array named;  // what the patch has apart from directives
  if (by_key) {
    KOORD_TRY(rest, apply_element_directives(merged, patch.array(), rule));
    named = std::move(rest);
    if (named.empty()) server = merged;  // replaced as a whole, perhaps: its own order counts
    KOORD_CHECK(check_elements(named, rule.key, rule.field));
    KOORD_CHECK(check_elements(merged, rule.key, rule.field));
    for (const JsonValue& element : named) {
      const auto at = index_of(merged, element, rule.key);
      if (at < 0)
        merged.push_back(plain(element));
      else
        KOORD_CHECK(merge_object(merged[static_cast<size_t>(at)], element, rule.type));
    }
  } else {
    named = patch.array();
    KOORD_CHECK(check_elements(named, {}, rule.field));
    for (const JsonValue& element : named) merged.push_back(element);
    Array unique;
    for (JsonValue& element : merged)
      if (index_of(unique, element, {}) < 0) unique.push_back(std::move(element));
    merged = std::move(unique);
  }
  target = JsonValue(ordered(std::move(merged), order ? *order : named, server, rule.key));
  return {};
}

// $setElementOrder/FIELD: merges the field and gives it the order.
Result<> apply_order(JsonValue& target, const JsonValue& patch, const JsonMember& directive,
                     std::string_view owner) {
  const std::string_view field = std::string_view(directive.key).substr(kElementOrder.size());
  const MergeRule* rule = find_merge_rule(owner, field);
  const bool mergeable =
      rule && (rule->kind == MergeRule::Kind::by_key || rule->kind == MergeRule::Kind::set);
  if (!directive.value.is_array()) return bad(fmt::format("{}: must be a list", directive.key));
  if (!mergeable) return bad(fmt::format("{}: the list has no merge key", directive.key));
  const Array& order = directive.value.array();
  KOORD_CHECK(check_elements(order, rule->key, directive.key));

  const JsonValue* changes = patch.find(field);
  JsonValue* list = target.find(field);
  if (changes && !changes->is_array()) return bad(fmt::format("{}: must be a list", field));
  if (list && !list->is_array()) return bad(fmt::format("{}: is no list", field));
  if (!changes && !list) return {};
  if (changes) {
    std::ptrdiff_t last = -1;
    for (const JsonValue& element : changes->array()) {
      if (element.find(kPatch)) continue;
      const auto at = index_of(order, element, rule->key);
      if (at <= last) return bad(fmt::format("the order of {} does not match {}", field, directive.key));
      last = at;
    }
  }
  if (!list) {
    JsonValue added = plain(*changes);
    target.set(field, JsonValue(ordered(std::move(added.array()), order, {}, rule->key)));
    return {};
  }
  if (changes) return merge_list(*list, *changes, *rule, &order);
  const Array server = list->array();
  *list = JsonValue(ordered(server, order, server, rule->key));
  return {};
}

Result<> retain_keys(JsonValue& target, const JsonValue& patch, const JsonValue& keys) {
  if (!keys.is_array()) return bad("$retainKeys must be a list of strings");
  auto kept = [&](std::string_view key) {
    return std::ranges::any_of(keys.array(),
                               [&](const JsonValue& k) { return k.is_string() && k.as_string() == key; });
  };
  for (const JsonMember& member : patch.object()) {
    if (!member.value.is_null() && !is_directive(member.key) && !kept(member.key))
      return bad(fmt::format("$retainKeys lacks {}, which the patch sets", member.key));
  }
  std::erase_if(target.object(), [&](const JsonMember& member) { return !kept(member.key); });
  return {};
}

Result<> merge_field(JsonValue& target, const JsonMember& change, std::string_view owner) {
  if (change.value.is_null()) {
    target.erase(change.key);
    return {};
  }
  JsonValue* old = target.find(change.key);
  const MergeRule* rule = find_merge_rule(owner, change.key);
  if (!old || !old->same_type(change.value)) {
    if (change.value.find(kPatch))
      target.erase(change.key);
    else
      target.set(change.key, plain(change.value));
    return {};
  }
  if (change.value.is_object() && !(rule && rule->kind == MergeRule::Kind::replace_map))
    return merge_object(*old, change.value, rule ? rule->type : std::string_view());
  if (change.value.is_array() && rule &&
      (rule->kind == MergeRule::Kind::by_key || rule->kind == MergeRule::Kind::set))
    return merge_list(*old, change.value, *rule, nullptr);
  *old = plain(change.value);
  return {};
}

Result<> merge_object(JsonValue& target, const JsonValue& patch, std::string_view owner) {
  if (const JsonValue* directive = patch.find(kPatch)) {
    const std::string_view what = directive->string_or({});
    if (what != "replace" && what != "delete")
      return bad(fmt::format("unknown $patch directive \"{}\"", what));
    JsonValue rest = patch;
    rest.erase(kPatch);
    target = what == "replace" ? plain(rest) : JsonValue::make_object();
    return {};
  }
  if (const JsonValue* keys = patch.find(kRetainKeys)) KOORD_CHECK(retain_keys(target, patch, *keys));
  for (const JsonMember& member : patch.object())
    if (member.key.starts_with(kElementOrder)) KOORD_CHECK(apply_order(target, patch, member, owner));
  for (const JsonMember& member : patch.object()) {
    if (member.key.starts_with(kDeleteFromList)) {
      JsonValue* list = target.find(std::string_view(member.key).substr(kDeleteFromList.size()));
      if (!member.value.is_array()) return bad(fmt::format("{}: must be a list", member.key));
      if (list && list->is_array())
        std::erase_if(list->array(),
                      [&](const JsonValue& e) { return index_of(member.value.array(), e, {}) >= 0; });
    } else if (!is_directive(member.key) && !patch.find(std::string(kElementOrder) + member.key)) {
      KOORD_CHECK(merge_field(target, member, owner));
    }
  }
  return {};
}

}  // namespace

Result<> strategic_patch(JsonValue& target, const JsonValue& patch, std::string_view group,
                         std::string_view kind) {
  const std::string_view type = merge_type(group, kind);
  if (type.empty())
    return Error(Code::unsupported, fmt::format("strategic merge patches are not served for {}{}{}", kind,
                                                group.empty() ? "" : ".", group));
  if (!patch.is_object() || !target.is_object()) return bad("must be an object");
  return merge_object(target, patch, type);
}

}  // namespace koord::api
