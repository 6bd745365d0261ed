// Gangs through the engine: all or none, who waits for whom, and what is left of what failed.
#include <catch2/catch.hpp>

#include "gang_rig.hpp"
#include "support/sanitized.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace std::chrono_literals;

const Says kLoose{{api::kGangMode, "NonStrict"}};

TEST_CASE("pods of a gang wait for one another, then are decided as one batch") {
  Gangs world(4);
  world.put("g", 7, 8);
  CHECK(world.all().empty());
  CHECK(world.engine.queue_sizes() == QueueSizes{.gated = 7});
  world.engine.put_pod(member("g", 7, 8));
  CHECK(world.bound() == 8);
  CHECK(world.engine.queue_sizes() == QueueSizes{});
  for (const Decision& d : world.last) {
    const auto& written = d.as<Decision::Bind>()->changes->annotations;
    CHECK(*written.find(api::kBindGangGroupId) == "default/g");
    CHECK(*written.find(api::kBindGangMemberCount) == "8");
    CHECK(*written.find(api::kOldBindGangGroupId) == "default/g");
    CHECK(*written.find(api::kOldBindGangMemberCount) == "8");
  }
}

TEST_CASE("a gang that does not fit has no pod assumed, and is tried again when there is room") {
  Gangs world(2);
  world.put("g", 17, 17);
  const auto kinds = world.all();
  CHECK(kinds.find(Kind::bind) == kinds.end());
  CHECK(world.engine.assumed() == 0);
  CHECK(world.engine.nominator().size() == 0);
  // One is to blame, in its own words; the others hear of it as pods that found no node.
  int blamed = 0, told = 0;
  for (const Decision& d : world.last) {
    if (d.message() == "0/2 nodes are available: 2 Insufficient cpu.") {
      ++blamed;
    } else if (const auto* gated = d.as<Decision::Gated>()) {
      CHECK(gated->unschedulable);
      CHECK(gated->message.find("GangGroup \"default/g\" gets rejected due to member Pod \"default/g-") !=
            std::string::npos);
      CHECK(gated->message.find("is unschedulable with reason \"0/2 nodes are available: 2 Insufficient "
                                "cpu.\", alreadyWaitForBound: 16") != std::string::npos);
      ++told;
    }
  }
  CHECK(blamed == 1);
  CHECK(told == 16);
  // Nothing has changed: nobody is tried or told again.
  world.wait(20s);
  CHECK(world.all().empty());
  world.engine.put_node(make_node("n2", "8", "64Gi"));
  world.wait(20s);
  CHECK(world.bound() == 17);
}

TEST_CASE("3088: pods of a gang that are missing are told of after a moment, once") {
  Gangs world(1);
  world.put("g", 2, 3);
  CHECK(world.all().empty());
  REQUIRE(world.engine.next_wakeup());
  world.wait(6s);
  CHECK(world.all()[Kind::gated] == 2);
  CHECK(world.message_of("g-001") ==
        "gangGroup [default/g] basic check: memberGangs [default/g] child pod not collect enough, current "
        "gang: default/g, podName: default/g-001");
  CHECK_FALSE(world.last[0].as<Decision::Gated>()->unschedulable);
  world.wait(60s);
  CHECK(world.all().empty());
}

TEST_CASE("872: two gangs that compete end with one of them placed, never with halves of both") {
  Gangs world(2);
  for (int n = 0; n < 10; ++n)
    for (const char* gang : {"a", "b"}) world.engine.put_pod(member(gang, n, 10));
  CHECK(world.bound() == 10);
  std::set<char> gangs;
  for (const Decision& d : world.last)
    if (d.kind() == Kind::bind) gangs.insert(d.pod->metadata.name[0]);
  CHECK(gangs.size() == 1);
  CHECK(world.engine.assumed() == 10);
}

TEST_CASE("more pods than a gang needs are placed where they fit, and alone when it is bound") {
  Gangs world(1);
  world.put("g", 12, 4);
  CHECK(world.bound() == 8);
  world.settle();
  world.wait(20s);
  world.all();
  world.engine.put_node(make_node("n1", "8", "64Gi"));
  world.wait(20s);
  CHECK(world.bound() == 4);
  for (const Decision& d : world.last)
    if (d.kind() == Kind::bind) CHECK(d.as<Decision::Bind>()->changes == nullptr);
}

TEST_CASE("who comes while its gang is on its way to its nodes is bound alone") {
  for (const Says& says : {Says(), kLoose}) {
    Gangs world(1);
    world.put("g", 4, 4, says);
    CHECK(world.bound() == 4);
    world.engine.put_pod(member("g", 4, 4, says));
    CHECK(world.bound() == 1);
    for (const Decision& d : world.last)
      if (d.kind() == Kind::bind) CHECK(d.as<Decision::Bind>()->changes == nullptr);
  }
}

TEST_CASE("a gang whose first pod fits nowhere goes without it, if the others are enough") {
  Gangs world(1);
  world.engine.put_pod(member("g", 0, 2, {}, "100"));
  world.engine.put_pod(member("g", 1, 2));
  world.engine.put_pod(member("g", 2, 2));
  CHECK(world.bound() == 2);
  CHECK(world.message_of("g-000").find("Insufficient cpu") != std::string::npos);
}

