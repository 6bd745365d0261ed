// DeviceRows: which devices each row's node can reach, and when that, or who has them, is another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/api/types/resource_v1/resource_slice.hpp"
#include "koord/api/types/resource_v1alpha3/device_taint_rule.hpp"
#include "koord/base/result.hpp"
#include "koord/scheduling/cluster/cluster_observer.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "scheduling/plugins/dynamic_resources/allocate/verdicts.hpp"
#include "scheduling/plugins/dynamic_resources/nodes/slice_index.hpp"
#include "scheduling/plugins/dynamic_resources/nodes/slice_watcher.hpp"
#include "scheduling/plugins/dynamic_resources/pools/features.hpp"
#include "scheduling/plugins/dynamic_resources/pools/pools.hpp"
#include "scheduling/plugins/dynamic_resources/selectors/cel_selectors.hpp"

namespace koord::scheduling::dynamic_resources {

/// The gates of kube-scheduler that allocations read. A gate that nobody has a row of has its default.
Features features_of(const PluginContext& context);
/// Whether a gate is on; `otherwise` where nobody has a row of it.
bool gate_of(const PluginContext& context, std::string_view name, bool otherwise);

/// One for all profiles. Follows the slices and the nodes; belongs to the engine's thread.
class DeviceRows final : private ClusterObserver {
 public:
  DeviceRows(const PluginContext& context, std::vector<std::string> numa_attributes);

  const Features& features() const { return features_; }
  /// Some slice says of a device on which memory node it is.
  bool knows_numa() const { return numa_slices_ != 0; }
  /// nullptr without the gate DRADeviceTaintRules.
  ObjectStore<api::DeviceTaintRule>* taint_rules() const { return rules_; }
  DeviceNumbers& numbers() { return numbers_; }
  /// What selectors say of devices, each evaluated once for each version of a slice.
  SelectorVerdicts& verdicts() { return verdicts_; }

  /// What the row's node can reach; the row holds a node. Good until a slice or the node changes. The error
  /// is kube-scheduler's.
  const Result<NodePools>& pools(Row row);
  /// Never 0. While it is the same number, so is all that claims can get on the row.
  std::uint64_t changes(Row row) const { return row < rows_.size() ? rows_[row].changes : 1; }
  /// From now on; it outlives this.
  void tell(SliceWatcher* watcher) { watcher_ = watcher; }
  /// The rows of which changes() is another since `from`, which becomes now: rows in their order of change,
  /// maybe more than once. Absent: too many to say.
  std::optional<std::span<const Row>> changed_since(std::uint64_t& from) const;
  /// Somebody was given the device, or has given it back.
  void touched(const DeviceId& device);
  /// Told of each row whose changes() are others. From now on.
  void on_change(std::function<void(Row)> told) { on_change_ = std::move(told); }

 private:
  /// So many changes are told of.
  static constexpr std::size_t kMostTold = 4096;

  struct OfRow {
    std::uint64_t changes = 1;
    std::unique_ptr<const Result<NodePools>> pools;  // nullptr: not asked for
  };

  void pod_added(Row, const PodInfo&) override {}
  void pod_removed(Row, const PodInfo&) override {}
  void node_changed(Row row, const api::Node* before, const api::Node* now) override;
  void slice_changed(const api::ResourceSlice* before, const api::ResourceSlice* now);
  void rule_changed(const api::DeviceTaintRule* before, const api::DeviceTaintRule* now);
  /// The slice with the taints that rules give its devices.
  std::shared_ptr<const api::ResourceSlice> tainted(std::shared_ptr<const api::ResourceSlice> slice) const;
  void forget(const SlicePool& pool);
  void forget(Row row);
  void changed(Row row);
  Result<NodePools> gather(Row row) const;
  void tell_after(const Symbol& node) const;

  const NodeTable& nodes_;
  ObjectStore<api::ResourceSlice>& slices_;
  ObjectStore<api::DeviceTaintRule>* rules_;  // nullptr without their gate
  Features features_;
  const std::vector<std::string> numa_attributes_;
  std::size_t numa_slices_ = 0;  // that say on which memory nodes devices are
  DeviceNumbers numbers_;
  CelSelectors selectors_;
  KeptVerdicts verdicts_;
  SliceIndex index_;
  std::vector<OfRow> rows_;
  SliceWatcher* watcher_ = nullptr;
  std::vector<Row> told_;  // the last changes
  std::uint64_t first_told_ = 1;
  std::function<void(Row)> on_change_;
};

}  // namespace koord::scheduling::dynamic_resources
