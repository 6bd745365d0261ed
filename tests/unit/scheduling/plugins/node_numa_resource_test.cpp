// NodeNUMAResource: whom it refuses and why, which CPUs and memory nodes pods get, that nobody gets
// another's, and what of it lasts.
#include <catch2/catch.hpp>
#include <map>
#include <random>

#include "koord/host/cpuset.hpp"
#include "koord/json/value.hpp"
#include "koord/scheduling/plugin/service_plugin.hpp"
#include "numa_rig.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

const Marks kFullOnly{{api::kCpuBindPolicyLabel, "FullPCPUsOnly"}};
const Marks kSpreadOnly{{api::kCpuBindPolicyLabel, "SpreadByPCPUs"}};
Marks policy_label(const char* policy) { return {{api::kNumaTopologyPolicyLabel, policy}}; }
const Marks kRequiredFull{resource_spec(R"({"requiredCPUBindPolicy":"FullPCPUs"})")},
    kRequiredSpread{resource_spec(R"({"requiredCPUBindPolicy":"SpreadByPCPUs"})")},
    kPreferredSpread{resource_spec(R"({"preferredCPUBindPolicy":"SpreadByPCPUs"})")};
const Marks kStatic{{"kubelet.koordinator.sh/cpu-manager-policy",
                     R"({"policy":"static","options":{"full-pcpus-only":"true"}})"}};

