// The claims of a pod: see pod_claims.hpp.
#include "scheduling/volumes/pod_claims.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"

namespace koord::scheduling::volumes {

namespace {

constexpr std::string_view kBetaClass = "volume.beta.kubernetes.io/storage-class";
constexpr std::string_view kBindCompleted = "pv.kubernetes.io/bind-completed";

}  // namespace

std::vector<PodClaim> claims_of(const api::Pod& pod) {
  std::vector<PodClaim> all;
  for (const api::Volume& v : pod.spec.volumes) {
    if (v.persistent_volume_claim) {
      all.push_back({&v, v.persistent_volume_claim->claim_name, false});
    } else if (v.ephemeral) {
      all.push_back({&v, fmt::format("{}-{}", pod.metadata.name, v.name.view()), true});
    }
  }
  return all;
}

bool has_claims(const api::Pod& pod) {
  return std::any_of(pod.spec.volumes.begin(), pod.spec.volumes.end(),
                     [](const api::Volume& v) { return v.persistent_volume_claim || v.ephemeral; });
}

bool names_claim(const api::Pod& pod, std::string_view ns, std::string_view name) {
  if (pod.metadata.namespace_.view() != ns) return false;
  const std::string_view own = pod.metadata.name;
  return std::any_of(pod.spec.volumes.begin(), pod.spec.volumes.end(), [&](const api::Volume& v) {
    if (v.persistent_volume_claim) return v.persistent_volume_claim->claim_name == name;
    return v.ephemeral && name.size() == own.size() + 1 + v.name.view().size() && name.starts_with(own) &&
           name[own.size()] == '-' && name.ends_with(v.name.view());
  });
}

bool made_for(const api::PersistentVolumeClaim& claim, const api::Pod& pod) {
  const api::OwnerReference* owner = controller_of(claim.metadata);
  return claim.metadata.namespace_ == pod.metadata.namespace_ && owner != nullptr &&
         owner->uid.view() == pod.metadata.uid;
}

std::string not_made_for(const api::PersistentVolumeClaim& claim, const api::Pod& pod) {
  return fmt::format("PVC {}/{} was not created for pod {}/{} (pod is not owner)",
                     claim.metadata.namespace_.view(), claim.metadata.name, pod.metadata.namespace_.view(),
                     pod.metadata.name);
}

std::string_view class_of(const api::PersistentVolumeClaim& claim) {
  if (const Symbol* beta = claim.metadata.annotations.find(kBetaClass)) return beta->view();
  return claim.spec.storage_class_name ? claim.spec.storage_class_name->view() : std::string_view();
}

std::string_view class_of(const api::PersistentVolume& volume) {
  if (const Symbol* beta = volume.metadata.annotations.find(kBetaClass)) return beta->view();
  return volume.spec.storage_class_name.view();
}

bool is_bound(const api::PersistentVolumeClaim& claim) {
  return !claim.spec.volume_name.empty() && claim.metadata.annotations.find(kBindCompleted) != nullptr;
}

}  // namespace koord::scheduling::volumes
