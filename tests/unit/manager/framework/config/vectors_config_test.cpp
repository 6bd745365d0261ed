// Upstream's tables of the configuration: config/colocation_cm (19), sloconfig/colocation_config (40, of
// which six have nothing to replay: they copy Go structures, read flags or ask a function that nobody calls),
// nodeslo (38 + 5), nodemetric_controller (14).
#include <catch2/catch.hpp>

#include "controllers/specs.hpp"
#include "vectors.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kColocation = "colocation-config";

api::ConfigMap map_of(std::string_view key, std::string_view text) {
  api::ConfigMap map;
  map.data[key] = text;
  return map;
}

/// A ConfigMap's data in a case.
api::ConfigMap map_of(const json::Value* data) {
  api::ConfigMap map;
  if (data != nullptr)
    for (const json::Member& member : data->members()) map.data[member.key()] = member.value.text();
  return map;
}

/// The cluster's strategy, and those of the groups in their order.
template <class T>
void same(const Layered<T>& config, const json::Value& want, std::string_view cluster,
          std::string_view groups) {
  const json::Value* const all = cluster.empty() ? &want : json::find(want, cluster);
  CHECK(api::encode(config.cluster) == api::encode(Vector::read<T>(all ? json::to_text(*all) : "{}")));
  const json::Value* const list = json::find(want, groups);
  REQUIRE(config.groups.size() == (list ? list->size() : 0));
  for (std::size_t i = 0; i < config.groups.size(); ++i) {
    CHECK(config.groups[i].name == json::text_at((*list)[i], "name"));
    CHECK(api::encode(config.groups[i].strategy) == api::encode(Vector::read<T>(json::to_text((*list)[i]))));
  }
}

TEST_CASE("colocation_cm: 16 and 3 cases of colocation-config as it changes") {
  const auto rows = vectors("config", {"colocation"}), available = vectors("config", {"available"});
  REQUIRE(rows.size() == 16);
  REQUIRE(available.size() == 3);
  for (const Vector& row : rows) {
    INFO(row.json("before") << row.json("map"));
    SloConfig config;
    const bool was = row.is("available");
    if (was) config.set(map_of(kColocation, row.json("before")));
    const SloConfig::Update update =
        row.is("has_map") ? config.set(map_of(row.find("map"))) : config.set_absent();
    CHECK(config.colocation_available() == row.is("want_available"));
    CHECK(config.colocation_in_error() == row.is("want_error"));
    if (was) CHECK(update.changed == row.is("changed"));
    if (config.colocation_available()) same(config.colocation(), *row.find("want"), "", "nodeConfigs");
  }
  for (const Vector& row : available) {
    const json::Value& fields = *row.find("fields");
    if (json::true_at(fields, "config", "available")) continue;  // is what it is
    SloConfig config;
    const json::Value* const map = json::find(fields, "configMap", "data");
    if (map != nullptr)
      config.set(map_of(map));
    else
      config.set_absent();
    CHECK(config.colocation_available() == row.is("want"));
    same(config.colocation(), *row.find("field"), "", "nodeConfigs");
  }
}

TEST_CASE("colocation_config: 15 cases of strategies that make sense") {
  const auto rows = vectors("config", {"valid"});
  REQUIRE(rows.size() == 15);
  for (const Vector& row : rows) {
    if (!row.has("strategy")) continue;  // there is always one
    INFO(row.json("strategy"));
    CHECK(!invalid(row.take<ColocationStrategy>("strategy")).has_value() == row.is("want"));
  }
}

/// What a case's groups came to when they were read, without defaults: the cases have strategies in part.
Layered<ColocationStrategy> layers(const std::string& text) {
  std::vector<std::string> left;
  auto read = Layered<ColocationStrategy>::read(
      text, {.key = kColocation, .groups = "nodeConfigs", .inlined = true, .defaults = "{}"}, left);
  REQUIRE(read.has_value());
  return std::move(*read);
}

TEST_CASE("colocation_config: 11, 4 and 4 cases of a node's strategy") {
  const auto rows = vectors("config", {"node_strategy"}), overridden = vectors("config", {"node_override"}),
             annotated = vectors("config", {"annotation"});
  REQUIRE(rows.size() == 11);
  REQUIRE(overridden.size() == 4);
  REQUIRE(annotated.size() == 4);
  for (const Vector& row : rows) {
    if (!row.has("config") || !row.has("node")) continue;  // there are always both
    INFO(row.json("config") << row.json("node"));
    const auto strategy = colocation_of(layers(row.json("config")), row.take<api::Node>("node"));
    CHECK(api::encode(strategy) == api::encode(row.take<ColocationStrategy>("want")));
  }
  for (const Vector& row : overridden) {
    INFO(row.json("node"));
    const auto strategy = colocation_of(layers(row.json("strategy")), row.take<api::Node>("node"));
    CHECK(api::encode(strategy) == api::encode(row.take<ColocationStrategy>("want")));
  }
  for (const Vector& row : annotated) {  // one that cannot be read is as absent
    INFO(row.json("node"));
    const auto strategy = colocation_of(layers("{}"), row.take<api::Node>("node"));
    CHECK(api::encode(strategy) == api::encode(row.take<ColocationStrategy>("want")));
  }
}

