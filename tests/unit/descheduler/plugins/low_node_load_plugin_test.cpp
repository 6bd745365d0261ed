// LowNodeLoad as a plugin: its arguments, what it reads of reports and of objects, its pools, pass after
// pass.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "plugins/low_node_load/args.hpp"
#include "plugins/low_node_load/cluster.hpp"
#include "unit/descheduler/plugins/rows.hpp"

namespace koord::descheduler {
extern const PluginEntry kLowNodeLoad;
}

namespace koord::descheduler::test {
namespace {

using low_node_load::LowNodeLoadArgs;

constexpr const char* kBounds =
    R"("lowThresholds":{"cpu":30,"memory":50},"highThresholds":{"cpu":60,"memory":80},"anomalyCondition":{"consecutiveAbnormalities":1})";

/// Three nodes of 10 CPUs and 10,000 bytes: a uses 9 CPUs, b and c 1 each. Reports are a minute old.
struct Cluster {
  SnapshotObjects objects;
  std::map<std::string, std::shared_ptr<api::NodeMetric>> reports;

  Cluster() {
    for (const char* name : {"a", "b", "c"}) node(std::string(name) + " cpu=10000 memory=10000 pods=100");
    for (int i = 0; i < 8; ++i) pod("a" + std::to_string(i) + " a owner=ReplicaSet/w", 1000, 100);
    uses("a", 1000, 0);
    uses("b", 1000, 0);
    uses("c", 1000, 0);
  }
  void node(const std::string& row) {
    objects.nodes.push_back(node_of(row));
    auto report = std::make_shared<api::NodeMetric>();
    report->metadata.name = objects.nodes.back()->metadata.name;
    report->status.update_time = api::Time(kRowsNow - std::chrono::minutes(1));
    report->status.node_metric.ensure();
    reports[report->metadata.name] = report;
  }
  /// What the system itself uses.
  void uses(const std::string& name, std::int64_t cpu, std::int64_t memory) {
    auto& system = reports.at(name)->status.node_metric->system_usage.resources;
    system["cpu"] = api::Quantity::from_milli(cpu);
    system["memory"] = api::Quantity::from_int(memory);
  }
  void pod(const std::string& row, std::int64_t cpu, std::int64_t memory) {
    PodPtr made = pod_of(row);
    objects.pods.push_back(made);
    if (cpu < 0) return;
    api::PodMetricInfo& info = reports.at(made->spec.node_name.str())->status.pods_metric.emplace_back();
    info.namespace_ = made->metadata.namespace_;
    info.name = made->metadata.name;
    info.pod_usage.resources["cpu"] = api::Quantity::from_milli(cpu);
    info.pod_usage.resources["memory"] = api::Quantity::from_int(memory);
  }
  std::unique_ptr<FakePass> pass() const {
    SnapshotObjects all = objects;
    for (const auto& [name, report] : reports) all.node_metrics.push_back(report);
    return std::make_unique<FakePass>(std::move(all), kRowsNow);
  }
  std::size_t gone(const std::string& args) const {
    const auto plugin = make_plugin(kLowNodeLoad, args);
    const auto in = pass();
    run(*plugin, *in);
    return in->gone.size();
  }
};

std::string bounds(const std::string& more = "") {
  return std::string("{") + kBounds + (more.empty() ? "" : ",") + more + "}";
}

LowNodeLoadArgs args_of(std::string_view json) {
  LowNodeLoadArgs args;
  if (const auto read = api::decode(json, api::schema<LowNodeLoadArgs>(), &args); !read)
    FAIL(read.error().message());
  args_type<LowNodeLoadArgs>.set_defaults(&args);
  return args;
}

TEST_CASE("what arguments leave out is Koordinator's, and a pool's is that of the top level") {
  const LowNodeLoadArgs none = args_of("{}");
  CHECK(none.node_fit == true);
  CHECK(none.node_metric_expiration_seconds == 180);
  CHECK(none.detector_cache_timeout->to_string() == "5m0s");
  CHECK(none.number_of_nodes == 0);
  CHECK(none.pool.anomaly_condition->timeout->to_string() == "1m0s");
  CHECK(none.pool.anomaly_condition->consecutive_abnormalities == 5);
  CHECK(none.pool.anomaly_condition->consecutive_normalities == 3);
  CHECK(*none.pool.resource_weights == low_node_load::Weights{{"cpu", 1}, {"memory", 1}});

  const LowNodeLoadArgs all = args_of(R"({
    "lowThresholds":{"gpu":10},"highThresholds":{"gpu":90,"disk":50},"useDeviationThresholds":true,
    "resourceWeights":{"cpu":3,"gpu":0},"anomalyCondition":{"timeout":"2m","consecutiveAbnormalities":7},
    "nodePools":[{"name":"x"},
                 {"name":"y","lowThresholds":{},"highThresholds":{"cpu":70},"resourceWeights":{"cpu":9},
                  "anomalyCondition":{"consecutiveNormalities":2}}]})");
  CHECK(*all.pool.resource_weights ==
        low_node_load::Weights{{"cpu", 3}, {"disk", 1}, {"gpu", 1}, {"memory", 1}});
  CHECK(all.pool.anomaly_condition->consecutive_normalities == 3);
  const auto& x = all.node_pools[0].pool;
  CHECK(*x.low_thresholds == *all.pool.low_thresholds);
  CHECK(*x.high_thresholds == *all.pool.high_thresholds);
  CHECK_FALSE(x.prod_low_thresholds);
  CHECK_FALSE(x.use_deviation_thresholds);
  CHECK(*x.resource_weights == *all.pool.resource_weights);
  CHECK(x.anomaly_condition->consecutive_abnormalities == 7);
  const auto& y = all.node_pools[1].pool;
  CHECK(y.low_thresholds->empty());
  CHECK(*y.high_thresholds == low_node_load::Percentages{{"cpu", 70}});
  CHECK(*y.resource_weights == low_node_load::Weights{{"cpu", 9}});
  CHECK(y.anomaly_condition->consecutive_abnormalities == 7);
  CHECK(y.anomaly_condition->consecutive_normalities == 2);
  CHECK_FALSE(y.anomaly_condition->timeout);
}

TEST_CASE("arguments that contradict themselves are refused by name") {
  struct Row {
    const char* args;
    const char* why;  // empty: accepted
  };
  const Row rows[] = {
      {"{}", ""},
      {R"({"numberOfNodes":-1})", "numberOfNodes: Invalid value: -1: must be greater than or equal to 0"},
      {R"({"nodeMetricExpirationSeconds":0})",
       "nodeMetricExpirationSeconds: Invalid value: 0: nodeMetricExpiredSeconds should be a positive value"},
      {R"({"evictableNamespaces":{"include":["a"],"exclude":["b"]}})", "evictableNamespaces: "},
      {R"({"podSelectors":[{"selector":{"matchExpressions":[{"key":"a","operator":"In"}]}}]})",
       "podSelectors[0].selector: "},
      {R"({"podSelectors":[{"name":"web"}]})",
       "podSelectors: Required value: none of them has a selector: all pods would be chosen"},
      {R"({"highThresholds":{"cpu":-1}})",
       "highThresholds[cpu]: Invalid value: -1: percentage must be greater than or equal to 0"},
      {R"({"highThresholds":{"cpu":120}})", ""},
      {R"({"lowThresholds":{"cpu":60},"highThresholds":{"cpu":50}})",
       "lowThresholds[cpu]: Invalid value: 60: low percentage must be less than or equal to highThresholds"},
      {R"({"lowThresholds":{"cpu":50},"highThresholds":{"cpu":50}})", ""},
      {R"({"highThresholds":{"cpu":50},"prodHighThresholds":{"cpu":60}})",
       "prodHighThresholds[cpu]: Invalid value: 60: node percentage must be greater than or equal to "
       "prodHighThresholds"},
      {R"({"prodLowThresholds":{"cpu":50},"prodHighThresholds":{"cpu":40}})",
       "prodLowThresholds[cpu]: Invalid value: 50: low percentage must be less than or equal to "
       "prodHighThresholds"},
      {R"({"anomalyCondition":{"consecutiveAbnormalities":-1}})",
       "anomalyCondition.consecutiveAbnormalities: Invalid value: -1: consecutiveAbnormalities must be "
       "greater than 0"},
      {R"({"anomalyCondition":{}})", ""},  // where the original fills in one of the two and refuses the other
      {R"({"nodePools":[{"nodeSelector":{"matchLabels":{"a b":"c"}}}]})", "nodePools[0].nodeSelector: "},
      {R"({"nodePools":[{"lowThresholds":{"cpu":-2}}]})",
       "nodePools[0].lowThresholds[cpu]: Invalid value: -2: "},
      // What the original takes for "every node uses too much".
      {R"({"lowThresholds":{"cpu":40,"memory":50},"highThresholds":{"cpu":60}})",
       "lowThresholds[memory]: Invalid value: 50: highThresholds has no memory: every node that uses any of "
       "it would be "
       "overutilized"},
      {R"({"lowThresholds":{"cpu":0},"highThresholds":{"cpu":0}})",
       "highThresholds[cpu]: Invalid value: 0: every node that uses any of it would be overutilized"},
      {R"({"prodLowThresholds":{"cpu":40}})",
       "prodLowThresholds[cpu]: Invalid value: 40: prodHighThresholds has no cpu"},
      {R"({"lowThresholds":{"cpu":40},"useDeviationThresholds":true})", ""},
      {R"({"lowThreshold":{"cpu":40}})", "lowThreshold"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.args);
    const std::string why = why_refused(kLowNodeLoad, row.args);
    if (*row.why == '\0') CHECK(why.empty());
    CHECK(why.find(row.why) != std::string::npos);
  }
}

TEST_CASE("pods leave a node that uses too much until it does not, whatever they ask for") {
  CHECK(Cluster().gone(bounds()) == 3);  // from 9 to 6 of 10 CPUs
  CHECK(Cluster().gone(bounds(R"("paused":true)")) == 0);
  CHECK(Cluster().gone(bounds(R"("dryRun":true)")) == 0);
  CHECK(Cluster().gone(bounds(R"("numberOfNodes":2)")) == 0);
  CHECK(Cluster().gone(bounds(R"("evictableNamespaces":{"exclude":["default"]})")) == 0);
  CHECK(Cluster().gone(bounds(R"("podSelectors":[{"name":"x","selector":{"matchLabels":{"app":"x"}}}])")) ==
        0);
  CHECK(Cluster().gone(bounds(R"("nodeSelector":{"matchLabels":{"app":"x"}})")) == 0);
}

TEST_CASE("a node of which nothing is known, or nothing new, is neither relieved nor counted on") {
  for (const char* name : {"a", "b"}) {
    CAPTURE(name);
    Cluster without;
    without.reports.erase(name);
    CHECK(without.gone(bounds()) == (*name == 'a' ? 0U : 3U));
    Cluster empty;
    empty.reports[name]->status.node_metric = {};
    CHECK(empty.gone(bounds()) == (*name == 'a' ? 0U : 3U));
  }
  for (const auto& [age, gone] : {std::pair{179, 3U}, std::pair{180, 0U}}) {
    Cluster old;
    old.reports["a"]->status.update_time = api::Time(kRowsNow - std::chrono::seconds(age));
    CHECK(old.gone(bounds()) == gone);
  }
  Cluster never;
  never.reports["a"]->status.update_time.reset();
  CHECK(never.gone(bounds()) == 0);
}

TEST_CASE("a pod without a report stays while nodes have to fit, and goes last otherwise") {
  Cluster cluster;
  cluster.objects.pods.clear();
  cluster.reports["a"]->status.pods_metric.clear();
  cluster.uses("a", 9000, 0);
  cluster.pod("unknown a owner=ReplicaSet/w", -1, 0);
  CHECK(cluster.gone(bounds()) == 0);
  CHECK(cluster.gone(bounds(R"("nodeFit":false)")) == 1);
}

TEST_CASE("what has ended uses nothing and stays; what is amplified counts as it is") {
  Cluster ended;
  for (PodPtr& pod : ended.objects.pods) {
    auto done = std::make_shared<api::Pod>(*pod);
    done->status.phase = "Succeeded";
    pod = done;
  }
  CHECK(ended.gone(bounds()) == 0);

  Cluster amplified;
  auto node = std::make_shared<api::Node>(*amplified.objects.nodes[0]);
  node->status.allocatable["cpu"] = api::Quantity::from_int(30);
  amplified.objects.nodes[0] = node;
  CHECK(amplified.gone(bounds()) == 0);
  node->metadata.annotations["node.koordinator.sh/raw-allocatable"] = R"({"cpu":"10"})";
  CHECK(amplified.gone(bounds()) == 3);
  node->metadata.annotations["node.koordinator.sh/raw-allocatable"] = "{";
  CHECK(amplified.gone(bounds()) == 0);
}

TEST_CASE("prod pods leave a node that prod uses too much of, others stay") {
  Cluster cluster;
  cluster.pod("batch a owner=ReplicaSet/w label:koordinator.sh/priority-class=koord-batch", 500, 0);
  const auto plugin = make_plugin(
      kLowNodeLoad,
      R"({"lowThresholds":{"cpu":20},"highThresholds":{"cpu":99},"prodLowThresholds":{"cpu":10},"prodHighThresholds":{"cpu":50},"anomalyCondition":{"consecutiveAbnormalities":1}})");
  const auto pass = cluster.pass();
  run(*plugin, *pass);
  CHECK(pass->gone.size() == 3);  // of 8 CPUs to 5
  for (const FakePass::Gone& each : pass->gone) {
    CHECK(each.pod != "default/batch");
    CHECK(each.reason.starts_with("node is overutilized, prod cpu usage("));
  }
}

TEST_CASE("a pool that names its nodes leaves those alone that an earlier one has relieved") {
  const std::string pools =
      R"("nodePools":[{"name":"all","nodeSelector":{},"highThresholds":{"cpu":40,"memory":80},"lowThresholds":{"cpu":30,"memory":50}}])";
  CHECK(Cluster().gone(bounds(pools)) == 3);
  // The first pool has nothing to do with it: it is the second's.
  CHECK(
      Cluster().gone(
          R"({"nodeSelector":{"matchLabels":{"app":"x"}},"anomalyCondition":{"consecutiveAbnormalities":1},)" +
          pools + "}") == 5);
}

TEST_CASE("a node has to use too much for more passes in a row than are configured") {
  const Cluster cluster;
  const auto plugin = make_plugin(
      kLowNodeLoad, R"({"lowThresholds":{"cpu":30,"memory":50},"highThresholds":{"cpu":60,"memory":80}})");
  for (int pass = 1; pass <= 6; ++pass) {
    CAPTURE(pass);
    const auto in = cluster.pass();
    in->mono = MonoTime(std::chrono::seconds(10 * pass));
    run(*plugin, *in);
    CHECK(in->gone.size() == (pass == 6 ? 3U : 0U));
  }
}

TEST_CASE("complaint 1975: one pod that is large enough goes, not several small ones") {
  Cluster cluster;
  cluster.objects.pods.clear();
  cluster.reports["a"]->status.pods_metric.clear();
  for (int i = 0; i < 4; ++i) cluster.pod("small" + std::to_string(i) + " a owner=ReplicaSet/w", 400, 0);
  cluster.pod("nearly a owner=ReplicaSet/w", 1700, 0);
  cluster.pod("huge a owner=ReplicaSet/w", 3700, 0);
  const auto plugin = make_plugin(kLowNodeLoad, bounds());
  const auto pass = cluster.pass();
  run(*plugin, *pass);  // 8 of 10 CPUs are used, 6 may be: 2 are too much
  CHECK(pass->names() == std::vector<std::string>{"default/huge"});
}

TEST_CASE("complaint 1854: relieving one node does not begin anew with counting others") {
  Cluster cluster;
  cluster.node("d cpu=10000 memory=10000 pods=100");
  const auto plugin = make_plugin(
      kLowNodeLoad, R"({"lowThresholds":{"cpu":30,"memory":50},"highThresholds":{"cpu":60,"memory":80}})");
  std::vector<std::string> gone_from;
  for (int pass = 1; pass <= 9; ++pass) {
    if (pass == 4)  // from now on d uses too much, too
      for (int i = 0; i < 8; ++i) cluster.pod("d" + std::to_string(i) + " d owner=ReplicaSet/w", 1000, 100);
    const auto in = cluster.pass();
    in->mono = MonoTime(std::chrono::seconds(10 * pass));
    run(*plugin, *in);
    for (const std::string& pod : in->names()) gone_from.push_back(std::to_string(pass) + pod.substr(8, 1));
  }
  // In the sixth pass in which it does, each.
  CHECK(std::ranges::count(gone_from, "6a") == 3);
  CHECK(std::ranges::count(gone_from, "9d") == 2);
  CHECK(std::ranges::count_if(gone_from, [](const std::string& each) { return each.ends_with("d"); }) == 2);
}

TEST_CASE("complaint 2225: prod pods stay once prod uses no more than it may") {
  Cluster cluster;
  const auto plugin = make_plugin(
      kLowNodeLoad,
      R"({"lowThresholds":{"cpu":20},"highThresholds":{"cpu":99},"prodLowThresholds":{"cpu":10},"prodHighThresholds":{"cpu":79},"anomalyCondition":{"consecutiveAbnormalities":1}})");
  const auto pass = cluster.pass();
  run(*plugin, *pass);
  CHECK(pass->gone.size() == 1);  // of 8 CPUs, 7.9 of which prod may use
}

TEST_CASE("a deviation of 0 is no limit, and nobody goes for it") {
  CHECK(
      Cluster().gone(R"({"lowThresholds":{"cpu":0},"highThresholds":{"cpu":0},"useDeviationThresholds":true,)"
                     R"("anomalyCondition":{"consecutiveAbnormalities":1}})") == 0);
}

}  // namespace
}  // namespace koord::descheduler::test
