// What the ConfigMap webhook refuses: upstream's tables of the checkers (colocation 17, burst 13, qos 25,
// threshold 13, system 12, overlap and names 23, plugin 13), with their texts, and what is let through that
// upstream refuses.
#include "admission/configmap/config_check.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>

namespace koord::manager {
namespace {

using Data = std::initializer_list<std::pair<std::string_view, std::string>>;

api::ConfigMap config(Data data) {
  api::ConfigMap map;
  map.metadata.namespace_ = "koordinator-system";
  map.metadata.name = "slo-controller-config";
  map.data = api::StringMap(data);
  return map;
}

void no_nodes(const std::function<bool(const api::Node&)>&) {}

std::string check(Data data, bool names = false) {
  return check_config(config(data), nullptr, names, no_nodes);
}

/// A key's text with one group of nodes.
std::string grouped(std::string_view key, std::string_view cluster, std::string_view group) {
  const bool inlined = key == "colocation-config";
  const std::string inside = fmt::format("{{\"name\":\"xxx-yyy\"{}{}}}", group.empty() ? "" : ",", group);
  if (inlined)
    return fmt::format(R"({{{}{}"nodeConfigs":[{}]}})", cluster, cluster.empty() ? "" : ",", inside);
  return fmt::format(R"({{"clusterStrategy":{{{}}},"nodeStrategies":[{}]}})", cluster, inside);
}

constexpr std::string_view kSelector = R"("nodeSelector":{"matchLabels":{"xxx":"yyy"}})";

TEST_CASE(
    "A key is checked where it says something else than before; it can be read, and its groups select "
    "nodes") {
  struct Key {
    std::string_view key, title, cluster;
  };
  // Seven rows for each key; eight for colocation, whose second form of the fifth is here with an empty list.
  for (const Key& row : {
           Key{"colocation-config", "colocation",
               R"("metricAggregateDurationSeconds":60,"cpuReclaimThresholdPercent":70)"},
           Key{"resource-threshold-config", "resourceThreshold",
               R"("enable":true,"cpuSuppressThresholdPercent":60)"},
           Key{"resource-qos-config", "ResourceQOS", R"("beClass":{"cpuQOS":{"groupIdentity":-1}})"},
           Key{"system-config", "System", R"("minFreeKbytesFactor":100,"watermarkScaleFactor":150)"},
           Key{"cpu-burst-config", "CpuBurst", R"("cpuBurstPercent":100,"cfsQuotaBurstPercent":200)"},
       }) {
    CAPTURE(row.key);
    const std::string unread = fmt::format(
        R"(___{{"reason":"ParseConfigFail","message":"Failed to parse {} config in configmap koordinator-system/)"
        "slo-controller-config, err: ",
        row.title);
    const std::string invalid = "invalid config";
    CHECK(checked_keys(config({}), nullptr).empty());
    for (const CheckedKey& key : checked_keys(config({}), nullptr, true)) CHECK(!key.defect().empty());
    CHECK(check({{row.key, invalid}}).starts_with(unread));
    const api::ConfigMap same = config({{row.key, invalid}});
    CHECK(check_config(same, &same, false, no_nodes).empty());
    const std::string_view groups = row.key == "colocation-config" ? "nodeConfigs" : "nodeStrategies";
    const std::string cluster = row.key == "colocation-config"
                                    ? fmt::format("{{{}}}", row.cluster)
                                    : fmt::format(R"({{"clusterStrategy":{{{}}}}})", row.cluster);
    CHECK(check({{row.key, cluster}}).empty());
    CHECK(check({{row.key, cluster.substr(0, cluster.size() - 1) + fmt::format(R"(,"{}":[]}})", groups)}})
              .empty());
    CHECK(
        check({{row.key, grouped(row.key, row.cluster, row.cluster)}}) ==
        fmt::format(
            R"(___{{"reason":"ConfigParamInvalid","message":"nodeConfigs NodeSelector must not empty error! )"
            R"(configType: {},nodeConfig name:xxx-yyy"}}___)",
            row.key));
    CHECK(check({{row.key, grouped(row.key, row.cluster, fmt::format("{},{}", kSelector, row.cluster))}})
              .empty());
  }
}

