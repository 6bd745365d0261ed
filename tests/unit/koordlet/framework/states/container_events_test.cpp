// Container events from cgroup folders that really come and go, and where a node's kubelet is asked.
#include "framework/states/container_events.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <filesystem>

#include "framework/states/kubelet.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/async/task_group.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupDriver;
using host::CgroupVersion;

struct Watched {
  testing::Tree tree;
  test::Loop loop;
  host::CgroupFs cgroups;
  std::string base;
  int changes = 0;
  ContainerEvents events;
  TaskGroup tasks{loop.executor()};

  Watched(CgroupVersion version, const std::string& kubepods)
      : cgroups(open(tree, version, kubepods)),
        base(std::string("sys/fs/cgroup/") + (version == CgroupVersion::v1 ? "cpu/" : "")),
        events(loop.executor(), cgroups, [this] { ++changes; }) {}
  ~Watched() { test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(1))); }

  static host::CgroupFs open(testing::Tree& tree, CgroupVersion version, const std::string& kubepods) {
    for (const char* hierarchy : {"cpu/", "cpuset/", "memory/"})
      tree.write(std::string("sys/fs/cgroup/") + hierarchy, "");
    tree.write("sys/fs/cgroup/" + std::string(version == CgroupVersion::v1 ? "cpu/" : "") + kubepods + "/",
               "");
    auto fs = host::CgroupFs::open(host::Root::below(tree.path()), version);
    REQUIRE(fs.has_value());
    return *fs;
  }
  void start(CgroupDriver driver) {
    REQUIRE(events.watch(driver).has_value());
    tasks.spawn("events", events.run());
    loop.settle();
  }
  /// How often `changed` was called for it.
  int make(const std::string& folder) {
    const int before = changes;
    tree.write(base + folder + "/", "");
    loop.settle();
    return changes - before;
  }
  int remove(const std::string& folder) {
    const int before = changes;
    std::filesystem::remove(tree / (base + folder));
    loop.settle();
    return changes - before;
  }
};

// Upstream's TestPlegHandlePodEvents, TestPlegHandleContainerEvents and Test_getWatchCgroupPath: folders that
// come and go, by driver and version, and whether anybody is told.
TEST_CASE("A pod or container that comes or goes is told at once") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  SECTION("systemd") {
    Watched watched(version, "kubepods.slice/kubepods-burstable.slice");
    watched.start(CgroupDriver::systemd);
    const std::string classes[] = {"kubepods.slice/kubepods-pod12345.slice",
                                   "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice"};
    int pods = 0;
    for (const std::string& pod : classes) {
      CHECK(watched.make(pod) == 1);
      CHECK(watched.events.pod_folders() == ++pods);
      CHECK(watched.make(pod + "/cri-containerd-container1.scope") == 1);
      CHECK(watched.remove(pod + "/cri-containerd-container1.scope") == 1);
    }
    CHECK(watched.remove(classes[0]) >= 1);
    CHECK(watched.events.pod_folders() == 1);
    // A folder that is no pod's: what is in it is nobody's business.
    watched.make("kubepods.slice/12345");
    CHECK(watched.make("kubepods.slice/12345/cri-containerd-container1.scope") == 0);
    CHECK(watched.events.pod_folders() == 1);
  }
  SECTION("systemd, below a cgroupRoot") {
    const std::string root = "kubelet.slice/kubelet-kubepods.slice";
    Watched watched(version, root);
    REQUIRE(watched.events.watch(CgroupDriver::systemd, "kubelet").has_value());
    watched.start(CgroupDriver::systemd);
    CHECK(watched.make(root + "/kubelet-kubepods-pod1.slice") == 1);
    CHECK(watched.events.pod_folders() == 1);
    CHECK(watched.make(root + "/kubelet-kubepods-pod1.slice/cri-containerd-c.scope") == 1);
  }
  SECTION("cgroupfs, with a pod that was there before") {
    Watched watched(version, "kubepods/besteffort/podold");
    watched.start(CgroupDriver::cgroupfs);
    CHECK(watched.events.pod_folders() == 1);
    CHECK(watched.make("kubepods/besteffort/podold/1234") == 1);
    CHECK(watched.make("kubepods/podnew") == 1);
    CHECK(watched.events.pod_folders() == 2);
  }
}

