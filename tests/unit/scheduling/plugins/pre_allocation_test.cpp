// Reservations that take the room of running pods over: whom they choose, in upstream's tables, and what
// counts then, whatever happens on the way.
#include <catch2/catch.hpp>

#include "koord/scheduling/cluster/placeholder.hpp"
#include "pre_allocation_rig.hpp"

namespace koord::scheduling::test {
namespace {

using Kind = Decision::Kind;
using PW = PreAllocationWorld;

const char *const kCluster = R"({"enableClusterMode":true})",
                  *const kClusterOrNone = R"({"enableClusterMode":true,"preferNoPreAllocatedPods":true})";

PodEdit labelled(std::string priority) {
  return [=](api::Pod& p) {
    p.metadata.labels["pod.koordinator.sh/is-pre-allocatable"] = "true";
    if (!priority.empty())
      p.metadata.annotations["pod.koordinator.sh/pre-allocatable-priority"] = Symbol(priority);
  };
}

TEST_CASE("pods are chosen as upstream chooses them") {
  struct P {
    const char *cpu, *memory;
    const char* priority = nullptr;  // of a candidate
  };
  struct Case {
    const char* name;
    const char *cpu, *memory;  // that are reserved
    std::vector<P> pods;       // a, b, ...
    /// Several, one; of Default mode, where the order is another; where nobody is preferred.
    const char *several, *one, *several_of_owners = nullptr, *preferred = nullptr;
    const char* why = "";
  };
  const char* const kBoth = "1 Insufficient cpu by node, 1 Insufficient memory by node";
  const Case cases[] = {
      {"room, and nobody", "8", "16Gi", {}, "", ""},
      {"room, and two",
       "8",
       "16Gi",
       {{"2", "4Gi", "10"}, {"2", "4Gi", "20"}, {"1", "2Gi"}},
       "b",
       "b",
       "a",
       ""},
      {"no room, and nobody",
       "8",
       "16Gi",
       {{"8", "10Gi"}, {"2", "4Gi"}, {"1", "2Gi"}},
       "",
       "",
       {},
       {},
       "1 Insufficient cpu"},
      // Not even with both of them gone.
      {"no room, and two who have too little",
       "8",
       "16Gi",
       {{"8", "10Gi"}, {"2", "4Gi"}, {"1", "2Gi", "100"}, {"1", "2Gi", "90"}},
       "",
       "",
       {},
       {},
       "1 Insufficient cpu"},
      {"two do not fit into the reservation",
       "4",
       "8Gi",
       {{"7", "14Gi"}, {"1", "2Gi", "70"}, {"2", "10Gi", "90"}, {"5", "2Gi", "50"}},
       "",
       "",
       {},
       {},
       kBoth},
      {"one of three",
       "8",
       "16Gi",
       {{"4", "10Gi"}, {"2", "4Gi"}, {"1", "1Gi", "70"}, {"2", "2Gi", "90"}, {"1", "1Gi", "50"}},
       "d",
       "d",
       {}},
  };
  for (const Case& c : cases)
    for (const bool cluster : {true, false})
      for (const bool several : {true, false})
        for (const bool prefers_none : {false, true}) {
          INFO(c.name << (cluster ? ", Cluster" : ", Default") << (several ? ", several" : ", one")
                      << (prefers_none ? ", none preferred" : ""));
          PreAllocationWorld w(cluster        ? prefers_none ? kClusterOrNone : kCluster
                               : prefers_none ? R"({"preferNoPreAllocatedPods":true})"
                                              : "{}");
          w.engine.put_node(make_node("n", "16", "32Gi"));
          char name = 'a';
          for (const P& p : c.pods) {
            const bool candidate = p.priority != nullptr;
            w.engine.put_pod(PW::running(std::string(1, name++), p.cpu, p.memory,
                                         candidate && !cluster ? "r" : "",
                                         candidate && cluster ? labelled(p.priority) : PodEdit()));
          }
          const auto r = PW::reserving("r", c.cpu, c.memory, {.several = several, .from_cluster = cluster});
          w.engine.put_object(r);
          const Decision d = w.one();
          if (*c.why != '\0') {
            CHECK(d.message() == fmt::format("0/1 nodes are available: {}.", c.why));
            continue;
          }
          REQUIRE(d.kind() == Kind::bind);
          const char* expected = several ? c.several : c.one;
          if (!cluster && c.several_of_owners != nullptr) expected = c.several_of_owners;
          if (prefers_none && c.preferred != nullptr) expected = c.preferred;
          CHECK(w.owner_names("r") == expected);
        }
}

TEST_CASE("of several pods those are taken that fit, until there is room") {
  for (const bool cluster : {true, false}) {
    PreAllocationWorld w(cluster ? kCluster : "");
    w.engine.put_node(make_node("n", "16", "32Gi"));
    const auto put = [&](const char* name, const char* cpu, const char* memory, const char* priority) {
      w.engine.put_pod(
          PW::running(name, cpu, memory, cluster ? "" : "r", cluster ? labelled(priority) : PodEdit()));
    };
    w.engine.put_pod(PW::running("a", "7", "14Gi", ""));
    put("b", "1", "2Gi", "70");
    put("c", "5", "10Gi", "90");
    put("d", "1", "2Gi", "50");
    w.engine.put_object(PW::reserving("r", "4", "8Gi", {.several = true, .from_cluster = cluster}));
    REQUIRE(w.one().kind() == Kind::bind);
    CHECK(w.owner_names("r") == "b d");
    CHECK(w.used(kCpu, "n") == 16'000);
    CHECK(w.used(kMemory, "n") == std::int64_t{32} << 30);
  }
}

TEST_CASE("where pre-allocation is required the reservation's own reasons are told, too") {
  PreAllocationWorld w(kCluster);
  w.engine.put_node(make_node("n", "16", "32Gi"));
  w.engine.put_node(make_node("empty", "16", "32Gi"));
  const auto refused = [&](bool several) {
    const auto r = PW::reserving("r", "4", "8Gi", {several, true, true});
    w.engine.put_object(r);
    const Decision d = w.one();
    CHECK(d.kind() != Kind::bind);
    w.engine.remove_object(r);
    return d.message();
  };
  CHECK(refused(false) ==
        "0/2 nodes are available: node(s) no pod match reservation with pre allocation required.");
  w.engine.put_pod(PW::running("a", "7", "14Gi", ""));
  w.engine.put_pod(PW::running("b", "1", "2Gi", "", labelled("70")));
  w.engine.put_pod(PW::running("c", "2", "10Gi", "", labelled("90")));
  w.engine.put_pod(PW::running("d", "5", "2Gi", "", labelled("50")));
  const std::string message = refused(false);
  for (const char* reason : {"1 Insufficient cpu by node", "1 Insufficient memory by node",
                             "1 Reservation(s) Insufficient memory", "1 Reservation(s) Insufficient cpu"})
    CHECK_THAT(message, Catch::Contains(reason));
  // Whose requests have nothing to do with it gives it nothing.
  for (const char* name : {"b", "c", "d"}) w.engine.remove_pod(*PW::running(name, "1", "1Gi", ""));
  w.engine.put_pod(PW::running("e", "", "", "", labelled("1")));
  for (const bool several : {false, true})
    CHECK_THAT(refused(several),
               Catch::Contains("1 node(s) no pod(s) to meet the pre-allocation requirements"));
}

TEST_CASE("what makes no sense is refused before a node is looked at") {
  PreAllocationWorld w;
  w.engine.put_node(make_node("n"));
  const auto said = [&](const ReservationEdit& edit) {
    const auto r = PW::reserving("r", "1", "1Gi", {}, edit);
    w.engine.put_object(r);
    const Decision d = w.one();
    w.engine.remove_object(r);
    return d.message();
  };
  const std::string kNone = "0/1 nodes are available: ";
  for (const char* policy : {"", "Aligned"})
    CHECK(said([&](api::Reservation& r) { r.spec.allocate_policy = policy; }) ==
          kNone + "node(s) reservation pre allocation is unsupported with current attributes.");
  CHECK(said([&](api::Reservation& r) { r.spec.pre_allocation_policy->mode = "Cluster"; }) ==
        kNone + "reservation requires cluster mode pre-allocation which is disabled.");
  const std::string broken = said([&](api::Reservation& r) {
    r.spec.owners[0].label_selector->match_expressions.emplace_back().key = "k";
  });
  CHECK_THAT(broken, Catch::StartsWith(kNone + "owners[0]: "));
  // Without it nobody asks.
  CHECK(said([](api::Reservation& r) {
          r.spec.pre_allocation = false;
          r.spec.allocate_policy = "Aligned";
        }).empty());
}

TEST_CASE("whose room may be taken") {
  struct Case {
    const char* name;
    PodEdit pod;
    bool candidate;
    ReservationEdit reservation = {};
  };
  const auto says = [](const char* key, const char* value) {
    return [=](api::Pod& p) { p.metadata.annotations[key] = value; };
  };
  const char *const kAffinity = "scheduling.koordinator.sh/reservation-affinity",
                    *const kExact = "scheduling.koordinator.sh/exact-match-reservation",
                    *const kAllocated = "scheduling.koordinator.sh/reservation-allocated";
  const auto on = [](const char* key, const char* value) {
    return [=](api::Reservation& r) {
      r.spec.template_.text.insert(
          r.spec.template_.text.find(R"("containers")"),
          fmt::format(
              R"("affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"{}":[{{"key":"{}","operator":"In","values":["{}"]}}]}}]}}}}}},)",
              std::string_view(key) == "metadata.name" ? "matchFields" : "matchExpressions", key, value));
    };
  };
  const Case cases[] = {
      {"an owner", {}, true},
      {"on a node that the reservation may go to", {}, true, on("metadata.name", "n")},
      {"by a label of the node", {}, true, on("kubernetes.io/hostname", "n")},
      {"nobody's", [](api::Pod& p) { p.metadata.labels["app"] = "other"; }, false},
      {"it wants another one", says(kAffinity, R"({"name":"other"})"), false},
      {"it wants this one", says(kAffinity, R"({"name":"r"})"), true},
      {"it wants other labels", says(kAffinity, R"({"reservationSelector":{"type":"test"}})"), false},
      {"it wants these labels", says(kAffinity, R"({"reservationSelector":{"type":"test"}})"), true,
       [](api::Reservation& r) { r.metadata.labels["type"] = "test"; }},
      {"it does not tolerate it", says(kAffinity, "{}"), false,
       [](api::Reservation& r) {
         api::Taint& taint = r.spec.taints.emplace_back();
         taint.key = "k";
         taint.effect = "NoSchedule";
       }},
      {"not exactly what it asks for", says(kExact, R"({"resourceNames":["cpu"]})"), false,
       [](api::Reservation& r) {
         std::string& text = r.spec.template_.text;
         text.replace(text.find(R"("cpu":"3")"), 9, R"("cpu":"3500m")");
       }},
      {"exactly what it asks for", says(kExact, R"({"resourceNames":["cpu"]})"), true},
      {"nobody can read what it wants", says(kAffinity, "}"), false},
      {"nobody can read what it exactly wants", says(kExact, "["), false},
      {"it has room of another one", says(kAllocated, R"({"name":"s","uid":"uid-of-s"})"), false},
      {"it says that in vain", says(kAllocated, "}"), false},
      {"it says nothing there", says(kAllocated, ""), true},
      {"it goes", [](api::Pod& p) { p.metadata.deletion_timestamp = api::Time{}; }, false},
      {"the reservation is closed", {}, true, [](api::Reservation& r) { r.spec.unschedulable = true; }},
      {"its controller is another one",
       {},
       false,
       [](api::Reservation& r) { r.spec.owners[0].controller.ensure().owner.name = "d"; }},
      {"its owner has no labels to look for",
       {},
       false,
       [](api::Reservation& r) {
         r.spec.owners[0].label_selector = {};
         r.spec.owners[0].object.ensure().name = "p";
       }},
      {"one of several terms",
       {},
       true,
       [](api::Reservation& r) { r.spec.owners.push_back(r.spec.owners[0]); }},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    PreAllocationWorld w;
    w.engine.put_node(make_node("n"));
    w.engine.put_pod(PW::running("p", "3", "128Mi", "r", c.pod));
    w.engine.put_object(PW::reserving("r", "3", "1Gi", {.required = true}, c.reservation));
    const Decision d = w.one();
    CHECK((d.kind() == Kind::bind) == c.candidate);
    CHECK(w.owner_names("r") == (c.candidate ? "p" : ""));
    if (!c.candidate)
      CHECK_THAT(d.message(),
                 Catch::Contains("node(s) no pod match reservation with pre allocation required"));
  }
}

