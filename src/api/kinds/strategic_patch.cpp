// Kubernetes' strategic merge patch on raw documents.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "koord/api/kinds/patch.hpp"
#include "koord/json/index.hpp"
#include "koord/json/patch.hpp"
#include "merge_rules.hpp"

namespace koord::api {
namespace {

using json::Arena;
using json::ElementIndex;
using json::Member;
using json::MemberEdits;
using json::Value;

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kElementOrder = "$setElementOrder/";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";
constexpr std::size_t kNowhere = SIZE_MAX;

Error bad(std::string message) {
  return Error(Code::bad_request, fmt::format("strategic merge patch: {}", message));
}

bool is_directive(std::string_view key) {
  return key == kPatch || key == kRetainKeys || key.starts_with(kElementOrder) ||
         key.starts_with(kDeleteFromList);
}

// What a value becomes where there is nothing to merge it with: no nulls, no directives, and nothing of
// what carries a $patch of its own.
Value plain(const Value& value, Arena& arena) {
  if (value.is_array()) {
    Value elements = Value::array();
    for (const Value& element : value.elements())
      if (!find(element, kPatch)) elements.push_back(plain(element, arena), arena);
    return elements;
  }
  if (!value.is_object()) return clone(value, arena);
  Value result = Value::object();
  for (const Member& member : value.members()) {
    if (!member.value.is_null() && !is_directive(member.key()) && !find(member.value, kPatch))
      result.append(member.key(), plain(member.value, arena), arena);
  }
  return result;
}

/// An element of a merged list, and where the patch and the server have it.
struct Item {
  Value value;
  std::size_t in_patch = kNowhere;
  std::size_t in_server = kNowhere;
};

// Elements that the patch names come in the patch's order, the others in the server's; where both orders
// know two elements the server's decides which comes first.
Value ordered(std::vector<Item> merged, Arena& arena) {
  std::vector<Item*> named, others;
  for (Item& item : merged) (item.in_patch != kNowhere ? named : others).push_back(&item);
  std::ranges::stable_sort(named, {}, &Item::in_patch);
  std::ranges::stable_sort(others, {},
                           [](const Item* item) { return item->in_server + 1; });  // none is first
  Value result = Value::array();
  std::size_t n = 0, o = 0;
  while (n < named.size() || o < others.size()) {
    const bool other_first =
        o < others.size() &&
        (n == named.size() || (others[o]->in_server != kNowhere && named[n]->in_server != kNowhere &&
                               others[o]->in_server < named[n]->in_server));
    result.push_back(std::move((other_first ? others[o++] : named[n++])->value), arena);
  }
  return result;
}

Result<> check_element(const Value& element, std::string_view key, std::string_view field) {
  if (key.empty()) {
    if (element.is_object() || element.is_array()) return bad(fmt::format("{}: a list of scalars", field));
  } else if (!element.is_object()) {
    return bad(fmt::format("{}: a list of objects", field));
  } else if (!find(element, key)) {
    return bad(fmt::format("{}: an element lacks the merge key {}", field, key));
  }
  return {};
}

Result<> check_elements(const Value& list, std::string_view key, std::string_view field) {
  for (const Value& element : list.elements()) KOORD_CHECK(check_element(element, key, field));
  return {};
}

class Merger {
 public:
  explicit Merger(Arena& arena) : arena_(arena) {}

  Result<> object(Value& target, const Value& patch, std::string_view owner) {
    if (const Value* directive = find(patch, kPatch)) {
      const std::string_view what = directive->text();
      if (what != "replace" && what != "delete")
        return bad(fmt::format("unknown $patch directive \"{}\"", what));
      target = what == "replace" ? plain(patch, arena_) : Value::object();
      return {};
    }
    if (const Value* keys = find(patch, kRetainKeys)) KOORD_CHECK(retain_keys(target, patch, *keys));
    std::vector<std::string_view> with_order;  // fields that are merged already
    for (const Member& member : patch.members()) {
      if (!member.key().starts_with(kElementOrder)) continue;
      KOORD_CHECK(order(target, patch, member, owner));
      with_order.push_back(member.key().substr(kElementOrder.size()));
    }
    std::ranges::sort(with_order);
    for (const Member& member : patch.members())
      if (member.key().starts_with(kDeleteFromList)) KOORD_CHECK(delete_from_list(target, member));
    MemberEdits edits(target, patch.size(), arena_);
    for (const Member& member : patch.members())
      if (!is_directive(member.key()) && !std::ranges::binary_search(with_order, member.key()))
        KOORD_CHECK(field(edits, member, owner));
    edits.finish();
    return {};
  }

