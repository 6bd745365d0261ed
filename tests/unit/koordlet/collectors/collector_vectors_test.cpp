// The sampler on the files of the original's own tests of its collectors (pkg/koordlet/metricsadvisor).
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "framework/tick/best_effort_use.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using std::chrono::seconds;
using testing::FakeNode;
using testing::inventory;
using testing::pod;
using Bench = testing::SamplerRig;

constexpr std::uint64_t kCpuSecond = 1'000'000'000;
constexpr double kPages = 104'857'600;  // what its groups have of each kind of pages

void used(FakeNode& fake, const std::string& group) {
  const bool v1 = fake.v1();
  const std::string t = v1 ? "total_" : "";
  fake.tree().write(
      fake.path("memory", group, "memory.stat"),
      fmt::format("{}\n{}\n{t}inactive_anon 104857600\n{t}active_anon 0\n{t}inactive_file 104857600\n"
                  "{t}active_file 0\n{t}unevictable 0\n",
                  v1 ? "total_cache 104857600" : "file 104857600",
                  v1 ? "total_rss 104857600" : "anon 104857600", fmt::arg("t", t)));
}

TEST_CASE("The original's rows of nodes, pods and containers, page cache included") {
  const CgroupVersion version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  FakeNode fake(version, 1);
  Bench bench(fake, {.page_cache = true});
  const auto a = pod("a", Qos::ls, 1);
  const std::string container = a->containers[0].group;
  for (const std::string& group : {a->group, container}) {
    fake.cpu(group, 0);
    used(fake, group);
  }
  fake.tree().write("proc/meminfo",
                    "MemTotal: 1048576 kB\nMemFree: 262144 kB\nMemAvailable: 524288 kB\nBuffers: 0 kB\n"
                    "Cached: 262144 kB\nActive(file): 0 kB\nInactive(file): 262144 kB\n");
  bench.tick(inventory({a}), seconds(0));
  for (const std::string& group : {a->group, container}) fake.cpu(group, kCpuSecond, 100, 50);
  fake.cpu_ticks({100});
  const TickView& view = bench.tick(inventory({a}), seconds(1));
  CHECK(view.node.cpu == Approx(1));
  CHECK(view.node.memory == 524'288.0 * 1024);
  CHECK(view.node.memory_with_page_cache == 786'432.0 * 1024);
  CHECK(view.pods[0].cpu == Approx(1));
  CHECK(view.pods[0].memory == kPages);
  CHECK(view.pods[0].memory_with_page_cache == 2 * kPages);
  CHECK(view.pods[0].throttled == Approx(0.5));
  CHECK(view.containers[0].cpu == Approx(1));
  CHECK(view.containers[0].memory == kPages);
  CHECK(view.containers[0].throttled == Approx(0.5));
  CHECK(bench.last(Metric::node_memory_with_page_cache, "", seconds(1)) == 786'432.0 * 1024);
  CHECK(bench.last(Metric::pod_memory_with_page_cache, "a", seconds(1)) == 2 * kPages);
  CHECK(bench.last(Metric::container_memory_with_page_cache, "a-c0", seconds(1)) == 2 * kPages);
  // What cannot be read is not there, and takes nothing else with it.
  fake.tree().write("proc/stat", "");
  fake.tree().write("proc/meminfo", "");
  const TickView& next = bench.tick(inventory({a}), seconds(2));
  CHECK_FALSE(known(next.node.cpu));
  CHECK_FALSE(known(next.node.memory));
  CHECK(next.pods[0].memory == kPages);
}

TEST_CASE("The original's rows of the best-effort tier") {
  struct Row {
    const char* cpus;
    std::int64_t quota_us;
    double limit;
  };
  for (const CgroupVersion version : {CgroupVersion::v1, CgroupVersion::v2})
    for (const Row& row : {Row{"1-2", -1, 2000}, Row{"1-15", 800'000, 8000}}) {
      FakeNode fake(version, 16);
      Bench bench(fake);
      auto be = pod("be", Qos::be, 2);
      be->requests.batch_cpu = 500 + 1000;
      const auto ls = pod("ls", Qos::ls, 2);
      const std::string root = "kubepods/besteffort";
      fake.cpuset(root, row.cpus);
      fake.quota(root, row.quota_us);
      fake.cpu(root, 12'000 * kCpuSecond);
      const auto now = inventory({be, ls});
      CHECK_FALSE(known(best_effort_use(bench.tick(now, seconds(0))).usage_milli));
      fake.cpu(root, 12'004 * kCpuSecond);
      const TickView& view = bench.tick(now, seconds(1));
      CHECK(best_effort_use(view).usage_milli == Approx(4000));
      CHECK(best_effort_use(view).request_milli == 1500);
      CHECK(best_effort_use(view).real_limit_milli == Approx(row.limit));
    }
}

TEST_CASE("The original's rows of NUMA nodes") {
  FakeNode fake(CgroupVersion::v2, 2, 2);
  Bench bench(fake);
  const auto numa = [&](int node, const std::string& text) {
    fake.tree().write(fmt::format("sys/devices/system/node/node{}/meminfo", node), text);
  };
  numa(0,
       "Node 0 MemTotal: 1048576 kB\nNode 0 MemFree: 262144 kB\nNode 0 Active(file): 131072 kB\n"
       "Node 0 Inactive(file): 131072 kB\nNode 0 SReclaimable: 65536 kB\nNode 0 Shmem: 65536 kB\n");
  numa(1,
       "Node 1 MemTotal: 1048576 kB\nNode 1 MemFree: 524288 kB\nNode 1 Active(file): 65536 kB\n"
       "Node 1 Inactive(file): 65536 kB\nNode 1 SReclaimable: 0 kB\nNode 1 Shmem: 0 kB\n");
  bench.tick(inventory({}), seconds(0));
  // Of CPUs nothing is known after one reading.
  CHECK_FALSE(known(bench.last(Metric::node_numa_cpu, "0", seconds(0))));
  CHECK(bench.last(Metric::node_numa_memory, "0", seconds(0)) == 458'752.0 * 1024);
  CHECK(bench.last(Metric::node_numa_memory, "1", seconds(0)) == 393'216.0 * 1024);
  fake.cpu_ticks({100, 200});
  bench.tick(inventory({}), seconds(1));
  CHECK(bench.last(Metric::node_numa_cpu, "0", seconds(1)) == Approx(1));
  CHECK(bench.last(Metric::node_numa_cpu, "1", seconds(1)) == Approx(2));
  CHECK(bench.last(Metric::node_numa_memory, "1", seconds(1)) == 393'216.0 * 1024);
}

TEST_CASE("The original's rows of the system's share of NUMA nodes") {
  FakeNode fake(CgroupVersion::v2, 4, 2);
  Bench bench(fake);
  const auto a = pod("a", Qos::ls, 0);
  fake.cpu(a->group, 0);
  fake.group_memory(a->group, 0, 0);
  // The original counts in bytes, the kernel in KiB and pages: of the first node half, of the second more
  // than is used there.
  fake.numa_memory(0, 2 << 20, 1 << 20);
  fake.numa_memory(1, 4 << 20, 2 << 20);
  fake.numa_pages(a->group, {128, 1024});
  bench.tick(inventory({a}), seconds(0));
  // Of four CPUs in use, one and three by node, the system's are 0.8.
  fake.cpu(a->group, 3'200'000'000);
  fake.cpu_ticks({100, 0, 300, 0});
  bench.tick(inventory({a}), seconds(1));
  CHECK(bench.last(Metric::system_numa_memory, "0", seconds(1)) == 512 * 1024);
  CHECK(bench.last(Metric::system_numa_memory, "1", seconds(1)) == 0);
  CHECK(bench.last(Metric::system_numa_cpu, "0", seconds(1)) == Approx(0.2));
  CHECK(bench.last(Metric::system_numa_cpu, "1", seconds(1)) == Approx(0.6));
}

TEST_CASE("The original's rows of host applications") {
  const std::string group = "kubepods/besteffort/test-host-app";
  struct Row {
    const char* what;
    const char *cpu_file, *memory_file;  // in the second tick; null: as it should be
    bool cpu, memory;
  };
  for (const CgroupVersion version : {CgroupVersion::v1, CgroupVersion::v2})
    for (const Row& row : {Row{"all of it", nullptr, nullptr, true, true},
                           Row{"a bad counter of CPU", "bad format", nullptr, false, true},
                           Row{"bad memory", nullptr, "bad format", true, false}}) {
      INFO(row.what);
      FakeNode fake(version);
      Bench bench(fake, {.page_cache = true});
      auto now = inventory({});
      now->host_applications = {{.name = "app", .qos = Qos::be, .group = group}};
      fake.cpu(group, 0);
      used(fake, group);
      const TickView& first = bench.tick(now, seconds(0));
      CHECK_FALSE(known(first.host_applications[0].cpu));
      fake.cpu(group, kCpuSecond);
      if (row.cpu_file != nullptr)
        fake.tree().write(fake.path("cpuacct", group, fake.v1() ? "cpuacct.usage" : "cpu.stat"),
                          row.cpu_file);
      if (row.memory_file != nullptr)
        fake.tree().write(fake.path("memory", group, "memory.stat"), row.memory_file);
      const Usage usage = bench.tick(now, seconds(1)).host_applications[0];
      CHECK(known(usage.cpu) == row.cpu);
      CHECK(known(usage.memory) == row.memory);
      if (row.cpu) CHECK(usage.cpu == Approx(1));
      if (row.memory) CHECK(usage.memory == kPages);
      if (row.memory) CHECK(usage.memory_with_page_cache == 2 * kPages);
    }
}

}  // namespace
}  // namespace koord::koordlet
