// LoadAwareScheduling: which nodes use too much, and what the others score, with the rows of the original's
// tests (96 CPUs, 512 GiB).
#include <catch2/catch.hpp>

#include "koord/scheduling/plugin/service_plugin.hpp"
#include "load_rig.hpp"

namespace koord::scheduling::test {
namespace {

constexpr const char* kCpu = "node(s) cpu usage exceed threshold";
constexpr const char* kMemory = "node(s) memory usage exceed threshold";
constexpr const char* kAggregated = "node(s) cpu aggregated usage exceed threshold";
constexpr const char* kExpired = "node(s) nodeMetric expired";

Report n() { return Report("n"); }

TEST_CASE("nodes whose report is too old are refused, or taken as they were, as the arguments say") {
  struct Case {
    const char* name;
    const char* args;
    std::optional<seconds> age;  // absent: no time is said
    std::string refused;
  };
  constexpr const char* kOff = R"({"enableScheduleWhenNodeMetricsExpired":false})";
  constexpr const char* kOn = R"({"enableScheduleWhenNodeMetricsExpired":true})";
  constexpr const char* kNever = R"({"filterExpiredNodeMetrics":false})";
  for (const Case& c : std::initializer_list<Case>{
           {"filter healthy nodeMetrics", "", seconds(0), ""},
           {"a moment before", "", seconds(179), ""},
           {"filter unhealthy nodeMetric with nil updateTime", "", {}, kExpired},
           {"filter unhealthy nodeMetric with expired updateTime", "", seconds(180), kExpired},
           {"healthy, if it may be scheduled to", kOn, seconds(0), ""},
           {"enable scheduling when nodeMetric with nil updateTime", kOn, {}, ""},
           {"enable scheduling when nodeMetric with expired updateTime", kOn, seconds(180), ""},
           {"disable scheduling when nodeMetric with nil updateTime", kOff, {}, kExpired},
           {"disable scheduling when nodeMetric with expired updateTime", kOff, seconds(180), kExpired},
           {"not looked at", kNever, seconds(180), ""},
           {"not looked at without a time", kNever, {}, ""},
           {"no thresholds, nothing to be late for", R"({"usageThresholds":{"cpu":0,"memory":0}})",
            seconds(180), ""},
           {"sooner", R"({"nodeMetricExpirationSeconds":10})", seconds(10), kExpired}}) {
    INFO(c.name);
    LoadWorld world(c.args);
    world.node("n");
    Report report = n();
    if (c.age) report.at(world.clock.now() - *c.age);
    world.report(report);
    CHECK(world.refused(load_pod("p", {})) == c.refused);
  }
}

TEST_CASE("nodes that use too much are refused") {
  struct Case {
    const char* name;
    const char* args;  // besides filterExpiredNodeMetrics
    const char* annotation;
    std::optional<Report> report;
    std::vector<std::pair<const char*, Asks>> there;
    Asks pod;
    std::string refused;
  };
  constexpr const char* k100 = R"("usageThresholds":{"cpu":100,"memory":100})";
  const auto prod_args = [k100](int cpu, int memory) {
    return fmt::format(R"({},"prodUsageThresholds":{{"cpu":{},"memory":{}}})", k100, cpu, memory);
  };
  const std::string prod_cpu = prod_args(50, 100), prod_memory = prod_args(100, 50),
                    prod_all = prod_args(100, 100);
  const Asks prod{.priority = kProd};
  const Report two_prod =
      n().uses("63", "500Gi")
          .pods({{"prod-pod-1", "30", "200Gi", "koord-prod"}, {"prod-pod-2", "33", "300Gi", "koord-prod"}});
  const Report one_prod =
      n().uses("53", "300Gi")
          .pods({{"prod-pod-1", "30", "100Gi", "koord-prod"}, {"prod-pod-2", "23", "200Gi", ""}});
  const std::vector<std::pair<const char*, Asks>> both{{"prod-pod-1", prod}, {"prod-pod-2", prod}};
  constexpr const char* kP95 =
      R"("aggregated":{"usageThresholds":{"cpu":60},"usageAggregationType":"p95","usageAggregatedDuration":"5m"})";
  const Report p95 = n().uses("30", "100Gi").aggregated(minutes(5), "p95", usage("70", "256Gi"));
  constexpr const char* k65 =
      R"("usageThresholds":{"cpu":65,"memory":100},"prodUsageThresholds":{"cpu":60,"memory":100})";
  constexpr const char* k85 =
      R"("usageThresholds":{"cpu":65,"memory":85},"prodUsageThresholds":{"cpu":60,"memory":80})";
  constexpr const char* k70 =
      R"("usageThresholds":{"cpu":65,"memory":85},"prodUsageThresholds":{"cpu":60,"memory":70})";
  const Report both_prod =
      n().uses("53", "500Gi")
          .pods({{"prod-pod-1", "30", "100Gi", "koord-prod"}, {"prod-pod-2", "23", "200Gi", "koord-prod"}});
  const Report both_prod_less =
      n().uses("53", "300Gi")
          .pods({{"prod-pod-1", "30", "100Gi", "koord-prod"}, {"prod-pod-2", "23", "200Gi", "koord-prod"}});
  for (const Case& c : std::initializer_list<Case>{
           {"filter normal usage", "", "", n().uses("60", "256Gi"), {}, {}, ""},
           {"filter node missing NodeMetrics", "", "", {}, {}, {}, ""},
           {"filter exceed cpu usage", "", "", n().uses("70", "256Gi"), {}, {}, kCpu},
           {"filter exceed p95 cpu usage", kP95, "", p95, {}, {}, kAggregated},
           {"filter exceed memory usage", "", "", n().uses("30", "500Gi"), {}, {}, kMemory},
           {"filter exceed memory usage by custom usage thresholds",
            "",
            R"({"usageThresholds":{"memory":60}})",
            n().uses("30", "316Gi"),
            {},
            {},
            kMemory},
           {"filter exceed p95 cpu usage by custom usage",
            "",
            R"({"aggregatedUsage":{"usageThresholds":{"cpu":60},"usageAggregationType":"p95",
                                   "usageAggregatedDuration":"5m0s"}})",
            p95,
            {},
            {},
            kAggregated},
           {"disable filter exceed memory usage",
            R"("usageThresholds":{"memory":0})",
            "",
            n().uses("30", "500Gi"),
            {},
            {},
            ""},
           {"disabled on the node",
            "",
            R"({"usageThresholds":{"memory":0}})",
            n().uses("90", "500Gi"),
            {},
            {},
            ""},
           {"an annotation that nobody can read",
            "",
            R"({"usageThresholds":{"memory":"0"}})",
            n().uses("30", "500Gi"),
            {},
            {},
            kMemory},
           {"prod usage filter is not enabled by default", k100, "", two_prod, both, {}, ""},
           {"filter prod cpu usage", prod_cpu.c_str(), "", two_prod, both, prod, kCpu},
           {"filter prod memory usage", prod_memory.c_str(), "", two_prod, both, prod, kMemory},
           {"filter prod memory usage with custom usage configuration", prod_all.c_str(),
            R"({"prodUsageThresholds":{"cpu":100,"memory":50}})", two_prod, both, prod, kMemory},
           {"prod thresholds are no others'", prod_cpu.c_str(), "", two_prod, both, {.priority = kMid}, ""},
           {"prod pods that the node does not report as such", prod_cpu.c_str(), "",
            n().uses("63", "500Gi")
                .pods({{"prod-pod-1", "30", "200Gi", ""}, {"prod-pod-2", "33", "300Gi", ""}}),
            both, prod, ""},
           {"filter daemonset pod exceed cpu usage",
            "",
            "",
            n().uses("70", "256Gi"),
            {},
            {.priority = kProd,
            .edit = [](api::Pod& p) { p.metadata.owner_references.emplace_back().kind = "DaemonSet"; }},
            ""},
           {"filter prod cpu usage with new pod request configuration",
            k65,
            "",
            both_prod,
            both,
            {.requests_cpu = "20", .requests_memory = "100Gi", .priority = kProd},
            kCpu},
           {"filter mid cpu usage with new pod request configuration",
            k65,
            "",
            one_prod,
            both,
            {.requests_cpu = "12k", .requests_memory = "100Gi", .priority = kMid},
            kCpu},
           {"filter memory usage with new pod request configuration",
            k85,
            "",
            both_prod_less,
            both,
            {.requests_cpu = "1", .requests_memory = "165Gi", .priority = kProd},
            kMemory},
           {"filter mid memory usage with new pod request configuration",
            k85,
            "",
            one_prod,
            both,
            {.requests_cpu = "1k", .requests_memory = "200Gi", .priority = kMid},
            kMemory},
           {"filter prod memory usage with assignedCache pod",
            k70,
            "",
            n().uses("53", "300Gi").pods({{"prod-pod-1", "30", "100Gi", "koord-prod"}}),
            {{"prod-pod-1", prod},
             {"prod-pod-2", {.requests_cpu = "1", .requests_memory = "200Gi", .priority = kProd}}},
            {.requests_cpu = "1", .requests_memory = "200Gi", .priority = kProd},
            kMemory},
           {"filter mid cpu usage with assignedCache pod",
            k70,
            "",
            n().uses("33", "110Gi").pods({{"prod-pod-1", "30", "100Gi", "koord-prod"}}),
            {{"prod-pod-1", prod},
             {"mid-pod-2", {.requests_cpu = "20k", .requests_memory = "200Gi", .priority = kMid}}},
            {.requests_cpu = "20k", .requests_memory = "200Gi", .priority = kMid},
            kCpu}}) {
    INFO(c.name);
    const std::string more = *c.args != '\0' ? fmt::format(",{}", c.args) : "";
    LoadWorld world(fmt::format(R"({{"filterExpiredNodeMetrics":false{}}})", more));
    world.node("n", c.annotation);
    for (auto [name, asks] : c.there) {
      asks.node = "n";
      asks.edit = [&](api::Pod& p) { condition(p, "PodScheduled", world.clock.now() - seconds(10)); };
      world.engine.put_pod(load_pod(name, asks));
    }
    if (c.report) world.report(Report(*c.report).every(seconds(60)).at(world.clock.now()));
    CHECK(world.refused(load_pod("new", c.pod)) == c.refused);
  }
}

