// CPU normalization, with the original's rows, and beside CPU burst.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "framework/hooks/normalization.hpp"
#include "rigs/hooks_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;

const std::string kPod = "kubepods/burstable/podp";

class Rig : public testing::HooksRig {
 public:
  explicit Rig(CgroupVersion version, std::string journal = {}) : HooksRig(version, std::move(journal)) {
    if (!gates.set("CPUNormalization=true").has_value()) throw std::runtime_error("no such gate");
    start();
    shape = [this](TickView& view) {
      view.containers = container_usage;
      series.append(*series.open(Metric::node_cpu, ""), view.at, 1);
    };
  }
  void ratio(double ratio) {
    inventory.node.cpu_normalization = ratio;
    ++inventory.generation;
  }
  void burst(std::string_view policy) {
    auto slo = std::make_shared<api::NodeSloSpec>();
    slo->cpu_burst_strategy.emplace().policy = policy;
    inventory.slo = slo;
    ++inventory.generation;
  }
  void throttled(std::size_t container, double ratio) { container_usage[container].throttled = ratio; }
};

TEST_CASE("A quota on faster CPUs, as the original's rows have it", "[koordlet][hooks]") {
  struct Row {
    std::int64_t quota;
    double ratio;
    std::int64_t normalized;
  };
  for (const Row& row : {Row{100'000, 1.2, 83'334},
                         {100'000, 1, 100'000},
                         {100'000, 0.8, 100'000},
                         {100'000, -1, 100'000},
                         {100'000, 0, 100'000},
                         {200'000, 1.2, 166'667},
                         {200'000, 1.1, 181'819},
                         {-1, 1.2, -1},
                         {1'000, 2, 1'000}})
    CHECK(normalized_quota(row.quota, row.ratio) == row.normalized);
}

