// NodeResourcesFitPlus, with the cases of Koordinator's tests.
#include <catch2/catch.hpp>

#include "scheduling/plugins/node_resources_fit_plus/request.hpp"
#include "scored_alone.hpp"

namespace koord::scheduling::test {
namespace {

TEST_CASE("NodeResourcesFitPlus scores each resource its own way") {
  const char* const kArgs =
      R"({"resources":{"nvidia.com/gpu":{"type":"MostAllocated","weight":2},
          "cpu":{"type":"LeastAllocated","weight":1},"memory":{"type":"LeastAllocated","weight":1}}})";
  const Amounts kGpus{{"nvidia.com/gpu", "8"}, {"ephemeral-storage", "100Gi"}};
  const Amounts kPod{
      {"cpu", "16"}, {"memory", "32Gi"}, {"nvidia.com/gpu", "2"}, {"ephemeral-storage", "10Gi"}};
  const Scored cases[] = {
      // The two nodes of Koordinator's test: (75 * 2 + 66 + 87) / 4, (25 * 2 + 83 + 93) / 4.
      {"GPUs in use", kArgs, kGpus, {{"cpu", "16"}, {"memory", "32Gi"}, {"nvidia.com/gpu", "4"}}, kPod, 75},
      {"no GPU in use", kArgs, kGpus, {}, kPod, 56},
      {"what is not asked for does not count", kArgs, kGpus, {}, {{"cpu", "48"}}, 50},
      {"none of it is asked for", kArgs, kGpus, {}, {{"ephemeral-storage", "1Gi"}}, 100},
      {"nothing is asked for", kArgs, kGpus, {}, {}, 100},
      {"the node has none", kArgs, {}, {}, {{"cpu", "48"}, {"nvidia.com/gpu", "0"}}, 50},
      {"containers that say nothing count on the node",
       R"({"resources":{"cpu":{"type":"LeastAllocated","weight":1}}})",
       {{"cpu", "1"}},
       {{"memory", "1Gi"}},
       {{"cpu", "400m"}},
       50},
      {"another type scores 0",
       R"({"resources":{"cpu":{"type":"Other","weight":1}}})",
       {},
       {},
       {{"cpu", "1"}},
       0},
      {"weights that add up to nothing",
       R"({"resources":{"cpu":{"type":"LeastAllocated","weight":0}}})",
       {},
       {},
       {{"cpu", "1"}},
       100},
      {"weights below zero stay in the range",
       R"({"resources":{"cpu":{"type":"LeastAllocated","weight":9000000000000000000},
           "memory":{"type":"MostAllocated","weight":-8999999999999999999}}})",
       {},
       {},
       {{"cpu", "1"}, {"memory", "1Gi"}},
       100},
      {"storage, batch",
       R"({"resources":{"ephemeral-storage":{"type":"MostAllocated","weight":1},
           "kubernetes.io/batch-cpu":{"type":"MostAllocated","weight":3}}})",
       {{"ephemeral-storage", "100Gi"}, {"kubernetes.io/batch-cpu", "10k"}},
       {{"kubernetes.io/batch-cpu", "4k"}},
       {{"ephemeral-storage", "20Gi"}, {"kubernetes.io/batch-cpu", "2k"}},
       50},
  };
  for (const Scored& c : cases) {
    INFO(c.name);
    CHECK(score_of("NodeResourcesFitPlus", c) == c.score);
  }
}

TEST_CASE("NodeResourcesFitPlus counts sidecars and init containers as Koordinator does") {
  struct Case {
    const char* name;
    std::vector<const char*> containers;
    std::vector<std::pair<const char*, bool>> init;  // CPU; a sidecar
    std::int64_t milli;
  };
  const Case cases[] = {
      {"containers", {"2", "3"}, {}, 5000},
      {"an init container", {"2"}, {{"10", false}}, 10000},
      {"a sidecar", {"2"}, {{"1", true}}, 3000},
      {"both", {"2"}, {{"1", true}, {"5", false}}, 5000},
      {"the other way round", {"2"}, {{"5", false}, {"1", true}}, 6000},
      {"one that says nothing", {"2", ""}, {}, 2100},
      {"one that says 0", {"2", "0"}, {}, 2000},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    api::Pod pod;
    const auto add = [](api::List<api::Container>& to, const char* cpu) -> api::Container& {
      api::Container& made = to.emplace_back();
      if (*cpu != '\0') made.resources.requests["cpu"] = api::Quantity::must(cpu);
      return made;
    };
    for (const char* cpu : c.containers) add(pod.spec.containers, cpu);
    for (const auto& [cpu, sidecar] : c.init)
      if (api::Container& made = add(pod.spec.init_containers, cpu); sidecar) made.restart_policy = "Always";
    CHECK(node_resources_fit_plus::counted_request(pod, "cpu") == c.milli);
    // In Koordinator a pod with overhead ends the program: it asks for a gate that is gone.
    pod.spec.overhead["cpu"] = api::Quantity::must("250m");
    CHECK(node_resources_fit_plus::counted_request(pod, "cpu") == c.milli + 250);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
