// Pods that are placed together: all, some, or none, and then everything is as before.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

#include "koord/scheduling/plugin/group_plugin.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

/// Pods whose name begins with "g" are a group, led by the first whose turn comes; "g-0" to "g-N" by number.
/// Reserves nothing for the pod that the test names.
class Gang final : public Plugin,
                   public GroupPlugin,
                   public PreFilterTransformer,
                   public ReservationNominatorPlugin,
                   public ReservePlugin,
                   public PermitPlugin {
 public:
  struct Said {
    std::function<Status(Placements&)> place;
    std::string unreservable;
    int reserved = 0;
    std::vector<std::string> waits;    // pods that are not permitted at once
    std::string goes_to;               // the node that its pods are asked about; empty: all
    std::string refused, unnominated;  // pods
  };
  static Said& said() {
    static Said now;
    return now;
  }
  explicit Gang(const PluginContext&) {}
  bool sign(const PodInfo&, Signature&) const override { return true; }
  bool leads_group(const PodInfo& pod) const override { return pod.pod->metadata.name.starts_with("g"); }
  Status place_group(const PodInfo&, Placements& places) override { return said().place(places); }
  Before before_pre_filter(const PodInfo& pod) override {
    if (pod.pod->metadata.name == said().refused) return {{StatusCode::unschedulable, "not this one"}, {}};
    if (said().goes_to.empty()) return {};
    return {{}, changed(pod.pod, [](api::Pod& p) {
              p.spec.node_selector["kubernetes.io/hostname"] = said().goes_to;
            })};
  }
  Status nominate_reservation(PodAttempt& attempt) override {
    if (attempt.pod.pod->metadata.name != said().unnominated) return {};
    return {StatusCode::unschedulable, "no reservation"};
  }
  Status reserve(PodAttempt& attempt) override {
    ++said().reserved;
    if (attempt.pod.pod->metadata.name != said().unreservable) return {};
    return {StatusCode::unschedulable, "nothing is left"};
  }
  void unreserve(PodAttempt&) override { --said().reserved; }
  Answer permit(PodAttempt& attempt) override {
    if (std::ranges::count(said().waits, attempt.pod.pod->metadata.name) == 0) return {};
    return {{StatusCode::wait, {}}, std::chrono::minutes(1)};
  }
};

struct Gangs : World {
  Gangs() : World(config(), {}, table()) {
    Gang::said() = {};
    for (int n = 0; n < 10; ++n)
      engine.put_node(make_node(fmt::format("n{}", n), "8", "64Gi", [&](api::Node& node) {
        node.metadata.labels["kubernetes.io/hostname"] = node.metadata.name;
      }));
  }
  static PluginTable table() {
    static constexpr PluginEntry kGang{.name = "Gang", .make = &make<Gang>};
    static const std::vector<const PluginEntry*> all = [] {
      std::vector<const PluginEntry*> rows(plugin_table().begin(), plugin_table().end());
      rows.push_back(&kGang);
      return rows;
    }();
    return all;
  }
  static KubeSchedulerConfiguration config() {
    KubeSchedulerConfiguration config;
    config.profiles.emplace_back().plugins.ensure().multi_point.enabled.push_back({"Gang", {}});
    return config;
  }
  static std::shared_ptr<const api::Pod> member(int n) {
    // Two of them do not like each other.
    return make_pod(fmt::format("g-{}", n), "1", "1Gi", [&](api::Pod& p) {
      if (n >= 2) return;
      p.metadata.labels["apart"] = "yes";
      api::PodAffinityTerm& term =
          p.spec.affinity.ensure().pod_anti_affinity.ensure().required.emplace_back();
      term.topology_key = Symbol("kubernetes.io/hostname");
      term.label_selector.ensure().match_labels["apart"] = "yes";
    });
  }
  void put_members(int count) {
    for (int n = 0; n < count; ++n) engine.put_pod(member(n));
  }
  /// All that anybody could be told of the nodes.
  std::string state() {
    std::string all = fmt::format("{} assumed, {} active, {} nominated;", engine.assumed(),
                                  engine.queue_sizes().active, engine.nominator().size());
    for (const auto& asked : {make_pod("p", "2"), make_pod("q", "7"), member(0), member(1)}) {
      ClassState& state = engine.evaluate(engine.profiles()[0], asked);
      all += fmt::format(" {}:", state.feasible());
      for (Row row = 0; row < engine.nodes().rows(); ++row)
        all += fmt::format(" {}/{}", state.verdict(row),
                           state.verdict(row) == kPass ? state.explain(row).total : 0);
    }
    return all;
  }
};

/// One after another, up to the first that has no place.
Status place_all(Placements& places, int count) {
  for (int n = 0; n < count; ++n)
    if (auto placed = places.place(*Gangs::member(n)); placed.row == kNoRow)
      return {StatusCode::unschedulable, fmt::format("member {}: {}", n, placed.status.message)};
  return {};
}

