// TickSchedule: when the next tick is due, and how late ticks come: an agent that is starved of CPU measures
// and protects late, and this is where it shows.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "framework/model/inventory.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

/// One comes each interval, and one earlier where somebody waits for it: at once when the agent has learned
/// all that it needs, half an interval after the last one when a container has come. Of the latter there is
/// one in two intervals at most, so that a node on which containers come and go is not measured twice as
/// often.
class TickSchedule {
 public:
  static const metrics::Table kMetrics;
  TickSchedule(metrics::Registry& registry, nanoseconds interval);

  /// A tick begins. Those that were missed are not made up for.
  void begin(MonoTime now);
  /// When the next one is to begin.
  MonoTime next() const;
  /// What is on the node by now. Whether next() may be sooner than it was.
  bool hear(const Inventory& inventory);

 private:
  enum class Waits : unsigned char { nobody, container, agent };

  nanoseconds interval_;
  std::optional<MonoTime> due_;  // nothing: the first tick is due when it begins
  MonoTime last_{};
  std::optional<MonoTime> early_;  // the last that came early for a container
  Waits waits_ = Waits::nobody;
  bool known_ = false;
  std::vector<std::size_t> containers_;  // hashes of their ids, ascending
  metrics::Histogram lateness_;
  metrics::Counter missed_;
};

}  // namespace koord::koordlet
