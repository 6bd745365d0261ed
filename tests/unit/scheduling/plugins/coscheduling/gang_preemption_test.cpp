// Gangs that preempt: who goes, who is nominated where, what is said, and what is left of it.
#include <catch2/catch.hpp>
#include <functional>
#include <set>

#include "../elastic_quota/quota_world.hpp"
#include "preempting.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("who goes for a gang, and where its pods are nominated to") {
  // The first ones are Koordinator's own (preemption_test.go), on nodes of 32 CPUs.
  struct Row {
    const char* name;
    std::function<void(Preempting&)> there;
    const char *victims, *nominated, *message;
  };
  const auto full = [](Preempting& w) {
    w.run_on("existing-1", "node-1", "16");
    w.run_on("existing-2", "node-1", "16");
    w.run_on("existing-3", "node-2", "16");
    w.run_on("existing-4", "node-2", "16");
  };
  constexpr const char* kNoCpu = "0/2 nodes are available: 2 Insufficient cpu.";
  const Row rows[] = {
      {"the first node by name is emptied for both",
       [&](Preempting& w) {
         full(w);
         w.gang("g", 2, "16");
       },
       "existing-1 existing-2", "g-000:node-1 g-001:node-1", kNoCpu},
      {"one has a place and keeps it",
       [](Preempting& w) {
         w.run_on("existing-1", "node-1", "16");
         w.run_on("existing-2", "node-1", "16");
         w.run_on("existing-4", "node-2", "16");
         w.gang("g", 2, "16");
       },
       "existing-2", "g-000:node-2 g-001:node-1", kNoCpu},
      {"nobody is of a lower priority",
       [](Preempting& w) {
         w.run_on("existing-1", "node-1", "32", 1000);
         w.run_on("existing-2", "node-2", "32", 1000);
         w.gang("g", 2, "16");
       },
       "", "",
       "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 no potential "
       "victims."},
      {"its policy is Never",
       [&](Preempting& w) {
         full(w);
         w.gang("g", 2, "16", 1000, 0, [](api::Pod& p) { p.spec.preemption_policy = "Never"; });
       },
       "", "",
       "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to "
       "preemptionPolicy=Never."},
      {"victims do not help",
       [&](Preempting& w) {
         full(w);
         w.gang("g", 2, "16", 1000, 0, [](api::Pod& p) { p.spec.node_selector["disk"] = "ssd"; });
       },
       "", "",
       "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes "
       "are available: 2 Preemption is not helpful for scheduling."},
      {"all of them do not fit, so nobody goes",
       [&](Preempting& w) {
         full(w);
         w.gang("g", 5, "16");
       },
       "", "",
       "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 Insufficient "
       "cpu."},
      {"nodes without victims are said to refuse as they do, where others have some that do not help",
       [](Preempting& w) {
         w.run_on("a", "node-1", "32", 1000);
         w.run_on("b", "node-2", "16", 1000);
         w.run_on("c", "node-2", "8", 1);
         w.gang("g", 2, "24");
       },
       "", "",
       "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 Insufficient "
       "cpu."},
      {"those that it needs do",
       [&](Preempting& w) {
         full(w);
         w.gang("g", 5, "16", 1000, 3);
       },
       "existing-1 existing-2 existing-4", "g-000:node-1 g-001:node-1 g-002:node-2", kNoCpu},
      {"who need not go stays: the most important of jobs first",
       [](Preempting& w) {
         w.run_on("c", "node-1", "16", 5);
         w.run_on("b", "node-1", "8", 1);
         w.run_on("a", "node-1", "8", 1);
         w.run_on("kept", "node-2", "32", 2000);
         w.gang("g", 2, "8");
       },
       "a b", "g-000:node-1 g-001:node-1", kNoCpu},
      {"a node costs as many jobs as have pods there, of a rank above the lowest",
       [](Preempting& w) {
         const auto job = [](const char* name) {
           return [=](api::Pod& p) { p.metadata.labels[std::string(api::kQuestionedObjectKeyLabel)] = name; };
         };
         w.run_on("x", "node-1", "16", 5, job("x"));
         w.run_on("y", "node-1", "16", 5, job("y"));
         w.run_on("z1", "node-2", "16", 5, job("z"));
         w.run_on("z2", "node-2", "16", 5, job("z"));
         w.engine.put_node(make_node("node-3", "16"));
         w.run_on("low", "node-3", "1", 1);
         w.run_on("kept", "node-3", "15", 2000);
         w.gang("g", 2, "16");
       },
       "z1 z2", "g-000:node-2 g-001:node-2", "0/3 nodes are available: 3 Insufficient cpu."},
      {"a job costs what the most important of its pods there does",
       [](Preempting& w) {
         const auto job = [](const char* name) {
           return [=](api::Pod& p) { p.metadata.labels[std::string(api::kQuestionedObjectKeyLabel)] = name; };
         };
         w.run_on("x1", "node-1", "16", 1, job("x"));
         w.run_on("x5", "node-1", "16", 5, job("x"));
         w.run_on("y1", "node-2", "16", 3, job("y"));
         w.run_on("y2", "node-2", "16", 3, job("y"));
         w.gang("g", 2, "16");
       },
       "y1 y2", "g-000:node-2 g-001:node-2", kNoCpu},
      {"who may not be preempted stays",
       [](Preempting& w) {
         w.run_on("a", "node-1", "32", 1, [](api::Pod& p) {
           p.metadata.labels[std::string(api::kDisablePreemptibleLabel)] = "true";
         });
         w.run_on("b", "node-2", "32", 1,
                  [](api::Pod& p) { p.metadata.labels[std::string(api::kQuotaPreemptibleLabel)] = "false"; });
         w.gang("g", 2, "16");
       },
       "", "",
       "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 no potential "
       "victims."},
      {"nobody goes who is not of a lower priority than all that need room",
       [](Preempting& w) {
         w.run_on("a", "node-1", "32", 50);
         w.run_on("b", "node-2", "32", 5);
         w.engine.put_pod(member("g", 0, 2, {}, "16", of_priority(100)));
         w.engine.put_pod(member("g", 1, 2, {}, "16", of_priority(10)));
       },
       "b", "g-000:node-2 g-001:node-2", kNoCpu},
      {"a member that needs something else has another node emptied",
       [&](Preempting& w) {
         full(w);
         w.engine.put_node(make_node("ssd", "8", "64Gi", [](api::Node& n) { n.metadata.labels["d"] = "s"; }));
         w.run_on("on-ssd", "ssd", "8");
         w.engine.put_pod(member("g", 0, 2, {}, "16", of_priority(1000)));
         w.engine.put_pod(member("g", 1, 2, {}, "8", [](api::Pod& p) {
           p.spec.priority = 1000;
           p.spec.node_selector["d"] = "s";
         }));
       },
       "existing-2 on-ssd", "g-000:node-1 g-001:ssd", "0/3 nodes are available: 3 Insufficient cpu."},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Preempting w;
    w.nodes(2, "32");
    row.there(w);
    w.all();
    CHECK(w.victims() == row.victims);
    CHECK(w.nominated() == row.nominated);
    CHECK(w.message() == row.message);
    CHECK(w.bound() == "");
    CHECK(w.engine.assumed() == 0);
    CHECK(w.engine.nominator().size() ==
          static_cast<std::size_t>(std::ranges::count(std::string_view(row.nominated), ':')));
  }
}

