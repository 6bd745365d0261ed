// The hook server: what a proxy is answered, over a real socket; and the file by which it finds the server.
#include "transports/hook_server/hook_server.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "koord/base/file.hpp"
#include "koord/net/unix_listener.hpp"
#include "koord/rpc/hooks.hpp"
#include "rigs/desk_rig.hpp"
#include "rigs/rpc_rig.hpp"
#include "transports/hook_server/exchange.hpp"
#include "transports/hook_server/registration.hpp"

namespace koord::koordlet {
namespace {

using rpc::hooks::ContainerRequest;
using rpc::hooks::PodRequest;
using rpc::hooks::Resources;
using rpc::hooks::Stage;
using testing::DeskRig;
using testing::RpcRig;

ContainerRequest pinned() {
  ContainerRequest request;
  request.pod = {.name = "p", .uid = "u1", .ns = "ns"};
  request.meta = {.name = "c"};
  request.annotations = {{"a", "1"}};
  request.env = {{"HOME", "/root"}, {"PATH", "/bin"}};
  request.pod_labels = {{"koordinator.sh/qosClass", "LSR"}};
  request.pod_annotations = {{"scheduling.koordinator.sh/resource-status", R"({"cpuset":"2-4"})"}};
  request.pod_cgroup_parent = "/kubepods/podu1";
  request.resources = Resources{.cpu_period = 100'000,
                                .cpu_quota = 300'000,
                                .cpu_shares = 3072,
                                .memory_limit = 1 << 30,
                                .oom_score_adj = -997};
  request.resources->hugepages = {{"2MB", 4096}};
  request.resources->unified = {{"memory.high", "1"}};
  return request;
}

/// A hook server of a desk of its own.
class Rig : public RpcRig {
 public:
  explicit Rig(HookServer::Options options = {}, Desk::Options asked = {}) {
    desk_rig.open(std::move(asked));
    std::filesystem::create_directory(path("hooks"));
    options.socket = path("koordlet.sock");
    if (options.endpoint.empty()) options.endpoint = "/var/run/koordlet/koordlet.sock";
    if (options.folder.empty()) options.folder = path("hooks");
    options.again = std::chrono::milliseconds(20);
    server.emplace(HookServer::Parts{engine, clock, Logger(log, clock, 1), metrics, *desk_rig.desk}, options);
    tasks.spawn("hook server", server->run());
  }
  ~Rig() { stop(); }
  void stop() {
    if (!server) return;
    run(tasks.stop(clock, std::chrono::seconds(5)));
    run(server->stop());
    server.reset();
    end();
  }
  std::string registration() const {
    const auto text = read_file(path("hooks/koordlet.json"));
    return text ? *text : std::string();
  }
  void until_serving() {
    until([&] { return server->fault().empty(); });
  }
  rpc::Reply ask(Stage stage, std::string message) {
    if (channel_ == nullptr) channel_ = &channel("koordlet.sock");
    return call(*channel_, method_of(stage), std::move(message));
  }

  CapturedLog log;
  metrics::Registry metrics;
  DeskRig desk_rig;
  std::optional<HookServer> server;