TEST_CASE("Values out of their bounds are refused with upstream's names and words") {
  struct Row {
    std::string_view key, cluster, group, field, wrong;
  };
  const std::string_view colocation = "colocation-config", threshold = "resource-threshold-config",
                         burst = "cpu-burst-config", system = "system-config", qos = "resource-qos-config";
  const Row rows[] = {
      {colocation, R"("metricAggregateDurationSeconds":0)", "",
       "ColocationCfg.ColocationStrategy.MetricAggregateDurationSeconds",
       "MetricAggregateDurationSeconds must be 1 or greater"},
      {colocation, R"("cpuReclaimThresholdPercent":-1)", "",
       "ColocationCfg.ColocationStrategy.CPUReclaimThresholdPercent",
       "CPUReclaimThresholdPercent must be 0 or greater"},
      {colocation, R"("memoryReclaimThresholdPercent":101)", "", "", ""},
      {colocation, R"("degradeTimeMinutes":0)", "", "ColocationCfg.ColocationStrategy.DegradeTimeMinutes",
       "DegradeTimeMinutes must be 1 or greater"},
      {colocation, R"("updateTimeThresholdSeconds":-1)", "",
       "ColocationCfg.ColocationStrategy.UpdateTimeThresholdSeconds",
       "UpdateTimeThresholdSeconds must be 1 or greater"},
      {colocation, R"("resourceDiffThreshold":2)", "",
       "ColocationCfg.ColocationStrategy.ResourceDiffThreshold", "ResourceDiffThreshold must be 1 or less"},
      {colocation, "", R"("resourceDiffThreshold":-1)",
       "ColocationCfg.NodeConfigs[0].ColocationStrategy.ResourceDiffThreshold",
       "ResourceDiffThreshold must be greater than 0"},
      {colocation, "", " ", "", ""},
      {colocation,
       R"("enable":true,"metricAggregateDurationSeconds":30,"cpuReclaimThresholdPercent":70,)"
       R"("memoryReclaimThresholdPercent":80,"updateTimeThresholdSeconds":300,"degradeTimeMinutes":5,)"
       R"("resourceDiffThreshold":0.1)",
       R"("enable":true,"cpuReclaimThresholdPercent":70,"resourceDiffThreshold":0.1)", "", ""},
      {threshold, R"("enable":true,"cpuSuppressThresholdPercent":-1)", "",
       "ResourceThresholdCfg.ClusterStrategy.CPUSuppressThresholdPercent",
       "CPUSuppressThresholdPercent must be 0 or greater"},
      {threshold, R"("cpuEvictBESatisfactionUpperPercent":102)", "",
       "ResourceThresholdCfg.ClusterStrategy.CPUEvictBESatisfactionUpperPercent",
       "CPUEvictBESatisfactionUpperPercent must be 100 or less"},
      {threshold, R"("cpuEvictBESatisfactionLowerPercent":35)", "",
       "ResourceThresholdCfg.ClusterStrategy.CPUEvictBESatisfactionLowerPercent",
       "CPUEvictBESatisfactionLowerPercent must be less than CPUEvictBESatisfactionUpperPercent"},
      {threshold, "", " ", "", ""},
      {threshold, R"("enable":true,"cpuSuppressThresholdPercent":60)",
       R"("enable":true,"cpuSuppressThresholdPercent":60)", "", ""},
      {burst, R"("cpuBurstPercent":0)", "", "CPUBurstCfg.ClusterStrategy.CPUBurstConfig.CPUBurstPercent",
       "CPUBurstPercent must be 1 or greater"},
      {burst, R"("cpuBurstPercent":10001)", "", "CPUBurstCfg.ClusterStrategy.CPUBurstConfig.CPUBurstPercent",
       "CPUBurstPercent must be 10,000 or less"},
      {burst, R"("cfsQuotaBurstPercent":-1)", "",
       "CPUBurstCfg.ClusterStrategy.CPUBurstConfig.CFSQuotaBurstPercent",
       "CFSQuotaBurstPercent must be 100 or greater"},
      {burst, R"("cfsQuotaBurstPeriodSeconds":-2)", "",
       "CPUBurstCfg.ClusterStrategy.CPUBurstConfig.CFSQuotaBurstPeriodSeconds",
       "CFSQuotaBurstPeriodSeconds must be -1 or greater"},
      {burst, "", R"("cfsQuotaBurstPeriodSeconds":-2)",
       "CPUBurstCfg.NodeStrategies[0].CPUBurstStrategy.CPUBurstConfig.CFSQuotaBurstPeriodSeconds",
       "CFSQuotaBurstPeriodSeconds must be -1 or greater"},
      {burst, "", " ", "", ""},
      {burst, R"("cpuBurstPercent":100,"cfsQuotaBurstPercent":200,"cfsQuotaBurstPeriodSeconds":10000)",
       R"("cpuBurstPercent":100,"cfsQuotaBurstPercent":200,"cfsQuotaBurstPeriodSeconds":10000)", "", ""},
      {system, R"("minFreeKbytesFactor":-1)", "", "SystemCfg.ClusterStrategy.MinFreeKbytesFactor",
       "MinFreeKbytesFactor must be greater than 0"},
      {system, R"("watermarkScaleFactor":0)", "", "SystemCfg.ClusterStrategy.WatermarkScaleFactor",
       "WatermarkScaleFactor must be greater than 0"},
      {system, R"("memcgReapBackGround":-1)", "", "SystemCfg.ClusterStrategy.MemcgReapBackGround",
       "MemcgReapBackGround must be 0 or greater"},
      {system, "", " ", "", ""},
      {system, R"("minFreeKbytesFactor":100,"watermarkScaleFactor":150)",
       R"("minFreeKbytesFactor":100,"watermarkScaleFactor":150,"memcgReapBackGround":1)", "", ""},
      {qos, R"("beClass":{"cpuQOS":{"groupIdentity":3}})", "",
       "ResourceQOSCfg.ClusterStrategy.BEClass.CPUQOS.CPUQOS.GroupIdentity",
       "GroupIdentity must be 2 or less"},
      {qos, R"("beClass":{"memoryQOS":{"oomKillGroup":3}})", "",
       "ResourceQOSCfg.ClusterStrategy.BEClass.MemoryQOS.MemoryQOS.OomKillGroup",
       "OomKillGroup must be 1 or less"},
      {qos, R"("beClass":{"resctrlQOS":{"catRangeStartPercent":-1}})", "",
       "ResourceQOSCfg.ClusterStrategy.BEClass.ResctrlQOS.ResctrlQOS.CATRangeStartPercent",
       "CATRangeStartPercent must be 0 or greater"},
      {qos, "", R"("beClass":{"resctrlQOS":{"catRangeStartPercent":101}})",
       "ResourceQOSCfg.NodeStrategies[0].ResourceQOSStrategy.BEClass.ResctrlQOS.ResctrlQOS."
       "CATRangeStartPercent",
       "CATRangeStartPercent must be 100 or less"},
      {qos, "", " ", "", ""},
      {qos, R"("beClass":{"cpuQOS":{"groupIdentity":-1}})", R"("beClass":{"cpuQOS":{"groupIdentity":-1}})",
       "", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.key, row.cluster, row.group);
    const std::string group = row.group.empty() || row.group == " "
                                  ? std::string(kSelector)
                                  : fmt::format("{},{}", kSelector, row.group);
    const std::string said = check({{row.key, grouped(row.key, row.cluster, group)}});
    if (row.field.empty())
      CHECK(said.empty());
    else
      CHECK(said == fmt::format(R"(___{{"reason":"ConfigParamInvalid","message":{{"{}":"{}"}}}}___)",
                                row.field, row.wrong));
  }
  // All that is wrong, by name.
  CHECK(
      check(
          {{threshold,
            R"({"clusterStrategy":{"cpuEvictBESatisfactionUpperPercent":22,"cpuEvictBESatisfactionLowerPercent":35}})"}}) ==
      R"(___{"reason":"ConfigParamInvalid","message":{)"
      R"("ResourceThresholdCfg.ClusterStrategy.CPUEvictBESatisfactionLowerPercent":)"
      R"("CPUEvictBESatisfactionLowerPercent must be less than CPUEvictBESatisfactionUpperPercent",)"
      R"("ResourceThresholdCfg.ClusterStrategy.CPUEvictBESatisfactionUpperPercent":)"
      R"("CPUEvictBESatisfactionUpperPercent must be greater than CPUEvictBESatisfactionLowerPercent"}}___)");
}

