// The sampler on fake machines of both cgroup versions.
#include "framework/sampler/sampler.hpp"

#include <malloc.h>

#include <catch2/catch.hpp>

#include "framework/tick/best_effort_use.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::FakeNode;
using testing::inventory;
using testing::pod;
using Bench = testing::SamplerRig;

constexpr std::uint64_t kCpuSecond = 1'000'000'000;
constexpr std::uint64_t kGiB = 1ULL << 30;
const CgroupVersion kVersions[] = {CgroupVersion::v1, CgroupVersion::v2};

// The agent's own inventory is made anew whenever the kubelet's answer has another letter.
TEST_CASE("Complaint 1981: the same pods for hours take no more memory") {
  FakeNode fake(CgroupVersion::v2);
  Bench bench(fake, {.is_on = &testing::every_gate, .page_cache = true});
  const auto heap = [] {
    const auto info = mallinfo2();  // nothing but zeros under a sanitizer
    return info.uordblks + info.hblkhd;
  };
  std::size_t before = 0;
  constexpr int kWarm = 2000;  // rings are full after half an hour
  const int ticks = heap() > 0 ? 2 * kWarm : kWarm / 10;
  for (int i = 0; i < ticks; ++i) {
    if (i == kWarm) before = heap();
    const auto now = inventory({pod("a", Qos::ls, 2), pod("b", Qos::be), pod("missing", Qos::ls)});
    now->generation = static_cast<std::uint64_t>(i) + 1;
    if (i == 0)
      for (const auto& one : {now->pods[0], now->pods[1]})
        for (const std::string& group : {one->group, one->containers[0].group}) {
          fake.cpu(group, kCpuSecond);
          fake.group_memory(group, kGiB, kGiB);
        }
    bench.tick(now, seconds(i));
  }
  CHECK(heap() <= before + 4096);  // two bytes a tick
  CHECK(bench.log.count(LogLevel::warn) < 10);
}

TEST_CASE("A tick shows what was used since the one before") {
  for (const CgroupVersion version : kVersions) {
    FakeNode fake(version);
    Bench bench(fake);
    const auto a = pod("a", Qos::ls, 2);
    const auto now = inventory({a});
    const std::string c0 = a->containers[0].group;
    const std::string c1 = a->containers[1].group;
    for (const auto& group : {a->group, c0, c1}) fake.group_memory(group, 2 * kGiB, kGiB);
    fake.cpu(a->group, 5 * kCpuSecond, 10, 0);
    fake.cpu(c0, kCpuSecond);
    fake.cpu(c1, 4 * kCpuSecond);
    fake.cpu_ticks({100, 100, 100, 100});

    const TickView& first = bench.tick(now, seconds(0));
    REQUIRE(first.pods.size() == 1);
    CHECK_FALSE(known(first.pods[0].cpu));  // nothing to compare with
    CHECK(first.pods[0].memory == 2 * kGiB);
    CHECK_FALSE(known(first.node.cpu));
    CHECK_FALSE(first.complete);
    REQUIRE(first.facts);
    CHECK(first.facts->cpu_model == "Fake 9000");
    CHECK(first.facts->topology.online.size() == 4);

    fake.cpu(a->group, 6 * kCpuSecond, 20, 5);
    fake.cpu(c0, kCpuSecond + kCpuSecond / 4);
    fake.cpu(c1, 4 * kCpuSecond + kCpuSecond / 2);
    fake.cpu_ticks({200, 150, 100, 100});
    const TickView& second = bench.tick(now, seconds(2));
    CHECK(second.tick == 2);
    CHECK(second.complete);
    CHECK(second.node.cpu == Approx(0.75));
    CHECK(second.node.memory == 8 * kGiB);
    CHECK(second.node.memory_with_page_cache == 12 * kGiB);
    CHECK(second.pods[0].cpu == Approx(0.5));
    CHECK(second.pods[0].throttled == Approx(0.5));
    CHECK(second.pods[0].memory_with_page_cache == 3 * kGiB);
    REQUIRE(second.containers.size() == 2);
    CHECK(second.containers[0].cpu == Approx(0.125));  // in the pod's first rounds, too
    CHECK(second.containers[1].cpu == Approx(0.25));
    CHECK_FALSE(known(second.containers[1].throttled));  // no quota, no period
    CHECK(second.system.cpu == Approx(0.25));
    CHECK(second.system.memory == 6 * kGiB);

    CHECK(bench.last(Metric::node_cpu, "", seconds(2)) == Approx(0.75));
    CHECK(bench.last(Metric::system_cpu, "", seconds(2)) == Approx(0.25));
    CHECK(bench.last(Metric::pod_cpu, "a", seconds(2)) == Approx(0.5));
    CHECK(bench.last(Metric::pod_throttled, "a", seconds(2)) == Approx(0.5));
    CHECK(bench.last(Metric::container_cpu, "a-c1", seconds(2)) == Approx(0.25));
    CHECK(bench.last(Metric::container_throttled, "a-c1", seconds(2)) == 0);
    CHECK(bench.last(Metric::container_memory, "a-c0", seconds(2)) == 2 * kGiB);
    CHECK_FALSE(bench.series.find(Metric::pod_memory_with_page_cache, "a"));
    for (const char* line : {"node_used_cpu_cores 0.75", "node_used_memory_bytes 8.589934592e+09",
                             "collect_node_cpu_info_status{status=\"succeeded\"} 1",
                             "collect_node_numa_info_status{status=\"succeeded\"} 1"})
      CHECK(bench.registry.exposition().find(fmt::format("koordlet_{}\n", line)) != std::string::npos);
    CHECK(bench.sampler.stats().faults == 0);
  }
}

