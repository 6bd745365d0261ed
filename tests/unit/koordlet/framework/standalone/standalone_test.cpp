// The standalone file: read, refused with its line, and followed while it or the machine changes.
#include "framework/standalone/standalone.hpp"

#include <fmt/format.h>
#include <sys/xattr.h>

#include <catch2/catch.hpp>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "framework/standalone/config.hpp"
#include "framework/standalone/controllers.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/host/file.hpp"
#include "rigs/evict_rig.hpp"
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

/// Groups by what is below them; "!" in front of a name: it has processes of its own.
using Folders = std::map<std::string, std::vector<std::string>>;
std::vector<FoundGroups> found(const StandaloneConfig& config, const Folders& folders,
                               const std::set<std::string>& populated = {}) {
  return find_groups(
      config,
      [&](const std::string& group) -> std::optional<std::vector<std::string>> {
        const auto at = folders.find(group);
        return at != folders.end() ? std::optional(at->second) : std::nullopt;
      },
      [&](const std::string& group) { return populated.contains(group); });
}

TEST_CASE("The file becomes an inventory") {
  const auto config = read_standalone(kFile, "f.yaml");
  REQUIRE(config.has_value());
  const Inventory inventory = standalone_inventory(*config, {4000, 1 << 30}, found(*config, {}));
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

TEST_CASE("Patterns and children of a best-effort slice are groups of their own") {
  struct Row {
    const char* what;
    std::string_view groups;
    Folders folders;
    std::set<std::string> populated;
    std::map<std::string, std::string> pods;  // by uid: their groups
    std::vector<std::string> roots;
  };
  const Row rows[] = {
      {"each that matches",
       "[{name: b, cgroupPath: batch.slice/*, qos: BE}]",
       {{"batch.slice", {"a.service", "run-1.scope"}}},
       {},
       {{"b/a.service", "batch.slice/a.service"}, {"b/run-1.scope", "batch.slice/run-1.scope"}},
       {"batch.slice/a.service", "batch.slice/run-1.scope"}},
      {"a part of a name, in the middle of a path",
       "[{name: b, cgroupPath: 'user-*.slice/job-*.service', qos: LS}]",
       {{"", {"user-1.slice", "web.slice", "user-2.slice"}},
        {"user-1.slice", {"job-7.service", "other.service"}},
        {"user-2.slice", {"job-.service"}}},
       {},
       {{"b/user-1.slice/job-7.service", "user-1.slice/job-7.service"},
        {"b/user-2.slice/job-.service", "user-2.slice/job-.service"}},
       {}},
      {"children of a best-effort slice, which is limited as a whole",
       "[{name: b, cgroupPath: batch.slice, qos: BE}]",
       {{"batch.slice", {"a.service", "batch-night.slice"}},
        {"batch.slice/batch-night.slice", {"n.service"}},
        {"batch.slice/a.service", {"inner"}}},
       {},
       {{"b/a.service", "batch.slice/a.service"},
        {"b/batch-night.slice/n.service", "batch.slice/batch-night.slice/n.service"}},
       {"batch.slice"}},
      {"a slice that has processes is one",
       "[{name: b, cgroupPath: batch.slice, qos: BE}]",
       {{"batch.slice", {"a"}}},
       {"batch.slice"},
       {{"b", "batch.slice"}},
       {"batch.slice"}},
      {"an empty one, too",
       "[{name: b, cgroupPath: batch.slice, qos: BE}]",
       {{"batch.slice", {}}},
       {},
       {{"b", "batch.slice"}},
       {"batch.slice"}},
      {"a slice of services that are protected stays whole",
       "[{name: w, cgroupPath: web.slice, qos: LS}]",
       {{"web.slice", {"a.service"}}},
       {},
       {{"w", "web.slice"}},
       {}},
      {"what is written out is meant before what matches, then the first",
       "[{name: all, cgroupPath: 'b/*', qos: BE}, {name: one, cgroupPath: b/x, qos: LS}, {name: y, "
       "cgroupPath: 'b/y*', qos: LS}]",
       {{"b", {"x", "y1"}}},
       {},
       {{"one", "b/x"}, {"all/y1", "b/y1"}},
       {"b/y1"}},
      {"nothing matches", "[{name: b, cgroupPath: 'batch.slice/*', qos: BE}]", {}, {}, {}, {}},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const auto config = read_standalone(fmt::format("groups: {}\n", row.groups), "f.yaml");
    REQUIRE(config.has_value());
    const Inventory inventory =
        standalone_inventory(*config, {4000, 1 << 30}, found(*config, row.folders, row.populated));
    std::map<std::string, std::string> pods;
    for (const auto& pod : inventory.pods) pods[pod->uid] = pod->group;
    CHECK(pods == row.pods);
    CHECK(inventory.be_roots == row.roots);
  }
}

TEST_CASE("Memory eviction takes the least important child, then the largest, and not the slice") {
  const auto config = read_standalone(
      "groups:\n"
      "- {name: batch, cgroupPath: batch.slice, qos: BE, priority: koord-batch}\n"
      "- {name: free, cgroupPath: free.slice, qos: BE, priority: koord-free}\n",
      "f.yaml");
  REQUIRE(config.has_value());
  const bool free = GENERATE(false, true);
  Folders folders = {{"batch.slice", {"large.service", "small.service"}}};
  if (free) folders["free.slice"] = {"tiny.scope"};
  testing::EvictRig rig("BEMemoryEvict=true");
  auto& evict = rig.slo();
  evict.memory_evict_threshold_percent = 50;
  evict.memory_evict_lower_percent = 48;
  const auto slo = rig.inventory.slo;
  rig.inventory = standalone_inventory(*config, {4000, 120'000'000'000}, found(*config, folders));
  rig.inventory.slo = slo;
  for (const auto& pod : rig.inventory.pods)
    rig.pod_usage.push_back({.memory = pod->uid == "batch/large.service" ? 20e9
                                       : pod->uid == "free"              ? kUnknown
                                                                         : 3e9});
  rig.node_memory = 61;
  CHECK(rig.tick_for() == testing::Names{free ? "free/tiny.scope" : "batch/large.service"});
  REQUIRE(rig.runner.told.size() == 1);
  CHECK(groups_to_stop(*rig.runner.told[0].action.pod) ==
        std::vector<std::string>{free ? "free.slice/tiny.scope" : "batch.slice/large.service"});
}

TEST_CASE("What a group asks for and may use is what the file says, and nothing is made up") {
  const auto config = read_standalone(
      "groups:\n"
      "- {name: a, cgroupPath: a.slice, qos: LS, requests: {cpu: 1500m, memory: 4Gi}, limits: {memory: "
      "8Gi}}\n"
      "- {name: b, cgroupPath: b.slice, qos: BE, requests: {cpu: 2, memory: 1Gi}, priority: koord-free}\n"
      "- {name: c, cgroupPath: c.slice, qos: LS, requests: {cpu: 1}}\n",
      "f.yaml");
  REQUIRE(config.has_value());
  const Inventory inventory = standalone_inventory(*config, {4000, 1 << 30}, found(*config, {}));
  const PodInfo &a = *inventory.pods[0], &b = *inventory.pods[1], &c = *inventory.pods[2];
  CHECK((a.requests.cpu == 1500 && a.requests.memory == 4LL << 30 && a.memory_limit == 8LL << 30));
  CHECK_FALSE(a.requests_unknown);
  CHECK((b.requests.batch_cpu == 2000 && b.requests.batch_memory == 1LL << 30 && b.requests.memory == 0));
  CHECK((b.priority == 3500 && a.priority == 9500));
  CHECK((c.requests_unknown && c.requests.cpu == 1000 && !c.memory_limit));
  for (const std::string_view bad : {"requests: {memory: -1Gi}", "limits: {cpu: 1}"})
    CHECK(read_standalone(fmt::format("groups: [{{name: a, cgroupPath: a, qos: LS, {}}}]\n", bad), "f.yaml")
              .has_error());
}

TEST_CASE("Groups that come, go and are missing are followed and told") {
  test::Loop loop;
  CapturedLog captured;
  Logger log(captured, loop.clock);
  koord::testing::Tree tree({{"a.yaml", "groups:\n- {name: b, cgroupPath: batch.slice, qos: BE}\n"},
                             {"proc/stat", "cpu  9 0 0 9 0 0 0 0 0 0\ncpu0 9 0 0 9 0 0 0 0 0 0\n"},
                             {"proc/meminfo", "MemTotal: 4 kB\nMemFree: 1 kB\n"},
                             {"sys/fs/cgroup/cgroup.procs", ""}});
  const auto root = host::Root::below(tree.path());
  const auto cgroups = *host::CgroupFs::open(root, host::CgroupVersion::v2);
  InventoryHub hub;
  Standalone standalone(loop.executor(), loop.clock, log, hub, tree / "a.yaml", "host", root, cgroups);
  REQUIRE(standalone.load().has_value());
  CHECK(captured.contains("there is no such cgroup"));
  REQUIRE(standalone.sources().size() == 2);
  CHECK(standalone.sources()[1].error == "no cgroup yet: b (batch.slice)");
  TaskGroup tasks(loop.executor());
  tasks.spawn("follow", standalone.follow());
  loop.settle();
  tree.write("sys/fs/cgroup/batch.slice/cgroup.procs", "");
  tree.write("sys/fs/cgroup/batch.slice/one.service/cgroup.procs", "7\n");
  loop.advance(std::chrono::seconds(1));
  CHECK(standalone.sources().size() == 1);
  REQUIRE(hub.current()->pods.size() == 1);
  CHECK(hub.current()->pods[0]->uid == "b/one.service");
  const auto generation = hub.current()->generation;
  loop.advance(std::chrono::seconds(1));
  CHECK(hub.current()->generation == generation);
  tree.remove("sys/fs/cgroup/batch.slice");
  loop.advance(std::chrono::seconds(1));
  CHECK(hub.current()->pods[0]->uid == "b");
  CHECK(standalone.sources().size() == 2);
  test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(1)));
}

TEST_CASE(
    "On cgroup v2 missing controllers are switched on below what is delegated, or the drop-in is named") {
  struct Row {
    const char* what;
    bool systemd;
    std::string delegated;   // a group that has the attribute
    std::string own, above;  // controllers of the group; subtree_control of its parent
    std::string error, written;
    std::string kernel = "cpu cpuset memory", given = "cpu memory";  // of the root; of the parent
    std::string group = "top/batch.slice";
  };
  const std::string none = " nothing is held back or protected by it there. Write /etc/systemd/system/";
  const std::string reload = ", then run systemctl daemon-reload";
  const Row rows[] = {
      {"it has them", true, "", "cpuset cpu memory", "cpu", "", "cpu"},
      {"they are systemd's", true, "", "io", "cpu",
       "the cgroup top/batch.slice has no controller cpu, memory:" + none +
           "batch.slice.d/koord.conf with [Slice] CPUWeight=100 MemoryAccounting=yes" + reload,
       "cpu"},
      {"nobody else's", false, "", "", "cpu", "", "+memory"},
      {"its parent is delegated", true, "top", "", "cpu", "", "+memory"},
      {"the root is", true, ".", "", "cpu", "", "+memory"},
      {"itself is, which says nothing of what is above it", true, "top/batch.slice", "cpu", "cpu",
       "the cgroup top/batch.slice has no controller memory:" + none +
           "batch.slice.d/koord.conf with [Slice] MemoryAccounting=yes" + reload,
       "cpu"},
      {"its parent is delegated, and was not given it", true, "top", "", "cpu",
       "the cgroup top has no controller memory:" + none +
           "top.d/koord.conf with [Slice] MemoryAccounting=yes" + reload,
       "cpu", "cpu cpuset memory", "cpu"},
      {"the kernel has none", true, "", "", "cpu",
       "the kernel has no controller memory in cgroup v2, which top/batch.slice needs: see cgroup_disable= "
       "on its "
       "command line, and whether cgroup v1 has it",
       "cpu", "cpu cpuset"},
      {"a transient unit: the next one has another name", true, "", "", "cpu",
       "the cgroup top/run-*.scope has no controller cpu, memory:" + none +
           "run-.scope.d/koord.conf with [Scope] CPUWeight=100 MemoryAccounting=yes" + reload,
       "cpu", "cpu cpuset memory", "cpu memory", "top/run-r1.scope"},
      {"one that has a file", true, "", "", "cpu",
       "the cgroup top/run-r2.service has no controller cpu, memory:" + none +
           "run-r2.service.d/koord.conf with [Service] CPUWeight=100 MemoryAccounting=yes" + reload,
       "cpu", "cpu cpuset memory", "cpu memory", "top/run-r2.service"},
  };
  for (const Row& row : rows) {
    for (const char* attribute : {"trusted.delegate", "user.delegate"}) {
      INFO(row.what << ", " << attribute);
      koord::testing::Tree tree({{"cgroup.controllers", row.kernel},
                                 {"cgroup.subtree_control", "cpu memory"},
                                 {"top/cgroup.controllers", row.given},
                                 {"top/cgroup.subtree_control", row.above},
                                 {row.group + "/cgroup.controllers", row.own},
                                 {"transient/run-r1.scope", ""}});
      if (!row.delegated.empty() && setxattr((tree / row.delegated).c_str(), attribute, "1", 1, 0) != 0) {
        WARN(attribute << " cannot be set here: " << std::strerror(errno));
        continue;
      }
      const ControllerFiles files{
          .cgroups = tree.path() + "/", .systemd = row.systemd, .transient = tree / "transient/"};
      const auto done = enable_controllers(files, row.group, {"cpu", "memory"});
      CHECK((done ? "" : std::string(done.error().message())) == row.error);
      CHECK(*read_file(tree / "top/cgroup.subtree_control") == row.written);
      if (done) CHECK(*done == (row.written != row.above));
      const auto gone = enable_controllers(files, "gone", {"cpu"});
      CHECK((gone.has_value() && !*gone));
    }
  }
  koord::testing::Tree tree({{"cgroup.controllers", "cpuset"},
                             {"cgroup.subtree_control", ""},
                             {"cgroup.procs", "1\n"},
                             {"cpuset.cpus.effective", "0-7\n"},
                             {"b.scope/cgroup.controllers", ""}});
  const auto sets = enable_controllers({.cgroups = tree.path() + "/", .systemd = true, .transient = ""},
                                       "b.scope", {"cpuset"});
  REQUIRE(sets.has_error());
  CHECK_THAT(sets.error().message(), Catch::Contains("b.scope.d/koord.conf with [Scope] AllowedCPUs=0-7,"));
  using Names = std::vector<std::string>;
  const auto needs = [](std::string_view slo, Qos qos, bool unit = false) {
    const auto config = read_standalone(fmt::format("nodeSLO: {}\n", slo), "f.yaml");
    REQUIRE(config.has_value());
    return needed_controllers(*standalone_inventory(*config, {4000, 1 << 30}, {}).slo, qos, unit);
  };
  CHECK(needs("{}", Qos::be).empty());
  CHECK(needs("{resourceUsedThresholdWithBE: {enable: true, cpuSuppressPolicy: cpuset}}", Qos::be) ==
        Names{"cpu", "cpuset", "memory"});
  // What limits is the slice's; who is evicted is told by what each unit uses.
  CHECK(needs("{resourceUsedThresholdWithBE: {enable: true, cpuSuppressPolicy: cpuset}}", Qos::be, true) ==
        Names{"memory"});
  CHECK(needs("{resourceUsedThresholdWithBE: {enable: true}}", Qos::ls).empty());
  CHECK(needs("{resourceQOSStrategy: {lsClass: {memoryQOS: {enable: true}}}}", Qos::ls) == Names{"memory"});
  CHECK(needs("{resourceQOSStrategy: {beClass: {cpuQOS: {enable: true, groupIdentity: -1}}}}", Qos::be) ==
        Names{"cpu"});
}

TEST_CASE("While groups have not the controllers that they need it is not ready, and says it once") {
  test::Loop loop;
  CapturedLog captured;
  Logger log(captured, loop.clock);
  koord::testing::Tree tree(
      {{"a.yaml",
        "nodeSLO: {resourceUsedThresholdWithBE: {enable: true, cpuSuppressPolicy: cfsQuota}}\n"
        "groups:\n- {name: b, cgroupPath: batch.slice, qos: BE}\n"},
       {"proc/stat", "cpu  9 0 0 9 0 0 0 0 0 0\ncpu0 9 0 0 9 0 0 0 0 0 0\n"},
       {"proc/meminfo", "MemTotal: 4 kB\nMemFree: 1 kB\n"},
       {"run/systemd/system/", ""},
       {"sys/fs/cgroup/cgroup.controllers", "cpu memory"},
       {"sys/fs/cgroup/cgroup.subtree_control", "memory"},
       {"sys/fs/cgroup/batch.slice/cgroup.controllers", "memory"},
       {"sys/fs/cgroup/batch.slice/cgroup.subtree_control", "memory"},
       {"sys/fs/cgroup/batch.slice/cgroup.procs", ""}});
  const auto unit = [&](const std::string& name, const std::string& controllers, bool transient) {
    const std::string group = "sys/fs/cgroup/batch.slice/" + name;
    tree.write(group + "/cgroup.controllers", controllers);
    tree.write(group + "/cgroup.procs", "7\n");
    if (transient) tree.write("run/systemd/transient/" + name.substr(name.rfind('/') + 1), "");
  };
  unit("a.service", "memory", false);
  const auto root = host::Root::below(tree.path());
  const auto cgroups = *host::CgroupFs::open(root, host::CgroupVersion::v2);
  InventoryHub hub;
  Standalone standalone(loop.executor(), loop.clock, log, hub, tree / "a.yaml", "host", root, cgroups);
  REQUIRE(standalone.load().has_value());
  TaskGroup tasks(loop.executor());
  tasks.spawn("follow", standalone.follow());
  const auto look = [&] { loop.advance(std::chrono::seconds(1)); };
  loop.settle();
  REQUIRE(standalone.controllers().has_error());
  CHECK_THAT(standalone.controllers().error().message(),
             Catch::StartsWith("the cgroup batch.slice has no controller cpu:"));
  CHECK(standalone.sources().back().name == "controllers");
  look();
  CHECK(captured.count(LogLevel::error) == 1);
  // As after a daemon-reload with the drop-in: files come that were absent.
  const auto generation = hub.current()->generation;
  tree.write("sys/fs/cgroup/batch.slice/cgroup.controllers", "cpu memory");
  look();
  CHECK(standalone.controllers().has_value());  // a unit needs no cpu: its slice is limited
  CHECK(hub.current()->generation > generation);
  // Transient units come and go, and are one matter.
  tree.write("sys/fs/cgroup/batch.slice/batch-night.slice/cgroup.controllers", "memory");
  tree.write("sys/fs/cgroup/batch.slice/batch-night.slice/cgroup.subtree_control", "");
  tree.write("sys/fs/cgroup/batch.slice/batch-night.slice/cgroup.procs", "");
  unit("batch-night.slice/run-r1.scope", "", true);
  look();
  CHECK_THAT(standalone.controllers().error().message(),
             Catch::Contains("batch.slice/batch-night.slice/run-*.scope has no controller memory:"));
  unit("batch-night.slice/run-r2.scope", "", true);
  tree.remove("sys/fs/cgroup/batch.slice/batch-night.slice/run-r1.scope");
  look();
  CHECK(captured.count(LogLevel::error) == 2);
  tree.remove("sys/fs/cgroup/batch.slice/batch-night.slice/run-r2.scope");
  look();
  CHECK(standalone.controllers().has_value());
  test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(1)));
}

