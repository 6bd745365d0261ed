// VolumeRestrictions, NodeVolumeLimits and VolumeZone, for the scheduler's oracle.
#pragma once

#include "support/reference/matching.hpp"
#include "support/reference/state.hpp"

namespace koord::reference {

/// What these filters know of one pod; a value, so that a node can be judged as if pods came or went.
class VolumeFilters {
 public:
  VolumeFilters(const Cluster& cluster, const api::Pod& pod, const State& state);
  /// Whether it is one of the three.
  static bool knows(const std::string& plugin);
  /// What the plugin's PreFilter says; set: no node is looked at.
  std::string rejected(const std::string& plugin) const;
  /// A pod comes to a node (+1) or goes (-1).
  void count(const api::Pod& other, int change);
  Filtered filter(const std::string& plugin, const NodeState& node) const;

 private:
  /// A volume of a CSI driver, as it counts on a node: its name, and its driver.
  using Attached = std::map<std::string, std::string>;

  Filtered restrictions(const NodeState& node) const;
  Filtered limits(const NodeState& node) const;
  Filtered zone(const api::Node& node) const;
  std::string zone_rejected() const;
  /// False, with `missing`: a claim is not there.
  bool attach(const api::Pod& pod, const api::CsiNode* csi, Attached& out, std::string* missing) const;
  std::optional<std::pair<std::string, std::string>> attached(const api::PersistentVolumeClaim& claim,
                                                              const api::CsiNode* csi) const;

  const Cluster& cluster_;
  const api::Pod& pod_;
  std::set<const api::Pod*> claim_users_;  // pods with a claim of the pod's that one pod may have
  bool restricted_ = false;                // VolumeRestrictions has a say
};

}  // namespace koord::reference
