// What a pod asks for: requests and limits, quality of service, priority; and Koordinator's classes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

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
/// Guaranteed, Burstable or BestEffort: as the status says, or computed.
std::string_view pod_qos(const Pod& pod);
std::string_view compute_pod_qos(const PodSpec& spec);
/// 0 if there is none.
std::int32_t pod_priority(const Pod& pod);

/// Koordinator's quality of service (label koordinator.sh/qosClass).
enum class KoordQos : std::uint8_t { none, lse, lsr, ls, be, system };
std::string_view to_string(KoordQos qos);    // "" for none
KoordQos parse_koord_qos(std::string_view);  // none if unknown
KoordQos koord_qos(const Pod& pod);
/// Guaranteed -> LSR, Burstable -> LS, BestEffort -> BE where the label does not say.
KoordQos koord_qos_with_default(const Pod& pod);

/// Koordinator's priority classes (label koordinator.sh/priority-class, else bands of spec.priority).
enum class KoordPriority : std::uint8_t { none, prod, mid, batch, free };
std::string_view to_string(KoordPriority priority);  // koord-prod ...; "" for none
KoordPriority parse_koord_priority(std::string_view);
/// prod 9000-9999, mid 7000-7999, batch 5000-5999, free 3000-3999, else none.
KoordPriority koord_priority_of(std::optional<std::int32_t> priority);
KoordPriority koord_priority(const Pod& pod);
/// By quality of service where neither says: BE -> batch, the others -> prod.
KoordPriority koord_priority_with_default(const Pod& pod);

}  // namespace koord::api
