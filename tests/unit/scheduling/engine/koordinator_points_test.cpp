// Koordinator's own points of the cycle: who is asked there and when, and what becomes of the answers.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "koord/scheduling/config/extension_point.hpp"
#include "points_plugin.hpp"

namespace koord::scheduling::test {
namespace {

using namespace std::chrono_literals;
using Kind = Decision::Kind;

PodEdit with_job(std::string job, int priority = 0, const char* nominated = "") {
  return [=](api::Pod& pod) {
    if (!job.empty()) pod.metadata.labels["job"] = job;
    pod.spec.priority = priority;
    pod.status.nominated_node_name = nominated;
  };
}

/// The points of what the engine counted, but for those of other plugins.
std::set<std::string> counted(PointsWorld& w) {
  std::set<std::string> all;
  for (const auto& [labels, times] : w.engine.take_plugins())
    if (labels[0] == "Points") all.insert(fmt::format("{} {}", labels[1], labels[2]));
  return all;
}

TEST_CASE("each of Koordinator's points is asked in its order, and counted under its name") {
  PointsWorld w;
  const Decision d = w.put(make_pod("p"));
  REQUIRE(d.kind() == Kind::bind);
  const std::string node = d.node().str();
  CHECK(w.asked_text() ==
        fmt::format("NextPod BeforePreFilter AfterPreFilter FindOneNodePlugin BeforeScore:0,1,2 Nominate:{} "
                    "ResizePod Reserve Permit PreBind NextPod",
                    node));
  CHECK(counted(w) == std::set<std::string>{"NextPod false", "BeforePreFilter Success",
                                            "AfterPreFilter Success", "FindOneNodePlugin Skip",
                                            "BeforeScore Success", "ResizePod Success"});
  REQUIRE(w.put(make_pod("large", "100")).kind() == Kind::unschedulable);
  CHECK(w.asked_text() ==
        "NextPod BeforePreFilter AfterPreFilter FindOneNodePlugin PostFilter "
        "AfterPostFilter NextPod");
  CHECK(counted(w).contains("AfterPostFilter "));

  // The table has these names, in this order.
  std::vector<std::string> names;
  for (const CyclePoint& point : cycle_points())
    if (point.koordinators) names.emplace_back(point.name);
  CHECK(fmt::format("{}", fmt::join(names, " ")) ==
        "NextPod BeforePreFilter AfterPreFilter FindOneNodePlugin PreferNodesPlugin BeforeFilter "
        "AfterPostFilter BeforeScore ResizePod PreBindReservation ApplyPatch");
}

TEST_CASE("who is not enabled at the point beside it is not asked before or after it") {
  auto config = points_config();
  config.profiles[0].plugins->pre_filter.disabled = {{"Points", {}}};
  config.profiles[0].plugins->score.disabled = {{"Points", {}}};
  config.profiles[0].plugins->post_filter.disabled.push_back({"Points", {}});
  FeatureGates none;
  PointsWorld w({}, config, none);
  CHECK(w.put(make_pod("p")).kind() == Kind::bind);
  CHECK(w.put(make_pod("large", "100")).kind() == Kind::unschedulable);
  const std::string asked = w.asked_text();
  CHECK(asked.find("PreFilter") == std::string::npos);
  CHECK(asked.find("Score") == std::string::npos);
  CHECK(asked.find("PostFilter") == std::string::npos);
  // Its gate is off.
  CHECK(asked.find("ResizePod") == std::string::npos);
  CHECK(asked.find("FindOneNodePlugin") != std::string::npos);
}

TEST_CASE("what is said before and after the preparations ends the attempt") {
  struct Case {
    const char* point;
    StatusCode code;
    Kind kind;
    const char* message;
  };
  const Case cases[] = {
      {"BeforePreFilter", StatusCode::unschedulable, Kind::unschedulable, "0/3 nodes are available: no."},
      {"BeforePreFilter", StatusCode::unresolvable, Kind::unschedulable, "0/3 nodes are available: no."},
      {"BeforePreFilter", StatusCode::error, Kind::error, "no"},
      {"AfterPreFilter", StatusCode::unschedulable, Kind::unschedulable, "0/3 nodes are available: no."},
      {"AfterPreFilter", StatusCode::error, Kind::error, "no"},
      {"FindOneNodePlugin", StatusCode::unresolvable, Kind::unschedulable, "0/3 nodes are available: no."},
      {"FindOneNodePlugin", StatusCode::error, Kind::error, "no"},
      {"BeforeScore", StatusCode::unschedulable, Kind::error, "no"},
      {"Nominate", StatusCode::unschedulable, Kind::error, "no"},
      {"ResizePod", StatusCode::unschedulable, Kind::error, "no"},
  };
  for (const Case& k : cases) {
    INFO(k.point << " " << label(k.code));
    PointsWorld w;
    w.says[k.point] = {k.code, "no"};
    const auto pod = make_pod("p");
    const Decision d = w.put(pod);
    CHECK(d.kind() == k.kind);
    CHECK(d.message() == k.message);
    CHECK(w.engine.assumed() == 0);
    for (const char* node : {"a", "b", "c"}) CHECK(w.used(node) == 0);
    const auto where = w.cycle->queued(*pod);
    REQUIRE(where);
    CHECK(where->place == (k.kind == Kind::error ? Place::error_backoff : Place::unschedulable));
    // An event makes it worth another attempt: its rejector is known.
    w.says.clear();
    w.engine.put_node(make_node("d"));
    w.clock.advance(20s);
    CHECK(w.one().kind() == Kind::bind);
  }
}

TEST_CASE("another pod is asked about in the place of one, and that one is bound") {
  PointsWorld w;
  w.in_place = [](const PodInfo& pod) {
    return changed(pod.pod, [](api::Pod& p) {
      p.spec.node_selector["kubernetes.io/hostname"] = "b";
      p.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("1");
    });
  };
  const auto pod = make_pod("p", "2");
  const Decision d = w.put(pod);
  REQUIRE(d.kind() == Kind::bind);
  CHECK(d.node() == Symbol("b"));
  CHECK(d.pod == pod);
  CHECK(w.used("b") == 2000);
  // The class of the other one is gone with the attempt, and one of its own kind is not the same.
  w.in_place = [](const PodInfo& p) { return changed(p.pod, [](api::Pod& q) { q.spec.priority = 7; }); };
  CHECK(w.put(make_pod("q", "2")).node() != Symbol("b"));
  // What is in its place does not fit: nothing is taken, and nothing kept.
  w.in_place = [](const PodInfo& p) {
    return changed(p.pod, [](api::Pod& q) {
      q.spec.containers[0].resources.requests["cpu"] = api::Quantity::must("9");
    });
  };
  CHECK(w.put(make_pod("r", "1")).message().find("3 Insufficient cpu") != std::string::npos);
  w.in_place = [](const PodInfo&) { return make_pod("somebody else"); };
  CHECK(w.put(make_pod("s")).message() == "plugin \"Points\" put another pod in the place of pod default/s");
}

TEST_CASE("of the nodes only those are looked at that plugins name after the preparations") {
  struct Case {
    const char* name;
    std::optional<std::vector<std::string>> only;
    const char* one;
    const char* cpu;
    const char* node;  // or the message
  };
  const Case cases[] = {
      {"named", {{"c"}}, "", "1", "c"},
      {"by FindOneNode", {}, "b", "1", "b"},
      {"FindOneNode's comes last", {{"a"}}, "b", "1", "b"},
      {"none there is",
       {{"x"}},
       "",
       "1",
       "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [Points]."},
      {"it is full",
       {{"c"}},
       "",
       "9",
       "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [Points]."},
      {"success without a node",
       {},
       "nobody",
       "1",
       "FindOneNodePlugin \"Points\" succeeded but produced no node for pod default/p"},
  };
  for (const Case& k : cases) {
    INFO(k.name);
    PointsWorld w;
    w.only_nodes = k.only;
    w.one_node = k.one;
    const Decision d = w.put(make_pod("p", k.cpu));
    CHECK((d.kind() == Kind::bind ? d.node().str() : d.message()) == k.node);
    if (d.kind() == Kind::bind) CHECK(d.feasible_nodes == 1);
  }
}

TEST_CASE("whoever has narrowed the nodes down is named") {
  PointsWorld w;
  w.only_nodes = {{"c"}};
  const auto on = [](const char* one, const char* other) {
    return [one, other](api::Pod& p) {
      for (const char* name : {one, other}) {
        api::NodeSelectorTerm term;
        term.match_fields.push_back({"metadata.name", "In", {name}});
        p.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms.push_back(term);
      }
    };
  };
  CHECK(w.put(make_pod("p", "9", "128Mi", on("b", "c"))).message() ==
        "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) didn't satisfy plugin(s) [NodeAffinity "
        "Points].");
  CHECK(w.put(make_pod("q", "1", "128Mi", on("a", "b"))).message() ==
        "0/3 nodes are available: 3 node(s) didn't satisfy plugin(s) [NodeAffinity Points].");
}

TEST_CASE("who may go to one node yields there to nominated pods, and to no other's") {
  PointsWorld w;
  // It does not fit anywhere yet; its nomination stands.
  w.engine.put_pod(make_pod("large", "3", "1Gi", with_job("", 5, "a")));
  w.one_node = "x";
  w.run();
  w.one_node = "a";
  CHECK(w.put(make_pod("p", "2")).message().find("1 Insufficient cpu") != std::string::npos);
  w.one_node = "b";
  CHECK(w.put(make_pod("q", "2")).node() == Symbol("b"));
}

TEST_CASE("a plugin says which pod is next") {
  PointsWorld w;
  const auto a = make_pod("a"), b = make_pod("b"), c = make_pod("c");
  w.engine.put_pod(a);
  w.engine.put_pod(b);
  w.gates = true;
  w.engine.put_pod(c);
  CHECK(w.cycle->queued(*c)->place == Place::gated);
  // Of those that do not wait nobody knows; a gated one is tried all the same.
  w.next = {c, make_pod("nobody"), b};
  const auto all = w.run();
  CHECK(names(all) == "c a b");
  CHECK(all[0].first_attempt.has_value());
  CHECK(all[0].attempts == 1);
  CHECK(counted(w).contains("NextPod true"));
  CHECK_FALSE(w.cycle->queued(*make_pod("nobody")));
  CHECK(w.cycle->queued(*c)->place == Place::assumed);
}

TEST_CASE("after PostFilter a plugin is told what was said there, whatever it was") {
  struct Case {
    StatusCode code;
    const char* told;
  };
  for (const Case& k : {Case{StatusCode::success, "p of 3 nodes: Success why"},
                        Case{StatusCode::unschedulable, "p of 3 nodes: Unschedulable why"},
                        Case{StatusCode::error, "p of 3 nodes: Error why"}}) {
    PointsWorld w;
    w.post_filter = {{k.code, "why"}, {}, {}};
    w.put(make_pod("p", "100"));
    CHECK(w.last_status == k.told);
  }
}

TEST_CASE("a pod takes of its node what a plugin says until it is bound, and what it asks for otherwise") {
  PointsWorld w;
  w.one_node = "a";
  w.takes_cpu = 3000;
  const auto pod = make_pod("p", "1");
  REQUIRE(w.put(pod).kind() == Kind::bind);
  CHECK(w.used("a") == 3000);
  SECTION("bound") {
    w.engine.put_pod(changed(pod, [](api::Pod& p) { p.spec.node_name = "a"; }));
    CHECK(w.used("a") == 1000);
  }
  SECTION("its binding fails") {
    w.takes_cpu.reset();
    CHECK(w.engine.binding_failed(*pod));
    CHECK(w.used("a") == 0);
    w.clock.advance(20s);
    REQUIRE(w.one().kind() == Kind::bind);
    CHECK(w.used("a") == 1000);
  }
  SECTION("gone") {
    w.engine.remove_pod(*pod);
    CHECK(w.used("a") == 0);
  }
}

TEST_CASE("nominated pods of its own job do not keep a pod off a node") {
  PointsWorld w;
  w.only_nodes = {{"a"}};
  w.engine.put_pod(make_pod("first", "9", "1Gi", with_job("x", 5, "a")));
  w.run();  // it fits nowhere, and is nominated
  REQUIRE(w.engine.nominator().size() == 1);
  // Of one class, which knows nothing of jobs: what is kept of it is by job.
  for (const char* job : {"y", "x", "", "x"}) {
    INFO(job);
    const auto pod = make_pod(fmt::format("p-{}", job), "1", "1Gi", with_job(job));
    const Decision d = w.put(pod);
    CHECK((d.kind() == Kind::bind) == (std::string_view(job) == "x"));
    w.engine.remove_pod(*pod);
    w.clock.advance(20s);
    w.run();
  }
}

TEST_CASE("after a rejection a pod's nomination is taken back, kept, or forced, as the plugin says") {
  struct Case {
    Nomination says;
    std::optional<Symbol> decided;
    const char* nominated;  // afterwards
  };
  const Case cases[] = {{Nomination::clear, Symbol(), ""},
                        {Nomination::keep, std::nullopt, "c"},
                        {Nomination::force, Symbol("a"), "a"}};
  for (const Case& k : cases)
    for (const char* point : {"Reserve", "Permit", "waits", "waits together"}) {
      INFO(static_cast<int>(k.says) << " " << point);
      PointsWorld w;
      w.one_node = "a";
      const std::string_view at = point;
      const bool waits = at.starts_with("waits");
      w.says[waits ? "Permit" : point] = {waits ? StatusCode::wait : StatusCode::unschedulable, "no",
                                          Symbol("k"), k.says};
      const auto pod = make_pod("p", "1", "1Gi", with_job("", 0, "c"));
      Decision d = w.put(pod);
      if (waits) {
        REQUIRE(d.kind() == Kind::wait);
        if (at == "waits") {
          const PluginIndex index = w.engine.profiles()[0].permits.back().index;
          CHECK(w.cycle->reject(pod->metadata.uid, index, "no", k.says));
        } else {
          CHECK(w.cycle->reject_all({"Points", Symbol("k")}, "no", k.says) == 1);
        }
        d = w.run(1).at(0);
      }
      REQUIRE(d.kind() == Kind::unschedulable);
      CHECK(d.nominate() == k.decided);
      const auto& nominator = w.engine.nominator();
      std::string nominated;
      for (const Row row : nominator.rows()) nominated += w.engine.nodes().name(row).view();
      CHECK(nominated == k.nominated);
    }
}

TEST_CASE("one PostFilter nominates a whole job, and names victims on several nodes") {
  PointsWorld w;
  const auto other = make_pod("other", "3", "1Gi", with_job("x", 5)), lost = make_pod("lost", "3");
  const auto victim = [&](const char* name, const char* node) {
    const auto pod = make_pod(name, "4", "1Gi", [&](api::Pod& p) { p.spec.node_name = node; });
    w.engine.put_pod(pod);
    return pod;
  };
  const auto va = victim("va", "a"), vb = victim("vb", "b"), vc = victim("vc", "c");
  CHECK(w.put(other).kind() == Kind::unschedulable);
  w.post_filter = {{StatusCode::success, {}},
                   Symbol("a"),
                   {.victims = {{va, false}, {vb, false}},
                    .nominations = {{other, Symbol("b")}, {lost, Symbol("c")}},
                    .chosen = 2,
                    .tried = true}};
  const Decision d = w.put(make_pod("p", "3", "1Gi", with_job("x", 5)));
  CHECK(d.nominate() == Symbol("a"));
  CHECK(d.preemption().victims.size() == 2);
  CHECK(d.preemption().nominations.size() == 2);
  CHECK(w.engine.nominator().node_of(PodInfo{}).empty());
  CHECK(w.engine.nominator().size() == 2);
  w.post_filter = {{StatusCode::unschedulable, {}}, {}, {}};
  // The victims go: each has the room that it was nominated to, and a stranger has none of it.
  w.engine.remove_pod(*va);
  w.engine.remove_pod(*vb);
  w.engine.put_pod(make_pod("stranger", "2"));
  w.clock.advance(20s);
  std::map<std::string, std::string> nodes;
  for (const Decision& each : w.run()) nodes[each.pod->metadata.name] = each.node().str();
  CHECK(nodes["stranger"].empty());
  CHECK((nodes["p"] == "a" && nodes["other"] == "b"));
}

TEST_CASE("before the binding of what is no pod PreBindReservation is asked in place of PreBind") {
  PointsWorld w;
  w.engine.put_object(make_booking("b"));
  const Decision booked = w.one();
  REQUIRE(booked.kind() == Kind::bind);
  CHECK(w.asked_text().find("Permit PreBindReservation NextPod") != std::string::npos);
  CHECK(booked.as<Decision::Bind>()->changes->labels == api::StringMap{{"as", "object"}});
  CHECK(counted(w).contains("PreBindReservation Success"));
  const Decision bound = w.put(make_pod("p"));
  CHECK(w.asked_text().find("Permit PreBind NextPod") != std::string::npos);
  CHECK(bound.as<Decision::Bind>()->changes->labels == api::StringMap{{"as", "pod"}});
}

TEST_CASE("plugins are told of pods that leave their node or the engine") {
  PointsWorld w;
  w.one_node = "a";
  const auto pod = make_pod("p");
  w.put(pod);
  w.asked.clear();
  SECTION("the binding fails, and the pod goes") {
    w.engine.binding_failed(*pod);
    CHECK(w.asked_text() == "Unreserve forgotten:p@a");
    w.engine.remove_pod(*pod);
    CHECK(w.asked_text() == "gone:p");
  }
  SECTION("it goes while its binding is on its way") {
    w.engine.remove_pod(*pod);
    CHECK(w.asked_text() == "forgotten:p@a gone:p");
    w.engine.binding_failed(*pod);
    CHECK(w.asked_text() == "Unreserve");
  }
  SECTION("it is bound, then finished") {
    const auto bound = changed(pod, [](api::Pod& p) { p.spec.node_name = "a"; });
    w.engine.put_pod(bound);
    CHECK(w.asked_text().empty());
    w.engine.put_pod(changed(bound, [](api::Pod& p) { p.status.phase = "Succeeded"; }));
    CHECK(w.asked_text() == "gone:p");
  }
  SECTION("another scheduler's from now on") {
    w.engine.binding_failed(*pod);
    w.asked.clear();
    w.engine.put_pod(changed(pod, [](api::Pod& p) { p.spec.scheduler_name = "other"; }));
    CHECK(w.asked_text() == "gone:p");
  }
}

TEST_CASE("pods that another scheduler has nominated keep their room from those of a lower priority") {
  const auto foreign = [](std::string_view cpu, const char* node) {
    return make_pod("foreign", cpu, "1Gi", [&](api::Pod& p) {
      p.spec.scheduler_name = "other";
      p.spec.priority = 5;
      p.status.nominated_node_name = node;
    });
  };
  const auto of = [](int priority) {
    return make_pod(fmt::format("p{}", priority), "2", "1Gi", with_job("", priority));
  };
  SECTION("off by default") {
    PointsWorld w;
    w.only_nodes = {{"a"}};
    w.engine.put_pod(foreign("3", "a"));
    CHECK(w.put(of(4)).kind() == Kind::bind);
  }
  SECTION("of an equal one it does not") {
    PointsWorld w({.foreign_nominations = true});
    w.only_nodes = {{"a"}};
    w.engine.put_pod(foreign("3", "a"));
    CHECK(w.put(of(5)).kind() == Kind::bind);
  }
  SECTION("until it goes elsewhere, asks for less, is bound, or is gone") {
    for (const char* what : {"elsewhere", "less", "bound", "gone", "ours"}) {
      INFO(what);
      PointsWorld w({.foreign_nominations = true});
      w.only_nodes = {{"a"}};
      w.engine.put_pod(foreign("3", "a"));
      const Decision refused = w.put(of(4));
      REQUIRE(refused.kind() == Kind::unschedulable);
      CHECK(refused.message().find("1 Insufficient cpu") != std::string::npos);
      w.engine.put_pod(foreign("3", "a"));
      w.clock.advance(20s);
      CHECK(w.run().empty());  // nothing has happened
      const std::string_view now = what;
      if (now == "elsewhere") w.engine.put_pod(foreign("3", "b"));
      if (now == "less") w.engine.put_pod(foreign("1", "a"));
      if (now == "bound")
        w.engine.put_pod(changed(foreign("3", "a"), [](api::Pod& p) { p.spec.node_name = "b"; }));
      if (now == "gone") w.engine.remove_pod(*foreign("3", "a"));
      if (now == "ours")
        w.engine.put_pod(
            changed(foreign("9", ""), [](api::Pod& p) { p.spec.scheduler_name = "default-scheduler"; }));
      w.clock.advance(20s);
      bool is_bound = false;
      for (const Decision& d : w.run())
        is_bound = is_bound || (d.kind() == Kind::bind && d.pod->metadata.name == "p4");
      CHECK(is_bound);
      CHECK(w.engine.nominator().size() == (now == "elsewhere" || now == "less" ? 1 : 0));
    }
  }
}

TEST_CASE("the nomination of another scheduler's pod is not taken back by who preempts") {
  auto config = points_config();
  config.profiles[0].plugins->post_filter.disabled = {{"Points", {}}, {"DynamicResources", {}}};
  PointsWorld w({.foreign_nominations = true}, config);
  w.only_nodes = {{"a"}};
  w.engine.put_pod(make_pod("low", "4", "1Gi", [](api::Pod& p) { p.spec.node_name = "a"; }));
  w.engine.put_pod(make_pod("foreign", "1", "1Gi", [](api::Pod& p) {
    p.spec.scheduler_name = "other";
    p.spec.priority = 5;
    p.status.nominated_node_name = "a";
  }));
  const Decision d = w.put(make_pod("high", "4", "1Gi", with_job("", 10)));
  REQUIRE(d.preemption().victims.size() == 1);
  CHECK(d.preemption().nominations.empty());
}

}  // namespace
}  // namespace koord::scheduling::test
