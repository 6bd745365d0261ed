// The agent whole: made as its role makes it, on a machine of text files.
#include "setup/agent.hpp"

#include <catch2/catch.hpp>

#include "collectors.hpp"
#include "koord/base/file.hpp"
#include "plugins.hpp"
#include "rigs/fake_node.hpp"
#include "role.hpp"
#include "setup/prediction.hpp"
#include "setup/transports.hpp"
#include "support/metric_names.hpp"
#include "support/role_rig.hpp"
#include "support/stub_server.hpp"
#include "support/tree.hpp"

namespace koord::koordlet {
namespace {

struct Process : test::RoleRig {
  explicit Process(std::vector<std::string> arguments)
      : RoleRig(koordlet::role(), without_port(std::move(arguments))) {
    REQUIRE(gates.set("AllAlpha=true,AllBeta=true").has_value());
  }

  /// Another agent of this machine would be in the way.
  static std::vector<std::string> without_port(std::vector<std::string> arguments) {
    arguments.push_back("--addr=0");
    return arguments;
  }

  Agent::Parts parts() {
    return {.place = {.node_name = "n", .root = node.root()},
            .cgroups = node.cgroups(),
            .client = &api,
            .counters = {.no_run_queue = "not here"},
            .strategies = strategy_table(),
            .collectors = collector_table()};
  }

  testing::FakeNode node{host::CgroupVersion::v2};
};

TEST_CASE("the metrics of an agent are those that its descriptor lists") {
  Process process({"--enable-pagecache-collector=true", "--tsdb-path="});
  const auto agent = Agent::make(process.context, process.parts());
  if (!agent) FAIL(agent.error().message());
  std::vector<std::string_view> names = test::metric_names(process.metrics);
  const std::vector<std::string_view> external = test::metric_names((*agent)->external_metrics());
  names.insert(names.end(), external.begin(), external.end());
  std::ranges::sort(names);
  CHECK(names == test::metric_names(koordlet::role().metrics));
}

TEST_CASE("Gates that are on and have no part are named once, and shown") {
  Process process({"--tsdb-path="});
  const bool all = GENERATE(true, false);
  if (!all) process.gates = FeatureGates(koordlet::role().gates);
  const auto agent = Agent::make(process.context, process.parts());
  if (!agent) FAIL(agent.error().message());
  const std::string text = process.metrics.exposition();
  const auto shows = [&](std::string_view gate, int value) {
    return text.find(fmt::format("koordlet_feature_gate_available{{node=\"n\",gate=\"{}\"}} {}\n", gate,
                                 value)) != std::string::npos;
  };
  const bool any = std::ranges::any_of(koordlet::role().gates, [&](const FeatureGate& gate) {
    return process.gates.enabled(gate.name) && gate.help == kNoEffectYet;
  });
  CHECK(process.captured.contains("feature gates are on that have no effect") == any);
  for (const FeatureGate& gate : koordlet::role().gates) {
    INFO(gate.name);
    const bool on = process.gates.enabled(gate.name), has_part = gate.help != kNoEffectYet;
    CHECK(shows(gate.name, 1) == (on && has_part));
    CHECK(shows(gate.name, 0) == (on && !has_part));
    if (on && !has_part) CHECK(process.captured.contains(gate.name));
  }
  CHECK_FALSE(process.captured.contains("CPUBurst"));
}

TEST_CASE("A group that an agent was stopping when it died stands still no longer than until the next one") {
  const bool cleanup = GENERATE(false, true);
  Process process({"--tsdb-path=", fmt::format("--cleanup={}", cleanup)});
  const std::string group = "kubepods/besteffort/podu/c";
  const auto parts = process.parts();
  testing::FakeNode& node = process.node;
  node.tree().write(node.path("", group, "cgroup.freeze"), "1");
  node.tree().write(node.path("", "others", "cgroup.freeze"), "1");
  const std::string file = fmt::format("{}koord/evicted", parts.place.root.var_run);
  std::filesystem::create_directories(std::filesystem::path(file).parent_path());
  koord::testing::Tree::write_to(file, fmt::format("koord-actions 1 {}\nMemoryEvict\tstop\tbegun\t1\tu\t{}\n"
                                                   "MemoryEvict\tstop\tdone\t1\tv\tothers\n",
                                                   parts.boot_id, group));
  const auto agent = Agent::make(process.context, process.parts());
  if (!agent) FAIL(agent.error().message());
  const auto freezes = [&](const std::string& name) {
    return read_file(node.tree() / node.path("", name, "cgroup.freeze")).value();
  };
  CHECK(freezes(group) == "0");
  CHECK(freezes("others") == "1");  // somebody else's
}

TEST_CASE("With the gate off Terway is told nothing more, by the agent that told it") {
  const bool ours = GENERATE(true, false);
  Process process({"--tsdb-path="});
  process.gates = FeatureGates(koordlet::role().gates);
  const host::Root root = process.parts().place.root;
  const auto write = [](const std::string& file) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    koord::testing::Tree::write_to(file, "x");
  };
  const std::string told = root.var_lib + "terway/qos/pod.json";
  write(told);
  if (ours) write(root.var_run + "koord/terway");
  const auto agent = Agent::make(process.context, process.parts());
  if (!agent) FAIL(agent.error().message());
  CHECK(std::filesystem::exists(told) == !ours);
  CHECK_FALSE(std::filesystem::exists(root.var_run + "koord/terway"));
}

/// An API server that knows one node and takes events.
Result<net::Response> api_server(const net::Request& request) {
  const auto has = [&](std::string_view text) { return request.target.find(text) != std::string::npos; };
  const auto list = [](std::string_view version, std::string_view kind, std::string_view item) {
    return test::json_response(200, fmt::format(R"({{"kind":"{}List","apiVersion":"{}",)"
                                                R"("metadata":{{"resourceVersion":"7"}},"items":[{}]}})",
                                                kind, version, item));
  };
  if (request.method == "POST") return test::json_response(201, request.body);
  if (request.method == "PATCH") return test::json_response(200, "{}");
  if (has("sendInitialEvents")) return test::status_response(422, "Invalid");
  if (has("watch=")) return test::json_response(200, "");
  if (has("/nodes"))
    return list("v1", "Node",
                R"({"kind":"Node","apiVersion":"v1","metadata":{"name":"n","uid":"u","resourceVersion":"7"},)"
                R"("status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}]}})");
  if (has("/nodeslos")) return list("slo.koordinator.sh/v1alpha1", "NodeSLO", "");
  return test::status_response(404, "NotFound");
}

