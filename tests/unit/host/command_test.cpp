// Commands that behave and commands that do not: real processes, a clock that the test moves.
#include "koord/host/command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <catch2/catch.hpp>
#include <filesystem>

#include "koord/async/task_group.hpp"
#include "koord/base/file.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::host {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A script for sh, which finds a folder of the test's in $DIR.
struct Bench {
  Command script(std::string text) {
    return {.arguments = {"/bin/sh", "-c", std::move(text)},
            .environment = {"DIR=" + tree.path(), "PATH=/bin:/usr/bin"}};
  }
  Result<std::string> run(std::string text) {
    CommandRunner runner(loop.clock, script(std::move(text)));
    return test::run_task(loop, runner.run(), true);
  }
  /// Begins it, and returns once it has made the file.
  void begin(CommandRunner& runner, const std::string& file) {
    tasks.spawn("command",
                [](CommandRunner& which, std::optional<Result<std::string>>& to) -> Task<Result<>> {
                  to = co_await which.run();
                  co_return Result<>();
                }(runner, outcome));
    while (!std::filesystem::exists(tree / file)) loop.settle();
  }
  const Result<std::string>& finish() {
    while (!outcome) {
      loop.context.restart();
      loop.context.run_one();
    }
    return *outcome;
  }
  pid_t number_in(const std::string& file) { return std::stoi(read_file(tree / file).value()); }
  ~Bench() { test::run_task(loop, tasks.stop(loop.clock, seconds(1)), true); }

  testing::Tree tree;
  test::Loop loop;
  std::optional<Result<std::string>> outcome;
  TaskGroup tasks{loop.executor()};
};

/// It has ended, whether or not somebody has looked at how.
bool is_gone(pid_t process) {
  const auto stat = read_file(fmt::format("/proc/{}/stat", process));
  return !stat || stat->find(") Z") != std::string::npos;
}
/// Who was killed goes soon.
void wait_gone(pid_t process) {
  while (!is_gone(process)) ::sched_yield();
}

