// NodeMetric's policy and status: the original's tables as inputs and outputs, over a store of our own.
#include "framework/report/node_metric.hpp"

#include <catch2/catch.hpp>

#include "framework/tick/gpu_use.hpp"
#include "framework/tick/huge_use.hpp"
#include "framework/tick/interference.hpp"
#include "koord/api/schema/codec.hpp"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr double kGi = 1024.0 * 1024 * 1024;
const MonoTime kStart{1h};

api::NodeMetricSpec spec(std::string_view policy) {
  auto decoded = api::decode<api::NodeMetricSpec>(R"({"metricCollectPolicy":)" + std::string(policy) + "}");
  REQUIRE(decoded.has_value());
  return *decoded;
}

TEST_CASE("The policy is the NodeMetric's over the defaults, with floors") {
  const std::vector<nanoseconds> usual = {5min, 10min, 30min};
  struct Row {
    std::string_view policy;
    nanoseconds interval, aggregate;
    std::vector<nanoseconds> windows;
    bool with_page_cache, with_hot_pages = false;
  };
  const Row rows[] = {
      {"{}", 60s, 300s, usual, false},
      {R"({"reportIntervalSeconds":180})", 180s, 300s, usual, false},
      {R"({"reportIntervalSeconds":666})", 666s, 300s, usual, false},
      {R"({"reportIntervalSeconds":1,"aggregateDurationSeconds":5})", 30s, 60s, usual, false},
      {R"({"reportIntervalSeconds":-7})", 30s, 300s, usual, false},
      {R"({"nodeAggregatePolicy":{"durations":["5m"]}})", 60s, 300s, {5min}, false},
      {R"({"nodeMemoryCollectPolicy":"usageWithPageCache"})", 60s, 300s, usual, true},
      {R"({"nodeMemoryCollectPolicy":"usageWithHotPageCache"})", 60s, 300s, usual, false, true},
      {R"({"nodeMemoryCollectPolicy":"usageWithoutPageCache"})", 60s, 300s, usual, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.policy);
    const ReportPolicy policy = report_policy(spec(row.policy));
    CHECK(policy.interval == row.interval);
    CHECK(policy.aggregate == row.aggregate);
    CHECK(policy.windows == row.windows);
    CHECK(policy.with_page_cache == row.with_page_cache);
    CHECK(policy.with_hot_pages == row.with_hot_pages);
  }
  CHECK(report_policy({}).interval == 60s);
}

struct Sampled {
  Metric metric;
  std::string_view entity;
  double value;
};

/// `count` ticks a second apart, each of which samples all of them; the last one is at kStart + 1000 s.
void fill(SeriesStore& series, int count, std::initializer_list<Sampled> sampled) {
  for (int i = 1; i <= count; ++i)
    for (const Sampled& one : sampled) {
      const auto id = series.open(one.metric, one.entity);
      REQUIRE(id.has_value());
      series.append(*id, kStart + 1000s - std::chrono::seconds(count - i), one.value);
    }
}