TEST_CASE("what NodeNUMAResource says of nodes and pods, in Koordinator's words") {
  struct Row {
    const char* name;
    NumaMachine machine;
    std::shared_ptr<const api::Pod> pod;
    const char* refused;
    bool reports = true;
  };
  const NumaMachine plain;
  const auto ls = [](std::string_view cpu, Marks marks = {}) {
    return make_pod("p", cpu, "1Gi", numa_pod("LS", std::move(marks)));
  };
  const Row rows[] = {
      {"nothing is asked for", plain, make_pod("p", "", "", numa_pod("LSR")), ""},
      {"CPUs of its own", plain, lsr_pod("p", "4"), ""},
      {"half a CPU", plain, lsr_pod("p", "3500m"), "the requested CPUs must be integer"},
      {"half a CPU of a batch pod", plain,
       make_pod("p", "3500m", "1Gi",
                [](api::Pod& p) {
                  numa_pod("LSR")(p);
                  p.spec.priority = 5500;
                }),
       ""},
      {"half a CPU and no policy", plain,
       lsr_pod("p", "3500m", {resource_spec(R"({"preferredCPUBindPolicy":"ConstrainedBurst"})")}), ""},
      {"an odd number, preferred", plain, lsr_pod("p", "3"), ""},
      {"an odd number, required", plain, lsr_pod("p", "3", kRequiredFull),
       "node(s) requested cpus not multiple cpus per core"},
      {"required as the default", plain,
       lsr_pod("p", "3", {resource_spec(R"({"requiredCPUBindPolicy":"Default"})")}),
       "node(s) requested cpus not multiple cpus per core"},
      {"an odd number, spread", plain, lsr_pod("p", "3", kRequiredSpread), ""},
      {"no topology", plain, lsr_pod("p", "4"), "node(s) invalid CPU Topology", false},
      {"no CPUs reported",
       {.reported = {{"node.koordinator.sh/cpu-topology", "{}"}}},
       lsr_pod("p", "4"),
       "node(s) invalid CPU Topology"},
      {"too many, preferred", plain, lsr_pod("p", "33"), "not enough cpus available to satisfy request"},
      {"too many, spread", plain, lsr_pod("p", "17", kRequiredSpread),
       "not enough cpus available to satisfy request"},
      {"an odd number of LSR on whole cores",
       {.labels = kFullOnly},
       lsr_pod("p", "3"),
       "node(s) requested cpus not multiple cpus per core"},
      {"an odd number of LS on whole cores",
       {.labels = kFullOnly},
       ls("3"),
       "node(s) requested cpus not multiple cpus per core"},
      {"half a CPU of LS on whole cores",
       {.labels = kFullOnly},
       ls("3500m"),
       "the requested CPUs must be integer"},
      {"LS on whole cores", {.labels = kFullOnly}, ls("4"), ""},
      {"no CPU on whole cores", {.labels = kFullOnly}, make_pod("p", "", "1Gi"), ""},
      {"the kubelet's whole cores",
       {.reported = kStatic},
       ls("3"),
       "node(s) requested cpus not multiple cpus per core"},
      {"preferred spread on whole cores", {.labels = kFullOnly}, lsr_pod("p", "4", kPreferredSpread), ""},
      {"required spread on whole cores",
       {.labels = kFullOnly},
       lsr_pod("p", "4", kRequiredSpread),
       "node(s) cpu bind policy conflicts with pod's required cpu bind policy"},
      {"required spread on the kubelet's",
       {.reported = kStatic},
       lsr_pod("p", "4", kRequiredSpread),
       "node(s) cpu bind policy conflicts with pod's required cpu bind policy"},
      {"required whole cores on spread",
       {.labels = kSpreadOnly},
       lsr_pod("p", "4", kRequiredFull),
       "node(s) cpu bind policy conflicts with pod's required cpu bind policy"},
      {"other policies",
       {.labels = policy_label("Restricted")},
       ls("4", {numa_spec("SingleNUMANode")}),
       "node(s) NUMA Topology policy not match"},
      {"the kubelet's other policy",
       {.policies = {"Restricted"}},
       ls("4", {numa_spec("SingleNUMANode")}),
       "node(s) NUMA Topology policy not match"},
      {"no memory nodes",
       {.labels = policy_label("SingleNUMANode"), .zones = false},
       ls("4"),
       "node(s) missing NUMA resources"},
      {"one memory node", {.labels = policy_label("SingleNUMANode")}, ls("16"), ""},
      {"more than one memory node has",
       {.labels = policy_label("SingleNUMANode")},
       ls("17"),
       "Unaligned NUMA Hint cause cpu prefer [11] among [11],memory prefer [11] among [11]"},
      {"more than all have",
       {.labels = policy_label("SingleNUMANode")},
       ls("33"),
       "Unsatisfied NUMA cpu; Unsatisfied NUMA memory"},
      {"restricted to both", {.labels = policy_label("Restricted")}, ls("17"), ""},
      {"of best effort", {.labels = policy_label("BestEffort")}, ls("33"), "Insufficient NUMA cpu"},
      {"an unknown policy", {.labels = policy_label("Whatever")}, ls("33"), ""},
      {"a wrong ratio",
       {.annotations = {{"node.koordinator.sh/resource-amplification-ratio", "{"}}},
       ls("1"),
       "node(s) invalid CPU amplification ratio"},
      {"what cannot be read of a node concerns no other",
       {.annotations = {{"node.koordinator.sh/resource-amplification-ratio", "{"}}},
       make_pod("p", "", "1Gi"),
       ""},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    NumaWorld world;
    world.engine.put_node(row.machine.node("n"));
    if (row.reports) world.engine.put_object<api::NodeResourceTopology>(row.machine.topology("n"));
    CHECK(world.refused(row.pod) == row.refused);
    // What its filter proves holds when it is given.
    world.engine.put_pod(row.pod);
    CHECK((world.one().kind() == Decision::Kind::bind) == std::string(row.refused).empty());
  }
  NumaWorld world;
  world.machine("n", {});
  world.engine.put_pod(lsr_pod("wrong", "4", {resource_spec("{")}));
  CHECK(world.one().kind() == Decision::Kind::error);
}

