// ClaimBoard: what the engine's thread wants written into claims, for the event loop's.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/api/types/resource_v1/resource_claim.hpp"

namespace koord::scheduling::dynamic_resources {

/// One change of a claim.
struct ClaimChange {
  /// As it was decided upon.
  std::shared_ptr<const api::ResourceClaim> claim;
  /// The pod that its status does not keep it for any more; empty: it gives back all its devices.
  std::string pod_uid;
  /// In place of that: it is deleted, whatever it has.
  bool remove = false;
};

/// Any thread.
class ClaimBoard {
 public:
  /// So many wait; while nobody writes none does. What there is no room for is done by who tries the pod
  /// next, or by Kubernetes' own controller when the pod goes.
  static constexpr std::size_t kMost = 100'000;

  void put(ClaimChange change);
  /// What was put since, in order.
  std::vector<ClaimChange> take();
  /// What was taken is written, or will not be.
  void done(const api::ResourceClaim& claim);
  /// Whether something of the claim is put and not done.
  bool is_busy(const api::ResourceClaim& claim);

  /// Called by put(), on its thread; nullptr: nobody writes any more, and what waits is forgotten.
  void call(std::function<void()> told);

 private:
  std::mutex mutex_;
  std::vector<ClaimChange> changes_;
  std::unordered_map<std::string, int> busy_;  // by the claim's uid
  std::function<void()> told_;
};

}  // namespace koord::scheduling::dynamic_resources
