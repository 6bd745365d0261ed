// Reservations that make no sense, are too many, or want room of themselves: they alone suffer.
#include <catch2/catch.hpp>

#include "koord/scheduling/plugin/complaints.hpp"
#include "plain_pods.hpp"
#include "reservation_cpus_rig.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::test {
namespace {

const int kMany = static_cast<int>(koord::test::hostile(10'000));
const int kOnNode = koord::test::is_short() ? 300 : 10'000;

struct Crowd : ReservedCpus {
  Crowd() {
    engine.context().shared.get<Complaints>().tell(
        [this](std::string_view kind, const api::ObjectMeta& object, std::string_view what) {
          told.push_back(fmt::format("{} {}: {}", kind, object.name, what));
        });
    machine("n", {});
    machine("other", {});
  }
  std::int64_t used(ResourceId resource, std::string_view node = "n") const {
    return engine.nodes().used(resource, engine.nodes().find(node));
  }
  std::vector<std::string> told;
};

TEST_CASE("what a reservation says that nobody can use is told by name, and it serves no pod") {
  struct Bad {
    const char* name;
    ReservationEdit edit;
    const char* expected;
    bool placed;
  };
  const auto note = [](std::string_view key, std::string value) {
    return [=](api::Reservation& r) { r.metadata.annotations[key] = Symbol(value); };
  };
  const std::string too_long(std::size_t{256} << 10, ' ');
  const Bad cases[] = {
      {"an operator that there is not",
       [](api::Reservation& r) {
         r.spec.owners[0].label_selector.ensure().match_expressions.push_back({"a", "Like", {"b"}});
       },
       "owners[0]: ", true},
      {"a template that is none",
       [](api::Reservation& r) { r.spec.template_.text = R"({"spec":{"containers":7}})"; },
       "spec.template: ", false},
      {"a template with an amount that is none",
       [](api::Reservation& r) {
         r.spec.template_.text =
             R"({"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"NaN"}}}]}})";
       },
       "spec.template: ", false},
      {"options of 256 KiB",
       [=](api::Reservation& r) {
         r.spec.allocate_policy = "Restricted";
         r.metadata.annotations[api::ReservationRestrictedOptions::kAnnotation] = Symbol(too_long);
       },
       "reservation-restricted-options: longer than 64 KiB", true},
      {"CPUs that it keeps back",
       note("node.koordinator.sh/reservation", R"({"reservedCPUs":"0-999999999"})"),
       "node.koordinator.sh/reservation: reservedCPUs: not a list of CPUs", true},
  };
  for (const Bad& bad : cases) {
    INFO(bad.name);
    Crowd world;
    const auto r = make_reservation("bad", "2", bad.edit);
    world.engine.put_object(r);
    world.engine.put_object(changed(r, [](auto& c) { c.metadata.labels["again"] = "1"; }));
    REQUIRE(world.told.size() == 1);
    CHECK_THAT(world.told[0], Catch::StartsWith("Reservation bad: ") && Catch::Contains(bad.expected));
    CHECK(world.run().size() == (bad.placed ? 1 : 0));
    plain_pod(world, "plain");
    world.engine.remove_object(r);
    CHECK(world.used(kCpu) + world.used(kCpu, "other") == 10);
  }
}

