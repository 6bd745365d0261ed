// Four buckets an octave: where a wait falls, and what a quantile says of waits that are not counted.
#include "koord/host/fine_histogram.hpp"

#include <catch2/catch.hpp>

using koord::host::FineHistogram;

TEST_CASE("four buckets an octave, from one microsecond on") {
  struct Row {
    std::uint64_t ns;
    std::size_t bucket;
    double upper_us;
  };
  const Row rows[] = {{0, 0, 1},
                      {999, 0, 1},
                      {1000, 1, 1.25},
                      {1249, 1, 1.25},
                      {1250, 2, 1.5},
                      {1999, 4, 2},
                      {2000, 5, 2.5},
                      {7999, 12, 8},
                      {8000, 13, 10},
                      {1'000'000, 40, 1024},
                      {2'097'151'999, 84, 2'097'152},
                      {2'097'152'000, 85, 4'194'304},
                      {~0ULL, 85, 4'194'304}};
  for (const Row& row : rows) {
    CAPTURE(row.ns);
    CHECK(FineHistogram::bucket_of(row.ns) == row.bucket);
    CHECK(FineHistogram::upper_us(row.bucket) == row.upper_us);
  }
  for (std::size_t i = 0; i + 1 < FineHistogram::kBuckets; ++i) {
    CAPTURE(i);
    CHECK(FineHistogram::upper_us(i + 1) > FineHistogram::upper_us(i));
    const auto edge = static_cast<std::uint64_t>(FineHistogram::upper_us(i) * 1000);
    CHECK(FineHistogram::bucket_of(edge - 1) == i);
    CHECK(FineHistogram::bucket_of(edge) == i + 1);
  }
}

TEST_CASE("a quantile counts what is not in the histogram as nothing") {
  FineHistogram parts;
  CHECK(parts.upper_quantile_us(0.99, 0) == 0);
  CHECK(parts.upper_quantile_us(0.99, 1000) == 0);
  parts.counts[FineHistogram::bucket_of(3'000'000)] = 20;
  CHECK(parts.upper_quantile_us(0.99, 10'000) == 0);   // 2 in a thousand
  CHECK(parts.upper_quantile_us(0.99, 1000) == 3072);  // 20 in a thousand
  CHECK(parts.upper_quantile_us(0.99, 20) == 3072);
  parts.counts[FineHistogram::bucket_of(50'000)] = 960;
  CHECK(parts.upper_quantile_us(0.5, 1000) == 56);
  CHECK(parts.upper_quantile_us(0.01, 1000) == 0);
}

TEST_CASE("histograms add up, bucket by bucket") {
  FineHistogram sum, more;
  sum.counts = {1, 2, 3};
  more.counts[1] = 5;
  more.counts.back() = 7;
  sum += more;
  CHECK(sum.counts[0] == 1);
  CHECK(sum.counts[1] == 7);
  CHECK(sum.counts[2] == 3);
  CHECK(sum.counts.back() == 7);
  CHECK(sum.count() == 18);
}

TEST_CASE("counters that begin anew are all new") {
  FineHistogram earlier, later;
  earlier.counts = {1, 2, 3};
  later.counts = {1, 4, 3};
  CHECK(later.since(earlier).count() == 2);
  CHECK(earlier.since(later).counts == earlier.counts);
}
