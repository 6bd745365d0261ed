// What the tests of DeviceShare share: machines with their Devices, pods that want devices, and a scheduler
// that has this plugin alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "world.hpp"

namespace koord::scheduling::test {

using Wants = std::vector<std::pair<std::string_view, std::string_view>>;
using Texts = std::vector<std::pair<std::string_view, std::string>>;

/// GPUs on two memory nodes of two PCIe switches each, and RDMA functions on the same switches.
struct DeviceMachine {
  int gpus = 8;
  std::string_view memory = "16Gi";  // of each GPU
  int rdma = 0;
  std::vector<int> sick = {};  // minors of GPUs
  Texts labels = {};           // of the Device
  Texts annotations = {};      // of the Device
  Texts node_labels = {};
  bool topology = true;
  std::string_view suffix = {};  // of the devices' ids

  std::shared_ptr<const api::Device> device(const std::string& name) const {
    auto made = std::make_shared<api::Device>();
    made->metadata.name = name;
    for (const auto& [key, value] : labels) made->metadata.labels[key] = Symbol(value);
    for (const auto& [key, value] : annotations) made->metadata.annotations[key] = Symbol(value);
    const auto add = [&](std::string_view type, int minor, int of, bool healthy) -> api::DeviceInfo& {
      api::DeviceInfo& info = made->spec.devices.emplace_back();
      info.type = Symbol(type);
      info.minor = minor;
      info.id = fmt::format("{}-{}{}", type, minor, suffix);
      info.health = healthy;
      const int quarter = minor * 4 / std::max(of, 1);
      if (topology) {
        info.topology = api::Box<api::DeviceTopology>(api::DeviceTopology());
        info.topology->node_id = quarter / 2;
        info.topology->pcie_id = std::to_string(quarter);
      }
      return info;
    };
    for (int i = 0; i < gpus; ++i) {
      const bool healthy = std::ranges::find(sick, i) == sick.end();
      api::DeviceInfo& info = add("gpu", i, gpus, healthy);
      info.resources = {{api::kGpuCore, api::Quantity::must("100")},
                        {api::kGpuMemoryRatio, api::Quantity::must("100")},
                        {api::kGpuMemory, api::Quantity::must(memory)}};
    }
    for (int i = 0; i < rdma; ++i)
      add("rdma", i, rdma, true).resources = {{api::kRdma, api::Quantity::must("100")}};
    return made;
  }
  std::shared_ptr<const api::Node> node(const std::string& name) const {
    return make_node(name, "64", "256Gi", [&](api::Node& node) {
      // More than there are: what NodeResourcesFit counts is not what is tested.
      for (const std::string_view percent : {api::kGpu, api::kGpuCore, api::kGpuMemoryRatio})
        node.status.allocatable[percent] = api::Quantity::from_int(1000 * gpus);
      for (const auto& [key, value] : node_labels) node.metadata.labels[key] = Symbol(value);
    });
  }
};

inline PodEdit device_pod(Wants wants, Texts annotations = {}, std::string_view node = {}) {
  return [=](api::Pod& pod) {
    for (const auto& [name, amount] : wants)
      pod.spec.containers[0].resources.requests[name] = api::Quantity::must(amount);
    for (const auto& [key, value] : annotations) pod.metadata.annotations[key] = Symbol(value);
    pod.spec.node_name = Symbol(node);
  };
}
inline std::shared_ptr<const api::Pod> gpu_pod(std::string name, Wants wants, Texts annotations = {}) {
  return make_pod(std::move(name), "1", "1Gi", device_pod(std::move(wants), std::move(annotations)));
}
/// Whole GPUs, in Koordinator's percent.
inline std::shared_ptr<const api::Pod> whole_gpus(std::string name, std::string_view percent) {
  return gpu_pod(std::move(name), {{api::kGpu, percent}});
}
/// Part of one.
inline std::shared_ptr<const api::Pod> part_of_gpu(std::string name, std::string_view percent) {
  return gpu_pod(std::move(name), {{api::kGpuCore, percent}, {api::kGpuMemoryRatio, percent}});
}
inline std::pair<std::string_view, std::string> allocated(std::string_view text) {
  return {api::DeviceAllocations::kAnnotation, std::string(text)};
}

inline KubeSchedulerConfiguration device_config(std::string_view args = {},
                                                std::vector<const char*> others = {}) {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  Plugins& plugins = profile.plugins.emplace();
  plugins.multi_point.disabled = {{"*", {}}};
  plugins.queue_sort.enabled = {{"PrioritySort", {}}};
  plugins.bind.enabled = {{"DefaultBinder", {}}};
  others.push_back("DeviceShare");
  for (const char* name : others)
    for (PluginSet* set : {&plugins.pre_filter, &plugins.filter, &plugins.score, &plugins.reserve})
      set->enabled.push_back({name, {}});
  for (const char* name : others) plugins.pre_bind.enabled.push_back({name, {}});
  plugins.pre_bind.enabled.push_back({"DefaultPreBind", {}});
  if (!args.empty())
    profile.plugin_config.push_back({"DeviceShare", api::RawJson{std::string(args)}, nullptr});
  return config;
}

struct DeviceWorld : World {
  explicit DeviceWorld(std::string_view args = {}) : World(device_config(args)) {}
  explicit DeviceWorld(KubeSchedulerConfiguration config, const FeatureGates& gates = {})
      : World(std::move(config), {}, plugin_table(), gates) {}