TEST_CASE("In the steady state each file costs one read and nothing is opened") {
  for (const CgroupVersion version : kVersions) {
    FakeNode fake(version);
    Bench bench(fake, {.numa_interval = std::chrono::hours(1)});
    const auto a = pod("a", Qos::ls, 2);
    for (const auto& group : {a->group, a->containers[0].group, a->containers[1].group}) {
      fake.cpu(group, 0);
      fake.group_memory(group, 0, 0);
    }
    fake.numa_pages(a->group, {1});
    const auto now = inventory({a});
    bench.tick(now, seconds(0));
    bench.tick(now, seconds(1));
    const SamplerStats before = bench.sampler.stats();
    bench.tick(now, seconds(2));
    const SamplerStats after = bench.sampler.stats();
    const std::size_t node_files = 3;  // stat, meminfo, the NUMA node's
    CHECK(after.reads - before.reads == node_files + 3 * (fake.v1() ? 3UL : 2UL));
    // What is missing of the best-effort root is looked for.
    CHECK(after.opens - before.opens <= 3);
    CHECK(after.descriptors == node_files + 3 * (fake.v1() ? 3UL : 2UL));
    CHECK(after.groups == 3);
    bench.tick(inventory({}), seconds(3));
    CHECK(bench.sampler.stats().descriptors == node_files);
  }
}

TEST_CASE("Beyond the descriptors that may be held files are opened each time") {
  FakeNode fake(CgroupVersion::v1);
  Bench bench(fake, {.max_descriptors = 5});
  const auto a = pod("a", Qos::ls, 2);
  for (const auto& group : {a->group, a->containers[0].group, a->containers[1].group}) {
    fake.cpu(group, 0);
    fake.group_memory(group, 7, 0);
  }
  bench.tick(inventory({a}), seconds(0));
  const TickView& view = bench.tick(inventory({a}), seconds(1));
  CHECK(view.complete);
  CHECK(view.containers[1].memory == 7);
  CHECK(bench.sampler.stats().descriptors == 5);
  CHECK(bench.log.contains("the limit of open files is below"));
}

