// The incremental engine beside the oracle that computes everything anew, over one random cluster and its
// changes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "random/loads.hpp"
#include "random/objects.hpp"
#include "random/played_extenders.hpp"
#include "random/pod_lives.hpp"
#include "random/seats.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

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
  /// A pod from its assumption on a node to the end of its binding.
  struct Flight {
    std::shared_ptr<const api::Pod> pod;
    std::string node;
    std::string seats;           // of its profile
    reference::Assumed assumed;  // for it
    bool tells_end = false;
    bool gone = false;  // the pod is not there any more
    int since = 0;      // a step
    // While it waits: for which seats until when; how that ends, if somebody has said so: "" well.
    std::map<char, MonoTime> waits;
    std::optional<std::string> said;
    bool binds = false;  // its profile binds volumes; another scheduler may be named since
  };
  struct Refusal {
    int step = 0, since = 0;  // since: of that attempt's beginning
    std::string message;
    bool by_seat = false;
  };

  /// What extenders were asked about a pod last.
  struct Asked {
    std::uint64_t at = 0;  // of moves_
    Decision decision;
    bool held = false;  // it is not answered yet
  };

  RandomWorld(unsigned seed, std::vector<RandomProfile> profiles, std::unique_ptr<PlayedExtenders> extenders,
              EngineOptions options, PluginTable table);

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
  template <class T>
  void put_object(reference::ByKey<T>& all, const T& made);

  void decide();
  void put_waiting(const std::shared_ptr<const api::Pod>& pod);
  void judge(const Decision& decision);
  void judge_question(const Decision& decision);
  void answer_held();
  void judge_choice(const Decision& decision, const reference::Answer& expected, bool at_once);
  void judge_end_of_wait(const Decision& decision, Flight& flight);
  bool is_refused_by_seat(const Decision& decision, const reference::Answer& expected, bool at_once) const;
  std::string wrong_choice(const api::Pod& pod, const std::string& node, const reference::Answer& expected,
                           bool at_once) const;
  void judge_preemption(const Decision& decision, const reference::Preemption& expected);
  void look_for_forgotten();
  // Bindings (bindings.cpp)
  void begin_binding(const Decision& decision);
  void end_binding(const std::string& key, bool well);
  void confirm(const std::string& key);
  bool write_volumes(Flight& flight);
  void give_back(Flight& flight);
  void lose(const std::string& key);
  void end_gone();
  void open_seats(const Flight& by);
  std::string refused_by_seat(const api::Pod& pod, const std::string& node) const;
  void check_seats();
  void compare(const api::Pod& probe, const Profile& profile);
  void tell(const api::Pod& pod, const std::string& what);
  void take_away(const std::string& key);
  std::shared_ptr<const api::Pod> any(const reference::ByKey<api::Pod>& pods);

  unsigned seed_;
  RandomObjects random_;
  RandomLoads loads_;
  PodLives lives_;
  int nodes_;  // that there may be at a time
  /// By name.
  struct Served {
    reference::Config oracle;
    std::string seats;   // the plugins' letters, in their order
    std::string claims;  // what is said about resource claims between the nodes' reasons and preemption's
    bool binds = false;  // it has VolumeBinding
  };
  const Served& served(const api::Pod& pod) const { return served_.at(pod.spec.scheduler_name.str()); }
  std::map<std::string, Served> served_;
  SeatBook book_;
  std::unique_ptr<PlayedExtenders> extenders_;  // nullptr: this world has none
  World world_;
  reference::Cluster cluster_;
  reference::ByKey<api::Pod> assumed_;  // of cluster_.pods: the engine knows them without a node
  reference::ByKey<api::Pod> waiting_;
  std::map<std::string, Refusal> refusals_;  // the last ones, of those that wait
  std::set<std::string> failed_;             // whose bindings failed, since the last round began
  std::map<std::string, Flight> flights_;    // by uid
  std::map<std::string, Asked> asked_;       // by uid
  std::map<std::string, int> tried_;         // how often an extender was asked to bind, by uid
  std::uint64_t moves_ = 0;                  // changes and decisions
  std::array<std::size_t, 2> bound_{};       // whose plugins A and B were told so
  int last_wake_ = 0;                        // the step when those whom a seat refused were woken last
  int versions_ = 0;                         // of claims and volumes
  std::vector<std::shared_ptr<const api::Pod>> probes_;
  int pods_ = 0;
  int steps_ = 0;
  std::string done_;                       // the change of this step
  std::vector<std::string> last_changes_;  // with it
  std::string found_;
  std::map<std::string, Met> met_;
};

}  // namespace koord::scheduling::test
