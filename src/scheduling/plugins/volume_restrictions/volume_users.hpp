// VolumeUsers: which pods on nodes use a claim, or a disk that they name themselves.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "koord/scheduling/plugin/plugin.hpp"

namespace koord::scheduling::volume_restrictions {

/// A disk of a pod's own that others cannot have as they like.
struct Disk {
  std::string key;                         // disks that may be the same have the same
  bool shared;                             // with others that say so, too
  std::vector<std::string> monitors = {};  // of an RBD image: it is the same if one of them is
};

/// The pod's disks.
std::vector<Disk> disks_of(const api::Pod& pod);
/// Two pods with these cannot be on one node.
bool conflict(const Disk& a, const Disk& b);
bool conflict(std::span<const Disk> a, std::span<const Disk> b);

/// The pod mounts the claim of this name; ephemeral ones have no other user.
bool uses(const api::Pod& pod, std::string_view claim);

/// One for all profiles.
class VolumeUsers final : public ClusterObserver {
 public:
  struct User {
    Row row;
    const PodInfo* pod;
  };
  struct DiskUser : User {
    Disk disk;
  };

  explicit VolumeUsers(const PluginContext& context) { context.observe(*this); }

  /// Each of a claim's pods once, in no order.
  std::span<const User> of_claim(std::string_view ns, std::string_view name) const;
  /// Pods with disks of the key.
  std::span<const DiskUser> of_disk(const std::string& key) const;

  void pod_added(Row row, const PodInfo& pod) override;
  void pod_removed(Row row, const PodInfo& pod) override;
  void node_changed(Row, const api::Node*, const api::Node*) override {}

 private:
  std::unordered_map<std::string, std::vector<User>> claims_;  // by namespace/name
  std::unordered_map<std::string, std::vector<DiskUser>> disks_;
};

}  // namespace koord::scheduling::volume_restrictions
