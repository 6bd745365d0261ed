// The simulation's arithmetic: see usage.hpp.
#include "sandbox/usage/usage.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "koord/api/rules/pod_requests.hpp"

namespace koord::sandbox {
namespace {

constexpr double kSystemCpu = 0.02, kSystemMemory = 0.04;
/// The least quota: 2000 us of 100 ms.
constexpr double kLeastLimit = 0.02;
/// Of anything that somebody writes: beyond it is nobody's machine, and products must stay numbers.
constexpr double kMost = 1e15;
constexpr std::int64_t kSuppressAt = 65, kMemoryEvictAt = 70, kCpuUsedAt = 90;

double amount(const api::ResourceList& list, std::string_view name) {
  const api::Quantity* found = list.find(name);
  return found ? std::clamp(found->to_double(), 0.0, kMost) : 0;
}

double percent(std::int64_t value) {
  return static_cast<double>(std::clamp<std::int64_t>(value, 0, 1000)) / 100;
}

/// Best-effort pods in the order in which they go: of low priority first, then those of most `weight`.
template <class Weight>
std::vector<std::size_t> victims(const std::vector<const SimulatedPod*>& pods, Weight weight) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < pods.size(); ++i)
    if (pods[i]->best_effort) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(pods[a]->priority_value, -weight(a)) < std::tuple(pods[b]->priority_value, -weight(b));
  });
  return order;
}

/// The first of `order` whose `gain` together makes up for `release`.
template <class Gain>
std::vector<std::size_t> enough(std::vector<std::size_t> order, double release, Gain gain) {
  std::size_t count = 0;
  while (count < order.size() && release > 0) release -= gain(order[count++]);
  order.resize(count);
  return order;
}

}  // namespace

SimulatedPod SimulatedPod::of(const api::Pod& pod) {
  SimulatedPod out;
  out.ns = pod.metadata.namespace_.str();
  out.name = pod.metadata.name;
  out.uid = pod.metadata.uid;
  out.qos = api::with_default(api::koord_qos(pod), api::kube_qos(pod));
  out.priority = api::with_default(api::koord_priority(pod), out.qos);
  out.priority_value = pod.spec.priority.value_or(0);
  out.best_effort = out.qos == api::KoordQos::be;
  const std::string_view load = api::value_or(pod.metadata.annotations, kLoad);
  out.busy = load == "busy" || (load != "trace" && out.best_effort);
  const api::ResourceList requests = api::pod_requests(pod);
  out.asked.cpu =
      amount(requests, "cpu") + (amount(requests, api::kBatchCpu) + amount(requests, api::kMidCpu)) / 1000;
  out.asked.memory =
      amount(requests, "memory") + amount(requests, api::kBatchMemory) + amount(requests, api::kMidMemory);
  const api::NonZeroRequests least = api::non_zero_requests(pod);
  if (out.asked.cpu == 0) out.asked.cpu = static_cast<double>(least.milli_cpu) / 1000;
  if (out.asked.memory == 0) out.asked.memory = static_cast<double>(least.memory);
  return out;
}

SimulatedNode SimulatedNode::of(const api::Node& node) {
  const auto part = [&](std::string_view name) {
    const double whole = amount(node.status.capacity, name);
    const double left =
        node.status.allocatable.contains(name) ? amount(node.status.allocatable, name) : whole;
    return std::pair(whole, std::max(whole - left, 0.0));
  };
  const auto [cpu, reserved_cpu] = part("cpu");
  const auto [memory, reserved_memory] = part("memory");
  return {{cpu, memory}, {reserved_cpu, reserved_memory}};
}

