// ResourceGauges: the metrics that show the inventory, under the original's names.
#pragma once

#include "framework/model/inventory.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

/// The event loop's thread.
class ResourceGauges {
 public:
  static const metrics::Table kInternal, kExternal;
  ResourceGauges(metrics::Registry& internal, metrics::Registry& external, WallTime start);

  void inventory(const Inventory& now);

 private:
  metrics::Family<metrics::Gauge> allocatable_, requests_, limits_;
};

}  // namespace koord::koordlet
