// What happens to machines with memory nodes: see numa_world.hpp.
#include "random/numa/numa_world.hpp"

#include <fmt/format.h>

#include <utility>

#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/schema/codec.hpp"
#include "support/reference/numa_machine.hpp"

namespace koord::scheduling::test {

namespace {

reference::Config oracle_of(unsigned seed) {
  reference::Config oracle;
  oracle.filters = {"NodeUnschedulable", "NodeName", "NodeResourcesFit", "NodeNUMAResource"};
  oracle.scores = {{"NodeResourcesFit", 1}, {"NodeNUMAResource", 1}};
  oracle.preemption = false;
  reference::NumaArgs& args = oracle.numa;
  if (seed % 3 == 1) args.bind = "SpreadByPCPUs";
  if (seed % 7 == 3) args.bind = "";
  args.most = seed % 4 == 1;
  args.zones_most = seed % 4 > 1;
  if (seed % 5 == 2) args.resources = {{"cpu", 2}, {"hugepages-2Mi", 1}, {"memory", 1}};
  if (seed % 5 == 3) args.resources = {{"cpu", 1}, {"kubernetes.io/batch-cpu", 3}, {"memory", 2}};
  return oracle;
}

KubeSchedulerConfiguration config_of(const reference::Config& oracle) {
  const reference::NumaArgs& args = oracle.numa;
  KubeSchedulerConfiguration config = config_of_plugin(
      oracle, "NodeNUMAResource",
      fmt::format(R"({{"defaultCPUBindPolicy":"{}","scoringStrategy":{},"numaScoringStrategy":{}}})",
                  args.bind, scoring_strategy(args.most, args.resources),
                  scoring_strategy(args.zones_most, args.resources)));
  auto& first = config.profiles[0].plugins->pre_filter.enabled;
  first.insert(first.begin(), {"NodeResourcesFit", {}});
  return config;
}

}  // namespace

RandomNumaWorld::RandomNumaWorld(unsigned seed, EngineOptions options)
    : PodStory(seed, std::move(options), oracle_of(seed), config_of(oracle_of(seed)), "NodeNUMAResource"),
      random_(seed) {
  begin();
}

void RandomNumaWorld::change(int what) {
  if (what < 9) return put_node();
  if (what < 11) return remove_node();
  if (what < 20) return put_machine(any_of(cluster_.nodes));
  if (what < 22) return remove_any("topology", cluster_.topologies);
  if (what < 25) return restart();
  if (what < 32) return place_foreign_pod();
  if (what < 38) return change_pod();
  if (what < 56 && !cluster_.pods.empty()) return remove_pod(any_of(cluster_.pods));
  if (what < 64) return end_a_binding(random_.chance(60));
  add_pod();
}

void RandomNumaWorld::put_machine(const std::string& node) {
  put("topology", cluster_.topologies, node, random_.topology(node));
}

bool RandomNumaWorld::has_gift(const api::Pod& pod) const { return reference::gift_of(pod).has_value(); }

void RandomNumaWorld::say_given(api::Pod& pod) {
  if (random_.chance(80))
    pod.metadata.annotations[api::ResourceStatus::kAnnotation] =
        Symbol(random_.status(pod.spec.node_name.str()));
}

void RandomNumaWorld::annotate(api::Pod& pod, int way) {
  auto& annotations = pod.metadata.annotations;
  if (way == 0) annotations.erase(api::ResourceStatus::kAnnotation);
  if (way == 1)
    annotations[api::ResourceStatus::kAnnotation] = Symbol(random_.status(pod.spec.node_name.str()));
  if (way == 2) annotations[api::ResourceSpec::kAnnotation] = Symbol(random_.spec());
}

std::string RandomNumaWorld::objects_of(const std::string& node) const {
  const auto at = cluster_.topologies.find(node);
  return at == cluster_.topologies.end() ? "" : "\n  " + api::encode(*at->second);
}

}  // namespace koord::scheduling::test
