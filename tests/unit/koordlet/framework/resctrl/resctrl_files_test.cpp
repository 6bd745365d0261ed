// KernelResctrl: groups and tasks, on a folder of a test.
#include "framework/resctrl/resctrl_files.hpp"

#include <sys/xattr.h>

#include <catch2/catch.hpp>

#include "koord/host/file.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using koord::testing::Tree;
using Tasks = std::vector<std::int32_t>;

TEST_CASE("Groups of resctrl and threads of cgroups are files", "[koordlet][resctrl]") {
  for (const auto version : {CgroupVersion::v1, CgroupVersion::v2}) {
    Tree tree;
    const auto root = host::Root::below(tree.path());
    const std::string top = version == CgroupVersion::v1 ? "sys/fs/cgroup/cpu/" : "sys/fs/cgroup/";
    const std::string name = version == CgroupVersion::v1 ? "tasks" : "cgroup.threads";
    tree.write(top + "pods/a/" + name, "");
    tree.write(top + "pods/a/c1/" + name, "11\n12\n0\n");
    tree.write(top + "pods/a/c1/nested/deep/" + name, "13\n");
    tree.write(top + "pods/b/" + name, "x\n");
    tree.write("sys/fs/resctrl/schemata", "L3:0=f\n");
    tree.write("sys/fs/resctrl/tasks", "");
    tree.write("sys/fs/resctrl/info/L3/cbm_mask", "f\n");
    tree.write("sys/fs/resctrl/mon_groups/x/tasks", "");
    tree.write("sys/fs/resctrl/gold/tasks", "7\n8\n");
    const auto fs = host::CgroupFs::open(root, version);
    REQUIRE(fs.has_value());
    KernelResctrl resctrl(*fs, root);
    CHECK(resctrl.info()->caches.size() == 1);
    CHECK(resctrl.groups().value() == std::vector<std::string>{"gold"});
    CHECK(resctrl.tasks("gold").value() == Tasks{7, 8});
    CHECK(resctrl.tasks_below("pods/a").value() == Tasks{11, 12, 13});
    CHECK(resctrl.tasks_below("pods/b")->empty());
    CHECK(resctrl.tasks_below("pods/none").error().code() == Code::not_found);
    CHECK_FALSE(resctrl.tasks_below("").has_value());
    CHECK_FALSE(resctrl.tasks_below("../..").has_value());
    CHECK(resctrl.make("LS").has_value());
    CHECK(resctrl.make("LS").has_value());  // it is there
    CHECK(resctrl.exists("LS"));
    CHECK(!resctrl.is_watched("LS").value());
    tree.write("sys/fs/resctrl/LS/mon_groups/", "");
    CHECK(!resctrl.is_watched("LS").value());
    tree.write("sys/fs/resctrl/LS/mon_groups/theirs/", "");
    CHECK(resctrl.is_watched("LS").value());
    tree.remove("sys/fs/resctrl/LS/mon_groups");
    CHECK(resctrl.remove("LS").has_value());
    CHECK(resctrl.remove("LS").has_value());
    CHECK_FALSE(resctrl.exists("LS"));
    CHECK_FALSE(resctrl.make("none/LS").has_value());
    // One number a write, and an error of a task that has ended is told from others.
    CHECK(resctrl.move(12, "").has_value());
    CHECK(read_file(tree / "sys/fs/resctrl/tasks").value() == "12\n");
    CHECK(resctrl.move(12, "none").error().code() == Code::not_found);
  }
}

TEST_CASE("What this kernel does not know is not mounted", "[koordlet][resctrl]") {
  Tree tree;
  tree.write("sys/fs/resctrl/", "");
  tree.write("sys/fs/cgroup/cpu/", "");
  tree.write("proc/filesystems", "nodev\tsysfs\n\text4\n");
  const auto root = host::Root::below(tree.path());
  const auto fs = host::CgroupFs::open(root, CgroupVersion::v1);
  REQUIRE(fs.has_value());
  KernelResctrl resctrl(*fs, root);
  CHECK(resctrl.info().error().code() == Code::not_found);
  CHECK(resctrl.mount().error().code() == Code::unsupported);
  CHECK(resctrl.unmount().has_value());
}

TEST_CASE("What only the agent would see is not mounted", "[koordlet][resctrl]") {
  struct Row {
    const char* what;
    std::string mountinfo;
    bool reach;
  };
  const std::string root = "23 1 0:22 / / rw,relatime shared:1 - ext4 /dev/sda rw\n";
  const Row rows[] = {
      {"the host's", root + "24 23 0:5 / /sys rw shared:7 - sysfs sysfs rw\n", true},
      {"a unit's own", root + "24 23 0:5 / /sys rw shared:70 master:7 - sysfs sysfs rw\n", false},
      {"a pod's, from the host alone", root + "24 23 0:5 / /sys rw master:7 - sysfs sysfs rw\n", false},
      {"a private one", root + "24 23 0:5 / /sys rw - sysfs sysfs rw\n", false},
      {"the closest",
       root + "24 23 0:5 / /sys rw shared:7 - sysfs a rw\n25 24 0:6 / /sys/fs rw - sysfs b rw\n", false},
      {"the later", root + "24 23 0:5 / /sys rw - sysfs a rw\n25 24 0:6 / /sys rw shared:3 - sysfs b rw\n",
       true},
      {"of another folder", root + "24 23 0:5 / /sys/fs/resctrl2 rw - sysfs shared:9 rw\n", true},
      {"nothing", "", false},
      {"garbage", "24 23\n/sys\n", false},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(mounts_reach_host(row.mountinfo, "/sys/fs/resctrl/") == row.reach);
  }
  Tree tree;
  tree.write("sys/fs/resctrl/", "");
  tree.write("sys/fs/cgroup/cpu/", "");
  tree.write("proc/filesystems", "nodev\tresctrl\n");
  tree.write("proc/self/mountinfo", "23 1 0:22 / / rw,relatime shared:8 master:1 - ext4 /dev/sda rw\n");
  const auto below = host::Root::below(tree.path());
  const auto fs = host::CgroupFs::open(below, CgroupVersion::v1);
  REQUIRE(fs.has_value());
  KernelResctrl resctrl(*fs, below);
  const auto mounted = resctrl.mount();
  REQUIRE_FALSE(mounted.has_value());
  CHECK(mounted.error().code() == Code::unsupported);
  CHECK(mounted.error().message().find("mount it on the host") != std::string::npos);
}

TEST_CASE("Whether a mount has groups, and which one it is", "[koordlet][resctrl]") {
  Tree tree;
  tree.write("sys/fs/resctrl/info/", "");
  tree.write("sys/fs/cgroup/cpu/", "");
  const auto root = host::Root::below(tree.path());
  const auto fs = host::CgroupFs::open(root, CgroupVersion::v1);
  REQUIRE(fs.has_value());
  KernelResctrl resctrl(*fs, root);
  CHECK(resctrl.is_bare().value());
  tree.write("sys/fs/resctrl/mon_groups/", "");
  CHECK(resctrl.is_bare().value());
  tree.write("sys/fs/resctrl/mon_groups/theirs/tasks", "");
  CHECK_FALSE(resctrl.is_bare().value());
  const std::string which = resctrl.which().value();
  CHECK_FALSE(which.empty());
  CHECK(resctrl.which().value() == which);
  // One of koord's is marked.
  if (::setxattr((tree / "sys/fs/resctrl").c_str(), "trusted.koord", "", 0, 0) == 0)
    CHECK(resctrl.which().value() != which);
}

}  // namespace
}  // namespace koord::koordlet
