// SchedulerNodeFit: rules that BasicNodeFit does not know, what a pod's own presence must not do, and what
// the cluster looks like afterwards.
#include "fitting/scheduler_node_fit.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "framework/node_fit.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/persistent_volume.hpp"
#include "koord/api/types/core_v1/persistent_volume_claim.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"
#include "koord/api/types/sigs_scheduling_v1alpha1/pod_group.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/scheduling/config/gates.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "support/tree.hpp"
#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {

namespace {

using Rows = std::vector<std::string>;

/// Nodes and pods by rows, in a snapshot and in a model.
struct World {
  explicit World(const Rows& node_rows, const Rows& pod_rows, const std::string& config = {},
                 std::string_view gates = {})
      : model(SchedulerModel::make(clock, config, gates_of(gates)).value()),
        snapshot(objects(node_rows, pod_rows)) {
    for (const NodeView& node : snapshot.nodes()) model->engine().put_node(node.node);
    for (const PodPtr& pod : snapshot.pods()) model->engine().put_pod(pod);
  }
  static FeatureGates gates_of(std::string_view said) {
    FeatureGates gates(scheduling::gates());
    REQUIRE(gates.set(said).has_value());
    return gates;
  }
  static SnapshotObjects objects(const Rows& nodes, const Rows& pods) {
    SnapshotObjects all;
    for (const std::string& row : nodes) all.nodes.push_back(test::node_of(row));
    for (const std::string& row : pods) all.pods.push_back(test::pod_of(row));
    return all;
  }
  template <class T>
  void put(std::string_view json) {
    model->engine().put_object(std::make_shared<const T>(api::decode<T>(json).value()));
  }
  const api::Pod& pod(std::string_view name) const {
    for (const PodPtr& pod : snapshot.pods())
      if (pod->metadata.name == name) return *pod;
    throw std::logic_error("no such pod");
  }
  bool fits(std::string_view name, const char* node) {
    SchedulerNodeFit fit(*model, snapshot);
    return fit.fits(pod(name), *snapshot.node(node));
  }
  bool fits_basically(std::string_view name, const char* node) const {
    BasicNodeFit fit(snapshot);
    return fit.fits(pod(name), *snapshot.node(node));
  }
  Rows destinations(const Rows& names) {
    SchedulerNodeFit fit(*model, snapshot);
    std::vector<PodPtr> pods;
    for (const std::string& name : names)
      for (const PodPtr& each : snapshot.pods())
        if (each->metadata.name == name) pods.push_back(each);
    Rows found;
    for (const NodeView* node : fit.destinations(pods, snapshot))
      found.push_back(node != nullptr ? node->node->metadata.name : "");
    return found;
  }
  std::string destination(std::string_view name) {
    SchedulerNodeFit fit(*model, snapshot);
    const NodeView* const found = fit.destination(pod(name), snapshot);
    return found != nullptr ? found->node->metadata.name : "";
  }

  ManualClock clock;
  std::unique_ptr<SchedulerModel> model;
  Snapshot snapshot;
};

std::string spec(const std::string& json) { return R"( {"spec":)" + json + "}"; }
std::string terms(const std::string& kind, const std::string& app, const std::string& topology = "zone") {
  return spec(
      R"({"affinity":{")" + kind +
      R"(":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":{"app":")" +
      app + R"("}},"topologyKey":")" + topology + R"("}]}}})");
}
const std::string kSpread = spec(
    R"({"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule",)"
    R"("labelSelector":{"matchLabels":{"app":"x"}}}]})");
const std::string kPort =
    spec(R"({"containers":[{"name":"c","ports":[{"containerPort":80,"hostPort":80}]}]})");
const std::string kClaim = spec(R"({"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"data"}}]})");

}  // namespace

