// A small world for scheduler tests: an engine with the default profile, and objects made in a line.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/scheduling/config/config.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugins.hpp"

namespace koord::scheduling::test {

using NodeEdit = std::function<void(api::Node&)>;
using PodEdit = std::function<void(api::Pod&)>;

inline std::shared_ptr<const api::Node> make_node(std::string name, std::string_view cpu = "4",
                                                  std::string_view memory = "8Gi",
                                                  const NodeEdit& edit = {}) {
  auto node = std::make_shared<api::Node>();
  node->metadata.name = name;
  node->metadata.labels["kubernetes.io/hostname"] = name;
  node->status.allocatable = {{"cpu", api::Quantity::must(cpu)},
                              {"memory", api::Quantity::must(memory)},
                              {"pods", api::Quantity::must("110")}};
  if (edit) edit(*node);
  return node;
}

inline std::shared_ptr<const api::Pod> make_pod(std::string name, std::string_view cpu = "100m",
                                                std::string_view memory = "128Mi", const PodEdit& edit = {}) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = name;
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = "uid-" + name;
  pod->spec.scheduler_name = "default-scheduler";
  api::Container& c = pod->spec.containers.emplace_back();
  if (!cpu.empty()) c.resources.requests["cpu"] = api::Quantity::must(cpu);
  if (!memory.empty()) c.resources.requests["memory"] = api::Quantity::must(memory);
  if (edit) edit(*pod);
  return pod;
}

inline std::shared_ptr<const api::Pod> changed(const std::shared_ptr<const api::Pod>& pod,
                                               const PodEdit& edit) {
  auto copy = std::make_shared<api::Pod>(*pod);
  edit(*copy);
  return copy;
}

/// The pods' names, in the order of the decisions.
inline std::string names(const std::vector<Decision>& decisions) {
  std::vector<std::string_view> all;
  for (const Decision& d : decisions) all.push_back(d.pod->metadata.name);
  return fmt::format("{}", fmt::join(all, " "));
}

/// Profiles that say nothing of postFilter ask nobody there: what the filters say is the whole message.
inline void filters_alone(KubeSchedulerConfiguration& config) {
  if (config.profiles.empty()) config.profiles.emplace_back();
  for (ProfileConfig& profile : config.profiles) {
    PluginSet& set = profile.plugins.ensure().post_filter;
    if (set.enabled.empty() && set.disabled.empty()) set.disabled.push_back({"*", {}});
  }
}

struct World {
  explicit World(KubeSchedulerConfiguration config = {}, EngineOptions options = {},
                 PluginTable table = plugin_table(), const FeatureGates& gates = {})
      : engine(clock, options) {
    filters_alone(config);
    auto done = complete(config, table, gates);
    if (!done) throw std::runtime_error(done.error().message());
    auto profiles = build_profiles(config, table, engine.context(), gates);
    if (!profiles) throw std::runtime_error(profiles.error().message());
    engine.set_profiles(std::move(*profiles));
    clock.advance(std::chrono::seconds(100));
  }

  std::vector<Decision> run(std::size_t max = SIZE_MAX) {
    std::vector<Decision> out;
    engine.schedule(max, out);
    return out;
  }
  /// The only decision there is to make now.
  Decision one() {
    auto out = run();
    if (out.size() != 1) throw std::runtime_error(std::to_string(out.size()) + " decisions");
    return out[0];
  }

  ManualClock clock;
  Engine engine;
};

}  // namespace koord::scheduling::test
