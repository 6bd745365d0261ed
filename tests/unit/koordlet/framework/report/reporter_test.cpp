// The reporter against an API server that a test plays: first report, conflicts, limits, what stays.
#include "framework/report/reporter.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/async/task_group.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

const std::string kObject =
    R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric","metadata":{"name":"n1","resourceVersion":"7","labels":{"theirs":"stays"}},)"
    R"("spec":{"metricCollectPolicy":{"reportIntervalSeconds":40},"future":{"field":1}},"status":{"old":true}})";

struct Given {
  bool exists = true;  // the NodeMetric
  bool away = false;   // the API server
  bool listed = true;  // the pods
};

struct World {
  test::Loop loop;
  CapturedLog captured;
  Logger log{captured, loop.clock};
  metrics::Registry metrics, external;
  test::FakeTransport server{loop.clock};
  kube::Client client{server, loop.clock, {.max_retries = 0}};
  kube::InformerSet informers{loop.executor(), loop.clock};
  InventoryHub hub;
  SeriesStore series{SeriesStore::Limits{}};
  WorkerPool workers{1};
  Predictor predictor{{loop.clock, log, workers, series}, {}, ""};
  bool exists, away;
  int conflicts = 0;
  std::optional<MonoTime> listed;
  std::vector<std::pair<MonoTime, std::string>> puts;
  Reporter reporter;
  TaskGroup tasks{loop.executor()};

  explicit World(Given given = {})
      : exists(given.exists),
        away(given.away),
        reporter({loop.clock, log, metrics, external, client, informers, hub, series, predictor,
                  [this] { return std::optional<MonoTime>(loop.clock.mono()); }, [this] { return listed; }},
                 "n1", true) {
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (away) return Error(Code::unavailable, "nobody answers");
      const bool one = request.target.find("/nodemetrics/n1") != std::string::npos;
      if (request.method == "PUT") {
        CHECK(request.target == "/apis/slo.koordinator.sh/v1alpha1/nodemetrics/n1/status");
        puts.emplace_back(loop.clock.mono(), request.body);
        if (conflicts-- > 0) return test::status_response(409, "Conflict");
        return test::json_response(200, kObject);
      }
      if (one) return test::json_response(200, kObject);
      if (request.target.find("watch=") != std::string::npos) {
        if (request.target.find("sendInitialEvents") != std::string::npos)
          return test::status_response(422, "Invalid");
        return test::json_response(200, "");
      }
      return test::json_response(
          200,
          R"({"kind":"NodeMetricList","apiVersion":"slo.koordinator.sh/v1alpha1","metadata":{"resourceVersion":"7"},"items":[)" +
              (exists ? kObject : std::string()) + "]}");
    };
    if (given.listed) listed = loop.clock.mono();
    informers.start();
    loop.settle();
    tasks.spawn("report", reporter.run());
    loop.settle();
  }
  void pass(std::chrono::seconds time) {
    for (; time > 0s; time -= 1s) loop.advance(1s);
  }
  void sample(Metric metric, std::string_view entity = "") {
    const auto id = series.open(metric, entity);
    REQUIRE(id.has_value());
    series.append(*id, loop.clock.mono(), 1);
  }
  ~World() {
    test::run_task(loop, tasks.stop(loop.clock, 1s));
    test::run_task(loop, informers.stop());
  }
};

TEST_CASE("The first report comes after one interval, as the whole document with another status") {
  World world;
  world.loop.advance(39s);
  CHECK(world.puts.empty());
  world.loop.advance(1s);
  REQUIRE(world.puts.size() == 1);
  const auto document = json::parse(world.puts[0].second);
  REQUIRE(document.has_value());
  CHECK(json::text_at(*document, "metadata", "resourceVersion") == "7");
  CHECK(json::text_at(*document, "metadata", "labels", "theirs") == "stays");
  CHECK(json::int_at(*document, "spec", "future", "field") == 1);
  CHECK(json::find(*document, "status", "old") == nullptr);
  CHECK(json::find(*document, "status", "updateTime") != nullptr);
  world.loop.advance(40s);
  CHECK(world.puts.size() == 2);
}

