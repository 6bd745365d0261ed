#include "koord/kube/store.hpp"

#include <stdexcept>

namespace koord::kube {

Index index_by_label(const ObjectType& type, std::string key) {
  std::string name = "label:" + key;
  return {std::move(name),
          [&type, key = std::move(key)](const void* object, std::vector<std::string_view>& values) {
            if (const Symbol* value = type.meta(object).labels.find(key)) values.push_back(*value);
          }};
}

Index index_by_owner(const ObjectType& type) {
  return {"owner", [&type](const void* object, std::vector<std::string_view>& values) {
            if (const api::OwnerReference* owner = api::controller_of(type.meta(object)))
              values.push_back(owner->uid);
          }};
}

Store::Store(const ObjectType& type, OnChange on_change) : type_(type), on_change_(std::move(on_change)) {}

void Store::add_index(Index index) {
  if (has_index(index.name)) return;
  Table& table = tables_.emplace_back(Table{std::move(index), {}});
  for (const auto& [key, entry] : entries_) link(table, entry);
}

bool Store::has_index(std::string_view index) const {
  for (const Table& table : tables_)
    if (table.index.name == index) return true;
  return false;
}

const Object* Store::find(const KeyView& key) const {
  const auto it = entries_.find(key);
  return it == entries_.end() ? nullptr : &it->second.object;
}

void Store::for_each(const std::function<void(const Object&)>& visit) const {
  for (const auto& [key, entry] : entries_) visit(entry.object);
}

std::vector<Object> Store::by_index(std::string_view index, std::string_view value) const {
  for (const Table& table : tables_) {
    if (table.index.name != index) continue;
    std::vector<Object> found;
    const auto it = table.values.find(std::string(value));
    if (it == table.values.end()) return found;
    found.reserve(it->second.size());
    for (const Entry* entry : it->second) found.push_back(entry->object);
    return found;
  }
  throw std::logic_error("no index " + std::string(index) + " was declared");
}

void Store::begin_replace() {
  ++generation_;
  replacing_ = true;
}

std::size_t Store::end_replace() {
  std::size_t gone = 0;
  if (!std::exchange(replacing_, false)) return gone;
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto here = it++;
    if (here->second.generation == generation_) continue;
    erase(here);
    ++gone;
  }
  return gone;
}

bool Store::put(Object object) {
  const KeyView key = key_of(object);
  const auto it = entries_.find(key);
  if (it == entries_.end()) {
    on_change_({}, object);
    const auto added = entries_.emplace(key, Entry{std::move(object), generation_}).first;
    for (Table& table : tables_) link(table, added->second);
    return true;
  }
  Entry& entry = it->second;
  entry.generation = generation_;
  const api::ObjectMeta& before = type_.meta(entry.object.get());
  const api::ObjectMeta& after = type_.meta(object.get());
  if (before.resource_version == after.resource_version && before.uid == after.uid) return false;
  on_change_(entry.object, object);
  for (Table& table : tables_) unlink(table, entry);
  entry.object.swap(object);  // the old one lives until its key has been replaced
  auto node = entries_.extract(it);
  node.key() = key;
  entries_.insert(std::move(node));
  for (Table& table : tables_) link(table, entry);
  return true;
}

bool Store::remove(const KeyView& key) {
  const auto it = entries_.find(key);
  if (it == entries_.end()) return false;
  erase(it);
  return true;
}

void Store::erase(Entries::iterator it) {
  Entry& entry = it->second;
  on_change_(entry.object, {});
  for (Table& table : tables_) unlink(table, entry);
  const Object keep = std::move(entry.object);
  entries_.erase(it);
}

KeyView Store::key_of(const Object& object) const {
  const api::ObjectMeta& meta = type_.meta(object.get());
  return {meta.namespace_.view(), meta.name};
}

void Store::link(Table& table, const Entry& entry) {
  std::vector<std::string_view> values;
  table.index.values(entry.object.get(), values);
  for (std::string_view value : values) table.values[std::string(value)].insert(&entry);
}

void Store::unlink(Table& table, const Entry& entry) {
  std::vector<std::string_view> values;
  table.index.values(entry.object.get(), values);
  for (std::string_view value : values) {
    const auto it = table.values.find(std::string(value));
    if (it == table.values.end()) continue;
    it->second.erase(&entry);
    if (it->second.empty()) table.values.erase(it);
  }
}

}  // namespace koord::kube
