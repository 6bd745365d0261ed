// Filters: upstream's rows of arbitrator/filter_test, the order of what is asked, and what is not known.
#include "migration/filters.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <functional>

#include "koord/api/koordinator/descheduling.hpp"
#include "migration/migration_objects.hpp"

namespace koord::descheduler::migration::test {
namespace {

struct Rig {
  std::shared_ptr<MigrationControllerArgs> args = std::make_shared<MigrationControllerArgs>();
  JobCounts counts;
  FakeWorkloads workloads;
  std::optional<std::int32_t> priority;
  std::unique_ptr<Filters> made;

  Rig() {
    args->default_job_mode = "EvictDirectly";
    args->evict_all_bare_pods = true;
  }
  Filters& filters() {
    if (!made)
      made =
          std::make_unique<Filters>(args, counts, workloads, [this](std::string_view) { return priority; });
    return *made;
  }
  PodPtr migrate(api::Pod pod, std::string_view phase = {}) {
    auto shared = std::make_shared<const api::Pod>(std::move(pod));
    counts.put(make_job("job-of-" + shared->metadata.name, *shared, true, phase), false, shared);
    return shared;
  }
  bool passes(const api::Pod& pod) { return filters().arbitrate(pod).passes(); }
};

/// Those of upstream's tables of one limit: `moving` pods are being moved.
struct LimitRow {
  const char* name;
  int moving;
  bool same_pod, same_group;
  int most;
  bool want;
};

TEST_CASE("a pod that has a job is no candidate") {
  Rig rig;
  const PodPtr pod = rig.migrate(make_pod("test-pod"));
  CHECK(rig.filters().candidate(*pod).is == Verdict::Is::waits);
  api::Pod renewed = *pod;
  renewed.metadata.uid = "another";
  CHECK_FALSE(rig.filters().candidate(renewed).passes());  // by name
  api::Pod other = make_pod("other");
  CHECK(rig.filters().candidate(other).passes());
  rig.counts.remove("job-of-test-pod");
  CHECK(rig.filters().candidate(*pod).passes());
}

TEST_CASE("maxMigratingGlobally: upstream's rows") {
  const LimitRow rows[] = {
      {"maxMigratingGlobally=0", 0, false, true, 0, true},
      {"maxMigratingGlobally=1 no migrating Pods", 0, false, true, 1, true},
      {"maxMigratingGlobally=1 one migrating same Pod", 1, true, true, 1, true},
      {"maxMigrating=1 one migrating Pod with diff Pod", 1, false, true, 1, false},
  };
  for (const LimitRow& row : rows) {
    INFO(row.name);
    for (const bool skipped : {false, true}) {
      Rig rig;
      rig.args->max_migrating_globally = row.most;
      if (skipped) rig.args->skip_eviction_gates = {"MaxMigratingGlobally"};
      for (int i = 0; i < row.moving; ++i) rig.migrate(make_pod("moving-" + std::to_string(i)));
      CHECK(rig.passes(make_pod(row.same_pod ? "moving-0" : "test-pod")) == (row.want || skipped));
    }
  }
}

TEST_CASE("maxMigratingPerNode: upstream's rows") {
  const LimitRow rows[] = {
      {"maxMigrating=0", 0, false, false, 0, true},
      {"maxMigrating=1 no migrating Pods", 0, false, false, 1, true},
      {"maxMigrating=1 one migrating Pod with same Pod and Node", 1, true, true, 1, true},
      {"maxMigrating=1 one migrating Pod with diff Pod and same Node", 1, false, true, 1, false},
      {"maxMigrating=1 one migrating Pod with diff Pod and Node", 1, false, false, 1, true},
      {"maxMigrating=2 two migrating Pod with same Pod and Node", 2, true, true, 2, true},
      {"maxMigrating=2 two migrating Pod with diff Pod and Node", 2, false, false, 2, true},
      {"maxMigrating=2 two migrating Pod with diff Pod and same Node", 2, false, true, 2, false},
  };
  for (const LimitRow& row : rows) {
    INFO(row.name);
    for (const bool skipped : {false, true}) {
      Rig rig;
      rig.args->max_migrating_per_node = row.most;
      if (skipped) rig.args->skip_eviction_gates = {"MaxMigratingPerNode"};
      for (int i = 0; i < row.moving; ++i) rig.migrate(make_pod("moving-" + std::to_string(i)));
      CHECK(rig.passes(make_pod(row.same_pod ? "moving-0" : "test-pod",
                                row.same_group ? "test-node" : "test-other-node")) == (row.want || skipped));
    }
  }
}

TEST_CASE("maxMigratingPerNamespace: upstream's rows") {
  const LimitRow rows[] = {
      {"maxMigrating=0", 0, false, false, 0, true},
      {"maxMigrating=1 no migrating Pods", 0, false, false, 1, true},
      {"maxMigrating=1 one migrating Pod with same Pod and Namespace", 1, true, true, 1, true},
      {"maxMigrating=1 one migrating Pod with diff Pod and same Namespace", 1, false, true, 1, false},
      {"maxMigrating=1 one migrating Pod with diff Pod and Namespace", 1, false, false, 1, true},
      {"maxMigrating=2 two migrating Pod with same Pod and Namespace", 2, true, true, 2, true},
      {"maxMigrating=2 two migrating Pod with diff Pod and Namespace", 2, false, false, 2, true},
      {"maxMigrating=2 two migrating Pod with diff Pod and same Namespace", 2, false, true, 2, false},
  };
  for (const LimitRow& row : rows) {
    INFO(row.name);
    for (const bool skipped : {false, true}) {
      Rig rig;
      rig.args->max_migrating_per_namespace = row.most;
      if (skipped) rig.args->skip_eviction_gates = {"MaxMigratingPerNamespace"};
      for (int i = 0; i < row.moving; ++i) rig.migrate(make_pod("moving-" + std::to_string(i)));
      CHECK(rig.passes(make_pod(row.same_pod ? "moving-0" : "test-pod", "test-node", {},
                                row.same_group ? "default" : "other-namespace")) == (row.want || skipped));
    }
  }
}

TEST_CASE("maxMigratingPerWorkload: upstream's rows, of ten replicas") {
  const LimitRow rows[] = {
      {"maxMigrating=1 no migrating Pod", 0, false, false, 1, true},
      {"maxMigrating=1 one migrating Pod with same Pod and Workload", 1, true, true, 1, true},
      {"maxMigrating=1 one migrating Pod with diff Pod and same Workload", 1, false, true, 1, false},
      {"maxMigrating=1 one migrating Pod with diff Pod and diff Workload", 1, false, false, 1, true},
      {"maxMigrating=2 two migrating Pod with same Pod and Workload", 2, true, true, 2, true},
      {"maxMigrating=2 two migrating Pod with diff Pod and same Workload", 2, false, true, 2, false},
      {"maxMigrating=2 two migrating Pod with diff Pod and diff Workload", 2, false, false, 2, true},
  };
  for (const LimitRow& row : rows) {
    INFO(row.name);
    for (const bool skipped : {false, true}) {
      Rig rig;
      rig.args->max_migrating_per_workload = row.most;
      rig.args->max_unavailable_per_workload = 9;
      if (skipped) rig.args->skip_eviction_gates = {"MaxMigratingPerWorkload"};
      for (int i = 0; i < row.moving; ++i) {
        api::Pod pod = make_pod("moving-" + std::to_string(i), "test-node", "set-1");
        make_ready(pod);
        rig.migrate(std::move(pod));
      }
      CHECK(rig.passes(make_pod(row.same_pod ? "moving-0" : "test-pod", "test-node",
                                row.same_group ? "set-1" : "set-2")) == (row.want || skipped));
    }
  }
}

TEST_CASE("maxUnavailablePerWorkload: upstream's rows, of ten replicas") {
  struct Row {
    int unavailable, moving, most;
    bool same_workload, want;
  };
  const Row rows[] = {
      {0, 0, 1, true, true},  {1, 0, 1, true, false}, {0, 1, 1, true, false},
      {1, 0, 1, true, false}, {0, 0, 2, true, true},  {1, 0, 2, true, true},
      {0, 1, 2, true, true},  {1, 1, 2, true, false}, {1, 1, 2, false, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.unavailable, row.moving, row.most, row.same_workload);
    for (const bool skipped : {false, true}) {
      Rig rig;
      rig.workloads.every = true;
      rig.args->max_migrating_per_workload = 9;
      rig.args->max_unavailable_per_workload = row.most;
      if (skipped) rig.args->skip_eviction_gates = {"MaxUnavailablePerWorkload"};
      std::vector<PodPtr>& pods = rig.workloads.pods["*"];
      for (int i = 0; i < row.unavailable; ++i) {
        api::Pod pod = make_pod("away-" + std::to_string(i), "test-node", "set-1");
        pod.status.phase = "Pending";
        pods.push_back(std::make_shared<const api::Pod>(pod));
      }
      for (int i = 0; i < row.moving; ++i) {
        api::Pod pod = make_pod("moving-" + std::to_string(i), "test-node", "set-1");
        make_ready(pod);
        pods.push_back(rig.migrate(std::move(pod)));
      }
      for (int i = 0; pods.size() < 10; ++i) {
        api::Pod pod = make_pod("there-" + std::to_string(i), "test-node", "set-1");
        make_ready(pod);
        pods.push_back(std::make_shared<const api::Pod>(pod));
      }
      CHECK(rig.passes(make_pod("test-pod", "test-node", row.same_workload ? "set-1" : "set-2")) ==
            (row.want || skipped));
    }
  }
}

TEST_CASE("expected replicas: upstream's rows, what has none, and who skips it") {
  struct Row {
    std::int64_t replicas;
    std::int32_t most;
    bool want;
  };
  for (const Row& row : {Row{1, 1, false}, Row{100, 100, false}, Row{100, 10, true},
                         Row{0, 10, false}}) {  // the last: a Job's pod, or one whose controller is gone
    CAPTURE(row.replicas, row.most);
    for (const int skipped : {0, 1, 2}) {
      Rig rig;
      rig.workloads.replicas = row.replicas;
      rig.args->max_migrating_per_workload = static_cast<std::int32_t>(row.replicas - 1);
      rig.args->max_unavailable_per_workload = row.most;
      rig.args->skip_eviction_gates = {"MaxMigratingPerWorkload", "MaxUnavailablePerWorkload"};
      if (skipped == 1) rig.args->skip_eviction_gates.emplace_back("ExpectedReplicas");
      if (skipped == 2) rig.args->skip_check_expected_replicas = true;
      const Verdict verdict = rig.filters().arbitrate(make_pod("a", "n", "set-1"));
      CHECK(verdict.passes() == (row.want || skipped != 0));
      if (!verdict.passes()) CHECK(verdict.is == Verdict::Is::forbidden);
    }
  }
}

TEST_CASE("what is not known yet lets a pod wait, and neither go nor fail") {
  Rig rig;
  rig.workloads.known = false;
  CHECK(rig.filters().arbitrate(make_pod("a", "n", "set-1")).is == Verdict::Is::waits);
  CHECK(rig.passes(make_pod("bare")));
  Rig classes;
  classes.args->priority_threshold.ensure().name = "high";
  api::Pod pod = make_pod("a");
  pod.spec.priority = 100;
  CHECK(classes.filters().arbitrate(pod).is == Verdict::Is::waits);
  classes.priority = 100;
  CHECK(classes.filters().arbitrate(pod).is == Verdict::Is::forbidden);
  classes.priority = 101;
  CHECK(classes.passes(pod));
}

TEST_CASE("who may be migrated at all, and the annotation before which nothing counts") {
  struct Row {
    const char* name;
    std::function<void(Rig&, api::Pod&)> change;
    std::string_view why;
  };
  const Row rows[] = {
      {"another scheduler",
       [](Rig& rig, api::Pod& pod) {
         rig.args->default_job_mode = "ReservationFirst";
         rig.args->scheduler_names = {"koord-scheduler"};
         pod.spec.scheduler_name = "default-scheduler";
       },
       "its scheduler default-scheduler makes no reservations"},
      {"a namespace that is left out",
       [](Rig& rig, api::Pod&) { rig.args->namespaces.ensure().exclude = {"default"}; },
       "pods of namespace default stay"},
      {"a namespace that is not chosen",
       [](Rig& rig, api::Pod&) { rig.args->namespaces.ensure().include = {"other"}; },
       "pods of namespace default stay"},
      {"the dearest",
       [](Rig&, api::Pod& pod) { pod.metadata.annotations[api::kEvictionCostAnnotation] = "2147483647"; },
       "its eviction cost says never"},
      {"a bare one", [](Rig& rig, api::Pod&) { rig.args->evict_all_bare_pods = false; },
       "pod does not have any ownerRefs"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    Rig rig;
    api::Pod pod = make_pod("a");
    row.change(rig, pod);
    const Verdict verdict = rig.filters().candidate(pod);
    CHECK(verdict.is == Verdict::Is::forbidden);
    CHECK(verdict.why == row.why);
    // A scheduler that makes no reservations cannot be annotated away, and is no reason for users' jobs.
    const bool of_scheduler = pod.spec.scheduler_name == "default-scheduler";
    CHECK(rig.passes(pod) == of_scheduler);
    pod.metadata.annotations[api::kEvictAnnotation] = "";
    CHECK(rig.filters().candidate(pod).passes() != of_scheduler);
    CHECK(rig.passes(pod));
  }
}

TEST_CASE("only arbitrated jobs count while arbitrating, all that have not ended for plugins") {
  Rig rig;
  rig.args->max_migrating_per_node = 1;
  const auto other = std::make_shared<const api::Pod>(make_pod("other"));
  rig.counts.put(make_job("waiting", *other), false, other);
  CHECK(rig.passes(make_pod("a")));
  CHECK_FALSE(rig.filters().candidate(make_pod("a")).passes());
  rig.counts.put(make_job("waiting", *other), true, other);  // let pass, not written yet
  CHECK_FALSE(rig.passes(make_pod("a")));
  rig.counts.put(make_job("waiting", *other, true, "Succeeded"), true, other);
  CHECK(rig.filters().candidate(make_pod("a")).passes());
}

TEST_CASE("counts follow pods that come, move and go, and jobs that change their pod") {
  JobCounts counts;
  const api::Pod asking = make_pod("asking");
  const auto pod = std::make_shared<const api::Pod>(make_pod("a", "n1", "set"));
  counts.put(make_job("j", *pod, true), false, nullptr);
  CHECK(counts.of_node("n1", asking, Counted::arbitrated) == 0);
  counts.pod_changed("default", "a", pod);
  CHECK(counts.of_node("n1", asking, Counted::arbitrated) == 1);
  CHECK(counts.of_controller("set", asking, Counted::unfinished).size() == 1);
  counts.pod_changed("default", "a", std::make_shared<const api::Pod>(make_pod("a", "n2")));
  CHECK(counts.of_node("n1", asking, Counted::arbitrated) == 0);
  CHECK(counts.of_node("n2", asking, Counted::arbitrated) == 1);
  CHECK(counts.of_controller("set", asking, Counted::unfinished).empty());
  counts.pod_changed("default", "a", nullptr);
  CHECK(counts.of_node("n2", asking, Counted::arbitrated) == 0);
  CHECK(counts.in_all(asking, Counted::arbitrated) == 1);
  const auto next = std::make_shared<const api::Pod>(make_pod("b", "n3", {}, "elsewhere"));
  counts.put(make_job("j", *next, true), false, next);
  CHECK(counts.of_namespace("default", asking, Counted::unfinished) == 0);
  CHECK(counts.of_namespace("elsewhere", asking, Counted::unfinished) == 1);
  CHECK(counts.of_node("n3", asking, Counted::unfinished) == 1);
  CHECK(counts.of_node("n3", *next, Counted::unfinished) == 0);
  counts.put(make_job("second", *next), false, next);
  CHECK(counts.has_other(make_job("second", *next), Counted::arbitrated));
  CHECK_FALSE(counts.has_other(make_job("j", *next), Counted::arbitrated));
  CHECK(counts.of_node("n3", asking, Counted::unfinished) == 1);  // pods, not jobs
  CHECK(counts.in_all(asking, Counted::unfinished) == 2);
  counts.remove("j");
  counts.remove("second");
  counts.remove("never");
  CHECK(counts.in_all(asking, Counted::unfinished) == 0);
  CHECK_FALSE(counts.has_job(*next, Counted::unfinished));
}

}  // namespace
}  // namespace koord::descheduler::migration::test
