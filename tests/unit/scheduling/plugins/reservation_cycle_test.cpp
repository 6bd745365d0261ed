// Reservations through the engine: placed, used by their owners alone, counted once, and given back.
#include <catch2/catch.hpp>

#include "koord/scheduling/cluster/placeholder.hpp"
#include "reservation_rig.hpp"

namespace koord::scheduling::test {
namespace {

using Kind = Decision::Kind;
using namespace std::chrono_literals;
using RW = ReservationWorld;

const std::string kNoMatch = "node(s) no reservations match reservation affinity";

TEST_CASE("a reservation is placed, keeps its room for its owners, and is counted once with them") {
  ReservationWorld w;
  w.engine.put_node(make_node("n"));
  const auto r = make_reservation("r", "3");
  w.engine.put_object(r);
  Decision d = w.one();
  REQUIRE(d.kind() == Kind::bind);
  CHECK(described(*d.pod) == "reservation r");
  CHECK(d.as<Decision::Bind>()->binder == "Reservation");
  CHECK(w.used(kCpu, "n") == 3000);
  // Until it is Available it is for nobody.
  const auto first = make_pod("p", "2", "512Mi", RW::owner_of("r"));
  CHECK(w.why_not(first, "n") == "Insufficient cpu");
  w.put_on(r, "n");
  CHECK(w.engine.assumed() == 0);
  CHECK(w.why_not(first, "n").empty());
  CHECK(w.why_not(make_pod("q", "2"), "n") == "Insufficient cpu");
  CHECK(w.why_not(make_pod("q", "1"), "n").empty());

  w.engine.put_pod(first);
  d = w.one();
  REQUIRE(d.kind() == Kind::bind);
  CHECK(RW::given(d) == R"({"name":"r","uid":"uid-of-r"})");
  const auto counted = [&] {
    CHECK(w.used(kCpu, "n") == 3000);
    CHECK(w.used(kMemory, "n") == std::int64_t{1} << 30);
    CHECK(w.used(kNonzeroCpu, "n") == 3000);
    CHECK(w.why_not(make_pod("q", "1"), "n").empty());
    CHECK(w.why_not(make_pod("q", "1500m"), "n") == "Insufficient cpu");
    // What is left of it, and what nobody keeps.
    CHECK(w.why_not(make_pod("o", "2", "128Mi", RW::owner_of("r")), "n").empty());
    CHECK(w.why_not(make_pod("o", "2500m", "128Mi", RW::owner_of("r")), "n") == "Insufficient cpu");
  };
  counted();
  const auto there = RW::bound(d);
  SECTION("it is bound") {
    w.engine.put_pod(there);
    counted();
    SECTION("and goes") { w.engine.remove_pod(*there); }
    SECTION("and is at its end") {
      w.engine.put_pod(changed(there, [](api::Pod& p) { p.status.phase = "Succeeded"; }));
    }
    SECTION("and somebody takes its annotation away") {
      w.engine.put_pod(changed(there, [](api::Pod& p) { p.metadata.annotations.clear(); }));
      CHECK(w.used(kCpu, "n") == 5000);
      w.engine.remove_pod(*there);
    }
  }
  SECTION("its binding fails") { w.engine.binding_failed(*d.pod); }
  SECTION("it is gone before") { w.engine.remove_pod(*d.pod); }
  SECTION("it is relabelled while it is assumed") {
    w.engine.put_pod(changed(first, [](api::Pod& p) { p.metadata.labels["b"] = "c"; }));
    counted();
    w.engine.remove_pod(*d.pod);
  }
  CHECK(w.used(kCpu, "n") == 3000);
  CHECK(w.why_not(make_pod("o", "3", "1Gi", RW::owner_of("r")), "n").empty());
}

TEST_CASE("who has what is known again after a start, in whichever order it comes") {
  ReservationWorld w;
  const auto r = make_reservation("r", "3");
  const auto node = [&] { w.engine.put_node(make_node("n")); };
  const auto object = [&] { w.put_on(r, "n"); };
  const auto pod = [&] { w.put_owner("p", "2", "n", "uid-of-r"); };
  const auto elsewhere = [&] { w.put_owner("far", "1", "m", "uid-of-r"); };
  SECTION("node, reservation, pod") { node(), object(), pod(), elsewhere(); }
  SECTION("pod, reservation, node") { elsewhere(), pod(), object(), node(); }
  SECTION("reservation, pod, node") { object(), pod(), elsewhere(), node(); }
  CHECK(w.used(kCpu, "n") == 3000);
  CHECK(w.why_not(make_pod("o", "2", "128Mi", RW::owner_of("r")), "n").empty());
  CHECK(w.why_not(make_pod("q", "1500m"), "n") == "Insufficient cpu");
  // A pod on another node has nothing of it, whatever it says.
  CHECK(w.used(kCpu, "m") == 1000);
  w.engine.remove_object(w.put_on(r, "n"));
  CHECK(w.used(kCpu, "n") == 2000);
  w.put_on(r, "n");
  CHECK(w.used(kCpu, "n") == 3000);
}

TEST_CASE("what its pods have beyond a reservation is the node's") {
  ReservationWorld w;
  w.engine.put_node(make_node("n", "8"));
  w.put_on(make_reservation("r", "2"), "n");
  w.put_owner("p", "3", "n", "uid-of-r");
  CHECK(w.used(kCpu, "n") == 3000);
  CHECK(w.why_not(make_pod("o", "5", "128Mi", RW::owner_of("r")), "n").empty());
  CHECK(w.why_not(make_pod("o", "5500m", "128Mi", RW::owner_of("r")), "n") == "Insufficient cpu");
}

TEST_CASE("what scores count of a reservation follows from its pods, not from those that were there") {
  ReservationWorld w;
  w.engine.put_node(make_node("n", "8"));
  w.put_on(make_reservation("r", "4"), "n");
  const auto first = w.put_owner("p", "1", "n", "uid-of-r");
  w.put_owner("q", "1", "n", "uid-of-r",
              [](api::Pod& p) { p.spec.containers[0].resources.requests.erase("memory"); });
  w.engine.remove_pod(*first);
  // One that asks for no memory counts as 200Mi, and so does what it has of the reservation.
  CHECK(w.used(kNonzeroMemory, "n") == std::int64_t{1} << 30);
}

TEST_CASE("of what a reservation does not count its pods have nothing") {
  ReservationWorld w;
  w.engine.put_node(make_node("n", "8", "8Gi"));
  const auto r = w.put_on(make_reservation("r", "4"), "n", [](api::Reservation& r) {
    r.spec.template_.text =
        R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"memory":"6Gi","cpu":"4"}}}]}})";
    r.status.allocatable["memory"] = api::Quantity::must("6Gi");
    r.spec.allocate_policy = "Restricted";
    r.metadata.annotations[api::ReservationRestrictedOptions::kAnnotation] = R"({"resources":["cpu"]})";
  });
  const auto why = [&](const char* memory) {
    return w.why_not(make_pod("p", "1", memory, RW::owner_of("r", RW::wanting("{}"))), "n");
  };
  // Its memory stays kept whatever its pods have: theirs is beside it.
  CHECK(why("2Gi").empty());
  CHECK(why("3Gi") == "Insufficient memory by node");
  w.put_owner("p", "1", "n", "uid-of-r", [](api::Pod& p) {
    p.spec.containers[0].resources.requests["memory"] = api::Quantity::must("2Gi");
  });
  CHECK(w.used(kMemory, "n") == std::int64_t{8} << 30);
}

