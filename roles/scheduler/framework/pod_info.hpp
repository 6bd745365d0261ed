// Reading a pod once: its requests, its host ports, and what the engine asks about it.
#pragma once

#include <memory>
#include <string>

#include "framework/plugin.hpp"

namespace koord::scheduler {

/// Requests as Kubernetes 1.35 computes them (sidecars, overhead, pod-level resources, resizes in progress).
PodInfo make_pod_info(std::shared_ptr<const api::Pod> pod, ResourceNames& resources);

/// Of its containers and sidecars, protocol TCP where none is written.
std::vector<HostPort> host_ports(const api::Pod& pod);

/// "namespace/name"
std::string pod_key(const api::Pod& pod);

/// Succeeded or Failed: it takes nothing from its node any more.
bool is_finished(const api::Pod& pod);

}  // namespace koord::scheduler
