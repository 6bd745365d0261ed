// The QoS manager: the journal, setting free, and what is left when the agent dies.
#include "framework/qos/manager.hpp"

#include <catch2/catch.hpp>

#include "framework/qos/journal.hpp"
#include "koord/host/file.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuSet;
using host::Knob;
using koord::testing::Tree;
using testing::kBeRoot;
using testing::QosRig;

CpuSet cpus(std::string_view text) { return *CpuSet::parse(text); }

TEST_CASE("A journal is read back as it was written", "[koordlet][journal]") {
  Tree tree;
  const std::string path = tree / "run/koordlet/journal";
  const std::vector<Journal::Entry> entries{
      {Knob::cpuset_cpus, "a b\tc", 0, 0, CpuSet{}, "CPUSuppress"},
      {Knob::cpu_quota, "kubepods/besteffort", 0, 0, std::int64_t{-1}, "CPUSuppress"},
      {Knob::cpuset_cpus, "kubepods/besteffort", 0, 64, cpus("0-3,8"), "CPUSuppress"},
  };
  Journal journal({.path = path, .boot_id = "boot 1"});
  REQUIRE(journal.load().has_value());
  for (const auto& entry : entries) journal.note(entry);
  REQUIRE(journal.save().has_value());
  CHECK_FALSE(host::exists(path + ".new"));

  Journal same({.path = path, .boot_id = "boot 1"});
  REQUIRE(same.load().has_value());
  CHECK(same.entries() == entries);
  Journal later({.path = path, .boot_id = "boot 2"});
  REQUIRE(later.load().has_value());
  CHECK(later.entries().empty());

  for (const auto& entry : entries) same.erase(entry.knob, entry.group);
  REQUIRE(same.save().has_value());
  CHECK_FALSE(host::exists(path));
}

TEST_CASE("A garbled journal is an error that names the line, and nothing is taken over",
          "[koordlet][journal]") {
  const std::string good = "koord-journal 1 b\ncpu.cfs_quota_us\tx\t0\t0\t-1\tg\n";
  const std::string text =
      GENERATE_COPY(std::string(""), std::string("\n"), std::string("something else\n"), good + "half a li",
                    good + "\n", good + "cpu.cfs_quota_us\tx\t0\t0\t-1\t\n",
                    good + "cpu.unknown\tx\t0\t0\t-1\t\n", good + "CPU?\tx\t0\t0\t1\tg\n",
                    good + "cpu.cfs_quota_us\tx\t0\t0\t0-3\tg\n", good + "cpuset.cpus\tx\t0\t0\t-1\tg\n",
                    good + "cpuset.cpus\tx\t0\t0\t\tg\n", good + "cpu.cfs_quota_us\tx\t2\t1\t-1\tg\n",
                    good + "cpu.cfs_quota_us\tx\t-1\t1\t-1\tg\n", std::string("\0\0\0\n", 4));
  Tree tree{{"journal", text}};
  Journal journal({.path = tree / "journal", .boot_id = "b"});
  const auto loaded = journal.load();
  CAPTURE(text);
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().code() == Code::parse);
  CHECK(journal.entries().empty());
  journal.note({Knob::cpu_quota, "g", 0, 0, std::int64_t{-1}, "x"});
  CHECK(journal.save().has_value());
  CHECK(journal.load().has_value());
}

TEST_CASE("What another version noted of knobs that this one does not know stays, and hinders nothing",
          "[koordlet][journal]") {
  const std::string strange = "cpu.unknown\tx\t0\t0\tany value\tg/h\ncgroup.procs\tx\t0\t0\t1\tg\n";
  Tree tree{{"journal", "koord-journal 1 boot\ncpu.cfs_quota_us\tx\t0\t0\t-1\tg\n" + strange}};
  {
    Journal journal({.path = tree / "journal", .boot_id = "boot"});
    REQUIRE(journal.load().has_value());
    CHECK(journal.entries().size() == 1);
    CHECK(journal.unknown_rows() == 2);
  }
  QosRig rig(CgroupVersion::v2, tree / "journal");
  rig.kernel.group("g").quota = 50'000;
  rig.tick(1);
  CHECK(rig.kernel.quota("g") == -1);
  CHECK(read_file(tree / "journal").value() == "koord-journal 1 boot\n" + strange);
  CHECK(rig.log.count(LogLevel::warn) == 1);
  const auto cleaned = rig.manager->cleanup(rig.inventory);
  REQUIRE_FALSE(cleaned.has_value());
  CHECK(cleaned.error().code() == Code::unsupported);
}

