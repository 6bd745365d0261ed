// Scenes: what the informers know of what drains are about, and which drain a change concerns.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "drain/group_progress.hpp"
#include "drain/node_progress.hpp"
#include "drain/placement.hpp"
#include "koord/kube/informer.hpp"

namespace koord::descheduler::drain {

/// Of one group; it holds what its scene points to, and stays where it is.
struct HeldGroupScene {
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::DrainNode>> drains;
  GroupScene scene;
};

/// Of one DrainNode, likewise.
struct HeldNodeScene {
  std::shared_ptr<const api::Node> node;
  NodeScene scene;
};

/// Belongs to the role's strand.
class Scenes {
 public:
  /// `why_not`: why a pod may not be evicted, empty: it may. Both outlive it.
  Scenes(kube::InformerSet& informers, kube::Client& client,
         std::function<std::string(const api::Pod&)> why_not, Placement& placement);

  std::unique_ptr<HeldNodeScene> of(const api::DrainNode& drain) const;
  /// It is asked where pods would go while it lasts.
  std::unique_ptr<HeldGroupScene> of(const api::DrainNodeGroup& group) const;
  /// The node without what DrainNodes and groups that are gone have set; the node itself: there is nothing.
  api::Node without_orphans(const api::Node& node) const;

  kube::Informer<api::DrainNodeGroup> groups;
  kube::Informer<api::DrainNode> drains;
  kube::Informer<api::Node> nodes;
  kube::Informer<api::Pod> pods;
  kube::Informer<api::Reservation> reservations;
  kube::Informer<api::PodMigrationJob> jobs;
  std::vector<kube::AnyInformer> all() const { return {groups, drains, nodes, pods, reservations, jobs}; }

 private:
  std::vector<LeavingPod> leaving(std::string_view node) const;
  std::string holder_of(const api::DrainNode& drain) const;
  std::string why_stuck(const api::DrainNodeGroup& group, const api::Node& node,
                        const std::set<std::string, std::less<>>& of_group) const;

  std::function<std::string(const api::Pod&)> why_not_;
  Placement& placement_;
};

bool is_ready(const api::Node& node);

}  // namespace koord::descheduler::drain
