// The evictor MigrationController: what becomes of a pod that a plugin has chosen, and several profiles.
#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>

#include "framework/fake_pass.hpp"
#include "framework/plugin_table.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/kube/informer.hpp"
#include "migration/args.hpp"
#include "migration/fake_cluster.hpp"
#include "migration/migration_objects.hpp"

namespace koord::descheduler::migration::test {
namespace {

using namespace std::chrono_literals;

struct World {
  World() {
    cluster.watch.watch(api);
    for (const char* name : {"a", "b"})
      cluster.put(
          "pods/default/" + std::string(name),
          fmt::format(
              R"({{"metadata":{{"namespace":"default","name":"{}","uid":"uid-{}","ownerReferences":[)"
              R"({{"apiVersion":"apps/v1","kind":"StatefulSet","name":"set","uid":"set","controller":true}}]}},)"
              R"("spec":{{"nodeName":"node-0","schedulerName":"koord-scheduler"}},"status":{{"phase":"Running",)"
              R"("conditions":[{{"type":"Ready","status":"True"}}]}}}})",
              name, name));
    cluster.put("statefulsets/default/set",
                R"({"metadata":{"namespace":"default","name":"set","uid":"set"},"spec":{"replicas":10}})");
  }
  ~World() {
    for (auto& evictor : evictors) evictor->stop();
    koord::test::run_task(loop, tasks.stop(loop.clock, 20s));
    koord::test::run_task(loop, informers.stop());
  }
  Evictor& add(const std::string& profile, std::string_view json = "{}") {
    auto args =
        std::make_shared<MigrationControllerArgs>(api::decode_strict<MigrationControllerArgs>(json).value());
    scheduling::args_type<MigrationControllerArgs>.set_defaults(args.get());
    contexts.push_back(std::make_unique<PluginContext>(PluginContext{.profile = profile,
                                                                     .clock = loop.clock,
                                                                     .log = log,
                                                                     .gates = gates,
                                                                     .client = &api,
                                                                     .informers = &informers,
                                                                     .evictions = &evictions,
                                                                     .shared = &shared,
                                                                     .may_write = [] { return true; },
                                                                     .dry_run = dry_run,
                                                                     .snapshot = [this] { return snapshot; },
                                                                     .pass = [this] { return pass; }}));
    const PluginEntry* row = find_plugin(plugin_table(), "MigrationController");
    REQUIRE(row);
    evictors.push_back(row->make_evictor(args, *contexts.back()).value());
    return *evictors.back();
  }
  void begin() {
    informers.start();
    for (auto& evictor : evictors) evictor->start(tasks);
    loop.settle();
  }
  std::shared_ptr<const api::Pod> pod(std::string_view name) {
    return std::make_shared<const api::Pod>(
        api::decode<api::Pod>(cluster.objects.at("pods/default/" + std::string(name))).value());
  }
  /// Why it stays; empty: it has a job.
  std::string evict(Evictor& evictor, std::string_view name) {
    const EvictOptions options{
        .plugin = "LowNodeLoad", .reason = "it is hot", .profile = {}, .delete_options = {}};
    const Result<> done = koord::test::run_task(loop, evictor.evict(pod(name), options));
    return done ? std::string() : done.error().message();
  }
  std::string rehearse(Evictor& evictor, std::string_view name) {
    const EvictOptions options{.plugin = "LowNodeLoad", .reason = "hot", .profile = {}, .delete_options = {}};
    const Result<> done = koord::test::run_task(loop, evictor.rehearse(pod(name), options));
    return done ? std::string() : done.error().message();
  }
  std::vector<std::string> jobs() const {
    std::vector<std::string> all;
    for (const auto& [key, text] : cluster.objects)
      if (key.starts_with("podmigrationjobs/")) all.push_back(key);
    return all;
  }