struct World {
  SeriesStore series{SeriesStore::Limits{}};
  Inventory inventory;
  ReportPolicy policy;
  WallTime wall{std::chrono::seconds(1'700'000'000) + 900ms};

  api::NodeMetricStatus status(const Interference* lost = nullptr, const GpuUse* gpus = nullptr,
                               const HugeUse* huge = nullptr) {
    ProdPredictor prod([](std::string_view) { return std::optional<Amounts>(); }, {}, wall);
    return node_metric_status(series, inventory, policy, kStart + 1000s, wall, prod, lost, gpus, huge);
  }
  void add_pod(std::string uid, std::string ns, std::string name, host::KubeQos kube, Qos qos = Qos::none,
               PriorityClass priority = PriorityClass::none) {
    auto pod = std::make_shared<PodInfo>();
    pod->uid = std::move(uid);
    pod->ns = std::move(ns);
    pod->name = std::move(name);
    pod->kube_qos = kube;
    pod->qos = qos;
    pod->priority_class = priority;
    inventory.pods.push_back(std::move(pod));
  }
};

TEST_CASE("Before there is any sample, everything is an empty map") {
  World world;
  CHECK(api::encode(world.status()) ==
        R"({"updateTime":"2023-11-14T22:13:20Z","nodeMetric":{"nodeUsage":{},"aggregatedNodeUsages":[)"
        R"({"usage":{"avg":{},"p50":{},"p90":{},"p95":{},"p99":{}},"duration":"5m0s"},)"
        R"({"usage":{"avg":{},"p50":{},"p90":{},"p95":{},"p99":{}},"duration":"10m0s"},)"
        R"({"usage":{"avg":{},"p50":{},"p90":{},"p95":{},"p99":{}},"duration":"30m0s"}],"systemUsage":{},)"
        R"("aggregatedSystemUsages":[)"
        R"({"usage":{"avg":{},"p50":{},"p90":{},"p95":{},"p99":{}},"duration":"5m0s"},)"
        R"({"usage":{"avg":{},"p50":{},"p90":{},"p95":{},"p99":{}},"duration":"10m0s"},)"
        R"({"usage":{"avg":{},"p50":{},"p90":{},"p95":{},"p99":{}},"duration":"30m0s"}]}})");
}

TEST_CASE("Usage is in milli-CPUs and plain bytes, averaged over the aggregate's duration") {
  World world;
  world.policy.windows = {5min};
  world.add_pod("test-pod", "default", "test-pod", host::KubeQos::burstable);
  fill(world.series, 200,
       {{Metric::node_cpu, "", 3},
        {Metric::node_memory, "", 3 * kGi},
        {Metric::system_cpu, "", 2},
        {Metric::system_memory, "", 2 * kGi},
        {Metric::pod_cpu, "test-pod", 1},
        {Metric::pod_memory, "test-pod", kGi}});
  const std::string usage3 = R"({"resources":{"cpu":"3","memory":"3Gi"}})";
  const std::string usage2 = R"({"resources":{"cpu":"2","memory":"2Gi"}})";
  auto five = [](const std::string& usage) {
    return R"([{"usage":{"avg":)" + usage + R"(,"p50":)" + usage + R"(,"p90":)" + usage + R"(,"p95":)" +
           usage + R"(,"p99":)" + usage + R"(},"duration":"5m0s"}])";
  };
  CHECK(
      api::encode(world.status()) ==
      R"({"updateTime":"2023-11-14T22:13:20Z","nodeMetric":{"nodeUsage":)" + usage3 +
          R"(,"aggregatedNodeUsages":)" + five(usage3) + R"(,"systemUsage":)" + usage2 +
          R"(,"aggregatedSystemUsages":)" + five(usage2) +
          R"(},"podsMetric":[{"name":"test-pod","namespace":"default","podUsage":{"resources":{"cpu":"1","memory":"1Gi"}},)"
          R"("priority":"koord-prod","qos":"LS"}]})");
}

TEST_CASE("GPUs, as upstream's collectNodeGPUMetric and collectPodGPUMetric have them") {
  World world;
  world.policy.windows = {5min};
  world.add_pod("u1", "default", "on-gpus", host::KubeQos::burstable);
  world.add_pod("u2", "default", "without", host::KubeQos::burstable);
  fill(world.series, 200,
       {{Metric::node_cpu, "", 3},
        {Metric::node_memory, "", 3 * kGi},
        {Metric::pod_cpu, "u1", 1},
        {Metric::pod_memory, "u1", kGi},
        {Metric::pod_cpu, "u2", 1},
        {Metric::pod_memory, "u2", kGi},
        {Metric::node_gpu_core, "GPU-a", 80},
        {Metric::node_gpu_memory, "GPU-a", 10 * kGi},
        {Metric::pod_gpu_core, gpu_entity("GPU-a", "u1"), 30},
        {Metric::pod_gpu_memory, gpu_entity("GPU-a", "u1"), 4 * kGi}});
  GpuUse gpus;
  for (const auto& [uuid, minor] : {std::pair("GPU-a", 1), std::pair("GPU-b", 0)}) {
    GpuUse::Card& card = gpus.cards.emplace_back();
    card.uuid = uuid;
    card.minor = minor;
    card.memory = static_cast<std::uint64_t>(40 * kGi);
  }
  const api::NodeMetricStatus status = world.status(nullptr, &gpus);
  const std::string node =
      R"("devices":[{"type":"gpu","id":"GPU-a","minor":1,"health":false,"resources":{"koordinator.sh/gpu-core":"80",)"
      R"("koordinator.sh/gpu-memory":"10Gi","koordinator.sh/gpu-memory-ratio":"25"}}]})";
  const std::string pod =
      R"("devices":[{"type":"gpu","id":"GPU-a","minor":1,"health":false,"resources":{"koordinator.sh/gpu-core":"30",)"
      R"("koordinator.sh/gpu-memory":"4Gi","koordinator.sh/gpu-memory-ratio":"10"}}]})";
  CHECK(api::encode(status.node_metric->node_usage) == R"({"resources":{"cpu":"3","memory":"3Gi"},)" + node);
  const auto& aggregates = status.node_metric->aggregated_node_usages.at(0).usage;
  CHECK(api::encode(*aggregates.find("p95")) == R"({"resources":{"cpu":"3","memory":"3Gi"},)" + node);
  REQUIRE(status.pods_metric.size() == 2);
  CHECK(api::encode(status.pods_metric[0].pod_usage) == R"({"resources":{"cpu":"1","memory":"1Gi"},)" + pod);
  CHECK(status.pods_metric[1].pod_usage.devices.empty());
  CHECK(status.node_metric->system_usage.devices.empty());
  CHECK(world.status().node_metric->node_usage.devices.empty());
}

TEST_CASE("What is predicted: an empty reclaimable where nothing is, and no peak") {
  struct Row {
    Forecast forecast;
    std::string_view json;
  };
  const Row rows[] = {
      {{}, R"({"prodReclaimableMetric":{"resource":{}}})"},
      {{.reclaimable = {}, .peak = Amounts{250, 0}},
       R"({"prodReclaimableMetric":{"resource":{}},)"
       R"("prodPeakMetric":{"resource":{"resources":{"cpu":"250m","memory":"0"}}}})"},
      {{.reclaimable = Amounts{1430, 3 << 20}, .peak = Amounts{2000, 1}},
       R"({"prodReclaimableMetric":{"resource":{"resources":{"cpu":"1430m","memory":"3Mi"}}},)"
       R"("prodPeakMetric":{"resource":{"resources":{"cpu":"2","memory":"1"}}}})"},
  };
  for (const Row& row : rows) {
    api::NodeMetricStatus status;
    set_forecast(status, row.forecast);
    CHECK(api::encode(status) == row.json);
  }
}

TEST_CASE("The prediction is of the pods that are in the report") {
  World world;
  world.add_pod("seen", "default", "seen", host::KubeQos::burstable);
  world.add_pod("unseen", "default", "unseen", host::KubeQos::burstable);
  fill(world.series, 10, {{Metric::pod_cpu, "seen", 1}, {Metric::pod_memory, "seen", kGi}});
  std::string asked;
  ProdPredictor prod(
      [&](std::string_view uid) {
        asked += uid;
        return std::optional<Amounts>();
      },
      {}, world.wall);
  (void)node_metric_status(world.series, world.inventory, world.policy, kStart + 1000s, world.wall, prod);
  CHECK(asked == "seen");
}

TEST_CASE("Fractions are cut, not rounded") {
  World world;
  fill(world.series, 10, {{Metric::node_cpu, "", 1.23475}, {Metric::node_memory, "", 1500.875}});
  const auto usage = world.status().node_metric->node_usage.resources;
  CHECK(usage.find("cpu")->to_string() == "1234m");
  CHECK(usage.find("memory")->to_string() == "1500");
}

TEST_CASE("Percentiles of an aggregate, and none while its samples span less than half of it") {
  World world;
  world.policy.windows = {5min, 10min};
  const auto cpu = world.series.open(Metric::node_cpu, ""),
             memory = world.series.open(Metric::node_memory, "");
  REQUIRE((cpu && memory));
  for (int i = 1; i <= 200; ++i) {  // 199 s: more than half of five minutes, less than half of ten
    world.series.append(*cpu, kStart + 800s + std::chrono::seconds(i), i / 100.0);
    world.series.append(*memory, kStart + 800s + std::chrono::seconds(i), i);
  }
  const auto status = world.status();
  const auto& five = status.node_metric->aggregated_node_usages.at(0).usage;
  CHECK(five.find("p50")->resources.find("memory")->value() == 100);
  CHECK(five.find("p90")->resources.find("memory")->value() == 180);
  CHECK(five.find("p99")->resources.find("memory")->value() == 198);
  CHECK(five.find("avg")->resources.find("memory")->value() == 100);
  const auto& ten = status.node_metric->aggregated_node_usages.at(1).usage;
  CHECK(ten.size() == 5);
  CHECK(ten.find("p50")->resources.empty());
  // What is no aggregate does not wait.
  CHECK(status.node_metric->node_usage.resources.size() == 2);
}

TEST_CASE("An aggregate waits for both, CPU and memory") {
  World world;
  world.policy.windows = {5min};
  const auto cpu = world.series.open(Metric::node_cpu, ""),
             memory = world.series.open(Metric::node_memory, "");
  REQUIRE((cpu && memory));
  for (int i = 1; i <= 200; ++i) {
    world.series.append(*cpu, kStart + 800s + std::chrono::seconds(i), 1);
    if (i > 100) world.series.append(*memory, kStart + 800s + std::chrono::seconds(i), 1);
  }
  const auto status = world.status();
  CHECK(status.node_metric->aggregated_node_usages.at(0).usage.find("avg")->resources.empty());
  CHECK(status.node_metric->node_usage.resources.size() == 2);
}

TEST_CASE("Pods are sorted and classified; those without samples are left out") {
  World world;
  world.add_pod("1", "b", "z", host::KubeQos::besteffort);
  world.add_pod("2", "a", "z", host::KubeQos::guaranteed);
  world.add_pod("3", "a", "y", host::KubeQos::burstable, Qos::be);
  world.add_pod("4", "a", "x", host::KubeQos::burstable, Qos::ls, PriorityClass::mid);
  world.add_pod("5", "a", "none", host::KubeQos::burstable);
  for (const char* uid : {"1", "2", "3", "4"})
    fill(world.series, 1, {{Metric::pod_cpu, uid, 0.5}, {Metric::pod_memory, uid, 10}});
  fill(world.series, 1, {{Metric::pod_cpu, "5", 1}});  // but no memory
  std::string shown;
  for (const auto& pod : world.status().pods_metric)
    shown += std::string(pod.namespace_.view()) + "/" + pod.name + " " + std::string(pod.qos.view()) + " " +
             std::string(pod.priority.view()) + "; ";
  CHECK(shown == "a/x LS koord-mid; a/y BE koord-batch; a/z LSR koord-prod; b/z BE koord-batch; ");
}

TEST_CASE("Memory by policy: with page cache or without") {
  World world;
  fill(world.series, 5, {{Metric::node_cpu, "", 1}, {Metric::node_memory, "", 100}});
  CHECK(world.status().node_metric->node_usage.resources.find("memory")->value() == 100);
  world.policy.with_page_cache = true;
  CHECK(world.status().node_metric->node_usage.resources.empty());
  fill(world.series, 1, {{Metric::node_memory_with_page_cache, "", 900}});
  CHECK(world.status().node_metric->node_usage.resources.find("memory")->value() == 900);
  // Without cold pages, where they are known; otherwise what it is without page cache.
  world.policy.with_page_cache = false;
  world.policy.with_hot_pages = true;
  CHECK(world.status().node_metric->node_usage.resources.find("memory")->value() == 100);
  fill(world.series, 1, {{Metric::node_memory_with_hot_pages, "", 700}});
  CHECK(world.status().node_metric->node_usage.resources.find("memory")->value() == 700);
}

TEST_CASE("What pods lose to others is in their extensions, as upstream's Go reads them") {
  World world;
  auto a = std::make_shared<PodInfo>();
  a->uid = a->name = "a";
  world.inventory.pods = {a};
  fill(world.series, 60, {{Metric::pod_cpu, "a", 1}, {Metric::pod_memory, "a", 100}});
  CHECK(world.status().pods_metric.at(0).extensions.empty());
  Interference lost;
  lost.pods["a"] = {.run_queue = 0.5, .memory = kUnknown, .io = 0.25, .cpi = kUnknown};
  lost.pods["b"] = {.run_queue = 1};
  CHECK(world.status(&lost).pods_metric.at(0).extensions.text ==
        R"({"Object":{"interference":{"all":0.625,"runQueue":0.5,"io":0.25}}})");
}

TEST_CASE("NUMA nodes: each with its own, the system's part where it is known") {
  World world;
  fill(world.series, 60,
       {{Metric::node_numa_cpu, "0", 1.5},
        {Metric::node_numa_memory, "0", 1024},
        {Metric::system_numa_cpu, "0", 0.5},
        {Metric::system_numa_memory, "0", 512},
        {Metric::node_numa_cpu, "1", 2.5},
        {Metric::node_numa_memory, "1", 2048}});
  const auto status = world.status();
  const auto& numa = status.node_metric->numa_usages;
  REQUIRE(numa.size() == 2);
  CHECK(numa[0].node_usage.resources.find("cpu")->to_string() == "1500m");
  CHECK(numa[0].node_usage.resources.find("memory")->to_string() == "1Ki");
  CHECK(numa[0].system_usage.resources.find("cpu")->to_string() == "500m");
  CHECK(numa[0].system_usage.resources.find("memory")->to_string() == "512");
  CHECK(numa[1].numa_node_id == 1);
  CHECK(numa[1].node_usage.resources.find("cpu")->to_string() == "2500m");
  CHECK(numa[1].system_usage.resources.empty());
}

TEST_CASE("Huge pages in use are among the resources of the node and of its memory nodes, as they are now") {
  World world;
  const HugeUse huge{.node = {.two_mib = 6 << 20, .one_gib = 1 << 30},
                     .numa = {{0, {.two_mib = 4 << 20}}, {1, {.two_mib = 2 << 20, .one_gib = 1 << 30}}}};
  CHECK(world.status(nullptr, nullptr, &huge).node_metric->node_usage.resources.empty());
  fill(world.series, 60,
       {{Metric::node_cpu, "", 4},
        {Metric::node_memory, "", 4096},
        {Metric::node_numa_cpu, "0", 1.5},
        {Metric::node_numa_memory, "0", 1024},
        {Metric::node_numa_cpu, "1", 2.5},
        {Metric::node_numa_memory, "1", 2048},
        {Metric::node_numa_cpu, "2", 0},
        {Metric::node_numa_memory, "2", 1024}});
  const auto status = world.status(nullptr, nullptr, &huge);
  const api::NodeMetricInfo& node = *status.node_metric;
  CHECK(api::encode(node.node_usage) ==
        R"({"resources":{"cpu":"4","hugepages-1Gi":"1Gi","hugepages-2Mi":"6Mi","memory":"4Ki"}})");
  REQUIRE(node.numa_usages.size() == 3);
  CHECK(api::encode(node.numa_usages[0].node_usage) ==
        R"({"resources":{"cpu":"1500m","hugepages-1Gi":"0","hugepages-2Mi":"4Mi","memory":"1Ki"}})");
  CHECK(api::encode(node.numa_usages[1].node_usage) ==
        R"({"resources":{"cpu":"2500m","hugepages-1Gi":"1Gi","hugepages-2Mi":"2Mi","memory":"2Ki"}})");
  CHECK(node.numa_usages[2].node_usage.resources.size() == 2);  // of a node that nobody told of
  CHECK(node.aggregated_node_usages[0].usage.find("p95")->resources.find("hugepages-2Mi") == nullptr);
  CHECK(world.status().node_metric->node_usage.resources.size() == 2);
}

TEST_CASE("Host applications with what they are") {
  World world;
  world.inventory.host_applications = {{"app", Qos::ls, PriorityClass::prod, "g"},
                                       {"cold", Qos::be, {}, "h"}};
  fill(world.series, 60,
       {{Metric::host_application_cpu, "app", 1}, {Metric::host_application_memory, "app", kGi}});
  const auto status = world.status();
  REQUIRE(status.host_application_metric.size() == 1);
  CHECK(
      api::encode(status.host_application_metric[0]) ==
      R"({"name":"app","usage":{"resources":{"cpu":"1","memory":"1Gi"}},"priority":"koord-prod","qos":"LS"})");
}

}  // namespace
}  // namespace koord::koordlet
