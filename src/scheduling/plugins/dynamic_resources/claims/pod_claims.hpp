// The resource claims of a pod, and why it cannot be placed with them yet.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/resource_v1/device_class.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/base/result.hpp"
#include "koord/scheduling/plugin/status_code.hpp"
#include "scheduling/plugins/dynamic_resources/pools/features.hpp"

namespace koord::scheduling::dynamic_resources {

/// The finalizer of claims that have devices.
inline constexpr std::string_view kDeleteProtection = "resource.kubernetes.io/delete-protection";

/// Of an entry of a pod's spec.resourceClaims: the claim, which is in the pod's namespace.
struct ClaimName {
  std::string name;     // empty: none was needed, and none was made
  bool is_own = false;  // made for the pod from a template: it must be its owner
};

/// The error (Code::invalid) is kube-scheduler's: its claim is not made yet, or it names neither a claim nor
/// a template.
Result<ClaimName> claim_name(const api::Pod& pod, const api::PodResourceClaim& entry);

/// Whether the pod names a claim of that name and namespace, itself or in its status.
bool names_claim(const api::Pod& pod, const api::ObjectMeta& claim);

/// Whether the pod controls the claim.
bool is_for(const api::Pod& pod, const api::ResourceClaim& claim);
/// Whether the claim is kept for the pod.
bool is_reserved_for(const api::Pod& pod, const api::ResourceClaim& claim);

/// The claims by name, of the pod's namespace; nullptr if there is none.
using ClaimLookup = std::function<const api::ResourceClaim*(std::string_view name)>;

/// In the pod's order. The error (Code::invalid) keeps the pod out of the queue until its claims change, and
/// is kube-scheduler's: a claim is not there, or going, or another's.
Result<std::vector<const api::ResourceClaim*>> claims_of(const api::Pod& pod, const ClaimLookup& claims);

/// Why a pod is not tried on any node.
struct NotNow {
  StatusCode code;  // unresolvable, or error
  std::string message;
};

/// PreFilter: what speaks against the claims before nodes are looked at, in kube-scheduler's words.
/// `pending`: whether somebody's allocation of the claim is being written.
std::optional<NotNow> why_not_now(const std::vector<const api::ResourceClaim*>& claims,
                                  const std::function<const api::DeviceClass*(std::string_view)>& classes,
                                  const std::function<bool(const api::ResourceClaim&)>& pending,
                                  const Features& features);

}  // namespace koord::scheduling::dynamic_resources
