// The state machine of a DrainNodeGroup with those of its DrainNodes: whole drains, policies, refusals,
// aborts.
#include "drain/group_progress.hpp"

#include "drain_cluster.hpp"

namespace koord::descheduler::drain::test {
namespace {

/// Three nodes of the pool "old" with a pod each, the first the emptiest, and one that stays.
struct Pool : Cluster {
  Pool() {
    add_node("n1", "old");
    add_node("n2", "old");
    add_node("n3", "old");
    add_node("n9");
    add_pod("a", "n1", 1);
    add_pod("b", "n2", 2);
    add_pod("c", "n3", 3);
    before = nodes_text();
  }
  /// Plays everybody until nothing happens any more.
  void play() {
    for (int i = 0; i < 30; ++i) {
      const int count = writes;
      settle();
      schedule("n9");
      settle();
      migrate();
      settle();
      if (writes == count) return;
    }
    FAIL("it never ends");
  }
  std::string before;
};

TEST_CASE("a group is planned node by node, the emptiest first, and drained") {
  Pool c;
  c.add_group("g", "old");
  c.settle();
  CHECK(c.groups.at("g").status.phase == "Planning");
  REQUIRE(c.drains.size() == 1);
  const api::DrainNode& first = c.drains.begin()->second;
  CHECK(first.metadata.name == "g-n1");
  CHECK(api::value_or(first.metadata.labels, api::kDrainNodeNameLabel) == "n1");
  CHECK(first.spec.confirm_state == "WaitForConfirm");
  CHECK(first.spec.cordon_policy->mode == "Taint");
  CHECK(api::value_or(c.nodes.at("n3").metadata.labels, api::kDrainGroupLabel) == "g");
  c.play();
  CHECK(c.told("g") == "Succeeded total=3 unavailable=0 running=0 succeeded=3 failed=0");
  CHECK(c.message("g") == "Succeeded: Succeeded, 3 DrainNode Succeeded");
  CHECK(c.pods.at("ax").spec.node_name == "n9");
  CHECK(c.pods.size() == 3);
  CHECK(marked_by(c.nodes.at("n2")) == "g-n2");
  std::vector<std::string> of_group;
  for (const std::string& event : c.events)
    if (event.starts_with("g ")) of_group.push_back(event);
  CHECK(of_group == std::vector<std::string>{"g Pending: Initialized", "g Planning: Start Planning",
                                             "g Waiting: Waiting for confirm",
                                             "g Running: Running, 3 DrainNode start running",
                                             "g Succeeded: Succeeded, 3 DrainNode Succeeded"});
}

TEST_CASE("a process that ends between any two writes of a group leaves what another one goes on with") {
  Pool whole;
  whole.add_group("g", "old");
  whole.play();
  for (int cut = 0; cut < whole.writes; ++cut) {
    CAPTURE(cut);
    Pool c;
    c.add_group("g", "old");
    c.writes_left = cut;
    for (int i = 0; i < 10 && c.writes_left != 0; ++i) {
      c.settle();
      c.schedule("n9");
      c.migrate();
    }
    c.writes_left = -1;
    c.play();
    CHECK(c.told("g") == whole.told("g"));
    CHECK(c.pods.size() == 3);
  }
}

TEST_CASE("an aborted group undoes everything, wherever it was") {
  for (const std::string_view how : {"abort", "clean-taint", "ttl"})
    for (int cut = 0; cut < 60; cut += 3) {
      CAPTURE(how, cut);
      Pool c;
      api::DrainNodeGroup& group = c.add_group("g", "old");
      group.spec.ttl = api::Duration(30min);
      group.spec.execution_policy.emplace().partition = 1;
      c.writes_left = cut;
      for (int i = 0; i < 10 && c.writes_left != 0; ++i) {
        c.settle();
        c.schedule("n9");
      }
      c.writes_left = -1;
      if (how == "ttl")
        c.now += 30min;
      else
        group.metadata.labels[how == "abort" ? api::kDrainAbortLabel : api::kDrainCleanTaintLabel] = "true";
      c.settle();
      CHECK(c.groups.at("g").status.phase == "Aborted");
      CHECK(c.message("g") ==
            (how == "ttl" ? "TimedOut: not drained within 30m0s" : "Aborted: DrainNodeGroup Aborted"));
      CHECK(c.nodes_text() == c.before);
      CHECK(c.reservations.empty());
      CHECK(c.jobs.empty());
      CHECK(c.pods.size() == 3);
    }
}

TEST_CASE("groups that are refused, and why") {
  Pool c;
  SECTION("all nodes") {
    c.add_group("g", "*");
    c.settle();
    CHECK(c.message("g") ==
          "SelectsAllNodes: spec.nodeSelector: it selects all nodes that are ready and open to pods (4 in "
          "all): there is nowhere to go");
  }
  SECTION("no node") {
    c.add_group("g", "none");
    c.settle();
    CHECK(c.message("g") == "NoNodes: spec.nodeSelector: no node matches it");
  }
  SECTION("a selector that cannot be read") {
    api::DrainNodeGroup& group = c.add_group("g", "old");
    group.status.phase = "Pending";
    GroupScene scene;
    scene.bad_selector = "spec.nodeSelector: x";
    const GroupStep step = next_step(group, scene, c.now);
    CHECK(step.status->phase == "Failed");
    CHECK(step.status->conditions[0].message == "spec.nodeSelector: x");
    return;
  }
  CHECK(c.groups.at("g").status.phase == "Failed");
  CHECK(c.drains.empty());
  CHECK(c.nodes_text() == c.before);
}

TEST_CASE("one group at a time, the oldest first, and one that has begun before all") {
  Pool c;
  c.add_group("z", "old");
  c.now += 1s;
  c.add_node("m1", "new");
  c.add_group("a", "new");
  c.settle();
  CHECK(c.groups.at("z").status.phase == "Planning");
  CHECK(c.groups.at("a").status.phase == "Pending");
  CHECK(c.message("a") == "Pending: waiting for z");
  // Made in the same second as one that has begun, and of a name before it.
  c.add_group("b", "new").metadata.creation_timestamp = c.groups.at("z").metadata.creation_timestamp;
  c.settle();
  CHECK(c.message("b") == "Pending: waiting for z");
  c.play();
  for (const char* name : {"a", "b", "z"}) CHECK(is_ended(c.groups.at(name)));
}

TEST_CASE("a node that another drain has is not the group's") {
  Pool c;
  c.add_drain("mine", "n1");
  c.settle();
  c.stuck["n1"] = "node \"n1\" is drained by DrainNode \"mine\"";
  c.add_group("g", "old");
  c.play();
  CHECK(c.told("g") == "Succeeded total=3 unavailable=1 running=0 succeeded=2 failed=0");
  CHECK(marked_by(c.nodes.at("n1")) == "mine");
  CHECK(c.drains.at("mine").status.phase == "Running");
  c.groups.at("g").metadata.labels[api::kDrainCleanTaintLabel] = "true";
  c.settle();
  CHECK(marked_by(c.nodes.at("n1")) == "mine");
  CHECK(marked_by(c.nodes.at("n2")).empty());
}

TEST_CASE("policies") {
  Pool c;
  api::DrainNodeGroup& group = c.add_group("g", "old");
  SECTION("no more nodes than that are planned") {
    group.spec.termination_policy.emplace().max_node_count = 2;
    c.play();
    CHECK(c.told("g") == "Succeeded total=2 unavailable=0 running=0 succeeded=2 failed=0");
    CHECK(c.pods.contains("c"));
  }
  SECTION("none at all") {
    group.spec.termination_policy.emplace().max_node_count = 0;
    c.play();
    CHECK(group.status.phase == "Failed");
    CHECK(c.drains.empty());
  }
  SECTION("so much stays free: of 30 CPUs 13 are free on n2 and n3 but without n2 only 7") {
    group.spec.termination_policy.emplace().percentage_of_resource_reserved = 40;
    c.play();
    CHECK(c.told("g") == "Succeeded total=1 unavailable=0 running=0 succeeded=1 failed=0");
  }
  SECTION("too much is to stay free") {
    group.spec.termination_policy.emplace().percentage_of_resource_reserved = 60;
    c.play();
    CHECK(group.status.phase == "Failed");
    CHECK(c.nodes_text() == c.before);
  }
  SECTION("a partition lets as many go; raised, more") {
    group.spec.execution_policy.emplace().partition = 1;
    c.play();
    CHECK(c.told("g") == "Waiting total=3 unavailable=0 running=0 succeeded=1 failed=0");
    CHECK(c.pods.contains("b"));
    group.spec.execution_policy->partition = 3;
    c.play();
    CHECK(c.told("g") == "Succeeded total=3 unavailable=0 running=0 succeeded=3 failed=0");
  }
  SECTION("a partition of 0 waits for people, who may also refuse") {
    group.spec.execution_policy.emplace().partition = 0;
    c.play();
    CHECK(c.told("g") == "Waiting total=3 unavailable=0 running=0 succeeded=0 failed=0");
    c.drains.at("g-n2").spec.confirm_state = "Rejected";
    c.drains.at("g-n3").spec.confirm_state = "Confirmed";
    c.play();
    CHECK(c.told("g") == "Waiting total=3 unavailable=0 running=0 succeeded=1 failed=0");
    CHECK(c.pods.contains("b"));
    CHECK(marked_by(c.nodes.at("n2")).empty());
    CHECK_FALSE(c.pods.contains("c"));
  }
  SECTION("paused: planned, and no more") {
    group.spec.execution_policy.emplace().paused = true;
    c.play();
    CHECK(c.message("g") == "Waiting: Waiting, paused");
    CHECK(c.jobs.empty());
    group.spec.execution_policy->paused = false;
    c.play();
    CHECK(group.status.phase == "Succeeded");
  }
}

TEST_CASE("nodes whose pods have nowhere to go") {
  Pool c;
  c.add_group("g", "old");
  SECTION("by the plan: the node is not touched, and it is told why") {
    c.stuck["n1"] = "pod default/a fits nowhere";
    c.play();
    CHECK(c.told("g") == "Succeeded total=3 unavailable=1 running=0 succeeded=2 failed=0");
    CHECK(condition_of(c.drains.at("g-n1").status, "Refused")->message == "pod default/a fits nowhere");
    CHECK(marked_by(c.nodes.at("n1")).empty());
    CHECK(c.pods.contains("a"));
  }
  SECTION("by the scheduler: it is given up after a minute, and what was done is undone") {
    c.settle();
    c.schedule("");
    c.settle();
    CHECK(c.drains.size() == 1);
    c.now += 59s;
    c.settle();
    CHECK(c.drains.at("g-n1").status.phase == "Running");
    c.now += 1s;
    c.settle();
    CHECK(c.drains.at("g-n1").status.phase == "Aborted");
    CHECK(marked_by(c.nodes.at("n1")).empty());
    c.play();
    CHECK(c.told("g") == "Succeeded total=3 unavailable=1 running=0 succeeded=2 failed=0");
    CHECK(condition_of(c.drains.at("g-n1").status, "Refused")->message == "unavailable reservation count: 1");
  }
  SECTION("none of them") {
    for (const char* name : {"n1", "n2", "n3"}) c.stuck[name] = "full";
    c.play();
    CHECK(c.message("g") == "Failed: Failed, all nodes are not migrated");
    CHECK(c.nodes_text() == c.before);
  }
  SECTION("a job that fails: that node has failed, the others go on") {
    c.settle();
    for (int i = 0; i < 3; ++i) {
      c.schedule("n9");
      c.settle();
    }
    for (auto& [name, job] : c.jobs)
      if (job.spec.pod_ref->name == "a") job.status.phase = "Failed";
    c.play();
    CHECK(c.told("g") == "Succeeded total=3 unavailable=0 running=0 succeeded=2 failed=1");
    CHECK(c.pods.contains("a"));
  }
}

TEST_CASE("a group whose time is over is undone and deleted, drained or not") {
  Pool c;
  c.add_group("g", "old").spec.ttl = api::Duration(30min);
  c.play();
  CHECK(c.groups.at("g").status.phase == "Succeeded");
  c.now += 30min;
  c.play();
  CHECK(marked_by(c.nodes.at("n1")) == "g-n1");
  c.now += 5min;
  c.settle();
  CHECK(c.groups.empty());
  CHECK(c.nodes_text() == c.before);
}

}  // namespace
}  // namespace koord::descheduler::drain::test