TEST_CASE("Pairs of thresholds are held against one another as they are in effect") {
  struct Row {
    std::string_view key, text;
    bool right;
  };
  const std::string_view threshold = "resource-threshold-config", qos = "resource-qos-config";
  for (
      const Row& row : {
          Row{threshold, R"({"clusterStrategy":{"memoryEvictThresholdPercent":80}})", true},
          Row{threshold, R"({"clusterStrategy":{"memoryEvictLowerPercent":60}})",
              true},  // below the default, 70
          Row{threshold, R"({"clusterStrategy":{"memoryEvictLowerPercent":70}})", false},
          Row{threshold,
              R"({"clusterStrategy":{"memoryEvictThresholdPercent":90,"memoryEvictLowerPercent":80},"nodeStrategies":[)"
              R"({"nodeSelector":{"matchLabels":{"a":"b"}},"memoryEvictLowerPercent":85}]})",
              true},
          Row{threshold,
              R"({"clusterStrategy":{"memoryEvictThresholdPercent":90,"memoryEvictLowerPercent":80},"nodeStrategies":[)"
              R"({"nodeSelector":{"matchLabels":{"a":"b"}},"memoryEvictThresholdPercent":75}]})",
              false},
          Row{qos, R"({"clusterStrategy":{"beClass":{"resctrlQOS":{"catRangeEndPercent":30}}}})", true},
          Row{qos, R"({"clusterStrategy":{"lsClass":{"resctrlQOS":{"catRangeStartPercent":30}}}})", true},
          Row{qos, R"({"clusterStrategy":{"beClass":{"resctrlQOS":{"catRangeStartPercent":30}}}})", false},
      }) {
    CAPTURE(row.text);
    CHECK(check({{row.key, std::string(row.text)}}).empty() == row.right);
  }
}