constexpr std::string_view kPods =
    R"({"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"p","namespace":"d","uid":"u"},)"
    R"("spec":{"nodeName":"n","containers":[]},"status":{"phase":"Running"}}]})";

TEST_CASE("A cleanup whose one part fails sets the others free, says so, and does not call itself complete") {
  // A file that is not there, or a machine whose CPUs nobody knows.
  const bool standalone = GENERATE(true, false);
  std::vector<std::string> flags = {"--tsdb-path=", "--cleanup=true"};
  if (standalone) flags.emplace_back("--standalone-config=/nowhere/agent.yaml");
  Process process(flags);
  const host::Root root = process.parts().place.root;
  const std::string told = root.var_lib + "terway/qos/pod.json";
  for (const std::string& file : {told, root.var_run + "koord/terway"}) {
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    koord::testing::Tree::write_to(file, "x");
  }
  process.server.answer = api_server;
  process.start(Agent::make(process.context, process.parts()));
  CHECK(process.run_until([&] { return process.failure || process.left_behind > 0; }));
  CHECK_FALSE(std::filesystem::exists(told));
  CHECK(process.captured.contains("Terway is told nothing more"));
  CHECK(process.failure.has_value());
  CHECK_FALSE(process.captured.contains("the cleanup is complete"));
}

