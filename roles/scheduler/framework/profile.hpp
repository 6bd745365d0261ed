// Profile: the plugins of one scheduler name, in the order of each extension point.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/plugin.hpp"

namespace koord::scheduler {

struct Profile {
  struct Filter {
    FilterPlugin* plugin;
    PluginIndex index;
  };
  struct Score {
    ScorePlugin* plugin;
    PluginIndex index;
    std::int32_t weight;
  };
  struct PreEnqueue {
    PreEnqueuePlugin* plugin;
    PluginIndex index;
  };
  struct Events {
    EventPlugin* plugin;
    PluginIndex index;
  };

  std::string scheduler_name;
  /// By PluginIndex; at most 63.
  std::vector<std::unique_ptr<Plugin>> plugins;
  std::vector<PreEnqueue> pre_enqueue;
  std::vector<Filter> filters;
  std::vector<Score> scores;
  std::vector<Events> events;
  QueueSortPlugin* queue_sort = nullptr;
  BindPlugin* bind = nullptr;
  /// 1 to 99: stop looking when so many of the nodes are feasible. Absent or 100: look at all of them.
  std::optional<std::int32_t> percentage_of_nodes;

  std::string_view plugin_name(PluginIndex index) const { return plugins[index]->name(); }
  /// The place of a plugin among the filters; what is no filter comes before all of them.
  int filter_position(PluginIndex index) const {
    for (std::size_t i = 0; i < filters.size(); ++i)
      if (filters[i].index == index) return static_cast<int>(i);
    return -1;
  }
};

}  // namespace koord::scheduler
