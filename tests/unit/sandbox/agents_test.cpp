// The simulated node agents: what a node uses as a function of trace, time, pods and NodeSLO; what they
// report, hold back and evict.
#include "sandbox/agents/agents.hpp"

#include <catch2/catch.hpp>

#include "koord/api/kinds/crd.hpp"
#include "koord/api/schema/codec.hpp"
#include "live_cluster.hpp"
#include "sandbox/load/loader.hpp"

using namespace koord;
using namespace koord::sandbox;
using std::chrono::seconds;

namespace {

constexpr double kGi = 1024.0 * 1024 * 1024;
const SimulatedNode kNode{{10, 100 * kGi}, {0, 0}};

SimulatedPod web(double cpu, double memory = 10) {
  SimulatedPod pod;
  pod.ns = "default";
  pod.name = pod.uid = "web";
  pod.qos = api::KoordQos::ls;
  pod.priority = api::KoordPriority::prod;
  pod.asked = {cpu, memory * kGi};
  return pod;
}

SimulatedPod batch(const char* name, double cpu, double memory = 10, std::int32_t priority = 5500) {
  SimulatedPod pod = web(cpu, memory);
  pod.name = pod.uid = name;
  pod.qos = api::KoordQos::be;
  pod.priority = api::KoordPriority::batch;
  pod.priority_value = priority;
  pod.best_effort = pod.busy = true;
  return pod;
}

std::vector<const SimulatedPod*> pointers(const std::vector<SimulatedPod>& pods) {
  std::vector<const SimulatedPod*> out;
  for (const SimulatedPod& pod : pods) out.push_back(&pod);
  return out;
}

api::ResourceThresholdStrategy strategy(std::int64_t suppress) {
  api::ResourceThresholdStrategy out;
  out.enable = true;
  out.cpu_suppress_threshold_percent = suppress;
  return out;
}

Trace trace(std::string_view text) {
  auto read = Trace::parse(text);
  REQUIRE(read.has_value());
  return *std::move(read);
}

}  // namespace

TEST_CASE("a trace is read between its rows, from its beginning to its end and anew") {
  const Trace two = trace("a,100,20,50,,,1,2,3\nb,110,5,6\n\na,200,40,70\r\na,150,,60\nb,120,101,-1\n");
  CHECK(two.machines() == 2);
  CHECK(two.name(0) == "a");
  CHECK(two.length() == seconds(100));
  struct Row {
    std::size_t machine;
    int second;
    double cpu, memory;
  };
  for (const Row& row : {Row{0, 0, .2, .5}, Row{0, 50, .3, .6}, Row{0, 99, .398, .698}, Row{0, 100, .2, .5},
                         Row{0, 350, .3, .6}, Row{1, 0, .05, .06}, Row{1, 15, .525, .03}, Row{1, 80, 1, 0},
                         Row{3, 15, .525, .03}}) {
    CAPTURE(row.machine, row.second);
    const Trace::Load load = two.at(row.machine, seconds(row.second));
    CHECK(load.cpu == Approx(row.cpu));
    CHECK(load.memory == Approx(row.memory));
  }
  CHECK(trace("a,5,10,20").at(0, seconds(77)).cpu == Approx(.1));

  for (const auto& [text, error] : {std::pair{"", "there is no row in it"},
                                    {"a,5,,20\n", "there is no row in it"},
                                    {"a,5,10,20\n,5,10,20", "line 2: not \"machine,seconds,"},
                                    {"a,five,10,20", "line 1: not"},
                                    {"a,-5,10,20", "line 1: not"},
                                    {"a,9223372036854775807,10,20", "line 1: not"},
                                    {"a,5,nan,20", "line 1: CPU and memory are percents"},
                                    {"a,5,10,102", "line 1: CPU and memory are percents"},
                                    {"a", "line 1: not"}}) {
    CAPTURE(text);
    const auto read = Trace::parse(text);
    REQUIRE(!read);
    CHECK(read.error().message().find(error) != std::string::npos);
  }
  CHECK(Trace::open("/nowhere").error().message().find("/nowhere") != std::string::npos);
}

