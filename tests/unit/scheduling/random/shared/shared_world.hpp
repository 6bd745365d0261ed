// A cluster that teams share: trees of quotas, gangs and single pods of several priorities, nodes, bindings
// that fail, restarts. What the engine does is judged by the objects alone.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "support/reference/quotas.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

/// One seed's story: see run_stories().
class SharedWorld {
 public:
  explicit SharedWorld(unsigned seed, EngineOptions options = {});

  /// One change, the decisions that follow from it, and what must hold then.
  void step();
  /// All pods go: nothing is left of them.
  void empty();
  /// The first thing that should not be; empty: there is none.
  const std::string& found() const { return found_; }
  const std::map<std::string, std::size_t>& met() const { return met_; }

 private:
  using Pod = std::shared_ptr<const api::Pod>;
  template <class T>
  using Named = std::map<std::string, std::shared_ptr<const T>>;

  // shared_world.cpp: what happens
  void start();
  void restart();
  void change();
  void put_node();
  void lose_node();
  void put_quota();
  void remove_quota();
  void add_single();
  void add_gang();
  void change_group();
  void move_pod();
  void remove_some_pod();
  void remove_pod(const std::string& name);
  void put(const Pod& pod);
  /// The bindings that are on their way end; some badly, unless all go well.
  void write(bool all_well);
  void pass_time();
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  std::string quota_name() { return fmt::format("q{}", below(6)); }

  // judge.cpp: what is right
  void decide();
  void judge(const std::vector<Decision>& made);
  void judge_preemption(const Decision& decision);
  void judge_room(const Decision& decision, const std::string& gang);
  void judge_admission(const api::Pod& pod);
  void judge_node(const std::string& name);
  void judge_gang(const std::string& gang);
  void check_quotas();
  std::map<std::string, std::string> left_waiting();
  /// After time enough, and with all bindings written: nobody waits who fits.
  void check_settled();
  reference::QuotaState quota_state() const;
  std::string quota_of(const api::Pod& pod) const;
  /// How many pods like this one fit beside what is there, by nodes and quota.
  std::int64_t room_for(const api::Pod& pod) const;
  /// The node where it is, or will be; empty: it waits.
  std::string node_of(const std::string& pod) const;
  void tell(std::string_view about, const std::string& what);

  unsigned seed_;
  EngineOptions options_;
  std::mt19937_64 random_;
  std::unique_ptr<World> world_;
  // As the API server has it.
  std::map<std::string, std::shared_ptr<const api::Node>> nodes_;
  Named<api::ElasticQuota> quotas_;
  Named<api::PodGroup> groups_;
  Named<api::Pod> pods_;
  // What the engine has decided, and nobody has written.
  std::map<std::string, std::string> flights_;  // the node, by pod
  std::map<std::string, Pod> flying_;           // as it was decided
  std::map<std::string, std::string> permits_;  // the node of who waits there for others of a loose gang
  std::map<std::string, int> ever_bound_;       // by gang
  std::map<std::string, std::string> told_;     // why it waits, as was said last
  int made_ = 0, gangs_ = 0, steps_ = 0;
  std::string done_, found_;
  std::vector<std::string> last_changes_;
  std::map<std::string, std::size_t> met_;
};

/// Of a pod's gang, empty: it is in none; and how many of it are needed, 0: nobody says.
std::string gang_of(const api::Pod& pod);
int least_of(const api::Pod& pod, const std::map<std::string, std::shared_ptr<const api::PodGroup>>& groups);
bool is_loose(const api::Pod& pod);        // of a gang that is not strict
std::int64_t cpu_of(const api::Pod& pod);  // milli

}  // namespace koord::scheduling::test
