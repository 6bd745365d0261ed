// Who shares a core with whom: what the NodeSLO says of classes, and pods of themselves.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/model/inventory.hpp"

namespace koord::api {
struct NodeSloSpec;
}

namespace koord::koordlet::core_sched {

/// What the pod's labels say. Put among its terms (framework/model/pod_terms.hpp) where they say something.
struct Terms {
  std::string group;       // koordinator.sh/core-sched-group-id
  bool none = false;       // koordinator.sh/core-sched-policy
  bool exclusive = false;  // with nobody but itself
  friend bool operator==(const Terms&, const Terms&) = default;
};
/// A group's name that Kubernetes would not take for a label's value counts as exclusive, with a warning:
/// nobody is let in whom the pod did not mean.
void read_terms(const api::Pod& pod, PodTerms& terms, std::vector<std::string>& warnings);

struct Rules {
  struct Class {
    bool enabled = false, expeller = false, idle = false;
    friend bool operator==(const Class&, const Class&) = default;
  };
  bool enabled = false;  // of at least one class
  Class lsr, ls, be;     // LSE is as LSR

  /// Of pods that have no class of Koordinator's, Kubernetes' counts.
  const Class& of(Qos qos, host::KubeQos kube) const;
};
/// All off where the policy is another one. Null: no NodeSLO is known.
Rules rules(const api::NodeSloSpec* slo);

/// Whose processes have one cookie: "group/NAME", "pod/UID", with "-expeller" where the class has others make
/// way; "plain-group/NAME" and the like where a name ends so without that; nothing: the pod's processes have
/// none. No label can name a pod's own one.
std::optional<std::string> group_of(const Rules& rules, const PodInfo& pod);

}  // namespace koord::koordlet::core_sched
