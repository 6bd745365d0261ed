// BindingWork: what VolumeBinding writes before a pod is bound, and what it waits for.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/scheduling/plugin/cycle_plugin.hpp"

namespace koord::api {
struct CsiNode;
}

namespace koord::scheduling::volume_binding {

/// A volume that is to be a claim's. Absent from what is written: the API server has it so already.
struct VolumeForClaim {
  std::shared_ptr<const api::PersistentVolume> before, after;
  std::shared_ptr<const api::PersistentVolumeClaim> claim;
};
/// A claim whose volume is to be made for a node.
struct ClaimForNode {
  std::shared_ptr<const api::PersistentVolumeClaim> before, after;
};

/// The volume as it is once it is the claim's; the same pointer: nothing of it has to change.
std::shared_ptr<const api::PersistentVolume> bound_to(
    const std::shared_ptr<const api::PersistentVolume>& volume, const api::PersistentVolumeClaim& claim);
/// The claim as it is once its volume is to be made for the node.
std::shared_ptr<const api::PersistentVolumeClaim> selected_for(
    const std::shared_ptr<const api::PersistentVolumeClaim>& claim, const Symbol& node);

/// Writes volumes, then claims, each in the version that was decided upon, or nobody; then waits until
/// whoever binds volumes is through with all of them. What is written stays written when it fails: the next
/// attempt goes on from there.
class BindingWork final : public PreBindWork {
 public:
  /// How often what the API server tells is looked at.
  static constexpr nanoseconds kLook = std::chrono::milliseconds(100);

  BindingWork(std::vector<VolumeForClaim> volumes, std::vector<ClaimForNode> claims, nanoseconds timeout)
      : volumes_(std::move(volumes)), claims_(std::move(claims)), timeout_(timeout) {}
  Task<Status> run(const Context& context) override;

 private:
  Task<Result<>> write(const Context& context);
  /// Whether all is bound; an error: it will not be.
  Result<bool> look(const Context& context) const;

  std::vector<VolumeForClaim> volumes_;
  std::vector<ClaimForNode> claims_;
  nanoseconds timeout_;
};

}  // namespace koord::scheduling::volume_binding