TEST_CASE("a node's reasons are told of the reservations there that say nothing themselves") {
  ReservationWorld w;
  w.engine.put_node(make_node("n", "8"));
  const auto same = [](api::Reservation& r) { r.spec.owners[0].label_selector->match_labels["app"] = "x"; };
  w.put_on(make_reservation("a", "7", same), "n");
  w.put_on(make_reservation("b", "1", same), "n", [](auto& r) { r.spec.allocate_policy = "Restricted"; });
  w.engine.put_pod(make_pod("p", "8", "128Mi", RW::owner_of("x", RW::wanting(""))));
  CHECK(
      w.one().message() ==
      "0/1 nodes are available: 1 Insufficient cpu by node, 1 Reservation(s) Insufficient cpu. "
      "1 Reservation(s) for node reason that Insufficient cpu by node, 2 Reservation(s) matched owner total");
}

TEST_CASE("an order below zero comes before the others") {
  ReservationWorld w;
  w.engine.put_node(make_node("n", "16"));
  for (const char* order : {"1", "-1", "0"})
    w.put_on(make_reservation("r" + std::string(order), "4",
                              [&](api::Reservation& r) {
                                r.spec.owners[0].label_selector->match_labels["app"] = "x";
                                r.metadata.labels[api::kReservationOrderLabel] = Symbol(order);
                              }),
             "n");
  w.engine.put_pod(make_pod("p", "1", "128Mi", RW::owner_of("x")));
  CHECK(RW::given(w.one()) == R"({"name":"r-1","uid":"uid-of-r-1"})");
}

