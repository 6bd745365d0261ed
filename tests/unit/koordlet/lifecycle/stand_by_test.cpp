// An agent that --cleanup asks to end, the one that stands by in its place, and what a forced cleanup warns
// of.
#include "lifecycle/stand_by.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "koord/base/file.hpp"
#include "koord/host/file.hpp"
#include "plugins.hpp"
#include "rigs/fake_node.hpp"
#include "role.hpp"
#include "setup/agent.hpp"
#include "support/role_rig.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

using koord::testing::Tree;

constexpr const char* kBoot = "b";

struct Host {
  Tree tree;
  std::string lock = tree / "run/koord.lock", file = stand_down_path(lock);
  CapturedLog captured;
  ManualClock clock;
  Logger log{captured, clock};

  StateDirs dirs(std::string pod) const {
    StateDirs found;
    found.locks = {tree / "none/koord.lock", lock};
    found.pod = std::move(pod);
    return found;
  }
  void ask(const std::string& pod) {
    REQUIRE(HostLock::take(lock, "made", nanoseconds(0)).has_value());  // and its folder
    REQUIRE(write_stand_down(file, kBoot, {"2026-01-02T03:04:05Z", "somebody", pod, false}).has_value());
  }
};

TEST_CASE("Who was asked to end stands by, its pod's next container too, and no new pod",
          "[koordlet][keep]") {
  struct Row {
    const char* asked;  // the pod whose agent it was; empty: the host's own
    const char* starts;
    bool stands_by;
  };
  const Row row = GENERATE(
      values<Row>({{"", "", true}, {"u", "u", true}, {"u", "v", false}, {"u", "", false}, {"", "u", false}}));
  CAPTURE(row.asked, row.starts);
  Host host;
  CHECK_FALSE(must_stand_by(host.dirs(row.starts), kBoot, host.log));
  host.ask(row.asked);
  const auto standing = must_stand_by(host.dirs(row.starts), kBoot, host.log);
  REQUIRE(standing.has_value() == row.stands_by);
  CHECK_FALSE(must_stand_by(host.dirs(row.starts), "another", host.log));  // after a reboot
  if (!standing) return;
  CHECK(standing->file == host.file);
  CHECK(standing->said.by == "somebody");
  CHECK_FALSE(standing->said.done);
  REQUIRE(note_done(host.lock, kBoot).has_value());
  CHECK(must_stand_by(host.dirs(row.starts), kBoot, host.log)->said.done);
  CHECK(remove_stand_down(host.file).value());
  CHECK_FALSE(remove_stand_down(host.file).value());
  REQUIRE(note_done(host.lock, kBoot).has_value());  // nobody was asked
  CHECK_FALSE(host::exists(host.file));
}

TEST_CASE("A lock says which pod's agent holds it", "[koordlet][keep]") {
  CHECK(lock_holder("n", "") == "node n");
  CHECK(lock_holder("n", "u") == "node n, pod u");
  CHECK(pod_of_holder("pid 7, node n, pod u") == "u");
  CHECK(pod_of_holder("pid 7, node n").empty());
  CHECK(pod_of_holder("its owner is unknown").empty());
  Tree tree{{"lock", "pid 7, node n, pod u\x1b\n"}};
  CHECK(HostLock::holder(tree / "lock") == "pid 7, node n, pod u");
  CHECK(pod_of_holder(HostLock::holder(tree / "none")).empty());
}

TEST_CASE("A pod's agent that does not run just now is told by a cleanup, a host's is not",
          "[koordlet][keep]") {
  const std::string pod = GENERATE("", "u");
  Host host;
  { REQUIRE(HostLock::take(host.lock, lock_holder("n", pod), nanoseconds(0)).has_value()); }
  for (int i = 0; i < 2; ++i) {  // who cleaned up before is nobody's agent
    const auto taken =
        take_from_agent(host.lock, {"n", "cleaner", kBoot, nanoseconds(0)}, host.clock, host.log);
    REQUIRE(taken.has_value());
    CHECK(must_stand_by(host.dirs(pod), kBoot, host.log).has_value() == !pod.empty());
    CHECK_FALSE(must_stand_by(host.dirs("cleaner"), kBoot, host.log));
  }
}

