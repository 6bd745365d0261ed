// CPU suppression from the tick to the files. The tables called upstream's are the inputs and outputs of the
// tests in pkg/koordlet/qosmanager/plugins/cpusuppress; the rest is koord's own.
#include <catch2/catch.hpp>

#include "plugins/cpu_suppress/formula.hpp"
#include "rigs/qos_rig.hpp"

namespace koord::koordlet {
namespace {

using cpu_suppress::Consumer;
using host::CgroupVersion;
using testing::kBeRoot;
using testing::machine;
using testing::QosRig;
using testing::Used;

constexpr std::int64_t kCpu = 100'000;  // us of quota

// --- formulas

// Upstream's Test_cpuSuppress_calculateBESuppressCPU.
TEST_CASE("The budget of best-effort work", "[koordlet][suppress][upstream]") {
  struct Row {
    const char* name;
    std::int64_t capacity;
    double node;
    std::vector<Consumer> pods, applications;
    std::int64_t threshold;
    std::optional<std::int64_t> min;
    std::int64_t milli;
  };
  const Row row = GENERATE(values<Row>({
      {"nothing is known", 0, 0, {}, {}, 70, {}, 0},
      {"a measured pod that is not known is latency-sensitive",
       20,
       11,
       {{8, false}, {4, true}},
       {},
       70,
       {},
       6000},
      {"LS and BE pods", 20, 12, {{8, false}, {2, true}}, {}, 70, {}, 4000},
      {"LS host application", 20, 12, {{8, false}, {2, true}}, {{1, false}}, 70, {}, 4000},
      {"BE host application", 20, 12, {{8, false}, {2, true}}, {{1, true}}, 70, {}, 5000},
      {"a minimum", 20, 12, {{8, false}, {2, true}}, {}, 70, 60, 12000},
      {"nothing is left (koord's row)", 16, 16, {{14, false}}, {}, 70, {}, -4800},
  }));
  CAPTURE(row.name);
  CHECK(cpu_suppress::budget({row.node, row.pods, row.applications, row.capacity * 1000, 0}, row.threshold,
                             row.min)
            .milli == row.milli);
}

// What the original calls the system's: the rest of the node, but no less than what is reserved.
TEST_CASE("What pods, host applications and the rest of the node use, as the original's rows have it",
          "[koordlet][suppress][upstream]") {
  struct Row {
    double node;
    std::vector<Consumer> pods, applications;
    std::int64_t reserved_milli;
    double kept;  // from best-effort work: pods, applications and the system's, in CPUs
  };
  const Row row = GENERATE(values<Row>({
      {10, {}, {}, 0, 0 + 0 + 10},
      {80, {{20, false}, {32, true}}, {{4, false}, {8, true}}, 8'000, 20 + 4 + 16},
      {80, {{20, false}, {32, true}}, {}, 8'000, 20 + 0 + 28},
  }));
  CHECK(static_cast<double>(
            cpu_suppress::budget({row.node, row.pods, row.applications, 100'000, row.reserved_milli}, 100, {})
                .milli) == 100'000 - row.kept * 1000);
}

TEST_CASE("Best-effort use is that of the groups as a whole", "[koordlet][suppress]") {
  struct Row {
    const char* name;
    double node;
    std::vector<Consumer> pods, applications;
    double best_effort;
    std::int64_t milli;
  };
  const Row row = GENERATE(values<Row>({
      {"a pod that nobody has named yet is not the system's", 12, {{8, false}}, {}, 3, 5000},
      {"nor is what is named counted twice", 12, {{8, false}, {2, true, true}}, {}, 3, 5000},
      {"outside of the groups each counts by itself",
       12,
       {{8, false}, {2, true}},
       {{1, true, true}},
       1,
       5000},
      {"where the groups cannot be read", 12, {{8, false}, {2, true, true}}, {{1, true, true}}, 0, 5000},
      {"where they were read a little earlier", 12, {{8, false}, {3, true, true}}, {}, 2.9, 5000},
  }));
  CAPTURE(row.name);
  CHECK(cpu_suppress::budget({row.node, row.pods, row.applications, 20'000, 0, row.best_effort}, 70, {})
            .milli == row.milli);
}

TEST_CASE("What is reserved counts where the system uses less", "[koordlet][suppress]") {
  CHECK(cpu_suppress::budget({12, {{8, false}, {2, true}}, {}, 20'000, 5'000}, 70, {}).milli == 1000);
  CHECK(cpu_suppress::budget({12, {{8, false}, {2, true}}, {}, 20'000, 1'000}, 70, {}).milli == 4000);
}

// Upstream's Test_cpuSuppress_adjustByCfsQuota.
TEST_CASE("Steps of the quota on 80 CPUs", "[koordlet][suppress][upstream]") {
  struct Row {
    const char* name;
    std::int64_t milli, present, next;
  };
  const Row row = GENERATE(values<Row>({
      {"grows by a tenth of the node at most", 20'000, 10 * kCpu, 18 * kCpu},
      {"grows to the target", 20'000, 19 * kCpu, 20 * kCpu},
      {"shrinks at once", 20'000, 24 * kCpu, 20 * kCpu},
      {"below 1% of the node nothing changes", 20'000, 1'980'000, 1'980'000},
      {"but for the least quota", 1, 80'000, 2'000},
      {"the first quota is the target", 20'000, -1, 20 * kCpu},
      {"the first quota, also a small one (koord's row)", 500, -1, 50'000},
      {"no budget at all (koord's row)", -3'000, 10 * kCpu, 2'000},
  }));
  CAPTURE(row.name);
  CHECK(cpu_suppress::next_quota(row.milli, row.present, 80'000) == row.next);
}

// Upstream's Test_calculateBESuppressCPUSetPolicy.
TEST_CASE("CPUs scattered over nodes, whole cores first", "[koordlet][suppress][upstream]") {
  const auto interleaved = machine({{0, 0, 0, 0},
                                    {1, 1, 0, 0},
                                    {2, 2, 1, 1},
                                    {3, 3, 1, 1},
                                    {4, 0, 0, 0},
                                    {5, 1, 0, 0},
                                    {6, 2, 1, 1},
                                    {7, 3, 1, 1}});
  const auto shuffled = [](std::shared_ptr<const host::Topology> topology) {
    auto copy = std::make_shared<host::Topology>(*topology);
    std::vector<host::CpuPlace> order;
    for (const int cpu : {12, 13, 14, 2, 3, 11, 4, 5, 8, 15, 0, 1, 9, 10, 6, 7})
      order.push_back(topology->cpus[static_cast<std::size_t>(cpu)]);
    copy->cpus = order;
    return copy;
  };
  struct Row {
    const char* name;
    int count;
    std::shared_ptr<const host::Topology> topology;
    std::vector<int> chosen;
  };
  const std::vector<Row> rows{
      {"none of none", 0, machine(0), {}},
      {"siblings far apart", 3, interleaved, {0, 4, 2}},
      {"siblings side by side", 3, machine(8), {0, 1, 4}},
      {"over sockets", 5, machine(16, 2), {0, 1, 4, 5, 8}},
      {"whatever the order", 5, shuffled(machine(16, 2)), {0, 1, 4, 5, 8}},
      {"more than there are (koord's row)", 9, machine(8), {}},
      {"all (koord's row)", 8, machine(8), {0, 1, 4, 5, 2, 3, 6, 7}},
      {"one CPU a core (koord's row)",
       3,
       machine({{0, 0, 0, 0}, {2, 1, 0, 0}, {4, 2, 1, 1}, {6, 3, 1, 1}}),
       {0, 4, 2}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(cpu_suppress::choose_cpus(row.count, row.topology->cpus) == row.chosen);
  }
}

TEST_CASE("Sharing out", "[koordlet][suppress]") {
  using Shares = std::vector<std::int64_t>;
  struct Row {
    const char* name;
    std::int64_t total;
    std::vector<cpu_suppress::Claim> claims;
    Shares shares;
  };
  const Row row = GENERATE(values<Row>({
      {"one gets all", 300'000, {{10'000, false}}, {300'000}},
      {"two that are hungry", 300'000, {{0, true}, {0, true}}, {150'000, 150'000}},
      {"one that uses little keeps a quarter more", 300'000, {{40'000, false}, {0, true}}, {50'000, 250'000}},
      {"nobody is hungry: what is left is shared",
       300'000,
       {{40'000, false}, {80'000, false}},
       {125'000, 175'000}},
      {"an idle one keeps the least", 300'000, {{0, false}, {0, true}}, {2'000, 298'000}},
      {"one that was limited before stays so", 300'000, {{0, true, 30'000}, {0, true}}, {30'000, 270'000}},
      {"all were limited", 300'000, {{0, true, 30'000}, {0, true, 20'000}}, {30'000, 20'000}},
      {"the least for each", 6'000, {{90'000, true}, {0, false}, {5'000, false}}, {2'000, 2'000, 2'000}},
      {"nobody", 6'000, {}, {}},
  }));
  CAPTURE(row.name);
  cpu_suppress::Shares shares;
  cpu_suppress::share_out(row.total, row.claims, shares);
  CHECK(shares.us == row.shares);
}

// --- from the tick to the files

std::vector<std::string> be_files(QosRig& rig) {
  std::vector<std::string> sets;
  for (const auto& [name, group] : rig.kernel.groups())
    if (name.starts_with(kBeRoot)) sets.push_back(group.cpus.to_string());
  return sets;
}

// Upstream's Test_cpuSuppress_suppressBECPU, for both cgroup versions.
TEST_CASE("A tick of suppression", "[koordlet][suppress][upstream]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  QosRig rig(version);
  const std::vector<Used> both{
      {"be-pod", Qos::be, 2},
      {"ls-pod", Qos::ls, 8, "", host::KubeQos::burstable, "kubepods/burstable/podls"}};
  const std::vector<std::string> below{"podbe-pod", "podbe-pod/c", "podbe-pod/sandbox"};

  SECTION("nothing is known: nothing is written") {
    rig.slo(true, "cfsQuota");
    rig.be_tree("0-9", 16 * kCpu, below);
    rig.tick(kUnknown);
    CHECK(rig.kernel.written.empty());
  }
  SECTION("cfsQuota, the LS pod is not known any more: its use is the system's") {
    rig.slo(true, "cfsQuota");
    rig.pods({{"be-pod", Qos::be, 4}});
    rig.be_tree("0-9", 10 * kCpu, below);
    rig.tick(12);
    CHECK(rig.kernel.quota(kBeRoot) == 320'000);
    CHECK(be_files(rig) == std::vector<std::string>(4, "0-15"));
  }
  SECTION("cfsQuota") {
    rig.slo(true, "cfsQuota");
    rig.pods(both);
    rig.be_tree("0-9", 15 * kCpu, below);
    rig.tick(12, true, 2);
    CHECK(rig.kernel.quota(kBeRoot) == 120'000);
    CHECK(be_files(rig) == std::vector<std::string>(4, "0-15"));
    const std::string metrics = rig.metrics->exposition();
    CHECK_THAT(metrics, Catch::Contains("koordlet_be_suppress_cpu_cores{type=\"cfsQuota\"} 1.2\n"));
    CHECK_THAT(metrics, Catch::Contains("koordlet_be_suppress_ls_used_cpu_cores 8\n"));
    CHECK_THAT(metrics, Catch::Contains("koordlet_be_suppress_be_used_cpu_cores 2\n"));
    const auto limits = rig.manager->limits();
    REQUIRE(!limits.empty());
    CHECK(limits[0].value == "120000");
    CHECK(limits[0].in_force);
    CHECK(rig.report("CPUSuppress").status.active);
    CHECK_THAT(
        rig.report("CPUSuppress").status.summary,
        Catch::Equals(
            "cfsQuota: 1.20 CPUs for best-effort: 70% of 16.00, less latency-sensitive 8.00, system 2.00"));
  }
  SECTION("cpuset") {
    rig.slo(true, "cpuset");
    rig.pods(both);
    rig.be_tree("0-9", 8 * kCpu, below);
    rig.tick(12);
    CHECK(rig.kernel.quota(kBeRoot) == -1);
    CHECK(be_files(rig) == std::vector<std::string>(4, "0-1"));
    CHECK_THAT(rig.metrics->exposition(),
               Catch::Contains("koordlet_be_suppress_cpu_cores{type=\"cpuset\"} 2\n"));
  }
  SECTION("disabled: all is set free") {
    rig.slo(false, "cpuset");
    rig.pods(both);
    rig.be_tree("0-9", 8 * kCpu, below);
    rig.tick(12);
    CHECK(rig.kernel.quota(kBeRoot) == -1);
    CHECK(be_files(rig) == std::vector<std::string>(4, "0-15"));
  }
  CHECK(rig.kernel.refused.empty());
  // The same again changes nothing.
  rig.kernel.written.clear();
  rig.tick(rig.pod_usage.empty() ? kUnknown : 12);
  CHECK(rig.kernel.written.empty());
}

// Upstream's Test_cpuSuppress_adjustByCPUSet, _withCPUsReservedFromNodeAnno and
// _withSystemQOSResourceFromNodeAnno: 3 CPUs for best-effort work on 8, an LSR pod on 0 and 6, an LSE pod
// on 7.
TEST_CASE("Sets of CPUs beside LSR and LSE pods and reservations", "[koordlet][suppress][upstream]") {
  struct Row {
    const char* name;
    const char* before;
    const char* reserved;
    const char* system_qos;
    const char* after;
  };
  const Row row = GENERATE(values<Row>({
      {"shrinks", "2-3,6-7", "", "", "2-4"},
      {"grows", "6-7", "", "", "2-4"},
      {"one is reserved", "2-3,6-7", "3", "", "0,4-5"},
      {"one is left: upstream changes nothing (koord's row)", "2-3,6-7", "1-6", "", "0"},
      {"just enough are left", "2-3,6-7", "0-1,5-6", "", "2-4"},
      {"system QoS has one", "2-3,6-7", "", "3", "0,4-5"},
      {"system QoS leaves one: upstream changes nothing (koord's row)", "2-3,6-7", "", "1-6", "0"},
      {"system QoS leaves just enough", "2-3,6-7", "", "0-1,5-6", "2-4"},
      {"system QoS is not exclusive: it is not in the inventory", "2-3,6-7", "", "", "2-4"},
      {"two are left for three (koord's row)", "2-3,6-7", "1-5", "", "0,6"},
      {"none is left: upstream divides by zero (koord's row)", "2-3", "0-6", "", "2-3"},
  }));
  CAPTURE(row.name);
  QosRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.topology = machine(8);
  rig.capacity(8);
  rig.slo(true, "cpuset", 100);
  rig.pods({{"lse", Qos::lse, 0, "7"}, {"lsr", Qos::lsr, 5, "0,6"}});
  rig.inventory.node.reserved_cpus = *host::CpuSet::parse(row.reserved);
  rig.inventory.node.system_qos_cpus = *host::CpuSet::parse(row.system_qos);
  rig.be_tree(row.before, -1, {"pod1", "pod2", "pod3"});
  rig.tick(5);
  CHECK(be_files(rig) == std::vector<std::string>(4, row.after));
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("A best-effort pod that nobody has named yet costs the others nothing", "[koordlet][suppress]") {
  QosRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.slo(true, "cfsQuota");
  rig.pods({{"ls", Qos::ls, 8}});
  rig.be_tree("0-15", -1, {"podbe"});
  rig.tick(8.25, true, 0);
  CHECK(rig.kernel.quota(kBeRoot) == 295'000);  // 11.2 - 8 - 0.25
  rig.tick(11.25, true, 3);
  CHECK(rig.kernel.quota(kBeRoot) == 295'000);
}

/// All of a small machine may be used, and a latency-sensitive pod uses half of it.
struct EightCpus : QosRig {
  explicit EightCpus(CgroupVersion version) : QosRig(version) {
    topology = machine(8);
    capacity(8);
    slo(true, "cpuset", 100);
    pods({{"ls", Qos::ls, 4}});
    be_tree("0-7", -1, {"pod1", "pod1/c"});
  }
};

TEST_CASE("CPUs of pods that are bound but do not run, and those that the kubelet gave out",
          "[koordlet][suppress]") {
  EightCpus rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.inventory.own_cpus.lse = *host::CpuSet::parse("0-1");

  SECTION("LSE: never, suppressed or free") {
    rig.tick(4);
    CHECK(be_files(rig) == std::vector<std::string>(3, "2-5"));
    rig.slo(false, "cpuset");
    rig.tick(4);
    CHECK(be_files(rig) == std::vector<std::string>(3, "2-7"));
  }
  SECTION("LSR: in proportion") {
    rig.inventory.own_cpus.lsr = *host::CpuSet::parse("2-4");
    rig.tick(4);  // 4 of the 6 that are left, 2 of the 3 LSR ones
    CHECK(be_files(rig) == std::vector<std::string>(3, "2-3,6-7"));
  }
  SECTION("the kubelet's: its folders are its own business, their containers are not") {
    rig.inventory.node.static_cpu_policy = true;
    rig.inventory.own_cpus.kubelet = *host::CpuSet::parse("2-3");
    rig.tick(4);
    CHECK(be_files(rig) == std::vector<std::string>{"2-7", "2-7", "4-7"});
    rig.slo(false, "cpuset");
    rig.tick(4);
    CHECK(be_files(rig) == std::vector<std::string>{"2-7", "2-7", "4-7"});
  }
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("CPUs that are reserved by their number are those that NodeResourceTopology names",
          "[koordlet][suppress]") {
  EightCpus rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  SECTION("suppressed or free") {
    rig.inventory.node.reserved_milli_cpu = 1500;
    rig.tick(4);
    CHECK(be_files(rig) == std::vector<std::string>(3, "2,4-5"));
    rig.slo(false, "cpuset");
    rig.tick(4);
    CHECK(be_files(rig) == std::vector<std::string>(3, "2-7"));
  }
  SECTION("but not if fewer than two are left (koord's row)") {
    rig.inventory.node.reserved_milli_cpu = 7000;
    rig.tick(4);
    CHECK(be_files(rig) == std::vector<std::string>(3, "0-1"));
    rig.slo(false, "cpuset");
    rig.tick(4);
    CHECK(be_files(rig) == std::vector<std::string>(3, "0-7"));
  }
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("The budget follows the CPUs that are online", "[koordlet][suppress]") {
  QosRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.slo(true, "cfsQuota");
  rig.pods({{"ls", Qos::ls, 2}});
  rig.be_tree("0-15", -1, {"pod1"});
  rig.tick(2);
  CHECK(rig.kernel.quota(kBeRoot) == 920'000);  // 11.2 - 2
  rig.topology = machine(8);                    // the Node says 16 until the kubelet starts anew
  rig.tick(2);
  CHECK(rig.kernel.quota(kBeRoot) == 360'000);  // 5.6 - 2
}

// Upstream's Test_cpuSuppress_recoverCPUSetIfNeed (5 rows, three of which differ in a state that koord has
// not) and _recoverCFSQuotaIfNeed.
TEST_CASE("Setting free", "[koordlet][suppress][upstream]") {
  struct Row {
    const char* reserved;
    const char* system_qos;
    const char* after;
  };
  const Row row =
      GENERATE(values<Row>({{"", "", "0-6,8-15"}, {"0-1", "", "2-6,8-15"}, {"", "0-1", "2-6,8-15"}}));
  QosRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.slo(false, "cpuset");
  rig.pods({{"lse", Qos::lse, 0, "7"}});
  rig.inventory.node.reserved_cpus = *host::CpuSet::parse(row.reserved);
  rig.inventory.node.system_qos_cpus = *host::CpuSet::parse(row.system_qos);
  rig.be_tree("2-3,6-7", 10 * kCpu, {"pod1", "pod2", "pod3"});
  rig.tick(1);
  CHECK(be_files(rig) == std::vector<std::string>(4, row.after));
  CHECK(rig.kernel.quota(kBeRoot) == -1);

  // Every tick: whoever comes later or was changed by somebody is set free too.
  rig.kernel.group(std::string(kBeRoot) + "/pod4").cpus = *host::CpuSet::parse("2-3");
  rig.kernel.group(kBeRoot).quota = 10 * kCpu;
  for (int i = 0; i < 61; ++i) rig.tick(1);
  CHECK(be_files(rig) == std::vector<std::string>(5, row.after));
  CHECK(rig.kernel.quota(kBeRoot) == -1);
}

// Upstream's TestCPUSuppress_applyBESuppressCPUSet and Test_cpuSuppress_applyCPUSetWithNonePolicy.
TEST_CASE("The kubelet's static CPU policy: only containers are limited", "[koordlet][suppress][upstream]") {
  QosRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.slo(true, "cpuset", 100);
  rig.inventory.node.static_cpu_policy = true;
  rig.pods({{"ls", Qos::ls, 12}});
  const std::vector<std::string> below{"pod1",     "pod1/c11", "pod1/c12", "pod2",
                                       "pod2/c21", "pod2/c22", "pod3",     "pod3/c31"};
  rig.be_tree("0-2", -1, below);
  rig.tick(12);  // 4 CPUs are left
  CHECK(be_files(rig) == std::vector<std::string>{"0-15", "0-15", "0-1,4-5", "0-1,4-5", "0-15", "0-1,4-5",
                                                  "0-1,4-5", "0-15", "0-1,4-5"});
  rig.inventory.node.static_cpu_policy = false;
  rig.tick(12);
  CHECK(be_files(rig) == std::vector<std::string>(9, "0-1,4-5"));
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Sets of CPUs grow by a tenth of the machine a tick", "[koordlet][suppress]") {
  QosRig rig(CgroupVersion::v1);
  rig.slo(true, "cpuset", 100);
  rig.pods({{"ls", Qos::ls, 14}});
  rig.be_tree("0-15", -1, {"pod1", "pod1/c"});
  rig.tick(14);
  CHECK(rig.kernel.group(kBeRoot).cpus.size() == 2);
  rig.pods({{"ls", Qos::ls, 1}});
  std::vector<int> sizes;
  for (int i = 0; i < 8; ++i) {
    rig.tick(1);
    sizes.push_back(rig.kernel.group(kBeRoot).cpus.size());
  }
  CHECK(sizes == std::vector<int>{4, 6, 8, 10, 12, 14, 15, 15});
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("A new container of a limited pod does not stand in the way", "[koordlet][suppress]") {
  QosRig rig(CgroupVersion::v1);
  rig.slo(true, "cpuset", 100);
  rig.pods({{"ls", Qos::ls, 4}});
  rig.be_tree("0-11", -1, {"pod1", "pod1/c"});
  rig.tick(4);
  // runc gives it what its parent has; no event has told of it, and then the set shrinks.
  rig.kernel.group(std::string(kBeRoot) + "/pod1/new").cpus = rig.kernel.group(kBeRoot).cpus;
  rig.kernel.group(std::string(kBeRoot) + "/pod1/new/nested").cpus = rig.kernel.group(kBeRoot).cpus;
  rig.pod_usage[0].cpu = 10;
  for (int i = 0; i < 3; ++i) rig.tick(10);
  CHECK(be_files(rig) == std::vector<std::string>(5, "0-1,4-5,8-9"));
}

TEST_CASE("A NodeSLO with nonsense leaves nothing throttled", "[koordlet][suppress]") {
  struct Row {
    std::int64_t threshold;
    std::optional<std::int64_t> min;
  };
  const Row row = GENERATE(
      values<Row>({{-1, {}}, {101, {}}, {INT64_MAX, {}}, {INT64_MIN, {}}, {70, -3}, {70, INT64_MAX}}));
  QosRig rig(CgroupVersion::v2);
  rig.slo(true, "cfsQuota");
  rig.pods({{"ls", Qos::ls, 8}});
  rig.be_tree("0-15", -1, {"pod1"});
  rig.tick(12);
  CHECK(rig.kernel.quota(kBeRoot) > 0);
  rig.slo(true, "cfsQuota", row.threshold, row.min);
  rig.tick(12);
  CHECK(rig.kernel.quota(kBeRoot) == -1);
  CHECK_THAT(rig.report("CPUSuppress").status.summary, Catch::Contains("is not between 0 and 100"));
  // A policy that nobody knows is upstream's default.
  rig.slo(true, "nonsense");
  rig.tick(12);
  CHECK(rig.kernel.cpus(kBeRoot) == "0-1");
  // No section at all is as disabled.
  rig.inventory.slo = std::make_shared<api::NodeSloSpec>();
  rig.tick(12);
  CHECK(rig.kernel.cpus(kBeRoot) == "0-15");
}

TEST_CASE("While something cannot be read nothing is taken away, but not for long", "[koordlet][suppress]") {
  const std::string policy = GENERATE("cfsQuota", "cpuset");
  QosRig rig(CgroupVersion::v1);
  rig.slo(true, policy, 100);
  rig.pods({{"be", Qos::be, 2}, {"ls", Qos::ls, 2}});
  rig.be_tree("0-15", -1, {"pod1"});
  rig.tick(4, true, 2);
  const auto given = [&] {
    return policy == "cpuset" ? rig.kernel.group(kBeRoot).cpus.size()
                              : static_cast<int>(rig.kernel.quota(kBeRoot) / kCpu);
  };
  CHECK(given() == 14);
  rig.pod_usage[0].cpu = kUnknown;  // what it uses looks like the system's
  for (int i = 0; i < 3; ++i) {
    rig.tick(8, false);
    CHECK(given() == 14);
  }
  rig.tick(8, false);
  CHECK(given() == 8);
}

TEST_CASE("Quotas follow a group's own period", "[koordlet][suppress]") {
  QosRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.slo(true, "cfsQuota");
  rig.pods({{"ls", Qos::ls, 8}});
  rig.be_tree("0-15", -1, {"pod1"});
  rig.kernel.group(kBeRoot).period = 50'000;
  rig.tick(10);
  CHECK(rig.kernel.quota(kBeRoot) == 60'000);  // 1.2 CPUs
}

// --- without Kubernetes

struct Standalone : QosRig {
  explicit Standalone(CgroupVersion version, std::string journal = {}) : QosRig(version, std::move(journal)) {
    inventory.be_roots = {"batch.slice", "night.slice"};
    for (const char* name : {"web.slice", "batch.slice", "night.slice", "batch.slice/job"}) {
      kernel.group(name).cpus = version == CgroupVersion::v1 ? topology->online : host::CpuSet{};
    }
    applications({{.name = "batch", .qos = Qos::be, .cpu = 3, .group = "batch.slice"},
                  {.name = "night", .qos = Qos::be, .cpu = 1, .group = "night.slice"},
                  {.name = "web", .qos = Qos::ls, .cpu = 4, .group = "web.slice"}});
  }
};

TEST_CASE("Several best-effort groups share the quota and get back what they had", "[koordlet][suppress]") {
  Standalone rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.kernel.group("night.slice").quota = 150'000;  // an operator's
  rig.slo(true, "cfsQuota", 70);
  rig.tick(9);  // 11.2 - 4 - 1 = 6.2 CPUs
  CHECK(rig.kernel.quota("night.slice") <= 150'000);
  CHECK(rig.kernel.quota("batch.slice") + rig.kernel.quota("night.slice") <= 620'000);
  CHECK(rig.kernel.quota("batch.slice") == 620'000 - rig.kernel.quota("night.slice"));
  CHECK(rig.kernel.quota("web.slice") == -1);
  CHECK(rig.kernel.quota("batch.slice/job") == -1);

  rig.application_usage[2].cpu = 10;
  rig.tick(12);  // 11.2 - 10 - 0: 1.2 CPUs, less the system's
  CHECK(rig.kernel.quota("batch.slice") + rig.kernel.quota("night.slice") <= 120'000);
  CHECK(rig.kernel.quota("night.slice") >= 2'000);

  SECTION("disabled") { rig.slo(false, "cfsQuota"); }
  SECTION("the file is gone") { rig.inventory.slo.reset(); }
  SECTION("the groups are no longer in the file") { rig.inventory.be_roots = {"other.slice"}; }
  SECTION("the other policy") { rig.slo(true, "cpuset"); }
  rig.tick(12);
  CHECK(rig.kernel.quota("batch.slice") == -1);
  CHECK(rig.kernel.quota("night.slice") == 150'000);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Sets of CPUs of plain groups stay within what they had", "[koordlet][suppress]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  Standalone rig(version);
  rig.kernel.group("night.slice").cpus = *host::CpuSet::parse("4-15");
  rig.slo(true, "cpuset", 70);
  rig.application_usage[2].cpu = 6;
  rig.tick(11);  // 4.2 CPUs
  CHECK(rig.kernel.effective("batch.slice").to_string() == "0-1,4-5,8");
  CHECK(rig.kernel.effective("batch.slice/job").to_string() == "0-1,4-5,8");
  CHECK(rig.kernel.cpus("night.slice") == "4-5,8");
  const std::string free = version == CgroupVersion::v1 ? "0-15" : "";
  CHECK(rig.kernel.cpus("web.slice") == free);
  rig.slo(false, "cpuset");
  rig.tick(11);
  CHECK(rig.kernel.cpus("batch.slice") == free);
  CHECK(rig.kernel.cpus("batch.slice/job") == free);
  CHECK(rig.kernel.cpus("night.slice") == "4-15");
  CHECK(rig.kernel.refused.empty());
}

}  // namespace
}  // namespace koord::koordlet
