// Which CPUs best-effort work may ever have: nothing widens its sets while that is not known, whoever wants
// to.
#include <catch2/catch.hpp>

#include "framework/model/shared_pools.hpp"
#include "rigs/qos_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuSet;
using koord::testing::Tree;
using testing::kBeRoot;
using testing::machine;
using testing::QosRig;

constexpr std::int64_t kQuota = 250'000;

/// Eight CPUs of which an LSE pod has 2-5. What an agent before this one left: best-effort work on the
/// others, limited to two and a half.
struct LseNode : QosRig {
  explicit LseNode(CgroupVersion version, std::string journal = {}) : QosRig(version, std::move(journal)) {
    topology = machine(8);
    capacity(8);
    be_tree("0-1,6-7", kQuota, {"podbe", "podbe/c"});
    forget();
  }
  /// As an agent finds it that has just started, or whose kubelet answers 403.
  void forget() {
    pods({});
    inventory.pods_known = false;
  }
  void learn() {
    pods({{"be", Qos::be, 1}, {"lse", Qos::lse, 4, "2-5"}});
    inventory.pods_known = true;
  }
  /// The sets of the root, the pod and its container, where they are the same.
  std::string sets() {
    const std::string root = kBeRoot, one = kernel.cpus(root);
    for (const char* below : {"/podbe", "/podbe/c"})
      if (kernel.cpus(root + below) != one) return "not the same";
    return one;
  }
};

