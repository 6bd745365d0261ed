// From a runtime's request to a pod: see requested_pod.hpp.
#include "framework/hooks/requested_pod.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "framework/objects/pod_info.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/host/cgroup_knobs.hpp"
#include "koord/host/cgroup_paths.hpp"

namespace koord::koordlet {

namespace {

constexpr std::int64_t kMilli = 1000, kSharesOfCpu = 1024, kMostShares = 262'144;

/// By the name of the folder that the kubelet has for the class.
std::string_view qos_class(std::string_view cgroup_parent) {
  if (cgroup_parent.find("besteffort") != std::string_view::npos) return "BestEffort";
  return cgroup_parent.find("burstable") != std::string_view::npos ? "Burstable" : "Guaranteed";
}

/// What the kubelet made of the container's spec, read backwards.
std::optional<std::int64_t> cpu_limit_milli(const RuntimeResources& from) {
  const std::int64_t period = from.cpu_period.value_or(0) > 0 ? *from.cpu_period : host::kDefaultPeriodUs;
  return from.cpu_quota ? quota_to_milli(*from.cpu_quota, period) : std::nullopt;
}
std::optional<std::int64_t> memory_limit(const RuntimeResources& from) {
  if (!from.memory_limit || *from.memory_limit <= 0) return std::nullopt;
  return from.memory_limit;
}

void read_resources(const RuntimeResources& from, api::Container& container) {
  if (from.cpu_shares && *from.cpu_shares > 2)
    container.resources.requests["cpu"] =
        api::Quantity::from_milli(std::min(*from.cpu_shares, kMostShares) * kMilli / kSharesOfCpu);
  if (const auto cpu = cpu_limit_milli(from))
    container.resources.limits["cpu"] = api::Quantity::from_milli(*cpu);
  if (const auto memory = memory_limit(from))
    container.resources.limits["memory"] = api::Quantity::from_int(*memory);
}

std::shared_ptr<const api::Pod> pod_of(const RuntimeRequest& request) {
  const RuntimeSandbox& sandbox = request.sandbox;
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.uid = sandbox.uid;
  pod->metadata.namespace_ = Symbol(sandbox.ns);
  pod->metadata.name = sandbox.name;
  for (const RuntimePair& label : sandbox.labels) pod->metadata.labels[label.name] = Symbol(label.value);
  for (const RuntimePair& one : sandbox.annotations) pod->metadata.annotations[one.name] = Symbol(one.value);
  pod->spec.runtime_class_name = Symbol(sandbox.runtime_handler);
  pod->status.phase = Symbol("Pending");
  pod->status.qos_class = Symbol(qos_class(sandbox.cgroup_parent));
  if (request.container) {
    api::Container container;
    container.name = Symbol(request.container->name);
    read_resources(request.container->resources, container);
    pod->spec.containers.push_back(std::move(container));
  }
  return pod;
}

}  // namespace

std::optional<std::int64_t> quota_to_milli(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || quota >= INT64_MAX / kMilli || period <= 0) return std::nullopt;
  return quota * kMilli / period;
}

ContainerInfo requested_container(const RuntimeRequest& request, const PodInfo& pod,
                                  host::CgroupDriver driver, std::vector<std::string>& warnings) {
  const RuntimeContainer& from = *request.container;
  ContainerInfo container;
  container.name = from.name;
  container.cpu_limit_milli = cpu_limit_milli(from.resources);
  container.memory_limit = memory_limit(from.resources);
  if (!from.resources.cpu_quota)
    for (const ContainerInfo& known : pod.containers)
      if (known.name == from.name) container.cpu_limit_milli = known.cpu_limit_milli;
  if (from.id.empty()) return container;
  container.full_id = fmt::format("{}://{}", request.runtime, from.id);
  const auto id = host::parse_container_id(container.full_id);
  if (!id) {
    warnings.push_back(fmt::format("container {}: {}", from.name, id.error().message()));
    return container;
  }
  container.id = id->id;
  container.group = fmt::format("{}/{}", pod.group, host::container_folder(driver, *id));
  return container;
}

HookTarget RequestedPod::target(const RuntimeRequest& request) const {
  HookTarget target{.level = container != nullptr ? HookLevel::container : HookLevel::sandbox,
                    .group = container != nullptr ? std::string_view(container->group) : pod->sandbox_group,
                    .pod = pod.get(),
                    .container = container};
  target.request = &request;
  return target;
}

Result<RequestedPod> read_request(const RuntimeRequest& request, host::CgroupDriver driver,
                                  std::string_view kubelet_root, PodTermsReaders readers) {
  KOORD_TRY(reading, read_pod(pod_of(request), driver, kubelet_root, readers));
  RequestedPod requested;
  requested.warnings = std::move(reading.warnings);
  auto pod = std::make_shared<PodInfo>(std::move(reading.info));
  // What one container says is not the pod's.
  pod->requests_unknown = true;
  pod->cpu_limit_milli.reset();
  pod->memory_limit.reset();
  if (!request.sandbox.id.empty()) {
    const auto id = host::parse_container_id(fmt::format("{}://{}", request.runtime, request.sandbox.id));
    if (id) pod->sandbox_group = fmt::format("{}/{}", pod->group, host::container_folder(driver, *id));
  }
  if (request.container) {
    pod->containers = {requested_container(request, *pod, driver, requested.warnings)};
    requested.container = &pod->containers.front();
  }
  requested.pod = std::move(pod);
  return requested;
}

}  // namespace koord::koordlet
