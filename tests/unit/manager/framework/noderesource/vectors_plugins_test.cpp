// Upstream's tables of the plugins that follow CPUs and devices: cpunormalization (35, and of the 21 of its
// handlers those 14 that have an input: seven say which events are looked at, which cannot be seen),
// resourceamplification (19 + 5), gpudeviceresource (17), rdmadeviceresource (9).
#include <catch2/catch.hpp>

#include "controllers/changes.hpp"
#include "framework/noderesource/devices.hpp"
#include "framework/noderesource/normalization.hpp"
#include "framework/noderesource/plan.hpp"
#include "vectors.hpp"

namespace koord::manager {
namespace {

/// A configuration that encodes this strategy as the cluster's.
SloConfig configured(std::string_view key, const std::string& strategy) {
  SloConfig config;
  api::ConfigMap map;
  map.data["colocation-config"] = R"({"enable":true})";
  map.data[key] = strategy;
  CHECK(config.set(map).problems.empty());
  return config;
}

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
    topology.metadata.annotations[kCpuBasicInfo] = Symbol(row.json("info"));
    const auto ratio =
        normalization_ratio(row.take<CpuNormalizationStrategy>("strategy"), api::Node(), &topology);
    const json::Value* const want = row.find("want");
    CHECK(ratio.has_value() == (want != nullptr));
    if (ratio && want != nullptr) CHECK(read_ratio(*ratio)->value() == want->to_double());
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
    if (row.has("before")) node.metadata.annotations[kNormalizationRatio] = Symbol(row.text("before"));
    NodePlan plan;
    plan.after = node;
    if (row.has("ratio")) plan.after.metadata.annotations[kNormalizationRatio] = Symbol(row.text("ratio"));
    CHECK(api::value_or(with_meta(node, plan).metadata.annotations, kNormalizationRatio) == row.text("want"));
  }
}

TEST_CASE("cpunormalization: 3 and 6 cases of topologies whose CPUs are others") {
  const auto created = vectors("plugins", {"info_created"}), changed = vectors("plugins", {"info_changed"});
  REQUIRE(created.size() == 3);
  REQUIRE(changed.size() == 6);
  const auto topology = [](const Vector& row, std::string_view key) {
    api::NodeResourceTopology made;
    if (row.has(key)) made.metadata.annotations[kCpuBasicInfo] = Symbol(row.text(key));
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

TEST_CASE("cpunormalization and resourceamplification: 5 cases each of the configuration") {
  const auto rows = vectors("plugins", {"config_key"});
  REQUIRE(rows.size() == 10);
  for (const Vector& row : rows) {
    INFO(row.text("key") << row.json("before") << row.text("data"));
    SloConfig config = configured(row.text("key"), row.json("before"));
    api::ConfigMap map;
    map.data["colocation-config"] = R"({"enable":true})";
    if (row.has("data")) map.data[row.text("key")] = row.text("data");
    const SloConfig::Update update = row.is("has_map") ? config.set(map) : config.set_absent();
    CHECK(update.changed == row.is("changed"));
    if (row.text("key") == "cpu-normalization-config") {
      auto want = row.take<CpuNormalizationStrategy>("want");
      CHECK(config.normalization().cluster == want);
    } else {
      CHECK(config.amplification().cluster == row.take<ResourceAmplificationStrategy>("want"));
    }
  }
}

TEST_CASE("resourceamplification: 10 cases of a node's ratios") {
  const auto rows = vectors("plugins", {"amplification"});
  REQUIRE(rows.size() == 10);
  for (const Vector& row : rows) {
    if (!row.is("available")) continue;
    INFO(row.json("node") << row.json("strategy"));
    const auto node = row.take<api::Node>("node");
    const auto cpus = read_ratio(api::value_or(node.metadata.annotations, kNormalizationRatio));
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
    if (row.has("before")) node.metadata.annotations[kAmplificationRatio] = Symbol(row.text("before"));
    NodePlan plan;
    const std::string_view now =
        row.text("table") == "amplification_set" ? row.text("ratio") : row.text("after");
    if (!now.empty()) plan.after.metadata.annotations[kAmplificationRatio] = Symbol(now);
    if (row.text("table") == "amplification_set")
      CHECK(api::value_or(with_meta(node, plan).metadata.annotations, kAmplificationRatio) ==
            row.text("want"));
    else
      CHECK(changes_of(node, plan, 0.1).meta == row.is("want"));
  }
}

TEST_CASE("gpudeviceresource and rdmadeviceresource: 12 and 6 cases of what devices give") {
  const auto rows = vectors("plugins", {"device"});
  REQUIRE(rows.size() == 18);
  for (const Vector& row : rows) {
    if (row.is("error")) continue;  // arguments that are missing, a client that fails
    INFO(row.json("device"));
    const auto device = row.take<api::Device>("device");
    const api::Device* const given = row.has("device") ? &device : nullptr;
    const bool gpu = row.text("type") == "gpu";
    CHECK((gpu ? gpu_resources(given, row.is("share")) : rdma_resources(given)) ==
          resources(row.find("want")));
    if (!gpu || given == nullptr) continue;
    api::Node node;
    set_gpu_labels(node, device);
    CHECK(node.metadata.labels.size() == (row.has("labels") ? row.find("labels")->size() : 0));
  }
}

TEST_CASE("gpudeviceresource and rdmadeviceresource: 5 and 3 cases of what is written of a node") {
  const auto rows = vectors("plugins", {"device_set"});
  REQUIRE(rows.size() == 8);
  for (const Vector& row : rows) {
    INFO(row.json("node") << row.json("resources") << row.json("resets"));
    auto node = row.take<api::Node>("node");
    const auto names = row.text("type") == "gpu" ? gpu_resource_names() : rdma_resource_names();
    if (row.has("resources") || !row.find("resets")->empty())
      set_devices(node, names, resources(row.find("resources")));
    if (const json::Value* labels = row.find("labels"); labels != nullptr && row.text("type") == "gpu") {
      api::Device device;
      device.spec.devices.push_back({.type = Symbol("gpu"), .health = true});
      for (const json::Member& label : labels->members())
        device.metadata.labels[label.key()] = Symbol(label.value.text());
      set_gpu_labels(node, device);
    }
    const auto want = row.take<api::Node>("want");
    CHECK(node.status.allocatable == want.status.allocatable);
    CHECK(node.status.capacity == want.status.capacity);
    CHECK(node.metadata.labels == want.metadata.labels);
  }
}

}  // namespace
}  // namespace koord::manager