TEST_CASE("A kubelet that refuses, or is silent for a minute, is told to its node, which is not ready") {
  struct Row {
    const char* what;
    unsigned status;  // 0: it takes the question and never answers
    int told_after;   // seconds
  };
  const Row row = GENERATE(Row{"it refuses", 403, 0}, Row{"who asks is nobody", 401, 0},
                           Row{"it is not well", 500, 60}, Row{"it never answers", 0, 60});
  INFO(row.what);
  bool well = false;
  boost::asio::io_context port;
  test::StubServer kubelet(port, [&](const std::string&) -> test::StubServer::Reply {
    if (well) return {test::StubServer::ok(std::string(kPods))};
    if (row.status == 0) return {"", test::StubServer::Then::hold};
    return {test::StubServer::ok("no", "", static_cast<int>(row.status))};
  });
  Process process(
      {"--tsdb-path=", "--kubelet-insecure-tls", "--kubelet-sync-interval=1s",
       "--disable-query-kubelet-config", "--enable-node-metric-report=false",
       fmt::format("--kubelet-read-only-port={}", kubelet.url().substr(kubelet.url().rfind(':') + 1))});
  process.gates = FeatureGates(koordlet::role().gates);
  process.server.answer = api_server;
  process.start(Agent::make(process.context, process.parts()));
  const auto pass = [&](int seconds) {
    for (int i = 0; i < 4 * seconds; ++i) {
      process.loop.advance(std::chrono::milliseconds(250));
      port.restart();
      port.poll();
    }
  };
  const auto told = [&] {
    std::vector<std::string> events;
    for (const net::Request& request : process.server.requests)
      if (request.method == "POST" && request.target.find("/events") != std::string::npos)
        events.push_back(request.body);
    return events;
  };
  const auto ready = [&] { return process.probe(runtime::HealthChecks::readyz) == 200; };
  pass(row.told_after > 0 ? row.told_after - 5 : 5);
  CHECK_FALSE(ready());
  CHECK(told().empty() == (row.told_after > 0));
  pass(15);
  REQUIRE(told().size() == 1);
  CHECK_THAT(told()[0], Catch::Contains(R"("reason":"KubeletDoesNotAnswer")") &&
                            Catch::Contains(R"("kind":"Node","name":"n")") &&
                            Catch::Contains("limits of best-effort work stay as they are"));
  if (row.status != 0) CHECK_THAT(told()[0], Catch::Contains(std::to_string(row.status)));
  CHECK_FALSE(ready());
  CHECK(process.probe(runtime::HealthChecks::livez) == 200);  // started again it would know no more
  well = true;
  for (int i = 0; i < 3000 && !ready(); ++i) pass(1);  // a worker reads the list
  CHECK(ready());
  CHECK(process.captured.contains("it answers again"));
  // What it said last is true for a while.
  well = false;
  pass(4 * 60);
  CHECK(ready());
  pass(2 * 60);
  CHECK_FALSE(ready());
}

