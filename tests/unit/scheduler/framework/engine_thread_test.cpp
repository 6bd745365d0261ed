// The engine's thread: what it is given and gives back, and what becomes of one that hangs.
#include "framework/engine_thread.hpp"

#include <catch2/catch.hpp>

#include "hanging_plugin.hpp"
#include "support/run_task.hpp"
#include "world.hpp"

namespace koord::scheduler::test {
namespace {

using namespace std::chrono_literals;
using Kind = EngineChange::Kind;

struct Rig {
  Rig() {
    std::vector<const PluginEntry*> table(plugin_table().begin(), plugin_table().end());
    table.push_back(&kHanging);
    KubeSchedulerConfiguration config;
    config.profiles.emplace_back().plugins.emplace().filter.enabled = {{"Hanging", {}}};
    REQUIRE(complete(config, table).has_value());
    auto engine = std::make_unique<Engine>(loop.clock, EngineOptions{});
    auto profiles = build_profiles(config, table, engine->context());
    REQUIRE(profiles.has_value());
    engine->set_profiles(std::move(*profiles));
    thread.emplace(loop.executor(), loop.clock, std::move(engine), [this](EngineReport report) {
      for (const Decision& d : report.decisions) decided.push_back(d.pod->metadata.name);
    });
    thread->post({{Kind::node, make_node("n"), nullptr}});
  }

  void put_pod(const char* name) { thread->post({{Kind::pod, nullptr, make_pod(name)}}); }
  /// Until `done`; the thread's work takes real time, the clock stands still.
  template <class Done>
  bool wait(Done&& done) {
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
