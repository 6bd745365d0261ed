// The transport with a runtime's side of NRI on a real socket: registering, what goes wrong, coming back.
#include "transports/nri/transport.hpp"

#include <catch2/catch.hpp>

#include "fake_runtime.hpp"
#include "koord/base/metrics.hpp"
#include "support/run_task.hpp"
#include "support/tree.hpp"

namespace koord::koordlet::nri {
namespace {

using namespace std::chrono_literals;
using rpc::nri::Event;
using rpc::nri::Happened;
using testing::FakeRuntime;

struct Rig {
  explicit Rig(FakeRuntime::Talk said) : talk(std::move(said)) {
    settings.socket = tree / "nri.sock";
    runtime.emplace(loop.executor(), loop.clock, settings.socket);
  }

  void start() {
    transport.emplace(Transport::Parts{.executor = loop.executor(),
                                       .clock = loop.clock,
                                       .log = Logger(log, loop.clock, 1),
                                       .metrics = metrics,
                                       .plugin = {.ask = [this](const RuntimeRequest&) -> Result<Verdict> {
                                                    ++asked;
                                                    Verdict verdict;
                                                    verdict.settings.cpuset_cpus = "2-3";
                                                    return verdict;
                                                  },
                                                  .asked_at = [](RuntimeMoment) { return true; },
                                                  .write = [](const std::vector<LaterValue>&) {},
                                                  .find_device = find_device,
                                                  .log = Logger(log, loop.clock, 1)},
                                       .missing = [this] { return missing; }},
                      settings);
    tasks.spawn("transport", transport->run());
  }
  void listen() {
    runtime->listen();
    tasks.spawn("runtime", runtime->serve(talk));
  }
  /// Lets the event loop work until it is so; time moves only by `step`, each time that nothing is ready.
  bool until(const std::function<bool()>& done, nanoseconds step = {}) {
    const auto patience = std::chrono::steady_clock::now() + 60s;
    while (!done()) {
      if (std::chrono::steady_clock::now() > patience) return false;
      loop.context.restart();
      if (loop.context.poll() > 0) continue;
      if (step.count() > 0) loop.clock.advance(step);
      loop.context.restart();
      loop.context.run_one_for(1ms);
    }
    return true;
  }
  ~Rig() {
    runtime->close();
    if (runtime->connection) runtime->connection->close();
    test::run_task(loop, tasks.stop(loop.clock, 1s), true);
  }

