// What a simulated node's pods use at one moment, and how far best-effort work is held back. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "sandbox/usage/trace.hpp"

namespace koord::sandbox {

/// Annotation of a pod: "busy" uses all that it may, "trace" follows the trace of its node's machine. Where
/// it is absent best-effort pods are busy and the others follow the trace.
inline constexpr const char* kLoad = "sandbox.koordinator.sh/load";

/// CPUs and bytes.
struct Usage {
  double cpu = 0, memory = 0;
  Usage& operator+=(const Usage& other) {
    cpu += other.cpu;
    memory += other.memory;
    return *this;
  }
};

/// What a pod is to the simulation.
struct SimulatedPod {
  std::string ns, name, uid;
  api::KoordQos qos = api::KoordQos::none;
  api::KoordPriority priority = api::KoordPriority::none;
  std::int32_t priority_value = 0;  // spec.priority
  bool best_effort = false;
  bool busy = false;
  /// What it asked for, batch and mid resources counting as CPU and memory.
  Usage asked;

  /// Requests; of a container without any, what a scheduler takes it for (100m, 200Mi).
  static SimulatedPod of(const api::Pod& pod);
};

struct SimulatedNode {
  Usage capacity;
  Usage reserved;  // capacity - allocatable, from 0
  static SimulatedNode of(const api::Node& node);
};

/// What one moment of a node came to.
struct UsageSample {
  Usage node, system;
  Usage latency_sensitive, best_effort;  // of the pods
  std::vector<Usage> pods;               // in the order given
  /// CPUs: what best-effort pods would use if nobody held them back, and what they may have: what is left of
  /// the machine or, where a NodeSLO suppresses, of its threshold.
  double wanted = 0, limit = 0;
  bool suppressed = false;  // the limit is the NodeSLO's and less than what is wanted

  /// The share of what it wants that best-effort work gets, 0 to 1: its speed.
  double speed() const { return wanted > best_effort.cpu ? best_effort.cpu / wanted : 1; }
};

/// The system takes 2% of the CPUs and 4% of the memory. A pod that follows the trace uses the machine's
/// share of what it asked for; a busy one all of it. Latency-sensitive pods come first and share the machine
/// in proportion where it is too small for them; best-effort pods share the limit in proportion. `slo` as in
/// Koordinator: capacity * cpuSuppressThresholdPercent - latency-sensitive pods - max(system, reserved), at
/// least capacity * cpuSuppressMinPercent and 0.02 CPUs; null or not enabled: none. Memory is never less than
/// what is used, up to the node's.
UsageSample play(const SimulatedNode& node, const std::vector<const SimulatedPod*>& pods, Trace::Load load,
                 const api::ResourceThresholdStrategy* slo);

/// Which of the pods are to be evicted, by their place in `pods`; none: nothing is wrong. By Koordinator's
/// rule for memory: the node uses memoryEvictThresholdPercent (70) of its memory, so best-effort pods go, of
/// low priority first, large ones first, until it would use memoryEvictLowerPercent (threshold - 2).
std::vector<std::size_t> evict_for_memory(const SimulatedNode& node,
                                          const std::vector<const SimulatedPod*>& pods,
                                          const UsageSample& moment,
                                          const api::ResourceThresholdStrategy& slo);

/// How satisfied best-effort work is: limit / asked and used / limit, averaged or of one moment.
struct Satisfaction {
  double limit = 0, asked = 0, used = 0;  // CPUs
};
/// By Koordinator's rule for CPU (evictByRealLimit): limit / asked is at or below
/// cpuEvictBESatisfactionLowerPercent, although cpuEvictBEUsageThresholdPercent (90) of the limit is used,
/// both over the window and now, so best-effort pods go until it would be
/// cpuEvictBESatisfactionUpperPercent. Off without both of them, or where they make no sense.
std::vector<std::size_t> evict_for_cpu(const std::vector<const SimulatedPod*>& pods,
                                       const UsageSample& moment, const Satisfaction& window,
                                       const api::ResourceThresholdStrategy& slo);

/// What of a moment evict_for_cpu() looks at.
Satisfaction satisfaction(const std::vector<const SimulatedPod*>& pods, const UsageSample& moment);

}  // namespace koord::sandbox