TEST_CASE("a pod uses one reservation, not the sum of several") {
  ReservationWorld w;
  w.engine.put_node(make_node("n", "8"));
  const auto same = [](api::Reservation& r) { r.spec.owners[0].label_selector->match_labels["app"] = "x"; };
  w.put_on(make_reservation("a", "3", same), "n");
  w.put_on(make_reservation("b", "4", same), "n");
  CHECK(w.why_not(make_pod("p", "5", "128Mi", RW::owner_of("x")), "n").empty());
  CHECK(w.why_not(make_pod("p", "6", "128Mi", RW::owner_of("x")), "n") == "Insufficient cpu by node");
  CHECK(w.why_not(make_pod("p", "6", "128Mi", RW::owner_of("x", RW::wanting(""))), "n") ==
        "Insufficient cpu by node");
  w.engine.put_pod(make_pod("p", "5", "128Mi", RW::owner_of("x")));
  CHECK(RW::given(w.one()) == R"({"name":"b","uid":"uid-of-b"})");
}

TEST_CASE("of a Restricted reservation its pods take no more than it has") {
  ReservationWorld w;
  w.engine.put_node(make_node("n", "8"));
  const auto restricted = [](api::Reservation& r) { r.spec.allocate_policy = "Restricted"; };
  w.put_on(make_reservation("r", "2", restricted), "n");
  const auto why = [&](const char* cpu, const char* affinity) {
    const auto said = affinity == nullptr ? std::map<std::string, std::string>() : RW::wanting(affinity);
    return w.why_not(make_pod("p", cpu, "128Mi", RW::owner_of("r", said)), "n");
  };
  CHECK(why("2", "{}").empty());
  CHECK(why("3", "{}") == "Reservation(s) Insufficient cpu");
  CHECK(why("3", R"({"name":"r"})") ==
        "Reservation(s) Insufficient cpu, requested: 3000, used: 0, capacity: 2000");
  CHECK(why("7", nullptr) == "Insufficient cpu by node");
  // Without affinity the node's own room will do.
  CHECK(why("6", nullptr).empty());
  w.engine.put_pod(make_pod("p", "6", "128Mi", RW::owner_of("r")));
  const Decision d = w.one();
  REQUIRE(d.kind() == Kind::bind);
  CHECK(RW::given(d).empty());
  CHECK(w.used(kCpu, "n") == 8000);
}

