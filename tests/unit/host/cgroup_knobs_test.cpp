#include "koord/host/cgroup_knobs.hpp"

#include <catch2/catch.hpp>
#include <limits>

using namespace koord;
using namespace koord::host;

TEST_CASE("what can be undone, and what has to be levelled, are in the table") {
  for (const Knob knob : {Knob::cpu_quota, Knob::cpuset_cpus, Knob::cpuset_mems, Knob::memory_limit}) {
    CHECK(can_be_undone(knob));
    CHECK(is_levelled(knob));
  }
  for (const Knob knob : {Knob::cpu_shares, Knob::cpu_period}) {
    CHECK(can_be_undone(knob));
    CHECK_FALSE(is_levelled(knob));
  }
  for (const Knob knob : {Knob::tasks, Knob::procs, Knob::cpu_stat, Knob::io_pressure})
    CHECK_FALSE(can_be_undone(knob));
}

TEST_CASE("what sets free and which of several values counts are in the table") {
  for (const KnobRow& row : knob_table()) {
    INFO(row.name);
    // Nothing else can be put back, or be merged.
    if (row.default_value || row.merge != KnobMerge::order) CHECK(can_be_undone(row.knob));
    if (row.default_value && row.minimum) CHECK(*row.default_value >= *row.minimum);
  }
  CHECK(row(Knob::cpu_burst).default_value == 0);
  CHECK(row(Knob::memory_limit).merge == KnobMerge::least);
  CHECK(row(Knob::cpu_quota).merge == KnobMerge::order);
}

TEST_CASE("what one knob means for another is said of both") {
  for (const KnobRow& one : knob_table()) {
    INFO(one.name);
    if (one.suspends) CHECK(row(*one.suspends).suspended_by == one.knob);
    if (one.suspended_by) CHECK(row(*one.suspended_by).suspends == one.knob);
    // Keys are of settings, which are undone one by one, and never of those that are levelled.
    if (one.layout != KnobLayout::whole) CHECK(one.kind == KnobKind::setting);
    if (one.share) CHECK((is_levelled(one.knob) && one.share->unless_known > 0));
  }
}

TEST_CASE("limits of devices: what undoes one, and what the kernel would take for another") {
  CHECK(*knob_text(Knob::io_weight, CgroupVersion::v1, 0) == "default");
  CHECK(*knob_text(Knob::io_weight, CgroupVersion::v2, 40) == "40");
  CHECK_FALSE(knob_text(Knob::io_weight, CgroupVersion::v2, 10'001).has_value());
  CHECK(*knob_text(Knob::io_read_bps, CgroupVersion::v1, std::int64_t{1} << 40) == "1099511627776");
  // 32 bits are kept of it: this would be none at all.
  CHECK_FALSE(knob_text(Knob::io_write_iops, CgroupVersion::v1, std::int64_t{1} << 32).has_value());
  CHECK(*knob_text(Knob::io_max, CgroupVersion::v2, kUnlimited) == "max");
}

TEST_CASE("shares and weights") {
  struct Row {
    std::int64_t shares, weight;
  };
  const Row rows[] = {{2, 1},         {1000, 39},        {1024, 39}, {2000, 77},       {2048, 79},
                      {50'000, 1908}, {262'144, 10'000}, {0, 1},     {300'000, 10'000}};
  for (const Row& row : rows) CHECK(shares_to_weight(row.shares) == row.weight);
  CHECK(weight_to_shares(1) == 2);
  CHECK(weight_to_shares(39) == 998);
  CHECK(weight_to_shares(10'000) == 262'144);
  CHECK(weight_to_shares(100) == 2597);
  CHECK(milli_cpu_to_shares(1000) == 1024);
  CHECK(milli_cpu_to_shares(1) == 2);
}

TEST_CASE("quotas of thousandths of a CPU") {
  CHECK(milli_cpu_to_quota(1000) == 100'000);
  CHECK(milli_cpu_to_quota(1) == 1000);
  CHECK(milli_cpu_to_quota(0) == -1);
  CHECK(milli_cpu_to_quota(-5) == -1);
  constexpr auto kHuge = std::numeric_limits<std::int64_t>::max();
  CHECK(milli_cpu_to_quota(kHuge) > kHuge / 1100);
  CHECK(milli_cpu_to_shares(kHuge) > 1'000'000'000);
  CHECK(milli_cpu_to_shares(-kHuge) == 2);
}

TEST_CASE("cpu.max") {
  CHECK(parse_cpu_max("max 100000\n")->quota_us == kUnlimited);
  CHECK(parse_cpu_max("50000 200000\n")->quota_us == 50'000);
  CHECK(parse_cpu_max("50000 200000\n")->period_us == 200'000);
  CHECK(parse_cpu_max("50000")->period_us == kDefaultPeriodUs);
  for (const char* text : {"", "x 100000", "-1 100000", "1 0", "1 2 3"})
    CHECK(parse_cpu_max(text).has_error());
}

TEST_CASE("memory limits") {
  CHECK(*parse_memory_limit("max\n") == kUnlimited);
  CHECK(*parse_memory_limit("9223372036854771712\n") == kUnlimited);
  CHECK(*parse_memory_limit("9223372036854710272\n") == kUnlimited);  // with pages of 64 KiB
  CHECK(*parse_memory_limit("1048576\n") == 1'048'576);
  CHECK(parse_memory_limit("1M").has_error());
}

TEST_CASE("values to write, by version") {
  CHECK(*knob_text(Knob::cpu_quota, CgroupVersion::v1, -1) == "-1");
  CHECK(*knob_text(Knob::cpu_quota, CgroupVersion::v2, -1) == "max");
  CHECK(*knob_text(Knob::cpu_quota, CgroupVersion::v2, 50'000) == "50000");
  CHECK(*knob_text(Knob::cpu_shares, CgroupVersion::v1, 1024) == "1024");
  CHECK(*knob_text(Knob::cpu_shares, CgroupVersion::v2, 1024) == "39");
  CHECK(*knob_text(Knob::memory_limit, CgroupVersion::v2, -1) == "max");
  for (const Knob knob : {Knob::memory_min, Knob::memory_low, Knob::memory_high}) {
    CHECK(*knob_text(knob, CgroupVersion::v2, -1) == "max");
    CHECK(*knob_text(knob, CgroupVersion::v1, -1) ==
          "9223372036854775807");  // which the kernel rounds to none
  }
  CHECK(knob_text(Knob::memory_wmark_ratio, CgroupVersion::v2, 101).has_error());
  CHECK(*knob_text(Knob::memory_wmark_min_adj, CgroupVersion::v1, -25) == "-25");
  const auto low = knob_text(Knob::cpu_shares, CgroupVersion::v1, 1);
  REQUIRE(low.has_error());
  CHECK(low.error().message() == "cpu.shares: 1 is out of range, expected at least 2 and at most 262144");
  CHECK(knob_text(Knob::cpu_shares, CgroupVersion::v2, 0).has_error());
  CHECK(knob_text(Knob::cpu_shares, CgroupVersion::v2, 262'145).has_error());
  CHECK(knob_text(Knob::cpu_period, CgroupVersion::v2, 100'000).error().code() == Code::unsupported);
}
