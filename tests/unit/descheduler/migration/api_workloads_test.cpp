// What stands behind pods: from informers, from the subresource scale, and what is not known.
#include "migration/api_workloads.hpp"

#include <catch2/catch.hpp>

#include <chrono>

#include "migration/fake_cluster.hpp"

namespace koord::descheduler::migration::test {
namespace {

using namespace std::chrono_literals;

struct World {
  World() {
    const auto cluster_answers = cluster.server.answer;
    cluster.server.answer = [this, cluster_answers](const net::Request& request) -> Result<net::Response> {
      if (request.target == "/apis/apps.kruise.io/v1alpha1") {
        ++discoveries;
        return koord::test::json_response(
            200,
            R"({"resources":[{"name":"clonesets","kind":"CloneSet"},{"name":"clonesets/scale","kind":"Scale"},)"
            R"({"name":"sidecarsets","kind":"SidecarSet"}]})");
      }
      if (request.target == "/apis/apps.kruise.io/v1alpha1/namespaces/default/clonesets/c/scale") {
        ++asked;
        if (broken) return koord::test::status_response(403, "Forbidden");
        return koord::test::json_response(
            200, fmt::format(R"({{"metadata":{{"uid":"c"}},"spec":{{"replicas":{}}}}})", replicas));
      }
      if (request.target.starts_with("/apis/gone") || request.target.find("/scale") != std::string::npos)
        return koord::test::status_response(404, "NotFound");
      return cluster_answers(request);
    };
  }
  ~World() {
    koord::test::run_task(loop, tasks.stop(loop.clock, 20s));
    koord::test::run_task(loop, informers.stop());
  }
  void begin() {
    informers.start();
    loop.settle();
    workloads.start(tasks, [this] { ++known; });
  }
  Workload find(std::string_view api_version, std::string_view kind, std::string_view name,
                std::string_view uid = {}) {
    api::OwnerReference owner;
    owner.api_version = Symbol(api_version);
    owner.kind = Symbol(kind);
    owner.name = Symbol(name);
    owner.uid = Symbol(uid.empty() ? name : uid);
    owner.controller = true;
    return workloads.find(owner, "default");
  }
  void put(const std::string& plural, const std::string& name, std::string_view more) {
    cluster.put(
        plural + "/default/" + name,
        fmt::format(R"({{"metadata":{{"namespace":"default","name":"{}","uid":"{}"{}}})", name, name, more));
  }

  koord::test::Loop loop;
  FakeCluster cluster{loop};
  CapturedLog captured;
  Logger log{captured, loop.clock};
  kube::Client api{cluster.server, loop.clock, {.max_retries = 0}};
  kube::InformerSet informers{loop.executor(), loop.clock};
  TaskGroup tasks{loop.executor()};
  ApiWorkloads workloads{ApiWorkloads::parts(loop.clock, log, api, informers)};
  int discoveries = 0, asked = 0, known = 0, replicas = 7;
  bool broken = false;
};

TEST_CASE("Kubernetes' own workloads are known from informers, a Deployment with all its ReplicaSets") {
  World world;
  world.put("deployments", "web", R"(},"spec":{"replicas":6})");
  for (const char* set : {"web-1", "web-2"})
    world.put(
        "replicasets", set,
        R"(,"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"web","controller":true}]},"spec":{"replicas":3})");
  world.put("replicasets", "alone", R"(},"spec":{"replicas":4})");
  world.put(
      "replicasets", "orphan",
      R"(,"ownerReferences":[{"kind":"Deployment","name":"gone","uid":"gone","controller":true}]},"spec":{"replicas":4})");
  world.put("statefulsets", "db", R"(},"spec":{})");
  world.put("replicationcontrollers", "rc", R"(},"spec":{"replicas":2})");
  CHECK_FALSE(world.find("apps/v1", "StatefulSet", "db").known);
  world.begin();
  const Workload web = world.find("apps/v1", "ReplicaSet", "web-1");
  CHECK(web.known);
  CHECK(web.replicas == 6);
  CHECK(web.owners.size() == 2);
  CHECK(world.find("apps/v1", "ReplicaSet", "alone").replicas == 4);
  CHECK(world.find("apps/v1", "ReplicaSet", "orphan").replicas == 0);
  CHECK(world.find("apps/v1beta9", "StatefulSet", "db").replicas == 1);
  CHECK(world.find("v1", "ReplicationController", "rc").replicas == 2);
  // Gone, or another one of the name; and what has no replicas at all.
  for (const Workload& none :
       {world.find("apps/v1", "StatefulSet", "none"), world.find("apps/v1", "StatefulSet", "db", "x"),
        world.find("batch/v1", "Job", "j")}) {
    CHECK(none.known);
    CHECK(none.replicas == 0);
    CHECK(none.owners.empty());
  }
}

