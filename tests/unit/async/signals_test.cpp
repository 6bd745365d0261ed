// Stop signals: the first one is told, any later one ends the process, even one whose loop hangs.
#include "koord/async/signals.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <catch2/catch.hpp>
#include <csignal>

#include "support/run_task.hpp"

namespace koord {
namespace {

TEST_CASE("the first signal is told, as often as it is asked for") {
  test::Loop loop;
  StopSignals signals(loop.executor());
  REQUIRE(::raise(SIGINT) == 0);
  CHECK(test::run_task(loop, signals.wait(), true).value() == SIGINT);
  CHECK(test::run_task(loop, signals.wait(), true).value() == SIGINT);
}

TEST_CASE("the next one begins anew") {
  test::Loop loop;
  for (const int number : {SIGTERM, SIGINT}) {
    StopSignals signals(loop.executor());
    REQUIRE(::raise(number) == 0);
    CHECK(test::run_task(loop, signals.wait(), true).value() == number);
  }
}

struct Row {
  int first, second, code;
};

TEST_CASE("a second signal ends a process whose loop hangs") {
  for (const Row& row : {Row{SIGTERM, SIGTERM, 143}, Row{SIGINT, SIGTERM, 143}, Row{SIGTERM, SIGINT, 130}}) {
    INFO(row.first << ' ' << row.second);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      test::Loop loop;  // which never runs
      StopSignals signals(loop.executor());
      ::raise(row.first);
      ::raise(row.second);
      ::_exit(1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == row.code);
  }
}

}  // namespace
}  // namespace koord
