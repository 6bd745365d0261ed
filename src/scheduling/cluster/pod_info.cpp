// Reading a pod once: see pod_info.hpp.
#include "koord/scheduling/cluster/pod_info.hpp"

#include <algorithm>

#include "koord/api/rules/pod_requests.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"

namespace koord::scheduling {

namespace {

bool is_sidecar(const api::Container& c) { return c.restart_policy == "Always"; }

}  // namespace

std::vector<HostPort> host_ports(const api::Pod& pod) {
  static const Symbol kTcp("TCP");
  std::vector<HostPort> ports;
  auto take = [&](const api::Container& c) {
    for (const api::ContainerPort& p : c.ports)
      if (p.host_port > 0)
        ports.push_back({p.host_ip == "0.0.0.0" ? Symbol() : p.host_ip,
                         p.protocol.empty() ? kTcp : p.protocol, p.host_port});
  };
  for (const auto& c : pod.spec.init_containers)
    if (is_sidecar(c)) take(c);
  for (const auto& c : pod.spec.containers) take(c);
  return ports;
}

PodInfo make_pod_info(std::shared_ptr<const api::Pod> pod, ResourceNames& resources) {
  PodInfo info;
  for (const auto& [name, asked] : api::pod_requests(*pod)) {
    // The API server refuses less than nothing.
    const api::Quantity quantity = asked.sign() < 0 ? api::Quantity() : asked;
    switch (fixed_resource(name)) {
      case kCpu: info.requests.cpu = quantity.milli_value(); break;
      case kMemory: info.requests.memory = quantity.value(); break;
      case kStorage: info.requests.storage = quantity.value(); break;
      case kPods: break;  // each pod is one
      default:
        if (std::int64_t v = is_scalar_resource(name) ? quantity.value() : 0; v != 0)
          info.requests.scalars.push_back({resources.id(name), v});
    }
  }
  std::sort(info.requests.scalars.begin(), info.requests.scalars.end(),
            [](const Amount& a, const Amount& b) { return a.resource < b.resource; });
  api::NonZeroRequests counted = api::non_zero_requests(*pod);
  info.requests.nonzero_cpu = std::max<std::int64_t>(counted.milli_cpu, 0);
  info.requests.nonzero_memory = std::max<std::int64_t>(counted.memory, 0);
  info.ports = host_ports(*pod);
  info.priority = pod->spec.priority.value_or(0);
  info.pod = std::move(pod);
  return info;
}

std::string pod_key(const api::Pod& pod) {
  if (is_placeholder(pod)) return pod.metadata.name;
  std::string key;
  key.reserve(pod.metadata.namespace_.size() + 1 + pod.metadata.name.size());
  return key.append(pod.metadata.namespace_.view()).append("/").append(pod.metadata.name);
}

bool is_same(const PodInfo& a, const PodInfo& b) { return a.pod->metadata.uid == b.pod->metadata.uid; }

bool is_finished(const api::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

}  // namespace koord::scheduling
