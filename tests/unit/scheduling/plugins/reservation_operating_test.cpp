// Pods that are reservations themselves: they run, and others may have their room in their place.
#include <catch2/catch.hpp>

#include "reservation_cpus_rig.hpp"

namespace koord::scheduling::test {
namespace {

using RW = ReservationWorld;
using Pod = std::shared_ptr<const api::Pod>;

/// Running and Ready on the node, for app=o.
Pod operating(std::string name, std::string_view cpu, const PodEdit& edit = {}) {
  return make_pod(std::move(name), cpu, "1Gi", [&](api::Pod& p) {
    p.spec.node_name = "n";
    p.status.phase = "Running";
    api::PodCondition& ready = p.status.conditions.emplace_back();
    ready.type = "Ready";
    ready.status = "True";
    p.metadata.labels[api::kOperatingModeLabel] = "Reservation";
    p.metadata.annotations[api::ReservationOwners::kAnnotation] =
        R"([{"labelSelector":{"matchLabels":{"app":"o"}}}])";
    if (edit) edit(p);
  });
}

TEST_CASE("a pod that is a reservation gives its room to one of its owners, and is counted once with it") {
  RW w;
  w.engine.put_node(make_node("n"));
  const Pod of = operating("of", "3");
  w.engine.put_pod(of);
  CHECK(w.used(kCpu, "n") == 3000);
  CHECK(w.why_not(make_pod("q", "2"), "n") == "Insufficient cpu");
  const Pod first = make_pod("p", "3500m", "512Mi", RW::owner_of("o"));
  CHECK(w.why_not(first, "n").empty());  // Aligned: half a CPU is the node's
  w.engine.put_pod(first);
  const Decision d = w.one();
  REQUIRE(d.kind() == Decision::Kind::bind);
  CHECK(RW::given(d) == R"({"name":"of","uid":"uid-of"})");
  w.engine.put_pod(RW::bound(d));
  CHECK(w.used(kCpu, "n") == 3500);
  // It is used up.
  CHECK(w.why_not(make_pod("r", "1", "128Mi", RW::owner_of("o")), "n") == "Insufficient cpu");
  SECTION("the owner goes") {
    w.engine.remove_pod(*RW::bound(d));
    CHECK(w.used(kCpu, "n") == 3000);
    CHECK(w.why_not(first, "n").empty());
  }
  SECTION("it goes itself") {
    w.engine.remove_pod(*of);
    CHECK(w.used(kCpu, "n") == 3500);
  }
  SECTION("it is an ordinary pod from now on") {
    w.engine.put_pod(changed(of, [](api::Pod& p) { p.metadata.labels.erase(api::kOperatingModeLabel); }));
    CHECK(w.used(kCpu, "n") == 6500);
  }
}

TEST_CASE("of pods that are reservations those serve that run, are Ready and nobody's") {
  struct Row {
    const char* name;
    PodEdit edit;
    bool serves = false;
  };
  const auto annotated = [](std::string_view key, const char* value) {
    return [=](api::Pod& p) { p.metadata.annotations[key] = value; };
  };
  const Row rows[] = {
      {"as it is", {}, true},
      {"it is pending", [](api::Pod& p) { p.status.phase = "Pending"; }},
      {"it is not Ready", [](api::Pod& p) { p.status.conditions[0].status = "False"; }},
      {"no condition", [](api::Pod& p) { p.status.conditions.clear(); }},
      {"it is being deleted", [](api::Pod& p) { p.metadata.deletion_timestamp.emplace(); }},
      {"another mode", [](api::Pod& p) { p.metadata.labels[api::kOperatingModeLabel] = "Runnable"; }},
      {"somebody has it", annotated(api::kReservationCurrentOwner, R"({"name":"x","uid":"y"})")},
      {"nobody is its owner", annotated(api::ReservationOwners::kAnnotation, "[]")},
      {"owners that nobody can read", annotated(api::ReservationOwners::kAnnotation, "[{")},
      {"owners that make no sense",
       annotated(api::ReservationOwners::kAnnotation,
                 R"([{"labelSelector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}])")},
      {"options that nobody can read", annotated(api::ReservationRestrictedOptions::kAnnotation, "{")},
  };
  const Pod owner = make_pod("p", "3", "512Mi", RW::owner_of("o"));
  for (const Row& row : rows) {
    CAPTURE(row.name);
    RW w;
    w.engine.put_node(make_node("n"));
    // It becomes so, or was so when it was seen first.
    w.engine.put_pod(operating("of", "3"));
    w.engine.put_pod(operating("of", "3", row.edit));
    CHECK(w.why_not(owner, "n") == (row.serves ? "" : "Insufficient cpu"));
    RW fresh;
    fresh.engine.put_pod(operating("of", "3", row.edit));
    fresh.engine.put_node(make_node("n"));
    CHECK(fresh.why_not(owner, "n") == (row.serves ? "" : "Insufficient cpu"));
    CHECK(fresh.used(kCpu, "n") == 3000);
  }
}

TEST_CASE("pods that are reservations have no room of one another, nor of themselves") {
  RW w;
  w.engine.put_node(make_node("n", "8"));
  const auto in = [](std::string uid) {
    return [=](api::Pod& p) {
      p.metadata.labels["app"] = "o";
      p.metadata.annotations[api::ReservationAllocated::kAnnotation] = R"({"uid":")" + uid + R"("})";
    };
  };
  w.engine.put_pod(operating("a", "2", in("uid-b")));
  w.engine.put_pod(operating("b", "2", in("uid-a")));
  w.engine.put_pod(operating("c", "2", in("uid-c")));
  CHECK(w.used(kCpu, "n") == 6000);
  CHECK(w.why_not(make_pod("q", "3"), "n") == "Insufficient cpu");
  w.engine.put_pod(operating("d", "4", [](api::Pod& p) {
    p.metadata.labels["app"] = "o";
    p.spec.node_name = "";
    p.status = {};
  }));
  CHECK(w.one().kind() == Decision::Kind::unschedulable);
}

TEST_CASE("a pod that waits for a reservation is tried again when a pod becomes one") {
  RW w;
  w.engine.put_node(make_node("n"));
  w.engine.put_pod(operating("of", "3", [](api::Pod& p) { p.status.phase = "Pending"; }));
  w.engine.put_pod(make_pod("p", "3", "512Mi", RW::owner_of("o", RW::wanting("{}"))));
  CHECK(w.one().kind() == Decision::Kind::unschedulable);
  w.engine.put_pod(operating("of", "3"));
  w.clock.advance(std::chrono::seconds(20));
  REQUIRE(w.run().size() == 1);
}

TEST_CASE("whole CPUs of a pod that is a reservation are its owner's") {
  ReservedCpus w;
  w.machine("n", {.cpus = {2, 1, 4, 2}, .memory = "8Gi"});
  w.engine.put_pod(operating("of", "8", [](api::Pod& p) {
    p.metadata.labels[api::kQosLabel] = "LSR";
    mark(p.metadata.annotations, {resource_status(R"({"cpuset":"0-7"})")});
  }));
  CHECK(ReservedCpus::what(w.put(ReservedCpus::owner("p", "4", "o"))) == "of 0-3");
  CHECK(ReservedCpus::what(w.put(ReservedCpus::owner("q", "4", "o"))) == "node 8-11");
  CHECK(ReservedCpus::what(w.put(lsr_pod("r", "4"))) == "node 12-15");
  CHECK(w.put(lsr_pod("s", "2")).kind() == Decision::Kind::unschedulable);
}

}  // namespace
}  // namespace koord::scheduling::test
