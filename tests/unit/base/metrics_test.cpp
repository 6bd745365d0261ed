// metrics: the text format, bounds on series, and handles.
#include "koord/base/metrics.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>
#include <thread>

using namespace koord::metrics;

namespace {

constexpr Metric kCount{.name = "c_total", .help = "h"};
constexpr Metric kPods{
    .name = "pods", .type = Type::gauge, .help = "Pods.", .labels = {"node"}, .max_series = 2};

}  // namespace

TEST_CASE("the exposition is Prometheus' text format, sorted") {
  static constexpr Metric kAttempts{
      .name = "scheduler_attempts_total", .help = "Attempts.\nBy \\result.", .labels = {"result", "profile"}};
  static constexpr Metric kFirst{.name = "a_gauge", .type = Type::gauge, .help = "First by name."};
  static constexpr Metric kLatency{
      .name = "latency_seconds", .type = Type::histogram, .help = "Latency.", .bounds = {0.001, 1, 1e7}};
  Registry registry;
  const auto attempts = registry.counters(kAttempts);
  attempts.with({"unschedulable", "a\"b\\c\nd"}).inc();
  attempts.with({"scheduled", "p"}).add(1234567);
  registry.gauge(kFirst).set(-0.5);
  const auto latency = registry.histogram(kLatency);
  latency.observe(0.001);
  latency.observe(0.5);
  latency.observe(1e9);
  CHECK(latency.count() == 3);
  CHECK(registry.rows() == std::vector<const Metric*>{&kFirst, &kLatency, &kAttempts});
  CHECK(registry.exposition() ==
        "# HELP a_gauge First by name.\n"
        "# TYPE a_gauge gauge\n"
        "a_gauge -0.5\n"
        "# HELP latency_seconds Latency.\n"
        "# TYPE latency_seconds histogram\n"
        "latency_seconds_bucket{le=\"0.001\"} 1\n"
        "latency_seconds_bucket{le=\"1\"} 2\n"
        "latency_seconds_bucket{le=\"1e+07\"} 2\n"
        "latency_seconds_bucket{le=\"+Inf\"} 3\n"
        "latency_seconds_sum 1.000000000501e+09\n"
        "latency_seconds_count 3\n"
        "# HELP scheduler_attempts_total Attempts.\\nBy \\\\result.\n"
        "# TYPE scheduler_attempts_total counter\n"
        "scheduler_attempts_total{result=\"scheduled\",profile=\"p\"} 1.234567e+06\n"
        "scheduler_attempts_total{result=\"unschedulable\",profile=\"a\\\"b\\\\c\\nd\"} 1\n");
}

TEST_CASE("numbers are printed as Go prints them") {
  struct Row {
    double in;
    const char* out;
  };
  const Row rows[] = {{0, "0"},       {1, "1"},           {0.1, "0.1"},    {100000, "100000"},
                      {1e6, "1e+06"}, {1e-4, "0.0001"},   {1e-5, "1e-05"}, {1e300, "1e+300"},
                      {NAN, "NaN"},   {-INFINITY, "-Inf"}};
  static constexpr Metric kGauge{.name = "g", .type = Type::gauge, .help = "h"};
  for (const Row& row : rows) {
    Registry registry;
    registry.gauge(kGauge).set(row.in);
    CHECK(registry.exposition() == std::string("# HELP g h\n# TYPE g gauge\ng ") + row.out + "\n");
  }
}

TEST_CASE("a family's series are bounded, removable and found again") {
  Registry registry;
  const auto pods = registry.gauges(kPods);
  pods.with({"a"}).set(1);
  pods.with({"b"}).set(2);
  pods.with({"c"}).add(3);
  pods.with({"d"}).add(4);
  CHECK(pods.with({"other"}).value() == 7);
  CHECK(registry.gauges(kPods).with({"a"}).value() == 1);
  const Gauge held = pods.with({"a"});
  pods.remove({"a"});
  held.set(9);
  CHECK(registry.exposition().find("\"a\"") == std::string::npos);
  registry.reset();
  CHECK(registry.exposition().empty());
}

TEST_CASE("misuse is told at once") {
  static constexpr Metric kX{.name = "x", .help = "h"}, kLabelled{.name = "x", .help = "h", .labels = {"a"}},
      kSame{.name = "x", .help = "another text"}, kDigit{.name = "9x", .help = "h"},
      kBound{.name = "y", .help = "h", .labels = {"le"}}, kZ{.name = "z", .help = "h", .labels = {"a"}},
      kFalling{.name = "f", .type = Type::histogram, .help = "h", .bounds = {2, 1}};
  Registry registry;
  registry.counter(kX).inc();
  CHECK(registry.counter(kSame).value() == 1);
  CHECK_THROWS_AS(registry.counters(kLabelled), std::logic_error);
  CHECK_THROWS_AS(registry.gauge(kX), std::logic_error);
  CHECK_THROWS_AS(registry.counter(kDigit), std::logic_error);
  CHECK_THROWS_AS(registry.counters(kBound), std::logic_error);
  CHECK_THROWS_AS(registry.histogram(kFalling), std::logic_error);
  CHECK_THROWS_AS(registry.counters(kZ).with({"1", "2"}), std::logic_error);
}

TEST_CASE("threads count together, and hooks run before a scrape") {
  static constexpr Metric kHistogram{
      .name = "h", .type = Type::histogram, .help = "h", .bounds = exponential_bounds(1, 2, 3)};
  static constexpr Metric kLate{.name = "late", .type = Type::gauge, .help = "h", .labels = {"k"}};
  Registry registry;
  const Counter counter = registry.counter(kCount);
  const Histogram histogram = registry.histogram(kHistogram);
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([counter, histogram] {
        for (int i = 0; i < 1000; ++i) {
          counter.inc();
          histogram.observe(3);
        }
      });
    }
  }
  CHECK(counter.value() == 4000);
  CHECK(histogram.count() == 4000);
  CHECK(histogram.sum() == 12000);
  const auto late = registry.gauges(kLate);
  registry.on_scrape([late] { late.with({"v"}).set(5); });
  CHECK(registry.exposition().find("late{k=\"v\"} 5\n") != std::string::npos);
  CHECK(exponential_bounds(1, 2, 3) == Bounds{1, 2, 4});
}
