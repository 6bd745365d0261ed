// The standalone file: read, refused with its line, and followed while it or the machine changes.
#include "framework/standalone/standalone.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "framework/standalone/config.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

constexpr std::string_view kFile = R"(nodeName: box
reservedCPU: 500m
nodeSLO:
  resourceUsedThresholdWithBE:
    enable: true
    cpuSuppressThresholdPercent: 60
    cpuSuppressPolicy: cfsQuota
groups:
- name: web
  cgroupPath: /web.slice/
  qos: LS
- name: batch
  cgroupPath: batch.slice
  qos: BE
  priority: koord-batch
hostApplications:
- name: database
  qos: LS
  cgroupPath: {base: CgroupRoot, relativePath: db.slice}
)";

TEST_CASE("The file becomes an inventory") {
  const auto config = read_standalone(kFile, "f.yaml");
  REQUIRE(config.has_value());
  const Inventory inventory = standalone_inventory(*config, {4000, 1 << 30});
  CHECK(inventory.node.name == "box");
  CHECK(inventory.node.capacity_milli_cpu == 4000);
  CHECK(inventory.node.reserved_milli_cpu == 500);
  REQUIRE(inventory.pods.size() == 2);
  CHECK(inventory.pods[0]->uid == "batch");
  CHECK(inventory.pods[0]->is_be());
  CHECK(inventory.pods[0]->priority_class == PriorityClass::batch);
  CHECK(inventory.pods[1]->group == "web.slice");
  CHECK_FALSE(inventory.pods[1]->is_be());
  CHECK(inventory.be_roots == std::vector<std::string>{"batch.slice"});
  REQUIRE(inventory.host_applications.size() == 1);
  CHECK(inventory.host_applications[0].group == "db.slice");
  CHECK(inventory.slo->resource_used_threshold_with_be->cpu_suppress_threshold_percent == 60);
  CHECK(inventory.slo->resource_used_threshold_with_be->memory_evict_threshold_percent == 70);
  CHECK((inventory.slo_known && inventory.pods_known));
}

TEST_CASE("What is wrong in the file is named with its line and path") {
  struct Row {
    std::string_view text, want;
  };
  const Row rows[] = {
      {"groups:\n- name: a\n  cgroupPath: x\n  qos: LS\n  color: red\n", "f.yaml:5: .groups[0].color"},
      {"groups:\n- name: a\n  cgroupPath: x\n  qos: HIGH\n", "f.yaml:4: .groups[0].qos"},
      {"groups:\n- name: a\n  qos: LS\n", "f.yaml:2: .groups[0].cgroupPath"},
      {"nodeSLO:\n  resourceUsedThresholdWithBE:\n    cpuSuppressThresholdPercent: 300\n",
       "f.yaml:3: .nodeSLO.resourceUsedThresholdWithBE.cpuSuppressThresholdPercent"},
      {"groups:\n- {name: a, cgroupPath: x, qos: LS}\n- {name: a, cgroupPath: y, qos: LS}\n",
       "f.yaml:3: .groups[1].name"},
      {"groups:\n- {name: a, cgroupPath: x, qos: LS}\n- {name: b, cgroupPath: x/y, qos: BE}\n",
       "f.yaml:3: .groups[1].cgroupPath"},
      {"groups:\n- {name: a, cgroupPath: /, qos: LS}\n", "f.yaml:2: .groups[0].cgroupPath"},
      {"groups:\n- {name: a, cgroupPath: ../x, qos: LS}\n", "f.yaml:2: .groups[0].cgroupPath"},
      {"groups:\n- {name: a, cgroupPath: \"x\\ny\", qos: LS}\n", "f.yaml:2: .groups[0].cgroupPath"},
      {"groups:\n- {name: a, cgroupPath: x/y, qos: LS}\n- {name: b, cgroupPath: ./x//y/, qos: BE}\n",
       "f.yaml:3: .groups[1].cgroupPath"},
      {"reservedCPUs: 3-1\n", "f.yaml:1: .reservedCPUs"},
      {"nodeName: n\nreservedCPU: -400m\n", "f.yaml:2: .reservedCPU: \"-400m\": expected a number of CPUs"},
      {"hostApplications:\n- {name: kubepods}\n",
       "f.yaml:1: .hostApplications: host application \"kubepods\": its"},
      {"groups:\n- {name: a, cgroupPath: x/y, qos: LS}\nhostApplications:\n- {name: x}\n",
       "f.yaml:3: .hostApplications: host application \"x\": \"x\" and the group \"x/y\""},
      {"groups:\n- {name: a, cgroupPath: x, qos: LS}\nnodeSLO:\n  hostApplications:\n  - {name: x}\n",
       "f.yaml:4: .nodeSLO.hostApplications"},
      {"groups: 7\n", "f.yaml:1: .groups"},
      {"nodeName: [\n", "f.yaml:"},
  };
  for (const Row& row : rows) {
    const auto config = read_standalone(row.text, "f.yaml");
    REQUIRE(config.has_error());
    CAPTURE(config.error().message(), row.want);
    CHECK(config.error().message().starts_with(row.want));
  }
}