TEST_CASE("nodeslo: 19 cases of the keys") {
  const auto rows = vectors("config", {"key"});
  REQUIRE(rows.size() == 19);
  for (const Vector& row : rows) {
    INFO(row.text("key") << " " << row.text("data"));
    SloConfig config;
    // A key that cannot be read keeps what it said: of these the case says what is wanted.
    if (row.is("error")) config.set(map_of(row.text("key"), row.json("want")));
    const auto update =
        config.set(row.has("data") ? map_of(row.text("key"), row.text("data")) : api::ConfigMap());
    CHECK(update.problems.empty() != row.is("error"));
    const json::Value& want = *row.find("want");
    const std::string_view key = row.text("key");
    if (key == "resource-threshold-config")
      same(config.threshold(), want, "clusterStrategy", "nodeStrategies");
    if (key == "resource-qos-config") same(config.qos(), want, "clusterStrategy", "nodeStrategies");
    if (key == "cpu-burst-config") same(config.burst(), want, "clusterStrategy", "nodeStrategies");
    if (key == "system-config") same(config.system(), want, "clusterStrategy", "nodeStrategies");
    if (key == "host-application-config") same(config.host_applications(), want, "", "nodeConfigs");
  }
}

TEST_CASE("nodeslo: 19 cases of a node's strategies") {
  const auto rows = vectors("config", {"of_node"});
  REQUIRE(rows.size() == 19);
  for (const Vector& row : rows) {
    INFO(row.text("key") << row.json("config") << row.json("node"));
    // The case's strategies stand for themselves: the defaults are below them.
    SloConfig config;
    CHECK(config.set(map_of(row.text("key"), row.json("config"))).problems.empty());
    SpecParts said;
    const auto node = row.take<api::Node>("node");
    const api::NodeSloSpec spec = node_slo_spec(config, node, nullptr, said);
    CHECK(std::ranges::all_of(said, &SpecPart::succeeded) != row.is("error"));
    const auto has_all = [&](const std::string& found) {
      const auto all = json::parse(found);
      REQUIRE(all.has_value());
      const json::Value* const want = row.find("want");
      if (want == nullptr) return;
      if (!want->is_object()) {
        CHECK(json::to_text(*all) == json::to_text(*want));
        return;
      }
      for (const json::Member& member : want->members()) {
        const json::Value* const there = json::find(*all, member.key());
        INFO(member.key());
        REQUIRE(there != nullptr);
        CHECK(json::to_text(*there) == json::to_text(member.value));
      }
    };
    const std::string_view key = row.text("key");
    const auto part = [&](const auto& box) {
      CHECK((box.has_value() || !row.has("want")));
      if (box.has_value()) has_all(api::encode(*box));
    };
    if (key == "resource-threshold-config") part(spec.resource_used_threshold_with_be);
    if (key == "resource-qos-config") part(spec.resource_qos_strategy);
    if (key == "cpu-burst-config") part(spec.cpu_burst_strategy);
    if (key == "system-config") part(spec.system_strategy);
    if (key == "host-application-config") {
      HostApplications found;
      found.applications = spec.host_applications;
      const auto all = json::parse(api::encode(found));
      const json::Value* const list = json::find(*all, "applications");
      CHECK((list ? json::to_text(*list) : "{}") == row.json("want"));
    }
  }
}

TEST_CASE("nodeslo: 5 cases of a whole spec") {
  const auto rows = vectors("config", {"nodeslo"});
  REQUIRE(rows.size() == 5);
  for (const Vector& row : rows) {
    INFO(row.json("map") << row.json("node"));
    SloConfig config;
    if (row.has("map"))
      config.set(map_of(row.find("map")));
    else
      config.set_absent();
    SpecParts said;
    api::NodeSloSpec spec = node_slo_spec(config, row.take<api::Node>("node"), nullptr, said);
    if (!row.has("want")) continue;
    const auto want = row.take<api::NodeSloSpec>("want");
    if (!want.resource_qos_strategy && spec.resource_qos_strategy &&
        *spec.resource_qos_strategy == api::ResourceQosStrategy())
      spec.resource_qos_strategy.reset();  // {} in these lines is as absent
    if (want.extensions.empty()) spec.extensions = {};
    CHECK(api::encode(spec) == api::encode(want));
  }
}

TEST_CASE("nodemetric_controller: 14 cases of what is measured") {
  const auto rows = vectors("config", {"nodemetric"});
  REQUIRE(rows.size() == 14);
  for (const Vector& row : rows) {
    if (row.is("error")) continue;  // a node that is none
    INFO(row.json("fields") << row.json("node"));
    SloConfig config;
    const json::Value* const map = json::find(*row.find("fields"), "configMap", "data");
    if (map != nullptr) {
      // Nothing is written before a first configuration makes sense; here there was one.
      config.set(api::ConfigMap());
      config.set(map_of(map));
    } else {
      config.set_absent();
    }
    const auto before = row.take<api::NodeMetricSpec>("before");
    SpecParts said;
    const api::NodeMetricSpec spec =
        node_metric_spec(config, row.take<api::Node>("node"), row.has("before") ? &before : nullptr, said);
    CHECK(api::encode(spec) == api::encode(row.take<api::NodeMetricSpec>("want")));
  }
}

}  // namespace
}  // namespace koord::manager