TEST_CASE("a pod fits where all rules of the scheduler take it") {
  struct Row {
    const char* name;
    Rows nodes, pods;  // asked: p, which is on a, of b
    bool fits, basically;
  };
  const std::string a = "a label:zone=1", b = "b label:zone=2", c = "c label:zone=3";
  const Row rows[] = {
      {"an empty node", {a, b}, {"p a"}, true, true},
      {"a cordoned node", {a, b + " cordoned"}, {"p a"}, false, false},
      {"no room", {a, b}, {"p a cpu=1500", "q b cpu=600"}, false, false},
      {"room", {a, b}, {"p a cpu=1500", "q b cpu=500"}, true, true},
      {"a taint", {a, b + " taint:k=v:NoSchedule"}, {"p a"}, false, false},
      {"a host port", {a, b}, {"p a" + kPort, "q b" + kPort}, false, true},
      {"nobody's host port", {a, b}, {"p a" + kPort, "q b"}, true, true},
      {"spread: others' domains are emptier",
       {a, b, c},
       {"p a label:app=x" + kSpread, "q b label:app=x", "r b label:app=x", "s c label:app=x"},
       false,
       true},
      {"spread: it evens domains out", {a, b}, {"p a label:app=x" + kSpread, "q a label:app=x"}, true, true},
      {"affinity: nobody to be beside",
       {a, b},
       {"p a" + terms("podAffinity", "y"), "q a label:app=y"},
       false,
       true},
      {"affinity: somebody", {a, b}, {"p a" + terms("podAffinity", "y"), "q b label:app=y"}, true, true},
      {"who is there keeps away from it",
       {a, b},
       {"p a label:app=x", "q b" + terms("podAntiAffinity", "x")},
       false,
       true},
      {"it keeps away from who is in the zone, on another node",
       {a, b, "d label:zone=2"},
       {"p a" + terms("podAntiAffinity", "y"), "q d label:app=y"},
       false,
       true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    World world(row.nodes, row.pods);
    CHECK(world.fits("p", "b") == row.fits);
    CHECK(world.fits_basically("p", "b") == row.basically);
  }
}

TEST_CASE("a pod's own presence stands in nobody's way") {
  const Rows nodes = {"a label:zone=1", "b label:zone=1", "c label:zone=2 cordoned"};
  SECTION("of its replacement in the zone, from which it keeps pods like it away") {
    World world(nodes, {"p a label:app=x" + terms("podAntiAffinity", "x")});
    CHECK(world.fits("p", "b"));
  }
  SECTION("of its replacement in the zone, where one more would be one too many") {
    World world(nodes, {"p a label:app=x" + kSpread});
    CHECK(world.fits("p", "b"));
  }
  SECTION("on its own node, which is full with it") {
    World world(nodes, {"p a cpu=2000"});
    CHECK(world.fits("p", "a"));
    CHECK(world.fits("p", "b"));
  }
  SECTION("but its own node may take it no more") {
    World world({"a cordoned", "b"}, {"p a"});
    CHECK_FALSE(world.fits("p", "a"));
  }
}

TEST_CASE("where volumes are decides where pods go") {
  World world({"a label:zone=1", "b label:zone=2"}, {"p a" + kClaim});
  world.put<api::PersistentVolumeClaim>(
      R"({"metadata":{"name":"data","namespace":"default","uid":"1",)"
      R"("annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{"volumeName":"pv"},"status":{"phase":"Bound"}})");
  const auto volume = [](const std::string& zone) {
    return R"({"metadata":{"name":"pv"},"spec":{"claimRef":{"namespace":"default","name":"data","uid":"1"},)"
           R"("nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":[)"
           R"({"key":"zone","operator":"In","values":[)" +
           zone + "]}]}]}}}}";
  };
  world.put<api::PersistentVolume>(volume(R"("1")"));
  CHECK_FALSE(world.fits("p", "b"));
  CHECK(world.fits_basically("p", "b"));
  world.put<api::PersistentVolume>(volume(R"("1","2")"));
  CHECK(world.fits("p", "b"));
}

TEST_CASE("a pod of a gang goes alone, and its quota counts it once") {
  SECTION("a gang that is whole with it only") {
    const std::string gang = " label:pod-group.scheduling.sigs.k8s.io=g";
    World world({"a", "b"}, {"p a" + gang, "q a" + gang});
    world.put<api::PodGroup>(
        R"({"metadata":{"name":"g","namespace":"default","uid":"g"},"spec":{"minMember":2}})");
    CHECK(world.fits("p", "b"));
  }
  SECTION("a quota that has room for it once") {
    World world({"a", "b"}, {"p a cpu=800 label:quota.scheduling.koordinator.sh/name=team"});
    const auto quota = [](const std::string& cpu) {
      return R"({"metadata":{"name":"team","namespace":"default","uid":"t"},"spec":{"max":{"cpu":")" + cpu +
             R"(","memory":"1Ti"},"min":{"cpu":")" + cpu + R"("}}})";
    };
    world.put<api::ElasticQuota>(quota("1"));
    CHECK(world.fits("p", "b"));
    world.put<api::ElasticQuota>(quota("500m"));
    CHECK_FALSE(world.fits("p", "b"));
    CHECK(world.destination("p").empty());
  }
}

