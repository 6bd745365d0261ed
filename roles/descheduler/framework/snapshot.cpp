// See snapshot.hpp.
#include "framework/snapshot.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"

namespace koord::descheduler {

namespace {

constexpr auto kByName = [](const auto& object) -> const std::string& { return object->metadata.name; };

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

}  // namespace

Snapshot::Snapshot(SnapshotObjects objects, WallTime now) : objects_(std::move(objects)), now_(now) {
  std::ranges::sort(objects_.nodes, {}, kByName);
  std::ranges::sort(objects_.node_metrics, {}, kByName);
  std::ranges::sort(objects_.namespaces, {}, kByName);
  std::ranges::sort(objects_.priority_classes, {}, kByName);
  const auto place = [](const PodPtr& pod) {
    return std::tuple<std::string_view, std::string_view, std::string_view>(
        pod->spec.node_name.view(), pod->metadata.namespace_.view(), pod->metadata.name);
  };
  std::ranges::sort(objects_.pods, {}, place);
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
