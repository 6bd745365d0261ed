// Actions: the file of what was done, the agent's own pod, and stopping groups, on fake hierarchies with
// processes of this test.
#include "framework/action/actions.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "framework/action/processes.hpp"
#include "framework/action/stop_group.hpp"
#include "koord/base/file.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using koord::testing::Tree;

class NoRunner final : public ActionRunner {
 public:
  void run(const Action&, Done) override {}
};

TEST_CASE("The file of actions: what is garbled is named, another boot's is of no use",
          "[koordlet][actions]") {
  Tree tree;
  ManualClock clock;
  clock.advance(std::chrono::minutes(10));
  CapturedLog log;
  metrics::Registry metrics;
  NoRunner runner;
  const auto load = [&](const std::string& text) {
    tree.write("evicted", text);
    Actions actions({.file = {.path = tree / "evicted", .boot_id = "b"}}, runner, clock, Logger(log, clock),
                    metrics);
    return actions.load();
  };
  CHECK(load("koord-actions 1 b\n").has_value());
  CHECK(load("koord-actions 1 b\nS\tstop\tbegun\t5\tu\tx/y\tz\nS\tevict\tdone\t6\tv\n").value() ==
        std::vector<std::string>{"x/y", "z"});
  CHECK(load("koord-actions 1 other\nnonsense\n").value().empty());
  for (const char* bad :
       {"", "koord-actions 1 b", "koord-journal 1 b\n", "koord-actions 1 b\nS\n",
        "koord-actions 1 b\nS\tstop\tdone\tx\tu\n", "koord-actions 1 b\nS\tstop\tdone\t1\t\n",
        "koord-actions 1 b\nS\tburn\tdone\t1\tu\n", "koord-actions 1 b\nS\tstop\tmaybe\t1\tu\n",
        "koord-actions 1 b\nS\tstop\tbegun\t1\tu\t\tx\n"})
    CHECK_FALSE(load(bad).has_value());
}

TEST_CASE("A file of actions from an older place moves", "[koordlet][actions]") {
  Tree tree;
  ManualClock clock;
  CapturedLog log;
  metrics::Registry metrics;
  NoRunner runner;
  tree.write("old", "koord-actions 1 b\nS\tevict\tdone\t0\tv\n");
  Actions actions({.file = {.path = tree / "new", .older = {tree / "old"}, .boot_id = "b"}}, runner, clock,
                  Logger(log, clock), metrics);
  REQUIRE(actions.load().has_value());
  CHECK(actions.is_cooling("S", std::chrono::seconds(5)));
  CHECK_FALSE(actions.is_cooling("T", std::chrono::seconds(5)));
  auto pod = std::make_shared<PodInfo>();
  pod->uid = "u";
  CHECK(actions.begin({.pod = pod, .message = "m", .strategy = "S"}, false));
  CHECK(read_file(tree / "new").value() == "koord-actions 1 b\nS\tevict\tdone\t0\tv\nS\tstop\tbegun\t0\tu\n");
  CHECK_FALSE(read_file(tree / "old").has_value());
}

TEST_CASE("The agent's own pod is the one whose hosts file it has", "[koordlet][actions]") {
  CHECK(own_pod_uid("") == "");
  CHECK(
      own_pod_uid("901 800 8:1 /var/lib/kubelet/pods/1a-2b/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n") ==
      "1a-2b");
  CHECK(own_pod_uid("900 800 8:1 /var/lib/kubelet/pods/other/volumes/x /data rw - ext4 /dev/sda1 rw\n"
                    "901 800 8:1 /kubelet/pods/mine/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n") ==
        "mine");
  CHECK(own_pod_uid("901 800 8:1 /pods/a/b/etc-hosts /etc/hosts rw - ext4 /dev/sda1 rw\n") == "");
  CHECK(own_pod_uid("901 800 8:1 /etc/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n") == "");
}

