// Batch resources: upstream's golden figures, what must never be lent, and what is written of a node.
#include "plugins/batch_resource/batch_resource.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "framework/noderesource/node_case.hpp"
#include "framework/noderesource/node_update.hpp"

namespace koord::manager {
namespace {

/// The node of upstream's golden cases: 100 CPUs, 120 G, two pods of high and one of low priority.
Case golden() {
  Case c;
  c.add(PodRow{"a", "LSR", "koord-prod", {"20", "20G"}, {"11", "11G"}});
  c.add(PodRow{"b", "BE", "koord-batch", {"10", "20G"}, {"10", "10G"}});
  c.add(PodRow{"c", "LS", "", {"20", "40G"}, {"22", "22G"}});
  return c;
}

TEST_CASE("Batch resources: capacity less margin, system and what high priority uses") {
  CHECK(golden().batch() == "25k 33G");
  struct Row {
    std::string_view what, reservation, expected;
  };
  for (const Row& row : {
           Row{"CPUs by number replace the system's use", R"({"reservedCPUs":"0-19"})", "12k 33G"},
           Row{"and the quantity", R"({"resources":{"cpu":20},"reservedCPUs":"0-9"})", "22k 33G"},
           Row{"memory", R"({"resources":{"memory":"20G"}})", "25k 25G"},
           Row{"less than the system uses", R"({"resources":{"cpu":"1","memory":"1G"}})", "25k 33G"},
           Row{"one that cannot be read keeps nothing", R"({"resources":{"cpu":"many","memory":"20G"}})",
               "25k 33G"},
           Row{"nor does one of bad CPUs", R"({"reservedCPUs":"a-b"})", "25k 33G"},
           Row{"no JSON", "{", "25k 33G"},
       }) {
    CAPTURE(row.what);
    Case c = golden();
    c.node.metadata.annotations["node.koordinator.sh/reservation"] = Symbol(row.reservation);
    CHECK(c.batch() == row.expected);
  }
  Case kubelet = golden();
  kubelet.node.status.allocatable = list({"80", "120G"});
  CHECK(kubelet.batch() == "12k 33G");
}

TEST_CASE("The policies") {
  struct Row {
    int cpu, memory;
    std::string_view cpu_policy, memory_policy;
    std::optional<std::int64_t> batch_cpu;
    std::string_view expected;
  };
  for (const Row& row : {
           Row{65, 65, "usage", "usage", {}, "25k 33G"},
           Row{70, 80, "maxUsageRequest", "request", {}, "21k 36G"},
           Row{65, 65, "request", "usage", {}, "25k 33G"},  // CPU has no policy request
           Row{65, 65, "any", "maxUsageRequest", {}, "25k 6G"},
           Row{150, 65, "usage", "usage", {}, "110k 33G"},
           Row{150, 65, "usage", "usage", 100, "100k 33G"},
           Row{65, 65, "usage", "usage", 10, "10k 33G"},
           Row{0, 0, "usage", "usage", {}, "0 0"},
       }) {
    CAPTURE(row.cpu, row.memory, row.cpu_policy, row.memory_policy);
    Case c = golden();
    c.strategy.cpu_reclaim_threshold_percent = row.cpu;
    c.strategy.memory_reclaim_threshold_percent = row.memory;
    c.strategy.cpu_calculate_policy = row.cpu_policy;
    c.strategy.memory_calculate_policy = row.memory_policy;
    c.strategy.batch_cpu_threshold_percent = row.batch_cpu;
    CHECK(c.batch() == row.expected);
  }
}

TEST_CASE("Who counts, and with what") {
  struct Row {
    std::string_view what;
    std::vector<PodRow> pods;
    std::vector<MetricRow> metrics;
    std::string_view expected;  // of 65 CPUs, 78 G less 7, 12 G: 58k 66G
  };
  for (const Row& row : {
           Row{"nobody", {}, {}, "58k 66G"},
           Row{"a pod without a metric counts with its requests",
               {{"p", "LS", "", {"10", "10G"}, {}}},
               {},
               "48k 56G"},
           Row{"batch and free do not",
               {{"p", "BE", "", {"10", "10G"}, {"9", "9G"}},
                {"q", "", "koord-free", {"10", "10G"}, {"9", "9G"}}},
               {},
               "58k 66G"},
           Row{"mid does", {{"p", "BE", "koord-mid", {"10", "10G"}, {"9", "9G"}}}, {}, "49k 57G"},
           Row{"an LSE pod's CPUs count as requested",
               {{"p", "LSE", "", {"10", "10G"}, {"1", "1G"}}},
               {},
               "48k 65G"},
           Row{"who has ended counts by the metric that is left",
               {{"p", "LS", "", {"10", "10G"}, {"3", "3G"}, "Succeeded"}},
               {},
               "55k 63G"},
           Row{"a metric without a pod counts", {}, {{"gone", "", {"3", "3G"}}}, "55k 63G"},
           Row{"unless it was batch or free",
               {},
               {{"g", "koord-batch", {"3", "3G"}}, {"h", "koord-free", {"3", "3G"}}},
               "58k 66G"},
           Row{"use below 0 gives nothing", {}, {{"g", "", {"-30", "-30G"}}}, "58k 66G"},
           Row{"who is pending counts", {{"p", "LS", "", {"10", "10G"}, {}, "Pending"}}, {}, "48k 56G"},
       }) {
    CAPTURE(row.what);
    Case c;
    for (const PodRow& pod : row.pods) c.add(pod);
    for (const MetricRow& metric : row.metrics) c.add(metric);
    CHECK(c.batch() == row.expected);
  }
  Case host;
  for (const std::string_view priority : {"koord-prod", "koord-mid", "koord-batch", ""}) {
    api::HostApplicationMetricInfo& info = host.metric.status.host_application_metric.emplace_back();
    info.priority = Symbol(priority);
    info.usage.resources = list({"1", "1G"});
  }
  CHECK(host.batch() == "56k 64G");
  Case larger;  // what is not measured yet is not lent by maxUsageRequest either
  larger.add(PodRow{"p", "LS", "", {"10", "10G"}, {}});
  larger.strategy.cpu_calculate_policy = larger.strategy.memory_calculate_policy = "maxUsageRequest";
  CHECK(larger.batch() == "48k 56G");
}

TEST_CASE("Absurd figures saturate, and lend no more than there is") {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  Case c({"9E", "9E"}, {"1", "1G"});
  c.strategy.cpu_reclaim_threshold_percent = c.strategy.memory_reclaim_threshold_percent = kMost;
  c.strategy.batch_cpu_threshold_percent = c.strategy.batch_memory_threshold_percent = 100;
  CHECK(batch_amount(c.view()).memory.value() <= api::Quantity::must("9E").value());
}

api::Node with_batch(const api::Node& node, const std::optional<OvercommitAmount>& amount) {
  api::Node after = node;
  set_batch(after, amount);
  return after;
}

bool worth_writing(const api::Node& before, const api::Node& after, double share) {
  const auto worth = [&](std::string_view name) {
    return is_worth(before.status.allocatable, after.status.allocatable, name, share);
  };
  return worth(api::kBatchCpu) || worth(api::kBatchMemory);
}

OvercommitAmount amount(std::string_view cpu, std::string_view memory) {
  return {api::Quantity::must(cpu), api::Quantity::must(memory)};
}

TEST_CASE("What is written of a node") {
  const Case c;
  constexpr std::string_view kOrigin = "node.koordinator.sh/originExtendedAllocatable";
  const OvercommitAmount lent = amount("25000", "33G");
  api::Node node = with_batch(c.node, lent);
  CHECK(node.status.allocatable.find(api::kBatchCpu)->value() == 25000);
  CHECK(node.status.capacity.find(api::kBatchMemory)->to_string() == "33G");
  CHECK(api::value_or(node.metadata.annotations, kOrigin) ==
        R"({"resources":{"kubernetes.io/batch-cpu":"25k","kubernetes.io/batch-memory":"33G"}})");
  SECTION("others take their part of it") {
    node.metadata.annotations["node.koordinator.sh/thirdPartyAllocations"] = Symbol(
        R"({"allocations":[{"name":"yarn","priority":"koord-batch","resources":{"kubernetes.io/batch-cpu":"20k","kubernetes.io/batch-memory":"40G"}},)"
        R"({"name":"x","priority":"koord-mid","resources":{"kubernetes.io/batch-cpu":1}},{"name":"y","priority":"koord-batch","resources":{"kubernetes.io/batch-cpu":500}}]})");
    const api::Node shared = with_batch(node, lent);
    CHECK(shared.status.allocatable.find(api::kBatchCpu)->value() == 4500);
    CHECK(shared.status.allocatable.find(api::kBatchMemory)->value() == 0);
    CHECK(api::value_or(shared.metadata.annotations, kOrigin) ==
          api::value_or(node.metadata.annotations, kOrigin));
  }
  SECTION("nothing lent: the keys go, not to zero") {
    const api::Node reset = with_batch(node, {});
    CHECK_FALSE(reset.status.allocatable.contains(api::kBatchCpu));
    CHECK_FALSE(reset.status.capacity.contains(api::kBatchMemory));
    CHECK(api::value_or(reset.metadata.annotations, kOrigin) ==
          R"({"resources":{"kubernetes.io/batch-cpu":"0","kubernetes.io/batch-memory":"0"}})");
    CHECK(with_batch(c.node, {}) == c.node);  // one that never lent is not touched
    CHECK(worth_writing(node, reset, 0.5));
    CHECK(worth_writing(reset, node, 0.5));
  }
}

TEST_CASE("A change is worth a write beyond a share of what was") {
  struct Row {
    std::string_view before, after;
    bool worth;
  };
  for (const Row& row : {Row{"1000", "1000", false}, Row{"1000", "1100", false}, Row{"1000", "1101", true},
                         Row{"1000", "899", true}, Row{"0", "1", true}, Row{"0", "0", false}}) {
    CAPTURE(row.before, row.after);
    const Case c;
    const OvercommitAmount was = amount(row.before, "1G"), is = amount(row.after, "1G");
    CHECK(worth_writing(with_batch(c.node, was), with_batch(c.node, is), 0.1) == row.worth);
  }
}

}  // namespace
}  // namespace koord::manager
