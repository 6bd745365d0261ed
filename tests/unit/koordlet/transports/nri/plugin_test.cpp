// What the plugin answers, for runtimes with each NRI: without a socket.
#include "transports/nri/plugin.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "koord/base/manual_clock.hpp"

namespace koord::koordlet::nri {
namespace {

using namespace rpc::nri;  // NOLINT: the messages are what this is about

/// Hooks that give the container "main" of pod "u" CPUs, a quota and env.
struct Rig {
  Rig() { restart(); }

  void restart(bool fail = false) {
    plugin.emplace(Plugin::Parts{
        .ask = [this](const RuntimeRequest& request) -> Result<Verdict> {
          asked.push_back(request);
          if (refuse) return Error(Code::unavailable, "pod ns/p: not known yet");
          return verdict;
        },
        .asked_at = [this](RuntimeMoment moment) { return moments.empty() || moments.contains(moment); },
        .write = [this](const std::vector<LaterValue>& values) { written += values.size(); },
        .find_device = [](const std::string& path) -> std::optional<Device> {
          if (path == "/dev/none") return std::nullopt;
          return Device{.path = path, .type = "c", .major = 5, .minor = 7, .file_mode = 0666};
        },
        .log = Logger(log, clock, 1),
        .fail = fail});
  }

  rpc::ttrpc::Response call(std::string method, std::string payload) {
    return plugin->answer({std::string(kPluginService), std::move(method), std::move(payload), {}});
  }
  std::int32_t configure(std::string runtime, std::string version, std::string nri = "") {
    restart();
    const auto response =
        call("Configure",
             encode(Configure{"", std::move(runtime), std::move(version), std::move(nri), 5000, 2000}));
    REQUIRE(response.status.ok());
    return decode_events(response.payload).value();
  }
  std::string happened(Event event, bool as_state_change = false) {
    Happened call_of{.event = event, .pod = pod};
    call_of.container = container;
    if (event == Event::update_container) call_of.resources = update;
    const auto response = call(std::string(as_state_change ? "StateChange" : to_string(event)),
                               encode(call_of, as_state_change));
    REQUIRE(response.status.ok());
    return response.payload;
  }

