// metrics: the text format, bounds on series, and handles.
#include "koord/base/metrics.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>
#include <thread>

using namespace koord::metrics;

TEST_CASE("the exposition is Prometheus' text format, sorted") {
  Registry registry;
  const auto attempts =
      registry.counters("scheduler_attempts_total", "Attempts.\nBy \\result.", {"result", "profile"});
  attempts.with({"unschedulable", "a\"b\\c\nd"}).inc();
  attempts.with({"scheduled", "p"}).add(1234567);
  registry.gauge("a_gauge", "First by name.").set(-0.5);
  const auto latency = registry.histogram("latency_seconds", "Latency.", {0.001, 1, 1e7});
  latency.observe(0.001);
  latency.observe(0.5);
  latency.observe(1e9);
  CHECK(latency.count() == 3);
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
  for (const Row& row : rows) {
    Registry registry;
    registry.gauge("g", "h").set(row.in);
    CHECK(registry.exposition() == std::string("# HELP g h\n# TYPE g gauge\ng ") + row.out + "\n");
  }
}

TEST_CASE("a family's series are bounded, removable and found again") {
  Registry registry;
  const auto pods = registry.gauges("pods", "Pods.", {"node"}, 2);
  pods.with({"a"}).set(1);
  pods.with({"b"}).set(2);
  pods.with({"c"}).add(3);
  pods.with({"d"}).add(4);
  CHECK(pods.with({"other"}).value() == 7);
  CHECK(registry.gauges("pods", "Pods.", {"node"}).with({"a"}).value() == 1);
  const Gauge held = pods.with({"a"});
  pods.remove({"a"});
  held.set(9);
  CHECK(registry.exposition().find("\"a\"") == std::string::npos);
  registry.reset();
  CHECK(registry.exposition().empty());
}

TEST_CASE("misuse is told at once") {
  Registry registry;
  registry.counter("x", "h");
  CHECK_THROWS_AS(registry.gauge("x", "h"), std::logic_error);
  CHECK_THROWS_AS(registry.counter("9x", "h"), std::logic_error);
  CHECK_THROWS_AS(registry.counters("y", "h", {"le"}), std::logic_error);
  CHECK_THROWS_AS(registry.counters("z", "h", {"a"}).with({"1", "2"}), std::logic_error);
}

TEST_CASE("threads count together, and hooks run before a scrape") {
  Registry registry;
  const Counter counter = registry.counter("c_total", "h");
  const Histogram histogram = registry.histogram("h", "h", exponential_bounds(1, 2, 3));
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
  const auto late = registry.gauges("late", "h", {"k"});
  registry.on_scrape([late] { late.with({"v"}).set(5); });
  CHECK(registry.exposition().find("late{k=\"v\"} 5\n") != std::string::npos);
  CHECK(linear_bounds(1, 2, 3) == std::vector<double>{1, 3, 5});
}
