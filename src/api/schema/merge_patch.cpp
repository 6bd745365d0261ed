// JSON merge patch, RFC 7386: applying and making one.
#include "document_dom.hpp"

namespace koord::api {

Result<> merge_patch(JsonValue& target, const JsonValue& patch) {
  if (!patch.is_object()) {
    target = patch;
    return {};
  }
  if (!target.is_object()) target = JsonValue::make_object();
  for (const JsonMember& member : patch.object()) {
    if (member.value.is_null())
      target.erase(member.key);
    else
      KOORD_CHECK(merge_patch(target[member.key], member.value));
  }
  return {};
}

std::optional<JsonValue> merge_diff(const JsonValue& before, const JsonValue& after) {
  if (!before.is_object() || !after.is_object()) {
    if (before == after) return std::nullopt;
    return after;
  }
  JsonValue patch = JsonValue::make_object();
  for (const JsonMember& member : before.object())
    if (!after.find(member.key)) patch.set(member.key, JsonValue());
  for (const JsonMember& member : after.object()) {
    const JsonValue* old = before.find(member.key);
    if (!old) {
      patch.set(member.key, member.value);
    } else if (auto inner = merge_diff(*old, member.value)) {
      patch.set(member.key, std::move(*inner));
    }
  }
  if (patch.size() == 0) return std::nullopt;
  return patch;
}

}  // namespace koord::api
