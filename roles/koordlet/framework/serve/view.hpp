// What the agent shows of what it knows now: /apis/v1/node and /apis/v1/pods, and what `koord top` reads.
// Units are in the names. What is not known is absent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::koordlet {

struct UsageView {
  std::optional<double> cpu_cores;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> memory_with_page_cache_bytes;
  std::optional<double> throttled_ratio;  // of periods since the tick before
  KOORD_STRUCT(UsageView);
};

/// How long tasks waited for a CPU, over the last seconds.
struct LatencyView {
  double p50_us = 0, p90_us = 0, p99_us = 0, mean_us = 0;
  std::int64_t waits = 0;
  KOORD_STRUCT(LatencyView);
};

struct LimitsView {
  std::optional<double> cpu_cores;
  std::optional<std::int64_t> memory_bytes;
  KOORD_STRUCT(LimitsView);
};

struct TierView {
  std::string name;  // LS (with LSR, LSE and what has no class), BE, system
  std::int64_t pods = 0;
  UsageView usage;
  LimitsView limits;  // of BE: what suppression leaves it
  api::Box<LatencyView> run_queue_latency;
  KOORD_STRUCT(TierView);
};

struct StrategyView {
  std::string name;
  bool enabled = false;  // by its feature gate
  bool active = false;
  std::string summary;
  std::optional<std::int64_t> held_seconds;  // how long it has not been able to tell
  KOORD_STRUCT(StrategyView);
};

/// A value that a strategy has put in force.
struct SuppressionView {
  std::string strategy, knob, cgroup, value, reason;
  bool in_force = false;  // the file holds it
  bool held = false;      // wanted earlier; the strategy cannot tell now
  KOORD_STRUCT(SuppressionView);
};

struct FailureView {
  std::string knob, cgroup, error;
  std::int64_t attempts = 0;
  KOORD_STRUCT(FailureView);
};

struct SourceView {
  std::string name;
  bool ok = false;
  std::string error;
  std::optional<api::Time> last_good;
  KOORD_STRUCT(SourceView);
};

struct CollectorView {
  std::string name;
  bool works = false;
  std::string reason;  // why not
  KOORD_STRUCT(CollectorView);
};

/// Who had the CPU while somebody waited for it.
struct RunnerView {
  std::string name;  // LSE, LSR, LS, BE, system, nobody
  double seconds = 0;
  KOORD_STRUCT(RunnerView);
};

/// What LSE, LSR and LS tasks waited for a CPU, over the last tick.
struct BlameView {
  double period_seconds = 0;
  std::int64_t waits = 0;
  std::vector<RunnerView> runners;
  double own_quota_seconds = 0;   // waited while somebody ran, by tasks whose own quota was used up lately
  double caused_seconds = 0;      // by best-effort work, there or on another CPU that the waiter may use
  double best_effort_p99_us = 0;  // of what it caused of each wait
  bool fit = false;               // for somebody who acts on it
  std::string why_unfit;
  KOORD_STRUCT(BlameView);
};

/// What a pod, or a class of pods, lost to others of late: shares, 0 to 1.
struct InterferenceView {
  std::string name;  // of the class; empty for a pod's
  double all = 0;
  std::optional<double> run_queue, memory, io, cpi;
  KOORD_STRUCT(InterferenceView);
};

struct NodeView {
  std::string name, version;
  api::Time time;
  std::int64_t tick = 0;
  std::string cgroup_version, cgroup_driver;
  LimitsView capacity, allocatable;
  double reserved_cpu_cores = 0;
  UsageView usage;
  std::vector<TierView> tiers;
  bool complete = false;  // everything was read in the last tick
  bool slo_known = false;
  std::vector<StrategyView> strategies;
  std::vector<SuppressionView> suppressed;
  std::vector<FailureView> failures;
  std::vector<SourceView> sources;
  std::vector<CollectorView> collectors;
  api::Box<BlameView> blame;
  std::vector<InterferenceView> interference;  // by class
  KOORD_STRUCT(NodeView);
};

struct ContainerView {
  std::string name, id;
  LimitsView limits;
  UsageView usage;
  api::Box<LatencyView> run_queue_latency;
  KOORD_STRUCT(ContainerView);
};

struct PodView {
  std::string ns, name, uid;
  std::string qos, kube_qos, priority_class, cgroup;
  UsageView usage;
  LimitsView limits;  // sums, where every container has one
  api::Box<LatencyView> run_queue_latency;
  std::optional<double> best_effort_wait_seconds;  // that it caused, over the last seconds
  api::Box<InterferenceView> interference;
  std::vector<SuppressionView> suppressed;
  std::vector<ContainerView> containers;
  KOORD_STRUCT(PodView);
};

struct PodListView {
  std::string node;
  api::Time time;
  bool pods_known = false;
  std::vector<PodView> pods;  // by namespace and name
  std::vector<PodView> host_applications;
  KOORD_STRUCT(PodListView);
};

}  // namespace koord::koordlet