TEST_CASE("amplified nodes have less for pods with CPUs of their own") {
  struct Row {
    const char* name;
    bool binds, there_binds, reports;
    const char *cpu, *there, *ratio, *refused;
  };
  const char* const kToo = "Insufficient amplified cpu";
  const Row rows[] = {
      {"nothing is asked for", false, false, false, "", "4", "2.0", ""},
      {"not amplified", false, false, false, "32", "32", "1.0", ""},
      {"no topology", false, false, false, "32", "32", "2.0", ""},
      {"too much is used", false, false, false, "32", "64", "2.0", kToo},
      {"somebody has CPUs of his own", false, true, true, "32", "32", "2.0", kToo},
      {"the pod wants its own", true, false, true, "32", "32", "2.0", kToo},
      {"both do", true, true, true, "32", "32", "2.0", kToo},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    NumaWorld world;
    const NumaMachine machine{.annotations = {{"node.koordinator.sh/resource-amplification-ratio",
                                               fmt::format(R"({{"cpu":{}}})", row.ratio)}}};
    world.engine.put_node(std::make_shared<api::Node>([&] {
      api::Node node = *machine.node("n");
      node.status.allocatable["cpu"] =
          api::Quantity::must(std::string_view(row.ratio) == "1.0" ? "32" : "64");
      return node;
    }()));
    if (row.reports) world.engine.put_object<api::NodeResourceTopology>(machine.topology("n"));
    Marks has;
    if (row.there_binds) has.push_back(resource_status(R"({"cpuset":"0-31"})"));
    world.engine.put_pod(make_pod("there", row.there, "1Gi", numa_pod("LSR", has, "n")));
    CHECK(world.refused(make_pod("p", row.cpu, "", numa_pod(row.binds ? "LSR" : "LS"))) == row.refused);
  }
}

TEST_CASE("pods get whole cores, one after the other, and nobody another's") {
  NumaWorld world;
  world.machine("n", {});
  const auto a = world.put(lsr_pod("a", "4"));
  CHECK(NumaWorld::given(a) == R"({"cpuset":"0-3"})");
  CHECK(NumaWorld::given(a, api::ResourceSpec::kAnnotation) == R"({"preferredCPUBindPolicy":"FullPCPUs"})");
  const auto b = world.put(lsr_pod("b", "4"));
  CHECK(NumaWorld::given(b) == R"({"cpuset":"16-19"})");
  const auto c = world.put(lsr_pod("c", "3", kPreferredSpread));
  CHECK(NumaWorld::given(c) == R"({"cpuset":"4,6,8"})");
  CHECK(NumaWorld::given(c, api::ResourceSpec::kAnnotation) == "nothing");
  CHECK(NumaWorld::given(world.put(make_pod("ls", "4", "1Gi", numa_pod("LS")))) == "nothing");
  // What is bound and what is forgotten.
  world.engine.put_pod(NumaWorld::bound(a));
  CHECK(world.engine.binding_failed(*b.pod));
  world.clock.advance(std::chrono::seconds(20));
  CHECK(NumaWorld::given(world.one()) == R"({"cpuset":"16-19"})");
  world.engine.remove_pod(*a.pod);
  CHECK(NumaWorld::given(world.put(lsr_pod("d", "16"))) == R"({"cpuset":"0-3,20-31"})");
}

TEST_CASE("who is given no CPUs keeps none that its annotations claim") {
  NumaWorld world;
  world.machine("n", {});
  const auto bound = world.place(make_pod("p", "1", "1Gi", [](api::Pod& p) {
    p.metadata.annotations[api::ResourceStatus::kAnnotation] = R"({"cpuset":"0-63"})";
    p.metadata.annotations["mine"] = "stays";
  }));
  CHECK_FALSE(bound->metadata.annotations.contains(api::ResourceStatus::kAnnotation));
  CHECK(bound->metadata.annotations.contains("mine"));
  CHECK(world.given(world.put(lsr_pod("q", "4"))) == R"({"cpuset":"0-3"})");
}

TEST_CASE("refused before the nodes are looked at, a pod is told what DynamicResources and preemption say") {
  KubeSchedulerConfiguration config;
  Plugins& plugins = config.profiles.emplace_back().plugins.ensure();
  for (PluginSet* set : {&plugins.pre_filter, &plugins.filter}) set->enabled = {{"NodeNUMAResource", {}}};
  plugins.post_filter.enabled = {{"DynamicResources", {}}, {"DefaultPreemption", {}}};
  NumaWorld world(std::move(config));
  world.machine("n", {});
  CHECK(
      world.put(lsr_pod("p", "3500m")).message() ==
      "0/1 nodes are available: the requested CPUs must be integer. no new claims to deallocate, preemption: "
      "0/1 nodes are available: 1 Preemption is not helpful for scheduling.");
}

