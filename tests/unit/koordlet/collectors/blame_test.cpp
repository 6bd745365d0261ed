// Who made latency-sensitive pods wait: what the kernel's counters become, whose each cgroup is, and when
// nobody may act on it; and what the tiers stand still for.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "framework/tick/blamed_waits.hpp"
#include "framework/tick/run_queue_waits.hpp"
#include "rigs/fake_run_queue.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using host::CpuTier;
using host::FineHistogram;
using host::WaitBlame;
using testing::FakeNode;
using testing::inventory;
using testing::pod;

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr auto kTick = std::chrono::seconds(1);

/// What the kernel would have counted.
class Counters final : public host::WaitBlame {
 public:
  Result<> name_groups(std::span<const Named> named) override {
    if (full) return Error(Code::too_large, "too many");
    tiers.clear();
    for (const Named& one : named) tiers[one.id] = one.tier;
    ++namings;
    return {};
  }
  std::size_t capacity() const override { return 8192; }
  Result<> read(State& into) override {
    if (broken) return Error(Code::io, "no");
    into = state;
    return {};
  }
  Result<> groups(std::vector<Group>& into) override {
    into.clear();
    for (const auto& [id, group] : by_group) into.push_back(group);
    return {};
  }
  Result<Losses> losses() override { return lost; }
  Result<std::unique_ptr<host::Stalls>> open_stalls(const host::Root&, CgroupVersion) override {
    return Error(Code::unsupported, "not here");
  }

  /// A wait with a part for each that ran.
  void wait(CpuTier victim, const std::map<Runner, std::uint64_t>& parts) {
    Waits& waits = state[static_cast<std::size_t>(victim)];
    std::uint64_t whole = 0;
    for (const auto& [runner, ns] : parts) {
      waits.ran_ns[static_cast<std::size_t>(runner)] += ns;
      whole += ns;
      if (runner != Runner::best_effort) continue;
      ++waits.caused.counts[FineHistogram::bucket_of(ns)];
      waits.caused_ns += ns;
    }
    ++waits.waits;
    ++waits.whole.counts[FineHistogram::bucket_of(whole)];
  }

  State state{};
  Losses lost;
  std::map<GroupId, CpuTier> tiers;
  std::map<GroupId, Group> by_group;
  int namings = 0;
  bool full = false, broken = false;
};

struct Bench {
  explicit Bench(CgroupVersion version = CgroupVersion::v1) : node(version) {
    KernelCounters all;
    auto made = std::make_unique<testing::FakeRunQueue>();
    waiting = made.get();
    all.run_queue = std::move(made);
    all.blame = &counters;
    rig.emplace(node, SamplerConfig{.is_on = &testing::every_gate}, std::move(all));
  }
  WaitBlame::GroupId group(const std::string& name) { return testing::make_group(node, rig->fs, name); }
  const BlamedWaits& tick(const std::shared_ptr<Inventory>& now, nanoseconds after = kTick) {
    rig->clock.advance(after);
    return *rig->sampler.tick(now, rig->clock.mono(), rig->clock.now()).find<BlamedWaits>();
  }
  const BlamedWaits& waits() const { return *rig->sampler.view().find<BlamedWaits>(); }
  double metric(const std::string& series) { return testing::metric_of(rig->registry, series); }

  FakeNode node;
  Counters counters;
  testing::FakeRunQueue* waiting = nullptr;
  std::optional<testing::SamplerRig> rig;
};

std::shared_ptr<Inventory> known(std::vector<std::shared_ptr<const PodInfo>> pods) {
  auto now = inventory(std::move(pods));
  now->pods_known = true;
  return now;
}

TEST_CASE("Waits by quotas of the waiters' own neither count nor hide what others wait") {
  Bench bench;
  const auto now = known({});
  bench.tick(now);
  for (int i = 0; i < 10; ++i) bench.counters.wait(CpuTier::ls, {{Runner::best_effort, 4 * kMillisecond}});
  WaitBlame::Waits& waits = bench.counters.state[static_cast<std::size_t>(CpuTier::ls)];
  // A pod that overloads itself waits a hundred times as often.
  waits.waits += 1000;
  waits.own_quota_waits = 1000;
  waits.ran_ns[static_cast<std::size_t>(Runner::ls)] = 2000 * kMillisecond;
  waits.own_quota_ns = 1500 * kMillisecond;
  const BlamedWaits& blamed = bench.tick(now);
  CHECK(blamed.fit);
  CHECK(blamed.waits == 10);
  CHECK(blamed.best_effort_p99_us > 4000);
  CHECK(blamed.own_quota_seconds == Approx(1.5));
  CHECK(blamed.of(Runner::ls) == Approx(2));
}

