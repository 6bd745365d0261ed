// `koord explain node --watch`: what is a change, which lines of the sum moved it, and the line that says so.
#include "explain/story_change.hpp"

#include <catch2/catch.hpp>

#include "explain/node_teller.hpp"

namespace koord::manager {
namespace {

using Edit = void (*)(Case& c);

void use(Case& c, std::string_view pod, Use used) {
  for (api::PodMetricInfo& info : c.metric.status.pods_metric)
    if (info.name == pod) info.pod_usage.resources = list(used);
}
void system_uses(Case& c, Use used) { c.metric.status.node_metric->system_usage.resources = list(used); }
/// The agent's next report: who was not measured is, who is gone is not in it.
void report(Case& c, std::string_view pod, Use used) {
  c.add(MetricRow{pod, "koord-prod", used});
  std::erase_if(c.metric.status.pods_metric,
                [](const api::PodMetricInfo& info) { return info.name == "old"; });
}

/// A line, at 03:00:00; nothing: that is no change.
std::string changed(const NodeStory& before, const NodeStory& now) {
  const std::optional<StoryChange> change = change_of(before, now);
  return change ? render(*change) : "";
}

TEST_CASE("what a node lends changes, and the lines of the sum that moved it") {
  struct Row {
    const char* what;
    Edit edit;
    const char* line;
  };
  for (const Row& row : {
           Row{"nothing", [](Case&) {}, ""},
           {"a little",
            [](Case& c) {
              use(c, "web", {"11040m", "11Gi"});
            },
            ""},
           {"a pod uses more",
            [](Case& c) {
              use(c, "web", {"12900m", "11Gi"});
            },
            "03:00:00 lent 31.00 -> 29.10 cores: measured pods -1.90\n"},
           {"pods and system, each its own way",
            [](Case& c) {
              use(c, "web", {"12900m", "12Gi"});
              system_uses(c, {"6750m", "14Gi"});
            },
            "03:00:00 lent 31.00 -> 29.35 cores: measured pods -1.90, system +0.25; memory 48.00 -> 45.00Gi: "
            "system -2.00Gi, measured pods -1.00Gi\n"},
           {"memory alone",
            [](Case& c) {
              use(c, "web", {"11", "9Gi"});
            },
            "03:00:00 lent 48.00 -> 50.00Gi: measured pods +2.00Gi\n"},
           // Issue 1906: a new pod counts with all that it asks for, until the agent has measured it.
           {"a pod that is not measured yet",
            [](Case& c) {
              c.add(PodRow{"newer", "LS", "koord-prod", {"6", "0"}, {"", ""}});
            },
            "03:00:00 lent 31.00 -> 25.00 cores: pods not measured yet -6.00\n"},
           {"the next report",
            [](Case& c) {
              report(c, "new", {"1500m", "4Gi"});
            },
            "03:00:00 lent 31.00 -> 41.50 cores: pods not measured yet +10.00, pods that are gone +2.00, "
            "measured "
            "pods -1.50; memory 48.00 -> 49.00Gi: pods not measured yet +4.00Gi, measured pods -4.00Gi, pods "
            "that "
            "are gone +1.00Gi\n"},
           {"more is kept free", [](Case& c) { c.strategy.cpu_reclaim_threshold_percent = 60; },
            "03:00:00 lent 31.00 -> 26.00 cores: kept free -5.00\n"},
           {"a larger machine",
            [](Case& c) {
              c.node.status.capacity["cpu"] = api::Quantity::must("110");
              c.node.status.allocatable["cpu"] = api::Quantity::must("108");
            },
            "03:00:00 lent 31.00 -> 37.50 cores: capacity +10.00, kept free -3.50\n"},
           {"the kubelet reserves more than the system uses",
            [](Case& c) { c.node.status.allocatable["cpu"] = api::Quantity::must("90"); },
            "03:00:00 lent 31.00 -> 28.00 cores: reserved -3.00\n"},
           {"a threshold", [](Case& c) { c.strategy.batch_cpu_threshold_percent = 20; },
            "03:00:00 lent 31.00 -> 20.00 cores: batch thresholds -11.00\n"},
           {"more than there is",
            [](Case& c) {
              use(c, "web", {"60", "11Gi"});
            },
            "03:00:00 lent 31.00 -> 0.00 cores: measured pods -49.00, nothing below zero +18.00\n"},
       }) {
    CAPTURE(row.what);
    Case c = lending_case();
    const NodeStory before = tell(c);
    row.edit(c);
    CHECK(changed(before, tell(c)) == row.line);
  }
}

TEST_CASE("the moves of a change add up to it, whatever the policy and the level") {
  for (const char* cpu : {"usage", "maxUsageRequest"})
    for (const char* memory : {"usage", "request", "maxUsageRequest"})
      for (const std::int64_t level : {100, 60}) {
        CAPTURE(cpu, memory, level);
        Case c = lending_case();
        c.strategy.cpu_calculate_policy = cpu;
        c.strategy.memory_calculate_policy = memory;
        c.strategy.abnormal_node_step_percent = 20;
        const NodeStory before = tell(c);
        report(c, "new", {"1500m", "1Gi"});
        system_uses(c, {"9", "20Gi"});
        c.node.status.allocatable = list({"85", "90Gi"});
        const NodeStory now = tell(c, OvercommitLevel{level, c.now});
        const std::optional<StoryChange> change = change_of(before, now);
        REQUIRE(change);
        figures::Amount sum;
        for (const FigureMove& move : change->moved) {
          sum.cpu_cores += move.amount.cpu_cores;
          sum.memory_bytes += move.amount.memory_bytes;
        }
        CHECK(sum.cpu_cores == Approx(now.lent.cpu_cores - before.lent.cpu_cores).margin(0.01));
        CHECK(static_cast<double>(sum.memory_bytes) ==
              Approx(static_cast<double>(now.lent.memory_bytes - before.lent.memory_bytes)).margin(4 << 20));
      }
}

TEST_CASE("a node that stops to lend, lends nothing for another reason, and lends again") {
  Case c = lending_case();
  const NodeStory lent = tell(c);
  Case silent = c;
  silent.metric.status.update_time.reset();
  const NodeStory none = tell(silent);
  CHECK(changed(lent, none) ==
        "03:00:00 lends nothing any more, 31.00 cores and 48.00Gi before: there is no NodeMetric\n");
  CHECK(changed(none, none).empty());
  NodeStory other = none;
  other.why_not = "co-location is off for it";
  CHECK(changed(none, other) == "03:00:00 lends nothing: co-location is off for it\n");
  CHECK(changed(none, lent) == "03:00:00 lends 31.00 cores and 48.00Gi again\n");
}

TEST_CASE("what each report moves a little is told once it is no little any more") {
  Case c = lending_case();
  const NodeStory told = tell(c);
  use(c, "web", {"11030m", "11Gi"});
  CHECK(changed(told, tell(c)).empty());
  use(c, "web", {"11060m", "11Gi"});
  CHECK(changed(told, tell(c)) == "03:00:00 lent 31.00 -> 30.94 cores: measured pods -0.06\n");
}

}  // namespace
}  // namespace koord::manager
