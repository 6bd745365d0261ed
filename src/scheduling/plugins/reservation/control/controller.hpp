// The controller of reservations: writes what becomes of them while the scheduler leads.
#pragma once

#include <chrono>
#include <memory>

#include "koord/base/clock.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"

namespace koord::scheduling::reservation {

struct ControllerOptions {
  /// Reservations that are over are deleted after so long; looked at each `collect_every`.
  bool collects = true;
  nanoseconds collect_after = std::chrono::hours(24), collect_every = std::chrono::seconds(60);
  /// Pods whose reservation was deleted say no longer that they have its room (the gate
  /// CleanExpiredReservationAllocated).
  bool cleans_pods = false;
};

/// Expiry, owners, allocated amounts, Succeeded, and collection: see upkeep.hpp. What cannot be written is
/// tried again with a backoff; one reservation never holds up another.
std::unique_ptr<PluginController> make_controller(const ControllerOptions& options,
                                                  kube::InformerSet& informers, kube::Client& client);

}  // namespace koord::scheduling::reservation
