// Preemption and reservations: those that have pods removed, and what goes back where when owners have to go.
#include <catch2/catch.hpp>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/types/policy_v1/pod_disruption_budget.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"
#include "reservation_rig.hpp"

namespace koord::scheduling::test {
namespace {

using Kind = Decision::Kind;
using namespace std::chrono_literals;
using RW = ReservationWorld;

constexpr std::int32_t kSystemCritical = 2'000'000'000;

/// Reservation preempts; with DefaultPreemption after it.
KubeSchedulerConfiguration preempting(bool and_default = false) {
  KubeSchedulerConfiguration c = RW::config(and_default);
  PluginConfig& args = c.profiles[0].plugin_config.emplace_back();
  args.name = "Reservation";
  args.args = api::RawJson(R"({"enablePreemption":true})");
  return c;
}

/// Of so many CPUs. `spec` is more of its template, each with a comma behind it.
std::shared_ptr<const api::Reservation> reservation(std::string name, int cpu, std::string spec = {},
                                                    const ReservationEdit& edit = {}) {
  return make_reservation(std::move(name), "1", [&](api::Reservation& r) {
    r.spec.template_.text = fmt::format(
        R"({{"spec":{{{}"containers":[{{"resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}})", spec, cpu);
    if (edit) edit(r);
  });
}
std::string of_priority(std::int32_t priority) { return fmt::format(R"("priority":{},)", priority); }

PodEdit running(std::int32_t priority, std::string node = "n", const PodEdit& edit = {}) {
  return [=](api::Pod& p) {
    p.spec.priority = priority;
    p.spec.node_name = Symbol(node);
    if (edit) edit(p);
  };
}
std::shared_ptr<const api::Pod> pod(std::string name, int cpu, const PodEdit& edit) {
  return make_pod(std::move(name), std::to_string(cpu), "", edit);
}
/// As it is once it was asked to go, and has not gone yet.
std::shared_ptr<const api::Pod> ending(const std::shared_ptr<const api::Pod>& victim) {
  return changed(victim, [](api::Pod& p) {
    p.metadata.deletion_timestamp = api::Time(WallTime(1s));
    p.status.conditions.push_back(
        {.type = "DisruptionTarget", .status = "True", .reason = "PreemptionByScheduler"});
  });
}

/// "node: victims", or what is said.
std::string outcome(const Decision& d) {
  if (!d.nominate() || d.nominate()->empty()) return d.message();
  std::string all = fmt::format("{}:", d.nominate()->view());
  for (const auto& victim : d.preemption().victims)
    all +=
        fmt::format(" {}", is_placeholder(*victim.pod) ? described(*victim.pod) : victim.pod->metadata.name);
  return all;
}

