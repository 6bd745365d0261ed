// How much larger a node's resources are shown: upstream's tables (19 + 5).
#include "plugins/resource_amplification/resource_amplification.hpp"

#include <catch2/catch.hpp>

#include "framework/noderesource/plan.hpp"
#include "koord/api/koordinator/node.hpp"
#include "plugins.hpp"
#include "vectors.hpp"

namespace koord::manager {
namespace {

TEST_CASE("resourceamplification: 10 cases of a node's ratios") {
  const auto rows = vectors("plugins", {"amplification"});
  REQUIRE(rows.size() == 10);
  for (const Vector& row : rows) {
    if (!row.is("available")) continue;
    INFO(row.json("node") << row.json("strategy"));
    const auto node = row.take<api::Node>("node");
    const auto cpus = api::cpu_normalization_ratio(node.metadata.annotations);
    const auto ratios = cpus
                            ? amplification_ratios(row.take<ResourceAmplificationStrategy>("strategy"), *cpus)
                            : Result<std::string>(cpus.error());
    CHECK(ratios.has_value() == row.has("want"));
    if (ratios && row.has("want")) CHECK(*ratios == row.text("want"));
  }
}

TEST_CASE("resourceamplification: 5 and 4 cases of what becomes of the annotation") {
  const auto rows = vectors("plugins", {"amplification_differs", "amplification_set"});
  REQUIRE(rows.size() == 9);
  for (const Vector& row : rows) {
    INFO(row.text("before") << " " << row.text("after") << " " << row.text("ratio"));
    api::Node node;
    if (row.has("before"))
      node.metadata.annotations[api::AmplificationRatios::kAnnotation] = Symbol(row.text("before"));
    NodePlan plan;
    const std::string_view now =
        row.text("table") == "amplification_set" ? row.text("ratio") : row.text("after");
    if (!now.empty()) plan.after.metadata.annotations[api::AmplificationRatios::kAnnotation] = Symbol(now);
    if (row.text("table") == "amplification_set")
      CHECK(api::value_or(with_meta(node, plan, resource_plugin_table()).metadata.annotations,
                          api::AmplificationRatios::kAnnotation) == row.text("want"));
    else
      CHECK(changes_of(node, plan, 0.1, resource_plugin_table()).meta == row.is("want"));
  }
}

TEST_CASE("resourceamplification: 5 cases of the configuration") {
  std::size_t count = 0;
  for (const Vector& row : vectors("plugins", {"config_key"})) {
    if (row.text("key") != "resource-amplification-config") continue;
    ++count;
    INFO(row.text("key") << row.json("before") << row.text("data"));
    SloConfig config = configured(row.text("key"), row.json("before"));
    api::ConfigMap map;
    map.data["colocation-config"] = R"({"enable":true})";
    if (row.has("data")) map.data[row.text("key")] = row.text("data");
    const SloConfig::Update update = row.is("has_map") ? config.set(map) : config.set_absent();
    CHECK(update.changed == row.is("changed"));
    CHECK(config.amplification().cluster == row.take<ResourceAmplificationStrategy>("want"));
  }
  CHECK(count == 5);
}

}  // namespace
}  // namespace koord::manager
