// The incremental engine beside the oracle that computes everything anew, over one random cluster and its
// changes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "random/loads.hpp"
#include "random/objects.hpp"
#include "random/pod_lives.hpp"
#include "world.hpp"

namespace koord::scheduler::test {

/// One seed's story. Whatever the engine says or does that the oracle would not is told once, in found().
class RandomWorld {
 public:
  explicit RandomWorld(unsigned seed, const EngineOptions& options = {}, PluginTable table = plugin_table());

  /// One change, the decisions that follow from it, and then every node for all probes.
  void step();
  /// The first difference, with seed, step, node and both answers; empty: there is none.
  const std::string& found() const { return found_; }
  /// How many nodes were compared that each plugin rejects, and that each gives a score above 0; of
  /// DefaultPreemption how often it found victims.
  struct Met {
    std::size_t rejected = 0, scored = 0;
  };
  const std::map<std::string, Met>& met() const { return met_; }

 private:
  RandomWorld(unsigned seed, RandomProfile profile, const EngineOptions& options, PluginTable table);

  void pass_time();
  void change();
  void put_node();
  void remove_node();
  void add_pod();
  void place_foreign_pod();
  void remove_pod();
  void change_placed_pod();
  void change_unplaced_pod();
  void settle_assumed();
  void report_load();
  void change_object();
  void change_storage();
  void change_claim();
  template <class T>
  void change_object(reference::ByKey<T>& all, std::shared_ptr<const T> made);

  void decide();
  void put_waiting(const std::shared_ptr<const api::Pod>& pod);
  void confirm(const std::string& key);
  void judge(const Decision& decision);
  void judge_bound(const Decision& decision);
  void judge_preemption(const Decision& decision, const reference::Preemption& expected);
  void look_for_forgotten();
  void compare(const api::Pod& probe);
  void tell(const api::Pod& pod, const std::string& what);
  void take_away(const std::string& key);
  std::shared_ptr<const api::Pod> any(const reference::ByKey<api::Pod>& pods);

  unsigned seed_;
  RandomObjects random_;
  RandomLoads loads_;
  PodLives lives_;
  int nodes_;  // that there may be at a time
  reference::Config oracle_;
  std::string claims_;  // what is said about resource claims between the nodes' reasons and preemption's
  World world_;
  reference::Cluster cluster_;
  reference::ByKey<api::Pod> assumed_;  // of cluster_.pods: the engine knows them without a node
  reference::ByKey<api::Pod> waiting_;
  // When the engine refused them last and how, of those that wait.
  std::map<std::string, std::pair<int, std::string>> refusals_;
  std::vector<std::shared_ptr<const api::Pod>> probes_;
  int pods_ = 0;
  int steps_ = 0;
  std::string done_;                       // the change of this step
  std::vector<std::string> last_changes_;  // with it
  std::string found_;
  std::map<std::string, Met> met_;
};

}  // namespace koord::scheduler::test
