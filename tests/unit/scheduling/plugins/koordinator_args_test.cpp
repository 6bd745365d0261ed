// The arguments of Koordinator's plugins: their defaults, and what is refused in which words; the rows of
// Koordinator's own tests among others, as its program answers them (tests/kube/compare_config_test.py).
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"
#include "koord/scheduling/config/extension_point.hpp"
#include "support/tsv.hpp"
#include "world.hpp"

namespace koord::scheduling::test {
namespace {

/// A configuration with one plugin more at one point; completed and made, as far as that goes.
struct Made {
  Made(const std::string& plugin, const std::string& point, const std::string& args) {
    config.profiles.emplace_back();
    ProfileConfig& profile = config.profiles.back();
    for (const ExtensionPoint& p : extension_points())
      if (p.name() == point) (profile.plugins.ensure().*p.configured).enabled.push_back({plugin, {}});
    if (!args.empty()) profile.plugin_config.push_back({plugin, {args}, nullptr});
    done = complete(config, plugin_table());
    if (!done) return;
    done = validate(config, plugin_table());
    if (!done) return;
    decoded = true;
    if (auto profiles = build_profiles(config, plugin_table(), engine.context()); !profiles)
      done = std::move(profiles).error();
  }

  ManualClock clock;
  Engine engine{clock, {}};
  KubeSchedulerConfiguration config;
  bool decoded = false;
  Result<> done;
};

TEST_CASE("arguments of Koordinator's plugins are refused in its words") {
  std::ifstream file(koord::test::golden("scheduler/koordinator_args.jsonl"));
  std::string line;
  int rows = 0;
  while (std::getline(file, line)) {
    const json::Document row = std::move(json::parse(line)).value();
    const std::string plugin(json::text_at(row, "plugin"));
    INFO(plugin << ": " << json::text_at(row, "name"));
    const Made made(plugin, std::string(json::text_at(row, "point")),
                    json::to_text(*json::find(row, "args")));
    ++rows;
    CHECK(made.decoded == !json::true_at(row, "decoding"));
    if (!made.decoded) continue;
    const std::string_view error = json::text_at(row, "error");
    CHECK(made.done.has_value() == error.empty());
    if (!made.done)
      CHECK(
          made.done.error().message() ==
          fmt::format("creating profile for scheduler name default-scheduler: initializing plugin \"{}\": {}",
                      plugin, error));
  }
  CHECK(rows > 60);
  // What nobody enables nobody looks at.
  CHECK(Made("SchedulingHint", "", R"({"maxHintNodes":-1})").done.has_value());
}

TEST_CASE("a configuration shows the defaults of the plugins that it enables, and of no others") {
  struct Case {
    const char *plugin, *point, *defaults;
  };
  const char* const kHead = R"({"apiVersion":"kubescheduler.config.k8s.io/v1","kind":")";
  const Case cases[] = {
      {"SchedulingHint", "preFilter", R"("maxHintNodes":100)"},
      {"NodeNUMAResource", "filter",
       R"("defaultCPUBindPolicy":"FullPCPUs","scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"cpu","weight":1},{"name":"memory","weight":1}]},"numaScoringStrategy":{"type":"LeastAllocated","resources":[{"name":"cpu","weight":1},{"name":"memory","weight":1}]})"},
      {"Reservation", "filter",
       R"("enablePreemption":false,"minCandidateNodesPercentage":10,"minCandidateNodesAbsolute":100,"controllerWorkers":1,"gcDurationSeconds":86400,"gcIntervalSeconds":60,"resyncIntervalSeconds":60)"},
      {"ElasticQuota", "preFilter",
       R"("delayEvictTime":"2m0s","revokePodInterval":"1s","defaultQuotaGroupMax":{"cpu":"1844674407370955161","memory":"1844674407370955161"},"systemQuotaGroupMax":{"cpu":"1844674407370955161","memory":"1844674407370955161"},"quotaGroupNamespace":"koordinator-system","monitorAllQuotas":false,"enableCheckParentQuota":false,"enableRuntimeQuota":true,"enableMinQuotaScale":true,"disableDefaultQuotaPreemption":true,"enableQueueHint":false,"quotaSnapshotUpdateInterval":"2m0s")"},
      {"Coscheduling", "permit",
       R"("defaultTimeout":"10m0s","controllerWorkers":1,"enablePreemption":false,"awareNetworkTopology":false,"defaultMatchPolicy":"once-satisfied")"},
      {"DeviceShare", "filter",
       R"("scoringStrategy":{"type":"LeastAllocated","resources":[{"name":"koordinator.sh/gpu-memory-ratio","weight":1},{"name":"koordinator.sh/gpu-memory","weight":1},{"name":"koordinator.sh/rdma","weight":1},{"name":"koordinator.sh/fpga","weight":1}]},"gpuSharedResourceTemplatesConfig":{"configMapNamespace":"koordinator-system","configMapName":"gpu-shared-resource-templates","matchedResources":["huawei.com/npu-core"]})"},
  };
  for (const Case& c : cases) {
    INFO(c.plugin);
    const Made made(c.plugin, c.point, "");
    REQUIRE(made.done.has_value());
    int shown = 0;
    for (const PluginConfig& p : made.config.profiles[0].plugin_config) {
      if (!is_koordinators(p.name)) continue;
      ++shown;
      CHECK(p.name == c.plugin);
      CHECK(p.args.text == fmt::format("{}{}Args\",{}}}", kHead, c.plugin, c.defaults));
    }
    CHECK(shown == 1);
  }
}

TEST_CASE("a hook of quotas is refused by name, as by Koordinator, which has none either") {
  const Made made("ElasticQuota", "preFilter", R"({"hookPlugins":[{"key":"k","factoryKey":"f"}]})");
  REQUIRE(made.done.has_error());
  CHECK_THAT(made.done.error().message(),
             Catch::Contains("failed to initialize hook plugin k: factory f not found"));
}

TEST_CASE("Koordinator's plugins stand at their extension points alone") {
  const auto refused = [](const char* plugin, const char* point, const char* why) {
    const Made made(plugin, point, "");
    REQUIRE(made.done.has_error());
    CHECK_THAT(made.done.error().message(), Catch::EndsWith(why));
  };
  refused("SchedulingHint", "filter", "plugin \"SchedulingHint\" does not extend FilterPlugin plugin");
  refused("DefaultPreBind", "score", "plugin \"DefaultPreBind\" does not extend ScorePlugin plugin");
  refused("NodeResourcesFitPlus", "filter",
          "plugin \"NodeResourcesFitPlus\" does not extend FilterPlugin plugin");
  refused("Nonsense", "filter", "FilterPlugin \"Nonsense\" does not exist");
  CHECK(Made("SchedulingHint", "preFilter", "").done.has_value());
  CHECK(Made("DefaultPreBind", "preBind", "").done.has_value());
  CHECK(Made("ScarceResourceAvoidance", "preScore", "").done.has_value());
}

}  // namespace
}  // namespace koord::scheduling::test
