// koord explain: what it says of small clusters, and that what it says is exact and minimal.
#include <catch2/catch.hpp>

#include <algorithm>

#include "koord/api/koordinator/gang.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/scheduling/what_if/explain.hpp"
#include "koord/scheduling/what_if/what_if.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

using explain::ExplanationView;

void taint(api::Node& node, const char* key, const char* value, const char* effect = "NoSchedule") {
  node.spec.taints.push_back({key, value, effect, {}});
}

/// With preemption.
KubeSchedulerConfiguration whole() {
  KubeSchedulerConfiguration config;
  PluginSet& asked = config.profiles.emplace_back().plugins.ensure().post_filter;
  asked.disabled.push_back({"*", {}});
  asked.enabled.push_back({"DefaultPreemption", {}});
  return config;
}

ExplanationView ask(World& world, std::shared_ptr<const api::Pod> pod, bool exists = true) {
  explain::Question question;
  question.pod = std::move(pod);
  question.exists = exists;
  question.now = world.clock.now();
  return explain::explain(world.engine, question);
}

/// "SENTENCE: NODES", of all remedies.
std::vector<std::string> remedies(const ExplanationView& view) {
  std::vector<std::string> all;
  for (const auto& r : view.remedies)
    all.push_back(fmt::format("{}: {} of {}", r.sentence, fmt::join(r.examples, " "), r.nodes));
  return all;
}

api::NodeSelectorRequirement wants(const char* key, const char* value) {
  api::NodeSelectorRequirement r;
  r.key = key;
  r.operator_ = "In";
  r.values.push_back(value);
  return r;
}

api::PodAffinityTerm near(const char* label, const char* key = "kubernetes.io/hostname") {
  api::PodAffinityTerm term;
  term.label_selector.ensure().match_labels["app"] = label;
  term.topology_key = key;
  return term;
}

struct Case {
  const char* name;
  std::vector<std::shared_ptr<const api::Node>> nodes;
  std::vector<std::shared_ptr<const api::Pod>> pods;
  std::shared_ptr<const api::Pod> pod;
  std::vector<std::string> remedies;
};

std::shared_ptr<const api::Pod> on(const char* node, const char* name, const char* cpu,
                                   const PodEdit& edit = {}) {
  return make_pod(name, cpu, "", [&](auto& p) {
    p.spec.node_name = node;
    if (edit) edit(p);
  });
}