TEST_CASE("a reservation that fits nowhere has pods removed, and is placed once they are gone") {
  RW w(preempting());
  w.engine.put_node(make_node("n"));
  const auto low = pod("low", 2, running(0)), other = pod("other", 1, running(200));
  w.engine.put_pod(low);
  w.engine.put_pod(other);
  const auto r = reservation("r", 3, of_priority(100));
  w.engine.put_object(r);
  const Decision asked = w.one();
  CHECK(described(*asked.pod) == "reservation r");
  CHECK(asked.message() == "0/1 nodes are available: 1 Insufficient cpu.");
  CHECK(outcome(asked) == "n: low");
  // What the failure writes into it comes back, and its nomination is nowhere but here.
  w.engine.put_object(changed(r, [&](api::Reservation& x) {
    reservation::set_unschedulable(x, asked.message(), w.clock.now());
    x.metadata.resource_version = "2";
  }));
  CHECK(w.engine.nominator().size() == 1);
  // Nobody of its priority, or a lower one, takes what becomes free for it.
  w.engine.put_pod(pod("small", 1, [](api::Pod& p) { p.spec.priority = 100; }));
  CHECK(w.one().message().starts_with("0/1 nodes are available: 1 Insufficient cpu."));

  // Until its victims have been asked it asks nobody else.
  w.engine.remove_pod(*other);
  w.clock.advance(1min);
  const auto tried = [&] {
    std::string said;
    for (const Decision& d : w.run())
      if (described(*d.pod) == "reservation r") {
        said = d.kind() == Kind::bind ? "bound" : d.message();
        CHECK(d.preemption().victims.empty());
      }
    return said;
  };
  CHECK(tried().ends_with("preemption: not eligible while its victims are being asked to go."));
  w.engine.put_pod(ending(low));
  w.engine.preempted(*asked.pod, true);
  CHECK(tried().ends_with("preemption: not eligible due to a terminating pod on the nominated node."));
  // However long that takes.
  for (int i = 0; i < 3; ++i) {
    const auto passing = pod("passing", 1, running(0, "m"));
    w.engine.put_pod(passing);
    w.engine.remove_pod(*passing);
    w.clock.advance(1min);
    CHECK(tried().ends_with("preemption: not eligible due to a terminating pod on the nominated node."));
    CHECK(w.engine.nominator().size() == 1);
  }
  w.engine.remove_pod(*low);
  w.clock.advance(1min);
  CHECK(tried() == "bound");
  CHECK(w.used(kCpu, "n") >= 3000);
  w.put_on(r, "n");
  CHECK(w.engine.nominator().size() == 0);
}

