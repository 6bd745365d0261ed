// See cluster.hpp.
#include "plugins/low_node_load/cluster.hpp"

#include <algorithm>
#include <tuple>

#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler::low_node_load {

namespace {

using Names = std::tuple<std::string_view, std::string_view>;
using PodUsage = std::pair<Names, const api::ResourceList*>;

std::int64_t amount(const api::Quantity& quantity, std::string_view resource) {
  return resource == "cpu" ? quantity.milli_value() : quantity.value();
}

std::int64_t amount(const api::ResourceList& all, std::string_view resource) {
  const api::Quantity* const quantity = all.find(resource);
  return quantity != nullptr ? amount(*quantity, resource) : 0;
}

Amounts capacity_of(const api::Node& node, const Thresholds& thresholds) {
  // A text that cannot be read says nothing, as for Koordinator.
  const auto raw =
      api::read_annotation<api::AnnotatedResources>(node.metadata.annotations, api::kRawAllocatable);
  Amounts capacity;
  for (const Symbol& resource : thresholds.resources) {
    const api::Quantity* before = raw && *raw ? (*raw)->resources.find(resource.view()) : nullptr;
    capacity.push_back(before != nullptr ? amount(*before, resource.view())
                                         : amount(node.status.allocatable, resource.view()));
  }
  return capacity;
}

bool is_prod(const api::Pod& pod) {
  return api::with_default(api::koord_priority(pod),
                           api::with_default(api::koord_qos(pod), api::kube_qos(pod))) ==
         api::KoordPriority::prod;
}

NodeLoad load_of(const NodeView& node, const api::NodeMetricStatus& status, const Thresholds& thresholds) {
  const std::size_t count = thresholds.resources.size();
  NodeLoad load{.name = node.node->metadata.name,
                .view = &node,
                .schedulable = !node.node->spec.unschedulable,
                .capacity = capacity_of(*node.node, thresholds),
                .usage = Amounts(count),
                .prod_usage = Amounts(count)};
  std::vector<PodUsage> reported;
  reported.reserve(status.pods_metric.size());
  for (const api::PodMetricInfo& pod : status.pods_metric)
    reported.emplace_back(Names{pod.namespace_.view(), pod.name}, &pod.pod_usage.resources);
  std::ranges::stable_sort(reported, {}, &PodUsage::first);

  // Sums are rounded at the end: many pods use less than a unit. Of each report what it says of each
  // resource; nullptr: nothing.
  std::vector<const api::Quantity*> said(reported.size() * count);
  std::vector<api::Quantity> used(count), prod(count);
  for (std::size_t r = 0; r < count; ++r) {
    const std::string_view resource = thresholds.resources[r].view();
    if (resource == "pods") continue;
    const api::Quantity* const system = status.node_metric->system_usage.resources.find(resource);
    if (system != nullptr) used[r] += *system;
    for (std::size_t i = 0; i < reported.size(); ++i) {
      const api::Quantity* const quantity = reported[i].second->find(resource);
      said[i * count + r] = quantity;
      if (quantity != nullptr) used[r] += *quantity;
    }
  }
  load.pods.reserve(node.pods.size());
  std::int64_t pods = 0, prod_pods = 0;
  for (const PodPtr& pod : node.pods) {
    if (has_ended(*pod)) continue;
    PodLoad& each = load.pods.emplace_back(PodLoad{.pod = pod, .usage = {}, .prod = is_prod(*pod)});
    ++pods;
    if (each.prod) ++prod_pods;
    const Names name{pod->metadata.namespace_.view(), pod->metadata.name};
    const auto found = std::ranges::lower_bound(reported, name, {}, &PodUsage::first);
    if (found == reported.end() || found->first != name) continue;
    Amounts& usage = each.usage.emplace(count);
    const auto* const its = &said[static_cast<std::size_t>(found - reported.begin()) * count];
    for (std::size_t r = 0; r < count; ++r) {
      if (its[r] == nullptr) continue;
      usage[r] = amount(*its[r], thresholds.resources[r].view());
      if (each.prod) prod[r] += *its[r];
    }
  }
  for (std::size_t r = 0; r < count; ++r) {
    const std::string_view resource = thresholds.resources[r].view();
    load.usage[r] = resource == "pods" ? pods : amount(used[r], resource);
    load.prod_usage[r] = resource == "pods" ? prod_pods : amount(prod[r], resource);
  }
  return load;
}

}  // namespace

std::vector<NodeLoad> loads_of(
    std::span<const NodeView* const> nodes, const Thresholds& thresholds, std::chrono::seconds expires,
    WallTime now, const std::function<void(std::string_view node, std::string_view why)>& left_out) {
  std::vector<NodeLoad> loads;
  loads.reserve(nodes.size());
  for (const NodeView* node : nodes) {
    const std::string& name = node->node->metadata.name;
    if (!node->metric) {
      left_out(name, "it has no NodeMetric");
      continue;
    }
    const api::NodeMetricStatus& status = node->metric->status;
    if (!status.node_metric || !status.update_time) {
      left_out(name, "its NodeMetric reports nothing");
      continue;
    }
    if (now - status.update_time->wall() >= expires) {
      left_out(name, "its NodeMetric has expired");
      continue;
    }
    loads.push_back(load_of(*node, status, thresholds));
  }
  return loads;
}

}  // namespace koord::descheduler::low_node_load
