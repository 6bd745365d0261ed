// PodTopologySpread: words, arguments, defaults that follow what owns a pod, and input that nobody checked.
#include <bit>
#include <catch2/catch.hpp>

#include "filter_cases.hpp"
#include "koord/api/types/apps_v1/replica_set.hpp"
#include "koord/api/types/apps_v1/stateful_set.hpp"
#include "koord/api/types/core_v1/service.hpp"
#include "scheduling/plugins/pod_topology_spread/counts.hpp"
#include "scheduling/plugins/pod_topology_spread/score.hpp"
#include "spread_rig.hpp"

namespace koord::scheduling::test {
namespace {

using pod_topology_spread::domain_weight;

constexpr char kZone[] = "topology.kubernetes.io/zone";

api::TopologySpreadConstraint constraint(const char* key, int skew, const char* action = "DoNotSchedule",
                                         std::optional<std::string> app = "a") {
  api::TopologySpreadConstraint c;
  c.topology_key = key;
  c.max_skew = skew;
  c.when_unsatisfiable = action;
  if (app) {
    c.label_selector = api::LabelSelector();
    c.label_selector->match_labels["app"] = *app;
  }
  return c;
}

std::shared_ptr<const api::Pod> app_pod(std::string name, const PodEdit& edit = {},
                                        std::string_view node = {}) {
  return make_pod(std::move(name), "100m", "128Mi", [&](api::Pod& p) {
    p.metadata.labels["app"] = "a";
    p.spec.node_name = node;
    if (edit) edit(p);
  });
}

NodeEdit in_zone(const char* zone) {
  return [zone](api::Node& n) { n.metadata.labels[kZone] = zone; };
}

TEST_CASE("spreading rejects in kube-scheduler's words") {
  World world;
  world.engine.put_node(make_node("a", "4", "8Gi", in_zone("1")));
  world.engine.put_node(make_node("c"));
  world.engine.put_pod(app_pod("there", {}, "a"));
  world.engine.put_pod(app_pod("p", [](auto& p) {
    p.spec.topology_spread_constraints.push_back(constraint(kZone, 1));
    p.spec.topology_spread_constraints[0].min_domains = 2;
  }));
  CHECK(world.one().message() ==
        "0/2 nodes are available: 1 node(s) didn't match pod topology spread constraints, 1 node(s) didn't "
        "match pod topology spread constraints (missing required label).");

  SECTION("and tries again when a pod that counts goes") {
    world.clock.advance(std::chrono::seconds(5));
    world.engine.put_pod(app_pod(
        "other", [](auto& p) { p.metadata.labels["app"] = "b"; }, "a"));
    CHECK(world.run().empty());
    world.engine.remove_pod(*app_pod("there", {}, "a"));
    CHECK(world.one().node() == "a");
  }
  SECTION("and when it is asked to go: it counts no longer") {
    world.clock.advance(std::chrono::seconds(5));
    world.engine.put_pod(app_pod(
        "there", [](auto& p) { p.metadata.deletion_timestamp = api::Time(); }, "a"));
    CHECK(world.one().node() == "a");
  }
  SECTION("and when a node comes that has the label") {
    world.clock.advance(std::chrono::seconds(5));
    world.engine.put_node(make_node("d"));
    CHECK(world.run().empty());
    world.engine.put_node(make_node("e", "4", "8Gi", in_zone("3")));
    CHECK(world.one().node() == "e");
  }
}

TEST_CASE("pods with constraints are spread one after the other") {
  World world;
  for (int i = 0; i < 6; ++i)
    world.engine.put_node(make_node(fmt::format("n{}", i), "8", "16Gi", in_zone(i < 4 ? "1" : "2")));
  std::map<std::string, int> zones, nodes;
  for (int i = 0; i < 24; ++i) {
    world.engine.put_pod(app_pod(fmt::format("p{}", i), [](auto& p) {
      p.spec.topology_spread_constraints.push_back(constraint(kZone, 1));
      p.spec.topology_spread_constraints.push_back(constraint("kubernetes.io/hostname", 1, "ScheduleAnyway"));
    }));
    const Decision d = world.one();
    REQUIRE(d.kind() == Decision::Kind::bind);
    ++zones[d.node() < Symbol("n4") ? "1" : "2"];
    ++nodes[d.node().str()];
    CHECK(std::abs(zones["1"] - zones["2"]) <= 1);
  }
  for (const auto& [node, pods] : nodes) CHECK(pods == (node < "n4" ? 3 : 6));
}

TEST_CASE("a pod that is not on its node yet makes room for those that spread when it goes") {
  const bool nominated = GENERATE(false, true), fails = GENERATE(false, true);
  if (nominated && fails) return;
  World world;
  world.engine.put_node(make_node("a"));
  world.engine.put_node(make_node("b", "50m"));
  const auto first = app_pod("first", [&](auto& p) {
    if (!nominated) return;
    p.spec.node_selector["disk"] = "none";
    p.status.nominated_node_name = "a";
  });
  world.engine.put_pod(first);
  const Decision d = world.one();
  REQUIRE(d.node().view() == (nominated ? "" : "a"));
  if (nominated) world.engine.put_pod(changed(first, [](auto& p) { p.metadata.annotations["again"] = ""; }));
  world.engine.put_pod(app_pod("second", [](auto& p) {
    p.spec.topology_spread_constraints.push_back(constraint("kubernetes.io/hostname", 1));
  }));
  CHECK(
      world.one().message() ==
      "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints.");
  world.clock.advance(std::chrono::seconds(5));
  CHECK(world.run().empty());
  if (fails) {
    CHECK(world.engine.binding_failed(*d.pod));
  } else {
    world.engine.remove_pod(*first);
  }
  const Decision after = world.one();
  CHECK(after.pod->metadata.name == "second");
  CHECK(after.node() == "a");
}

/// Preferences of the plugin, nothing else: the node with the best score, of nodes "0", "1", ...
std::vector<std::int64_t> scores(SpreadRig& rig, PodState& state, const PodInfo& pod) {
  std::vector<Row> rows;
  for (Row row = 0; row < rig.nodes.rows(); ++row) rows.push_back(row);
  std::vector<std::int64_t> out(rows.size());
  if (!rig.score->may_score(state, pod)) return {};
  rig.score->pre_score(state, pod, rig.nodes, rows);
  rig.score->score(state, rig.nodes, rows, out);
  rig.score->normalize(state, rows, out);
  return out;
}

TEST_CASE("pods that are to be spread by default are tried again when what owns them changes, or they do") {
  KubeSchedulerConfiguration config;
  config.profiles.emplace_back().plugin_config.push_back(
      {"PodTopologySpread",
       api::RawJson{R"({"defaultingType":"List","defaultConstraints":[{"maxSkew":1,)"
                    R"("topologyKey":"kubernetes.io/hostname","whenUnsatisfiable":"DoNotSchedule"}]})"},
       {}});
  World world(config);
  world.engine.put_node(make_node("a"));
  world.engine.put_node(make_node("b", "50m"));
  auto service = std::make_shared<api::Service>();
  service->metadata.namespace_ = "default";
  service->metadata.name = "s";
  service->spec.selector["app"] = "a";
  world.engine.put_object<api::Service>(service);
  world.engine.put_pod(app_pod("there", {}, "a"));
  world.engine.put_pod(app_pod("p"));
  CHECK(
      world.one().message() ==
      "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints.");
  world.clock.advance(std::chrono::seconds(5));
  CHECK(world.run().empty());
  SECTION("the service goes") { world.engine.remove_object<api::Service>(service); }
  SECTION("the pod is no longer one of the service's") {
    world.engine.put_pod(app_pod("p", [](api::Pod& p) { p.metadata.labels["app"] = "b"; }));
  }
  CHECK(world.one().node() == "a");
}

TEST_CASE("by default pods are spread by what owns them, as that comes and goes") {
  SpreadRig rig;
  for (int i = 0; i < 3; ++i) rig.put_node(*make_node(std::to_string(i)));
  rig.put_pod(*app_pod("there", {}, "0"));
  const PodInfo pod = rig.info(*app_pod("p", [](auto& p) {
    api::OwnerReference owner;
    owner.api_version = "apps/v1";
    owner.kind = "ReplicaSet";
    owner.name = "o";
    owner.controller = true;
    p.metadata.owner_references.push_back(owner);
  }));
  const auto state = rig.score->prepare_cross_node_score(pod);
  CHECK(scores(rig, *state, pod).empty());

  api::Service service;
  service.metadata.namespace_ = "default";
  service.metadata.name = "s";
  service.spec.selector["app"] = "b";
  rig.put(service);
  CHECK(scores(rig, *state, pod).empty());
  service.spec.selector["app"] = "a";
  rig.put(service);
  // ln(5) and 3 - 1 of the hostname, 5 - 1 of the zone, which no node has.
  CHECK(scores(rig, *state, pod) == std::vector<std::int64_t>{50, 100, 100});
  rig.objects.find(kube::kObjectType<api::Service>)->put({"default", "s"}, nullptr);
  CHECK(scores(rig, *state, pod).empty());

  api::ReplicaSet owner;
  owner.metadata.namespace_ = "default";
  owner.metadata.name = "o";
  owner.spec.selector.match_labels["app"] = "a";
  rig.put(owner);
  CHECK(scores(rig, *state, pod) == std::vector<std::int64_t>{50, 100, 100});
  // Another pod of the class: not owned.
  const PodInfo other = rig.info(*app_pod("q"));
  CHECK(scores(rig, *state, other).empty());
  CHECK(scores(rig, *state, pod) == std::vector<std::int64_t>{50, 100, 100});
}

TEST_CASE("pods of a stateful set are one class, though each has a label of its own") {
  World world;
  for (int i = 0; i < 4; ++i) world.engine.put_node(make_node(fmt::format("n{}", i)));
  auto set = std::make_shared<api::StatefulSet>();
  set->metadata.namespace_ = "default";
  set->metadata.name = "o";
  set->spec.selector.match_labels["app"] = "a";
  world.engine.put_object(std::shared_ptr<const api::StatefulSet>(set));
  std::map<std::string, int> nodes;
  for (int i = 0; i < 12; ++i) {
    world.engine.put_pod(app_pod(fmt::format("o-{}", i), [&](auto& p) {
      p.metadata.labels["apps.kubernetes.io/pod-index"] = std::to_string(i);
      api::OwnerReference owner;
      owner.api_version = "apps/v1";
      owner.kind = "StatefulSet";
      owner.name = "o";
      owner.controller = true;
      p.metadata.owner_references.push_back(owner);
    }));
    ++nodes[world.one().node().str()];
  }
  for (const auto& [node, pods] : nodes) CHECK(pods == 3);
  CHECK(world.engine.classes().size() == 1);
}

TEST_CASE("weights are Go's logarithms to the last bit") {
  struct {
    std::size_t domains;
    std::uint64_t bits;
  } cases[] = {{0, 0x3fe62e42fefa39ef},    {1, 0x3ff193ea7aad030a},    {2, 0x3ff62e42fefa39ef},
               {3, 0x3ff9c041f7ed8d33},    {4, 0x3ffcab0bfa2a2002},    {5, 0x3fff2272ae325a57},
               {7, 0x400193ea7aad030b},    {8, 0x40026bb1bbb55516},    {10, 0x4003e116bcd39e7d},
               {13, 0x4005aa16394d481f},   {98, 0x40126bb1bbb55516},   {1000, 0x401ba3965d405f5f},
               {4999, 0x402108e7c1fcd5f9}, {5000, 0x40210901f6dc84b9}, {15000, 0x40233b5c54bb9573},
               {99999, 0x4027069f7a2d94f6}};
  for (const auto& c : cases) CHECK(std::bit_cast<std::uint64_t>(domain_weight(c.domains)) == c.bits);
  // Of the first million of them, in one number.
  std::uint64_t all = 14695981039346656037u;
  for (std::size_t n = 0; n < 1'000'000; ++n)
    all = (all ^ std::bit_cast<std::uint64_t>(domain_weight(n))) * 1099511628211u;
  CHECK(all == 780444447962505987u);
}

TEST_CASE("sums become whole numbers as in Go") {
  const std::vector<double> sums{0, 0.49999999999999994, 0.5, 1.5, 2.5, 2147483646.5, 3e9 + 0.5, -0.5, -2.4};
  for (std::size_t count : {sums.size(), std::size_t{5}, std::size_t{6}}) {
    std::vector<std::int64_t> out(count);
    pod_topology_spread::round_all(std::span(sums).first(count), out);
    for (std::size_t i = 0; i < count; ++i) CHECK(out[i] == std::llround(sums[i]));
  }
}

TEST_CASE("arguments are checked in kube-scheduler's words") {
  struct {
    const char* name;
    const char* type;
    std::vector<api::TopologySpreadConstraint> constraints;
    const char* error;
  } cases[] = {
      {"two",
       "List",
       {constraint("node", 1, "DoNotSchedule", {}), constraint("zone", 2, "ScheduleAnyway", {})},
       ""},
      {"none", "List", {}, ""},
      {"system", "System", {}, ""},
      {"skew",
       "List",
       {constraint("node", -1, "DoNotSchedule", {})},
       "a.defaultConstraints[0].maxSkew: Invalid value: -1: not in valid range (0, inf)"},
      {"no key",
       "List",
       {constraint("", 1, "DoNotSchedule", {})},
       "a.defaultConstraints[0].topologyKey: Required value: can not be empty"},
      {"no action",
       "List",
       {constraint("node", 1, "", {})},
       "a.defaultConstraints[0].whenUnsatisfiable: Required value: can not be empty"},
      {"action",
       "List",
       {constraint("node", 1, "x", {})},
       "a.defaultConstraints[0].whenUnsatisfiable: Unsupported value: \"x\": supported values: "
       "\"DoNotSchedule\", \"ScheduleAnyway\""},
      {"twice",
       "List",
       {constraint("node", 1, "DoNotSchedule", {}), constraint("node", 2, "DoNotSchedule", {})},
       "a.defaultConstraints[1]: Duplicate value: \"{node, DoNotSchedule}\""},
      {"selector",
       "List",
       {constraint("node", 1)},
       "a.defaultConstraints[0].labelSelector: Forbidden: constraint must not define a selector, as they "
       "deduced for each pod"},
      {"type", "x", {}, "a.defaultingType: Unsupported value: \"x\": supported values: \"System\", \"List\""},
      {"both",
       "System",
       {constraint("node", 1, "DoNotSchedule", {})},
       "a.defaultingType: Invalid value: \"System\": when .defaultConstraints are not empty"},
  };
  for (const auto& c : cases) {
    INFO(c.name);
    SpreadRig::Args args;
    args.defaulting_type = c.type;
    args.default_constraints = c.constraints;
    FieldErrors errors;
    args.validate("a", errors);
    CHECK((errors.empty() ? "" : errors.text()) == c.error);
  }
}

TEST_CASE("constraints that no API server lets through harm their pod alone") {
  World world;
  world.engine.put_node(make_node("n", "4", "8Gi", in_zone("1")));
  const auto bad = [&](const char* action) {
    return app_pod("bad", [&](auto& p) {
      auto c = constraint(kZone, 1, action);
      c.label_selector->match_expressions.push_back({"app", "Near", {"a"}});
      p.spec.topology_spread_constraints.push_back(c);
    });
  };
  for (const char* action : {"DoNotSchedule", "ScheduleAnyway"}) {
    INFO(action);
    world.engine.put_pod(bad(action));
    const Decision d = world.one();
    CHECK(d.kind() == Decision::Kind::error);
    CHECK(d.message().find("\"Near\" is not a valid label selector operator") != std::string::npos);
    world.engine.remove_pod(*d.pod);
  }
  // No skew at all: no domain may have a pod more than another, so none can begin.
  world.engine.put_pod(
      app_pod("none", [](auto& p) { p.spec.topology_spread_constraints.push_back(constraint(kZone, 0)); }));
  CHECK(world.one().message() ==
        "0/1 nodes are available: 1 node(s) didn't match pod topology spread constraints.");
  world.engine.put_pod(
      app_pod("good", [](auto& p) { p.spec.topology_spread_constraints.push_back(constraint(kZone, 1)); }));
  CHECK(world.one().kind() == Decision::Kind::bind);
}

TEST_CASE("thousands of constraints, of unknown keys, take what they are") {
  SpreadRig rig;
  for (int i = 0; i < 200; ++i) rig.put_node(*make_node(fmt::format("n{}", i)));
  const auto pod = app_pod("p", [](auto& p) {
    for (int i = 0; i < 2000; ++i) {
      auto c = constraint("x", 1);
      c.topology_key = fmt::format("a.com/k{:05}", i);
      p.spec.topology_spread_constraints.push_back(c);
    }
  });
  const PodInfo info = rig.info(*pod);
  const auto state = rig.filter->prepare_cross_node_filter(info);
  const std::vector<Row> rows{0, 1, 2};
  CHECK(rig.judge(*state, info, rows) == "!!!");
}

TEST_CASE("counts that nobody reads are forgotten") {
  SpreadRig rig;
  pod_topology_spread::SpreadCounts counts(rig.nodes);
  for (int i = 0; i < 100; ++i) rig.put_node(*make_node(fmt::format("n{}", i)));
  for (int i = 0; i < 3000; ++i)
    rig.put_pod(*app_pod(
        fmt::format("p{}", i), [&](auto& p) { p.metadata.labels["app"] = std::to_string(i); },
        fmt::format("n{}", i % 100)));
  const TopologyRef key = rig.topology.key("kubernetes.io/hostname");
  std::vector<pod_topology_spread::Ref<pod_topology_spread::DomainCounts>> held;
  for (int i = 0; i < 3000; ++i) {
    api::LabelSelector selector;
    selector.match_labels["app"] = std::to_string(i);
    const PodSelectors::Term term{{"default"}, nullptr, &selector};
    auto made = counts.domains(*rig.selectors.selector({&term, 1}), key,
                               counts.inclusion("", {{key}, nullptr, nullptr}));
    CHECK((*made)[key->domain(static_cast<Row>(i % 100))] == 1);
    CHECK(made->least() == 0);
    if (i % 100 == 0) held.push_back(std::move(made));
  }
  CHECK(counts.size() < 2500);
  CHECK(rig.selectors.selectors() < 2500);
  held.clear();
}

}  // namespace
}  // namespace koord::scheduling::test
