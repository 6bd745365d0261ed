// Reservations as members of gangs.
#include <catch2/catch.hpp>

#include "gang_rig.hpp"
#include "plugins/reservation_rig.hpp"
#include "preempting.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

struct ReservedGangs : ReservationWorld {
  ReservedGangs() : ReservationWorld(with_gangs()) {
    for (const char* name : {"n0", "n1"}) engine.put_node(make_node(name, "4", "64Gi"));
  }
  static KubeSchedulerConfiguration with_gangs() {
    KubeSchedulerConfiguration c = config(false);
    c.profiles.front().plugins.ensure().multi_point.enabled.push_back({"Coscheduling", {}});
    return c;
  }
  static Reserved in_gang(const std::string& name, int min, std::string_view cpu = "2") {
    return make_reservation(name, cpu, [&](api::Reservation& r) {
      r.metadata.annotations[api::kGangName] = "g";
      r.metadata.annotations[api::kGangMin] = std::to_string(min);
    });
  }
  /// A pod of the namespace in which reservations without one of their own are.
  static std::shared_ptr<const api::Pod> beside(int min) {
    return member("g", 0, min, {}, "1", [](api::Pod& p) { p.metadata.namespace_ = placeholder_namespace(); });
  }
  static Symbol placeholder_namespace() {
    ReservationWorld world;
    world.engine.put_node(make_node("n0"));
    world.engine.put_object(make_reservation("r"));
    return world.one().pod->metadata.namespace_;
  }
};

TEST_CASE("reservations wait for one another, and are placed with a pod of their gang") {
  ReservedGangs world;
  world.engine.put_object(ReservedGangs::in_gang("a", 3));
  world.engine.put_object(ReservedGangs::in_gang("b", 3));
  CHECK(world.run().empty());
  world.engine.put_pod(ReservedGangs::beside(3));
  const auto decisions = world.run();
  REQUIRE(decisions.size() == 3);
  for (const Decision& d : decisions) {
    INFO(d.pod->metadata.name);
    REQUIRE(d.kind() == Kind::bind);
    REQUIRE(d.as<Decision::Bind>()->changes != nullptr);
    CHECK(*d.as<Decision::Bind>()->changes->annotations.find(api::kBindGangMemberCount) == "3");
  }
}

TEST_CASE("for a reservation that finds no room Coscheduling has nobody go, for a pod it does") {
  KubeSchedulerConfiguration config = ReservedGangs::with_gangs();
  ProfileConfig& profile = config.profiles.front();
  profile.plugins->post_filter.enabled.push_back({"Coscheduling", {}});
  profile.plugin_config.push_back({"Coscheduling", api::RawJson(R"({"enablePreemption":true})"), nullptr});
  for (const bool reserves : {true, false}) {
    INFO((reserves ? "a reservation" : "a pod"));
    ReservationWorld world(config);
    world.engine.put_node(make_node("n0", "4", "64Gi"));
    world.engine.put_pod(running("less", "n0", "3"));
    if (reserves)
      world.engine.put_object(make_reservation("r", "2"));
    else
      world.engine.put_pod(make_pod("p", "2", "1Gi", of_priority(1000)));
    const Decision d = world.one();
    CHECK(d.kind() != Kind::bind);
    CHECK(d.preemption().victims.empty() == reserves);
  }
}

TEST_CASE("a reservation of a gang that does not fit holds nothing, one that goes is no member") {
  ReservedGangs world;
  for (const char* name : {"a", "b", "c"}) world.engine.put_object(ReservedGangs::in_gang(name, 3, "3"));
  for (const Decision& d : world.run()) CHECK(d.kind() != Kind::bind);
  CHECK(world.engine.assumed() == 0);
  world.engine.remove_object(ReservedGangs::in_gang("c", 3, "3"));
  world.engine.put_object(ReservedGangs::in_gang("a", 2, "3"));
  world.engine.put_object(ReservedGangs::in_gang("d", 3, "1"));
  world.clock.advance(std::chrono::seconds(20));
  int bound = 0;
  for (const Decision& d : world.run()) bound += d.kind() == Kind::bind ? 1 : 0;
  CHECK(bound == 3);
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
