// JSON merge patch, RFC 7386: applying and making one.
#include "koord/json/index.hpp"
#include "koord/json/patch.hpp"

namespace koord::json {

void merge_patch(Value& target, const Value& patch, Arena& arena) {
  if (!patch.is_object()) {
    target = clone(patch, arena);
    return;
  }
  if (!target.is_object()) target.set_object();
  MemberEdits edits(target, patch.size(), arena);
  for (const Member& member : patch.members()) {
    if (member.value.is_null()) {
      edits.remove(member.key());
    } else if (Value* old = edits.find(member.key())) {
      merge_patch(*old, member.value, arena);
    } else {
      Value added;
      merge_patch(added, member.value, arena);  // which takes its nulls out
      edits.set(member.key(), std::move(added));
    }
  }
  edits.finish();
}

std::optional<Value> merge_diff(const Value& before, const Value& after, Arena& arena) {
  if (!before.is_object() || !after.is_object()) {
    if (before == after) return std::nullopt;
    return clone(after, arena);
  }
  Value patch = Value::object();
  // Nothing is edited: these only find.
  MemberEdits old(const_cast<Value&>(before), after.size(), arena);
  MemberEdits now(const_cast<Value&>(after), before.size(), arena);
  for (const Member& member : before.members())
    if (!now.find(member.key())) patch.append(member.key(), Value(), arena);
  for (const Member& member : after.members()) {
    const Value* was = old.find(member.key());
    if (!was) {
      patch.append(member.key(), clone(member.value, arena), arena);
    } else if (auto inner = merge_diff(*was, member.value, arena)) {
      patch.append(member.key(), std::move(*inner), arena);
    }
  }
  if (patch.empty()) return std::nullopt;
  return patch;
}

}  // namespace koord::json
