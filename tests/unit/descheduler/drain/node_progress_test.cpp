// The state machine of a DrainNode: whole drains, what may come between, and what is undone.
#include "drain/node_progress.hpp"

#include "drain_cluster.hpp"
#include "koord/api/koordinator/descheduling.hpp"

namespace koord::descheduler::drain::test {
namespace {

/// Three nodes; two pods on the first, and one of a DaemonSet.
struct Drained : Cluster {
  explicit Drained(std::string_view mode = "MigrateDirectly") {
    for (const char* name : {"n1", "n2", "n9"}) add_node(name);
    add_pod("a", "n1");
    add_pod("b", "n1");
    add_pod("daemon", "n1").metadata.owner_references[0].kind = "DaemonSet";
    before = nodes_text();
    add_drain("d", "n1", mode);
  }
  api::DrainNode& drain() { return drains.at("d"); }
  std::string before;
};

TEST_CASE("a node is cordoned, room is made, and once it is confirmed its pods move there") {
  Drained c;
  c.settle();
  CHECK(c.phases("d") == "Running a=Ready b=Ready");
  REQUIRE(c.nodes.at("n1").spec.taints.size() == 1);
  CHECK(c.nodes.at("n1").spec.taints[0].key == "drain.descheduler.koordinator.sh/drain-node");
  CHECK(c.nodes.at("n1").spec.taints[0].value == "d");
  CHECK(c.nodes.at("n1").spec.taints[0].effect == "NoSchedule");
  CHECK(api::value_or(c.nodes.at("n1").metadata.labels, api::kDrainPlanningLabel) == "d");
  REQUIRE(c.reservations.size() == 2);
  c.schedule("n2");
  c.settle();
  CHECK(c.phases("d") == "Running a=Available b=Available");
  CHECK(holds(c.drain().status, "OnceAvailable"));
  CHECK(c.drain().status.pod_migrations[0].target_node == "n2");
  CHECK(c.jobs.empty());
  c.drain().spec.confirm_state = "Confirmed";
  c.settle();
  CHECK(c.phases("d") == "Running a=Migrating b=Migrating");
  REQUIRE(c.jobs.size() == 2);
  const api::PodMigrationJob& job = c.jobs.begin()->second;
  CHECK(job.spec.mode == "ReservationFirst");
  CHECK(job.spec.pod_ref->uid == c.pods.at("a").metadata.uid);
  CHECK(job.spec.reservation_options->reservation_ref->name == job.metadata.name);
  CHECK(c.pods.contains("a"));
  c.migrate();
  c.settle();
  CHECK(c.phases("d") == "Complete a=Succeed b=Succeed");
  CHECK(*c.drain().status.pod_migration_summary.find("Succeed") == 2);
  CHECK(c.pods.contains("daemon"));
  CHECK(c.events == std::vector<std::string>{"d Pending: Initialized", "d Running: Running",
                                             "d Complete: Complete, 2 pods have left"});
}

TEST_CASE("a process that ends between any two writes leaves what another one goes on with") {
  Drained whole;
  const auto drain_all = [](Drained& c) {
    c.settle();
    c.schedule("n2");
    c.settle();
    c.drain().spec.confirm_state = "Confirmed";
    c.settle();
    c.migrate();
    c.settle();
  };
  drain_all(whole);
  const int all = whole.writes;
  REQUIRE(all > 10);
  for (int cut = 0; cut < all; ++cut) {
    CAPTURE(cut);
    Drained c;
    c.writes_left = cut;
    c.settle();
    c.writes_left = -1;
    drain_all(c);
    CHECK(c.phases("d") == whole.phases("d"));
    CHECK(c.reservations.size() == 2);
    CHECK(c.jobs.size() == 2);
  }
}

TEST_CASE("an aborted drain undoes what it has done, wherever it was and wherever that is cut off") {
  enum class When { cordoned, reserved, migrating };
  for (const When when : {When::cordoned, When::reserved, When::migrating})
    for (const std::string_view how : {"Rejected", "Aborted", "label", "clean", "ttl"})
      for (int cut = 0; cut < 9; ++cut) {
        CAPTURE(static_cast<int>(when), how, cut);
        Drained c;
        c.drain().spec.ttl = api::Duration(1h);
        // What is not its own.
        c.nodes.at("n1").spec.unschedulable = true;
        c.before = c.nodes_text();
        api::Reservation foreign;
        foreign.metadata.name = "foreign";
        c.put(c.reservations, foreign);
        api::PodMigrationJob job;
        job.metadata.name = "foreign";
        job.spec.paused = true;
        job.metadata.labels[api::kDrainNodeLabel] = "d";  // it says so, but has no owner
        c.put(c.jobs, job);
        if (when == When::cordoned) c.writes_left = 2;
        c.settle();
        c.writes_left = -1;
        if (when != When::cordoned) {
          c.schedule("n2");
          c.settle();
        }
        if (when == When::migrating) {
          c.drain().spec.confirm_state = "Confirmed";
          c.settle();
          CHECK(c.jobs.size() == 3);
        }
        if (how == "label") c.drain().metadata.labels[api::kDrainAbortLabel] = "true";
        if (how == "clean") c.drain().metadata.labels[api::kDrainCleanTaintLabel] = "true";
        if (how == "ttl") c.now += 1h;
        if (how == "Rejected" || how == "Aborted") c.drain().spec.confirm_state = Symbol(how);
        c.writes_left = cut;
        c.settle();
        c.writes_left = -1;
        c.settle();
        CHECK(c.drain().status.phase == "Aborted");
        CHECK(c.nodes_text() == c.before);
        CHECK((c.reservations.size() == 1 && c.reservations.contains("foreign")));
        CHECK((c.jobs.size() == 1 && c.jobs.contains("foreign")));
        CHECK(is_undone(c.drain(), c.scene_of(c.drain())));
        CHECK(c.pods.contains("a"));
      }
}

TEST_CASE("what becomes of a pod") {
  Drained c;
  const std::string room = part_name("d", c.pods.at("a").metadata.uid);
  const auto confirmed = [&] {
    c.settle();
    c.schedule("n2");
    c.drain().spec.confirm_state = "Confirmed";
    c.settle();
  };
  SECTION("nowhere to go: it waits, and is told of") {
    c.settle();
    c.schedule("");
    c.settle();
    CHECK(c.phases("d") == "Running a=Unavailable b=Unavailable");
    CHECK(holds(c.drain().status, "UnavailableReservationExists"));
    c.schedule("n2");
    c.settle();
    CHECK(c.phases("d") == "Running a=Available b=Available");
    CHECK_FALSE(holds(c.drain().status, "UnavailableReservationExists"));
  }
  SECTION("it may not be evicted: nothing is made for it") {
    c.unevictable["a"] = "it is dear";
    confirmed();
    CHECK(c.phases("d") == "Running a=Unmigratable b=Migrating");
    CHECK(condition_of(c.drain().status, "UnmigratablePodExists")->message ==
          "unmigratable pod count: 1; default/a: it is dear");
    CHECK(c.jobs.size() == 1);
    c.migrate();
    c.settle();
    CHECK(c.phases("d") == "Complete a=Unmigratable b=Succeed");
  }
  SECTION("it may not be evicted, but the drain says that it does not matter") {
    c.unevictable["a"] = "it is dear";
    c.drain().metadata.annotations[api::kEvictAnnotation] = "true";
    confirmed();
    CHECK(c.phases("d") == "Running a=Migrating b=Migrating");
    CHECK(c.jobs.begin()->second.metadata.annotations.contains(api::kEvictAnnotation));
  }
  SECTION("nobody would make another one") {
    c.pods.at("a").metadata.owner_references.clear();
    confirmed();
    CHECK(c.phases("d") == "Running a=Unmigratable b=Migrating");
  }
  SECTION("its room is taken by another: there is other room") {
    c.settle();
    c.schedule("n2");
    c.settle();
    c.reservations.at(room).status.phase = "Succeeded";
    c.reservations.at(room).status.current_owners.emplace_back().name = "stranger";
    c.settle();
    CHECK(c.phases("d") == "Running a=Ready b=Available");
    CHECK(c.reservations.at(room).status.current_owners.empty());
  }
  SECTION("its room is gone before the drain is confirmed: nobody is evicted without") {
    c.settle();
    c.schedule("n2");
    c.settle();
    c.reservations.erase(room);
    c.drain().spec.confirm_state = "Confirmed";
    c.settle();
    CHECK(c.phases("d") == "Running a=Ready b=Migrating");
    CHECK(c.jobs.size() == 1);
  }
  SECTION("somebody else has a reservation of that name: it is left alone") {
    api::Reservation other;
    other.metadata.name = room;
    other.metadata.labels[api::kDrainNodeLabel] = "d";
    other.status.phase = "Available";
    c.put(c.reservations, other);
    confirmed();
    CHECK(c.phases("d") == "Running a=Unavailable b=Migrating");
    CHECK(c.reservations.contains(room));
  }
  SECTION("it ends by itself: its room is given up") {
    c.settle();
    c.pods.erase("a");
    c.settle();
    CHECK(c.phases("d") == "Running a=Succeed b=Ready");
    CHECK_FALSE(c.reservations.contains(room));
  }
  SECTION("its job fails: it stays, and the node is not drained") {
    confirmed();
    c.jobs.at(room).status.phase = "Failed";
    c.settle();
    CHECK(c.phases("d") == "Running a=Failed b=Migrating");
    CHECK_FALSE(c.reservations.contains(room));
    c.jobs.erase(room);  // as the scavenger does: no new one is made
    c.jobs.begin()->second.status.phase = "Succeeded";
    c.pods.erase("b");
    c.settle();
    CHECK(c.phases("d") == "Complete a=Failed b=Succeed");
    CHECK(holds(c.drain().status, "FailedMigrationJobExists"));
    CHECK(c.jobs.size() == 1);
  }
  SECTION("it never ends: the drain goes on until its time is over") {
    c.drain().spec.ttl = api::Duration(2h);
    confirmed();
    c.pods.at("a").metadata.deletion_timestamp = api::Time(c.now);
    c.now += 1h;
    c.settle();
    CHECK(c.phases("d") == "Running a=Migrating b=Migrating");
    c.now += 1h;
    c.settle();
    CHECK(c.drain().status.phase == "Aborted");
    CHECK(condition_of(c.drain().status, "Refused")->reason == "TimedOut");
    c.now += 5min;
    c.settle();
    CHECK(c.drains.empty());
  }
  SECTION("it is gone while its successor is not ready: the job knows") {
    confirmed();
    c.pods.erase("a");
    c.settle();
    CHECK(c.phases("d") == "Running a=Migrating b=Migrating");
    c.jobs.at(room).status.phase = "Failed";
    c.settle();
    CHECK(c.phases("d") == "Running a=Succeed b=Migrating");
  }
  SECTION("another one comes once it is confirmed: its job is held where that is asked for") {
    c.drain().metadata.annotations[api::kDrainPausedAfterConfirmedAnnotation] = "";
    confirmed();
    c.add_pod("late", "n1");
    c.settle();
    c.schedule("n2");
    c.settle();
    CHECK(c.phases("d") == "Running a=Migrating b=Migrating late=Migrating");
    CHECK(c.jobs.at(room).spec.paused == false);
    CHECK(c.jobs.at(part_name("d", c.pods.at("late").metadata.uid)).spec.paused);
  }
  SECTION("others keep room on the node: it is told, and nothing else") {
    api::Reservation other;
    other.metadata.name = "r";
    other.status.node_name = "n1";
    other.status.phase = "Available";
    c.put(c.reservations, other);
    confirmed();
    CHECK(condition_of(c.drain().status, "UnexpectedReservationExists")->message == "unexpectedRR: [r]");
    CHECK(c.phases("d") == "Running a=Migrating b=Migrating");
  }
}

TEST_CASE("WaitFirst lets pods end by themselves, for as long as the drain or the pod says") {
  struct Row {
    std::string_view what, policy;  // of the pod
    std::optional<api::Duration> wait;
    nanoseconds after;
    std::string_view is;
  };
  for (const Row& row : {
           Row{"an hour where nothing is said", "", {}, 59min, "Waiting"},
           Row{"and no longer", "", {}, 61min, "Ready"},
           Row{"as long as the drain says", "", api::Duration(10min), 9min, "Waiting"},
           Row{"and no longer", "", api::Duration(10min), 11min, "Ready"},
           Row{"the pod needs no waiting", R"({"mode":"MigrateDirectly"})", {}, 0min, "Ready"},
           Row{"the pod waits less", R"({"mode":"WaitFirst","waitDuration":"5m"})", {}, 6min, "Ready"},
           Row{"never longer than the drain",
               R"({"mode":"WaitFirst","waitDuration":"5h"})",
               {},
               61min,
               "Ready"},
           Row{"a mode that is none", R"({"mode":"x","waitDuration":"1s"})", {}, 5min, "Waiting"},
           Row{"a policy that cannot be read", "{", {}, 61min, "Unmigratable"},
       }) {
    CAPTURE(row.what);
    Drained c("WaitFirst");
    c.pods.erase("b");
    c.drain().spec.migration_policy.wait_duration = row.wait;
    if (!row.policy.empty())
      c.pods.at("a").metadata.annotations[api::kDrainMigrationPolicyAnnotation] = Symbol(row.policy);
    c.settle();
    c.now += row.after;
    c.settle();
    CHECK(c.drain().status.pod_migrations.at(0).phase == row.is);
    if (row.is != "Waiting") continue;
    const NodeStep step = next_step(c.drain(), c.scene_of(c.drain()), c.now);
    REQUIRE(step.wake_at.has_value());
    CHECK(*step.wake_at > c.now);
  }
}

TEST_CASE("EvictDirectly makes no room") {
  Drained c;
  c.drain().spec.migration_policy.job_mode = "EvictDirectly";
  c.pods.at("a").metadata.owner_references.clear();
  c.settle();
  CHECK(c.phases("d") == "Running a=Available b=Available");
  c.drain().spec.confirm_state = "Confirmed";
  c.settle();
  CHECK(c.reservations.empty());
  REQUIRE(c.jobs.size() == 2);
  CHECK(c.jobs.begin()->second.spec.mode == "EvictDirectly");
}

TEST_CASE("DrainNodes that are refused, and why") {
  const auto why = [](Cluster& c) {
    c.settle();
    CHECK(c.drains.at("d").status.phase == "Aborted");
    const api::DrainNodeCondition* refused = condition_of(c.drains.at("d").status, "Refused");
    return refused ? refused->reason + ": " + refused->message : std::string();
  };
  SECTION("another one has the node") {
    Drained c;
    c.settle();
    c.add_drain("e", "n1");
    c.settle();
    CHECK(c.phases("e") == "Aborted");
    CHECK(condition_of(c.drains.at("e").status, "Refused")->message ==
          R"(spec.nodeName: node "n1" is drained by DrainNode "d")");
    CHECK(c.drain().status.phase == "Running");
    CHECK(marked_by(c.nodes.at("n1")) == "d");
  }
  SECTION("there is no such node") {
    Cluster c;
    c.add_drain("d", "nowhere");
    CHECK(why(c) == R"(NoSuchNode: spec.nodeName: there is no node "nowhere")");
  }
  SECTION("its name is too long for labels") {
    Cluster c;
    c.add_node("n");
    const std::string name(64, 'x');
    c.add_drain(name, "n");
    c.settle();
    CHECK(c.drains.at(name).status.phase == "Aborted");
    CHECK(condition_of(c.drains.at(name).status, "Refused")->reason == "NameTooLong");
    CHECK(marked_by(c.nodes.at("n")).empty());
  }
}

TEST_CASE("a drained node stays marked until its drain is given up or its time is over") {
  Drained c;
  c.pods.clear();
  c.drain().spec.ttl = api::Duration(1h);
  c.settle();
  CHECK(c.drain().status.phase == "Complete");
  CHECK(marked_by(c.nodes.at("n1")) == "d");
  SECTION("a pod comes all the same: it is told, and nothing is done to it") {
    c.add_pod("late", "n1");
    c.settle();
    CHECK(c.phases("d") == "Complete late=Waiting");
    CHECK(holds(c.drain().status, "UnexpectedPodAfterCompleteExists"));
    CHECK(c.reservations.empty());
    c.pods.erase("late");
    c.settle();
    CHECK_FALSE(holds(c.drain().status, "UnexpectedPodAfterCompleteExists"));
  }
  SECTION("given up") {
    c.drain().spec.confirm_state = "Aborted";
    c.settle();
    CHECK(c.drain().status.phase == "Complete");
    CHECK(c.nodes_text() == c.before);
  }
  SECTION("its time is over") {
    c.now += 64min;
    c.settle();
    CHECK(marked_by(c.nodes.at("n1")) == "d");
    c.now += 1min;
    c.settle();
    CHECK(c.drains.empty());
    CHECK(c.nodes_text() == c.before);
  }
}

}  // namespace
}  // namespace koord::descheduler::drain::test