TEST_CASE("Network requests: shares are percentages, amounts are held against the bandwidth") {
  struct Row {
    std::string_view qos, system, wrong;
  };
  const auto lsr = [](std::string_view request) {
    return fmt::format(R"({{"clusterStrategy":{{"lsrClass":{{"networkQOS":{{"ingressRequest":{}}}}}}}}})",
                       request);
  };
  const auto both = [](std::string_view first, std::string_view second) {
    return fmt::format(R"({{"clusterStrategy":{{"lsrClass":{{"networkQOS":{{"ingressRequest":{}}}}},)"
                       R"("lsClass":{{"networkQOS":{{"ingressRequest":{}}}}}}}}})",
                       first, second);
  };
  const auto group = [](std::string_view first, std::string_view second) {
    return fmt::format(
        R"({{"nodeStrategies":[{{"nodeSelector":{{"matchLabels":{{"xxx":"yyy"}}}},)"
        R"("lsrClass":{{"networkQOS":{{"ingressRequest":{}}}}},"lsClass":{{"networkQOS":{{"ingressRequest":{}}}}}}}]}})",
        first, second);
  };
  const std::string_view cluster_1000 = R"({"clusterStrategy":{"totalNetworkBandwidth":"1000M"}})";
  const std::string_view group_1000 =
      R"({"nodeStrategies":[{"nodeSelector":{"matchLabels":{"xxx":"yyy"}},"totalNetworkBandwidth":"1000M"}]})";
  const std::string path = "ResourceQOSCfg.ClusterStrategy.LSRClass.IngressRequest: Invalid value: ";
  const std::string percent = "must be percentage value just in 0-100'";
  const std::string minus = lsr("-1"), over = lsr("101"), fifty = lsr("50"), bad = lsr("\"50a\""),
                    none = lsr("\"\""), milli = lsr("\"50m\""), mega = lsr("\"50M\""), sum = both("50", "60"),
                    group_sum = group("50", "60"), mega_sum = both("\"500M\"", "\"600M\""),
                    group_mega_sum = group("\"500M\"", "\"600M\""), mixed = both("\"500M\"", "60"),
                    group_mixed = group("\"500M\"", "60"), group_digits = group("\"500M\"", "\"60\"");
  const std::string below = path + "-1: " + percent, above = path + "101: " + percent;
  const std::string no_quantity =
      path +
      R"("50a": quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$')";
  const Row rows[] = {
      {minus, "", below},
      {over, "", above},
      {fifty, "", ""},
      {bad, "", no_quantity},
      {none, "", "*"},
      {milli, "", ""},
      {sum, "", "ClusterStrategy total net bandwidth percentage already over 100"},
      {group_sum, "", "cfg.NodeStrategies[0] total net bandwidth percentage already over 100"},
      {group_mega_sum, group_1000,
       "total net bandwidth quantity already over total network bandwidth in cfg.NodeStrategies[0]"},
      {mega_sum, cluster_1000, "total net bandwidth over total network bandwidth in clusterStrategy"},
      {mixed, "", "only one type can be used for percentages or quantity in clusterStrategy"},
      {group_mixed, "", "only one type can be used for percentages or quantity in nodeStrategy[0]"},
      // Upstream refuses these, too: amounts as if they were percentages, percentages as if they were
      // amounts.
      {mega, "", ""},
      {mega, cluster_1000, ""},
      {fifty, R"({"clusterStrategy":{"totalNetworkBandwidth":"0"}})", ""},
      {group_digits, "", ""},
      {group_digits, group_1000, ""},
      {group_mega_sum, cluster_1000,
       "total net bandwidth quantity already over total network bandwidth in cfg.NodeStrategies[0]"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.qos, row.system);
    const std::string said =
        check({{"resource-qos-config", std::string(row.qos)}, {"system-config", std::string(row.system)}});
    if (row.wrong == "*")
      CHECK(!said.empty());
    else
      CHECK(said == row.wrong);
  }
  CHECK(check({{"resource-qos-config", fifty}, {"system-config", "{"}})
            .starts_with(R"(___{"reason":"ParseConfigFail","message":"Failed to parse System config in)"));
}

/// Two groups of the key colocation-config with these selectors.
std::string two(std::string_view first, std::string_view second) {
  return fmt::format(
      R"({{"nodeConfigs":[{{"name":"strategy1","nodeSelector":{}}},{{"name":"strategy2","nodeSelector":{}}}]}})",
      first, second);
}
constexpr std::string_view kXxx = R"({"matchLabels":{"xxx":"xxx"}})",
                           kYyy = R"({"matchLabels":{"yyy":"yyy"}})";

std::string expression(std::string_view key, std::string_view op, std::string_view values) {
  return fmt::format(R"({{"matchExpressions":[{{"key":"{}","operator":"{}","values":[{}]}}]}})", key, op,
                     values);
}

TEST_CASE("Selectors that list a node of one another overlap") {
  struct Row {
    std::string second;
    bool overlap;
  };
  for (const Row& row : {
           Row{std::string(kYyy), false},
           Row{R"({"matchLabels":{"xxx":"xxx","yyy":"yyy"}})", true},
           Row{expression("xxx", "In", R"("xxx","yyy")"), true},
           Row{expression("xxx", "NotIn", R"("yyy")"), true},
           Row{expression("xxx", "Exists", ""), true},
           Row{expression("xxx", "DoesNotExist", ""), false},
           Row{expression("yyy", "DoesNotExist", ""), true},
       }) {
    CAPTURE(row.second);
    CHECK(check({{"colocation-config", two(kXxx, row.second)}}) ==
          (row.overlap ? R"(___{"reason":"NodeStrategiesOverlap","message":{"config":"colocation-config",)"
                         R"("strategies":["strategy1","strategy2"]}}___)"
                       : ""));
  }
}

TEST_CASE("Names of groups matter where the flag says so") {
  const auto named = [](std::string_view first, std::string_view second) {
    return fmt::format(
        R"({{"nodeConfigs":[{{"name":"{}","nodeSelector":{}}},{{"name":"{}","nodeSelector":{}}}]}})", first,
        kXxx, second, kYyy);
  };
  CHECK(check({{"colocation-config", "{}"}}, true).empty());
  CHECK(
      check({{"colocation-config", named("", "b")}}, true) ==
      R"(___{"reason":"ConfigParamInvalid","message":"nodeConfig Name need! configType:colocation-config"}___)");
  CHECK(
      check({{"colocation-config", named("a<", "a<")}}, true) ==
      R"(___{"reason":"ConfigParamInvalid","message":"nodeConfig Name confilict, configType:colocation-config,)"
      R"(nodeConfig Name:a\u003c! "}___)");
  CHECK(check({{"colocation-config", named("a", "b")}}, true).empty());
  CHECK(check({{"colocation-config", named("", "")}}, false).empty());
}