TEST_CASE("keys of a configuration name candidates and their order") {
  PreAllocationWorld w(
      R"({"enableClusterMode":true,"clusterLabelKey":"mine","clusterPriorityAnnotationKey":"rank"})");
  w.engine.put_node(make_node("n", "4"));
  const auto ranked = [](const char* label, const char* rank) {
    return [=](api::Pod& p) {
      p.metadata.labels[label] = "true";
      p.metadata.annotations["rank"] = rank;
    };
  };
  w.engine.put_pod(PW::running("a", "1", "1Gi", "", ranked("mine", "-1")));
  w.engine.put_pod(PW::running("b", "1", "1Gi", "", ranked("mine", "1")));
  w.engine.put_pod(PW::running("c", "1", "1Gi", "", ranked("mine", "ten")));
  w.engine.put_pod(PW::running("d", "1", "1Gi", "", ranked("pod.koordinator.sh/is-pre-allocatable", "9")));
  w.engine.put_object(PW::reserving("r", "2", "2Gi", {.several = true, .from_cluster = true}));
  REQUIRE(w.one().kind() == Kind::bind);
  CHECK(w.owner_names("r") == "b c");
}

TEST_CASE("nodes are scored by how many pods are taken over") {
  PreAllocationWorld w;
  for (const char* node : {"none", "one", "two"}) w.engine.put_node(make_node(node, "4"));
  w.engine.put_pod(PW::running("a", "3", "1Gi", "r", {}, "one"));
  w.engine.put_pod(PW::running("b", "2", "1Gi", "r", {}, "two"));
  w.engine.put_pod(PW::running("c", "2", "1Gi", "r", {}, "two"));
  const auto scores = [&](bool several) {
    const auto r = PW::reserving("r", "4", "4Gi", {.several = several});
    w.engine.put_object(r);
    const Decision d = w.one();
    REQUIRE(d.kind() == Kind::bind);
    w.engine.remove_object(r);
    w.engine.binding_failed(*d.pod);
    w.engine.put_object(r);
    ClassState& state = w.ask(d.pod);
    std::map<std::string, std::int64_t> found;
    for (const char* node : {"none", "one", "two"}) {
      if (state.verdict(w.row(node)) != kPass) continue;
      const Explanation e = state.explain(w.row(node));
      for (const ScoreDetail& s : e.scores)
        if (w.engine.profiles()[0].plugin_name(s.plugin) == "Reservation") found[node] = s.normalized;
    }
    w.engine.remove_object(r);
    return std::pair(d.node().str(), found);
  };
  using Scores = std::map<std::string, std::int64_t>;
  CHECK(scores(true) == std::pair(std::string("none"), Scores{{"none", 100}, {"one", 50}, {"two", 33}}));
  // One alone is chosen by what it makes of the reservation.
  CHECK(scores(false) == std::pair(std::string("one"), Scores{{"none", 0}, {"one", 50}}));
}

