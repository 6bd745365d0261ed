#include "koord/json/index.hpp"

#include <algorithm>
#include <compare>

namespace koord::json {

MemberEdits::MemberEdits(Value& object, std::size_t lookups, Arena& arena)
    : object_(object), arena_(arena), known_(object, lookups) {}

void MemberEdits::remove(std::string_view key) {
  const Value* value = find(key);
  if (!value) return;
  removed_.resize(object_.size());
  const auto members = object_.members();
  const auto bytes = reinterpret_cast<const char*>(value) - reinterpret_cast<const char*>(members.data());
  removed_[static_cast<std::size_t>(bytes) / sizeof(Member)] = true;
}

void MemberEdits::set(std::string_view key, Value&& value) {
  if (Value* old = find(key))
    *old = std::move(value);
  else
    added_.emplace_back(key, std::move(value));
}

void MemberEdits::finish() {
  if (!removed_.empty()) {
    std::size_t i = 0;
    object_.erase_if([&](const Member&) { return removed_[i++]; });
  }
  for (auto& [key, value] : added_) object_.append(key, std::move(value), arena_);
}

void add_members(Value& object, const Value& extra, bool replace, Arena& arena) {
  MemberEdits edits(object, extra.size(), arena);
  for (const Member& member : extra.members())
    if (replace || edits.find(member.key()) == nullptr) edits.set(member.key(), clone(member.value, arena));
  edits.finish();
}

ElementIndex::ElementIndex(std::span<const Value> list, std::string_view key) : key_(key) {
  sorted_.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) add(list[i], i);
  sort();
}

ElementIndex::ElementIndex(std::span<const Value* const> list, std::string_view key) : key_(key) {
  sorted_.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) add(*list[i], i);
  sort();
}

void ElementIndex::add(const Value& element, std::size_t index) {
  if (const Value* value = key_of(element)) sorted_.push_back({value, index});
}

void ElementIndex::sort() {
  std::ranges::stable_sort(
      sorted_, [](const Entry& a, const Entry& b) { return std::is_lt(compare(*a.value, *b.value)); });
}

std::vector<ElementIndex::Entry>::const_iterator ElementIndex::lower(const Value& wanted) const {
  return std::ranges::lower_bound(
      sorted_, wanted, [](const Value& a, const Value& b) { return std::is_lt(compare(a, b)); },
      [](const Entry& entry) -> const Value& { return *entry.value; });
}

std::optional<std::size_t> ElementIndex::find(const Value& element) const {
  const Value* wanted = key_of(element);
  if (!wanted) return std::nullopt;
  const auto at = lower(*wanted);
  if (at == sorted_.end() || !(*at->value == *wanted)) return std::nullopt;
  return at->index;
}

std::vector<std::size_t> ElementIndex::find_all(const Value& element) const {
  std::vector<std::size_t> all;
  if (const Value* wanted = key_of(element))
    for (auto at = lower(*wanted); at != sorted_.end() && *at->value == *wanted; ++at)
      all.push_back(at->index);
  return all;
}

}  // namespace koord::json
