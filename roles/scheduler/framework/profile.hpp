// Profile: the plugins of one scheduler name, in the order of each extension point.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/plugin.hpp"

namespace koord::scheduler {

struct Profile {
  /// Who is asked at an extension point.
  struct Seat {
    PluginIndex index;
    std::int32_t weight;  // of its score
  };
  template <class Interface>
  struct At : Seat {
    Interface* plugin;
  };
  struct Named {
    std::string_view name;  // of its row in the plugin table
    std::unique_ptr<Plugin> plugin;
  };

  std::string scheduler_name;
  /// By PluginIndex; at most 63.
  std::vector<Named> plugins;
  // In the order in which they are asked.
  std::vector<At<PreEnqueuePlugin>> pre_enqueue;
  std::vector<At<QueueSortPlugin>> queue_sort;  // exactly one
  std::vector<At<FilterPlugin>> pre_filters;    // those of the filters that the configuration lets prepare
  std::vector<At<FilterPlugin>> filters;
  std::vector<At<ScorePlugin>> pre_scores;  // the same of the scores
  std::vector<At<ScorePlugin>> scores;
  std::vector<At<BindPlugin>> binds;  // at least one
  std::vector<At<EventPlugin>> events;
  /// What stands in the lists for a plugin that is not asked for all that it does.
  std::vector<std::unique_ptr<FilterPlugin>> partial_filters;
  std::vector<std::unique_ptr<ScorePlugin>> partial_scores;
  /// What the configuration names and koord does not have yet.
  std::vector<std::string> missing;
  /// 1 to 99: stop looking when so many of the nodes are feasible. Absent or 100: look at all of them.
  std::optional<std::int32_t> percentage_of_nodes;

  std::string_view plugin_name(PluginIndex index) const { return plugins[index].name; }
  /// The place of a plugin among the filters; what is no filter comes before all of them.
  int filter_position(PluginIndex index) const {
    for (std::size_t i = 0; i < filters.size(); ++i)
      if (filters[i].index == index) return static_cast<int>(i);
    return -1;
  }
};

}  // namespace koord::scheduler
