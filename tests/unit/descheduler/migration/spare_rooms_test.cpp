// Which room is left for a migration whose own Reservation another pod of its workload has taken.
#include "migration/jobs/spare_rooms.hpp"

#include <catch2/catch.hpp>

#include "migration/controller_rig.hpp"
#include "migration/jobs/conditions.hpp"

namespace koord::descheduler::migration::test {
namespace {

api::Reservation room(std::string_view name, std::string_view node) {
  api::Reservation made;
  made.metadata.name = made.metadata.uid = name;
  made.spec.owners.emplace_back().controller.ensure().owner.uid = "set";
  made.status.phase = "Available";
  made.status.node_name = Symbol(node);
  return made;
}
void take(api::Reservation& room) {
  room.status.phase = "Succeeded";
  room.status.current_owners.emplace_back().name = "new";
}
void has(api::Pod& pod, std::string_view room) {
  pod.metadata.annotations[api::ReservationAllocated::kAnnotation] =
      Symbol(fmt::format(R"({{"name":"{0}","uid":"{0}"}})", room));
}

/// A workload of two: "own" stays and has lost its room to "new", who came for the pod of "other", whose room
/// is free. Each part may be changed before it is asked.
struct Moves {
  api::Pod own_pod = make_pod("own", "node-0", "set"), new_pod = make_pod("new", "node-1", "set");
  std::optional<api::Pod> other_pod, lost_pod;
  api::PodMigrationJob own_job = make_job("own", own_pod, true, "Running");
  api::PodMigrationJob other_job = make_job("other", make_pod("other"), true, "Running");
  api::PodMigrationJob lost_job = make_job("lost", make_pod("lost"), true, "Running");
  api::Reservation own_room = room("own", "node-1"), other_room = room("other", "node-2"),
                   lost_room = room("lost", "node-3");
  std::int64_t replicas = 2;
  bool asked = false;