TEST_CASE("the gang lands whole where it was nominated to when its victims have gone, and not before") {
  Preempting w;
  w.nodes(2, "32");
  for (const char* name : {"a", "b"}) w.run_on(name, "node-1", "16");
  for (const char* name : {"c", "d"}) w.run_on(name, "node-2", "16");
  w.gang("g", 3, "16");
  w.all();
  CHECK(w.victims() == "a b d");
  REQUIRE(w.tried() != nullptr);
  CHECK(w.tried()->preemption().job == "default/g");
  // The others hear whose turn it was, and what came of it.
  const auto told = std::ranges::find_if(w.last, [](const Decision& d) { return d.kind() == Kind::gated; });
  REQUIRE(told != w.last.end());
  CHECK(told->message().ends_with(
      "preemption: preemption already attempted by default/g-000 with message preempt success, "
      "alreadyWaitingForBound: 0/3"));
  const Decision first = *w.tried();
  // While they are asked to go nobody else is.
  w.later();
  CHECK(w.victims() == "");
  w.engine.put_pod(ending(w.pods["d"]));
  w.engine.remove_pod(*w.pods["a"]);
  w.engine.remove_pod(*w.pods["b"]);
  w.engine.preempted(*first.pod, true);
  w.later();
  CHECK(w.bound() == "");
  // What is free is theirs.
  w.engine.put_pod(make_pod("other", "16", "", [](api::Pod& p) {
    p.spec.priority = 10;
    p.spec.preemption_policy = "Never";
  }));
  w.all();
  CHECK(w.bound() == "");
  w.engine.remove_pod(*w.pods["d"]);
  w.later();
  CHECK(w.bound() == "g-000:node-1 g-001:node-1 g-002:node-2");
  CHECK(w.engine.nominator().size() == 0);
}

