// Finding many members or elements of large values: sorted once, where looking one by one would be quadratic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "koord/json/value.hpp"

namespace koord::json {

/// An object's members by name. `V` is Value or const Value. Valid until the object gains or loses a member;
/// empty for what is no object.
template <class V>
class Members {
 public:
  using Entry = std::conditional_t<std::is_const_v<V>, const Member, Member>;

  /// `lookups` is about how many names will be asked for: a few, or few members, are found without sorting;
  /// else it is n log n together, whoever chose the names.
  explicit Members(V& object, std::size_t lookups = std::numeric_limits<std::size_t>::max())
      : members_(object.members()) {
    if (members_.size() <= kFewMembers || lookups <= kFewLookups) return;
    sorted_.reserve(members_.size());
    for (Entry& member : members_) sorted_.push_back(&member);
    std::ranges::sort(sorted_, {}, &Member::key);
  }

  V* find(std::string_view name) const {
    if (sorted_.empty()) {
      const auto it = std::ranges::find(members_, name, &Member::key);
      return it != members_.end() ? &it->value : nullptr;
    }
    const auto it = std::ranges::lower_bound(sorted_, name, {}, &Member::key);
    return it != sorted_.end() && (*it)->key() == name ? &(*it)->value : nullptr;
  }

 private:
  static constexpr std::size_t kFewMembers = 16, kFewLookups = 4;
  std::span<Entry> members_;
  std::vector<Entry*> sorted_;  // empty: members are looked through
};

/// Edits of an object's members, each name at most once: n log n for all together. Valid until finish(),
/// which makes the additions and removals; until then the object is changed through this only.
class MemberEdits {
 public:
  /// `lookups`: see Members.
  MemberEdits(Value& object, std::size_t lookups, Arena& arena);

  /// As the object was, or nullptr.
  Value* find(std::string_view key) const { return known_.find(key); }
  void remove(std::string_view key);
  void set(std::string_view key, Value&& value);
  void finish();

 private:
  Value& object_;
  Arena& arena_;
  Members<Value> known_;
  std::vector<bool> removed_;
  std::vector<std::pair<std::string_view, Value>> added_;
};

/// Gives `object` the members of `extra`, by copies; those that it has stay as they are unless `replace`.
void add_members(Value& object, const Value& extra, bool replace, Arena& arena);

/// Where in a list something stands: elements are told apart by the member `key`, or as they are if that is
/// empty. The list outlives the index, its elements keep their keys.
class ElementIndex {
 public:
  ElementIndex(std::span<const Value> list, std::string_view key);
  ElementIndex(std::span<const Value* const> list, std::string_view key);

  /// The first element that stands for the same as `element`; empty if `element` has no key.
  std::optional<std::size_t> find(const Value& element) const;
  /// All of them, in the list's order.
  std::vector<std::size_t> find_all(const Value& element) const;

 private:
  struct Entry {
    const Value* value;
    std::size_t index;
  };
  void add(const Value& element, std::size_t index);
  void sort();
  std::vector<Entry>::const_iterator lower(const Value& wanted) const;
  const Value* key_of(const Value& element) const {
    return key_.empty() ? &element : json::find(element, key_);
  }

  std::string_view key_;
  std::vector<Entry> sorted_;
};

}  // namespace koord::json
