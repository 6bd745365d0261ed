#include "koord/host/cgroup_fs.hpp"

#include <catch2/catch.hpp>

#include "support/tree.hpp"

using namespace koord;
using namespace koord::host;
using koord::testing::Tree;

TEST_CASE("v1: hierarchies mounted one by one and together") {
  Tree tree({{"sys/fs/cgroup/cpu,cpuacct/kubepods/", ""},
             {"sys/fs/cgroup/memory/", ""},
             {"sys/fs/cgroup/cpuset/", ""}});
  const auto fs = CgroupFs::open(Root::below(tree.path()));
  REQUIRE(fs.has_value());
  CHECK(fs->version() == CgroupVersion::v1);
  const std::string base = tree.path() + "/sys/fs/cgroup/";
  CHECK(*fs->write_path(Knob::cpu_quota, "kubepods/burstable") ==
        base + "cpu,cpuacct/kubepods/burstable/cpu.cfs_quota_us");
  CHECK(*fs->read_path(Knob::cpu_usage, "kubepods") == base + "cpu,cpuacct/kubepods/cpuacct.usage");
  CHECK(*fs->read_path(Knob::memory_stat, "") == base + "memory/memory.stat");
  CHECK(fs->detect_driver() == CgroupDriver::cgroupfs);
}

TEST_CASE("v1: a hierarchy that is not mounted is unsupported, by name") {
  Tree tree({{"sys/fs/cgroup/memory/", ""}});
  const auto fs = CgroupFs::open(Root::below(tree.path()));
  REQUIRE(fs.has_value());
  const auto path = fs->write_path(Knob::cpuset_cpus, "kubepods");
  REQUIRE(path.has_error());
  CHECK(path.error().code() == Code::unsupported);
  CHECK(path.error().message().find("cpuset") != std::string::npos);
  CHECK_FALSE(fs->detect_driver().has_value());
}

TEST_CASE("v2, forced on a fake root: one tree, reading the effective cpuset") {
  Tree tree({{"sys/fs/cgroup/kubepods.slice/", ""}});
  const auto fs = CgroupFs::open(Root::below(tree.path()), CgroupVersion::v2);
  REQUIRE(fs.has_value());
  const std::string base = tree.path() + "/sys/fs/cgroup/";
  CHECK(*fs->write_path(Knob::cpu_quota, "kubepods.slice") == base + "kubepods.slice/cpu.max");
  CHECK(*fs->write_path(Knob::cpuset_cpus, "kubepods.slice") == base + "kubepods.slice/cpuset.cpus");
  CHECK(*fs->read_path(Knob::cpuset_cpus, "kubepods.slice") == base + "kubepods.slice/cpuset.cpus.effective");
  CHECK(fs->detect_driver() == CgroupDriver::systemd);
}

TEST_CASE("the scheduler's features are where the kernel has them") {
  const std::string file = GENERATE("sys/kernel/debug/sched/features", "sys/kernel/debug/sched_features");
  Tree tree({{"sys/fs/cgroup/", ""}, {file, "START_DEBIT NO_HRTICK\n"}});
  const auto fs = CgroupFs::open(Root::below(tree.path()), CgroupVersion::v2);
  REQUIRE(fs.has_value());
  CHECK(*fs->write_path(Knob::sched_feature, "") == tree / file);
  CHECK(*fs->read_path(Knob::sched_feature, "") == tree / file);
}

TEST_CASE("other domains have places of their own") {
  Tree tree({{"sys/fs/cgroup/", ""}});
  const auto fs = CgroupFs::open(Root::below(tree.path()), CgroupVersion::v2);
  REQUIRE(fs.has_value());
  const std::string groups = tree / "sys/fs/resctrl";
  CHECK(*fs->write_path(Knob::schemata, "") == groups + "/schemata");
  CHECK(*fs->write_path(Knob::schemata, "be") == groups + "/be/schemata");
  CHECK(*fs->folder(Knob::schemata, "be") == groups + "/be");
  CHECK(*fs->folder(Knob::schemata, "") == groups);
  CHECK(*fs->write_path(Knob::sys_text, "a/b") == tree / "sys/a/b");
  CHECK(*fs->folder(Knob::sys_text, "a/b") == tree / "sys/a");
  CHECK(*fs->write_path(Knob::link, "eth0/qdisc") == "netlink:eth0/qdisc");
  CHECK(*fs->folder(Knob::link, "eth0/qdisc") == "netlink:eth0");
  for (const Knob knob : {Knob::schemata, Knob::sys_text, Knob::link})
    CHECK(fs->write_path(knob, "../x").error().code() == Code::invalid);
}

TEST_CASE("a group never leaves its hierarchy, a missing root is an error") {
  Tree tree({{"sys/fs/cgroup/", ""}});
  const auto fs = CgroupFs::open(Root::below(tree.path()), CgroupVersion::v2);
  REQUIRE(fs.has_value());
  for (const char* group : {"../x", "a/../../x", "/etc", "a/.."})
    CHECK(fs->write_path(Knob::cpu_quota, group).error().code() == Code::invalid);
  CHECK(CgroupFs::open(Root::below(tree / "none")).error().code() == Code::not_found);
}
