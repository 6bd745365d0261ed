// Writes for which the kernel reclaims memory: off the loop, one a file, in the order of levels; and files
// that another program writes, too.
#include <catch2/catch.hpp>

#include "framework/executor/executor.hpp"
#include "koord/base/manual_clock.hpp"
#include "rigs/sim_kernel.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::Knob;
using testing::SimKernel;
using Written = std::vector<std::string>;
using namespace std::chrono_literals;

constexpr std::int64_t kMiB = 1 << 20;

struct Bench {
  explicit Bench(Executor::Options options = {}) : kernel(CgroupVersion::v2), fs(kernel.fs()) {
    executor.emplace(fs, kernel, clock, Logger(log, clock), metrics, options, nullptr);
  }
  struct Want {
    std::string group;
    std::int64_t value;
    Knob knob = Knob::memory_high;
    bool yields = false;
  };
  Executor::Outcome apply(const std::vector<Want>& wants) {
    std::vector<KnobValue> values;
    values.reserve(wants.size());
    for (const Want& want : wants) values.emplace_back(want.value);
    std::vector<WriteRequest> requests;
    for (std::size_t i = 0; i < wants.size(); ++i) {
      const auto id = executor->find(wants[i].knob, wants[i].group);
      REQUIRE(id.has_value());
      requests.push_back({*id, &values[i], "a test", kUpdateCgroups, wants[i].yields});
    }
    clock.advance(1s);
    return executor->apply(requests);
  }
  void group(const std::string& name, const std::string& high) {
    kernel.group(name).files["memory.high"] = high;
  }
  std::string high(const std::string& name) { return kernel.group(name).files.at("memory.high"); }
  KnobId known(const std::string& group) { return executor->known(Knob::memory_high, group); }

  ManualClock clock;
  CapturedLog log;
  metrics::Registry metrics;
  SimKernel kernel;
  host::CgroupFs fs;
  std::optional<Executor> executor;
};

TEST_CASE("A write that the kernel reclaims for is pending until it ends; then the newest request counts",
          "[koordlet][executor]") {
  Bench bench;
  bench.group("a", "max");
  bench.kernel.reclaims = [](std::string_view) { return true; };
  CHECK(bench.apply({{"a", 64 * kMiB}}) == Executor::Outcome{.pending = 1});
  CHECK(bench.executor->pending() == 1);
  CHECK(!bench.executor->holds(bench.known("a"), 64 * kMiB));
  const std::size_t calls = bench.kernel.calls();
  for (const std::int64_t newer : {48, 32, 16})
    CHECK(bench.apply({{"a", newer * kMiB}}) == Executor::Outcome{.pending = 1});
  CHECK(bench.kernel.calls() == calls);  // nothing is asked of a file that is being written
  CHECK(bench.kernel.written == Written{"a/memory.high 67108864"});

  bench.kernel.answer();
  CHECK(bench.executor->pending() == 0);
  CHECK(bench.executor->holds(bench.known("a"), 64 * kMiB));
  bench.kernel.reclaims = {};
  CHECK(bench.apply({{"a", 16 * kMiB}}) == Executor::Outcome{.written = 1});
  CHECK(bench.kernel.written == Written{"a/memory.high 67108864", "a/memory.high 16777216"});
}

TEST_CASE("What has no limit is written at once, and what was refused later is tried again",
          "[koordlet][executor]") {
  Bench bench;
  bench.group("a", "67108864");
  bench.kernel.reclaims = [](std::string_view) { return true; };
  CHECK(bench.apply({{"a", host::kUnlimited}}) == Executor::Outcome{.written = 1});
  CHECK(bench.high("a") == "max");

  bench.kernel.fault = [](std::string_view, std::string_view) { return EIO; };
  CHECK(bench.apply({{"a", 64 * kMiB}}) == Executor::Outcome{.pending = 1});
  CHECK(bench.executor->failures().empty());
  bench.kernel.answer();
  REQUIRE(bench.executor->failures().size() == 1);
  CHECK(bench.executor->failures()[0].error.code() == Code::io);
  bench.kernel.fault = {};
  CHECK(bench.apply({{"a", 64 * kMiB}}) == Executor::Outcome{.pending = 1});
  bench.kernel.answer();
  CHECK(bench.executor->failures().empty());
  CHECK(bench.log.contains("can be written again"));
}