TEST_CASE("A selector that cannot be read is named") {
  CHECK(
      check({{"colocation-config", two(kXxx, expression("b", "Near", R"("1","2")"))}}) ==
      R"(___{"reason":"ConfigParamInvalid","message":"failed to parse node selector \u0026LabelSelector{MatchLabels:)"
      R"(map[string]string{},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:b,Operator:Near,)"
      R"(Values:[1 2],},},},configType: colocation-config,nodeConfig name:strategy2, err: )"
      R"(\"Near\" is not a valid label selector operator"}___)");
}

api::Node node(std::string_view name, std::initializer_list<std::pair<std::string_view, Symbol>> labels) {
  api::Node out;
  out.metadata.name = name;
  out.metadata.labels = api::SymbolMap(labels);
  return out;
}

TEST_CASE("A node that more than one group selects is a conflict: upstream's tables of nodes") {
  struct Row {
    std::string second;
    api::Node it;
    bool conflict;
  };
  for (const Row& row : {
           Row{std::string(kYyy), node("n", {{"xxx", "xxx"}}), false},
           Row{std::string(kYyy), node("n", {{"xxx", "xxx"}, {"yyy", "yyy"}}), true},
           Row{expression("xxx", "In", R"("xxx","yyy")"), node("n", {{"xxx", "xxx"}}), true},
           Row{expression("xxx", "In", R"("xxx","yyy")"), node("n", {{"xxx", "yyy"}}), false},
       }) {
    CAPTURE(row.second);
    const auto keys = checked_keys(config({{"colocation-config", two(kXxx, row.second)}}), nullptr);
    REQUIRE(keys.size() == 1);
    CHECK(keys[0].check_node(row.it.metadata.labels, "n") ==
          (row.conflict ? R"(___{"reason":"ExistNodeConfict","message":{"config":"colocation-config",)"
                          R"("strategies":["strategy1","strategy2"],"exampleNodes":["n"]}}___)"
                        : ""));
  }
  // 500 nodes, each with its number as key and value and as its name.
  std::vector<api::Node> many;
  for (int i = 0; i < 500; ++i) {
    const std::string number = std::to_string(i);
    many.push_back(node(number, {{number, Symbol(number)}, {"name", Symbol(number)}}));
  }
  const auto all = [&](const std::function<bool(const api::Node&)>& visit) {
    for (const api::Node& each : many)
      if (!visit(each)) return;
  };
  const std::string fifty = expression("name", "In", R"("50","51")");
  for (const auto& [first, second, conflict] :
       {std::tuple{std::string(R"({"matchLabels":{"1":"1"}})"), std::string(R"({"matchLabels":{"2":"2"}})"),
                   false},
        {R"({"matchLabels":{"30":"30"}})", R"({"matchLabels":{"name":"30"}})", true},
        {fifty, R"({"matchLabels":{"name":"77"}})", false}}) {
    CAPTURE(first, second);
    CHECK(check_config(config({{"colocation-config", two(first, second)}}), nullptr, false, all).empty() !=
          conflict);
  }
}

