// ResourceGauges: see resource_gauges.hpp.
#include "framework/serve/resource_gauges.hpp"

#include <algorithm>
#include <array>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::koordlet {

namespace {

constexpr std::array kExtended = {api::kBatchCpu, api::kBatchMemory, api::kMidCpu, api::kMidMemory};

constexpr metrics::Labels kOfContainers = {"resource",      "unit",         "pod_uid",       "pod_name",
                                           "pod_namespace", "container_id", "container_name"};
constexpr metrics::Metric kStart{.name = "koordlet_start_time",
                                 .type = metrics::Type::gauge,
                                 .help = "When the agent started, in seconds since 1970."};
constexpr metrics::Metric kAllocatable{.name = "koordlet_node_resource_allocatable",
                                       .type = metrics::Type::gauge,
                                       .help = "What the node has of batch and mid resources.",
                                       .labels = {"resource", "unit"}};
constexpr metrics::Metric kRequests{.name = "koordlet_container_resource_requests",
                                    .type = metrics::Type::gauge,
                                    .help = "What a container requests of batch and mid resources.",
                                    .labels = kOfContainers};
constexpr metrics::Metric kLimits{.name = "koordlet_container_resource_limits",
                                  .type = metrics::Type::gauge,
                                  .help = "What a container may use of batch and mid resources.",
                                  .labels = kOfContainers};

const api::Container* find(const api::Pod& pod, std::string_view name) {
  for (const api::Container& container : pod.spec.containers)
    if (container.name.view() == name) return &container;
  return nullptr;
}

}  // namespace

const metrics::Table ResourceGauges::kInternal = {&kStart};
const metrics::Table ResourceGauges::kExternal = {&kAllocatable, &kRequests, &kLimits};

ResourceGauges::ResourceGauges(metrics::Registry& internal, metrics::Registry& external, WallTime start)
    : allocatable_(external.gauges(kAllocatable)),
      requests_(external.gauges(kRequests)),
      limits_(external.gauges(kLimits)) {
  internal.gauge(kStart).set(
      static_cast<double>(std::chrono::floor<std::chrono::seconds>(start.time_since_epoch()).count()));
}

void ResourceGauges::inventory(const Inventory& now) {
  requests_.clear();
  limits_.clear();
  for (const auto& pod : now.pods) {
    if (!pod->object) continue;
    for (const ContainerInfo& container : pod->containers) {
      const api::Container* const spec = find(*pod->object, container.name);
      if (spec == nullptr) continue;
      const std::string& id = container.full_id;
      // The units are the original's, whatever the resource is.
      auto set = [&](const auto& family, const api::ResourceList& list, std::string_view unit) {
        for (const std::string_view name : kExtended)
          if (const api::Quantity* amount = list.find(name))
            family.with({name, unit, pod->uid, pod->name, pod->ns, id, container.name})
                .set(static_cast<double>(amount->value()));
      };
      set(requests_, spec->resources.requests, "integer");
      set(limits_, spec->resources.limits, "byte");
    }
  }
  allocatable_.clear();
  if (now.node.allocatable_milli_cpu == 0 && now.node.allocatable_memory == 0) return;  // not known yet
  // What the node does not have it has nothing of: as in the original.
  for (const std::string_view name : kExtended) {
    const auto& all = now.node.extended;
    const auto it = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    allocatable_.with({name, name.ends_with("cpu") ? "integer" : "byte"})
        .set(it != all.end() ? static_cast<double>(it->value) : 0);
  }
}

}  // namespace koord::koordlet
