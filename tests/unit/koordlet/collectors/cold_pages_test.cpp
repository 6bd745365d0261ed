// Cold pages as kidled finds them, and huge pages: the original's rows, and what ticks and metrics show.
#include <fmt/format.h>

#include <array>
#include <catch2/catch.hpp>

#include "framework/tick/huge_use.hpp"
#include "koord/host/cgroup_stats.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using std::chrono::seconds;
using testing::FakeNode;
using testing::inventory;
using testing::pod;
using Bench = testing::SamplerRig;

constexpr std::uint64_t kCold = 52'834'304;

/// kidled's file: `cfei` and `dfei` are what stands in these rows.
std::string idle_pages(const std::string& cfei, const std::string& dfei) {
  std::string text =
      "# version: 1.0\n# page_scans: 24\n# slab_scans: 0\n# scan_period_in_seconds: 120\n# use_hierarchy: 1\n"
      "# buckets: 1,2,5,15,30,60,120,240\n#\n#   _-----=> clean/dirty\n#  / _----=> swap/file\n"
      "# | / _---=> evict/unevict\n# || / _--=> inactive/active\n# ||| / _-=> slab\n# |||| /\n"
      "# |||||             [1,2)          [2,5)         [5,15)        [15,30)        [30,60)       [60,120)  "
      "    "
      "[120,240)     [240,+inf)\n";
  for (const char* row : {"csei", "dsei", "cfei", "dfei", "csui", "dsui", "cfui", "dfui", "csea", "dsea",
                          "cfea", "dfea", "csua", "dsua", "cfua", "dfua", "slab"}) {
    const std::string name = row;
    text += fmt::format("  {} {}\n", name,
                        name == "cfei"   ? cfei
                        : name == "dfei" ? dfei
                        : name == "csei" ? "2613248 4657152 18182144 293683200 0 7 7 7"    // no file pages
                        : name == "cfea" ? "9273344 16609280 152109056 315121664 0 7 7 7"  // in use
                                         : "0 0 0 0 0 0 0 0");
  }
  return text;
}

TEST_CASE("What kidled counts, as the original's rows have it") {
  const std::string none = "0 0 4096 0 0 0 0 0";
  CHECK(*host::parse_cold_pages(idle_pages("2633728 4640768 66531328 340172800 0 0 0 0", none)) == 0);
  CHECK(*host::parse_cold_pages(
            idle_pages("2633728 4640768 66531328 340172800 52834304 52834304 0 0", none)) == kCold);
  CHECK(*host::parse_cold_pages(idle_pages("1 1 1 1 1 52834304 0 0", "0 0 4096 0 0 52834304 0 0")) ==
        2 * kCold);
  CHECK(*host::parse_cold_pages(idle_pages("0 0 0 0 0 1 2 4", none)) == 7);
  CHECK(*host::parse_cold_pages(idle_pages("0 0 0", none)) == 0);  // fewer buckets
  const std::string good = idle_pages(none, none);
  CHECK(host::parse_cold_pages(good.substr(0, good.size() - 1)).has_value());
  for (const std::string& bad :
       {std::string(), good + "more\n", good.substr(good.find('\n') + 1), idle_pages("0 0 0 0 0 x 0 0", none),
        idle_pages("0 0 0 0 0 -1 0 0", none), idle_pages("0 0 0 0 0 18446744073709551615 1 0", none)})
    CHECK(host::parse_cold_pages(bad).error().code() == Code::parse);
}

