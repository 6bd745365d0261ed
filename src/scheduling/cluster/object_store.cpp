// Object stores: see object_store.hpp.
#include "koord/scheduling/cluster/object_store.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace koord::scheduling {

ObjectLabels object_labels(const api::Kind& kind) {
  std::string resource(kind.kind);
  if (kind.custom) {
    resource = fmt::format("{}.{}.{}", kind.plural, kind.version, kind.group);
  } else if (!kind.group.empty()) {
    resource = fmt::format("{}/{}", kind.group, kind.kind);
  }
  return {fmt::format("{}Add", resource), fmt::format("{}Update", resource),
          fmt::format("{}Delete", resource)};
}

EventKind ObjectEvents::next(std::string_view label) {
  if (next_ == kEventKinds)
    throw std::logic_error(
        fmt::format("plugins ask for more than {} kinds of events: none is left for {}; widen EventKind",
                    kEventKinds, label));
  return static_cast<EventKind>(next_++);
}

EventKind AnyObjectStore::event(ObjectAction action) {
  std::optional<EventKind>& kind = asked_[index(action)];
  if (!kind) kind = events_.next(label(action));
  return *kind;
}

const AnyObjectStore::Objects* AnyObjectStore::of_namespace(std::string_view ns) const {
  const auto it = namespaces_.find(ns);
  return it != namespaces_.end() ? &it->second : nullptr;
}

const kube::Object* AnyObjectStore::find(std::string_view ns, std::string_view name) const {
  const Objects* objects = of_namespace(ns);
  if (objects == nullptr) return nullptr;
  const auto it = objects->find(name);
  return it != objects->end() ? &it->second : nullptr;
}

kube::Object AnyObjectStore::put(const kube::KeyView& key, kube::Object now) {
  auto objects = namespaces_.find(key.ns);
  if (objects == namespaces_.end()) {
    if (now == nullptr) return nullptr;
    objects = namespaces_.emplace(std::string(key.ns), Objects()).first;
  }
  auto it = objects->second.find(key.name);
  const bool known = it != objects->second.end();
  if (!known && now == nullptr) return nullptr;
  if (!known) it = objects->second.emplace(std::string(key.name), nullptr).first;
  const kube::Object before = std::exchange(it->second, now);
  if (now == nullptr) {
    objects->second.erase(it);
    if (objects->second.empty()) namespaces_.erase(objects);
  }
  size_ += (now != nullptr) - (before != nullptr);
  ++generation_;
  for (const OnChange& told : on_change_) told(before, now);
  return before;
}

AnyObjectStore* ObjectStores::find(const kube::ObjectType& type) const {
  for (const auto& store : stores_)
    if (&store->type() == &type) return store.get();
  return nullptr;
}

}  // namespace koord::scheduling
