// The engine's thread: what it is given and gives back, and what becomes of one that hangs.
#include "drive/engine_thread.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <catch2/catch.hpp>

#include "hanging_plugin.hpp"
#include "koord/async/timer.hpp"
#include "support/run_task.hpp"
#include "world.hpp"

namespace koord::scheduler::test {
namespace {

using namespace scheduling::test;
using namespace std::chrono_literals;

struct Rig {
  Rig() {
    std::vector<const scheduling::PluginEntry*> table(scheduling::plugin_table().begin(),
                                                      scheduling::plugin_table().end());
    table.push_back(&kHanging);
    scheduling::KubeSchedulerConfiguration config;
    config.profiles.emplace_back().plugins.emplace().filter.enabled = {{"Hanging", {}}};
    REQUIRE(scheduling::complete(config, table).has_value());
    auto engine = std::make_unique<scheduling::Engine>(loop.clock, scheduling::EngineOptions{});
    auto profiles = scheduling::build_profiles(config, table, engine->context());
    REQUIRE(profiles.has_value());
    engine->set_profiles(std::move(*profiles));
    thread.emplace(loop.executor(), loop.clock, std::move(engine), [this](EngineReport report) {
      for (const scheduling::Decision& d : report.decisions) decided.push_back(d.pod->metadata.name);
      if (!report.decisions.empty() && !first) first = report;
      last = std::move(report);
    });
    thread->post(NodeChange{make_node("n")});
  }

  void put_pod(const char* name) { thread->post(PodChange{make_pod(name)}); }
  /// Until `done`; the thread's work takes real time, the clock stands still.
  template <class Done>
  bool wait(Done&& done) {
    // Without it there is nothing to wait for while the thread works.
    const auto work = boost::asio::make_work_guard(loop.context);
    for (int i = 0; i < 60'000 && !done(); ++i) {
      loop.context.restart();
      loop.context.run_one_for(1ms);
    }
    return done();
  }

  /// Whether it comes to owe nothing, however much later it is.
  bool idle() {
    loop.advance(1h);
    return wait([&] { return thread->behind() == 0ns; });
  }
  /// In real time.
  Result<> stop() { return koord::test::run_task(loop, thread->stop(2s), true); }