TEST_CASE("CPUs last over restarts, whether the topology is known before the pods or after") {
  const NumaMachine machine;
  for (const int order : {0, 1, 2}) {
    INFO(order);
    NumaWorld world;
    const auto pod =
        make_pod("a", "4", "1Gi", numa_pod("LSR", {resource_status(R"({"cpuset":"0-3"})")}, "n"));
    if (order == 0) world.machine("n", machine);
    if (order == 1) world.engine.put_node(machine.node("n"));
    world.engine.put_pod(pod);
    if (order == 1) world.engine.put_object<api::NodeResourceTopology>(machine.topology("n"));
    if (order == 2) {
      world.engine.put_object<api::NodeResourceTopology>(machine.topology("n"));
      world.engine.put_node(machine.node("n"));
    }
    CHECK(world.refused(lsr_pod("all", "32")) == "not enough cpus available to satisfy request");
    CHECK(NumaWorld::given(world.put(lsr_pod("b", "28"))) == R"({"cpuset":"4-31"})");
    // The topology goes and comes: what is given stays given.
    world.engine.remove_object<api::NodeResourceTopology>(machine.topology("n"));
    CHECK(world.refused(lsr_pod("c", "2")) == "node(s) invalid CPU Topology");
    world.engine.put_object<api::NodeResourceTopology>(machine.topology("n"));
    CHECK(world.refused(lsr_pod("c", "2")) == "not enough cpus available to satisfy request");
    world.engine.remove_pod(*pod);
    CHECK(world.refused(lsr_pod("c", "4")).empty());
    CHECK(world.refused(lsr_pod("d", "5")) == "not enough cpus available to satisfy request");
  }
}

TEST_CASE("what a pod was given follows its annotation, and a bad one concerns nobody else") {
  NumaWorld world;
  world.machine("n", {});
  const auto bound = [](const char* status) {
    return make_pod("a", "4", "1Gi", numa_pod("LSR", {resource_status(status)}, "n"));
  };
  const auto free = [&](const char* cpus) { return world.refused(lsr_pod("p", cpus)).empty(); };
  for (const char* bad :
       {"{", R"({"cpuset":"0-999999999"})", R"({"cpuset":"-4"})", R"({"cpuset":["1"]})",
        R"({"numaNodeResources":[{"node":-1,"resources":{"cpu":"-99999999999999999999"}}]})",
        R"({"numaNodeResources":[{"node":0,"resources":{"memory":"999999E"}}]})"}) {
    INFO(bad);
    world.engine.put_pod(bound(bad));
    CHECK(free("32"));
  }
  world.engine.put_pod(bound(std::string(std::size_t{256} << 10, ' ').c_str()));
  CHECK(free("32"));
  world.engine.put_pod(bound(R"({"cpuset":"0-3"})"));
  CHECK((free("28") && !free("29")));
  world.engine.put_pod(bound(R"({"cpuset":"0-7"})"));
  CHECK((free("24") && !free("25")));
  // Two that claim the same: it is free when both are gone.
  world.engine.put_pod(
      make_pod("b", "4", "1Gi", numa_pod("LSR", {resource_status(R"({"cpuset":"6-9"})")}, "n")));
  CHECK((free("22") && !free("23")));
  world.engine.remove_pod(*bound(""));
  CHECK((free("28") && !free("29")));
  // A wish of a pod that is not bound.
  world.engine.put_pod(lsr_pod("wish", "4", {resource_status(R"({"cpuset":"6-9"})")}));
  CHECK(NumaWorld::given(world.one()) == R"({"cpuset":"16-19"})");
}

TEST_CASE("CPUs that are kept for others are not given out") {
  NumaWorld world;
  world.machine(
      "n",
      {.reported = {
           {"node.koordinator.sh/reservation", R"({"reservedCPUs":"0-1"})"},
           {"node.koordinator.sh/system-qos-resource", R"({"cpuset":"2-3"})"},
           {"node.koordinator.sh/pod-cpu-allocs",
            R"([{"uid":"u","cpuset":"4-5","managedByKubelet":true},{"uid":"v","cpuset":"8-9"}])"},
           {"kubelet.koordinator.sh/cpu-manager-policy", R"({"policy":"static","reservedCPUs":"6-7"})"}}});
  CHECK(NumaWorld::given(world.put(lsr_pod("a", "24"))) == R"({"cpuset":"8-31"})");
  CHECK(world.refused(lsr_pod("b", "1")) == "not enough cpus available to satisfy request");
}

