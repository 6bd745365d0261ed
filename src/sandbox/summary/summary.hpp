// Summary: what has happened to the pods, for the end of a run.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/sandbox/sandbox.hpp"
#include "sandbox/agents/node_agent.hpp"
#include "sandbox/api/verbs.hpp"

namespace koord::sandbox {

class Summary final : public Observer {
 public:
  explicit Summary(Verbs& verbs);
  ~Summary() override;
  void on_change(Collection& collection, const Change& change) override;

  /// The last change of anything but leases, events and NodeMetrics.
  MonoTime last_change() const { return last_change_; }
  Progress progress() const;
  /// `usage`: of the simulated agents, where there are some.
  std::string text(const std::optional<AgentTotals>& usage = {}) const;
  std::string json(const std::optional<AgentTotals>& usage = {}) const;

 private:
  struct Figures;
  Figures figures() const;
  /// Sets counts.nodes and counts.ready_nodes, and calls each(node).
  template <class Counts, class Each>
  void count_nodes(Counts& counts, const Each& each) const;

  Verbs& verbs_;
  const Collection &pods_, &events_, &leases_, &reports_;
  std::unordered_map<std::string, MonoTime> waiting_;  // unbound pods by uid
  std::vector<float> latencies_;                       // seconds from creation to binding
  std::uint64_t created_ = 0, bound_ = 0, deleted_ = 0;
  MonoTime first_created_{}, last_bound_{}, last_change_{};
};

}  // namespace koord::sandbox
