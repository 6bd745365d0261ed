// The descheduler's plugins and evictors. A new one is a folder under plugins/, its row here, a test and a
// line in README.md.
#include <algorithm>

#include "framework/plugin_table.hpp"

namespace koord::descheduler {

// A line each, by name: first the declarations (extern const PluginEntry kLowNodeLoad;), then the rows.
// clang-format off
extern const PluginEntry kCustomPriority;
extern const PluginEntry kDefaultEvictor;
extern const PluginEntry kDrain;
extern const PluginEntry kFragmentationAware;
extern const PluginEntry kHighNodeUtilization;
extern const PluginEntry kLowNodeLoad;
extern const PluginEntry kLowNodeUtilization;
extern const PluginEntry kMigrationController;
extern const PluginEntry kPodLifeTime;
extern const PluginEntry kRemoveDuplicates;
extern const PluginEntry kRemoveFailedPods;
extern const PluginEntry kRemovePodsHavingTooManyRestarts;
extern const PluginEntry kRemovePodsViolatingInterPodAntiAffinity;
extern const PluginEntry kRemovePodsViolatingNodeAffinity;
extern const PluginEntry kRemovePodsViolatingNodeTaints;
extern const PluginEntry kRemovePodsViolatingTopologySpreadConstraint;
extern const PluginEntry kScaleDownBinPack;

PluginTable plugin_table() {
  static constexpr const PluginEntry* kTable[] = {
      &kCustomPriority,
      &kDefaultEvictor,
      &kDrain,
      &kFragmentationAware,
      &kHighNodeUtilization,
      &kLowNodeLoad,
      &kLowNodeUtilization,
      &kMigrationController,
      &kPodLifeTime,
      &kRemoveDuplicates,
      &kRemoveFailedPods,
      &kRemovePodsHavingTooManyRestarts,
      &kRemovePodsViolatingInterPodAntiAffinity,
      &kRemovePodsViolatingNodeAffinity,
      &kRemovePodsViolatingNodeTaints,
      &kRemovePodsViolatingTopologySpreadConstraint,
      &kScaleDownBinPack,
  };
  return kTable;
}

// clang-format on

const PluginEntry* find_plugin(PluginTable table, std::string_view name) {
  const auto it = std::ranges::find_if(table, [&](const PluginEntry* entry) { return entry->name == name; });
  return it != table.end() ? *it : nullptr;
}

}  // namespace koord::descheduler