TEST_CASE("While tracing costs too much nobody knows whom to blame, which is not that nobody is") {
  Bench bench;
  const auto now = known({});
  bench.tick(now);
  const auto second = [&](std::uint64_t events) -> const BlamedWaits& {
    bench.waiting->cost.events += events;
    for (int i = 0; i < 10; ++i) bench.counters.wait(CpuTier::ls, {{Runner::best_effort, 4 * kMillisecond}});
    return bench.tick(now);
  };
  CHECK(second(0).fit);
  CHECK(bench.waits().caused_seconds > 0);
  for (int i = 0; i < 2; ++i) second(1'000'000);
  CHECK(bench.waits().fit);
  const std::uint64_t reading = bench.waits().reading;
  for (int i = 0; i < 60; ++i) {  // sampled, then paused, and sampled again
    const BlamedWaits& blamed = second(1'000'000);
    REQUIRE_FALSE(blamed.fit);
    REQUIRE(blamed.why_unfit == "tracing all waits costs too much CPU time now");
    REQUIRE(blamed.period == nanoseconds{});
    REQUIRE(blamed.reading == reading);
    REQUIRE(blamed.pods.empty());
  }
  // What was counted in part does not count, nor does the first reading of what is whole again.
  int ticks = 0;
  while (bench.waiting->tracing != host::RunQueueLatency::Tracing::full && ++ticks < 300) second(0);
  REQUIRE(bench.waiting->tracing == host::RunQueueLatency::Tracing::full);
  CHECK_FALSE(bench.waits().fit);
  const BlamedWaits& first = second(0);
  CHECK(first.fit);
  CHECK(first.waits == 10);
  CHECK(first.reading == reading + 1);
}

TEST_CASE("A period is the difference of two readings, of latency-sensitive tiers together") {
  Bench bench;
  const auto now = known({});
  bench.counters.wait(CpuTier::ls, {{Runner::best_effort, 900 * kMillisecond}});  // before anybody looked
  CHECK(!bench.tick(now).fit);
  CHECK(bench.waits().reading == 0);

  for (int i = 0; i < 97; ++i) bench.counters.wait(CpuTier::ls, {{Runner::ls, kMillisecond}});
  bench.counters.wait(CpuTier::lse,
                      {{Runner::best_effort, 3 * kMillisecond}, {Runner::system, kMillisecond}});
  bench.counters.wait(CpuTier::lsr,
                      {{Runner::best_effort, 5 * kMillisecond}, {Runner::nobody, kMillisecond}});
  bench.counters.wait(CpuTier::lsr, {{Runner::lse, 2 * kMillisecond}});
  bench.counters.wait(CpuTier::best_effort, {{Runner::best_effort, 500 * kMillisecond}});
  bench.counters.wait(CpuTier::system, {{Runner::best_effort, 500 * kMillisecond}});
  const BlamedWaits& waits = bench.tick(now, std::chrono::milliseconds(1100));
  CHECK(waits.fit);
  CHECK(waits.why_unfit.empty());
  CHECK(waits.reading == 1);
  CHECK(waits.period == std::chrono::milliseconds(1100));
  CHECK(waits.waits == 100);
  CHECK(waits.of(Runner::lse) == Approx(0.002));
  CHECK(waits.of(Runner::lsr) == 0);
  CHECK(waits.of(Runner::ls) == Approx(0.097));
  CHECK(waits.of(Runner::best_effort) == Approx(0.008));
  CHECK(waits.of(Runner::system) == Approx(0.001));
  CHECK(waits.of(Runner::nobody) == Approx(0.001));
  CHECK(waits.caused_seconds == Approx(0.008));
  CHECK(waits.best_effort_p99_us == 3072);  // 1 in 100 is beyond it
  CHECK(bench.metric("koordlet_cpu_wait_seconds_total{tier=\"LSR\",runner=\"BE\"}") == Approx(0.005));
  CHECK(bench.metric("koordlet_cpu_wait_caused_seconds_count{tier=\"LS\"}") == 98);
  CHECK(bench.metric("koordlet_cpu_wait_caused_seconds_bucket{tier=\"LS\",le=\"1e-06\"}") == 97);
  CHECK(bench.metric("koordlet_cpu_wait_caused_seconds_sum{tier=\"LSE\"}") == Approx(0.003));

  CHECK(bench.tick(now).waits == 0);
  CHECK(bench.waits().fit);
  CHECK(bench.waits().best_effort_p99_us == 0);
}