TEST_CASE("Pods and containers come and go") {
  for (const CgroupVersion version : kVersions) {
    FakeNode fake(version);
    Bench bench(fake);
    auto make = [&](const std::string& uid, int containers) {
      auto info = pod(uid, Qos::ls, containers);
      fake.cpu(info->group, 0);
      fake.group_memory(info->group, 1, 0);
      for (const auto& container : info->containers) {
        fake.cpu(container.group, 0);
        fake.group_memory(container.group, 1, 0);
      }
      return info;
    };
    const auto a = make("a", 1);
    const auto b = make("b", 2);
    const auto c = make("c", 1);
    bench.tick(inventory({b}), seconds(0));
    fake.cpu(b->group, kCpuSecond);
    bench.tick(inventory({a, b, c}), seconds(1));
    CHECK(bench.last(Metric::pod_cpu, "b", seconds(1)) == Approx(1));

    // Another container in b, none of it new but that one.
    auto b2 = std::make_shared<PodInfo>(*b);
    b2->containers.erase(b2->containers.begin());
    fake.cpu(b->group, 3 * kCpuSecond);
    fake.cpu(b->containers[1].group, kCpuSecond);
    const TickView& view = bench.tick(inventory({b2, c}), seconds(2));
    REQUIRE(view.pods.size() == 2);
    REQUIRE(view.containers.size() == 2);
    CHECK(view.pods[0].cpu == Approx(2));
    CHECK(view.containers[0].cpu == Approx(1));
    CHECK(view.complete);
    CHECK_FALSE(bench.series.find(Metric::pod_cpu, "a"));
    CHECK_FALSE(bench.series.find(Metric::container_cpu, "a-c0"));
    CHECK_FALSE(bench.series.find(Metric::container_cpu, "b-c0"));
    CHECK(bench.series.find(Metric::container_cpu, "b-c1"));

    // The pod's class changed, and with it its cgroup: it begins anew, its history stays.
    auto b3 = std::make_shared<PodInfo>(*b2);
    b3->group = "kubepods/podb";
    fake.cpu(b3->group, 0);
    fake.group_memory(b3->group, 1, 0);
    CHECK_FALSE(known(bench.tick(inventory({b3, c}), seconds(3)).pods[0].cpu));
    CHECK(bench.last(Metric::pod_cpu, "b", seconds(3)) == Approx(2));
  }
}

TEST_CASE("A pod without cgroup is no error, and uses nothing") {
  for (const CgroupVersion version : kVersions) {
    FakeNode fake(version);
    Bench bench(fake);
    const auto a = pod("a", Qos::ls);
    const auto gone = pod("gone", Qos::ls);
    fake.cpu(a->group, 0);
    fake.cpu(a->containers[0].group, 0);
    fake.group_memory(a->group, kGiB, 0);
    fake.group_memory(a->containers[0].group, kGiB, 0);
    bench.tick(inventory({a, gone}), seconds(0));
    fake.cpu_ticks({100, 0, 0, 0});
    const TickView& view = bench.tick(inventory({a, gone}), seconds(1));
    CHECK(view.complete);
    CHECK_FALSE(known(view.pods[1].cpu));
    CHECK(view.system.memory == 7 * kGiB);
    CHECK(view.system.cpu == Approx(1));
    CHECK(bench.sampler.stats().faults == 0);
  }
}

