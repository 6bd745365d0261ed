// The executor: what it writes, in which order, and what it does when the kernel refuses.
#include "framework/executor/executor.hpp"

#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "framework/executor/knob_values.hpp"
#include "koord/base/manual_clock.hpp"
#include "rigs/sim_kernel.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuSet;
using host::Knob;
using testing::SimKernel;

struct Bench {
  explicit Bench(CgroupVersion version, Executor::Options options = {})
      : kernel(version),
        fs(kernel.fs()),
        executor(fs, kernel, clock, Logger(log, clock), metrics, options, nullptr) {}

  struct Want {
    Knob knob;
    std::string group;
    KnobValue value;
    bool frees = false;
  };
  Executor::Outcome apply(const std::vector<Want>& wants) {
    std::vector<WriteRequest> requests;
    for (const Want& want : wants) {
      const auto id = executor.find(want.knob, want.group);
      REQUIRE(id.has_value());
      requests.push_back({*id, &want.value, "a test"});
      requests.back().frees = want.frees;
    }
    return executor.apply(requests);
  }

  ManualClock clock;
  CapturedLog log;
  metrics::Registry metrics;
  SimKernel kernel;
  host::CgroupFs fs;
  Executor executor;
};

CpuSet cpus(std::string_view text) { return *CpuSet::parse(text); }

// Upstream's TestCgroupResourceUpdater_MergeUpdate, as values before, wanted, between and after.
TEST_CASE("A levelled value goes through the looser one of both", "[koordlet][executor]") {
  struct Row {
    const char* name;
    CgroupVersion version;
    Knob knob;
    KnobValue before, wanted;
    std::optional<KnobValue> between;
  };
  const auto none = std::int64_t{-1};
  const Row row = GENERATE_COPY(values<Row>({
      {"quota: none is larger than all", CgroupVersion::v1, Knob::cpu_quota, std::int64_t{10000}, none,
       KnobValue(none)},
      {"quota: shrinks at the end", CgroupVersion::v1, Knob::cpu_quota, none, std::int64_t{10000}, {}},
      {"v2 quota: none is max", CgroupVersion::v2, Knob::cpu_quota, std::int64_t{10000}, none,
       KnobValue(none)},
      {"v2 quota: shrinks from max", CgroupVersion::v2, Knob::cpu_quota, none, std::int64_t{200000}, {}},
      {"memory: larger", CgroupVersion::v2, Knob::memory_limit, std::int64_t{1048576}, std::int64_t{2097152},
       KnobValue(std::int64_t{2097152})},
      {"memory: smaller",
       CgroupVersion::v2,
       Knob::memory_limit,
       std::int64_t{2097152},
       std::int64_t{1048576},
       {}},
      {"what is protected: larger", CgroupVersion::v2, Knob::memory_min, std::int64_t{1048576},
       std::int64_t{2097152}, KnobValue(std::int64_t{2097152})},
      {"what is protected: smaller",
       CgroupVersion::v2,
       Knob::memory_min,
       std::int64_t{2097152},
       std::int64_t{1048576},
       {}},
      {"cpus: union", CgroupVersion::v1, Knob::cpuset_cpus, cpus("0-1"), cpus("1-2"), KnobValue(cpus("0-2"))},
      {"cpus: part of the old", CgroupVersion::v1, Knob::cpuset_cpus, cpus("0-3"), cpus("1-2"), {}},
      {"cpus: a new v1 group has none", CgroupVersion::v1, Knob::cpuset_cpus, CpuSet{}, cpus("1-2"),
       KnobValue(cpus("1-2"))},
      {"cpus: none is v2's parent", CgroupVersion::v2, Knob::cpuset_cpus, cpus("0-1"), CpuSet{},
       KnobValue(CpuSet{})},
  }));
  CAPTURE(row.name);
  CHECK(widened(row.knob, row.before, row.wanted) == row.between);

  Bench bench(row.version);
  SimKernel::Group& group = bench.kernel.group("a");
  if (row.knob == Knob::cpu_quota) group.quota = std::get<std::int64_t>(row.before);
  if (row.knob == Knob::memory_limit) group.memory = to_string(row.before);
  if (row.knob == Knob::memory_min) group.files["memory.min"] = to_string(row.before);
  if (row.knob == Knob::cpuset_cpus) group.cpus = std::get<CpuSet>(row.before);
  const std::size_t writes = row.between && *row.between != row.wanted ? 2 : 1;
  CHECK(bench.apply({{row.knob, "a", row.wanted}}) == Executor::Outcome{.written = writes});
  CHECK(bench.executor.setting(row.knob, "a").value() == row.wanted);
}