struct Machine {
  Machine() : a(pod("a", Qos::ls, 1)), now(inventory({a})) {
    now->host_applications = {{"app", Qos::ls, PriorityClass::prod, "host-latency-sensitive/app"}};
    fake.tree().write("sys/kernel/mm/kidled/scan_period_in_seconds", "5\n");
    fake.tree().write("sys/kernel/mm/kidled/use_hierarchy", "1\n");
    fake.memory(1 << 30, 512 << 20, 256 << 20);
    for (const std::string& group : groups()) {
      fake.group_memory(group, 100 << 20, 100 << 20);
      cold(group, kCold);
    }
    cold("", 2 * kCold);
  }
  std::array<std::string, 3> groups() const {
    return {a->group, a->containers[0].group, "host-latency-sensitive/app"};
  }
  void cold(const std::string& group, std::uint64_t bytes) {
    fake.tree().write(fake.path("memory", group, "memory.idle_page_stats"),
                      idle_pages(fmt::format("0 0 0 0 0 {} 0 0", bytes), "0 0 0 0 0 0 0 0"));
  }
  FakeNode fake{CgroupVersion::v1};
  std::shared_ptr<PodInfo> a;
  std::shared_ptr<Inventory> now;
};

TEST_CASE("Cold pages of the node, of pods, containers and host applications") {
  Machine machine;
  Bench bench(machine.fake, {.is_on = &testing::every_gate});
  const auto has = [&bench](const std::string& line) {
    return bench.registry.exposition().find(line) != std::string::npos;
  };
  for (int i = 0; i < 5; ++i) bench.tick(machine.now, seconds(i));
  CHECK(bench.last(Metric::node_memory_with_hot_pages, "", seconds(4)) == (768 << 20) - 2.0 * kCold);
  CHECK(bench.last(Metric::pod_memory_with_hot_pages, "a", seconds(4)) == (200 << 20) - 1.0 * kCold);
  CHECK(bench.last(Metric::host_application_memory_with_hot_pages, "app", seconds(4)) ==
        (200 << 20) - 1.0 * kCold);
  CHECK(has("koordlet_node_memory_cold_page_size{pages=\"file\"} 1.05668608e+08"));
  CHECK(has(
      "koordlet_pod_memory_cold_page_size{pod_uid=\"a\",pod_name=\"name-of-a\",pod_namespace=\"default\"} "
      "5.2834304e+07"));
  CHECK(has(
      "koordlet_container_memory_cold_page_size{container_id=\"a-c0\",container_name=\"c0\",pod_uid=\"a\","
      "pod_name=\"name-of-a\",pod_namespace=\"default\"} 5.2834304e+07"));
  CHECK(has("koordlet_host_application_memory_cold_page_size{host_application_name=\"app\"} 5.2834304e+07"));
  CHECK(has("koordlet_collector_available{collector=\"cold_pages\"} 1"));

  // What is cold is part of what is used, whichever was read first; a bad file is its own.
  machine.cold(machine.a->group, 1ULL << 40);
  machine.fake.tree().write(
      machine.fake.path("memory", machine.a->containers[0].group, "memory.idle_page_stats"), "none\n");
  for (int i = 5; i < 10; ++i) bench.tick(machine.now, seconds(i));
  CHECK(bench.last(Metric::pod_memory_with_hot_pages, "a", seconds(9)) == 0);
  CHECK_FALSE(
      has("container_id=\"a-c0\",container_name=\"c0\",pod_uid=\"a\",pod_name=\"name-of-a\",pod_namespace="
          "\"default\"} 5.2834304e+07"));
  CHECK(bench.sampler.stats().faults == 1);

  auto empty = inventory({});
  bench.tick(empty, seconds(10));
  CHECK_FALSE(has("koordlet_pod_memory_cold_page_size{pod_uid=\"a\""));
  CHECK_FALSE(has("host_application_name=\"app\"} 5.2834304e+07"));
  CHECK_FALSE(bench.series.find(Metric::pod_memory_with_hot_pages, "a"));
}

