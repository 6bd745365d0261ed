// Random objects of worlds with memory nodes: see objects.hpp.
#include "random/numa/objects.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/schema/codec.hpp"

namespace koord::scheduling::test {

namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;
constexpr const char* kHuge = "hugepages-2Mi";
constexpr const char* kBatchCpu = "kubernetes.io/batch-cpu";
constexpr const char* kBatchMemory = "kubernetes.io/batch-memory";

api::Quantity n(std::int64_t amount) { return api::Quantity::from_int(amount); }

}  // namespace

NumaObjects::Machine NumaObjects::build() {
  struct Shape {
    int sockets, zones;  // of each
  };
  static constexpr Shape kShapes[] = {{1, 2}, {2, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 1},
                                      {3, 1}, {1, 3}, {1, 4}, {2, 2}, {2, 3}, {2, 4}};
  const Shape shape = one_of(kShapes);
  const int threads = chance(65) ? 2 : 1, cores = 1 + below(4), gap = chance(15) ? 2 : 1;
  const bool siblings_together = chance(50), uneven = chance(25), holes = chance(20);
  Machine made;
  int core = 0, zone = 0, all = 0;
  for (int socket = 0; socket < shape.sockets; ++socket)
    for (int i = 0; i < shape.zones; ++i, ++zone) {
      made.zones.push_back(zone * gap);
      for (int left = cores + (uneven ? below(3) : 0); left > 0; --left, ++core)
        for (int t = 0; t < threads; ++t) made.cpus.push_back({t, core, socket, zone * gap});
    }
  all = core;
  for (Cpu& cpu : made.cpus)
    cpu.id = siblings_together ? cpu.core * threads + cpu.id : cpu.core + cpu.id * all;
  // CPUs that are off.
  if (holes) std::erase_if(made.cpus, [&](const Cpu&) { return chance(10); });
  const bool large = made.zones.size() > 6;
  made.huge = !large && chance(40);
  made.batch = !large && chance(40);
  return made;
}

const NumaObjects::Machine& NumaObjects::machine(const std::string& name) {
  const auto [it, fresh] = machines_.try_emplace(name);
  if (fresh) it->second = build();
  return it->second;
}

std::string NumaObjects::some_cpus(const Machine& machine, int percent) {
  std::vector<int> some;
  for (const Cpu& cpu : machine.cpus)
    if (chance(percent)) some.push_back(cpu.id);
  std::ranges::sort(some);
  std::string list = fmt::format("{}", fmt::join(some, ","));
  if (chance(5)) list = list.empty() ? "0-1" : list + ",900";
  return list;
}

std::string NumaObjects::ratios() {
  static constexpr const char* kSaid[] = {R"({"cpu":1.5})", R"({"cpu":2})", R"({"cpu":1.33,"memory":1.1})",
                                          R"({"cpu":0.5})", R"({"memory":2})"};
  return chance(6) ? "cpu" : one_of(kSaid);
}

std::shared_ptr<const api::Node> NumaObjects::node(const std::string& name, bool rebuilt) {
  if (rebuilt) machines_.erase(name);
  const Machine& of = machine(name);
  auto node = std::make_shared<api::Node>();
  api::ObjectMeta& meta = node->metadata;
  meta.name = name;
  meta.labels = {{"kubernetes.io/hostname", Symbol(name)}};
  static constexpr const char* kPolicies[] = {"BestEffort",     "Restricted", "SingleNUMANode",
                                              "SingleNUMANode", "Restricted", "Whatever"};
  static constexpr const char* kBinds[] = {"FullPCPUsOnly", "SpreadByPCPUs", "None", "Whatever"};
  static constexpr const char* kStrategies[] = {"MostAllocated", "LeastAllocated"};
  if (chance(35)) meta.labels[api::kNumaTopologyPolicyLabel] = one_of(kPolicies);
  if (chance(25)) meta.labels[api::kCpuBindPolicyLabel] = one_of(kBinds);
  if (chance(25)) meta.labels[api::kNumaAllocateStrategyLabel] = one_of(kStrategies);
  if (chance(25)) meta.annotations[api::AmplificationRatios::kAnnotation] = Symbol(ratios());
  auto& has = node->status.allocatable;
  const auto cpus = static_cast<std::int64_t>(of.cpus.size()),
             zones = static_cast<std::int64_t>(of.zones.size());
  // Mostly so large that what its memory nodes have decides.
  has["cpu"] = api::Quantity::from_milli(cpus * (chance(30) ? 1500 : chance(70) ? 4000 : 1000));
  has["memory"] = n(zones * (chance(70) ? 40 : 4 + below(5)) * kGi);
  has["pods"] = n(40);
  has[kHuge] = n(zones * (chance(70) ? 40 : below(5)) * (2 << 20));
  has[kBatchCpu] = n(cpus * (chance(70) ? 4000 : 500));
  has[kBatchMemory] = n(zones * (chance(70) ? 20 : 2) * kGi);
  if (chance(3)) node->spec.unschedulable = true;
  return node;
}