TEST_CASE("nodes score by what is left of them") {
  struct Case {
    const char* name;
    const char* args;
    Asks pod;
    std::optional<Report> report;
    nanoseconds age;  // of the report
    std::optional<std::pair<const char*, Asks>> there;
    std::optional<nanoseconds> bound;  // how long ago, as its condition says
    std::int64_t score;
  };
  const Asks whole{"16", "32Gi", "16", "32Gi"};
  Asks batch{"16000", "32Gi", "16000", "32Gi", kBatch};
  Asks prod_pod = whole;
  prod_pod.priority = kProd;
  constexpr const char* kP95 =
      R"({"aggregated":{"scoreAggregationType":"p95","scoreAggregatedDuration":"5m"}})";
  const std::pair<const char*, Asks> assigned{"assigned-pod-1", whole}, prod{"assign-prod-pod-1", prod_pod};
  const Report idle = n().uses("", ""), loaded = n().uses("32", "10Gi");
  for (const Case& c : std::initializer_list<Case>{
           {"score node with expired nodeMetric",
            R"({"filterExpiredNodeMetrics":false})",
            {},
            idle,
            seconds(180),
            {},
            {},
            0},
           {"score empty node", "", whole, idle, {}, {}, {}, 90},
           {"score node missing NodeMetrics", "", whole, {}, {}, {}, {}, 0},
           {"score load node", "", whole, loaded, {}, {}, {}, 72},
           {"score load node with p95",
            kP95,
            whole,
            n().uses("0", "0")
                .aggregated(minutes(5), "p95", usage("32", "10Gi"))
                .aggregated(minutes(5), "p99", usage("50", "70Gi")),
            {},
            {},
            {},
            72},
           {"score load node with p95 but have not reported usage",
            kP95,
            whole,
            n().uses("0", "0"),
            {},
            {},
            {},
            90},
           {"score load node with p95 but have not reported usage and have assigned pods",
            kP95,
            whole,
            n().uses("0", "0").pods({{"assigned-pod-1", "1", "1Gi", ""}}),
            {},
            assigned,
            minutes(10),
            81},
           {"score load node with just assigned pod", "", whole, loaded, {}, assigned, {}, 63},
           {"score load node with just assigned pod where after updateTime",
            "",
            whole,
            loaded,
            seconds(10),
            assigned,
            {},
            63},
           {"score load node with just assigned pod where before updateTime",
            "",
            whole,
            loaded,
            {},
            assigned,
            seconds(10),
            63},
           {"a pod that was measured long enough is in the usage",
            "",
            whole,
            Report(loaded).pods({{"assigned-pod-1", "1", "1Gi", ""}}),
            {},
            assigned,
            minutes(2),
            72},
           {"one that was not is estimated beyond it",
            "",
            whole,
            Report(loaded).pods({{"assigned-pod-1", "1", "1Gi", ""}}),
            {},
            assigned,
            seconds(59),
            64},
           {"score batch Pod", "", batch, idle, {}, {}, {}, 90},
           {"score prod Pod",
            R"({"scoreAccordingProdUsage":true})",
            {"16000", "32Gi", "16000", "32Gi", kProd},
            Report(idle).pods({{"assign-prod-pod-1", "30", "100Gi", "koord-prod"}}),
            {},
            prod,
            {},
            38},
           {"score request less than limit", "", {"8", "16Gi", "16", "32Gi"}, idle, {}, {}, {}, 90},
           {"score with drf", R"({"dominantResourceWeight":10})", whole, idle, {}, {}, {}, 85},
           {"score empty pod", "", {}, idle, {}, {}, {}, 99}}) {
    INFO(c.name);
    // The prod pod asks for more than the node has: what it is refused with is not what is tested.
    LoadWorld world(*c.args == '\0' ? R"({"usageThresholds":{"cpu":0,"memory":0}})"
                                    : fmt::format(R"({{"usageThresholds":{{"cpu":0,"memory":0}},{})",
                                                  std::string_view(c.args).substr(1)));
    world.node("n");
    if (c.there) {
      Asks asks = c.there->second;
      asks.node = "n";
      asks.edit = [&](api::Pod& p) {
        if (c.bound) condition(p, "PodScheduled", world.clock.now() - *c.bound);
      };
      world.engine.put_pod(load_pod(c.there->first, asks));
    }
    if (c.report) world.report(Report(*c.report).every(seconds(60)).at(world.clock.now() - c.age));
    CHECK(world.score(load_pod("p", c.pod)) == c.score);
  }
}