TEST_CASE("The file is followed; a bad one leaves the old one in effect and is named") {
  test::Loop loop;
  CapturedLog captured;
  Logger log(captured, loop.clock);
  testing::Tree tree({{"a.yaml", std::string(kFile)}});
  InventoryHub hub;
  const auto online = [&](std::string_view cpus) {
    tree.write("proc/stat", fmt::format("cpu  9 0 0 9 0 0 0 0 0 0\n{}", cpus));
  };
  constexpr std::string_view kCpu0 = "cpu0 9 0 0 9 0 0 0 0 0 0\n", kCpu1 = "cpu1 9 0 0 9 0 0 0 0 0 0\n";
  online(fmt::format("{}{}", kCpu0, kCpu1));
  tree.write("proc/meminfo", "MemTotal: 4 kB\nMemFree: 1 kB\n");
  Standalone standalone(loop.executor(), loop.clock, log, hub, tree / "a.yaml", "host",
                        host::Root::below(tree.path()));
  REQUIRE(standalone.load().has_value());
  CHECK(hub.current()->node.capacity_milli_cpu == 2000);
  CHECK(hub.current()->pods.size() == 2);
  TaskGroup tasks(loop.executor());
  tasks.spawn("follow", standalone.follow());
  // The kernel tells; where it does not, the clock does.
  auto wait_for = [&](auto condition) {
    for (int i = 0; i < 100 && !condition(); ++i) loop.advance(std::chrono::seconds(10));
    CHECK(condition());
  };
  loop.settle();
  tree.write("a.yaml", "groups:\n- {name: only, cgroupPath: only.slice, qos: BE}\n");
  wait_for([&] { return hub.current()->pods.size() == 1; });
  CHECK(hub.current()->node.name == "host");
  const auto generation = hub.current()->generation;
  tree.write("a.yaml", "groups:\n- {name: only, cgroupPath: only.slice, qos: NONE}\n");
  wait_for([&] { return captured.contains("a.yaml:2: .groups[0].qos"); });
  CHECK(hub.current()->generation == generation);
  CHECK_FALSE(standalone.sources()[0].ok);
  tree.write("a.yaml", std::string(kFile));
  wait_for([&] { return hub.current()->pods.size() == 2; });
  CHECK(standalone.sources()[0].ok);
  online(kCpu0);
  wait_for([&] { return hub.current()->node.capacity_milli_cpu == 1000; });
  tree.remove("a.yaml");
  wait_for([&] { return !standalone.sources()[0].ok; });
  CHECK(hub.current()->pods.size() == 2);
  test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(1)));
}

}  // namespace
}  // namespace koord::koordlet
