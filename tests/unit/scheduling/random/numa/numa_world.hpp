// A scheduler with NodeNUMAResource beside the oracle that computes everything anew, over one random cluster
// and its changes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "random/numa/objects.hpp"
#include "support/reference/evaluate.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

/// One seed's story. Whatever the engine says or gives that the oracle would not is told once.
class RandomNumaWorld {
 public:
  explicit RandomNumaWorld(unsigned seed, EngineOptions options = {});

  /// One change, the decisions that follow from it, what must hold then, and every node for the probes.
  void step();
  /// The pods go: nothing is left of them.
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
  using Pods = std::map<std::string, std::shared_ptr<const api::Pod>>;

  void start();
  void restart();
  void change();
  void put_node();
  void put_topology(const std::string& name);
  void remove_node();
  void remove_topology();
  void add_pod();
  std::shared_ptr<const api::Pod> pod(const std::string& name);
  void place_foreign_pod();
  void change_pod();
  void remove_pod(std::string key);
  void end_a_binding(bool well);
  const std::string& any_of(const Pods& pods);

  // judge.cpp
  void decide();
  void judge(const Decision& decision);
  void judge_choice(const Decision& decision, const reference::Answer& expected);
  void judge_gift(const api::Pod& asked, const api::Pod& bound);
  void check_gift(const api::Pod& asked, const api::Pod& bound);
  void compare(const std::shared_ptr<const api::Pod>& probe);
  void tell(std::string_view about, const std::string& what);

  unsigned seed_;
  EngineOptions options_;
  NumaObjects random_;
  reference::Config oracle_;
  std::unique_ptr<World> world_;
  reference::Cluster cluster_;  // those on their way count as there
  /// Bound ones as the API server has them, where what they were given stays given.
  Pods written_;
  Pods waiting_;                           // by key
  std::map<std::string, Flight> flights_;  // by key
  std::vector<std::shared_ptr<const api::Pod>> probes_;
  std::shared_ptr<const api::Pod> gone_;  // the last that went and had been given something
  int pods_ = 0, steps_ = 0;
  std::string done_, found_;
  std::vector<std::string> last_changes_;
  std::map<std::string, std::size_t> met_;
};

}  // namespace koord::scheduling::test
