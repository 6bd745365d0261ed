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
};

/// How long tasks waited for a CPU, over the last seconds.
struct LatencyView {
  double p50_us = 0, p90_us = 0, p99_us = 0, mean_us = 0;
  std::int64_t waits = 0;
};

struct LimitsView {
  std::optional<double> cpu_cores;
  std::optional<std::int64_t> memory_bytes;
};

struct TierView {
  std::string name;  // LS (with LSR, LSE and what has no class), BE, system
  std::int64_t pods = 0;
  UsageView usage;
  LimitsView limits;  // of BE: what suppression leaves it
  api::Box<LatencyView> run_queue_latency;
};

struct StrategyView {
  std::string name;
  bool enabled = false;  // by its feature gate
  bool active = false;
  std::string summary;
};

/// A value that a strategy has put in force.
struct SuppressionView {
  std::string strategy, knob, cgroup, value, reason;
  bool in_force = false;  // the file holds it
};

struct FailureView {
  std::string knob, cgroup, error;
  std::int64_t attempts = 0;
};

struct SourceView {
  std::string name;
  bool ok = false;
  std::string error;
  std::optional<api::Time> last_good;
};

struct CollectorView {
  std::string name;
  bool works = false;
  std::string reason;  // why not
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
};

struct ContainerView {
  std::string name, id;
  LimitsView limits;
  UsageView usage;
  api::Box<LatencyView> run_queue_latency;
};

struct PodView {
  std::string ns, name, uid;
  std::string qos, kube_qos, priority_class, cgroup;
  UsageView usage;
  LimitsView limits;  // sums, where every container has one
  api::Box<LatencyView> run_queue_latency;
  std::vector<SuppressionView> suppressed;
  std::vector<ContainerView> containers;
};

struct PodListView {
  std::string node;
  api::Time time;
  bool pods_known = false;
  std::vector<PodView> pods;  // by namespace and name
  std::vector<PodView> host_applications;
};

}  // namespace koord::koordlet

namespace koord::api {
KOORD_API_SCHEMA(koordlet::UsageView);
KOORD_API_SCHEMA(koordlet::LatencyView);
KOORD_API_SCHEMA(koordlet::LimitsView);
KOORD_API_SCHEMA(koordlet::TierView);
KOORD_API_SCHEMA(koordlet::StrategyView);
KOORD_API_SCHEMA(koordlet::SuppressionView);
KOORD_API_SCHEMA(koordlet::FailureView);
KOORD_API_SCHEMA(koordlet::SourceView);
KOORD_API_SCHEMA(koordlet::CollectorView);
KOORD_API_SCHEMA(koordlet::NodeView);
KOORD_API_SCHEMA(koordlet::ContainerView);
KOORD_API_SCHEMA(koordlet::PodView);
KOORD_API_SCHEMA(koordlet::PodListView);
}  // namespace koord::api