TEST_CASE("complaint 2231: aggregated usage has a say while the node agent has not been there for long") {
  // What is asked for: the longest period that is reported, or else the usage of now.
  constexpr const char* kLongest =
      R"({"aggregated":{"usageThresholds":{"cpu":60},"usageAggregationType":"p95"}})";
  const auto refused = [&](const Report& report) {
    LoadWorld world(kLongest);
    world.node("n");
    world.report(Report(report).at(world.clock.now()));
    return world.refused(load_pod("p", {}));
  };
  const Report young = n().uses("90", "1Gi");
  CHECK(refused(young) == kAggregated);
  CHECK(refused(Report(young).aggregated(minutes(30), "p95", usage("", ""))) == kAggregated);
  CHECK(refused(Report(young).aggregated(minutes(5), "p95", usage("10", "1Gi"))).empty());
  CHECK(refused(Report(n().uses("1", "1Gi"))
                    .aggregated(minutes(10), "p95", usage("80", "1Gi"))
                    .aggregated(minutes(5), "p95", usage("10", "1Gi"))
                    .aggregated(minutes(30), "p95", usage("", ""))) == kAggregated);
}

TEST_CASE("pods that are bound between two reports spread, for they are estimated") {
  LoadWorld world;
  for (int i = 0; i < 4; ++i) {
    world.node(fmt::format("n{}", i));
    world.report(Report(fmt::format("n{}", i)).at(world.clock.now()).uses("10", "20Gi"));
  }
  for (int i = 0; i < 40; ++i)
    world.engine.put_pod(load_pod(fmt::format("p{}", i), {"4", "4Gi", "4", "4Gi"}));
  std::map<std::string, int> by_node;
  for (const Decision& d : world.run())
    if (d.kind() == Decision::Kind::bind) ++by_node[d.node().str()];
  CHECK(by_node == std::map<std::string, int>{{"n0", 10}, {"n1", 10}, {"n2", 10}, {"n3", 10}});
  // 10 and 15 times 3.4 CPUs are 63 % of 96, one more would be 67 %.
  for (int i = 40; i < 80; ++i)
    world.engine.put_pod(load_pod(fmt::format("p{}", i), {"4", "4Gi", "4", "4Gi"}));
  int bound = 40;
  for (const Decision& d : world.run()) bound += d.kind() == Decision::Kind::bind;
  CHECK(bound == 4 * 15);
}

