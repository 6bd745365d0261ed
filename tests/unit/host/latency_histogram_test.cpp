#include "koord/host/latency_histogram.hpp"

#include <catch2/catch.hpp>

using koord::host::LatencyHistogram;

TEST_CASE("a wait's bucket is the power of two of its microseconds") {
  struct Row {
    std::uint64_t ns;
    std::size_t bucket;
  };
  const Row rows[] = {{0, 0},          {999, 0},        {1000, 1},           {1999, 1},
                      {2000, 2},       {3999, 2},       {4000, 3},           {1'000'000, 10},
                      {1'023'999, 10}, {1'024'000, 11}, {2'097'151'999, 21}, {2'097'152'000, 22},
                      {UINT64_MAX, 22}};
  for (const Row& row : rows) {
    INFO(row.ns);
    CHECK(LatencyHistogram::bucket_of(row.ns) == row.bucket);
  }
  CHECK(LatencyHistogram::upper_us(0) == 1);
  CHECK(LatencyHistogram::upper_us(10) == 1024);
  for (std::size_t i = 0; i + 1 < LatencyHistogram::kBuckets; ++i) {
    INFO(i);
    CHECK(LatencyHistogram::bucket_of(LatencyHistogram::upper_us(i) * 1000 - 1) == i);
    CHECK(LatencyHistogram::bucket_of(LatencyHistogram::upper_us(i) * 1000) == i + 1);
  }
}

TEST_CASE("quantiles are linear within a bucket") {
  LatencyHistogram histogram;
  CHECK(histogram.quantile_us(0.5) == 0);
  CHECK(histogram.mean_us() == 0);
  for (int i = 0; i < 50; ++i) histogram.add(1'500);   // [1, 2) us
  for (int i = 0; i < 50; ++i) histogram.add(70'000);  // [64, 128) us
  CHECK(histogram.count() == 100);
  CHECK(histogram.mean_us() == Approx(35.75));
  CHECK(histogram.quantile_us(0.25) == Approx(1.5));
  CHECK(histogram.quantile_us(0.5) == Approx(2));
  CHECK(histogram.quantile_us(0.75) == Approx(96));
  CHECK(histogram.quantile_us(1) == Approx(128));
  CHECK(histogram.quantile_us(0) == Approx(1));
  CHECK(histogram.quantile_us(7) == Approx(128));
  CHECK(histogram.quantile_us(-1) == Approx(1));
}

TEST_CASE("a quantile in the last bucket is bounded") {
  LatencyHistogram histogram;
  histogram.add(3'600'000'000'000);
  CHECK(histogram.quantile_us(0.99) <= 4'194'304);
  CHECK(histogram.quantile_us(0.99) >= 2'097'152);
}

TEST_CASE("the difference of two states is what happened between them") {
  LatencyHistogram earlier;
  earlier.add(500);
  earlier.add(5'000);
  LatencyHistogram later = earlier;
  later.add(6'000);
  LatencyHistogram expected;
  expected.add(6'000);
  CHECK(later.since(earlier) == expected);
  CHECK(later.since(later).count() == 0);
  later += later;
  CHECK(later.count() == 6);
  CHECK(later.sum_ns == 23'000);

  SECTION("counters that began anew are all new") {
    LatencyHistogram anew;
    anew.add(6'000);
    CHECK(anew.since(later) == anew);
    LatencyHistogram longer;  // a larger sum, yet another bucket
    longer.add(100'000);
    CHECK(longer.since(earlier) == longer);
  }
}
