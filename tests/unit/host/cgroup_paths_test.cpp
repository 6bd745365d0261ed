#include "koord/host/cgroup_paths.hpp"

#include <catch2/catch.hpp>

using namespace koord::host;

TEST_CASE("pods' folders of both drivers") {
  struct Row {
    CgroupDriver driver;
    KubeQos qos;
    const char* folder;
  };
  const Row rows[] = {
      {CgroupDriver::systemd, KubeQos::guaranteed, "kubepods.slice/kubepods-poda_b.slice"},
      {CgroupDriver::systemd, KubeQos::burstable,
       "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda_b.slice"},
      {CgroupDriver::systemd, KubeQos::besteffort,
       "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poda_b.slice"},
      {CgroupDriver::cgroupfs, KubeQos::guaranteed, "kubepods/poda-b"},
      {CgroupDriver::cgroupfs, KubeQos::burstable, "kubepods/burstable/poda-b"},
      {CgroupDriver::cgroupfs, KubeQos::besteffort, "kubepods/besteffort/poda-b"},
  };
  for (const Row& row : rows) {
    CHECK(pod_folder(row.driver, row.qos, "a-b") == row.folder);
    CHECK(qos_of_path(row.folder) == row.qos);
  }
}

TEST_CASE("a kubelet's cgroupRoot") {
  struct Row {
    CgroupDriver driver;
    const char* root;
    KubeQos qos;
    const char* folder;
  };
  const Row rows[] = {
      {CgroupDriver::cgroupfs, "/kubelet", KubeQos::burstable, "kubelet/kubepods/burstable"},
      {CgroupDriver::cgroupfs, "/a//b-c/", KubeQos::guaranteed, "a/b-c/kubepods"},
      {CgroupDriver::cgroupfs, "/", KubeQos::besteffort, "kubepods/besteffort"},
      {CgroupDriver::systemd, "", KubeQos::besteffort, "kubepods.slice/kubepods-besteffort.slice"},
      {CgroupDriver::systemd, "/kubelet", KubeQos::guaranteed, "kubelet.slice/kubelet-kubepods.slice"},
      {CgroupDriver::systemd, "kubelet", KubeQos::besteffort,
       "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice"},
      {CgroupDriver::systemd, "a/b-c", KubeQos::guaranteed, "a.slice/a-b_c.slice/a-b_c-kubepods.slice"},
  };
  for (const Row& row : rows) {
    INFO(row.root);
    const auto root = kubelet_root(row.root);
    REQUIRE(root.has_value());
    CHECK(kubepods_folder(row.driver, row.qos, *root) == row.folder);
    const std::string pod = pod_folder(row.driver, row.qos, "u-1", *root);
    CHECK(is_below(pod, row.folder));
    CHECK(pod.ends_with(row.driver == CgroupDriver::cgroupfs ? "/podu-1" : "-podu_1.slice"));
  }
  for (const char* text : {"..", "/a/../b", "a b", "/a\nb", "./a"}) CHECK(kubelet_root(text).has_error());
}

TEST_CASE("containers' folders of the four runtimes, there and back") {
  struct Row {
    const char* text;
    const char* scope;
    const char* folder;
  };
  const Row rows[] = {{"docker://1a", "docker-1a.scope", "1a"},
                      {"containerd://1a", "cri-containerd-1a.scope", "1a"},
                      {"pouch://1a", "pouch-1a.scope", "1a"},
                      {"cri-o://1a", "crio-1a.scope", "crio-1a"}};
  for (const Row& row : rows) {
    const auto id = parse_container_id(row.text);
    REQUIRE(id.has_value());
    CHECK(container_folder(CgroupDriver::systemd, *id) == row.scope);
    CHECK(container_folder(CgroupDriver::cgroupfs, *id) == row.folder);
    CHECK(container_id_of_folder(CgroupDriver::systemd, row.scope) == "1a");
    CHECK(container_id_of_folder(CgroupDriver::cgroupfs, row.folder) == "1a");
  }
  CHECK(container_id_of_folder(CgroupDriver::systemd, "kubepods-pod1.slice").empty());
  CHECK(container_id_of_folder(CgroupDriver::systemd, "other-1a.scope").empty());
}

TEST_CASE("a container id is untrusted") {
  for (const char* text :
       {"", "1a", "rkt://1a", "containerd://", "containerd://../../etc", "containerd://a/b"}) {
    INFO(text);
    CHECK(parse_container_id(text).has_error());
  }
}

TEST_CASE("a group is inside another one by whole names") {
  struct Row {
    std::string_view group, of;
    bool below, within;
  };
  const Row rows[] = {
      {"kubepods/besteffort/pod1", "kubepods/besteffort", true, true},
      {"kubepods/besteffort", "kubepods/besteffort", false, true},
      {"kubepods/besteffort2", "kubepods/besteffort", false, false},
      {"kubepods", "kubepods/besteffort", false, false},
      {"kubepods", "", true, true},
      {"", "", false, true},
      {"", "kubepods", false, false},
  };
  for (const Row& row : rows) {
    INFO(row.group << " in " << row.of);
    CHECK(is_below(row.group, row.of) == row.below);
    CHECK(is_within(row.group, row.of) == row.within);
  }
}