TEST_CASE("A bad file takes its own value and nothing else") {
  const std::string huge(5 << 20, 'x');
  struct Row {
    const char* what;
    std::string text;
  };
  const Row rows[] = {{"empty", ""},
                      {"garbled", "total_cache zwei\nusage_usec -\n\x01\xff"},
                      {"huge", huge},
                      {"cut", "total_cache 5\ntotal_rs"}};
  for (const CgroupVersion version : kVersions)
    for (const Row& row : rows) {
      INFO(row.what << (version == CgroupVersion::v1 ? " v1" : " v2"));
      FakeNode fake(version);
      Bench bench(fake);
      const auto a = pod("a", Qos::ls, 0);
      const auto b = pod("b", Qos::ls, 0);
      const auto now = inventory({a, b});
      for (const auto& p : {a, b}) {
        fake.cpu(p->group, 0);
        fake.group_memory(p->group, kGiB, 0);
      }
      fake.cpu_ticks({0, 0, 0, 0});
      bench.tick(now, seconds(0));
      for (const auto& p : {a, b}) fake.cpu(p->group, kCpuSecond / 2);
      fake.cpu_ticks({150, 0, 0, 0});
      bench.tick(now, seconds(1));

      fake.tree().write(fake.path("memory", a->group, "memory.stat"), row.text);
      fake.cpu(a->group, kCpuSecond);
      fake.cpu(b->group, kCpuSecond);
      const TickView& view = bench.tick(now, seconds(2));
      CHECK_FALSE(known(view.pods[0].memory));
      CHECK(view.pods[0].cpu == Approx(0.5));
      CHECK(view.pods[1].memory == kGiB);
      CHECK_FALSE(view.complete);
      CHECK(view.system.memory == 6 * kGiB);  // with the value of a second ago
      CHECK(bench.sampler.stats().faults == 1);
      CHECK(bench.log.count(LogLevel::warn) == 1);
      for (int i = 3; i < 11; ++i) bench.tick(now, seconds(i));
      CHECK(known(bench.tick(now, seconds(11)).system.memory));
      CHECK_FALSE(known(bench.tick(now, seconds(12)).system.memory));  // older than ten seconds
      CHECK(bench.log.count(LogLevel::warn) == 1);                     // told once
      CHECK(bench.registry.exposition().find("koordlet_sampler_read_faults_total{file=\"memory.stat\"") !=
            std::string::npos);
      fake.group_memory(a->group, 2 * kGiB, 0);
      CHECK(bench.tick(now, seconds(14)).system.memory == 5 * kGiB);
    }
}

TEST_CASE("Bad node files") {
  for (const char* file : {"proc/stat", "proc/meminfo"}) {
    FakeNode fake(CgroupVersion::v1);
    Bench bench(fake);
    bench.tick(inventory({}), seconds(0));
    fake.tree().write(file, "cpu  1 2\nMemTotal: much kB\n");
    const TickView& view = bench.tick(inventory({}), seconds(1));
    CHECK(known(view.node.cpu) == (std::string(file) == "proc/meminfo"));
    CHECK(known(view.node.memory) == (std::string(file) == "proc/stat"));
    CHECK(bench.sampler.stats().faults == 1);
  }
  FakeNode fake(CgroupVersion::v1);
  fake.tree().remove("sys/devices/system/cpu");
  Bench bench(fake);
  CHECK_FALSE(bench.tick(inventory({}), seconds(0)).facts);
  CHECK(bench.registry.exposition().find("koordlet_collect_node_cpu_info_status{status=\"failed\"} 1") !=
        std::string::npos);
}