std::shared_ptr<const api::NodeResourceTopology> NumaObjects::topology(const std::string& name) {
  const Machine& of = machine(name);
  auto made = std::make_shared<api::NodeResourceTopology>();
  api::ObjectMeta& meta = made->metadata;
  meta.name = name;
  api::CpuTopology cpus;
  for (const Cpu& cpu : of.cpus)
    cpus.detail.push_back({.id = cpu.id, .core = cpu.core, .socket = cpu.socket, .node = cpu.zone});
  if (chance(97)) api::set_annotation(meta.annotations, cpus);
  if (chance(25)) {
    api::KubeletCpuManagerPolicy kubelet;
    kubelet.policy = chance(75) ? "static" : "none";
    if (chance(50)) kubelet.options["full-pcpus-only"] = chance(80) ? "true" : "false";
    if (chance(50)) kubelet.reserved_cpus = some_cpus(of, 12);
    api::set_annotation(meta.annotations, kubelet);
    api::PodCpuAllocs pods;
    pods.pods.push_back({"default", "kept", chance(80) ? "uid-kept" : "", some_cpus(of, 15), chance(70)});
    api::set_annotation(meta.annotations, pods);
  }
  if (chance(10))
    meta.annotations[api::NodeReservation::kAnnotation] =
        Symbol(fmt::format(R"({{"reservedCPUs":"{}"}})", some_cpus(of, 15)));
  if (chance(8))
    meta.annotations[api::SystemQosResource::kAnnotation] = Symbol(fmt::format(
        R"({{"cpuset":"{}"{}}})", some_cpus(of, 10), chance(50) ? R"(,"cpusetExclusive":false)" : ""));
  if (chance(10)) meta.annotations[api::AmplificationRatios::kAnnotation] = Symbol(ratios());
  static constexpr const char* kPolicies[] = {"BestEffort", "Restricted", "SingleNUMANodePodLevel",
                                              "SingleNUMANodeContainerLevel", "None"};
  if (chance(35)) made->topology_policies.emplace_back(one_of(kPolicies));
  if (chance(3)) return made;  // nothing is said of memory nodes
  const bool amplified = meta.annotations.contains(api::AmplificationRatios::kAnnotation);
  for (const int id : of.zones) {
    api::TopologyZone& zone = made->zones.emplace_back();
    zone.name = Symbol(fmt::format("node-{}", id));
    zone.type = "Node";
    const auto add = [&](const char* resource, const api::Quantity& amount) {
      zone.resources.push_back({Symbol(resource), amount, amount, amount});
    };
    const auto there = std::ranges::count(of.cpus, id, &Cpu::zone);
    add("cpu", api::Quantity::from_milli(there * (amplified ? 1500 : 1000) - (chance(10) ? 500 : 0)));
    if (chance(97)) add("memory", n((3 + below(4)) * kGi));
    if (of.huge && chance(80)) add(kHuge, n(below(4) * (2 << 20)));
    if (of.batch) {
      add(kBatchCpu, n(there * 500));
      add(kBatchMemory, n(2 * kGi));
    }
  }
  if (chance(5)) made->zones.push_back({"socket-0", "Socket", {}, {}, {}, {}});
  return made;
}

