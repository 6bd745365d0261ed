// CPU burst, with the original's rows: quotas that grow and shrink, the bucket, the kernel's burst.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <utility>

#include "plugins/cpu_burst/formula.hpp"
#include "plugins/cpu_burst/terms.hpp"
#include "rigs/kill_between_writes.hpp"
#include "rigs/qos_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using cpu_burst::NodeState;
using cpu_burst::Operation;
using cpu_burst::Settings;
using host::CgroupVersion;
using testing::QosRig;

const Settings kAuto{.policy = "auto"};

TEST_CASE("A container's burst follows from its limit", "[koordlet][burst]") {
  CHECK(cpu_burst::burst_us(kAuto, 2000) == 2'000'000);
  CHECK(cpu_burst::burst_us(kAuto, 5000) == 5'000'000);
  CHECK(cpu_burst::burst_us({.policy = "auto", .burst_percent = 500}, 5000) == 2'500'000);
  CHECK(cpu_burst::burst_us({.policy = "auto", .burst_percent = 500}, 1500) == 750'000);
  CHECK(cpu_burst::burst_us(kAuto, 0) == 0);
  CHECK(cpu_burst::base_quota(2000) == 200'000);
  CHECK(cpu_burst::base_quota(5) == 1000);  // the kernel's least, as the kubelet has it
  struct Row {
    std::string_view policy;
    bool bursts, scales;
  };
  for (const Row& row : {Row{"none", false, false},
                         {"cpuBurstOnly", true, false},
                         {"cfsQuotaBurstOnly", false, true},
                         {"auto", true, true},
                         {"", false, false}}) {
    CHECK(Settings{.policy = row.policy}.bursts() == row.bursts);
    CHECK(Settings{.policy = row.policy}.scales() == row.scales);
  }
}

TEST_CASE("The next quota, as the original's rows have it", "[koordlet][burst]") {
  struct Row {
    std::int64_t present;
    Operation wanted;
    NodeState node;
    std::int64_t percent, next;
  };
  using enum Operation;
  using enum NodeState;
  const Row rows[] = {
      {400'000, up, cooling, 300, 400'000},   // it remains
      {202'000, up, overload, 300, 200'000},  // no less than its base
      {400'000, up, overload, 300, 320'000},  {400'000, remain, overload, 300, 320'000},
      {400'000, down, idle, 300, 320'000},    // no tokens
      {400'000, remain, idle, 90, 200'000},   // a percentage that is none
      {580'000, remain, idle, 300, 580'000},  // not throttled
      {580'000, up, idle, 300, 600'000},      // no more than threefold
      {400'000, up, idle, 300, 480'000},      {400'000, up, unknown, 300, 400'000},
      {400'000, down, unknown, 300, 320'000},
  };
  for (const Row& row : rows)
    CHECK(cpu_burst::next_quota(row.present, 200'000, cpu_burst::allowed(row.wanted, row.node),
                                {.policy = "auto", .quota_percent = row.percent}) == row.next);
}

TEST_CASE("The node's state is how much of the shared CPUs is in use", "[koordlet][burst]") {
  CHECK(cpu_burst::node_state(5.1, 10, 50) == NodeState::overload);
  CHECK(cpu_burst::node_state(5, 10, 50) == NodeState::overload);
  CHECK(cpu_burst::node_state(4.6, 10, 50) == NodeState::cooling);
  CHECK(cpu_burst::node_state(4.4, 10, 50) == NodeState::idle);
  CHECK(cpu_burst::node_state(0, 0, 50) == NodeState::overload);
  // The original's rows: of 16 CPUs an LSR pod has 8, and the node uses 10.
  CHECK(cpu_burst::node_state(10 - 7, 8, 50) == NodeState::idle);
  CHECK(cpu_burst::node_state(10 - 5, 8, 50) == NodeState::overload);
  CHECK(cpu_burst::node_state(10 - 6.25, 8, 50) == NodeState::cooling);
}

TEST_CASE("The bucket: what is used beyond the limit is paid for", "[koordlet][burst]") {
  struct Row {
    std::int64_t period;
    double fill, used;  // parts of the capacity; percent
    bool allowed;
    double tokens;
  };
  // The original's rows: 150%, ten seconds later.
  const Row rows[] = {{100, 1, 150, true, 4500},  {100, 0.01, 200, false, -950}, {10, 0.01, 200, false, -500},
                      {100, 0.1, 40, true, 1100}, {100, 0.9, 40, true, 5000},    {100, 0.1, 80, true, 500}};
  for (const Row& row : rows) {
    const Settings settings{.policy = "auto", .quota_percent = 150, .period_seconds = row.period};
    const double capacity = static_cast<double>(row.period) * 50;
    cpu_burst::Bucket bucket(row.fill * capacity, capacity, MonoTime{});
    CHECK(bucket.allow(settings, row.used, MonoTime(std::chrono::seconds(10))) == row.allowed);
    CHECK(bucket.tokens() == Approx(row.tokens));
  }
  // Parts of a second count, too, and another configuration begins anew.
  const Settings settings{.policy = "auto", .quota_percent = 150, .period_seconds = 100};
  cpu_burst::Bucket bucket(settings, MonoTime{});
  CHECK(bucket.tokens() == Approx(1250));
  CHECK(bucket.allow(settings, 150, MonoTime(std::chrono::milliseconds(500))));
  CHECK(bucket.tokens() == Approx(1225));
  CHECK_FALSE(bucket.allow({.policy = "auto", .quota_percent = 150, .period_seconds = 0}, 50,
                           MonoTime(std::chrono::seconds(1))));
}

struct Burst {
  std::string name;
  std::optional<std::int64_t> limit;  // milli
  double cpu = 0.5, throttled = 0;
};

class Rig : public QosRig {
 public:
  explicit Rig(CgroupVersion version, std::string journal = {}) : QosRig(version, std::move(journal)) {
    capacity(16);
    if (!gates.set("CPUSetAllocator=false").has_value()) throw std::runtime_error("no such gate");
    start();
    node("auto");
    shape = [this](TickView& view) {
      view.containers = usage_;
      series.append(*series.open(Metric::node_cpu, ""), view.at, node_cpu);
    };
  }
  api::CpuBurstStrategy& node(std::string_view policy) {
    auto spec = std::make_shared<api::NodeSloSpec>();
    auto& strategy = spec->cpu_burst_strategy.emplace();
    strategy.policy = policy;
    inventory.slo = spec;
    return strategy;
  }
  /// One pod "p" of these containers.
  PodInfo& pod(const std::vector<Burst>& containers, Qos qos = Qos::ls) {
    auto pod = std::make_shared<PodInfo>();
    pod->uid = pod->name = "p";
    pod->ns = "ns";
    pod->qos = qos;
    pod->kube_qos = host::KubeQos::burstable;
    pod->group = "kubepods/p";
    usage_.clear();
    std::int64_t sum = 0;
    bool whole = true;
    kernel.group("kubepods");
    for (const Burst& one : containers) {
      const std::string group = fmt::format("kubepods/p/{}", one.name);
      pod->containers.push_back({.name = one.name,
                                 .id = one.name,
                                 .full_id = "containerd://" + one.name,
                                 .group = group,
                                 .cpu_limit_milli = one.limit});
      kernel.group(group).quota = one.limit ? *one.limit * 100 : -1;
      whole = whole && one.limit;
      sum += one.limit.value_or(0);
      usage_.push_back({.cpu = one.cpu, .throttled = one.throttled});
    }
    if (whole) pod->cpu_limit_milli = sum;
    kernel.group("kubepods/p").quota = whole ? sum * 100 : -1;
    inventory.pods = inventory.all_pods = {pod};
    pod_usage.assign(1, Usage{});
    ++inventory.generation;
    return *pod;
  }
  void ticks(int count) {
    for (int i = 0; i < count; ++i) tick(node_cpu);
  }
  void throttled(std::size_t container, double ratio) { usage_[container].throttled = ratio; }
  void used(std::size_t container, double cpu) { usage_[container].cpu = cpu; }
  std::int64_t quota_of(const std::string& name) { return kernel.quota(name); }
  double node_cpu = 1;

 private:
  std::vector<Usage> usage_;
};

TEST_CASE("A throttled container grows with its pod, each by itself, and shrinks again",
          "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.pod({{"a", 2000, 2, 0.5}, {"b", 1000, 0.1, 0}});
  rig.ticks(1);
  CHECK(rig.quota_of("kubepods/p/a") == 240'000);
  CHECK(rig.quota_of("kubepods/p/b") == 100'000);
  CHECK(rig.quota_of("kubepods/p") == 340'000);
  rig.ticks(10);
  CHECK(rig.quota_of("kubepods/p/a") == 600'000);
  CHECK(rig.quota_of("kubepods/p") == 700'000);
  CHECK(
      rig.metrics->exposition().find(
          R"(koordlet_container_scaled_cfs_quota_us{pod_namespace="ns",pod_name="p",container_id="containerd://a",container_name="a"} 600000)") !=
      std::string::npos);
  rig.throttled(0, 0);
  rig.ticks(5);
  CHECK(rig.quota_of("kubepods/p/a") == 600'000);
  rig.node_cpu = 15;  // the node is full
  rig.ticks(30);
  CHECK(rig.quota_of("kubepods/p/a") == 200'000);
  CHECK(rig.quota_of("kubepods/p") == 300'000);
  CHECK(rig.metrics->exposition().find("cfs_quota_us{") == std::string::npos);
}

TEST_CASE("Quotas grow in the period that a group has: the kubelet's CustomCPUCFSQuotaPeriod",
          "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.pod({{"a", 2000, 2, 0.5}, {"b", 1000, 1, 0}});
  // As the kubelet makes them.
  for (const auto& [group, quota] :
       {std::pair("kubepods/p", 30'000), {"kubepods/p/a", 20'000}, {"kubepods/p/b", 10'000}}) {
    rig.kernel.group(group).period = 10'000;
    rig.kernel.group(group).quota = quota;
  }
  rig.ticks(3);
  CHECK(rig.quota_of("kubepods/p/a") == 34'560);
  CHECK(rig.quota_of("kubepods/p/b") == 10'000);
  CHECK(rig.quota_of("kubepods/p") == 44'560);
  CHECK(rig.kernel.group("kubepods/p/a").burst <= 200'000);
  rig.node("none");
  rig.ticks(3);
  CHECK(rig.quota_of("kubepods/p/a") == 20'000);
  CHECK(rig.quota_of("kubepods/p") == 30'000);
}

TEST_CASE("A container that gets another period is not narrowed by its next burst", "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.pod({{"a", 2000, 2, 0.5}, {"b", 1000, 1, 0}});
  for (const auto& [group, quota] :
       {std::pair("kubepods/p", 30'000), {"kubepods/p/a", 20'000}, {"kubepods/p/b", 10'000}}) {
    rig.kernel.group(group).period = 10'000;
    rig.kernel.group(group).quota = quota;
  }
  rig.throttled(0, 0);
  rig.ticks(2);  // its period is looked at
  for (const auto& [group, quota] :
       {std::pair("kubepods/p", 300'000), {"kubepods/p/a", 200'000}, {"kubepods/p/b", 100'000}}) {
    rig.kernel.group(group).period = 100'000;
    rig.kernel.group(group).quota = quota;
  }
  rig.throttled(0, 0.5);
  rig.ticks(1);
  CHECK(rig.quota_of("kubepods/p/a") == 240'000);
  CHECK(rig.quota_of("kubepods/p/b") == 100'000);
  CHECK(rig.quota_of("kubepods/p") == 340'000);
  rig.throttled(0, 0);
  rig.node_cpu = 15;
  rig.ticks(30);
  CHECK(rig.quota_of("kubepods/p/a") == 200'000);
  CHECK(rig.quota_of("kubepods/p") == 300'000);
}

TEST_CASE("A pod without a limit keeps none, a container without one neither grows nor shrinks",
          "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.pod({{"a", 2000, 2, 0.5}, {"b", {}, 3, 0.5}});
  rig.ticks(3);
  CHECK(rig.quota_of("kubepods/p/a") == 345'600);
  CHECK(rig.quota_of("kubepods/p/b") == -1);
  CHECK(rig.quota_of("kubepods/p") == -1);
}

TEST_CASE("A container that somebody else freed of its quota stays free", "[koordlet][burst]") {
  Rig rig(CgroupVersion::v1);
  rig.pod({{"a", 2000, 2, 0.5}});
  rig.kernel.group("kubepods/p/a").quota = rig.kernel.group("kubepods/p").quota = -1;
  rig.ticks(3);
  CHECK(rig.quota_of("kubepods/p/a") == -1);
  CHECK(rig.quota_of("kubepods/p") == -1);
}

TEST_CASE("Who may burst, and how it ends", "[koordlet][burst]") {
  const bool gone = GENERATE(true, false);
  const std::string before = "koordlet_container_scaled_cfs_burst_us{";
  Rig rig(CgroupVersion::v1);
  PodInfo& pod = rig.pod({{"a", 2000, 2, 0.5}});
  bool grows = false;
  bool bursts = false;
  SECTION("LSE, LSR and BE pods never do") { pod.qos = gone ? Qos::lsr : Qos::be; }
  SECTION("by policy none nobody does") { rig.node("none"); }
  SECTION("by cpuBurstOnly only the kernel's burst") { rig.node("cpuBurstOnly"), bursts = true; }
  SECTION("by cfsQuotaBurstOnly only quotas") { rig.node("cfsQuotaBurstOnly"), grows = true; }
  SECTION("by auto both") { grows = bursts = true; }
  SECTION("a pod may say otherwise") {
    rig.node("none");
    pod.terms.put(
        std::make_shared<const api::PodCpuBurst>(api::PodCpuBurst{.policy = "auto",
                                                                  .cpu_burst_percent = {},
                                                                  .cfs_quota_burst_percent = {},
                                                                  .cfs_quota_burst_period_seconds = {}}));
    grows = bursts = true;
  }
  SECTION("a kernel without burst has quotas") { rig.kernel.has_burst = false, grows = true; }
  SECTION("the gate") {
    REQUIRE(rig.gates.set("CPUBurst=false").has_value());
    rig.start();
  }
  rig.ticks(4);
  CHECK((rig.quota_of("kubepods/p/a") > 200'000) == grows);
  CHECK(rig.kernel.group("kubepods/p/a").burst == (bursts ? 2'000'000 : 0));
  CHECK(rig.kernel.group("kubepods/p").burst == (bursts ? 2'000'000 : 0));
  CHECK((rig.metrics->exposition().find(before) != std::string::npos) == bursts);

  // The node says no more, or nothing at all: what it was before.
  if (gone)
    rig.inventory.slo.reset();
  else
    rig.node("none"), pod.terms = {};
  rig.ticks(2);
  CHECK(rig.quota_of("kubepods/p/a") == 200'000);
  CHECK(rig.quota_of("kubepods/p") == 200'000);
  CHECK(rig.kernel.group("kubepods/p/a").burst == 0);
  CHECK(rig.kernel.group("kubepods/p").burst == 0);
  CHECK(rig.metrics->exposition().find(before) == std::string::npos);
}

TEST_CASE("A kernel that takes no burst above the quota gets the quota, after one attempt",
          "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.kernel.burst_within_quota = true;
  rig.node("cpuBurstOnly");
  rig.pod({{"a", 2000}, {"b", 1000}});
  rig.ticks(1);
  CHECK(rig.kernel.refused.size() == 1);
  rig.ticks(8);
  CHECK(rig.kernel.refused.size() == 1);
  CHECK(rig.kernel.group("kubepods/p/a").burst == 200'000);
  CHECK(rig.kernel.group("kubepods/p/b").burst == 100'000);
  CHECK(rig.kernel.group("kubepods/p").burst == 300'000);
}

TEST_CASE("Which kernel it is no container tells that has gone, or whose quota grows", "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  const bool within = GENERATE(true, false);
  rig.kernel.burst_within_quota = within;
  rig.node("auto").cpu_burst_percent = 110;  // what the grown quota has room for
  rig.pod({{"a", 2000, 2, 0.5}, {"b", 1000, 1, 0}});
  SECTION("it grows") {}
  SECTION("it goes between the plan and the write") {
    rig.throttled(0, 0);
    rig.kernel.fault = [n = 0](std::string_view path, std::string_view) mutable {
      return path.ends_with("burst_us") || path.ends_with("max.burst") ? (n++ == 0 ? ENODEV : 0) : 0;
    };
  }
  SECTION("the kernel does not answer as it should") {
    rig.throttled(0, 0);
    rig.kernel.fault = [n = 0](std::string_view path, std::string_view) mutable {
      return path.ends_with("burst_us") || path.ends_with("max.burst") ? (n++ == 0 ? EIO : 0) : 0;
    };
  }
  rig.ticks(70);
  CHECK(rig.kernel.refused.size() == (within ? 1 : 0));
  CHECK(rig.kernel.group("kubepods/p/a").burst == (within ? 200'000 : 220'000));
  CHECK(rig.kernel.group("kubepods/p/b").burst == (within ? 100'000 : 110'000));
  CHECK(rig.manager->failures().empty());
}

TEST_CASE("Limits below the kernel's least quota, and beyond what the original takes", "[koordlet][burst]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  koord::testing::Tree tree;
  Rig rig(version, tree / "journal");
  PodInfo& pod = rig.pod({{"a", 5, 0.01, 0.5}, {"b", 5, 0.01, 0}});
  for (const char* group : {"kubepods/p/a", "kubepods/p/b", "kubepods/p"})
    rig.kernel.group(group).quota = 1000;  // as the kubelet has it
  REQUIRE(pod.cpu_limit_milli == 10);
  SECTION("a burst within the quota") { rig.kernel.burst_within_quota = true; }
  SECTION("a burst of its own") {}
  rig.ticks(70);
  CHECK(rig.quota_of("kubepods/p/a") == 3000);
  CHECK(rig.quota_of("kubepods/p") == 3000);
  CHECK(rig.kernel.refused.size() == (rig.kernel.burst_within_quota ? 1 : 0));
  CHECK(rig.manager->failures().empty());
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  for (const char* group : {"kubepods/p/a", "kubepods/p/b", "kubepods/p"}) {
    CHECK(rig.quota_of(group) == 1000);
    CHECK(rig.kernel.group(group).burst == 0);
  }
}

TEST_CASE("A container of many CPUs bursts as others do, and hinders none of them", "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.node("cpuBurstOnly");
  rig.pod({{"a", 128'000}, {"b", 1000}});
  rig.ticks(3);
  CHECK(rig.kernel.group("kubepods/p/a").burst == 128'000'000);
  CHECK(rig.kernel.group("kubepods/p/b").burst == 1'000'000);
  CHECK(rig.kernel.group("kubepods/p").burst == 129'000'000);
}

TEST_CASE("A pod that says nonsense of its burst has none", "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  PodInfo& pod = rig.pod({{"a", 2000, 2, 0.5}});
  pod.terms.put(std::make_shared<const api::PodCpuBurst>(
      api::PodCpuBurst{.policy = "auto",
                       .cpu_burst_percent = -100,
                       .cfs_quota_burst_percent = -300,
                       .cfs_quota_burst_period_seconds = INT64_MAX}));
  rig.ticks(3);
  CHECK(rig.kernel.group("kubepods/p/a").burst == 0);
  CHECK(rig.quota_of("kubepods/p/a") == 200'000);
  CHECK(rig.manager->failures().empty());
}

TEST_CASE("A container that has used up its tokens shrinks", "[koordlet][burst]") {
  Rig rig(CgroupVersion::v1);
  auto& node = rig.node("auto");
  node.cfs_quota_burst_period_seconds = 40;  // 300%: 8000 at most, 2000 to begin with
  rig.pod({{"a", 2000, 4, 0.5}});            // 200%: 100 a second
  rig.ticks(15);
  CHECK(rig.quota_of("kubepods/p/a") == 600'000);
  rig.ticks(15);
  CHECK(rig.quota_of("kubepods/p/a") == 200'000);
  // It saves again.
  rig.used(0, 0.5);
  rig.throttled(0, 0.1);
  rig.ticks(130);
  CHECK(rig.quota_of("kubepods/p/a") == 600'000);
}

TEST_CASE("Complaint 2988: init containers and sidecars burst as the others do", "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  PodInfo& pod = rig.pod({{"main", 1000, 1, 0}, {"init", 1000, 1, 0.5}, {"side", 1000, 1, 0.5}});
  pod.containers[1].kind = ContainerKind::init;
  pod.containers[2].kind = ContainerKind::sidecar;
  rig.ticks(3);
  CHECK(rig.quota_of("kubepods/p/main") == 100'000);
  for (const char* group : {"kubepods/p/init", "kubepods/p/side"}) {
    CHECK(rig.quota_of(group) == 172'800);
    CHECK(rig.kernel.group(group).burst == 1'000'000);
  }
  CHECK(rig.quota_of("kubepods/p") == 300'000 + 2 * 72'800);
}

TEST_CASE("Complaint 2988: an init container that runs alone grows with its pod, the next one begins anew",
          "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  // As large as the pod is: v1 takes no container's quota above its pod's.
  PodInfo& alone = rig.pod({{"init", 2000, 2, 0.5}});
  alone.containers[0].kind = ContainerKind::init;
  rig.ticks(2);
  CHECK(rig.quota_of("kubepods/p/init") == 288'000);
  CHECK(rig.quota_of("kubepods/p") == 288'000);
  rig.kernel.remove("kubepods/p/init");
  rig.pod({{"main", 2000, 1, 0}}).cpu_limit_milli = 2000;
  rig.kernel.group("kubepods/p").quota = 288'000;  // as it is left
  rig.ticks(2);
  CHECK(rig.quota_of("kubepods/p/main") == 200'000);
  CHECK(rig.quota_of("kubepods/p") == 200'000);
  CHECK(rig.kernel.refused.empty());
}

TEST_CASE("Complaint 2164: a container that has to shrink takes nothing from the others",
          "[koordlet][burst]") {
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  rig.node("auto").cfs_quota_burst_period_seconds = 40;
  rig.pod({{"greedy", 2000, 4, 0.5}, {"modest", 2000, 1, 0.5}});  // 200% and 50% of their limits
  rig.ticks(15);
  CHECK(rig.quota_of("kubepods/p/greedy") == 600'000);
  CHECK(rig.quota_of("kubepods/p/modest") == 600'000);
  rig.kernel.written.clear();
  rig.ticks(15);
  CHECK(rig.quota_of("kubepods/p/greedy") == 200'000);
  CHECK(rig.quota_of("kubepods/p/modest") == 600'000);
  CHECK(rig.quota_of("kubepods/p") == 800'000);
  // Nothing of the other one was written meanwhile, and nobody's burst of the kernel's.
  for (const std::string& write : rig.kernel.written) {
    CHECK(write.find("modest") == std::string::npos);
    CHECK(write.find("burst") == std::string::npos);
  }
  for (const char* group : {"kubepods/p/greedy", "kubepods/p/modest"})
    CHECK(rig.kernel.group(group).burst == 2'000'000);
}

TEST_CASE("An agent that starts before the pods are known lets nobody's quota go", "[koordlet][burst]") {
  koord::testing::Tree tree;
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  rig.pod({{"a", 2000, 2, 0.5}});
  rig.ticks(8);
  REQUIRE(rig.quota_of("kubepods/p/a") == 600'000);
  const std::size_t written = rig.kernel.written.size();
  const auto pods = std::exchange(rig.inventory.all_pods, {});
  rig.inventory.pods.clear();
  rig.inventory.pods_known = false;
  ++rig.inventory.generation;
  rig.start();
  rig.ticks(3);
  CHECK(rig.kernel.written.size() == written);
  rig.inventory.pods = rig.inventory.all_pods = pods;
  rig.inventory.pods_known = true;
  ++rig.inventory.generation;
  rig.ticks(1);
  CHECK(rig.quota_of("kubepods/p/a") == 600'000);
  rig.throttled(0, 0);
  rig.node_cpu = 15;  // it shrinks as ever
  rig.ticks(30);
  CHECK(rig.quota_of("kubepods/p/a") == 200'000);
}

TEST_CASE("A container that is resized while no agent runs gets the quota of its new spec",
          "[koordlet][burst]") {
  koord::testing::Tree tree;
  Rig rig(GENERATE(CgroupVersion::v1, CgroupVersion::v2), tree / "journal");
  PodInfo& pod = rig.pod({{"a", 2000, 2, 0.5}});
  rig.ticks(8);
  REQUIRE(rig.quota_of("kubepods/p/a") == 600'000);
  rig.start();
  const std::int64_t limit = GENERATE(4000, 1000);
  pod.containers[0].cpu_limit_milli = pod.cpu_limit_milli = limit;
  rig.kernel.group("kubepods/p/a").quota = rig.kernel.group("kubepods/p").quota = limit * 100;
  rig.node("none");
  ++rig.inventory.generation;
  rig.ticks(3);
  CHECK(rig.quota_of("kubepods/p/a") == limit * 100);
  CHECK(rig.quota_of("kubepods/p") == limit * 100);
  REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
  CHECK(rig.quota_of("kubepods/p/a") == limit * 100);
}

TEST_CASE("The pool: CPUs of LSE and LSR pods and what BE pods use are not in it", "[koordlet][burst]") {
  Rig rig(CgroupVersion::v1);
  rig.topology = testing::machine(16, 2);
  rig.pod({{"a", 2000, 2, 0.5}});
  auto lsr = std::make_shared<PodInfo>();
  lsr->uid = lsr->name = "z-lsr";
  lsr->qos = Qos::lsr;
  lsr->requests.cpu = 8000;
  lsr->group = "kubepods/z-lsr";
  rig.inventory.all_pods.push_back(lsr);  // of 16 CPUs 8 are shared
  rig.node_cpu = 4.1;
  SECTION("more than half of them is used") {
    rig.ticks(3);
    CHECK(rig.quota_of("kubepods/p/a") == 200'000);
  }
  SECTION("but what best-effort work uses does not count") {
    auto be = std::make_shared<PodInfo>();
    be->uid = be->name = "z-be";
    be->qos = Qos::be;
    be->group = "kubepods/z-be";
    rig.inventory.pods.push_back(be);
    rig.pod_usage.push_back({});
    auto before = rig.shape;
    rig.shape = [&rig, before](TickView& view) {
      before(view);
      rig.series.append(*rig.series.open(Metric::pod_cpu, "z-be"), view.at, 2);
    };
    rig.ticks(3);
    CHECK(rig.quota_of("kubepods/p/a") > 200'000);
  }
}

TEST_CASE("An agent that is killed between any two writes leaves what the next one sets right",
          "[koordlet][burst][crash]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  const std::size_t writes = testing::kill_between_writes(
      [&](const std::string& journal) {
        auto rig = std::make_unique<Rig>(version, journal);
        rig->pod({{"a", 2000, 2, 0.5}, {"b", 1000, 1, 0.5}});
        return rig;
      },
      [](Rig& rig) { rig.ticks(3); },
      [](Rig& rig, const std::string&, std::size_t) {
        rig.start();
        REQUIRE(rig.manager->cleanup(rig.inventory).has_value());
        CHECK(rig.quota_of("kubepods/p/a") == 200'000);
        CHECK(rig.quota_of("kubepods/p/b") == 100'000);
        CHECK(rig.quota_of("kubepods/p") == 300'000);
        for (const char* group : {"kubepods/p", "kubepods/p/a", "kubepods/p/b"})
          CHECK(rig.kernel.group(group).burst == 0);
        CHECK(rig.kernel.refused.empty());
      });
  CHECK(writes >= 6);
}

}  // namespace
}  // namespace koord::koordlet