TEST_CASE("Who holds the lock and does not answer is named, and is not asked any more", "[koordlet][keep]") {
  Host host;
  const bool cleans = GENERATE(false, true);
  int told[2];
  REQUIRE(::pipe(told) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const CleanupAsking asking{"n", "", kBoot, nanoseconds(0)};
    const auto held = cleans ? take_from_agent(host.lock, asking, host.clock, host.log)
                             : HostLock::take(host.lock, "node n", nanoseconds(0));
    (void)!::write(told[1], held ? "y" : "n", 1);
    for (;;) ::pause();
  }
  char answer = 0;
  REQUIRE(::read(told[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  const auto taken =
      take_from_agent(host.lock, {"n", "", kBoot, std::chrono::milliseconds(60)}, host.clock, host.log);
  REQUIRE_FALSE(taken.has_value());
  CHECK(taken.error().code() == (cleans ? Code::already_exists : Code::timeout));
  CHECK_THAT(taken.error().message(), Catch::Contains("pid " + std::to_string(child)));
  CHECK_FALSE(host::exists(host.file));
  REQUIRE(::kill(child, SIGKILL) == 0);
  CHECK(::waitpid(child, nullptr, 0) == child);
  ::close(told[0]);
  ::close(told[1]);
}

TEST_CASE("Cleanups that ask at the same time both ask, and none goes on beside the agent",
          "[koordlet][keep]") {
  for (int n = 0; n < 20; ++n) {
    Host host;
    const auto held = HostLock::take(host.lock, "node n", nanoseconds(0));
    REQUIRE(held.has_value());
    std::array<std::optional<Code>, 2> codes;
    std::vector<std::thread> cleanups;
    for (auto& code : codes)
      cleanups.emplace_back([&] {
        ManualClock clock;
        CapturedLog captured;
        Logger log(captured, clock);
        const auto taken =
            take_from_agent(host.lock, {"n", "", kBoot, std::chrono::milliseconds(1)}, clock, log);
        if (!taken) code = taken.error().code();
      });
    for (std::thread& one : cleanups) one.join();
    for (const auto& code : codes) CHECK(code == Code::timeout);
  }
}

TEST_CASE("An agent that cannot be asked is not cleaned up beside", "[koordlet][keep]") {
  Host host;
  // One that runs, or one of a pod whose container may be started again.
  const bool runs = GENERATE(true, false);
  auto held = HostLock::take(host.lock, lock_holder("n", runs ? "" : "p"), nanoseconds(0));
  REQUIRE(held.has_value());
  std::optional<HostLock> lock(std::move(*held));
  if (!runs) lock.reset();
  // What is written first cannot be: as on a full disk.
  REQUIRE(std::filesystem::create_directories(host.file + ".new/x"));
  const auto taken =
      take_from_agent(host.lock, {"n", "", kBoot, std::chrono::milliseconds(1)}, host.clock, host.log);
  REQUIRE_FALSE(taken.has_value());
  // Who calls tries another lock only where a lock cannot be used.
  CHECK(taken.error().code() == Code::already_exists);
  CHECK_THAT(taken.error().message(),
             Catch::Contains(runs ? "cannot be asked to end" : "cannot be told to stand by") &&
                 Catch::Contains("node n") && Catch::Contains("nothing was changed"));
}

struct Process : test::RoleRig {
  explicit Process(std::vector<std::string> arguments)
      : RoleRig(koordlet::role(), without_port(std::move(arguments))) {
    context.finish = [this] { ++finished; };
  }
  /// Another agent of this machine would be in the way.
  static std::vector<std::string> without_port(std::vector<std::string> arguments) {
    arguments.push_back("--addr=0");
    return arguments;
  }
  int finished = 0;
};

TEST_CASE("An agent looks each second whether it is asked to end", "[koordlet][keep]") {
  Host host;
  Process process({});
  std::string by;
  process.tasks.spawn("asked", [](Clock& clock, std::string lock, std::string& by) -> Task<Result<>> {
    KOORD_CO_TRY(who, co_await asked_to_end(clock, std::move(lock), kBoot, "u"));
    by = std::move(who);
    co_return Result<>();
  }(process.loop.clock, host.lock, by));
  process.loop.advance(std::chrono::seconds(5));
  host.ask("v");
  process.loop.advance(std::chrono::seconds(1));
  CHECK(by.empty());
  host.ask("u");
  process.loop.advance(std::chrono::milliseconds(900));
  CHECK(by.empty());
  process.loop.advance(std::chrono::milliseconds(100));
  CHECK(by == "somebody");
}

TEST_CASE("Who stands by is live and not ready, and ends when that is undone", "[koordlet][keep]") {
  Host host;
  host.ask("");
  Process process({});
  process.start(
      stand_by_role(process.context, nullptr, *must_stand_by(host.dirs(""), kBoot, host.log), kBoot, "n"));
  process.loop.advance(std::chrono::hours(1));
  using runtime::HealthChecks;
  CHECK(process.probe(HealthChecks::livez) == 200);
  CHECK(process.probe(HealthChecks::healthz) == 200);
  CHECK(process.probe(HealthChecks::readyz) == 500);
  CHECK(process.captured.contains("somebody asked it at 2026-01-02T03:04:05Z to end"));
  CHECK(process.captured.contains("--cleanup=undo, or remove " + host.file));
  CHECK(process.captured.contains("has not come to its end"));
  CHECK(process.finished == 0);
  Process undo({"--cleanup=undo"});
  undo.start(undo_role(undo.context, host.dirs("")));
  undo.loop.settle();
  CHECK(undo.finished == 1);
  CHECK_FALSE(host::exists(host.file));
  process.loop.advance(std::chrono::seconds(1));
  CHECK(process.finished == 1);
}

TEST_CASE("A forced cleanup says which sets of CPUs it widens without knowing whose they are",
          "[koordlet][keep]") {
  const bool force = GENERATE(false, true), narrow = GENERATE(false, true);
  Process process({"--tsdb-path=", fmt::format("--cleanup={}", force ? "force" : "true")});
  testing::FakeNode node(host::CgroupVersion::v1);
  const std::string group = "kubepods/besteffort";
  node.quota(group, -1);
  node.cpuset(group, narrow ? "0-1" : "0-3");
  auto facts = read_node_facts(node.root());
  REQUIRE(facts.has_value());
  auto agent = Agent::make(process.context, {.place = {.node_name = "n", .root = node.root()},
                                             .cgroups = node.cgroups(),
                                             .facts = std::make_shared<const NodeFacts>(std::move(*facts)),
                                             .counters = {.no_run_queue = "not here"},
                                             .strategies = strategy_table()});
  if (!agent) FAIL(agent.error().message());
  process.start(Result<std::unique_ptr<runtime::Role>>(std::move(*agent)));
  process.loop.settle();
  CHECK(process.captured.contains("best-effort work may run on CPUs of a pod") == (force && narrow));
  if (force && narrow) CHECK(process.captured.contains("kubepods/besteffort (0-1)"));
  CHECK(read_file(node.tree() / node.path("cpuset", group, "cpuset.cpus")).value() == (narrow && !force
                                                                                           ? "0-1\n"
                                                                                       : narrow ? "0-3"
                                                                                                : "0-3\n"));
  CHECK(process.finished == (force || !narrow ? 1 : 0));
}

}  // namespace
}  // namespace koord::koordlet
