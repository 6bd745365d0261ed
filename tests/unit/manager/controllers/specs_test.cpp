// The specs of NodeMetric and NodeSLO that a node gets.
#include "controllers/specs.hpp"

#include <catch2/catch.hpp>

namespace koord::manager {
namespace {

api::ConfigMap config_map(std::initializer_list<std::pair<std::string_view, std::string>> data) {
  api::ConfigMap map;
  map.data = api::StringMap(data);
  return map;
}

constexpr std::string_view kDefaultPolicy =
    R"({"metricCollectPolicy":{"aggregateDurationSeconds":300,"reportIntervalSeconds":60,)"
    R"("nodeAggregatePolicy":{"durations":["5m0s","10m0s","30m0s"]},)"
    R"("nodeMemoryCollectPolicy":"usageWithoutPageCache"}})";

TEST_CASE("NodeMetric follows the node's colocation strategy, or the defaults where there is none") {
  struct Row {
    std::string_view config, annotation, interval;
    bool usable;
  };
  for (const Row& row : {
           Row{R"({"enable":true,"metricReportIntervalSeconds":20})", "", "20", true},
           // What a cluster without colocation has set is not looked at.
           Row{R"({"enable":false,"metricReportIntervalSeconds":20})", "", "60", false},
           Row{R"({"enable":true,"metricReportIntervalSeconds":20})", R"({"enable":false})", "60", false},
           Row{R"({"enable":true,"metricReportIntervalSeconds":20})", R"({"metricReportIntervalSeconds":0})",
               "60", false},
           Row{R"({"enable":false})", R"({"enable":true,"metricReportIntervalSeconds":7})", "7", true},
       }) {
    CAPTURE(row.config, row.annotation);
    SloConfig config;
    config.set(config_map({{"colocation-config", std::string(row.config)}}));
    api::Node node;
    if (!row.annotation.empty())
      node.metadata.annotations["node.koordinator.sh/colocation-strategy"] = Symbol(row.annotation);
    SpecParts parts;
    const api::NodeMetricSpec spec = node_metric_spec(config, node, nullptr, parts);
    CHECK(std::to_string(*spec.metric_collect_policy->report_interval_seconds) == row.interval);
    REQUIRE(parts.size() == 1);
    CHECK(parts[0].succeeded == row.usable);
  }
  SpecParts parts;
  CHECK(api::encode(node_metric_spec(SloConfig(), {}, nullptr, parts)) == kDefaultPolicy);
}

TEST_CASE("While colocation-config cannot be read a NodeMetric stays as it is") {
  SloConfig config;
  config.set(config_map({{"colocation-config", R"({"enable":true})"}}));
  config.set(config_map({{"colocation-config", "{"}}));
  api::NodeMetricSpec before;
  before.metric_collect_policy.emplace().report_interval_seconds = 33;
  SpecParts parts;
  CHECK(node_metric_spec(config, {}, &before, parts) == before);
  CHECK(node_metric_spec(config, {}, nullptr, parts).metric_collect_policy->report_interval_seconds == 60);
}

TEST_CASE("NodeSLO of a cluster that has configured nothing") {
  SpecParts parts;
  CHECK(
      api::encode(node_slo_spec(SloConfig(), {}, nullptr, parts)) ==
      R"({"resourceUsedThresholdWithBE":{"enable":false,"cpuSuppressThresholdPercent":65,)"
      R"("cpuSuppressPolicy":"cpuset","memoryEvictThresholdPercent":70,"cpuEvictPolicy":"evictByRealLimit"},)"
      R"("resourceQOSStrategy":{},)"
      R"("cpuBurstStrategy":{"policy":"none","cpuBurstPercent":1000,"cfsQuotaBurstPercent":300,)"
      R"("cfsQuotaBurstPeriodSeconds":-1,"sharePoolThresholdPercent":50},)"
      R"("systemStrategy":{"totalNetworkBandwidth":"0"},"extensions":{"Object":{}}})");
  CHECK(parts.size() == 5);
}

TEST_CASE(
    "The annotation of a node's bandwidth wins; one that is no quantity takes the system strategy away") {
  SloConfig config;
  config.set(config_map({{"system-config", R"({"clusterStrategy":{"totalNetworkBandwidth":"10M"}})"}}));
  api::Node node;
  SpecParts parts;
  CHECK(node_slo_spec(config, node, nullptr, parts).system_strategy->total_network_bandwidth.to_string() ==
        "10M");
  node.metadata.annotations["node.koordinator.sh/network-bandwidth"] = Symbol("50M");
  CHECK(node_slo_spec(config, node, nullptr, parts).system_strategy->total_network_bandwidth.to_string() ==
        "50M");
  node.metadata.annotations["node.koordinator.sh/network-bandwidth"] = Symbol("fast");
  parts.clear();
  CHECK_FALSE(node_slo_spec(config, node, nullptr, parts).system_strategy);
  CHECK(parts[3].reason == "getSystemConfigSpec");
  CHECK_FALSE(parts[3].succeeded);
}

TEST_CASE("Extensions are the configured ones; where none are configured, those that are there") {
  SpecParts parts;
  api::NodeSloSpec before;
  before.extensions.text = R"({"Object":{"third":{"x":1}}})";
  CHECK(node_slo_spec(SloConfig(), {}, &before, parts).extensions == before.extensions);
  SloConfig config;
  CHECK(config
            .set(config_map({{"node-slo-extensions-config",
                              R"({"clusterStrategy":{"extensions":{"blame":{"targetP99":"5ms"}}}})"}}))
            .problems.empty());
  CHECK(node_slo_spec(config, {}, &before, parts).extensions.text ==
        R"({"Object":{"blame":{"targetP99":"5ms"}}})");
  config.set(config_map({{"node-slo-extensions-config", R"({"clusterStrategy":{"extensions":{}}})"}}));
  CHECK(node_slo_spec(config, {}, &before, parts).extensions.text == R"({"Object":{}})");
}

TEST_CASE("What an API server completes is complete already, so that nothing is written twice") {
  SloConfig config;
  config.set(config_map(
      {{"resource-qos-config", R"({"clusterStrategy":{"beClass":{"networkQOS":{"enable":true}}}})"}}));
  SpecParts parts;
  const api::NodeSloSpec spec = node_slo_spec(config, {}, nullptr, parts);
  CHECK(api::encode(*spec.resource_qos_strategy) ==
        R"({"beClass":{"networkQOS":{"enable":true,"ingressRequest":0,"ingressLimit":100,)"
        R"("egressRequest":0,"egressLimit":100}}})");
  const auto stored = api::decode<api::NodeSloSpec>(api::encode(spec));
  REQUIRE(stored.has_value());
  CHECK(node_slo_spec(config, {}, &*stored, parts) == *stored);
}

}  // namespace
}  // namespace koord::manager