TEST_CASE("what waits is tried again when its node may be another's, without looking at the others") {
  struct Case {
    const char* name;
    std::function<void(LoadWorld&)> happens;
    bool again;
  };
  const auto report = [](const char* cpu, const char* node = "n") {
    return [=](LoadWorld& w) { w.report(Report(node).at(w.clock.now()).uses(cpu, "1Gi")); };
  };
  for (const Case& c : std::initializer_list<Case>{
           {"it uses less", report("10"), true},
           {"it uses no less", report("80"), false},
           {"another one reports", report("10", "other"), true},
           {"another one that uses too much", report("90", "other"), false},
           {"of a node that is not there", report("10", "nowhere"), false},
           {"it is not reported any more",
            [](LoadWorld& w) { w.engine.remove_object<api::NodeMetric>(Report("n").done()); }, true},
           {"it may use more", [](LoadWorld& w) { w.node("n", R"({"usageThresholds":{"cpu":99}})"); }, true},
           {"a label says nothing",
            [](LoadWorld& w) {
              w.engine.put_node(make_node("n", "96", "512Gi", [](auto& n) { n.metadata.labels["a"] = "b"; }));
            },
            false},
           {"it has more", [](LoadWorld& w) { w.engine.put_node(make_node("n", "960", "512Gi")); }, true},
           {"a pod goes, and it is still too much",
            [](LoadWorld& w) { w.engine.remove_pod(*load_pod("there", {.node = "n"})); }, false}}) {
    INFO(c.name);
    LoadWorld world;
    world.node("n");
    world.node("other");
    world.engine.put_pod(load_pod("there", {.node = "n"}));
    world.report(Report("n").at(world.clock.now()).uses("80", "1Gi"));
    world.report(Report("other").at(world.clock.now()).uses("80", "1Gi"));
    world.engine.put_pod(load_pod("p", {"1", "1Gi"}));
    CHECK(world.one().message() == fmt::format("0/2 nodes are available: 2 {}.", kCpu));
    world.clock.advance(seconds(5));
    CHECK(world.run().empty());
    c.happens(world);
    CHECK(world.run().size() == (c.again ? 1 : 0));
  }
}

