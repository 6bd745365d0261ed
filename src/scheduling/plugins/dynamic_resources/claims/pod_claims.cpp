// A pod's claims: see pod_claims.hpp.
#include "scheduling/plugins/dynamic_resources/claims/pod_claims.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::scheduling::dynamic_resources {

namespace {

std::string place_of(const api::ObjectMeta& meta) {
  return fmt::format("{}/{}", meta.namespace_.view(), meta.name);
}

Error refused(std::string message) { return Error(Code::invalid, std::move(message)); }

}  // namespace

Result<ClaimName> claim_name(const api::Pod& pod, const api::PodResourceClaim& entry) {
  if (!entry.resource_claim_name.empty()) return ClaimName{entry.resource_claim_name, false};
  if (entry.resource_claim_template_name.empty())
    return refused(fmt::format("pod \"{}\", spec.resourceClaim \"{}\": none of the supported fields are set",
                               place_of(pod.metadata), entry.name.view()));
  const auto& made = pod.status.resource_claim_statuses;
  const auto found = std::ranges::find(made, entry.name, &api::PodResourceClaimStatus::name);
  if (found == made.end())
    return refused(fmt::format("pod \"{}\": ResourceClaim not created yet", place_of(pod.metadata)));
  return ClaimName{found->resource_claim_name, true};
}

bool names_claim(const api::Pod& pod, const api::ObjectMeta& claim) {
  if (claim.namespace_ != pod.metadata.namespace_) return false;
  const auto is = [&](const auto& entry) { return entry.resource_claim_name == claim.name; };
  return std::ranges::any_of(pod.spec.resource_claims, is) ||
         std::ranges::any_of(pod.status.resource_claim_statuses, is);
}

bool is_for(const api::Pod& pod, const api::ResourceClaim& claim) {
  if (claim.metadata.namespace_ != pod.metadata.namespace_) return false;
  const api::OwnerReference* owner = api::controller_of(claim.metadata);
  return owner != nullptr && owner->uid == pod.metadata.uid;
}

bool is_reserved_for(const api::Pod& pod, const api::ResourceClaim& claim) {
  return std::ranges::any_of(
      claim.status.reserved_for,
      [&](const api::ResourceClaimConsumerReference& consumer) { return consumer.uid == pod.metadata.uid; });
}

Result<std::vector<const api::ResourceClaim*>> claims_of(const api::Pod& pod, const ClaimLookup& claims) {
  std::vector<const api::ResourceClaim*> all;
  for (const api::PodResourceClaim& entry : pod.spec.resource_claims) {
    KOORD_TRY(named, claim_name(pod, entry));
    if (named.name.empty()) continue;
    const api::ResourceClaim* claim = claims(named.name);
    if (claim == nullptr)
      return refused(
          fmt::format("could not find ResourceClaim \"{}/{}\"", pod.metadata.namespace_.view(), named.name));
    if (claim->metadata.deletion_timestamp)
      return refused(fmt::format("resourceclaim \"{}\" is being deleted", claim->metadata.name));
    if (named.is_own && !is_for(pod, *claim))
      return refused(fmt::format("ResourceClaim {} was not created for pod {} (pod is not owner)",
                                 place_of(claim->metadata), place_of(pod.metadata)));
    all.push_back(claim);
  }
  return all;
}

std::optional<NotNow> why_not_now(const std::vector<const api::ResourceClaim*>& claims,
                                  const std::function<const api::DeviceClass*(std::string_view)>& classes,
                                  const std::function<bool(const api::ResourceClaim&)>& pending,
                                  const Features& features) {
  const auto wait = [](std::string message) { return NotNow{StatusCode::unresolvable, std::move(message)}; };
  const auto class_missing = [&](const std::string& request, const Symbol& name) -> std::optional<NotNow> {
    if (name.empty())
      return NotNow{StatusCode::error, fmt::format("request {}: unsupported request type", request)};
    if (classes(name) != nullptr) return {};
    return wait(fmt::format("request {}: device class {} does not exist", request, name.view()));
  };
  for (const api::ResourceClaim* claim : claims) {
    if (claim->status.allocation) continue;
    if (pending(*claim))
      return wait(
          fmt::format("resource claim {} is in the process of being allocated", place_of(claim->metadata)));
    for (const api::DeviceRequest& request : claim->spec.devices.requests) {
      const auto unsupported = [&](std::string_view why) {
        return wait(fmt::format("resource claim {}, request {}: {}", place_of(claim->metadata),
                                request.name.view(), why));
      };
      if (request.exactly) {
        if (auto missing = class_missing(request.name.str(), request.exactly->device_class_name))
          return missing;
        continue;
      }
      if (request.first_available.empty()) return unsupported("unknown request type");
      if (!features.prioritized_list)
        return unsupported("has subrequests, but the DRAPrioritizedList feature is disabled");
      for (const api::DeviceSubRequest& sub : request.first_available)
        if (auto missing = class_missing(fmt::format("{}/{}", request.name.view(), sub.name.view()),
                                         sub.device_class_name))
          return missing;
    }
  }
  return {};
}

}  // namespace koord::scheduling::dynamic_resources