// --- what an agent leaves, and what the next one finds

bool is_free(QosRig& rig) {
  for (const auto& [name, group] : rig.kernel.groups()) {
    if (group.quota != -1 && name != "night.slice") return false;
    if (!group.cpus.empty() && group.cpus != rig.topology->online) return false;
  }
  return !rig.kernel.groups().contains("night.slice") || rig.kernel.quota("night.slice") == 150'000;
}

void kubernetes(QosRig& rig, const std::string& policy) {
  rig.slo(true, policy);
  rig.pods({{"be", Qos::be, 2}, {"ls", Qos::ls, 8}});
  rig.be_tree("0-15", -1, {"podbe", "podbe/c", "podbe/sandbox", "podx", "podx/c"});
}
void standalone(QosRig& rig, const std::string& policy) {
  rig.slo(true, policy);
  rig.inventory.be_roots = {"batch.slice", "night.slice"};
  for (const char* name : {"batch.slice", "batch.slice/job", "night.slice"})
    rig.kernel.group(name).cpus = rig.kernel.version() == CgroupVersion::v1 ? rig.topology->online : CpuSet{};
  rig.kernel.group("night.slice").quota = 150'000;
  rig.applications({{.name = "batch", .qos = Qos::be, .cpu = 2, .group = "batch.slice"},
                    {.name = "night", .qos = Qos::be, .cpu = 1, .group = "night.slice"},
                    {.name = "web", .qos = Qos::ls, .cpu = 8, .group = "web.slice"}});
}

/// Ticks until nothing is written any more.
void settle(QosRig& rig, double node_cpu) {
  for (int i = 0; i < 40; ++i) {
    const std::size_t before = rig.kernel.written.size();
    rig.tick(node_cpu);
    if (rig.kernel.written.size() == before && i > 0) return;
  }
  FAIL("does not settle");
}

// The agent is killed instead of its k-th write, for every k; the next one goes on, and once suppression is
// disabled (or the file is empty) everything is as it was.
TEST_CASE("Killed between any two writes", "[koordlet][manager][crash]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const std::string policy = GENERATE("cfsQuota", "cpuset");
  const bool in_kubernetes = GENERATE(true, false);
  enum class End { disabled, removed, cleanup };
  const End end = GENERATE(End::disabled, End::removed, End::cleanup);
  const std::size_t writes = testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<QosRig>(version, journal);
        (in_kubernetes ? kubernetes : standalone)(*rig, policy);
        REQUIRE(is_free(*rig));
        return rig;
      },
      [&](QosRig& rig) {
        double& others = in_kubernetes ? rig.pod_usage[1].cpu : rig.application_usage[2].cpu;
        settle(rig, 12);  // throttles
        others = 3;
        settle(rig, 7);  // grows
        others = 9;
        settle(rig, 13);
        rig.slo(false, policy);
        settle(rig, 13);  // sets free
      },
      [&](QosRig& rig, const std::string& journal, std::size_t) {
        rig.start();
        if (end == End::disabled) {
          rig.slo(false, policy);
          settle(rig, 13);
        } else if (end == End::removed) {
          if (in_kubernetes)
            rig.inventory.slo.reset();  // deleted
          else
            rig.inventory.be_roots.clear();
          settle(rig, 13);
        } else {
          REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
        }
        REQUIRE(is_free(rig));
        REQUIRE(rig.kernel.refused.empty());
        REQUIRE_FALSE(host::exists(journal));
      });
  CHECK(writes >= 3);
}

