// GPUs by users: whose processes are whose, the collector with the tests' driver, and what asking costs.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>

#include "collectors.hpp"
#include "collectors/gpu/attribution.hpp"
#include "framework/devices/gpu_driver.hpp"
#include "framework/sampler/sampler.hpp"
#include "koord/async/offload.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "rigs/fake_node.hpp"
#include "support/sanitized.hpp"

namespace koord::koordlet {
namespace {

using std::chrono::seconds;

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

host::GpuAnswer answer_of(std::vector<host::GpuProcess> processes) {
  host::GpuAnswer answer;
  answer.cards = {
      {.index = 0, .minor = 2, .uuid = "GPU-a", .bus_id = {}, .model = {}, .memory = 1000},
      {.index = 1, .minor = 0, .uuid = "GPU-m", .bus_id = {}, .model = {}, .memory = 1, .mig = true},
      {.index = 2, .minor = 1, .uuid = "GPU-b", .bus_id = {}, .model = {}, .memory = 2000}};
  answer.processes = std::move(processes);
  return answer;
}

TEST_CASE("A process is its container's, its pod's, or nobody's") {
  auto pod = testing::pod("u1", Qos::ls, 1);
  pod->containers.push_back(
      {.name = "long", .id = kId, .group = pod->group + "/cri-containerd-" + kId + ".scope"});
  const auto inventory = testing::inventory({pod});
  const std::string group = pod->group, short_one = pod->containers[0].group;
  struct Row {
    std::string cgroups;
    std::string_view pod, container;
  };
  const Row rows[] = {
      {"0::/" + short_one + "\n", "u1", "u1-c0"},
      {"0::/" + short_one + "/within/another\n", "u1", "u1-c0"},
      {"12:devices:/\n4:cpu,cpuacct:/" + short_one + "\n1:name=systemd:/elsewhere\n", "u1", "u1-c0"},
      {"0::/" + group + "\n", "u1", ""},
      {"0::/" + group + "/somebody\n", "u1", ""},
      {"0::/" + group + "x/u1-c0\n", "", ""},
      // From within another cgroup namespace a path begins elsewhere.
      {"0::/../../burstable/podu1/cri-containerd-" + kId + ".scope/init\n", "u1", kId},
      {"0::/../docker-" + kId + ".scope\n", "u1", kId},
      // What a container makes within its own group may be called as it likes.
      {"0::/" + short_one + "/" + kId + "\n", "u1", "u1-c0"},
      {"0::/../u1-c0\n", "", ""},  // no id: too short
      {"0::/system.slice/sshd.service\n", "", ""},
      {"0::/\n", "", ""},
      {"", "", ""},
      {"nonsense", "", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.cgroups);
    const GpuUse use = attribute(answer_of({{.index = 2, .pid = 7, .cores = 30, .memory = 500}}), *inventory,
                                 [&](pid_t) { return row.cgroups; });
    REQUIRE(use.cards.size() == 2);  // none that is cut
    CHECK(use.cards[1].computing.core == 30);
    CHECK(use.cards[1].computing.memory == 500);
    CHECK(use.pods.size() == (row.pod.empty() ? 0 : 1));
    CHECK(use.containers.size() == (row.container.empty() ? 0 : 1));
    if (!row.pod.empty()) CHECK(use.pods.at(std::string(row.pod)).at(1).core == 30);
    if (!row.container.empty()) CHECK(use.containers.at(std::string(row.container)).at(1).memory == 500);
  }
}

TEST_CASE("Processes add up, by GPU; each is looked for once") {
  const auto inventory = testing::inventory({testing::pod("u1", Qos::ls, 2), testing::pod("u2", Qos::be, 1)});
  int looks = 0;
  const auto cgroups = [&](pid_t pid) {
    ++looks;
    const auto& pod = *inventory->pods[pid < 20 ? 0 : 1];
    return fmt::format("0::/{}\n", pod.containers[pid == 12 ? 1 : 0].group);
  };
  const GpuUse use = attribute(answer_of({{.index = 0, .pid = 11, .cores = 10, .memory = 100},
                                          {.index = 2, .pid = 11, .cores = 20, .memory = 200},
                                          {.index = 0, .pid = 12, .cores = 5, .memory = 50},
                                          {.index = 0, .pid = 21, .cores = 1, .memory = 1},
                                          {.index = 1, .pid = 21, .cores = 9, .memory = 9},
                                          {.index = 9, .pid = 21, .cores = 9, .memory = 9}}),
                               *inventory, cgroups);
  CHECK(looks == 3);
  CHECK(use.cards[0].computing.core == 16);
  CHECK(use.pods.at("u1").at(0).core == 15);
  CHECK(use.pods.at("u1").at(1).memory == 200);
  CHECK(use.pods.at("u2").size() == 1);
  CHECK(use.containers.at("u1-c0").at(0).memory == 100);
  CHECK(use.containers.at("u1-c1").at(0).memory == 50);
}

/// "PLACE:CORE/MEMORY", one for each GPU.
std::string text_of(const GpuUse::Parts& parts) {
  std::string all;
  for (const auto& [place, part] : parts)
    all += fmt::format("{}{}:{}/{}", all.empty() ? "" : " ", place, part.core, part.memory);
  return all;
}

TEST_CASE("GPUs by user, as the original's rows have them") {
  struct Row {
    std::string_view what;
    std::vector<std::uint64_t> cards;  // what memory each has
    std::vector<host::GpuProcess> processes;
    std::vector<pid_t> first, second;  // whose they are: the pod's containers'; of the others nobody's
    std::string_view node, pod, of_first, of_second;
  };
  // Processes 122 and 222 on two GPUs.
  const std::vector<host::GpuProcess> four = {{.index = 0, .pid = 122, .cores = 70, .memory = 1500},
                                              {.index = 1, .pid = 122, .cores = 50, .memory = 1000},
                                              {.index = 0, .pid = 222, .cores = 10, .memory = 1000},
                                              {.index = 1, .pid = 222, .cores = 40, .memory = 3000}};
  const Row rows[] = {
      {"no device", {}, {}, {}, {}, "", "", "", ""},
      {"a single device",
       {8000},
       {{.index = 0, .pid = 122, .cores = 70, .memory = 1500}},
       {122},
       {},
       "0:70/1500",
       "0:70/1500",
       "0:70/1500",
       ""},
      {"a process beside the pod's",
       {14000},
       {{.index = 0, .pid = 122, .cores = 70, .memory = 1500},
        {.index = 0, .pid = 123, .cores = 20, .memory = 1000}},
       {122},
       {},
       "0:90/2500",
       "0:70/1500",
       "0:70/1500",
       ""},
      {"two devices",
       {8000, 9000},
       {{.index = 0, .pid = 122, .cores = 70, .memory = 1500},
        {.index = 1, .pid = 222, .cores = 50, .memory = 1000}},
       {122, 222},
       {},
       "0:70/1500 1:50/1000",
       "0:70/1500 1:50/1000",
       "0:70/1500 1:50/1000",
       ""},
      {"two devices, one of which the pod uses",
       {14000, 24000},
       {{.index = 0, .pid = 122, .cores = 70, .memory = 1500},
        {.index = 1, .pid = 222, .cores = 50, .memory = 1000}},
       {122},
       {},
       "0:70/1500 1:50/1000",
       "0:70/1500",
       "0:70/1500",
       ""},
      {"processes on both",
       {8000, 9000},
       {{.index = 0, .pid = 122, .cores = 70, .memory = 1500},
        {.index = 1, .pid = 122, .cores = 30, .memory = 1000},
        {.index = 0, .pid = 222, .cores = 20, .memory = 1000},
        {.index = 1, .pid = 222, .cores = 50, .memory = 1000}},
       {},
       {},
       "0:90/2500 1:80/2000",
       "",
       "",
       ""},
      {"a container with all processes",
       {14000, 24000},
       four,
       {122, 222},
       {45, 67},
       "0:80/2500 1:90/4000",
       "0:80/2500 1:90/4000",
       "0:80/2500 1:90/4000",
       ""},
      {"a container with one of them",
       {14000, 24000},
       four,
       {222},
       {122},
       "0:80/2500 1:90/4000",
       "0:80/2500 1:90/4000",
       "0:10/1000 1:40/3000",
       "0:70/1500 1:50/1000"},
      {"a process on each device",
       {14000, 24000},
       {{.index = 0, .pid = 122, .cores = 70, .memory = 1500},
        {.index = 1, .pid = 222, .cores = 40, .memory = 3000}},
       {122, 222},
       {45, 67},
       "0:70/1500 1:40/3000",
       "0:70/1500 1:40/3000",
       "0:70/1500 1:40/3000",
       ""},
      {"both processes on one device",
       {14000, 24000},
       {{.index = 1, .pid = 122, .cores = 70, .memory = 1500},
        {.index = 1, .pid = 222, .cores = 20, .memory = 3000}},
       {122, 222},
       {45, 67},
       "0:0/0 1:90/4500",
       "1:90/4500",
       "1:90/4500",
       ""},
  };
  const auto inventory = testing::inventory({testing::pod("u1", Qos::be, 2)});
  for (const Row& row : rows) {
    INFO(row.what);
    host::GpuAnswer answer;
    for (const std::uint64_t memory : row.cards) {
      const auto i = static_cast<unsigned>(answer.cards.size());
      answer.cards.push_back({.index = i,
                              .minor = static_cast<std::int32_t>(i + 1),
                              .uuid = fmt::format("test-device{}", i + 1),
                              .bus_id = {},
                              .model = {},
                              .memory = memory});
    }
    answer.processes = row.processes;
    const auto& containers = inventory->pods[0]->containers;
    const GpuUse use = attribute(answer, *inventory, [&](pid_t pid) -> std::string {
      if (std::ranges::count(row.first, pid) > 0) return fmt::format("0::/{}\n", containers[0].group);
      if (std::ranges::count(row.second, pid) > 0) return fmt::format("0::/{}\n", containers[1].group);
      return "0::/elsewhere\n";
    });
    REQUIRE(use.cards.size() == row.cards.size());
    GpuUse::Parts node;
    for (std::size_t i = 0; i < use.cards.size(); ++i) {
      CHECK(use.cards[i].uuid == fmt::format("test-device{}", i + 1));
      CHECK(use.cards[i].minor == static_cast<std::int32_t>(i + 1));
      CHECK(use.cards[i].memory == row.cards[i]);
      node[i] = use.cards[i].computing;
    }
    CHECK(text_of(node) == row.node);
    const auto of = [](const auto& users, const std::string& id) {
      const auto at = users.find(id);
      return at == users.end() ? std::string() : text_of(at->second);
    };
    CHECK(of(use.pods, "u1") == row.pod);
    CHECK(of(use.containers, "u1-c0") == row.of_first);
    CHECK(of(use.containers, "u1-c1") == row.of_second);
  }
}

/// Real time, which jumps where the test says so: the helper is a real process.
class JumpingClock final : public Clock {
 public:
  explicit JumpingClock(boost::asio::io_context& loop) : real_(loop.get_executor()) {}
  WallTime now() const override { return real_.now(); }
  MonoTime mono() const override { return real_.mono() + jumped; }
  TimerId call_at(MonoTime at, std::function<void()> fn) override {
    return real_.call_at(at - jumped, std::move(fn));
  }
  void cancel(TimerId id) override { real_.cancel(id); }
  nanoseconds jumped{};

