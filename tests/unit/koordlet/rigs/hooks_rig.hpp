// HooksRig: pods with their containers' groups as the kubelet makes them, for the runtime hooks.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/hooks/hook_terms.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"

namespace koord::koordlet::testing {

class HooksRig : public QosRig {
 public:
  struct Container {
    std::string name;
    std::optional<std::int64_t> limit = {};  // of CPU, milli
    ContainerKind kind = ContainerKind::main;
  };

  explicit HooksRig(host::CgroupVersion version, std::string journal = {})
      : QosRig(version, std::move(journal)) {
    inventory.slo = std::make_shared<api::NodeSloSpec>();
    only({"BatchResource", "CPUSetAllocator", "CPUNormalization", "GroupIdentity", "CPUBurst"});
    for (const char* folder : {"kubepods", "kubepods/burstable", "kubepods/besteffort"})
      kernel.group(folder).cpus = topology->online;
  }

  /// An agent with these strategies, in the table's order.
  void only(const std::vector<std::string_view>& names) {
    rows_.clear();
    for (const StrategyEntry* row : strategy_table())
      if (std::find(names.begin(), names.end(), row->name) != names.end()) rows_.push_back(row);
    strategies = rows_;
    start();
  }

  /// One more pod. Its groups hold what the kubelet writes: no more than is known to it.
  PodInfo& pod(const std::string& name, Qos qos, const std::vector<Container>& containers,
               HookTerms terms = {}, bool asks_for_nothing = false) {
    const bool best_effort = qos == Qos::be || asks_for_nothing;
    auto pod = std::make_shared<PodInfo>();
    pod->uid = pod->name = name;
    pod->ns = "ns";
    pod->qos = qos;
    pod->phase = PodPhase::running;
    pod->kube_qos = best_effort ? host::KubeQos::besteffort : host::KubeQos::burstable;
    pod->group = fmt::format("kubepods/{}/pod{}", best_effort ? "besteffort" : "burstable", name);
    pod->terms.put(std::make_shared<const HookTerms>(std::move(terms)));
    kernel.group(pod->group).cpus = topology->online;
    std::int64_t sum = 0;
    bool whole = true;
    for (const Container& one : containers) {
      run(*pod, one);
      whole = whole && one.limit;
      sum += one.limit.value_or(0);
    }
    if (whole && sum > 0) pod->cpu_limit_milli = sum;
    auto& group = kernel.group(pod->group);
    if (v2()) group.memory = "max";
    group.quota = pod->cpu_limit_milli ? sum * 100 : -1;
    group.shares = kLeastShares;
    inventory.pods.push_back(pod);
    inventory.all_pods.push_back(pod);
    pod_usage.emplace_back();
    ++inventory.generation;
    return *pod;
  }
  /// Starts a container.
  void run(PodInfo& pod, const Container& one) {
    const std::string group = fmt::format("{}/{}", pod.group, one.name);
    pod.containers.push_back({.name = one.name,
                              .id = one.name,
                              .full_id = "containerd://" + one.name,
                              .group = group,
                              .kind = one.kind,
                              .cpu_limit_milli = one.limit});
    auto& made = kernel.group(group);
    made.quota = one.limit ? *one.limit * 100 : -1;
    made.shares = kLeastShares;
    made.cpus = topology->online;
    if (v2()) made.memory = "max";
    container_usage.emplace_back();
    ++inventory.generation;
  }
  /// A group that was made anew under its name.
  void remake(const std::string& name) {
    kernel.remove(name);
    auto& made = kernel.group(name);
    made.cpus = topology->online;
    made.shares = kLeastShares;
    if (v2()) made.memory = "max";
  }
  void ticks(int count) {
    for (int i = 0; i < count; ++i) tick(1);
  }
  SimKernel::Group& group(const std::string& name) { return kernel.group(name); }

  /// What everything holds, for comparing.
  std::string held() {
    std::string held;
    for (const auto& [name, group] : kernel.groups())
      held += fmt::format("{}: {} {} {} {} {} {} {}\n", name, group.quota, group.shares, group.burst,
                          group.memory, group.cpus.to_string(), group.bvt, group.idle);
    for (const auto& [name, text] : kernel.settings)
      held += fmt::format("{}: {}\n", name, text.substr(0, text.find('\n')));
    return held;
  }

  /// An agent dies after each number of writes in turn; the next one goes on, and --cleanup puts back what
  /// there was. `make` fills a rig, `ticks` is how long an agent lives.
  template <class Rig = HooksRig, class Make>
  static void kill_between_writes(host::CgroupVersion version, Make make, int ticks = 3) {
    std::string before;
    testing::kill_between_writes(
        [&](const std::string& journal) {
          auto rig = std::make_unique<Rig>(version, journal);
          make(*rig);
          before = rig->held();
          return rig;
        },
        [&](Rig& rig) { rig.ticks(ticks); },
        [&](Rig& rig, const std::string&, std::size_t k) {
          rig.start();
          if (k % 2 == 0) rig.ticks(1);  // the next agent may begin, or clean up at once
          CHECK(rig.manager->cleanup(rig.inventory).has_value());
          CHECK(rig.held() == before);
          CHECK(rig.kernel.refused.empty());
        });
  }

  std::vector<Usage> container_usage;

 private:
  bool v2() const { return kernel.version() == host::CgroupVersion::v2; }

  std::vector<const StrategyEntry*> rows_;
  static constexpr std::int64_t kLeastShares = 2;
};

}  // namespace koord::koordlet::testing
