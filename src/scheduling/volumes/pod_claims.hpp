// The PersistentVolumeClaims of a pod, as all plugins about volumes see them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::api {
struct PersistentVolume;
struct PersistentVolumeClaim;
}  // namespace koord::api

namespace koord::scheduling::volumes {

/// A volume of a pod whose contents are a claim's, in the pod's namespace.
struct PodClaim {
  const api::Volume* volume;  // of the pod
  std::string name;           // the claim's
  bool ephemeral;             // made for the pod alone, by its own template: "<pod>-<volume>"
};

/// In the order of the pod's volumes.
std::vector<PodClaim> claims_of(const api::Pod& pod);
/// The same question without the names.
bool has_claims(const api::Pod& pod);
/// The pod has a volume of the claim of this name, which is in the pod's namespace or is not; makes no
/// strings, as it is asked for many pods when a claim changes.
bool names_claim(const api::Pod& pod, std::string_view ns, std::string_view name);

/// Whether the claim was made for this pod; of ephemeral ones alone.
bool made_for(const api::PersistentVolumeClaim& claim, const api::Pod& pod);
/// What is said when it was not.
std::string not_made_for(const api::PersistentVolumeClaim& claim, const api::Pod& pod);

/// The storage class that counts, by the old annotation first; empty: none.
std::string_view class_of(const api::PersistentVolumeClaim& claim);
std::string_view class_of(const api::PersistentVolume& volume);
/// It has a volume, and whoever binds volumes is through with it.
bool is_bound(const api::PersistentVolumeClaim& claim);

}  // namespace koord::scheduling::volumes
