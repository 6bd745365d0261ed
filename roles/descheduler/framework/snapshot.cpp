// See snapshot.hpp.
#include "framework/snapshot.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

namespace koord::descheduler {

namespace {

constexpr auto kByName = [](const auto& object) -> const std::string& { return object->metadata.name; };

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

bool is_ready(const api::Node& node) {
  return std::ranges::none_of(node.status.conditions, [](const api::NodeCondition& condition) {
    return condition.type == "Ready" && condition.status != "True";
  });
}

template <class T>
const T* find_by_name(const std::vector<std::shared_ptr<const T>>& objects, std::string_view name) {
  const auto it = std::ranges::lower_bound(objects, name, {}, kByName);
  return it != objects.end() && (*it)->metadata.name == name ? it->get() : nullptr;
}

/// By node's name, then by namespace and name: into buckets of the nodes first, as there are few pods on
/// each.
void sort_pods(std::vector<PodPtr>& pods) {
  std::unordered_map<Symbol, std::uint32_t> known;
  std::vector<std::uint32_t> bucket_of(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i)
    bucket_of[i] =
        known.try_emplace(pods[i]->spec.node_name, static_cast<std::uint32_t>(known.size())).first->second;
  std::vector<std::pair<std::string_view, std::uint32_t>> names;
  names.reserve(known.size());
  for (const auto& [name, bucket] : known) names.emplace_back(name.view(), bucket);
  std::ranges::sort(names);
  std::vector<std::size_t> size(names.size()), next(names.size());
  for (const std::uint32_t bucket : bucket_of) ++size[bucket];
  std::size_t at = 0;
  for (const auto& [name, bucket] : names) {
    next[bucket] = at;
    at += size[bucket];
  }
  std::vector<PodPtr> sorted(pods.size());
  for (std::size_t i = 0; i < pods.size(); ++i) sorted[next[bucket_of[i]]++] = std::move(pods[i]);
  const auto before = [](const PodPtr& a, const PodPtr& b) {
    const api::ObjectMeta &one = a->metadata, &other = b->metadata;
    return one.namespace_ == other.namespace_ ? one.name < other.name : one.namespace_ < other.namespace_;
  };
  for (std::size_t bucket = 0; bucket < next.size(); ++bucket)
    std::sort(sorted.begin() + static_cast<std::ptrdiff_t>(next[bucket] - size[bucket]),
              sorted.begin() + static_cast<std::ptrdiff_t>(next[bucket]), before);
  pods = std::move(sorted);
}

}  // namespace

Snapshot::Snapshot(SnapshotObjects objects, WallTime now)
    : objects_(std::move(objects)), now_(now), id_(next_id()) {
  std::ranges::sort(objects_.nodes, {}, kByName);
  std::ranges::sort(objects_.node_metrics, {}, kByName);
  std::ranges::sort(objects_.namespaces, {}, kByName);
  std::ranges::sort(objects_.priority_classes, {}, kByName);
  sort_pods(objects_.pods);
  const auto on_node = [](const PodPtr& pod) { return pod->spec.node_name.view(); };
  nodes_.reserve(objects_.nodes.size());
  auto from = objects_.pods.begin();
  for (const auto& node : objects_.nodes) {
    const std::string_view name = node->metadata.name;
    from = std::ranges::lower_bound(from, objects_.pods.end(), name, {}, on_node);
    const auto to = std::ranges::upper_bound(from, objects_.pods.end(), name, {}, on_node);
    const auto metric = std::ranges::lower_bound(objects_.node_metrics, name, {}, kByName);
    const bool measured = metric != objects_.node_metrics.end() && (*metric)->metadata.name == name;
    nodes_.push_back({node, std::span(from, to), measured ? *metric : nullptr, is_ready(*node)});
    from = to;
  }
}

const NodeView* Snapshot::node(std::string_view name) const {
  const auto it = std::ranges::lower_bound(
      nodes_, name, {}, [](const NodeView& view) -> const std::string& { return view.node->metadata.name; });
  return it != nodes_.end() && it->node->metadata.name == name ? &*it : nullptr;
}

const api::Namespace* Snapshot::find_namespace(std::string_view name) const {
  return find_by_name(objects_.namespaces, name);
}

const api::PriorityClass* Snapshot::priority_class(std::string_view name) const {
  return find_by_name(objects_.priority_classes, name);
}

}  // namespace koord::descheduler
