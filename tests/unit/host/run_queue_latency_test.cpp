// The run-queue latency collector, without a kernel that has it: its errors, its sizes, the numbers of
// cgroups.
#include "bpf/run_queue_latency_variants.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

using koord::Code;
using koord::host::CgroupVersion;
using koord::host::Root;
using koord::host::RunQueueLatency;
using koord::host::TableSizes;

TEST_CASE("a kernel without BTF is one clear reason") {
  const auto opened = RunQueueLatency::open(Root::below("/nonexistent"), CgroupVersion::v2);
  REQUIRE(opened.has_error());
  CHECK(opened.error().code() == Code::unsupported);
  CHECK(opened.error().message() ==
        "this kernel gives no BTF: /nonexistent/sys/kernel/btf/vmlinux is not there");
}

TEST_CASE("the kernel's tables, by the number of CPUs") {
  struct Row {
    std::size_t cpus, shards, places, tasks;
  };
  // Up to 1,024 CPUs none shares a group's place with another, until there is none left.
  const Row rows[] = {{1, 1, 8'192, 65'536},         {2, 2, 16'384, 65'536},
                      {8, 8, 65'536, 65'536},        {64, 64, 65'536, 65'536},
                      {128, 128, 131'072, 131'072},  {512, 512, 131'072, 262'144},
                      {8192, 1024, 131'072, 262'144}};
  for (const Row& row : rows) {
    const TableSizes sizes = koord::host::table_sizes(row.cpus);
    CHECK(sizes.groups == 8192);
    CHECK(sizes.shards == row.shards);
    CHECK(sizes.places == row.places);
    CHECK(sizes.tasks == row.tasks);
  }
}

TEST_CASE("a cgroup's number is its folder's inode") {
  const auto folder = std::filesystem::temp_directory_path() / ("koord-inode-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  struct stat info {};
  REQUIRE(stat(folder.c_str(), &info) == 0);
  const auto id = koord::host::cgroup_id(folder);
  REQUIRE(id.has_value());
  CHECK(*id == info.st_ino);
  std::filesystem::remove(folder);
  const auto gone = koord::host::cgroup_id(folder);
  REQUIRE(gone.has_error());
  CHECK(gone.error().code() == Code::not_found);
}