TEST_CASE("Knob texts of both versions", "[koordlet][executor]") {
  struct Row {
    Knob knob;
    CgroupVersion version;
    const char* text;
    std::optional<KnobValue> value;
  };
  const Row row = GENERATE(values<Row>({
      {Knob::cpu_quota, CgroupVersion::v1, "-1\n", KnobValue(std::int64_t{-1})},
      {Knob::cpu_quota, CgroupVersion::v1, "200000", KnobValue(std::int64_t{200000})},
      {Knob::cpu_quota, CgroupVersion::v1, "unknown", {}},
      {Knob::cpu_quota, CgroupVersion::v1, "", {}},
      {Knob::cpu_quota, CgroupVersion::v1, "max", {}},
      {Knob::cpu_quota, CgroupVersion::v2, "max 100000\n", KnobValue(std::int64_t{-1})},
      {Knob::cpu_quota, CgroupVersion::v2, "50000 200000\n", KnobValue(std::int64_t{50000})},
      {Knob::cpu_period, CgroupVersion::v2, "50000 200000\n", KnobValue(std::int64_t{200000})},
      {Knob::cpu_period, CgroupVersion::v2, "max 200000", KnobValue(std::int64_t{200000})},
      {Knob::cpu_period, CgroupVersion::v1, "100000", KnobValue(std::int64_t{100000})},
      {Knob::cpu_quota, CgroupVersion::v2, "invalid content", {}},
      {Knob::cpu_shares, CgroupVersion::v1, "2048", KnobValue(std::int64_t{2048})},
      // Of the shares that become this weight the most; the original reads 998, which become another one.
      {Knob::cpu_shares, CgroupVersion::v2, "39\n", KnobValue(std::int64_t{999})},
      {Knob::cpu_shares, CgroupVersion::v2, "1\n", KnobValue(std::int64_t{2})},
      {Knob::cpu_shares, CgroupVersion::v2, "10000\n", KnobValue(std::int64_t{262144})},
      {Knob::cpu_shares, CgroupVersion::v2, "0\n", {}},
      {Knob::cpu_shares, CgroupVersion::v2, "10001\n", {}},
      {Knob::cpu_shares, CgroupVersion::v2, "-1\n", {}},
      {Knob::cpuset_cpus, CgroupVersion::v1, "0-2,7\n", KnobValue(cpus("0-2,7"))},
      {Knob::cpuset_cpus, CgroupVersion::v2, "\n", KnobValue(CpuSet{})},
      {Knob::cpuset_cpus, CgroupVersion::v1, "invalid content", {}},
      {Knob::memory_limit, CgroupVersion::v1, "9223372036854771712", KnobValue(std::int64_t{-1})},
      {Knob::memory_limit, CgroupVersion::v2, "max", KnobValue(std::int64_t{-1})},
      {Knob::memory_limit, CgroupVersion::v2, "99999999999999999999999", {}},
  }));
  CAPTURE(row.text);
  const auto value = parse_knob(row.knob, row.version, row.text);
  REQUIRE(value.has_value() == row.value.has_value());
  if (value) CHECK(*value == *row.value);
}

