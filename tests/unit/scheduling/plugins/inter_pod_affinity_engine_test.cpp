// InterPodAffinity in the engine: what is told, what is tried again, and what bad input costs.
#include <catch2/catch.hpp>

#include "affinity_world.hpp"
#include "scheduling/plugins/inter_pod_affinity/terms.hpp"

namespace koord::scheduling::test {
namespace {

using inter_pod_affinity::TermTable;

NodeEdit labelled(const Labels& labels) {
  return [labels](api::Node& n) { n.metadata.labels = labels; };
}
std::shared_ptr<const api::Pod> on(const char* node, const char* name, AffinityPod pod) {
  return changed(pod.make(name), [&](api::Pod& p) { p.spec.node_name = node; });
}

TEST_CASE("a pod is told why it has no place near whom it wants, and goes there when there is one") {
  World world;
  world.engine.put_node(make_node("a", "4", "8Gi", labelled({{"zone", "a"}})));
  world.engine.put_node(make_node("b", "4", "8Gi", labelled({{"zone", "b"}})));
  world.engine.put_node(make_node("c", "4", "8Gi"));
  world.engine.put_pod(on("c", "lonely", {-1, {{"app", "db"}}}));
  world.engine.put_pod(on("b", "shy", {-1, {}, {}, {{"app in (web)", "zone"}}}));
  world.engine.put_pod(AffinityPod{-1, {{"app", "web"}}, {{"app in (db)", "zone"}}}.make("web"));
  CHECK(world.one().message() == "0/3 nodes are available: 3 node(s) didn't match pod affinity rules.");
  world.engine.put_pod(on("b", "db", {-1, {{"app", "db"}}}));
  CHECK(world.one().message() ==
        "0/3 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules, "
        "2 node(s) didn't match pod affinity rules.");
  world.engine.put_pod(on("a", "db2", {-1, {{"app", "db"}}}));
  world.clock.advance(std::chrono::seconds(11));
  CHECK(world.one().node() == "a");
}

TEST_CASE("what may help a rejected pod has it tried again, and nothing else") {
  const Term near_db{"app in (db)", "zone"}, away_from_db{"app in (db)", "zone"};
  const AffinityPod near{-1, {{"app", "web"}}, {near_db}}, away{-1, {{"app", "web"}}, {}, {away_from_db}},
      plain{-1, {{"app", "web"}}}, group{-1, {{"app", "web"}}, {{"app in (web)", "zone"}}};
  const AffinityPod db{-1, {{"app", "db"}}}, other{-1, {{"app", "other"}}},
      shy{-1, {{"app", "shy"}}, {}, {{"app in (web)", "zone"}}};
  struct Row {
    const char* name;
    AffinityPod pod;    // rejected
    AffinityPod there;  // on the only node
    std::function<void(World&)> happens;
    bool tried_again;
  };
  const auto node = [](const char* name, const Labels& labels) {
    return [name, labels](World& w) { w.engine.put_node(make_node(name, "4", "8Gi", labelled(labels))); };
  };
  const auto comes = [](const AffinityPod& pod) {
    return [pod](World& w) { w.engine.put_pod(on("n", "new", pod)); };
  };
  const auto goes = [](const AffinityPod& pod) {
    return [pod](World& w) { w.engine.remove_pod(*on("n", "there", pod)); };
  };
  const auto becomes = [](const AffinityPod& pod) {
    return [pod](World& w) { w.engine.put_pod(on("n", "there", pod)); };
  };
  const std::vector<Row> rows = {
      {"near: such a pod comes", near, other, comes(db), true},
      {"near: another pod comes", near, other, comes(other), false},
      {"near: a pod becomes such", near, other, becomes(db), true},
      {"near: another pod goes", near, other, goes(other), false},
      {"near: a node with the key", near, other, node("m", {{"zone", "b"}}), true},
      {"near: a node without the key", near, other, node("m", {}), false},
      {"near: the node moves", near, other, node("n", {{"zone", "b"}}), true},
      {"near: the node loses the key", near, other, node("n", {}), false},
      {"near: another label", near, other, node("n", {{"zone", "a"}, {"x", "y"}}), false},
      {"away: such a pod goes", away, db, goes(db), true},
      {"away: such a pod becomes another", away, db, becomes(other), true},
      {"away: one more comes", away, db, comes(db), false},
      {"away: any node", away, db, node("m", {}), true},
      {"away: the node loses the key", away, db, node("n", {}), true},
      // With the pods on it, which are deleted later.
      {"away: the node goes", away, db, [](World& w) { w.engine.remove_node("n"); }, true},
      {"repelled: the node goes", plain, shy, [](World& w) { w.engine.remove_node("n"); }, true},
      {"repelled: who repels goes", plain, shy, goes(shy), true},
      {"repelled: another pod comes", plain, shy, comes(other), false},
      {"repelled: any node", plain, shy, node("m", {}), true},
      {"repelled: the node moves", plain, shy, node("n", {{"zone", "b"}}), true},
      {"repelled: another label", plain, shy, node("n", {{"zone", "a"}, {"x", "y"}}), false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    World world;
    world.engine.put_node(make_node("n", "4", "8Gi", labelled({{"zone", "a"}})));
    world.engine.put_pod(on("n", "there", row.there));
    world.engine.put_pod(row.pod.make("p"));
    CHECK(world.one().kind() == Decision::Kind::unschedulable);
    world.clock.advance(std::chrono::seconds(11));
    CHECK(world.run().empty());
    row.happens(world);
    CHECK(world.run().size() == (row.tried_again ? 1 : 0));
  }
}

TEST_CASE("the last one of a group goes, and the next may be the first") {
  World world;
  world.engine.put_node(make_node("full", "100m", "8Gi", labelled({{"zone", "a"}})));
  world.engine.put_node(make_node("free", "4", "8Gi", labelled({{"zone", "b"}})));
  const AffinityPod group{-1, {{"app", "web"}}, {{"app in (web)", "zone"}}};
  const auto first = on("full", "first", group);
  world.engine.put_pod(first);
  world.engine.put_pod(group.make("second"));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  world.clock.advance(std::chrono::seconds(11));
  world.engine.remove_pod(*first);
  CHECK(world.one().kind() == Decision::Kind::bind);
}

TEST_CASE(
    "a pod that wants to be near others of its kind and away from them takes the place of all of them") {
  KubeSchedulerConfiguration config;
  PluginSet& post_filter = config.profiles.emplace_back().plugins.ensure().post_filter;
  post_filter = {.enabled = {{"DefaultPreemption", {}}}, .disabled = {{"*", {}}}};
  World world(config);
  world.engine.put_node(make_node("a", "4", "8Gi", labelled({{"zone", "a"}})));
  for (const char* name : {"first", "second"}) world.engine.put_pod(on("a", name, {-1, {{"app", "web"}}}));
  const AffinityPod kind{-1, {{"app", "web"}}, {{"app in (web)", "zone"}}, {{"app in (web)", "zone"}}};
  world.engine.put_pod(changed(kind.make("p"), [](api::Pod& p) { p.spec.priority = 10; }));
  const Decision d = world.one();
  CHECK(d.nominate() == Symbol("a"));
  CHECK(d.preemption().victims.size() == 2);
}

TEST_CASE("namespaces and their labels count as they are") {
  World world;
  const auto team = [&](const char* name, const char* value) {
    auto object = std::make_shared<api::Namespace>();
    object->metadata.name = name;
    object->metadata.labels["team"] = value;
    world.engine.put_object(std::shared_ptr<const api::Namespace>(object));
  };
  world.engine.put_node(make_node("n", "4", "8Gi", labelled({{"zone", "a"}})));
  team("one", "a");
  world.engine.put_pod(on("n", "shy", {-1, {}, {}, {{"", "zone", {}, "team=b"}}}));
  const AffinityPod plain{-1, {}, {}, {}, {}, {}, "one"};
  world.engine.put_pod(plain.make("p1"));
  CHECK(world.one().kind() == Decision::Kind::bind);
  team("one", "b");
  world.engine.put_pod(plain.make("p2"));
  CHECK(world.one().message() ==
        "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.");
  world.clock.advance(std::chrono::seconds(11));
  team("one", "c");
  CHECK(world.one().kind() == Decision::Kind::bind);
}

TEST_CASE("profiles share what is counted, each with arguments of its own") {
  KubeSchedulerConfiguration config;
  for (const char* name : {"one", "two"}) config.profiles.emplace_back().scheduler_name = name;
  config.profiles[1].plugin_config.push_back({"InterPodAffinity", {R"({"hardPodAffinityWeight":0})"}, {}});
  World world(config);
  for (const char* name : {"a", "b"})
    world.engine.put_node(make_node(name, "4", "8Gi", labelled({{"zone", name}})));
  const auto of = [](const char* scheduler, const char* name, const AffinityPod& pod) {
    return changed(pod.make(name), [&](api::Pod& p) { p.spec.scheduler_name = scheduler; });
  };
  const AffinityPod shy{-1, {{"app", "web"}}, {}, {{"app in (web)", "zone"}}};
  for (const char* scheduler : {"one", "two"}) {
    world.engine.put_pod(of(scheduler, scheduler, shy));
    CHECK(world.one().kind() == Decision::Kind::bind);
  }
  world.engine.put_pod(of("one", "third", shy));
  CHECK(world.one().message() == "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.");
  const PluginContext context = world.engine.context();
  TermTable& table = context.shared.get<TermTable>(context);
  CHECK(table.terms() == 1);
  CHECK(table.counted() == 2);  // those with the terms, and those whom they mean

  // Who is wanted by others is drawn to them by the first profile alone.
  world.engine.put_pod(on("b", "fan", {-1, {{"app", "idol"}}, {{"app in (idol)", "zone"}}}));
  const auto idol = make_pod("idol", "", "", [](api::Pod& p) { p.metadata.labels = {{"app", "idol"}}; });
  const auto drawn = [&](std::size_t profile) {
    ClassState& state = world.engine.evaluate(world.engine.profiles()[profile], idol);
    return state.score(world.engine.nodes().find("b")) - state.score(world.engine.nodes().find("a"));
  };
  const auto without = drawn(1);
  CHECK(drawn(0) == without + 2 * 100);
}

TEST_CASE("malformed terms are one pod's trouble") {
  World world;
  world.engine.put_node(make_node("n", "4", "8Gi", labelled({{"zone", "a"}})));
  world.engine.put_pod(make_pod("bad", "1", "1Gi", [](api::Pod& p) {
    api::PodAffinityTerm term;
    term.topology_key = "zone";
    term.label_selector.ensure().match_expressions.push_back({"app", "Like", {"web"}});
    p.spec.affinity.ensure().pod_affinity.ensure().required.push_back(term);
  }));
  CHECK(world.one().message() ==
        "0/1 nodes are available: parsing pod: requiredAffinityTerms: \"Like\" is not a valid label selector "
        "operator.");
  world.engine.put_pod(AffinityPod{-1, {{"app", "web"}}, {{"app in (web)", "zone"}}}.make("good"));
  CHECK(world.one().kind() == Decision::Kind::bind);
}

TEST_CASE("terms without end: many, of keys that no node has, with many values") {
  World world;
  for (const char* name : {"a", "b"})
    world.engine.put_node(make_node(name, "4", "8Gi", labelled({{"zone", name}})));
  AffinityPod pod{-1, {{"app", "v0"}}};
  std::string values = "app in (v0";
  for (int i = 1; i < 3'000; ++i) values += fmt::format(",v{}", i);
  for (int i = 0; i < 1'000; ++i) pod.away.push_back({"app", fmt::format("nobodys-{}", i)});
  pod.near.push_back({values + ")", "zone"});
  pod.away.push_back({values + ")", "kubernetes.io/hostname"});
  for (int i = 0; i < 3; ++i) {
    world.engine.put_pod(pod.make(fmt::format("p{}", i)));
    CHECK(world.one().kind() == Decision::Kind::bind);
  }
  for (int i = 0; i < 3; ++i) world.engine.remove_pod(*pod.make(fmt::format("p{}", i)));
}

AffinityPod unlike_others(int i) {
  const std::string app = fmt::format("a{}", i);
  return {i % 50,
          {{"app", app}},
          {},
          {{fmt::format("app in ({})", app), "kubernetes.io/hostname"}},
          {{"app", "kubernetes.io/hostname", {}, {}, 1 + i % 100}}};
}

TEST_CASE("pods that are all different at once are placed") {
  World world;
  for (int i = 0; i < 50; ++i) world.engine.put_node(make_node(fmt::format("n{}", i), "100", "200Gi"));
  constexpr int kPods = 2'000;
  for (int i = 0; i < kPods; ++i) world.engine.put_pod(unlike_others(i).make(fmt::format("p{}", i)));
  int bound = 0;
  for (const Decision& d : world.run()) bound += d.kind() == Decision::Kind::bind;
  CHECK(bound == kPods);
}

TEST_CASE(
    "a class that is the last to look at some counts lets go of them only for what it looks at instead") {
  World world;
  world.engine.put_node(make_node("a", "4", "8Gi", labelled({{"zone", "a"}, {"rack", "r"}})));
  const auto look = [&] {
    ClassState& state =
        world.engine.evaluate(world.engine.profiles()[0], AffinityPod{-1, {{"app", "web"}}}.make("probe"));
    return state.feasible();
  };
  const auto fan = on("a", "fan", {-1, {}, {}, {}, {{"app in (web)", "zone"}}, {{"app in (web)", "rack"}}});
  const auto foe = on("a", "foe", {-1, {}, {}, {{"app in (web)", "rack"}}});
  for (const auto& pod : {fan, foe}) world.engine.put_pod(pod);
  CHECK(look() == 0);
  CHECK(look() == 0);
  for (const auto& pod : {fan, foe}) world.engine.remove_pod(*pod);
  world.engine.put_pod(on("a", "other", {-1, {}, {}, {{"app", "zone"}}, {{"app", "zone"}}}));
  CHECK(look() == 0);
  CHECK(look() == 0);
}

TEST_CASE("nothing is kept of pods that are gone") {
  PluginAlone alone(std::vector<Labels>(50, {{"kubernetes.io/hostname", "x"}}));
  TermTable& table = alone.context.shared.get<TermTable>(alone.context);
  for (int i = 0; i < 500; ++i) {
    alone.put(unlike_others(i));
    alone.filtered(unlike_others(i));
    alone.scored(unlike_others(i));
  }
  CHECK(table.terms() == 500);
  CHECK(table.counted() > 1'000);
  CHECK(alone.selectors.label_sets() == 500);
  for (const auto& pod : alone.pods)
    if (!pod->pod->spec.node_name.empty())
      alone.nodes.remove_pod(alone.nodes.find(pod->pod->spec.node_name.view()), *pod);
  alone.pods.clear();
  CHECK(table.terms() == 0);
  CHECK(table.counted() == 0);
  CHECK(alone.selectors.label_sets() == 0);
  CHECK(alone.selectors.selectors() == 0);
}

}  // namespace
}  // namespace koord::scheduling::test
