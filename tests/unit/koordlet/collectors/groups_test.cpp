// The collector of groups: which of their files it reads, and what it takes from them.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "framework/sampler/write_watch.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using std::chrono::seconds;
using testing::FakeNode;
using testing::inventory;
using testing::pod;
using Bench = testing::SamplerRig;

constexpr std::uint64_t kCpuSecond = 1'000'000'000;
constexpr std::uint64_t kGiB = 1ULL << 30;

TEST_CASE("Of a group without a quota nobody reads what throttles it, until somebody gives it one") {
  FakeNode fake(CgroupVersion::v1);
  if (WriteWatch probe; probe.watch(".") == WriteWatch::kNone) {
    WARN("no inotify watch is to be had here");  // root's other programs have them all
    return;
  }
  Bench bench(fake, {.numa_interval = std::chrono::hours(1)});
  const auto a = pod("a", Qos::ls, 1);
  const std::string& container = a->containers[0].group;
  auto now = inventory({a});
  int second = 0;
  const auto tick = [&] { return bench.tick(now, seconds(second++)); };
  const auto reads = [&] {
    const std::uint64_t before = bench.sampler.stats().reads;
    tick();
    return bench.sampler.stats().reads - before;
  };
  fake.quota(a->group, -1);
  fake.quota(container, 100'000);
  for (const auto& group : {a->group, container}) {
    fake.cpu(group, kCpuSecond, 10, 2);
    fake.group_memory(group, kGiB, kGiB);
  }
  tick();
  tick();
  constexpr std::uint64_t kNode = 3, kPod = 2, kLimited = 3;
  CHECK(reads() == kNode + kPod + kLimited);
  CHECK(bench.last(Metric::pod_throttled, "a", seconds(second - 1)) == 0);

  SECTION("a quota, and what it has throttled since") {
    fake.quota(a->group, 50'000);
    fake.cpu(a->group, 2 * kCpuSecond, 20, 7);
    CHECK(tick().pods[0].throttled == Approx(0.5));
    fake.cpu(a->group, 3 * kCpuSecond, 30, 7);
    CHECK(tick().pods[0].throttled == 0);  // known: there were periods
    // It has gone: what came meanwhile is read once more, then nothing.
    fake.quota(a->group, -1);
    fake.cpu(a->group, 3 * kCpuSecond, 32, 8);
    CHECK(tick().pods[0].throttled == Approx(0.5));
    CHECK(reads() == kNode + kPod + kLimited);
    CHECK_FALSE(known(tick().pods[0].throttled));
  }
  SECTION("another group of that name") {
    auto moved = std::make_shared<PodInfo>(*a);
    moved->group = "elsewhere/poda";
    now = inventory({moved});
    now->generation = 2;
    fake.quota(moved->group, 50'000);
    fake.group_memory(moved->group, kGiB, kGiB);
    fake.cpu(moved->group, kCpuSecond, 1, 0);
    tick();
    fake.cpu(moved->group, kCpuSecond, 5, 3);
    CHECK(tick().pods[0].throttled == Approx(0.75));
  }
  SECTION("counts that cannot be read are read again") {
    fake.quota(a->group, -1);
    fake.tree().write(fake.path("cpu", a->group, "cpu.stat"), "nr_periods x\n");
    tick();
    fake.cpu(a->group, kCpuSecond, 12, 3);
    tick();
    fake.quota(a->group, 50'000);
    fake.cpu(a->group, kCpuSecond, 14, 4);
    CHECK(tick().pods[0].throttled == Approx(0.5));
  }
}

TEST_CASE("With few NUMA nodes their file says what memory cgroup v1's groups use, in fewer words") {
  const int nodes = GENERATE(1, 2, 4);
  FakeNode fake(CgroupVersion::v1, 4, nodes);
  const auto a = pod("a", Qos::ls, 1);
  std::string each;
  for (int node = 0; node < nodes; ++node) each += fmt::format(" N{}=1", node);
  const auto lists = [&](const std::string& group, int pages) {
    std::string text;
    for (const char* level : {"", "hierarchical_"})
      for (const char* name : {"total", "file", "anon", "unevictable"})
        text += fmt::format("{}{}={}{}\n", level, name, pages, each);
    fake.tree().write(fake.path("memory", group, "memory.numa_stat"), text);
  };
  lists("", 9);
  for (const auto& group : {a->group, a->containers[0].group}) {
    lists(group, 5);
    fake.cpu(group, kCpuSecond);
    fake.group_memory(group, kGiB, kGiB);
  }
  Bench bench(fake, {.page_cache = true});
  const TickView& seen = bench.tick(inventory({a}), seconds(0));
  const bool few = nodes <= 2;
  CHECK(seen.pods[0].memory == (few ? 10 * 4096.0 : kGiB));
  CHECK(seen.containers[0].memory_with_page_cache == (few ? 15 * 4096.0 : 2 * kGiB));
  // What cannot be read is a fault, and the last good value counts.
  if (!few) return;
  fake.tree().write(fake.path("memory", a->group, "memory.numa_stat"), "total=1 N0=1\n");
  CHECK_FALSE(known(bench.tick(inventory({a}), seconds(1)).pods[0].memory));
  CHECK(bench.sampler.stats().faults == 1);
}

}  // namespace
}  // namespace koord::koordlet
