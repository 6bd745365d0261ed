// Passes: whom they ask and in which order, limits, dry runs, what fails, and a lease that is lost meanwhile.
#include "passes/passes.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/log.hpp"
#include "passes/scripted_plugins.hpp"
#include "support/run_task.hpp"

namespace koord::descheduler::test {
namespace {

using namespace std::chrono_literals;

api::LabelSelector labels(std::string_view key, std::string_view value) {
  api::LabelSelector selector;
  selector.match_labels[key] = Symbol(value);
  return selector;
}

/// Two profiles on three nodes: a and b with pods of the namespaces x and y, and c.
struct World {
  World() {
    for (const char* name : {"a", "b", "c"}) node(name);
    for (const char* name : {"a1", "a2", "a3"}) pod("x", name, "a");
    for (const char* name : {"b1", "b2"}) pod("y", name, "b");
    config.profiles.resize(2);
    config.profiles[0].name = "first";
    config.profiles[1].name = "second";
    for (ProfileConfig& profile : config.profiles) {
      Plugins& plugins = profile.plugins.ensure();
      plugins.deschedule.enabled = {{"Chooser"}};
      plugins.balance.enabled = {{"Chooser"}, {"Balancer"}};
    }
  }

  api::Node& node(std::string name) {
    auto made = std::make_shared<api::Node>();
    made->metadata.name = std::move(name);
    made->metadata.labels["pool"] = Symbol(made->metadata.name == "c" ? "cold" : "hot");
    objects.nodes.push_back(made);
    return *made;
  }
  void pod(std::string_view ns, std::string name, std::string_view node) {
    auto made = std::make_shared<api::Pod>();
    made->metadata.name = name;
    made->metadata.namespace_ = Symbol(ns);
    made->metadata.uid = name + "-uid";
    made->spec.node_name = Symbol(node);
    objects.pods.push_back(made);
  }
  void condition(std::string_view name, const char* type, const char* status) {
    for (auto& node : objects.nodes) {
      if (node->metadata.name != name) continue;
      auto changed = std::make_shared<api::Node>(*node);
      api::NodeCondition condition;
      condition.type = Symbol(type);
      condition.status = Symbol(status);
      changed->status.conditions.push_back(condition);
      node = changed;
    }
  }

  Passes& passes() {
    if (made) return *made;
    made.emplace(Passes::Parts{
        .clock = loop.clock,
        .log = log,
        .metrics = registry,
        .may_write = [this] { return leads; },
        .node_fit = [](const Snapshot&) { return std::unique_ptr<NodeFit>(); },
        .dry_run = config.dry_run,
        .nodes = nodes,
        .limits = limits,
        .progress = [this](std::string_view what,
                           std::size_t chosen) { progress.push_back(fmt::format("{}, {}", what, chosen)); }});
    if (auto done = complete(config, scripted_table()); !done) FAIL(done.error().message());
    auto profiles = make_profiles(config, scripted_table(), [this](const ProfileConfig&) {
      return PluginContext{.profile = {},
                           .clock = loop.clock,
                           .log = log,
                           .gates = gates,
                           .snapshot = [this] { return made->snapshot(); },
                           .pass = [this] { return made->pass(); }};
    });
    if (!profiles) FAIL(profiles.error().message());
    made->set_profiles(std::move(*profiles));
    return *made;
  }
  const PassReport& run() {
    Passes& all = passes();
    koord::test::run_task(loop, all.run(objects));
    CHECK(all.snapshot() == nullptr);
    CHECK(all.pass() == nullptr);
    return all.reports().passes.front();
  }
  std::vector<std::string> refusals(const PassReport& report) {
    std::vector<std::string> all;
    all.reserve(report.refused.size());
    for (const ReportedPod& pod : report.refused) all.push_back(fmt::format("{}: {}", pod.name, pod.refused));
    return all;
  }