 private:
  Result<> field(MemberEdits& target, const Member& change, std::string_view owner) {
    if (change.value.is_null()) {
      target.remove(change.key());
      return {};
    }
    Value* old = target.find(change.key());
    if (!old || old->type() != change.value.type()) {
      if (find(change.value, kPatch))
        target.remove(change.key());
      else
        target.set(change.key(), plain(change.value, arena_));
      return {};
    }
    const MergeRule* rule = find_merge_rule(owner, change.key());
    if (change.value.is_object() && !(rule && rule->kind == MergeRule::Kind::replace_map))
      return object(*old, change.value, rule ? rule->type : std::string_view());
    if (change.value.is_array() && rule && rule->merges_lists())
      return list(*old, change.value, *rule, nullptr);
    *old = plain(change.value, arena_);
    return {};
  }

  // A list with a merge key or of a set. `order` overrides the order that the patch's elements give.
  Result<> list(Value& target, const Value& patch, const MergeRule& rule, const Value* order) {
    if (rule.kind == MergeRule::Kind::set) return set_list(target, patch, rule, order);
    std::vector<const Value*> named, deletions;  // elements without and with directives
    bool replace = false;
    for (const Value& element : patch.elements()) {
      const Value* directive = find(element, kPatch);
      const std::string_view what = directive ? directive->text() : std::string_view();
      if (!directive) {
        named.push_back(&element);
      } else if (what == "replace") {
        replace = true;
      } else if (what == "delete") {
        if (!find(element, rule.key))
          return bad(fmt::format("{}: a deletion lacks the merge key {}", rule.field, rule.key));
        deletions.push_back(&element);
      } else {
        return bad(fmt::format("{}: unknown $patch directive \"{}\"", rule.field, what));
      }
    }
    if (replace) {
      target = plain(patch, arena_);
      named.clear();
      deletions.clear();
    }
    for (const Value* element : named) KOORD_CHECK(check_element(*element, rule.key, rule.field));
    // Everything is looked up before anything merges: what merges moves the keys that the indexes point to.
    const ElementIndex server(target.elements(), rule.key), in_patch(named, rule.key);
    const std::optional<ElementIndex> orders =
        order ? std::optional<ElementIndex>(std::in_place, order->elements(), rule.key) : std::nullopt;
    std::vector<bool> deleted(target.size());
    for (const Value* element : deletions)
      for (const std::size_t i : server.find_all(*element)) deleted[i] = true;

    std::vector<Item> merged;
    const auto add = [&](const Value& value) {
      merged.push_back({Value(), (orders ? *orders : in_patch).find(value).value_or(kNowhere),
                        server.find(value).value_or(kNowhere)});
      return merged.size() - 1;
    };
    std::vector<std::size_t> places(target.size());  // of the server's elements
    for (std::size_t i = 0; i < target.size(); ++i) {
      if (deleted[i]) continue;
      KOORD_CHECK(check_element(target[i], rule.key, rule.field));
      places[i] = add(target[i]);
    }
    std::vector<std::size_t> changed(named.size());  // what each of the patch's is merged into
    std::vector<bool> added(named.size());
    for (std::size_t i = 0; i < named.size(); ++i) {
      const auto old = server.find(*named[i]);
      const std::size_t first = *in_patch.find(*named[i]);
      added[i] = first == i && (!old || deleted[*old]);
      changed[i] = added[i] ? add(*named[i]) : old && !deleted[*old] ? places[*old] : changed[first];
    }
    for (std::size_t i = 0; i < target.size(); ++i)
      if (!deleted[i]) merged[places[i]].value = std::move(target[i]);
    for (std::size_t i = 0; i < named.size(); ++i) {
      Value& value = merged[changed[i]].value;
      if (added[i])
        value = plain(*named[i], arena_);
      else
        KOORD_CHECK(object(value, *named[i], rule.type));
    }
    target = ordered(std::move(merged), arena_);
    return {};
  }

  Result<> set_list(Value& target, const Value& patch, const MergeRule& rule, const Value* order) {
    KOORD_CHECK(check_elements(patch, {}, rule.field));
    const ElementIndex server(target.elements(), {}), in_patch(patch.elements(), {});
    const std::optional<ElementIndex> orders =
        order ? std::optional<ElementIndex>(std::in_place, order->elements(), std::string_view())
              : std::nullopt;
    std::vector<Item> merged;
    const auto add = [&](const Value& value) {
      merged.push_back({clone(value, arena_), (orders ? *orders : in_patch).find(value).value_or(kNowhere),
                        server.find(value).value_or(kNowhere)});
    };
    for (std::size_t i = 0; i < target.size(); ++i)
      if (server.find(target[i]) == i) add(target[i]);
    for (std::size_t i = 0; i < patch.size(); ++i)
      if (!server.find(patch[i]) && in_patch.find(patch[i]) == i) add(patch[i]);
    target = ordered(std::move(merged), arena_);
    return {};
  }

