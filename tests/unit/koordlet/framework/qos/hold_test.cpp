// Holds: what a strategy that cannot tell wanted last stays wanted and is shown, and not for ever.
#include <catch2/catch.hpp>

#include "framework/qos/journal.hpp"
#include "rigs/qos_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::Knob;
using koord::testing::Tree;
using testing::kBeRoot;
using testing::QosRig;

constexpr int kHold = 300;  // ticks, of one second each

void kubernetes(QosRig& rig, const std::string& policy, std::optional<std::int64_t> min = {}) {
  rig.slo(true, policy, 70, min);
  rig.pods({{"be", Qos::be, 2}, {"ls", Qos::ls, 11}});
  rig.be_tree("0-15", -1, {"podbe", "podbe/c"});
  for (int i = 0; i < 5; ++i) rig.tick(14);
}

void ticks(QosRig& rig, int count, double node_cpu = kUnknown) {
  for (int i = 0; i < count; ++i) rig.tick(node_cpu, known(node_cpu));
}

/// What is shown of the best-effort root: "VALUE" or "VALUE held"; empty: nothing is wanted of it.
std::string shown(const QosRig& rig, Knob knob) {
  for (const auto& limit : rig.manager->limits())
    if (limit.knob == knob && limit.group == kBeRoot) return limit.value + (limit.held ? " held" : "");
  return "";
}

TEST_CASE("A plan that holds keeps what it does not name anew", "[koordlet][hold]") {
  Plan plan;
  const auto text = [&] {
    std::string all;
    for (const Intent& intent : plan.intents())
      all += intent.group + "=" + to_string(intent.value) + (intent.held ? "~ " : " ");
    return all;
  };
  plan.start("s");
  plan.want(Knob::cpu_quota, "a", std::int64_t{1}, "why");
  plan.want(Knob::cpu_quota, "b", std::int64_t{2}, "why").reach.to = 1;
  plan.want(Knob::cpu_quota, "b", std::int64_t{3}, "why").reach.from = 2;
  plan.keep_held();
  CHECK(text() == "a=1 b=2 b=3 ");
  plan.start("s");
  plan.hold();
  plan.want(Knob::cpu_quota, "a", std::int64_t{7}, "why");
  plan.keep_held();
  CHECK(text() == "a=7 b=2~ b=3~ ");
  CHECK(plan.intents()[2].reach.from == 2);
  for (int i = 0; i < 3; ++i) {
    plan.start("s");
    plan.hold();
    plan.keep_held();
    CHECK(text() == "a=7~ b=2~ b=3~ ");
  }
  plan.start("s");
  plan.want(Knob::cpu_quota, "c", std::int64_t{4}, "why");
  plan.keep_held();
  CHECK(text() == "c=4 ");
  plan.start("s");
  plan.hold();
  plan.keep_held();
  CHECK(text() == "c=4~ ");
}

TEST_CASE("What is held stays in force against others, and is shown", "[koordlet][hold]") {
  const std::string policy = GENERATE("cfsQuota", "cpuset");
  const Knob knob = policy == "cpuset" ? Knob::cpuset_cpus : Knob::cpu_quota;
  QosRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  kubernetes(rig, policy);
  const std::string value = shown(rig, knob);
  REQUIRE(value == (policy == "cpuset" ? "0-1" : "2000"));
  CHECK_FALSE(rig.report("CPUSuppress").held);

  ticks(rig, 10);  // nothing can be read
  CHECK(shown(rig, knob) == value + " held");
  CHECK(rig.report("CPUSuppress").held == std::chrono::seconds(9));
  // Somebody else widens it: what is held is still wanted.
  if (policy == "cpuset")
    rig.kernel.group(kBeRoot).cpus = rig.topology->online;
  else
    rig.kernel.group(kBeRoot).quota = -1;
  ticks(rig, 61);
  CHECK(rig.kernel.quota(kBeRoot) == (policy == "cpuset" ? -1 : 2000));
  CHECK(rig.kernel.cpus(kBeRoot) == (policy == "cpuset" ? "0-1" : "0-15"));
  rig.tick(14);
  CHECK(shown(rig, knob) == value);
  CHECK_FALSE(rig.report("CPUSuppress").held);
}

