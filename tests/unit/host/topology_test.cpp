#include "koord/host/topology.hpp"

#include <catch2/catch.hpp>

#include "support/tree.hpp"

using namespace koord::host;
using koord::testing::Tree;

namespace {
void add_cpu(Tree& tree, int cpu, int core, int socket, const std::string& l2, const std::string& l3) {
  const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/";
  tree.write(folder + "topology/core_id", std::to_string(core) + "\n");
  tree.write(folder + "topology/physical_package_id", std::to_string(socket) + "\n");
  tree.write(folder + "cache/index2/level", "2\n");
  tree.write(folder + "cache/index2/shared_cpu_list", l2 + "\n");
  tree.write(folder + "cache/index3/level", "3\n");
  tree.write(folder + "cache/index3/shared_cpu_list", l3 + "\n");
}
}  // namespace

TEST_CASE("two sockets that both count their cores from 0") {
  Tree tree({{"sys/devices/system/cpu/online", "0-7\n"},
             {"sys/devices/system/cpu/smt/active", "1\n"},
             {"sys/devices/system/node/online", "0-1\n"},
             {"sys/devices/system/node/node0/cpulist", "0-1,4-5\n"},
             {"sys/devices/system/node/node1/cpulist", "2-3,6-7\n"}});
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int thread0 = cpu % 4;
    const std::string siblings = std::to_string(thread0) + "," + std::to_string(thread0 + 4);
    add_cpu(tree, cpu, thread0 % 2, thread0 / 2, siblings, thread0 < 2 ? "0-1,4-5" : "2-3,6-7");
  }
  const auto topology = read_topology(Root::below(tree.path()));
  REQUIRE(topology.has_value());
  CHECK(topology->smt_active);
  CHECK(topology->nodes.size() == 2);
  CHECK(topology->find(6)->socket == 1);
  CHECK(topology->find(6)->node == 1);
  CHECK(topology->find(6)->core == topology->find(2)->core);
  CHECK(topology->find(0)->core != topology->find(2)->core);
  CHECK(topology->find(0)->l3 != topology->find(2)->l3);
  CHECK(topology->siblings(3) == CpuSet{3, 7});
  CHECK(topology->find(8) == nullptr);
}

TEST_CASE("offline CPUs, no NUMA, no caches, one CPU") {
  Tree tree({{"sys/devices/system/cpu/online", "1\n"},
             {"sys/devices/system/cpu/cpu1/topology/core_id", "1\n"},
             {"sys/devices/system/cpu/cpu1/topology/physical_package_id", "-1\n"}});
  const auto topology = read_topology(Root::below(tree.path()));
  REQUIRE(topology.has_value());
  REQUIRE(topology->cpus.size() == 1);
  CHECK(topology->cpus[0].cpu == 1);
  CHECK(topology->cpus[0].socket == 0);
  CHECK(topology->nodes.size() == 1);
  CHECK_FALSE(topology->smt_active);
  tree.write("sys/devices/system/node/online", "\n");
  CHECK(read_topology(Root::below(tree.path()))->nodes.size() == 1);
}

TEST_CASE("a core is the threads that share it, whatever its core_id") {
  // Two dies of one socket that both count their cores from 0, and a CPU of each core offline.
  Tree tree({{"sys/devices/system/cpu/online", "0-3,5,7\n"}});
  for (const int cpu : {0, 1, 2, 3, 5, 7}) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    tree.write(folder + "core_id", std::to_string(cpu % 2) + "\n");
    tree.write(folder + "physical_package_id", "0\n");
    const int first = cpu % 4;
    tree.write(folder + "thread_siblings_list",
               first % 2 == 0 ? std::to_string(first) + "\n"
                              : std::to_string(first) + "," + std::to_string(first + 4) + "\n");
  }
  const auto topology = read_topology(Root::below(tree.path()));
  REQUIRE(topology.has_value());
  CHECK(topology->siblings(0) == CpuSet{0});
  CHECK(topology->siblings(1) == CpuSet{1, 5});
  CHECK(topology->siblings(2) == CpuSet{2});
  CHECK(topology->siblings(7) == CpuSet{3, 7});
  CHECK(topology->smt_active);
  CHECK(topology->find(7)->core == 3);
  // A list that does not name the CPU says nothing, nor does one that cannot be read.
  tree.write("sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "9\n");
  tree.write("sys/devices/system/cpu/cpu5/topology/thread_siblings_list", "x\n");
  const auto again = read_topology(Root::below(tree.path()));
  REQUIRE(again.has_value());
  CHECK(again->siblings(2) == CpuSet{2});
  CHECK(again->siblings(5) == CpuSet{5});
}

TEST_CASE("NUMA nodes with gaps, without CPUs, of devices") {
  Tree tree({{"sys/devices/system/cpu/online", "1,3\n"},
             {"sys/devices/system/node/possible", "0-15\n"},
             {"sys/devices/system/node/online", "1,3,5-6,8\n"},
             {"sys/devices/system/node/has_generic_initiator", "3,8\n"},
             {"sys/devices/system/node/node1/cpulist", "0-1\n"},
             {"sys/devices/system/node/node3/cpulist", "3\n"},  // a device beside a CPU
             {"sys/devices/system/node/node5/cpulist", "\n"},   // memory alone
             {"sys/devices/system/node/node6/cpulist", "2\n"},  // its CPU is offline
             {"sys/devices/system/node/node8/cpulist", "\n"}});
  for (const int cpu : {1, 3})
    for (const char* file : {"core_id", "physical_package_id"})
      tree.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/" + file, "0\n");
  const auto topology = read_topology(Root::below(tree.path()));
  REQUIRE(topology.has_value());
  std::vector<int> ids;
  for (const NumaNode& node : topology->nodes) ids.push_back(node.id);
  CHECK(ids == std::vector<int>{1, 3, 5, 6});
  CHECK(topology->nodes[0].cpus == CpuSet{1});
  CHECK(topology->nodes[2].cpus.empty());
  CHECK(topology->nodes[3].cpus.empty());
  CHECK(topology->find(1)->node == 1);
  CHECK(topology->find(3)->node == 3);
  CHECK(topology->find(2) == nullptr);
  // A CPU that no node lists is on the first there is, never on one that there is not.
  tree.write("sys/devices/system/node/node3/cpulist", "\n");
  CHECK(read_topology(Root::below(tree.path()))->find(3)->node == 1);
}

TEST_CASE("unreadable topology names the file") {
  Tree tree({{"sys/devices/system/cpu/online", "0\n"}});
  const auto missing = read_topology(Root::below(tree.path()));
  REQUIRE(missing.has_error());
  CHECK(missing.error().message().find("cpu0/topology/physical_package_id") != std::string::npos);
  tree.write("sys/devices/system/cpu/online", "zero\n");
  CHECK(read_topology(Root::below(tree.path())).error().code() == koord::Code::parse);
  tree.write("sys/devices/system/cpu/online", "\n");
  CHECK(read_topology(Root::below(tree.path())).has_error());
}
