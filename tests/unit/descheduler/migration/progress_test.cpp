// The state machine of a migration: whole runs, every step from the objects alone, and what may come between.
#include "migration/jobs/progress.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "koord/api/koordinator/migration.hpp"
#include "koord/api/schema/codec.hpp"
#include "migration/jobs/conditions.hpp"
#include "migration/jobs/made_by.hpp"

namespace koord::descheduler::migration::test {
namespace {

using namespace std::chrono_literals;
using Act = Step::Act;

/// A cluster of one job, one pod and one reservation; no more is remembered than what is written there.
struct Cluster {
  WallTime now = api::Time::parse("2026-01-02T03:00:00Z")->wall();
  std::optional<api::PodMigrationJob> job;
  std::optional<api::Pod> pod, successor;
  Spare spare = Spare::none;
  std::optional<api::Reservation> reservation;
  std::string refusal;  // of evictions
  int evictions = 0, writes = 0;
  std::vector<std::string> events;

  explicit Cluster(std::string_view mode = "ReservationFirst") {
    job.emplace();
    job->metadata.name = "job";
    job->metadata.creation_timestamp = api::Time(now);
    job->metadata.annotations[api::kPassedArbitrationAnnotation] = Symbol("true");
    job->metadata.annotations[api::kEvictReasonAnnotation] = Symbol("hot");
    job->spec.mode = Symbol(mode);
    job->spec.ttl = api::Duration(5min);
    job->spec.pod_ref.ensure().namespace_ = Symbol("default");
    job->spec.pod_ref->name = "a";
    job->spec.pod_ref->uid = "1";
    pod = make_pod("a", "1", "node-0");
  }
  static api::Pod make_pod(std::string name, std::string uid, std::string_view node) {
    api::Pod made;
    made.metadata.namespace_ = Symbol("default");
    made.metadata.name = std::move(name);
    made.metadata.uid = std::move(uid);
    made.spec.node_name = Symbol(node);
    return made;
  }