TEST_CASE("a pod that leaves makes room for what was estimated of it") {
  LoadWorld world;
  world.node("n");
  world.report(Report("n").at(world.clock.now()).uses("1", "1Gi"));
  world.engine.put_pod(load_pod("first", {"60", "1Gi"}));
  CHECK(world.one().kind() == Decision::Kind::bind);
  world.engine.put_pod(load_pod("second", {"60", "1Gi"}));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  world.clock.advance(seconds(5));
  CHECK(world.engine.binding_failed(*load_pod("first", {})));
  world.engine.remove_pod(*load_pod("first", {}));
  const Decision d = world.one();
  CHECK(d.pod->metadata.name == "second");
  CHECK(d.kind() == Decision::Kind::bind);
}

TEST_CASE("a report grows too old without any event: one timer, and those that it lets pass are told") {
  constexpr const char* kPasses = R"({"enableScheduleWhenNodeMetricsExpired":true})";
  LoadWorld world(kPasses);
  world.node("n");
  world.node("late");
  const WallTime now = world.clock.now();
  world.report(Report("n").at(now).uses("90", "1Gi"));
  world.report(Report("late").at(now - seconds(60)).uses("90", "1Gi"));
  world.engine.put_pod(load_pod("p", {"1", "1Gi"}));
  CHECK(world.one().kind() == Decision::Kind::unschedulable);
  CHECK(world.engine.next_wakeup() == world.clock.mono() + seconds(120));
  world.clock.advance(seconds(119));
  CHECK(world.run().empty());
  world.clock.advance(seconds(1));
  CHECK(world.one().node().view() == "late");
  CHECK(world.score(load_pod("q", {}), "late") == 0);
  CHECK(world.refused(load_pod("q", {})) == kCpu);
  // A new report is young again.
  world.report(Report("n").at(now + seconds(100)).uses("10", "1Gi"));
  CHECK(world.engine.next_wakeup() == world.clock.mono() + seconds(160));
  CHECK(world.score(load_pod("q", {}), "n") == 94);
  world.clock.advance(seconds(160));
  CHECK(world.score(load_pod("q", {}), "n") == 0);
  CHECK_FALSE(world.engine.next_wakeup());

  LoadWorld strict;
  strict.node("n");
  strict.report(Report("n").at(strict.clock.now()).uses("10", "1Gi"));
  CHECK(strict.refused(load_pod("q", {})).empty());
  strict.clock.advance(seconds(180));
  CHECK(strict.refused(load_pod("q", {})) == kExpired);
}

