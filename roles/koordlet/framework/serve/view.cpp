// The schema tables of view.hpp.
#include "framework/serve/view.hpp"

namespace koord::api {

template <>
const Schema& schema<koordlet::UsageView>() {
  using T = koordlet::UsageView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(cpu_cores, "cpuCores").doc("CPUs, over the last tick."),
      KOORD_FIELD(memory_bytes, "memoryBytes").doc("Without page cache."),
      KOORD_FIELD(memory_with_page_cache_bytes, "memoryWithPageCacheBytes"),
      KOORD_FIELD(throttled_ratio, "throttledRatio").doc("Throttled periods per period."),
  };
  static const Schema kSchema("UsageView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::LatencyView>() {
  using T = koordlet::LatencyView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(p50_us, "p50Microseconds").always(),
      KOORD_FIELD(p90_us, "p90Microseconds").always(),
      KOORD_FIELD(p99_us, "p99Microseconds").always(),
      KOORD_FIELD(mean_us, "meanMicroseconds").always(),
      KOORD_FIELD(waits, "waits").always().doc("How many."),
  };
  static const Schema kSchema("LatencyView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::LimitsView>() {
  using T = koordlet::LimitsView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(cpu_cores, "cpuCores"),
      KOORD_FIELD(memory_bytes, "memoryBytes"),
  };
  static const Schema kSchema("LimitsView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::TierView>() {
  using T = koordlet::TierView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name").doc("LS, BE or system."),
      KOORD_FIELD(pods, "pods").always(),
      KOORD_FIELD(usage, "usage"),
      KOORD_FIELD(limits, "limits"),
      KOORD_FIELD(run_queue_latency, "runQueueLatency"),
  };
  static const Schema kSchema("TierView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::StrategyView>() {
  using T = koordlet::StrategyView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(enabled, "enabled").always().doc("By its feature gate."),
      KOORD_FIELD(active, "active").always(),
      KOORD_FIELD(summary, "summary"),
  };
  static const Schema kSchema("StrategyView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::SuppressionView>() {
  using T = koordlet::SuppressionView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(strategy, "strategy"), KOORD_FIELD(knob, "knob"),
      KOORD_FIELD(cgroup, "cgroup"),     KOORD_FIELD(value, "value").doc("In cgroup v1's terms."),
      KOORD_FIELD(reason, "reason"),     KOORD_FIELD(in_force, "inForce").always().doc("The file holds it."),
  };
  static const Schema kSchema("SuppressionView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::FailureView>() {
  using T = koordlet::FailureView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(knob, "knob"),
      KOORD_FIELD(cgroup, "cgroup"),
      KOORD_FIELD(error, "error"),
      KOORD_FIELD(attempts, "attempts").always(),
  };
  static const Schema kSchema("FailureView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::SourceView>() {
  using T = koordlet::SourceView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(ok, "ok").always(),
      KOORD_FIELD(error, "error"),
      KOORD_FIELD(last_good, "lastGood"),
  };
  static const Schema kSchema("SourceView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::CollectorView>() {
  using T = koordlet::CollectorView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(works, "works").always(),
      KOORD_FIELD(reason, "reason").doc("Why not."),
  };
  static const Schema kSchema("CollectorView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::NodeView>() {
  using T = koordlet::NodeView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(version, "version"),
      KOORD_FIELD(time, "time"),
      KOORD_FIELD(tick, "tick").always(),
      KOORD_FIELD(cgroup_version, "cgroupVersion"),
      KOORD_FIELD(cgroup_driver, "cgroupDriver"),
      KOORD_FIELD(capacity, "capacity"),
      KOORD_FIELD(allocatable, "allocatable"),
      KOORD_FIELD(reserved_cpu_cores, "reservedCPUCores").always(),
      KOORD_FIELD(usage, "usage"),
      KOORD_FIELD(tiers, "tiers"),
      KOORD_FIELD(complete, "complete").always().doc("Everything was read in the last tick."),
      KOORD_FIELD(slo_known, "sloKnown").always(),
      KOORD_FIELD(strategies, "strategies"),
      KOORD_FIELD(suppressed, "suppressed"),
      KOORD_FIELD(failures, "failures"),
      KOORD_FIELD(sources, "sources"),
      KOORD_FIELD(collectors, "collectors"),
  };
  static const Schema kSchema("NodeView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::ContainerView>() {
  using T = koordlet::ContainerView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(id, "id"),
      KOORD_FIELD(limits, "limits"),
      KOORD_FIELD(usage, "usage"),
      KOORD_FIELD(run_queue_latency, "runQueueLatency"),
  };
  static const Schema kSchema("ContainerView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::PodView>() {
  using T = koordlet::PodView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(ns, "namespace"),
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(uid, "uid"),
      KOORD_FIELD(qos, "qos").doc("With the default where the pod has no label."),
      KOORD_FIELD(kube_qos, "kubeQOS"),
      KOORD_FIELD(priority_class, "priorityClass"),
      KOORD_FIELD(cgroup, "cgroup"),
      KOORD_FIELD(usage, "usage"),
      KOORD_FIELD(limits, "limits"),
      KOORD_FIELD(run_queue_latency, "runQueueLatency"),
      KOORD_FIELD(suppressed, "suppressed"),
      KOORD_FIELD(containers, "containers"),
  };
  static const Schema kSchema("PodView", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<koordlet::PodListView>() {
  using T = koordlet::PodListView;
  static constexpr Field kRows[] = {
      KOORD_FIELD(node, "node"),
      KOORD_FIELD(time, "time"),
      KOORD_FIELD(pods_known, "podsKnown").always(),
      KOORD_FIELD(pods, "pods").always(),
      KOORD_FIELD(host_applications, "hostApplications"),
  };
  static const Schema kSchema("PodListView", kRows, type_of<T>);
  return kSchema;
}

}  // namespace koord::api
