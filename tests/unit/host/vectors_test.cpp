// Inputs and outputs of the original's own tests of its parsers (pkg/koordlet/util, util/system and
// resourceexecutor), as tables. tests/unit/koordlet/README.md says which of them are where.
#include <catch2/catch.hpp>
#include <optional>

#include "koord/host/cgroup_knobs.hpp"
#include "koord/host/cgroup_stats.hpp"
#include "koord/host/cpuset.hpp"
#include "koord/host/pressure.hpp"
#include "koord/host/procfs.hpp"

using namespace koord;
using namespace koord::host;

namespace {

constexpr auto kV1 = CgroupVersion::v1;
constexpr auto kV2 = CgroupVersion::v2;
constexpr std::uint64_t kTwoGi = std::uint64_t{2} << 30;

}  // namespace

TEST_CASE("vectors: cpu.max") {
  struct Row {
    const char* text;
    std::optional<std::int64_t> quota, period;
  };
  // The original wants both fields and reads the quota beside a period that is no number. The kernel writes
  // both, and takes one field: koord reads what the kernel takes, and nothing beside garbage.
  const Row rows[] = {
      {"max 100000", -1, 100'000}, {"100000 100000", 100'000, 100'000}, {"999999 100000", 999'999, 100'000},
      {"0 100000", 0, 100'000},    {"200000 200000", 200'000, 200'000}, {"100000", 100'000, 100'000},
      {"max", -1, 100'000},        {"100000 not_a_number", {}, {}},     {"not_a_number 100000", {}, {}},
      {"invalid content", {}, {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto max = parse_cpu_max(row.text);
    REQUIRE(max.has_value() == row.quota.has_value());
    if (!max) continue;
    CHECK(max->quota_us == row.quota);
    CHECK(max->period_us == row.period);
  }
}

TEST_CASE("vectors: cpu.stat") {
  struct Row {
    CgroupVersion version;
    const char* text;
    bool good;
    CpuStat stat;
  };
  const Row rows[] = {
      {kV2,
       "usage_usec 1000\nuser_usec 200\nsystem_usec 50\nnr_periods 10\nnr_throttled 2\nthrottled_usec 5",
       true,
       {1'000'000, 10, 2, 5000}},
      {kV2,
       "usage_usec 90000\nuser_usec 20000\nsystem_usec 30000\nnr_periods 1\nnr_throttled 2\nthrottled_usec 3",
       true,
       {90'000'000, 1, 2, 3000}},
      {kV2, "usage_usec 1000000", true, {1'000'000'000, 0, 0, 0}},
      // The original wants the cpu controller's lines, too, which a group without it does not have.
      {kV2, "usage_usec 90000\nuser_usec 20000\nsystem_usec 30000", true, {90'000'000, 0, 0, 0}},
      {kV2, "user_usec 20000\nsystem_usec 30000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0", false, {}},
      {kV2, "usage_usec not_a_number\nnr_periods 10\nnr_throttled 2\nthrottled_usec 5", false, {}},
      {kV2, "invalid_field 1000000\nnr_periods 10\nnr_throttled 2\nthrottled_usec 5", false, {}},
      {kV2, "usage_usec 1\nnr_periods not_a_number\nnr_throttled 2\nthrottled_usec 5", false, {}},
      {kV1, "nr_periods 1\nnr_throttled 2\nthrottled_time 3", true, {0, 1, 2, 3}},
      {kV1, "nr_periods 100\nnr_throttled 20\nthrottled_time 5000", true, {0, 100, 20, 5000}},
      {kV1, "nr_periods 200\nnr_throttled abc", false, {}},
      {kV1, "", true, {}},  // nobody was ever throttled
      {kV1, "throttled_time 3", true, {0, 0, 0, 3}},
      {kV1, "nr_periods 1\nnr_throttled 2\nthrottled_time 3\nnr_burst 4\nburst_time 5", true, {0, 1, 2, 3}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto stat = parse_cpu_stat(row.text, row.version);
    REQUIRE(stat.has_value() == row.good);
    if (!stat) continue;
    CHECK(stat->usage_ns == row.stat.usage_ns);
    CHECK(stat->periods == row.stat.periods);
    CHECK(stat->throttled_periods == row.stat.throttled_periods);
    CHECK(stat->throttled_ns == row.stat.throttled_ns);
  }
  CHECK(*parse_counter("9000000000000000\n") == 9'000'000'000'000'000);
  for (const std::uint64_t bytes : {2'451'485'323UL, 5'558'576UL, 1UL, 9'223'372'036'854'771'712UL})
    CHECK(*parse_counter(std::to_string(bytes)) == bytes);
}

TEST_CASE("vectors: memory.stat") {
  struct Row {
    CgroupVersion version;
    const char* text;
    bool good;
    MemoryStat stat;  // anon, file, active and inactive anon, active and inactive file, unevictable
  };
  const Row rows[] = {
      {kV2,
       "file 100\nanon 200\ninactive_file 50\nactive_file 60\ninactive_anon 70\nactive_anon 80\nunevictable "
       "10",
       true,
       {200, 100, 80, 70, 60, 50, 10}},
      {kV2,
       "anon 2147483648\nfile 2147483648\npagetables 1048576\nfile_mapped 1048576\nanon_thp 0\n"
       "inactive_anon 2147483648\nactive_anon 0\ninactive_file 0\nactive_file 2147483648\nunevictable 0\n"
       "slab_reclaimable 1048576\nthp_collapse_alloc 0",
       true,
       {kTwoGi, kTwoGi, 0, kTwoGi, kTwoGi, 0, 0}},
      {kV1,
       "cache 0\nrss 0\ninactive_anon 0\nactive_file 0\nhierarchical_memory_limit 0\ntotal_cache 2147483648\n"
       "total_rss 2147483648\ntotal_rss_huge 0\ntotal_inactive_anon 2147483648\ntotal_active_anon 0\n"
       "total_inactive_file 0\ntotal_active_file 2147483648\ntotal_unevictable 0",
       true,
       {kTwoGi, kTwoGi, 0, kTwoGi, kTwoGi, 0, 0}},
      {kV1,
       "total_cache 100\ntotal_rss 200\ntotal_inactive_file 50\ntotal_active_file 100\n"
       "total_inactive_anon 60\ntotal_active_anon 40\ntotal_unevictable 20",
       true,
       {200, 100, 40, 60, 100, 50, 20}},
      {kV1, "total_cache 100\ninvalid_field abc", false, {}},
      {kV1, "total_cache 100", false, {}},
      {kV1, "", false, {}},
      {kV1, "cache 0\nrss 0\nrss_huge 0\nshmem 0\nmapped_file 0\n", false, {}},
      {kV2, "anon 2147483648\nfile 2147483648\nkernel_stack 0\n", false, {}},
      {kV2,
       "file not_a_number\nanon 200\ninactive_file 50\nactive_file 60\ninactive_anon 70\nactive_anon 80\n"
       "unevictable 10",
       false,
       {}},
      {kV2,
       "invalid_field 100\nanon 200\ninactive_file 50\nactive_file 60\ninactive_anon 70\nactive_anon 80\n"
       "unevictable 10",
       false,
       {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto stat = parse_memory_stat(row.text, row.version);
    REQUIRE(stat.has_value() == row.good);
    if (!stat) continue;
    CHECK(stat->anon == row.stat.anon);
    CHECK(stat->file == row.stat.file);
    CHECK(stat->active_anon == row.stat.active_anon);
    CHECK(stat->inactive_anon == row.stat.inactive_anon);
    CHECK(stat->active_file == row.stat.active_file);
    CHECK(stat->inactive_file == row.stat.inactive_file);
    CHECK(stat->unevictable == row.stat.unevictable);
  }
}

TEST_CASE("vectors: memory.numa_stat") {
  struct Row {
    CgroupVersion version;
    const char* text;
    std::vector<std::uint64_t> pages;  // of 4 KiB; empty: an error
  };
  const Row rows[] = {
      {kV2, "anon N0=12345 N1=67890\nfile N0=10000 N1=20000", {5, 21}},  // the original cuts each off: 20
      {kV2, "anon N0=193236992 N1=4096\nfile N0=1367764992 N1=0\nkernel_stack N0=0 N1=0\n", {381'104, 1}},
      {kV2, "invalid_line_format", {}},
      {kV2, "anon N0=not_a_number\nfile N0=1", {}},
      {kV2, "anon N0=12345 N2=67890\nfile N0=1 N2=1", {3, 0, 16}},  // the original takes no gaps
      {kV2, "anon N0=193236992 \nfile N0=1367764992 N1=0", {}},
      {kV1,
       "total=42227 N0=42184 N1=1\nfile=40094 N0=40126 N1=1\nhierarchical_total=3453155 N0=3453155 N1=1\n",
       {42'184, 1}},
      {kV1, "file=40094 N0=40126 N1=1\nanon=2133 N0=2058 N1=0\n", {}},
      {kV1, "total=97923 N0=1234 N1=5678 N2=91011", {1234, 5678, 91'011}},
      {kV1, "total N0=1234 N1=5678 N2=91011", {}},  // the original reads it; no kernel writes it
      {kV1, "", {}},
      {kV1, "N0=1234 N1=5678 N2=91011", {}},
      {kV1, "total N0=1234 N1=5678 N2=91011 N3-123", {}},
      {kV1, "total N0=12a4 N1=5678 N2=91011 N3=9876", {}},
      {kV1, "total N0=1234 N1=5678 N2=invalid", {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    constexpr std::uint64_t kPage = 4096;
    std::vector<std::uint64_t> nodes;
    const auto parsed = parse_numa_stat(row.text, row.version, kPage, nodes);
    REQUIRE(parsed.has_value() == !row.pages.empty());
    if (!parsed) continue;
    for (std::uint64_t& bytes : nodes) bytes /= kPage;
    CHECK(nodes == row.pages);
  }
}

TEST_CASE("vectors: memory limits and sets of CPUs") {
  CHECK(*parse_memory_limit("2147483648") == 2'147'483'648);
  CHECK(*parse_memory_limit("1048576") == 1'048'576);
  CHECK(*parse_memory_limit("9223372036854771712") == -1);
  CHECK(*parse_memory_limit("max") == -1);
  CHECK(parse_memory_limit("unknown").has_error());
  CHECK(CpuSet::parse("0-7")->size() == 8);
  CHECK(CpuSet::parse("1,52-53")->cpus() == std::vector<int>{1, 52, 53});
  CHECK(*CpuSet::parse("0,1,2,3,4-9,10-11,12,13-20") == CpuSet::range(0, 20));
  CHECK(CpuSet::parse("unknown").has_error());
}

TEST_CASE("vectors: pressure") {
  struct Row {
    const char* text;
    bool good, full;
    double some_avg10 = 0, full_avg10 = 0;
  };
  const Row rows[] = {
      {"some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0", true,
       true},
      {"some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n", true, false},
      {"some avg10=0.00 avg60=0.00 avg300=0.00 total=169260", true, false},
      {"some avg10=5.00 avg60=5.00 avg300=5.00 total=20", true, false, 5},
      {"some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=5.00 avg60=0.00 avg300=0.00 total=0", true,
       true, 0, 5},
      {"some avg10=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0", false, false},
      {"some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull 0.00 avg300=0.00 total=0", false, false},
      {"wrong avg10=0.00 total=0\nfull 0.00 avg300=0.00 total=0", false, false},
      {"wrong content", false, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const auto pressure = parse_pressure(row.text);
    REQUIRE(pressure.has_value() == row.good);
    if (!pressure) continue;
    CHECK(pressure->has_full == row.full);
    CHECK(pressure->some.avg10 == row.some_avg10);
    if (row.full) CHECK(pressure->full.avg10 == row.full_avg10);
  }
}

TEST_CASE("vectors: stat and meminfo") {
  ProcStat stat;
  REQUIRE(parse_proc_stat("cpu  514003 37519 593580 1706155242 5134 45033 38832 0 0 0\n"
                          "cpu0 9755 845 15540 26635869 3021 2312 9724 0 0 0\n"
                          "cpu1 10075 664 10790 26653871 214 973 1163 0 0 0\n"
                          "intr 574218032 193 0 0 0 4209\nctxt 701110258\nprocs_running 53\n",
                          stat)
              .has_value());
  CHECK(stat.total.used() == 1'228'967);
  REQUIRE(stat.cpus.size() == 2);
  CHECK(stat.cpus[0]->used() == 38'176);
  CHECK(stat.cpus[1]->used() == 23'665);
  CHECK(parse_proc_stat("cpu0 9755 845 bad 26635869 3021 2312 9724 0 0 0\n", stat).has_error());

  const auto machine = parse_meminfo(
      "MemTotal:       263432804 kB\nMemFree:        254391744 kB\nMemAvailable:   256703236 kB\n"
      "Buffers:          958096 kB\nCached:          3763224 kB\nActive(anon):     289488 kB\n"
      "Inactive(anon):     1300 kB\nActive(file):    2496524 kB\nInactive(file):  2222452 kB\n"
      "SReclaimable:     445164 kB\nHugePages_Total:       0\nHugepagesize:       2048 kB\n"
      "DirectMap1G:    261095424 kB");
  REQUIRE(machine.has_value());
  CHECK(machine->used() == std::uint64_t{6'729'568} * 1024);
  CHECK(machine->active_anon == std::uint64_t{289'488} * 1024);
  CHECK(machine->cached == std::uint64_t{3'763'224} * 1024);
}
