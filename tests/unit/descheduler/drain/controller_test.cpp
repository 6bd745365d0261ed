// The driver of drains on an API server that the test plays: what it writes it sees, and another process goes
// on where one has ended.
#include "drain/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drain/cordon.hpp"
#include "koord/api/koordinator/drain.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/async/task_group.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "unit/descheduler/rights_check.hpp"
#include "unit/descheduler/write_watch.hpp"

namespace koord::descheduler::drain::test {
namespace {

using namespace std::chrono_literals;
using koord::test::json_response;
using koord::test::status_response;

constexpr std::string_view kGroup = "/apis/scheduling.koordinator.sh/v1alpha1/";

/// Objects by their paths, every watch told of each change. It outlives the processes.
struct Server {
  std::map<std::string, std::string> objects;
  std::vector<std::string> writes;
  int version = 10;
  int refuse_after = -1;  // writes; then 500
  std::function<void(const std::string& collection, const std::string& event)> tell;

  static std::string collection_of(const std::string& path) {
    if (path.find("/pods/") != std::string::npos) return "/api/v1/pods";
    return path.substr(0, path.rfind('/'));
  }
  void put(const std::string& path, std::string object) {
    json::Document made = json::parse(object).value();
    json::Value& metadata = json::object_at(made, "metadata", made.arena());
    json::set_text(metadata, "name", path.substr(path.rfind('/') + 1), made.arena());
    if (json::text_at(metadata, "uid").empty())
      json::set_text(metadata, "uid", fmt::format("{:08}-uid", ++version), made.arena());
    if (json::text_at(metadata, "creationTimestamp").empty())
      json::set_text(metadata, "creationTimestamp", "2026-01-02T03:00:00Z", made.arena());
    json::set_text(metadata, "resourceVersion", std::to_string(++version), made.arena());
    const bool is_new = !objects.contains(path);
    objects[path] = json::to_text(made);
    told(path, is_new ? "ADDED" : "MODIFIED", objects[path]);
  }
  void told(const std::string& path, std::string_view type, const std::string& object) const {
    if (tell) tell(collection_of(path), fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object));
  }
  void erase(const std::string& path) {
    const auto it = objects.find(path);
    if (it == objects.end()) return;
    json::Document last = json::parse(it->second).value();
    json::set_text(json::object_at(last, "metadata", last.arena()), "resourceVersion",
                   std::to_string(++version), last.arena());
    objects.erase(it);
    told(path, "DELETED", json::to_text(last));
  }
  Result<net::Response> answer(const net::Request& request) {
    CHECK(descheduler::test::lacking_right(request, "Drain") == "");
    std::string path = request.target.substr(0, request.target.find('?'));
    if (request.method == "GET") {
      if (request.target.find("sendInitialEvents") != std::string::npos)
        return status_response(422, "Invalid");
      if (request.target.find("watch=") != std::string::npos) return json_response(200, "");
      if (const auto it = objects.find(path); it != objects.end()) return json_response(200, it->second);
      std::string items;
      for (const auto& [key, object] : objects)
        if (collection_of(key) == path) items += (items.empty() ? "" : ",") + object;
      return json_response(
          200, fmt::format(R"({{"metadata":{{"resourceVersion":"{}"}},"items":[{}]}})", version, items));
    }
    if (refuse_after == 0) return status_response(500, "InternalError", "the disk is full");
    if (refuse_after > 0) --refuse_after;
    writes.push_back(fmt::format("{} {} {}", request.method, path, request.body));
    if (request.method == "DELETE") {
      erase(path);
      return json_response(200, "{}");
    }
    const json::Document body = json::parse(request.body).value();
    if (request.method == "POST") {
      path += "/" + std::string(json::text_at(body, "metadata", "name"));
      if (objects.contains(path)) return status_response(409, "AlreadyExists");
      put(path, request.body);
      return json_response(201, objects[path]);
    }
    if (path.ends_with("/status")) path.resize(path.size() - 7);
    if (!objects.contains(path)) return status_response(404, "NotFound");
    json::Document object = json::parse(objects[path]).value();
    for (const std::string_view guard : {"uid", "resourceVersion"}) {
      const std::string_view wanted = json::text_at(body, "metadata", guard);
      if (!wanted.empty() && wanted != json::text_at(object, "metadata", guard))
        return status_response(409, "Conflict");
    }
    json::merge_patch(object, body, object.arena());
    put(path, json::to_text(object));
    return json_response(200, objects[path]);
  }

