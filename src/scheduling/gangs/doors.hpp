// Doors: whose gangs are placed here. A pod that is in a gang through each of two is refused by name.
#pragma once

#include <string>

namespace koord::api {
struct Pod;
}

namespace koord::scheduling::gangs {

/// In all profiles together; set while the plugins are made.
struct Doors {
  bool koordinators = false;  // labels, annotations and PodGroups of Koordinator (Coscheduling)
  bool kubernetes = false;    // spec.workloadRef and spec.schedulingGroup (GangScheduling)

  /// The pod is in a gang through both.
  bool in_two(const api::Pod& pod) const;
};

/// What a pod is told that is in two.
std::string told_of_two(const api::Pod& pod);

/// The gang of Kubernetes' own that the pod names, for people; empty: none.
std::string kube_gang_of(const api::Pod& pod);

}  // namespace koord::scheduling::gangs
