// How fast a node's CPUs are: upstream's tables (35, and of the 21 of its handlers those 14 that have an
// input: seven say which events are looked at, which cannot be seen).
#include "plugins/cpu_normalization/cpu_normalization.hpp"

#include <catch2/catch.hpp>

#include "controllers/changes.hpp"
#include "framework/noderesource/plan.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node.hpp"
#include "plugins.hpp"
#include "vectors.hpp"

namespace koord::manager {
namespace {

TEST_CASE("cpunormalization: 12 cases of a node's ratio") {
  const auto rows = vectors("plugins", {"normalization"});
  REQUIRE(rows.size() == 12);
  for (const Vector& row : rows) {
    if (!row.is("available")) continue;  // without a configuration nothing is looked at
    INFO(row.json("node") << row.json("strategy") << row.json("topology"));
    const auto node = row.take<api::Node>("node");
    const auto topology = row.take<api::NodeResourceTopology>("topology");
    const SloConfig config = configured("cpu-normalization-config", row.json("strategy"));
    const auto ratio = normalization_ratio(config.normalization().of(node.metadata.labels), node,
                                           row.has("topology") ? &topology : nullptr);
    CHECK(ratio.has_value() == row.has("want"));
    if (ratio && row.has("want")) CHECK(*ratio == row.text("want"));
  }
}

TEST_CASE("cpunormalization: 12 cases of a model's ratio") {
  const auto rows = vectors("plugins", {"model"});
  REQUIRE(rows.size() == 12);
  for (const Vector& row : rows) {
    INFO(row.json("strategy") << row.json("info"));
    api::NodeResourceTopology topology;
    topology.metadata.annotations[api::CpuBasicInfo::kAnnotation] = Symbol(row.json("info"));
    const auto ratio =
        normalization_ratio(row.take<CpuNormalizationStrategy>("strategy"), api::Node(), &topology);
    const json::Value* const want = row.find("want");
    CHECK(ratio.has_value() == (want != nullptr));
    if (ratio && want != nullptr)
      CHECK(api::parse_cpu_normalization_ratio(*ratio)->value() == want->to_double());
  }
}

TEST_CASE("cpunormalization: 8 and 3 cases of what becomes of the annotation") {
  const auto differing = vectors("plugins", {"ratio_differs"}), set = vectors("plugins", {"ratio_set"});
  REQUIRE(differing.size() == 8);
  REQUIRE(set.size() == 3);
  for (const Vector& row : differing) {
    INFO(row.text("before") << " " << row.text("after"));
    CHECK(differs(row.text("before"), row.text("after")) == row.is("want"));
  }
  for (const Vector& row : set) {
    api::Node node;
    if (row.has("before"))
      node.metadata.annotations[api::kCpuNormalizationRatio] = Symbol(row.text("before"));
    NodePlan plan;
    plan.after = node;
    if (row.has("ratio"))
      plan.after.metadata.annotations[api::kCpuNormalizationRatio] = Symbol(row.text("ratio"));
    CHECK(api::value_or(with_meta(node, plan, resource_plugin_table()).metadata.annotations,
                        api::kCpuNormalizationRatio) == row.text("want"));
  }
}

TEST_CASE("cpunormalization: 3 and 6 cases of topologies whose CPUs are others") {
  const auto created = vectors("plugins", {"info_created"}), changed = vectors("plugins", {"info_changed"});
  REQUIRE(created.size() == 3);
  REQUIRE(changed.size() == 6);
  const auto topology = [](const Vector& row, std::string_view key) {
    api::NodeResourceTopology made;
    if (row.has(key)) made.metadata.annotations[api::CpuBasicInfo::kAnnotation] = Symbol(row.text(key));
    return made;
  };
  CpuNormalizationStrategy strategy;
  strategy.enable = true;
  strategy.default_ratio = 1.5;
  for (const Vector& row : created) {  // whether it says anything
    const auto made = topology(row, "after");
    CHECK(normalization_ratio(strategy, {}, &made).has_value() == row.is("want"));
  }
  // koord looks again whenever the text is another one: what does not matter is not written.
  for (const Vector& row : changed)
    if (row.is("want")) CHECK(changes_resources(topology(row, "before"), topology(row, "after")));
}

TEST_CASE("cpunormalization: 5 cases of the configuration") {
  std::size_t count = 0;
  for (const Vector& row : vectors("plugins", {"config_key"})) {
    if (row.text("key") != "cpu-normalization-config") continue;
    ++count;
    INFO(row.text("key") << row.json("before") << row.text("data"));
    SloConfig config = configured(row.text("key"), row.json("before"));
    api::ConfigMap map;
    map.data["colocation-config"] = R"({"enable":true})";
    if (row.has("data")) map.data[row.text("key")] = row.text("data");
    const SloConfig::Update update = row.is("has_map") ? config.set(map) : config.set_absent();
    CHECK(update.changed == row.is("changed"));
    CHECK(config.normalization().cluster == row.take<CpuNormalizationStrategy>("want"));
  }
  CHECK(count == 5);
}

}  // namespace
}  // namespace koord::manager
