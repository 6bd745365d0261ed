// The agent as a runtime's client: over a real socket, with a runtime that a test plays.
#include "transports/container_runtime/container_runtime.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <future>

#include "framework/action/pod_runner.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/file.hpp"
#include "koord/rpc/server.hpp"
#include "rigs/rpc_rig.hpp"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;
using rpc::StatusCode;
using testing::RpcRig;

constexpr std::string_view kStop = rpc::cri::method::kStopContainer;

/// A containerd whose stopped containers have gone, and a node of cgroup v2 with a pod of three.
class Rig : public RpcRig {
 public:
  Rig() {
    tree.write("run/containerd/", "");
    options.var_run = path("run/");
  }
  ~Rig() {
    run(actions.stop(clock, 5s));
    if (server) run(server->stop(0s));
    runtime.reset();
    end();
  }
  void serve(const std::string& name = "run/containerd/containerd.sock") {
    rpc::ServerOptions made;
    made.socket = {.path = path(name), .users = {::geteuid()}};
    server = std::make_unique<rpc::Server>(engine, clock, std::move(made));
    server->handle(std::string(kStop), [this](rpc::Request request) -> Task<rpc::Reply> {
      const auto id = rpc::cri::read_id(request.message);
      stopped.push_back(id.value());
      time_left = request.time_left;
      if (hangs) {
        (void)co_await sleep(clock, 1h);
        co_return rpc::Reply::failed(StatusCode::cancelled, "too late");
      }
      const auto found = answers.find(*id);
      if (found != answers.end()) co_return rpc::Reply::failed(found->second, "no");
      // Who is stopped has gone from its group.
      tree.write(fmt::format("kubepods/podu/{}/cgroup.events", *id), "populated 0\n");
      co_return rpc::Reply{};
    });
    REQUIRE(server->listen().has_value());
  }
  ContainerRuntime& make() {
    if (!runtime) runtime.emplace(engine, metrics, options);
    return *runtime;
  }
  Result<> stop(std::string_view id, std::string_view scheme = "containerd") {
    return run(make().stop({.id = std::string(id), .full_id = fmt::format("{}://{}", scheme, id)}, 20s));
  }
  /// As an eviction does.
  Result<> stop_pod(bool by_runtime = true) {
    auto pod = std::make_shared<PodInfo>();
    pod->uid = "u", pod->name = "a", pod->ns = "ns";
    if (!runtime_class.empty()) {
      auto object = std::make_shared<api::Pod>();
      object->spec.runtime_class_name = Symbol(runtime_class);
      pod->object = std::move(object);
    }
    for (const char* name : {"c1", "c2", "c3"}) {
      pod->containers.push_back({.name = name,
                                 .id = name,
                                 .full_id = fmt::format("containerd://{}", name),
                                 .group = fmt::format("kubepods/podu/{}", name)});
      if (!empty) {
        tree.write(fmt::format("kubepods/podu/{}/cgroup.procs", name), "2\n");
        tree.write(fmt::format("kubepods/podu/{}/cgroup.events", name), "populated 1\n");
      }
      tree.write(fmt::format("kubepods/podu/{}/cgroup.kill", name), "");
    }
    if (by_runtime) runner.ask_first(make());
    std::optional<Result<>> outcome;
    runner.run({.pod = pod, .message = "m", .kind = ActionKind::stop_pod},
               [&](const Result<>& result) { outcome = result; });
    until([&] { return outcome.has_value(); });
    return *outcome;
  }
  bool killed(std::string_view name) const {
    return read_file(path(fmt::format("kubepods/podu/{}/cgroup.kill", name))).value() == "1";
  }

  ContainerRuntime::Options options;
  metrics::Registry metrics;
  std::unique_ptr<rpc::Server> server;
  std::optional<ContainerRuntime> runtime;
  std::map<std::string, StatusCode> answers;
  std::vector<std::string> stopped;
  std::optional<nanoseconds> time_left;
  bool hangs = false, empty = false;
  std::string runtime_class;
  CapturedLog captured;
  Logger log{captured, clock};
  WorkerPool workers{1};
  host::CgroupFs fs = host::CgroupFs::open({.cgroup = tree.path() + "/"}, host::CgroupVersion::v2).value();
  TaskGroup actions{loop.executor()};
  PodRunner runner{{actions, clock, log, workers, fs}};
};

TEST_CASE("A container is stopped at once, by the runtime whose it is", "[koordlet][container_runtime]") {
  Rig rig;
  CHECK(rig.stop("c1").error().code() == Code::unsupported);  // there is no runtime yet
  rig.serve();
  CHECK(rig.stop("c1").has_value());
  CHECK(rig.stopped == std::vector<std::string>{"c1"});
  REQUIRE(rig.time_left.has_value());
  CHECK(*rig.time_left <= 21s);  // gRPC rounds it up
  CHECK(rig.stop("c1", "docker").error().code() == Code::unsupported);
  CHECK(rig.stop("c1", "cri-o").error().code() == Code::unsupported);  // which is not here
  CHECK(rig.stopped.size() == 1);
  rig.answers["c2"] = StatusCode::not_found;
  CHECK(rig.stop("c2").error().code() == Code::not_found);
  const std::string shown = rig.metrics.exposition();
  CHECK(shown.find(R"(koordlet_container_runtime_calls_total{method="StopContainer",status="OK"} 1)") !=
        std::string::npos);
}