TEST_CASE("pods get all they ask for from the same memory nodes") {
  NumaWorld world;
  world.machine("n", {.labels = policy_label("SingleNUMANode")});
  CHECK(NumaWorld::given(world.put(make_pod("a", "10", "8Gi", numa_pod("LS")))) ==
        R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"10","memory":"8Gi"}}]})");
  CHECK(NumaWorld::given(world.put(lsr_pod("b", "8", {}, "8Gi"))) ==
        R"({"cpuset":"16-23","numaNodeResources":[{"node":1,"resources":{"cpu":"8","memory":"8Gi"}}]})");
  CHECK(NumaWorld::given(world.put(make_pod("c", "500m", "20Gi", numa_pod("LS")))) ==
        R"({"numaNodeResources":[{"node":1,"resources":{"cpu":"500m","memory":"20Gi"}}]})");
  CHECK(world.refused(make_pod("d", "6", "20Gi", numa_pod("LS"))).empty());
  CHECK(world.refused(make_pod("d", "9", "1Gi", numa_pod("LS"))) ==
        "Unaligned NUMA Hint cause cpu prefer [11] among [11],memory prefer [11] among [11]");

  NumaWorld restricted;
  restricted.machine("n", {.labels = policy_label("Restricted")});
  CHECK(
      NumaWorld::given(restricted.put(lsr_pod("a", "20", kRequiredFull, "40Gi"))) ==
      R"({"cpuset":"0-9,16-25","numaNodeResources":[{"node":0,"resources":{"cpu":"10","memory":"20Gi"}},{"node":1,"resources":{"cpu":"10","memory":"20Gi"}}]})");

  NumaWorld effort;
  effort.machine("n", {.labels = policy_label("BestEffort")});
  CHECK(NumaWorld::given(effort.put(make_pod("a", "4", "4Gi", numa_pod("LS")))) ==
        R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"4","memory":"4Gi"}}]})");
}

TEST_CASE("pods of one memory node and of several are kept apart where a pod asks for a policy itself") {
  NumaWorld world;
  world.machine("n", {});
  world.place(lsr_pod("one", "4", {numa_spec("SingleNUMANode")}));
  CHECK(!world.refused(lsr_pod("two", "20", {numa_spec("Restricted")})).empty());
  CHECK(world.refused(lsr_pod("two", "20", {numa_spec("Restricted", "Preferred")})).empty());
  CHECK(world.refused(lsr_pod("two", "4", {numa_spec("SingleNUMANode")})).empty());
}

TEST_CASE("a pod whose CPUs are all taken comes back when somebody leaves or the machine grows") {
  NumaWorld world;
  NumaMachine machine{.cpus = {1, 1, 4, 2}};
  world.machine("n", machine);
  const auto there = world.place(lsr_pod("a", "8"));
  const Decision refused = world.put(lsr_pod("b", "8"));
  CHECK(refused.message() == "0/1 nodes are available: 1 not enough cpus available to satisfy request.");
  world.clock.advance(std::chrono::seconds(20));
  CHECK(world.run().empty());
  world.engine.put_pod(make_pod("other", "1", "1Gi", numa_pod("LS", {}, "n")));
  CHECK(world.run().empty());
  world.engine.remove_pod(*there);
  CHECK(NumaWorld::given(world.one()) == R"({"cpuset":"0-7"})");
  CHECK(world.put(lsr_pod("c", "8")).kind() == Decision::Kind::unschedulable);
  world.clock.advance(std::chrono::seconds(20));
  machine.cpus.cores = 8;
  world.engine.put_object<api::NodeResourceTopology>(machine.topology("n"));
  CHECK(NumaWorld::given(world.one()) == R"({"cpuset":"8-15"})");
}

TEST_CASE("victims give their CPUs back") {
  KubeSchedulerConfiguration config = numa_config();
  config.profiles[0].plugins->post_filter.enabled = {{"DefaultPreemption", {}}};
  NumaWorld world(config);
  world.machine("n", {.cpus = {1, 1, 4, 2}});
  const auto victim = world.place(lsr_pod("victim", "4"));
  world.place(lsr_pod("other", "4"));
  const auto important = changed(lsr_pod("important", "2"), [](api::Pod& p) { p.spec.priority = 9500; });
  const Decision d = world.put(important);
  REQUIRE(d.kind() == Decision::Kind::unschedulable);
  CHECK(d.nominate() == Symbol("n"));
  CHECK(d.preemption().victims.size() == 1);
}

