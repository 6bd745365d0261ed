// The controller quotaprofile: upstream's rows, and what one profile does to the others, on an API server
// that the test plays.
#include "controllers/quota_profiles.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "admission/quota/amounts.hpp"
#include "koord/api/koordinator/annotation.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/writer.hpp"
#include "role.hpp"
#include "support/role_rig.hpp"

namespace koord::manager {
namespace {

/// Objects as they were put, by their paths; what the controller writes is kept, and seen by it when the
/// informers list anew.
struct World : test::RoleRig {
  World() : RoleRig(manager::role(), {}) {
    server.answer = [this](const net::Request& request) { return serve(request); };
    for (const auto& [name, zone, ready] :
         {std::tuple{"node1", "a", "True"}, std::tuple{"node2", "a", "False"},
          std::tuple{"node3", "b", "True"}})
      put("/api/v1/nodes", name,
          fmt::format(
              R"({{"metadata":{{"name":"{}","labels":{{"zone":"{}"}}}},"status":{{"allocatable":{{"cpu":"10",)"
              R"("memory":"1000","storage":"1000"}},"conditions":[{{"type":"Ready","status":"{}"}}]}}}})",
              name, zone, ready));
  }
  ~World() override {
    test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(20)));
    controller.reset();
  }

  void put(const std::string& collection, std::string_view name, std::string object) {
    objects[fmt::format("{}/{}", collection, name)] = std::move(object);
  }
  void profile(std::string_view name, std::string_view spec, std::string_view metadata = {}) {
    put("/apis/quota.koordinator.sh/v1alpha1/namespaces/kube-system/elasticquotaprofiles", name,
        fmt::format(R"({{"metadata":{{"name":"{}","namespace":"kube-system"{}}},"spec":{}}})", name, metadata,
                    spec));
  }
  static std::string quota_path(std::string_view name) {
    return fmt::format("/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/kube-system/elasticquotas/{}", name);
  }
  Result<net::Response> serve(const net::Request& request) {
    const std::string path = request.target.substr(0, request.target.find('?'));
    if (request.method == "GET") {
      if (request.target.find("sendInitialEvents") != std::string::npos)
        return test::status_response(422, "Invalid");
      if (request.target.find("watch=") != std::string::npos) return test::json_response(200, "");
      const std::string kind = path.substr(path.rfind('/'));
      std::string items;
      for (const auto& [key, object] : objects)
        if (key.find(kind + "/") != std::string::npos) items += (items.empty() ? "" : ",") + object;
      return test::json_response(
          200, fmt::format(R"({{"metadata":{{"resourceVersion":"1"}},"items":[{}]}})", items));
    }
    ++writes;
    const json::Document body = json::parse(request.body).value();
    const std::string key =
        request.method == "POST" ? fmt::format("{}/{}", path, json::text_at(body, "metadata", "name")) : path;
    if (key.find(refused) != std::string::npos && !refused.empty())
      return test::status_response(403, "Forbidden", "a webhook says no");
    if (request.method == "POST") {
      objects[key] = request.body;
    } else {
      json::Document object = json::parse(objects.at(key)).value();
      json::merge_patch(object, body, object.arena());
      objects[key] = json::to_text(object);
    }
    return test::json_response(request.method == "POST" ? 201 : 200, objects[key]);
  }

  void begin() {
    controller = std::make_unique<QuotaProfiles>(QuotaProfiles::Parts{
        .clock = loop.clock,
        .log = log,
        .client = api,
        .profiles = informers.informer<api::ElasticQuotaProfile>(api),
        .quotas = informers.informer<api::ElasticQuota>(api),
        .nodes = informers.informer<api::Node>(api),
        .registry = metrics,
        .may_write = [this] { return leads; },
        .warn =
            [this](const api::ElasticQuotaProfile& profile, std::string_view reason, std::string_view note) {
              events.push_back(fmt::format("{} {}: {}", profile.metadata.name, reason, note));
            }});
    informers.start();
    loop.settle();
    controller->start(tasks);
    for (int i = 0; i < 10; ++i) loop.advance(std::chrono::milliseconds(100));
  }
  api::ElasticQuota quota(std::string_view name) {
    const auto found = objects.find(quota_path(name));
    if (found == objects.end()) FAIL(name << " was not made");
    return api::decode<api::ElasticQuota>(found->second).value();
  }

  std::map<std::string, std::string> objects;
  std::string refused;  // a part of the paths that may not be written
  int writes = 0;
  bool leads = true;
  std::vector<std::string> events;
  std::unique_ptr<QuotaProfiles> controller;
};

