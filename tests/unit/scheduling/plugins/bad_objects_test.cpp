// What nodes' agents, pods and reservations say to NodeNUMAResource and Reservation may be anything: who says
// it suffers alone, is told by name, once, and costs the others little.
#include <catch2/catch.hpp>

#include "koord/scheduling/plugin/complaints.hpp"
#include "reservation_cpus_rig.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

const int kMany = static_cast<int>(koord::test::hostile(10'000));
const std::string kTooLong(std::size_t{256} << 10, ' ');

/// Two machines, "n" and "other", of two memory nodes with 16 CPUs and 32Gi each.
struct Hostile : ReservedCpus {
  Hostile() {
    engine.context().shared.get<Complaints>().tell(
        [this](std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
          told.push_back(fmt::format("{} {}: {}", kind, object.name, what));
        });
    machine("n", {});
    machine("other", {});
  }
  void put_topology(const Marks& marks, const std::function<void(api::NodeResourceTopology&)>& edit = {}) {
    auto made = std::make_shared<api::NodeResourceTopology>(*NumaMachine{}.topology("n"));
    mark(made->metadata.annotations, marks);
    if (edit) edit(*made);
    engine.put_object<api::NodeResourceTopology>(made);
  }
  Decision try_one(const std::shared_ptr<const api::Pod>& pod) {
    Decision d = put(pod);
    engine.remove_pod(*pod);
    return d;
  }
  /// Pods that ask for everything of a machine still find the other one.
  void check_others_go_on() {
    CHECK(try_one(lsr_pod("all", "32")).node() == "other");
    CHECK(try_one(lsr_pod("few", "2")).kind() == Decision::Kind::bind);
  }
  std::int64_t used(ResourceId resource, std::string_view node = "n") const {
    return engine.nodes().used(resource, engine.nodes().find(node));
  }
  std::vector<std::string> told;
};

TEST_CASE("what of a topology cannot be used is told once, and concerns its node alone") {
  struct Bad {
    const char* key;
    std::string value;
    const char* expected;
  };
  const Bad cases[] = {
      {"node.koordinator.sh/cpu-topology", kTooLong, "cpu-topology: longer than 64 KiB"},
      {"node.koordinator.sh/cpu-topology", "{", "cpu-topology: "},
      {"node.koordinator.sh/cpu-topology", R"({"detail":[{"id":-1},{"id":9999}]})",
       "a CPU 9999, expected 0 to 8191"},
      {"node.koordinator.sh/cpu-topology", R"({"detail":[{"id":3},{"id":3,"socket":1,"node":1}]})",
       "the CPU 3 twice: the later entry counts"},
      {"node.koordinator.sh/cpu-topology", R"({"detail":[{"id":99999999999}]})", "cpu-topology: "},
      {"node.koordinator.sh/pod-cpu-allocs",
       R"([{"uid":"u","managedByKubelet":true,"cpuset":"0-999999999"}])",
       "pod-cpu-allocs: cpuset: not a list of CPUs such as 0-3,8: \"0-999999999\""},
      {"node.koordinator.sh/pod-cpu-allocs", kTooLong, "pod-cpu-allocs: longer than 64 KiB"},
      {"kubelet.koordinator.sh/cpu-manager-policy", R"({"policy":"static","reservedCPUs":"9-1"})",
       "cpu-manager-policy: reservedCPUs: not a list of CPUs"},
      {"node.koordinator.sh/reservation", R"({"reservedCPUs":"0-999999999"})", "reservation: reservedCPUs: "},
      {"node.koordinator.sh/reservation", R"({"resources":{"cpu":"NaN"}})", "reservation: "},
      {"node.koordinator.sh/system-qos-resource", R"({"cpuset":"all"})", "system-qos-resource: cpuset: "},
      {"node.koordinator.sh/resource-amplification-ratio", R"({"cpu":"NaN"})",
       "resource-amplification-ratio: "},
  };
  for (const Bad& bad : cases) {
    INFO(bad.key << " " << bad.value.substr(0, 80));
    Hostile world;
    world.place(lsr_pod("there", "32"));  // on one of them
    world.engine.remove_pod(*lsr_pod("there", "32"));
    for (int i = 0; i < 3; ++i) world.put_topology({{bad.key, bad.value}});
    REQUIRE(world.told.size() == 1);
    CHECK_THAT(world.told[0], Catch::StartsWith("NodeResourceTopology n: ") && Catch::Contains(bad.expected));
    CHECK(world.told[0].size() < 700);
    // What is right again, and then wrong otherwise, is told again.
    world.put_topology({});
    world.put_topology({{"node.koordinator.sh/system-qos-resource", R"({"cpuset":"-"})"}});
    CHECK(world.told.size() == 2);
    world.put_topology({});
    CHECK(world.try_one(lsr_pod("all", "32")).kind() == Decision::Kind::bind);
  }
}

TEST_CASE("zones that make no sense are named, and take nothing from others") {
  using Zone = api::TopologyZone;
  struct Bad {
    const char* name;
    std::function<void(std::vector<Zone>&)> edit;
    const char* expected;  // "": it makes sense
  };
  const auto amount = [](const char* text) {
    return [=](std::vector<Zone>& zones) {
      for (api::TopologyResource& r : zones[0].resources) r.allocatable = api::Quantity::must(text);
    };
  };
  const Bad cases[] = {
      {"a number that no mask has", [](auto& z) { z[1].name = "node-64"; },
       "\"node-64\": expected a name from node-0"},
      {"no number", [](auto& z) { z[1].name = "node-"; }, "\"node-\": expected a name"},
      {"a name of 256 KiB", [](auto& z) { z[1].name = Symbol(kTooLong); }, "expected a name"},
      {"one twice", [](auto& z) { z[1].name = "node-0"; },
       "a memory node is there twice: its first entry counts"},
      {"names that nobody has",
       [](auto& z) {
         for (int i = 0; i < kMany; ++i)
           z[0].resources.push_back({Symbol(fmt::format("a.com/r{}", i)), {}, {}, {}});
       },
       "resources, expected at most 256"},
      {"as many over all zones",
       [](auto& z) {
         for (int i = 0; i < 64; ++i) {
           Zone& zone = z.emplace_back();
           zone.name = Symbol(fmt::format("node-{}", i));
           zone.type = "Node";
           for (int r = 0; r < 200; ++r)
             zone.resources.push_back({Symbol(fmt::format("a.com/r{}-{}", i, r)), {}, {}, {}});
         }
       },
       "zones: they name more than 256 resources"},
      {"less than nothing", amount("-9223372036854775808"), ""},
      {"more than there can be", amount("1e30"), ""},
      {"no zones", [](auto& z) { z.clear(); }, ""},
      {"zones without CPUs", [](auto& z) { z[0].name = "node-7"; }, ""},
  };
  for (const Bad& bad : cases) {
    INFO(bad.name);
    Hostile world;
    world.put_topology({}, [&](api::NodeResourceTopology& t) { bad.edit(t.zones); });
    world.put_topology({}, [&](api::NodeResourceTopology& t) { bad.edit(t.zones); });
    REQUIRE(world.told.size() == (*bad.expected != '\0' ? 1 : 0));
    if (*bad.expected != '\0')
      CHECK_THAT(world.told[0],
                 Catch::StartsWith("NodeResourceTopology n: ") && Catch::Contains(bad.expected));
    const auto single = [](const char* name) {
      return lsr_pod(name, "4", {numa_spec("SingleNUMANode")}, "20Gi");
    };
    // The other machine has room for two of them.
    std::vector<std::string> on_other;
    for (const char* name : {"a", "b", "c", "d", "e"}) {
      world.engine.put_pod(single(name));
      const Decision d = world.one();
      if (d.kind() == Decision::Kind::bind && d.node() == "other") on_other.emplace_back(name);
    }
    CHECK(on_other.size() == 2);
  }
}

TEST_CASE("a topology without its node waits, and is told of when the node is there") {
  Hostile world;
  auto early = std::make_shared<api::NodeResourceTopology>(*NumaMachine{}.topology("late"));
  early->metadata.annotations["node.koordinator.sh/system-qos-resource"] = R"({"cpuset":"x"})";
  world.engine.put_object<api::NodeResourceTopology>(early);
  CHECK(world.told.empty());
  world.engine.put_node(NumaMachine{}.node("late"));
  REQUIRE(world.told.size() == 1);
  CHECK_THAT(world.told[0], Catch::StartsWith("NodeResourceTopology late: "));
  world.engine.remove_node("late");
  world.engine.remove_object<api::NodeResourceTopology>(early);
  world.check_others_go_on();
}

TEST_CASE("annotations of bound pods that cannot be read are told by name, and count for nothing") {
  std::string names = R"({"numaNodeResources":[{"node":0,"resources":{)";
  for (int i = 0; i < 300; ++i) names += fmt::format(R"({}"a.com/{}":"1")", i == 0 ? "" : ",", i);
  names += "}}]}";
  struct Bad {
    std::string_view key;
    std::string value;
    const char* expected;
  };
  const Bad cases[] = {
      {api::ResourceStatus::kAnnotation, kTooLong, "resource-status: longer than 64 KiB"},
      {api::ResourceStatus::kAnnotation, R"({"cpuset":"0-999999999"})",
       "resource-status: cpuset: not a list of CPUs such as 0-3,8: \"0-999999999\""},
      {api::ResourceStatus::kAnnotation, R"({"numaNodeResources":[{"resources":{"cpu":"NaN"}}]})",
       "resource-status: "},
      {api::ResourceStatus::kAnnotation, names,
       "numaNodeResources: more than 256 resources of a memory node"},
      {api::ReservationAllocated::kAnnotation, kTooLong, "reservation-allocated: longer than 64 KiB"},
      {api::ReservationAllocated::kAnnotation, "[]", "reservation-allocated: "},
  };
  for (const Bad& bad : cases) {
    INFO(bad.key << " " << bad.value.substr(0, 80));
    Hostile world;
    const auto pod = make_pod("bad", "4", "1Gi", numa_pod("LSR", {{bad.key, bad.value}}, "n"));
    for (int i = 0; i < 3; ++i)
      world.engine.put_pod(
          changed(pod, [&](api::Pod& p) { p.metadata.annotations["i"] = Symbol(std::to_string(i)); }));
    REQUIRE(world.told.size() == 1);
    CHECK_THAT(world.told[0], Catch::StartsWith("Pod bad: ") && Catch::Contains(bad.expected) &&
                                  Catch::Contains("it counts as if it had "));
    world.check_others_go_on();
    world.engine.remove_pod(*pod);
    CHECK(world.used(kCpu) == 0);
  }
}

TEST_CASE("pods that ask with what cannot be read are told so themselves") {
  for (const std::string_view key :
       {api::ResourceSpec::kAnnotation, api::NumaTopologySpec::kAnnotation,
        api::ReservationAffinity::kAnnotation, api::ExactMatchReservation::kAnnotation}) {
    INFO(key);
    Hostile world;
    CHECK_THAT(world.try_one(lsr_pod("p", "4", {{key, kTooLong}})).message(),
               Catch::Contains(std::string(key) + ": longer than 64 KiB"));
    CHECK_THAT(world.try_one(lsr_pod("p", "4", {{key, "{"}})).message(),
               Catch::Contains(std::string(key) + ": "));
    CHECK(world.told.empty());
    world.check_others_go_on();
  }
}

TEST_CASE("sums of what annotations claim stay numbers, and end with their pods") {
  Hostile world;
  std::string claims;
  for (int i = 0; i < 1000; ++i)
    claims += fmt::format(R"({}{{"node":{},"resources":{{"cpu":"9E","memory":"9E"}}}})",
                          i == 0 ? R"({"numaNodeResources":[)" : ",", i % 2);
  claims += "]}";
  const auto pod = [&](int i) {
    return make_pod(fmt::format("claims{}", i), "1m", "1Mi", numa_pod("LS", {resource_status(claims)}, "n"));
  };
  const int pods = kMany / 100;
  for (int i = 0; i < pods; ++i) world.engine.put_pod(pod(i));
  CHECK(world.told.empty());
  const auto single = lsr_pod("single", "4", {numa_spec("SingleNUMANode")}, "20Gi");
  CHECK(world.try_one(single).node() == "other");
  for (int i = 0; i < pods; ++i) world.engine.remove_pod(*pod(i));
  world.engine.remove_node("other");
  CHECK(world.try_one(single).node() == "n");
}

}  // namespace
}  // namespace koord::scheduling::test
