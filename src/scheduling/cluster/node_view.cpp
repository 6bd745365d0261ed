// NodeView: see node_view.hpp.
#include "koord/scheduling/cluster/node_view.hpp"

#include <algorithm>

namespace koord::scheduling {

namespace {

/// Takes one mention of it out; false: there was none.
bool take(std::vector<const PodInfo*>& pods, const PodInfo& pod) {
  const auto it = std::find(pods.begin(), pods.end(), &pod);
  if (it == pods.end()) return false;
  *it = pods.back();
  pods.pop_back();
  return true;
}

std::int64_t amount(const PodInfo& pod, ResourceId resource) {
  return resource == kPods ? 1 : pod.requests[resource];
}

}  // namespace

void NodeView::add(const PodInfo& pod) {
  if (!take(removed_, pod)) added_.push_back(&pod);
}

void NodeView::remove(const PodInfo& pod) {
  if (!take(added_, pod)) removed_.push_back(&pod);
}

std::int64_t NodeView::used(ResourceId resource) const {
  std::int64_t sum = nodes_.used(resource, row_);
  for (const PodInfo* pod : removed_) sum -= amount(*pod, resource);
  for (const PodInfo* pod : added_)
    if (__builtin_add_overflow(sum, amount(*pod, resource), &sum)) return INT64_MAX;
  return sum;
}

bool NodeView::collides(std::span<const HostPort> ports) const {
  if (ports.empty()) return false;
  for (const PodInfo* pod : added_)
    if (collide(ports, pod->ports)) return true;
  if (!collide(ports, nodes_.ports(row_))) return false;
  return removed_.empty() ||
         std::any_of(nodes_.pods(row_).begin(), nodes_.pods(row_).end(), [&](const PodInfo* pod) {
           return collide(ports, pod->ports) &&
                  std::find(removed_.begin(), removed_.end(), pod) == removed_.end();
         });
}

std::vector<const PodInfo*> NodeView::pods() const {
  const auto there = nodes_.pods(row_);
  std::vector<const PodInfo*> all(there.begin(), there.end());
  for (const PodInfo* pod : removed_) take(all, *pod);
  all.insert(all.end(), added_.begin(), added_.end());
  return all;
}

}  // namespace koord::scheduling