TEST_CASE("the smallest changes that let a pod fit") {
  const std::vector<Case> cases = {
      {"too much of one resource: the most that one node takes",
       {make_node("a", "4"), make_node("b", "2")},
       {on("a", "x", "1500m")},
       make_pod("p", "8"),
       {"it asked for at most 2500m of cpu (it asks for 8): a of 1"}},
      {"too much of two, on the node that takes most of it",
       {make_node("a", "4", "1Gi"), make_node("b", "2", "2Gi")},
       {},
       make_pod("p", "8", "4Gi"),
       {"it asked for at most 4 of cpu (it asks for 8), and it asked for at most 1Gi of memory (it asks for "
        "4Gi): a of 1"}},
      {"a resource that no node has",
       {make_node("a")},
       {},
       make_pod(
           "p", "1", "",
           [](auto& p) { p.spec.containers[0].resources.requests["x.com/gpu"] = api::Quantity::must("2"); }),
       {"it asked for no x.com/gpu (it asks for 2): a of 1"}},
      {"a taint, or less of a request: each alone",
       {make_node("a", "8", "8Gi", [](auto& n) { taint(n, "for", "db"); }), make_node("b", "2")},
       {},
       make_pod("p", "4"),
       {"it asked for at most 2 of cpu (it asks for 4): b of 1",
        "it tolerated the taint for=db:NoSchedule (or the node did not have it): a of 1"}},
      {"two taints on one node: both",
       {make_node("a", "8", "8Gi",
                  [](auto& n) {
                    taint(n, "for", "db");
                    taint(n, "old", "", "NoExecute");
                  })},
       {},
       make_pod("p"),
       {"it tolerated the taint for=db:NoSchedule (or the node did not have it), and it tolerated the taint "
        "old:NoExecute (or the node did not have it): a of 1"}},
      {"a cordoned node",
       {make_node("a", "8", "8Gi", [](auto& n) { n.spec.unschedulable = true; })},
       {},
       make_pod("p"),
       {"the node were uncordoned: a of 1"}},
      {"a selector, and a request on top of it where that is worth it",
       {make_node("a", "2", "8Gi", [](auto& n) { n.metadata.labels["disk"] = "ssd"; }), make_node("b", "3")},
       {},
       make_pod("p", "4", "", [](auto& p) { p.spec.node_selector["disk"] = "ssd"; }),
       {"it asked for at most 2 of cpu (it asks for 4): a of 1",
        "it asked for at most 3 of cpu (it asks for 4), and its nodeSelector did not want disk=ssd: b of 1"}},
      {"a selector and a request where the selector adds nothing",
       {make_node("a", "3", "8Gi", [](auto& n) { n.metadata.labels["disk"] = "ssd"; }), make_node("b", "3")},
       {},
       make_pod("p", "4", "", [](auto& p) { p.spec.node_selector["disk"] = "ssd"; }),
       {"it asked for at most 3 of cpu (it asks for 4): a of 1"}},
      {"alternatives of node affinity: either",
       {make_node("a")},
       {},
       make_pod("p", "1", "",
                [](auto& p) {
                  auto& terms = p.spec.affinity.ensure().node_affinity.ensure().required.ensure();
                  terms.node_selector_terms.emplace_back().match_expressions.push_back(wants("zone", "z1"));
                  terms.node_selector_terms.emplace_back().match_expressions.push_back(wants("disk", "ssd"));
                }),
       {"its node affinity did not want zone In (z1): a of 1",
        "its node affinity did not want disk In (ssd): a of 1"}},
      {"must be near a pod that is nowhere",
       {make_node("a")},
       {},
       make_pod(
           "p", "1", "",
           [](auto& p) { p.spec.affinity.ensure().pod_affinity.ensure().required.push_back(near("db")); }),
       {"it did not have to be beside pods with app=db by kubernetes.io/hostname: a of 1"}},
      {"must keep away",
       {make_node("a")},
       {on("a", "x", "1", [](auto& p) { p.metadata.labels["app"] = "db"; })},
       make_pod("p", "1", "",
                [](auto& p) {
                  p.spec.affinity.ensure().pod_anti_affinity.ensure().required.push_back(near("db"));
                }),
       {"it did not have to keep away from pods with app=db by kubernetes.io/hostname: a of 1"}},
      {"must be spread",
       {make_node("a"), make_node("b", "1")},
       {on("a", "x", "1", [](auto& p) { p.metadata.labels["app"] = "web"; })},
       make_pod("p", "2", "",
                [](auto& p) {
                  p.metadata.labels["app"] = "web";
                  auto& c = p.spec.topology_spread_constraints.emplace_back();
                  c.max_skew = 1;
                  c.topology_key = "kubernetes.io/hostname";
                  c.when_unsatisfiable = "DoNotSchedule";
                  c.label_selector.ensure().match_labels["app"] = "web";
                }),
       {"it asked for at most 1 of cpu (it asks for 2): b of 1",
        "it did not have to be spread with pods with app=web by kubernetes.io/hostname with a skew of at "
        "most 1: "
        "a "
        "of 1"}},
      {"a host port that is taken",
       {make_node("a")},
       {on("a", "x", "1",
           [](auto& p) {
             auto& port = p.spec.containers[0].ports.emplace_back();
             port.host_port = port.container_port = 80;
           })},
       make_pod("p", "1", "",
                [](auto& p) {
                  auto& port = p.spec.containers[0].ports.emplace_back();
                  port.host_port = port.container_port = 80;
                }),
       {"it did not want the host port 80/TCP: a of 1"}},
      {"no room for one pod more: nothing of the pod helps",
       {make_node("a", "4", "8Gi", [](auto& n) { n.status.allocatable["pods"] = api::Quantity::must("1"); })},
       {on("a", "x", "1")},
       make_pod("p"),
       {}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    World world;
    for (const auto& node : c.nodes) world.engine.put_node(node);
    for (const auto& pod : c.pods) world.engine.put_pod(pod);
    world.engine.put_pod(c.pod);
    const ExplanationView view = ask(world, c.pod);
    CHECK(view.outcome == "unschedulable");
    CHECK(remedies(view) == c.remedies);
    CHECK(view.hopeless.empty() == !c.remedies.empty());
  }
}

TEST_CASE("what is said is exact: with it the pod fits, with less it does not") {
  World world;
  for (int i = 0; i < 40; ++i)
    world.engine.put_node(make_node(fmt::format("n{}", i), std::to_string(1 + i % 5), "4Gi", [&](auto& n) {
      if (i % 3 == 0) taint(n, "t", i % 2 == 0 ? "x" : "y");
      if (i % 4 != 0) n.metadata.labels["zone"] = fmt::format("z{}", i % 4);
      n.spec.unschedulable = i % 7 == 0;
    }));
  for (int i = 0; i < 60; ++i)
    world.engine.put_pod(on(fmt::format("n{}", i % 40).c_str(), fmt::format("x{}", i).c_str(), "300m"));
  const auto pod = make_pod("p", "5", "6Gi", [](auto& p) {
    p.spec.node_selector["zone"] = "z1";
    p.spec.node_selector["rack"] = "r1";
  });
  explain::WhatIf what_if(world.engine, world.engine.profiles().front(), pod);
  what_if.search();
  REQUIRE(!what_if.remedies().empty());
  const auto fits = [&](explain::Changes changes, const explain::PodChanges::Amounts& amounts, Row row) {
    auto& state =
        world.engine.evaluate(world.engine.profiles().front(), what_if.changes().with(changes, amounts));
    return state.feasible() > 0 && state.verdict(row) == kPass;
  };
  for (const auto& r : what_if.remedies()) {
    INFO(r.changes);
    for (const Row row : r.rows) CHECK(fits(r.changes, r.amounts, row));
    for (std::size_t i = 0; i < what_if.changes().size(); ++i)
      if ((r.changes & explain::change(i)) != 0)
        for (const Row row : r.rows) CHECK(!fits(r.changes & ~explain::change(i), r.amounts, row));
    for (std::size_t i = 0; i < r.amounts.size(); ++i) {
      auto more = r.amounts;
      ++more[i].second;
      for (const Row row : r.rows) CHECK(!fits(r.changes, more, row));
    }
  }
}

TEST_CASE(
    "once its time is over a question ends: it says what it knows, and that it does not know the rest") {
  const auto pod = make_pod("p", "5", "6Gi", [](auto& p) {
    p.spec.node_selector["zone"] = "z1";
    p.spec.node_selector["rack"] = "r1";
  });
  int least = -1;
  for (int rounds = 0; least < 0; ++rounds) {
    CAPTURE(rounds);
    REQUIRE(rounds < 500);
    World world{whole()};
    for (int i = 0; i < 12; ++i)
      world.engine.put_node(make_node(fmt::format("n{}", i), std::to_string(1 + i % 5), "4Gi", [&](auto& n) {
        if (i % 4 != 0) n.metadata.labels["zone"] = fmt::format("z{}", i % 4);
        n.spec.unschedulable = i % 7 == 0;
      }));
    world.engine.put_pod(pod);
    int asked = 0, afterwards = 0;
    explain::Question question;
    question.pod = pod;
    question.now = world.clock.now();
    question.give_up = [&] { return ++asked > rounds && ++afterwards > 0; };
    const ExplanationView view = explain::explain(world.engine, question);
    CHECK(view.outcome == "unschedulable");
    CHECK(!view.refused.empty());
    const bool said = std::ranges::any_of(
        view.notes, [](const std::string& note) { return note.starts_with("too much to answer"); });
    CHECK(said == (afterwards > 0));
    CHECK(afterwards <= 2);  // nobody goes on and asks again and again
    if (afterwards == 0) {
      least = rounds;
      CHECK(!view.remedies.empty());
      CHECK(!view.node_kinds.empty());
    }
  }
  CHECK(least > 10);
}

TEST_CASE("a further node: of which kind it would have to be") {
  World world;
  world.engine.put_node(make_node("small", "1"));
  world.engine.put_node(make_node("large-1", "16"));
  world.engine.put_node(make_node("large-2", "16"));
  world.engine.put_pod(on("large-1", "x", "15"));
  world.engine.put_pod(on("large-2", "y", "15"));
  const auto pod = make_pod("p", "8");
  world.engine.put_pod(pod);
  const ExplanationView view = ask(world, pod);
  REQUIRE(view.node_kinds.size() == 2);
  CHECK(view.node_kinds[0].like == "large-1");
  CHECK(view.node_kinds[0].nodes == 2);
  CHECK(view.node_kinds[0].fits);
  CHECK(!view.node_kinds[1].fits);
  CHECK(view.node_kinds[1].reasons == std::vector<std::string>{"Insufficient cpu"});
  CHECK(world.engine.nodes().nodes() == 3);
}

TEST_CASE("what it would preempt") {
  World world{whole()};
  world.engine.put_node(make_node("a", "4"));
  const auto prioritised = [](std::int32_t priority) {
    return [priority](api::Pod& p) { p.spec.priority = priority; };
  };
  world.engine.put_pod(on("a", "low", "3", prioritised(1)));
  SECTION("a pod of a lower priority") {
    const auto pod = make_pod("p", "2", "", prioritised(10));
    world.engine.put_pod(pod);
    const std::string text = explain::render(ask(world, pod));
    CHECK(text.find(
              "\nPreemption: its priority is 10; it would have 1 pod removed from a: default/low (priority "
              "1)\n") != std::string::npos);
  }
  SECTION("nobody") {
    const auto pod = make_pod("p", "2", "", prioritised(1));
    const std::string text = explain::render(ask(world, pod, false));
    CHECK(text.find("\nPreemption: it would preempt nobody: 1 No preemption victims found for incoming pod "
                    "(0/1 nodes)\n") != std::string::npos);
    CHECK(text.find("No preemption victims found") == text.rfind("No preemption victims found"));
    CHECK(text.find("\nWhat the scheduler says of an attempt now:\n  1 Insufficient cpu (0/1 nodes)\n") !=
          std::string::npos);
  }
}

TEST_CASE("what several plugins say of preemption is told once where it is the same") {
  KubeSchedulerConfiguration config = whole();
  if (config.profiles.empty()) config.profiles.emplace_back();
  config.profiles[0].plugins->multi_point.enabled.push_back({"ElasticQuota", {}});
  config.profiles[0].plugins->post_filter.enabled.push_back({"ElasticQuota", {}});
  World world{config};
  world.engine.put_node(make_node("a", "4"));
  world.engine.put_pod(on("a", "low", "3", [](api::Pod& p) { p.spec.priority = 1; }));
  const auto pod = make_pod("p", "2", "", [](api::Pod& p) { p.spec.priority = 1; });
  const ExplanationView view = ask(world, pod, false);
  CAPTURE(view.message);
  CHECK(view.message.find("preemption: ") != view.message.rfind("preemption: "));
  REQUIRE(view.preemption.size() == 1);
  CHECK(view.preemption[0].message.find("preemption: ") == std::string::npos);
  const std::string text = explain::render(view);
  CAPTURE(text);
  CHECK(text.find("\nWhat the scheduler says of an attempt now:\n  1 Insufficient cpu (0/1 nodes)\n") !=
        std::string::npos);
}

TEST_CASE("whom its gang would preempt") {
  KubeSchedulerConfiguration config = whole();
  if (config.profiles.empty()) config.profiles.emplace_back();
  config.profiles[0].plugins->multi_point.enabled.push_back({"Coscheduling", {}});
  config.profiles[0].plugins->post_filter.enabled.push_back({"Coscheduling", {}});
  World world{config};
  world.engine.put_node(make_node("a", "4"));
  world.engine.put_node(make_node("b", "4"));
  const auto low = [](api::Pod& p) { p.spec.priority = 1; };
  world.engine.put_pod(on("a", "low-a", "3", low));
  world.engine.put_pod(on("b", "low-b", "3", low));
  std::shared_ptr<const api::Pod> pod;
  for (const char* name : {"g-0", "g-1"}) {
    pod = make_pod(name, "3", "", [](api::Pod& p) {
      p.spec.priority = 10;
      p.metadata.annotations[api::kGangName] = "g";
      p.metadata.annotations[api::kGangMin] = "2";
    });
    world.engine.put_pod(pod);
  }
  const std::string text = explain::render(ask(world, pod));
  CAPTURE(text);
  CHECK(text.find("\nPreemption: for all pods of its gang (default/g) 2 pods would be removed: default/low-a "
                  "(priority 1, on a), default/low-b (priority 1, on b); it would go to ") !=
        std::string::npos);
}

TEST_CASE("the first sentences") {
  struct Row {
    const char* name;
    PodEdit edit;
    std::string begins;
  };
  const auto condition = [](api::Pod& p) {
    auto& c = p.status.conditions.emplace_back();
    c.type = "PodScheduled";
    c.status = "False";
    c.reason = "Unschedulable";
    c.message = "0/2 nodes are available: 2 Insufficient cpu.";
  };
  const std::vector<Row> rows = {
      {"fits", {}, "Pod default/p fits on 2 of 2 nodes now.\na is the best of them, with "},
      {"is there", [](auto& p) { p.spec.node_name = "a"; },
       "Pod default/p is on node a.\nIt is the best of the 2 nodes that would do, with "},
      {"would go elsewhere", [](auto& p) { p.spec.node_name = "b"; },
       "Pod default/p is on node b.\nIf it were placed today, it would go to a ("},
      {"would not be placed there",
       [](auto& p) {
         p.spec.node_name = "b";
         p.spec.node_selector["kubernetes.io/hostname"] = "a";
       },
       "Pod default/p is on node b.\nIf it were placed today, b would refuse it: node(s) didn't match Pod's "
       "node "
       "affinity/selector (NodeAffinity). That does not move a pod that is there.\n"},
      {"the node is gone", [](auto& p) { p.spec.node_name = "c"; },
       "Pod default/p is on node c.\nThere is no node of this name (any more).\n"},
      {"fits nowhere",
       [](auto& p) { p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("9"); },
       "Pod default/p fits on none of 2 nodes.\nNo scheduler has said anything about it yet.\n"},
      {"was refused", condition,
       "Pod default/p fits on 2 of 2 nodes now.\na is the best of them, with 473 points.\nThe scheduler's "
       "last"},
      {"gated",
       [](auto& p) {
         p.spec.scheduling_gates.emplace_back().name = "quota";
         p.spec.scheduling_gates.emplace_back().name = "image";
       },
       "Pod default/p is held back by 2 scheduling gates (quota, image): no scheduler looks at it until "
       "whoever "
       "set them takes them away.\nIt would fit on 2 of 2 nodes now.\n"},
      {"another scheduler's", [](auto& p) { p.spec.scheduler_name = "mine"; },
       "Pod default/p fits on 2 of 2 nodes now.\n"},
      {"ends", [](auto& p) { p.metadata.deletion_timestamp = api::Time(WallTime()); },
       "Pod default/p is being deleted: no scheduler places it any more.\n"},
      {"has ended", [](auto& p) { p.status.phase = "Succeeded"; },
       "Pod default/p has ended (Succeeded): it takes no room and is not placed again.\n"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    World world;
    world.engine.put_node(make_node("a"));
    world.engine.put_node(make_node("b"));
    world.engine.put_pod(on("b", "x", "2"));
    const auto pod = make_pod("p", "1", "", row.edit);
    world.engine.put_pod(pod);
    const ExplanationView view = ask(world, pod);
    CHECK(explain::render(view).substr(0, row.begins.size()) == row.begins);
    // It is JSON, too.
    CHECK(api::decode<ExplanationView>(api::encode(view)).value() == view);
  }
}

TEST_CASE("what is said before the nodes are looked at is what all of them say") {
  World world;
  world.engine.put_node(make_node("a"));
  world.engine.put_node(make_node("b"));
  const auto pod =
      make_pod("p", "1", "", [](auto& p) { p.spec.resource_claims.emplace_back().name = "gpu"; });
  world.engine.put_pod(pod);
  const ExplanationView view = ask(world, pod);
  CHECK(explain::render(view).find("\nNo change of the pod would make it fit:\n  2 nodes: pod \"default/p\", "
                                   "spec.resourceClaim \"gpu\": none of the supported fields are set "
                                   "(DynamicResources): a, b\n") != std::string::npos);
  REQUIRE(view.hopeless.size() == 1);
  CHECK_FALSE(view.hopeless[0].preemption_may_help);
}

TEST_CASE("a configuration that is not known is told of") {
  World world;
  world.engine.put_node(make_node("a"));
  explain::Question question;
  question.pod = make_pod("p");
  question.defaults = GENERATE(true, false);
  const std::string text = explain::render(explain::explain(world.engine, question));
  CHECK((text.find("Note: the configuration that the scheduler runs with is not known") !=
         std::string::npos) == question.defaults);
}

TEST_CASE("a pod that nobody serves says so") {
  World world;
  world.engine.put_node(make_node("a"));
  const auto pod = make_pod("p", "1", "", [](auto& p) { p.spec.scheduler_name = "mine"; });
  world.engine.put_pod(pod);
  const std::string text = explain::render(ask(world, pod));
  CHECK(
      text.find("It waits for a scheduler named \"mine\"; this configuration serves default-scheduler. If no "
                "other scheduler of that name runs, nobody will ever place it.\n") != std::string::npos);
}

std::shared_ptr<const api::Pod> batch_pod(const char* name, std::int64_t milli) {
  return make_pod(name, "0", "", [&](auto& p) {
    p.spec.containers[0].resources.requests["kubernetes.io/batch-cpu"] = api::Quantity::from_int(milli);
  });
}

std::shared_ptr<const api::Node> lender(const char* name, std::int64_t milli) {
  return make_node(name, "8", "8Gi", [&](auto& n) {
    n.status.allocatable["kubernetes.io/batch-cpu"] = api::Quantity::from_int(milli);
    n.status.allocatable["kubernetes.io/batch-memory"] = api::Quantity::must("4Gi");
  });
}

TEST_CASE("what is lent is told in cores, in one line for all nodes that lend") {
  World world(whole());
  world.engine.put_node(lender("a", 2500));
  world.engine.put_node(lender("b", 500));
  world.engine.put_node(lender("c", 1750));
  const ExplanationView view = ask(world, batch_pod("p", 4000));
  CHECK(std::ranges::find(
            view.summary,
            "It asks for 4 cores of batch CPU; 3 of 3 nodes lend 0.5 cores to 2.5 cores each, what is "
            "taken already included.") != view.summary.end());
  CHECK(remedies(view) == std::vector<std::string>{
                              "it asked for at most 2.5 cores of batch CPU (it asks for 4 cores): a of 1"});
  REQUIRE(view.node_kinds.size() == 1);
  CHECK(view.node_kinds[0].nodes == 3);
  CHECK(view.node_kinds[0].like == "a");
}

TEST_CASE("where no node lends, who ought to is named") {
  World world(whole());
  world.engine.put_node(make_node("a"));
  world.engine.put_node(make_node("b"));
  const ExplanationView view = ask(world, batch_pod("p", 4000));
  const bool said = std::ranges::any_of(view.summary, [](const std::string& sentence) {
    return sentence.starts_with("No node lends batch CPU") && sentence.ends_with("is koordlet running?");
  });
  CHECK(said);
}

}  // namespace
}  // namespace koord::scheduling::test
