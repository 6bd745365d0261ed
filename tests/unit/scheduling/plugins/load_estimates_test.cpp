// What LoadAwareScheduling takes pods to use and nodes to have, with the rows of the original's tests of its
// estimator, its cache of assigned pods, its arguments and its service.
#include <catch2/catch.hpp>

#include "koord/scheduling/config/config.hpp"
#include "load_rig.hpp"
#include "scheduling/plugins/load_aware_scheduling/describe.hpp"
#include "scheduling/plugins/load_aware_scheduling/estimate.hpp"
#include "scheduling/plugins/load_aware_scheduling/node_loads.hpp"

namespace koord::scheduling::test {
namespace {

using load_aware::Amounts;
using load_aware::LoadAwareSchedulingArgs;
using load_aware::NodeLoads;
using load_aware::Resources;
using Part = NodeLoads::Part;

LoadAwareSchedulingArgs args_of(std::string_view json) {
  auto args = api::decode_strict<LoadAwareSchedulingArgs>(json);
  if (!args) throw std::runtime_error(args.error().message());
  args->complete();
  return std::move(*args);
}

constexpr std::int64_t kGi = std::int64_t{1} << 30;

TEST_CASE("pods are estimated by their requests and limits") {
  struct Case {
    const char* name;
    const char* args;
    Asks pod;
    Amounts expected;  // cpu, memory
  };
  const PodEdit ls = [](api::Pod& p) { p.metadata.labels["koordinator.sh/qosClass"] = "LS"; };
  const PodEdit custom = [](api::Pod& p) {
    p.metadata.annotations["scheduling.koordinator.sh/load-estimated-scaling-factors"] = R"({"cpu":100})";
  };
  constexpr const char* k80 =
      R"({"allowCustomizeEstimation":true,"estimatedScalingFactors":{"cpu":80,"memory":80}})";
  for (const Case& c : std::initializer_list<Case>{
           {"estimate empty pod", "{}", {}, {250, 200 << 20}},
           {"estimate guaranteed pod", "{}", {"4", "8Gi", "4", "8Gi"}, {3400, 6012954214}},
           {"estimate burstable pod", "{}", {"4", "8Gi", "8", "8Gi"}, {6800, 6012954214}},
           {"estimate guaranteed pod and zoomed cpu factors",
            R"({"estimatedScalingFactors":{"cpu":110}})",
            {"4", "8Gi", "4", "8Gi"},
            {4000, 6012954214}},
           {"estimate guaranteed pod and zoomed memory factors",
            R"({"estimatedScalingFactors":{"memory":110}})",
            {"4", "8Gi", "4", "8Gi"},
            {3400, 8589934592}},
           {"estimate Batch pod", "{}", {"4000", "8Gi", "4000", "8Gi", kBatch}, {3400, 6012954214}},
           {"estimate pod only has request",
            R"({"estimatedScalingFactors":{"cpu":80,"memory":80}})",
            {"4", "8Gi", "", "", kProd, "", ls},
            {3200, 6871947674}},
           {"estimate pod with customized factors",
            k80,
            {"4", "8Gi", "", "", kProd, "", custom},
            {4000, 6871947674}},
           {"which not everybody may customize",
            R"({"estimatedScalingFactors":{"cpu":80,"memory":80}})",
            {"4", "8Gi", "", "", kProd, "", custom},
            {3200, 6871947674}},
           {"a factor that is no whole number spoils them all",
            k80,
            {"4", "8Gi", "", "", kProd, "",
             [](api::Pod& p) {
               p.metadata.annotations["scheduling.koordinator.sh/load-estimated-scaling-factors"] =
                   R"({"cpu":100,"memory":1.5})";
             }},
            {3200, 6871947674}},
           {"request without limit, limit without request", "{}", {"1", "", "", "1Gi"}, {850, 751619277}},
           {"mid pods without requests are nothing", "{}", {.priority = kMid}, {0, 0}},
           {"free pods are nothing", "{}", {"1", "1Gi", "", "", 3500}, {0, 0}}}) {
    INFO(c.name);
    const LoadAwareSchedulingArgs args = args_of(c.args);
    const Resources resources(args);
    REQUIRE(resources.size() == 2);
    const auto pod = load_pod("p", c.pod);
    Amounts out(2);
    load_aware::Estimator(args, resources).estimate(*pod, load_aware::priority_class(*pod), out);
    CHECK(out == c.expected);
  }
}

TEST_CASE("init containers, overhead and pod-level resources count as they do in requests") {
  const LoadAwareSchedulingArgs args = args_of("{}");
  const Resources resources(args);
  const auto estimate = [&](const PodEdit& edit) {
    const auto pod = load_pod("p", {"1", "1Gi", "", "", kProd, "", edit});
    Amounts out(2);
    load_aware::Estimator(args, resources).estimate(*pod, api::KoordPriority::prod, out);
    return out[0];
  };
  CHECK(estimate({}) == 850);
  CHECK(estimate([](api::Pod& p) { p.spec.containers.push_back(p.spec.containers[0]); }) == 1700);
  CHECK(estimate([](api::Pod& p) {
          p.spec.init_containers.push_back(p.spec.containers[0]);
          p.spec.init_containers[0].resources.requests["cpu"] = api::Quantity::must("3");
        }) == 2550);
  CHECK(estimate([](api::Pod& p) { p.spec.overhead["cpu"] = api::Quantity::must("1"); }) == 1700);
  CHECK(estimate([](api::Pod& p) { p.spec.resources.ensure().requests["cpu"] = api::Quantity::must("5"); }) ==
        4250);
}

TEST_CASE("nodes have what they had before they were amplified") {
  struct Case {
    const char* name;
    const char* raw;
    Amounts expected;  // cpu, memory
  };
  for (const Case& c : std::initializer_list<Case>{
           {"estimate empty node", "", {32000, 42 * kGi}},
           {"estimate node with original allocatable", R"({"cpu":28,"memory":"32Gi"})", {28000, 32 * kGi}},
           {"estimate node with original allocatable and sames",
            R"({"cpu":32,"memory":"42Gi"})",
            {32000, 42 * kGi}},
           {"a part", R"({"cpu":"1500m"})", {1500, 42 * kGi}},
           {"what cannot be read says nothing", R"({"cpu":28,"memory":"much"})", {32000, 42 * kGi}},
           {"no object", "[1]", {32000, 42 * kGi}}}) {
    INFO(c.name);
    const LoadAwareSchedulingArgs args = args_of("{}");
    const Resources resources(args);
    const auto node = make_node("n", "32", "42Gi", [&](api::Node& n) {
      if (*c.raw != '\0') n.metadata.annotations["node.koordinator.sh/raw-allocatable"] = Symbol(c.raw);
    });
    CHECK(load_aware::Estimator(args, resources).allocatable(*node) == c.expected);
  }
}

TEST_CASE("how long a pod is taken to use no less than estimated") {
  struct Case {
    const char* name;
    const char* args;
    PodEdit pod;
    std::optional<seconds> expected;  // from now
  };
  const WallTime now{seconds(1'700'000'000)};
  const auto scheduled = [=](api::Pod& p) { condition(p, "PodScheduled", now - minutes(1)); };
  const auto initialized = [=](seconds ago, const char* status = "True") {
    return [=](api::Pod& p) { condition(p, "Initialized", now - ago, status); };
  };
  const auto annotated = [=](const char* what, const char* value) {
    return [=](api::Pod& p) {
      p.metadata.annotations[fmt::format("scheduling.koordinator.sh/load-estimated-seconds-after-{}", what)] =
          Symbol(value);
    };
  };
  constexpr const char* kScheduled = R"({"estimatedSecondsAfterPodScheduled":180})";
  constexpr const char* kInitialized = R"({"estimatedSecondsAfterInitialized":180})";
  constexpr const char* kCustom = R"({"allowCustomizeEstimation":true})";
  constexpr const char* kBoth =
      R"({"estimatedSecondsAfterPodScheduled":180,"estimatedSecondsAfterInitialized":10})";
  for (const Case& c : std::initializer_list<Case>{
           {"disabled", "{}", scheduled, {}},
           {"enabled for pod scheduled", kScheduled, scheduled, seconds(120)},
           {"disabled pod scheduled when pod initialized", kBoth,
            [&](api::Pod& p) {
              scheduled(p);
              initialized(seconds(30))(p);
            },
            seconds(-20)},
           {"enabled for pod initialized", kInitialized, initialized(seconds(60)), seconds(120)},
           {"disabled for pod initialized when condition is not satisfied",
            kInitialized,
            initialized(seconds(60), "False"),
            {}},
           {"after pod scheduled from metadata", kCustom, annotated("pod-scheduled", "180"), seconds(120)},
           {"after initialized from metadata", kCustom,
            [&](api::Pod& p) {
              annotated("initialized", "180")(p);
              initialized(seconds(60))(p);
            },
            seconds(120)},
           {"metadata of those who may not", kScheduled, annotated("pod-scheduled", "1"), seconds(120)},
           {"metadata that says not at all",
            R"({"allowCustomizeEstimation":true,"estimatedSecondsAfterPodScheduled":180})",
            annotated("pod-scheduled", "0"),
            {}},
           {"metadata that says nothing",
            R"({"allowCustomizeEstimation":true,"estimatedSecondsAfterPodScheduled":180})",
            annotated("pod-scheduled", "-1"), seconds(120)},
           {"no number", kCustom, annotated("pod-scheduled", "180s"), {}}}) {
    INFO(c.name);
    const LoadAwareSchedulingArgs args = args_of(c.args);
    const Resources resources(args);
    const auto deadline =
        load_aware::Estimator(args, resources).deadline(*load_pod("p", {.edit = c.pod}), now - minutes(1));
    REQUIRE(deadline.has_value() == c.expected.has_value());
    if (deadline) CHECK(*deadline - now == *c.expected);
  }
  // Nobody makes it overflow.
  const LoadAwareSchedulingArgs args =
      args_of(R"({"estimatedSecondsAfterPodScheduled":9223372036854775807})");
  const Resources resources(args);
  CHECK(load_aware::Estimator(args, resources).deadline(*load_pod("p", {}), now) > now);
}

/// The loads of a table that is changed by hand.
struct Loads {
  explicit Loads(std::string_view json = R"({"estimatedScalingFactors":{"cpu":100,"memory":100}})")
      : args(args_of(json)), loads(args, nodes, metrics, clock) {
    nodes.observe(loads);
    for (const char* name : {"a", "b"})
      nodes.set_node(nodes.row_of(Symbol(name)), make_node(name, "96", "512Gi"));
    for (const char* name : {"a", "b"}) report(Report(name));
  }
  void report(const Report& report) { metrics.put({"", report.metric.metadata.name}, report.done()); }
  void unreport(const char* name) { metrics.put({"", name}, nullptr); }
  Row row(const char* node) { return nodes.find(node); }
  PodInfo& add(const std::string& name, const Asks& asks, const char* node = "a") {
    auto& info = pods[name] = make_pod_info(load_pod(name, asks), nodes.resources());
    nodes.add_pod(row(node), info);
    return info;
  }
  void remove(const std::string& name, const char* node = "a") { nodes.remove_pod(row(node), pods.at(name)); }
  void change(const std::string& name, const PodEdit& edit) {
    PodInfo& info = pods.at(name);
    info.pod = changed(info.pod, edit);
    nodes.change_pod(row("a"), info);
  }
  Amounts sum(Part part, const char* node = "a") { return loads.sum(row(node), part); }
  std::string adding(Part part, const char* node = "a") {
    std::string names;
    for (const auto& pod : loads.pods(row(node)))
      if (loads.adds(row(node), pod, part)) names += pod.info->pod->metadata.name;
    return names;
  }

  ManualClock clock;
  NodeTable nodes;
  ObjectEvents events;
  ObjectStore<api::NodeMetric> metrics{events};
  LoadAwareSchedulingArgs args;
  NodeLoads loads;
  std::map<std::string, PodInfo> pods;
};

const Amounts kNone{0, 0}, kDefault{250, 200 << 20}, kOne{1000, 4 * kGi};

TEST_CASE("pods on nodes are estimated as they come, change and go") {
  SECTION("without resources") {
    Loads l;
    l.add("p", {});
    CHECK(l.sum(Part::delta) == kDefault);
    CHECK(l.sum(Part::estimated) == kDefault);
    CHECK(l.sum(Part::prod_delta) == kNone);
    CHECK(l.adding(Part::delta) == "p");
    CHECK(l.adding(Part::estimated) == "p");
    CHECK(l.loads.pods(l.row("a"))[0].since == l.clock.now());
    l.remove("p");
    CHECK(l.loads.pods(l.row("a")).empty());
    for (const Part part : {Part::delta, Part::estimated}) CHECK(l.sum(part) == kNone);
  }
  SECTION("prod") {
    Loads l;
    l.add("p", {"1", "4Gi"});
    for (const Part part : {Part::delta, Part::prod_delta, Part::estimated}) {
      CHECK(l.sum(part) == kOne);
      CHECK(l.adding(part) == "p");
    }
  }
  SECTION("not prod") {
    Loads l;
    l.add("p", {"1k", "4Gi", "", "", kMid});
    CHECK(l.sum(Part::delta) == kOne);
    CHECK(l.sum(Part::estimated) == kOne);
    CHECK(l.adding(Part::prod_delta).empty());
  }
  SECTION("one that stands for a reservation") {
    Loads l;
    l.add("p", {"1", "4Gi", "", "", 0, "", [](api::Pod& p) {
                  p.metadata.annotations["scheduling.koordinator.sh/reserve-pod"] = "true";
                }});
    for (const Part part : {Part::delta, Part::prod_delta, Part::estimated}) CHECK(l.sum(part) == kNone);
  }
  SECTION("conditions say since when") {
    Loads l;
    const WallTime now = l.clock.now();
    const PodEdit scheduled = [&](api::Pod& p) { condition(p, "PodScheduled", now - seconds(1)); };
    l.add("p", {"", "", "", "", 0, "", scheduled});
    const std::uint64_t end = l.nodes.log_end();
    l.change("p", [&](api::Pod& p) { condition(p, "Initialized", now + seconds(3)); });
    CHECK(l.loads.pods(l.row("a"))[0].since == now - seconds(1));
    CHECK(l.nodes.log_end() == end);
    l.change("p", [&](api::Pod& p) {
      p.status.conditions.clear();
      condition(p, "PodScheduled", now + seconds(5));
    });
    CHECK(l.loads.pods(l.row("a"))[0].since == now + seconds(5));
    CHECK(l.nodes.log_end() == end + 1);
    CHECK(l.sum(Part::delta) == kDefault);
    // Who was assumed keeps the time, whatever else becomes of it.
    l.add("q", {});
    l.clock.advance(seconds(1));
    l.change("q", [&](api::Pod& p) { p.metadata.annotations["foo"] = "bar"; });
    CHECK(l.loads.pods(l.row("a"))[1].since == now);
  }
  SECTION("labels say what it is") {
    Loads l;
    l.add("p", {"1", "4Gi", "", "", kProd});
    l.change("p", [](api::Pod& p) { p.metadata.labels["koordinator.sh/priority-class"] = "koord-free"; });
    for (const Part part : {Part::delta, Part::prod_delta, Part::estimated}) CHECK(l.sum(part) == kNone);
    l.remove("p");
    for (const Part part : {Part::delta, Part::prod_delta, Part::estimated}) CHECK(l.sum(part) == kNone);
  }
  SECTION("of several any may go") {
    Loads l;
    for (const char* name : {"p", "q", "r"}) l.add(name, {"1", "4Gi"});
    l.remove("p");
    l.remove("q");
    CHECK(l.adding(Part::delta) == "r");
    CHECK(l.sum(Part::delta) == kOne);
  }
  SECTION("to another node") {
    Loads l;
    PodInfo& p = l.add("p", {"1", "4Gi"});
    l.nodes.remove_pod(l.row("a"), p);
    l.nodes.add_pod(l.row("b"), p);
    for (const Part part : {Part::delta, Part::prod_delta, Part::estimated}) {
      CHECK(l.sum(part) == kNone);
      CHECK(l.adding(part).empty());
      CHECK(l.sum(part, "b") == kOne);
      CHECK(l.adding(part, "b") == "p");
    }
  }
  SECTION("before the node and its report, and after them") {
    Loads l;
    PodInfo info = make_pod_info(load_pod("p", {"1", "4Gi"}), l.nodes.resources());
    const Row row = l.nodes.row_of(Symbol("new"));
    l.nodes.add_pod(row, info);
    l.report(Report("new").uses("1", "1Gi"));
    CHECK(l.loads.load(row).state == NodeLoads::State::unreported);
    l.nodes.set_node(row, make_node("new", "96", "512Gi"));
    CHECK(l.loads.load(row).state == NodeLoads::State::reported);
    CHECK(l.loads.load(row).compared()[0] == 2000);
    l.unreport("new");
    CHECK(l.loads.load(row).state == NodeLoads::State::unreported);
    l.report(Report("new").uses("2", "1Gi"));
    CHECK(l.loads.load(row).compared()[0] == 3000);
    l.nodes.set_node(row, nullptr);
    CHECK(l.loads.load(row).state == NodeLoads::State::unreported);
    CHECK(l.loads.pods(row).size() == 1);
    l.nodes.remove_pod(row, info);
    // The row is another node's now.
    CHECK(l.nodes.row_of(Symbol("other")) == row);
    l.nodes.set_node(row, make_node("other"));
    CHECK(l.loads.load(row).state == NodeLoads::State::unreported);
  }
}

TEST_CASE("what is reported of pods, and what is estimated beyond it") {
  SECTION("nothing, and pods that are named without usage") {
    Loads l;
    l.add("prod-1", {"40", "160Gi"});
    l.add("mid-1", {"4k", "8Gi", "", "", kMid});
    l.report(Report("a")
                 .uses("72", "280Gi")
                 .pods({{"", "", "", ""},
                        {"invalid", "", "", ""},
                        {"prod-1", "50", "200Gi", "koord-prod"},
                        {"mid-1", "20", "75Gi", "koord-mid"}}));
    CHECK(l.sum(Part::prod_usage) == Amounts{50'000, 200 * kGi});
    CHECK(l.adding(Part::delta).empty());
  }
  SECTION("what no pod uses is prod pods', where the arguments say so") {
    Loads l(R"({"prodUsageIncludeSys":true})");
    l.report(Report("a").uses("2", "4Gi").system("2", "4Gi"));
    CHECK(l.sum(Part::prod_usage) == Amounts{2000, 4 * kGi});
  }
  SECTION("only what exceeds, resource by resource") {
    Loads l;
    const WallTime now = l.clock.now();
    l.add("p", {"4", "1Gi", "", "", kProd, "", [&](api::Pod& p) { condition(p, "PodScheduled", now); }});
    l.report(Report("a").at(now).uses("10", "10Gi").pods({{"p", "1", "3Gi", "koord-prod"}}));
    CHECK(l.sum(Part::delta) == Amounts{3000, 0});
    CHECK(l.sum(Part::prod_delta) == Amounts{3000, 0});
    CHECK(l.sum(Part::prod_usage) == Amounts{1000, 3 * kGi});
    l.report(Report("a").at(now + seconds(60)).uses("10", "10Gi").pods({{"p", "1", "3Gi", "koord-prod"}}));
    CHECK(l.sum(Part::delta) == kNone);
    // Rarer reports look further back.
    l.report(Report("a").every(seconds(61)).at(now + seconds(60)).uses("10").pods({{"p", "1", "", ""}}));
    CHECK(l.sum(Part::delta) == Amounts{3000, kGi});
    // It is not reported as prod: all of its estimate is beyond.
    CHECK(l.sum(Part::prod_usage) == kNone);
    CHECK(l.sum(Part::prod_delta) == Amounts{4000, kGi});
    l.remove("p");
    for (const Part part : {Part::delta, Part::prod_delta, Part::prod_usage, Part::estimated})
      CHECK(l.sum(part) == kNone);
  }
  SECTION("as of no time") {
    Loads l;
    l.add("p", {"4", "1Gi", "", "", 0, "",
                [&](api::Pod& p) { condition(p, "PodScheduled", l.clock.now() - minutes(9)); }});
    l.report(Report("a").at(l.clock.now()).uses("10", "10Gi").pods({{"p", "1", "3Gi", ""}}));
    CHECK(l.sum(Part::delta) == kNone);
    l.report(Report("a").uses("10", "10Gi").pods({{"p", "1", "3Gi", ""}}));
    CHECK(l.sum(Part::delta) == Amounts{3000, 0});
    CHECK(l.loads.load(l.row("a")).expired);
  }
  SECTION("nobody makes it overflow") {
    Loads l;
    Report wild = Report("a").uses("9223372036854775807", "9223372036854775807").at(l.clock.now());
    wild.every(seconds(INT64_MIN / 2'000'000'000));
    l.add("p", {"9223372036854775807", "9223372036854775807"});
    l.report(wild);
    l.report(wild.at(WallTime(seconds(-5'000'000'000))));
    CHECK(l.loads.load(l.row("a")).expired);
    CHECK(l.loads.load(l.row("a")).compared()[0] > load_aware::kMost);
  }
  SECTION("as long as the arguments say, whatever is measured") {
    Loads l(
        R"({"estimatedSecondsAfterPodScheduled":600,"estimatedScalingFactors":{"cpu":100,"memory":100}})");
    const WallTime now = l.clock.now();
    l.add("p", {"4", "1Gi", "", "", 0, "", [&](api::Pod& p) { condition(p, "PodScheduled", now); }});
    l.report(Report("a").at(now + seconds(599)).uses("10", "10Gi").pods({{"p", "1", "3Gi", ""}}));
    CHECK(l.sum(Part::delta) == Amounts{3000, 0});
    l.report(Report("a").at(now + seconds(600)).uses("10", "10Gi").pods({{"p", "1", "3Gi", ""}}));
    CHECK(l.sum(Part::delta) == kNone);
  }
}

TEST_CASE("aggregated usage of a period, of the longest one, or none") {
  const auto compared = [](const char* duration, const Report& report) {
    Loads l(fmt::format(R"({{"aggregated":{{"usageThresholds":{{"cpu":1}},"usageAggregationType":"p95",
                            "usageAggregatedDuration":"{}"}}}})",
                        duration));
    l.add("p", {"1", "1Gi", "", "", kProd, "",
                [&](api::Pod& p) { condition(p, "PodScheduled", l.clock.now() - minutes(5)); }});
    l.report(Report(report).at(l.clock.now()).pods({{"p", "10m", "1Mi", ""}}));
    return l.loads.load(l.row("a")).compared()[0];
  };
  const Report three = Report("a")
                           .uses("7")
                           .aggregated(minutes(5), "p95", usage("30"))
                           .aggregated(minutes(10), "p95", usage("50"))
                           .aggregated(minutes(15), "p95", usage(""));
  CHECK(compared("0s", three) == 50'000);
  CHECK(compared("5m", three) == 30'000);
  CHECK(compared("0s", Report("a").uses("30").aggregated(minutes(5), "p95", usage(""))) == 30'000);
  CHECK(compared("0s", Report("a").uses("30")) == 30'000);
  // A period that nobody reports: what all pods are estimated to use.
  CHECK(compared("15m", three) == 850);
  CHECK(compared("1h", three) == 850);
}

TEST_CASE("resources beside cpu and memory count when the arguments or a node name them") {
  LoadWorld world(R"({"supportedResources":["ephemeral-storage"]})");
  const auto node = [&](std::string_view thresholds) {
    world.engine.put_node(make_node("n", "96", "512Gi", [&](api::Node& n) {
      n.status.allocatable["ephemeral-storage"] = api::Quantity::must("100Gi");
      n.metadata.annotations["scheduling.koordinator.sh/usage-thresholds"] = Symbol(thresholds);
    }));
  };
  node(R"({"usageThresholds":{"ephemeral-storage":50,"unknown":1}})");
  Report report = Report("n").at(world.clock.now()).uses("1", "1Gi");
  report.metric.status.node_metric.ensure().node_usage.resources["ephemeral-storage"] =
      api::Quantity::must("60Gi");
  world.report(report);
  CHECK(world.refused(load_pod("p", {})) == "node(s) ephemeral-storage usage exceed threshold");
  node(R"({"usageThresholds":{"ephemeral-storage":60}})");
  CHECK(world.refused(load_pod("p", {})).empty());
}

TEST_CASE("the arguments of the original are completed, and refused with its words") {
  struct Case {
    const char* name;
    const char* args;
    const char* error;  // behind the path
  };
  for (
      const Case& c : std::initializer_list<Case>{
          {"empty args", "{}", ""},
          {"valid nodeMetricExpirationSeconds", R"({"nodeMetricExpirationSeconds":180})", ""},
          {"zero nodeMetricExpirationSeconds", R"({"nodeMetricExpirationSeconds":0})",
           "nodeMetricExpiredSeconds: Invalid value: 0: nodeMetricExpiredSeconds should be a positive value"},
          {"negative nodeMetricExpirationSeconds", R"({"nodeMetricExpirationSeconds":-1})",
           "nodeMetricExpiredSeconds: Invalid value: -1: nodeMetricExpiredSeconds should be a positive "
           "value"},
          {"valid resource weights",
           R"({"resourceWeights":{"cpu":1,"memory":1},"estimatedScalingFactors":{"cpu":85,"memory":70}})",
           ""},
          {"resource weight zero", R"({"resourceWeights":{"cpu":0},"estimatedScalingFactors":{"cpu":85}})",
           R"(resourceWeights: Invalid value: {"cpu":0}: resource Weight of cpu should be a positive value, got 0)"},
          {"resource weight exceeds 100", R"({"resourceWeights":{"cpu":101}})",
           R"(resourceWeights: Invalid value: {"cpu":101}: resource Weight of cpu should be less than 100, got 101)"},
          {"dominantResourceWeight negative", R"({"dominantResourceWeight":-1})",
           "dominantResourceWeight: Invalid value: -1: dominantResourceWeight should not be a negative "
           "value"},
          {"dominantResourceWeight exceeds 100", R"({"dominantResourceWeight":101})",
           "dominantResourceWeight: Invalid value: 101: dominantResourceWeight should be less than 100"},
          {"valid dominantResourceWeight boundary", R"({"dominantResourceWeight":100})", ""},
          {"usageThreshold negative", R"({"usageThresholds":{"cpu":-1}})",
           R"(usageThresholds: Invalid value: {"cpu":-1}: resource Threshold of cpu should be a positive value, got -1)"},
          {"usageThreshold exceeds 100", R"({"usageThresholds":{"cpu":101}})",
           R"(usageThresholds: Invalid value: {"cpu":101}: resource Threshold of cpu should be less than 100, got 101)"},
          {"estimatedScalingFactor zero", R"({"estimatedScalingFactors":{"cpu":0}})",
           R"(estimatedScalingFactors: Invalid value: {"cpu":0,"memory":70}: estimated resource ScalingFactor of cpu should be a positive value, got 0)"},
          {"estimatedScalingFactor exceeds 100", R"({"estimatedScalingFactors":{"cpu":101}})",
           R"(estimatedScalingFactors: Invalid value: {"cpu":101,"memory":70}: estimated resource ScalingFactor of cpu should be less than 100, got 101)"},
          {"resourceWeight missing estimatedScalingFactor", R"({"resourceWeights":{"nvidia.com/gpu":1}})",
           R"(estimatedScalingFactors: Not found: "nvidia.com/gpu")"},
          {"valid aggregated args",
           R"({"aggregated":{"usageAggregationType":"p95","usageAggregatedDuration":"1m",
                              "scoreAggregationType":"p90","scoreAggregatedDuration":"1m"}})",
           ""},
          {"invalid aggregation type", R"({"aggregated":{"usageAggregationType":"invalid"}})",
           R"(aggregated.usageAggregationType: Unsupported value: "invalid": supported values: "avg", "p50", "p90", "p95", "p99")"},
          {"negative aggregated duration", R"({"aggregated":{"usageAggregatedDuration":"-1m"}})",
           R"(aggregated.usageAggregatedDuration: Invalid value: "-1m0s": duration must be >= 0)"},
          {"thresholds of aggregated usage", R"({"aggregated":{"usageThresholds":{"cpu":101}}})",
           R"(aggregated.usageThresholds: Invalid value: {"cpu":101}: resource Threshold of cpu should be less than 100, got 101)"},
          {"of scores", R"({"aggregated":{"scoreAggregationType":"p1"}})",
           R"(aggregated.scoreAggregationType: Unsupported value: "p1": supported values: "avg", "p50", "p90", "p95", "p99")"}}) {
    INFO(c.name);
    const LoadAwareSchedulingArgs args = args_of(c.args);
    FieldErrors errors;
    args.validate("args", errors);
    CHECK(errors.text() == (*c.error == '\0' ? "[]" : fmt::format("args.{}", c.error)));
  }
  const LoadAwareSchedulingArgs defaults = args_of("{}");
  CHECK(defaults.resource_weights == load_aware::Numbers{{"cpu", 1}, {"memory", 1}});
  CHECK(defaults.usage_thresholds == load_aware::Numbers{{"cpu", 65}, {"memory", 95}});
  CHECK(defaults.estimated_scaling_factors == load_aware::Numbers{{"cpu", 85}, {"memory", 70}});
  CHECK(defaults.filter_expired_node_metrics == true);
  CHECK(defaults.enable_schedule_when_node_metrics_expired == false);
  CHECK(defaults.node_metric_expiration_seconds == 180);
  CHECK(args_of(R"({"dominantResourceWeight":1})").resource_weights.empty());
  CHECK(args_of(R"({"estimatedScalingFactors":{"cpu":1}})").estimated_scaling_factors ==
        load_aware::Numbers{{"cpu", 1}, {"memory", 70}});
  // What a configuration says of it is what /configz shows.
  KubeSchedulerConfiguration config = load_config(R"({"dominantResourceWeight":0})");
  REQUIRE(complete(config, plugin_table()).has_value());
  CHECK(config.profiles[0].plugin_config[0].args.text.find(R"("resourceWeights":{"cpu":1,"memory":1})") !=
        std::string::npos);
}

TEST_CASE("what is known of a node's load is told as the original tells it") {
  Loads l;
  CHECK(load_aware::describe(l.loads, "nobody") == "{}");
  l.unreport("b");
  CHECK(load_aware::describe(l.loads, "b") == "{}");
  const WallTime now = l.clock.now();
  l.add("p", {"1", "4Gi", "", "", kProd});
  l.add("q", {"1k", "1500000", "", "", kMid, "",
              [&](api::Pod& p) { condition(p, "PodScheduled", now - minutes(9)); }});
  l.report(Report("a")
               .at(now)
               .uses("10", "10Gi")
               .pods({{"p", "500m", "5Gi", "koord-prod"}, {"q", "500m", "1Gi", ""}}));
  const std::string told = load_aware::describe(l.loads, "a");
  const std::size_t first = told.find(R"("name":"q")"), second = told.find(R"("name":"p")");
  CHECK(first < second);
  CHECK(second != std::string::npos);
  CHECK(told.starts_with(
      fmt::format(R"({{"pods":[{{"timestamp":"{}","pod":{{)", api::MicroTime(now - minutes(9)).to_string())));
  CHECK(told.substr(told.find(R"(,"prodUsage")")) ==
        R"(,"prodUsage":{"cpu":"500m","memory":"5Gi"},"nodeDelta":{"cpu":"500m","memory":"0"},)"
        R"("prodDelta":{"cpu":"500m","memory":"0"},"nodeEstimated":{"cpu":"2","memory":"4296467296"},)"
        R"("nodeDeltaPods":["default/p"],"prodDeltaPods":["default/p"],)"
        R"("nodeEstimatedPods":["default/p","default/q"]})");
}

}  // namespace
}  // namespace koord::scheduling::test
