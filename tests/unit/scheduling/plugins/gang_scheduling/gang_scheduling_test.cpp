// Kubernetes' own gangs through the engine; rows of kube-scheduler 1.35's gangscheduling_test.go and of its
// integration test, restated by what becomes of the pods.
#include <catch2/catch.hpp>

#include "koord/api/koordinator/gang.hpp"
#include "koord/api/types/kube_scheduling_v1alpha2/pod_group.hpp"
#include "koord/scheduling/config/extender_interest.hpp"
#include "koord/scheduling/plugin/extender_talk.hpp"
#include "koord/scheduling/plugin/lifecycle_plugin.hpp"
#include "kube_gangs.hpp"

namespace koord::scheduling::gang_scheduling::test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kTooFew =
    "waiting for minCount pods from a gang to appear in scheduling queue: the gang default/gang-wl/pg1 has 2 "
    "of 3";

TEST_CASE("a pod goes with its gang, and by itself if it is in none") {
  const auto gang = workload("gang-wl", {{"pg1", 3}, {"pg2", 4}}), basic = workload("basic-wl", {{"pg1", 0}});
  const std::map<std::string, std::shared_ptr<const api::Pod>> kPods{
      {"p1", member("p1", "gang-wl", "pg1")},
      {"p2", member("p2", "gang-wl", "pg1")},
      {"p3", member("p3", "gang-wl", "pg1")},
      {"p4", member("p4", "gang-wl", "pg2")},
      {"p5", member("p5", "gang-wl", "pg1", "2")},
      {"basic-pod", member("basic-pod", "basic-wl", "pg1")},
      {"no-group", member("no-group", "gang-wl", "pg3")},
      {"non-gang", make_pod("non-gang")}};
  struct Row {
    const char* name;
    std::vector<std::string> pods;
    bool workloads;
    std::string bound, message;  // of the first pod
  };
  const Row kRows[] = {
      {"a pod that is in none", {"non-gang"}, true, "non-gang", ""},
      {"basic policy", {"basic-pod"}, true, "basic-pod", ""},
      {"the workload is not there yet",
       {"p1", "p2", "p3", "p4", "p5"},
       false,
       "",
       "waiting for pods's workload \"gang-wl\" to appear in scheduling queue"},
      {"fewer than minCount, others being in other groups or replicas",
       {"p1", "p2", "p4", "p5"},
       true,
       "",
       std::string(kTooFew)},
      {"all of one group", {"p1", "p2", "p3", "p4", "p5"}, true, "p1 p2 p3", ""},
      {"no such group", {"no-group"}, true, "", "pod group \"pg3\" doesn't exist for a workload \"gang-wl\""},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    KubeGangs world;
    if (row.workloads) {
      world.engine.put_object(gang);
      world.engine.put_object(basic);
    }
    for (const std::string& name : row.pods) world.engine.put_pod(kPods.at(name));
    CHECK(world.bound_pods() == row.bound);
    if (row.message.empty()) continue;
    world.wait(6s);
    world.all();
    CHECK(world.told(row.pods.front()) == row.message);
  }
}

TEST_CASE("a pod that waits goes when another of its gang comes, and for no other") {
  struct Row {
    const char* name;
    std::shared_ptr<const api::Pod> pod, comes;
    bool goes;
  };
  const auto in = [](std::string name, std::string ns, const PodEdit& refers) {
    return make_pod(std::move(name), "1", "128Mi", [&](api::Pod& p) {
      p.metadata.namespace_ = Symbol(ns);
      refers(p);
    });
  };
  const Row kRows[] = {
      {"workload and group", member("p", "w1", "pg"), member("q", "w1", "pg"), true},
      {"and replica", member("p", "w1", "pg", "3"), member("q", "w1", "pg", "3"), true},
      {"another namespace", member("p", "w1", "pg"), in("q", "foo", refers("w1", "pg")), false},
      {"another workload", member("p", "w1", "pg"), member("q", "w2", "pg"), false},
      {"another group", member("p", "w1", "pg"), member("q", "w1", "pg2"), false},
      {"another replica", member("p", "w1", "pg", "3"), member("q", "w1", "pg", "4"), false},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    KubeGangs world;
    for (const char* name : {"w1", "w2"}) world.engine.put_object(workload(name, {{"pg", 2}, {"pg2", 2}}));
    world.engine.put_pod(row.pod);
    CHECK(world.bound() == 0);
    world.engine.put_pod(row.comes);
    CHECK(world.bound() == (row.goes ? 2 : 0));
  }
}

