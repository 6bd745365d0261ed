// NodeTable: see node_table.hpp.
#include "koord/scheduling/cluster/node_table.hpp"

#include <algorithm>
#include <limits>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling {

namespace {

/// Do the parts of a node that filters and scores read differ? Heartbeats change none of them.
bool differs(const api::Node& a, const api::Node& b) {
  return a.spec.unschedulable != b.spec.unschedulable || a.spec.taints != b.spec.taints ||
         a.status.allocatable != b.status.allocatable || a.metadata.labels != b.metadata.labels ||
         a.metadata.annotations != b.metadata.annotations || a.status.images != b.status.images;
}

}  // namespace

Row NodeTable::row_of(Symbol name) {
  auto it = index_.find(name);
  if (it != index_.end()) return it->second;
  Row row;
  if (!free_.empty()) {
    row = free_.back();
    free_.pop_back();
  } else {
    row = static_cast<Row>(nodes_.size());
    names_.emplace_back();
    nodes_.emplace_back();
    pods_.emplace_back();
    ports_.emplace_back();
    last_change_.push_back(0);
    last_node_change_.push_back(0);
    changes_.push_back(0);
    generations_.push_back(0);
    cells_.resize(nodes_.size());
  }
  names_[row] = name;
  index_.emplace(std::move(name), row);
  log(row, true);
  return row;
}

Row NodeTable::find(std::string_view name) const {
  auto it = index_.find(Symbol(name));
  return it == index_.end() ? kNoRow : it->second;
}

bool NodeTable::set_node(Row row, std::shared_ptr<const api::Node> node) {
  std::shared_ptr<const api::Node> old = std::exchange(nodes_[row], node);
  if (old && node && !differs(*old, *node)) return false;
  live_ += (node != nullptr) - (old != nullptr);
  if (!old || !node || old->status.allocatable != node->status.allocatable)
    set_allocatable(row, old.get(), node.get());
  log(row, true);
  for (ClusterObserver* observer : observers_) observer->node_changed(row, old.get(), node.get());
  if (!node) release_if_unused(row);
  return true;
}

void NodeTable::set_allocatable(Row row, const api::Node* before, const api::Node* now) {
  const auto each = [&](const api::Node* node, auto&& f) {
    if (node == nullptr) return;
    for (const auto& [name, quantity] : node->status.allocatable) {
      ResourceId id = fixed_resource(name);
      if (id == kFirstScalar) {
        if (!is_scalar_resource(name)) continue;
        id = resources_.id(name);
      }
      f(id, name.view(), quantity);
    }
  };
  each(before, [&](ResourceId id, std::string_view name, const api::Quantity&) {
    if (now == nullptr || !now->status.allocatable.contains(name)) cells_.set_allocatable(id, row, 0);
  });
  each(now, [&](ResourceId id, std::string_view, const api::Quantity& quantity) {
    const std::int64_t amount = id == kCpu ? quantity.milli_value() : quantity.value();
    // Less what is used it stays a number.
    cells_.set_allocatable(id, row,
                           std::clamp<std::int64_t>(amount, 0, std::numeric_limits<std::int64_t>::max() / 2));
  });
}

void NodeTable::account(Row row, const Requests& r, bool take_back) {
  const auto add = [&](ResourceId id, std::int64_t amount) { cells_.add_used(id, row, amount, take_back); };
  add(kCpu, r.cpu);
  add(kMemory, r.memory);
  add(kStorage, r.storage);
  add(kPods, 1);
  for (const Amount& a : r.scalars) add(a.resource, a.amount);
  add(kNonzeroCpu, r.nonzero_cpu);
  add(kNonzeroMemory, r.nonzero_memory);
}

void NodeTable::add_pod(Row row, const PodInfo& pod) {
  account(row, pod.requests, false);
  ports_[row].insert(ports_[row].end(), pod.ports.begin(), pod.ports.end());
  pod.place = static_cast<std::uint32_t>(pods_[row].size());
  pods_[row].push_back(&pod);
  log(row, false);
  for (ClusterObserver* observer : observers_) observer->pod_added(row, pod);
}

void NodeTable::remove_pod(Row row, const PodInfo& pod) {
  take_out(row, pod);
  release_if_unused(row);
}

void NodeTable::take_out(Row row, const PodInfo& pod) {
  account(row, pod.requests, true);
  auto& held = ports_[row];
  for (const HostPort& port : pod.ports) {
    auto it = std::find(held.begin(), held.end(), port);
    if (it != held.end()) held.erase(it);
  }
  auto& pods = pods_[row];
  pods[pod.place] = pods.back();
  pods[pod.place]->place = pod.place;
  pods.pop_back();
  log(row, false);
  for (ClusterObserver* observer : observers_) observer->pod_removed(row, pod);
}

void NodeTable::correct(Row row, ResourceId resource, std::int64_t amount) {
  cells_.add_used(resource, row, amount, false);
  log(row, false);
}

void NodeTable::change_pod(Row row, const PodInfo& pod) {
  for (ClusterObserver* observer : observers_) observer->pod_changed(row, pod);
}

void NodeTable::release_if_unused(Row row) {
  if (nodes_[row] || !pods_[row].empty()) return;
  index_.erase(names_[row]);
  names_[row] = Symbol();
  ++generations_[row];
  free_.push_back(row);
}

void NodeTable::log(Row row, bool node) {
  ++changes_[row];
  last_change_[row] = log_end();
  if (node) newest_node_change_ = last_node_change_[row] = log_end();
  log_.push_back(row);
  // Whoever is further behind than this reads everything anew, which is then as cheap.
  std::size_t keep = std::max(min_log_, nodes_.size());
  if (log_.size() <= 2 * keep) return;
  std::size_t drop = log_.size() - keep;
  log_.erase(log_.begin(), log_.begin() + static_cast<std::ptrdiff_t>(drop));
  log_begin_ += drop;
}

}  // namespace koord::scheduling