 private:
  rpc::Channel* channel_ = nullptr;
};

TEST_CASE("A proxy is answered with the request's fields and what shall be other",
          "[koordlet][hook_server]") {
  Rig rig;
  rig.until_serving();
  const auto reply = rig.ask(Stage::pre_create_container, encode(pinned()));
  REQUIRE(reply.status.ok());
  const auto answer = rpc::hooks::decode_container_response(reply.message);
  REQUIRE(answer.has_value());
  auto resources = pinned().resources;
  resources->cpu_quota = -1;
  resources->cpuset_cpus = "2-4";
  CHECK(answer->resources == resources);
  CHECK(answer->annotations == pinned().annotations);
  CHECK(answer->env == pinned().env);
  CHECK(answer->pod_cgroup_parent == pinned().pod_cgroup_parent);

  PodRequest pod;
  pod.meta = pinned().pod;
  pod.labels = pinned().pod_labels;
  pod.annotations = pinned().pod_annotations;
  pod.cgroup_parent = pinned().pod_cgroup_parent;
  const auto sandbox = rig.ask(Stage::pre_run_pod_sandbox, encode(pod));
  REQUIRE(sandbox.status.ok());
  const auto echoed = rpc::hooks::decode_pod_response(sandbox.message);
  REQUIRE(echoed.has_value());
  CHECK(echoed->labels == pod.labels);
  CHECK(echoed->annotations == pod.annotations);
  CHECK(echoed->cgroup_parent == pod.cgroup_parent);
  CHECK(echoed->resources == Resources{.cpu_quota = -1, .cpuset_cpus = "2-4"});

  struct stat socket {};
  REQUIRE(::stat(rig.path("koordlet.sock").c_str(), &socket) == 0);
  CHECK((socket.st_mode & 0777) == 0600);
}

TEST_CASE("Every stage that a proxy calls is answered; where nobody has a say, with what it said",
          "[koordlet][hook_server]") {
  Rig rig;
  rig.until_serving();
  for (std::size_t i = 0; i < rpc::hooks::kCalledStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    INFO(to_string(stage));
    if (of_sandbox(stage)) {
      PodRequest pod;
      pod.labels = {{"a", "1"}};
      pod.resources = Resources{.cpu_shares = 5};
      const auto reply = rig.ask(stage, encode(pod));
      REQUIRE(reply.status.ok());
      const auto echoed = rpc::hooks::decode_pod_response(reply.message);
      CHECK(echoed->labels == pod.labels);
      CHECK(echoed->resources == pod.resources);
      continue;
    }
    ContainerRequest plain = pinned();
    plain.pod_labels.clear();
    plain.pod_annotations.clear();
    plain.pod_cgroup_parent = "/kubepods/besteffort/podu1";
    const auto reply = rig.ask(stage, encode(plain));
    REQUIRE(reply.status.ok());
    const auto echoed = rpc::hooks::decode_container_response(reply.message);
    CHECK(echoed->resources == plain.resources);
    CHECK(echoed->env == plain.env);
  }
}

TEST_CASE("A bad message costs its call alone", "[koordlet][hook_server]") {
  Rig rig;
  rig.until_serving();
  const auto bad = rig.ask(Stage::pre_create_container, "\xff\xff\xff");
  CHECK(bad.status.code == rpc::StatusCode::invalid_argument);
  CHECK(bad.status.message.starts_with("PreCreateContainer: "));
  CHECK(rig.ask(Stage::pre_create_container, "").status.ok());  // all of it is absent
  CHECK(rig.ask(Stage::pre_run_pod_sandbox, "").status.ok());
  ContainerRequest huge = pinned();
  huge.pod.uid = "../../etc";
  for (int i = 0; i < 3000; ++i) huge.env.emplace_back(fmt::format("V{:05}", i), std::string(100, 'v'));
  std::sort(huge.env.begin(), huge.env.end());
  const auto reply = rig.ask(Stage::pre_create_container, encode(huge));
  REQUIRE(reply.status.ok());
  CHECK(rpc::hooks::decode_container_response(reply.message)->env == huge.env);
  const auto larger = rig.ask(Stage::pre_create_container, std::string(std::size_t{5} << 20, '\0'));
  CHECK(larger.status.code == rpc::StatusCode::resource_exhausted);
  CHECK(rig.ask(Stage::pre_create_container, encode(pinned())).status.ok());
}

TEST_CASE("What no proxy can set is written when the sandbox comes", "[koordlet][hook_server]") {
  DeskRig rig;
  PodRequest pod;
  pod.meta = pinned().pod;
  pod.labels = pinned().pod_labels;
  pod.annotations = pinned().pod_annotations;
  pod.cgroup_parent = pinned().pod_cgroup_parent;
  std::vector<std::string> written;
  const auto write = [&](const std::vector<LaterValue>& values) {
    for (const LaterValue& one : values)
      written.push_back(fmt::format("{} {} {}", one.group, host::row(one.knob).name, to_string(one.value)));
  };
  REQUIRE(hook_server::answer(*rig.desk, Stage::pre_run_pod_sandbox, "containerd", encode(pod), write)
              .has_value());
  CHECK(written == std::vector<std::string>{"kubepods/podu1 cpu.cfs_quota_us -1"});
  REQUIRE(hook_server::answer(*rig.desk, Stage::post_stop_pod_sandbox, "containerd", encode(pod), write)
              .has_value());
  CHECK(written.size() == 1);
}

TEST_CASE("With Fail a pod is refused until the agent knows what it needs", "[koordlet][hook_server]") {
  Rig rig({}, {.fail = true});
  rig.desk_rig.inventory.slo_known = false;
  rig.desk_rig.publish();
  rig.until_serving();
  const auto refused = rig.ask(Stage::pre_create_container, encode(pinned()));
  CHECK(refused.status.code == rpc::StatusCode::unavailable);
  CHECK(refused.status.message ==
        "PreCreateContainer: pod ns/p: the node agent does not know yet: the NodeSLO");
  rig.desk_rig.inventory.slo_known = true;
  rig.desk_rig.publish();
  CHECK(rig.ask(Stage::pre_create_container, encode(pinned())).status.ok());
}

TEST_CASE(
    "The proxy finds the server by a file, which comes again when it goes, and goes with an orderly end",
    "[koordlet][hook_server]") {
  Rig rig({}, {.disabled_stages = {"PreUpdateContainerResources"}});
  const std::string wanted =
      "{\n\t\"remote-endpoint\": \"/var/run/koordlet/koordlet.sock\",\n\t\"failure-policy\": \"Ignore\",\n"
      "\t\"runtime-hooks\": [\n\t\t\"PreRunPodSandbox\",\n\t\t\"PreCreateContainer\"\n\t]\n}";
  rig.until([&] { return rig.registration() == wanted; });
  std::filesystem::remove(rig.path("hooks/koordlet.json"));
  rig.until([&] { return rig.registration() == wanted; });
  rig.stop();
  CHECK_FALSE(std::filesystem::exists(rig.path("hooks/koordlet.json")));
  CHECK_FALSE(std::filesystem::exists(rig.path("koordlet.sock")));
}

TEST_CASE("With Fail the file stays when the agent ends: nothing starts unpinned meanwhile",
          "[koordlet][hook_server]") {
  Rig rig({.fail = true});
  rig.until([&] { return !rig.registration().empty(); });
  CHECK(rig.registration().find("\"Fail\"") != std::string::npos);
  rig.stop();
  CHECK_FALSE(rig.registration().empty());
}

TEST_CASE("What cannot be listened on or registered is said once, and tried again",
          "[koordlet][hook_server]") {
  Rig rig({.folder = "/nowhere/hooks"});
  rig.until_serving();
  rig.until([&] { return rig.log.contains("no CRI proxy has its folder here"); });
  HookServer second({rig.engine, rig.clock, Logger(rig.log, rig.clock, 1), rig.metrics, *rig.desk_rig.desk},
                    {.socket = rig.path("koordlet.sock"),
                     .endpoint = "e",
                     .folder = rig.path("hooks"),
                     .again = std::chrono::milliseconds(20)});
  TaskGroup tasks(rig.loop.executor());
  tasks.spawn("second", second.run());
  rig.until([&] { return second.fault().find("koordlet.sock") != std::string::npos; });
  CHECK(rig.registration().empty());  // nobody is told of a server that does not serve
  rig.stop();
  rig.until([&] { return second.fault().empty(); });
  rig.until([&] { return !rig.registration().empty(); });
  rig.run(tasks.stop(rig.clock, std::chrono::seconds(5)));
  rig.run(second.stop());
}

TEST_CASE("A file of somebody else is not taken away", "[koordlet][hook_server]") {
  koord::testing::Tree tree{{}};
  hook_server::RegistrationFile file{std::string(tree / "")};
  const hook_server::Registration mine{"e", "Ignore", {"PreCreateContainer"}};
  CHECK_FALSE(file.remove().value());
  CHECK(file.keep(mine).value() == hook_server::RegistrationFile::State::written);
  CHECK(file.keep(mine).value() == hook_server::RegistrationFile::State::unchanged);
  REQUIRE(replace_file(file.path(), "{}").has_value());
  CHECK_FALSE(file.remove().value());
  CHECK(read_file(file.path()).value() == "{}");
}

TEST_CASE("What an agent left that has gone is taken away, what names somebody who answers is not",
          "[koordlet][hook_server]") {
  RpcRig rig;
  koord::testing::Tree tree{{}};
  const std::string file = tree / "koordlet.json", socket = tree / "a.sock";
  hook_server::RegistrationFile mine{std::string(tree / "")};
  CHECK_FALSE(hook_server::RegistrationFile("/nowhere").withdraw("e", socket).value());
  CHECK_FALSE(mine.withdraw("e", socket).value());
  for (const std::string& text :
       {std::string("{}"), std::string("not json"), std::string(R"({"remote-endpoint": 1})"),
        hook_server::Registration{"other", "Fail", {}}.text()}) {
    REQUIRE(replace_file(file, text).has_value());
    CHECK_FALSE(mine.withdraw("e", socket).value());
    CHECK(read_file(file).value() == text);
  }
  REQUIRE(replace_file(file, hook_server::Registration{"e", "Fail", {}}.text()).has_value());
  {
    const auto listener =
        net::UnixListener::open(rig.loop.executor(), rig.clock, {.path = socket, .users = {::geteuid()}});
    REQUIRE(listener.has_value());
    CHECK_FALSE(mine.withdraw("e", socket).value());
  }
  CHECK(mine.withdraw("e", socket).value());
  CHECK(read_file(file).error().code() == Code::not_found);
}

TEST_CASE("What the protocol cannot say stays as it was", "[koordlet][hook_server]") {
  Verdict verdict;
  verdict.settings.memory_limit = -1;
  verdict.settings.cpu_shares = 64;
  verdict.env = {{"HOME", "/home"}, {"NEW", "1"}};
  verdict.annotations = {{"0", "first"}};
  ContainerRequest request = pinned();
  const auto had = request.resources;
  const auto response = hook_server::container_response(
      hook_server::request_of(RuntimeMoment::create_container, "containerd", request), had, verdict);
  CHECK(response.resources->memory_limit == 1 << 30);
  CHECK(response.resources->cpu_shares == 64);
  CHECK(response.resources->oom_score_adj == -997);
  CHECK(response.env == rpc::hooks::Map{{"HOME", "/home"}, {"NEW", "1"}, {"PATH", "/bin"}});
  CHECK(response.annotations == rpc::hooks::Map{{"0", "first"}, {"a", "1"}});
}

}  // namespace
}  // namespace koord::koordlet