TEST_CASE("A file that holds the value already is not written", "[koordlet][executor]") {
  const auto version = GENERATE(CgroupVersion::v1, CgroupVersion::v2);
  Bench bench(version);
  SimKernel::Group& group = bench.kernel.group("a");
  group.cpus = cpus("0,1,2,3");
  group.quota = 100000;
  group.shares = version == CgroupVersion::v1 ? 1024 : 39;
  group.memory = "1048576";
  const std::vector<Bench::Want> wants{{Knob::cpuset_cpus, "a", cpus("0-3")},
                                       {Knob::cpu_quota, "a", std::int64_t{100000}},
                                       {Knob::cpu_shares, "a", std::int64_t{1024}},
                                       {Knob::memory_limit, "a", std::int64_t{1048577}}};  // rounded to pages
  CHECK(bench.apply(wants) == Executor::Outcome{});
  CHECK(bench.kernel.written.empty());

  SECTION("and not even looked at again for a minute, in either version") {
    const std::size_t reads = bench.kernel.reads;
    for (int i = 0; i < 60; ++i) {
      CHECK(bench.apply(wants) == Executor::Outcome{});
      bench.clock.advance(std::chrono::milliseconds(990));
    }
    CHECK(bench.kernel.reads == reads);
    bench.clock.advance(std::chrono::seconds(2));
    group.quota = 7000;  // somebody else's
    CHECK(bench.apply(wants) == Executor::Outcome{.written = 1});
    CHECK(group.quota == 100000);
  }
  SECTION("unless current() has seen another value") {
    group.quota = 7000;
    CHECK(bench.apply(wants) == Executor::Outcome{});
    CHECK(bench.executor.current(Knob::cpu_quota, "a").value() == KnobValue(std::int64_t{7000}));
    CHECK(bench.apply(wants) == Executor::Outcome{.written = 1});
  }
  SECTION("nor is what was written before, whose text differs from what the file shows") {
    CHECK(bench.apply({{Knob::cpu_quota, "a", std::int64_t{-1}}}).written == 1);
    CHECK(bench.apply({{Knob::cpu_shares, "a", std::int64_t{2000}}}).written == 1);
    const std::size_t reads = bench.kernel.reads;
    CHECK(bench.apply({{Knob::cpu_quota, "a", std::int64_t{-1}}}) == Executor::Outcome{});
    CHECK(bench.apply({{Knob::cpu_shares, "a", std::int64_t{2000}}}) == Executor::Outcome{});
    CHECK(bench.kernel.reads == reads);
    bench.clock.advance(std::chrono::seconds(61));  // looked at, and still right
    CHECK(bench.apply({{Knob::cpu_shares, "a", std::int64_t{2000}}}) == Executor::Outcome{});
    CHECK(bench.kernel.reads == reads + 1);
  }
}

TEST_CASE("Parents are widened first and narrowed last", "[koordlet][executor]") {
  Bench bench(CgroupVersion::v1);
  for (const char* name : {"p", "p/q", "p/q/r"}) {
    bench.kernel.group(name).cpus = cpus("0-1");
    bench.kernel.group(name).quota = 50000;
  }
  const auto all = [](std::string_view set, std::int64_t quota) {
    std::vector<Bench::Want> wants;
    for (const char* name : {"p/q/r", "p", "p/q"}) {  // in no order
      wants.push_back({Knob::cpuset_cpus, name, cpus(set)});
      wants.push_back({Knob::cpu_quota, name, quota});
    }
    return wants;
  };
  CHECK(bench.apply(all("2-3", 60000)).failed == 0);
  CHECK(bench.kernel.refused.empty());
  CHECK(bench.kernel.written == std::vector<std::string>{"p/cpu.cfs_quota_us 60000", "p/cpuset.cpus 0-3",
                                                         "p/q/cpu.cfs_quota_us 60000", "p/q/cpuset.cpus 0-3",
                                                         "p/q/r/cpu.cfs_quota_us 60000",
                                                         "p/q/r/cpuset.cpus 0-3", "p/q/r/cpuset.cpus 2-3",
                                                         "p/q/cpuset.cpus 2-3", "p/cpuset.cpus 2-3"});
  bench.kernel.written.clear();
  CHECK(bench.apply(all("2", 40000)).failed == 0);
  CHECK(bench.kernel.written == std::vector<std::string>{"p/q/r/cpuset.cpus 2",
                                                         "p/q/r/cpu.cfs_quota_us 40000", "p/q/cpuset.cpus 2",
                                                         "p/q/cpu.cfs_quota_us 40000", "p/cpuset.cpus 2",
                                                         "p/cpu.cfs_quota_us 40000"});
}