TEST_CASE("a hint has a pod get again what its annotations say") {
  const Marks hint{
      {"internal.scheduling.koordinator.sh/scheduling-hint", R"({"extensions":{"NodeNUMAResource":{}}})"}};
  const auto again = [&](const char* name, const char* status) {
    Marks marks = hint;
    marks.push_back(resource_status(status));
    return lsr_pod(name, "4", marks);
  };
  NumaWorld world;
  world.machine("n", {});
  CHECK(NumaWorld::given(world.put(again("a", R"({"cpuset":"9-12"})"))) == R"({"cpuset":"9-12"})");
  // It is another's by now.
  CHECK(world.refused(again("b", R"({"cpuset":"12-15"})")) == "not enough cpus available to satisfy request");
  CHECK(world.refused(again("b", R"({"cpuset":"13-15"})")) == "not enough cpus available to satisfy request");
  CHECK(NumaWorld::given(world.put(lsr_pod("c", "4"))) == R"({"cpuset":"16-19"})");

  // All of it or nothing.
  const auto shares = [&](const char* status, std::string_view qos) {
    Marks marks = hint;
    marks.push_back(resource_status(status));
    marks.push_back(numa_spec("Restricted"));
    return make_pod("d", "2", "1Gi", numa_pod(qos, marks));
  };
  const char* const kShare =
      R"({"cpuset":"20-21","numaNodeResources":[{"node":1,"resources":{"cpu":"2","memory":"1Gi"}}]})";
  CHECK(world.refused(shares(kShare, "LSR")).empty());
  CHECK(world.refused(shares(kShare, "LS")) == "not enough cpus available to satisfy request");
  CHECK(world.refused(shares(
            R"({"cpuset":"20-21","numaNodeResources":[{"node":7,"resources":{"cpu":"2","memory":"1Gi"}}]})",
            "LSR")) == "Insufficient NUMA cpu; Insufficient NUMA memory");
}

TEST_CASE("emptier nodes score more, and fuller ones where the arguments say so") {
  const char* const kMost =
      R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"NodeNUMAResourceArgs","scoringStrategy":{"type":"MostAllocated","resources":[{"name":"cpu","weight":1}]},"numaScoringStrategy":{"type":"MostAllocated","resources":[{"name":"cpu","weight":1}]}})";
  for (const bool most : {false, true}) {
    NumaWorld world(most ? kMost : "");
    world.machine("n", {});
    // cpu 8 of 32, memory 16 of 64 GiB.
    CHECK(world.score(make_pod("p", "8", "16Gi")) == (most ? 25 : 75));
    CHECK(world.score(lsr_pod("p", "8", {}, "16Gi")) == (most ? 25 : 75));
    // 8 of 16, 16 of 32 on one memory node.
    CHECK(world.score(make_pod("p", "8", "16Gi", numa_pod("LS", {numa_spec("SingleNUMANode")}))) == 50);
    world.place(lsr_pod("there", "8", {numa_spec("SingleNUMANode")}, "16Gi"));
    CHECK(world.score(make_pod("p", "8", "16Gi")) == 50);
    // The fuller memory node, or the emptier one.
    CHECK(world.score(make_pod("p", "8", "8Gi", numa_pod("LS", {numa_spec("SingleNUMANode")}))) ==
          (most ? 100 : (50 + 75) / 2));
    CHECK(
        NumaWorld::given(world.put(make_pod("p", "4", "8Gi", numa_pod("LS", {numa_spec("SingleNUMANode")}))))
            .find(most ? R"("node":0)" : R"("node":1)") != std::string::npos);
  }
}

