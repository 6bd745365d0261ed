// Profile: the plugins of one scheduler name, in the order of each extension point.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "koord/scheduling/plugin/plugin.hpp"

namespace koord::scheduling {

class GroupPlugin;

struct Profile {
  /// Who is asked at an extension point.
  struct Registration {
    PluginIndex index;
    std::int32_t weight;  // of its score
  };
  template <class Interface>
  struct At : Registration {
    Interface* plugin;
  };
  /// A filter of one of the three kinds; the other two are nullptr.
  struct Filter : Registration {
    FilterPlugin* local;
    CrossNodeFilterPlugin* cross_node;
    PerPodFilterPlugin* per_pod;
    bool prepares = true;  // false: its preparation neither rejects nor narrows down
    bool answers = true;   // false: it prepares only
  };
  /// A score of one of the two kinds; the other one is nullptr.
  struct Score : Registration {
    ScorePlugin* local;
    CrossNodeScorePlugin* cross_node;
    bool prepares = true;  // false: its preparation excuses no class
  };
  struct Named {
    std::string_view name;  // of its row in the plugin table
    std::unique_ptr<Plugin> plugin;
  };

  std::string scheduler_name;
  /// The plugins that say on which memory nodes a pod may be, and their answers. Outlives the plugins.
  std::unique_ptr<NumaHints> numa_hints = std::make_unique<NumaHints>();
  /// By PluginIndex; at most 63.
  std::vector<Named> plugins;
  // In the order in which they are asked.
  std::vector<At<PreEnqueuePlugin>> pre_enqueue;
  std::vector<At<QueueSortPlugin>> queue_sort;  // exactly one
  std::vector<Registration> pre_filters;        // those of the filters that the configuration lets prepare
  std::vector<At<AdmitPlugin>> admits;          // of the same
  std::vector<Filter> filters;
  std::vector<Registration> pre_scores;  // the same of the scores
  std::vector<Score> scores;
  std::vector<At<PostFilterPlugin>> post_filters;
  std::vector<At<ReservePlugin>> reserves;
  std::vector<At<PermitPlugin>> permits;
  std::vector<At<PreBindPlugin>> pre_binds;
  std::vector<At<PreBindReservationPlugin>> pre_bind_reservations;
  std::vector<At<BindPlugin>> binds;  // at least one
  std::vector<At<PostBindPlugin>> post_binds;
  std::vector<At<EventPlugin>> events;
  std::vector<TimedPlugin*> timed;
  std::vector<At<RowDeltaPlugin>> row_deltas;
  std::vector<At<FewPodsPlugin>> few_pods;
  std::vector<At<GroupPlugin>> groups;          // the first that leads a pod places it
  std::vector<At<PodPatchPlugin>> pod_patches;  // the first writes
  // Koordinator's places (koordinator_points.hpp).
  std::vector<At<PreFilterTransformer>> pre_filter_transformers;
  std::vector<At<PostFilterTransformer>> post_filter_transformers;
  std::vector<At<ScoreTransformer>> score_transformers;
  std::vector<At<ReservationNominatorPlugin>> nominators;
  std::vector<At<ResizePodPlugin>> resizes;
  std::vector<At<JobPlugin>> jobs;
  // Of these one is asked; absent: there is none.
  std::optional<At<FindOneNodePlugin>> find_one_node;
  std::optional<At<PreferNodesPlugin>> prefer_nodes;
  /// What the configuration names and koord does not have yet.
  std::vector<std::string> missing;
  /// Stands for the extenders among those that reject; kNoPlugin: there are none.
  PluginIndex extenders = kNoPlugin;
  /// 1 to 99: stop looking when so many of the nodes are feasible. Absent or 100: look at all of them.
  std::optional<std::int32_t> percentage_of_nodes;

  /// Where a pod yields to nominated pods it has to fit with them, and not without them, too (the gate
  /// SkipFilterWithNominatedPods).
  bool with_nominated_alone = false;

  /// Anybody is asked after the choice of a node.
  bool follows_up() const {
    return !reserves.empty() || !permits.empty() || !pre_binds.empty() || !pre_bind_reservations.empty() ||
           !post_binds.empty() || !nominators.empty() || !resizes.empty();
  }
  /// Anybody is asked between the preparations and the rows.
  bool narrows() const { return !pre_filter_transformers.empty() || find_one_node; }
  /// The empty one: it belongs to none.
  Symbol job_of(const PodInfo& pod) const {
    for (const auto& each : jobs)
      if (Symbol job = each.plugin->job_of(pod); !job.empty()) return job;
    return {};
  }
  /// Whether the pod leaves its room to another one that is nominated to the node.
  bool yields(const PodInfo& pod, const Symbol& job, const PodInfo& other, const Nominated& nominated) const {
    if (nominated.is_foreign(other) ? other.priority <= pod.priority : other.priority < pod.priority)
      return false;
    return !is_same(pod, other) && (job.empty() || job_of(other) != job);
  }
  std::string_view plugin_name(PluginIndex index) const { return plugins[index].name; }
  /// The place of a plugin among the filters; what is no filter comes before all of them.
  int filter_position(PluginIndex index) const {
    for (std::size_t i = 0; i < filters.size(); ++i)
      if (filters[i].index == index) return static_cast<int>(i);
    return -1;
  }
};

}  // namespace koord::scheduling