TEST_CASE("Memory without cold pages, as the original's rows have it") {
  Machine machine;
  for (const std::string& group : machine.groups()) {
    machine.fake.tree().write(
        machine.fake.path("memory", group, "memory.stat"),
        "total_cache 104857600\ntotal_rss 104857600\ntotal_inactive_anon 104857600\n"
        "total_active_anon 104857600\ntotal_inactive_file 104857600\ntotal_active_file 0\n"
        "total_unevictable 0\n");
    machine.cold(group, 100);
  }
  machine.fake.tree().write("proc/meminfo",
                            "MemTotal: 263432804 kB\nMemFree: 254391744 kB\nMemAvailable: 256703236 kB\n"
                            "Buffers: 958096 kB\nCached: 3763224 kB\nActive(file): 2496524 kB\n"
                            "Inactive(file): 2222452 kB\nSReclaimable: 445164 kB\n");
  machine.cold("", 100);
  Bench bench(machine.fake, {.is_on = &testing::every_gate});
  for (int i = 0; i < 5; ++i) bench.tick(machine.now, seconds(i));
  // Series keep four bytes a sample.
  CHECK(bench.last(Metric::node_memory_with_hot_pages, "", seconds(4)) ==
        static_cast<float>((263'432'804.0 - 254'391'744) * 1024 - 100));
  CHECK(bench.last(Metric::pod_memory_with_hot_pages, "a", seconds(4)) ==
        static_cast<float>(3.0 * 104'857'600 - 100));
  CHECK(bench.last(Metric::host_application_memory_with_hot_pages, "app", seconds(4)) ==
        static_cast<float>(3.0 * 104'857'600 - 100));
  // Neither of a machine without that file nor of a group whose file lacks a line is anything known.
  Machine lacking;
  lacking.fake.tree().remove("proc/meminfo");
  lacking.fake.tree().write(lacking.fake.path("memory", lacking.a->group, "memory.stat"),
                            "total_cache 104857600\ntotalxxx_rss 104857600\n");
  Bench other(lacking.fake, {.is_on = &testing::every_gate});
  for (int i = 0; i < 5; ++i) other.tick(lacking.now, seconds(i));
  CHECK_FALSE(known(other.last(Metric::node_memory_with_hot_pages, "", seconds(4))));
  CHECK_FALSE(known(other.last(Metric::pod_memory_with_hot_pages, "a", seconds(4))));
}

TEST_CASE("Without kidled nothing of it is read") {
  Machine machine;
  bool gate = true;
  SECTION("no kidled") { machine.fake.tree().remove("sys/kernel/mm/kidled"); }
  SECTION("half of it") { machine.fake.tree().remove("sys/kernel/mm/kidled/use_hierarchy"); }
  SECTION("the gate is off") { gate = false; }
  SamplerConfig config;
  config.is_on = [gate](std::string_view name) { return gate && name == "ColdPageCollector"; };
  Bench bench(machine.fake, config);
  for (int i = 0; i < 6; ++i) bench.tick(machine.now, seconds(i));
  const std::string shown = bench.registry.exposition();
  CHECK(shown.find("cold_page_size{") == std::string::npos);
  CHECK_FALSE(bench.series.find(Metric::pod_memory_with_hot_pages, "a"));
  CHECK((shown.find("koordlet_collector_available{collector=\"cold_pages\"} 0") != std::string::npos) ==
        gate);
  CHECK(bench.log.contains("the kernel has no kidled") == gate);
}

