// The reporter of NodeResourceTopology against an API server that a test plays: made once, written when
// something changes, others' writes in between.
#include "framework/report/topology_reporter.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include "koord/async/task_group.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/kube/client.hpp"
#include "rigs/machines.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kNode =
    R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"u1","resourceVersion":"3"}})";
constexpr std::string_view kPath = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies";

/// Holds one object, tells watchers of it.
struct World {
  test::Loop loop;
  CapturedLog captured;
  Logger log{captured, loop.clock};
  test::FakeTransport server{loop.clock};
  kube::Client client{server, loop.clock, {.max_retries = 0}};
  kube::InformerSet informers{loop.executor(), loop.clock};
  InventoryHub hub;
  std::shared_ptr<const NodeFacts> facts;
  std::string object;  // empty: there is none
  int version = 10, refuse = 0;
  unsigned refusal = 409;
  std::vector<std::string> writes;  // METHOD, and what was refused
  std::function<void()> before_get;
  std::size_t streams = 0;
  std::optional<std::size_t> watch;  // the stream of topologies
  std::optional<TopologyReporter> reporter;
  TaskGroup tasks{loop.executor()};

  explicit World(std::string stored = "") : object(std::move(stored)) {
    server.answer = [this](const net::Request& request) { return answer(request); };
    auto made = std::make_shared<NodeFacts>();
    made->topology = *testing::machine(8);
    made->numa_memory = {{0, 1 << 30}, {1, 1 << 30}};
    facts = made;
    reporter.emplace(
        TopologyReporter::Parts{loop.clock, log, client, informers, hub, [this] { return facts; }},
        TopologyReporter::Settings{.node = "n1"});
    informers.start();
    loop.settle();
    tasks.spawn("report", reporter->run());
    loop.settle();
  }
  Result<net::Response> answer(const net::Request& request) {
    const bool mine = request.target.starts_with(kPath);
    if (request.target.find("watch=") != std::string::npos) {
      if (request.target.find("sendInitialEvents") != std::string::npos)
        return test::status_response(422, "Invalid");
      if (mine) watch = streams;
      ++streams;
      return test::json_response(200, "");
    }
    if (request.method == "PUT" || request.method == "POST") return write(request);
    if (request.target == fmt::format("{}/n1", kPath)) {
      if (before_get) std::exchange(before_get, {})();
      if (object.empty()) return test::status_response(404, "NotFound");
      return test::json_response(200, object);
    }
    return test::json_response(200, fmt::format(R"({{"metadata":{{"resourceVersion":"7"}},"items":[{}]}})",
                                                mine ? object : std::string(kNode)));
  }
  Result<net::Response> write(const net::Request& request) {
    CHECK(request.target == (request.method == "PUT" ? fmt::format("{}/n1", kPath) : std::string(kPath)));
    if (refuse > 0) {
      --refuse;
      writes.push_back(fmt::format("{} {}", request.method, refusal));
      return test::status_response(refusal, refusal == 409 ? "Conflict" : "TooManyRequests");
    }
    if (request.method == "POST" && !object.empty()) {
      writes.emplace_back("POST exists");
      return test::status_response(409, "AlreadyExists");
    }
    writes.push_back(request.method);
    put(request.body, request.method == "PUT" ? "MODIFIED" : "ADDED");
    return test::json_response(200, object);
  }
  /// As if anybody wrote it.
  void put(std::string text, std::string_view event) {
    auto document = json::parse(text);
    REQUIRE(document.has_value());
    json::Value& meta = json::object_at(*document, "metadata", document->arena());
    json::set_text(meta, "resourceVersion", std::to_string(++version), document->arena());
    object = json::to_text(*document);
    if (watch) server.bodies[*watch]->feed(fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", event, object));
  }
  void tell(std::function<void(Inventory&)> change = {}) {
    Inventory next = *hub.current();
    next.pods_known = true;
    next.kubelet = std::make_shared<const KubeletConfig>();
    if (change) change(next);
    hub.publish(std::move(next));
  }
  void pass(std::chrono::seconds time) {
    for (nanoseconds left = time; left > 0s; left -= 100ms) loop.advance(100ms);
  }
  std::string pools() const {
    const auto document = json::parse(object);
    return std::string(
        json::text_at(*document, "metadata", "annotations", "node.koordinator.sh/cpu-shared-pools"));
  }
  ~World() {
    test::run_task(loop, tasks.stop(loop.clock, 1s));
    test::run_task(loop, informers.stop());
  }
};
using Writes = std::vector<std::string>;

void give_away(Inventory& inventory, const char* cpus) {
  auto pod = std::make_shared<PodInfo>();
  pod->uid = "p";
  pod->qos = Qos::lsr;
  pod->cpus = *host::CpuSet::parse(cpus);
  inventory.all_pods = {pod};
}

TEST_CASE("A NodeResourceTopology is made once all is known, and written when something changes") {
  World world;
  world.pass(10s);
  CHECK(world.writes.empty());
  SECTION("the pods are not enough: the kubelet's configuration") {
    world.tell([](Inventory& inventory) { inventory.kubelet = nullptr; });
    world.pass(10s);
    CHECK(world.writes.empty());
  }
  world.tell();
  world.pass(4s);
  CHECK(world.writes == Writes{"POST"});
  world.tell([](Inventory& inventory) { inventory.node.reserved_milli_cpu = 0; });  // nothing of it
  world.pass(30s);
  CHECK(world.writes == Writes{"POST"});
  world.tell([](Inventory& inventory) { give_away(inventory, "2-3"); });
  world.pass(4s);
  CHECK(world.writes == Writes{"POST", "PUT"});
  CHECK(world.pools() == R"([{"socket":0,"node":0,"cpuset":"0-1"},{"socket":1,"node":1,"cpuset":"4-7"}])");
  auto fewer = std::make_shared<NodeFacts>(*world.facts);
  fewer->topology.cpus.pop_back();
  fewer->topology.online.remove(7);
  world.facts = fewer;  // CPU 7 was unplugged
  world.pass(4s);
  CHECK(world.writes == Writes{"POST", "PUT", "PUT"});
  CHECK(world.pools() == R"([{"socket":0,"node":0,"cpuset":"0-1"},{"socket":1,"node":1,"cpuset":"4-6"}])");
  CHECK(world.captured.count(LogLevel::warn) == 0);
}

TEST_CASE("Others' writes: a conflict is tried again, what is undone is done again, what is theirs stays") {
  World world(
      R"({"apiVersion":"topology.node.k8s.io/v1alpha1","kind":"NodeResourceTopology",)"
      R"("metadata":{"name":"n1","resourceVersion":"9","labels":{"theirs":"stays"}},"topologyPolicies":[],"zones":[]})");
  world.refuse = 2;
  world.tell();
  world.pass(4s);
  CHECK(world.writes == Writes{"PUT 409", "PUT 409", "PUT"});
  CHECK(world.object.find(R"("theirs":"stays")") != std::string::npos);
  auto document = json::parse(world.object);
  json::set_text(*json::find(*document, "metadata", "annotations"), "node.koordinator.sh/cpu-shared-pools",
                 "[]", document->arena());
  world.put(json::to_text(*document), "MODIFIED");
  world.pass(4s);
  CHECK(world.writes.size() == 4);
  CHECK(world.pools() != "[]");
  world.refusal = 429;
  world.refuse = 9;
  world.tell([](Inventory& inventory) { give_away(inventory, "1"); });
  world.pass(4s);
  CHECK(world.captured.count(LogLevel::warn) == 1);
  CHECK(world.captured.contains("could not be written"));
  world.refuse = 0;
  world.pass(4s);
  CHECK(world.captured.contains("can be written again"));
  CHECK(world.pools() == R"([{"socket":0,"node":0,"cpuset":"0,2-3"},{"socket":1,"node":1,"cpuset":"4-7"}])");
}

TEST_CASE("One that goes is made again; one that came a moment ago is written into") {
  World world;
  world.tell();
  world.pass(4s);
  const std::string gone = world.object;
  world.object.clear();
  world.server.bodies[*world.watch]->feed(fmt::format("{{\"type\":\"DELETED\",\"object\":{}}}\n", gone));
  world.pass(4s);
  CHECK(world.writes == Writes{"POST", "POST"});
  // Gone, and nobody has told yet.
  world.tell([](Inventory& inventory) { give_away(inventory, "0"); });
  world.before_get = [&world] { world.object.clear(); };
  world.pass(4s);
  CHECK(world.writes == Writes{"POST", "POST", "POST"});
  // There again, and nobody has told yet.
  const std::string there = world.object;
  world.object.clear();
  world.server.bodies[*world.watch]->feed(fmt::format("{{\"type\":\"DELETED\",\"object\":{}}}\n", there));
  world.loop.settle();
  world.object = there;
  world.pass(4s);
  CHECK(world.writes.size() > 3);
  CHECK(world.writes[3] == "POST exists");
  CHECK(std::ranges::count(world.writes, "PUT") == 0);  // what is there is right
}

}  // namespace
}  // namespace koord::koordlet
