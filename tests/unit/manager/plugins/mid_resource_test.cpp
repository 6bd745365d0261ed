// Mid resources: what prod pods are predicted not to use, and a share of what nobody has asked for.
#include "plugins/mid_resource/mid_resource.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "framework/noderesource/node_case.hpp"

namespace koord::manager {
namespace {

TEST_CASE("Mid resources") {
  Case c({"100", "210G"}, {"5", "5G"});
  c.metric.status.node_metric->node_usage.resources = list({"20", "45G"});
  CHECK(c.mid() == "0 0");
  c.metric.status.prod_reclaimable_metric.emplace().resource.resources = list({"10", "15G"});
  CHECK(c.mid() == "10k 15G");
  SECTION("no more than what is not used") {
    c.metric.status.node_metric->node_usage.resources = list({"95", "200G"});
    CHECK(c.mid() == "5k 10G");
    c.metric.status.node_metric->node_usage.resources = list({"195", "400G"});
    CHECK(c.mid() == "0 0");
    c.metric.status.node_metric->node_usage.resources.erase("memory");
    CHECK(c.mid() == "0 0");
  }
  SECTION("and a share of what nobody has asked for") {
    c.strategy.mid_unallocated_percent = 50;
    c.add(PodRow{"p", "LS", "", {"35", "105G"}, {}});
    c.add(PodRow{"m", "", "koord-mid", {"35", "105G"}, {}});
    CHECK(c.mid() == "40k 65G");  // 10 + (100 - 5 - 35) / 2
    c.strategy.mid_cpu_threshold_percent = 30;
    CHECK(c.mid() == "30k 65G");
  }
  SECTION("static: a fixed share, within the thresholds") {
    c.strategy.mid_reclaim_mode = "static";
    c.strategy.mid_static_cpu_reserved_percent = c.strategy.mid_static_memory_reserved_percent = 100;
    c.strategy.mid_cpu_threshold_percent = 10;
    c.strategy.mid_memory_threshold_percent = 20;
    CHECK(c.mid() == "10k 42G");
  }
}

TEST_CASE("Absurd figures saturate, and lend no more mid resources than there is") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Case c({"9E", "9E"}, {"1", "1G"});
  c.strategy.mid_static_cpu_reserved_percent = c.strategy.mid_static_memory_reserved_percent = kMost;
  c.strategy.mid_unallocated_percent = 100;
  c.metric.status.node_metric->node_usage.resources = list({"0", "0"});
  c.metric.status.prod_reclaimable_metric.emplace().resource.resources = list({"9E", "9E"});
  const std::int64_t memory = api::Quantity::must("9E").value();
  CHECK(mid_amount(c.view()).memory.value() <= memory);
  c.strategy.mid_reclaim_mode = "static";
  CHECK(mid_amount(c.view()).memory.value() <= memory);
}

}  // namespace
}  // namespace koord::manager