TEST_CASE("whom a reservation has removed") {
  struct Row {
    const char* name;
    std::vector<std::shared_ptr<const api::Pod>> there;
    std::shared_ptr<const api::Reservation> reservation;
    std::string outcome;
  };
  const auto spared =
      running(0, "n", [](api::Pod& p) { p.metadata.labels[api::kDisablePreemptibleLabel] = "true"; });
  const auto named = [](const char* value) {
    return running(0, "n", [=](api::Pod& p) { p.metadata.labels[api::kDisablePreemptibleLabel] = value; });
  };
  const std::string refused = "0/1 nodes are available: 1 Insufficient cpu. preemption: ";
  const std::string nobody =
      refused + "0/1 nodes are available: 1 No preemption victims found for incoming pod.";
  const Row rows[] = {
      {"the fewest of a lower priority",
       {pod("a", 1, running(0)), pod("b", 2, running(50)), pod("c", 1, running(200))},
       reservation("r", 1, of_priority(100)),
       "n: a"},
      {"not those of its own", {pod("a", 4, running(100))}, reservation("r", 1, of_priority(100)), nobody},
      {"not those who may not be", {pod("a", 4, spared)}, reservation("r", 1, of_priority(100)), nobody},
      {"but others beside them",
       {pod("a", 2, spared), pod("b", 2, running(90))},
       reservation("r", 1, of_priority(100)),
       "n: b"},
      {"and those whose label says another thing",
       {pod("a", 4, named("yes"))},
       reservation("r", 1, of_priority(100)),
       "n: a"},
      {"as its template says",
       {pod("a", 4, running(0))},
       reservation("r", 1, R"("priority":100,"preemptionPolicy":"Never",)"),
       refused + "not eligible due to preemptionPolicy=Never."},
      {"any user's, where it says no priority",
       {pod("a", 4, running(1'000'000'000))},
       reservation("r", 1),
       "n: a"},
      {"its label's, which it may say instead",
       {pod("a", 4, running(100))},
       reservation("r", 1, "",
                   [](api::Reservation& r) { r.metadata.labels[api::kSubPriorityLabel] = "100"; }),
       nobody},
      {"but not the system's", {pod("a", 4, running(kSystemCritical))}, reservation("r", 1), nobody},
      {"unless it says a higher one",
       {pod("a", 4, running(kSystemCritical))},
       reservation("r", 1, of_priority(kSystemCritical + 1)),
       "n: a"},
      {"nobody in vain",
       {pod("a", 2, running(0)), pod("b", 2, running(200))},
       reservation("r", 3, of_priority(100)),
       refused + "0/1 nodes are available: 1 Insufficient cpu."},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    // What a reservation may not do, DefaultPreemption does not do for it.
    for (const bool and_default : {false, true}) {
      RW w(preempting(and_default));
      w.engine.put_node(make_node("n"));
      for (const auto& each : row.there) w.engine.put_pod(each);
      w.engine.put_object(row.reservation);
      CHECK(outcome(w.one()) == row.outcome);
    }
  }
}

TEST_CASE("by default a reservation has nobody removed, and pods preempt as ever") {
  for (const bool and_default : {false, true}) {
    RW w(and_default);
    w.engine.put_node(make_node("n"));
    w.engine.put_pod(pod("low", 3, running(0)));
    w.engine.put_object(reservation("r", 2, of_priority(100)));
    const Decision d = w.one();
    CHECK(d.message() == "0/1 nodes are available: 1 Insufficient cpu.");
    CHECK_FALSE(d.preemption().tried);
    w.engine.put_pod(pod("p", 2, [](api::Pod& p) { p.spec.priority = 100; }));
    CHECK(outcome(w.one()) == (and_default ? "n: low" : "0/1 nodes are available: 1 Insufficient cpu."));
  }
}

TEST_CASE("a reservation respects budgets as far as there is a choice") {
  const auto budget = [](int allowed) -> std::shared_ptr<const api::PodDisruptionBudget> {
    auto made = std::make_shared<api::PodDisruptionBudget>();
    made->metadata.name = "kept";
    made->metadata.namespace_ = "default";
    made->spec.selector.ensure().match_labels["app"] = "kept";
    made->status.disruptions_allowed = allowed;
    return made;
  };
  const auto app = [](api::Pod& p) { p.metadata.labels["app"] = "kept"; };
  RW w(preempting());
  for (const char* node : {"n", "m"}) w.engine.put_node(make_node(node));
  w.engine.put_pod(pod("kept", 4, running(0, "n", app)));
  w.engine.put_pod(pod("a", 2, running(50, "m")));
  w.engine.put_pod(pod("b", 2, running(50, "m", app)));
  w.engine.put_object(budget(0));
  const auto place = [&](int cpu) {
    const auto r = reservation("r", cpu, of_priority(100));
    w.engine.put_object(r);
    const Decision d = w.one();
    w.engine.remove_object(r);
    w.engine.preempted(*d.pod, true);
    return outcome(d);
  };
  CHECK(place(2) == "m: a");
  // No way around it: the least loss.
  CHECK(place(4) == "n: kept");
  w.engine.put_object(budget(1));
  CHECK(place(2) == "n: kept");
}

TEST_CASE("victims that live in reservations make room there, and nowhere else") {
  RW w(preempting());
  w.engine.put_node(make_node("n"));
  const auto there = w.put_on(reservation("there", 3, of_priority(50)), "n");
  w.put_owner("owner", "2", "n", "uid-of-there", [](api::Pod& p) { p.spec.priority = 40; });
  const auto ask = [&](int cpu, int priority) {
    const auto r = reservation("r", cpu, of_priority(priority));
    w.engine.put_object(r);
    const Decision d = w.one();
    w.engine.remove_object(r);
    w.engine.preempted(*d.pod, true);
    return outcome(d);
  };
  // Without its owner the reservation keeps all of its room.
  CHECK(ask(2, 45).ends_with(
      "preemption: 0/1 nodes are available: 1 node(s) preemption failed due to insufficient resources."));
  // Without the reservation its owner keeps what it has.
  CHECK(ask(2, 60) == "n: reservation there");
  CHECK(ask(4, 60) == "n: reservation there owner");
  CHECK(ask(2, 50).find("preemption failed") != std::string::npos);
  // It fails, and its owner stays.
  w.engine.put_object(changed(there, [&](api::Reservation& r) {
    reservation::set_preempted(
        r, "default-scheduler: preempting to accommodate a higher priority reservation", w.clock.now());
  }));
  CHECK(w.used(kCpu, "n") == 2000);
  w.engine.put_object(reservation("r", 2, of_priority(60)));
  CHECK(w.one().kind() == Kind::bind);
}

TEST_CASE("a reservation that makes room says that its time is up, and for whom") {
  const reservation::ReservePods kind;
  const WallTime now(100s);
  auto there = changed(reservation("r", 1), [&](api::Reservation& r) {
    reservation::set_available(r, Symbol("n"), WallTime(1s));
  });
  const Preemptor by{.profile = "koord-scheduler", .word = "pod", .now = now};
  const Eviction how = kind.evicted(there.get(), by);
  CHECK_FALSE(how.removed);
  REQUIRE(how.told.has_value());
  CHECK(how.told->subresource == "status");
  api::Reservation after = *there;
  reservation::set_preempted(after, "koord-scheduler: preempting to accommodate a higher priority pod", now);
  CHECK(after.status.phase == "Failed");
  CHECK(reservation::is_expired(after));
  CHECK(api::encode(after.status).find("preempting to accommodate a higher priority pod") !=
        std::string::npos);
  CHECK_FALSE(kind.evicted(&after, by).told.has_value());
}

TEST_CASE("what is said of reservations stands after what is said of preemption") {
  const auto owner = [](const char* policy) {
    return pod("p", 3, [=](api::Pod& p) {
      p.metadata.labels["app"] = "r";
      p.spec.priority = 9999;
      p.spec.preemption_policy = policy;
    });
  };
  const std::string preemption = "preemption: not eligible due to preemptionPolicy=Never.",
                    reservations = "1 Reservation(s) is unschedulable, 1 Reservation(s) matched owner total";
  struct Row {
    const char* name;
    bool preempts, reserved;
    std::string after;
  };
  const Row rows[] = {
      {"nothing of reservations", false, false, ""},
      {"without preemption", false, true, " " + reservations},
      {"with it", true, true, fmt::format(" {}, {}", preemption, reservations)},
      {"with it alone", true, false, " " + preemption},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    RW w(row.preempts ? preempting() : RW::config(false));
    w.engine.put_node(make_node("n"));
    w.engine.put_pod(pod("low", 2, running(0)));
    if (row.reserved)
      w.put_on(reservation("r", 2, of_priority(9000)), "n",
               [](api::Reservation& r) { r.spec.unschedulable = true; });
    w.engine.put_pod(owner("Never"));
    const Decision d = w.one();
    CHECK(d.message() == "0/1 nodes are available: 1 Insufficient cpu." + row.after);
    CHECK(d.preemption().tried == row.preempts);
  }
  RW w(preempting());
  w.engine.put_node(make_node("n"));
  w.engine.put_pod(pod("low", 2, running(0)));
  w.engine.put_pod(owner("PreemptLowerPriority"));
  CHECK(outcome(w.one()) == "n: low");
}

TEST_CASE("an owner preempts in its reservation, beside it, or both") {
  // A node of 32 CPUs that is full, and a reservation of 6 there that is, too: of each a part is of a low
  // priority. The pod wants 4. NodeResourcesFit, which is asked first, says that a node lacks something.
  struct Row {
    const char *name, *policy, *affinity;
    int low_there, low_beside;
    bool two;  // another reservation of 4 has one pod of 1, of a high priority
    std::string outcome;
  };
  const Row rows[] = {
      {"in it", "", "{}", 4, 0, false, "n: there"},
      {"both", "", "{}", 2, 2, false, "n: beside there"},
      {"too little in it", "", "{}", 2, 0, false, "1 Insufficient cpu."},
      {"too little beside it", "", "{}", 0, 2, false, "1 Insufficient cpu."},
      {"beside an aligned one", "Aligned", "{}", 0, 4, false, "n: beside"},
      {"in a restricted one", "Restricted", "{}", 4, 0, false, "n: there"},
      {"by its name", "Restricted", R"({"name":"r"})", 4, 0, false, "n: there"},
      {"no more than it needs", "Restricted", "{}", 4, 4, false, "n: there"},
      {"beside a restricted one", "Restricted", "{}", 0, 4, false, "1 Reservation(s) Insufficient cpu."},
      {"a part of it each", "Restricted", "{}", 2, 2, false, "1 Reservation(s) Insufficient cpu."},
      {"the same by its name", "Restricted", R"({"name":"r"})", 2, 2, false,
       "1 Reservation(s) Insufficient cpu, requested: 4000, used: 4000, capacity: 6000."},
      {"beside two of them", "Restricted", "{}", 0, 4, true, "2 Reservation(s) Insufficient cpu."},
      {"in one of two", "Restricted", "{}", 4, 0, true, "n: there"},
      // Without affinity the node's own room will do, too.
      {"beside, if that is enough", "Restricted", nullptr, 0, 4, false, "n: beside"},
      {"nobody's but its owners'", "", "other", 4, 0, false,
       "1 node(s) preemption failed due to insufficient resources."},
      {"beside, for others", "", "other", 4, 4, false, "n: beside"},
      {"too little beside, for others", "", "other", 0, 2, false, "1 Insufficient cpu."},
  };
  const auto priority = [](std::int32_t value, const char* name) {
    return [=](api::Pod& p) {
      p.spec.priority = value;
      p.metadata.labels["name"] = name;
    };
  };
  for (const bool by_default : {true, false}) {
    for (const Row& row : rows) {
      INFO(row.name << (by_default ? ", DefaultPreemption" : ", Reservation"));
      RW w(by_default ? RW::config(true) : preempting());
      w.engine.put_node(make_node("n", "32"));
      const auto policy = [&](api::Reservation& r) {
        r.spec.allocate_policy = row.policy;
        r.spec.owners[0].label_selector->match_labels["app"] = "r";
      };
      w.put_on(reservation("r", 6, "", policy), "n");
      if (row.low_there > 0)
        w.put_owner("there", std::to_string(row.low_there), "n", "uid-of-r", priority(0, "low"));
      if (row.low_there < 6)
        w.put_owner("high-there", std::to_string(6 - row.low_there), "n", "uid-of-r", priority(1000, "high"));
      if (row.two) {
        w.put_on(reservation("two", 4, "", policy), "n");
        w.put_owner("in-two", "1", "n", "uid-of-two", priority(1000, "high"));
      }
      if (row.low_beside > 0) w.engine.put_pod(pod("beside", row.low_beside, running(0)));
      w.engine.put_pod(pod("high", 26 - row.low_beside - (row.two ? 4 : 0), running(1000)));
      const bool other = row.affinity != nullptr && std::string(row.affinity) == "other";
      w.engine.put_pod(pod("p", 4, [&](api::Pod& p) {
        p.spec.priority = 100;
        p.metadata.labels["app"] = other ? "x" : "r";
        if (row.affinity != nullptr && !other)
          p.metadata.annotations[api::ReservationAffinity::kAnnotation] = row.affinity;
      }));
      const std::string said = outcome(w.one());
      if (row.outcome.starts_with("n:"))
        CHECK(said == row.outcome);
      else
        CHECK_THAT(said, Catch::Matchers::Contains("preemption: 0/1 nodes are available: " + row.outcome));
    }
  }
}

TEST_CASE("an owner takes the place of one in its reservation, and others do not") {
  RW w(preempting());
  w.engine.put_node(make_node("n", "4", "8Gi"));
  w.put_on(reservation("r", 4), "n");
  const auto low = w.put_owner("low", "4", "n", "uid-of-r");
  const auto high = [](const char* app) {
    return pod("high", 4, [=](api::Pod& p) {
      p.spec.priority = kSystemCritical;
      p.metadata.labels["app"] = app;
    });
  };
  w.engine.put_pod(high("other"));
  Decision d = w.one();
  CHECK(d.preemption().victims.empty());
  CHECK(d.nominate() == Symbol());
  w.engine.remove_pod(*d.pod);
  w.engine.put_pod(high("r"));
  d = w.one();
  CHECK(outcome(d) == "n: low");
  w.engine.preempted(*d.pod, true);
  w.engine.remove_pod(*low);
  w.clock.advance(1min);
  d = w.one();
  REQUIRE(d.kind() == Kind::bind);
  CHECK(RW::given(d) == R"({"name":"r","uid":"uid-of-r"})");
}

TEST_CASE("who is started between a reservation's preemption and its place asks nobody else") {
  // It was nominated to m; nobody has written that down.
  RW w(preempting());
  for (const char* node : {"l", "m", "n"}) w.engine.put_node(make_node(node));
  w.engine.put_pod(pod("on-l", 4, running(0, "l")));
  const auto victim = ending(pod("on-m", 3, running(50, "m")));
  w.engine.put_pod(victim);
  w.engine.put_pod(pod("stays", 1, running(50, "m")));
  // Ends by itself, and leaves too little.
  w.engine.put_pod(ending(pod("on-n", 1, running(0, "n"))));
  w.engine.put_pod(pod("rest-of-n", 3, running(0, "n")));
  int cpu = 3;
  SECTION("it waits for those who go") {
    w.engine.put_object(reservation("r", cpu, of_priority(100)));
    Decision d = w.one();
    CHECK(outcome(d) == "m:");
    CHECK(d.preemption().tried);
    w.engine.remove_pod(*victim);
    w.clock.advance(1min);
    d = w.one();
    REQUIRE(d.kind() == Kind::bind);
    CHECK(d.node() == Symbol("m"));
  }
  SECTION("if they are enough") {
    cpu = 4;
    w.engine.put_object(reservation("r", cpu, of_priority(100)));
    CHECK(outcome(w.one()) == "l: on-l");
  }
  SECTION("a pod's status says where it goes: it looks for the least loss") {
    w.engine.put_pod(pod("p", 3, [](api::Pod& p) { p.spec.priority = 100; }));
    CHECK(outcome(w.one()) != "m:");
  }
}

TEST_CASE("victims that cannot be asked are asked again after the reservation's backoff") {
  RW w(preempting());
  w.engine.put_node(make_node("n"));
  const auto low = pod("low", 3, running(0));
  w.engine.put_pod(low);
  w.engine.put_object(reservation("r", 3, of_priority(100)));
  Decision d = w.one();
  int asked = 1;
  for (int second = 0; second < 60; ++second) {
    w.engine.preempted(*d.pod, false);
    for (const Decision& again : w.run()) asked += outcome(again) == "n: low";
    w.clock.advance(1s);
  }
  CHECK(asked > 5);
  CHECK(asked < 11);
  w.clock.advance(20s);
  w.run();
  w.engine.preempted(*d.pod, true);
  w.engine.remove_pod(*low);
  w.clock.advance(20s);
  CHECK(w.one().kind() == Kind::bind);
}

TEST_CASE("a reservation takes back the nominations of lower ones") {
  RW w(preempting());
  w.engine.put_node(make_node("n"));
  w.engine.put_pod(pod("low", 4, running(0)));
  w.engine.put_object(reservation("first", 3, of_priority(100)));
  CHECK(outcome(w.one()) == "n: low");
  w.engine.put_object(reservation("second", 3, of_priority(200)));
  const Decision d = w.one();
  CHECK(outcome(d) == "n: low");
  REQUIRE(d.preemption().nominations.size() == 1);
  CHECK(described(*d.preemption().nominations[0].pod) == "reservation first");
}

}  // namespace
}  // namespace koord::scheduling::test