TEST_CASE("victims that do not end are asked once, and nobody else is") {
  Preempting w;
  w.nodes(2, "32");
  for (const char* name : {"a", "b"}) w.run_on(name, "node-1", "16");
  for (const char* name : {"c", "d"}) w.run_on(name, "node-2", "16");
  w.gang("g", 2, "16");
  w.all();
  CHECK(w.victims() == "a b");
  w.evict(false);
  std::set<std::string> messages;
  for (int minute = 0; minute < 30; ++minute) {
    w.later(1min);
    CHECK(w.victims() == "");
    if (w.tried() != nullptr) messages.insert(w.message());
  }
  CHECK(messages == std::set<std::string>{"0/2 nodes are available: 2 Insufficient cpu. preemption: not "
                                          "eligible due to terminating pod on the nominated node."});
  CHECK(w.engine.nominator().size() == 2);
  w.engine.remove_pod(*w.pods["a"]);
  w.engine.remove_pod(*w.pods["b"]);
  w.later();
  CHECK(w.bound() == "g-000:node-1 g-001:node-1");
}

TEST_CASE("a new leader knows of the room that victims leave to a gang, from the pods alone") {
  Preempting w;
  w.nodes(1, "32");
  for (const char* name : {"a", "b"}) w.engine.put_pod(ending(running(name, "node-1", "16")));
  // In any order: all but the first that may stand for the gang are kept out of the queue.
  for (const int n : {1, 0})
    w.engine.put_pod(member("g", n, 2, {}, "16", [](api::Pod& p) {
      p.spec.priority = 1000;
      p.status.nominated_node_name = "node-1";
    }));
  CHECK(w.engine.nominator().size() == 2);
  w.all();
  CHECK(w.victims() == "");
  w.engine.remove_pod(*running("a", "node-1", "16"));
  w.engine.put_pod(make_pod("thief", "16", "", of_priority(10)));
  w.later();
  CHECK(w.bound() == "");
  w.engine.remove_pod(*running("b", "node-1", "16"));
  w.later();
  CHECK(w.bound() == "g-000:node-1 g-001:node-1");
}

TEST_CASE("no nomination is left of a gang that goes, nor of one for which victims would not help any more") {
  Preempting w;
  w.nodes(2, "32");
  w.run_on("a", "node-1", "32");
  w.run_on("b", "node-2", "32", 2000);
  w.gang("g", 2, "16");
  w.all();
  CHECK(w.nominated() == "g-000:node-1 g-001:node-1");
  CHECK(w.engine.nominator().size() == 2);
  SECTION("it goes") {
    w.evict();
    for (int n = 0; n < 2; ++n) w.engine.remove_pod(*member("g", n, 2));
    CHECK(w.engine.nominator().size() == 0);
    w.engine.put_pod(make_pod("other", "32", ""));
    w.later();
    CHECK(w.bound() == "other:node-1");
  }
  SECTION("somebody more important takes the room") {
    w.evict();
    w.run_on("c", "node-1", "32", 3000);
    w.later(10min);
    CHECK(w.victims() == "");
    CHECK(w.tried()->nominate() == Symbol());
    CHECK(w.nominated() == "g-001:none");
  }
}

TEST_CASE("two gangs that preempt do not have the same room emptied, nor one another's pods") {
  Preempting w;
  w.nodes(3, "32");
  for (int n = 1; n <= 3; ++n) w.run_on(fmt::format("r{}", n), fmt::format("node-{}", n), "32");
  w.gang("a", 2, "16", 100);
  w.gang("b", 2, "16", 100);
  w.all();
  CHECK(w.victims() == "r1 r2");
  w.evict();
  w.later();
  CHECK(w.bound() == "a-000:node-1 a-001:node-1 b-000:node-2 b-001:node-2");
  CHECK(w.victims() == "");
  CHECK(w.engine.nominator().size() == 0);
}

TEST_CASE("a gang of a higher priority takes the nomination of one of a lower priority") {
  Preempting w;
  w.nodes(1, "32");
  w.run_on("r", "node-1", "32");
  w.gang("low", 2, "16", 10);
  w.all();
  CHECK(w.nominated() == "low-000:node-1 low-001:node-1");
  w.gang("high", 2, "16", 100);
  w.all();
  CHECK(w.victims() == "r");
  CHECK(w.nominated() == "high-000:node-1 high-001:node-1 low-000:none low-001:none");
}