UsageSample play(const SimulatedNode& node, const std::vector<const SimulatedPod*>& pods, Trace::Load load,
                 const api::ResourceThresholdStrategy* slo) {
  UsageSample out;
  out.pods.resize(pods.size());
  out.system = {node.capacity.cpu * kSystemCpu, node.capacity.memory * kSystemMemory};
  double first = 0;  // what latency-sensitive pods would use
  for (std::size_t i = 0; i < pods.size(); ++i) {
    const Usage& asked = pods[i]->asked;
    Usage& used = out.pods[i];
    used = pods[i]->busy ? asked : Usage{asked.cpu * load.cpu, asked.memory * load.memory};
    (pods[i]->best_effort ? out.wanted : first) += used.cpu;
  }
  const double room = std::max(node.capacity.cpu - out.system.cpu, 0.0);
  const double shrink = first > room ? room / first : 1;
  const double left = std::max(room - first, 0.0);
  out.limit = left;
  if (slo && slo->enable.value_or(false)) {
    double budget = node.capacity.cpu * percent(slo->cpu_suppress_threshold_percent.value_or(kSuppressAt)) -
                    std::min(first, room) - std::max(out.system.cpu, node.reserved.cpu);
    if (slo->cpu_suppress_min_percent)
      budget = std::max(budget, node.capacity.cpu * percent(*slo->cpu_suppress_min_percent));
    budget = std::max(budget, kLeastLimit);
    out.suppressed = budget < std::min(left, out.wanted);
    out.limit = std::min(budget, left);
  }
  const double part = out.wanted > out.limit ? out.limit / out.wanted : 1;
  out.node = out.system;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    Usage& used = out.pods[i];
    used.cpu *= pods[i]->best_effort ? part : shrink;
    (pods[i]->best_effort ? out.best_effort : out.latency_sensitive) += used;
    out.node += used;
  }
  out.node.memory = std::min(out.node.memory, node.capacity.memory);
  return out;
}

std::vector<std::size_t> evict_for_memory(const SimulatedNode& node,
                                          const std::vector<const SimulatedPod*>& pods,
                                          const UsageSample& moment,
                                          const api::ResourceThresholdStrategy& slo) {
  const std::int64_t threshold = slo.memory_evict_threshold_percent.value_or(kMemoryEvictAt);
  const std::int64_t lower = slo.memory_evict_lower_percent.value_or(threshold - 2);
  if (!slo.enable.value_or(false) || threshold <= 0 || lower >= threshold || node.capacity.memory <= 0)
    return {};
  const auto used = static_cast<std::int64_t>(moment.node.memory * 100 / node.capacity.memory);
  if (used < threshold) return {};
  const auto memory = [&](std::size_t i) { return moment.pods[i].memory; };
  return enough(victims(pods, memory), node.capacity.memory * static_cast<double>(used - lower) / 100,
                memory);
}

std::vector<std::size_t> evict_for_cpu(const std::vector<const SimulatedPod*>& pods,
                                       const UsageSample& moment, const Satisfaction& window,
                                       const api::ResourceThresholdStrategy& slo) {
  const std::int64_t lower = slo.cpu_evict_be_satisfaction_lower_percent.value_or(0);
  const std::int64_t upper = slo.cpu_evict_be_satisfaction_upper_percent.value_or(0);
  if (!slo.enable.value_or(false) || lower <= 0 || lower > 60 || upper < lower || upper >= 100) return {};
  const std::int64_t used_at = slo.cpu_evict_be_usage_threshold_percent.value_or(kCpuUsedAt);
  double release = std::numeric_limits<double>::infinity();
  for (const Satisfaction& each : {window, satisfaction(pods, moment)}) {
    if (each.asked <= 0) return {};
    // Below one CPU whoever is there counts as using it up.
    if (each.limit >= 1 && each.used * 100 < each.limit * static_cast<double>(used_at)) return {};
    const double rate = each.limit / each.asked;
    if (rate * 100 > static_cast<double>(lower)) return {};
    release = std::min(release, each.asked * (static_cast<double>(upper) / 100 - rate));
  }
  const auto busy = [&](std::size_t i) { return moment.pods[i].cpu / std::max(pods[i]->asked.cpu, 1e-3); };
  return enough(victims(pods, busy), release, [&](std::size_t i) { return pods[i]->asked.cpu; });
}

Satisfaction satisfaction(const std::vector<const SimulatedPod*>& pods, const UsageSample& moment) {
  Satisfaction out{moment.limit, 0, moment.best_effort.cpu};
  for (const SimulatedPod* pod : pods)
    if (pod->best_effort) out.asked += pod->asked.cpu;
  return out;
}

}  // namespace koord::sandbox