TEST_CASE("what cannot be known of an amplified node scores nothing") {
  const char* const kRatio = "node.koordinator.sh/resource-amplification-ratio";
  struct Row {
    const char *name, *of_node, *of_topology, *cpus, *cpu;
    int score;
  };
  // 16 of 64 GiB and, in the last rows, 8 of 32 CPUs.
  const Row rows[] = {
      {"the node's ratios cannot be read", "cpu", "", "", "", 0},
      {"and the topology has its own", "cpu", R"({"cpu":1.5})", "", "", (100 + 75) / 2},
      {"the topology's cannot be read", "", "cpu", "", "", (100 + 75) / 2},
      {"its CPUs are known", "", R"({"cpu":1.5})", "", "8", 75},
      {"its CPUs are not known", "", R"({"cpu":1.5})", "{}", "8", 0},
      {"and are not asked for", "", R"({"cpu":1.5})", "{}", "", (100 + 75) / 2},
      {"and it is not amplified", "", "", "{}", "8", 75},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    NumaMachine machine;
    if (*row.of_node != '\0') machine.annotations.emplace_back(kRatio, row.of_node);
    if (*row.of_topology != '\0') machine.reported.emplace_back(kRatio, row.of_topology);
    if (*row.cpus != '\0') machine.reported.emplace_back("node.koordinator.sh/cpu-topology", row.cpus);
    NumaWorld world;
    world.machine("n", machine);
    CHECK(world.score(make_pod("p", row.cpu, "16Gi")) == row.score);
  }
}

TEST_CASE("what memory nodes do not have is not asked of them, whatever annotations say") {
  NumaWorld world;
  world.machine("n", {.labels = policy_label("Restricted"),
                      .annotations = {{"node.koordinator.sh/resource-amplification-ratio", "cpu"}}});
  const Marks says{
      resource_status(R"({"numaNodeResources":[{"node":0,"resources":{"hugepages-2Mi":"2Mi"}}]})")};
  world.engine.put_pod(make_pod("there", "1", "1Gi", numa_pod("LS", says, "n")));
  CHECK(world.refused(make_pod("p", "", "1Gi", [](api::Pod& p) {
    p.spec.containers[0].resources.requests["hugepages-2Mi"] = api::Quantity::must("2Mi");
  })) == "");
}

TEST_CASE("a default bind policy that is none requires nothing") {
  for (const bool none : {false, true}) {
    NumaWorld world(
        none
            ? R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":"NodeNUMAResourceArgs","defaultCPUBindPolicy":""})"
            : "");
    world.machine("n", {});
    const Marks marks{
        resource_spec(R"({"requiredCPUBindPolicy":"Default","preferredCPUBindPolicy":"SpreadByPCPUs"})")};
    CHECK(NumaWorld::given(world.put(lsr_pod("p", "2", marks))) ==
          (none ? R"({"cpuset":"0,2"})" : R"({"cpuset":"0-1"})"));
  }
}

TEST_CASE(
    "who wants to be alone is seen so from when CPUs are chosen for him, also where the node binds him") {
  // A pod of the same kind goes to the other memory node, before and after the first one is bound.
  for (const bool bound : {false, true}) {
    INFO("bound " << bound);
    NumaWorld world;
    world.machine("n", {.labels = {{"node.koordinator.sh/cpu-bind-policy", "SpreadByPCPUs"},
                                   {"node.koordinator.sh/numa-allocate-strategy", "MostAllocated"}}});
    const Marks alone{resource_spec(R"({"preferredCPUExclusivePolicy":"NUMANodeLevel"})")};
    const Decision first = world.put(make_pod("first", "2", "1Gi", numa_pod("LS", alone)));
    CHECK(NumaWorld::given(first) == R"({"cpuset":"0,2"})");
    if (bound) world.engine.put_pod(NumaWorld::bound(first));
    CHECK(NumaWorld::given(world.put(lsr_pod("second", "2", alone))) == R"({"cpuset":"16,18"})");
  }
}

TEST_CASE("people are told of a node's CPUs") {
  NumaWorld world;
  world.machine("n", {.cpus = {1, 2, 2, 2}, .reported = kStatic});
  world.place(lsr_pod("a", "2", {numa_spec("SingleNUMANode")}));
  const ServicePlugin* service = nullptr;
  for (const auto& each : world.engine.profiles()[0].plugins)
    if (each.name == "NodeNUMAResource") service = dynamic_cast<const ServicePlugin*>(each.plugin.get());
  REQUIRE(service != nullptr);
  CHECK(service->service_paths() == std::vector<std::string_view>{"/nodes/:nodeName"});
  CHECK(service->serve({"/nodes/other", {}})->status == 500);
  const auto answer = service->serve({"/nodes/n", {}});
  REQUIRE(answer);
  const auto json = json::parse(answer->json);
  REQUIRE(json.has_value());
  CHECK(json::text_at(*json, "name") == "n");
  CHECK(json::text_at(*json, "availableCPUs") == "2-7");
  CHECK(json::text_at(*json, "policy", "policy") == "static");
  CHECK(json::find(*json, "cpuTopology", "cpuDetails", "7", "coreID") != nullptr);
  CHECK(json::find(*json, "allocatedCPUs", "1") != nullptr);
  CHECK(json::find(*json, "allocatedCPUs", "2") == nullptr);
}

