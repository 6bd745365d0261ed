// Exported: the metrics that show the inventory and the last tick, under the original's names.
#pragma once

#include "framework/inventory.hpp"
#include "framework/tick_view.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

/// The event loop's thread.
class Exported {
 public:
  Exported(metrics::Registry& internal, metrics::Registry& external, WallTime start);

  void inventory(const Inventory& now);
  /// Allocates nothing while the host applications stay the same.
  void tick(const TickView& view);

 private:
  struct Application {
    metrics::Gauge cpu, memory;
  };
  metrics::Family<metrics::Gauge> applications_, allocatable_, requests_, limits_;
  metrics::Gauge used_cpu_, used_memory_;
  bool used_ = false;
  metrics::Registry& internal_;
  std::vector<Application> application_gauges_;
  std::uint64_t generation_ = 0;
};

}  // namespace koord::koordlet
