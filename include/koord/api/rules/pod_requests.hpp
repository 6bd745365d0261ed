// What a pod asks for: requests and limits, and the quality of service that follows from them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "koord/api/rules/kube_qos.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::api {

/// The defaults are those of Kubernetes 1.35's scheduler with its default gates.
struct PodRequestsOptions {
  /// While a resize is pending or under way, the most of what is asked, allocated and actuated counts
  /// (InPlacePodVerticalScaling).
  bool use_status = true;
  /// The same for pod-level resources (InPlacePodLevelResourcesVerticalScaling, alpha).
  bool use_pod_level_status = false;
  bool exclude_overhead = false;
  bool skip_pod_level = false;
  /// Requests of containers that name no amount themselves.
  const ResourceList* non_missing = nullptr;
};

/// Containers and sidecars added up, at least what the largest init container needs beside the sidecars
/// started before it; pod-level requests replace cpu, memory and huge pages; overhead is added.
ResourceList pod_requests(const Pod& pod, const PodRequestsOptions& options = {});
/// The same for limits; overhead is added to limits that are there and not zero.
ResourceList pod_limits(const Pod& pod, const PodRequestsOptions& options = {});

/// What the scheduler scores with: a container without a request counts as 100m and 200Mi.
struct NonZeroRequests {
  std::int64_t milli_cpu = 0;
  std::int64_t memory = 0;
};
NonZeroRequests non_zero_requests(const Pod& pod, const PodRequestsOptions& options = {});

/// cpu, memory and huge pages: what spec.resources may name.
bool is_pod_level_resource(std::string_view name);

}  // namespace koord::api