  // What others do.

  template <class T>
  T get(const std::string& path) {
    const auto it = objects.find(path);
    if (it == objects.end()) FAIL("there is no " << path);
    return api::decode<T>(it->second).value();
  }
  std::vector<std::string> names(std::string_view plural) const {
    std::vector<std::string> all;
    for (const auto& [path, object] : objects)
      if (path.starts_with(fmt::format("{}{}/", kGroup, plural))) all.push_back(path);
    return all;
  }
  void add_node(std::string_view name, std::string_view labels = "{}") {
    put(fmt::format("/api/v1/nodes/{}", name),
        fmt::format(R"({{"metadata":{{"labels":{}}},"status":{{"allocatable":{{"cpu":"10","memory":"10Gi",)"
                    R"("pods":"10"}}}}}})",
                    labels));
  }
  void add_pod(std::string_view name, std::string_view node) {
    put(fmt::format("/api/v1/namespaces/default/pods/{}", name),
        fmt::format(
            R"({{"metadata":{{"namespace":"default","ownerReferences":[{{"kind":"ReplicaSet",)"
            R"("apiVersion":"apps/v1","name":"rs","uid":"rs","controller":true}}]}},"spec":{{"nodeName":"{}",)"
            R"("kept":true,"containers":[{{"name":"c","resources":{{"requests":{{"cpu":"1"}}}}}}]}}}})",
            node));
  }
  void schedule(std::string_view node) {
    for (const std::string& path : names("reservations")) {
      auto room = get<api::Reservation>(path);
      if (!room.status.phase.empty()) continue;
      json::Document object = json::parse(objects[path]).value();
      const json::Document status =
          json::parse(fmt::format(R"({{"status":{{"phase":"Available","nodeName":"{}",)"
                                  R"("allocatable":{{"cpu":"1"}}}}}})",
                                  node))
              .value();
      json::merge_patch(object, status, object.arena());
      put(path, json::to_text(object));
    }
  }
  void migrate() {
    for (const std::string& path : names("podmigrationjobs")) {
      auto job = get<api::PodMigrationJob>(path);
      if (job.status.phase == "Succeeded") continue;
      erase(fmt::format("/api/v1/namespaces/default/pods/{}", job.spec.pod_ref->name));
      job.status.phase = "Succeeded";
      put(path, api::encode(job));
    }
  }
  std::string group_phase() {
    return std::string(
        get<api::DrainNodeGroup>(fmt::format("{}drainnodegroups/g", kGroup)).status.phase.view());
  }
};

/// A process that goes on with drains.
struct Process {
  explicit Process(Server& server) : world(server) {
    watch.watch(api);
    watch.guard(transport);
    transport.answer = [this](const net::Request& request) {
      const Result<net::Response> answer = world.answer(request);
      if (answer && answer->status == 200 && request.method == "GET" &&
          request.target.find("watch=") != std::string::npos)
        watches.push_back(request.target.substr(0, request.target.find('?')));
      return answer;
    };
    world.tell = [this](const std::string& collection, const std::string& event) {
      for (std::size_t i = 0; i < transport.bodies.size(); ++i)
        if (watches[i] == collection && !transport.bodies[i]->dropped()) transport.bodies[i]->feed(event);
    };
    loop.clock.jump_wall(api::Time::parse("2026-01-02T03:00:00Z")->wall() - loop.clock.now());
    informers.start();
    loop.settle();
    controller.start(tasks);
    run();
  }
  ~Process() {
    world.tell = nullptr;
    controller.stop();
    koord::test::run_task(loop, tasks.stop(loop.clock, 5s));
    koord::test::run_task(loop, informers.stop());
  }
  void run() {
    for (int i = 0; i < 60; ++i) loop.advance(50ms);
  }
  /// Plays everybody.
  void play() {
    for (int i = 0; i < 8; ++i) {
      run();
      world.schedule("n9");
      run();
      world.migrate();
    }
    run();
  }