TEST_CASE("Ticks that come late, early, twice") {
  FakeNode fake(CgroupVersion::v2);
  Bench bench(fake);
  const auto a = pod("a", Qos::ls, 0);
  const auto now = inventory({a});
  fake.group_memory(a->group, 1, 0);
  fake.cpu(a->group, 0);
  bench.tick(now, seconds(0));
  fake.cpu(a->group, 5 * kCpuSecond);
  CHECK(bench.tick(now, seconds(5)).pods[0].cpu == Approx(1));  // four were missed
  fake.cpu(a->group, 9 * kCpuSecond);
  CHECK(bench.tick(now, seconds(5)).pods[0].cpu == Approx(1));  // the same moment: the same view
  const TickView& early = bench.tick(now, milliseconds(5050));
  CHECK(early.tick == 2);
  CHECK(early.pods[0].cpu == Approx(1));
  // The inventory is followed even so.
  const auto b = pod("b", Qos::ls, 0);
  const TickView& more = bench.tick(inventory({a, b}), milliseconds(5060));
  REQUIRE(more.pods.size() == 2);
  CHECK(more.pods[0].cpu == Approx(1));
  CHECK_FALSE(more.complete);
  CHECK(bench.tick(now, seconds(6)).pods[0].cpu == Approx(4));
  // Right after a tick that came late: in so short a time a rate is mostly noise.
  fake.cpu(a->group, 10 * kCpuSecond);
  CHECK(bench.tick(now, milliseconds(6900)).tick == 4);
  fake.cpu(a->group, 11 * kCpuSecond);
  CHECK(bench.tick(now, seconds(7)).tick == 4);
  CHECK(bench.tick(now, milliseconds(7399)).tick == 4);
  CHECK(bench.tick(now, milliseconds(7400)).pods[0].cpu == Approx(2));
  // The machine slept: nobody knows when in that time the CPU was used.
  fake.cpu(a->group, 90 * kCpuSecond);
  CHECK_FALSE(known(bench.tick(now, seconds(60)).pods[0].cpu));
  // A cgroup of the same name, whose counter begins anew.
  fake.cpu(a->group, kCpuSecond);
  CHECK_FALSE(known(bench.tick(now, seconds(61)).pods[0].cpu));
  fake.cpu(a->group, 2 * kCpuSecond);
  CHECK(bench.tick(now, seconds(62)).pods[0].cpu == Approx(1));
  // Should the monotonic clock ever go back, nothing but the value is lost.
  CHECK_FALSE(known(bench.tick(now, seconds(30)).pods[0].cpu));
  fake.cpu(a->group, 3 * kCpuSecond);
  CHECK(bench.tick(now, seconds(31)).pods[0].cpu == Approx(1));
}

