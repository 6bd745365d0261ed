// What becomes of a PodGroup's status; rows of Koordinator's podgroup_test.go.
#include <catch2/catch.hpp>

#include "gang_rig.hpp"
#include "scheduling/plugins/coscheduling/control/status.hpp"

namespace koord::scheduling::coscheduling::test {
namespace {

using namespace std::chrono_literals;

const WallTime kNow{std::chrono::sys_days(std::chrono::year(2026) / 1 / 2)};

struct Row {
  const char* name;
  const char* phase;  // before
  const char* pods;   // a letter each: w waits, b has a node, r runs, s has succeeded, f has failed
  int min;
  const char* becomes;  // "": it stays as it is
  int scheduled, running;
};

GroupPods pods_of(const char* letters) {
  GroupPods pods;
  for (int n = 0; letters[n] != 0; ++n)
    pods.put(*changed(grouped("g", n), [&](api::Pod& p) {
      if (letters[n] != 'w') p.spec.node_name = "n";
      if (letters[n] == 'r') p.status.phase = "Running";
      if (letters[n] == 's') p.status.phase = "Succeeded";
      if (letters[n] == 'f') p.status.phase = "Failed";
      auto& owner = p.metadata.owner_references.emplace_back();
      owner.name = "job";
    }));
  return pods;
}

TEST_CASE("a PodGroup's phase follows from its pods") {
  const Row kRows[] = {
      {"new, without pods", "", "", 2, "Pending", 0, 0},
      {"too few pods", "Pending", "w", 2, "", 0, 0},
      {"enough pods", "Pending", "ww", 2, "Scheduling", 0, 0},
      {"enough pods for nobody", "Pending", "ww", 0, "", 0, 0},
      {"some have a node", "PreScheduling", "bw", 2, "Scheduling", 1, 0},
      {"all have a node", "Scheduling", "bb", 2, "Scheduled", 2, 0},
      {"all run", "Scheduled", "rr", 2, "Running", 2, 2},
      {"all ran at once", "Pending", "rr", 2, "Running", 2, 2},
      {"one has failed", "Running", "rf", 2, "Failed", 2, 1},
      {"all have succeeded", "Running", "ss", 2, "Finished", 2, 0},
      {"all pods are gone", "Running", "", 2, "Pending", 0, 0},
      {"it is over", "Finished", "rr", 2, "", 0, 0},
      {"it has failed", "Failed", "rr", 2, "", 0, 0},
      {"one more is asked for", "Scheduled", "bb", 3, "Scheduling", 2, 0},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    auto group = std::make_shared<api::PodGroup>(*pod_group("g", row.min));
    group->metadata.creation_timestamp = api::Time(kNow);
    group->status.phase = Symbol(std::string_view(row.phase));
    const auto after = settled(*group, pods_of(row.pods), kNow + 1min);
    CHECK(after.has_value() == (row.becomes[0] != 0));
    if (!after) continue;
    CHECK(after->status.phase == row.becomes);
    if (row.pods[0] != 0) {
      CHECK(after->status.scheduled == row.scheduled);
      CHECK(after->status.running == row.running);
    }
    if (std::string_view(row.phase) == "Pending") CHECK(after->status.occupied_by == "default/job");
    // Also where all were placed before anybody had a look.
    if (std::string_view(row.becomes) == "Scheduling" || std::string_view(row.name) == "all ran at once")
      CHECK(after->status.schedule_start_time->wall() == kNow + 1min);
    // Then it is as it should be.
    CHECK_FALSE(settled(*after, pods_of(row.pods), kNow + 2min).has_value());
  }
}

TEST_CASE("a PodGroup whose pods may have been collected stays as it is") {
  for (const auto& [started, stays] : {std::pair(47h, false), std::pair(49h, true)}) {
    auto group = std::make_shared<api::PodGroup>(*pod_group("g", 2));
    group->metadata.creation_timestamp = api::Time(kNow);
    group->status.phase = Symbol("Scheduled");
    group->status.scheduled = 2;
    group->status.schedule_start_time = api::Time(kNow + started);
    CHECK(settled(*group, {}, kNow + 60h).has_value() != stays);
  }
}

}  // namespace
}  // namespace koord::scheduling::coscheduling::test