TEST_CASE("Suppression holds over a kill and a restart", "[koordlet][manager][crash]") {
  const std::string policy = GENERATE("cfsQuota", "cpuset");
  Tree tree;
  QosRig rig(CgroupVersion::v1, tree / "journal");
  kubernetes(rig, policy);
  settle(rig, 12);
  const std::int64_t quota = rig.kernel.quota(kBeRoot);
  const std::string set = rig.kernel.cpus(kBeRoot);
  rig.kernel.written.clear();
  rig.start();

  SECTION("with everything at hand at once") { rig.tick(12); }
  SECTION("while the API server is away") {
    rig.inventory.slo.reset();
    rig.inventory.slo_known = false;
    for (int i = 0; i < 290; ++i) rig.tick(12);
  }
  SECTION("while nothing has been measured yet") {
    for (int i = 0; i < 5; ++i) rig.tick(kUnknown, false);
  }
  SECTION("while the pods are not known yet") {
    rig.inventory.pods_known = false;
    rig.inventory.pods.clear();
    rig.pod_usage.clear();
    for (int i = 0; i < 5; ++i) rig.tick(12);
  }
  CHECK(rig.kernel.quota(kBeRoot) == quota);
  CHECK(rig.kernel.cpus(kBeRoot) == set);
  CHECK(rig.kernel.written.empty());
}

TEST_CASE("An agent that never hears of a NodeSLO sets free what a dead one left, after a while",
          "[koordlet][manager]") {
  const bool with_journal = GENERATE(true, false);
  Tree tree;
  QosRig rig(CgroupVersion::v2, tree / "journal");
  kubernetes(rig, GENERATE("cfsQuota", "cpuset"));
  settle(rig, 12);
  if (!with_journal) tree.remove("journal");
  rig.start();
  rig.inventory.slo.reset();
  rig.inventory.slo_known = false;
  for (int i = 0; i < 298; ++i) rig.tick(12);
  CHECK_FALSE(is_free(rig));
  for (int i = 0; i < 5; ++i) rig.tick(12);
  CHECK(is_free(rig));
}