  void machine(const std::string& name, const DeviceMachine& machine = {}) {
    engine.put_node(machine.node(name));
    engine.put_object<api::Device>(machine.device(name));
  }
  /// Why the pod may not go to any of the nodes; empty: it may.
  std::string refused(std::shared_ptr<const api::Pod> pod) {
    const Diagnosis d = engine.evaluate(engine.profiles()[0], std::move(pod)).diagnose();
    if (!d.prefilter_message.empty()) return d.prefilter_message;
    if (!d.error.empty()) return d.error;
    std::string all;
    for (const auto& [reason, nodes] : d.reasons) all += (all.empty() ? "" : "; ") + reason;
    return all;
  }
  std::int64_t score(std::shared_ptr<const api::Pod> pod, const std::string& node = "n") {
    return engine.evaluate(engine.profiles()[0], std::move(pod))
        .explain(engine.nodes().find(node))
        .scores.at(0)
        .raw;
  }
  Decision put(const std::shared_ptr<const api::Pod>& pod) {
    engine.put_pod(pod);
    return one();
  }
  /// The minors that it was given, "gpu 0 1 rdma 3"; or why it has none.
  static std::string given(const Decision& d) {
    const auto* bind = d.as<Decision::Bind>();
    if (bind == nullptr) return d.message();
    if (bind->changes == nullptr) return "nothing";
    const std::string* text = bind->changes->annotations.find(api::DeviceAllocations::kAnnotation);
    if (text == nullptr) return "nothing";
    api::DeviceAllocations said;
    if (!api::decode_annotation(*text, said)) return *text;
    std::string all;
    for (const auto& [type, devices] : said.devices) {
      all += fmt::format("{}{}", all.empty() ? "" : " ", type.view());
      for (const api::AllocatedDevice& each : devices) all += fmt::format(" {}", each.minor);
    }
    return all;
  }
  std::string place_text(const std::shared_ptr<const api::Pod>& pod) {
    const Decision d = put(pod);
    if (d.kind() == Decision::Kind::bind) engine.put_pod(bound(d));
    return given(d);
  }
  /// The pod as the API server has it when it is bound.
  static std::shared_ptr<const api::Pod> bound(const Decision& d) {
    const auto* bind = d.as<Decision::Bind>();
    return changed(
        bind->changes != nullptr ? std::make_shared<const api::Pod>(patched(*d.pod, *bind->changes)) : d.pod,
        [&](api::Pod& p) { p.spec.node_name = d.node(); });
  }
  std::shared_ptr<const api::Pod> place(const std::shared_ptr<const api::Pod>& pod) {
    const Decision d = put(pod);
    REQUIRE(d.kind() == Decision::Kind::bind);
    auto there = bound(d);
    engine.put_pod(there);
    return there;
  }
};

}  // namespace koord::scheduling::test