  Moves() {
    take(own_room);
    has(new_pod, "own");
    evicting("True", "EvictComplete");
  }
  void evicting(std::string_view status, std::string_view reason) {
    other_job.status.conditions.clear();
    note_condition(other_job.status, "Eviction", status == "True", reason, {}, api::Time());
  }
  void stays(std::string_view reason) {
    other_pod = make_pod("other", "node-0", "set");
    evicting("False", reason);
    replicas = 3;
  }
  Spare asks() const {
    const auto shared = [](const auto& value) {
      return std::make_shared<const std::remove_cvref_t<decltype(value)>>(value);
    };
    std::vector<PodPtr> pods{shared(own_pod), shared(new_pod)};
    for (const auto* pod : {&other_pod, &lost_pod})
      if (*pod) pods.push_back(shared(**pod));
    std::vector<Migration> others{{.job = shared(other_job),
                                   .room = shared(other_room),
                                   .pod = other_pod ? shared(*other_pod) : nullptr,
                                   .asked = asked}};
    if (lost_pod)
      others.push_back({.job = shared(lost_job), .room = shared(lost_room), .pod = shared(*lost_pod)});
    return spare_room({.job = shared(own_job), .room = shared(own_room), .pod = shared(own_pod)}, others,
                      pods, replicas);
  }
};

TEST_CASE("a room that is left over") {
  struct Row {
    const char* name;
    std::function<void(Moves&)> change;
    Spare left;
  };
  const std::vector<Row> rows{
      {"is free, and nobody comes for it", [](Moves&) {}, Spare::there},
      {"of one whose pod nobody has asked to go", [](Moves& m) { m.other_job.status.conditions.clear(); },
       Spare::none},
      {"of one whose pod is being asked", [](Moves& m) { m.stays("Evicting"); }, Spare::perhaps},
      {"of one whose pod may not go", [](Moves& m) { m.stays("FailedEvict"); }, Spare::none},
      {"of one whose pod might not go, and has been let go",
       [](Moves& m) {
         m.stays("FailedEvict");
         m.asked = true;
       },
       Spare::perhaps},
      {"of one whose pod is ending",
       [](Moves& m) {
         m.stays("FailedEvict");
         m.other_pod->metadata.deletion_timestamp = api::Time(WallTime(1s));
       },
       Spare::perhaps},
      {"the workload is short of a pod, which will come", [](Moves& m) { m.replicas = 3; }, Spare::perhaps},
      {"nobody knows how many the workload is to have", [](Moves& m) { m.replicas = 0; }, Spare::none},
      {"a pod of the workload has no node yet", [](Moves& m) { m.new_pod.spec.node_name = Symbol(); },
       Spare::perhaps},
      {"a pod that is over is none of its pods",
       [](Moves& m) {
         m.lost_pod = make_pod("lost", "", "set");
         m.lost_pod->status.phase = "Failed";
       },
       Spare::there},
      {"has its pod already, and does not say so yet", [](Moves& m) { has(m.new_pod, "other"); },
       Spare::none},
      {"has its pod already", [](Moves& m) { take(m.other_room); }, Spare::none},
      {"has an owner already", [](Moves& m) { m.other_room.status.current_owners.emplace_back(); },
       Spare::none},
      {"is for one pod alone",
       [](Moves& m) {
         m.other_room.spec.owners = {{}};
         m.other_room.spec.owners[0].object.ensure().name = "x";
       },
       Spare::none},
      {"is on the node that the pod is to leave", [](Moves& m) { m.other_room.status.node_name = "node-0"; },
       Spare::none},
      {"another one that has lost its room comes before",
       [](Moves& m) {
         m.lost_pod = make_pod("lost", "node-0", "set");
         take(m.lost_room);
       },
       Spare::perhaps},
      {"another one's room was for one pod, which has it",
       [](Moves& m) {
         m.lost_pod = make_pod("lost", "node-0", "set");
         take(m.lost_room);
         m.lost_room.spec.owners = {{}};
         m.lost_room.spec.owners[0].object.ensure().name = "lost";
       },
       Spare::there},
      {"another one that has lost its room comes after",
       [](Moves& m) {
         m.lost_pod = make_pod("lost", "node-0", "set");
         m.lost_job.metadata.name = "x";
         take(m.lost_room);
       },
       Spare::there},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Moves moves;
    row.change(moves);
    CHECK(moves.asks() == row.left);
  }
}

/// Two of a workload's four are moved; "a" may not go yet when the successor of "b" takes its room.
struct Late : World {
  Late() {
    args->max_migrating_per_workload = args->max_unavailable_per_workload = 2;
    args->object_limiters = {{"workload", ObjectLimiter()}};
    cluster.stays = "a";
    for (const char* name : {"a", "b", "c", "d"}) pod(name);
    start();
    job("first", "a");
    cluster.run(1);
    job("second", "b");
    cluster.run(10);
    REQUIRE(cluster.evictions == 1);
    REQUIRE(cluster.text_at(room("first"), "status", "phase") == "Succeeded");
    REQUIRE(cluster.text_at(room("second"), "status", "phase") == "Available");
  }
  void start() { begin().workloads.replicas = 4; }
  std::string room(const std::string& job) const {
    return "reservations//" + reservation_of("podmigrationjobs//" + job);
  }
};

TEST_CASE("who may not go yet when another takes its room goes into the room that is left") {
  const bool restarted = GENERATE(false, true);
  CAPTURE(restarted);
  Late world;
  if (restarted) {
    world.process.reset();
    world.start();
  }
  world.cluster.run(20 * 30);
  CHECK(world.phase("first") == "Running");
  CHECK(world.phase("second") == "Running");
  world.cluster.stays.clear();
  world.cluster.run(20 * 60);
  CHECK(world.phase("first") == "Succeeded");
  CHECK(world.phase("second") == "Succeeded");
  CHECK(world.cluster.evictions == 2);
  CHECK(world.cluster.text_at(world.room("second"), "status", "phase") == "Succeeded");
  CHECK_FALSE(world.cluster.has("pods/default/a"));
  CHECK_FALSE(world.process->failure);
}

TEST_CASE("the room that was left goes to a pod of the workload that is new: the job ends, its pod stays") {
  Late world;
  world.pod("more", "node-1");
  world.cluster.change(
      world.room("second"),
      R"({"status":{"phase":"Succeeded","currentOwners":[{"namespace":"default","name":"more","uid":"uid-more"}]}})");
  world.cluster.stays.clear();
  world.cluster.run(20 * 60);
  CHECK(world.phase("second") == "Succeeded");
  CHECK(world.says("podmigrationjobs//first") ==
        "Failed|Eviction|ForbiddenMigratePod|Reservation is already bound by another Pod");
  CHECK(world.cluster.has("pods/default/a"));
  CHECK(world.cluster.evictions == 1);
}

}  // namespace
}  // namespace koord::descheduler::migration::test