TEST_CASE("What the kernel refuses is counted, backed off from and logged once in a while",
          "[koordlet][executor]") {
  struct Row {
    int failure;
    bool another_value_is_tried;
  };
  const Row row = GENERATE(values<Row>({{EPERM, false},
                                        {EACCES, false},
                                        {EROFS, false},
                                        {ENOSPC, true},
                                        {EINVAL, true},
                                        {EBUSY, true},
                                        {EIO, true}}));
  CAPTURE(row.failure);
  Bench bench(CgroupVersion::v1);
  bench.kernel.group("a").quota = 50000;
  int attempts = 0;
  bench.kernel.fault = [&](std::string_view, std::string_view) {
    ++attempts;
    return row.failure;
  };
  const std::vector<Bench::Want> want{{Knob::cpu_quota, "a", std::int64_t{20000}}};
  CHECK(bench.apply(want) == Executor::Outcome{.failed = 1});
  CHECK(bench.apply(want) == Executor::Outcome{.waiting = 1});
  CHECK(attempts == 1);
  const auto another = bench.apply({{Knob::cpu_quota, "a", std::int64_t{30000}}});
  CHECK(another ==
        (row.another_value_is_tried ? Executor::Outcome{.failed = 1} : Executor::Outcome{.waiting = 1}));
  CHECK(attempts == (row.another_value_is_tried ? 2 : 1));
  attempts = 0;
  for (int second = 0; second < 300; ++second) {
    bench.clock.advance(std::chrono::seconds(1));
    const std::size_t calls = bench.kernel.calls();
    const Executor::Outcome outcome = bench.apply(want);
    CHECK(outcome.failed + outcome.waiting == 1);
    if (outcome.waiting == 1) CHECK(bench.kernel.calls() == calls);
  }
  CHECK(attempts >= 5);
  CHECK(attempts <= 12);
  CHECK(bench.log.count(LogLevel::warn) <= 2);
  REQUIRE(bench.executor.failures().size() == 1);
  CHECK(bench.executor.failures()[0].group == "a");
  CHECK_THAT(
      bench.metrics.exposition(),
      Catch::Contains(
          R"(koordlet_resource_update_duration_milliseconds_bucket{type="cgroup",status="failed",le="0.01"})"));

  bench.kernel.fault = {};
  bench.clock.advance(std::chrono::seconds(61));
  CHECK(bench.apply(want) == Executor::Outcome{.written = 1});
  CHECK(bench.executor.failures().empty());
  CHECK(bench.log.contains("can be written again"));
}

TEST_CASE("What nobody wants any more is no failure", "[koordlet][executor]") {
  Bench bench(CgroupVersion::v1);
  bench.kernel.group("p").quota = 50000;
  bench.kernel.group("p/c").quota = 40000;
  const std::vector<Bench::Want> refused{{Knob::cpu_quota, "p", std::int64_t{20000}}};
  CHECK(bench.apply(refused).failed == 1);
  CHECK(bench.executor.failures().size() == 1);
  bench.clock.advance(std::chrono::milliseconds(100));
  CHECK(bench.apply(refused).waiting == 1);
  CHECK(bench.executor.failures().size() == 1);  // it waits for the next attempt
  bench.clock.advance(std::chrono::seconds(1));
  bench.apply({});
  CHECK(bench.executor.failures().empty());
}

TEST_CASE("A value that changes with every tick is not refused with every tick", "[koordlet][executor]") {
  Bench bench(CgroupVersion::v1);
  bench.kernel.group("p").quota = 50000;
  bench.kernel.group("p/c").quota = 40000;  // v1 takes nothing below it above
  int attempts = 0;
  bench.kernel.fault = [&](std::string_view, std::string_view) {
    ++attempts;
    return 0;
  };
  for (int second = 0; second < 120; ++second) {
    const Executor::Outcome outcome = bench.apply({{Knob::cpu_quota, "p", std::int64_t{20000 + second}}});
    CHECK(outcome.failed + outcome.waiting == 1);
    bench.clock.advance(std::chrono::seconds(1));
  }
  CHECK(attempts >= 30);
  CHECK(attempts <= 35);
  bench.kernel.group("p/c").quota = 10000;
  for (int second = 0; second < 4; ++second) {
    bench.apply({{Knob::cpu_quota, "p", std::int64_t{30000 + second}}});
    bench.clock.advance(std::chrono::seconds(1));
  }
  CHECK(bench.kernel.quota("p") >= 30000);
  CHECK(bench.kernel.quota("p") < 40000);
}