TEST_CASE("a pod with claims goes where their devices can be reached") {
  const std::string asks = R"("spec":{"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"}]})";
  World unknown({"a", "b"}, {"p a {" + asks + "}"});
  CHECK_FALSE(unknown.fits("p", "b"));
  CHECK(unknown.fits_basically("p", "b"));
  World world(
      {"a", "b"},
      {"p a {" + asks + R"(,"status":{"resourceClaimStatuses":[{"name":"gpu","resourceClaimName":"c"}]}})"});
  const auto claim = [](const Rows& nodes) {
    std::string terms;
    for (const std::string& node : nodes)
      terms += (terms.empty() ? "" : ",") +
               (R"({"matchFields":[{"key":"metadata.name","operator":"In","values":[")" + node + R"("]}]})");
    return R"({"metadata":{"name":"c","namespace":"default","uid":"c","ownerReferences":[{"apiVersion":"v1",)"
           R"("kind":"Pod","name":"p","uid":"uid-p","controller":true}]},"spec":{"devices":{"requests":[)"
           R"({"name":"r","exactly":{"deviceClassName":"gpu"}}]}},"status":{"allocation":{"devices":{"results":[)"
           R"({"request":"r","driver":"d","pool":"a","device":"0"}]},"nodeSelector":{"nodeSelectorTerms":[)" +
           terms + R"(]}},"reservedFor":[{"resource":"pods","name":"p","uid":"uid-p"}]}})";
  };
  world.put<api::ResourceClaim>(claim({"a"}));
  CHECK_FALSE(world.fits("p", "b"));
  CHECK(world.fits("p", "a"));
  world.put<api::ResourceClaim>(claim({"a", "b"}));
  CHECK(world.fits("p", "b"));
}

TEST_CASE("a pod that the scheduler refuses whatever the nodes are fits nowhere") {
  World world({"a", "b"}, {"p a" + kClaim, "q a"});
  CHECK_FALSE(world.fits("p", "b"));
  CHECK_FALSE(world.fits("p", "a"));
  CHECK(world.fits("q", "b"));
}

TEST_CASE("of many nodes each is told what it is told alone") {
  Rows nodes, pods = {"p n00 label:app=x" + kSpread, "q n01 label:app=x"};
  for (int i = 0; i < 100; ++i)
    nodes.push_back(fmt::format("n{:02} label:zone={}{}", i, i % 3, i % 7 == 0 ? " cpu=100" : ""));
  pods.push_back("r n02 label:app=x");
  pods.push_back("s n03 label:app=x cpu=1500");
  pods.push_back("t n04 label:app=x");  // so p may not go to its zone
  World world(nodes, pods);
  SchedulerNodeFit many(*world.model, world.snapshot);
  for (const std::string_view name : {"p", "q", "r", "s"})
    for (const NodeView& node : world.snapshot.nodes()) {
      INFO(name << " on " << node.node->metadata.name);
      SchedulerNodeFit alone(*world.model, world.snapshot);
      const bool fits = many.fits(world.pod(name), node);
      CHECK(fits == alone.fits(world.pod(name), node));
      if (name == "p") CHECK(fits == (*node.node->metadata.labels.find("zone") != "1"));
    }
}

TEST_CASE("what goes in the pass still counts, and so does who was asked about") {
  World world({"a", "b"}, {"p a cpu=1500" + kClaim, "q b cpu=1500"});
  SchedulerNodeFit fit(*world.model, world.snapshot);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK_FALSE(fit.fits(world.pod("p"), *world.snapshot.node("b")));
    CHECK_FALSE(fit.fits(world.pod("q"), *world.snapshot.node("a")));
    CHECK(fit.fits(world.pod("q"), *world.snapshot.node("b")));
  }
  CHECK(world.model->engine().pods() == 2);
}

TEST_CASE("a pod that has gone meanwhile does not come back by being asked about") {
  World world({"a", "b"}, {"p a cpu=1500" + kClaim, "q b cpu=1500"});
  world.model->engine().remove_pod(world.pod("p"));
  CHECK_FALSE(world.fits("p", "b"));
  CHECK(world.model->engine().pods() == 1);
  CHECK(world.fits("q", "a"));
}

TEST_CASE("where a pod would go is the node that its profile likes best, but its own") {
  World world({"a", "b", "c", "d cordoned"}, {"p a", "q b cpu=1000", "r c cpu=500"});
  CHECK(world.destination("p") == "c");
  CHECK(world.destination("q") == "a");
  World full({"a", "b cpu=500"}, {"p a cpu=1000"});
  CHECK(full.destination("p").empty());
}

