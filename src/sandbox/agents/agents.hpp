// Agents: the simulated node agents of all nodes together: they write NodeMetrics as koordlet does, hold
// best-effort pods back and evict them as the nodes' NodeSLOs say.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "sandbox/agents/node_agent.hpp"
#include "sandbox/api/verbs.hpp"
#include "sandbox/base/wheel.hpp"

namespace koord::sandbox {

/// Annotation that a node gets: whose usage its agent plays. Nothing there is measured.
inline constexpr const char* kSimulated = "sandbox.koordinator.sh/simulated-usage";

/// The store's thread. Nodes that are left to someone else's kubelet are left to someone else's agent, too.
class Agents final : public Observer {
 public:
  Agents(Verbs& verbs, Trace trace, AgentSettings settings);
  ~Agents() override;
  void on_change(Collection& collection, const Change& change) override;

  /// How much longer a pod that works `whole` at full speed has to work; 0: it is done.
  nanoseconds work_left(const Object& pod, nanoseconds whole) const;
  AgentTotals totals() const;

 private:
  struct Node {
    std::string uid;
    std::unique_ptr<NodeAgent> agent;
    // What changed since it was looked at.
    bool node_changed = true, slo_changed = true, metric_changed = true;
    bool met = false;                    // it has been looked at
    std::set<std::string> pods_changed;  // keys
  };
  struct Job {
    std::string node, uid;
  };

  void node_changed(const Change& change);
  void run(Job& job);
  /// Takes up what changed.
  void look_at(const std::string& name, Node& node);
  void meet(const std::string& name, const Object& object, Node& node);
  void look_at_pod(const std::string& node, const std::string& key, NodeAgent& agent);
  void report(const std::string& name, const NodeAgent& agent);
  void evict(const NodeAgent::Victim& victim, NodeAgent& agent);

  Verbs& verbs_;
  const Trace trace_;
  const AgentSettings settings_;
  const MonoTime began_;
  const Kind& pods_;
  const Kind& nodes_;
  Collection& metrics_;
  Collection& slos_;
  std::map<std::string, Node, std::less<>> known_;
  AgentTotals gone_;        // of nodes that are not there any more
  bool reporting_ = false;  // what changes now is our own report
  std::size_t next_machine_ = 0;
  Wheel<Job> wheel_;
};

}  // namespace koord::sandbox