TEST_CASE("gangs of a group are placed together, whatever their namespaces") {
  Gangs world(2, "4");
  const Says both{{api::kGangGroups, R"(["default/a","other/b"])"}};
  const auto in_other = [](api::Pod& p) { p.metadata.namespace_ = "other"; };
  for (int n = 0; n < 2; ++n) world.engine.put_pod(member("a", n, 2, both));
  CHECK(world.all().empty());
  SECTION("both") {
    for (int n = 0; n < 2; ++n) world.engine.put_pod(member("b", n, 2, both, "1", in_other));
    CHECK(world.bound() == 4);
    CHECK(*world.last[0].as<Decision::Bind>()->changes->annotations.find(api::kBindGangGroupId) ==
          "default/a,other/b");
  }
  SECTION("neither, where there is no room for one") {
    for (int n = 0; n < 2; ++n) world.engine.put_pod(member("b", n, 2, both, "4", in_other));
    CHECK(world.bound() == 0);
    CHECK(world.engine.assumed() == 0);
  }
}

TEST_CASE("pods of a loose gang wait on their nodes, for as long as it says") {
  Gangs world(1, "2");
  world.put("g", 3, 3, {{api::kGangMode, "NonStrict"}, {api::kGangWaitingTime, "1h"}});
  CHECK(world.all()[Kind::wait] == 2);
  CHECK(world.engine.waiting() == 2);
  SECTION("1919: beyond kube-scheduler's fifteen minutes") {
    world.wait(59min);
    world.all();
    CHECK(world.message_of("g-000") == "none");
    CHECK(world.engine.waiting() == 2);
    world.wait(2min);
    world.all();
    CHECK(world.message_of("g-000").find("rejected due to timeout") != std::string::npos);
    CHECK(world.message_of("g-001").find("rejected due to timeout") != std::string::npos);
  }
  SECTION("and again with the one that comes last") {
    world.wait(61min);
    world.all();
    world.engine.put_node(make_node("n1", "2", "64Gi"));
    world.wait(20s);
    CHECK(world.bound() == 3);
  }
  SECTION("until there are enough") {
    world.engine.put_node(make_node("n1", "2", "64Gi"));
    world.wait(20s);
    CHECK(world.bound() == 3);
  }
}

TEST_CASE("a binding that fails in the middle of a gang is made good, and nobody else goes") {
  Gangs world(2);
  world.put("g", 8, 8);
  CHECK(world.bound() == 8);
  const auto decisions = world.last;
  world.engine.binding_failed(*decisions[3].pod);
  CHECK(world.engine.assumed() == 7);
  for (std::size_t n = 0; n < decisions.size(); ++n)
    if (n != 3) {
      world.engine.binding_succeeded(*decisions[n].pod);
      world.engine.put_pod(
          changed(decisions[n].pod, [&](api::Pod& p) { p.spec.node_name = decisions[n].node(); }));
    }
  world.wait(20s);
  CHECK(world.bound() == 1);
  CHECK(world.last[0].pod->metadata.uid == decisions[3].pod->metadata.uid);
}

TEST_CASE("if all bindings of a gang fail it is decided as one again") {
  Gangs world(2);
  world.put("g", 8, 8);
  CHECK(world.bound() == 8);
  for (const Decision& d : std::vector(world.last)) world.engine.binding_failed(*d.pod);
  CHECK(world.engine.assumed() == 0);
  world.wait(20s);
  CHECK(world.bound() == 8);
}

TEST_CASE("after a restart the rest of a gang that is bound goes first") {
  Gangs world(2);
  for (int n = 0; n < 5; ++n)
    world.engine.put_pod(changed(member("g", n, 8), [](api::Pod& p) { p.spec.node_name = "n0"; }));
  world.engine.put_pod(make_pod("before"));
  for (int n = 5; n < 8; ++n) world.engine.put_pod(member("g", n, 8));
  world.synced();
  CHECK(world.bound() == 4);
  CHECK(names(world.last) == "g-005 g-006 g-007 before");
}

TEST_CASE("3185: a member that is deleted leaves nothing behind") {
  Gangs world(2);
  SECTION("it stood for the others") {
    world.put("g", 20, 17);
    CHECK(world.bound() == 0);
    // Whoever it is that the queue has of the gang: all of them go but those that fit.
    for (int n = 0; n < 20; ++n) world.engine.remove_pod(*member("g", n, 17));
    world.put("h", 16, 16);
    CHECK(world.bound() == 16);
    CHECK(world.engine.queue_sizes() == QueueSizes{});
  }
  SECTION("it waited for a permit") {
    world.put("g", 3, 3, kLoose);
    world.engine.put_pod(make_pod("large", "100"));
    CHECK(world.bound() == 3);
    Gangs other(1, "2");
    other.put("g", 3, 3, kLoose);
    other.all();
    CHECK(other.engine.waiting() == 2);
    for (int n = 0; n < 3; ++n) other.engine.remove_pod(*member("g", n, 3));
    CHECK(other.engine.waiting() == 0);
    CHECK(other.engine.assumed() == 0);
  }
  SECTION("it led, and is not there when the gang fits") {
    world.put("g", 18, 16);
    world.engine.remove_pod(*member("g", 17, 16));
    world.engine.remove_pod(*member("g", 0, 16));
    CHECK(world.bound() == 16);
  }
}