  ManualClock clock;
  CapturedLog log;
  std::set<RuntimeMoment> moments;
  Verdict verdict;
  bool refuse = false;
  std::vector<RuntimeRequest> asked;
  std::size_t written = 0;
  Pod pod{.id = "s1",
          .name = "p",
          .uid = "u",
          .ns = "ns",
          .labels = {{"koordinator.sh/qosClass", "LSR"}},
          .annotations = {{"a", "1"}},
          .runtime_handler = "runc",
          .cgroup_parent = "/kubepods/podu"};
  std::optional<Container> container = Container{.id = "c1",
                                                 .pod_id = "s1",
                                                 .name = "main",
                                                 .state = State::running,
                                                 .env = {"A=1=2", "nonsense"},
                                                 .resources = {.cpu_shares = 1024, .cpu_quota = 100000}};
  Resources update;
  std::optional<Plugin> plugin;
};

constexpr std::int32_t kOld = 1 | 1 << 3 | 1 << 7;  // RunPodSandbox, CreateContainer, UpdateContainer

TEST_CASE("Events: those of hooks, and bits above 11 only where the runtime takes them") {
  struct Row {
    std::string_view runtime, version, nri;
    std::int32_t events;
  };
  for (const Row& row : std::vector<Row>{
           {"containerd", "v1.7.20", "", kOld},
           {"containerd", "v2.1.4", "", kOld},
           {"cri-o", "1.32.1", "", kOld},
           {"a fork", "v9.9.9", "", kOld},
           {"containerd", "v2.2.0", "", kOld | 1 << 12},
           {"containerd", "v2.3.0", "v0.12.0", kOld | 1 << 12},
       }) {
    INFO(row.runtime << " " << row.version);
    Rig rig;
    CHECK(rig.configure(std::string(row.runtime), std::string(row.version), std::string(row.nri)) ==
          row.events);
  }
  Rig rig;
  rig.moments = {RuntimeMoment::create_container};
  CHECK(rig.configure("containerd", "v2.3.0") == 1 << 3);
  rig.moments = {RuntimeMoment::stop_sandbox};  // all stages are off: 0 would mean all events
  CHECK(rig.configure("containerd", "v2.3.0") == 1 << 2);
}

TEST_CASE("A container that is made gets what hooks say, and hooks see what the runtime says") {
  Rig rig;
  rig.configure("cri-o", "1.32.1");
  rig.verdict.settings = {.cpu_quota = -1, .cpu_shares = 2048, .memory_limit = 1 << 20, .cpuset_cpus = "2-3"};
  rig.verdict.env = {{"B", "2"}};
  rig.verdict.annotations = {{"k", "v"}};
  rig.verdict.mounts = {{"/lib/x", "/x", "bind", {"ro", "rbind"}}};
  rig.verdict.devices = {
      {"/dev/a", "/dev/b"}, {"/dev/none", ""}, {.host_path = "/dev/c", .path = "", .file_mode = 0600}};
  const auto answer = decode_create_container_answer(rig.happened(Event::create_container));
  REQUIRE(answer.has_value());
  CHECK(answer->updates.empty());
  CHECK(answer->adjust ==
        Adjustment{
            .annotations = {{"k", "v"}},
            .env = {{"B", "2"}},
            .mounts = {{"/lib/x", "/x", "bind", {"ro", "rbind"}}},
            .devices = {{"/dev/b", "c", 5, 7, 0666}, {"/dev/c", "c", 5, 7, 0600}},
            .resources = {.memory_limit = 1 << 20, .cpu_shares = 2048, .cpu_quota = -1, .cpuset_cpus = "2-3"},
            .oom_score_adj = {}});
  CHECK(rig.log.contains("/dev/none is no device of this host"));

  REQUIRE(rig.asked.size() == 1);
  const RuntimeRequest& asked = rig.asked[0];
  CHECK(asked.moment == RuntimeMoment::create_container);
  CHECK(asked.runtime == "cri-o");
  CHECK((asked.sandbox.uid == "u" && asked.sandbox.cgroup_parent == "/kubepods/podu"));
  CHECK(asked.sandbox.labels == std::vector<RuntimePair>{{"koordinator.sh/qosClass", "LSR"}});
  REQUIRE(asked.container);
  CHECK((asked.container->name == "main" && asked.container->id == "c1"));
  CHECK(asked.container->env == std::vector<RuntimePair>{{"A", "1=2"}});
  CHECK(asked.container->resources.cpu_quota == 100000);
}

TEST_CASE("What a runtime is answered, as the original's rows have it") {
  Rig rig;
  rig.configure("containerd", "v2.1.4");
  rig.verdict.settings = {
      .cpu_quota = 512, .cpu_shares = 512, .memory_limit = std::int64_t{2} << 30, .cpuset_cpus = "0,1,2"};
  rig.verdict.env = {{"test", "test"}};
  const Resources wanted{
      .memory_limit = std::int64_t{2} << 30, .cpu_shares = 512, .cpu_quota = 512, .cpuset_cpus = "0,1,2"};
  const auto answer = decode_create_container_answer(rig.happened(Event::create_container));
  REQUIRE(answer.has_value());
  CHECK(answer->adjust.resources == wanted);
  CHECK(answer->adjust.env == decltype(answer->adjust.env){{"test", "test"}});
  const auto updates = decode_updates(rig.happened(Event::update_container));
  REQUIRE(updates.has_value());
  REQUIRE(updates->size() == 1);
  CHECK((*updates)[0].resources == wanted);
  CHECK_FALSE((*updates)[0].ignore_failure);
  // A node without pods.
  const auto none = decode_synchronize_answer(rig.call("Synchronize", encode(Synchronize{})).payload);
  REQUIRE(none.has_value());
  CHECK(none->updates.empty());
}

TEST_CASE("Which events are told is the hooks' word, whatever the plugin's configuration in the runtime is") {
  for (const char* config :
       {"", "{error: error}", "events: [\"RunPodSandbox\"]", "events: [\"RunPodSandboxTest\"]"}) {
    INFO(config);
    Rig rig;
    const auto response =
        rig.call("Configure", encode(Configure{config, "containerd", "v2.1.4", "", 5000, 2000}));
    REQUIRE(response.status.ok());
    CHECK(decode_events(response.payload).value() == kOld);
  }
}

TEST_CASE("Devices by CDI's names: only runtimes that give them are said to take them") {
  struct Row {
    std::string_view runtime, version;
    bool takes;
  };
  for (const Row& row :
       {Row{"containerd", "v2.0.9", false}, Row{"containerd", "v2.1.0", true},
        Row{"containerd", "2.2.1", true}, Row{"containerd", "v1.7.28", false}, Row{"cri-o", "1.33.9", false},
        Row{"cri-o", "1.34.0", true}, Row{"other", "9.0.0", false}, Row{"containerd", "none", false}}) {
    INFO(row.runtime << " " << row.version);
    Rig rig;
    rig.configure(std::string(row.runtime), std::string(row.version));
    rig.verdict.cdi_devices = {"nvidia.com/gpu=0", "nvidia.com/gpu=GPU-b"};
    const auto answer = decode_create_container_answer(rig.happened(Event::create_container));
    REQUIRE(answer.has_value());
    CHECK(answer->adjust == Adjustment{.cdi_devices = {"nvidia.com/gpu=0", "nvidia.com/gpu=GPU-b"}});
    CHECK(rig.asked.at(0).takes_cdi == row.takes);
    rig.happened(Event::update_container);
    CHECK_FALSE(rig.asked.at(1).takes_cdi);
  }
}

TEST_CASE("What no hook says is left alone") {
  Rig rig;
  rig.configure("containerd", "v2.1.4");
  CHECK(rig.happened(Event::create_container).empty());
  CHECK(rig.happened(Event::update_container).empty());
  CHECK(rig.happened(Event::run_pod_sandbox).empty());
  CHECK(rig.written == 0);
}

TEST_CASE("complaint 3129: an update is answered with its container's id, and with what differs") {
  Rig rig;
  rig.configure("containerd", "v2.1.4");
  rig.verdict.settings = {.cpu_quota = -1, .cpu_shares = 512, .cpuset_cpus = "2-3"};
  rig.update = {
      .memory_limit = 0, .cpu_shares = 512, .cpu_period = 0, .cpu_quota = 50000, .cpuset_cpus = "0-7"};
  auto updates = decode_updates(rig.happened(Event::update_container));
  REQUIRE(updates.has_value());
  REQUIRE(updates->size() == 1);
  CHECK((*updates)[0] == Update{.container_id = "c1", .resources = {.cpu_quota = -1, .cpuset_cpus = "2-3"}});
  // CRI's zeros say nothing, and hooks are not asked about them.
  CHECK_FALSE(rig.asked.back().container->resources.memory_limit);
  CHECK_FALSE(rig.asked.back().container->resources.cpu_period);
  rig.update = {.cpu_shares = 512, .cpu_quota = 0, .cpuset_cpus = "2,3"};
  CHECK(rig.happened(Event::update_container).empty());  // all of it is so already
  rig.update.cpuset_cpus = "0-7";
  CHECK_FALSE(rig.happened(Event::update_container).empty());
  rig.container->id.clear();  // a change that no runtime could say whose it is
  CHECK(rig.happened(Event::update_container).empty());
}

TEST_CASE("A pod that runs: its own values are written at once, told by an event or by a call") {
  Rig rig;
  rig.configure("containerd", "v2.3.0", "v0.12.0");
  rig.container.reset();
  rig.verdict.later = {{"kubepods/podu", host::Knob::cpu_shares, std::int64_t{1024}, "", ""}};
  rig.happened(Event::run_pod_sandbox);
  CHECK(rig.written == 1);
  CHECK(rig.asked.back().moment == RuntimeMoment::run_sandbox);
  CHECK_FALSE(rig.asked.back().container);
  rig.happened(Event::run_pod_sandbox, true);
  CHECK(rig.written == 2);
  rig.happened(Event::post_update_pod_sandbox);
  CHECK(rig.written == 3);
  for (const Event other :
       {Event::stop_pod_sandbox, Event::remove_pod_sandbox, Event::start_container,
        Event::post_start_container, Event::stop_container, Event::remove_container,
        Event::update_pod_sandbox, Event::post_create_container, Event::post_update_container}) {
    CHECK(rig.happened(other).empty());
    CHECK(rig.happened(other, true).empty());
  }
  CHECK(rig.asked.size() == 3);
}

TEST_CASE("Validation never refuses; what does not exist yet is unimplemented") {
  Rig rig;
  rig.configure("containerd", "v2.3.0", "v0.12.0");
  const auto valid = rig.call("ValidateContainerAdjustment", "\xff not even read");
  CHECK((valid.status.ok() && valid.payload.empty()));
  CHECK(rig.call("Rewind", "").status.code == rpc::StatusCode::unimplemented);
  CHECK(rig.plugin->answer({"another.Service", "Configure", "", {}}).status.code ==
        rpc::StatusCode::unimplemented);
  CHECK_FALSE(rig.plugin->shut_down());
  CHECK(rig.call("Shutdown", "").status.ok());
  CHECK(rig.plugin->shut_down());
}

TEST_CASE("What cannot be read refuses nothing, unless the policy is Fail") {
  Rig rig;
  rig.configure("containerd", "v2.1.4");
  const auto ignored = rig.call("CreateContainer", "\xff");
  CHECK((ignored.status.ok() && ignored.payload.empty()));
  CHECK(rig.log.contains("CreateContainer"));
  rig.restart(true);
  CHECK(rig.call("CreateContainer", "\xff").status.code != rpc::StatusCode::ok);
}

TEST_CASE("A hook's refusal is the runtime's error") {
  Rig rig;
  rig.configure("containerd", "v2.1.4");
  rig.refuse = true;
  for (const char* method : {"CreateContainer", "UpdateContainer", "RunPodSandbox"}) {
    const auto response = rig.call(
        method,
        encode(Happened{.event = event_named(method), .pod = rig.pod, .container = rig.container}, false));
    CHECK(response.status.code == rpc::StatusCode::unavailable);
    CHECK(response.status.message == "pod ns/p: not known yet");
  }
}

Synchronize all_of(const Rig& rig, std::size_t first, std::size_t count) {
  Synchronize all;
  for (std::size_t i = first; i < first + count; ++i) {
    Pod pod = rig.pod;
    pod.id = "s" + std::to_string(i);
    all.pods.push_back(pod);
    Container container{
        .id = "c" + std::to_string(i), .pod_id = pod.id, .name = "main", .state = State::running};
    container.resources = {.cpu_shares = 1024, .cpuset_cpus = i % 2 == 0 ? "2-3" : "0-7"};
    all.containers.push_back(container);
  }
  return all;
}

TEST_CASE("Complaint 2678: Synchronize in parts, updates with the last one, of what differs only") {
  Rig rig;
  rig.configure("containerd", "v2.1.4");
  rig.verdict.settings = {.cpu_shares = 1024, .cpuset_cpus = "2-3"};
  for (std::size_t part = 0; part < 3; ++part) {
    Synchronize some = all_of(rig, part * 10, 10);
    some.more = true;
    const auto answer = decode_synchronize_answer(rig.call("Synchronize", encode(some)).payload);
    REQUIRE(answer.has_value());
    CHECK((answer->more && answer->updates.empty()));
    CHECK_FALSE(rig.plugin->synchronized());
  }
  Synchronize last = all_of(rig, 30, 10);
  last.containers[1].state = State::stopped;
  last.containers.push_back({.id = "orphan", .pod_id = "nobody", .state = State::running});
  last.containers.push_back({.pod_id = last.pods[0].id, .name = "main", .state = State::running});
  const auto answer = decode_synchronize_answer(rig.call("Synchronize", encode(last)).payload);
  REQUIRE(answer.has_value());
  CHECK_FALSE(answer->more);
  CHECK(rig.plugin->synchronized());
  REQUIRE(answer->updates.size() == 19);  // every other one, but the one that has stopped
  for (const Update& update : answer->updates) {
    CHECK(update.ignore_failure);
    CHECK_FALSE(update.container_id.empty());
    CHECK(update.resources == Resources{.cpuset_cpus = "2-3"});
  }
  CHECK((rig.plugin->counts().pods == 40 && rig.plugin->counts().containers == 42));
  CHECK((rig.plugin->counts().updates == 19 && rig.plugin->counts().parts == 4));
}

TEST_CASE("Synchronize without end is refused, and begins anew") {
  Rig rig;
  rig.configure("containerd", "v2.1.4");
  Synchronize some;
  some.more = true;
  some.containers.resize(50'000, {.id = "c", .pod_id = "s"});
  const std::string bytes = encode(some);
  CHECK(rig.call("Synchronize", bytes).status.ok());
  CHECK(rig.call("Synchronize", bytes).status.ok());
  const auto refused = rig.call("Synchronize", bytes);
  CHECK(refused.status.message ==
        "0 pods and 150000 containers are more than the 10000 and 100000 of a node");
  CHECK(rig.call("Synchronize", "\xff").status.code != rpc::StatusCode::ok);
  CHECK(rig.call("Synchronize", encode(all_of(rig, 0, 1))).status.ok());
  CHECK(rig.plugin->counts().containers == 1);
}

}  // namespace
}  // namespace koord::koordlet::nri
