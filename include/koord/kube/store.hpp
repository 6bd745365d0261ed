// Store: the local copy of one collection, with indexes. Objects are immutable and shared.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::kube {

using Object = std::shared_ptr<const void>;

/// What the erased code must know of an object type. One constant a type; compared by address.
struct ObjectType {
  const api::Schema& (*schema)();
  std::shared_ptr<void> (*make)();  // a default-constructed object
  const api::ObjectMeta& (*meta)(const void*);
};

template <class T>
inline constexpr ObjectType kObjectType{
    []() -> const api::Schema& { return api::schema<T>(); },
    [] { return std::static_pointer_cast<void>(std::make_shared<T>()); },
    [](const void* object) -> const api::ObjectMeta& { return static_cast<const T*>(object)->metadata; },
};

/// An object's name as a view; the namespace is empty for kinds without one.
struct KeyView {
  std::string_view ns;
  std::string_view name;
  friend bool operator==(const KeyView&, const KeyView&) = default;
};

struct KeyViewHash {
  std::size_t operator()(const KeyView& key) const noexcept {
    return std::hash<std::string_view>{}(key.name) * 31 + std::hash<std::string_view>{}(key.ns);
  }
};

/// An index that a store keeps from the first object on. Two declarations with one name and type mean the
/// same.
struct Index {
  std::string name;
  /// Appends the values under which an object is found; the views need to live as long as the object.
  std::function<void(const void* object, std::vector<std::string_view>& values)> values;
};

/// index<Pod>("node", [](const Pod& pod) -> std::string_view { return pod.spec.node_name; }). Empty: not
/// found.
template <class T, class Fn>
Index index(std::string name, Fn value) {
  return {std::move(name), [value](const void* object, std::vector<std::string_view>& values) {
            const std::string_view text = value(*static_cast<const T*>(object));
            if (!text.empty()) values.push_back(text);
          }};
}
/// Named "label:KEY": by the value of a label.
Index index_by_label(const ObjectType& type, std::string key);
/// Named "owner": by the uid of the owner that is the controller.
Index index_by_owner(const ObjectType& type);

/// Belongs to the thread of the event loop. Costs about 100 bytes an object, and as many per index value.
class Store {
 public:
  /// Told of each change before it can be seen. `before` null: added; `after` null: deleted.
  using OnChange = std::function<void(const Object& before, const Object& after)>;

  Store(const ObjectType& type, OnChange on_change);

  /// Indexes the objects that are there already, too.
  void add_index(Index index);

  const Object* find(const KeyView& key) const;
  std::size_t size() const { return entries_.size(); }
  void for_each(const std::function<void(const Object&)>& visit) const;
  /// The objects under a value of an index; throws std::logic_error for an index that was not declared.
  std::vector<Object> by_index(std::string_view index, std::string_view value) const;
  bool has_index(std::string_view index) const;

  /// Between begin and end, every object that is not put again is marked as gone; end_replace() removes
  /// those. A replacement that is begun again forgets the unfinished one.
  void begin_replace();
  std::size_t end_replace();

  /// False if the version that is here is the same: nothing changed, nobody is told.
  bool put(Object object);
  /// False if it is not here. What is told is the object as it was here, not as the server sent it last, so
  /// that each `before` is what was told before.
  bool remove(const KeyView& key);

 private:
  struct Entry {
    Object object;
    std::uint32_t generation = 0;
  };
  using Entries = std::unordered_map<KeyView, Entry, KeyViewHash>;  // keys point into the objects
  struct Table {
    Index index;
    std::unordered_map<std::string, std::unordered_set<const Entry*>> values;
  };

  KeyView key_of(const Object& object) const;
  void link(Table& table, const Entry& entry);
  void unlink(Table& table, const Entry& entry);
  void erase(Entries::iterator it);

  const ObjectType& type_;
  OnChange on_change_;
  Entries entries_;
  std::vector<Table> tables_;
  std::uint32_t generation_ = 0;
  bool replacing_ = false;
};

}  // namespace koord::kube
