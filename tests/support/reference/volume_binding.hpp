// VolumeBinding, for the scheduler's oracle.
#pragma once

#include "support/reference/matching.hpp"
#include "support/reference/state.hpp"

namespace koord::reference {

/// What a pod's claims have, or could have on each node. Of what is assumed of claims and volumes it knows.
class VolumeBinding {
 public:
  VolumeBinding(const Cluster& cluster, const api::Pod& pod);

  /// What PreFilter says; set: no node is looked at.
  const std::string& rejected() const { return rejected_; }
  /// Set: the attempt fails with it.
  const std::string& error() const { return error_; }
  Filtered filter(const api::Node& node) const;
  /// There are claims that get a volume with the pod.
  bool waits() const { return !waiting_.empty(); }
  /// What becomes of those on a node that passes.
  Assumed assumed_on(const api::Node& node) const;

 private:
  using Claim = std::shared_ptr<const api::PersistentVolumeClaim>;
  using Volume = std::shared_ptr<const api::PersistentVolume>;
  enum Conflict : unsigned { kNodeAffinity = 1, kNothingToBind = 2, kNoSpace = 4, kNoVolume = 8 };

  bool read(const api::PersistentVolumeClaim& stored, const std::string& name, bool ephemeral);
  void sort_out(const Claim& claim);
  unsigned look_at(const api::Node& node, Assumed* out) const;
  unsigned bound_conflict(const api::Node& node) const;
  unsigned provision(const api::PersistentVolumeClaim& claim, const api::Node& node) const;
  Volume match(const api::PersistentVolumeClaim& claim, const api::Node& node,
               const std::set<std::string>& taken) const;
  Claim claim(const std::string& key) const;
  Volume volume(const std::string& name) const;

  const Cluster& cluster_;
  const api::Pod& pod_;
  std::vector<Claim> bound_, waiting_;
  bool immediate_ = false;
  std::string rejected_, error_;
};

}  // namespace koord::reference