TEST_CASE("pods that go together find one another where they have gone") {
  World world({"a", "b cpu=1000", "c cpu=900"}, {"p a cpu=600", "q a cpu=600", "r a cpu=600", "s b cpu=100"});
  SchedulerNodeFit fit(*world.model, world.snapshot);
  std::vector<PodPtr> pods;
  for (const PodPtr& pod : world.snapshot.pods())
    if (pod->spec.node_name == "a") pods.push_back(pod);
  for (int turn = 0; turn < 2; ++turn) {  // nothing of the first is left
    std::string names;
    for (const NodeView* node : fit.destinations(pods, world.snapshot))
      names += node != nullptr ? node->node->metadata.name : "-";
    CHECK(names == "cb-");
  }
  BasicNodeFit basic(world.snapshot);
  for (const NodeView* node : basic.destinations(pods, world.snapshot))
    CHECK(node->node->metadata.name == "b");
}

TEST_CASE("a pod is judged by the profile that its schedulerName names, by the first one if there is none") {
  const koord::testing::Tree tree(
      {{"config",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- schedulerName: strict\n"
        "- schedulerName: lax\n  plugins: {multiPoint: {disabled: [{name: NodePorts}]}}\n"}});
  const auto by = [&](const std::string& scheduler) {
    const std::string json =
        R"( {"spec":{"schedulerName":")" + scheduler +
        R"(","containers":[{"name":"c","ports":[{"containerPort":80,"hostPort":80}]}]}})";
    return World({"a", "b"}, {"p a" + json, "q b" + kPort}, tree / "config").fits("p", "b");
  };
  CHECK(by("lax"));
  CHECK_FALSE(by("strict"));
  CHECK_FALSE(by("nobody"));
}

TEST_CASE("what a configuration has and nobody is asked about is told") {
  const koord::testing::Tree tree(
      {{"config",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "extenders: [{urlPrefix: 'http://x', filterVerb: f, weight: 1}]\n"}});
  ManualClock clock;
  CHECK((*SchedulerModel::make(clock, tree / "config"))->notes() ==
        std::vector<std::string>{"the configuration's extenders are not asked"});
  CHECK((*SchedulerModel::make(clock, {}))->notes().empty());
  CHECK((*SchedulerModel::make(clock, {}, World::gates_of("LazyReservationRestore=true,ResizePod=true")))
            ->notes() == std::vector<std::string>{"feature gates have no effect: LazyReservationRestore"});
}

TEST_CASE("filters go by the scheduler's feature gates") {
  const auto fits = [](std::string_view gates) {
    World world({"a", "b"}, {"p a cpu=500"}, {}, gates);
    world.model->engine().put_pod(std::make_shared<const api::Pod>(
        api::decode<api::Pod>(
            R"({"metadata":{"name":"n","namespace":"default","uid":"n"},"spec":{"schedulerName":"another",)"
            R"("priority":10,"containers":[{"name":"c","resources":{"requests":{"cpu":"1900m"}}}]},)"
            R"("status":{"phase":"Pending","nominatedNodeName":"b"}})")
            .value()));
    return world.fits("p", "b");
  };
  CHECK(fits(""));
  CHECK_FALSE(fits("CrossSchedulerNomination=true"));
}

TEST_CASE("a configuration that cannot be used is refused by file and field") {
  const koord::testing::Tree tree(
      {{"config",
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n"
        "- schedulerName: s\n  pluginz: {}\n"}});
  ManualClock clock;
  const auto unknown = SchedulerModel::make(clock, tree / "config");
  REQUIRE_FALSE(unknown.has_value());
  CHECK_THAT(unknown.error().message(), Catch::Contains(tree / "config") && Catch::Contains("pluginz"));
  const auto missing = SchedulerModel::make(clock, tree / "none");
  REQUIRE_FALSE(missing.has_value());
  CHECK_THAT(missing.error().message(), Catch::Contains(tree / "none"));
}

TEST_CASE("of several pods that go together each finds those before it where they went") {
  World world({"a", "b", "c"}, {"p a cpu=1500", "q a cpu=400", "r b cpu=500", "s c cpu=400"});
  CHECK(world.destination("p") == "c");
  CHECK(world.destination("q") == "c");
  CHECK(world.destinations({"p", "q"}) == Rows{"c", "b"});
  CHECK(world.destinations({"p", "s"}) == Rows{"c", "a"});
  // What they have left is as it was.
  CHECK(world.destination("p") == "c");
  World full({"a", "b"}, {"p a cpu=1500", "q a cpu=400"});
  CHECK(full.destinations({"p", "q"}) == Rows{"b", "b"});
  World tight({"a", "b"}, {"p a cpu=1500", "q a cpu=400", "r b cpu=300"});
  CHECK(tight.destinations({"p", "q"}) == Rows{"b", ""});
}

}  // namespace koord::descheduler
