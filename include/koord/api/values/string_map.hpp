// Small maps keyed by interned strings: labels, annotations, resource lists.
#pragma once

#include <algorithm>
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "koord/api/values/list.hpp"
#include "koord/base/symbol.hpp"

namespace koord::api {

/// A sorted list. Keys repeat from object to object, so they are interned; the order is that of their
/// text, which makes what is printed the same everywhere. Look-ups take text and intern nothing.
template <class V>
class FlatMap {
 public:
  struct Entry {
    Symbol key;
    V value;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  using mapped_type = V;
  using const_iterator = const Entry*;

  FlatMap() = default;
  FlatMap(std::initializer_list<std::pair<std::string_view, V>> entries) {
    for (const auto& [key, value] : entries) (*this)[key] = value;
  }

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }

  /// nullptr if the key is absent.
  const V* find(std::string_view key) const {
    auto it = lower(key);
    return it != entries_.end() && it->key.view() == key ? &it->value : nullptr;
  }
  V* find(std::string_view key) { return const_cast<V*>(std::as_const(*this).find(key)); }
  bool contains(std::string_view key) const { return find(key) != nullptr; }

  /// The value, made first if the key is absent.
  V& operator[](std::string_view key) {
    auto it = lower(key);
    if (it == entries_.end() || it->key.view() != key) it = entries_.insert(it, Entry{Symbol(key), V{}});
    return entries_[static_cast<size_t>(it - entries_.begin())].value;
  }
  /// The same without a look-up in the table of interned strings.
  template <std::same_as<Symbol> S>
  V& operator[](const S& key) {
    auto it = lower(key.view());
    if (it == entries_.end() || it->key != key) it = entries_.insert(it, Entry{key, V{}});
    return entries_[static_cast<size_t>(it - entries_.begin())].value;
  }
  /// True if the key was there.
  bool erase(std::string_view key) {
    auto it = lower(key);
    if (it == entries_.end() || it->key.view() != key) return false;
    entries_.erase(it);
    return true;
  }
  void clear() { entries_.clear(); }
  void shrink_to_fit() { entries_.shrink_to_fit(); }
  const Entry& at_index(size_t index) const { return entries_[index]; }

  friend bool operator==(const FlatMap&, const FlatMap&) = default;

 private:
  // Decoders insert in order (Kubernetes prints maps sorted), so the end is tried first.
  const_iterator lower(std::string_view key) const {
    if (entries_.empty() || entries_.back().key.view() < key) return entries_.end();
    return std::lower_bound(entries_.begin(), entries_.end(), key,
                            [](const Entry& entry, std::string_view k) { return entry.key.view() < k; });
  }

  List<Entry> entries_;
};

using StringMap = FlatMap<std::string>;
/// Labels and annotations: the values repeat from object to object too.
using SymbolMap = FlatMap<Symbol>;

/// The value of a key, or `fallback` if it is absent.
template <class V>
std::string_view value_or(const FlatMap<V>& map, std::string_view key, std::string_view fallback = {}) {
  const V* value = map.find(key);
  return value ? std::string_view(*value) : fallback;
}

}  // namespace koord::api
