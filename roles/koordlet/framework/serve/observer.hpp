// Observer: shows what the last tick saw together with what the strategies do.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/model/inventory.hpp"
#include "framework/serve/view.hpp"
#include "framework/states/source_status.hpp"
#include "framework/tick/tick_view.hpp"
#include "koord/host/cgroup_knobs.hpp"

namespace koord::koordlet {

class QosManager;
class Sampler;

/// The event loop's thread.
class Observer {
 public:
  struct Parts {
    Clock& clock;
    const InventoryHub& hub;
    const Sampler& sampler;
    const QosManager* qos;  // null: no strategy runs
    std::function<std::vector<SourceStatus>()> sources;
    std::string version;
    host::CgroupVersion cgroup_version;
  };
  explicit Observer(Parts parts) : parts_(std::move(parts)) {}

  /// Nothing: there was none yet.
  std::optional<MonoTime> last_tick() const;

  NodeView node() const;
  PodListView pods() const;

 private:
  api::Box<BlameView> blame() const;
  TierView tier(std::string_view name, bool best_effort) const;
  std::vector<SuppressionView> suppressed(std::string_view below) const;
  PodView pod(const PodInfo& info, const Usage& usage, std::span<const Usage> containers) const;

  Parts parts_;
};

}  // namespace koord::koordlet