TEST_CASE("Whose quotas are normalized", "[koordlet][hooks]") {
  struct Row {
    Qos qos;
    bool pinned;
    std::optional<std::int64_t> limit;
    double ratio;
    std::int64_t quota;
  };
  for (const Row& row : {Row{Qos::ls, false, 1000, 1.2, 83'334},
                         {Qos::ls, false, 2000, 1.2, 166'667},
                         {Qos::none, false, 1000, 1.2, 83'334},
                         {Qos::none, true, 1000, 1.2, -1},  // its CPUs are its own: no quota
                         {Qos::lsr, true, 1000, 1.2, -1},
                         {Qos::system, false, 1000, 1.2, 100'000},
                         {Qos::lse, false, 1000, 1.2, 100'000},
                         {Qos::lsr, false, 1000, 1.2, 100'000},
                         {Qos::be, false, 1000, 1.2, 100'000},
                         {Qos::ls, false, {}, 1.2, -1},
                         {Qos::ls, false, 1000, 1, 100'000}}) {
    Rig rig(CgroupVersion::v2);
    PodInfo& pod = rig.pod("p", row.qos, {{"c", row.limit}});
    if (row.pinned) pod.cpus = *host::CpuSet::parse("0-1");
    rig.ratio(row.ratio);
    rig.ticks(1);
    CHECK(rig.group(pod.containers[0].group).quota == row.quota);
    CHECK(rig.group(pod.group).quota == row.quota);
  }
}

TEST_CASE("Another ratio is followed in an order that the kernel takes, and none puts back what was there",
          "[koordlet][hooks]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  Rig rig(version);
  rig.pod("p", Qos::ls, {{"a", 1000}, {"b", 2000}});
  const auto before = rig.held();
  for (const double ratio : {1.2, 1.5, 1.1, 2.0}) {
    rig.ratio(ratio);
    rig.ticks(1);
    CHECK(rig.group(kPod + "/a").quota == normalized_quota(100'000, ratio));
    CHECK(rig.group(kPod + "/b").quota == normalized_quota(200'000, ratio));
    CHECK(rig.group(kPod).quota ==
          (version == CgroupVersion::v1 ? 300'000 : normalized_quota(300'000, ratio)));
  }
  CHECK(rig.kernel.refused.empty());
  rig.ratio(1);
  rig.ticks(2);
  CHECK(rig.held() == before);
}

TEST_CASE("Complaint 2047: a container can start under CPU normalization, also where the others are slowed",
          "[koordlet][hooks]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  PodInfo& pod = rig.pod("p", Qos::ls, {{"a", 1000}});
  rig.ratio(1.5);
  rig.ticks(2);
  // It is made anew with the quota of its spec, which in cgroup v1 has to fit into the pod's.
  rig.kernel.remove(kPod + "/a");
  rig.group(kPod + "/a2");
  const bool v1 = rig.kernel.version() == CgroupVersion::v1;
  const std::string file = v1 ? "cpu/" + kPod + "/a2/cpu.cfs_quota_us" : kPod + "/a2/cpu.max";
  REQUIRE(rig.kernel.write(rig.kernel.path(file), "100000").has_value());
  pod.containers[0].group = kPod + "/a2";
  ++rig.inventory.generation;
  rig.ticks(1);
  CHECK(rig.group(kPod + "/a2").quota == 66'667);
}

TEST_CASE("Complaint 2306: CPU burst grows what normalization left, and gives it back", "[koordlet][hooks]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  const bool v1 = rig.kernel.version() == CgroupVersion::v1;
  rig.pod("p", Qos::ls, {{"c", 2000}});
  const auto before = rig.held();
  rig.ratio(1.2);
  rig.burst("cfsQuotaBurstOnly");
  rig.ticks(4);
  CHECK(rig.group(kPod + "/c").quota == 166'667);  // not throttled: it stays at its base
  rig.throttled(0, 0.5);
  rig.ticks(1);
  CHECK(rig.group(kPod + "/c").quota == 200'000);  // as much as its spec, and yet grown
  rig.ticks(1);
  CHECK(rig.group(kPod + "/c").quota == 240'000);
  CHECK(rig.group(kPod).quota == (v1 ? 200'000 : 166'667) + 73'333);
  rig.ticks(10);
  CHECK(rig.group(kPod + "/c").quota == 500'001);  // threefold the base
  const std::size_t written = rig.kernel.written.size();
  rig.ticks(5);
  CHECK(rig.kernel.written.size() == written);  // neither writes over the other
  rig.burst("none");
  rig.ticks(1);
  CHECK(rig.group(kPod + "/c").quota == 166'667);
  CHECK(rig.group(kPod).quota == (v1 ? 200'000 : 166'667));
  rig.ratio(1);
  rig.ticks(2);
  CHECK(rig.held() == before);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Where the kernel takes no burst above the quota, it is lowered before the quota is",
          "[koordlet][hooks]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.kernel.burst_within_quota = true;
  rig.pod("p", Qos::ls, {{"c", 2000}});
  rig.burst("cpuBurstOnly");
  rig.ticks(3);
  CHECK(rig.group(kPod + "/c").burst == 200'000);
  const std::size_t refused = rig.kernel.refused.size();
  rig.ratio(1.25);
  rig.ticks(1);
  CHECK(rig.group(kPod + "/c").burst == 160'000);
  CHECK(rig.group(kPod + "/c").quota == 160'000);
  rig.ratio(1);
  rig.ticks(2);
  CHECK(rig.group(kPod + "/c").burst == 200'000);
  CHECK(rig.group(kPod + "/c").quota == 200'000);
  CHECK(rig.kernel.refused.size() == refused);
}

// Nobody can tell from a burst that is no larger than the quota what the kernel takes.
TEST_CASE("Where a burst has to be lowered for the quota is found out also where both are the limit at first",
          "[koordlet][hooks]") {
  const bool within = GENERATE(false, true);
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.kernel.burst_within_quota = within;
  PodInfo& pod = rig.pod("p", Qos::ls, {{"c", 2000}});
  auto slo = std::make_shared<api::NodeSloSpec>();
  slo->cpu_burst_strategy.emplace().policy = "auto";
  slo->cpu_burst_strategy->cpu_burst_percent = 100;
  rig.inventory.slo = slo;
  rig.ticks(2);
  CHECK(rig.group(kPod + "/c").burst == 200'000);
  rig.ratio(1.25);
  rig.ticks(4);
  CHECK(rig.group(kPod + "/c").quota == 160'000);
  CHECK(rig.group(kPod + "/c").burst == (within ? 160'000 : 200'000));
  // An agent that starts while a container shrinks.
  pod.containers[0].cpu_limit_milli = pod.cpu_limit_milli = 500;
  ++rig.inventory.generation;
  rig.start();
  rig.ticks(2);
  const bool v1 = rig.kernel.version() == CgroupVersion::v1;
  const std::string file = v1 ? "cpu/" + kPod + "/c/cpu.cfs_quota_us" : kPod + "/c/cpu.max";
  CHECK(rig.kernel.write(rig.kernel.path(file), "50000").has_value());  // the kubelet's own
  ++rig.inventory.generation;
  rig.ticks(4);
  CHECK(rig.group(kPod + "/c").quota == 40'000);
  CHECK(rig.group(kPod + "/c").burst == (within ? 40'000 : 50'000));
}

TEST_CASE("A pod's burst fits its quota where its containers' are rounded up", "[koordlet][hooks]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.kernel.burst_within_quota = true;
  rig.pod("p", Qos::ls, {{"a", 1000}, {"b", 1000}});
  rig.burst("cpuBurstOnly");
  rig.ratio(1.3);
  rig.ticks(70);
  CHECK(rig.group(kPod + "/a").quota == 76'924);
  CHECK(rig.group(kPod + "/a").burst == 76'924);
  const bool whole = rig.kernel.version() == CgroupVersion::v1;
  CHECK(rig.group(kPod).quota == (whole ? 200'000 : 153'847));
  CHECK(rig.group(kPod).burst == (whole ? 153'848 : 153'847));
  CHECK(rig.manager->failures().empty());
}

TEST_CASE("What the kubelet writes over a quota is found when it tells of it", "[koordlet][hooks]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.pod("p", Qos::ls, {{"c", 1000}});
  rig.ratio(1.25);
  rig.ticks(3);
  CHECK(rig.group(kPod + "/c").quota == 80'000);
  rig.group(kPod + "/c").quota = 100'000;
  rig.ticks(3);
  CHECK(rig.group(kPod + "/c").quota == 100'000);
  ++rig.inventory.generation;  // the pod's status is another one
  rig.ticks(1);
  CHECK(rig.group(kPod + "/c").quota == 80'000);
}

TEST_CASE("A resize is followed, also below the burst that the container has", "[koordlet][hooks]") {
  Rig rig(CgroupVersion::v2);
  rig.kernel.burst_within_quota = true;
  PodInfo& pod = rig.pod("p", Qos::ls, {{"c", 2000}});
  rig.burst("cpuBurstOnly");
  rig.ratio(1.25);
  rig.ticks(3);
  pod.containers[0].cpu_limit_milli = pod.cpu_limit_milli = 1000;
  ++rig.inventory.generation;
  rig.ticks(1);
  // Now the kubelet's own write fits.
  CHECK(rig.group(kPod + "/c").burst == 80'000);
  CHECK(rig.kernel.write(rig.kernel.path(kPod + "/c/cpu.max"), "100000").has_value());
  rig.ticks(60);
  CHECK(rig.group(kPod + "/c").quota == 80'000);
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  CHECK(rig.group(kPod + "/c").quota == 100'000);
}

TEST_CASE("Where the kubelet sets no quotas none is normalized", "[koordlet][hooks]") {
  Rig rig(CgroupVersion::v2);
  rig.pod("p", Qos::ls, {{"c", 2000}});
  rig.group(kPod).quota = rig.group(kPod + "/c").quota = -1;
  rig.ratio(1.5);
  rig.ticks(2);
  CHECK(rig.group(kPod + "/c").quota == -1);
  CHECK(rig.group(kPod).quota == -1);
}

TEST_CASE("CPU normalization: an agent that is killed between any two writes leaves what can be undone",
          "[koordlet][hooks][crash]") {
  Rig::kill_between_writes<Rig>(GENERATE(CgroupVersion::v1, CgroupVersion::v2), [](Rig& rig) {
    rig.pod("p", Qos::ls, {{"a", 1000}, {"b", 2000}});
    rig.ratio(1.2);
    rig.burst("auto");
    rig.throttled(1, 0.5);
  });
}

}  // namespace
}  // namespace koord::koordlet
