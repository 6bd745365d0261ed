// Pods that extenders are asked about: what becomes of them and of the others, on an engine whose extenders
// are played by the test.
#include <catch2/catch.hpp>

#include "koord/scheduling/config/extender_interest.hpp"
#include "koord/scheduling/plugin/extender_talk.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using namespace std::chrono_literals;

Extender extender(std::string resource = {}) {
  Extender e;
  e.url_prefix = "http://extender/x";
  e.filter_verb = "filter";
  e.prioritize_verb = "prioritize";
  e.weight = 1;
  if (!resource.empty()) e.managed_resources.push_back({std::move(resource), false});
  return e;
}

EngineOptions asking(const Extender& e) {
  EngineOptions options;
  options.extenders = ExtenderInterest({e});
  return options;
}

struct Extended : World {
  explicit Extended(const Extender& e = extender(), KubeSchedulerConfiguration base = {})
      : World(
            [&] {
              base.extenders.push_back(e);
              return base;
            }(),
            asking(e)) {
    for (const char* name : {"a", "b", "c"}) engine.put_node(make_node(name));
  }
  /// The only decision now, which is a question about these nodes.
  Decision question(std::string_view nodes) {
    Decision d = one();
    REQUIRE(d.kind() == Decision::Kind::ask);
    REQUIRE(d.as<Decision::Ask>()->question != nullptr);
    std::vector<std::string> names;
    for (const auto& node : d.as<Decision::Ask>()->question->nodes) names.push_back(node->metadata.name);
    CHECK(fmt::format("{}", fmt::join(names, " ")) == nodes);
    return d;
  }
  /// The nodes that may be gone to, with their scores; the others of the question are refused.
  void answer(const Decision& d, std::map<std::string, std::int64_t> passed, const std::string& why = {}) {
    auto said = std::make_shared<ExtenderAnswer>();
    for (const auto& node : d.as<Decision::Ask>()->question->nodes) {
      const Symbol name(node->metadata.name);
      if (const auto at = passed.find(name.str()); at != passed.end()) {
        said->passed.emplace(name, at->second);
      } else {
        said->refused.insert(name);
        if (!why.empty()) ++said->reasons[why];
      }
    }
    engine.answered(*d.pod, said);
  }
};

TEST_CASE("a pod waits for its extender's answer, and the others go on") {
  Extended world(extender("example.com/gpu"));
  const auto wants = [](api::Pod& p) {
    p.spec.containers[0].resources.limits["example.com/gpu"] = api::Quantity::must("0");
  };
  world.engine.put_pod(make_pod("asks", "100m", "128Mi", wants));
  const Decision d = world.question("a b c");
  world.engine.put_pod(make_pod("plain"));
  CHECK(world.one().kind() == Decision::Kind::bind);
  CHECK(world.run().empty());
  CHECK(world.engine.queue_sizes() == QueueSizes{});
  world.answer(d, {{"b", 0}});
  const Decision bound = world.one();
  CHECK(bound.kind() == Decision::Kind::bind);
  CHECK(bound.pod->metadata.name == "asks");
  CHECK(bound.node() == "b");
  CHECK(bound.attempts == 1);
}