TEST_CASE("What the kubelet writes down of resources and CPUs is told at once, nothing else of its folder") {
  Watched watched(CgroupVersion::v2, "kubepods/podold");
  watched.start(CgroupDriver::cgroupfs);
  const std::string folder = watched.tree / "kubelet/";
  CHECK(watched.events.watch_kubelet(folder).has_value());  // it is not there yet
  watched.tree.write("kubelet/", "");
  REQUIRE(watched.events.watch_kubelet(folder).has_value());
  const auto renamed = [&](const std::string& name) {
    const int before = watched.changes;
    watched.tree.write("kubelet/.tmp", "{}");
    std::filesystem::rename(folder + ".tmp", folder + name);
    watched.loop.settle();
    return watched.changes - before;
  };
  CHECK(renamed("actuated_pods_state") == 1);
  CHECK(renamed("actuated_pods_state") == 1);
  CHECK(renamed("cpu_manager_state") == 1);
  CHECK(renamed("allocated_pods_state") == 1);
  CHECK(renamed("memory_manager_state") == 0);
  CHECK(watched.events.pod_folders() == 1);
}

TEST_CASE("Folders that the kubelet makes later are watched from then on") {
  Watched watched(CgroupVersion::v2, "other");
  watched.start(CgroupDriver::cgroupfs);
  CHECK(watched.events.pod_folders() == -1);
  CHECK(watched.make("kubepods") == 0);
  CHECK(watched.make("kubepods/poda") == 0);
  REQUIRE(watched.events.watch(CgroupDriver::cgroupfs).has_value());
  CHECK(watched.events.pod_folders() == 1);
  CHECK(watched.make("kubepods/podb") == 1);
}

TEST_CASE("Events that the kernel lost leave no pods behind that have gone, and none out that have come") {
  Watched watched(CgroupVersion::v2, "kubepods/burstable/podgone");
  const std::string burstable = watched.tree / (watched.base + "kubepods/burstable/");
  watched.tree.write(watched.base + "kubepods/burstable/podsame/", "");
  watched.start(CgroupDriver::cgroupfs);
  CHECK(watched.events.pod_folders() == 2);
  std::filesystem::remove(burstable + "podgone");
  std::filesystem::remove(burstable + "podsame");
  std::filesystem::create_directory(burstable + "podsame");
  std::filesystem::create_directory(burstable + "podnew");
  watched.events.take({{.watch = -1, .mask = IN_Q_OVERFLOW, .name = {}}});
  CHECK(watched.changes == 1);
  CHECK(watched.events.pod_folders() == 2);
  watched.loop.settle();  // the kernel lost none here, which changes nothing
  CHECK(watched.events.pod_folders() == 2);
  CHECK(watched.make("kubepods/burstable/podsame/container") == 1);
  CHECK(watched.make("kubepods/burstable/podnew/container") == 1);
  watched.remove("kubepods/burstable/podsame/container");
  watched.remove("kubepods/burstable/podsame");
  CHECK(watched.events.pod_folders() == 1);
}

TEST_CASE("The kubelet's address by the node's status and the flags") {
  const std::string two =
      R"("addresses":[{"type":"Hostname","address":"h"},{"type":"InternalIP","address":"10.0.0.1"}])";
  struct Row {
    std::string status;
    KubeletSettings settings;
    std::string host;  // empty: an error
    std::uint16_t port;
  };
  KubeletSettings by_name, plain;
  by_name.address_type = "Hostname";
  plain.read_only = true;
  KubeletSettings unknown;
  unknown.address_type = "Nonsense";
  const Row rows[] = {
      {two, {}, "10.0.0.1", 10250},
      {two + R"(,"daemonEndpoints":{"kubeletEndpoint":{"Port":10260}})", {}, "10.0.0.1", 10260},
      {two + R"(,"daemonEndpoints":{"kubeletEndpoint":{"Port":-1}})", {}, "10.0.0.1", 10250},
      {two + R"(,"daemonEndpoints":{"kubeletEndpoint":{"Port":70000}})", {}, "10.0.0.1", 10250},
      {two, by_name, "h", 10250},
      {two, plain, "10.0.0.1", 10255},
      {two, unknown, "10.0.0.1", 10250},
      {R"("addresses":[{"type":"ExternalDNS","address":"d"}])", {}, "d", 10250},
      {R"("addresses":[{"type":"InternalIP","address":""}])", {}, "", 0},
      {R"("addresses":[])", {}, "", 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.status, row.settings.address_type);
    const auto node = api::decode<api::Node>(R"({"metadata":{"name":"n"},"status":{)" + row.status + "}}");
    REQUIRE(node.has_value());
    const auto address = kubelet_address(*node, row.settings);
    REQUIRE(address.has_value() == !row.host.empty());
    if (address) CHECK(*address == KubeletAddress{row.host, row.port});
  }
}

