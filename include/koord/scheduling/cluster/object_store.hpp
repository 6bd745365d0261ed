// Object stores: what plugins watch besides nodes and pods, on the engine's thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/schema/kind.hpp"
#include "koord/kube/store.hpp"
#include "koord/scheduling/cluster/cluster_event.hpp"

namespace koord::scheduling {

enum class ObjectAction : std::uint8_t { add, update, remove };

/// "storage.k8s.io/CSINodeAdd", of custom resources "devices.v1alpha1.scheduling.koordinator.shAdd", by
/// ObjectAction: the labels of events in the metrics.
using ObjectLabels = std::array<std::string, 3>;
ObjectLabels object_labels(const api::Kind& kind);

/// Gives numbers to the events of objects that plugins ask for.
class ObjectEvents {
 public:
  /// Throws std::logic_error, with the event's label, when all values of EventKind are taken.
  EventKind next(std::string_view label);

 private:
  unsigned next_ = kFirstObjectEvent;
};

/// The untyped half of ObjectStore<T>.
class AnyObjectStore {
 public:
  AnyObjectStore(const kube::ObjectType& type, const ObjectLabels& labels, ObjectEvents& events)
      : type_(type), labels_(labels), events_(events) {}
  virtual ~AnyObjectStore() = default;
  AnyObjectStore(const AnyObjectStore&) = delete;
  AnyObjectStore& operator=(const AnyObjectStore&) = delete;

  const kube::ObjectType& type() const { return type_; }
  std::size_t size() const { return size_; }
  /// Grows with each change.
  std::uint64_t generation() const { return generation_; }

  /// Added, changed, or gone (`now` null; `key` says of what). Returns what was there before; null: nothing.
  /// on_change() is told.
  kube::Object put(const kube::KeyView& key, kube::Object now);

  /// For EventPlugin::events(), in a plugin's constructor.
  template <class... Actions>
  EventMask events(Actions... actions) {
    return (EventMask::of(event(actions)) | ...);
  }
  /// Absent: nobody asks for it.
  std::optional<EventKind> asked(ObjectAction action) const { return asked_[index(action)]; }
  /// What events of the action are counted as; lives forever.
  std::string_view label(ObjectAction action) const { return labels_[index(action)]; }

 protected:
  /// In the order of their names, so that decisions do not depend on where things lie in memory.
  using Objects = std::map<std::string, kube::Object, std::less<>>;
  using OnChange = std::function<void(const kube::Object& before, const kube::Object& now)>;

  const Objects* of_namespace(std::string_view ns) const;
  const kube::Object* find(std::string_view ns, std::string_view name) const;

  std::map<std::string, Objects, std::less<>> namespaces_;
  std::vector<OnChange> on_change_;

 private:
  static std::size_t index(ObjectAction action) { return static_cast<std::size_t>(action); }
  EventKind event(ObjectAction action);

  const kube::ObjectType& type_;
  const ObjectLabels& labels_;
  ObjectEvents& events_;
  std::array<std::optional<EventKind>, 3> asked_;
  std::size_t size_ = 0;
  std::uint64_t generation_ = 0;
};

/// All objects of a kind. Belongs to the engine's thread; a plugin gets it from ObjectStores::watch() and may
/// keep the reference. Objects may be kept, too.
template <class T>
class ObjectStore final : public AnyObjectStore {
 public:
  explicit ObjectStore(ObjectEvents& events) : AnyObjectStore(kube::kObjectType<T>, labels(), events) {}

  /// nullptr: there is none. `ns` is empty for kinds without a namespace.
  std::shared_ptr<const T> find(std::string_view ns, std::string_view name) const {
    const kube::Object* object = AnyObjectStore::find(ns, name);
    return object != nullptr ? typed(*object) : nullptr;
  }
  /// By name.
  template <class Visit>
  void of_namespace(std::string_view ns, Visit&& visit) const {
    const Objects* objects = AnyObjectStore::of_namespace(ns);
    if (objects == nullptr) return;
    for (const auto& [name, object] : *objects) visit(*static_cast<const T*>(object.get()));
  }
  /// By namespace and name.
  template <class Visit>
  void all(Visit&& visit) const {
    for (const auto& [ns, objects] : namespaces_)
      for (const auto& [name, object] : objects) visit(*static_cast<const T*>(object.get()));
  }
  /// After each change, before anything is decided: nullptr for what was not or is no more.
  void on_change(std::function<void(const T* before, const T* now)> told) {
    on_change_.push_back([told = std::move(told)](const kube::Object& before, const kube::Object& now) {
      told(static_cast<const T*>(before.get()), static_cast<const T*>(now.get()));
    });
  }

 private:
  static const ObjectLabels& labels() {
    static const ObjectLabels kLabels = object_labels(api::kind<T>());
    return kLabels;
  }
  static std::shared_ptr<const T> typed(const kube::Object& object) {
    return std::static_pointer_cast<const T>(object);
  }
};

/// The kinds that plugins watch. What nobody watches is neither listed nor watched at the API server.
class ObjectStores {
 public:
  /// In a plugin's constructor. The store fills before the first pod is tried.
  template <class T>
  ObjectStore<T>& watch() {
    if (AnyObjectStore* known = find(kube::kObjectType<T>)) return static_cast<ObjectStore<T>&>(*known);
    stores_.push_back(std::make_unique<ObjectStore<T>>(events_));
    return static_cast<ObjectStore<T>&>(*stores_.back());
  }

  /// nullptr: nobody watches the kind.
  AnyObjectStore* find(const kube::ObjectType& type) const;
  const std::vector<std::unique_ptr<AnyObjectStore>>& stores() const { return stores_; }

 private:
  ObjectEvents events_;
  std::vector<std::unique_ptr<AnyObjectStore>> stores_;
};

}  // namespace koord::scheduling