/// What the pods of a node have, as their annotations say.
struct OnNode {
  host::CpuSet cpus;
  std::map<std::pair<int, std::string>, api::Quantity> zones;
};

TEST_CASE(
    "of random pods that come and go nobody gets another's CPUs, and no memory node gives more than it has") {
  std::mt19937 random(24);
  const auto below = [&](unsigned n) { return random() % n; };
  NumaWorld world;
  const char* const kPolicies[] = {"", "BestEffort", "Restricted", "SingleNUMANode"};
  std::vector<NumaMachine> machines;
  for (unsigned i = 0; i < 6; ++i) {
    NumaMachine machine{.cpus = {2, 1 + static_cast<int>(i % 2), 4, 1 + static_cast<int>(i / 3)}};
    if (i > 1) machine.labels = policy_label(kPolicies[i % 4]);
    world.machine(fmt::format("n{}", i), machine);
    machines.push_back(machine);
  }
  std::vector<std::shared_ptr<const api::Pod>> there;
  const auto rounds = ::koord::test::hostile(3000);
  std::size_t placed = 0;
  for (std::size_t i = 0; i < rounds; ++i) {
    if (!there.empty() && below(5) < 2) {
      const std::size_t at = below(static_cast<unsigned>(there.size()));
      world.engine.remove_pod(*there[at]);
      there.erase(there.begin() + static_cast<std::ptrdiff_t>(at));
    }
    Marks marks;
    if (below(3) == 0) marks.push_back(below(2) == 0 ? kRequiredFull[0] : kRequiredSpread[0]);
    if (below(3) == 0) marks.push_back(numa_spec(kPolicies[1 + below(3)]));
    const auto pod = lsr_pod(fmt::format("p{}", i), std::to_string(1 + below(8)), marks,
                             fmt::format("{}Gi", 1 + below(12)));
    world.engine.put_pod(pod);
    for (const Decision& d : world.run()) {
      if (d.kind() != Decision::Kind::bind) {
        // The filter proved it: nothing fails when it is given.
        REQUIRE(d.message().starts_with("0/6 nodes are available"));
        world.engine.remove_pod(*d.pod);
        continue;
      }
      there.push_back(NumaWorld::bound(d));
      world.engine.put_pod(there.back());
      ++placed;
    }
    // From the objects alone.
    std::map<std::string, OnNode> nodes;
    for (const auto& bound : there) {
      OnNode& of = nodes[bound->spec.node_name.str()];
      const auto status = api::read_annotation<api::ResourceStatus>(bound->metadata.annotations);
      REQUIRE((status && *status));
      const auto cpus = host::CpuSet::parse((*status)->cpuset);
      REQUIRE(cpus.has_value());
      REQUIRE(api::Quantity::from_int(cpus->size()) ==
              *bound->spec.containers[0].resources.requests.find("cpu"));
      REQUIRE((of.cpus & *cpus).empty());
      of.cpus = of.cpus | *cpus;
      for (const auto& zone : (*status)->numa_node_resources)
        for (const auto& [name, amount] : zone.resources) of.zones[{zone.node, std::string(name)}] += amount;
    }
    for (const auto& [name, of] : nodes) {
      const NumaMachine& machine = machines[static_cast<std::size_t>(name[1] - '0')];
      for (const auto& [zone, amount] : of.zones) {
        const int cpus = machine.count() / machine.cpus.sockets / machine.cpus.zones;
        REQUIRE(amount <=
                (zone.second == "cpu" ? api::Quantity::from_int(cpus) : api::Quantity::must("32Gi")));
      }
    }
  }
  CHECK(placed > rounds / 4);
}

}  // namespace
}  // namespace koord::scheduling::test
