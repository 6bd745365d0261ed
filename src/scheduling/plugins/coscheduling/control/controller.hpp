// The controller of PodGroups, and of the ClusterNetworkTopology: writes their status while the scheduler
// leads.
#pragma once

#include <memory>

#include "koord/scheduling/plugin/lifecycle_plugin.hpp"

namespace koord::scheduling::coscheduling {

/// See status.hpp. What pods do is written once a second of each PodGroup at most, and only if it differs;
/// what cannot be written is tried again with a backoff, and holds up no other. `topology`: see
/// topology_writer.hpp.
std::unique_ptr<PluginController> make_controller(kube::InformerSet& informers, kube::Client& client,
                                                  bool topology);

}  // namespace koord::scheduling::coscheduling