TEST_CASE("a report changes its own row alone: other rows are not looked at again") {
  LoadWorld world;
  for (int i = 0; i < 1000; ++i) {
    world.node(fmt::format("n{}", i));
    world.report(Report(fmt::format("n{}", i)).at(world.clock.now()).uses("10", "20Gi"));
  }
  world.engine.put_pod(load_pod("p", {"1", "1Gi"}));
  world.engine.put_pod(load_pod("keeps", {"1", "1Gi"}));
  CHECK(world.run(1).size() == 1);
  const std::uint64_t before = world.engine.classes().rows_looked_at();
  for (int i = 0; i < 20; ++i)
    world.report(Report(fmt::format("n{}", i)).at(world.clock.now()).uses("50", "20Gi"));
  CHECK(world.one().kind() == Decision::Kind::bind);
  CHECK(world.engine.classes().rows_looked_at() - before <= 21);
}

TEST_CASE("what profiles of Koordinator name is taken: at preFilter and reserve, without asking it there") {
  KubeSchedulerConfiguration config = load_config();
  (*config.profiles[0].plugins).pre_filter.enabled = {{"LoadAwareScheduling", {}}};
  World world(std::move(config));
  CHECK_FALSE(world.engine.profiles()[0].follows_up());
}

TEST_CASE("what is known of a node is served under the plugin's name") {
  LoadWorld world;
  world.node("n");
  world.report(n().at(world.clock.now()).uses("50", "20Gi"));
  const ServicePlugin* serves = nullptr;
  for (const Profile::Named& p : world.engine.profiles()[0].plugins)
    if (const auto* s = dynamic_cast<const ServicePlugin*>(p.plugin.get())) serves = s;
  REQUIRE(serves != nullptr);
  CHECK(serves->service_paths() == std::vector<std::string_view>{"/node/:nodeName"});
  const auto known = serves->serve({"/node/n", {}});
  REQUIRE(known);
  CHECK(known->status == 200);
  CHECK(known->json.find(R"("nodeEstimated":{"cpu":"0","memory":"0"})") != std::string::npos);
  CHECK(serves->serve({"/node/nobody", {}})->json == "{}");
  CHECK_FALSE(serves->serve({"/nodes", {}}));
}

}  // namespace
}  // namespace koord::scheduling::test
