// RecentNodes: what is remembered of whom, and for how long.
#include "migration/jobs/recent_nodes.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

namespace koord::descheduler::migration::test {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

const WallTime kNow{1'700'000'000s};

TEST_CASE("nodes are remembered by workload, as long as is said, from the last time") {
  RecentNodes nodes(5min);
  nodes.note("w", "b", kNow);
  nodes.note("w", "a", kNow + 1min);
  nodes.note("w", "b", kNow + 3min);
  nodes.note("w", "b", kNow + 2min);
  nodes.note("other", "c", kNow);
  nodes.note("", "d", kNow);
  nodes.note("w", "", kNow);
  CHECK(nodes.of("w", kNow + 4min) == Names{"a", "b"});
  CHECK(nodes.of("w", kNow + 7min) == Names{"b"});
  CHECK(nodes.has("w", "b", kNow + 8min));
  CHECK_FALSE(nodes.has("w", "b", kNow + 8min + 1s));
  CHECK_FALSE(nodes.has("w", "c", kNow));
  CHECK_FALSE(nodes.has("", "d", kNow));
  nodes.forget_before(kNow + 7min);
  CHECK(nodes.of("other", kNow).empty());
  CHECK(nodes.of("w", kNow) == Names{"b"});
}

TEST_CASE("of a workload that leaves many nodes the newest are remembered") {
  RecentNodes nodes(5min);
  for (int i = 0; i < 100; ++i) nodes.note("w", fmt::format("n{}", i), kNow + std::chrono::seconds(i));
  CHECK(nodes.of("w", kNow + 100s).size() == RecentNodes::kMost);
  CHECK(nodes.has("w", "n99", kNow + 100s));
  CHECK_FALSE(nodes.has("w", "n0", kNow + 100s));
}

}  // namespace
}  // namespace koord::descheduler::migration::test
