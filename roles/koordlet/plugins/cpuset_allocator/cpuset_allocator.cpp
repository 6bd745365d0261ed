// Sets of CPUs: who was given CPUs by name runs on those and nowhere else, without a quota; the others share
// what is left.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "framework/hooks/reconciler.hpp"

namespace koord::koordlet {

namespace cpuset_allocator {
namespace {

using host::Knob;

constexpr std::string_view kGiven = "the CPUs that the scheduler gave it";
constexpr std::string_view kNoQuota = "whose CPUs are its own needs no quota";
constexpr std::string_view kShared = "the CPUs that nobody has for himself";
constexpr std::string_view kSystem = "the CPUs of SYSTEM pods";
constexpr std::string_view kKubelet =
    "the kubelet's static CPU policy pins containers itself: their sets of CPUs are its own";

constexpr metrics::Metric kShareCores{.name = "koordlet_cpuset_share_pool_cpu_cores",
                                      .type = metrics::Type::gauge,
                                      .help = "CPUs that latency-sensitive pods share."};
constexpr metrics::Metric kBeShareCores{.name = "koordlet_cpuset_be_share_pool_cpu_cores",
                                        .type = metrics::Type::gauge,
                                        .help = "CPUs that best-effort pods may share."};
constexpr metrics::Metric kShareInfo{.name = "koordlet_cpuset_share_pool_info",
                                     .type = metrics::Type::gauge,
                                     .help = "1 for each CPU that latency-sensitive pods share.",
                                     .labels = {"cpu"}};
constexpr metrics::Metric kBeShareInfo{.name = "koordlet_cpuset_be_share_pool_info",
                                       .type = metrics::Type::gauge,
                                       .help = "1 for each CPU that best-effort pods may share.",
                                       .labels = {"cpu"}};

bool kubelet_pins(const HookFacts& facts) { return facts.inventory.node.static_cpu_policy; }

/// LSE and LSR, and a pod of no class that has CPUs.
bool needs_no_quota(const HookFacts& facts, const PodInfo& pod) {
  const bool pinned = pod.cpus && (pod.qos == Qos::lse || pod.qos == Qos::lsr || pod.qos == Qos::none);
  return pinned && !facts.is_set("disable-unset-cpu-quota");
}

/// Of the pod's NUMA nodes, where the scheduler chose some.
host::CpuSet shared_cpus(const HookFacts& facts, const std::vector<int>& nodes = {}) {
  host::CpuSet cpus;
  if (facts.pools == nullptr) return cpus;
  for (const SharedPool& pool : facts.pools->ls)
    if (nodes.empty() || std::ranges::find(nodes, pool.node) != nodes.end()) cpus = cpus | pool.cpus;
  return cpus;
}

struct Choice {
  host::CpuSet cpus;  // none: it is not for us to say
  std::string_view reason;
};

Choice choose(const HookFacts& facts, const PodInfo& pod) {
  if (pod.cpus) return {*pod.cpus, kGiven};
  if (pod.qos == Qos::be) return {};  // CPU suppression's
  if (const auto& nodes = terms_of(pod).numa_nodes; !nodes.empty())
    return {shared_cpus(facts, nodes), kShared};
  if (pod.qos == Qos::system && !facts.inventory.node.system_qos_pool.empty())
    return {facts.inventory.node.system_qos_pool, kSystem};
  if (pod.qos != Qos::ls && pod.kube_qos == host::KubeQos::besteffort) return {};
  return {shared_cpus(facts), kShared};
}

void answer(const HookFacts& facts, const HookTarget& target, HookAnswer& answer) {
  switch (target.level) {
    case HookLevel::pod:
      if (needs_no_quota(facts, *target.pod))
        answer.knobs.push_back({Knob::cpu_quota, host::kUnlimited, kNoQuota});
      return;
    case HookLevel::sandbox:
    case HookLevel::container: {
      if (needs_no_quota(facts, *target.pod))
        answer.knobs.push_back({Knob::cpu_quota, host::kUnlimited, kNoQuota});
      if (kubelet_pins(facts)) return;
      Choice choice = choose(facts, *target.pod);
      if (!choice.cpus.empty())
        answer.knobs.push_back({Knob::cpuset_cpus, std::move(choice.cpus), choice.reason});
      return;
    }
    case HookLevel::host_application: {
      // Where nobody has CPUs for himself there is nothing to keep off.
      if (target.application->qos != Qos::ls || facts.pools == nullptr) return;
      host::CpuSet cpus = shared_cpus(facts);
      if (!cpus.empty() && !(cpus == facts.topology->online))
        answer.knobs.push_back({Knob::cpuset_cpus, std::move(cpus), kShared});
      return;
    }
    case HookLevel::machine:
    case HookLevel::best_effort_root:
    case HookLevel::qos_folder: return;
  }
}

void show(const HookFacts& facts, metrics::Registry& metrics) {
  if (facts.pools == nullptr) return;
  const auto show_one = [&](const std::vector<SharedPool>& pools, const metrics::Metric& cores,
                            const metrics::Metric& each) {
    host::CpuSet cpus;
    for (const SharedPool& pool : pools) cpus = cpus | pool.cpus;
    metrics.gauges(cores).with({}).set(cpus.size());
    if (!facts.gates.enabled("PerCPUMetric")) return;
    const auto family = metrics.gauges(each);
    for (const host::CpuPlace& place : facts.topology->cpus) {
      const std::string id = std::to_string(place.cpu);
      if (cpus.contains(place.cpu))
        family.with({id}).set(1);
      else
        family.remove({id});
    }
  };
  show_one(facts.pools->ls, kShareCores, kShareInfo);
  show_one(facts.pools->be, kBeShareCores, kBeShareInfo);
}

std::string_view stands_back(const HookFacts& facts) {
  return kubelet_pins(facts) ? kKubelet : std::string_view();
}

constexpr metrics::Table kMetrics = {&kShareCores, &kBeShareCores, &kShareInfo, &kBeShareInfo};
constexpr Hook kHook{.audit_reason = "CPUSetAllocator",
                     .answer = &answer,
                     .stands_back = &stands_back,
                     .show = &show,
                     .metrics = kMetrics};
constexpr std::string_view kGates[] = {"CPUSetAllocator"};

}  // namespace
}  // namespace cpuset_allocator

extern const StrategyEntry kCpusetAllocator{
    .name = "CPUSetAllocator",
    .gates = cpuset_allocator::kGates,
    .replan = Replan::on_change,
    .hold = kHookHold,
    .needs_slo = false,
    .metrics = cpuset_allocator::kMetrics,
    .hook = &cpuset_allocator::kHook,
    .terms = &read_hook_terms,
    .make = &reconcile<cpuset_allocator::kHook>,
};

}  // namespace koord::koordlet