std::string said(const api::ElasticQuota& quota, std::string_view annotation) {
  return to_text(api::read_annotation<api::AnnotatedResources>(quota.metadata.annotations, annotation)
                     .value()
                     ->resources);
}

TEST_CASE("Upstream's rows: what the root of a tree says") {
  constexpr std::string_view kId1 = "9816276314407088615";
  struct Row {
    std::string_view what, metadata, spec, min, total, closed, tree, more;
  };
  constexpr std::string_view kA = R"("nodeSelector":{"matchLabels":{"zone":"a"}})";
  for (const Row& row : {
           Row{"two nodes, one of them not ready", "", "", "cpu=20,memory=2k", "cpu=20,memory=2k,storage=2k",
               "cpu=10,memory=1k,storage=1k", "", ""},
           Row{"labels of its own", "", R"(,"quotaLabels":{"zone":"x"})", "cpu=20,memory=2k",
               "cpu=20,memory=2k,storage=2k", "cpu=10,memory=1k,storage=1k", "", "x"},
           Row{"a ratio", "", R"(,"resourceRatio":"0.9")", "cpu=18,memory=1800",
               "cpu=18,memory=1800,storage=1800", "cpu=9,memory=900,storage=900", "", ""},
           Row{"no ratio", "", R"(,"resourceRatio":"1.1")", "cpu=20,memory=2k", "cpu=20,memory=2k,storage=2k",
               "cpu=10,memory=1k,storage=1k", "", ""},
           Row{"a tree's id", R"(,"labels":{"quota.scheduling.koordinator.sh/tree-id":"tree1"})", "",
               "cpu=20,memory=2k", "cpu=20,memory=2k,storage=2k", "cpu=10,memory=1k,storage=1k", "tree1", ""},
           Row{"resources",
               R"(,"annotations":{"quota.scheduling.koordinator.sh/resource-keys":"[\"cpu\",\"gpu\"]"})", "",
               "cpu=20,gpu=0", "cpu=20,memory=2k,storage=2k", "cpu=10,memory=1k,storage=1k", "", ""},
           Row{"resources that cannot be read",
               R"(,"annotations":{"quota.scheduling.koordinator.sh/resource-keys":"cpu"})", "",
               "cpu=20,memory=2k", "cpu=20,memory=2k,storage=2k", "cpu=10,memory=1k,storage=1k", "", ""},
       })
    for (const bool there : {false, true}) {
      CAPTURE(row.what, there);
      World world;
      world.profile("profile1", fmt::format(R"({{"quotaName":"root",{}{}}})", kA, row.spec), row.metadata);
      if (there)
        world.objects[World::quota_path("root")] =
            R"({"metadata":{"name":"root","namespace":"kube-system","labels":{"a":"a"}},"spec":{"min":{"cpu":"5","x":"1"}}})";
      world.begin();
      const api::ElasticQuota quota = world.quota("root");
      CHECK(to_text(quota.spec.min) == row.min);
      CHECK(quota.spec.max.size() == quota.spec.min.size());
      CHECK(quota.spec.max.find("cpu")->value() == 4611686018427387);
      CHECK(said(quota, api::kQuotaTotal) == row.total);
      CHECK(said(quota, api::kQuotaUnschedulable) == row.closed);
      const api::SymbolMap& labels = quota.metadata.labels;
      CHECK(api::value_or(labels, api::kQuotaTreeIdLabel) == (row.tree.empty() ? kId1 : row.tree));
      CHECK(api::value_or(labels, api::kQuotaProfileLabel) == "profile1");
      CHECK(api::value_or(labels, api::kQuotaIsRootLabel) == "true");
      CHECK(api::value_or(labels, "zone") == row.more);
      CHECK(api::value_or(labels, "a") == (there ? "a" : ""));
      const std::string& stored =
          world.objects
              ["/apis/quota.koordinator.sh/v1alpha1/namespaces/kube-system/elasticquotaprofiles/profile1"];
      CHECK(json::text_at(json::parse(stored).value(), "metadata", "labels", api::kQuotaTreeIdLabel) ==
            (row.tree.empty() ? kId1 : row.tree));
      CHECK(world.events.empty());
    }
}

