// Collections and their histories.
#include "sandbox/store/store.hpp"

#include <algorithm>

namespace koord::sandbox {

ObjectPtr Collection::get(std::string_view ns, std::string_view name) const {
  auto it = objects_.find(Object::make_key(ns, name));
  return it == objects_.end() ? nullptr : it->second;
}

std::ranges::subrange<Collection::Map::const_iterator> Collection::in_namespace(std::string_view ns) const {
  if (ns.empty()) return {objects_.begin(), objects_.end()};
  std::string bound = Object::make_key(ns, "");  // keys begin with the namespace and a slash
  const auto begin = objects_.lower_bound(bound);
  ++bound.back();
  return {begin, objects_.lower_bound(bound)};
}

void Collection::put(ObjectPtr object) {
  Change change;
  change.rv = object->rv;
  change.object = object;
  auto [it, added] = objects_.try_emplace(object->key(), object);
  if (!added) {
    change.type = Change::Type::modified;
    change.previous = std::exchange(it->second, std::move(object));
  }
  record(std::move(change));
}

void Collection::erase(std::string_view ns, std::string_view name) {
  auto it = objects_.find(Object::make_key(ns, name));
  if (it == objects_.end()) return;
  Change change;
  change.type = Change::Type::deleted;
  change.rv = store_.next_version();
  change.previous = it->second;
  change.object = with_resource_version(*it->second, change.rv);
  objects_.erase(it);
  record(std::move(change));
}

void Collection::forget_first() {
  const std::size_t bytes = history_.front().object->bytes.size();
  history_bytes_ -= bytes;
  store_.history_bytes_ -= bytes;
  forgotten_ = history_.front().rv;
  history_.pop_front();
  ++first_;
}

void Collection::record(Change change) {
  history_bytes_ += change.object->bytes.size();
  store_.history_bytes_ += change.object->bytes.size();
  history_.push_back(std::move(change));
  const Change latest = history_.back();
  while (history_.size() > window_) forget_first();
  store_.trim_histories();
  for (Listener* listener : listeners_) listener->on_changes();
  for (Observer* observer : store_.observers_) observer->on_change(*this, latest);
}

std::uint64_t Collection::change_after(std::uint64_t rv) const {
  auto it = std::upper_bound(history_.begin(), history_.end(), rv,
                             [](std::uint64_t version, const Change& change) { return version < change.rv; });
  return first_ + static_cast<std::uint64_t>(it - history_.begin());
}

void Collection::compact() {
  if (history_.empty()) return;
  while (!history_.empty()) forget_first();
  for (Listener* listener : listeners_) listener->on_changes();
}

void Collection::remove_listener(Listener& listener) { std::erase(listeners_, &listener); }

Collection& Store::collection(const std::string& id) {
  auto& slot = collections_[id];
  // These change all the time: they must not push other histories, nor be kept for long.
  const bool report = id == "leases.coordination.k8s.io" || id == "nodemetrics.slo.koordinator.sh";
  if (!slot) slot = std::make_unique<Collection>(*this, id, report ? lease_window_ : window_);
  return *slot;
}

void Store::remove_observer(Observer& observer) { std::erase(observers_, &observer); }

void Store::trim_histories() {
  while (history_bytes_ > max_history_bytes_) {
    Collection* largest = nullptr;
    for (auto& [id, collection] : collections_)
      if (collection->history_.size() > 1 &&
          (!largest || collection->history_bytes_ > largest->history_bytes_))
        largest = collection.get();
    if (!largest) return;
    largest->forget_first();
  }
}

void Store::compact() {
  for (auto& [id, collection] : collections_) collection->compact();
}

}  // namespace koord::sandbox