  Server& world;
  koord::test::Loop loop;
  koord::test::FakeTransport transport{loop.clock};
  kube::Client api{transport, loop.clock, {.max_retries = 0}};
  descheduler::test::WriteWatch watch;
  kube::InformerSet informers{loop.executor(), loop.clock};
  CapturedLog captured;
  Logger log{captured, loop.clock};
  bool leads = true;
  std::vector<std::string> watches;
  std::optional<Error> failure;
  BasicPlacement placement;
  Controller controller{{.clock = loop.clock,
                         .log = log,
                         .informers = informers,
                         .client = api,
                         .may_write = [this] { return leads; },
                         .why_not = [](const api::Pod&) { return std::string(); },
                         .placement = placement}};
  TaskGroup tasks{loop.executor(), [this](std::string_view, const Error& error) { failure = error; }};
};

Server two_nodes() {
  Server server;
  server.add_node("n1", R"({"pool":"old"})");
  server.add_node("n2", R"({"pool":"old"})");
  server.add_node("n9");
  server.add_pod("a", "n1");
  server.add_pod("b", "n2");
  server.put(
      fmt::format("{}drainnodegroups/g", kGroup),
      R"({"spec":{"nodeSelector":{"matchLabels":{"pool":"old"}},"cordonNodePolicy":{"mode":"Taint"}}})");
  return server;
}

std::string marks(Server& server) {
  std::string all;
  for (const char* name : {"n1", "n2", "n9"}) {
    const auto node = server.get<api::Node>(fmt::format("/api/v1/nodes/{}", name));
    all += fmt::format("{}={} ", name, marked_by(node));
    for (const auto& [key, value] : node.metadata.labels)
      if (key.view().starts_with("drain.")) all += "L";
    for (std::size_t i = 0; i < node.spec.taints.size(); ++i) all += "T";
  }
  return all;
}

TEST_CASE("a group of two nodes is drained and reports") {
  Server server = two_nodes();
  Process process(server);
  process.play();
  CHECK(server.group_phase() == "Succeeded");
  const auto group = server.get<api::DrainNodeGroup>(fmt::format("{}drainnodegroups/g", kGroup));
  CHECK(group.status.total_count == 2);
  CHECK(group.status.succeeded_count == 2);
  CHECK(marks(server) == "n1=g-n1 LLTn2=g-n2 LLTn9= ");
  CHECK(server.names("podmigrationjobs").size() == 2);
  REQUIRE(server.names("reservations").size() == 2);
  // Of the whole pod, what koord does not know included.
  CHECK(server.objects[server.names("reservations")[0]].find(R"("kept":true)") != std::string::npos);
  CHECK_FALSE(process.failure.has_value());
  const std::size_t count = server.writes.size();
  process.run();
  CHECK(server.writes.size() == count);
}

TEST_CASE("a process that ends after any of its writes leaves what the next one goes on with") {
  Server whole = two_nodes();
  {
    Process process(whole);
    process.play();
  }
  const int all = static_cast<int>(whole.writes.size());
  REQUIRE(all > 15);
  for (int cut = 1; cut < all; cut += 2) {
    CAPTURE(cut);
    Server server = two_nodes();
    server.refuse_after = cut;
    {
      Process process(server);
      process.play();
    }
    server.refuse_after = -1;
    Process next(server);
    next.play();
    CHECK(server.group_phase() == "Succeeded");
    CHECK(server.names("podmigrationjobs").size() == 2);
    CHECK(server.names("reservations").size() == 2);
    CHECK(server.names("drainnodes").size() == 2);
  }
}

TEST_CASE("aborted, everything is undone, by another process too") {
  for (const bool is_other_process : {false, true}) {
    CAPTURE(is_other_process);
    Server server = two_nodes();
    const std::string before = marks(server);
    const std::string path = fmt::format("{}drainnodegroups/g", kGroup);
    auto process = std::make_unique<Process>(server);
    process->run();
    server.schedule("n9");
    process->run();
    server.schedule("n9");
    process->run();
    CHECK(server.group_phase() == "Running");
    CHECK(server.names("podmigrationjobs").size() == 2);
    if (is_other_process) process.reset();
    auto group = server.get<api::DrainNodeGroup>(path);
    group.metadata.labels[api::kDrainAbortLabel] = "true";
    server.put(path, api::encode(group));
    if (is_other_process) process = std::make_unique<Process>(server);
    process->run();
    process->run();
    CHECK(server.group_phase() == "Aborted");
    CHECK(server.names("podmigrationjobs").empty());
    CHECK(server.names("reservations").empty());
    CHECK(marks(server) == before);
    CHECK(server.objects.contains("/api/v1/namespaces/default/pods/a"));
  }
}

TEST_CASE("marks of a DrainNode that somebody deletes are taken away, and nobody else's") {
  Server server = two_nodes();
  server.erase(fmt::format("{}drainnodegroups/g", kGroup));
  server.put(fmt::format("{}drainnodes/d", kGroup),
             R"({"spec":{"nodeName":"n1","cordonPolicy":{"mode":"Taint"}}})");
  server.put(fmt::format("{}drainnodes/e", kGroup),
             R"({"spec":{"nodeName":"n2","cordonPolicy":{"mode":"Taint"}}})");
  Process process(server);
  CHECK(marks(server) == "n1=d LTn2=e LTn9= ");
  server.erase(fmt::format("{}drainnodes/d", kGroup));
  process.run();
  CHECK(marks(server) == "n1= n2=e LTn9= ");
}

TEST_CASE("nothing is written while another process leads") {
  Server server = two_nodes();
  Process process(server);
  process.leads = false;
  const std::size_t count = server.writes.size();
  process.play();
  CHECK(server.writes.size() == count);
  process.leads = true;
  process.play();
  CHECK(server.group_phase() == "Succeeded");
}

TEST_CASE("a group of all nodes is refused, and one bad object stops nobody") {
  Server server = two_nodes();
  server.put(fmt::format("{}drainnodegroups/all", kGroup), R"({"spec":{}})");
  server.put(fmt::format("{}drainnodegroups/bad", kGroup),
             R"({"spec":{"nodeSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}})");
  server.put(fmt::format("{}drainnodes/nowhere", kGroup), R"({"spec":{"nodeName":"nowhere"}})");
  Process process(server);
  process.play();
  CHECK(server.group_phase() == "Succeeded");
  const auto said = [&](std::string_view name) {
    const auto group = server.get<api::DrainNodeGroup>(fmt::format("{}drainnodegroups/{}", kGroup, name));
    for (const api::Condition& condition : group.status.conditions)
      if (condition.type == "Failed") return std::string(condition.reason.view());
    return std::string("not refused");
  };
  CHECK(said("all") == "SelectsAllNodes");
  CHECK(said("bad") == "InvalidNodeSelector");
  CHECK(server.get<api::DrainNode>(fmt::format("{}drainnodes/nowhere", kGroup)).status.phase == "Aborted");
}

TEST_CASE("where nothing has room for a node's pods it is not touched") {
  Server server = two_nodes();
  server.erase("/api/v1/nodes/n9");
  server.put("/api/v1/nodes/n9", R"({"status":{"allocatable":{"cpu":"1","memory":"10Gi","pods":"10"}}})");
  Process process(server);
  process.play();
  CHECK(server.group_phase() == "Succeeded");
  const auto group = server.get<api::DrainNodeGroup>(fmt::format("{}drainnodegroups/g", kGroup));
  CHECK(group.status.unavailable_count == 1);
  CHECK(marks(server) == "n1=g-n1 LLTn2= Ln9= ");
  CHECK(server.objects.contains("/api/v1/namespaces/default/pods/b"));
}

}  // namespace
}  // namespace koord::descheduler::drain::test
