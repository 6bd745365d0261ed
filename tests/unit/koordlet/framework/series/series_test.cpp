// SeriesStore: rings, windows, aggregates, digests; series that come and go.
#include "framework/series/series.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "framework/series/digest.hpp"
#include "framework/series/statistics.hpp"

namespace koord::koordlet {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

MonoTime at(nanoseconds since_start) { return MonoTime(hours(100) + since_start); }

TEST_CASE("Percentiles are the original's") {
  struct Row {
    std::size_t count;
    float p;
    std::size_t want;
  };
  // The original's own vector is of nine values, 0 to 800: p90 is 700, p50 is 300.
  const Row rows[] = {{9, 0.9F, 7},    {9, 0.5F, 3},    {1, 0.5F, 0},    {1, 0.99F, 0},    {2, 0.5F, 0},
                      {10, 0.5F, 4},   {10, 0.9F, 8},   {10, 0.95F, 8},  {10, 0.99F, 8},   {20, 0.9F, 17},
                      {20, 0.95F, 18}, {100, 0.5F, 49}, {100, 0.9F, 89}, {100, 0.95F, 94}, {100, 0.99F, 98}};
  for (const Row& row : rows) {
    INFO(row.count << " " << row.p);
    CHECK(percentile_index(row.count, row.p) == row.want);
  }
}

TEST_CASE("The original's vector, through the store") {
  SeriesStore store({});
  const SeriesId id = *store.open(Metric::node_cpu, "");
  for (int i = 0; i < 9; ++i) store.append(id, at(seconds(i)), 100 * i);
  const auto got = store.aggregate(id, at(seconds(8)), minutes(5));
  REQUIRE(got.has_value());
  CHECK(got->avg == 400);
  CHECK(got->p50 == 300);
  CHECK(got->p90 == 700);
  CHECK(got->last == 800);
  CHECK(got->count == 9);
  CHECK(got->span == seconds(8));  // less than half the window: a report is cold
}

TEST_CASE("The original's vector of what is throttled: of each container its own, the last one counts") {
  SeriesStore store({});
  const SeriesId one = *store.open(Metric::container_throttled, "container-id-1");
  const SeriesId two = *store.open(Metric::container_throttled, "container-id-2");
  store.append(one, at(seconds(0)), 0.7);
  store.append(one, at(seconds(110)), 0.6);
  store.append(one, at(seconds(115)), 0.5);
  store.append(two, at(seconds(116)), 0.4);
  const auto got = store.aggregate(one, at(seconds(120)), seconds(121));
  REQUIRE(got.has_value());
  CHECK(got->last == Approx(0.5));
  CHECK(got->count == 3);
  CHECK(got->span == seconds(115));
}

TEST_CASE("Selection gives what sorting gives") {
  std::mt19937 random(7);
  for (std::size_t n : {1, 2, 3, 9, 100, 1800}) {
    std::vector<float> values(n);
    for (float& value : values) value = static_cast<float>(random() % 50);
    std::vector<float> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    const Aggregate got = aggregate_of(values);
    CHECK(got.p50 == static_cast<double>(sorted[percentile_index(n, 0.5F)]));
    CHECK(got.p90 == static_cast<double>(sorted[percentile_index(n, 0.9F)]));
    CHECK(got.p95 == static_cast<double>(sorted[percentile_index(n, 0.95F)]));
    CHECK(got.p99 == static_cast<double>(sorted[percentile_index(n, 0.99F)]));
    CHECK(got.count == n);
  }
}

TEST_CASE("A window holds what is later than its start") {
  SeriesStore store({});
  const SeriesId id = *store.open(Metric::pod_cpu, "a");
  for (int i = 0; i < 10; ++i) store.append(id, at(seconds(i)), i);
  const auto five = store.aggregate(Metric::pod_cpu, "a", at(seconds(9)), seconds(5));
  REQUIRE(five.has_value());
  CHECK(five->count == 5);
  CHECK(five->avg == 7);
  CHECK(five->last == 9);
  CHECK(five->span == seconds(4));
  // Later than now is not there yet.
  CHECK(store.aggregate(id, at(seconds(4)), minutes(1))->last == 4);
  CHECK(store.aggregate(id, at(seconds(60)), seconds(5)).error().code() == Code::not_found);
  CHECK(store.aggregate(id, at(seconds(9)), minutes(31)).error().code() == Code::invalid);
  CHECK(store.aggregate(id, at(seconds(9)), seconds(0)).error().code() == Code::invalid);
  CHECK(store.aggregate(id, at(seconds(9)), seconds(-5)).error().code() == Code::invalid);
  CHECK(store.aggregate(Metric::pod_cpu, "b", at(seconds(9)), seconds(5)).error().code() == Code::not_found);
}

TEST_CASE("Missed ticks take no part") {
  SeriesStore store({});
  const SeriesId steady = *store.open(Metric::pod_cpu, "steady");
  const SeriesId holes = *store.open(Metric::pod_cpu, "holes");
  for (int i = 0; i < 10; ++i) {
    if (i == 4) continue;  // nobody ticked
    store.append(steady, at(seconds(i)), i);
    if (i % 3 == 0) store.append(holes, at(seconds(i)), 100 + i);
    if (i % 3 == 1) store.append(holes, at(seconds(i)), std::nan(""));
  }
  CHECK(store.aggregate(steady, at(seconds(9)), minutes(1))->count == 9);
  const auto got = store.aggregate(holes, at(seconds(9)), seconds(8));
  REQUIRE(got.has_value());
  CHECK(got->count == 3);
  CHECK(got->avg == 106);
  CHECK(got->span == seconds(6));
}

TEST_CASE("Times that jump") {
  SeriesStore store({});
  const SeriesId id = *store.open(Metric::node_cpu, "");
  store.append(id, at(seconds(0)), 1);
  store.append(id, at(seconds(0)), 2);         // the same moment: the later value counts
  store.append(id, at(milliseconds(100)), 3);  // and so does one that is hardly later
  CHECK(store.aggregate(id, at(seconds(0)), seconds(1))->count == 1);
  CHECK(store.aggregate(id, at(seconds(0)), seconds(1))->last == 3);
  store.append(id, at(seconds(-10)), 4);  // the past is closed
  CHECK(store.aggregate(id, at(seconds(0)), minutes(1))->last == 3);
  store.append(id, at(hours(5)), 5);  // after a long sleep
  const auto got = store.aggregate(id, at(hours(5)), minutes(30));
  CHECK(got->count == 1);
  CHECK(got->last == 5);
}

TEST_CASE("The ring keeps the longest window and no more") {
  SeriesStore store({.window = seconds(10)});
  const SeriesId id = *store.open(Metric::pod_memory, "p");
  for (int i = 0; i < 1000; ++i) store.append(id, at(seconds(i)), i);
  const auto got = store.aggregate(id, at(seconds(999)), seconds(10));
  CHECK(got->count == 10);
  CHECK(got->avg == 994.5);
  // A series of which nothing came for longer than that is empty.
  const SeriesId other = *store.open(Metric::pod_memory, "q");
  for (int i = 1000; i < 1100; ++i) store.append(other, at(seconds(i)), 1);
  CHECK(store.aggregate(id, at(seconds(1099)), seconds(10)).error().code() == Code::not_found);
  store.append(id, at(seconds(1100)), 5);
  CHECK(store.aggregate(id, at(seconds(1100)), seconds(10))->count == 1);
}

TEST_CASE("Entities that go leave their memory to those that come") {
  SeriesStore store({.max_series = 3});
  const SeriesId a = *store.open(Metric::pod_cpu, "a");
  CHECK(store.open(Metric::pod_cpu, "a")->index == a.index);
  CHECK(store.open(Metric::pod_memory, "a")->index != a.index);
  REQUIRE(store.open(Metric::pod_cpu, "c").has_value());
  CHECK(store.open(Metric::pod_cpu, "d").error().code() == Code::too_large);
  store.append(a, at(seconds(1)), 1);
  const std::size_t bytes = store.bytes();
  store.close(a);
  store.close(a);
  CHECK(store.size() == 2);
  CHECK_FALSE(store.find(Metric::pod_cpu, "a"));
  store.append(a, at(seconds(2)), 2);  // dead
  CHECK(store.aggregate(a, at(seconds(2)), minutes(1)).error().code() == Code::not_found);
  for (int i = 0; i < 100'000; ++i) {
    const auto id = store.open(Metric::pod_cpu, "pod-" + std::to_string(i));
    REQUIRE(id.has_value());
    REQUIRE_FALSE(store.aggregate(*id, at(seconds(2)), minutes(1)).has_value());  // nothing of the one before
    store.append(*id, at(seconds(3 + i)), i);
    store.close(*id);
  }
  CHECK(store.bytes() == bytes);
}

TEST_CASE("Beyond the ring a node's series are digests of minutes") {
  SeriesStore store({.window = minutes(30), .digest_window = hours(3)});
  const SeriesId node = *store.open(Metric::node_cpu, "");
  const SeriesId pod = *store.open(Metric::pod_cpu, "p");
  std::vector<float> last_two_hours;
  std::mt19937 random(3);
  std::lognormal_distribution<double> cpus(1, 1);
  const int end = 5 * 3600;
  for (int i = 1; i <= end; ++i) {
    const double value = cpus(random);
    store.append(node, at(seconds(i)), value);
    store.append(pod, at(seconds(i)), value);
    if (i > end - 7200) last_two_hours.push_back(static_cast<float>(value));
  }
  const MonoTime now = at(seconds(end));
  CHECK(store.aggregate(pod, now, hours(2)).error().code() == Code::invalid);
  CHECK(store.aggregate(node, now, hours(4)).error().code() == Code::invalid);
  const auto got = store.aggregate(node, now, hours(2));
  REQUIRE(got.has_value());
  const Aggregate want = aggregate_of(last_two_hours);
  CHECK(got->count == Approx(want.count).epsilon(0.01));  // whole minutes
  CHECK(got->avg == Approx(want.avg).epsilon(0.01));
  CHECK(got->p50 == Approx(want.p50).epsilon(0.036 + 0.01));
  CHECK(got->p90 == Approx(want.p90).epsilon(0.036 + 0.01));
  CHECK(got->p99 == Approx(want.p99).epsilon(0.036 + 0.02));
  CHECK(got->last == store.aggregate(node, now, minutes(1))->last);
  CHECK(got->span == hours(2));
}

TEST_CASE("A bucket's middle is near every value of it") {
  for (const double base : {1e-3, 1.0, 1048576.0}) {
    double worst = 0;
    for (double value = base; value < base * 4e7; value *= 1.003) {
      const double middle = LogHistogram::middle_of(LogHistogram::bucket_of(value, base), base);
      worst = std::max(worst, std::abs(middle - value) / value);
    }
    CHECK(worst < 0.036);
    CHECK(LogHistogram::bucket_of(0, base) == 0);
    CHECK(LogHistogram::bucket_of(-1, base) == 0);
    CHECK(LogHistogram::bucket_of(1e300, base) == LogHistogram::kBuckets - 1);
  }
}

TEST_CASE("Metrics have names of their own") {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kMetrics; ++i) names.push_back(name(static_cast<Metric>(i)));
  CHECK(names.front() == "node_cpu");
  CHECK(names.back() == "pod_gpu_memory");
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  CHECK(is_node_level(Metric::be_cpu_request));
  CHECK_FALSE(is_node_level(Metric::container_cpu));
}

}  // namespace
}  // namespace koord::koordlet