TEST_CASE("What a dead agent held down is held and shown before anything is known", "[koordlet][hold]") {
  const std::string policy = GENERATE("cfsQuota", "cpuset");
  const Knob knob = policy == "cpuset" ? Knob::cpuset_cpus : Knob::cpu_quota;
  Tree tree;
  QosRig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  kubernetes(rig, policy);
  const std::string value = shown(rig, knob);
  rig.start();
  rig.kernel.written.clear();
  SECTION("no sample yet") { ticks(rig, 3); }
  SECTION("the API server is away and no NodeSLO was kept") {
    rig.inventory.slo.reset();
    rig.inventory.slo_known = false;
    ticks(rig, 3, 14);
    CHECK_THAT(rig.report("CPUSuppress").status.summary, Catch::StartsWith("waiting for the NodeSLO"));
  }
  CHECK(shown(rig, knob) == value + " held");
  CHECK(rig.kernel.written.empty());
  CHECK(rig.manager->limits().front().reason == "held back since an earlier agent");
}

TEST_CASE("A hold ends: best-effort work gets its minimum, or no limit but the lowest weight",
          "[koordlet][hold]") {
  struct Row {
    std::string policy;
    std::optional<std::int64_t> min;
    std::int64_t quota;
    const char* cpus;
    std::int64_t shares;  // 1024: left alone; v2 has weights
  };
  const Row row = GENERATE(values<Row>({
      {"cfsQuota", {}, -1, "0-15", 2},
      {"cpuset", {}, -1, "0-15", 2},
      {"cfsQuota", 25, 400'000, "0-15", 1024},
      {"cpuset", 25, -1, "0-1,4-5", 1024},
  }));
  CAPTURE(row.policy, row.min.has_value());
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  QosRig rig(version);
  kubernetes(rig, row.policy, row.min);
  const std::int64_t quota = rig.kernel.quota(kBeRoot);
  const std::string cpus = rig.kernel.cpus(kBeRoot);
  rig.pods({});  // and what the node uses is not known either
  ticks(rig, kHold);
  CHECK(rig.kernel.quota(kBeRoot) == quota);
  CHECK(rig.kernel.cpus(kBeRoot) == cpus);
  ticks(rig, 20);
  CHECK(rig.kernel.quota(kBeRoot) == row.quota);
  CHECK(rig.kernel.cpus(kBeRoot) == row.cpus);
  CHECK(rig.kernel.group(kBeRoot).shares ==
        (version == CgroupVersion::v2 && row.shares == 2 ? 1 : row.shares));
  CHECK_THAT(rig.report("CPUSuppress").status.summary, Catch::StartsWith("neutral: "));
  CHECK(rig.log.count(LogLevel::warn) == 1);
  CHECK(rig.kernel.refused.empty());
  ticks(rig, 1000);
  CHECK(rig.kernel.quota(kBeRoot) == row.quota);

  // It can tell again, and may hold as long again.
  rig.pods({{"be", Qos::be, 2}, {"ls", Qos::ls, 11}});
  for (int i = 0; i < 30; ++i) rig.tick(14);
  CHECK(rig.kernel.quota(kBeRoot) == quota);
  CHECK(rig.kernel.cpus(kBeRoot) == cpus);
  ticks(rig, kHold);
  CHECK(rig.kernel.quota(kBeRoot) == quota);
}

TEST_CASE("Plain groups get the lowest weight while the hold is over, and their own afterwards",
          "[koordlet][hold]") {
  Tree tree;
  QosRig rig(CgroupVersion::v1, tree / "journal");
  rig.slo(true, "cfsQuota");
  rig.inventory.be_roots = {"batch.slice"};
  rig.kernel.group("batch.slice").quota = 900'000;
  rig.kernel.group("batch.slice").shares = 512;
  rig.applications({{.name = "batch", .qos = Qos::be, .cpu = 2, .group = "batch.slice"},
                    {.name = "web", .qos = Qos::ls, .cpu = 11, .group = "web.slice"}});
  for (int i = 0; i < 5; ++i) rig.tick(14);
  CHECK(rig.kernel.quota("batch.slice") == 2000);
  ticks(rig, kHold + 5);
  CHECK(rig.kernel.quota("batch.slice") == 900'000);  // what it had
  CHECK(rig.kernel.group("batch.slice").shares == 2);
  const bool restarted = GENERATE(true, false);
  if (restarted) rig.start();
  for (int i = 0; i < 5; ++i) rig.tick(14);
  CHECK(rig.kernel.quota("batch.slice") == 2000);
  CHECK(rig.kernel.group("batch.slice").shares == 512);
}

TEST_CASE("What the NodeSLO does not enable has no neutral state", "[koordlet][hold]") {
  QosRig rig(CgroupVersion::v1);
  kubernetes(rig, "cfsQuota");
  rig.slo(false, "cfsQuota", 70, 25);
  rig.topology.reset();  // so that it cannot tell which CPUs to give back
  ticks(rig, kHold + 5, 14);
  CHECK(rig.kernel.quota(kBeRoot) == -1);
  CHECK(rig.kernel.group(kBeRoot).shares == 1024);
}

}  // namespace
}  // namespace koord::koordlet
