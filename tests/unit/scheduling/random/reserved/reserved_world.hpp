// A scheduler of pods and reservations beside the oracle that computes everything anew, over one random
// cluster and its changes.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "random/reserved/objects.hpp"
#include "support/reference/evaluate.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

/// One seed's story. Whatever the engine says, does or counts that the oracle would not is told once.
class ReservedWorld {
 public:
  explicit ReservedWorld(unsigned seed, EngineOptions options = {}, PluginTable table = plugin_table());

  /// One change, the decisions that follow from it, what must hold then, and every node for all probes.
  void step();
  /// Pods and reservations go: nothing is left of them.
  void empty();
  /// The first difference, with seed, step and both answers; empty: there is none.
  const std::string& found() const { return found_; }
  /// How often something was compared that is worth it.
  const std::map<std::string, std::size_t>& met() const { return met_; }

 private:
  struct Flight {  // from the choice of a node to the end of the binding
    std::shared_ptr<const api::Pod> pod;
    bool tells_end = false;
  };

  void start();
  void restart();
  void change();
  void put_node();
  void remove_node();
  void add_reservation();
  void change_reservation();
  void keep_up();
  void remove_reservation(const std::string& key);
  void add_pod();
  void place_foreign_pod();
  void change_pod();
  void remove_pod(std::string of);
  void end_a_binding(bool well);
  std::string any_reservation();
  std::vector<std::string> names() const;

  // judge.cpp
  void decide();
  void judge(const Decision& decision);
  void judge_choice(const Decision& decision, const reference::Answer& expected, bool reserves);
  void judge_gift(const api::Pod& pod, const std::string& node);
  void compare(const std::shared_ptr<const api::Pod>& probe);
  std::map<std::string, std::int64_t> used_of(const std::string& node) const;
  void check_sums();
  void check_owners();
  void tell(std::string_view about, const std::string& what);

  unsigned seed_;
  EngineOptions options_;
  PluginTable table_;
  ReservedObjects random_;
  reference::Config oracle_;
  std::unique_ptr<World> world_;
  reference::Cluster cluster_;                                      // those on their way count as there
  std::map<std::string, std::shared_ptr<const api::Pod>> waiting_;  // by key
  std::map<std::string, Flight> flights_;                           // by uid
  std::vector<std::shared_ptr<const api::Pod>> probes_;
  int pods_ = 0, reservations_ = 0, steps_ = 0;
  std::string done_, found_;
  std::vector<std::string> last_changes_;
  std::map<std::string, std::size_t> met_;
};

}  // namespace koord::scheduling::test
