// Observer: keeps what the last tick saw, and shows it together with what the strategies do.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/inventory.hpp"
#include "framework/serve/view.hpp"
#include "framework/states/source_status.hpp"
#include "framework/tick_view.hpp"
#include "koord/host/cgroup_knobs.hpp"

namespace koord::koordlet {

class Blame;
class QosManager;
class RunQueue;
class StallMetrics;

/// The event loop's thread.
class Observer {
 public:
  struct Parts {
    Clock& clock;
    const InventoryHub& hub;
    const RunQueue& run_queue;
    const Blame& blame;
    const StallMetrics& stalls;
    const QosManager* qos;  // null: no strategy runs
    std::function<std::vector<SourceStatus>()> sources;
    std::string version;
    host::CgroupVersion cgroup_version;
  };
  explicit Observer(Parts parts) : parts_(std::move(parts)) {}

  /// Copies; allocates nothing once it has seen as many pods.
  void tick(const TickView& view);
  std::optional<MonoTime> last_tick() const { return last_tick_; }

  NodeView node() const;
  PodListView pods() const;

 private:
  api::Box<BlameView> blame() const;
  TierView tier(std::string_view name, bool best_effort) const;
  std::vector<SuppressionView> suppressed(std::string_view below) const;
  PodView pod(const PodInfo& info, const Usage& usage, std::span<const Usage> containers) const;

  Parts parts_;
  std::optional<MonoTime> last_tick_;
  std::uint64_t ticks_ = 0;
  std::shared_ptr<const Inventory> inventory_;  // of that tick
  Usage node_, system_;
  BestEffortUse best_effort_;
  std::vector<Usage> pods_, containers_, applications_;
  bool complete_ = false;
};

}  // namespace koord::koordlet