TEST_CASE("A parent is wide before its child's write begins, and narrow after it has ended",
          "[koordlet][executor]") {
  Bench bench;
  for (const char* name : {"p", "p/q", "p/q/r", "other"}) bench.group(name, "33554432");
  bench.kernel.reclaims = [](std::string_view path) { return path.ends_with("/p/memory.high"); };
  const auto all = [&](std::int64_t mib) {
    return bench.apply(
        {{"p/q/r", mib * kMiB}, {"p/q", mib * kMiB}, {"p", mib * kMiB}, {"other", mib * kMiB}});
  };
  CHECK(all(64) == Executor::Outcome{.written = 1, .pending = 3});
  CHECK(bench.kernel.written == Written{"other/memory.high 67108864", "p/memory.high 67108864"});
  CHECK(all(64) == Executor::Outcome{.pending = 3});
  bench.kernel.answer();
  CHECK(all(64) == Executor::Outcome{.written = 2});
  CHECK(bench.high("p/q/r") == "67108864");

  bench.kernel.written.clear();
  bench.kernel.reclaims = [](std::string_view path) { return path.ends_with("/p/q/r/memory.high"); };
  CHECK(all(16) == Executor::Outcome{.written = 1, .pending = 3});
  CHECK(bench.kernel.written == Written{"p/q/r/memory.high 16777216", "other/memory.high 16777216"});
  CHECK(all(16) == Executor::Outcome{.pending = 3});
  bench.kernel.answer();
  CHECK(all(16) == Executor::Outcome{.written = 2});
  CHECK(bench.high("p") == "16777216");
}

TEST_CASE("A kernel that never answers is a failure after a while, and nothing else waits for it",
          "[koordlet][executor]") {
  Bench bench({.answer_within = 10s, .most_pending = 2});
  for (const char* name : {"a", "b", "c", "d"}) bench.group(name, "max");
  bench.kernel.group("d").quota = 50'000;
  bench.kernel.reclaims = [](std::string_view path) { return !path.ends_with("/d/memory.high"); };
  const std::vector<Bench::Want> wants{{"a", kMiB}, {"b", kMiB}, {"c", kMiB}, {"d", 20'000, Knob::cpu_quota}};
  CHECK(bench.apply(wants) == Executor::Outcome{.written = 1, .pending = 3});
  CHECK(bench.kernel.waiting.size() == 2);  // the third waits for its turn, what does not reclaim does not
  CHECK(bench.kernel.quota("d") == 20'000);
  for (int i = 0; i < 9; ++i) CHECK(bench.apply(wants).pending == 3);
  CHECK(bench.executor->failures().empty());
  for (int i = 0; i < 600; ++i) CHECK(bench.apply(wants).pending == 3);
  REQUIRE(bench.executor->failures().size() == 2);
  CHECK(bench.executor->failures()[0].error.code() == Code::timeout);
  CHECK(bench.log.count(LogLevel::warn) == 2);
  CHECK(bench.kernel.waiting.size() == 2);
  bench.executor->forget_unused(0s);  // not while the kernel has it
  bench.clock.advance(1s);
  bench.executor->forget_unused(0s);
  CHECK(bench.executor->pending() == 2);

  SECTION("it ends after all") {
    bench.kernel.answer();
    CHECK(bench.executor->failures().size() == 1);
    CHECK(bench.log.contains("has ended its write"));
    CHECK(bench.apply(wants).pending == 2);
    CHECK(bench.kernel.waiting.size() == 2);  // the next one's turn
  }
  SECTION("the executor goes first") {
    bench.executor.reset();
    bench.kernel.answer();  // nobody listens any more
    bench.kernel.answer();
  }
}

TEST_CASE("A value that another program writes is left to it where the request yields",
          "[koordlet][executor]") {
  Bench bench;
  bench.kernel.group("a").files["memory.min"] = "0";
  const auto apply = [&](bool yields) { return bench.apply({{"a", kMiB, Knob::memory_min, yields}}); };
  const auto id = [&] { return bench.executor->known(Knob::memory_min, "a"); };
  CHECK(apply(true) == Executor::Outcome{.written = 1});
  bench.kernel.group("a").files["memory.min"] = "8192";
  CHECK(apply(true) == Executor::Outcome{});  // not looked at yet
  bench.clock.advance(61s);
  SECTION("it stays theirs, and is said once") {
    for (int i = 0; i < 300; ++i) CHECK(apply(true) == Executor::Outcome{});
    CHECK(bench.executor->is_others(id()));
    CHECK(bench.kernel.group("a").files["memory.min"] == "8192");
    CHECK(bench.log.count(LogLevel::warn) == 1);
    CHECK(bench.log.contains("another program writes this cgroup file"));
    bench.kernel.remove("a");  // another group of that name is nobody's yet
    (void)apply(true);
    bench.kernel.group("a").files["memory.min"] = "0";
    bench.executor->retry_absent();
    CHECK(apply(true) == Executor::Outcome{.written = 1});
    CHECK(!bench.executor->is_others(id()));
  }
  SECTION("a request that does not yield is written again") {
    CHECK(apply(false) == Executor::Outcome{.written = 1});
    CHECK(!bench.executor->is_others(id()));
  }
  SECTION("what they wrote is what was wanted") {
    bench.kernel.group("a").files["memory.min"] = std::to_string(kMiB);
    CHECK(apply(true) == Executor::Outcome{});
    CHECK(!bench.executor->is_others(id()));
  }
}

}  // namespace
}  // namespace koord::koordlet