TEST_CASE("Huge pages of each memory node, where the gate asks for them") {
  FakeNode fake(CgroupVersion::v2, 4, 2);
  const auto pages = [&fake](int node, const char* size, const char* text) {
    fake.tree().write(
        fmt::format("sys/devices/system/node/node{}/hugepages/hugepages-{}/nr_hugepages", node, size), text);
  };
  pages(0, "2048kB", "20\n");
  pages(1, "2048kB", "40\n");
  pages(1, "1048576kB", "3\n");
  pages(1, "64kB", "1000\n");
  CHECK(read_node_facts(fake.root())->numa_memory[1].huge.all() == 0);
  const auto facts = read_node_facts(fake.root(), true);
  REQUIRE(facts.has_value());
  CHECK(facts->numa_memory[0].huge.two_mib == 40 << 20);
  CHECK(facts->numa_memory[0].huge.one_gib == 0);
  CHECK(facts->numa_memory[1].huge.all() == (80ULL << 20) + (3ULL << 30));
  pages(0, "2048kB", "many\n");
  CHECK(read_node_facts(fake.root(), true).error().message().find("node0/hugepages/hugepages-2048kB") !=
        std::string::npos);
  pages(0, "2048kB", "20\n");

  // More of them while the agent runs: found with the machine's CPUs, every minute.
  Bench bench(fake, {.is_on = &testing::every_gate});
  CHECK(bench.tick(inventory({}), seconds(0)).facts->numa_memory[0].huge.two_mib == 40 << 20);
  const NodeFacts* const first = bench.tick(inventory({}), seconds(1)).facts.get();
  CHECK(bench.tick(inventory({}), seconds(61)).facts.get() == first);
  pages(0, "2048kB", "21\n");
  CHECK(bench.tick(inventory({}), seconds(122)).facts->numa_memory[0].huge.two_mib == 42 << 20);
}

TEST_CASE(
    "Huge pages in use: all less those that are free, every ten seconds, where the gate asks for them") {
  FakeNode fake(CgroupVersion::v2, 4, 2);
  const auto pages = [&fake](int node, const char* size, const char* all, const char* free) {
    const std::string folder =
        fmt::format("sys/devices/system/node/node{}/hugepages/hugepages-{}/", node, size);
    fake.tree().write(fmt::format("{}nr_hugepages", folder), all);
    fake.tree().write(fmt::format("{}free_hugepages", folder), free);
  };
  pages(0, "2048kB", "20\n", "5\n");
  pages(1, "2048kB", "4\n", "4\n");
  pages(1, "1048576kB", "3\n", "1\n");
  Bench off(fake, {});
  CHECK(off.tick(inventory({}), seconds(0)).find<HugeUse>() == nullptr);
  Bench bench(fake, {.is_on = [](std::string_view gate) { return gate == "HugePageReport"; }});
  const auto use = [&bench](int second) {
    return bench.tick(inventory({}), seconds(second)).find<HugeUse>();
  };
  const HugeUse* shown = use(0);
  REQUIRE(shown != nullptr);
  CHECK(shown->node.two_mib == 30 << 20);
  CHECK(shown->node.one_gib == 2ULL << 30);
  REQUIRE(shown->numa.size() == 2);
  CHECK(shown->numa[0].used.all() == 30 << 20);
  CHECK(shown->numa[1].used.all() == 2ULL << 30);
  pages(1, "2048kB", "4\n", "0\n");
  for (int second = 1; second < 10; ++second) CHECK(use(second)->node.two_mib == 30 << 20);
  CHECK(use(10)->node.two_mib == 38 << 20);
  // One more page is free than there were when all were counted; then a file that says nothing.
  pages(0, "2048kB", "20\n", "21\n");
  for (int second = 11; second < 20; ++second) use(second);
  CHECK(use(20)->numa[0].used.all() == 0);
  pages(0, "2048kB", "20\n", "-1\n");
  for (int second = 21; second < 30; ++second) use(second);
  CHECK(use(30) == nullptr);
  CHECK(bench.log.contains("node0/hugepages/hugepages-2048kB/free_hugepages"));
}

TEST_CASE("Huge pages of a kernel without memory nodes") {
  FakeNode fake(CgroupVersion::v2, 2);
  fake.tree().remove("sys/devices/system/node");
  fake.tree().write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "5\n");
  const auto facts = read_node_facts(fake.root(), true);
  REQUIRE(facts.has_value());
  CHECK(facts->huge.all() == 10 << 20);
  fake.tree().write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "1\n");
  Bench bench(fake, {.is_on = &testing::every_gate});
  const HugeUse* const use = bench.tick(inventory({}), seconds(0)).find<HugeUse>();
  REQUIRE(use != nullptr);
  CHECK(use->node.all() == 8 << 20);
  CHECK(use->numa.empty());
}

}  // namespace
}  // namespace koord::koordlet
