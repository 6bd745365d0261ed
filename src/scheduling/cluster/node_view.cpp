// NodeView: see node_view.hpp.
#include "koord/scheduling/cluster/node_view.hpp"

#include <algorithm>
#include <limits>

namespace koord::scheduling {

namespace {

/// Takes one mention of it out; false: there was none.
bool take_out(std::vector<const PodInfo*>& pods, const PodInfo& pod) {
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
  if (!take_out(removed_, pod)) added_.push_back(&pod);
}

void NodeView::remove(const PodInfo& pod) {
  if (!take_out(added_, pod)) removed_.push_back(&pod);
}

void NodeView::use(ResourceId resource, std::int64_t amount) {
  const auto it = std::ranges::find(amounts_, resource, &Amount::resource);
  if (it == amounts_.end()) {
    amounts_.push_back({resource, amount});
  } else if (const std::int64_t before = it->amount; __builtin_add_overflow(before, amount, &it->amount)) {
    it->amount = before > 0 ? INT64_MAX : INT64_MIN;
  }
}

std::int64_t NodeView::used(ResourceId resource) const {
  // Amounts may be as large as a number can be, and less than nothing where what is removed counted once
  // with something else; what is left can be reckoned all the same.
  __extension__ using Wide = __int128;
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  Wide sum = nodes_.used(resource, row_);
  for (const PodInfo* pod : removed_) sum -= amount(*pod, resource);
  for (const Amount& a : amounts_)
    if (a.resource == resource) sum += a.amount;
  for (const PodInfo* pod : added_) sum += amount(*pod, resource);
  return static_cast<std::int64_t>(std::clamp<Wide>(sum, -kMost / 2, kMost));
}

bool NodeView::collides(std::span<const HostPort> ports) const {
  if (ports.empty()) return false;
  for (const PodInfo* pod : added_)
    if (collide(ports, pod->ports)) return true;
  if (collide(ports, taken_)) return true;
  const std::span<const HostPort> there = nodes_.ports(row_);
  if (!collide(ports, there)) return false;
  if (removed_.empty() && freed_.empty()) return true;
  std::vector<HostPort> left(there.begin(), there.end());
  const auto let_go = [&](const HostPort& port) {
    if (const auto it = std::find(left.begin(), left.end(), port); it != left.end()) left.erase(it);
  };
  for (const PodInfo* pod : removed_) std::for_each(pod->ports.begin(), pod->ports.end(), let_go);
  std::for_each(freed_.begin(), freed_.end(), let_go);
  return collide(ports, left);
}

std::vector<const PodInfo*> NodeView::pods() const {
  const auto there = nodes_.pods(row_);
  std::vector<const PodInfo*> all(there.begin(), there.end());
  for (const PodInfo* pod : removed_) take_out(all, *pod);
  all.insert(all.end(), added_.begin(), added_.end());
  return all;
}

}  // namespace koord::scheduling
