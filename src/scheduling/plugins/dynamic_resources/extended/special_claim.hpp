// The claim that the scheduler makes for a pod's extended resources.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "scheduling/plugins/dynamic_resources/extended/device_asks.hpp"

namespace koord::scheduling::dynamic_resources {

/// Says of a claim, with "true", that a scheduler made it for the pod that controls it.
inline constexpr std::string_view kSpecialAnnotation = "resource.kubernetes.io/extended-resource-claim";
/// What messages call it before it is created; no claim can have the name.
inline constexpr std::string_view kSpecialName = "<extended-resources>";

/// Of the pod, with these requests; named kSpecialName and not created. Its uid is the pod's until it is.
api::ResourceClaim special_claim(const api::Pod& pod, std::vector<api::DeviceRequest> requests);
/// The same as it is created: the API server names it, "POD-extended-resources-...".
api::ResourceClaim to_create(const api::ResourceClaim& claim);
/// As it counts until the API server tells of it: by a name that is its pod's alone.
api::ResourceClaim to_reserve(const api::ResourceClaim& claim);

/// Whether it was made for the pod.
bool is_special(const api::ResourceClaim& claim, const api::Pod& pod);

/// The strategic merge patch of the pod's status that names the claim, and what each container gets of it.
std::string mapping_patch(std::string_view claim, std::span<const RequestMapping> mappings);

/// The special claims that the API server tells of, by the pods that control them. One thread.
class SpecialClaims {
 public:
  void changed(const api::ResourceClaim* before, const api::ResourceClaim* now);
  /// The name of the pod's; empty: it has none. Of several one.
  std::string_view of(const api::Pod& pod) const;

 private:
  std::unordered_map<std::string, std::vector<std::string>> names_;  // by the pod's uid
};

}  // namespace koord::scheduling::dynamic_resources
