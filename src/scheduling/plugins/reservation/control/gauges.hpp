// Gauges of reservations: the phase of each, and what its pods have of what it keeps.
#pragma once

#include "koord/api/types/scheduling_v1alpha1/reservation.hpp"
#include "koord/base/metrics.hpp"

namespace koord::scheduling::reservation {

/// As Koordinator's dashboards read them: CPU in cores, memory in Gi, everything else as it is, and the share
/// that is in use.
class Gauges {
 public:
  explicit Gauges(metrics::Registry& registry);
  void put(const api::Reservation& now) const;
  /// Of one that was put() as it is here.
  void remove(const api::Reservation& before) const;

 private:
  metrics::Family<metrics::Gauge> phase_, resource_;
};

}  // namespace koord::scheduling::reservation