TEST_CASE("the extenders' scores are added to the plugins'") {
  for (const char* best : {"a", "b", "c"}) {
    Extended world;
    world.engine.put_pod(make_pod("p"));
    std::map<std::string, std::int64_t> passed{{"a", 0}, {"b", 0}, {"c", 0}};
    passed[best] = 1;
    world.answer(world.question("a b c"), passed);
    CHECK(world.one().node() == best);
  }
  Extended world;
  // A plugin's preference of 100 is outweighed by more, not by less.
  world.engine.put_pod(make_pod("p", "2", "4Gi", [](api::Pod& p) { p.spec.node_name = "a"; }));
  for (const auto& [score, node] : {std::pair<std::int64_t, const char*>{1, "b"}, {1'000, "a"}}) {
    world.engine.put_pod(make_pod(fmt::format("q{}", score)));
    world.answer(world.question("a b c"), {{"a", score}, {"b", 0}});
    CHECK(world.one().node() == node);
  }
}

TEST_CASE("whom the extenders refuse waits for any event, and is told why") {
  Extended world;
  world.engine.put_node(make_node("d", "10m"));
  world.engine.put_pod(make_pod("p"));
  world.answer(world.question("a b c"), {}, "no such device");
  const Decision d = world.one();
  CHECK(d.kind() == Decision::Kind::unschedulable);
  CHECK(d.message() == "0/4 nodes are available: 1 Insufficient cpu, 3 no such device.");
  CHECK(world.engine.queue_sizes().unschedulable == 1);
  world.clock.advance(5s);
  CHECK(world.run().empty());
  world.engine.put_pod(make_pod("there", "", "", [](api::Pod& p) { p.spec.node_name = "a"; }));
  world.question("a b c");
}

TEST_CASE("whom the extenders leave no node is told of others as they are with nominated pods") {
  KubeSchedulerConfiguration base;
  PluginSet& post_filter = base.profiles.emplace_back().plugins.ensure().post_filter;
  post_filter = {.enabled = {{"DefaultPreemption", {}}}, .disabled = {{"*", {}}}};
  Extended world(extender(), base);
  world.engine.put_node(make_node("d", "4", "10Mi"));
  const auto modest = [](api::Pod& p) { p.spec.preemption_policy = "Never"; };
  world.engine.put_pod(make_pod("nominated", "100", "1Mi", [&](api::Pod& p) {
    modest(p);
    p.status.nominated_node_name = "d";
    p.spec.priority = 5;
  }));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  world.engine.put_pod(make_pod("p", "100m", "128Mi", modest));
  world.answer(world.question("a b c"), {}, "no such device");
  CHECK(world.one().message() ==
        "0/4 nodes are available: 1 Insufficient cpu, 1 Insufficient memory, 3 no such device. preemption: "
        "not eligible due to preemptionPolicy=Never.");
}

TEST_CASE("what happened while it was asked is not missed") {
  Extended world;
  world.engine.put_pod(make_pod("p"));
  const Decision d = world.question("a b c");
  world.engine.put_pod(make_pod("there", "", "", [](api::Pod& p) { p.spec.node_name = "a"; }));
  world.answer(d, {}, "no");
  const auto out = world.run();
  REQUIRE(out.size() == 2);
  CHECK(out[0].kind() == Decision::Kind::unschedulable);
  CHECK(out[1].kind() == Decision::Kind::ask);
}

TEST_CASE("an extender that fails is an error of the attempt, which is made again after a backoff") {
  Extended world;
  world.engine.put_pod(make_pod("p"));
  const Decision d = world.question("a b c");
  auto said = std::make_shared<ExtenderAnswer>();
  said->error = "failed filter with extender at URL http://extender/x/filter, code 500";
  world.engine.answered(*d.pod, said);
  const Decision failed = world.one();
  CHECK(failed.kind() == Decision::Kind::error);
  CHECK(failed.message() == said->error);
  CHECK(world.run().empty());
  world.clock.advance(5s);
  world.question("a b c");
}

TEST_CASE("between the question and the answer the world goes on") {
  Extended world;
  world.engine.put_pod(make_pod("p", "3"));
  const Decision d = world.question("a b c");
  SECTION("a node that was let pass is full by now: another one") {
    world.engine.put_pod(make_pod("there", "2", "1Gi", [](api::Pod& p) { p.spec.node_name = "a"; }));
    world.answer(d, {{"a", 9}, {"b", 0}});
    CHECK(world.one().node() == "b");
  }
  SECTION("all of them are: it is asked about those that nobody has refused") {
    world.engine.put_pod(make_pod("there", "2", "1Gi", [](api::Pod& p) { p.spec.node_name = "a"; }));
    world.engine.put_node(make_node("e"));
    world.answer(d, {{"a", 9}});
    world.answer(world.question("e"), {{"e", 0}});
    CHECK(world.one().node() == "e");
  }
  SECTION("the pod has gone") {
    world.engine.remove_pod(*d.pod);
    world.answer(d, {{"a", 0}});
    CHECK(world.run().empty());
    CHECK(world.engine.pods() == 0);
  }
  SECTION("the pod is to go") {
    world.engine.put_pod(changed(d.pod, [](api::Pod& p) { p.metadata.deletion_timestamp = api::Time(); }));
    world.answer(d, {{"a", 0}});
    CHECK(world.one().kind() == Decision::Kind::skip);
  }
  SECTION("somebody else has bound it") {
    world.engine.put_pod(changed(d.pod, [](api::Pod& p) { p.spec.node_name = "c"; }));
    world.answer(d, {{"a", 0}});
    CHECK(world.run().empty());
  }
  SECTION("it asks for more by now") {
    world.engine.put_pod(changed(d.pod, [](api::Pod& p) {
      p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("100");
    }));
    world.answer(d, {{"a", 0}});
    CHECK(world.one().message() == "0/3 nodes are available: 3 Insufficient cpu.");
  }
}

TEST_CASE("its nominated node is taken if the extenders let it pass") {
  Extended world;
  world.engine.put_pod(
      make_pod("p", "100m", "128Mi", [](api::Pod& p) { p.status.nominated_node_name = "b"; }));
  world.answer(world.question("b a c"), {{"a", 900}, {"b", 0}});
  CHECK(world.one().node() == "b");
}

TEST_CASE("nodes that a hint prefers are gone to first, as far as the extenders let them") {
  KubeSchedulerConfiguration base;
  base.profiles.emplace_back().plugins.ensure().multi_point.enabled.push_back({"SchedulingHint", {}});
  base.percentage_of_nodes_to_score = 1;
  Extended world(extender(), base);
  // Many more than are asked about.
  for (int i = 0; i < 200; ++i) world.engine.put_node(make_node(fmt::format("n{}", i)));
  world.engine.put_pod(make_pod("p", "100m", "128Mi", [](api::Pod& p) {
    p.metadata.annotations["internal.scheduling.koordinator.sh/scheduling-hint"] =
        R"({"preferredNodeNames":["gone","n199","n198"]})";
  }));
  const Decision d = world.one();
  REQUIRE(d.as<Decision::Ask>()->question != nullptr);
  CHECK(d.as<Decision::Ask>()->question->nodes.size() == 100);
  SECTION("the first") {
    world.answer(d, {{"a", 900}, {"n198", 0}, {"n199", 0}});
    CHECK(world.one().node() == "n199");
  }
  SECTION("the next one, where they refuse it") {
    world.answer(d, {{"a", 900}, {"n198", 0}});
    CHECK(world.one().node() == "n198");
  }
  SECTION("another, where they refuse all of them") {
    world.answer(d, {{"a", 900}, {"b", 0}});
    CHECK(world.one().node() == "a");
  }
}

TEST_CASE("a flood of pods is asked about a few at a time, and all of them in the end") {
  Extended world;
  constexpr int kPods = 300;
  for (int i = 0; i < kPods; ++i) world.engine.put_pod(make_pod(fmt::format("p{}", i), "1m", "1Mi"));
  std::deque<Decision> asked;
  int bound = 0;
  std::size_t most = 0;
  for (;;) {
    for (Decision& d : world.run()) {
      bound += d.kind() == Decision::Kind::bind;
      if (d.as<Decision::Ask>() && d.as<Decision::Ask>()->question) asked.push_back(std::move(d));
    }
    most = std::max(most, asked.size());
    if (asked.empty()) break;
    world.answer(asked.front(), {{"a", 0}, {"b", 0}, {"c", 0}});
    asked.pop_front();
  }
  CHECK(bound == kPods);
  CHECK(most == 64);
}

TEST_CASE(
    "those that wait to be asked about are not forgotten when the ones before them find no node any more") {
  Extended world;
  constexpr int kPods = 200, kFit = 12;
  for (int i = 0; i < kPods; ++i) world.engine.put_pod(make_pod(fmt::format("p{}", i), "1", "1Mi"));
  std::deque<Decision> asked;
  std::map<Decision::Kind, int> ends;
  do {
    for (Decision& d : world.run()) {
      if (d.kind() != Decision::Kind::ask) ++ends[d.kind()];
      if (d.as<Decision::Ask>() && d.as<Decision::Ask>()->question) asked.push_back(std::move(d));
    }
    if (asked.empty()) break;
    world.answer(asked.front(), {{"a", 0}, {"b", 0}, {"c", 0}});
    asked.pop_front();
  } while (true);
  CHECK(ends[Decision::Kind::bind] == kFit);
  CHECK(ends[Decision::Kind::unschedulable] >= kPods - kFit);
}

TEST_CASE("extenders have a say about victims") {
  Extender e = extender();
  e.prioritize_verb.clear();
  e.preempt_verb = "preempt";
  KubeSchedulerConfiguration base;
  PluginSet& post_filter = base.profiles.emplace_back().plugins.ensure().post_filter;
  post_filter = {.enabled = {{"DefaultPreemption", {}}}, .disabled = {{"*", {}}}};
  Extended world(e, base);
  for (const char* node : {"a", "b", "c"})
    world.engine.put_pod(make_pod(fmt::format("on-{}", node), "4", "1Gi", [&](api::Pod& p) {
      p.spec.node_name = node;
      p.spec.priority = node == std::string_view("c") ? 1 : 5;
    }));
  world.engine.put_pod(make_pod("p", "4", "1Gi", [](api::Pod& p) { p.spec.priority = 10; }));
  const Decision d = world.one();
  REQUIRE(d.kind() == Decision::Kind::ask);
  REQUIRE(d.as<Decision::Ask>()->question->victims.size() == 3);
  CHECK(d.as<Decision::Ask>()->question->victims.at("a").pods[0]->metadata.name == "on-a");
  auto said = std::make_shared<ExtenderAnswer>();
  auto& left = said->victims.emplace();
  SECTION("the best of those that they leave") {
    left["a"].pods = {"uid-on-a"};
    left["b"] = {{"uid-on-b"}, 1};
    world.engine.answered(*d.pod, said);
    const Decision found = world.one();
    CHECK(found.nominate() == Symbol("a"));
    REQUIRE(found.preemption().victims.size() == 1);
    CHECK(found.preemption().victims[0].pod->metadata.name == "on-a");
  }
  SECTION("none is left") {
    world.engine.answered(*d.pod, said);
    CHECK(world.one().message() ==
          "0/3 nodes are available: 3 Insufficient cpu. preemption: no candidate node for preemption");
  }
  SECTION("one failed") {
    said->victims_error = "broken";
    world.engine.answered(*d.pod, said);
    CHECK(world.one().message() == "0/3 nodes are available: 3 Insufficient cpu. preemption: broken");
  }
}

TEST_CASE("victims help where an extender says so, and nowhere else") {
  KubeSchedulerConfiguration base;
  PluginSet& post_filter = base.profiles.emplace_back().plugins.ensure().post_filter;
  post_filter = {.enabled = {{"DefaultPreemption", {}}}, .disabled = {{"*", {}}}};
  Extended world(extender(), base);
  world.engine.put_pod(make_pod("there", "1", "1Gi", [](api::Pod& p) { p.spec.node_name = "a"; }));
  world.engine.put_pod(make_pod("p", "1", "1Gi", [](api::Pod& p) { p.spec.priority = 10; }));
  const Decision d = world.question("a b c");
  auto said = std::make_shared<ExtenderAnswer>();
  for (const char* node : {"a", "b", "c"}) said->refused.insert(Symbol(node));
  said->resolvable.insert(Symbol("a"));
  said->reasons["no"] = 3;
  world.engine.answered(*d.pod, said);
  CHECK(world.one().message() ==
        "0/3 nodes are available: 3 no. preemption: 0/3 nodes are available: 1 expected at least one victim "
        "pod "
        "on node \"a\", 2 Preemption is not helpful for scheduling.");
}

TEST_CASE("who is asked once more is asked about the nodes that are new, and all answers count") {
  Extended world;
  world.engine.put_pod(make_pod("p"));
  const Decision first = world.question("a b c");
  world.engine.put_node(make_node("d"));
  world.answer(first, {}, "no");
  const Decision second = world.question("d");
  SECTION("refused by all") {
    world.answer(second, {}, "never");
    const std::vector<Decision> decisions = world.run();  // it is tried again: a node came meanwhile
    REQUIRE_FALSE(decisions.empty());
    CHECK(decisions.front().message() == "0/4 nodes are available: 1 never, 3 no.");
  }
  SECTION("the new one will do") {
    world.answer(second, {{"d", 1}});
    CHECK(world.one().node() == Symbol("d"));
  }
}

TEST_CASE("who is asked about which pods") {
  const auto interested = [](const char* resource, const PodEdit& edit) {
    return is_interested(extender(resource), *make_pod("p", "1", "1Gi", edit));
  };
  CHECK(interested("", {}));
  CHECK_FALSE(interested("example.com/a", {}));
  CHECK(interested("example.com/a", [](api::Pod& p) {
    p.spec.containers[0].resources.requests["example.com/a"] = api::Quantity::must("1");
  }));
  CHECK(interested("example.com/a", [](api::Pod& p) {
    p.spec.init_containers.emplace_back().resources.limits["example.com/a"] = api::Quantity::must("1");
  }));
  CHECK_FALSE(interested("example.com/a", [](api::Pod& p) {
    p.spec.containers[0].resources.requests["example.com/b"] = api::Quantity::must("1");
  }));
  CHECK(ExtenderInterest().empty());
  Extender none = extender();
  none.filter_verb = none.prioritize_verb = "";
  CHECK_FALSE(ExtenderInterest({none}).in_nodes(*make_pod("p")));
  CHECK_FALSE(ExtenderInterest({none}).in_victims(*make_pod("p")));
}

}  // namespace
}  // namespace koord::scheduling::test
