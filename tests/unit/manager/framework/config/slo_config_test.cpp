// slo-controller-config: what its keys come to, what becomes of nonsense, and what a node gets of it.
#include "framework/config/slo_config.hpp"

#include <catch2/catch.hpp>

namespace koord::manager {
namespace {

using Data = std::initializer_list<std::pair<std::string_view, std::string>>;

api::ConfigMap config_map(Data data) {
  api::ConfigMap map;
  map.metadata.name = "slo-controller-config";
  map.data = api::StringMap(data);
  return map;
}

api::Node node(std::initializer_list<std::pair<std::string_view, std::string_view>> labels,
               std::string_view annotation = {}) {
  api::Node node;
  node.metadata.name = "n";
  for (const auto& [key, value] : labels) node.metadata.labels[key] = Symbol(value);
  if (!annotation.empty())
    node.metadata.annotations["node.koordinator.sh/colocation-strategy"] = Symbol(annotation);
  return node;
}

constexpr std::string_view kDefaultColocation =
    R"({"enable":false,"metricAggregateDurationSeconds":300,"metricReportIntervalSeconds":60,)"
    R"("metricAggregatePolicy":{"durations":["5m0s","10m0s","30m0s"]},)"
    R"("metricMemoryCollectPolicy":"usageWithoutPageCache","cpuReclaimThresholdPercent":60,)"
    R"("cpuCalculatePolicy":"usage","memoryReclaimThresholdPercent":65,"memoryCalculatePolicy":"usage",)"
    R"("degradeTimeMinutes":15,"updateTimeThresholdSeconds":300,"resourceDiffThreshold":0.1,)"
    R"("midCPUThresholdPercent":100,"midMemoryThresholdPercent":100,"midUnallocatedPercent":0,)"
    R"("midStaticCPUReservedPercent":0,"midStaticMemoryReservedPercent":0})";

TEST_CASE("Without a ConfigMap the defaults are in effect, in the order in which upstream prints them") {
  SloConfig config;
  CHECK_FALSE(config.available());
  CHECK_FALSE(config.colocation_available());
  CHECK(config.set_absent().changed);
  CHECK(config.available());
  CHECK(config.colocation_available());
  CHECK(config.colocation_in_error());
  CHECK(api::encode(config.colocation().cluster) == kDefaultColocation);
  CHECK(api::encode(config.threshold().cluster) ==
        R"({"enable":false,"cpuSuppressThresholdPercent":65,"cpuSuppressPolicy":"cpuset",)"
        R"("memoryEvictThresholdPercent":70,"cpuEvictPolicy":"evictByRealLimit"})");
  CHECK(api::encode(config.qos().cluster) == "{}");
  CHECK(api::encode(config.burst().cluster) ==
        R"({"policy":"none","cpuBurstPercent":1000,"cfsQuotaBurstPercent":300,)"
        R"("cfsQuotaBurstPeriodSeconds":-1,"sharePoolThresholdPercent":50})");
  CHECK(api::encode(config.system().cluster) == R"({"totalNetworkBandwidth":"0"})");
  CHECK_FALSE(config.set_absent().changed);
}

TEST_CASE("What colocation-config comes to") {
  struct Row {
    std::string_view what, text, cluster_enable;
    bool available, in_error;
    std::string_view problem;  // the beginning of the first one's message
  };
  const std::string_view failed = "failed to unmarshal colocation config, err: ";
  for (const Row& row : {
           Row{"empty is the defaults", "", "false", true, false, ""},
           Row{"null sets nothing", "null", "false", true, false, ""},
           Row{"one field", R"({"enable":true})", "true", true, false, ""},
           Row{"another case", R"({"Enable":true})", "true", true, false, ""},
           Row{"unknown keys", R"({"enable":true,"x":{}})", "true", true, false, ""},
           Row{"a trailing comma", R"({"enable":true,})", "false", false, true, failed},
           Row{"a float", R"({"enable":true,"cpuReclaimThresholdPercent":60.5})", "false", false, true,
               failed},
           Row{"an array", "[]", "false", false, true, failed},
           Row{"groups that are none", R"({"nodeConfigs":{}})", "false", false, true, failed},
           Row{"a group of a wrong type", R"({"nodeConfigs":[{"enable":1}]})", "false", false, true, failed},
           Row{"a bound", R"({"enable":true,"cpuReclaimThresholdPercent":-1})", "false", false, true,
               "the colocation config is not taken: cpuReclaimThresholdPercent: -1 is below 0"},
           Row{"another", R"({"midCPUThresholdPercent":101})", "false", false, true,
               "the colocation config is not taken: midCPUThresholdPercent: 101 is not between 0 and 100"},
           Row{"above 100 may be", R"({"cpuReclaimThresholdPercent":150,"batchCPUThresholdPercent":101})",
               "false", true, false, ""},
       }) {
    CAPTURE(row.what);
    SloConfig config;
    const auto update = config.set(config_map({{"colocation-config", std::string(row.text)}}));
    CHECK(config.colocation_available() == row.available);
    CHECK(config.colocation_in_error() == row.in_error);
    CHECK(update.problems.empty() == row.problem.empty());
    if (!update.problems.empty()) CHECK(update.problems[0].message.starts_with(row.problem));
    CHECK(config.colocation().cluster.enable == (row.cluster_enable == "true"));
  }
}

TEST_CASE("A key that cannot be read keeps what it said; one that goes is the defaults again") {
  SloConfig config;
  const std::string good = R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":40}})";
  CHECK(
      config
          .set(config_map({{"resource-threshold-config", good}, {"colocation-config", R"({"enable":true})"}}))
          .changed);
  CHECK_FALSE(
      config
          .set(config_map({{"resource-threshold-config", good}, {"colocation-config", R"({"enable":true})"}}))
          .changed);
  auto update = config.set(config_map({{"resource-threshold-config", R"({"clusterStrategy":{"enable":1}})"},
                                       {"cpu-burst-config", ""},
                                       {"colocation-config", "{"}}));
  CHECK_FALSE(update.changed);
  REQUIRE(update.problems.size() == 3);
  CHECK(update.problems[0].reason == "ColocationCfgUnmarshalFailed");
  CHECK(update.problems[1].reason == "SLOCfgUnmarshalFailed");
  CHECK(
      update.problems[1].message ==
      "failed to unmarshal ThresholdCfg, err: .clusterStrategy.enable: a number where a boolean is expected");
  CHECK(update.problems[2].message.starts_with("failed to unmarshal CPUBurstCfg, err: "));
  CHECK(config.colocation_in_error());
  CHECK(config.colocation().cluster.enable == true);
  CHECK(config.threshold().cluster.cpu_suppress_threshold_percent == 40);
  CHECK(config.set(config_map({})).changed);
  CHECK_FALSE(config.colocation_in_error());
  CHECK(config.threshold().cluster.cpu_suppress_threshold_percent == 65);
  CHECK(config.colocation().cluster.enable == false);
  // Deleted: what it said last stays.
  config.set(config_map({{"resource-threshold-config", good}}));
  CHECK_FALSE(config.set_absent().changed);
  CHECK(config.threshold().cluster.cpu_suppress_threshold_percent == 40);
}

TEST_CASE("What another process could read last is in effect where a key cannot be read now") {
  const std::string good = R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":40}})";
  const std::string burst = R"({"clusterStrategy":{"policy":"auto"}})";
  SloConfig first;
  first.set(config_map({{"resource-threshold-config", good}, {"cpu-burst-config", burst}, {"other", "x"}}));
  first.set(config_map({{"resource-threshold-config", "{"}, {"cpu-burst-config", burst}}));
  api::ConfigMap kept;
  kept.data = first.good();
  CHECK(kept.data == api::StringMap{{"resource-threshold-config", good}, {"cpu-burst-config", burst}});

  SloConfig second;
  second.restore(kept);
  CHECK_FALSE(second.available());
  CHECK_FALSE(second.colocation_available());  // nobody knows what it said: what is lent stays as it is
  const auto update =
      second.set(config_map({{"resource-threshold-config", "{"}, {"colocation-config", "{"}}));
  CHECK(update.problems.size() == 2);
  CHECK(update.problems[1].unread_key == "resource-threshold-config");
  CHECK(second.threshold().cluster.enable == true);
  CHECK(second.threshold().cluster.cpu_suppress_threshold_percent == 40);
  CHECK(second.burst().cluster.policy == "none");  // its key has gone
  CHECK_FALSE(second.colocation_available());
  CHECK(second.good() == api::StringMap{{"resource-threshold-config", good}});

  SloConfig third;
  third.restore(kept);
  CHECK(third.set_absent().changed);
  CHECK(third.threshold().cluster.cpu_suppress_threshold_percent == 40);
}

TEST_CASE(
    "Groups of nodes are merged over the cluster's strategy, and the first that selects a node is its") {
  SloConfig config;
  const auto update =
      config.set(config_map({{"resource-threshold-config",
                              R"({"clusterStrategy":{"enable":true},
            "nodeStrategies":[
              {"name":"none","enable":false},
              {"name":"bad","nodeSelector":{"matchExpressions":[{"key":"a","operator":"Around"}]},"enable":false},
              {"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},"cpuSuppressThresholdPercent":30},
              {"name":"b","nodeSelector":{"matchLabels":{"pool":"a","rack":"1"}},"cpuSuppressThresholdPercent":20},
              {"name":"rest","nodeSelector":{"matchExpressions":[{"key":"pool","operator":"Exists"}]}}]})"},
                             {"resource-qos-config",
                              R"({"clusterStrategy":{"beClass":{"cpuQOS":{"enable":true,"groupIdentity":-1}}},
            "nodeStrategies":[{"nodeSelector":{},"beClass":{"cpuQOS":{"groupIdentity":0}}}]})"},
                             {"system-config",
                              R"({"clusterStrategy":{"minFreeKbytesFactor":50,"totalNetworkBandwidth":"100M"},
            "nodeStrategies":[{"nodeSelector":{"matchLabels":{"pool":"a"}},"minFreeKbytesFactor":60},
                              {"nodeSelector":{"matchLabels":{"pool":"b"}}}]})"},
                             {"host-application-config",
                              R"({"applications":[{"name":"nginx","qos":"LS"}],
            "nodeConfigs":[{"nodeSelector":{"matchLabels":{"pool":"a"}},"applications":[{"name":"db"}]},
                           {"nodeSelector":{"matchLabels":{"pool":"b"}}}]})"}}));
  REQUIRE(update.problems.size() == 1);
  CHECK(update.problems[0].reason == "NodeSelectorInvalid");
  CHECK(update.problems[0].message.starts_with("resource-threshold-config: bad: "));
  const auto labels = [](auto... pairs) { return node({pairs...}).metadata.labels; };
  using Pair = std::pair<std::string_view, std::string_view>;
  const auto a = labels(Pair{"pool", "a"}, Pair{"rack", "1"}), b = labels(Pair{"pool", "b"});
  const api::SymbolMap none;
  CHECK(config.threshold().of(none).cpu_suppress_threshold_percent == 65);
  CHECK(config.threshold().of(none).enable == true);
  CHECK(config.threshold().of(a).cpu_suppress_threshold_percent == 30);
  CHECK(config.threshold().of(a).enable == true);
  CHECK(config.threshold().of(b).cpu_suppress_threshold_percent == 65);
  CHECK(api::encode(config.qos().of(none)) == R"({"beClass":{"cpuQOS":{"enable":true,"groupIdentity":0}}})");
  // A group that says something about the system says its bandwidth too, which is 0 if it is not named.
  CHECK(api::encode(config.system().of(none)) ==
        R"({"minFreeKbytesFactor":50,"totalNetworkBandwidth":"100M"})");
  CHECK(api::encode(config.system().of(a)) == R"({"minFreeKbytesFactor":60,"totalNetworkBandwidth":"0"})");
  CHECK(api::encode(config.system().of(b)) == R"({"minFreeKbytesFactor":50,"totalNetworkBandwidth":"100M"})");
  CHECK(api::encode(config.host_applications().of(none)) ==
        R"({"applications":[{"name":"nginx","qos":"LS"}]})");
  CHECK(api::encode(config.host_applications().of(a)) == R"({"applications":[{"name":"db"}]})");
  CHECK(api::encode(config.host_applications().of(b)) == "{}");
}

TEST_CASE("A group that makes no sense gets the cluster's colocation strategy") {
  SloConfig config;
  const auto update = config.set(config_map({{"colocation-config",
                                              R"({"enable":true,"degradeTimeMinutes":5,"nodeConfigs":[
             {"name":"g","nodeSelector":{"matchLabels":{"pool":"a"}},"degradeTimeMinutes":0,"enable":false}]})"}}));
  REQUIRE(update.problems.size() == 1);
  CHECK(update.problems[0].message ==
        "nodeConfigs \"g\" gets the cluster's strategy: degradeTimeMinutes: 0 is below 1");
  const ColocationStrategy strategy = colocation_of(config.colocation(), node({{"pool", "a"}}));
  CHECK(strategy.degrade_time_minutes == 5);
  CHECK(strategy.enable == true);
}

TEST_CASE("A node's labels and annotation win over the configuration") {
  SloConfig config;
  config.set(config_map({{"colocation-config",
                          R"({"enable":true,"cpuReclaimThresholdPercent":70,"nodeConfigs":[
                               {"nodeSelector":{"matchLabels":{"pool":"a"}},"cpuReclaimThresholdPercent":75}]})"}}));
  struct Row {
    std::initializer_list<std::pair<std::string_view, std::string_view>> labels;
    std::string_view annotation;
    std::int64_t cpu, memory;
  };
  constexpr std::string_view kCpu = "node.koordinator.sh/cpu-reclaim-ratio",
                             kMemory = "node.koordinator.sh/memory-reclaim-ratio";
  for (const Row& row : {
           Row{{}, "", 70, 65},
           Row{{{"pool", "a"}}, "", 75, 65},
           Row{{{"pool", "a"}}, R"({"cpuReclaimThresholdPercent":80})", 80, 65},
           Row{{{"pool", "a"}}, R"({"cpuReclaimThresholdPercent":"80"})", 75, 65},
           Row{{{"pool", "a"}, {kCpu, "0.5"}}, R"({"cpuReclaimThresholdPercent":80})", 50, 65},
           Row{{{kCpu, "0.29"}, {kMemory, "1.5"}}, "", 28, 150},
           Row{{{kCpu, "-0.5"}, {kMemory, "half"}}, "", 70, 65},
           Row{{{kCpu, "nan"}, {kMemory, "1e300"}}, "", 70, 65},
           Row{{{kCpu, "0"}}, "", 0, 65},
       }) {
    CAPTURE(row.annotation, row.cpu);
    const ColocationStrategy strategy = colocation_of(config.colocation(), node(row.labels, row.annotation));
    CHECK(strategy.cpu_reclaim_threshold_percent == row.cpu);
    CHECK(strategy.memory_reclaim_threshold_percent == row.memory);
    CHECK(strategy.enable == true);
  }
  CHECK(colocation_of(config.colocation(),
                      node({{"node.koordinator.sh/mid-static-cpu-reserved-ratio", "0.1"},
                            {"node.koordinator.sh/mid-static-memory-reserved-ratio", "0.2"}}))
            .mid_static_memory_reserved_percent == 20);
}

}  // namespace
}  // namespace koord::manager