TEST_CASE("a pod that wants a reservation goes nowhere else") {
  ReservationWorld w;
  for (const char* node : {"n", "m", "l"}) w.engine.put_node(make_node(node));
  const auto wants = [&](const std::string& affinity) {
    w.engine.put_pod(make_pod("p", "1", "128Mi", RW::owner_of("r", RW::wanting(affinity))));
    const Decision d = w.one();
    w.engine.remove_pod(*d.pod);
    return d.kind() == Kind::bind ? d.node().str() : d.message();
  };
  CHECK(wants("") == "0/3 nodes are available: " + kNoMatch + ". 0 Reservation(s) matched owner total");
  const auto r = w.put_on(make_reservation("r", "2"), "m");
  CHECK(wants("") == "m");
  CHECK(wants(R"({"name":"r"})") == "m");
  CHECK(wants(R"({"name":"s"})") ==
        "0/3 nodes are available: " + kNoMatch +
            ". 1 Reservation(s) didn't match the requested reservation name, 1 Reservation(s) matched owner "
            "total");
  CHECK(wants(R"({"reservationSelector":{"pool":"a"}})") ==
        "0/3 nodes are available: " + kNoMatch +
            ". 1 Reservation(s) didn't match affinity rules, 1 Reservation(s) matched owner total");
  w.put_on(r, "m", [](api::Reservation& x) {
    x.spec.taints.push_back({.key = "k", .value = "v", .effect = "NoSchedule"});
  });
  CHECK(wants("") ==
        "0/3 nodes are available: " + kNoMatch +
            ". 1 Reservation(s) had untolerated taint {k: v}, 1 Reservation(s) matched owner total");
  w.put_on(r, "m", [](api::Reservation& x) { x.spec.unschedulable = true; });
  CHECK(wants("") == "0/3 nodes are available: " + kNoMatch +
                         ". 1 Reservation(s) is unschedulable, 1 Reservation(s) matched owner total");
  CHECK(wants("7").starts_with("scheduling.koordinator.sh/reservation-affinity"));
  // Why its node will not do.
  w.put_on(r, "m");
  w.engine.put_node(make_node("m", "4", "8Gi", [](api::Node& n) { n.spec.unschedulable = true; }));
  CHECK(wants("") ==
        "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) didn't satisfy plugin(s) "
        "[Reservation]. "
        "1 Reservation(s) for node reason that node(s) were unschedulable, 1 Reservation(s) matched owner "
        "total");
}

TEST_CASE("of a node's reservations those that have said why do not say the node's reasons") {
  ReservationWorld w;
  w.engine.put_node(make_node("n", "8"));
  const auto same = [](const char* policy) {
    return [policy](api::Reservation& r) {
      r.spec.owners[0].label_selector->match_labels["app"] = "x";
      r.spec.allocate_policy = policy;
    };
  };
  w.put_on(make_reservation("a", "1", same("Aligned")), "n");
  w.put_on(make_reservation("b", "1", same("Restricted")), "n");
  const auto message = [&](const std::map<std::string, std::string>& annotations, bool ignores) {
    w.engine.put_pod(make_pod("p", "8", "128Mi", [&](api::Pod& p) {
      RW::owner_of("x", annotations)(p);
      if (ignores) p.metadata.labels["scheduling.koordinator.sh/reservation-ignored"] = "true";
    }));
    const Decision d = w.one();
    w.engine.remove_pod(*d.pod);
    return d.message();
  };
  CHECK_THAT(message(RW::wanting("{}"), false),
             Catch::Contains("1 Reservation(s) Insufficient cpu. 1 Reservation(s) for node reason that "
                             "Insufficient cpu by node, 2 Reservation(s) matched owner total"));
  // Who ignores them is nobody's owner, and is told so where it wants one.
  w.engine.put_node(make_node("n", "7"));
  CHECK_THAT(message(RW::wanting("{}"), true), Catch::EndsWith(". 0 Reservation(s) matched owner total"));
  CHECK_THAT(message({}, true), !Catch::Contains("Reservation(s)"));
}

TEST_CASE("pods that ignore reservations take their room, and are given none") {
  ReservationWorld w;
  w.engine.put_node(make_node("n"));
  w.put_on(make_reservation("r", "3"), "n");
  w.engine.put_pod(make_pod("p", "4", "128Mi", [](api::Pod& p) {
    p.metadata.labels["scheduling.koordinator.sh/reservation-ignored"] = "true";
  }));
  const Decision d = w.one();
  REQUIRE(d.kind() == Kind::bind);
  CHECK(RW::given(d).empty());
}

