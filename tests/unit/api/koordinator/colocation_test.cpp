// How much of a node is lent: the annotation's struct, and the labels that go over it.
#include "koord/api/koordinator/colocation.hpp"

#include "annotation_rows.hpp"

namespace koord::api {
namespace {

TEST_CASE("A node's own strategy as Koordinator has it") {
  check<ColocationStrategy>({
      {R"({"enable":true,"metricAggregateDurationSeconds":300,"metricAggregatePolicy":{"durations":["5m0s"]},"cpuReclaimThresholdPercent":60,"cpuCalculatePolicy":"usage","resourceDiffThreshold":0.1,"midCPUThresholdPercent":10,"midStaticCPUReservedPercent":1,"batchCPUThresholdPercent":20,"extensions":{"theirs":[1]}})",
       ""},
      {R"({"degradeTimeMinutes":15,"unknown":1})", R"({"degradeTimeMinutes":15})"},
      {"{}", ""},
      {R"({"enable":"yes"})",
       "node.koordinator.sh/colocation-strategy: .enable: expected true or false, got a string"},
      {R"({"cpuReclaimThresholdPercent":1.5})",
       "node.koordinator.sh/colocation-strategy: .cpuReclaimThresholdPercent: 1.5 is no integer"},
      {"[]", "node.koordinator.sh/colocation-strategy: .: expected an object, got a list"},
  });
}

TEST_CASE("Shares that labels say go over everything else, those that make no sense over nothing") {
  struct Row {
    std::string_view text;
    std::int64_t percent;
  };
  for (const Row& row :
       {Row{"0.5", 50}, Row{"0.29", 28}, Row{"0", 0}, Row{"1.5", 150}, Row{"1e-2", 1}, Row{"", 7},
        Row{"-0.1", 7}, Row{"half", 7}, Row{"0.5 ", 7}, Row{"nan", 7}, Row{"inf", 7}, Row{"1e300", 7}}) {
    CAPTURE(row.text);
    ColocationStrategy strategy;
    strategy.cpu_reclaim_threshold_percent = 7;
    apply_ratio_labels({{kCpuReclaimRatio, Symbol(row.text)}}, strategy);
    CHECK(strategy.cpu_reclaim_threshold_percent == row.percent);
    CHECK_FALSE(strategy.memory_reclaim_threshold_percent);
  }
  ColocationStrategy strategy;
  apply_ratio_labels({{kCpuReclaimRatio, "0.1"},
                      {kMemoryReclaimRatio, "0.2"},
                      {kMidStaticCpuReservedRatio, "0.3"},
                      {kMidStaticMemoryReservedRatio, "0.4"}},
                     strategy);
  CHECK(strategy.cpu_reclaim_threshold_percent == 10);
  CHECK(strategy.memory_reclaim_threshold_percent == 20);
  CHECK(strategy.mid_static_cpu_reserved_percent == 30);
  CHECK(strategy.mid_static_memory_reserved_percent == 40);
}

}  // namespace
}  // namespace koord::api