TEST_CASE("Before pods are known nothing widens the CPUs of best-effort work", "[koordlet][cpusets]") {
  const std::string start =
      GENERATE("not enabled", "no NodeSLO", "gate off", "cfsQuota", "cpuset", "dry run");
  CAPTURE(start);
  LseNode rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  if (start == "not enabled")
    rig.slo(false, "cpuset");
  else if (start == "gate off")
    REQUIRE(rig.gates.set("BECPUSuppress=false").has_value());
  else if (start == "dry run")
    rig.dry_run = {"CPUSuppress"};
  if (start == "cfsQuota" || start == "cpuset") rig.slo(true, start, 100);
  rig.start();
  for (int i = 0; i < 700; ++i) {  // the kubelet answers 403 for longer than a hold lasts
    rig.tick(5);
    REQUIRE(rig.sets() == "0-1,6-7");
  }
  // Limits stay whatever the NodeSLO says; who has no gate limits nothing.
  CHECK(rig.kernel.quota(kBeRoot) == (start == "gate off" ? -1 : kQuota));
  rig.learn();
  for (int i = 0; i < 20; ++i) {
    rig.tick(5);
    REQUIRE(CpuSet::parse(rig.sets()).value().is_subset_of({0, 1, 6, 7}));
  }
  if (start != "cfsQuota" && start != "dry run") CHECK(rig.kernel.quota(kBeRoot) == -1);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("What an agent before this one would set free goes by who has CPUs for himself now",
          "[koordlet][cpusets]") {
  Tree tree;
  LseNode rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  rig.pods({{"be", Qos::be, 1}, {"ls", Qos::ls, 7}});
  rig.inventory.pods_known = true;
  rig.slo(true, "cpuset", 100);
  rig.tick(8);
  const std::string before = rig.sets();
  REQUIRE(before == "0-1");  // and the journal says that all are free
  const std::string how = GENERATE("dry run", "no such strategy");
  CAPTURE(how);
  rig.forget();
  if (how == "dry run")
    rig.dry_run = {"CPUSuppress"};
  else
    rig.strategies = rig.strategies.last(1);
  rig.start();
  for (int i = 0; i < 20; ++i) rig.tick(8);
  CHECK(rig.sets() == before);
  rig.learn();
  for (int i = 0; i < 20; ++i) rig.tick(8);
  CHECK(rig.sets() == "0-1,6-7");
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("A kubelet that does not answer any more: what there is may shrink, and not grow",
          "[koordlet][cpusets]") {
  const bool enabled = GENERATE(true, false);
  LseNode rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.learn();
  rig.slo(enabled, "cpuset", 100);
  for (int i = 0; i < 5; ++i) rig.tick(5);
  CHECK(rig.sets() == "0-1,6-7");
  // The LSE pod ends, or so it is believed, and the kubelet falls silent.
  rig.pods({{"be", Qos::be, 1}, {"ls", Qos::ls, 1}});
  rig.inventory.own_cpus.stale = true;
  const std::string before = rig.sets();
  for (int i = 0; i < 700; ++i) rig.tick(2);
  CHECK(rig.sets() == before);
  rig.pods({{"be", Qos::be, 1}, {"ls", Qos::ls, 7}});
  rig.inventory.own_cpus.stale = true;
  rig.tick(8);
  CHECK(rig.sets() == (enabled ? "0-1" : before));
  rig.pods({{"be", Qos::be, 1}, {"ls", Qos::ls, 1}});
  for (int i = 0; i < 20; ++i) rig.tick(2);
  CHECK(CpuSet::parse(rig.sets()).value().size() > 5);
}

TEST_CASE("An agent whose gate is off follows who has CPUs for himself", "[koordlet][cpusets]") {
  LseNode rig(CgroupVersion::v1);
  REQUIRE(rig.gates.set("BECPUSuppress=false").has_value());
  rig.start();
  rig.learn();
  rig.tick(5);
  CHECK(rig.sets() == "0-1,6-7");
  rig.pods({{"be", Qos::be, 1}});
  rig.tick(5);
  CHECK(rig.sets() == "0-7");
  rig.learn();
  rig.tick(5);
  CHECK(rig.sets() == "0-1,6-7");
}

TEST_CASE("The kubelet's static policy: its own pool, less what it keeps strictly", "[koordlet][cpusets]") {
  LseNode rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.pods({{"be", Qos::be, 1}});
  rig.inventory.pods_known = true;
  rig.inventory.node.static_cpu_policy = true;
  rig.inventory.own_cpus.kubelet = {2, 3};
  rig.inventory.own_cpus.kubelet_shared = CpuSet{1, 4, 5, 6, 7};  // 0 is reserved with strict-cpu-reservation
  const bool cleanup = GENERATE(true, false);
  if (cleanup) {
    REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  } else {
    rig.slo(false, "cpuset");
    rig.tick(5);
  }
  CHECK(rig.kernel.cpus(std::string(kBeRoot) + "/podbe/c") == "1,4-7");
  CHECK(rig.kernel.cpus(kBeRoot) == "0-7");  // a folder, whose containers the kubelet limits
  CHECK(best_effort_cpus(*rig.topology, rig.inventory).cpus.to_string() == "1,4-7");
}

TEST_CASE("Cleaning up goes by who has CPUs for himself, else leaves sets of CPUs and names them",
          "[koordlet][cpusets]") {
  Tree tree;
  LseNode rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  SECTION("known") {
    rig.learn();
    rig.kernel.group(kBeRoot).cpus = {0, 1};
    REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
    CHECK(rig.kernel.cpus(kBeRoot) == "0-1,6-7");
  }
  SECTION("not known") {
    const auto cleaned = rig.manager->cleanup(rig.inventory);
    REQUIRE_FALSE(cleaned.has_value());
    CHECK_THAT(cleaned.error().message(), Catch::Contains("kubepods/besteffort (0-1,6-7)") &&
                                              Catch::Contains("kubepods/besteffort/podbe/c") &&
                                              Catch::Contains("--cleanup=force"));
    CHECK(rig.sets() == "0-1,6-7");
    // By force: what is not known counts as nobody's.
    rig.inventory.pods_known = true;
    REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
    CHECK(rig.sets() == "0-7");
  }
  SECTION("not known, and nothing is narrow") {
    rig.be_tree("0-7", kQuota, {"podbe", "podbe/c"});
    REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  }
  CHECK(rig.kernel.quota(kBeRoot) == -1);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Where one CPU is left best-effort work has that one", "[koordlet][cpusets]") {
  LseNode rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.pods({{"be", Qos::be, 1}, {"lse", Qos::lse, 4, "1-7"}});
  rig.inventory.pods_known = true;
  rig.slo(true, GENERATE("cpuset", "cfsQuota"), 100);
  for (int i = 0; i < 3; ++i) rig.tick(5);
  CHECK(rig.sets() == "0");
}

}  // namespace
}  // namespace koord::koordlet