TEST_CASE("a pod that waits goes when its workload comes, and for no other") {
  struct Row {
    const char* name;
    const char* workload;
    const char* ns;
    bool goes;
  };
  const Row kRows[] = {{"its own", "w1", "default", true},
                       {"another", "w2", "default", false},
                       {"one whose name begins so", "w1/pg", "default", false},
                       {"another namespace", "w1", "ns2", false}};
  for (const Row& row : kRows) {
    INFO(row.name);
    KubeGangs world;
    world.engine.put_pod(member("p", "w1", "pg"));
    CHECK(world.bound() == 0);
    auto comes = std::make_shared<api::Workload>(*workload(row.workload, {{"pg", 1}}));
    comes->metadata.namespace_ = Symbol(row.ns);
    world.engine.put_object(std::shared_ptr<const api::Workload>(comes));
    CHECK(world.bound() == (row.goes ? 1 : 0));
  }
}

TEST_CASE("a gang waits for its workload, then for room, then goes whole") {
  KubeGangs world(1, "4");
  const auto blocker = make_pod("blocker", "2");
  world.engine.put_pod(blocker);
  CHECK(world.bound() == 1);
  world.settle();
  world.put("p", 3);
  CHECK(world.bound() == 0);
  world.engine.put_object(workload("w", {{"pg", 3}}));
  CHECK(world.bound() == 0);
  CHECK(world.engine.assumed() == 0);
  int blamed = 0, told = 0;
  for (const Decision& d : world.last) {
    if (d.message() == "0/1 nodes are available: 1 Insufficient cpu.") ++blamed;
    if (const auto* gated = d.as<Decision::Gated>()) {
      CHECK(gated->unschedulable);
      CHECK(gated->message.find("the gang default/w/pg has no room: for pod default/p") != std::string::npos);
      CHECK(gated->message.find("after 2 others had one: 0/1 nodes are available: 1 Insufficient cpu.") !=
            std::string::npos);
      ++told;
    }
  }
  CHECK(blamed == 1);
  CHECK(told == 2);
  world.wait(20s);
  CHECK(world.all().empty());
  world.engine.remove_pod(*blocker);
  world.wait(20s);
  CHECK(world.bound() == 3);
}

TEST_CASE("bound pods count for the minimum, and who follows needs the rest alone") {
  KubeGangs world(1, "8");
  world.engine.put_object(workload("w", {{"pg", 3}}));
  world.put("p", 3);
  CHECK(world.bound() == 3);
  world.settle();
  SECTION("more than it needs") {
    world.engine.put_pod(member("later"));
    CHECK(world.bound() == 1);
  }
  SECTION("one is gone") {
    world.engine.remove_pod(*member("p1"));
    world.engine.put_pod(member("later"));
    CHECK(world.bound() == 1);
  }
  SECTION("two are gone") {
    world.engine.remove_pod(*member("p1"));
    world.engine.remove_pod(*member("p2"));
    world.engine.put_pod(member("later"));
    CHECK(world.bound() == 0);
    world.engine.put_pod(member("last"));
    CHECK(world.bound() == 2);
  }
}

TEST_CASE("a workload that goes holds its pods; what comes in its place counts") {
  KubeGangs world(1, "8");
  const auto first = workload("w", {{"pg", 4}});
  world.engine.put_object(first);
  world.put("p", 3);
  CHECK(world.bound() == 0);
  world.engine.remove_object(first);
  world.engine.put_pod(member("p3"));
  world.wait(6s);
  CHECK(world.bound() == 0);
  CHECK(world.told("p0") == "waiting for pods's workload \"w\" to appear in scheduling queue");
  SECTION("it comes again") {
    world.engine.put_object(first);
    CHECK(world.bound() == 4);
  }
  SECTION("with another number") {
    world.engine.remove_pod(*member("p3"));
    world.engine.put_object(workload("w", {{"pg", 2}}, "another"));
    CHECK(world.bound() == 3);
  }
  SECTION("without the group") {
    world.engine.put_object(workload("w", {{"other", 2}}, "another"));
    CHECK(world.bound() == 0);
  }
  SECTION("as what is no gang") {
    world.engine.put_object(workload("w", {{"pg", 0}}, "another"));
    CHECK(world.bound() == 4);
  }
}

