// AdmitPlugin: who has a say about a pod before any node is looked at.
#pragma once

#include "koord/scheduling/plugin/status.hpp"

namespace koord::scheduling {

struct PodInfo;

/// May refuse a pod whatever the nodes are (a quota is used up): a part of kube-scheduler's PreFilter, and
/// named there by a configuration. Asked in the order of the profile, first of all in each attempt; the first
/// that refuses ends it, and nothing is computed of nodes or of the pod's class, unless a PostFilter asks for
/// it.
class AdmitPlugin {
 public:
  virtual ~AdmitPlugin() = default;
  /// success, a rejection (with its key, if only events of that can undo it), or error. It costs little.
  virtual Status admit(const PodInfo& pod) = 0;
};

}  // namespace koord::scheduling