std::string NumaObjects::spec() {
  static constexpr const char* kPolicies[] = {"", "FullPCPUs", "SpreadByPCPUs", "Default",
                                              "ConstrainedBurst"};
  static constexpr const char* kLevels[] = {"", "", "PCPULevel", "NUMANodeLevel", "None"};
  if (chance(2)) return "{";
  api::ResourceSpec spec;
  if (chance(40)) spec.required_cpu_bind_policy = one_of(kPolicies);
  if (chance(60)) spec.preferred_cpu_bind_policy = one_of(kPolicies);
  spec.preferred_cpu_exclusive_policy = one_of(kLevels);
  return api::encode_annotation(spec);
}

std::string NumaObjects::status(const std::string& node) {
  static constexpr const char* kWrong[] = {"{", R"({"cpuset":"x"})", "{}", R"({"cpuset":"3-1"})"};
  if (chance(5)) return one_of(kWrong);
  const Machine& of = machine(node);
  api::ResourceStatus status;
  if (chance(80)) status.cpuset = some_cpus(of, 15);
  if (chance(60))
    for (const int id : of.zones) {
      if (chance(50)) continue;
      api::NumaNodeResource& zone = status.numa_node_resources.emplace_back();
      zone.node = id;
      zone.resources["cpu"] = api::Quantity::from_milli(500 * below(5));
      if (chance(70)) zone.resources["memory"] = n(below(4) * kGi / 2);
      if (chance(20)) zone.resources[kHuge] = n(below(2) * (2 << 20));
    }
  return api::encode_annotation(status);
}

std::shared_ptr<const api::Pod> NumaObjects::pod(const std::string& name) {
  auto pod = std::make_shared<api::Pod>();
  api::ObjectMeta& meta = pod->metadata;
  meta.name = name;
  meta.namespace_ = "default";
  meta.uid = "uid-" + name;
  static constexpr const char* kClasses[] = {"LSE", "LSR", "LSR", "LSR", "LS", "BE", ""};
  const std::string_view qos = one_of(kClasses);
  if (!qos.empty()) meta.labels[api::kQosLabel] = Symbol(qos);
  pod->spec.scheduler_name = "default-scheduler";
  const bool batch = qos == "BE" && chance(80);
  pod->spec.priority = batch ? 5500 : chance(80) ? 9500 : chance(50) ? 0 : 5500;
  if (chance(50)) meta.annotations[api::ResourceSpec::kAnnotation] = Symbol(spec());
  if (chance(35)) {
    static constexpr const char* kPolicies[] = {
        "BestEffort", "Restricted", "SingleNUMANode", "SingleNUMANode", "Restricted", "", "Whatever"};
    static constexpr const char* kExclusive[] = {"", "", "Preferred", "Required"};
    meta.annotations[api::NumaTopologySpec::kAnnotation] =
        Symbol(fmt::format(R"({{"numaTopologyPolicy":"{}","singleNUMANodeExclusive":"{}"}})",
                           one_of(kPolicies), one_of(kExclusive)));
  }
  for (int containers = chance(85) ? 1 : 2; containers > 0; --containers) {
    api::Container& c = pod->spec.containers.emplace_back();
    c.name = Symbol(fmt::format("c{}", containers));
    auto& asks = c.resources.requests;
    if (batch) {
      asks[kBatchCpu] = n(500 * (1 + below(6)));
      asks[kBatchMemory] = n((1 + below(4)) * kGi / 2);
    } else {
      if (chance(92))
        asks["cpu"] = api::Quantity::from_milli(chance(85) ? 1000 * (1 + below(chance(70) ? 3 : 6))
                                                           : 500 * (1 + below(7)));
      if (chance(75)) asks["memory"] = n((1 + below(6)) * kGi / 2);
      if (chance(8)) asks[kHuge] = n((1 + below(3)) * (2 << 20));
    }
    c.resources.limits = asks;
  }
  // A wish, or what an attempt has left there.
  if (chance(6)) meta.annotations[api::ResourceStatus::kAnnotation] = Symbol(status(node_name()));
  return pod;
}

}  // namespace koord::scheduling::test