TEST_CASE("latency-sensitive pods come first, best-effort ones get what is left of machine or threshold") {
  struct Row {
    const char* what;
    double load;
    std::vector<SimulatedPod> pods;
    std::optional<api::ResourceThresholdStrategy> slo;
    double latency_sensitive, best_effort, limit;
    bool suppressed;
  };
  auto at_least = strategy(65);
  at_least.cpu_suppress_min_percent = 30;
  auto off = strategy(65);
  off.enable = false;
  const std::vector<Row> rows = {
      {"nobody", .5, {}, {}, 0, 0, 9.8, false},
      {"a share of what was asked for", .5, {web(8)}, {}, 4, 0, 5.8, false},
      {"without a NodeSLO what is left", .5, {web(8), batch("a", 4), batch("b", 4)}, {}, 4, 5.8, 5.8, false},
      {"a strategy that is off is none", .5, {web(8), batch("a", 8)}, off, 4, 5.8, 5.8, false},
      {"65% less what is used first", .5, {web(8), batch("a", 4)}, strategy(65), 4, 2.3, 2.3, true},
      {"room enough", .1, {web(8), batch("a", 4)}, strategy(65), .8, 4, 5.5, false},
      {"never nothing", .9, {web(10), batch("a", 4)}, strategy(65), 9, .02, .02, true},
      {"a least share, but no more than is left", .9, {web(10), batch("a", 4)}, at_least, 9, .8, .8, false},
      {"a least share", .5, {web(10), batch("a", 4)}, at_least, 5, 3, 3, true},
      {"a machine that is too small", 1, {web(12), web(12), batch("a", 4)}, {}, 9.8, 0, 0, false},
      {"the threshold is a number of somebody's", .5, {batch("a", 4)}, strategy(-7), 0, .02, .02, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const UsageSample moment =
        play(kNode, pointers(row.pods), {row.load, row.load}, row.slo ? &*row.slo : nullptr);
    CHECK(moment.latency_sensitive.cpu == Approx(row.latency_sensitive));
    CHECK(moment.best_effort.cpu == Approx(row.best_effort));
    CHECK(moment.limit == Approx(row.limit).margin(1e-9));
    CHECK(moment.suppressed == row.suppressed);
    CHECK(moment.system.cpu == Approx(.2));
    CHECK(moment.node.cpu == Approx(row.latency_sensitive + row.best_effort + .2));
    CHECK(moment.node.cpu <= kNode.capacity.cpu + 1e-9);
  }
  // In proportion, and that is the speed; what the kubelet keeps counts where it is more than the system's.
  const std::vector<SimulatedPod> pods = {web(8), batch("a", 4), batch("b", 2)};
  const auto slo = strategy(65);
  UsageSample moment = play({{10, 100 * kGi}, {1, 0}}, pointers(pods), {.5, .5}, &slo);
  CHECK(moment.limit == Approx(1.5));
  CHECK(moment.pods[1].cpu == Approx(1));
  CHECK(moment.pods[2].cpu == Approx(.5));
  CHECK(moment.speed() == Approx(.25));
  CHECK(moment.pods[0].memory == Approx(5 * kGi));
  CHECK(moment.pods[1].memory == Approx(10 * kGi));
}

TEST_CASE(
    "best-effort pods go where memory runs short or their CPU is a joke, low priorities and large ones "
    "first") {
  const std::vector<SimulatedPod> pods = {web(8, 50), batch("small", 2, 10), batch("large", 3, 30),
                                          batch("low", 1, 5, 5000)};
  using Names = std::vector<std::string>;
  const auto names = [&](const std::vector<std::size_t>& victims) {
    Names out;
    for (const std::size_t each : victims) out.push_back(pods[each].name);
    return out;
  };
  struct Row {
    double load;
    std::optional<std::int64_t> threshold, lower;
    Names evicted;
  };
  // At 0.5 the node uses 74 of 100 GiB (4 of them the system's).
  for (const Row& row :
       {Row{.2, {}, {}, {}}, Row{.5, {}, {}, {"low", "large"}}, Row{.5, 80, {}, {}}, Row{.5, 74, 70, {"low"}},
        Row{.5, 74, 73, {"low"}}, Row{.5, 10, 5, {"low", "large", "small"}}, Row{.5, 50, 60, {}},
        Row{.5, -1, {}, {}}}) {
    CAPTURE(row.load, row.threshold.value_or(0));
    auto slo = strategy(100);
    slo.memory_evict_threshold_percent = row.threshold;
    slo.memory_evict_lower_percent = row.lower;
    const UsageSample moment = play(kNode, pointers(pods), {.1, row.load}, &slo);
    CHECK(names(evict_for_memory(kNode, pointers(pods), moment, slo)) == row.evicted);
    slo.enable = false;
    CHECK(evict_for_memory(kNode, pointers(pods), moment, slo).empty());
  }

  // Six CPUs are asked for. At 60% of the threshold the limit is 1.0 with a load of 0.6, a rate of 17%.
  auto slo = strategy(60);
  const UsageSample tight = play(kNode, pointers(pods), {.6, .1}, &slo),
                    wide = play(kNode, pointers(pods), {.1, .1}, &slo);
  REQUIRE(tight.limit == Approx(1));
  CHECK(names(evict_for_cpu(pointers(pods), tight, satisfaction(pointers(pods), tight), slo)) == Names());
  slo.cpu_evict_be_satisfaction_lower_percent = 30;
  slo.cpu_evict_be_satisfaction_upper_percent = 40;  // 1.4 CPUs are to go
  CHECK(names(evict_for_cpu(pointers(pods), tight, satisfaction(pointers(pods), tight), slo)) ==
        Names{"low", "small"});
  CHECK(names(evict_for_cpu(pointers(pods), tight, satisfaction(pointers(pods), wide), slo)) == Names());
  CHECK(names(evict_for_cpu(pointers(pods), wide, satisfaction(pointers(pods), tight), slo)) == Names());
  for (const auto& [lower, upper] : {std::pair{61, 70}, {30, 20}, {30, 100}, {-1, 40}}) {
    CAPTURE(lower, upper);
    slo.cpu_evict_be_satisfaction_lower_percent = lower;
    slo.cpu_evict_be_satisfaction_upper_percent = upper;
    CHECK(names(evict_for_cpu(pointers(pods), tight, satisfaction(pointers(pods), tight), slo)) == Names());
  }
}

TEST_CASE(
    "an agent reports when it is due, averages over the trace's time, and lets slowed work take longer") {
  const Trace rising = trace("a,0,0,50\na,3600,100,50\n");
  const MonoTime began{};
  NodeAgent agent(rising, 0, {.speed = 60}, began, began);
  agent.set_node(kNode);
  CHECK(agent.period() == seconds(10));
  agent.add_pod(web(5));
  agent.add_pod(batch("slow", 10));
  auto slo = std::make_shared<api::NodeSlo>();
  slo->spec.resource_used_threshold_with_be.emplace(strategy(72));
  agent.set_slo(slo);
  int reports = 0;
  for (int second = 1; second <= 30; ++second) reports += agent.tick(began + seconds(second)).report;
  CHECK(reports == 0);
  // Half of the hour: 2.5 CPUs are used first, 0.2 by the system, 4.5 of 10 are left.
  CHECK(agent.moment().latency_sensitive.cpu == Approx(2.5));
  CHECK(agent.moment().speed() == Approx(.45));
  const double worked = std::chrono::duration<double>(agent.worked("default", "slow")).count();
  CHECK(worked == Approx(30 * .575).margin(.3));  // from 0.7 down to 0.45
  CHECK(agent.worked("default", "web") == seconds(30));
  CHECK(agent.worked("default", "nobody").count() == 0);

  for (int second = 31; second <= 60; ++second) reports += agent.tick(began + seconds(second)).report;
  CHECK(reports == 1);
  const WallTime now{seconds(1'700'000'000) + std::chrono::milliseconds(900)};
  const api::NodeMetricStatus status = agent.status(now);
  CHECK(status.update_time->to_string() == "2023-11-14T22:13:20Z");  // real, and whole seconds
  // Five minutes of the trace are five seconds here: the hour ends, the load goes from 92% up and back to 0.
  const api::NodeMetricInfo& node = *status.node_metric;
  REQUIRE(status.pods_metric.size() == 2);
  CHECK(status.pods_metric[0].name == "slow");
  CHECK(status.pods_metric[0].qos.view() == "BE");
  CHECK(status.pods_metric[0].priority.view() == "koord-batch");
  CHECK(status.pods_metric[1].qos.view() == "LS");
  CHECK(status.pods_metric[1].priority.view() == "koord-prod");
  CHECK(status.pods_metric[1].pod_usage.resources.find("memory")->to_string() == "5Gi");
  CHECK(node.system_usage.resources.find("cpu")->to_string() == "200m");
  CHECK(node.system_usage.resources.find("memory")->to_string() == "4Gi");
  REQUIRE(node.aggregated_node_usages.size() == 3);
  CHECK(node.aggregated_node_usages[2].duration->value == std::chrono::minutes(30));
  const auto cpu = [&](int window, const char* share) {
    return node.aggregated_node_usages[static_cast<std::size_t>(window)]
        .usage.find(share)
        ->resources.find("cpu")
        ->to_double();
  };
  CHECK(cpu(2, "p50") <= cpu(2, "p90"));
  CHECK(cpu(2, "p90") <= cpu(2, "p99"));
  CHECK(status.prod_reclaimable_metric);

  agent.remove_pod("default", "slow");
  agent.add_pod(batch("other", 1));
  CHECK(agent.has_pod("default", "other", "other"));
  CHECK(!agent.has_pod("default", "other", "another"));
  CHECK(!agent.has_pod("default", "slow", "slow"));
  CHECK(agent.totals().seconds == Approx(60));
  CHECK(agent.totals().capacity == Approx(600));
  CHECK(agent.totals().suppressed > 50);
}

TEST_CASE("what a pod asks for is made of all kinds of resources, and absurd amounts stay numbers") {
  const auto read = [](const std::string& requests, const std::string& annotations = "") {
    auto pod = api::decode<api::Pod>(
        R"({"metadata":{"name":"p","labels":{"koordinator.sh/qosClass":"BE"},"annotations":{)" + annotations +
        R"(}},"spec":{"containers":[{"name":"c","resources":{"requests":)" + requests + "}}]}}");
    REQUIRE(pod.has_value());
    return SimulatedPod::of(*pod);
  };
  const SimulatedPod batch =
      read(R"({"kubernetes.io/batch-cpu":"1500","kubernetes.io/mid-cpu":"500","memory":"1Gi"})");
  CHECK(batch.asked.cpu == Approx(2));
  CHECK(batch.asked.memory == Approx(kGi));
  CHECK(batch.best_effort);
  CHECK(batch.busy);
  CHECK(!read("{}", R"("sandbox.koordinator.sh/load":"trace")").busy);
  CHECK(read("{}").asked.cpu == Approx(.1));
  const std::vector<SimulatedPod> pods = {read(R"({"cpu":"1e8000","memory":"1e8000"})"),
                                          read(R"({"cpu":"-5"})")};
  const UsageSample played = play(kNode, pointers(pods), {.5, .5}, nullptr);
  CHECK(played.node.cpu == Approx(10));
  CHECK(played.node.memory == Approx(100 * kGi));
  CHECK(played.pods[0].memory < 1e16);
}

TEST_CASE("an eviction that was taken is waited for, one that was refused is asked for again") {
  const Trace flat = trace("a,0,10,90");
  NodeAgent agent(flat, 0, {}, MonoTime{}, MonoTime{});
  agent.set_node(kNode);
  agent.add_pod(web(5, 60));
  agent.add_pod(batch("a", 1, 15));
  agent.add_pod(batch("b", 1, 15));
  auto slo = std::make_shared<api::NodeSlo>();
  slo->spec.resource_used_threshold_with_be.emplace(strategy(100));
  agent.set_slo(slo);
  const auto victims = [&](int second) { return agent.tick(MonoTime{seconds(second)}).evict.size(); };
  CHECK(victims(1) == 2);  // 88% of the memory
  CHECK(victims(2) == 2);
  agent.evicted("default", "a");
  CHECK(victims(60) == 0);
  agent.remove_pod("default", "a");
  CHECK(victims(61) == 1);  // 73%
  agent.evicted("default", "b");
  agent.remove_pod("default", "b");
  agent.add_pod(batch("c", 1, 15));
  CHECK(victims(70) == 0);  // the cool time
  CHECK(victims(82) == 1);
  CHECK(agent.totals().evictions == 2);
  // What those two did until they had gone; c's work is not lost.
  CHECK(agent.totals().busy == Approx(60 + 61 + 21));
  CHECK(agent.totals().lost == Approx(60 + 61));
}

TEST_CASE("what is not measured yet is not said, and a policy has bounds") {
  const Trace flat = trace("a,0,50,50");
  NodeAgent agent(flat, 0, {}, MonoTime{}, MonoTime{});
  agent.set_node(kNode);
  agent.tick(MonoTime{seconds(10)});
  CHECK(agent.totals().seconds == 0);  // nobody has run here yet
  const auto status = agent.status(WallTime{});
  CHECK(!status.node_metric->node_usage.resources.empty());
  CHECK(status.node_metric->aggregated_node_usages[0].usage.find("avg")->resources.empty());
  CHECK(status.pods_metric.empty());

  api::NodeMetricSpec spec;
  auto& policy = spec.metric_collect_policy.emplace();
  policy.report_interval_seconds = 1;
  policy.node_aggregate_policy.emplace().durations = {api::Duration(seconds(20))};
  agent.set_policy(spec);
  CHECK(agent.period() == seconds(6));  // of 30
  CHECK(!agent.tick(MonoTime{seconds(29)}).report);
  CHECK(agent.tick(MonoTime{seconds(30)}).report);
  CHECK(agent.status(WallTime{}).node_metric->aggregated_node_usages.size() == 1);
  CHECK(
      !agent.status(WallTime{}).node_metric->aggregated_node_usages[0].usage.find("p99")->resources.empty());
  NodeAgent quick(flat, 0, {.speed = 1, .report_interval = std::chrono::milliseconds(250)}, MonoTime{},
                  MonoTime{});
  quick.set_policy(spec);
  CHECK(quick.period() == std::chrono::milliseconds(100));
}

namespace {

/// A live cluster whose nodes have 4 CPUs and 128 GiB, and a NodeMetric for the first of them.
struct Simulated : LiveCluster {
  Simulated() : LiveCluster(0) {
    for (const api::Schema* schema : api::custom_resources())
      REQUIRE(load_object(verbs, api::crd_manifest_json(*schema)).has_value());
    settle();
  }
  void metric(const std::string& node) {
    REQUIRE(call("POST", kSlo + "/nodemetrics",
                 R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeMetric","metadata":{"name":")" +
                     node + R"("},"spec":{"metricCollectPolicy":{"reportIntervalSeconds":30}}})")
                .status == 201);
  }
  void run(const std::string& name, const std::string& qos, const std::string& requests, int seconds = 60) {
    REQUIRE(
        call(
            "POST", kPods,
            R"({"metadata":{"name":")" + name + R"(","labels":{"koordinator.sh/qosClass":")" + qos +
                R"("},"annotations":{"sandbox.koordinator.sh/run-seconds":")" + std::to_string(seconds) +
                R"("}},"spec":{"nodeName":"node-0000","restartPolicy":"Never","containers":[{"name":"c","image":"i","resources":{"requests":)" +
                requests + R"(,"limits":)" + requests + "}}]}}")
            .status == 201);
  }
  static inline const std::string kSlo = "/apis/slo.koordinator.sh/v1alpha1";
};

}  // namespace

