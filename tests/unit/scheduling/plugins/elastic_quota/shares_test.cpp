// How one resource is divided: the numbers of Koordinator's runtime_quota_calculator_test.go and
// scale_minquota_when_over_root_res_test.go, and what holds for any.
#include "scheduling/plugins/elastic_quota/shares.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

namespace koord::scheduling::elastic_quota {
namespace {

struct Row {
  std::int64_t weight, request, min, guaranteed;
  std::int64_t runtime;
  bool lends = true;
};
struct Case {
  const char* name;
  std::int64_t total;
  std::vector<Row> rows;  // in the order of their names
};

Shares shares_of(const std::vector<Row>& rows) {
  Shares shares;
  for (const Row& row : rows) {
    shares.add();
    const std::size_t slot = shares.size() - 1;
    shares.weight[slot] = row.weight;
    shares.request[slot] = row.request;
    shares.guaranteed[slot] = row.guaranteed;
    shares.set_min(slot, row.min);
  }
  return shares;
}

std::vector<std::int64_t> runtimes(Shares& shares, std::int64_t total, const std::vector<Row>& rows,
                                   bool scale = false) {
  std::vector<std::uint8_t> lends;
  for (const Row& row : rows) lends.push_back(row.lends ? 1 : 0);
  std::vector<std::uint32_t> rank(rows.size());
  std::iota(rank.begin(), rank.end(), 0);
  shares.divide(total, scale, lends, rank);
  return shares.runtime;
}

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

const std::vector<Case> kCases = {
    {"nobody is guaranteed anything",
     100,
     {{40, 5, 10, 0, 5}, {60, 20, 15, 0, 20}, {50, 40, 20, 0, 35}, {80, 70, 15, 0, 40}}},
    {"a weight of 0", 100, {{40, 5, 10, 0, 5}, {60, 20, 15, 0, 20}, {50, 40, 20, 0, 40}, {0, 70, 15, 0, 15}}},
    {"more is guaranteed than min",
     100,
     {{40, 5, 10, 0, 5}, {60, 20, 15, 0, 20}, {50, 40, 20, 0, 30}, {0, 70, 15, 45, 45}}},
    {"three that are lent go to the first three of ten",
     81,
     {{1, 100, 8, 0, 9},
      {1, 100, 8, 0, 9},
      {1, 100, 8, 0, 9},
      {1, 100, 8, 0, 8},
      {1, 100, 8, 0, 8},
      {1, 100, 8, 0, 8},
      {1, 100, 8, 0, 8},
      {1, 100, 8, 0, 8},
      {1, 100, 7, 0, 7},
      {1, 100, 7, 0, 7},
      {1, 0, 3, 0, 0}}},
    {"who asks for nothing lends its min", 100, {{1, 0, 60, 0, 0}, {1, 90, 50, 0, 90}}},
    {"it takes back what it asks for", 100, {{1, 30, 60, 0, 30}, {1, 90, 50, 0, 70}}},
    {"until it has its min", 100, {{1, 60, 60, 0, 60}, {1, 90, 50, 0, 50}}},
    {"the other is gone", 100, {{1, 90, 50, 0, 90}}},
    {"alone up to max", 120, {{1, 80, 50, 0, 80}}},
    {"the rest is halved", 120, {{1, 80, 50, 0, 60}, {1, 100, 50, 0, 60}}},
    {"who does not lend keeps its min", 100, {{96, 96, 60, 0, 60}, {96, 40, 40, 0, 40, false}}},
    {"nothing is left", 90, {{1, 100, 60, 0, 60}, {1, 100, 50, 0, 50}}},
    {"less than nothing", -5, {{1, 100, 60, 0, 60}, {1, 3, 50, 0, 3}}},
    {"bytes and weights that no double holds",
     9007199254740993,
     {{9007199254740993, kMax, 0, 0, 4503599627370497}, {9007199254740993, kMax, 0, 0, 4503599627370496}}},
    {"the largest weights", 10, {{kMax / 5, 4, 0, 0, 4}, {kMax / 5, 1, 0, 0, 1}, {3, 100, 0, 0, 5}}},
    {"weights beyond 64 bits", 9, {{kMax, 9, 0, 0, 3}, {kMax, 9, 0, 0, 3}, {kMax, 9, 0, 0, 3}}},
    {"a negative weight has no part", 10, {{-1, 10, 1, 0, 1}, {3, 10, 0, 0, 9}}},
};

TEST_CASE("one resource is divided as Koordinator divides it") {
  for (const Case& each : kCases) {
    Shares shares = shares_of(each.rows);
    std::vector<std::int64_t> expected;
    for (const Row& row : each.rows) expected.push_back(row.runtime);
    INFO(each.name);
    CHECK(runtimes(shares, each.total, each.rows) == expected);
    // A second time it is no other.
    CHECK(runtimes(shares, each.total, each.rows) == expected);
  }
}

TEST_CASE("mins that are too much together count for less") {
  struct {
    std::int64_t min, sum, total, scaled;
  } const kRows[] = {
      {50, 100, 200, 100},  // callers ask only where the sum is more than the total
      {50, 100, 50, 25},
      {50, 100, 0, 0},
      {50, 100, -3, 0},
      {100'000, 300'000, 200'000, 66'666},
      {100LL << 30, 300LL << 30, 200LL << 30, (200LL << 30) / 3},
      {0, 0, 5, 0},
  };
  for (const auto& row : kRows) CHECK(scaled_min(row.min, row.sum, row.total) == row.scaled);

  const std::vector<Row> rows = {{1000, 200, 100, 0, 67}, {1000, 200, 100, 0, 67}, {1000, 200, 100, 0, 66}};
  Shares shares = shares_of(rows);
  CHECK(runtimes(shares, 200, rows, true) == std::vector<std::int64_t>{67, 67, 66});
  CHECK(runtimes(shares, 200, rows, false) == std::vector<std::int64_t>{100, 100, 100});
  CHECK(runtimes(shares, 600, rows, true) == std::vector<std::int64_t>{200, 200, 200});
  CHECK(shares.scaled(0, 200) == 66);
  CHECK(shares.scaled(0, 300) == 100);
}

TEST_CASE("slots come and go") {
  const std::vector<Row> rows = {{1, 5, 2, 0, 0}, {1, 6, 3, 0, 0}, {1, 7, 4, 0, 0}};
  Shares shares = shares_of(rows);
  CHECK(shares.sum_of_mins() == 9);
  shares.remove(0);
  CHECK(shares.size() == 2);
  CHECK(shares.min(0) == 4);
  CHECK(shares.request[0] == 7);
  CHECK(shares.sum_of_mins() == 7);
}

TEST_CASE("of any division: sums, mins and what is lent") {
  std::mt19937_64 random(7);
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
  };
  for (int step = 0; step < 3000; ++step) {
    const std::int64_t unit = step % 2 == 0 ? 1 : 1'000'003;
    std::vector<Row> rows;
    const std::int64_t count = 1 + below(12);
    for (std::int64_t i = 0; i < count; ++i)
      rows.push_back({below(4) * unit, below(40) * unit, below(20) * unit, 0, 0, below(4) != 0});
    Shares shares = shares_of(rows);
    const std::int64_t total = below(200) * unit;
    const auto got = runtimes(shares, total, rows, true);
    const bool fit = shares.sum_of_mins() <= total;
    std::int64_t sum = 0, wanted = 0;
    bool all_weigh = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      sum += got[i];
      wanted += row.lends ? row.request : std::max(row.request, row.min);
      all_weigh &= row.weight > 0;
      const std::int64_t sure = shares.scaled(i, total);
      CHECK(got[i] >= std::min(sure, row.request));
      if (!row.lends) CHECK(got[i] >= sure);
      CHECK(got[i] <= std::max(row.request, row.lends ? 0 : sure));
    }
    // Scaled mins are rounded down, so that they fit, too.
    CHECK(sum <= total);
    if (fit && all_weigh) CHECK(sum == std::min(total, wanted));
  }
}

}  // namespace
}  // namespace koord::scheduling::elastic_quota
