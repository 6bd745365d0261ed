// Run-queue latency by pod and container: whose a cgroup is, and what of its waits is shown when.
#include <catch2/catch.hpp>

#include "framework/tick/run_queue_waits.hpp"
#include "rigs/fake_run_queue.hpp"
#include "rigs/sampler_rig.hpp"

namespace koord::koordlet {
namespace {

using host::CgroupVersion;
using testing::FakeNode;
using testing::inventory;
using testing::pod;

constexpr std::uint64_t kMillisecond = 1'000'000;

struct Bench {
  explicit Bench(CgroupVersion version) : node(version) {
    KernelCounters all;
    auto made = std::make_unique<testing::FakeRunQueue>();
    counters = made.get();
    all.run_queue = std::move(made);
    rig.emplace(node, SamplerConfig{}, std::move(all));
  }
  host::RunQueueLatency::GroupId group(const std::string& name) {
    return testing::make_group(node, rig->fs, name);
  }
  void wait(host::RunQueueLatency::GroupId id, int times) {
    for (int i = 0; i < times; ++i) counters->groups[id].add(kMillisecond);
  }
  void period(const std::shared_ptr<Inventory>& now) {
    rig->clock.advance(std::chrono::seconds(5));
    rig->sampler.tick(now, rig->clock.mono(), rig->clock.now());
  }
  const RunQueueWaits& waits() const { return *rig->sampler.view().find<RunQueueWaits>(); }
  std::uint64_t of_pod(const std::string& uid) const {
    return waits().pods.contains(uid) ? waits().pods.at(uid).count() : 0;
  }
  std::uint64_t of_container(const std::string& id) const {
    return waits().containers.contains(id) ? waits().containers.at(id).count() : 0;
  }
  bool exports(const std::string& container, int count) {
    return rig->registry.exposition().find(fmt::format("container_id=\"{}\"}} {}\n", container, count)) !=
           std::string::npos;
  }

  FakeNode node;
  testing::FakeRunQueue* counters = nullptr;
  std::optional<testing::SamplerRig> rig;
};

TEST_CASE("A slice waits with its services, a container with what is nested in it") {
  Bench bench(GENERATE(CgroupVersion::v1, CgroupVersion::v2));
  const auto a = pod("a", Qos::ls, 1);
  const std::string container = a->containers[0].group;
  auto slice = pod("slice", Qos::ls, 0);
  slice->group = "web.slice";
  const auto now = inventory({a, slice});

  const auto own = bench.group(a->group);
  const auto top = bench.group(container);
  const auto nested = bench.group(container + "/init.scope");
  const auto deep = bench.group(container + "/system.slice/cron.service");
  const auto sandbox = bench.group(a->group + "/sandbox");
  const auto service = bench.group("web.slice/nginx.service");
  const auto beside = bench.group("web.slice-not");
  for (const auto id : {own, top, nested, deep, sandbox, service, beside}) bench.wait(id, 100);
  bench.period(now);  // from before
  CHECK(bench.of_pod("a") == 0);
  for (const auto id : {own, top, nested, deep, sandbox, service, beside}) bench.wait(id, 1);
  bench.period(now);
  CHECK(bench.of_container("a-c0") == 3);
  CHECK(bench.of_pod("a") == 5);
  CHECK(bench.of_pod("slice") == 1);
  CHECK(bench.exports("a-c0", 303));
  CHECK(bench.waits().reading == 2);
  CHECK(*bench.waits().owners.at(deep) == "a");
  CHECK(*bench.waits().owners.at(service) == "slice");
  CHECK_FALSE(bench.waits().owners.contains(beside));

  // A service that has come since: all that it waited was in this period.
  const auto late = bench.group("web.slice/php.service");
  const auto born = bench.group(container + "/user.slice");
  bench.wait(late, 4);
  bench.wait(born, 2);
  bench.period(now);
  CHECK(bench.of_pod("slice") == 4);
  CHECK(bench.of_container("a-c0") == 2);
  CHECK(bench.exports("a-c0", 305));

  // One that goes takes nothing back.
  bench.counters->groups.erase(nested);
  bench.wait(top, 1);
  bench.period(now);
  CHECK(bench.of_container("a-c0") == 1);
  CHECK(bench.of_pod("slice") == 0);
  CHECK(bench.exports("a-c0", 306));

  // The container ends, and its series with it.
  const auto later = inventory({slice});
  later->generation = 2;
  bench.period(later);
  CHECK(bench.rig->registry.exposition().find("a-c0") == std::string::npos);
  CHECK_FALSE(bench.waits().containers.contains("a-c0"));
}

TEST_CASE("What waited before the kubelet named it is the container's, but of no later period") {
  Bench bench(CgroupVersion::v2);
  const auto a = pod("a", Qos::ls, 1);
  const auto early = inventory({});
  bench.period(early);
  const auto id = bench.group(a->containers[0].group);
  bench.wait(id, 7);
  bench.period(early);
  bench.wait(id, 2);
  const auto now = inventory({a});
  now->generation = 2;
  bench.period(now);
  CHECK(bench.of_container("a-c0") == 2);
  CHECK(bench.exports("a-c0", 9));
}

TEST_CASE("Waits that the kernel had no room for are counted") {
  Bench bench(CgroupVersion::v2);
  bench.counters->lost = {.groups = 3, .tasks = 5};
  bench.period(inventory({}));
  bench.counters->lost = {.groups = 3, .tasks = 9};
  bench.period(inventory({}));
  const std::string text = bench.rig->registry.exposition();
  CHECK(text.find("koordlet_run_queue_latency_lost_total{table=\"groups\"} 3\n") != std::string::npos);
  CHECK(text.find("koordlet_run_queue_latency_lost_total{table=\"tasks\"} 9\n") != std::string::npos);
}

}  // namespace
}  // namespace koord::koordlet