bool has_children() {
  siginfo_t info;
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

TEST_CASE("A command's output is what it prints, its error what it says and its status") {
  Bench bench;
  CHECK(bench.run("echo one; echo two; echo aside >&2").value() == "one\ntwo\n");
  CHECK(bench.run(":").value().empty());
  const auto failed = bench.run("echo out; echo no such device >&2; echo more >&2; exit 3");
  REQUIRE(failed.has_error());
  CHECK(failed.error().code() == Code::io);
  CHECK(failed.error().message() == "/bin/sh: exit status 3: no such device");
  CHECK(bench.run("kill -9 $$").error().message() == "/bin/sh: killed by signal 9");
  CHECK_FALSE(has_children());
}

TEST_CASE("A command that is not there, or is named by no path, is an error") {
  test::Loop loop;
  CommandRunner absent(loop.clock, {.arguments = {"/nowhere/at/all"}});
  CHECK(test::run_task(loop, absent.run(), true).error().code() == Code::not_found);
  for (const std::vector<std::string>& wrong : {std::vector<std::string>{}, {"sh"}}) {
    CommandRunner runner(loop.clock, {.arguments = wrong});
    CHECK(test::run_task(loop, runner.run(), true).error().code() == Code::invalid);
  }
}

TEST_CASE("A child inherits no descriptor, no environment, no signal that is ignored, and no input") {
  Bench bench;
  const Fd open(::open("/dev/null", O_RDONLY));  // not close-on-exec
  const Fd duplicate(::dup2(open.get(), 77));
  ::setenv("KOORD_SECRET", "s", 1);
  ::signal(SIGPIPE, SIG_IGN);
  const auto seen = bench.run("echo $KOORD_SECRET; pwd; cat; ls /proc/$$/fd; grep SigIgn /proc/$$/status");
  ::signal(SIGPIPE, SIG_DFL);
  ::unsetenv("KOORD_SECRET");
  REQUIRE(seen.has_value());
  INFO(*seen);
  CHECK(seen->starts_with("\n/\n0\n1\n2\n"));
  CHECK(seen->find("77") == std::string::npos);
  // But for two that belong to the C library itself (32 and 33), which the C library ignores there.
  const std::size_t mask = seen->find("SigIgn:\t");
  REQUIRE(mask != std::string::npos);
  CHECK((std::stoull(seen->substr(mask + 8), nullptr, 16) & 0x7fff'ffffU) == 0);
}

TEST_CASE("What is special to a shell is not special here") {
  test::Loop loop;
  CommandRunner runner(loop.clock, {.arguments = {"/bin/echo", "$HOME", "; rm -rf *", "a b"}});
  CHECK(test::run_task(loop, runner.run(), true).value() == "$HOME ; rm -rf * a b\n");
}

TEST_CASE("A command that never ends is asked to, at its limit") {
  Bench bench;
  CommandRunner runner(bench.loop.clock,
                       bench.script("echo $$ > $DIR/pid.new; mv $DIR/pid.new $DIR/pid; exec sleep 1000"));
  bench.begin(runner, "pid");
  bench.loop.advance(seconds(9));
  CHECK_FALSE(bench.outcome);
  bench.loop.advance(seconds(1));
  const auto& outcome = bench.finish();
  CHECK(outcome.error().code() == Code::timeout);
  CHECK(outcome.error().message() == "/bin/sh: not done after 10000 ms");
  CHECK(is_gone(bench.number_in("pid")));
  CHECK_FALSE(has_children());
}

TEST_CASE("One that ignores SIGTERM is killed after its grace") {
  Bench bench;
  CommandRunner runner(
      bench.loop.clock,
      bench.script("trap '' TERM; echo $$ > $DIR/pid.new; mv $DIR/pid.new $DIR/pid; sleep 1000; sleep 1000"));
  bench.begin(runner, "pid");
  bench.loop.advance(seconds(10));
  bench.loop.advance(milliseconds(900));
  CHECK_FALSE(bench.outcome);
  CHECK_FALSE(is_gone(bench.number_in("pid")));
  bench.loop.advance(milliseconds(100));
  CHECK(bench.finish().error().code() == Code::timeout);
  CHECK(is_gone(bench.number_in("pid")));
  CHECK_FALSE(has_children());
}

TEST_CASE("One that floods is killed, and its output is no answer") {
  Bench bench;
  const auto flooded = bench.run("exec cat /dev/zero");
  CHECK(flooded.error().code() == Code::too_large);
  CHECK(flooded.error().message() == "/bin/sh: it prints more than 65536 bytes");
  // To the byte.
  CHECK(bench.run("head -c 65536 /dev/zero").value().size() == 65536);
  CHECK(bench.run("head -c 65537 /dev/zero").error().code() == Code::too_large);
  // What it says beside its output holds nobody up.
  CHECK(bench.run("head -c 300000 /dev/zero >&2; echo done").value() == "done\n");
  CHECK_FALSE(has_children());
}

TEST_CASE("What a command forks ends with it, and keeps nobody waiting") {
  Bench bench;
  const auto output = bench.run(
      "sleep 1000 & echo $! > $DIR/pid; (trap '' TERM HUP; sleep 1000) & echo $! > $DIR/other; echo done");
  CHECK(output.value() == "done\n");
  wait_gone(bench.number_in("pid"));
  wait_gone(bench.number_in("other"));
  // And with one that is over its limit.
  CommandRunner runner(
      bench.loop.clock,
      bench.script(
          "trap '' TERM; sleep 1000 & echo $! > $DIR/late.new; mv $DIR/late.new $DIR/late; wait; wait"));
  bench.begin(runner, "late");
  bench.loop.advance(seconds(10));
  bench.loop.advance(seconds(1));
  CHECK(bench.finish().error().code() == Code::timeout);
  wait_gone(bench.number_in("late"));
}

TEST_CASE("Who is cancelled leaves no process behind") {
  Bench bench;
  CommandRunner runner(bench.loop.clock,
                       bench.script("echo $$ > $DIR/pid.new; mv $DIR/pid.new $DIR/pid; exec sleep 1000"));
  bench.begin(runner, "pid");
  test::run_task(bench.loop, bench.tasks.stop(bench.loop.clock, seconds(100)), true);
  CHECK(is_gone(bench.number_in("pid")));
  CHECK_FALSE(has_children());
  CHECK_FALSE(bench.outcome);  // what waits for it ends, too
}

TEST_CASE("A command that keeps failing is paused, longer each time, until it succeeds") {
  Bench bench;
  CommandRunner runner(bench.loop.clock, bench.script("echo run >> $DIR/runs; test -e $DIR/works"));
  const auto run = [&] { return test::run_task(bench.loop, runner.run(), true); };
  const auto runs = [&] { return read_file(bench.tree / "runs").value().size() / 4; };
  for (int i = 0; i < 3; ++i) CHECK(run().error().code() == Code::io);
  const auto paused = run();
  CHECK(paused.error().code() == Code::unavailable);
  CHECK(paused.error().message() ==
        "/bin/sh: not run for another 30 s, because it keeps failing: /bin/sh: exit status 1");
  CHECK(runs() == 3);
  bench.loop.advance(seconds(30));
  CHECK(run().error().code() == Code::io);
  bench.loop.advance(seconds(59));
  CHECK(run().error().code() == Code::unavailable);
  bench.tree.write("works", "");
  bench.loop.advance(seconds(1));
  CHECK(run().has_value());
  std::filesystem::remove(bench.tree / "works");
  CHECK(run().error().code() == Code::io);
  CHECK(run().error().code() == Code::io);  // counted anew
  CHECK(runs() == 7);
}

}  // namespace
}  // namespace koord::host
