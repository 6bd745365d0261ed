// DryRuns: what preemption came to on each row, kept for as long as nothing changes that it follows from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "koord/scheduling/plugin/plugin_base.hpp"
#include "scheduling/preemption/job_costs.hpp"
#include "scheduling/preemption/victims.hpp"

namespace koord::scheduling::preemption {

/// Of a class of pods. The pods that victims point to are on the row for as long as its number of changes is
/// the same.
struct DryRuns final : PodState {
  /// Numbers that differ once the answer may: of changes of the row, of pods nominated to it, of how the
  /// class sees it, of budgets.
  struct Stamp {
    std::uint64_t row = 0, nominated = 0, delta = 0, budgets = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  struct Entry {
    DryRun run;
    Loss loss;                // of its victims
    JobPriorities jobs = {};  // of all that could be victims; where rows are chosen by jobs
    Stamp stamp;
    bool made = false;
  };
  /// Of those with one priority: who is spared differs from plugin to plugin.
  struct OfPlugin {
    PluginIndex by;
    std::int32_t priority = 0;
    std::vector<Entry> rows = {};
  };

  OfPlugin& of(PluginIndex plugin) {
    const auto it = std::ranges::find(plugins, plugin, &OfPlugin::by);
    return it != plugins.end() ? *it : plugins.emplace_back(OfPlugin{plugin});
  }
  std::size_t bytes() const override {
    std::size_t all = sizeof *this + plugins.capacity() * sizeof(OfPlugin);
    for (const OfPlugin& p : plugins) all += p.rows.capacity() * sizeof(Entry);
    return all;
  }

  std::vector<OfPlugin> plugins;
};

}  // namespace koord::scheduling::preemption