/// A process that does nothing, ended with the test.
class Sleeper {
 public:
  Sleeper() {
    char name[] = "sleep";
    char seconds[] = "1000";
    char* const arguments[] = {name, seconds, nullptr};
    REQUIRE(::posix_spawnp(&pid_, name, nullptr, nullptr, arguments, environ) == 0);
  }
  ~Sleeper() {
    if (ended_) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  pid_t pid() const { return pid_; }
  bool runs() const { return ::kill(pid_, 0) == 0 && ::waitpid(pid_, nullptr, WNOHANG) == 0; }
  bool was_killed() {
    int status = 0;
    ended_ = ::waitpid(pid_, &status, 0) == pid_;
    return ended_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  }

 private:
  pid_t pid_ = 0;
  bool ended_ = false;
};

TEST_CASE("v2: a group is killed by one write", "[koordlet][actions]") {
  Tree tree;
  tree.write("kubepods/podu/c/cgroup.procs", "2\n");
  tree.write("kubepods/podu/c/cgroup.kill", "");
  tree.write("kubepods/empty/cgroup.procs", "");
  tree.write("kubepods/empty/cgroup.kill", "");
  const auto fs = host::CgroupFs::open({.cgroup = tree.path() + "/"}, host::CgroupVersion::v2);
  REQUIRE(fs.has_value());
  CHECK(stop_group(*fs, "kubepods/podu/c").value());
  CHECK(read_file(tree / "kubepods/podu/c/cgroup.kill").value() == "1");
  CHECK_FALSE(stop_group(*fs, "kubepods/gone").value());
  CHECK_FALSE(stop_group(*fs, "kubepods/empty").value());
  CHECK(read_file(tree / "kubepods/empty/cgroup.kill").value().empty());
  // Whom the kernel counts is there, listed or not (a threaded group's are not), and nobody else.
  for (const auto& [count, is_there] : {std::pair{"1", true}, std::pair{"0", false}}) {
    tree.write("kubepods/empty/cgroup.events", fmt::format("populated {}\nfrozen 0\n", count));
    tree.write("kubepods/empty/cgroup.kill", "");
    CHECK(stop_group(*fs, "kubepods/empty").value() == is_there);
    CHECK(read_file(tree / "kubepods/empty/cgroup.kill").value() == (is_there ? "1" : ""));
  }
  CHECK(stop_group(*fs, "").error().code() == Code::invalid);
  CHECK(stop_group(*fs, "kubepods/../..").error().code() == Code::invalid);
  tree.write("kubepods/agent/x/cgroup.procs", fmt::format("{}\n", ::getpid()));
  tree.write("kubepods/agent/cgroup.kill", "");
  CHECK(stop_group(*fs, "kubepods/agent").error().code() == Code::invalid);
  CHECK(read_file(tree / "kubepods/agent/cgroup.kill").value().empty());
}

TEST_CASE("Without cgroup.kill each process is looked for again, and killed; others never are",
          "[koordlet][actions]") {
  const auto version = GENERATE(host::CgroupVersion::v1, host::CgroupVersion::v2);
  const bool v1 = version == host::CgroupVersion::v1;
  const bool freezer = GENERATE(true, false);
  Tree tree;
  Sleeper inside, below, moved;
  const std::string cpu = v1 ? "cg/cpu/" : "cg/";
  const std::string group = "kubepods/podu/c";
  const auto lists = [&](const std::string& text) {
    tree.write(cpu + group + "/cgroup.procs", text);
    if (freezer && v1) tree.write("cg/freezer/" + group + "/cgroup.procs", text);
  };
  lists(fmt::format("{}\n{}\n", moved.pid(), inside.pid()));
  tree.write(cpu + group + "/nested/cgroup.procs", fmt::format("{}\n", below.pid()));
  const std::string state = v1 ? "cg/freezer/" + group + "/freezer.state" : "cg/" + group + "/cgroup.freeze";
  if (freezer) {
    tree.write(state, v1 ? "THAWED" : "0");
    if (!v1) tree.write("cg/" + group + "/cgroup.events", "populated 1\nfrozen 1\n");
  }
  const auto fs = host::CgroupFs::open({.cgroup = tree / "cg/"}, version);
  REQUIRE(fs.has_value());
  // Whose number was read from the list is somebody else by the time when it is opened.
  const OpenProcess open = [&](pid_t pid) {
    if (pid == moved.pid()) lists(fmt::format("{}\n", inside.pid()));
    return open_process(pid);
  };
  CHECK(stop_group(*fs, group, open).value());
  CHECK(inside.was_killed());
  CHECK(below.was_killed());
  CHECK(moved.runs());
  if (freezer) CHECK(read_file(tree / state).value() == (v1 ? "THAWED" : "0"));
}

TEST_CASE("Who is in a group is what cgroup.procs says, in whatever cgroup namespace the agent is",
          "[koordlet][actions]") {
  Tree tree;
  Sleeper victim;
  // Of an agent in kubepods/podagent/x, with a cgroup namespace of its own that begins in kubepods/podagent.
  tree.write(fmt::format("proc/{}/cgroup", victim.pid()), "0::/../podu/c\n");
  tree.write(fmt::format("proc/{}/stat", victim.pid()),
             fmt::format("{} (c) S 7 1 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 4711 0\n", victim.pid()));
  tree.write(fmt::format("proc/{}/oom_score_adj", victim.pid()), "5\n");
  tree.write("kubepods/podu/c/cgroup.procs", fmt::format("{}\n", victim.pid()));
  const auto fs = host::CgroupFs::open({.cgroup = tree.path() + "/"}, host::CgroupVersion::v2);
  REQUIRE(fs.has_value());
  KernelProcesses processes(*fs, tree / "proc/");
  const auto found = processes.processes(kOomScoreAdjKind, "kubepods/podu/c");
  REQUIRE(found.has_value());
  REQUIRE(found->size() == 1);
  CHECK(found->front().value == 5);
  CHECK(stop_group(*fs, "kubepods/podu/c").value());
  CHECK(victim.was_killed());
}

TEST_CASE("Whom the kernel lists and nobody finds is not said to be killed", "[koordlet][actions]") {
  Tree tree;
  Sleeper ended;
  ::kill(ended.pid(), SIGKILL);
  REQUIRE(ended.was_killed());
  tree.write("kubepods/podu/c/cgroup.procs", fmt::format("{}\n", ended.pid()));
  const auto fs = host::CgroupFs::open({.cgroup = tree.path() + "/"}, host::CgroupVersion::v2);
  REQUIRE(fs.has_value());
  const auto stopped = stop_group(*fs, "kubepods/podu/c");
  REQUIRE_FALSE(stopped.has_value());
  CHECK(stopped.error().code() == Code::unavailable);
  CHECK_THAT(stopped.error().message(), Catch::Contains(fmt::format("process {}", ended.pid())));
  KernelProcesses processes(*fs, tree / "proc/");
  CHECK(processes.processes(kOomScoreAdjKind, "kubepods/podu/c").error().code() == Code::unavailable);
}

TEST_CASE("Of more processes than are held at once each is used once, if it is still there",
          "[koordlet][actions]") {
  Tree tree;
  std::string text;
  std::vector<pid_t> pids, used;
  for (pid_t pid = 1; pid <= 300; ++pid) {
    text.append(fmt::format("{}\n", pid));
    pids.push_back(pid);
  }
  tree.write("group/cgroup.procs", text);
  each_member(
      tree / "group", pids,
      [&](pid_t pid) {
        if (pid == 200) tree.write("group/cgroup.procs", "130\n131\n300\n");
        return pid;
      },
      [&](pid_t pid, pid_t held) {
        CHECK(pid == held);
        used.push_back(pid);
      });
  REQUIRE(used.size() == kHeldAtOnce + 3);
  CHECK(std::vector(used.end() - 3, used.end()) == std::vector<pid_t>{130, 131, 300});
}

TEST_CASE("Processes that cannot be seen from here are not said to be killed", "[koordlet][actions]") {
  Tree tree;
  Sleeper seen;
  const std::string group = "kubepods/podu/c";
  // What a process of a PID namespace that is not below the reader's looks like.
  tree.write(group + "/cgroup.procs", fmt::format("0\n{}\n0\n", seen.pid()));
  const auto fs = host::CgroupFs::open({.cgroup = tree.path() + "/"}, host::CgroupVersion::v2);
  REQUIRE(fs.has_value());
  const auto stopped = stop_group(*fs, group);
  CHECK(stopped.error().code() == Code::unsupported);
  CHECK_THAT(stopped.error().message(), Catch::Contains("hostPID"));
  CHECK(seen.was_killed());
  KernelProcesses processes(*fs, tree / "proc/");
  tree.write(group + "/cgroup.procs", "0\n0\n");
  CHECK(processes.processes(kOomScoreAdjKind, group).error().code() == Code::unsupported);
}

}  // namespace
}  // namespace koord::koordlet
