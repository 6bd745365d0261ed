// The claim that the scheduler makes for a pod's extended resources: see special_claim.hpp.
#include "scheduling/plugins/dynamic_resources/extended/special_claim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "koord/json/writer.hpp"

namespace koord::scheduling::dynamic_resources {

namespace {

bool is_made_by_scheduler(const api::ResourceClaim& claim) {
  return api::value_or(claim.metadata.annotations, kSpecialAnnotation) == "true";
}

/// Visits the uids of those that control it.
template <class Visit>
void each_owner(const api::ResourceClaim* claim, Visit&& visit) {
  if (claim == nullptr || !is_made_by_scheduler(*claim)) return;
  for (const api::OwnerReference& owner : claim->metadata.owner_references)
    if (owner.controller.value_or(false)) visit(owner.uid.str());
}

}  // namespace

api::ResourceClaim special_claim(const api::Pod& pod, std::vector<api::DeviceRequest> requests) {
  api::ResourceClaim claim;
  claim.metadata.namespace_ = pod.metadata.namespace_;
  claim.metadata.name = kSpecialName;
  claim.metadata.uid = pod.metadata.uid;
  claim.metadata.generate_name = fmt::format("{}-extended-resources-", pod.metadata.name);
  api::OwnerReference& owner = claim.metadata.owner_references.emplace_back();
  owner.api_version = "v1";
  owner.kind = "Pod";
  owner.name = pod.metadata.name;
  owner.uid = pod.metadata.uid;
  owner.controller = true;
  claim.metadata.annotations[Symbol(kSpecialAnnotation)] = "true";
  claim.spec.devices.requests = requests;
  return claim;
}

api::ResourceClaim to_create(const api::ResourceClaim& claim) {
  api::ResourceClaim made = claim;
  made.metadata.name.clear();
  made.metadata.uid.clear();
  made.status = {};
  return made;
}

api::ResourceClaim to_reserve(const api::ResourceClaim& claim) {
  api::ResourceClaim made = claim;
  made.metadata.name = fmt::format("{}/{}", kSpecialName, claim.metadata.uid);
  return made;
}

bool is_special(const api::ResourceClaim& claim, const api::Pod& pod) {
  return is_made_by_scheduler(claim) &&
         std::ranges::any_of(claim.metadata.owner_references, [&](const api::OwnerReference& owner) {
           return owner.controller.value_or(false) && owner.name == pod.metadata.name &&
                  owner.uid == pod.metadata.uid;
         });
}

std::string mapping_patch(std::string_view claim, std::span<const RequestMapping> mappings) {
  std::string body;
  json::Writer json(body);
  json.begin_object().key("status").begin_object();
  json.key("extendedResourceClaimStatus").begin_object().key("requestMappings").begin_array();
  for (const RequestMapping& each : mappings) {
    json.begin_object().member("containerName", each.container.view());
    json.member("resourceName", each.resource.view()).member("requestName", each.request.view()).end_object();
  }
  json.end_array().member("resourceClaimName", claim).end_object().end_object().end_object();
  return body;
}

void SpecialClaims::changed(const api::ResourceClaim* before, const api::ResourceClaim* now) {
  each_owner(before, [&](const std::string& uid) {
    const auto known = names_.find(uid);
    if (known == names_.end()) return;
    std::erase(known->second, before->metadata.name);
    if (known->second.empty()) names_.erase(known);
  });
  each_owner(now, [&](const std::string& uid) { names_[uid].push_back(now->metadata.name); });
}

std::string_view SpecialClaims::of(const api::Pod& pod) const {
  if (names_.empty()) return {};
  const auto known = names_.find(pod.metadata.uid);
  return known != names_.end() ? std::string_view(known->second.front()) : std::string_view();
}

}  // namespace koord::scheduling::dynamic_resources