TEST_CASE("Amounts are multiplied as upstream does") {
  struct Row {
    std::string_view resource, amount;
    double ratio;
    std::string_view is;
  };
  for (const Row& row :
       {Row{"cpu", "1", 0.9, "900m"}, Row{"cpu", "100m", 0.5, "50m"}, Row{"memory", "1Gi", 0.5, "512Mi"},
        Row{"cpu", "1Gi", 0.5, "536870912"}, Row{"memory", "1000", 0.3333, "333"}, Row{"x", "1500m", 1, "2"},
        Row{"cpu", "9E", 1, "9200T"}}) {
    CAPTURE(row.resource, row.amount);
    CHECK(scaled(api::Quantity::must(row.amount), row.resource, row.ratio).to_string() == row.is);
  }
  for (const auto& [text, ratio] :
       {std::pair{"0.5", 500}, std::pair{"+5e-1", 500}, std::pair{"0", 1000}, std::pair{"-1", 1000},
        std::pair{"nan", 1000}, std::pair{"", 1000}, std::pair{"0.5x", 1000}, std::pair{"inf", 1000}}) {
    CAPTURE(text);
    api::ElasticQuotaProfileSpec spec;
    spec.resource_ratio = text;
    ProfileTotals totals{{{"cpu", api::Quantity::must("1")}}, {}};
    apply_ratio(spec, totals);
    CHECK(totals.total.find("cpu")->milli_value() == ratio);
  }
}

TEST_CASE("A bad profile stops nobody, and is told of") {
  World world;
  world.profile("absent", R"({"quotaName":"absent"})");
  world.profile(
      "bad", R"({"quotaName":"bad","nodeSelector":{"matchExpressions":[{"key":"zone","operator":"Near"}]}})");
  world.profile("refused", R"({"quotaName":"no","nodeSelector":{}})");
  world.profile("right", R"({"quotaName":"right","nodeSelector":{}})");
  world.refused = "elasticquotas/no";
  world.begin();
  CHECK(to_text(world.quota("right").spec.min) == "cpu=30,memory=3k");
  CHECK(to_text(world.quota("absent").spec.min) == "cpu=0,memory=0");  // it selects nothing
  CHECK_FALSE(world.objects.contains(World::quota_path("bad")));
  REQUIRE(world.events.size() == 1);
  CHECK_THAT(world.events.front(),
             Catch::StartsWith("refused CreateQuotaFailed: failed to create quota, err: ") &&
                 Catch::Contains("a webhook says no"));
  CHECK(world.captured.contains("an ElasticQuotaProfile has no effect"));
  world.refused.clear();
  for (int i = 0; i < 30; ++i) world.loop.advance(std::chrono::milliseconds(100));
  CHECK(to_text(world.quota("no").spec.min) == "cpu=30,memory=3k");
}

TEST_CASE("Who does not lead writes nothing; what is right is not written again") {
  World follower;
  follower.leads = false;
  follower.profile("p", R"({"quotaName":"q","nodeSelector":{}})");
  follower.begin();
  CHECK(follower.writes == 0);

  World world;
  world.profile("p", R"({"quotaName":"q","nodeSelector":{}})",
                R"(,"labels":{"quota.scheduling.koordinator.sh/tree-id":"t"})");
  world.begin();
  REQUIRE(world.writes == 1);
  const std::string made = world.objects[World::quota_path("q")];
  World again;
  again.objects = world.objects;
  again.begin();
  for (int i = 0; i < 300; ++i) again.loop.advance(std::chrono::milliseconds(100));
  CHECK(again.writes == 0);
}

TEST_CASE("Of nodes, labels, amounts and whether they take pods count") {
  const auto node = [](std::string_view labels, std::string_view cpu, std::string_view ready,
                       std::string_view rest = {}) {
    return api::decode<api::Node>(
               fmt::format(
                   R"({{"metadata":{{"name":"n","labels":{{{}}}}},"spec":{{{}}},"status":{{"allocatable":{{"cpu":"{}"}},)"
                   R"("conditions":[{{"type":"Ready","status":"{}","lastHeartbeatTime":"2026-01-01T00:00:00Z"}}]}}}})",
                   labels, rest, cpu, ready))
        .value();
  };
  const api::Node before = node("", "1", "True");
  api::Node beats = before;
  beats.metadata.resource_version = "9";
  CHECK_FALSE(changes_totals(before, beats));
  CHECK(changes_totals(before, node(R"("a":"b")", "1", "True")));
  CHECK(changes_totals(before, node("", "2", "True")));
  CHECK(changes_totals(before, node("", "1", "Unknown")));
  CHECK(changes_totals(before, node("", "1", "True", R"("unschedulable":true)")));
}

}  // namespace
}  // namespace koord::manager