TEST_CASE("what a pod has counts once from then on, and is the reservation's when it goes") {
  PreAllocationWorld w;
  w.engine.put_node(make_node("n"));
  const auto p = PW::running("p", "3", "128Mi", "r");
  w.engine.put_pod(p);
  const auto r = PW::reserving("r", "3", "1Gi", {});
  w.engine.put_object(r);
  const Decision d = w.one();
  REQUIRE(d.kind() == Kind::bind);
  REQUIRE(d.as<Decision::Bind>()->pre_binds.size() == 1);
  CHECK(d.as<Decision::Bind>()->pre_binds[0].plugin == "Reservation");
  const std::int64_t gi = std::int64_t{1} << 30, mi = gi / 1024;
  const auto counts = [&](std::int64_t cpu, std::int64_t memory, const char* owners) {
    CHECK(w.used(kCpu, "n") == cpu);
    CHECK(w.used(kMemory, "n") == memory);
    CHECK(w.owner_names("r") == owners);
    // Whoever else comes finds what is left.
    CHECK(w.why_not(make_pod("q", fmt::format("{}m", 4000 - cpu)), "n").empty());
    CHECK(w.why_not(make_pod("q", fmt::format("{}m", 4001 - cpu)), "n") == "Insufficient cpu");
  };
  counts(3000, gi, "p");
  SECTION("it is bound") {
    w.bind(r, d);
    counts(3000, gi, "p");
    const auto there = changed(p, PW::with_room_of("r"));
    SECTION("and the pod goes") {
      w.engine.remove_pod(*there);
      counts(3000, gi, "");
      CHECK(w.why_not(make_pod("o", "3", "1Gi", PW::owner_of("r")), "n").empty());
    }
    SECTION("and the reservation goes") {
      w.engine.remove_object(w.put_on(r, "n"));
      counts(3000, 128 * mi, "p");
    }
    SECTION("and somebody takes the annotation away") {
      w.engine.put_pod(p);
      CHECK(w.used(kCpu, "n") == 6000);
      CHECK(w.owner_names("r").empty());
    }
  }
  SECTION("the pod is told of before it is bound, in other things") {
    w.engine.put_pod(changed(p, [](api::Pod& pod) { pod.status.phase = "Running"; }));
    counts(3000, gi, "p");
    w.engine.put_pod(changed(p, [](api::Pod& pod) { pod.metadata.labels["b"] = "c"; }));
    counts(3000, gi, "p");
    w.bind(r, d);
    counts(3000, gi, "p");
  }
  SECTION("the binding fails") {
    w.engine.binding_failed(*d.pod);
    counts(3000, 128 * mi, "");
    SECTION("and comes about") {
      w.clock.advance(std::chrono::minutes(1));
      REQUIRE(w.one().kind() == Kind::bind);
      counts(3000, gi, "p");
    }
  }
  SECTION("the pod goes before") {
    w.engine.remove_pod(*p);
    counts(3000, gi, "");
    w.engine.binding_failed(*d.pod);
    counts(0, 0, "");
  }
  SECTION("the reservation goes before") {
    w.engine.remove_object(r);
    w.engine.binding_failed(*d.pod);
    counts(3000, 128 * mi, "");
  }
  SECTION("another one takes the pod before") {
    w.engine.put_pod(changed(p, PW::with_room_of("s")));
    CHECK(w.used(kCpu, "n") == 6000);
    w.engine.binding_failed(*d.pod);
    CHECK(w.used(kCpu, "n") == 3000);
    CHECK(w.owner_names("s") == "p");
  }
}

