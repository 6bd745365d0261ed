#include "koord/host/cpuset.hpp"

#include <catch2/catch.hpp>

using koord::host::count_cpus;
using koord::host::CpuSet;

TEST_CASE("the kernel's lists are read and written canonically") {
  struct Row {
    const char* text;
    const char* canonical;
    int size;
  };
  const Row rows[] = {{"", "", 0},
                      {"0", "0", 1},
                      {"0-3,8\n", "0-3,8", 5},
                      {"3,2,1,0", "0-3", 4},
                      {"5-5", "5", 1},
                      {"0-63,64-127", "0-127", 128},
                      {"8191", "8191", 1},
                      {" 1,3,5 ", "1,3,5", 3},
                      {"0,0,0-1", "0-1", 2},
                      {"63-64", "63-64", 2},
                      {"0-8191", "0-8191", 8192},
                      {"64-127,255-256", "64-127,255-256", 66}};
  for (const Row& row : rows) {
    INFO(row.text);
    const auto set = CpuSet::parse(row.text);
    REQUIRE(set.has_value());
    CHECK(set->to_string() == row.canonical);
    CHECK(set->size() == row.size);
  }
}

TEST_CASE("what is no list of CPUs is an error") {
  for (const char* text :
       {"a", "1-", "-1", "3-1", "0,", ",0", "0,,1", "8192", "99999999999", "0-3:1/2", "1 2"}) {
    INFO(text);
    const auto set = CpuSet::parse(text);
    REQUIRE(set.has_error());
    CHECK(set.error().code() == koord::Code::parse);
    CHECK(count_cpus(text).has_error());
  }
}

TEST_CASE("CPUs of a kernel's list are counted without building the set") {
  struct Row {
    const char* list;
    int count;
  };
  for (const Row& row : {Row{"", 0}, Row{"\n", 0}, Row{"0\n", 1}, Row{"0-3,8", 5}, Row{"1,3-4,127\n", 4},
                         Row{"0-8191", 8192}}) {
    INFO(row.list);
    REQUIRE(count_cpus(row.list).has_value());
    CHECK(*count_cpus(row.list) == row.count);
    CHECK(CpuSet::parse(row.list)->size() == row.count);
  }
  CHECK(count_cpus("2,1").has_error());
}

TEST_CASE("sets of different lengths combine") {
  const CpuSet low{0, 1, 2};
  const CpuSet high{2, 130};
  CHECK((low | high).to_string() == "0-2,130");
  CHECK((low & high).to_string() == "2");
  CHECK((high - low).to_string() == "130");
  CHECK((low - high).to_string() == "0-1");
  CHECK(CpuSet{2}.is_subset_of(high));
  CHECK_FALSE(high.is_subset_of(low));
  CpuSet shrunk = high;
  shrunk.remove(130);
  CHECK(shrunk == CpuSet{2});
  CHECK(CpuSet::range(4, 7).to_string() == "4-7");
}