  Hang hang;
  koord::test::Loop loop;
  std::vector<std::string> decided;
  std::optional<EngineReport> first;  // that has decisions
  EngineReport last;
  std::optional<EngineThread> thread;
};

TEST_CASE("the engine decides as much as it was permitted, and owes nothing then") {
  Rig rig;
  for (const char* name : {"a", "b", "c"}) rig.put_pod(name);
  CHECK(rig.idle());
  rig.thread->permit(2);
  REQUIRE(rig.wait([&] { return rig.decided.size() == 2; }));
  rig.thread->permit(2);
  REQUIRE(rig.wait([&] { return rig.decided.size() == 3; }));
  CHECK(rig.decided == std::vector<std::string>{"a", "b", "c"});
  CHECK(rig.stop().has_value());
  rig.thread.reset();
  CHECK(rig.hang.is_gone());
}

std::vector<EngineChange> many_pods(int count) {
  std::vector<EngineChange> changes;
  for (int i = 0; i < count; ++i)
    changes.emplace_back(
        PodChange{make_pod(fmt::format("bound-{}", i), "1m", "1", [](auto& p) { p.spec.node_name = "n"; })});
  return changes;
}

TEST_CASE("decisions do not wait for a storm of changes to end") {
  Rig rig;
  rig.thread->permit(1);
  REQUIRE(rig.idle());
  std::vector<EngineChange> storm = many_pods(4000);
  storm.insert(storm.begin(), PodChange{make_pod("a")});
  rig.thread->post(std::move(storm));
  REQUIRE(rig.wait([&] { return rig.last.pods == 4001; }));
  REQUIRE(rig.first);
  CHECK(rig.decided == std::vector<std::string>{"a"});
  CHECK(rig.first->pods < 1000);
  CHECK(rig.stop().has_value());
}

TEST_CASE("nothing is decided before the first picture is complete") {
  Rig rig;
  std::vector<EngineChange> picture = many_pods(4000);
  picture.insert(picture.begin(), PodChange{make_pod("a")});
  rig.thread->post(std::move(picture));
  rig.thread->permit(8);
  REQUIRE(rig.wait([&] { return rig.decided.size() == 1; }));
  CHECK(rig.first->pods == 4001);
  CHECK(rig.stop().has_value());
}

TEST_CASE("an engine that waits for permits does not ask to be woken") {
  Rig rig;
  rig.thread->post(
      std::vector<EngineChange>{PodChange{make_pod("a", "1000")}, PodChange{make_pod("b", "1000")}});
  rig.thread->permit(2);
  REQUIRE(rig.wait([&] { return rig.decided.size() == 2; }));
  // Both wait for their five minutes, which are over and over again; nobody may try them.
  rig.loop.advance(1h);
  rig.last.wakeup = MonoTime::max();
  rig.thread->wake();
  REQUIRE(rig.wait([&] { return rig.last.wakeup != MonoTime::max(); }));
  CHECK_FALSE(rig.last.wakeup);
  rig.thread->permit(8);
  REQUIRE(rig.wait([&] { return rig.decided.size() == 4; }));
  CHECK(rig.idle());
  REQUIRE(rig.last.wakeup);
  CHECK(*rig.last.wakeup > rig.loop.clock.mono() - 1h);
  CHECK(rig.stop().has_value());
}

TEST_CASE("there is room while the engine keeps up") {
  Rig rig;
  CHECK(koord::test::run_task(rig.loop, rig.thread->room()).has_value());
  rig.put_pod("hang");
  rig.thread->permit(1);
  REQUIRE(rig.wait([&] { return rig.hang.holds(); }));
  rig.thread->post(many_pods(EngineThread::kBacklog - 1));
  CHECK(koord::test::run_task(rig.loop, rig.thread->room()).has_value());
  rig.put_pod("one more");
  Task<Result<>> room = rig.thread->room();
  CHECK(koord::test::run_task(rig.loop, with_timeout(rig.loop.clock, 1s, std::move(room))).has_error());
  rig.hang.let_go();
  CHECK(koord::test::run_task(rig.loop, rig.thread->room(), true).has_value());
  CHECK(rig.stop().has_value());
}

TEST_CASE("stopping does not wait for the thread to be gone") {
  Rig rig;
  rig.put_pod("linger");
  rig.thread->permit(1);
  REQUIRE(rig.wait([&] { return rig.decided.size() == 1; }));
  CHECK(rig.stop().has_value());
  REQUIRE(rig.wait([&] { return rig.hang.holds(); }));
  rig.thread.reset();
  CHECK(rig.hang.is_gone());
  rig.hang.let_go();
  CHECK(rig.hang.is_left());
}

TEST_CASE("an engine that hangs is seen") {
  Rig rig;
  rig.put_pod("hang");
  rig.put_pod("later");
  rig.thread->permit(8);
  REQUIRE(rig.wait([&] { return rig.hang.holds(); }));
  rig.loop.advance(EngineThread::kStuck);
  CHECK(rig.thread->behind() == EngineThread::kStuck);
  CHECK(rig.thread->check().has_value());
  rig.loop.advance(1s);
  const Result<> check = rig.thread->check();
  REQUIRE(check.has_error());
  CHECK(check.error().code() == Code::unavailable);
  CHECK(check.error().message() == "the engine has been at one piece of work for 21 s");

  SECTION("it goes on: all is well again") {
    rig.hang.let_go();
    REQUIRE(rig.wait([&] { return rig.decided.size() == 2; }));
    CHECK(rig.idle());
    CHECK(rig.thread->check().has_value());
    CHECK(rig.stop().has_value());
  }
  SECTION("it does not: stopping takes no longer than it may, and the thread is left behind") {
    const MonoTime began = rig.loop.clock.mono();
    const Result<> ended = koord::test::run_task(rig.loop, rig.thread->stop(2s));
    REQUIRE(ended.has_error());
    CHECK(ended.error().code() == Code::timeout);
    CHECK(rig.loop.clock.mono() - began == 2s);
    rig.thread.reset();
    rig.hang.let_go();
    REQUIRE(rig.hang.is_gone());
    rig.loop.settle();
    CHECK(rig.decided.empty());  // nobody is told any more
  }
  SECTION("destroyed without a stop") {
    rig.thread.reset();
    rig.hang.let_go();
    REQUIRE(rig.hang.is_gone());
  }
}

}  // namespace
}  // namespace koord::scheduler::test