TEST_CASE("one pod uses up a reservation that is for one") {
  ReservationWorld w;
  w.engine.put_node(make_node("n"));
  w.put_on(make_reservation("r", "3", [](api::Reservation& r) { r.spec.allocate_once = true; }), "n");
  const auto owner = [](std::string name) {
    return make_pod(std::move(name), "1", "128Mi", RW::owner_of("r"));
  };
  w.engine.put_pod(owner("p"));
  const Decision d = w.one();
  CHECK_FALSE(RW::given(d).empty());
  CHECK(w.why_not(make_pod("q", "2", "128Mi", RW::owner_of("r")), "n") == "Insufficient cpu");
  w.engine.put_pod(owner("q"));
  CHECK(RW::given(w.one()).empty());
  // What it had given counts for itself when it is over.
  w.engine.put_pod(RW::bound(d));
  w.put_on(make_reservation("r", "3"), "n", [](api::Reservation& r) { r.status.phase = "Succeeded"; });
  CHECK(w.used(kCpu, "n") == 2000);
}

TEST_CASE("the best reservation wins over all other scores, and the least order over that") {
  ReservationWorld w;
  for (const char* node : {"a", "b", "c"}) w.engine.put_node(make_node(node, "16", "32Gi"));
  const auto of_x = [](std::string order) {
    return [order](api::Reservation& r) {
      r.spec.owners[0].label_selector->match_labels["app"] = "x";
      if (!order.empty()) r.metadata.labels["scheduling.koordinator.sh/reservation-order"] = Symbol(order);
    };
  };
  w.put_on(make_reservation("large", "8", of_x("")), "a");
  w.put_on(make_reservation("tight", "2", of_x("")), "b");
  const auto pod = [&] { return make_pod("p", "2", "1Gi", RW::owner_of("x")); };
  const auto place = [&] {
    w.engine.put_pod(pod());
    const Decision d = w.one();
    w.engine.remove_pod(*d.pod);
    return RW::given(d);
  };
  CHECK(place() == R"({"name":"tight","uid":"uid-of-tight"})");
  CHECK(place() == R"({"name":"tight","uid":"uid-of-tight"})");
  ClassState& state = w.ask(pod());
  CHECK(state.score(w.row("b")) - state.score(w.row("c")) > 400'000);
  w.put_on(make_reservation("second", "8", of_x("2")), "a");
  CHECK(place() == R"({"name":"second","uid":"uid-of-second"})");
  w.put_on(make_reservation("first", "8", of_x("1")), "c");
  CHECK(place() == R"({"name":"first","uid":"uid-of-first"})");
  // On one node as well.
  w.put_on(make_reservation("zero", "8", of_x("0")), "c");
  CHECK(place() == R"({"name":"first","uid":"uid-of-first"})");
}

TEST_CASE("pods of one class have the reservations of their own labels") {
  ReservationWorld w;
  for (const char* node : {"a", "b"}) {
    w.engine.put_node(make_node(node));
    w.put_on(make_reservation(node, "4"), node);
  }
  for (int i = 0; i < 3; ++i)
    for (const char* node : {"a", "b"}) {
      const auto pod = make_pod("p", "1", "128Mi", RW::owner_of(node));
      CHECK(w.why_not(pod, node).empty());
      CHECK(w.why_not(pod, node[0] == 'a' ? "b" : "a") == "Insufficient cpu");
    }
  CHECK(w.why_not(make_pod("p", "1", "128Mi", RW::owner_of("c")), "a") == "Insufficient cpu");
}

TEST_CASE("owners are found by name, by controller and by labels; one that owns itself owns nothing") {
  ReservationWorld w;
  w.engine.put_node(make_node("n", "1"));
  const auto owned = [&](std::string_view owners) {
    const auto decoded = api::decode<api::ReservationSpec>(R"({"owners":)" + std::string(owners) + "}");
    w.put_on(make_reservation("r", "1", [&](api::Reservation& r) { r.spec.owners = decoded->owners; }), "n");
    return w
        .why_not(make_pod("p", "1", "128Mi",
                          [](api::Pod& p) {
                            api::OwnerReference& ref = p.metadata.owner_references.emplace_back();
                            ref.name = "rs";
                            ref.uid = "uid-of-rs";
                            p.metadata.labels["a"] = "b";
                          }),
                 "n")
        .empty();
  };
  CHECK(owned("[{}]"));
  CHECK(owned(R"([{"object":{"name":"p"}}])"));
  CHECK(owned(R"([{"object":{"uid":"uid-p"}}])"));
  CHECK(owned(R"([{"object":{"namespace":"default"}}])"));
  CHECK(owned(R"([{"controller":{"uid":"uid-of-rs"}}])"));
  CHECK(owned(R"([{"controller":{"name":"rs"}}])"));
  CHECK(owned(R"([{"object":{"name":"q"}},{"labelSelector":{"matchLabels":{"a":"b"}}}])"));
  CHECK(owned(R"([{"labelSelector":{}}])"));
  CHECK_FALSE(owned(R"([{"object":{"name":"q"},"labelSelector":{"matchLabels":{"a":"b"}}}])"));
  CHECK_FALSE(owned(R"([{"object":{"name":"p"},"controller":{"name":"other"}}])"));
  CHECK_FALSE(owned(R"([{"labelSelector":{"matchExpressions":[{"key":"a","operator":"Is"}]}}])"));
  CHECK_FALSE(owned(R"([{"object":{"uid":"uid-of-r"}}])"));
  CHECK(owned("[{}]"));
}

TEST_CASE("ports that a reservation keeps are its owners', once") {
  ReservationWorld w;
  w.engine.put_node(make_node("n"));
  w.put_on(
      make_reservation(
          "r", "2",
          [](api::Reservation& r) {
            r.spec.template_.text =
                R"({"spec":{"containers":[{"ports":[{"hostPort":80}],"resources":{"requests":{"cpu":"2"}}}]}})";
          }),
      "n");
  const auto pod = [](std::string name, std::string app, std::string node = {}) {
    return make_pod(std::move(name), "500m", "", [&](api::Pod& p) {
      p.metadata.labels["app"] = Symbol(app);
      p.spec.node_name = Symbol(node);
      p.spec.containers[0].ports.emplace_back().host_port = 80;
      if (!node.empty())
        p.metadata.annotations[api::ReservationAllocated::kAnnotation] = R"({"uid":"uid-of-r"})";
    });
  };
  const std::string taken = "node(s) didn't have free ports for the requested pod ports";
  CHECK(w.why_not(pod("p", "other"), "n") == taken);
  CHECK(w.why_not(pod("p", "r"), "n").empty());
  const auto first = pod("first", "r", "n");
  w.engine.put_pod(first);
  CHECK(w.why_not(pod("p", "r"), "n") == taken);
  w.engine.remove_pod(*first);
  CHECK(w.why_not(pod("p", "r"), "n").empty());
}

TEST_CASE("reservations: where their template says, and beside which others") {
  ReservationWorld w;
  for (const char* node : {"n", "m"}) w.engine.put_node(make_node(node));
  const auto place = [&](const std::shared_ptr<const api::Reservation>& r) {
    w.engine.put_object(r);
    const Decision d = w.one();
    w.engine.remove_object(r);
    return d.kind() == Kind::bind ? d.node().str() : d.message();
  };
  const auto of = [](const char* policy, const char* node = "") {
    return make_reservation("r", "1", [&](api::Reservation& r) {
      r.spec.allocate_policy = policy;
      r.spec.template_.text = std::string(R"({"spec":{"nodeName":")") + node +
                              R"(","containers":[{"resources":{"requests":{"cpu":"1"}}}]}})";
    });
  };
  CHECK(place(of("", "m")) == "m");
  CHECK(place(of("", "l")) ==
        "0/2 nodes are available: 2 node(s) didn't match the nodeName specified by reservation.");
  w.put_on(make_reservation("aligned", "1", [](auto& r) { r.spec.allocate_policy = "Aligned"; }), "n");
  w.put_on(make_reservation("plain", "1"), "m");
  CHECK(place(of("")) == "m");
  CHECK(place(of("Restricted")) == "n");
  CHECK(place(of("Restricted", "m")) ==
        "0/2 nodes are available: 1 node(s) didn't match the nodeName specified by reservation, 1 node(s) "
        "reservation allocate policy conflict.");
}