  koord::test::Loop loop;
  FakeCluster cluster{loop};
  CapturedLog captured;
  Logger log{captured, loop.clock};
  FeatureGates gates;
  kube::Client api{cluster.server, loop.clock, {.max_retries = 0}};
  kube::InformerSet informers{loop.executor(), loop.clock};
  TaskGroup tasks{loop.executor()};
  PodEvictions evictions{{.clock = loop.clock, .log = log, .client = api, .may_write = [] { return true; }}};
  std::map<std::string, std::shared_ptr<void>, std::less<>> shared;
  Pass* pass = nullptr;
  const Snapshot* snapshot = nullptr;
  bool dry_run = false;
  std::vector<std::unique_ptr<PluginContext>> contexts;
  std::vector<std::unique_ptr<Evictor>> evictors;
};

TEST_CASE("in a dry run a pod counts until the next pass, and nothing is written") {
  World world;
  world.dry_run = true;
  Evictor& evictor = world.add("main", R"({"maxMigratingPerNode":1,"maxMigratingPerWorkload":9})");
  world.begin();
  const Snapshot first({}), second({});
  world.snapshot = &first;
  CHECK(world.rehearse(evictor, "a") == "");
  CHECK_FALSE(evictor.why_not(*world.pod("a")).empty());
  CHECK(world.rehearse(evictor, "b").find("maxMigratingPerNode of node-0 reached") != std::string::npos);
  world.cluster.run(20);
  world.snapshot = &second;
  CHECK(world.rehearse(evictor, "b") == "");
  world.cluster.run(20);
  CHECK(world.jobs().empty());
  CHECK(world.cluster.writes.empty());
}

TEST_CASE("defaultJobPaused: a pod that is to go has a job, and stays until somebody lets that go on") {
  World world;
  Evictor& evictor = world.add("main", R"({"defaultJobPaused":true})");
  world.begin();
  REQUIRE(world.evict(evictor, "a").empty());
  world.cluster.run();
  REQUIRE(world.jobs().size() == 1);
  CHECK(world.cluster.writes == std::vector<std::string>{"POST podmigrationjobs/"});
  CHECK(world.cluster.evictions == 0);
  CHECK_FALSE(world.evict(evictor, "a").empty());  // it has its job
  world.cluster.change(world.jobs()[0], R"({"spec":{"paused":null}})");
  world.cluster.run();
  CHECK(world.cluster.evictions == 1);
}

TEST_CASE("a pod that is evicted has a job, at once no other one, and is moved") {
  World world;
  Evictor& evictor = world.add("main");
  CHECK(evictor.why_not(*world.pod("a")) == "PodMigrationJobs are not known yet");
  world.begin();
  CHECK(evictor.why_not(*world.pod("a")).empty());
  REQUIRE(world.evict(evictor, "a").empty());
  CHECK_FALSE(evictor.why_not(*world.pod("a")).empty());
  CHECK_FALSE(world.evict(evictor, "a").empty());
  REQUIRE(world.jobs().size() == 1);
  const json::Document job = world.cluster.read(world.jobs()[0]);
  const auto annotation = [&](std::string_view key) {
    return json::text_at(job, "metadata", "annotations", key);
  };
  CHECK(annotation("koordinator.sh/evict-reason") == "it is hot");
  CHECK(annotation("koordinator.sh/evict-trigger") == "LowNodeLoad");
  CHECK(annotation("koordinator.sh/job-created-by").size() == 36);
  CHECK(annotation("descheduler.koordinator.sh/profile") == "main");
  CHECK(json::text_at(job, "spec", "podRef", "uid") == "uid-a");
  CHECK(json::text_at(job, "spec", "mode") == "ReservationFirst");
  CHECK(json::text_at(job, "spec", "ttl") == "5m0s");
  world.cluster.run();
  CHECK(world.cluster.text_at(world.jobs()[0], "status", "phase") == "Succeeded");
  CHECK(world.cluster.evictions == 1);
  // The other pod of the set waits until two of ten may go in five minutes.
  CHECK(evictor.why_not(*world.pod("b")).empty());
  CHECK_THAT(world.evict(evictor, "b"), Catch::Contains("evicted lately"));
  // The one that has come to another node is not chosen there in the next passes.
  for (int i = 0; i < 4; ++i) world.loop.advance(1min);
  CHECK_THAT(world.evict(evictor, "a-next"), Catch::Contains("a moment ago"));
  for (int i = 0; i < 2; ++i) world.loop.advance(1min);
  CHECK(world.evict(evictor, "a-next").empty());
}

TEST_CASE("two profiles have one controller, and each job is judged by its own") {
  World world;
  Evictor& first = world.add("first", R"({"namespaces":{"exclude":["default"]}})");
  Evictor& second = world.add("second");
  world.begin();
  CHECK_FALSE(world.evict(first, "a").empty());
  REQUIRE(world.evict(second, "a").empty());
  // A user's job is judged by the first profile.
  world.cluster.put("podmigrationjobs//user",
                    R"({"metadata":{"name":"user"},"spec":{"podRef":{"namespace":"default","name":"b"}}})");
  world.cluster.run();
  CHECK(world.cluster.evictions == 1);
  CHECK(world.cluster.text_at("podmigrationjobs//user", "status", "reason") == "ForbiddenMigratePod");
  for (const std::string& job : world.jobs())
    if (job != "podmigrationjobs//user") CHECK(world.cluster.text_at(job, "status", "phase") == "Succeeded");
  CHECK(std::ranges::count_if(world.cluster.writes, [](const std::string& write) {
          return write.starts_with("POST reservations");
        }) == 1);
}

TEST_CASE("a dry run makes no job; a configuration that is only checked asks nobody") {
  World world;
  Evictor& evictor = world.add("main", R"({"dryRun":true})");
  world.begin();
  CHECK(world.evict(evictor, "a").empty());
  CHECK(world.jobs().empty());
  PluginContext checked{.profile = "main", .clock = world.loop.clock, .log = world.log, .gates = world.gates};
  auto args = std::make_shared<MigrationControllerArgs>();
  scheduling::args_type<MigrationControllerArgs>.set_defaults(args.get());
  const auto made = find_plugin(plugin_table(), "MigrationController")->make_evictor(args, checked).value();
  CHECK_FALSE(made->why_not(*world.pod("a")).empty());
}

TEST_CASE("with nodeFit a pod that fits no other node of those that are chosen stays") {
  World world;
  Evictor& evictor = world.add("main", R"({"nodeFit":true,"nodeSelector":"pool=a"})");
  world.begin();
  CHECK_FALSE(evictor.why_not_now(*world.pod("a")).empty());  // there is no pass
  SnapshotObjects objects;
  for (const char* name : {"node-0", "node-1", "node-2"}) {
    api::Node node;
    node.metadata.name = name;
    node.metadata.labels["pool"] = std::string_view(name) == "node-2" ? "b" : "a";
    objects.nodes.push_back(std::make_shared<const api::Node>(node));
  }
  FakePass pass(std::move(objects));
  world.pass = &pass;
  std::string_view room = "node-1";
  pass.fit = [&](const api::Pod&, const NodeView& node) { return node.node->metadata.name == room; };
  CHECK(evictor.why_not_now(*world.pod("a")).empty());
  for (const std::string_view other : {"node-0", "node-2", "none"}) {
    room = other;
    CHECK(evictor.why_not_now(*world.pod("a")) == "it fits no other node");
    CHECK_FALSE(world.evict(evictor, "a").empty());
  }
  CHECK(world.jobs().empty());
}

}  // namespace
}  // namespace koord::descheduler::migration::test