TEST_CASE("The whole ConfigMap: what changed is checked, in upstream's order") {
  const std::string colocation =
      R"({"enable":true,"metricAggregateDurationSeconds":60,"cpuReclaimThresholdPercent":70,"resourceDiffThreshold":0.1})";
  const std::string threshold = R"({"clusterStrategy":{"enable":true,"cpuSuppressThresholdPercent":60}})";
  const std::string qos =
      "\n{\n \"clusterStrategy\": {\"enable\": true, \"beClass\": {\"cpuQOS\": {\"groupIdentity\": 0}}}}\n";
  const std::string burst = R"({"clusterStrategy":{"cfsQuotaBurstPeriodSeconds":60}})";
  const std::string system = R"({"clusterStrategy":{"minFreeKbytesFactor":150}})";
  const api::ConfigMap valid = config({{"colocation-config", colocation},
                                       {"resource-threshold-config", threshold},
                                       {"resource-qos-config", qos},
                                       {"cpu-burst-config", burst},
                                       {"system-config", system}});
  CHECK(checked_keys(valid, nullptr).size() == 5);
  CHECK(check_config(valid, nullptr, true, no_nodes).empty());
  CHECK(checked_keys(valid, &valid).empty());
  CHECK(checked_keys(config({}), &valid).empty());
  const api::ConfigMap invalid = config({{"resource-threshold-config", "x"},
                                         {"resource-qos-config", "x"},
                                         {"cpu-burst-config", "x"},
                                         {"system-config", "x"},
                                         {"colocation-config", "x"}});
  CHECK(checked_keys(invalid, &invalid).empty());
  CHECK(checked_keys(invalid, nullptr).size() == 5);
  CHECK(check_config(invalid, nullptr, false, no_nodes)
            .starts_with(R"(___{"reason":"ParseConfigFail","message":"Failed to parse colocation config)"));
  CHECK(check({{"resource-threshold-config", threshold}, {"cpu-burst-config", "7"}})
            .starts_with(R"(___{"reason":"ParseConfigFail","message":"Failed to parse CpuBurst config)"));
}

TEST_CASE("Selectors that list very many nodes take bounded time") {
  std::string expressions;
  for (int i = 0; i < 40; ++i) {
    std::string values;
    for (int v = 0; v <= i + 60; ++v) values += fmt::format("{}\"{}\"", v > 0 ? "," : "", v);
    expressions +=
        fmt::format(R"({}{{"key":"k{}","operator":"In","values":[{}]}})", i > 0 ? "," : "", i, values);
  }
  const std::string selector = fmt::format(R"({{"matchExpressions":[{}]}})", expressions);
  std::string groups;
  for (int i = 0; i < 300; ++i)
    groups += fmt::format(R"({}{{"nodeSelector":{}}})", i > 0 ? "," : "",
                          i == 0 ? selector : fmt::format(R"({{"matchLabels":{{"n":"{}"}}}})", i));
  CHECK(check({{"colocation-config", fmt::format(R"({{"nodeConfigs":[{}]}})", groups)}}).empty());
}

}  // namespace
}  // namespace koord::manager