TEST_CASE("What is wrong in what a pod says of its disks is told while somebody looks after disks") {
  const bool on = GENERATE(true, false);
  CAPTURE(on);
  boost::asio::io_context port;
  test::StubServer kubelet(port, [](const std::string&) -> test::StubServer::Reply {
    std::string pods(kPods);
    pods.insert(pods.find("\"uid\""), R"("annotations":{"koordinator.sh/blkioQOS":"{"},)");
    return {test::StubServer::ok(pods)};
  });
  Process process(
      {"--tsdb-path=", "--kubelet-insecure-tls", "--kubelet-sync-interval=1s",
       "--disable-query-kubelet-config", "--enable-node-metric-report=false",
       fmt::format("--kubelet-read-only-port={}", kubelet.url().substr(kubelet.url().rfind(':') + 1))});
  process.gates = FeatureGates(koordlet::role().gates);
  if (on) REQUIRE(process.gates.set("BlkIOReconcile=true").has_value());
  process.server.answer = api_server;
  process.start(Agent::make(process.context, process.parts()));
  const auto pass = [&](int seconds) {
    for (int i = 0; i < 4 * seconds; ++i) {
      process.loop.advance(std::chrono::milliseconds(250));
      port.restart();
      port.poll();
    }
  };
  for (int i = 0; i < 3000 && process.probe(runtime::HealthChecks::readyz) != 200; ++i) pass(1);
  REQUIRE(process.probe(runtime::HealthChecks::readyz) == 200);
  pass(5);
  const auto told = std::ranges::count_if(process.server.requests, [](const net::Request& request) {
    return request.body.find("MalformedPodMetadata") != std::string::npos;
  });
  CHECK(told == (on ? 1 : 0));
  CHECK(process.captured.contains("blkioQOS") == on);
}

TEST_CASE("The flags of prediction are checked, and are the original's where nobody sets them") {
  const auto read = [](std::vector<std::string> arguments) {
    return read_prediction(Process(arguments).flags);
  };
  const auto usual = read({});
  REQUIRE(usual.has_value());
  using std::chrono::hours;
  using std::chrono::minutes;
  CHECK(usual->terms.cold_start == hours(24));
  CHECK(usual->terms.margin_percent == 10);
  CHECK(usual->limits.memory_half_life == hours(24));
  CHECK(usual->limits.cpu_half_life == hours(12));
  CHECK(usual->limits.expiration == minutes(30));
  CHECK(usual->training == minutes(1));
  CHECK(usual->checkpoint == minutes(10));
  CHECK(usual->checkpoints_at_once == 12);
  for (const std::string wrong :
       {"--prediction-cold-start-duration=-1s", "--prediction-memory-histogram-decay-halflife=0s",
        "--prediction-cpu-histogram-decay-halflife=10000h", "--prediction-training-interval=500ms",
        "--prediction-training-interval=31m", "--prediction-model-expiration-duration=0s",
        "--prediction-model-checkpoint-interval=-1m", "--prediction-safety-margin-percent=-101"}) {
    const auto refused = read({wrong});
    REQUIRE_FALSE(refused.has_value());
    CHECK_THAT(refused.error().message(), Catch::StartsWith(wrong.substr(0, wrong.find('='))));
  }
}

TEST_CASE(
    "The flags of the ways to the container runtime are checked, and the original's where nobody sets them") {
  Place pod;
  pod.in_pod = true;
  pod.root = host::Root::daemon_set_mode();
  const auto read = [](const std::vector<std::string>& arguments, const Place& place) {
    return transport_settings(Process(arguments).flags, place);
  };
  const auto usual = read({}, pod);
  REQUIRE(usual.has_value());
  CHECK(usual->hook_server.socket == "/host-var-run-koordlet/koordlet.sock");
  CHECK(usual->hook_server.endpoint == "/var/run/koordlet/koordlet.sock");
  CHECK(usual->hook_server.folder == "/host-etc-hookserver/");
  CHECK(usual->hook_server.runtime == "containerd");
  CHECK_FALSE(usual->hook_server.fail);
  CHECK_FALSE(usual->desk.fail);
  CHECK(usual->runtime.var_run == "/host-var-run/");
  CHECK(usual->pod_resources.socket == "/var/run/koordlet/pod-resources/kubelet.sock");
  CHECK(usual->pod_resources.kubelet == "/var/lib/kubelet/pod-resources/kubelet.sock");
  Place host;
  host.root = host::Root::host_mode();
  const auto outside = read({"--default-runtime-type=crio", "--runtime-hooks-failure-policy=Fail",
                             "--runtime-hooks-plugin-failure-policy=Fail"},
                            host);
  REQUIRE(outside.has_value());
  CHECK(outside->hook_server.socket == "/var/run/koordlet/koordlet.sock");
  CHECK(outside->hook_server.endpoint == "/var/run/koordlet/koordlet.sock");
  CHECK(outside->hook_server.folder == "/etc/runtime/hookserver.d");
  CHECK(outside->hook_server.runtime == "cri-o");
  CHECK(outside->hook_server.fail);
  CHECK(outside->desk.fail);
  const auto given = read({"--runtime-hooks-addr=/a.sock", "--runtime-hooks-config-path=/b"}, host);
  REQUIRE(given.has_value());
  CHECK(given->hook_server.socket == "/a.sock");
  CHECK(given->hook_server.endpoint == "/a.sock");
  CHECK(given->hook_server.folder == "/b");
  const std::pair<std::string, std::string> wrong[] = {
      {"--runtime-hooks-network=tcp", "\"tcp\" is not unix: "},
      {"--runtime-hooks-failure-policy=fail", "\"fail\" is not Fail or Ignore"},
      {"--runtime-hooks-plugin-failure-policy=", "\"\" is not Fail or Ignore"},
      {"--runtime-hooks-addr=koordlet.sock", "\"koordlet.sock\" does not begin at /"},
      {"--default-runtime-type=rkt", "\"rkt\" is not containerd, docker, pouch or cri-o"}};
  for (const auto& [flag, why] : wrong) {
    const auto refused = read({flag}, pod);
    REQUIRE_FALSE(refused.has_value());
    CHECK_THAT(refused.error().message(),
               Catch::StartsWith(fmt::format("{}: {}", flag.substr(0, flag.find('=')), why)));
  }
}

TEST_CASE("Predictions are where the original has them, else beside what was measured") {
  const koord::testing::Tree tree{{"theirs/", ""}, {"state/", ""}};
  StateDirs dirs;
  dirs.state.folder = tree / "state/";
  const auto folder = [&](const std::string& given) {
    return find_predictions(Process({"--prediction-checkpoint-filepath=" + given}).flags, dirs);
  };
  CHECK(folder(tree / "theirs") == tree / "theirs/");
  CHECK(folder(tree / "theirs/") == tree / "theirs/");
  CHECK(folder(tree / "none") == tree / "state/predictions/");
  CHECK(std::filesystem::is_directory(tree / "state/predictions"));
  dirs.state.folder.clear();
  CHECK(folder(tree / "none").empty());
}

}  // namespace
}  // namespace koord::koordlet