TEST_CASE("The best-effort tier") {
  struct Row {
    const char* what;
    const char* root_cpus;
    const char* container_cpus;
    std::int64_t quota_us;
    double want;
  };
  const Row rows[] = {
      {"its cpuset", "0-3", "0-3", -1, 4000},
      {"the smallest cpuset", "0-3", "1,3", -1, 2000},
      {"its quota", "0-3", "0-3", 150'000, 1500},
      {"a quota of more", "0-1", "0-1", 900'000, 2000},
      {"no cpuset", "", "", -1, 4000},
  };
  for (const CgroupVersion version : kVersions)
    for (const Row& row : rows) {
      INFO(row.what);
      FakeNode fake(version);
      Bench bench(fake);
      auto be = pod("be", Qos::be, 1);
      be->requests.batch_cpu = 2500;
      auto ls = pod("ls", Qos::ls, 1);
      ls->requests.batch_cpu = 1;
      const std::string root = "kubepods/besteffort";
      fake.cpuset(root, row.root_cpus);
      fake.cpuset(be->containers[0].group, row.container_cpus);
      fake.cpuset(ls->containers[0].group, "0");
      fake.quota(root, row.quota_us);
      fake.cpu(root, 0);
      const auto now = inventory({be, ls});
      CHECK_FALSE(known(best_effort_use(bench.tick(now, seconds(0))).usage_milli));
      fake.cpu(root, kCpuSecond);
      fake.group_memory(root, 3 << 20, 1 << 20);
      const TickView& view = bench.tick(now, seconds(1));
      CHECK(best_effort_use(view).memory == 3 << 20);
      CHECK(best_effort_use(view).usage_milli == Approx(1000));
      CHECK(best_effort_use(view).request_milli == 2500);
      CHECK(best_effort_use(view).real_limit_milli == Approx(row.want));
      CHECK(bench.last(Metric::be_cpu_usage, "", seconds(1)) == Approx(1000));
      CHECK(bench.last(Metric::be_cpu_real_limit, "", seconds(1)) == Approx(row.want));
      // As soon as the root's cpuset changes, its containers' are looked at.
      fake.cpuset(root, "0-2");
      fake.cpuset(be->containers[0].group, "2");
      fake.quota(root, -1);
      CHECK(best_effort_use(bench.tick(now, seconds(2))).real_limit_milli == 1000);
    }
}

TEST_CASE("A best-effort pod that nobody has named yet is not the system's") {
  for (const CgroupVersion version : kVersions) {
    FakeNode fake(version);
    Bench bench(fake);
    const auto be = pod("be", Qos::be, 0), ls = pod("ls", Qos::ls, 0);
    for (const auto& p : {be, ls}) {
      fake.cpu(p->group, 0);
      fake.group_memory(p->group, 0, 0);
    }
    fake.cpu_ticks({0, 0, 0, 0});
    // There is no best-effort root yet: nobody uses anything there.
    CHECK(best_effort_use(bench.tick(inventory({ls}), seconds(0))).usage_milli == 0);
    fake.cpu("kubepods/besteffort", kCpuSecond / 2);
    fake.cpu_ticks({100, 0, 0, 0});
    const TickView& first = bench.tick(inventory({ls}), seconds(1));
    CHECK(best_effort_use(first).usage_milli == Approx(500));  // it came since, its counter began with 0
    CHECK(first.system.cpu == Approx(0.5));
    // Named, it is a part of its root, and not taken off a second time.
    fake.cpu("kubepods/besteffort", kCpuSecond);
    fake.cpu_ticks({200, 0, 0, 0});
    bench.tick(inventory({be, ls}), seconds(2));
    fake.cpu(be->group, kCpuSecond / 2);
    fake.cpu("kubepods/besteffort", kCpuSecond + kCpuSecond / 2);
    fake.cpu_ticks({300, 0, 0, 0});
    const TickView& named = bench.tick(inventory({be, ls}), seconds(3));
    CHECK(named.pods[0].cpu == Approx(0.5));
    CHECK(named.system.cpu == Approx(0.5));
  }
}

TEST_CASE("Host applications") {
  for (const CgroupVersion version : kVersions) {
    FakeNode fake(version);
    Bench bench(fake, {.page_cache = true});
    auto now = inventory({});
    now->host_applications = {{.name = "nginx",
                               .qos = Qos::ls,
                               .priority_class = PriorityClass::prod,
                               .group = "host-latency-sensitive/nginx"}};
    fake.cpu("host-latency-sensitive/nginx", 0);
    fake.group_memory("host-latency-sensitive/nginx", kGiB, kGiB);
    bench.tick(now, seconds(0));
    fake.cpu("host-latency-sensitive/nginx", kCpuSecond);
    fake.cpu_ticks({100, 100, 0, 0});
    const TickView& view = bench.tick(now, seconds(1));
    REQUIRE(view.host_applications.size() == 1);
    CHECK(view.host_applications[0].cpu == Approx(1));
    CHECK(view.system.cpu == Approx(1));
    CHECK(bench.last(Metric::host_application_memory_with_page_cache, "nginx", seconds(1)) == 2 * kGiB);
    CHECK(bench.last(Metric::node_memory_with_page_cache, "", seconds(1)) == 12 * kGiB);
    const char* const gauge =
        "koordlet_host_application_resource_usage{host_application_name=\"nginx\",resource=\"cpu\","
        "priority_class=\"koord-prod\",qos=\"LS\"} 1";
    CHECK(bench.registry.exposition().find(gauge) != std::string::npos);
    // Its class changes: the history stays, the gauge has other labels.
    auto changed = std::make_shared<Inventory>(*now);
    changed->host_applications[0].qos = Qos::be;
    bench.tick(changed, seconds(2));
    CHECK(bench.registry.exposition().find("qos=\"LS\"") == std::string::npos);
    bench.tick(inventory({}), seconds(3));
    CHECK(bench.registry.exposition().find("nginx") == std::string::npos);
    CHECK_FALSE(bench.series.find(Metric::host_application_cpu, "nginx"));
  }
}

TEST_CASE("The original's rows of the system's share") {
  struct Use {
    double cpu = 0;
    std::uint64_t memory = 0;
  };
  struct Row {
    double node_cpu = 1;
    std::vector<Use> pods;
    Use application;
    double cpu = 0;            // the system's
    std::uint64_t memory = 0;  // and what it has less than the node
  };
  const Row rows[] = {
      {1, {{0.5, 512}}, {0, 0}, 0.5, 512},
      {2, {{0.5, 512}, {1, 512}}, {0, 0}, 0.5, 1024},
      {1, {{0.5, 512}}, {0.1, 128}, 0.4, 640},
      {1, {{0.75, 512}, {0.75, 512}}, {0, 0}, 0, 1024},  // not below 0
  };
  for (const CgroupVersion version : kVersions)
    for (const Row& row : rows) {
      FakeNode fake(version);
      Bench bench(fake);
      std::vector<std::shared_ptr<PodInfo>> pods;
      for (std::size_t i = 0; i < row.pods.size(); ++i) {
        pods.push_back(pod(fmt::format("p{}", i), Qos::ls, 0));
        fake.cpu(pods.back()->group, 0);
        fake.group_memory(pods.back()->group, row.pods[i].memory, 0);
      }
      auto now = inventory({});
      now->pods.assign(pods.begin(), pods.end());
      now->host_applications = {{.name = "app", .qos = Qos::ls, .group = "app"}};
      fake.cpu("app", 0);
      fake.group_memory("app", row.application.memory, 0);
      fake.cpu_ticks({0, 0, 0, 0});
      bench.tick(now, seconds(0));
      const auto ns = [](double cpus) { return static_cast<std::uint64_t>(cpus * kCpuSecond); };
      for (std::size_t i = 0; i < pods.size(); ++i) fake.cpu(pods[i]->group, ns(row.pods[i].cpu));
      fake.cpu("app", ns(row.application.cpu));
      fake.cpu_ticks({static_cast<std::uint64_t>(row.node_cpu * 100), 0, 0, 0});
      const TickView& view = bench.tick(now, seconds(1));
      CHECK(view.system.cpu == Approx(row.cpu).margin(1e-9));
      CHECK(view.system.memory == static_cast<double>(8 * kGiB - row.memory));
    }
}

TEST_CASE("NUMA nodes") {
  for (const CgroupVersion version : kVersions) {
    FakeNode fake(version, 4, 2);
    Bench bench(fake);
    const auto a = pod("a", Qos::ls, 0);
    const auto now = inventory({a});
    fake.cpu(a->group, 0);
    fake.group_memory(a->group, kGiB, 0);
    fake.numa_pages(a->group, {262'144, 131'072});  // 1 GiB and half of one
    fake.numa_memory(0, 8 * kGiB, 5 * kGiB);
    fake.numa_memory(1, 8 * kGiB, 7 * kGiB);
    bench.tick(now, seconds(0));
    fake.cpu(a->group, kCpuSecond);
    fake.cpu_ticks({100, 50, 50, 0});
    bench.tick(now, seconds(1));
    CHECK(bench.last(Metric::node_numa_cpu, "0", seconds(1)) == Approx(1.5));
    CHECK(bench.last(Metric::node_numa_cpu, "1", seconds(1)) == Approx(0.5));
    CHECK(bench.last(Metric::node_numa_memory, "0", seconds(1)) == 3 * kGiB);
    CHECK(bench.last(Metric::system_numa_memory, "0", seconds(1)) == 2 * kGiB);
    CHECK(bench.last(Metric::system_numa_memory, "1", seconds(1)) == static_cast<double>(kGiB) / 2);
    CHECK(bench.last(Metric::system_numa_cpu, "0", seconds(1)) == Approx(0.75));
    CHECK(bench.last(Metric::system_numa_cpu, "1", seconds(1)) == Approx(0.25));
  }
}

TEST_CASE("One CPU, 128 CPUs, CPUs that go offline") {
  FakeNode one(CgroupVersion::v1, 1);
  Bench alone(one);
  alone.tick(inventory({}), seconds(0));
  one.cpu_ticks({50});
  CHECK(alone.tick(inventory({}), seconds(1)).node.cpu == Approx(0.5));

  FakeNode many(CgroupVersion::v1, 128, 2);
  Bench bench(many);
  bench.tick(inventory({}), seconds(0));
  many.cpu_ticks(std::vector<std::uint64_t>(128, 100));
  const TickView& all = bench.tick(inventory({}), seconds(1));
  CHECK(all.node.cpu == Approx(128));
  CHECK(all.facts->topology.cpus.size() == 128);
  CHECK(bench.last(Metric::node_numa_cpu, "1", seconds(1)) == Approx(64));

  // The line of a CPU that goes offline goes; the total keeps what it used.
  many.cpu_ticks(std::vector<std::uint64_t>(128, 200), {126, 127});
  CHECK(bench.tick(inventory({}), seconds(2)).node.cpu == Approx(128));
  CHECK(bench.last(Metric::node_numa_cpu, "1", seconds(2)) == Approx(62));
  many.tree().write("sys/devices/system/cpu/online", "0-125\n");
  CHECK(bench.tick(inventory({}), seconds(61)).facts->topology.cpus.size() == 126);
  // As a rule both are seen in one tick.
  many.tree().write("sys/devices/system/cpu/online", "0-63\n");
  std::vector<int> gone;
  for (int cpu = 64; cpu < 128; ++cpu) gone.push_back(cpu);
  many.cpu_ticks(std::vector<std::uint64_t>(128, 300), gone);
  const TickView& half = bench.tick(inventory({}), seconds(62));
  CHECK(half.facts->topology.cpus.size() == 64);
  CHECK(best_effort_use(half).real_limit_milli == 64'000);
}

TEST_CASE("A group that leaves the hierarchy is never read") {
  FakeNode fake(CgroupVersion::v2);
  Bench bench(fake);
  const auto bad = pod("bad", Qos::ls, 0);
  bad->group = "../../../proc";
  bench.tick(inventory({bad}), seconds(0));
  const TickView& view = bench.tick(inventory({bad}), seconds(1));
  CHECK_FALSE(known(view.pods[0].memory));
  CHECK(bench.log.contains("inside of the hierarchy"));
}

// In the order in which the agent builds it: the series are restored before anybody opens one.
TEST_CASE("Restored series are taken over, and closed where nobody comes back") {
  FakeNode fake(CgroupVersion::v2, 4, 2);
  const auto a = pod("a", Qos::ls, 0);
  const auto b = pod("b", Qos::ls, 0);
  for (const auto& p : {a, b}) fake.group_memory(p->group, 5, 0);
  std::string bytes;
  {
    Bench before(fake);
    before.tick(inventory({a, b}), seconds(0));
    before.series.save({MonoTime(minutes(10)), WallTime(), "boot"}, minutes(5), bytes);
  }
  // With Kubernetes the pods are known later than the machine, without it they are known at once.
  const bool at_once = GENERATE(true, false);
  SeriesStore series({});
  REQUIRE(series.restore(bytes, {MonoTime(minutes(11)), WallTime(), "boot"}).has_value());
  ManualClock clock;
  CapturedLog log;
  metrics::Registry registry;
  const host::CgroupFs fs = fake.cgroups();
  Sampler sampler({}, collector_table(), fs, fake.root(), series, registry, Logger(log, clock));
  auto unknown = inventory({});
  unknown->pods_known = false;
  MonoTime now(minutes(11));
  if (!at_once) sampler.tick(unknown, now, WallTime());
  CHECK(series.find(Metric::pod_memory, "b"));  // nobody knows yet
  const auto known_now = inventory({a});
  for (int i = 0; i <= 60; ++i) sampler.tick(known_now, now += seconds(1), WallTime());
  CHECK(series.aggregate(Metric::pod_memory, "a", now, minutes(5))->count == 62);
  CHECK(series.aggregate(Metric::node_numa_memory, "1", now, minutes(5))->count == (at_once ? 62 : 63));
  CHECK(series.aggregate(Metric::system_numa_memory, "1", now, minutes(5))->count == 62);
  CHECK_FALSE(series.find(Metric::pod_memory, "b"));
}

}  // namespace
}  // namespace koord::koordlet