TEST_CASE("rows say for how many members they have room, and take the one that they are given") {
  Gangs world;
  world.put_members(20);
  std::vector<std::shared_ptr<const api::Pod>> made;
  for (int n = 0; n < 20; ++n) made.push_back(Gangs::member(n));
  using Rooms = std::vector<Placements::Room>;
  const auto room = [&](Placements& places, const std::vector<int>& numbers) {
    std::vector<const api::Pod*> pods;
    for (const int n : numbers) pods.push_back(made[static_cast<std::size_t>(n)].get());
    Rooms rooms;
    CHECK(places.room(pods, rooms).status.ok());
    return rooms;
  };
  const auto why = [&](const Placements::Room& room) {
    const Verdict& verdict = world.engine.context().verdicts[room.refusal];
    return verdict.reasons.empty() ? std::string() : verdict.reasons[0];
  };
  const std::vector<int> kAlike{2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  Gang::said().place = [&](Placements& places) -> Status {
    // What is kept and what is looked at anew is the same.
    for (int again = 0; again < 2; ++again)
      for (const auto& row : room(places, kAlike)) {
        CHECK(row.pods == 8);
        CHECK(why(row) == "Insufficient cpu");
      }
    for (const auto& row : room(places, {2, 3, 4})) {
      CHECK(row.pods == 3);
      CHECK(row.refusal == kPass);
    }
    CHECK(places.place_on(*made[12], 3).row == 3);
    CHECK(places.place_on(*made[13], 3).row == 3);
    Rooms rooms = room(places, kAlike);
    for (Row row = 0; row < 10; ++row) CHECK(rooms[row].pods == (row == 3 ? 6 : 8));
    // The two that do not like each other, alone and with others.
    rooms = room(places, {0, 1});
    CHECK(rooms[0].pods == 1);
    CHECK(why(rooms[0]) == "node(s) didn't match pod anti-affinity rules");
    rooms = room(places, {2, 3, 0, 1, 4});
    CHECK(rooms[0].pods == 3);
    rooms = room(places, {0, 2, 3, 4, 5, 6, 7, 8, 9});
    CHECK(rooms[0].pods == 8);
    CHECK(rooms[3].pods == 6);
    CHECK(why(rooms[3]) == "Insufficient cpu");
    // A row that is full refuses, and another one may do.
    for (int n = 2; n < 8; ++n) CHECK(places.place_on(*made[static_cast<std::size_t>(n)], 3).row == 3);
    const auto full = places.place_on(*made[8], 3);
    CHECK(full.row == kNoRow);
    CHECK(full.elsewhere);
    CHECK(full.status.message == "0/10 nodes are available: 1 Insufficient cpu.");
    rooms = room(places, {8, 9});
    CHECK(rooms[3].pods == 0);
    places.roll_back(1);
    rooms = room(places, {8, 9, 10, 11, 14, 15, 16, 17});
    CHECK(rooms[3].pods == 7);
    // Who waits no more has no room.
    std::vector<const api::Pod*> placed{made[12].get()};
    const auto none = places.room(placed, rooms);
    CHECK_FALSE(none.status.ok());
    CHECK(none.pod == made[12].get());
    return {StatusCode::unschedulable, "that is all"};
  };
  world.run(1);
  CHECK(world.engine.assumed() == 0);
}

TEST_CASE("members go through Koordinator's points as pods do that are tried alone") {
  Gangs world;
  Gang::said().place = [](Placements& places) { return place_all(places, 3); };
  world.put_members(3);
  const std::string before = world.state();
  SECTION("what is in their place is asked about") {
    Gang::said().goes_to = "n3";
    Gang::said().place = [](Placements& places) {
      for (const int n : {0, 2}) CHECK(places.place(*Gangs::member(n)).row == 3);
      return Status{};
    };
    CHECK(world.run(1).size() == 2);
    return;
  }
  SECTION("one is refused before its preparations") {
    Gang::said().refused = "g-1";
    const auto decisions = world.run(1);
    REQUIRE(decisions.size() == 2);
    CHECK(decisions[1].message() == "0/10 nodes are available: not this one.");
    CHECK(decisions[0].message() ==
          "0/10 nodes are available: member 1: 0/10 nodes are available: not this one..");
  }
  SECTION("nothing can be nominated for one") {
    Gang::said().unnominated = "g-2";
    const auto decisions = world.run(1);
    REQUIRE(decisions.size() == 1);
    CHECK(decisions[0].message() == "0/10 nodes are available: member 2: no reservation.");
  }
  CHECK(Gang::said().reserved == 0);
  CHECK(world.engine.assumed() == 0);
  // All but that the leader waits for an event.
  CHECK(world.state().substr(before.find(';')) == before.substr(before.find(';')));
}

TEST_CASE("fifty pods are placed as one batch, or none of them") {
  Gangs world;
  Gang::said().place = [](Placements& places) { return place_all(places, 50); };
  SECTION("all") {
    world.put_members(50);
    const auto decisions = world.run(1);
    REQUIRE(decisions.size() == 50);
    std::map<std::string, int> on;
    for (const Decision& d : decisions) {
      CHECK(d.kind() == Decision::Kind::bind);
      CHECK(d.attempts == 1);
      ++on[d.node().str()];
    }
    // Each saw those before it.
    for (const auto& [node, count] : on) CHECK(count == 5);
    CHECK(decisions[0].node() != decisions[1].node());
    CHECK(world.engine.assumed() == 50);
    CHECK(world.engine.queue_sizes() == QueueSizes{});
    CHECK(Gang::said().reserved == 50);
    world.engine.binding_failed(*decisions[7].pod);
    CHECK(world.engine.assumed() == 49);
    CHECK(Gang::said().reserved == 49);
  }
  SECTION("none: there is no room for all") {
    for (int n = 0; n < 4; ++n)
      world.engine.put_pod(make_pod(fmt::format("large-{}", n), "8", "1Gi",
                                    [&](api::Pod& p) { p.spec.node_name = fmt::format("n{}", n); }));
    world.put_members(50);
    const std::string before = world.state();
    std::string within;
    Gang::said().place = [&](Placements& places) {
      Status status = place_all(places, 50);
      CHECK(places.mark() == 48);
      places.roll_back(0);
      // The pod whose turn it is has left the queue.
      within = world.state();
      return status;
    };
    const auto decisions = world.run(1);
    // Who led, and who is to blame: that one waits for what its own rejectors wait for.
    CHECK(names(decisions) == "g-0 g-48");
    for (const Decision& d : decisions) CHECK(d.kind() == Decision::Kind::unschedulable);
    CHECK(decisions[0].message().find("member 48: 0/10 nodes are available: 10 Insufficient cpu") !=
          std::string::npos);
    CHECK(decisions[1].message() == "0/10 nodes are available: 10 Insufficient cpu.");
    CHECK(world.engine.queue_sizes() == QueueSizes{.active = 48, .unschedulable = 2});
    CHECK(within.substr(within.find(';')) == before.substr(before.find(';')));
    CHECK(world.state().substr(before.find(';')) == before.substr(before.find(';')));
    CHECK(world.engine.assumed() == 0);
    CHECK(Gang::said().reserved == 0);
  }
  SECTION("none: a plugin reserves nothing for one of them") {
    Gang::said().unreservable = "g-30";
    world.put_members(50);
    const std::string before = world.state();
    CHECK(world.run(1).at(0).message().find("member 30: nothing is left") != std::string::npos);
    CHECK(Gang::said().reserved == 0);
    CHECK(world.state().substr(before.find(';')) == before.substr(before.find(';')));
  }
}

TEST_CASE("a trial is rolled back to a mark, and what has a place is bound") {
  Gangs world;
  world.put_members(4);
  Gang::said().waits = {"g-3"};
  Gang::said().place = [&](Placements& places) -> Status {
    CHECK(places.place(*Gangs::member(0)).row != kNoRow);
    const Placements::Mark mark = places.mark();
    const Row first = places.place(*Gangs::member(1)).row;
    CHECK(places.place(*Gangs::member(2)).row != kNoRow);
    CHECK(places.place(*Gangs::member(2)).status.code == StatusCode::error);
    places.roll_back(mark);
    CHECK(places.mark() == 1);
    CHECK(places.place(*Gangs::member(1)).row != kNoRow);
    CHECK(first != kNoRow);
    CHECK(places.place(*Gangs::member(3)).row != kNoRow);
    CHECK(places.place(*make_pod("unknown")).status.code == StatusCode::error);
    return {};
  };
  const auto decisions = world.run(1);
  CHECK(names(decisions) == "g-0 g-1 g-3");
  CHECK(decisions[2].kind() == Decision::Kind::wait);
  CHECK(world.engine.queue_sizes() == QueueSizes{.active = 1});
  CHECK(Gang::said().reserved == 3);
}

TEST_CASE("a plugin that gives the pod itself no place has failed") {
  Gangs world;
  world.put_members(1);
  Gang::said().place = [](Placements&) { return Status{}; };
  const Decision d = world.one();
  CHECK(d.kind() == Decision::Kind::error);
  CHECK(d.message() == "running PlaceGroup plugin \"Gang\": the pod itself was given no place");
}

TEST_CASE("nominations come back with a roll back, and are taken back with a place") {
  Gangs world;
  world.engine.put_pod(changed(Gangs::member(0), [](api::Pod& p) { p.status.nominated_node_name = "n3"; }));
  REQUIRE(world.engine.nominator().size() == 1);
  SECTION("rolled back") {
    Gang::said().place = [&](Placements& places) -> Status {
      CHECK(places.place(*Gangs::member(0)).row == world.engine.nodes().find("n3"));
      CHECK(world.engine.nominator().size() == 0);
      places.roll_back(0);
      CHECK(world.engine.nominator().size() == 1);
      return {StatusCode::unschedulable, "not now"};
    };
    world.one();
  }
  SECTION("placed") {
    Gang::said().place = [](Placements& places) { return place_all(places, 1); };
    CHECK(world.one().node() == "n3");
    CHECK(world.engine.nominator().size() == 0);
  }
}

}  // namespace
}  // namespace koord::scheduling::test