TEST_CASE("Runtimes are found where they listen, or where a flag says", "[koordlet][container_runtime]") {
  for (const char* name : {"run/containerd/containerd.sock", "run/containerd.sock"}) {
    Rig rig;
    rig.serve(name);
    CHECK(rig.make().socket("containerd") == rig.path(name));
    CHECK(rig.make().socket("cri-o").empty());
    CHECK(rig.make().socket("") == rig.path(name));
  }
  for (const char* name : {"run/crio/crio.sock", "run/crio.sock"}) {
    Rig rig;
    rig.serve(name);
    CHECK(rig.make().socket("cri-o") == rig.path(name));
    CHECK(rig.make().socket("") == rig.path(name));
    CHECK(rig.make().scheme() == "cri-o");
    CHECK(rig.stop("c1", "cri-o").has_value());
  }
  for (const bool with_scheme : {true, false}) {
    Rig rig;
    rig.serve("elsewhere.sock");
    rig.options.endpoint = (with_scheme ? "unix://" : "") + rig.path("elsewhere.sock");
    CHECK(rig.stop("c1").has_value());
  }
  Rig rig;
  CHECK(rig.run(rig.make().started(20s)).error().code() == Code::unsupported);
  CHECK(rig.make().scheme().empty());
  rig.tree.write("run/containerd/containerd.sock", "no socket");
  CHECK(rig.make().socket("containerd").empty());
}

TEST_CASE("What runs is listed with its pod", "[koordlet][container_runtime]") {
  Rig rig;
  rig.serve();
  rig.run(rig.server->stop(0s));
  rpc::ServerOptions made;
  made.socket = {.path = rig.path("run/containerd.sock"), .users = {::geteuid()}};
  rig.server = std::make_unique<rpc::Server>(rig.engine, rig.clock, std::move(made));
  std::string asked;
  // id "c", sandbox "s", metadata {"main", 2}, state 1, created 7, a label.
  using namespace std::string_literals;
  const std::string listed =
      "\x0a\x30\x0a\x01"
      "c\x12\x01s\x1a\x08\x0a\x04main\x10\x02\x30\x01\x38\x07\x42\x1a\x0a\x15io.kubernetes.pod.uid\x12\x01x"s;
  rig.server->handle(std::string(rpc::cri::method::kListContainers),
                     [&](rpc::Request request) -> Task<rpc::Reply> {
                       asked = request.message;
                       co_return rpc::Reply{.status = {}, .message = listed};
                     });
  REQUIRE(rig.server->listen().has_value());
  const auto running = rig.run(rig.make().running(20s));
  REQUIRE(running.has_value());
  CHECK(asked == std::string("\x0a\x04\x12\x02\x08\x01", 6));  // those that run
  REQUIRE(running->size() == 1);
  CHECK(running->front().id == "c");
  CHECK(running->front().name == "main");
  CHECK(running->front().attempt == 2);
  CHECK(running->front().state == rpc::cri::ContainerState::running);
  CHECK(running->front().created_at == 7);
  CHECK(running->front().pod_uid == "x");
  const auto started = rig.run(rig.make().started(20s));
  REQUIRE(started.has_value());
  CHECK(*started == std::vector<StartedContainer>{{"x", "main", "containerd://c"}});
  CHECK(rpc::cri::read_listed("\xff").error().code() == Code::parse);
}

TEST_CASE("An eviction asks the runtime first; what is left is killed by its processes",
          "[koordlet][container_runtime][evict]") {
  Rig rig;
  rig.serve();
  SECTION("all are stopped by it") {
    CHECK(rig.stop_pod().has_value());
    CHECK(rig.stopped == std::vector<std::string>{"c1", "c2", "c3"});
    CHECK_FALSE((rig.killed("c1") || rig.killed("c2") || rig.killed("c3")));
  }
  SECTION("one that it does not know does not end it") {
    rig.answers["c1"] = StatusCode::not_found;
    CHECK(rig.stop_pod().has_value());
    CHECK(rig.stopped == std::vector<std::string>{"c1", "c2", "c3"});
    CHECK(rig.killed("c1"));
    CHECK_FALSE(rig.killed("c2"));
  }
  SECTION("nor one that it cannot stop") {
    rig.answers["c2"] = StatusCode::internal;
    CHECK(rig.stop_pod().has_value());
    CHECK(rig.stopped.size() == 3);
    CHECK(rig.killed("c2"));
    CHECK(rig.captured.contains("its processes are killed"));
  }
  SECTION("it does not answer") {
    rig.hangs = true;
    CHECK(rig.stop_pod().has_value());
    CHECK(rig.stopped.size() == 1);
    CHECK((rig.killed("c1") && rig.killed("c2") && rig.killed("c3")));
  }
  SECTION("it has gone") {
    rig.run(rig.server->stop(0s));
    rig.server.reset();
    CHECK(rig.stop_pod().has_value());
    CHECK((rig.killed("c1") && rig.killed("c2") && rig.killed("c3")));
  }
  SECTION("nobody is there") {
    rig.empty = true;
    CHECK(rig.stop_pod().error().code() == Code::unavailable);
    CHECK(rig.stopped.empty());
  }
  SECTION("nobody is seen of a pod in a virtual machine: the runtime says whether it runs") {
    rig.empty = true;
    rig.runtime_class = "kata";
    CHECK(rig.stop_pod().has_value());
    CHECK(rig.stopped == std::vector<std::string>{"c1", "c2", "c3"});
  }
  SECTION("nor does the runtime know of one") {
    rig.empty = true;
    rig.runtime_class = "kata";
    rig.answers = {
        {"c1", StatusCode::not_found}, {"c2", StatusCode::not_found}, {"c3", StatusCode::not_found}};
    CHECK(rig.stop_pod().error().code() == Code::unavailable);
  }
  SECTION("without one all is as it was") {
    CHECK(rig.stop_pod(false).has_value());
    CHECK(rig.stopped.empty());
    CHECK((rig.killed("c1") && rig.killed("c2") && rig.killed("c3")));
  }
}

}  // namespace
}  // namespace koord::koordlet
