// PlacedPreemption: a plugin that decides itself whether room is made for what it has placed beside pods.
#pragma once

#include "koord/scheduling/cluster/pod_info.hpp"

namespace koord::scheduling::preemption {

/// DefaultPreemption makes no room for these placeholders, wherever the plugin is named.
class PlacedPreemption {
 public:
  virtual ~PlacedPreemption() = default;
  virtual bool preempts_itself_for(const PodInfo& placeholder) const = 0;
};

}  // namespace koord::scheduling::preemption