TEST_CASE("Whose a cgroup is: the pod's class, else Kubernetes'; an application's") {
  Bench bench(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  struct Row {
    Qos qos;
    host::KubeQos kube;
    CpuTier tier;
  };
  const Row rows[] = {{Qos::lse, host::KubeQos::guaranteed, CpuTier::lse},
                      {Qos::lsr, host::KubeQos::guaranteed, CpuTier::lsr},
                      {Qos::ls, host::KubeQos::burstable, CpuTier::ls},
                      {Qos::be, host::KubeQos::burstable, CpuTier::best_effort},
                      {Qos::system, host::KubeQos::guaranteed, CpuTier::system},
                      {Qos::none, host::KubeQos::guaranteed, CpuTier::lsr},
                      {Qos::none, host::KubeQos::burstable, CpuTier::ls},
                      {Qos::none, host::KubeQos::besteffort, CpuTier::best_effort},
                      {Qos::ls, host::KubeQos::besteffort, CpuTier::best_effort}};
  std::vector<std::shared_ptr<const PodInfo>> pods;
  std::map<WaitBlame::GroupId, CpuTier> expected;
  for (const Row& row : rows) {
    auto one = pod(fmt::format("p{}", pods.size()), row.qos, 0);
    one->kube_qos = row.kube;
    one->group = fmt::format("pods/{}", one->uid);
    expected[bench.group(one->group)] = row.tier;
    pods.push_back(one);
  }
  auto now = known(pods);
  now->host_applications = {{"batch", Qos::be, PriorityClass::none, "host/batch"},
                            {"nginx", Qos::ls, PriorityClass::none, "host/nginx"},
                            {"other", Qos::none, PriorityClass::none, "host/other"}};
  expected[bench.group("host/batch")] = CpuTier::best_effort;
  expected[bench.group("host/nginx")] = CpuTier::ls;
  expected[bench.group("host/other")] = CpuTier::system;
  expected[bench.group("kubepods")] = CpuTier::lsr;
  expected[bench.group("kubepods/burstable")] = CpuTier::ls;
  expected[bench.group("kubepods/besteffort")] = CpuTier::best_effort;
  bench.tick(now);
  CHECK(bench.counters.tiers == expected);

  // One that comes later is named when it is there, and nothing is named twice for nothing.
  auto late = pod("late", Qos::ls, 0);
  late->group = "pods/late";
  pods.push_back(late);
  auto next = known(pods);
  next->generation = 2;
  bench.tick(next);
  const int namings = bench.counters.namings;
  bench.tick(next);
  CHECK(bench.counters.namings == namings);
  const auto id = bench.group(late->group);
  bench.tick(next);
  CHECK(bench.counters.tiers.at(id) == CpuTier::ls);
  CHECK(bench.counters.namings == namings + 1);
}

TEST_CASE("When nobody may act on it") {
  Bench bench;
  const auto now = known({});
  bench.tick(now);
  const auto waits = [&](int count) {
    for (int i = 0; i < count; ++i) bench.counters.wait(CpuTier::ls, {{Runner::best_effort, kMillisecond}});
  };
  waits(1000);
  REQUIRE(bench.tick(now).fit);

  SECTION("tasks that found no place") {
    bench.counters.lost.tasks = 1;
    CHECK(bench.tick(now).why_unfit == "waits were lost: more tasks than the kernel's table has room for");
    CHECK(bench.metric("koordlet_cpu_wait_lost_total{reason=\"tasks\"}") == 1);
    CHECK(bench.tick(now).fit);
  }
  SECTION("the end of one in a thousand is not seen, then of two") {
    bench.counters.lost.unseen = 1;
    waits(1000);
    CHECK(bench.tick(now).fit);
    bench.counters.lost.unseen = 3;
    waits(1000);
    CHECK(bench.tick(now).why_unfit == "waits were lost: too many moves or ends were not seen");
    CHECK(bench.metric("koordlet_cpu_wait_lost_total{reason=\"unseen\"}") == 3);
    bench.counters.lost.unseen = 4;  // a single one, of few
    waits(100);
    CHECK(bench.tick(now).fit);
  }
  SECTION("a group without a place is missing among pods only") {
    bench.counters.lost.groups = 7;
    CHECK(bench.tick(now).fit);
    CHECK(bench.metric("koordlet_cpu_wait_lost_total{reason=\"groups\"}") == 7);
  }
  SECTION("a late tick") {
    CHECK(bench.tick(now, std::chrono::seconds(3)).why_unfit == "the last reading was late");
    CHECK(bench.tick(now).fit);
  }
  SECTION("counters that cannot be read: what comes back is no period") {
    bench.counters.broken = true;
    CHECK(bench.tick(now).why_unfit == "the kernel's counters cannot be read");
    CHECK(bench.tick(now).reading == 1);
    bench.counters.broken = false;
    waits(1000);
    CHECK(!bench.tick(now).fit);
    CHECK(bench.tick(now).fit);
    CHECK(bench.waits().reading == 2);
    CHECK(bench.rig->log.count(LogLevel::warn) == 1);
  }
  SECTION("pods that nobody knows, and then a whole period") {
    auto unknown = inventory({});
    unknown->generation = 5;
    unknown->pods_known = false;
    CHECK(bench.tick(unknown).why_unfit == "it is not known yet whose each cgroup is");
    auto again = known({});
    again->generation = 6;
    CHECK(!bench.tick(again).fit);
    CHECK(bench.tick(again).fit);
  }
  SECTION("more groups than fit") {
    bench.counters.full = true;
    auto more = known({});
    more->generation = 5;
    CHECK(!bench.tick(more).fit);
    CHECK(!bench.tick(more).fit);
    CHECK(bench.rig->log.count(LogLevel::warn) == 1);
  }
  SECTION("CPUs of which nobody knows who runs") {
    bench.counters.state[static_cast<std::size_t>(CpuTier::ls)].ran_ns[WaitBlame::kUnknown] += kMillisecond;
    waits(10);
    CHECK(bench.tick(now).why_unfit == "it is not known yet who runs on each CPU");
    waits(10);
    CHECK(bench.tick(now).fit);
  }
}

TEST_CASE("Of which pods tasks waited by best-effort work's doing") {
  Bench bench(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  const auto a = pod("a", Qos::ls, 1), b = pod("b", Qos::ls, 0);
  const auto now = known({a, b});
  const auto own = bench.group(a->group), container = bench.group(a->containers[0].group);
  const auto nested = bench.group(a->containers[0].group + "/nested"), other = bench.group(b->group);
  const auto nobodys = bench.group("user.slice");
  const auto wait = [&](WaitBlame::GroupId id, std::uint64_t ms) {
    bench.counters.by_group[id].id = id;
    bench.counters.by_group[id].ns += ms * kMillisecond;
  };
  for (const auto id : {own, container, nested, other, nobodys}) wait(id, 1000);
  CHECK(bench.tick(now).pods.empty());  // from before anybody looked
  wait(own, 1);
  wait(container, 20);
  wait(nested, 300);
  wait(nobodys, 500);
  for (int i = 0; i < 4; ++i) CHECK(bench.tick(now).pods.empty());
  const std::unordered_map<std::string, double>& pods = bench.tick(now).pods;
  REQUIRE(pods.size() == 1);
  CHECK(pods.at("a") == Approx(0.321));
  wait(other, 7);
  for (int i = 0; i < 4; ++i) CHECK(bench.tick(now).pods.size() == 1);  // as it was read last
  REQUIRE(bench.tick(now).pods.size() == 1);
  CHECK(bench.waits().pods.at("b") == Approx(0.007));
}

bool only_blame(std::string_view gate) { return gate == "BECPUBlame"; }

TEST_CASE("Where nobody asked there is nothing, where the kernel cannot there is a reason") {
  FakeNode node(CgroupVersion::v2);
  testing::SamplerRig off(node, {}, {.no_run_queue = "off", .no_blame = "off", .no_stalls = "off"});
  CHECK(off.tick(known({}), {}).find<BlamedWaits>() == nullptr);
  REQUIRE(off.sampler.availability().size() == 1);
  CHECK(off.sampler.availability()[0].name == "run_queue_latency");
  CHECK(testing::metric_of(off.registry, "koordlet_collector_available{collector=\"wait_blame\"}") == -1);

  testing::SamplerRig unable(node, {.is_on = &only_blame},
                             {.no_run_queue = "old", .no_blame = "no BTF", .no_stalls = "neither"});
  CHECK(unable.tick(known({}), {}).find<BlamedWaits>() == nullptr);
  CHECK(unable.tick(known({}), {}).find<RunQueueWaits>() == nullptr);
  std::string all;
  for (const Availability& one : unable.sampler.availability()) {
    CHECK(!one.works);
    all += fmt::format("{}: {}\n", one.name, one.reason);
    CHECK(testing::metric_of(unable.registry,
                             fmt::format("koordlet_collector_available{{collector=\"{}\"}}", one.name)) == 0);
  }
  CHECK(all ==
        "run_queue_latency: old\nwait_blame: no BTF\ndirect_reclaim: neither\nblock_io_latency: neither\n"
        "oom_kills: neither\n");
  CHECK(unable.log.count(LogLevel::info) == 5);
}

/// What the kernel would have counted of stalls.
class FakeStalls final : public host::Stalls {
 public:
  const std::string& missing(Kind kind) const override { return missing_[kind]; }
  Result<> read(State& into) override {
    into = state;
    return {};
  }
  State state;
  std::array<std::string, kKinds> missing_;
};

TEST_CASE("Stalls by tier; what a kernel lacks is told once and is not there") {
  FakeNode node(CgroupVersion::v2);
  KernelCounters all;
  auto made = std::make_unique<FakeStalls>();
  FakeStalls& kernel = *made;
  kernel.missing_[host::Stalls::block_io] = "no such tracepoint";
  all.stalls = std::move(made);
  testing::SamplerRig rig(node, {.is_on = &only_blame}, std::move(all));
  const auto metric = [&](const std::string& series) { return testing::metric_of(rig.registry, series); };
  const auto available = rig.sampler.availability().last(3);
  CHECK(!available[1].works);
  CHECK(available[1].reason == "no such tracepoint");
  CHECK(metric("koordlet_collector_available{collector=\"block_io_latency\"}") == 0);
  CHECK(metric("koordlet_collector_available{collector=\"direct_reclaim\"}") == 1);

  const auto now = known({});
  const auto tick = [&] {
    rig.clock.advance(std::chrono::seconds(5));
    rig.sampler.tick(now, rig.clock.mono(), rig.clock.now());
  };
  host::Stalls::Stalled& ls = kernel.state.reclaim[static_cast<std::size_t>(CpuTier::ls)];
  ls.ns = 3 * kMillisecond;
  ls.histogram.counts[FineHistogram::bucket_of(3 * kMillisecond)] = 1;
  kernel.state.oom_kills[static_cast<std::size_t>(CpuTier::best_effort)] = 2;
  tick();
  ls.ns += kMillisecond;
  ls.histogram.counts[FineHistogram::bucket_of(kMillisecond)] = 1;
  kernel.state.other_oom_kills = 1;
  kernel.state.lost = 4;
  tick();
  CHECK(metric("koordlet_direct_reclaim_stall_seconds_count{tier=\"LS\"}") == 2);
  CHECK(metric("koordlet_direct_reclaim_stall_seconds_sum{tier=\"LS\"}") == Approx(0.004));
  CHECK(metric("koordlet_direct_reclaim_stall_seconds_bucket{tier=\"LS\",le=\"0.001024\"}") == 1);
  CHECK(metric("koordlet_oom_kills_total{tier=\"BE\"}") == 2);
  CHECK(metric("koordlet_oom_kills_total{tier=\"unknown\"}") == 1);
  CHECK(metric("koordlet_stalls_lost_total") == 4);
  CHECK(metric("koordlet_block_io_latency_seconds_count{tier=\"LS\"}") == -1);
  // Read once in five seconds.
  kernel.state.lost = 5;
  rig.clock.advance(std::chrono::seconds(4));
  rig.sampler.tick(now, rig.clock.mono(), rig.clock.now());
  CHECK(metric("koordlet_stalls_lost_total") == 4);
}

}  // namespace
}  // namespace koord::koordlet
