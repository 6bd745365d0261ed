// order(): upstream's rows of arbitrator/sort_test; and the limits of objects.
#include <catch2/catch.hpp>

#include <chrono>
#include <map>

#include "koord/api/koordinator/classes.hpp"
#include "migration/arbitration_order.hpp"
#include "migration/migration_objects.hpp"
#include "migration/object_limiter.hpp"

namespace koord::descheduler::migration::test {
namespace {

using namespace std::chrono_literals;

std::string name_of(int i) { return "test-job-" + std::to_string(i); }

WaitingJob waiting(int i, api::Pod pod) {
  const auto shared = std::make_shared<const api::Pod>(std::move(pod));
  return {std::make_shared<const api::PodMigrationJob>(make_job(name_of(i), *shared)), shared};
}

std::vector<std::string> names(const std::vector<WaitingJob>& jobs) {
  std::vector<std::string> all;
  all.reserve(jobs.size());
  for (const WaitingJob& job : jobs) all.push_back(job.job->metadata.name);
  return all;
}

std::size_t nothing_moves(std::string_view) { return 0; }

void own(api::Pod& pod, int batch) {
  pod.metadata.owner_references.clear();
  api::OwnerReference& owner = pod.metadata.owner_references.emplace_back();
  owner.kind = "Job";
  owner.uid = Symbol("batch-" + std::to_string(batch));
  owner.controller = true;
}

TEST_CASE("jobs that wait, by their pods: upstream's rows") {
  const std::vector<int> orders[] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, {}, {8, 7, 5, 4, 9, 2, 3, 11}};
  const std::vector<int> expected[] = {
      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}, {}, {5, 6, 3, 2, 1, 0, 4, 7}};
  for (std::size_t row = 0; row < std::size(orders); ++row) {
    std::vector<WaitingJob> jobs;
    for (std::size_t i = 0; i < orders[row].size(); ++i) {
      api::Pod pod = make_pod("p" + std::to_string(i));
      pod.spec.priority = orders[row][i];
      jobs.push_back(waiting(static_cast<int>(i), pod));
    }
    order(jobs, nothing_moves);
    std::vector<std::string> want;
    for (const int i : expected[row]) want.push_back(name_of(i));
    CHECK(names(jobs) == want);
  }
}

TEST_CASE("jobs that wait, the newest first: upstream's row") {
  std::vector<WaitingJob> jobs;
  const long created[] = {222222, 222222222, 111111111, 11111, 11111};
  for (int i = 0; i < 5; ++i) {
    api::PodMigrationJob job = make_job(name_of(i), make_pod("p"));
    job.metadata.creation_timestamp = api::Time(std::chrono::sys_seconds(std::chrono::seconds(created[i])));
    jobs.push_back({std::make_shared<const api::PodMigrationJob>(job), nullptr});
  }
  order(jobs, nothing_moves);
  CHECK(names(jobs) == std::vector<std::string>{name_of(1), name_of(2), name_of(0), name_of(3), name_of(4)});
}

TEST_CASE("jobs that wait, those of a Job together and those of the busier Job first: upstream's rows") {
  struct Row {
    int jobs;
    std::map<int, int> batch_of;
    std::map<std::string, std::size_t> moving;
    std::vector<int> want;
  };
  const Row rows[] = {
      // SortJobsByController
      {10, {{4, 0}, {8, 0}}, {}, {0, 1, 2, 3, 4, 8, 5, 6, 7, 9}},
      {10, {}, {}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {10, {{3, 0}, {8, 0}, {1, 1}, {9, 1}}, {}, {0, 1, 9, 2, 3, 8, 4, 5, 6, 7}},
      {5, {{2, 0}, {3, 0}, {4, 0}}, {}, {0, 1, 2, 3, 4}},
      {6, {{0, 0}, {4, 1}, {2, 2}}, {}, {0, 1, 2, 3, 4, 5}},
      // SortJobsByMigratingNum
      {10, {{4, 0}, {8, 0}}, {{"batch-0", 1}, {"batch-1", 1}}, {4, 8, 0, 1, 2, 3, 5, 6, 7, 9}},
      {10, {}, {}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
      {5, {{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}}, {{"batch-0", 1}}, {0, 1, 2, 3, 4}},
      {5, {{2, 0}, {3, 0}, {4, 0}}, {{"batch-0", 1}}, {2, 3, 4, 0, 1}},
      // In its test the groups of the step before are missing: 2, 3, 5 there.
      {6, {{2, 0}, {3, 1}, {5, 0}}, {{"batch-0", 1}, {"batch-1", 1}}, {2, 5, 3, 0, 1, 4}},
      {10, {{4, 0}, {8, 0}, {7, 1}}, {{"batch-0", 1}, {"batch-1", 2}}, {7, 4, 8, 0, 1, 2, 3, 5, 6, 9}},
  };
  for (const Row& row : rows) {
    std::vector<WaitingJob> jobs;
    for (int i = 0; i < row.jobs; ++i) {
      api::Pod pod = make_pod("p" + std::to_string(i));
      if (const auto it = row.batch_of.find(i); it != row.batch_of.end()) own(pod, it->second);
      jobs.push_back(waiting(i, pod));
    }
    order(jobs, [&](std::string_view uid) {
      const auto it = row.moving.find(std::string(uid));
      return it == row.moving.end() ? std::size_t{0} : it->second;
    });
    std::vector<std::string> want;
    want.reserve(row.want.size());
    for (const int i : row.want) want.push_back(name_of(i));
    CHECK(names(jobs) == want);
  }
}

TEST_CASE("a limit of objects is a bucket that fills again, also after a restart") {
  const WallTime start{1'700'000'000s};
  ObjectLimits limits(5min);
  CHECK(limits.is_fresh("set"));
  CHECK(limits.next("set", 1, start) == start);
  limits.take("set", start);
  CHECK(limits.next("set", 1, start) == start + 5min);
  CHECK(limits.next("set", 5, start) == start + 1min);
  CHECK(limits.next("set", 5, start + 1min) == start + 1min);
  CHECK(limits.next("set", 0, start) == start);
  CHECK(limits.next("other", 1, start) == start);
  // One that begins anew is told of what was evicted before, in any order.
  ObjectLimits bursts(5min, 2);
  bursts.take("set", start + 10s);
  bursts.take("set", start);
  CHECK(bursts.next("set", 5, start + 10s) == start + 1min);
  bursts.forget_before(start + 7min + 20s);
  CHECK_FALSE(bursts.is_fresh("set"));
  bursts.forget_before(start + 8min);
  CHECK(bursts.is_fresh("set"));
  ObjectLimits none(0s);
  none.take("set", start);
  CHECK(none.next("set", 1, start) == start);
}

}  // namespace
}  // namespace koord::descheduler::migration::test