// Each version of the kubelet has other fields, and other types of them (1.28 changed those of logging).
TEST_CASE("Complaint 1801: a kubelet's configuration is read by name, whatever its version is") {
  struct Row {
    std::string_view text;
    bool static_cpu_policy;
    std::optional<CgroupDriver> driver;
    std::string_view root;
  };
  const Row rows[] = {
      {R"({"kubeletconfig":{"cpuManagerPolicy":"static","cgroupDriver":"systemd","logging":{"flushFrequency":5000000000}}})",
       true, CgroupDriver::systemd, ""},
      {R"({"kubeletconfig":{"cpuManagerPolicy":"none","cgroupDriver":"cgroupfs","cgroupRoot":"/kubelet",
        "logging":{"flushFrequency":"5s","options":{"json":{"infoBufferSize":"0"}}},"new":[{"x":1}]}})",
       false, CgroupDriver::cgroupfs, "kubelet"},
      {R"({"kubeletconfig":{"cpuManagerPolicy":{"name":"static"},"cgroupDriver":7,"cgroupRoot":null}})",
       false,
       {},
       ""},
      {R"({"kubeletconfig":"no"})", false, {}, ""},
      {"{}", false, {}, ""},
      {"[]", false, {}, ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto config = read_kubelet_config(row.text);
    REQUIRE(config.has_value());
    CHECK(config->static_cpu_policy == row.static_cpu_policy);
    CHECK(config->driver == row.driver);
    CHECK(config->root == row.root);
  }
  for (const std::string_view text : {"", "<html>", R"({"kubeletconfig":{"cgroupRoot":"/../etc"}})"})
    CHECK(read_kubelet_config(text).has_error());
}

TEST_CASE("What the kubelet's CPU manager does, and what it keeps for the system") {
  const auto silent = read_kubelet_config("{}");
  REQUIRE(silent.has_value());
  CHECK(silent->cpu_policy == "none");
  CHECK(silent->topology_policy.empty());
  CHECK(silent->topology_scope == "container");
  CHECK(silent->reserved_milli == 0);
  const auto full = read_kubelet_config(
      R"({"kubeletconfig":{"cpuManagerPolicy":"static","cpuManagerPolicyOptions":{"z":"1","full-pcpus-only":"true","odd":7},
          "reservedSystemCPUs":"0,6","kubeReserved":{"cpu":"1800m","memory":"2Gi"},"systemReserved":{"cpu":"200m"},
          "topologyManagerPolicy":"restricted","topologyManagerScope":"pod"}})");
  REQUIRE(full.has_value());
  CHECK(full->cpu_policy == "static");
  CHECK(full->cpu_policy_options ==
        std::vector<std::pair<std::string, std::string>>{{"full-pcpus-only", "true"}, {"z", "1"}});
  CHECK(full->reserved_cpus == "0,6");
  CHECK(full->reserved_milli == 2000);
  CHECK(full->topology_policy == "restricted");
  CHECK(full->topology_scope == "pod");
  for (const char* amount : {R"("-1")", R"("much")", "7", R"("1E")"})
    CHECK(read_kubelet_config(fmt::format(R"({{"kubeletconfig":{{"kubeReserved":{{"cpu":{}}}}}}})", amount))
              ->reserved_milli == std::nullopt);
}

}  // namespace
}  // namespace koord::koordlet