TEST_CASE("resource claims cannot be kept for owners: such a reservation is refused by name") {
  // Without whoever judges claims of pods.
  KubeSchedulerConfiguration config = ReservationWorld::config(false);
  config.profiles[0].plugins->multi_point.disabled.push_back({"DynamicResources", {}});
  ReservationWorld w(std::move(config));
  w.engine.put_node(make_node("n"));
  w.engine.put_object(make_reservation("r", "1", [](api::Reservation& r) {
    r.spec.template_.text =
        R"({"spec":{"resourceClaims":[{"name":"gpu","resourceClaimName":"g"}],"containers":[{"name":"c"}]}})";
  }));
  CHECK_THAT(
      w.one().message(),
      Catch::Contains("reservation's template has resource claims, which cannot be kept for its owners"));
  w.engine.put_object(make_reservation("s", "1"));
  CHECK(w.one().kind() == Kind::bind);
}

TEST_CASE("preemption counts what goes back to a reservation as nobody's") {
  ReservationWorld w(true);
  w.engine.put_node(make_node("n"));
  w.put_on(make_reservation("r", "3"), "n");
  w.put_owner("low", "3", "n", "uid-of-r");
  const auto high = [](std::string app) {
    return make_pod("high", "2", "128Mi", [&](api::Pod& p) {
      p.spec.priority = 100;
      p.metadata.labels["app"] = Symbol(app);
    });
  };
  w.engine.put_pod(high("other"));
  Decision d = w.one();
  CHECK(d.preemption().victims.empty());
  CHECK(d.message().ends_with(
      "preemption: 0/1 nodes are available: 1 node(s) preemption failed due to insufficient resources."));
  w.engine.remove_pod(*d.pod);
  // Its own reservation's.
  w.engine.put_pod(high("r"));
  d = w.one();
  REQUIRE(d.preemption().victims.size() == 1);
  CHECK(d.preemption().victims[0].pod->metadata.name == "low");
}

