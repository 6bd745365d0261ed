// What CreateContainer costs in a burst: of 1,000 containers, one after the other as a runtime asks, over a
// socket and from bytes to bytes, with all hooks, for pods that the agent knows and pods that it does not.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>

#include "fake_runtime.hpp"
#include "koord/rpc/hooks.hpp"
#include "rigs/desk_rig.hpp"
#include "support/run_task.hpp"
#include "support/sanitized.hpp"
#include "support/tree.hpp"
#include "transports/hook_server/exchange.hpp"
#include "transports/nri/transport.hpp"

namespace koord::koordlet::nri {
namespace {

using namespace std::chrono_literals;
using rpc::nri::Event;
using testing::FakeRuntime;

constexpr int kContainers = 1000;

double cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

/// As containerd tells of the container that a kubelet has made of a pinned pod, and of a best-effort one.
std::string made(int number, const std::string& uid) {
  const bool pinned = number % 2 == 0;
  rpc::nri::Pod pod{.id = fmt::format("{:064x}", number), .name = uid, .uid = uid, .ns = "ns"};
  pod.labels = {{"app", "demo"}, {"koordinator.sh/qosClass", pinned ? "LSR" : "BE"}};
  for (int i = 0; i < 8; ++i)
    pod.annotations.emplace_back(fmt::format("example.com/annotation-{}", i), std::string(60, 'x'));
  if (pinned)
    pod.annotations.emplace_back("scheduling.koordinator.sh/resource-status", R"({"cpuset":"2-3"})");
  pod.cgroup_parent = fmt::format("/kubepods/{}/pod{}", pinned ? "burstable" : "besteffort", uid);
  rpc::nri::Container container{.id = fmt::format("{:064x}", number + kContainers),
                                .pod_id = pod.id,
                                .name = "a",
                                .state = rpc::nri::State::created};
  for (int i = 0; i < 10; ++i)
    container.env.push_back(fmt::format("VARIABLE_{}={}", i, std::string(30, 'y')));
  container.resources = {.cpu_shares = 2, .cpu_period = 100'000, .cpu_quota = pinned ? 200'000 : 0};
  return encode(rpc::nri::Happened{.event = Event::create_container, .pod = pod, .container = container},
                false);
}

struct Rig {
  Rig() {
    for (int i = 0; i < kContainers; ++i) {
      known.push_back(made(i, fmt::format("pod{:04}", i)));
      unknown.push_back(made(i, fmt::format("new{:04}", i)));
      PodInfo& pod = desk.pod(fmt::format("pod{:04}", i), i % 2 == 0 ? Qos::lsr : Qos::be, {});
      if (i % 2 == 0) pod.cpus = *host::CpuSet::parse("2-3");
    }
    desk.publish();
  }
  Plugin::Parts parts() {
    return {.ask =
                [this](const RuntimeRequest& request) {
                  return desk.desk->answer(request, koordlet::Transport::nri);
                },
            .asked_at = [this](RuntimeMoment moment) { return desk.desk->asked_at(moment); },
            .write = [](const std::vector<LaterValue>&) {},
            .find_device = find_device,
            .log = Logger(desk.log, desk.clock, 1)};
  }
  testing::DeskRig desk;
  std::vector<std::string> known, unknown;
};

/// The slowest of so many in a hundred.
double percentile(std::vector<double>& took, int percent) {
  std::ranges::sort(took);
  return took[(took.size() - 1) * static_cast<std::size_t>(percent) / 100];
}

Task<Result<>> burst(FakeRuntime& runtime, const std::vector<std::string>& calls, std::vector<double>& took,
                     int& pinned) {
  KOORD_CO_CHECK(co_await runtime.configure("v2.1.4"));
  (void)co_await runtime.call("Synchronize", encode(rpc::nri::Synchronize{}));
  for (const std::string& call : calls) {
    const auto began = std::chrono::steady_clock::now();
    const auto answer = co_await runtime.call("CreateContainer", call);
    took.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count());
    const auto read = rpc::nri::decode_create_container_answer(answer.payload);
    pinned += read && read->adjust.resources.cpuset_cpus == "2-3" ? 1 : 0;
  }
  co_return Result<>();
}

TEST_CASE("1,000 containers that are made one after the other are answered, each within a moment") {
  Rig rig;
  const bool knows = GENERATE(true, false);
  const auto& calls = knows ? rig.known : rig.unknown;
  Plugin plugin(rig.parts());
  const auto round = [&] {
    const double began = cpu_us();
    for (const std::string& call : calls)
      REQUIRE(
          plugin.answer({std::string(rpc::nri::kPluginService), "CreateContainer", call, {}}).status.ok());
    return (cpu_us() - began) / kContainers;
  };
  double cpu = 1e9;
  for (int i = 0; i < (test::kSanitized ? 1 : 5); ++i) cpu = std::min(cpu, round());

  test::Loop loop;
  koord::testing::Tree tree{{}};
  std::vector<double> took;
  int pinned = 0;
  FakeRuntime runtime(loop.executor(), loop.clock, tree / "nri.sock");
  metrics::Registry metrics;
  nri::Transport transport({.executor = loop.executor(),
                            .clock = loop.clock,
                            .log = Logger(rig.desk.log, loop.clock, 1),
                            .metrics = metrics,
                            .plugin = rig.parts(),
                            .missing = [] { return std::string(); }},
                           {.socket = tree / "nri.sock"});
  TaskGroup tasks(loop.executor(), [](std::string_view, const Error&) {});
  runtime.listen();
  tasks.spawn("runtime", runtime.serve([&](FakeRuntime& self) { return burst(self, calls, took, pinned); }));
  tasks.spawn("transport", transport.run());
  const auto patience = std::chrono::steady_clock::now() + 60s;
  while (took.size() < kContainers && std::chrono::steady_clock::now() < patience) {
    loop.context.restart();
    loop.context.run_one_for(10ms);
  }
  runtime.close();
  runtime.connection->close();
  test::run_task(loop, tasks.stop(loop.clock, 1s), true);
  REQUIRE(took.size() == kContainers);
  CHECK(pinned == kContainers / 2);
  WARN(fmt::format(
      "CreateContainer, {} pods, {} bytes: {:.1f} us of CPU from bytes to bytes; over a socket p50 {:.0f} "
      "us, "
      "p99 {:.0f} us",
      knows ? "known" : "unknown", calls[0].size(), cpu, percentile(took, 50), percentile(took, 99)));
  if (!test::kSanitized) CHECK(cpu < 300);  // ten times what is asked for: a busy machine is no reason
}

/// The same containers as a proxy tells of them, with 20 variables.
TEST_CASE("A hook server's answer to 1,000 containers, from bytes to bytes") {
  Rig rig;
  const bool knows = GENERATE(true, false);
  std::vector<std::string> calls;
  for (int i = 0; i < kContainers; ++i) {
    const bool pinned = i % 2 == 0;
    rpc::hooks::ContainerRequest request;
    request.pod = {.name = "p", .uid = fmt::format("{}{:04}", knows ? "pod" : "new", i), .ns = "ns"};
    request.meta = {.name = "a"};
    for (int v = 0; v < 20; ++v)
      request.env.emplace_back(fmt::format("VARIABLE_{:02}", v), std::string(30, 'y'));
    request.pod_labels = {{"app", "demo"}, {"koordinator.sh/qosClass", pinned ? "LSR" : "BE"}};
    if (pinned)
      request.pod_annotations = {{"scheduling.koordinator.sh/resource-status", R"({"cpuset":"2-3"})"}};
    request.pod_cgroup_parent =
        fmt::format("/kubepods/{}/pod{}", pinned ? "burstable" : "besteffort", request.pod.uid);
    request.resources = rpc::hooks::Resources{
        .cpu_period = 100'000, .cpu_quota = pinned ? 200'000 : 0, .cpu_shares = 2, .memory_limit = 1 << 30};
    calls.push_back(encode(request));
  }
  double cpu = 1e9;
  for (int i = 0; i < (test::kSanitized ? 1 : 5); ++i) {
    const double began = cpu_us();
    for (const std::string& call : calls)
      REQUIRE(
          hook_server::answer(*rig.desk.desk, rpc::hooks::Stage::pre_create_container, "containerd", call, {})
              .has_value());
    cpu = std::min(cpu, (cpu_us() - began) / kContainers);
  }
  WARN(fmt::format("PreCreateContainer, {} pods, {} bytes: {:.1f} us of CPU from bytes to bytes",
                   knows ? "known" : "unknown", calls[0].size(), cpu));
  if (!test::kSanitized) CHECK(cpu < 300);
}

}  // namespace
}  // namespace koord::koordlet::nri