TEST_CASE("a reservation that wants its own room has it once") {
  struct Own {
    const char* name;
    ReservationEdit edit;
  };
  const auto note = [](std::string_view key, std::string value) {
    return [=](api::Reservation& r) { r.metadata.annotations[key] = Symbol(value); };
  };
  const Own cases[] = {
      {"by object",
       [](api::Reservation& r) {
         r.spec.owners[0] = {};
         api::ObjectReference& object = r.spec.owners[0].object.ensure();
         object.kind = "Reservation";
         object.name = "self";
         object.uid = "uid-of-self";
       }},
      {"by its template's labels",
       [](api::Reservation& r) {
         r.metadata.labels["app"] = "self";
         r.spec.template_.text =
             R"({"metadata":{"labels":{"app":"self"}},"spec":{"containers":[{"name":"c","resources":{"requests":)"
             R"({"cpu":"2","memory":"1Gi"}}}]}})";
       }},
      {"by its annotation",
       note(api::ReservationAllocated::kAnnotation, R"({"name":"self","uid":"uid-of-self"})")},
      {"by its affinity", note(api::ReservationAffinity::kAnnotation, R"({"name":"self"})")},
      {"as a pod that is a reservation",
       [](api::Reservation& r) { r.metadata.labels[api::kOperatingModeLabel] = "Reservation"; }},
  };
  for (const Own& own : cases) {
    INFO(own.name);
    Crowd world;
    const Reserved there = world.place_reservation(make_reservation("self", "2", own.edit));
    const std::string node(there->status.node_name.view());
    CHECK(there->status.phase == "Available");
    CHECK(world.used(kCpu, node) == 2000);
    CHECK(world.used(kPods, node) == 1);
    world.engine.put_object(changed(there, [](auto& r) { r.metadata.labels["again"] = "1"; }));
    CHECK(world.used(kCpu, node) == 2000);
    CHECK(world.run().empty());
    plain_pod(world, "plain");
    world.engine.remove_object(there);
    CHECK(world.used(kCpu) + world.used(kCpu, "other") == 10);
  }
}

TEST_CASE("reservations that claim each other's room keep both theirs") {
  Crowd world;
  world.engine.remove_node("other");
  const char* const half = R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"8","memory":"16Gi"}}]})";
  const auto in = [](const char* uid) {
    return Marks{{api::ReservationAllocated::kAnnotation, fmt::format(R"({{"uid":"{}"}})", uid)}};
  };
  world.put_on(ReservedCpus::reservation("a", "8", "Aligned", in("uid-of-b")), "n", half);
  world.put_on(ReservedCpus::reservation("b", "8", "Aligned", in("uid-of-a")), "n", half);
  const auto pod = [](const char* name) {
    return make_pod(name, "1", "20Gi", numa_pod("LS", {numa_spec("SingleNUMANode")}));
  };
  CHECK_THAT(NumaWorld::given(world.put(pod("first"))), Catch::Contains(R"("node":1)"));
  CHECK(world.put(pod("second")).kind() != Decision::Kind::bind);
}

TEST_CASE("ten thousand terms of owners say no more than one, and go with their reservation") {
  Crowd world;
  const auto many = [](std::string name) {
    return make_reservation(name, "1", [](api::Reservation& r) {
      r.spec.owners.clear();
      for (int i = 0; i < kMany / 3; ++i) {
        r.spec.owners.emplace_back().label_selector.ensure().match_labels["app"] = "crowd";
        r.spec.owners.emplace_back().object.ensure().name = "somebody";
        r.spec.owners.emplace_back().controller.ensure().owner.name = "something";
      }
    });
  };
  constexpr int kReservations = 8;
  std::vector<Reserved> all;
  for (int i = 0; i < kReservations; ++i)
    all.push_back(world.put_on(many(fmt::format("r{}", i)), i % 2 == 0 ? "n" : "other", {}));
  // What is looked for of each is taken out once, not once for each term that says so.
  for (int round = 0; round < 2; ++round)
    for (Reserved& r : all) {
      r = changed(r, [&](auto& c) { c.metadata.labels["round"] = Symbol(std::to_string(round)); });
      world.engine.put_object(r);
    }
  const auto owner = make_pod("owner", "1", "1Gi", [](api::Pod& p) { p.metadata.labels["app"] = "crowd"; });
  const Decision d = world.put(owner);
  REQUIRE(d.kind() == Decision::Kind::bind);
  CHECK_THAT(ReservedCpus::what(d), Catch::StartsWith("r"));
  for (const char* name : {"first", "again"}) plain_pod(world, name);
  CHECK(plain_pod(world, "plain") <= 2);
  for (const Reserved& r : all) world.engine.remove_object(r);
  world.engine.remove_pod(*owner);
  CHECK(world.used(kCpu) + world.used(kCpu, "other") == 30);
}

