// Store: collections of immutable objects under one resourceVersion, with a history that watches read.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "sandbox/store/object.hpp"

namespace koord::sandbox {

class Collection;

struct Change {
  enum class Type : std::uint8_t { added, modified, deleted };
  Type type = Type::added;
  std::uint64_t rv = 0;
  ObjectPtr object;    // after; for a deletion the last state with the deletion's resourceVersion
  ObjectPtr previous;  // before; empty for an addition
};

/// Told of each change at once, inside the writer's call: must not write, only note what to do.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_change(Collection& collection, const Change& change) = 0;
};

/// Woken when its collection has news, inside the writer's call: must only note it.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void on_changes() = 0;
};

class Store;

/// All objects of one resource, and the last `window` changes, fewer where the store's histories together
/// would exceed their bytes. One thread.
class Collection {
 public:
  Collection(Store& store, std::string id, std::size_t window)
      : store_(store), id_(std::move(id)), window_(window) {}
  Collection(const Collection&) = delete;
  Collection& operator=(const Collection&) = delete;

  using Map = std::map<std::string, ObjectPtr, std::less<>>;
  const std::string& id() const { return id_; }  // "pods", "leases.coordination.k8s.io"
  const Map& objects() const { return objects_; }
  ObjectPtr get(std::string_view ns, std::string_view name) const;
  /// Those of a namespace, or all of them if it is empty, by key.
  std::ranges::subrange<Map::const_iterator> in_namespace(std::string_view ns) const;
  Store& store() const { return store_; }

  /// The object must carry the resourceVersion that Store::next_version() gave for this write.
  void put(ObjectPtr object);
  void erase(std::string_view ns, std::string_view name);

  // History. Changes are numbered without gaps; [first_change, end_change) can be read.
  std::uint64_t first_change() const { return first_; }
  std::uint64_t end_change() const { return first_ + history_.size(); }
  const Change& change(std::uint64_t number) const { return history_[number - first_]; }
  /// The resourceVersion up to which changes have been forgotten.
  std::uint64_t forgotten() const { return forgotten_; }
  /// The number of the first change after the resourceVersion.
  std::uint64_t change_after(std::uint64_t rv) const;
  /// Forgets all history, as a compaction does: watches and lists of older versions get 410.
  void compact();
  /// The bytes of objects that the history holds on to.
  std::size_t history_bytes() const { return history_bytes_; }

  void add_listener(Listener& listener) { listeners_.push_back(&listener); }
  void remove_listener(Listener& listener);

 private:
  friend class Store;
  void record(Change change);
  void forget_first();
  Store& store_;
  const std::string id_;
  const std::size_t window_;
  Map objects_;
  std::deque<Change> history_;
  std::size_t history_bytes_ = 0;
  std::uint64_t first_ = 0;
  std::uint64_t forgotten_ = 0;
  std::vector<Listener*> listeners_;
};

class Store {
 public:
  /// Of all histories together; a history's one change is never forgotten for it.
  static constexpr std::size_t kHistoryBytes = std::size_t{256} * 1024 * 1024;

  explicit Store(std::size_t window = 50'000, std::size_t lease_window = 5'000,
                 std::size_t history_bytes = kHistoryBytes)
      : window_(window), lease_window_(lease_window), max_history_bytes_(history_bytes) {}

  /// The collection of that name, made at the first call. Lives as long as the store.
  Collection& collection(const std::string& id);
  std::uint64_t version() const { return version_; }
  /// For the write that follows at once.
  std::uint64_t next_version() { return ++version_; }

  void add_observer(Observer& observer) { observers_.push_back(&observer); }
  void remove_observer(Observer& observer);
  void compact();
  std::size_t history_bytes() const { return history_bytes_; }

 private:
  friend class Collection;
  void trim_histories();
  const std::size_t window_, lease_window_, max_history_bytes_;
  std::size_t history_bytes_ = 0;
  std::uint64_t version_ = 1;
  std::map<std::string, std::unique_ptr<Collection>, std::less<>> collections_;
  std::vector<Observer*> observers_;
};

}  // namespace koord::sandbox
