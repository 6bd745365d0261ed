// Domains of topology keys: see topology.hpp.
#include "koord/scheduling/cluster/topology.hpp"

#include <algorithm>
#include <bit>

#include "koord/api/types/core_v1/node.hpp"

namespace koord::scheduling {

std::span<const DomainId> TopologyKey::column() const { return column_.empty() ? table_.none_ : column_; }

DomainId TopologyKey::find(Symbol value) const {
  const auto it = ids_.find(value);
  return it == ids_.end() ? kNoDomain : it->second;
}

/// A number for a value that has none: the row's own if nobody has it, so that a key whose values are all
/// different is read in the rows' order.
DomainId TopologyKey::take(const Symbol& value, Row row) {
  const auto unused = [&](DomainId id) { return domains_[id].nodes == 0; };
  DomainId id = id_limit();
  if (row < domains_.size() && unused(row)) {
    id = row;
  } else {
    while (!free_.empty() && id == id_limit()) {
      if (unused(free_.back())) id = free_.back();
      free_.pop_back();
    }
  }
  if (id == id_limit()) domains_.emplace_back();
  domains_[id].value = value;
  ids_.emplace(value, id);
  return id;
}

void TopologyKey::set(Row row, const Symbol* value) {
  const DomainId from = domain(row);
  if (value == nullptr ? from == kNoDomain : from != kNoDomain && domains_[from].value == *value) return;
  if (column_.size() < table_.none_.size()) column_.resize(table_.none_.size(), kNoDomain);
  DomainId to = kNoDomain;
  if (value != nullptr) {
    to = find(*value);
    if (to == kNoDomain) to = take(*value, row);
    ++domains_[to].nodes;
    ++nodes_;
    out_of_place_ += to != row;
  }
  column_[row] = to;
  if (from != kNoDomain) {
    --nodes_;
    out_of_place_ -= from != row;
  }
  for (Observer* observer : observers_) observer->domain_changed(*this, row, from, to);
  if (from == kNoDomain || --domains_[from].nodes != 0) return;
  ids_.erase(domains_[from].value);
  domains_[from].value = Symbol();
  free_.push_back(from);
  // Numbers that were taken by their rows are in it once more; they must not add up.
  if (free_.size() > 2 * domains_.size()) {
    free_.clear();
    for (DomainId id = 0; id < domains_.size(); ++id)
      if (domains_[id].nodes == 0) free_.push_back(id);
  }
}

void intrusive_ptr_add_ref(TopologyKey* key) { ++key->users_; }
void intrusive_ptr_release(TopologyKey* key) {
  if (--key->users_ == 0) key->table_.release(*key);
}

TopologyTable::TopologyTable(const NodeTable& nodes) : nodes_(nodes) {
  for (Row row = 0; row < nodes.rows(); ++row)
    if (nodes.node(row)) node_changed(row, nullptr, nodes.node(row).get());
}

TopologyRef TopologyTable::key(const Symbol& name) {
  const auto it = keys_.find(name);
  if (it != keys_.end()) {
    TopologyKey& known = it->second;
    if (known.users_ == 0) idle_.erase(known.idle_);
    return TopologyRef(&known);
  }
  TopologyKey& key = keys_.emplace(name, TopologyKey(*this, name)).first->second;
  if (labels_.contains(name))
    for (Row row = 0; row < nodes_.rows(); ++row)
      if (const api::Node* node = nodes_.node(row).get())
        if (const Symbol* value = node->metadata.labels.find(name)) key.set(row, value);
  return TopologyRef(&key);
}

void TopologyTable::release(TopologyKey& key) {
  key.idle_ = idle_.insert(idle_.end(), &key);
  if (idle_.size() <= kIdle) return;
  const Symbol oldest = idle_.front()->name_;
  idle_.pop_front();
  keys_.erase(oldest);
}

void TopologyTable::node_changed(Row row, const api::Node* before, const api::Node* now) {
  if (now != nullptr && row >= none_.size()) {
    // With room for those that follow: all columns grow with it.
    none_.resize(std::bit_ceil(std::max<std::size_t>(row + 1, 64)), kNoDomain);
    for (auto& [name, key] : keys_)
      if (!key.column_.empty()) key.column_.resize(none_.size(), kNoDomain);
  }
  const auto known = [&](const Symbol& name) {
    const auto it = keys_.find(name);
    return it == keys_.end() ? nullptr : &it->second;
  };
  if (now != nullptr)
    for (const auto& [name, value] : now->metadata.labels) {
      ++labels_[name];
      if (TopologyKey* key = known(name)) key->set(row, &value);
    }
  if (before != nullptr)
    for (const auto& [name, value] : before->metadata.labels) {
      if (auto it = labels_.find(name); it != labels_.end() && --it->second == 0) labels_.erase(it);
      if (now != nullptr && now->metadata.labels.contains(name)) continue;
      if (TopologyKey* key = known(name)) key->set(row, nullptr);
    }
}

}  // namespace koord::scheduling