TEST_CASE("What does not exist is no failure", "[koordlet][executor]") {
  Bench bench(CgroupVersion::v2);
  const std::vector<Bench::Want> want{{Knob::cpu_quota, "late", std::int64_t{20000}}};
  CHECK(bench.apply(want) == Executor::Outcome{.absent = 1});
  CHECK(bench.log.lines().empty());
  CHECK(bench.executor.failures().empty());
  bench.kernel.group("late");
  SECTION("a group that comes later is found within seconds") {
    bench.clock.advance(std::chrono::seconds(8));
    CHECK(bench.apply(want) == Executor::Outcome{.written = 1});
  }
  SECTION("or at once, when somebody says that something has come") {
    CHECK(bench.apply(want) == Executor::Outcome{.waiting = 1});
    bench.executor.retry_absent();
    CHECK(bench.apply(want) == Executor::Outcome{.written = 1});
  }
  SECTION("until then nothing is asked of the kernel about it") {
    const std::size_t calls = bench.kernel.calls();
    for (int i = 0; i < 3; ++i) {
      CHECK(bench.apply(want) == Executor::Outcome{.waiting = 1});
      CHECK(bench.executor.current(Knob::cpu_quota, "late").error().code() == Code::not_found);
      CHECK(bench.executor.setting(Knob::cpu_quota, "late").error().code() == Code::not_found);
      CHECK(bench.executor.children(Knob::cpu_quota, "late").error().code() == Code::not_found);
      CHECK_FALSE(bench.executor.is_due(bench.executor.known(Knob::cpu_quota, "late"), want[0].value));
      bench.clock.advance(std::chrono::milliseconds(300));
    }
    CHECK(bench.kernel.calls() == calls);
    bench.clock.advance(std::chrono::milliseconds(300));
    CHECK(bench.executor.current(Knob::cpu_quota, "late").has_value());
    CHECK(bench.apply(want) == Executor::Outcome{.written = 1});
  }
  SECTION("a knob that this kernel lacks is asked for once a minute") {
    const std::vector<Bench::Want> lacking{{Knob::cpuset_mems, "late", cpus("0")}};
    CHECK(bench.apply(lacking) == Executor::Outcome{.absent = 1});
    const std::size_t calls = bench.kernel.calls();
    for (int i = 0; i < 59; ++i) {
      bench.clock.advance(std::chrono::seconds(1));
      CHECK(bench.apply(lacking) == Executor::Outcome{.waiting = 1});
    }
    CHECK(bench.kernel.calls() == calls);
    bench.clock.advance(std::chrono::seconds(1));
    CHECK(bench.apply(lacking) == Executor::Outcome{.absent = 1});
    CHECK(bench.kernel.calls() > calls);
    bench.executor.retry_absent();
    CHECK(bench.apply(lacking) == Executor::Outcome{.absent = 1});
  }
  SECTION("a group that vanishes between two ticks") {
    bench.clock.advance(std::chrono::seconds(8));
    CHECK(bench.apply(want).written == 1);
    bench.kernel.remove("late");
    CHECK(bench.apply({{Knob::cpu_quota, "late", std::int64_t{30000}}}) == Executor::Outcome{.absent = 1});
  }
  CHECK_FALSE(bench.executor.find(Knob::cpu_quota, "../etc").has_value());
  CHECK_FALSE(bench.executor.find(Knob::cpu_quota, "/etc").has_value());
}