TEST_CASE("An agent whose gate is off sets free once, and then keeps away", "[koordlet][manager]") {
  Tree tree;
  QosRig rig(CgroupVersion::v1, tree / "journal");
  kubernetes(rig, "cfsQuota");
  settle(rig, 12);
  CHECK_FALSE(is_free(rig));
  REQUIRE(rig.gates.set("BECPUSuppress=false").has_value());
  rig.start();
  settle(rig, 12);
  CHECK(is_free(rig));
  CHECK_FALSE(rig.report("CPUSuppress").enabled);
  rig.kernel.group(kBeRoot).quota = 70'000;  // somebody else's by now
  for (int i = 0; i < 130; ++i) rig.tick(12);
  CHECK(rig.kernel.quota(kBeRoot) == 70'000);
}

TEST_CASE("A strategy plans as often as its flag says; 0 switches it off like its gate",
          "[koordlet][manager]") {
  QosRig rig(CgroupVersion::v1);
  rig.be_tree("0-15", -1, {"p1"});
  rig.pods({{.name = "ls1", .cpu = 4}});
  rig.slo(true, "cfsQuota");
  rig.interval = std::chrono::seconds(5);
  rig.start();
  rig.tick(6);
  const auto first = rig.kernel.group(kBeRoot).quota;
  CHECK(first != -1);
  const std::size_t limits = rig.manager->limits().size();
  CHECK(limits > 0);
  rig.pods({{.name = "ls1", .cpu = 9}});
  for (int i = 0; i < 4; ++i) {
    rig.tick(11);
    CHECK(rig.kernel.group(kBeRoot).quota == first);
    CHECK(rig.manager->limits().size() == limits);
  }
  rig.tick(11);
  CHECK(rig.kernel.group(kBeRoot).quota < first);

  rig.interval = std::chrono::seconds(0);
  rig.start();
  rig.tick(11);
  CHECK(rig.kernel.group(kBeRoot).quota == -1);
  CHECK_FALSE(rig.report("CPUSuppress").enabled);
}

TEST_CASE("The API server away for hours: the last NodeSLO holds", "[koordlet][manager]") {
  QosRig rig(CgroupVersion::v2);
  kubernetes(rig, "cfsQuota");
  rig.inventory.slo_known = false;  // not any more; the last one is still in the inventory
  for (int i = 0; i < 4000; ++i) rig.tick(12);
  CHECK(rig.kernel.quota(kBeRoot) == 120'000);
  CHECK(rig.executor->size() < 20);
}

TEST_CASE("Where the journal cannot be written the agent says so and protects", "[koordlet][manager]") {
  Tree tree{{"file", "no folder"}};
  QosRig rig(CgroupVersion::v1, tree / "file/journal");
  kubernetes(rig, "cfsQuota");
  for (int i = 0; i < 200; ++i) rig.tick(12);
  CHECK(rig.kernel.quota(kBeRoot) == 120'000);
  CHECK(rig.log.contains("cannot write down what is throttled"));
  CHECK(rig.log.count(LogLevel::warn) == 1);
  rig.start();  // and the next one finds the kubelet's groups without it
  rig.slo(false, "cfsQuota");
  settle(rig, 12);
  CHECK(is_free(rig));
}

TEST_CASE("A read-only cgroup file system: nothing happens but a warning", "[koordlet][manager]") {
  Tree tree;
  QosRig rig(CgroupVersion::v1, tree / "journal");
  kubernetes(rig, "cpuset");
  int attempts = 0;
  rig.kernel.fault = [&](std::string_view, std::string_view) {
    ++attempts;
    return EROFS;
  };
  for (int i = 0; i < 600; ++i) rig.tick(12);
  CHECK(attempts < 200);
  CHECK(rig.log.count(LogLevel::warn) < 40);
  CHECK_FALSE(rig.manager->failures().empty());
  const auto cleaned = rig.manager->cleanup(rig.inventory);
  (void)cleaned;
  rig.kernel.fault = {};
  for (int i = 0; i < 70; ++i) rig.tick(12);
  CHECK(rig.kernel.cpus(kBeRoot) == "0-1");
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Cleaning up says what it could not do", "[koordlet][manager]") {
  Tree tree;
  QosRig rig(CgroupVersion::v1, tree / "journal");
  kubernetes(rig, "cfsQuota");
  settle(rig, 12);
  rig.start();
  rig.kernel.fault = [](std::string_view, std::string_view) { return EPERM; };
  const auto refused = rig.manager->cleanup(rig.inventory);
  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(refused.error().message(), Catch::Contains("cpu.cfs_quota_us") && Catch::Contains("set free"));
  rig.kernel.fault = {};
  rig.start();
  const auto done = rig.manager->cleanup(rig.inventory);
  REQUIRE(done.has_value());
  CHECK(*done == 1);
  CHECK(is_free(rig));
  rig.start();
  CHECK(rig.manager->cleanup(rig.inventory).value() == 0);
  rig.topology.reset();
  CHECK_FALSE(rig.manager->cleanup(rig.inventory).has_value());
}

TEST_CASE("A group that is gone leaves the journal too", "[koordlet][manager]") {
  Tree tree;
  QosRig rig(CgroupVersion::v2, tree / "journal");
  standalone(rig, "cfsQuota");
  settle(rig, 12);
  CHECK(host::exists(tree / "journal"));
  for (const char* name : {"batch.slice/job", "batch.slice", "night.slice"}) rig.kernel.remove(name);
  rig.slo(false, "cfsQuota");
  settle(rig, 12);
  CHECK_FALSE(host::exists(tree / "journal"));
}

TEST_CASE("A group that was made anew gets back what it had, not what its predecessor had",
          "[koordlet][manager]") {
  Tree tree;
  QosRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  standalone(rig, "cfsQuota");
  settle(rig, 12);
  const std::int64_t limited = rig.kernel.quota("night.slice");
  CHECK(limited < 150'000);
  rig.kernel.remove("night.slice");
  rig.kernel.group("night.slice").quota = 140'000;  // its service was configured anew
  rig.kernel.group("night.slice").cpus =
      rig.kernel.version() == CgroupVersion::v1 ? rig.topology->online : CpuSet{};
  rig.tick(12);
  CHECK(rig.kernel.quota("night.slice") < 140'000);
  rig.slo(false, "cfsQuota");
  settle(rig, 12);
  CHECK(rig.kernel.quota("night.slice") == 140'000);
  CHECK_FALSE(host::exists(tree / "journal"));
}

TEST_CASE("Groups that are absent or refused cost next to nothing", "[koordlet][manager]") {
  const std::string policy = GENERATE("cfsQuota", "cpuset");
  QosRig rig(CgroupVersion::v1);
  SECTION("there is no best-effort root") {
    rig.slo(true, policy);
    rig.pods({{"ls", Qos::ls, 8}});
    rig.kernel.group("kubepods").cpus = rig.topology->online;
  }
  SECTION("the file system is read-only") {
    kubernetes(rig, policy);
    rig.kernel.fault = [](std::string_view, std::string_view) { return EROFS; };
  }
  for (int i = 0; i < 100; ++i) rig.tick(12);
  rig.kernel.listings = rig.kernel.reads = rig.kernel.looks = 0;
  for (int i = 0; i < 120; ++i) rig.tick(12);
  CAPTURE(policy);
  CHECK(rig.kernel.reads < 120UL * 5);     // what the strategy itself looks at
  CHECK(rig.kernel.looks < 120UL * 7);     // whether the six files that are in order are the same ones
  CHECK(rig.kernel.listings < 12UL * 12);  // the tree, every ten seconds
}

TEST_CASE("The steady state reads only what strategies look at, lists rarely and writes nothing",
          "[koordlet][manager]") {
  const std::string policy = GENERATE("cfsQuota", "cpuset");
  QosRig rig(CgroupVersion::v1);
  rig.slo(true, policy);
  rig.pods({{"be", Qos::be, 2}, {"ls", Qos::ls, 8}});
  std::vector<std::string> below;
  for (int pod = 0; pod < 50; ++pod) {
    below.push_back("pod" + std::to_string(pod));
    for (int c = 0; c < 3; ++c) below.push_back("pod" + std::to_string(pod) + "/c" + std::to_string(c));
  }
  rig.be_tree("0-15", -1, below);
  settle(rig, 12);
  rig.kernel.written.clear();
  rig.kernel.reads = rig.kernel.listings = rig.kernel.looks = 0;
  for (int i = 0; i < 40; ++i) rig.tick(12);
  CAPTURE(policy);
  CHECK(rig.kernel.written.empty());
  CHECK(rig.kernel.reads <= 40UL * 4);
  CHECK(rig.kernel.looks <= 40UL + 5UL * 202);  // are they the same files: the limit's, all once in a while
  CHECK(rig.kernel.listings <= 5UL * 201);
}

TEST_CASE("A whole round on files of both cgroup versions", "[koordlet][manager]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const bool v1 = version == CgroupVersion::v1;
  const std::string policy = GENERATE("cfsQuota", "cpuset");
  Tree tree;
  const std::string cpu = v1 ? "cpu,cpuacct/" : "";
  const std::string cpuset = v1 ? "cpuset/" : "";
  const std::string quota_file = cpu + "kubepods/besteffort/" + (v1 ? "cpu.cfs_quota_us" : "cpu.max");
  tree.write(quota_file, v1 ? "-1\n" : "max 100000\n");
  if (v1) tree.write(cpu + "kubepods/besteffort/cpu.cfs_period_us", "100000\n");
  const std::vector<std::string> groups{"kubepods/besteffort", "kubepods/besteffort/pod1",
                                        "kubepods/besteffort/pod1/c"};
  tree.write(cpuset + "kubepods/cpuset.cpus", "0-15\n");
  tree.write(cpuset + "kubepods/cpuset.cpus.effective", "0-15\n");
  for (const std::string& group : groups) {
    tree.write(cpuset + group + "/cpuset.cpus", "0-15\n");
    tree.write(cpuset + group + "/cpuset.cpus.effective", "0-15\n");
  }
  const host::Root root{.cgroup = tree.path() + "/"};
  const auto fs = host::CgroupFs::open(root, version);
  REQUIRE(fs.has_value());
  QosRig rig(version);  // for its inventory
  KernelFiles files;
  Executor executor(*fs, files, rig.clock, Logger(rig.log, rig.clock), *rig.metrics, {}, nullptr);
  auto manager = QosManager::make(strategy_table(),
                                  {.executor = executor,
                                   .clock = rig.clock,
                                   .log = Logger(rig.log, rig.clock),
                                   .metrics = *rig.metrics,
                                   .gates = rig.gates,
                                   .topology = [&] { return rig.topology; },
                                   .actions = *rig.actions,
                                   .series = rig.series},
                                  {.journal = {.path = tree / "journal", .boot_id = "boot"},
                                   .seconds = [](std::string_view) { return std::chrono::seconds(1); },
                                   .is_set = [](std::string_view) { return false; }});
  REQUIRE(manager.has_value());
  rig.manager = std::move(*manager);
  rig.pods({{"be", Qos::be, 2}, {"ls", Qos::ls, 8}});
  rig.slo(true, policy);
  rig.tick(12);
  rig.tick(12);
  const auto quota = [&] { return read_file(tree / quota_file).value(); };
  const auto set = [&](const std::string& group) {
    return read_file(tree / (cpuset + group + "/cpuset.cpus")).value();
  };
  if (policy == "cfsQuota") {
    CHECK(quota() == "120000");
  } else {
    for (const std::string& group : groups) CHECK(set(group) == "0-1");
  }
  CHECK(host::exists(tree / "journal"));
  rig.slo(false, policy);
  rig.tick(12);
  if (policy == "cfsQuota") CHECK(quota() == (v1 ? "-1" : "max"));
  for (const std::string& group : groups) CHECK_THAT(set(group), Catch::StartsWith("0-15"));
  CHECK_FALSE(host::exists(tree / "journal"));
  rig.manager.reset();
}

/// Wants the least weight of batch.slice, as long as it is told to.
class LeastWeight final : public Strategy {
 public:
  explicit LeastWeight(const PluginContext&) {}
  void plan(const TickView&, Plan& plan) override {
    if (wanted) plan.want(Knob::cpu_shares, "batch.slice", std::int64_t{2}, "a test");
  }
  void release(const Inventory&, Plan&) override {}
  static inline bool wanted = true;
};
constexpr StrategyEntry kLeastWeight{.name = "LeastWeight", .make = &make<LeastWeight>};
constexpr const StrategyEntry* kWeights[] = {&kLeastWeight};

TEST_CASE("A knob that is not levelled is journaled and set free too", "[koordlet][manager][crash]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const std::int64_t had = version == CgroupVersion::v1 ? 1000 : 39;  // a weight that shares have not
  Tree tree;
  QosRig rig(version, tree / "journal");
  rig.kernel.group("batch.slice").shares = had;
  rig.slo(true, "cfsQuota");
  rig.strategies = kWeights;
  rig.start();
  LeastWeight::wanted = true;
  settle(rig, 12);
  CHECK(rig.kernel.group("batch.slice").shares == (version == CgroupVersion::v1 ? 2 : 1));
  CHECK(host::exists(tree / "journal"));
  rig.start();  // the first agent was killed
  SECTION("nobody wants it any more") {
    LeastWeight::wanted = false;
    settle(rig, 12);
  }
  SECTION("cleaned up") { REQUIRE(rig.manager->cleanup(rig.inventory).has_value()); }
  CHECK(rig.kernel.group("batch.slice").shares == had);
  CHECK_FALSE(host::exists(tree / "journal"));
}

TEST_CASE("Pods born and gone leave nothing behind", "[koordlet][manager]") {
  QosRig rig(CgroupVersion::v2);
  kubernetes(rig, "cpuset");
  for (int i = 0; i < 3000; ++i) {
    const std::string pod = std::string(kBeRoot) + "/pod" + std::to_string(i);
    rig.kernel.group(pod);
    rig.kernel.group(pod + "/c");
    if (i >= 3) {
      const std::string old = std::string(kBeRoot) + "/pod" + std::to_string(i - 3);
      rig.kernel.remove(old + "/c");
      rig.kernel.remove(old);
    }
    ++rig.inventory.generation;
    rig.tick(12);
  }
  CHECK(rig.executor->size() < 1000);
  CHECK(rig.kernel.refused.empty());
}

}  // namespace
}  // namespace koord::koordlet