  // $setElementOrder/FIELD: merges the field and gives it the order.
  Result<> order(Value& target, const Value& patch, const Member& directive, std::string_view owner) {
    const std::string_view field = directive.key().substr(kElementOrder.size());
    const MergeRule* rule = find_merge_rule(owner, field);
    if (!directive.value.is_array()) return bad(fmt::format("{}: must be a list", directive.key()));
    if (!rule || !rule->merges_lists())
      return bad(fmt::format("{}: the list has no merge key", directive.key()));
    KOORD_CHECK(check_elements(directive.value, rule->key, directive.key()));

    const Value* changes = find(patch, field);
    Value* old = find(target, field);
    if (changes && !changes->is_array()) return bad(fmt::format("{}: must be a list", field));
    if (old && !old->is_array()) return bad(fmt::format("{}: is no list", field));
    if (!changes && !old) return {};
    const ElementIndex orders(directive.value.elements(), rule->key);
    if (changes) {
      std::optional<std::size_t> last;
      for (const Value& element : changes->elements()) {
        if (find(element, kPatch)) continue;
        const auto at = orders.find(element);
        if (!at || (last && *at <= *last))
          return bad(fmt::format("the order of {} does not match {}", field, directive.key()));
        last = at;
      }
      if (old) return list(*old, *changes, *rule, &directive.value);
    }
    // One of the two is all there is.
    Value all = old ? std::move(*old) : plain(*changes, arena_);
    const ElementIndex server(all.elements(), rule->key);
    std::vector<Item> items(all.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      items[i].in_patch = orders.find(all[i]).value_or(kNowhere);
      if (old) items[i].in_server = server.find(all[i]).value_or(kNowhere);
    }
    for (std::size_t i = 0; i < items.size(); ++i) items[i].value = std::move(all[i]);
    json::set(target, field, ordered(std::move(items), arena_), arena_);
    return {};
  }

  static Result<> delete_from_list(Value& target, const Member& directive) {
    if (!directive.value.is_array()) return bad(fmt::format("{}: must be a list", directive.key()));
    Value* list = find(target, directive.key().substr(kDeleteFromList.size()));
    if (!list || !list->is_array()) return {};
    const ElementIndex unwanted(directive.value.elements(), {});
    list->erase_if([&](const Value& element) { return unwanted.find(element).has_value(); });
    return {};
  }

  static Result<> retain_keys(Value& target, const Value& patch, const Value& keys) {
    if (!keys.is_array()) return bad("$retainKeys must be a list of strings");
    std::vector<std::string_view> names;
    for (const Value& key : keys.elements())
      if (key.is_string()) names.push_back(key.text());
    std::ranges::sort(names);
    const auto kept = [&](std::string_view key) { return std::ranges::binary_search(names, key); };
    for (const Member& member : patch.members()) {
      if (!member.value.is_null() && !is_directive(member.key()) && !kept(member.key()))
        return bad(fmt::format("$retainKeys lacks {}, which the patch sets", member.key()));
    }
    target.erase_if([&](const Member& member) { return !kept(member.key()); });
    return {};
  }

  Arena& arena_;
};

}  // namespace

Result<> strategic_patch(Value& target, const Value& patch, std::string_view group, std::string_view kind,
                         Arena& arena) {
  const std::string_view type = merge_type(group, kind);
  if (type.empty())
    return Error(Code::unsupported, fmt::format("strategic merge patches are not served for {}{}{}", kind,
                                                group.empty() ? "" : ".", group));
  if (!patch.is_object() || !target.is_object()) return bad("must be an object");
  return Merger(arena).object(target, patch, type);
}

Result<> apply_patch(Value& target, PatchType type, const Value& patch, std::string_view group,
                     std::string_view kind, Arena& arena) {
  switch (type) {
    case PatchType::merge: merge_patch(target, patch, arena); return {};
    case PatchType::json: return json_patch(target, patch, arena);
    case PatchType::strategic: return strategic_patch(target, patch, group, kind, arena);
    case PatchType::apply: break;
  }
  return Error(Code::unsupported, "apply is the server's");
}

}  // namespace koord::api