TEST_CASE("A cgroup that was made anew under its name is written at once", "[koordlet][executor]") {
  Bench bench(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  bench.kernel.group("a");
  const std::vector<Bench::Want> want{{Knob::cpu_quota, "a", std::int64_t{20000}}};
  CHECK(bench.apply(want).written == 1);
  CHECK(bench.apply(want) == Executor::Outcome{});
  CHECK_FALSE(bench.executor.is_renewed(bench.executor.known(Knob::cpu_quota, "a")));
  bench.kernel.remove("a");
  bench.kernel.group("a");
  CHECK(bench.executor.is_due(bench.executor.known(Knob::cpu_quota, "a"), want[0].value));
  CHECK(bench.executor.is_renewed(bench.executor.known(Knob::cpu_quota, "a")));
  CHECK(bench.apply(want) == Executor::Outcome{.written = 1});
  CHECK(bench.kernel.quota("a") == 20000);
  CHECK_FALSE(bench.executor.is_renewed(bench.executor.known(Knob::cpu_quota, "a")));
  // One look a round tells.
  const std::size_t calls = bench.kernel.calls();
  CHECK_FALSE(bench.executor.is_due(bench.executor.known(Knob::cpu_quota, "a"), want[0].value));
  CHECK(bench.apply(want) == Executor::Outcome{});
  CHECK(bench.kernel.calls() == calls + 1);
}

TEST_CASE("Bad values and garbled files", "[koordlet][executor]") {
  Bench bench(CgroupVersion::v1);
  bench.kernel.group("a").cpus = cpus("0-3");
  bench.kernel.group("a").quota = 50000;
  CHECK(bench.apply({{Knob::cpuset_cpus, "a", CpuSet{}}}) ==
        Executor::Outcome{.failed = 1});  // never an empty set
  CHECK(bench.apply({{Knob::cpu_quota, "a", std::int64_t{-7}}}) == Executor::Outcome{.failed = 1});
  CHECK(bench.apply({{Knob::cpu_quota, "a", cpus("1")}}) == Executor::Outcome{.failed = 1});
  CHECK(bench.kernel.written.empty());
  bench.kernel.garble("a", "cpu.cfs_quota_us", "\x80garbage");
  CHECK(bench.apply({{Knob::cpu_quota, "a", std::int64_t{20000}}}) == Executor::Outcome{.written = 1});
  CHECK(bench.executor.current(Knob::cpu_quota, "a").error().code() == Code::parse);
}

TEST_CASE("Writes beyond the rate wait for the next call, in an order that may be cut",
          "[koordlet][executor]") {
  Bench bench(CgroupVersion::v1, {.writes_per_second = 2, .burst = 3});
  std::vector<Bench::Want> wants;
  for (const char* name : {"p", "p/a", "p/b", "p/c"}) {
    bench.kernel.group(name).cpus = cpus("0-1");
    wants.push_back({Knob::cpuset_cpus, name, cpus("4-5")});
  }
  CHECK(bench.apply(wants) == Executor::Outcome{.written = 3, .deferred = 1});
  int calls = 0;
  for (; calls < 20; ++calls) {
    bench.clock.advance(std::chrono::seconds(1));
    if (bench.apply(wants) == Executor::Outcome{}) break;
  }
  CHECK(calls < 5);
  CHECK(bench.kernel.refused.empty());
  for (const auto& [name, group] : bench.kernel.groups()) CHECK(group.cpus == cpus("4-5"));
}

// Linux: a cpuset with processes of its own that had a set refuses to have none (ENOSPC), in v2 too.
TEST_CASE("In v2 a group with processes of its own gets its parent's set back", "[koordlet][executor]") {
  Bench bench(CgroupVersion::v2);
  bench.kernel.group("above").cpus = cpus("0-7");
  SimKernel::Group& group = bench.kernel.group("above/batch");
  group.cpus = cpus("0-1");
  group.populated = true;
  const std::vector<Bench::Want> want{{Knob::cpuset_cpus, "above/batch", CpuSet{}}};
  CHECK(bench.apply(want) == Executor::Outcome{.written = 1});
  CHECK(group.cpus == cpus("0-7"));
  CHECK(bench.executor.failures().empty());
  CHECK(bench.executor.holds(bench.executor.known(Knob::cpuset_cpus, "above/batch"), CpuSet{}));
}

// Once a group with processes has a set, it keeps one: it would not grow with its parent any more.
TEST_CASE("In v2 a group that is as wide as its parent is free already", "[koordlet][executor]") {
  Bench bench(CgroupVersion::v2);
  bench.kernel.group("above").cpus = cpus("0-7");
  SimKernel::Group& group = bench.kernel.group("above/batch");
  group.populated = true;
  const auto set = [&](std::string_view wanted, bool frees) {
    return bench.apply({{Knob::cpuset_cpus, "above/batch", cpus(wanted), frees}});
  };
  CHECK(set("0-7", true) == Executor::Outcome{});
  CHECK(group.cpus.empty());
  CHECK(bench.executor.holds(bench.executor.known(Knob::cpuset_cpus, "above/batch"), cpus("0-7")));
  CHECK(set("0-6", true) == Executor::Outcome{.written = 1});  // some are somebody else's
  CHECK(group.cpus == cpus("0-6"));
  group.cpus = {};
  bench.clock.advance(std::chrono::seconds(61));
  CHECK(set("0-7", false) == Executor::Outcome{.written = 1});  // one who wants these stays with them
  CHECK(group.cpus == cpus("0-7"));
}

TEST_CASE("What nobody names is forgotten", "[koordlet][executor]") {
  Bench bench(CgroupVersion::v2);
  const auto id = bench.executor.find(Knob::cpu_quota, "a");
  bench.clock.advance(std::chrono::minutes(4));
  bench.executor.find(Knob::cpu_quota, "b").value();
  bench.clock.advance(std::chrono::minutes(1));
  bench.executor.forget_unused(std::chrono::minutes(5));
  CHECK(bench.executor.size() == 1);
  CHECK_FALSE(bench.executor.known(Knob::cpu_quota, "a"));
  CHECK(bench.executor.find(Knob::cpu_quota, "c")->index == id->index);  // its place is used again
  CHECK(bench.executor.is_absent(*id));
  const KnobValue value = std::int64_t{20000};
  const WriteRequest dead{*id, &value, ""};
  CHECK(bench.executor.apply({&dead, 1}) == Executor::Outcome{.absent = 1});
}

// Random trees, random requests that fit their tree: the kernel never has a reason to refuse, and everything
// holds what it shall afterwards; also when the rate cuts the order at random places.
TEST_CASE("Random trees and plans", "[koordlet][executor][property]") {
  constexpr int kRounds = 400;
  constexpr int kCpus = 12;
  std::mt19937 random(20240607);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const auto subset = [&](const CpuSet& of) {
    CpuSet set;
    for (const int cpu : of.cpus())
      if (below(2) == 0) set.add(cpu);
    return set.empty() ? of : set;
  };
  for (int round = 0; round < kRounds; ++round) {
    const auto version = round % 2 == 0 ? CgroupVersion::v1 : CgroupVersion::v2;
    const bool hurried = below(3) == 0;
    Bench bench(version, {.writes_per_second = hurried ? 3.0 : 1e6, .burst = hurried ? 3.0 : 1e6});
    std::vector<std::string> names{"r"};
    for (int i = below(12); i > 0; --i) {
      const std::string parent = names[static_cast<std::size_t>(below(static_cast<int>(names.size())))];
      if (std::count(parent.begin(), parent.end(), '/') < 4)
        names.push_back(parent + "/g" + std::to_string(i));
    }
    const auto grow = [&] {  // values that fit the tree, top down
      std::map<std::string, std::pair<CpuSet, std::int64_t>> values;
      for (const std::string& name : names) {
        const auto slash = name.rfind('/');
        const bool root = slash == std::string_view::npos;
        const CpuSet above = root ? CpuSet::range(0, kCpus - 1) : values.at(name.substr(0, slash)).first;
        std::int64_t limit = 1'000'000;
        for (auto cut = slash; cut != std::string_view::npos;
             cut = cut == 0 ? std::string_view::npos : name.rfind('/', cut - 1))
          if (const auto quota = values.at(name.substr(0, cut)).second; quota > 0)
            limit = std::min(limit, quota);
        const std::int64_t quota = below(4) == 0 ? -1 : 1000 + below(static_cast<int>(limit) - 999);
        values[name] = {subset(above), quota};
      }
      return values;
    };
    for (const auto& [name, value] : grow()) {
      bench.kernel.group(name).cpus = value.first;
      bench.kernel.group(name).quota = value.second;
    }
    for (int step = 0; step < 3; ++step) {
      const auto target = grow();
      std::vector<Bench::Want> wants;
      for (const auto& [name, value] : target) {
        wants.push_back({Knob::cpuset_cpus, name, value.first});
        wants.push_back({Knob::cpu_quota, name, value.second});
      }
      std::shuffle(wants.begin(), wants.end(), random);
      int calls = 0;
      while (bench.apply(wants) != Executor::Outcome{}) {
        bench.clock.advance(std::chrono::seconds(1));
        REQUIRE(++calls < 200);
      }
      REQUIRE(bench.kernel.refused.empty());
      for (const auto& [name, value] : target) {
        REQUIRE(bench.kernel.group(name).cpus == value.first);
        REQUIRE(bench.kernel.group(name).quota == value.second);
      }
    }
  }
}

}  // namespace
}  // namespace koord::koordlet
