#include "koord/host/cgroup_stats.hpp"

#include <catch2/catch.hpp>

using namespace koord::host;

TEST_CASE("cpu.stat of both versions") {
  const auto v1 = parse_cpu_stat("nr_periods 10\nnr_throttled 3\nthrottled_time 5000\n", CgroupVersion::v1);
  REQUIRE(v1.has_value());
  CHECK(v1->periods == 10);
  CHECK(v1->throttled_periods == 3);
  CHECK(v1->throttled_ns == 5000);
  const auto v2 = parse_cpu_stat(
      "usage_usec 7\nuser_usec 4\nsystem_usec 3\nnr_periods 10\nnr_throttled 3\nthrottled_usec 5\n",
      CgroupVersion::v2);
  REQUIRE(v2.has_value());
  CHECK(v2->usage_ns == 7000);
  CHECK(v2->throttled_ns == 5000);
  CHECK(parse_cpu_stat("", CgroupVersion::v1).has_value());
  CHECK(parse_cpu_stat("", CgroupVersion::v2).has_error());
  CHECK(parse_cpu_stat("nr_periods many\n", CgroupVersion::v1).has_error());
  CHECK(*parse_counter("123456789012\n") == 123'456'789'012);
  CHECK(parse_counter("").has_error());
}

TEST_CASE("memory.stat: the subtree in v1, and what is used") {
  const auto v1 = parse_memory_stat(
      "cache 1\nrss 1\ntotal_cache 100\ntotal_rss 60\ntotal_inactive_anon 10\ntotal_active_anon 50\n"
      "total_inactive_file 30\ntotal_active_file 70\ntotal_unevictable 5\n",
      CgroupVersion::v1);
  REQUIRE(v1.has_value());
  CHECK(v1->used() == 65);
  CHECK(v1->used_with_page_cache() == 165);
  const auto v2 = parse_memory_stat(
      "anon 60\nfile 100\ninactive_anon 10\nactive_anon 50\ninactive_file 30\nactive_file 70\nunevictable "
      "5\n",
      CgroupVersion::v2);
  REQUIRE(v2.has_value());
  CHECK(v2->used() == 65);
  // The order is the kernel's habit, not its promise.
  const auto turned = parse_memory_stat(
      "unevictable 5\nactive_file 70\nanon_thp 9\ninactive_file 30\nactive_anon 50\ninactive_anon 10\n"
      "anon 60\nfile_thp 9\nfile 100\n",
      CgroupVersion::v2);
  REQUIRE(turned.has_value());
  CHECK(turned->used() == 65);
  CHECK(turned->file == 100);
  CHECK(turned->anon == 60);
  const auto missing = parse_memory_stat("anon 60\n", CgroupVersion::v2);
  REQUIRE(missing.has_error());
  CHECK(missing.error().message() == "memory.stat: no line file");
}

TEST_CASE("memory.numa_stat of v1: what memory.stat says of the whole subtree") {
  const std::string lines =
      "hierarchical_total=2959546 N0=2959546\nhierarchical_file=2259394 N0=2259394\n"
      "hierarchical_anon=695285 N0=695285\nhierarchical_unevictable=4867 N0=4867\n";
  const auto use = parse_numa_use(
      "total=6541 N0=6541\nfile=1300 N0=1300\nanon=374 N0=374\nunevictable=4867 N0=4867\n" + lines, 4096);
  REQUIRE(use.has_value());
  CHECK(use->used == (695'285ULL + 4'867) * 4096);
  CHECK(use->used_with_page_cache == (695'285ULL + 4'867 + 2'259'394) * 4096);
  REQUIRE(parse_numa_use("hierarchical_file=1\nhierarchical_anon=2 N0=1 N1=1\nhierarchical_unevictable=3\n",
                         65'536)
              ->used == 5 * 65'536);
  for (const char* text : {"", "total=1 N0=1\nfile=1 N0=1\nanon=1 N0=1\nunevictable=0 N0=0\n",
                           "hierarchical_file=1\nhierarchical_anon=2\n",
                           "hierarchical_file=1\nhierarchical_anon=-2\nhierarchical_unevictable=3\n",
                           "hierarchical_file=18446744073709551615\nhierarchical_anon=2\n"
                           "hierarchical_unevictable=3\n"}) {
    CAPTURE(text);
    CHECK(parse_numa_use(text, 4096).has_error());
  }
}

TEST_CASE("memory.numa_stat: bytes by the node's number, whatever a page is and which numbers there are") {
  using Bytes = std::vector<std::uint64_t>;
  constexpr std::uint64_t kPage = 65'536;
  Bytes bytes = {7, 7, 7};  // what is used again
  REQUIRE(parse_numa_stat("total=30 N0=10 N1=20\nfile=1 N0=1 N1=0\n", CgroupVersion::v1, kPage, bytes)
              .has_value());
  CHECK(bytes == Bytes{10 * kPage, 20 * kPage});
  REQUIRE(parse_numa_stat("total=30 N0=10 N1=20\n", CgroupVersion::v1, 4096, bytes).has_value());
  CHECK(bytes == Bytes{10 * 4096, 20 * 4096});
  REQUIRE(parse_numa_stat("anon N0=131072 N1=65536\nfile N0=65536 N1=0\nother N0=1 N1=1\n", CgroupVersion::v2,
                          kPage, bytes)
              .has_value());
  CHECK(bytes == Bytes{196'608, 65'536});
  REQUIRE(parse_numa_stat("total=3 N0=1 N2=2\n", CgroupVersion::v1, kPage, bytes).has_value());
  CHECK(bytes == Bytes{kPage, 0, 2 * kPage});
  REQUIRE(parse_numa_stat("anon N1=1 N8=2\nfile N1=4 N8=8\n", CgroupVersion::v2, kPage, bytes).has_value());
  CHECK(bytes == Bytes{0, 5, 0, 0, 0, 0, 0, 0, 10});

  for (const char* text : {"", "file=1 N0=1\n", "total=1 N1=1 N0=1\n", "total=1 N0=1 N0=1\n",
                           "total=1 N0=x\n", "total=1\n", "total=1 N1024=1\n"}) {
    CAPTURE(text);
    CHECK(parse_numa_stat(text, CgroupVersion::v1, kPage, bytes).has_error());
  }
  for (const char* text : {"anon N0=1\n", "anon N0=1 N2=1\nfile N0=1\n", "anon N0=1\nfile N0=1 N2=1\n",
                           "anon N0=1 N2=1\nfile N0=1 N3=1\n"}) {
    CAPTURE(text);
    CHECK(parse_numa_stat(text, CgroupVersion::v2, kPage, bytes).has_error());
  }
}