TEST_CASE("a minimum that nobody reaches holds its gang alone") {
  KubeGangs world(1, "8");
  world.engine.put_object(workload("w", {{"pg", 1'000'000'000}}));
  world.put("p", 3);
  world.engine.put_pod(make_pod("plain"));
  CHECK(world.bound_pods() == "plain");
  CHECK(world.engine.queue_sizes() == QueueSizes{.gated = 3});
  world.wait(6s);
  CHECK(world.all()[Kind::gated] == 3);
  world.wait(60s);
  CHECK(world.all().empty());
}

TEST_CASE("with the gates off a pod's reference to a workload says nothing") {
  for (const std::string_view set : {"", "GenericWorkload=true"}) {
    KubeGangs world(1, "8", {}, {}, set);
    world.engine.put_object(workload("w", {{"pg", 3}}));
    world.engine.put_pod(member("p"));
    world.engine.put_pod(member("q", "absent"));
    CHECK(world.bound_pods() == "p q");
  }
  CHECK(check_gates(gates("")).has_value());
  CHECK(check_gates(gates(kOn)).has_value());
  CHECK(check_gates(gates("AllAlpha=true")).has_value());
  const auto alone = check_gates(gates("GangScheduling=true"));
  REQUIRE_FALSE(alone.has_value());
  CHECK(alone.error().message() ==
        "GangScheduling is enabled, but depends on features that are disabled: [GenericWorkload]");
}

KubeSchedulerConfiguration with_coscheduling() {
  KubeSchedulerConfiguration config;
  config.profiles.emplace_back().plugins.ensure().multi_point.enabled.push_back({"Coscheduling", {}});
  return config;
}

std::shared_ptr<const api::Pod> of_both(const std::string& name) {
  return changed(member(name), [](api::Pod& p) {
    p.metadata.annotations[api::kGangName] = "g";
    p.metadata.annotations[api::kGangMin] = "1";
  });
}

TEST_CASE("a pod that is in a gang of Koordinator's, too, is refused by name, and counts in neither") {
  KubeGangs world(1, "8", with_coscheduling());
  world.engine.put_object(workload("w", {{"pg", 2}}));
  world.engine.put_pod(of_both("p"));
  CHECK(world.bound() == 0);
  CHECK(
      world.told("p") ==
      "pod default/p is in two gangs: in \"g\" by its labels or annotations, and in the pod group \"pg\" of "
      "the workload \"w\" (spec.workloadRef): take the labels and annotations of the first away, or create "
      "the pod without the second");
  world.engine.put_pod(member("q"));
  CHECK(world.bound() == 0);
  SECTION("until it is in one alone") {
    world.engine.put_pod(member("p"));
    world.wait(20s);
    CHECK(world.bound_pods() == "p q");
  }
  SECTION("and others of either go") {
    world.engine.put_pod(member("r"));
    world.engine.put_pod(make_pod("of-koordinator", "1", "128Mi", [](api::Pod& p) {
      p.metadata.annotations[api::kGangName] = "g";
      p.metadata.annotations[api::kGangMin] = "1";
    }));
    CHECK(world.bound_pods() == "of-koordinator q r");
  }
}

TEST_CASE("after a restart the rest of gangs that are bound goes first, of both kinds in one profile") {
  KubeGangs world(2, "8", with_coscheduling());
  const auto koordinators = [](const std::string& name) {
    return make_pod(name, "1", "128Mi", [](api::Pod& p) {
      p.metadata.annotations[api::kGangName] = "g";
      p.metadata.annotations[api::kGangMin] = "3";
    });
  };
  const auto on_n0 = [](api::Pod& p) { p.spec.node_name = Symbol("n0"); };
  world.engine.put_object(workload("w", {{"pg", 3}}));
  for (const char* name : {"k0", "k1"}) world.engine.put_pod(changed(member(name), on_n0));
  for (const char* name : {"g0", "g1"}) world.engine.put_pod(changed(koordinators(name), on_n0));
  world.engine.put_pod(make_pod("before"));
  world.engine.put_pod(member("k2"));
  world.engine.put_pod(koordinators("g2"));
  for (const auto& each : world.engine.profiles()[0].plugins)
    if (auto* told = dynamic_cast<SyncedPlugin*>(each.plugin.get())) told->all_synced();
  CHECK(world.bound() == 3);
  CHECK(names(world.last) == "k2 g2 before");
}

TEST_CASE("a binding that fails in the middle of a gang is made good") {
  KubeGangs world(1, "8");
  world.engine.put_object(workload("w", {{"pg", 3}}));
  world.put("p", 3);
  CHECK(world.bound() == 3);
  const auto decisions = world.last;
  world.engine.binding_failed(*decisions[1].pod);
  CHECK(world.engine.assumed() == 2);
  for (const std::size_t n : {0, 2}) {
    world.engine.binding_succeeded(*decisions[n].pod);
    world.engine.put_pod(
        changed(decisions[n].pod, [&](api::Pod& p) { p.spec.node_name = decisions[n].node(); }));
  }
  world.wait(20s);
  CHECK(world.bound_pods() == decisions[1].pod->metadata.name);
}

TEST_CASE("2856: where one kind of gang is placed, what makes a pod one of the other says nothing") {
  SECTION("Kubernetes' alone") {
    KubeGangs world;
    world.engine.put_object(workload("w", {{"pg", 1}}));
    world.engine.put_pod(of_both("p"));
    CHECK(world.bound() == 1);
  }
  SECTION("Koordinator's alone") {
    KubeGangs world(1, "8", with_coscheduling(), {}, "");
    world.engine.put_pod(of_both("p"));
    CHECK(world.bound() == 1);
  }
}

TEST_CASE("a gang of the later form is a PodGroup, whose number may be changed") {
  KubeGangs world(1, "3");
  const auto member_of = [](const char* name) { return make_pod(name, "1", "128Mi", in_group("g")); };
  for (const char* name : {"a", "b", "c", "d"}) world.engine.put_pod(member_of(name));
  CHECK(world.bound() == 0);
  world.wait(6s);
  world.all();
  CHECK(world.told("a") == "waiting for pod's pod group \"g\" to appear in scheduling queue");
  SECTION("what fits") {
    world.engine.put_object(pod_group("g", 3));
    CHECK(world.bound() == 3);
  }
  SECTION("what fits, of an API server that has the earlier version alone") {
    const auto later = pod_group("g", 3);
    world.engine.put_object(std::make_shared<const api::EarlyKubePodGroup>(
        api::EarlyKubePodGroup{.metadata = later->metadata, .spec = later->spec}));
    CHECK(world.bound() == 3);
  }
  SECTION("no gang") {
    world.engine.put_object(pod_group("g", 0));
    CHECK(world.bound() == 3);
  }
  SECTION("too much, then less") {
    world.engine.put_object(pod_group("g", 4));
    CHECK(world.bound() == 0);
    world.engine.put_object(pod_group("g", 3));
    world.wait(20s);
    CHECK(world.bound() == 3);
  }
  SECTION("near together is for gangs") {
    world.engine.put_object(pod_group("g", 0, "rack"));
    world.wait(6s);
    CHECK(world.bound() == 0);
    CHECK(world.told("a") ==
          "pod group \"g\" asks for nodes that agree on the label \"rack\" "
          "(spec.schedulingConstraints.topology), which koord does for the policy \"gang\" alone");
  }
}

TEST_CASE("room is made for a gang as for one, where room is made at all") {
  struct Row {
    const char* name;
    int members;
    std::int32_t priority;
    bool preempts;
    std::string victims;
    int bound;
  };
  const Row kRows[] = {{"as much as it needs", 3, 10, true, "low-1 low-2", 3},
                       {"nobody goes where all of them are not enough", 5, 10, true, "", 0},
                       {"nobody of its own priority", 3, 1, true, "", 0},
                       {"a profile that does not preempt", 3, 10, false, "", 0}};
  for (const Row& row : kRows) {
    INFO(row.name);
    KubeSchedulerConfiguration config;
    PluginSet& asked = config.profiles.emplace_back().plugins.ensure().post_filter;
    asked.disabled.push_back({"*", {}});
    asked.enabled.push_back({"GangScheduling", {}});
    if (row.preempts) asked.enabled.push_back({"DefaultPreemption", {}});
    KubeGangs world(1, "4", config);
    for (int n = 0; n < 3; ++n)
      world.engine.put_pod(make_pod(fmt::format("low-{}", n), "1", "128Mi", [](api::Pod& p) {
        p.spec.node_name = Symbol("n0");
        p.spec.priority = 1;
      }));
    world.engine.put_object(workload("w", {{"pg", row.members}}));
    for (int n = 0; n < row.members; ++n)
      world.engine.put_pod(make_pod(fmt::format("p{}", n), "1", "128Mi", [&](api::Pod& p) {
        refers("w", "pg")(p);
        p.spec.priority = row.priority;
      }));
    world.all();
    std::vector<std::string> victims;
    std::shared_ptr<const api::Pod> by;
    for (const Decision& d : world.last) {
      if (!d.preemption().victims.empty()) by = d.pod;
      for (const auto& victim : d.preemption().victims) {
        victims.push_back(victim.pod->metadata.name);
        world.engine.remove_pod(*victim.pod);
      }
    }
    std::ranges::sort(victims);
    CHECK(fmt::format("{}", fmt::join(victims, " ")) == row.victims);
    if (by) world.engine.preempted(*by, true);
    world.wait(20s);
    CHECK(world.bound() == row.bound);
  }
}

// With extenders the pods go one by one, as in kube-scheduler.

struct Extended : KubeGangs {
  explicit Extended(std::string_view cpu) : KubeGangs(1, cpu, config(), options()) {}
  static Extender extender() {
    Extender e;
    e.url_prefix = "http://extender/x";
    e.filter_verb = "filter";
    return e;
  }
  static KubeSchedulerConfiguration config() {
    KubeSchedulerConfiguration config;
    config.extenders.push_back(extender());
    return config;
  }
  static EngineOptions options() {
    EngineOptions options;
    options.extenders = ExtenderInterest({extender()});
    return options;
  }
  /// Until nothing more happens: whom the extender is asked about may go everywhere. How many of each kind.
  std::map<Kind, int> play() {
    std::map<Kind, int> kinds;
    for (;;) {
      std::vector<Decision> now = run();
      if (now.empty()) return kinds;
      for (const Decision& d : now) {
        ++kinds[d.kind()];
        last.push_back(d);
        if (d.kind() != Kind::ask) continue;
        auto said = std::make_shared<ExtenderAnswer>();
        for (const auto& node : d.as<Decision::Ask>()->question->nodes)
          said->passed.emplace(Symbol(node->metadata.name), 0);
        engine.answered(*d.pod, said);
      }
    }
  }
};

TEST_CASE("where extenders have a say the pods wait for their permit until there are enough") {
  Extended world("2");
  world.engine.put_object(workload("w", {{"pg", 3}}));
  world.put("p", 3);
  auto kinds = world.play();
  CHECK(kinds[Kind::bind] == 0);
  CHECK(kinds[Kind::wait] == 2);
  CHECK(world.engine.waiting() == 2);
  SECTION("and go with the last") {
    world.engine.put_node(make_node("n1", "8", "64Gi"));
    world.wait(20s);
    kinds = world.play();
    CHECK(kinds[Kind::bind] == 3);
    CHECK(world.engine.waiting() == 0);
  }
  SECTION("or are rejected after five minutes together") {
    world.last.clear();
    world.wait(4min);
    world.play();
    CHECK(world.engine.waiting() == 2);
    world.wait(2min);
    world.play();
    int late = 0;
    for (const Decision& d : world.last)
      if (d.message() ==
          "0/1 nodes are available: 1 rejected due to timeout after waiting 5m0s at plugin GangScheduling.")
        ++late;
    CHECK(late == 2);
  }
}

}  // namespace
}  // namespace koord::scheduling::gang_scheduling::test