TEST_CASE("agents write NodeMetrics that are there, finish slowed work late, and evict") {
  Simulated cluster;
  Agents agents(cluster.verbs, trace("a,0,50,50\na,300,50,50\na,310,50,98\na,100000,50,98"), {});
  cluster.work_left = [&](const Object& pod, nanoseconds whole) { return agents.work_left(pod, whole); };
  REQUIRE(make_nodes(cluster.verbs, 2, "cpu=4,memory=100Gi", {}).has_value());
  cluster.clock.advance(seconds(12));
  const std::string node = cluster.call("GET", "/api/v1/nodes/node-0000").body;
  CHECK(node.find("machine a of a trace, 1 times as fast; nothing is measured") != std::string::npos);

  cluster.metric("node-0000");
  REQUIRE(
      cluster
          .call(
              "POST", Simulated::kSlo + "/nodeslos",
              R"({"apiVersion":"slo.koordinator.sh/v1alpha1","kind":"NodeSLO","metadata":{"name":"node-0000"},"spec":)"
              R"({"resourceUsedThresholdWithBE":{"enable":true,"cpuSuppressThresholdPercent":65}}})")
          .status == 201);
  cluster.run("web", "LS", R"({"cpu":"2","memory":"60Gi"})", 6000);
  cluster.run("crunch", "BE", R"({"kubernetes.io/batch-cpu":"3k","kubernetes.io/batch-memory":"20Gi"})");
  cluster.clock.advance(seconds(45));
  auto metric = cluster.call("GET", Simulated::kSlo + "/nodemetrics/node-0000");
  const auto typed = api::decode<api::NodeMetric>(metric.body);
  REQUIRE(typed.has_value());
  REQUIRE(typed->status.update_time);
  CHECK(cluster.clock.now() - typed->status.update_time->at < seconds(31));
  REQUIRE(typed->status.pods_metric.size() == 2);
  CHECK(typed->status.pods_metric[0].name == "crunch");
  // 65% of 4, less 1 and 0.08, of 3 that it wants.
  CHECK(typed->status.pods_metric[0].pod_usage.resources.find("cpu")->milli_value() ==
        Approx(1520).margin(2));
  CHECK(cluster.call("GET", Simulated::kSlo + "/nodemetrics/node-0001").status ==
        404);  // it is the manager's to make
  const auto crunch = cluster.store.collection("pods").get("default", "crunch");
  REQUIRE(crunch);
  const double left = std::chrono::duration<double>(agents.work_left(*crunch, seconds(60))).count();
  CHECK(left == Approx(60 - 45 * 1.52 / 3).margin(8));  // it is looked at once in six seconds

  cluster.clock.advance(seconds(45));
  CHECK(cluster.call("GET", kPods + "/crunch").text("status", "phase") == "Running");
  cluster.clock.advance(seconds(45));
  CHECK(cluster.call("GET", kPods + "/crunch").text("status", "phase") == "Succeeded");

  // Memory rises to 98% of 60 GiB, beside the next one's and the system's.
  REQUIRE(cluster.call("DELETE", kPods + "/crunch").status == 200);
  cluster.settle();
  cluster.run("crunch", "BE", R"({"kubernetes.io/batch-cpu":"3k","kubernetes.io/batch-memory":"20Gi"})",
              6000);
  cluster.clock.advance(seconds(200));
  CHECK(cluster.call("GET", kPods + "/crunch").status == 404);
  const std::string events = cluster.call("GET", "/api/v1/namespaces/default/events").body;
  CHECK(events.find("evict Pod:default/crunch, reason: trigger by koordlet feature BEMemoryEvict") !=
        std::string::npos);
  CHECK(agents.totals().evictions == 1);

  const std::string summary = cluster.summary.json(agents.totals());
  CHECK(summary.find(R"("usage":{"seconds":)") != std::string::npos);
  CHECK(summary.ends_with(R"("evictions":1}})"));
  CHECK(cluster.summary.text(agents.totals()).find("1 pods were evicted") != std::string::npos);
  CHECK(cluster.summary.text().find("used CPU") == std::string::npos);

  REQUIRE(cluster.call("DELETE", "/api/v1/nodes/node-0000").status == 200);
  cluster.clock.advance(seconds(20));
  CHECK(agents.totals().evictions == 1);
  CHECK(cluster.call("GET", "/api/v1/nodes/node-0001").status == 200);
}
