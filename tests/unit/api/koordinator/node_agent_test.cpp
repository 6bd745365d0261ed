// What pods say to the node agent: upstream's texts, wrong types, what is out of range.
#include "koord/api/koordinator/node_agent.hpp"
#include "koord/api/types/core_v1/pod.hpp"

#include <fmt/format.h>

#include "annotation_rows.hpp"
#include "koord/api/koordinator/classes.hpp"

namespace koord::api {
namespace {

ObjectMeta annotated(std::string_view name, std::string_view text) {
  ObjectMeta meta;
  meta.annotations[name] = Symbol(text);
  return meta;
}

/// {"c0":V,"c1":V,...}
std::string map_of(std::size_t count, std::string_view value) {
  std::string all = "{";
  for (std::size_t i = 0; i < count; ++i) all += fmt::format("{}\"c{:04}\":{}", i > 0 ? "," : "", i, value);
  return all + "}";
}

TEST_CASE("What a pod says of its CPU burst, its identity and its memory") {
  check<PodCpuBurst>({
      {R"({"policy":"auto","cpuBurstPercent":1000,"cfsQuotaBurstPercent":300,"cfsQuotaBurstPeriodSeconds":-1})",
       ""},
      {R"({"cpuBurstPercent":5,"unknown":[{}]})", R"({"cpuBurstPercent":5})"},
      {"null", "{}"},
      {R"({"policy":5})", "koordinator.sh/cpuBurst: .policy: expected a string, got a number"},
      {R"({"cpuBurstPercent":"5"})",
       "koordinator.sh/cpuBurst: .cpuBurstPercent: expected a number, got a string"},
      {R"({"cpuBurstPercent":1.5})", "koordinator.sh/cpuBurst: .cpuBurstPercent: 1.5 is no integer"},
      {"[]", "koordinator.sh/cpuBurst: .: expected an object, got a list"},
  });
  check<PodCpuQos>({
      {R"({"enable":true,"groupIdentity":-1})", ""},
      {R"({"enable":false,"groupIdentity":2})", ""},
      {"{}", ""},
      {R"({"enable":"yes"})", "koordinator.sh/cpuQOS: .enable: expected true or false, got a string"},
      {R"({"groupIdentity":3})", "koordinator.sh/cpuQOS: .groupIdentity: 3 is not from -1 to 2"},
      {R"({"groupIdentity":-2})", "koordinator.sh/cpuQOS: .groupIdentity: -2 is not from -1 to 2"},
  });
  check<PodMemoryQos>({
      {R"({"policy":"auto","minLimitPercent":100,"wmarkMinAdj":-25,"pageCacheReclaimSync":false})", ""},
      {R"({"policy":"none","schedIdle":1})", R"({"policy":"none"})"},
      {R"({"minLimitPercent":"5"})",
       "koordinator.sh/memoryQOS: .minLimitPercent: expected a number, got a string"},
      {R"({"policy":[]})", "koordinator.sh/memoryQOS: .policy: expected a string, got a list"},
  });
}

TEST_CASE("OOM scores of a pod and of its containers") {
  check<OomScores>({
      {R"({"c1":1000,"c2":-500})", ""},
      {R"({"c1":-1001})", ""},  // that container has none: whose containers they are is not known here
      {"{}", ""},
      {"null", "{}"},
      {R"({"c1":1.5})", "koordinator.sh/oom-score-adj-spec: [c1]: 1.5 is no integer"},
      {R"({"c1":"1"})", "koordinator.sh/oom-score-adj-spec: [c1]: expected a number, got a string"},
      {"[1]", "koordinator.sh/oom-score-adj-spec: .: expected an object, got a list"},
  });
  CHECK(read<OomScores>(map_of(kMostContainers, "1")).value()->by_container.size() == kMostContainers);
  CHECK(again<OomScores>(map_of(kMostContainers + 1, "1")) ==
        "koordinator.sh/oom-score-adj-spec: more than 1024 containers");
  struct Row {
    std::string_view text;
    std::optional<std::int64_t> score;
    std::string_view error = "";
  };
  for (const Row& row :
       {Row{"", {}}, Row{"-500", -500}, Row{"+7", 7}, Row{"-1000", -1000}, Row{"1000", 1000},
        Row{"+-7", {}, "\"+-7\" is no whole number"}, Row{" 7", {}, "\" 7\" is no whole number"},
        Row{"1e2", {}, "\"1e2\" is no whole number"},
        Row{"99999999999999999999", {}, "\"99999999999999999999\" is no whole number"},
        Row{"1001", {}, "1001 is not from -1000 to 1000"},
        Row{"-2000", {}, "-2000 is not from -1000 to 1000"}}) {
    CAPTURE(row.text);
    const auto score = oom_score(annotated(kOomScoreAdj, row.text));
    if (score)
      CHECK(*score == row.score);
    else
      CHECK(score.error().message() == fmt::format("koordinator.sh/oom-score-adj: {}", row.error));
    CHECK(score.has_value() == row.error.empty());
  }
  CHECK(oom_score({}).value() == std::nullopt);
  CHECK(oom_score(annotated(kOomScoreAdj, std::string(kMaxAnnotation, '1'))).error().message().size() < 200);
}

TEST_CASE("Which evictions a pod takes, and in which order it goes") {
  struct Row {
    std::string text;
    std::optional<std::vector<std::string>> names;
    std::string_view error = "";
  };
  using Names = std::vector<std::string>;
  std::string many = "[\"a\"";
  for (int i = 0; i < 64; ++i) many += ",\"a\"";
  for (const Row& row :
       {Row{R"(["MemoryEvict","CPUEvict"])", Names{"MemoryEvict", "CPUEvict"}}, Row{"[]", Names{}},
        Row{"null", Names{}}, Row{"", {}, ": empty, expected a list of names"},
        Row{"MemoryEvict", {}, ": JSON: line 1, column 1 (byte 0): no JSON value"},
        Row{"[1]", {}, ": [0]: expected a string, got a number"},
        Row{R"("MemoryEvict")", {}, ": .: expected a list, got a string"},
        Row{many + "]", {}, ": more than 64 names"},
        Row{std::string(kMaxAnnotation + 1, ' '), {}, ": longer than 64 KiB"}}) {
    CAPTURE(row.text.substr(0, 100));
    const auto policies = eviction_policies(annotated(kEvictionPolicy, row.text));
    REQUIRE(policies.has_value() == row.error.empty());
    if (policies) CHECK((*policies)->names == *row.names);
    if (!policies) CHECK(policies.error().message() == std::string(kEvictionPolicy) + std::string(row.error));
  }
  CHECK_FALSE(eviction_policies({}).value());  // all of them

  const auto priority = [](std::string_view text) {
    return eviction_priority(annotated(kEvictionPriority, text));
  };
  CHECK(eviction_priority({}).value() == 0);
  CHECK(priority("-10").value() == -10);
  CHECK(priority("+100").value() == 100);
  CHECK(priority("-2147483648").value() == std::numeric_limits<std::int32_t>::min());
  for (const std::string_view none : {"", "1e3", "+", "+-1", "++1", "2147483648", " 1", "0x1"})
    CHECK(priority(none).error().message() ==
          fmt::format("koordinator.sh/eviction-priority: \"{}\" is no 32-bit number", none));

  ObjectMeta meta;
  CHECK_FALSE(is_eviction_enabled(meta));
  meta.labels[kEvictionEnabledLabel] = "True";
  CHECK_FALSE(is_eviction_enabled(meta));
  meta.labels[kEvictionEnabledLabel] = "true";
  CHECK(is_eviction_enabled(meta));
  Pod pod;
  CHECK_FALSE(sub_priority(pod));
  pod.metadata.labels[kSubPriorityLabel] = "1200";
  CHECK(sub_priority(pod) == 1200);
  pod.metadata.labels[kSubPriorityLabel] = "high";
  CHECK_FALSE(sub_priority(pod));
}

TEST_CASE("What the webhook tells of a pod's batch resources") {
  check<ExtendedResourceSpec>({
      {R"({"containers":{"main":{"limits":{"kubernetes.io/batch-cpu":"1k","kubernetes.io/batch-memory":"1Gi"},"requests":{"kubernetes.io/batch-cpu":"500"}}}})",
       ""},
      {R"({"containers":{"a":{"requests":{"kubernetes.io/batch-cpu":1000}},"b":null},"x":1})",
       R"({"containers":{"a":{"requests":{"kubernetes.io/batch-cpu":"1k"}},"b":{}}})"},
      {R"({"containers":{}})", "{}"},
      {"null", "{}"},
      {R"({"containers":[]})",
       "node.koordinator.sh/extended-resource-spec: .containers: expected an object, got a list"},
      {R"({"containers":{"c":{"limits":{"cpu":"x"}}}})",
       "node.koordinator.sh/extended-resource-spec: .containers[c].limits[cpu]: quantities must match the "
       "regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"},
      {"7", "node.koordinator.sh/extended-resource-spec: .: expected an object, got a number"},
  });
  CHECK(again<ExtendedResourceSpec>(R"({"containers":)" + map_of(kMostContainers + 1, "{}") + "}") ==
        "node.koordinator.sh/extended-resource-spec: more than 1024 containers");
}

}  // namespace
}  // namespace koord::api