  koord::test::Loop loop;
  CapturedLog captured;
  Logger log{captured, loop.clock};
  metrics::Registry registry;
  FeatureGates gates;
  Script script;
  SnapshotObjects objects;
  DeschedulerConfiguration config;
  std::optional<api::Selector> nodes;
  PassLimits::Limits limits;
  bool leads = true;
  std::vector<std::string> progress;
  std::optional<Passes> made;
};

using Names = std::vector<std::string>;

TEST_CASE("a pass asks every profile to deschedule, then every profile to balance, in the file's order") {
  World w;
  w.run();
  CHECK(w.script.asked == Names{"first/Chooser/deschedule", "second/Chooser/deschedule",
                                "first/Chooser/balance", "first/Balancer/balance", "second/Chooser/balance",
                                "second/Balancer/balance"});
  CHECK(w.script.nodes == std::vector<std::size_t>(6, 3));
  CHECK(w.script.made == 2);
}

TEST_CASE("who fails stops nobody else, and is reported") {
  World w;
  w.script.fails = {{"first/Chooser/deschedule", "out of order"}, {"first/Chooser/balance", "again"}};
  w.script.wants["second/Balancer/balance"] = {"a1"};
  const PassReport& report = w.run();
  CHECK(w.script.asked.size() == 6);
  CHECK(w.script.evicted == Names{"second/Balancer/a1: a1 of a"});
  REQUIRE(report.errors.size() == 2);
  CHECK(report.errors[0] == ReportedError{"first", "Chooser", "deschedule", "out of order"});
  CHECK(w.captured.contains("out of order"));
  CHECK_THAT(w.registry.exposition(), Catch::Contains("koord_descheduler_passes_total{result=\"failed\"} 1"));
}

TEST_CASE("what goes is asked of the profile's evictor, and reported") {
  World w;
  w.script.wants["first/Chooser/deschedule"] = {"a1", "b1"};
  w.script.evict = [](const api::Pod& pod) -> Task<Result<>> {
    if (pod.metadata.name == "b1") co_return Error(Code::too_many_requests, "its budget keeps it");
    co_return Result<>();
  };
  const PassReport& report = w.run();
  CHECK(w.script.results == std::vector<bool>{true, false});
  CHECK(w.script.saw_snapshot);
  CHECK(w.script.saw_pass);
  CHECK(report.gone == 1);
  CHECK(report.stay == 1);
  REQUIRE(report.evicted.size() == 1);
  CHECK(report.evicted[0] == ReportedPod{.namespace_ = "x",
                                         .name = "a1",
                                         .uid = "a1-uid",
                                         .node = "a",
                                         .profile = "first",
                                         .plugin = "Chooser",
                                         .reason = "a1 of a",
                                         .refused = ""});
  CHECK(w.refusals(report) == Names{"b1: its budget keeps it"});
  CHECK_THAT(
      w.registry.exposition(),
      Catch::Contains(
          R"(koord_descheduler_chosen_pods_total{result="gone",strategy="Chooser",profile="first"} 1)") &&
          Catch::Contains(
              R"(koord_descheduler_chosen_pods_total{result="refused",strategy="Chooser",profile="first"} 1)"));
}

TEST_CASE("limits count what has gone in the whole pass, and are new in the next") {
  World w;
  w.script.wants = {{"first/Chooser/deschedule", {"a1", "a2", "b1"}},
                    {"second/Balancer/balance", {"b2", "a3"}}};
  SECTION("of a node") {
    w.limits.per_node = 1;
    CHECK(w.refusals(w.run()) == Names{"a2: maximum number of evicted pods per node reached",
                                       "b2: maximum number of evicted pods per node reached",
                                       "a3: maximum number of evicted pods per node reached"});
  }
  SECTION("of a namespace") {
    w.limits.per_namespace = 2;
    CHECK(w.refusals(w.run()) == Names{"a3: maximum number of evicted pods per namespace reached"});
  }
  SECTION("in all") {
    w.limits.total = 2;
    CHECK(w.refusals(w.run()) == Names{"b1: maximum number of evicted pods total reached",
                                       "b2: maximum number of evicted pods total reached",
                                       "a3: maximum number of evicted pods total reached"});
    w.script.evicted.clear();
    w.run();
    CHECK(w.script.evicted.size() == 2);
  }
  SECTION("none at all") {
    w.limits.total = 0;
    CHECK(w.run().gone == 0);
    CHECK(w.script.evicted.empty());
  }
  SECTION("what an evictor refused does not count") {
    w.limits.total = 1;
    w.script.evict = [](const api::Pod& pod) -> Task<Result<>> {
      if (pod.metadata.name != "b1") co_return Error(Code::invalid, "no");
      co_return Result<>();
    };
    CHECK(w.run().gone == 1);
  }
}

TEST_CASE("a dry run counts and reports, within the limits, and asks no evictor to evict") {
  World w;
  w.config.dry_run = true;
  w.limits.total = 2;
  w.script.wants["first/Chooser/deschedule"] = {"a1", "a2", "a3"};
  const PassReport& report = w.run();
  CHECK(w.script.evicted.empty());
  CHECK(w.script.results == std::vector<bool>{true, true, false});
  CHECK(report.dry_run);
  CHECK(report.gone == 2);
  CHECK(w.captured.contains("evicted pod in dry run mode"));
  CHECK(report.changed.size() == 1);
  CHECK(report.changed[0].pods_after == report.changed[0].pods - 2);
}

TEST_CASE("a pass tells how far it is: whom it asks, and how many have been chosen") {
  World w;
  w.config.dry_run = true;
  w.config.profiles.resize(1);
  w.limits.total = 2;
  w.script.wants["first/Chooser/deschedule"] = {"a1", "a2", "a3"};
  w.run();
  CHECK(w.progress == Names{"asking Chooser, 0", "asking Chooser, 1", "asking Chooser, 2",
                            "asking Chooser, 2", "asking Chooser, 2", "asking Balancer, 2",
                            "looking where they would go, 2"});
}

TEST_CASE("who would refuse an eviction is heard in a dry run, too") {
  World w;
  w.config.dry_run = true;
  w.script.wants["first/Chooser/deschedule"] = {"a1", "a2"};
  w.script.rehearse = [](const api::Pod& pod) {
    return pod.metadata.name == "a1" ? Result<>(Error(Code::invalid, "not now")) : Result<>();
  };
  const PassReport& report = w.run();
  CHECK(w.script.results == std::vector<bool>{false, true});
  CHECK(w.refusals(report) == Names{"a1: not now"});
  CHECK(report.gone == 1);
}

TEST_CASE("all filters have to agree, and of who goes already nobody may choose again") {
  World w;
  w.script.asks_filters = true;
  w.config.profiles[0].plugins->filter.enabled = {{"OtherEvictor"}};
  w.script.keeps = {{"OtherEvictor/a1", "not this one"}, {"MigrationController/a2", "nor that one"}};
  w.script.wants = {{"first/Chooser/deschedule", {"a1", "a2", "a3"}},
                    {"second/Chooser/balance", {"a1", "a2", "a3"}}};
  w.run();
  CHECK(w.script.evicted == Names{"first/Chooser/a3: a3 of a", "second/Chooser/a1: a1 of a"});
  CHECK(w.script.made == 3);
  SECTION("and who does not ask the filters is told so") {
    w.script.asks_filters = false;
    w.script.evicted.clear();
    w.script.wants = {{"first/Chooser/deschedule", {"a1"}}, {"second/Balancer/balance", {"a1"}}};
    CHECK(w.refusals(w.run()) == Names{"a1: it goes already, in this pass"});
    CHECK(w.script.evicted.size() == 1);
  }
}

TEST_CASE("nodes that are not ready, or not selected, are not looked at") {
  World w;
  SECTION("cordoned ones and those without conditions are") { w.condition("a", "Ready", "True"); }
  SECTION("a condition Ready that is not True") {
    w.condition("a", "Ready", "Unknown");
    w.node("d");
  }
  SECTION("the configuration's selector") {
    w.node("d");
    auto selector = labels("pool", "hot");
    w.nodes = *api::Selector::from(&selector);
  }
  w.run();
  CHECK(w.script.nodes == std::vector<std::size_t>(6, 3));
}

TEST_CASE("a profile looks at the nodes of its selector alone") {
  World w;
  w.config.profiles[1].node_selector = labels("pool", "cold");
  w.run();
  CHECK(w.script.nodes == std::vector<std::size_t>{3, 1, 3, 3, 1, 1});
}

TEST_CASE("with one ready node nobody is asked") {
  World w;
  SECTION("two are not ready") {
    w.condition("a", "Ready", "False");
    w.condition("b", "Ready", "False");
  }
  SECTION("one is selected") {
    auto selector = labels("pool", "cold");
    w.nodes = *api::Selector::from(&selector);
  }
  SECTION("there is none") { w.objects = {}; }
  const PassReport& report = w.run();
  CHECK(w.script.asked.empty());
  CHECK(report.skipped ==
        "the cluster size is 0 or 1 meaning eviction causes service disruption or degradation");
  CHECK(w.captured.contains("the cluster size is 0 or 1"));
  CHECK_FALSE(w.passes().age());
  CHECK_THAT(w.registry.exposition(),
             Catch::Contains("koord_descheduler_passes_total{result=\"skipped\"} 1"));
}

TEST_CASE("a lease that is lost in the middle of a pass ends it before the next eviction") {
  World w;
  w.script.wants = {{"first/Chooser/deschedule", {"a1", "a2"}}, {"second/Chooser/deschedule", {"b1"}}};
  w.script.evict = [&](const api::Pod&) -> Task<Result<>> {
    w.leads = false;
    co_return Result<>();
  };
  const PassReport& report = w.run();
  CHECK(w.script.evicted == Names{"first/Chooser/a1: a1 of a"});
  CHECK(w.script.asked == Names{"first/Chooser/deschedule"});
  CHECK(w.refusals(report) == Names{"a2: this process does not lead any more"});
}

TEST_CASE("the last ten reports are kept, and lists in them are bounded") {
  World w;
  w.limits.total = 510;
  for (int i = 0; i < 600; ++i) {
    w.pod("z", fmt::format("z{:03}", i), "c");
    w.script.wants["first/Chooser/deschedule"].push_back(fmt::format("z{:03}", i));
  }
  const PassReport& first = w.run();
  CHECK(first.gone == 510);
  CHECK(first.evicted.size() == 500);
  CHECK(first.refused.size() == 90);
  w.script.wants.clear();
  for (int i = 0; i < 10; ++i) w.run();
  const PassReports& reports = w.passes().reports();
  CHECK(reports.passes.size() == 10);
  CHECK(reports.passes.front().number == 11);
  CHECK(reports.passes.back().number == 2);
}

TEST_CASE("a report says what was seen, how long it took, and how old it is") {
  World w;
  auto metric = std::make_shared<api::NodeMetric>();
  metric->metadata.name = "b";
  w.objects.node_metrics.push_back(metric);
  w.condition("c", "Ready", "False");
  w.script.wants["first/Chooser/deschedule"] = {"a1"};
  w.script.evict = [&](const api::Pod&) -> Task<Result<>> {
    w.loop.clock.advance(3s);
    co_return Result<>();
  };
  const PassReport& report = w.run();
  CHECK(report.nodes == 3);
  CHECK(report.ready_nodes == 2);
  CHECK(report.pods == 5);
  CHECK(report.node_metrics == 1);
  CHECK(report.took == api::Duration(3s));
  w.loop.advance(2s);
  CHECK(w.passes().age() == 5s);
  CHECK_THAT(w.registry.exposition(), Catch::Contains("koord_descheduler_last_pass_age_seconds 5"));
  CHECK_THAT(api::encode(w.passes().reports()), Catch::Contains(R"("took":"3s")"));
}

TEST_CASE("a plugin that cannot be made is named") {
  World w;
  w.script.make_error = "nothing to do";
  REQUIRE(complete(w.config, scripted_table()).has_value());
  const auto made = make_profiles(w.config, scripted_table(), [&](const ProfileConfig&) {
    return PluginContext{.profile = {}, .clock = w.loop.clock, .log = w.log, .gates = w.gates};
  });
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().message() ==
        "creating profile for descheduler name first: initializing plugin \"Balancer\": nothing to do");
}

}  // namespace
}  // namespace koord::descheduler::test
