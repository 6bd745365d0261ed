// Which folder of a pod is its pause container's, for the runtimes, drivers and cgroup versions.
#include "framework/states/sandbox.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "rigs/fake_node.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupDriver;
using host::CgroupVersion;
using testing::FakeNode;

TEST_CASE("The sandbox is the container that no status names") {
  struct Folder {
    const char* name;
    bool populated = true;
  };
  struct Row {
    const char* name;
    CgroupDriver driver;
    std::string_view ids;  // of "now", "init" and "before": what their status names
    std::vector<Folder> folders;
    std::string_view sandbox;  // empty: none, or not known
  };
  constexpr std::string_view kContainerd = "containerd://", kDocker = "docker://", kCrio = "cri-o://";
  const std::vector<Row> rows{
      {"containerd, systemd",
       CgroupDriver::systemd,
       kContainerd,
       {{"cri-containerd-now.scope"}, {"cri-containerd-pause.scope"}},
       "cri-containerd-pause.scope"},
      {"containerd, cgroupfs", CgroupDriver::cgroupfs, kContainerd, {{"now"}, {"pause"}}, "pause"},
      {"docker",
       CgroupDriver::systemd,
       kDocker,
       {{"docker-now.scope"}, {"docker-p.scope"}},
       "docker-p.scope"},
      {"CRI-O, which has a monitor, too",
       CgroupDriver::systemd,
       kCrio,
       {{"crio-now.scope"}, {"crio-conmon-now.scope"}, {"crio-pause.scope"}, {"crio-conmon-pause.scope"}},
       "crio-pause.scope"},
      {"CRI-O, cgroupfs",
       CgroupDriver::cgroupfs,
       kCrio,
       {{"crio-now"}, {"crio-conmon-now"}, {"crio-pause"}, {"crio-conmon-pause"}},
       "crio-pause"},
      {"CRI-O without pause containers",
       CgroupDriver::systemd,
       kCrio,
       {{"crio-now.scope"}, {"crio-conmon-now.scope"}},
       ""},
      {"before any container", CgroupDriver::cgroupfs, kContainerd, {{"pause"}}, "pause"},
      {"one that has just ended, and the init container, are named, too",
       CgroupDriver::cgroupfs,
       kContainerd,
       {{"now"}, {"init"}, {"before"}, {"pause"}},
       "pause"},
      {"something else's folder",
       CgroupDriver::systemd,
       kContainerd,
       {{"cri-containerd-pause.scope"}, {"nested.slice"}, {"init.scope"}},
       "cri-containerd-pause.scope"},
      {"a container that the kubelet has not told of yet",
       CgroupDriver::cgroupfs,
       kContainerd,
       {{"now"}, {"fresh"}, {"pause"}},
       ""},
      {"a folder that was left behind",
       CgroupDriver::cgroupfs,
       kContainerd,
       {{"now"}, {"old", false}, {"pause"}},
       "pause"},
      {"no folder", CgroupDriver::cgroupfs, kContainerd, {}, ""},
  };
  for (const CgroupVersion version : {CgroupVersion::v1, CgroupVersion::v2})
    for (const Row& row : rows) {
      CAPTURE(row.name, version == CgroupVersion::v2);
      FakeNode node(version);
      const std::string text = fmt::format(
          R"({{"metadata":{{"name":"p","namespace":"d","uid":"u1"}},"spec":{{"containers":[{{"name":"c"}}]}},
              "status":{{"phase":"Running","initContainerStatuses":[{{"name":"i","containerID":"{0}init"}}],
              "containerStatuses":[{{"name":"c","containerID":"{0}now","state":{{"running":{{}}}},
                "lastState":{{"terminated":{{"exitCode":1,"containerID":"{0}before"}}}}}}]}}}})",
          row.ids);
      auto list = read_pod_list(fmt::format(R"({{"kind":"PodList","apiVersion":"v1","items":[{}]}})", text),
                                "n1", row.driver);
      REQUIRE(list.has_value());
      REQUIRE(list->pods.size() == 1);
      const std::string group = list->pods[0]->group;
      for (const Folder& folder : row.folders)
        node.tree().write(node.path("cpu", fmt::format("{}/{}", group, folder.name), "cgroup.procs"),
                          folder.populated ? "17\n" : "");
      find_sandboxes(*list, node.cgroups(), row.driver);
      CHECK(list->pods[0]->sandbox_group ==
            (row.sandbox.empty() ? "" : fmt::format("{}/{}", group, row.sandbox)));
      CHECK(list->all[0] == list->pods[0]);
      // What is known is not looked for again.
      const auto found = list->pods[0];
      std::filesystem::remove_all(node.tree() / node.path("cpu", group, ""));
      find_sandboxes(*list, node.cgroups(), row.driver);
      CHECK(list->pods[0] == found);
    }
}

TEST_CASE("A pod without an object, as those of a file, has no sandbox") {
  FakeNode node(CgroupVersion::v2);
  node.tree().write(node.path("", "web.slice/other", "cgroup.procs"), "1\n");
  PodInfo pod;
  pod.group = "web.slice";
  CHECK(sandbox_group(pod, node.cgroups(), CgroupDriver::cgroupfs).empty());
}

}  // namespace
}  // namespace koord::koordlet