TEST_CASE("no pod is given to two reservations") {
  PreAllocationWorld w;
  w.engine.put_node(make_node("n"));
  w.engine.put_pod(PW::running("p", "3", "128Mi", "x"));
  const auto of_x = [](api::Reservation& r) { r.spec.owners[0].label_selector->match_labels["app"] = "x"; };
  w.engine.put_object(PW::reserving("r", "3", "1Gi", {}, of_x));
  w.engine.put_object(PW::reserving("s", "3", "1Gi", {}, of_x));
  const auto out = w.run();
  REQUIRE(out.size() == 2);
  CHECK((out[0].kind() == Kind::bind) != (out[1].kind() == Kind::bind));
  // To the other one it is as any pod that is there.
  CHECK(out[0].message() + out[1].message() == "0/1 nodes are available: 1 Insufficient cpu.");
  CHECK(w.owner_names("r").size() + w.owner_names("s").size() == 1);
  CHECK(w.used(kCpu, "n") == 3000);
}

TEST_CASE("what was written by an attempt that came to nothing is found by the next") {
  PreAllocationWorld w;
  for (const char* node : {"n", "m"}) w.engine.put_node(make_node(node));
  const auto r = PW::reserving("r", "3", "1Gi", {.required = true}, [](api::Reservation& each) {
    each.spec.template_.text.insert(each.spec.template_.text.find(R"("containers")"),
                                    R"("nodeSelector":{"kubernetes.io/hostname":"n"},)");
  });
  const auto object = [&] { w.engine.put_object(r); };
  const auto written = [&] { w.engine.put_pod(PW::running("p", "2", "128Mi", "r", PW::with_room_of("r"))); };
  // It does not come to that node any more.
  const auto elsewhere = [&] {
    w.engine.put_pod(PW::running("far", "1", "128Mi", "r", PW::with_room_of("r"), "m"));
  };
  const auto fits_better = [&] { w.engine.put_pod(PW::running("q", "1", "512Mi", "r")); };
  SECTION("by a new engine, the reservation first") { object(), written(), elsewhere(), fits_better(); }
  SECTION("by a new engine, the pods first") { elsewhere(), fits_better(), written(), object(); }
  // Where it is not placed they count for themselves alone.
  CHECK(w.used(kCpu, "n") == 3000);
  CHECK(w.used(kCpu, "m") == 1000);
  const Decision d = w.one();
  REQUIRE(d.kind() == Kind::bind);
  CHECK(d.node() == Symbol("n"));
  CHECK(w.owner_names("r") == "p");
  CHECK(w.used(kCpu, "n") == 4000);
  w.bind(r, d);
  CHECK(w.used(kCpu, "n") == 4000);
  CHECK(w.used(kCpu, "m") == 1000);
}