TEST_CASE("pods hear of reservations that come, and of those that go") {
  ReservationWorld w;
  w.engine.put_node(make_node("n"));
  w.engine.put_pod(make_pod("p", "1", "128Mi", RW::owner_of("r", RW::wanting("{}"))));
  CHECK(w.one().kind() == Kind::unschedulable);
  w.clock.advance(1min);
  CHECK(w.run().empty());
  w.put_on(make_reservation("r"), "n");
  CHECK(w.one().kind() == Kind::bind);
}

TEST_CASE("what an attempt has left in a pod goes with the next binding") {
  ReservationWorld w;
  w.engine.put_node(make_node("n"));
  w.engine.put_pod(make_pod("p", "1", "128Mi", [](api::Pod& p) {
    p.metadata.annotations[api::ReservationAllocated::kAnnotation] = R"({"uid":"uid-of-r"})";
  }));
  const Decision d = w.one();
  CHECK(RW::given(d).empty());
  CHECK(RW::bound(d)->metadata.annotations.empty());
}

TEST_CASE("many reservations on a node, and malformed ones, harm nobody else") {
  ReservationWorld w;
  w.engine.put_node(make_node("n", "100"));
  for (int i = 0; i < 1000; ++i)
    w.put_on(make_reservation(fmt::format("r{}", i), "10m",
                              [](api::Reservation& r) {
                                r.spec.template_.text =
                                    R"({"spec":{"containers":[{"resources":{"requests":{"cpu":"10m"}}}]}})";
                              }),
             "n");
  w.put_on(make_reservation("huge", "9E"), "n");
  w.put_on(make_reservation("less", "-5"), "n");
  CHECK(w.why_not(make_pod("p", "1"), "n") == "Too many pods, Insufficient cpu");
  w.engine.remove_object(w.put_on(make_reservation("huge", "9E"), "n"));
  CHECK(w.used(kCpu, "n") == 10'000);
  CHECK(w.why_not(make_pod("p", "10m", "", RW::owner_of("r7")), "n") == "Too many pods");
}

}  // namespace
}  // namespace koord::scheduling::test