 private:
  SystemClock real_;
};

struct Rig {
  testing::FakeNode node{host::CgroupVersion::v2};
  boost::asio::io_context loop;
  JumpingClock clock{loop};
  CapturedLog log;
  metrics::Registry registry;
  SeriesStore series{{}};
  host::CgroupFs fs = node.cgroups();
  WorkerPool workers{1};
  TaskGroup tasks{loop.get_executor()};
  std::optional<GpuDriver> driver;
  std::optional<Sampler> sampler;
  std::shared_ptr<Inventory> now = testing::inventory({testing::pod("u1", Qos::ls, 1)});
  MonoTime at = clock.mono();

  explicit Rig(double share = 0, bool gates = true) {
    std::filesystem::copy_file(std::getenv("KOORD_FAKE_NVML"), node.tree() / "nvml.so");
    node.tree().write("sys/bus/pci/drivers/nvidia/", "");
    const GpuDriver::Options options{
        .helper = {.root = {}, .limit = seconds(30), .library = node.tree() / "nvml.so"}, .share = share};
    driver.emplace(clock, node.root(), options, registry);
    SamplerConfig config;
    config.is_on = [gates](std::string_view gate) { return gates && gate == "Accelerators"; };
    sampler.emplace(config, collector_table(), fs, node.root(), series, registry, Logger(log, clock),
                    KernelCounters{}, CollectorLoop{&tasks, &clock, &workers, &*driver});
  }
  ~Rig() {
    asio::co_spawn(loop, tasks.stop(clock, seconds(1)), [](std::exception_ptr) {});
    loop.restart();
    loop.run();
  }
  void say(const std::string& text) { node.tree().write("nvml.so.say", text); }
  /// A tick that takes what was asked before and asks, and the one that has the answer.
  const TickView& ask() {
    for (int i = 0; i < 2; ++i) {
      at += seconds(1);
      clock.jumped += seconds(1);
      sampler->tick(now, at, clock.now());
      loop.restart();
      while (tasks.size() > 0) loop.run_one();
    }
    return sampler->view();
  }
  bool shows(std::string_view line) const { return registry.exposition().find(line) != std::string::npos; }
  double average(Metric metric, const std::string& entity) const {
    const auto got = series.aggregate(metric, entity, at, seconds(60));
    return got ? got->avg : kUnknown;
  }
};

constexpr const char* kTwo =
    "3 GPU-a 00000000:3B:00.0 1000 0 NVIDIA A100\n1 GPU-b 00000000:5E:00.0 2000 0 NVIDIA A100\n";

TEST_CASE("The collector: metrics, series, the tick's view; pods and cards that go") {
  Rig rig;
  rig.node.tree().write("proc/70/cgroup", fmt::format("0::/{}\n", rig.now->pods[0]->containers[0].group));
  rig.node.tree().write("proc/71/cgroup", "0::/system.slice/x.service\n");
  rig.say(std::string(kTwo) +
          "process 0 70 40 400 0\nprocess 1 70 10 100 100\nprocess 0 71 5 50 0\nusage 0 777 66 22\n");
  const TickView& view = rig.ask();
  const GpuUse* const use = view.find<GpuUse>();
  REQUIRE(use != nullptr);
  CHECK(use->cards[0].used == 777);
  CHECK(use->cards[0].cores == 66);
  CHECK(use->cards[0].memory_controller == 22);
  CHECK(rig.shows("koordlet_node_gpu_core_usage{gpu_minor=\"3\",gpu_device_uuid=\"GPU-a\"} 45\n"));
  CHECK(rig.shows("koordlet_node_gpu_memory_usage{gpu_minor=\"3\",gpu_device_uuid=\"GPU-a\"} 450\n"));
  CHECK(rig.shows("koordlet_node_gpu_memory_total{gpu_minor=\"1\",gpu_device_uuid=\"GPU-b\"} 2000\n"));
  CHECK(rig.shows(
      "koordlet_pod_gpu_core_usage{pod_uid=\"u1\",pod_name=\"name-of-u1\",pod_namespace=\"default\","
      "gpu_minor=\"3\",gpu_device_uuid=\"GPU-a\"} 40\n"));
  // It has memory of the other, and has done nothing on it for long.
  CHECK(rig.shows(
      "koordlet_pod_gpu_core_usage{pod_uid=\"u1\",pod_name=\"name-of-u1\",pod_namespace=\"default\","
      "gpu_minor=\"1\",gpu_device_uuid=\"GPU-b\"} 0\n"));
  CHECK(
      rig.shows("container_name=\"c0\",pod_uid=\"u1\",pod_name=\"name-of-u1\",pod_namespace=\"default\","
                "gpu_minor=\"1\",gpu_device_uuid=\"GPU-b\"} 100\n"));
  CHECK(rig.average(Metric::node_gpu_core, "GPU-a") == 45);
  CHECK(rig.average(Metric::pod_gpu_memory, gpu_entity("GPU-a", "u1")) == 400);
  CHECK(rig.shows("koordlet_collector_available{collector=\"gpu\"} 1\n"));

  // The pod goes, and with it what was kept of it; a card that is lost keeps what there is of it.
  rig.say("lost\n1 GPU-b 00000000:5E:00.0 2000 0 NVIDIA A100\nprocess 1 71 5 50 0\n");
  rig.now = testing::inventory({});
  rig.ask();
  CHECK_FALSE(rig.shows("koordlet_pod_gpu_core_usage{"));
  CHECK_FALSE(rig.shows("koordlet_node_gpu_core_usage{gpu_minor=\"3\""));
  CHECK_FALSE(rig.series.find(Metric::pod_gpu_core, gpu_entity("GPU-a", "u1")));
  CHECK(rig.series.find(Metric::node_gpu_core, "GPU-a"));
  // One that was taken out does not.
  rig.say("1 GPU-b 00000000:5E:00.0 2000 0 NVIDIA A100\nprocess 1 71 5 50 0\n");
  rig.ask();
  CHECK_FALSE(rig.series.find(Metric::node_gpu_core, "GPU-a"));
  CHECK(rig.series.find(Metric::node_gpu_core, "GPU-b"));

  // A driver that crashes says nothing; what was said stays in the view, and nothing is kept twice.
  rig.say("crash\n");
  rig.ask();
  CHECK(rig.shows("koordlet_collector_available{collector=\"gpu\"} 0\n"));
}

TEST_CASE("Without a driver there is nothing to complain of; with the gate off nobody asks") {
  Rig rig;
  rig.node.tree().remove("sys/bus/pci/drivers/nvidia");
  const TickView& view = rig.ask();
  REQUIRE(view.find<GpuUse>() != nullptr);
  CHECK(view.find<GpuUse>()->cards.empty());
  CHECK(rig.log.count(LogLevel::warn) == 0);
  Rig off(0, false);
  off.say(kTwo);
  CHECK(off.ask().find<GpuUse>() == nullptr);
  CHECK_FALSE(off.shows("collector=\"gpu\""));
}

TEST_CASE("A helper that costs much is asked seldom") {
  Rig rig(1e-12);  // of a CPU: whatever it takes is too much
  rig.say(kTwo);
  REQUIRE(rig.driver->ask({}).has_value());  // its first answer starts the library: that is not counted
  const auto second = rig.driver->ask({});
  REQUIRE(second.has_value());
  rig.say("");
  const auto third = rig.driver->ask({});
  REQUIRE(third.has_value());
  CHECK(third->get() == second->get());
  Rig free;
  free.say(kTwo);
  REQUIRE(free.driver->ask({}).has_value());
  const auto fresh = free.driver->ask({});
  CHECK((*free.driver->ask(seconds(60))).get() == fresh->get());
  free.say("");
  CHECK((*free.driver->ask({}))->answer.cards.empty());
}

TEST_CASE("What the helper costs: a hundredth of a core, and 20 MB, at most") {
  Rig rig;
  std::string text;
  for (int i = 0; i < 8; ++i) {
    text += fmt::format("{0} GPU-{0} 00000000:{1:02x}:00.0 85899345920 0 NVIDIA H100\nusage {0} 1 2 3\n", i,
                        i + 16);
    for (int j = 0; j < 4; ++j) text += fmt::format("process {} {} 25 1024 0\n", i, 1000 + i * 4 + j);
  }
  rig.say(text);
  const auto first = rig.driver->ask({});
  REQUIRE(first.has_value());
  REQUIRE((*first)->answer.processes.size() == 32);
  constexpr int kQuestions = 100;
  std::uint64_t memory = 0, until = 0;
  for (int i = 0; i < kQuestions; ++i) {
    const auto said = rig.driver->ask({});
    REQUIRE(said.has_value());
    memory = (*said)->answer.memory_kib;
    until = (*said)->answer.cpu_us;
  }
  const std::uint64_t each = (until - (*first)->answer.cpu_us) / kQuestions;
  WARN(fmt::format("8 GPUs, 32 processes: {} us of CPU a question, {} KiB, with a driver of the tests", each,
                   memory));
  CHECK(each < 10'000);                           // asked once a second: 1%
  if (!test::kSanitized) CHECK(memory < 20'000);  // a sanitizer's own is no part of it
  CHECK(memory > 0);
}

}  // namespace
}  // namespace koord::koordlet