TEST_CASE("others are asked for their scale, in the background, once in half a minute") {
  World world;
  world.begin();
  CHECK_FALSE(world.find("apps.kruise.io/v1alpha1", "CloneSet", "c").known);
  CHECK_FALSE(world.find("apps.kruise.io/v1alpha1", "CloneSet", "c").known);
  world.loop.settle();
  CHECK(world.known == 1);
  CHECK(world.find("apps.kruise.io/v1alpha1", "CloneSet", "c").replicas == 7);
  CHECK(world.asked == 1);
  world.replicas = 8;
  world.loop.advance(31s);
  CHECK(world.find("apps.kruise.io/v1alpha1", "CloneSet", "c").replicas == 7);  // while it is being asked for
  world.loop.settle();
  CHECK(world.find("apps.kruise.io/v1alpha1", "CloneSet", "c").replicas == 8);
  CHECK(world.asked == 2);
  CHECK(world.discoveries == 1);
  // Who has to know waits for what is fresh.
  world.replicas = 9;
  world.loop.advance(31s);
  api::OwnerReference owner;
  owner.api_version = "apps.kruise.io/v1alpha1";
  owner.kind = "CloneSet";
  owner.name = owner.uid = "c";
  koord::test::run_task(world.loop, world.workloads.refresh(owner, "default"));
  CHECK(world.find("apps.kruise.io/v1alpha1", "CloneSet", "c").replicas == 9);
}

TEST_CASE("what cannot be asked for is not known, is told once, and is asked for again") {
  World world;
  world.broken = true;
  world.begin();
  for (int i = 0; i < 4; ++i) {
    CHECK_FALSE(world.find("apps.kruise.io/v1alpha1", "CloneSet", "c").known);
    world.loop.advance(6s);
  }
  CHECK(world.asked >= 3);
  world.broken = false;
  (void)world.find("apps.kruise.io/v1alpha1", "CloneSet", "c");
  world.loop.settle();
  CHECK(world.find("apps.kruise.io/v1alpha1", "CloneSet", "c").replicas == 7);
}

TEST_CASE("kinds without a scale, that nobody serves, or whose names are made up have no replicas") {
  World world;
  world.begin();
  for (int round = 0; round < 2; ++round) {
    for (const auto& [version, kind, name] :
         {std::tuple{"apps.kruise.io/v1alpha1", "SidecarSet", "s"}, std::tuple{"gone.io/v1", "Thing", "t"},
          std::tuple{"apps.kruise.io/v1alpha1", "CloneSet", "another"}, std::tuple{"../v1", "Thing", "t"},
          std::tuple{"x/v1", "Thing", "a/../b"}}) {
      CAPTURE(version, kind, name);
      const Workload found = world.find(version, kind, name);
      CHECK(found.known == (round == 1));
      CHECK(found.replicas == 0);
    }
    world.loop.settle();
  }
}

}  // namespace
}  // namespace koord::descheduler::migration::test
