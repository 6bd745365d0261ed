// Reading a pod once: its requests, its host ports, and what the engine asks about it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "koord/scheduling/cluster/host_ports.hpp"
#include "koord/scheduling/cluster/label_set.hpp"
#include "koord/scheduling/cluster/resources.hpp"
#include "koord/scheduling/cluster/slots.hpp"

namespace koord::api {
struct Pod;
}

namespace koord::scheduling {

/// A pod with what is read off it once: how much it asks for, and where it must not meet others.
struct PodInfo {
  std::shared_ptr<const api::Pod> pod;
  Requests requests;
  std::vector<HostPort> ports;
  std::int32_t priority = 0;
  /// Of the node table, while the pod counts there: its place among the pods of its row.
  mutable std::uint32_t place = 0;
  /// Of PodSelectors.
  mutable PodLabels labels = {};
  // Of plugins, on the engine's thread only.
  /// What they read of the object: it goes when what others may read of the pod is another.
  mutable Slots read = {};
  /// What they keep with the pod (what it was given): it stays for as long as the engine knows of the pod,
  /// whatever its object becomes.
  mutable Slots kept = {};
};

/// Requests as Kubernetes 1.35 computes them (sidecars, overhead, pod-level resources, resizes in progress).
PodInfo make_pod_info(std::shared_ptr<const api::Pod> pod, ResourceNames& resources);

/// Of its containers and sidecars, protocol TCP where none is written.
std::vector<HostPort> host_ports(const api::Pod& pod);

/// "namespace/name"; of a placeholder its name alone, which no pod has.
std::string pod_key(const api::Pod& pod);

/// Of one object, as it is and as it was.
bool is_same(const PodInfo& a, const PodInfo& b);

/// Succeeded or Failed: it takes nothing from its node any more.
bool is_finished(const api::Pod& pod);

}  // namespace koord::scheduling
