// The controller of PodGroups: writes their phases and numbers while the scheduler leads.
#pragma once

#include <memory>

#include "koord/scheduling/plugin/lifecycle_plugin.hpp"

namespace koord::scheduling::coscheduling {

/// See status.hpp. What pods do is written once a second of each PodGroup at most, and only if it differs;
/// what cannot be written is tried again with a backoff, and holds up no other.
std::unique_ptr<PluginController> make_controller(kube::InformerSet& informers, kube::Client& client);

}  // namespace koord::scheduling::coscheduling