  test::Loop loop;
  koord::testing::Tree tree{{}};
  FakeRuntime::Talk talk;
  std::optional<FakeRuntime> runtime;
  CapturedLog log;
  metrics::Registry metrics;
  Settings settings;
  std::string missing;
  std::optional<Transport> transport;
  int asked = 0;
  TaskGroup tasks{loop.executor(), [](std::string_view, const Error&) {}};
};

rpc::nri::Synchronize two_containers() {
  rpc::nri::Synchronize all;
  all.pods = {{.id = "s1", .name = "p", .uid = "u1", .ns = "ns", .cgroup_parent = "/kubepods/podu1"}};
  all.containers = {{.id = "c1", .pod_id = "s1", .name = "a", .state = rpc::nri::State::running},
                    {.id = "c2", .pod_id = "s1", .name = "b", .state = rpc::nri::State::running}};
  return all;
}

/// What a containerd of each time says, from Configure to the first container.
struct Story {
  std::string_view version, nri;
  std::int32_t events;
  bool splits, own_calls;
};
const std::vector<Story> kStories = {{"v1.7.20", "", 0x89, false, false},
                                     {"v2.1.4", "", 0x89, true, false},
                                     {"v2.2.1", "", 0x1089, true, false},
                                     {"v2.3.0", "v0.12.0", 0x1089, true, true}};

Task<Result<>> tell(FakeRuntime& runtime, Story story, std::vector<std::string>& heard) {
  KOORD_CO_TRY(events, co_await runtime.configure(std::string(story.version), std::string(story.nri)));
  heard.push_back(events == story.events ? "events" : fmt::format("events {:x}", events));
  rpc::nri::Synchronize all = two_containers();
  if (story.splits) {
    rpc::nri::Synchronize first{.pods = all.pods, .containers = {}, .more = true};
    const auto more = co_await runtime.call("Synchronize", encode(first));
    heard.emplace_back(rpc::nri::decode_synchronize_answer(more.payload).value().more ? "more" : "no more");
    all.pods.clear();
  }
  const auto synchronized = co_await runtime.call("Synchronize", encode(all));
  heard.push_back(fmt::format(
      "{} updates", rpc::nri::decode_synchronize_answer(synchronized.payload).value().updates.size()));
  Happened event{.event = Event::run_pod_sandbox, .pod = two_containers().pods[0]};
  const auto run = co_await runtime.call(story.own_calls ? "RunPodSandbox" : "StateChange",
                                         encode(event, !story.own_calls));
  heard.emplace_back(run.status.ok() ? "runs" : run.status.message);
  event.event = Event::create_container;
  event.container = two_containers().containers[0];
  const auto made = co_await runtime.call("CreateContainer", encode(event, false));
  heard.push_back(
      rpc::nri::decode_create_container_answer(made.payload).value().adjust.resources.cpuset_cpus);
  co_return Result<>();
}

TEST_CASE("Runtimes of every NRI are served") {
  for (const Story& story : kStories) {
    INFO(story.version);
    std::vector<std::string> heard;
    Rig rig([&](FakeRuntime& runtime) { return tell(runtime, story, heard); });
    rig.settings.index = "07";
    rig.listen();
    rig.start();
    const std::size_t all = story.splits ? 5 : 4;
    REQUIRE(rig.until([&] { return heard.size() == all; }));
    std::vector<std::string> expected = {"events", "2 updates", "runs", "2-3"};
    if (story.splits) expected.insert(expected.begin() + 1, "more");
    CHECK(heard == expected);
    CHECK(rig.runtime->plugin == rpc::nri::RegisterPlugin{"koordlet_nri", "07"});
    CHECK(rig.transport->status().ok);
    CHECK(rig.metrics.exposition().find(R"(koordlet_runtime_connected{transport="nri"} 1)") !=
          std::string::npos);
    CHECK(rig.metrics.exposition().find(R"(koordlet_runtime_late_containers_total{transport="nri"} 2)") !=
          std::string::npos);
  }
}

TEST_CASE("complaint 1993: without a socket it is said once, and a runtime that comes is found at once") {
  std::vector<std::string> heard;
  Rig rig([&](FakeRuntime& runtime) { return tell(runtime, kStories[1], heard); });
  rig.start();
  REQUIRE(rig.until([&] { return rig.log.count(LogLevel::warn) == 1; }));
  CHECK(rig.log.contains("there is no such socket (containerd has NRI from 1.7 on"));
  const auto status = rig.transport->status();
  CHECK((!status.ok && status.error.find("no such socket") != std::string::npos));
  CHECK(rig.metrics.exposition().find(R"(koordlet_runtime_connected{transport="nri"} 0)") !=
        std::string::npos);
  // Waits grow, up to half a minute; nothing more is logged.
  REQUIRE(rig.until([&] { return rig.loop.clock.mono() > MonoTime{} + 300s; }, 1s));
  CHECK(rig.log.count(LogLevel::warn) == 1);
  rig.listen();
  const MonoTime came = rig.loop.clock.mono();
  REQUIRE(rig.until([&] { return heard.size() == 5; }, 10ms));
  CHECK(rig.loop.clock.mono() < came + 5s);
}

TEST_CASE("complaint 2334: a connection that is lost is made again, one at a time") {
  std::vector<std::string> heard;
  Rig rig([&](FakeRuntime& runtime) { return tell(runtime, kStories[1], heard); });
  rig.listen();
  rig.start();
  for (int i = 1; i <= 3; ++i) {
    REQUIRE(rig.until([&] { return heard.size() == 5; }, 10ms));
    CHECK(rig.runtime->connections == i);
    heard.clear();
    rig.runtime->connection->close();
    REQUIRE(rig.until([&] { return !rig.transport->status().ok; }, 10ms));
    CHECK(rig.transport->status().error == "the peer has closed the connection");
  }
}

TEST_CASE("It stays away until it knows enough to answer") {
  std::vector<std::string> heard;
  Rig rig([&](FakeRuntime& runtime) { return tell(runtime, kStories[1], heard); });
  rig.missing = "the node's pods";
  rig.listen();
  rig.start();
  REQUIRE(rig.until([&] { return rig.loop.clock.mono() > MonoTime{} + 5s; }, 100ms));
  CHECK(rig.runtime->connections == 0);
  CHECK(rig.transport->status().error == "not connected: the agent does not know yet: the node's pods");
  rig.missing.clear();
  REQUIRE(rig.until([&] { return heard.size() == 5; }, 10ms));
}

TEST_CASE("It does not stay away for ever") {
  std::vector<std::string> heard;
  Rig rig([&](FakeRuntime& runtime) { return tell(runtime, kStories[1], heard); });
  rig.missing = "the NodeSLO";
  rig.listen();
  rig.start();
  REQUIRE(rig.until([&] { return heard.size() == 5; }, 100ms));
  CHECK(rig.loop.clock.mono() >= MonoTime{} + 30s);
}

TEST_CASE(
    "complaint 2678: a runtime that refuses, or does not go on, is left and tried again, and it is said "
    "why") {
  struct Row {
    std::string_view what;
    FakeRuntime::Talk talk;
    std::optional<std::string> refuse;
    std::string_view why;
  };
  const auto silent = [](FakeRuntime&) -> Task<Result<>> { co_return Result<>(); };
  const auto only_configures = [](std::string_view version) {
    return [version](FakeRuntime& runtime) -> Task<Result<>> {
      KOORD_CO_CHECK(co_await runtime.configure(std::string(version)));
      co_return Result<>();
    };
  };
  const auto closes = [](FakeRuntime& runtime) -> Task<Result<>> {
    KOORD_CO_CHECK(co_await runtime.configure("v1.7.20"));
    runtime.connection->close();
    co_return Result<>();
  };
  for (const Row& row : std::vector<Row>{
           {"refuses", silent, "invalid plugin index",
            "the runtime refuses the plugin: Unknown: invalid plugin index"},
           {"does not configure", silent, {}, "has registered the plugin and does not configure it"},
           {"does not synchronize",
            only_configures("v2.1.4"),
            {},
            "containerd v2.1.4 (NRI 0.8) has told of no containers for 30 s"},
           {"cannot split",
            only_configures("v1.7.20"),
            {},
            "containerd v1.7.20 (NRI 0.6) has told of no containers for 30 s: before NRI 0.7 it tells of all "
            "pods and containers in one message of at most 4 MiB, and gives up where they take more"},
           {"cannot split, and closes",
            closes,
            {},
            "containerd v1.7.20 (NRI 0.6) told of no containers: the peer has closed the connection: before "
            "NRI 0.7"},
       }) {
    INFO(row.what);
    Rig rig(row.talk);
    rig.runtime->refuse = row.refuse;
    rig.listen();
    rig.start();
    REQUIRE(rig.until([&] { return rig.runtime->connections >= 2; }, 100ms));
    INFO(rig.transport->status().error);
    CHECK(rig.transport->status().error.find(row.why) != std::string::npos);
    CHECK(rig.log.count(LogLevel::warn) == 1);
  }
}

TEST_CASE("Names that no runtime takes are refused at the start") {
  CHECK(check(Settings{}).has_value());
  for (const std::string_view index : {"", "0", "000", "a1", "-1"})
    CHECK(check(Settings{.index = std::string(index)}).error().message().find("two digits") !=
          std::string::npos);
  for (const std::string_view name : {"", "a b", "a/b", "a\n"})
    CHECK(check(Settings{.name = std::string(name)}).error().code() == Code::invalid);
}

}  // namespace
}  // namespace koord::koordlet::nri
