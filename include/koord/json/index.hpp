// Finding many members or elements of large values: sorted once, where looking one by one would be quadratic.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/json/value.hpp"

namespace koord::json {

/// Edits of an object's members, each name at most once: n log n for all together. Valid until finish(),
/// which makes the additions and removals; until then the object is changed through this only.
class MemberEdits {
 public:
  /// `lookups` is about how many names will be asked for: a few, or few members, are found without sorting.
  MemberEdits(Value& object, std::size_t lookups, Arena& arena);

  /// As the object was, or nullptr.
  Value* find(std::string_view key);
  void remove(std::string_view key);
  void set(std::string_view key, Value&& value);
  void finish();

 private:
  struct Entry {
    std::string_view key;
    std::size_t index;
  };

  Value& object_;
  Arena& arena_;
  std::vector<Entry> sorted_;  // empty: members are looked through
  std::vector<bool> removed_;
  std::vector<std::pair<std::string_view, Value>> added_;
};

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