TEST_CASE("what a reservation does not count of a pod is not taken over") {
  PreAllocationWorld w;
  w.engine.put_node(make_node("n", "4", "8Gi"));
  w.engine.put_pod(PW::running("p", "3", "6Gi", "r"));
  const auto of_cpu = [](api::Reservation& r) {
    r.metadata.annotations["scheduling.koordinator.sh/reservation-restricted-options"] =
        R"({"resources":["cpu"]})";
  };
  const auto large = PW::reserving("r", "3", "4Gi", {}, of_cpu);
  w.engine.put_object(large);
  CHECK(w.one().message() == "0/1 nodes are available: 1 Insufficient memory by node.");
  w.engine.remove_object(large);
  w.engine.put_object(PW::reserving("r", "3", "2Gi", {}, of_cpu));
  REQUIRE(w.one().kind() == Kind::bind);
  CHECK(w.owner_names("r") == "p");
  CHECK(w.used(kCpu, "n") == 3000);
  CHECK(w.used(kMemory, "n") == std::int64_t{8} << 30);
}

TEST_CASE("ports of the pods that are taken over are free for the reservation, those of others are not") {
  const auto with_port = [](api::Pod& p) {
    api::ContainerPort& port = p.spec.containers[0].ports.emplace_back();
    port.host_port = 80;
    port.container_port = 80;
  };
  const auto asks_for_it = [](api::Reservation& r) {
    r.spec.template_.text.insert(r.spec.template_.text.find(R"("resources")"),
                                 R"("ports":[{"hostPort":80,"containerPort":80}],)");
  };
  for (const bool chosen : {true, false}) {
    PreAllocationWorld w;
    w.engine.put_node(make_node("n"));
    w.engine.put_pod(PW::running("p", chosen ? "3" : "1", "128Mi", "r", with_port));
    w.engine.put_pod(PW::running("q", chosen ? "1" : "3", "128Mi", "r"));
    w.engine.put_object(PW::reserving("r", "3", "1Gi", {}, asks_for_it));
    const Decision d = w.one();
    CHECK((d.kind() == Kind::bind) == chosen);
    CHECK(w.owner_names("r") == (chosen ? "p" : ""));
  }
}

}  // namespace
}  // namespace koord::scheduling::test
