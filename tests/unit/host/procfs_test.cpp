#include "koord/host/procfs.hpp"

#include <catch2/catch.hpp>

#include "koord/host/pressure.hpp"

using namespace koord;
using namespace koord::host;

TEST_CASE("stat: totals, CPUs by number, those that are offline empty") {
  ProcStat stat;
  REQUIRE(parse_proc_stat("cpu  100 1 50 1000 7 2 3 4 5 6\n"
                          "cpu0 60 1 20 500 7 1 2 4 0 0\n"
                          "cpu2 40 0 30 500 0 1 1 0 0 0\n"
                          "intr 1 2 3\nctxt 5\n",
                          stat)
              .has_value());
  CHECK(stat.total.used() == 156);  // neither iowait nor steal
  CHECK(stat.total.steal == 4);
  REQUIRE(stat.cpus.size() == 3);
  CHECK(stat.cpus[0]->used() == 84);
  CHECK_FALSE(stat.cpus[1].has_value());
  CHECK(stat.cpus[2]->system == 30);

  REQUIRE(parse_proc_stat("cpu 1 1 1 1\n", stat).has_value());  // a kernel with four columns
  CHECK_FALSE(stat.cpus[0].has_value());
}

TEST_CASE("stat: bad text is an error") {
  for (const char* text :
       {"", "cpu0 1 2 3 4\n", "cpu a b c d\n", "cpu 1 2 3\n", "cpu 1 2 3 4\ncpux 1 2 3 4\n",
        "cpu 1 2 3 4\ncpu999999999 1 2 3 4\n", "cpu 1 2 3 -4\n"}) {
    INFO(text);
    ProcStat stat;
    CHECK(parse_proc_stat(text, stat).has_error());
  }
}

TEST_CASE("meminfo: of the machine and of a NUMA node") {
  const auto machine = parse_meminfo(
      "MemTotal:       1000 kB\nMemFree:  100 kB\nMemAvailable:  600 kB\nHugePages_Total:   4\n"
      "Hugepagesize: 2048 kB\n");
  REQUIRE(machine.has_value());
  CHECK(machine->used() == 400 * 1024);
  CHECK(machine->used_with_page_cache() == 900 * 1024);
  CHECK(machine->hugepages_total == 4);
  CHECK(machine->has_available);

  const auto node = parse_meminfo(
      "Node 1 MemTotal:  1000 kB\nNode 1 MemFree: 100 kB\nNode 1 MemUsed: 900 kB\nNode 1 Active(file): 50 "
      "kB\n"
      "Node 1 Inactive(file): 30 kB\nNode 1 SReclaimable: 20 kB\n");
  REQUIRE(node.has_value());
  CHECK(node->used_of_numa_node() == 800 * 1024);
  CHECK_FALSE(node->has_available);

  for (const char* text :
       {"", "MemTotal: 1 kB\n", "MemTotal: x kB\nMemFree: 1 kB\n", "MemTotal:\nMemFree: 1\n"})
    CHECK(parse_meminfo(text).has_error());
}

TEST_CASE("schedstat: of a task and of CPUs") {
  const auto task = parse_task_schedstat("123 456 7\n");
  REQUIRE(task.has_value());
  CHECK(task->run_ns == 123);
  CHECK(task->wait_ns == 456);
  CHECK(task->timeslices == 7);
  const auto cpus = parse_schedstat(
      "version 15\ntimestamp 1\ncpu0 0 0 0 0 0 0 11 12 13\ndomain0 3 1 2\ncpu1 0 0 0 0 0 0 21 22 23\n");
  REQUIRE(cpus.has_value());
  REQUIRE(cpus->size() == 2);
  CHECK((*cpus)[1].wait_ns == 22);
  CHECK(parse_task_schedstat("1 2\n").has_error());
  CHECK(parse_schedstat("cpu0 1 2 3\n").has_error());
}

TEST_CASE("diskstats: kernels append columns") {
  std::vector<std::string> seen;
  const auto each = [&](const DiskStat& disk) {
    seen.push_back(std::string(disk.name) + ":" + std::to_string(disk.minor) + ":" +
                   std::to_string(disk.reads) + ":" + std::to_string(disk.written_sectors) + ":" +
                   std::to_string(disk.io_ms));
  };
  REQUIRE(parse_diskstats(" 8 0 sda 10 1 20 30 40 2 60 70 0 90 100\n"
                          " 253 5 dm-5 1 0 2 3 4 0 6 7 0 9 10 1 2 3 4 5 6\n",
                          each)
              .has_value());
  CHECK(seen == std::vector<std::string>{"sda:0:10:60:90", "dm-5:5:1:6:9"});
  CHECK(parse_diskstats("8 0 sda 10\n", each).has_error());
}

TEST_CASE("vmstat and cpuinfo") {
  const auto vm = parse_vmstat("nr_free_pages 5\npgscan_direct 7\noom_kill 1\npgmajfault 9\n");
  REQUIRE(vm.has_value());
  CHECK(vm->pgscan_direct == 7);
  CHECK(vm->oom_kill == 1);
  CHECK(parse_vmstat("oom_kill x\n").has_error());

  const auto cpu = parse_cpuinfo(
      "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon(R) @ 2.0: GHz\nflags\t\t: fpu cat_l3 "
      "mba\n\n"
      "processor\t: 1\nvendor_id\t: other\nflags\t\t: x\n");
  REQUIRE(cpu.has_value());
  CHECK(cpu->processors == 2);
  CHECK(cpu->vendor_id == "GenuineIntel");
  CHECK(cpu->model_name == "Xeon(R) @ 2.0: GHz");
  CHECK(cpu->flags == std::vector<std::string>{"fpu", "cat_l3", "mba"});
  CHECK(parse_cpuinfo("").has_error());
}

TEST_CASE("pressure: with and without the full line") {
  const auto both = parse_pressure(
      "some avg10=1.50 avg60=2.25 avg300=0.00 total=12345\nfull avg10=0.10 avg60=0.20 avg300=0.30 "
      "total=99\n");
  REQUIRE(both.has_value());
  CHECK(both->some.avg10 == Approx(1.5));
  CHECK(both->some.total_us == 12345);
  CHECK(both->has_full);
  CHECK(both->full.avg300 == Approx(0.3));
  const auto some = parse_pressure("some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
  REQUIRE(some.has_value());
  CHECK_FALSE(some->has_full);
  for (const char* text :
       {"", "some\n", "some avg10=x avg60=0 avg300=0 total=0\n", "full avg10=0 avg60=0 avg300=0 total=0\n",
        "some avg10=0 avg60=0 avg300=0\n", "some avg10=0 avg300=0 total=0\n",
        "some avg10=0 avg60=0 avg300=0 total=0\nfull avg10=0 avg300=0 total=0\n",
        "few avg10=0 avg60=0 avg300=0 total=0\n"}) {
    INFO(text);
    CHECK(parse_pressure(text).has_error());
  }
}