  /// As a process would that has just begun: the objects go through their text, as from the API server.
  Act step() {
    job = *api::decode<api::PodMigrationJob>(api::encode(*job));
    const Scene scene{.pod = pod ? &*pod : nullptr,
                      .reservation = reservation ? &*reservation : nullptr,
                      .successor = successor ? &*successor : nullptr,
                      .spare = spare};
    Step next = next_step(*job, scene, "ReservationFirst", now);
    carry_out(next);
    return next.act;
  }
  void carry_out(Step& next) {
    if (next.act == Act::kPinPod) job->spec.pod_ref->uid = pod->metadata.uid;
    if (next.act == Act::kCreateReservation) {
      reservation.emplace().metadata.name = "r";
      reservation->metadata.labels[kCreatedByLabel] = Symbol(kCreator);
      reservation->spec.owners.emplace_back().controller.ensure().owner.uid = "set";
      job->spec.reservation_options.ensure().reservation_ref.ensure().name = "r";
    }
    if (next.act == Act::kDeleteReservation) reservation.reset();
    if (next.act == Act::kEvict) {
      ++evictions;
      if (refusal.empty()) {
        pod->metadata.deletion_timestamp = api::Time(now);
      } else {
        next = after_failed_eviction(*job, refusal, now);
        if (next.act == Act::kWait) return;
      }
    }
    if (next.status) {
      job->status = *next.status;
      ++writes;
    }
    if (next.event) events.push_back(next.event->reason + ": " + next.event->note);
  }
  /// Until it waits for somebody else.
  void run() {
    for (int i = 0; i < 30; ++i)
      if (step() == Act::kWait) return;
    FAIL("it never waits");
  }
  void assign(std::string_view node) {
    reservation->status.phase = Symbol("Available");
    reservation->status.node_name = Symbol(node);
    reservation->status.conditions.clear();
    reservation_says("Scheduled", "Scheduled", "True");
  }
  void reservation_says(std::string_view type, std::string_view reason, std::string_view status,
                        std::string message = {}) {
    api::ReservationCondition& condition = reservation->status.conditions.emplace_back();
    condition.type = Symbol(type);
    condition.reason = Symbol(reason);
    condition.status = Symbol(status);
    condition.message = std::move(message);
  }
  void bind() {
    successor = make_pod("b", "2", "node-1");
    reservation->status.phase = Symbol("Succeeded");
    api::ObjectReference& owner = reservation->status.current_owners.emplace_back();
    owner.namespace_ = Symbol("default");
    owner.name = "b";
    owner.uid = "2";
  }
  void make_ready() {
    api::PodCondition condition;
    condition.type = Symbol("Ready");
    condition.status = Symbol("True");
    successor->status.conditions.push_back(condition);
  }
  std::string says() const {
    const api::PodMigrationJobStatus& s = job->status;
    return std::string(s.phase.view()) + "|" + std::string(s.status.view()) + "|" +
           std::string(s.reason.view()) + "|" + s.message;
  }
};

TEST_CASE("who lost the reservation says that it waits for another one, once, and goes on with that") {
  Cluster c;
  c.run();
  c.assign("node-1");
  c.bind();
  c.spare = Spare::perhaps;
  c.run();
  CHECK(c.says() ==
        "Running|ReservationScheduled|WaitForSpareReservation|Reservation \"r\" is bound by another Pod, "
        "waiting "
        "for the one that another migration of the workload may leave");
  REQUIRE_FALSE(c.events.empty());
  CHECK(c.events.back() == "WaitForSpareReservation: " + c.job->status.message);
  const auto writes = c.writes;
  c.run();
  CHECK(c.writes == writes);
  CHECK(c.evictions == 0);
  c.spare = Spare::there;
  c.run();
  CHECK(c.says() ==
        "Running|Eviction|Evicting|Pod \"default/a\" evicted from node \"node-0\" by the reason \"hot\"");
}

TEST_CASE("a migration with a reservation, each step by a process that knows nothing of those before") {
  Cluster c;
  c.run();
  CHECK(c.says() == "Running|ReservationCreated||");
  REQUIRE(c.reservation);
  c.reservation_says("Scheduled", "Unschedulable", "False", "0/3 nodes");
  c.run();
  CHECK(c.says() == "Running|ReservationScheduled|Unschedulable|0/3 nodes");
  CHECK(c.evictions == 0);
  c.assign("node-1");
  c.run();
  CHECK(c.job->status.node_name == "node-1");
  CHECK(c.evictions == 1);
  CHECK(c.says() ==
        "Running|Eviction|Evicting|Pod \"default/a\" evicted from node \"node-0\" by the reason \"hot\"");
  c.pod.reset();
  c.run();
  CHECK(c.says() == "Running|PodBoundReservation|WaitForPodBindReservation|");
  c.bind();
  c.run();
  CHECK(c.says() == "Running|BoundPodReady|WaitForBoundPodReady|");
  CHECK(c.job->status.pod_ref->name == "b");
  c.make_ready();
  c.run();
  CHECK(c.says() == "Succeeded|Complete||Bind Pod \"default/b\" in Reservation \"r\"");
  CHECK(c.events == std::vector<std::string>{
                        "ReservationCreated: Successfully create Reservation \"r\"",
                        "Unschedulable: 0/3 nodes",
                        "ReservationScheduled: Assigned Reservation \"r\" to node \"node-1\"",
                        "Evicting: Pod \"default/a\" evicted from node \"node-0\" by the reason \"hot\"",
                        "EvictComplete: Pod \"default/a\" has been evicted",
                        "WaitForPodBindReservation: Waiting for Pod bind Reservation",
                        "PodBoundReservation: Reservation bound by pod \"default/b\"",
                        "WaitForBoundPodReady: Waiting for Bound Pod default/b Ready",
                        "BoundPodReady: Bind pod \"default/b\" is ready",
                        "Complete: Bind Pod \"default/b\" in Reservation \"r\"",
                    });
  std::string conditions;
  for (const api::PodMigrationJobCondition& condition : c.job->status.conditions)
    conditions += std::string(condition.type.view()) + "=" + std::string(condition.status.view()) + " ";
  CHECK(conditions ==
        "ReservationCreated=True ReservationScheduled=True Eviction=True PodBoundReservation=True "
        "ReservationBound=True BoundPodReady=True ");
}

TEST_CASE("nobody is told that a user's Reservation was created") {
  Cluster c;
  c.reservation.emplace().metadata.name = "r";
  c.reservation->spec.owners.emplace_back().controller.ensure().owner.uid = "set";
  c.job->spec.reservation_options.ensure().reservation_ref.ensure().name = "r";
  c.run();
  CHECK(c.says() == "Running|ReservationCreated||");
  CHECK(c.events.empty());
}

TEST_CASE("a pod that is evicted directly") {
  Cluster c("EvictDirectly");
  c.run();
  CHECK(c.evictions == 1);
  CHECK(!c.reservation);
  c.pod.reset();
  c.run();
  CHECK(c.says() == "Succeeded|Complete||Pod \"default/a\" has been evicted");
}

TEST_CASE("what ends a job, and what holds it") {
  struct Row {
    const char* name;
    std::function<void(Cluster&)> change;
    std::string says;
  };
  const auto with_reservation = [](Cluster& c) { c.run(); };
  const Row rows[] = {
      {"not arbitrated, whatever has been written to it since",
       [](Cluster& c) {
         c.job->metadata.annotations.erase(api::kPassedArbitrationAnnotation);
         c.job->metadata.labels["touched"] = Symbol("yes");
       },
       "|||"},
      {"arbitrated by a process that has ended",
       [](Cluster& c) {
         c.job->metadata.annotations["koordinator.sh/job-created-by"] = Symbol("another process");
       },
       "Running|ReservationCreated||"},
      {"paused", [](Cluster& c) { c.job->spec.paused = true; }, "|||"},
      {"no pod is named", [](Cluster& c) { c.job->spec.pod_ref->name.clear(); },
       "Failed||InvalidPodRef|Abort job caused by invalid PodRef"},
      {"the pod is gone", [](Cluster& c) { c.pod.reset(); },
       "Failed||MissingPod|Abort job caused by missing Pod \"default/a\""},
      {"another pod has its name", [](Cluster& c) { c.pod->metadata.uid = "9"; },
       "Failed||MissingPod|Abort job caused by missing Pod \"default/a\""},
      {"its time is over", [](Cluster& c) { c.now += 5min; }, "Failed||Timeout|Abort job caused by timeout"},
      {"without a time it never is",
       [](Cluster& c) {
         c.job->spec.ttl.reset();
         c.now += 24h;
       },
       "Running|ReservationCreated||"},
      {"the reservation has gone",
       [&](Cluster& c) {
         with_reservation(c);
         c.reservation.reset();
       },
       "Failed|ReservationCreated|MissingReservation|Abort job caused by missing Reservation \"/r\""},
      {"the reservation has expired",
       [&](Cluster& c) {
         with_reservation(c);
         c.reservation->status.phase = Symbol("Failed");
         c.reservation_says("Ready", "Expired", "False");
       },
       "Failed|ReservationCreated|ReservationExpired|Reservation expired"},
      {"the reservation is on the pod's own node",
       [&](Cluster& c) {
         with_reservation(c);
         c.assign("node-0");
       },
       "Failed|ReservationCreated|ForbiddenMigratePod|Scheduler assignes the Reservation \"r\" on the same "
       "node as the Pod"},
      {"somebody else has the reservation before anybody is evicted",
       [&](Cluster& c) {
         with_reservation(c);
         c.assign("node-1");
         c.bind();
       },
       "Failed|ReservationScheduled|ForbiddenMigratePod|Reservation is already bound by another Pod"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Cluster c;
    row.change(c);
    c.run();
    CHECK(c.says() == row.says);
    CHECK(c.evictions == 0);
  }
}

TEST_CASE("a job that names no UID gets the pod's, and keeps it") {
  Cluster c;
  c.job->spec.pod_ref->uid.clear();
  c.run();
  CHECK(c.job->spec.pod_ref->uid == "1");
  c.pod->metadata.uid = "9";
  c.assign("node-1");
  c.run();
  CHECK(c.job->spec.pod_ref->uid == "1");
  CHECK(c.job->status.reason == "MissingPod");
  CHECK(c.evictions == 0);
}

TEST_CASE("a finished job is not written again, whatever else has come of its objects") {
  for (const char* phase : {"Succeeded", "Failed", "Aborted"}) {
    Cluster c;
    c.job->status.phase = Symbol(phase);
    c.pod.reset();
    c.now += 24h;
    c.run();
    CHECK(c.writes == 0);
    CHECK(c.events.empty());
  }
}

TEST_CASE("a budget refuses for an hour: asked again and again, told once, and its end is the job's") {
  Cluster c("EvictDirectly");
  c.job->spec.ttl = api::Duration(2h);
  c.refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
  c.run();
  const int writes = c.writes;
  for (int minute = 0; minute < 60; ++minute) {
    c.now += 1min;
    c.step();
  }
  CHECK(c.evictions >= 60);
  CHECK(c.writes == writes);
  CHECK(c.says() == "Running|Eviction|FailedEvict|Failed evict Pod \"default/a\" caused by " + c.refusal);
  CHECK(c.events.size() == 2);
  c.refusal.clear();
  c.run();
  c.pod.reset();
  c.run();
  CHECK(c.job->status.phase == "Succeeded");
}

TEST_CASE("a pod that never ends: evicted once, and its reservation goes with the job's time") {
  Cluster c;
  c.run();
  c.assign("node-1");
  c.run();
  for (int i = 0; i < 20; ++i) c.step();
  CHECK(c.evictions == 1);
  c.now += 5min;
  c.run();
  CHECK(c.job->status.reason == "Timeout");
  CHECK(!c.reservation);
}

TEST_CASE("the successor is there before the pod has ended") {
  Cluster c;
  c.run();
  c.assign("node-1");
  c.run();
  c.bind();
  c.run();
  CHECK(c.job->status.phase == "Running");
  c.pod->metadata.deletion_timestamp.reset();  // its end has not been heard of yet
  c.run();
  CHECK(c.job->status.phase == "Running");
  CHECK(c.evictions == 1);
  c.pod.reset();
  c.make_ready();
  c.run();
  CHECK(c.job->status.phase == "Succeeded");
}

/// After an eviction that was refused another was accepted, and the pod's end has not been heard of yet.
TEST_CASE("who has the reservation after a refused eviction") {
  for (const bool same : {true, false}) {
    INFO(same);
    Cluster c;
    c.refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
    const auto set_controller = [](api::Pod& pod, std::string uid) {
      api::OwnerReference& owner = pod.metadata.owner_references.emplace_back();
      owner.controller = true;
      owner.uid = std::move(uid);
    };
    set_controller(*c.pod, "set");
    c.run();
    c.assign("node-1");
    for (int i = 0; i < 20; ++i) c.step();
    REQUIRE(c.job->status.reason == "FailedEvict");
    c.bind();
    set_controller(*c.successor, same ? "set" : "other");
    const int evictions = c.evictions;
    for (int i = 0; i < 20; ++i) c.step();
    CHECK(c.evictions == evictions);  // nobody is asked to go whose place is taken
    CHECK(c.job->status.phase == (same ? "Running" : "Failed"));
    if (!same) continue;
    // Asked for now, it is there: the other one is no successor of its.
    const Scene stays{&*c.pod, &*c.reservation, &*c.successor, true};
    CHECK(next_step(*c.job, stays, "ReservationFirst", c.now).status->reason == "ForbiddenMigratePod");
    c.pod.reset();
    c.make_ready();
    c.run();
    CHECK(c.job->status.phase == "Succeeded");
  }
}

TEST_CASE("a reservation for a pod that has no node yet: nobody is evicted") {
  Cluster c;
  c.pod->spec.node_name = Symbol();
  c.run();
  c.reservation->spec.owners.clear();
  c.reservation->spec.owners.emplace_back().object.ensure().uid = "1";
  c.assign("node-1");
  c.run();
  CHECK(c.says() == "Running|PodScheduled|Unschedulable|");
  api::PodCondition condition;
  condition.type = Symbol("PodScheduled");
  condition.status = Symbol("True");
  c.pod->status.conditions.push_back(condition);
  c.pod->spec.node_name = Symbol("node-1");
  c.run();
  CHECK(c.says() == "Succeeded|Complete||Assign Pod \"default/a\" to node \"node-1\"");
  CHECK(c.evictions == 0);
}

TEST_CASE("a job that waits says when its time is over") {
  Cluster c;
  c.job->metadata.annotations.erase(api::kPassedArbitrationAnnotation);
  const Step step = next_step(*c.job, {}, "ReservationFirst", c.now);
  CHECK(step.act == Act::kWait);
  CHECK(step.wake_at == c.now + 5min);
}

}  // namespace
}  // namespace koord::descheduler::migration::test