TEST_CASE("The file is followed; a bad one leaves the old one in effect and is named") {
  test::Loop loop;
  CapturedLog captured;
  Logger log(captured, loop.clock);
  koord::testing::Tree tree({{"a.yaml", std::string(kFile)}});
  InventoryHub hub;
  const auto online = [&](std::string_view cpus) {
    tree.write("proc/stat", fmt::format("cpu  9 0 0 9 0 0 0 0 0 0\n{}", cpus));
  };
  constexpr std::string_view kCpu0 = "cpu0 9 0 0 9 0 0 0 0 0 0\n", kCpu1 = "cpu1 9 0 0 9 0 0 0 0 0 0\n";
  online(fmt::format("{}{}", kCpu0, kCpu1));
  tree.write("proc/meminfo", "MemTotal: 4 kB\nMemFree: 1 kB\n");
  tree.write("sys/fs/cgroup/web.slice/cgroup.procs", "1\n");
  tree.write("sys/fs/cgroup/batch.slice/cgroup.procs", "1\n");
  const auto cgroups = *host::CgroupFs::open(host::Root::below(tree.path()), host::CgroupVersion::v2);
  Standalone standalone(loop.executor(), loop.clock, log, hub, tree / "a.yaml", "host",
                        host::Root::below(tree.path()), cgroups);
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
