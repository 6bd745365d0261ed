// Machines that are not of the usual shape: NUMA nodes with gaps and without CPUs, CPUs that are offline,
// cores whose numbers repeat, pages of 64 KiB.
#include <catch2/catch.hpp>

#include "framework/model/shared_pools.hpp"
#include "framework/report/node_topology.hpp"
#include "plugins/cpu_suppress/formula.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using std::chrono::seconds;
using testing::FakeNode;
using testing::inventory;
using testing::pod;
using Bench = testing::SamplerRig;

constexpr std::uint64_t kGiB = 1ULL << 30;
constexpr std::uint64_t kPage = 65'536;
const std::string kSys = "sys/devices/system/";

/// CPUs 0-1 on NUMA node 0, 4-5 on node 2, each two threads of one core; node 5 has memory alone. 2, 3 and
/// the nodes between are possible, and not there. The two cores have one core_id: they are of two dies of a
/// socket.
void make_gaps(FakeNode& fake) {
  fake.tree().remove(kSys + "node/node1/");
  fake.tree().write(kSys + "cpu/possible", "0-7\n");
  fake.tree().write(kSys + "cpu/online", "0-1,4-5\n");
  fake.tree().write(kSys + "node/possible", "0-7\n");
  fake.tree().write(kSys + "node/online", "0,2,5\n");
  for (const auto& [node, cpus] : {std::pair{0, "0-1"}, std::pair{2, "4-5"}, std::pair{5, ""}}) {
    fake.tree().write(fmt::format("{}node/node{}/cpulist", kSys, node), fmt::format("{}\n", cpus));
    fake.numa_memory(node, 8 * kGiB, (5 - static_cast<std::uint64_t>(node) / 2) * kGiB);
  }
  for (const int cpu : {0, 1, 4, 5}) {
    const std::string folder = fmt::format("{}cpu/cpu{}/topology/", kSys, cpu);
    fake.tree().write(folder + "core_id", "0\n");
    fake.tree().write(folder + "physical_package_id", "0\n");
    fake.tree().write(folder + "thread_siblings_list", cpu < 4 ? "0-1\n" : "4-5\n");
  }
}

TEST_CASE("What NUMA nodes with gaps use, in pages of 64 KiB") {
  for (const CgroupVersion version : {CgroupVersion::v1, CgroupVersion::v2}) {
    FakeNode fake(version, 6, 2);
    make_gaps(fake);
    Bench bench(fake, {.page_size = kPage});
    const auto a = pod("a", Qos::ls, 0);
    const auto now = inventory({a});
    fake.cpu(a->group, 0);
    fake.group_memory(a->group, kGiB, 0);
    const std::string words = version == CgroupVersion::v1
                                  ? fmt::format("N0={} N2={} N5=0", kGiB / kPage, kGiB / 2 / kPage)
                                  : fmt::format("N0={} N2={} N5=0", kGiB, kGiB / 2);
    fake.tree().write(fake.path("memory", a->group, "memory.numa_stat"),
                      version == CgroupVersion::v1 ? fmt::format("total=9 {}\n", words)
                                                   : fmt::format("anon {}\nfile N0=0 N2=0 N5=0\n", words));
    bench.tick(now, seconds(0));
    fake.cpu_ticks({100, 50, 0, 0, 50, 0}, {2, 3});
    const TickView& view = bench.tick(now, seconds(1));
    REQUIRE(view.numa.size() == 3);
    CHECK(view.numa[1].id == 2);
    CHECK(view.online_cpus == 4);
    CHECK(bench.last(Metric::node_numa_cpu, "0", seconds(1)) == Approx(1.5));
    CHECK(bench.last(Metric::node_numa_cpu, "2", seconds(1)) == Approx(0.5));
    CHECK(bench.last(Metric::node_numa_cpu, "5", seconds(1)) == Approx(0));
    CHECK(bench.last(Metric::node_numa_memory, "2", seconds(1)) == 4 * kGiB);
    CHECK(bench.last(Metric::system_numa_memory, "0", seconds(1)) == 2 * kGiB);
    CHECK(bench.last(Metric::system_numa_memory, "2", seconds(1)) == 3.5 * kGiB);
    CHECK(bench.last(Metric::system_numa_memory, "5", seconds(1)) == 5 * kGiB);
    CHECK(bench.log.count(LogLevel::warn) == 0);
  }
}

TEST_CASE("What is reported of a node with gaps: zones, pools and CPUs by the machine's own numbers") {
  FakeNode fake(CgroupVersion::v2, 6, 2);
  make_gaps(fake);
  const auto facts = read_node_facts(fake.root());
  REQUIRE(facts.has_value());
  api::Node node;
  node.metadata.labels["node.koordinator.sh/enable-numa-reservation"] = "true";
  node.status.capacity["cpu"] = api::Quantity::from_int(4);
  node.status.allocatable["cpu"] = api::Quantity::from_int(3);
  Inventory now;
  const NodeTopology topology = node_topology(*facts, now, node);
  REQUIRE(topology.zones.size() == 3);
  const auto cpus_of = [&](std::size_t zone) {
    for (const api::TopologyResource& one : topology.zones[zone].resources)
      if (one.name == "cpu") return one.allocatable.to_string();
    return std::string("none");
  };
  CHECK(topology.zones[0].name == "node-0");
  CHECK(topology.zones[1].name == "node-2");
  CHECK(topology.zones[2].name == "node-5");
  // What the kubelet keeps is kept of the nodes that have CPUs.
  CHECK(cpus_of(0) == "1500m");
  CHECK(cpus_of(1) == "1500m");
  CHECK(cpus_of(2) == "0");

  const SharedPools pools = shared_pools(facts->topology, now);
  REQUIRE(pools.ls.size() == 2);
  CHECK(pools.ls[1].node == 2);
  CHECK(pools.ls[1].cpus.to_string() == "4-5");
}

TEST_CASE("Best-effort work gets whole cores, also where cores of two dies have one number") {
  FakeNode fake(CgroupVersion::v2, 6, 2);
  make_gaps(fake);
  // One NUMA node: cores are told apart by their threads alone.
  fake.tree().write(kSys + "node/online", "0\n");
  fake.tree().write(kSys + "node/node0/cpulist", "0-7\n");
  for (const int cpu : {0, 1, 4, 5})
    fake.tree().write(fmt::format("{}cpu/cpu{}/topology/thread_siblings_list", kSys, cpu),
                      cpu % 4 == 0 ? "0,4\n" : "1,5\n");
  const auto facts = read_node_facts(fake.root());
  REQUIRE(facts.has_value());
  CHECK(facts->topology.siblings(5) == host::CpuSet{1, 5});
  std::vector<int> chosen = cpu_suppress::choose_cpus(2, facts->topology.cpus);
  CHECK(chosen == std::vector<int>{0, 4});
}

}  // namespace
}  // namespace koord::koordlet
