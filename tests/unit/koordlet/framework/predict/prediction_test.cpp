// Models and what is predicted by them: rounds of samples, room, the original's rows of both predictors.
#include <catch2/catch.hpp>
#include <map>

#include "framework/predict/models.hpp"
#include "framework/predict/prod.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kMi = 1 << 20, kGi = 1 << 30;
const WallTime kNow{1'700'000'000s};
const MonoTime kStart{1h};

struct Pod {
  std::string uid;
  PriorityClass priority_class = PriorityClass::prod;
  Amounts requests = {};
  nanoseconds age = 2h;
  bool deleted = false;
};

std::shared_ptr<const PodInfo> pod_info(const Pod& pod) {
  auto info = std::make_shared<PodInfo>();
  info->uid = pod.uid;
  info->priority_class = pod.priority_class;
  info->requests.cpu = pod.requests.cpu;
  info->requests.memory = pod.requests.memory;
  if (pod.deleted) info->deleted_by = kNow;
  auto object = std::make_shared<api::Pod>();
  object->metadata.creation_timestamp = api::Time(kNow - pod.age);
  info->object = std::move(object);
  return info;
}

NodeInfo node_of(Amounts allocatable) {
  NodeInfo node;
  node.allocatable_milli_cpu = allocatable.cpu;
  node.allocatable_memory = allocatable.memory;
  return node;
}

std::int64_t with_tenth(std::int64_t bytes) {
  return static_cast<std::int64_t>(1.1 * static_cast<double>(bytes));
}

using Peaks = std::map<std::string, Amounts, std::less<>>;

ProdForecast forecast(const Peaks& peaks, const std::vector<Pod>& pods, Amounts allocatable,
                      std::int64_t margin = 10) {
  ProdPredictor prod(
      [&](std::string_view uid) {
        const auto at = peaks.find(uid);
        return at != peaks.end() ? std::optional(at->second) : std::nullopt;
      },
      {.cold_start = 1h, .margin_percent = margin}, kNow);
  for (const Pod& pod : pods) prod.add(*pod_info(pod));
  return prod.forecast(node_of(allocatable));
}

const Peaks kNode = {
    {"__node-sys__", {300, 512 * kMi}}, {"__node-koord-prod__", {1000, kGi}}, {"__node-__", {}}};

TEST_CASE("Both predictors and the careful one, by the original's rows") {
  Peaks peaks = kNode;
  for (const char* uid : {"pod-1", "pod-2"}) peaks[uid] = {500, kGi};
  peaks["pod-3"] = {};
  const std::vector<Pod> pods = {{"pod-1", PriorityClass::prod, {1000, kGi}, 1min},
                                 {"pod-2", PriorityClass::prod, {2000, 2 * kGi}},
                                 {"pod-3", PriorityClass::none, {2000, 2 * kGi}, 2h, true}};
  const Amounts pod_peak{550, with_tenth(kGi)}, node_peak{1430, with_tenth(1536 * kMi)};
  struct Row {
    std::string_view name;
    Amounts allocatable, by_pods, by_class;
  };
  const Row rows[] = {
      {"as much as is requested",
       {3000, 3 * kGi},
       {2000 - 550, 2 * kGi - pod_peak.memory},
       {3000 - 1430, 3 * kGi - node_peak.memory}},
      {"more than is requested",
       {8000, 8 * kGi},
       {2000 - 550, 2 * kGi - pod_peak.memory},
       {3000 - 1430, 3 * kGi - node_peak.memory}},
      {"less than is requested", {1000, kGi}, {1000 - 550, 0}, {0, 0}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const ProdForecast found = forecast(peaks, pods, row.allocatable);
    CHECK(found.by_pods.reclaimable == row.by_pods);
    CHECK(found.by_class.reclaimable == row.by_class);
    CHECK(found.careful.reclaimable == Amounts{std::min(row.by_pods.cpu, row.by_class.cpu),
                                               std::min(row.by_pods.memory, row.by_class.memory)});
    // The young pod is in it with its request; the greater one of both, for CPU and memory.
    const Amounts by_pods{550 + 1000, pod_peak.memory + kGi};
    CHECK(found.by_pods.peak == by_pods);
    CHECK(found.by_class.peak == node_peak);
    CHECK(found.careful.peak ==
          Amounts{std::max(by_pods.cpu, node_peak.cpu), std::max(by_pods.memory, node_peak.memory)});
  }
}

TEST_CASE("By pods: the young, those that go, other classes") {
  Peaks peaks;
  for (const char* uid : {"young", "old", "going", "batch"}) peaks[uid] = {500, 768 * kMi};
  const std::vector<Pod> pods = {{"young", PriorityClass::prod, {1000, kGi}, 1min},
                                 {"old", PriorityClass::prod, {2000, 2 * kGi}},
                                 {"going", PriorityClass::prod, {2000, 2 * kGi}, 2h, true},
                                 {"batch", PriorityClass::batch, {2000, 2 * kGi}}};
  const std::int64_t peak = with_tenth(768 * kMi);
  CHECK(forecast(peaks, pods, {3000, 3 * kGi}).by_pods.reclaimable == Amounts{2000 - 550, 2 * kGi - peak});
  CHECK(forecast(peaks, pods, {1000, kGi}).by_pods.reclaimable == Amounts{1000 - 550, kGi - peak});
  SECTION("a young one that goes still counts with its request, an old one not at all") {
    const ProdForecast found = forecast(peaks,
                                        {{"young", PriorityClass::prod, {1000, kGi}, 1min, true},
                                         {"going", PriorityClass::prod, {7, 7}, 2h, true}},
                                        {3000, 3 * kGi});
    CHECK(found.by_pods.peak == Amounts{1000, kGi});
    CHECK(found.by_pods.reclaimable == Amounts{});
  }
  SECTION("young is who was made so long ago or less") {
    for (const auto& [age, young] :
         {std::pair(nanoseconds(1h), true), std::pair(nanoseconds(3601s), false)}) {
      const auto found =
          forecast(peaks, {{"old", PriorityClass::prod, {2000, 2 * kGi}, age}}, {3000, 3 * kGi});
      CHECK((found.by_pods.peak == Amounts{2000, 2 * kGi}) == young);
    }
  }
  SECTION("who uses more than it requests gives nothing") {
    const auto found = forecast(peaks, {{"old", PriorityClass::prod, {100, kMi}}}, {3000, 3 * kGi});
    CHECK(found.by_pods.reclaimable == Amounts{});
    CHECK(found.by_pods.peak == Amounts{550, peak});
  }
}

TEST_CASE("A pod without a model uses all that it requests") {
  Peaks peaks = kNode;
  peaks["old"] = {500, 768 * kMi};
  const std::vector<Pod> pods = {{"young", PriorityClass::prod, {1000, kGi}, 1min},
                                 {"old", PriorityClass::prod, {2000, 2 * kGi}},
                                 {"unknown", PriorityClass::prod, {500, 512 * kMi}}};
  const ProdForecast found = forecast(peaks, pods, {8000, 8 * kGi});
  CHECK(found.by_pods.peak == Amounts{550 + 1000 + 500, with_tenth(768 * kMi) + kGi + 512 * kMi});
  // Nor does its class get its request back.
  CHECK(found.by_class.reclaimable == Amounts{3000 - 1430, 3 * kGi - with_tenth(1536 * kMi)});
  SECTION("a uid of a pod that is a model's name is no model's") {
    const ProdForecast same =
        forecast(peaks, {{"__node-sys__", PriorityClass::prod, {500, kGi}}}, {8000, 8 * kGi});
    CHECK(same.by_pods.peak == Amounts{500, kGi});
  }
}

TEST_CASE("By class: the system and all prod pods as a whole") {
  const Peaks peaks = {{"__node-sys__", {300, 512 * kMi}},
                       {"__node-koord-prod__", {500, kGi}},
                       {"__node-__", {}},
                       {"prod", {500, kGi}}};
  const std::vector<Pod> pods = {{"prod", PriorityClass::prod, {1000, 2 * kGi}},
                                 {"batch", PriorityClass::batch, {}}};
  CHECK(forecast(peaks, pods, {3000, 3 * kGi}, 0).by_class.reclaimable == Amounts{1000 - 800, 512 * kMi});
  CHECK(forecast(peaks, pods, {900, kGi}, 0).by_class.reclaimable == Amounts{900 - 800, 0});
}

TEST_CASE("What is missing is not predicted") {
  const std::vector<Pod> pods = {{"prod", PriorityClass::prod, {1000, kGi}, 1min}};
  for (const char* missing : {"__node-sys__", "__node-koord-prod__", "__node-__"}) {
    CAPTURE(missing);
    Peaks peaks = kNode;
    peaks.erase(missing);
    const ProdForecast found = forecast(peaks, pods, {3000, 3 * kGi});
    CHECK(found.by_pods.reclaimable == Amounts{});
    CHECK(found.by_class == Forecast{});
    CHECK(found.careful == Forecast{});
  }
  const ProdForecast nowhere = forecast(kNode, pods, {});  // no node is known
  CHECK_FALSE(nowhere.careful.reclaimable.has_value());
  CHECK(nowhere.careful.peak.has_value());
}

struct World {
  SeriesStore series{SeriesStore::Limits{}};
  Inventory inventory;
  PeakModels models{PeakModels::Limits{.most = 4}};
  MonoTime now = kStart;

  void use(std::string_view uid, double cpu, double memory) {
    series.append(*series.open(uid.empty() ? Metric::node_cpu : Metric::pod_cpu, uid), now, cpu);
    series.append(*series.open(uid.empty() ? Metric::node_memory : Metric::pod_memory, uid), now, memory);
  }
  std::size_t train() { return koordlet::train(models, series, inventory, now, kNow, 1min); }
  double cpu(std::string_view uid) const {
    const PeakModel* const model = models.find(uid);
    return model != nullptr ? model->cpu.percentile(1) : -1;
  }
  double memory(std::string_view uid) const { return models.find(uid)->memory.percentile(1); }
};

double cpu_above(double value) { return cpu_buckets().start(cpu_buckets().find(value) + 1); }
double memory_above(double value) { return memory_buckets().start(memory_buckets().find(value) + 1); }

TEST_CASE("A round of samples: pods, classes, the node, the system") {
  World world;
  world.inventory.pods = {pod_info({"prod-1"}), pod_info({"prod-2"}),
                          pod_info({"batch", PriorityClass::batch}), pod_info({"silent"})};
  for (int i = 0; i < 60; ++i, world.now += 1s) {
    world.use("", 10, 8.0 * kGi);
    world.use("prod-1", i < 50 ? 1 : 3, kGi);  // the 90th percentile is 3
    world.use("prod-2", 2, 2.0 * kGi);
    world.use("batch", 4, kGi);
  }
  world.now -= 1s;
  CHECK(world.train() == 0);
  CHECK(world.models.size() == 3 + 5 + 2);
  CHECK(world.cpu("prod-1") == cpu_above(3));
  CHECK(world.cpu("prod-2") == cpu_above(2));
  CHECK(world.cpu("silent") == -1);
  CHECK(world.cpu("__node-koord-prod__") == cpu_above(5));
  CHECK(world.memory("__node-koord-prod__") == memory_above(3.0 * kGi));
  CHECK(world.cpu("__node-koord-batch__") == cpu_above(4));
  for (const char* idle : {"__node-koord-mid__", "__node-koord-free__", "__node-__"})
    CHECK(world.cpu(idle) == cpu_buckets().start(1));  // 0 is in the first bucket
  CHECK(world.cpu("__node__") == cpu_above(10));
  CHECK(world.cpu("__node-sys__") == cpu_above(10 - 9));
  CHECK(world.memory("__node-sys__") == memory_above(8.0 * kGi - 4.0 * kGi));

  SECTION("the system uses nothing rather than less") {
    world.now += 2min;
    world.use("", 1, 0);
    world.use("prod-1", 9, kGi);
    PeakModels fresh{PeakModels::Limits{}};
    koordlet::train(fresh, world.series, world.inventory, world.now, kNow, 1min);
    CHECK(fresh.find("__node-sys__")->cpu.percentile(1) == cpu_buckets().start(1));
    CHECK(fresh.find("prod-2") == nullptr);  // not measured for a minute
  }
  SECTION("without the node's use nothing is learned of the system") {
    PeakModels fresh{PeakModels::Limits{}};
    SeriesStore empty{SeriesStore::Limits{}};
    koordlet::train(fresh, empty, world.inventory, world.now, kNow, 1min);
    CHECK(fresh.find("__node-sys__") == nullptr);
    CHECK(fresh.find("__node-koord-prod__") != nullptr);
  }
}

TEST_CASE("Models end without samples, and there are so many at most") {
  PeakModels models(PeakModels::Limits{.expiration = 30min, .most = 3});
  for (const char* uid : {"a", "b", "c"}) CHECK(models.add(uid, 1, 1, kStart, kNow));
  CHECK_FALSE(models.add("d", 1, 1, kStart, kNow));
  CHECK(models.add("__node-sys__", 1, 1, kStart, kNow));  // of these there are few
  CHECK(models.add("b", 1, 1, kStart + 1min, kNow));
  CHECK(models.add("c", 1, 1, kStart + 1min, kNow));
  CHECK(models.add("d", 1, 1, kStart + 1min, kNow));
  CHECK(models.find("a") == nullptr);
  CHECK(models.take_ended() == std::vector<std::string>{"a"});

  models.add("b", 1, 1, kStart + 20min, kNow);
  models.expire(kStart + 30min);
  CHECK(models.size() == 4);
  models.expire(kStart + 32min);
  CHECK(models.size() == 1);
  CHECK(models.take_ended().size() == 3);
  CHECK(models.take_ended().empty());
}

TEST_CASE("Who waits for longest is kept first, so many at a time, no more often than it shall be") {
  PeakModels models(PeakModels::Limits{});
  for (const char* uid : {"a", "b", "c"}) models.add(uid, 1, 1, kStart, kNow);
  const auto due = [&](nanoseconds after) {
    std::string all;
    for (const auto& [uid, model] : models.take_due(kStart + after, 10min, 2)) all += uid;
    return all;
  };
  CHECK(due(0min) == "ab");
  CHECK(due(1min) == "c");
  CHECK(due(2min).empty());
  CHECK(due(9min).empty());
  models.add("d", 1, 1, kStart, kNow);
  CHECK(due(11min) == "da");
  CHECK(due(12min) == "bc");
}

TEST_CASE("Percentiles are cut to whole units; without a sample there are none") {
  PeakModels models(PeakModels::Limits{});
  models.add("a", 0, 256.0 * kMi, kStart, kNow);
  const auto peak = models.find("a")->peak();
  REQUIRE(peak.has_value());
  CHECK(peak->cpu == 25);
  CHECK(peak->memory == static_cast<std::int64_t>(memory_above(256.0 * kMi)));
  REQUIRE(models.restore("b", {}, {}, kStart, kNow).has_value());
  CHECK_FALSE(models.find("b")->peak().has_value());
}

}  // namespace
}  // namespace koord::koordlet