TEST_CASE("ten thousand reservations on one node cost pods that they are not for nothing") {
  Crowd world;
  std::vector<Reserved> all;
  for (int i = 0; i < kOnNode; ++i)
    all.push_back(world.put_on(
        make_reservation(fmt::format("r{:05}", i), "1m",
                         [](api::Reservation& r) {
                           r.spec.owners[0].label_selector.ensure().match_labels["app"] = "crowd";
                           r.spec.template_.text = R"({"spec":{"containers":[{"name":"c","resources":)"
                                                   R"({"requests":{"cpu":"1m","memory":"1Mi"}}}]}})";
                         }),
        "n", {}));
  CHECK(world.used(kCpu) == kOnNode);
  CHECK(world.used(kPods) == kOnNode);
  for (const char* name : {"first", "again"}) plain_pod(world, name);
  CHECK(plain_pod(world, "plain") <= 2);
  // Its owners find them, and so does the next one when thousands have changed.
  const auto crowded = [](const char* name) {
    return make_pod(name, "1m", "1Mi", [](api::Pod& p) {
      p.metadata.labels["app"] = "crowd";
      p.spec.node_selector["kubernetes.io/hostname"] = "n";
      p.metadata.annotations[api::ReservationAffinity::kAnnotation] = "{}";
    });
  };
  CHECK(ReservedCpus::what(world.put(crowded("owner"))) == "r00000 ");
  for (int i = 0; i < kOnNode / 10; ++i)
    world.engine.put_object(
        changed(all[static_cast<std::size_t>(i)], [](auto& r) { r.metadata.labels["round"] = "1"; }));
  CHECK(world.put(crowded("next")).kind() == Decision::Kind::bind);
  for (const Reserved& r : all) world.engine.remove_object(r);
  CHECK(world.used(kPods) <= 5);
}

TEST_CASE("a thousand reservations with CPUs of one node are looked at as far as it is worth it") {
  Crowd world;
  world.machine("large", {.cpus = {2, 1, 256, 2}, .memory = "1000Gi"});
  const int many = koord::test::is_short() ? 40 : 1000;
  for (int i = 0; i < many; ++i)
    world.put_on(ReservedCpus::reservation(fmt::format("r{:04}", i), "1", "Restricted", {},
                                           [](api::Reservation& r) {
                                             r.spec.owners[0].label_selector.ensure().match_labels["app"] =
                                                 "crowd";
                                           }),
                 "large", fmt::format(R"({{"cpuset":"{}"}})", i));
  const auto owner = ReservedCpus::owner("owner", "1", "crowd", {}, true);
  CHECK(ReservedCpus::what(world.put(owner)) == "r0000 0");
  // Of what lies behind none is given, and nothing of theirs to others.
  for (const char* name : {"first", "again"}) plain_pod(world, name);
  CHECK(plain_pod(world, "plain") <= 3);
  const Decision all = world.put(changed(
      lsr_pod("all", "1024"), [](api::Pod& p) { p.spec.node_selector["kubernetes.io/hostname"] = "large"; }));
  CHECK(all.kind() != Decision::Kind::bind);
}

TEST_CASE("reservations of more than there can be are full, and nothing else is") {
  for (const char* amount : {"9223372036854775807", "1e30", "-5", "-9223372036854775808", "0"}) {
    INFO(amount);
    Crowd world;
    std::vector<Reserved> all;
    for (const char* name : {"a", "b", "c"})
      all.push_back(world.put_on(
          make_reservation(name, "1",
                           [&](api::Reservation& r) {
                             r.spec.owners[0].label_selector.ensure().match_labels["app"] = "all";
                             r.spec.template_.text =
                                 fmt::format(R"({{"spec":{{"containers":[{{"name":"c","resources":)"
                                             R"({{"requests":{{"cpu":"{0}","memory":"{0}","a.com/x":"{0}"}})"
                                             R"(}}}}]}}}})",
                                             amount);
                           }),
          "n", {}));
    for (const char* name : {"one", "two", "three"}) {
      const auto pod = make_pod(name, "1", "1Gi", [](api::Pod& p) { p.metadata.labels["app"] = "all"; });
      const Decision d = world.put(pod);
      CHECK(d.kind() == Decision::Kind::bind);
      world.engine.put_pod(NumaWorld::bound(d));
    }
    plain_pod(world, "plain");
    for (const char* name : {"one", "two", "three"}) world.engine.remove_pod(*make_pod(name));
    for (const Reserved& r : all) world.engine.remove_object(r);
    CHECK(world.used(kCpu) + world.used(kCpu, "other") == 10);
    CHECK(world.used(kMemory) + world.used(kMemory, "other") == 1 << 20);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