TEST_CASE("What is predicted is reported, and shown as metrics") {
  World world;
  world.hub.publish([] {
    Inventory inventory;
    inventory.pods_known = true;
    inventory.node.allocatable_milli_cpu = 8000;
    inventory.node.allocatable_memory = std::int64_t{8} << 30;
    auto pod = std::make_shared<PodInfo>();
    pod->uid = pod->name = "p";
    pod->priority_class = PriorityClass::prod;
    pod->requests = {.cpu = 4000, .memory = std::int64_t{4} << 30};
    inventory.pods = {pod};
    return inventory;
  }());
  const auto wait = [&](std::chrono::seconds time) {
    for (; time > 0s; time -= 1s) {
      for (const auto& [cpu, memory, entity, cpus, bytes] :
           {std::tuple(Metric::node_cpu, Metric::node_memory, "", 2.0, 2e9),
            std::tuple(Metric::pod_cpu, Metric::pod_memory, "p", 1.0, 1e9)}) {
        world.series.append(*world.series.open(cpu, entity), world.loop.clock.mono(), cpus);
        world.series.append(*world.series.open(memory, entity), world.loop.clock.mono(), bytes);
      }
      world.sample(Metric::system_cpu);
      world.sample(Metric::system_memory);
      TickView view;
      view.at = world.loop.clock.mono();
      view.wall = world.loop.clock.now();
      view.interval = 1s;
      view.inventory = world.hub.current();
      view.node.cpu = 2;
      view.complete = true;
      world.predictor.tick(view);
      world.loop.advance(1s);
    }
  };
  wait(41s);
  REQUIRE(world.puts.size() == 1);
  const auto document = json::parse(world.puts[0].second);
  REQUIRE(document.has_value());
  // Prod and the system peak at 1035m each, nobody at 25m (ends of buckets); 10% more is left to them.
  const auto at = [&](const char* metric, const char* resource) {
    return json::text_at(*document, "status", metric, "resource", "resources", resource);
  };
  const std::string text = world.metrics.exposition();
  const std::string external = world.external.exposition();
  INFO(text << external);
  CHECK(at("prodReclaimableMetric", "cpu") == "1696m");
  CHECK(at("prodPeakMetric", "cpu") == "2304m");
  CHECK_FALSE(at("prodReclaimableMetric", "memory").empty());
  const auto has = [](const std::string& all, std::string_view line) {
    return all.find(line) != std::string::npos;
  };
  for (const char* predictor : {"podReclaimablePredictor", "priorityReclaimablePredictor", "minPredictor"})
    for (const char* metric :
         {"koordlet_node_predicted_resource_reclaimable", "koordlet_node_predicted_resource_peak"})
      CHECK(has(text, fmt::format(R"({}{{predictor="{}",resource="cpu",unit="core"}})", metric, predictor)));
  CHECK(has(text, R"(peak{predictor="minPredictor",resource="cpu",unit="core"} 2.304)"));
  CHECK(has(
      external,
      R"(koordlet_node_priority_resource_reclaimable{priority="koord-prod",resource="cpu",unit="core"} 1.696)"));
  CHECK(has(external, R"(koordlet_node_resource_priority_reclaimable_status{priority="koord-prod"} 0)"));
}

TEST_CASE("A conflict is tried again at once, but not more often than the limit allows") {
  World world;
  world.conflicts = 1;
  world.loop.advance(40s);
  world.loop.advance(100ms);
  CHECK(world.puts.size() == 2);
  world.conflicts = 99;
  world.loop.advance(40s);
  world.loop.advance(100ms);
  world.loop.advance(1s);
  CHECK(world.puts.size() == 4);
  CHECK(world.captured.contains("NodeMetric could not be written"));
}

TEST_CASE("Without a NodeMetric nothing is written, and the log says so once") {
  World world({.exists = false});
  world.loop.advance(60s);
  world.loop.advance(60s);
  CHECK(world.puts.empty());
  CHECK(world.captured.count(LogLevel::warn) == 1);
  CHECK(world.captured.contains("there is no NodeMetric"));
}

TEST_CASE("Nothing is reported before the pods were listed; then at once, when the system's use is known") {
  World world({.listed = false});
  world.pass(300s);
  CHECK(world.puts.empty());
  CHECK(world.captured.count(LogLevel::warn) == 1);
  CHECK(world.captured.contains("has not told the node's pods"));
  world.listed = world.loop.clock.mono();
  SECTION("the system's use is known two ticks later") {
    world.pass(2s);
    CHECK(world.puts.empty());
    world.sample(Metric::system_cpu);
    world.sample(Metric::system_memory);
    world.pass(1s);
    REQUIRE(world.puts.size() == 1);
    const auto document = json::parse(world.puts[0].second);
    REQUIRE(document.has_value());
    CHECK(json::find(*document, "status", "nodeMetric", "systemUsage", "resources") != nullptr);
  }
  SECTION("a pod cannot be read, so it never is") {
    world.pass(8s);
    CHECK(world.puts.empty());
    world.pass(3s);
    CHECK(world.puts.size() == 1);
  }
}

TEST_CASE("Once the list of pods is more than five minutes old reporting stops, and goes on with a new one") {
  World world;
  world.pass(300s);
  const std::size_t before = world.puts.size();
  CHECK(before == 7);
  world.pass(600s);
  CHECK(world.puts.size() == before);
  CHECK(world.captured.count(LogLevel::warn) == 1);
  CHECK(world.captured.contains("for five minutes"));
  world.listed = world.loop.clock.mono();
  world.pass(1s);
  CHECK(world.puts.size() == before + 1);
  CHECK(world.captured.contains("NodeMetric reports start or go on"));
}

TEST_CASE("Where none of the pods can be measured nothing is reported, where some can they are") {
  World world;
  Inventory inventory;
  inventory.pods_known = true;
  for (const char* name : {"blind", "seen"}) {
    auto pod = std::make_shared<PodInfo>();
    pod->uid = pod->name = name;
    inventory.pods.push_back(std::move(pod));
  }
  world.hub.publish(std::move(inventory));
  world.pass(45s);
  CHECK(world.puts.empty());
  CHECK(world.captured.count(LogLevel::warn) == 1);
  CHECK(world.captured.contains("none of the node's pods can be measured"));
  world.sample(Metric::pod_cpu, "seen");
  world.sample(Metric::pod_memory, "seen");
  world.pass(1s);
  REQUIRE(world.puts.size() == 1);
  CHECK(world.puts[0].second.find("seen") != std::string::npos);
}

TEST_CASE("The first report is due by the NodeMetric's own interval, however late that is read") {
  World world({.away = true});
  world.pass(15s);
  world.away = false;
  world.pass(24s);
  CHECK(world.puts.empty());
  world.pass(2s);
  CHECK(world.puts.size() == 1);
}

}  // namespace
}  // namespace koord::koordlet