TEST_CASE("a PodGroup that comes after its pods lets them go, one that goes holds them") {
  Gangs world(1);
  for (int n = 0; n < 3; ++n) world.engine.put_pod(grouped("g", n));
  world.wait(6s);
  CHECK(world.all()[Kind::gated] == 3);
  CHECK(world.message_of("g-000") == "gang has not init, gangName: default/g, podName: default/g-000");
  const auto group = pod_group("g", 3);
  SECTION("it comes") {
    world.engine.put_object(group);
    CHECK(world.bound() == 3);
  }
  SECTION("it asks for more, then for less") {
    world.engine.put_object(pod_group("g", 4));
    CHECK(world.bound() == 0);
    world.engine.put_object(group);
    CHECK(world.bound() == 3);
  }
  SECTION("it goes") {
    world.engine.put_object(pod_group("g", 4));
    world.engine.remove_object(pod_group("g", 4));
    world.engine.put_pod(grouped("g", 3));
    CHECK(world.bound() == 0);
  }
}

TEST_CASE("scheduling gates of a member hold the gang, and no other pod") {
  Gangs world(1);
  world.put("g", 2, 3);
  const auto gated = member(
      "g", 2, 3, {}, "1", [](api::Pod& p) { p.spec.scheduling_gates.emplace_back().name = Symbol("later"); });
  world.engine.put_pod(gated);
  CHECK(world.bound() == 0);
  CHECK(world.engine.assumed() == 0);
  world.engine.put_pod(member("g", 2, 3));
  world.wait(20s);
  CHECK(world.bound() == 3);
}

TEST_CASE("a gang of nobody, and one of more than there can be") {
  Gangs world(1);
  world.put("none", 2, 0);
  CHECK(world.bound() == 2);
  world.put("all", 2, 1'000'000'000);
  CHECK(world.bound() == 0);
  CHECK(world.engine.queue_sizes() == QueueSizes{.gated = 2});
}

TEST_CASE("the others of a gang that does not fit hear so, unless a gate says otherwise") {
  static constexpr FeatureGate kGates[] = {{.name = "GangPendingPodsConditionPatch",
                                            .enabled = true,
                                            .stage = Stage::alpha,
                                            .help = "As in the role's flags."}};
  for (const bool on : {true, false}) {
    CAPTURE(on);
    FeatureGates gates{kGates};
    REQUIRE(gates.set(fmt::format("GangPendingPodsConditionPatch={}", on)).has_value());
    BatchWorld world(Gangs::config(), {}, plugin_table(), gates);
    world.engine.put_node(make_node("n", "2", "64Gi"));
    for (int n = 0; n < 3; ++n) world.engine.put_pod(member("g", n, 3));
    auto kinds = world.all();
    // Whose turn it was, and for whom there was no place.
    CHECK(kinds[Kind::unschedulable] == 2);
    CHECK(kinds[Kind::gated] == (on ? 2 : 0));
  }
}

TEST_CASE("a gang of 100,000 holds nobody up, whether it lacks one or is whole and does not fit") {
  const int members = koord::test::is_short() ? 5'000 : 100'000;
  Gangs world(1);
  world.put("large", members, members + 1);
  world.put("small", 4, 4);
  CHECK(world.bound() == 4);
  CHECK(world.engine.queue_sizes() == QueueSizes{.gated = static_cast<std::size_t>(members)});
  // One is tried, and stands for them all.
  world.engine.put_pod(member("large", members, members + 1));
  world.engine.put_pod(make_pod("plain"));
  CHECK(world.bound() == 1);
  const QueueSizes sizes = world.engine.queue_sizes();
  CHECK(sizes.gated == static_cast<std::size_t>(members));
  CHECK(sizes.backoff + sizes.unschedulable == 1);
  CHECK(world.engine.assumed() == 5);
}

TEST_CASE("a gang of only-waiting does not count who is bound") {
  Gangs world(1);
  const Says says{{api::kGangMatchPolicy, "only-waiting"}};
  world.engine.put_pod(changed(member("g", 0, 2, says), [](api::Pod& p) { p.spec.node_name = "n0"; }));
  world.engine.put_pod(member("g", 1, 2, says));
  CHECK(world.bound() == 0);
  CHECK(world.message_of("g-001") ==
        "0/1 nodes are available: gang default/g needs 2 more members at once, and has 1 that wait for a "
        "node.");
  world.engine.put_pod(member("g", 2, 2, says));
  world.wait(20s);
  CHECK(world.bound() == 2);
}

TEST_CASE("plain pods pass gangs by") {
  Gangs world(1);
  world.put("g", 100, 100);
  world.engine.put_pod(make_pod("plain"));
  CHECK(world.bound() == 1);
  CHECK(world.last.size() > 1);
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
