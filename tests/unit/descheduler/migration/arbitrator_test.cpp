// A round of arbitration: upstream's rows, what one decision means for the next, and many jobs.
#include "migration/arbitrator.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <set>

#include "koord/api/koordinator/descheduling.hpp"
#include "migration/migration_objects.hpp"

namespace koord::descheduler::migration::test {
namespace {

struct Rig {
  std::shared_ptr<MigrationControllerArgs> args = std::make_shared<MigrationControllerArgs>();
  FakeWorkloads workloads;
  JobBook book;
  std::map<std::string, PodPtr> pods;
  std::unique_ptr<Filters> filters;
  int version = 0;

  Rig() {
    args->default_job_mode = "EvictDirectly";
    args->evict_all_bare_pods = true;
  }
  void add(std::string job, api::Pod pod, std::string_view phase = {}) {
    const auto shared = std::make_shared<const api::Pod>(std::move(pod));
    pods[shared->metadata.name] = shared;
    put(make_job(std::move(job), *shared, false, phase));
  }
  void put(api::PodMigrationJob job) {
    job.metadata.resource_version = std::to_string(++version);
    const auto it = pods.find(job.spec.pod_ref->name);
    book.put(std::make_shared<const api::PodMigrationJob>(std::move(job)),
             it == pods.end() ? nullptr : it->second);
  }
  std::vector<std::string> round() {
    if (!filters)
      filters = std::make_unique<Filters>(args, book.counts(), workloads,
                                          [](std::string_view) { return std::nullopt; });
    return arbitrate(
        book, [this](const api::PodMigrationJob&) -> Filters& { return *filters; },
        [this](const api::PodMigrationJob& job) {
          const auto it = pods.find(job.spec.pod_ref->name);
          return it == pods.end() ? nullptr : it->second;
        });
  }
  std::set<std::string> with(Decision decision) const {
    std::set<std::string> names;
    for (const JobPtr& job : book.all())
      if (book.decision(job->metadata.name) == decision) names.insert(job->metadata.name);
    return names;
  }
};

std::set<std::string> named(const std::set<int>& numbers) {
  std::set<std::string> names;
  for (const int i : numbers) names.insert("j" + std::to_string(i));
  return names;
}

TEST_CASE("who passes a round, who fails and who waits: upstream's rows") {
  struct Row {
    int jobs;
    std::set<int> never, not_now;
    std::set<int> wait, pass, fail;
  };
  const Row rows[] = {
      {10, {2}, {3, 7}, {3, 7}, {0, 1, 4, 5, 6, 8, 9}, {2}},
      {10, {3}, {3, 7}, {7}, {0, 1, 2, 4, 5, 6, 8, 9}, {3}},
      {5, {0, 1, 2, 3, 4}, {}, {}, {}, {0, 1, 2, 3, 4}},
      {5, {}, {0, 1, 2, 3, 4}, {0, 1, 2, 3, 4}, {}, {}},
      {5, {}, {2}, {2}, {0, 1, 3, 4}, {}},
  };
  for (const Row& row : rows) {
    Rig rig;
    rig.args->max_migrating_per_node = 1;
    // A node on which a pod is being moved already.
    rig.add("busy", make_pod("busy", "full"), "Running");
    for (int i = 0; i < row.jobs; ++i) {
      api::Pod pod =
          make_pod("p" + std::to_string(i), row.not_now.contains(i) ? "full" : "n" + std::to_string(i));
      if (row.never.contains(i)) pod.metadata.annotations[api::kEvictionCostAnnotation] = "2147483647";
      rig.add("j" + std::to_string(i), std::move(pod));
    }
    rig.round();
    std::set<std::string> waiting = named(row.wait);
    // Running says nothing of arbitration: that job is arbitrated as well, and counts meanwhile.
    CHECK(rig.with(Decision::passed) == [&] {
      auto names = named(row.pass);
      names.insert("busy");
      return names;
    }());
    CHECK(rig.with(Decision::forbidden) == named(row.fail));
    CHECK(rig.book.waiting() == waiting);
  }
}

TEST_CASE("what passed counts for those after it, and goes on counting until it has ended") {
  Rig rig;
  rig.args->max_migrating_per_node = 2;
  for (int i = 0; i < 5; ++i) rig.add("j" + std::to_string(i), make_pod("p" + std::to_string(i)));
  CHECK(rig.round().size() == 2);
  CHECK(rig.round().empty());
  const std::string first = *rig.with(Decision::passed).begin();
  api::PodMigrationJob done = *rig.book.find(first);
  done.metadata.annotations[api::kPassedArbitrationAnnotation] = "true";
  rig.put(done);
  CHECK(rig.round().empty());
  done.status.phase = "Failed";
  rig.put(done);
  CHECK(rig.round().size() == 1);
}

TEST_CASE("a job without a pod passes, one whose pod has another job under way waits") {
  Rig rig;
  rig.put(make_job("gone", make_pod("nobody")));
  const api::Pod pod = make_pod("p");
  rig.add("first", pod, "Running");
  rig.add("second", pod);
  CHECK(rig.round() == std::vector<std::string>{"gone", "first"});
  CHECK(rig.book.waiting() == std::set<std::string>{"second"});
}

TEST_CASE(
    "a decision ends with a job that is paused or finished by somebody, an older version counts for "
    "nothing") {
  Rig rig;
  rig.args->max_migrating_globally = 1;
  rig.add("j", make_pod("p"));
  const JobPtr old = rig.book.find("j");
  rig.round();
  CHECK(rig.book.decision("j") == Decision::passed);
  api::PodMigrationJob paused = *old;
  paused.spec.paused = true;
  rig.put(paused);
  CHECK(rig.book.decision("j") == Decision::none);
  CHECK(rig.book.waiting().empty());
  CHECK(rig.book.counts().in_all(make_pod("x"), Counted::arbitrated) == 0);
  CHECK_FALSE(rig.book.put(old, nullptr));
  CHECK(rig.book.find("j")->spec.paused);
  api::PodMigrationJob other = *old;
  other.metadata.uid = "another";
  rig.put(other);
  rig.book.remove("j", "uid-j");
  CHECK(rig.book.find("j"));
  rig.book.remove("j", "another");
  CHECK_FALSE(rig.book.find("j"));
}

/// CPU time, so that a busy machine does not count; the bounds are ten times what it takes.
TEST_CASE("a thousand jobs of a large cluster, and fifty thousand that wait") {
  Rig rig;
  rig.args->max_migrating_per_node = 2;
  rig.workloads.replicas = 1000;
  for (int i = 0; i < 1000; ++i)
    for (const char* set : {"set-0", "set-1", "set-2"}) {
      api::Pod pod = make_pod("of-" + std::string(set) + std::to_string(i), "n", set);
      make_ready(pod);
      rig.workloads.pods[set].push_back(std::make_shared<const api::Pod>(std::move(pod)));
    }
  for (int i = 0; i < 1000; ++i) {
    api::Pod pod =
        make_pod("p" + std::to_string(i), "n" + std::to_string(i % 300), "set-" + std::to_string(i % 3));
    make_ready(pod);
    rig.add("j" + std::to_string(i), std::move(pod));
  }
  CHECK(rig.round().size() == 300);  // a tenth of each workload's replicas
  for (int i = 1000; i < 50'000; ++i)
    rig.add("j" + std::to_string(i), make_pod("p" + std::to_string(i), "n0", "set-0"));
  CHECK(rig.round().empty());
}

}  // namespace
}  // namespace koord::descheduler::migration::test
