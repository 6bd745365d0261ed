// NodeAgent: the simulated agent of one node: plays the trace, remembers what was used, says what to report
// and whom to evict. A state class: no timers, no store.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/base/clock.hpp"
#include "sandbox/usage/usage.hpp"

namespace koord::sandbox {

struct AgentSettings {
  /// Seconds of the trace in one of the clock's. Windows and cool times are the trace's: an average of five
  /// minutes is one of five minutes of the machine that is played. When reports are due and their
  /// timestamps are the clock's.
  double speed = 1;
  /// Instead of the NodeMetric's reportIntervalSeconds; 0: as that says.
  std::chrono::milliseconds report_interval{0};
};

/// CPU seconds since a node's first pod, as the clock counts them, and what was done about best-effort work.
struct AgentTotals {
  double seconds = 0;   // of a node
  double capacity = 0;  // CPU seconds
  double latency_sensitive = 0, best_effort = 0, system = 0;
  double busy = 0;        // of pods that use all that they may, best-effort or not
  double lost = 0;        // part of busy: work of pods that were evicted, up to their end
  double suppressed = 0;  // seconds of a node in which best-effort work was held back
  std::uint64_t evictions = 0;
  AgentTotals& operator+=(const AgentTotals& other);
};

class NodeAgent {
 public:
  /// `machine` is the trace's, which outlives the agent and is played from `began` on; the agent from `now`
  /// on.
  NodeAgent(const Trace& trace, std::size_t machine, const AgentSettings& settings, MonoTime began,
            MonoTime now);

  void set_node(const SimulatedNode& node) { node_ = node; }
  /// Null: no NodeSLO, so nothing is held back.
  void set_slo(std::shared_ptr<const api::NodeSlo> slo) { slo_ = std::move(slo); }
  void set_policy(const api::NodeMetricSpec& spec);
  /// A pod that runs from now on; it takes the place of another one of its name.
  void add_pod(SimulatedPod pod);
  /// Whether this very pod runs.
  bool has_pod(std::string_view ns, std::string_view name, std::string_view uid) const;
  void remove_pod(std::string_view ns, std::string_view name);

  /// How often tick() wants to be called: five times a report, from 0.1 to 10 seconds.
  std::chrono::milliseconds period() const;
  struct Victim {
    std::string ns, name, uid, reason;
  };
  struct TickOutcome {
    bool report = false;
    std::vector<Victim> evict;
  };
  /// Plays the time from the last tick to `now`. Nobody is to be evicted while a pod that was is still there.
  TickOutcome tick(MonoTime now);
  /// It was: the API took the eviction.
  void evicted(std::string_view ns, std::string_view name);

  /// What the node's NodeMetric is to say; the report was due.
  api::NodeMetricStatus status(WallTime now) const;
  /// How long a pod has worked so far, at the speed that it had; 0 of one that is not known.
  nanoseconds worked(std::string_view ns, std::string_view name) const;
  const UsageSample& moment() const { return moment_; }
  const AgentTotals& totals() const { return totals_; }
  const std::string& machine() const { return trace_.name(machine_); }

 private:
  /// There are many of them.
  struct SmallUsage {
    float cpu, memory;
  };
  struct Pod {
    SimulatedPod is;
    std::deque<SmallUsage> used;  // one for each of the last samples, within aggregate_
    nanoseconds worked{0};
    double busy = 0;  // CPU seconds, of one that uses all that it may
    bool evicted = false;
  };
  struct Sample {
    double at;  // seconds of the trace
    Usage node, system;
    Satisfaction best_effort;
  };
  double trace_time(MonoTime at) const;
  const api::ResourceThresholdStrategy* threshold() const;
  void forget(double at);
  std::vector<std::size_t> whom_to_evict(double at, const std::vector<const SimulatedPod*>& pods,
                                         const char*& reason);
  api::ResourceMap average(const Pod& pod) const;
  api::ResourceMap average(Usage Sample::*what) const;
  std::vector<api::AggregatedUsage> aggregates(Usage Sample::*what) const;

  const Trace& trace_;
  const std::size_t machine_;
  const AgentSettings settings_;
  const MonoTime began_;
  SimulatedNode node_;
  std::shared_ptr<const api::NodeSlo> slo_;
  nanoseconds interval_ = std::chrono::seconds(60);
  double aggregate_ = 300;                        // seconds
  std::vector<nanoseconds> windows_;              // of the aggregates
  std::map<std::string, Pod, std::less<>> pods_;  // by namespace and name
  std::deque<Sample> samples_;
  UsageSample moment_;
  MonoTime last_, reported_;
  bool used_ = false;          // a pod has run here
  double evicted_at_ = -1e18;  // the trace's time, of the last eviction
  AgentTotals totals_;
};

}  // namespace koord::sandbox