TEST_CASE("nobody goes whom a disruption budget keeps, unless the gate says so") {
  struct Row {
    int allowed;
    bool ignored;
    const char *of_gang, *of_pod;
  };
  const Row rows[] = {
      {0, false, "", ""},
      {1, false, "", "r1"},
      {2, false, "r1 r2", "r1"},
      {0, true, "r1 r2", "r1"},
  };
  static constexpr FeatureGate kGates[] = {{.name = "JobPreemptionIgnoresDisruptionBudgets",
                                            .enabled = false,
                                            .stage = Stage::alpha,
                                            .help = "As in role's flags."}};
  for (const Row& row : rows)
    for (const bool gang : {true, false}) {
      CAPTURE(row.allowed, row.ignored, gang);
      FeatureGates gates{kGates};
      REQUIRE(gates.set(fmt::format("JobPreemptionIgnoresDisruptionBudgets={}", row.ignored)).has_value());
      Preempting w(preempting_config(), gates);
      w.nodes(2, "32");
      w.engine.put_object(budget(row.allowed));
      w.run_on("r1", "node-1", "32");
      w.run_on("r2", "node-2", "32");
      if (gang)
        w.gang("g", 2, "32");
      else
        w.engine.put_pod(make_pod("alone", "32", "", of_priority(100)));
      w.all();
      CHECK(w.victims() == (gang ? row.of_gang : row.of_pod));
      if (row.allowed == 0 && !row.ignored)
        CHECK(
            w.message() ==
            "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 2 preemption "
            "would break a disruption budget.");
    }
}

TEST_CASE("pods of a gang that must be apart have a node each emptied") {
  Preempting w;
  w.nodes(3, "32", [](api::Node& n) { n.metadata.labels["zone"] = n.metadata.name == "node-3" ? "b" : "a"; });
  for (int n = 1; n <= 3; ++n) w.run_on(fmt::format("r{}", n), fmt::format("node-{}", n), "32");
  w.gang("g", 2, "8", 100, 0, [](api::Pod& p) {
    p.metadata.labels["apart"] = "yes";
    stay_away(p, "apart", "yes", "zone");
  });
  w.all();
  CHECK(w.victims() == "r1 r3");
  CHECK(w.nominated() == "g-000:node-1 g-001:node-3");
  w.evict();
  w.later();
  CHECK(w.bound() == "g-000:node-1 g-001:node-3");
}

TEST_CASE("a pod that is alone is a job of one") {
  Preempting w;
  w.nodes(2, "32");
  w.run_on("a", "node-1", "16", 5);
  w.run_on("b", "node-1", "16", 1);
  w.run_on("c", "node-2", "32", 5);
  w.run_on("d", "node-2", "0", 1);
  w.engine.put_pod(make_pod("p", "16", "", of_priority(10)));
  w.all();
  CHECK(w.victims() == "b");
  CHECK(w.nominated() == "p:node-1");
  CHECK(w.tried()->preemption().job == "default/p");
  w.evict(false);
  w.later(10min);
  CHECK(w.message() ==
        "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to terminating pod on the "
        "nominated node.");
  w.engine.remove_pod(*w.pods["b"]);
  w.later();
  CHECK(w.bound() == "p:node-1");
}

TEST_CASE("of a pod that is alone, too, nodes without victims are said to refuse as they do") {
  Preempting w;
  w.nodes(3, "32");
  w.run_on("a", "node-1", "32", 10);
  w.run_on("b", "node-2", "16", 10);
  w.run_on("c", "node-2", "8", 1);
  w.run_on("d", "node-3", "32", 1);
  w.engine.put_pod(make_pod("p", "24", "", [](api::Pod& p) {
    p.spec.priority = 10;
    p.spec.node_name = {};
    p.spec.affinity.ensure().node_affinity.ensure().required.ensure().node_selector_terms.push_back(
        {.match_fields = {{"metadata.name", "NotIn", {Symbol("node-3")}}}});
  }));
  w.all();
  CHECK(w.victims() == "");
  CHECK(w.message() ==
        "0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 2 Insufficient cpu. "
        "preemption: 0/3 nodes are available: 2 Insufficient cpu.");
}

TEST_CASE("who looks for victims for a gang follows from the profile") {
  struct Row {
    const char* name;
    std::vector<std::string> post_filters;
    bool enabled;
    const char* victims;
  };
  const Row rows[] = {
      {"the chart's", {"Coscheduling"}, true, "a"},
      {"it is off, and nobody else does", {"Coscheduling"}, false, ""},
      {"Koordinator's own: a gang's pods preempt, and as one",
       {"Coscheduling", "DefaultPreemption"},
       false,
       "a"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    KubeSchedulerConfiguration config = preempting_config(row.post_filters);
    if (!row.enabled) config.profiles[0].plugin_config.clear();
    Preempting w(std::move(config));
    w.nodes(1, "32");
    w.run_on("a", "node-1", "32");
    w.gang("g", 2, "16");
    w.all();
    CHECK(w.victims() == row.victims);
  }
}

TEST_CASE(
    "for pods that their quota refuses nobody of another quota goes; what a node refuses has room made") {
  for (const char* most : {"16", "64"})
    for (const bool gang : {true, false}) {
      CAPTURE(most, gang);
      Preempting w(with_quotas(preempting_config({"Coscheduling", "ElasticQuota"})));
      w.nodes(1, "32");
      w.engine.put_object(make_quota("a", most, "32"));
      w.engine.put_object(make_quota("b", "64", "0"));
      for (const char* name : {"r1", "r2"}) w.run_on(name, "node-1", "16", 1, in_quota("b"));
      if (gang)
        w.gang("g", 2, "16", 1000, 0, in_quota("a"));
      else
        w.engine.put_pod(make_pod("alone", "32", "", in_quota("a", of_priority(1000))));
      w.all();
      const bool refused = most == std::string_view("16");
      CHECK(w.victims() == (refused ? "" : "r1 r2"));
      CHECK(w.engine.nominator().size() == (refused ? 0U : gang ? 2U : 1U));
    }
}

/// Machines full of pods of several jobs and priorities, and gangs that come one after the other.
TEST_CASE("whoever goes makes room for the whole gang, in random clusters") {
  tell_stories(400, [](const auto& below) {
    Preempting w;
    const int count = 1 + below(6);
    w.nodes(count, "8");
    for (int n = 0; n < count; ++n)
      for (int left = 8 - below(2), i = 0; left > 0; ++i) {
        const int cpu = 1 + below(std::min(left, 4));
        w.run_on(fmt::format("r{}-{}", n, i), fmt::format("node-{}", n + 1), std::to_string(cpu),
                 1 + below(4) * 10, [&](api::Pod& p) {
                   if (below(2) == 0)
                     p.metadata.labels[std::string(api::kQuestionedObjectKeyLabel)] =
                         fmt::format("job-{}", below(3));
                 });
        left -= cpu;
      }
    const int size = 1 + below(6), cpu = 1 + below(4), priority = 5 + below(4) * 10;
    const bool apart = below(4) == 0;
    w.gang("g", size, std::to_string(cpu), priority, 0, [&](api::Pod& p) {
      if (!apart) return;
      p.metadata.labels["apart"] = "yes";
      stay_away(p, "apart", "yes", "kubernetes.io/hostname");
    });
    w.all();
    CHECK(w.engine.assumed() == static_cast<std::size_t>(std::ranges::count_if(
                                    w.last, [](const Decision& d) { return d.kind() == Kind::bind; })));
    if (w.victims().empty()) return false;
    CHECK(w.spares(priority));
    const std::string where = w.nominated();
    w.evict();
    w.later();
    CHECK(w.bound() == where);
    CHECK(w.engine.nominator().size() == 0);
    return true;
  });
}

TEST_CASE("pods of a gang that is not whole any more keep no room") {
  Preempting world;
  world.nodes(1, "4");
  world.run_on("victim", "node-1", "4");
  world.gang("g", 2, "2");
  world.all();
  REQUIRE(world.nominated() == "g-000:node-1 g-001:node-1");
  world.evict();
  world.engine.remove_pod(*member("g", 0, 2));
  world.engine.put_pod(make_pod("low", "4", "128Mi"));
  world.all();
  CHECK(world.bound().empty());
  // Whoever makes the gang's pods has a moment for the next one.
  world.clock.advance(6s);
  world.all();
  const auto told =
      std::ranges::find_if(world.last, [](const Decision& d) { return d.kind() == Kind::gated; });
  REQUIRE(told != world.last.end());
  CHECK(told->pod->metadata.name == "g-001");
  CHECK(told->nominate() == Symbol());
  CHECK(world.bound() == "low:node-1");
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
