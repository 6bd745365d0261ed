// What happens to machines with devices: see devices_world.hpp.
#include "random/devices/devices_world.hpp"

#include <fmt/format.h>

#include <utility>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/core_v1/config_map.hpp"
#include "support/reference/devices/machine.hpp"

namespace koord::scheduling::test {

namespace {

reference::Config oracle_of(unsigned seed) {
  reference::Config oracle;
  oracle.filters = {"DeviceShare"};
  oracle.scores = {{"DeviceShare", 1}};
  oracle.preemption = false;
  reference::DeviceArgs& args = oracle.devices;
  args.most = seed % 2 == 1;
  if (seed % 5 == 2) args.weights[std::string(api::kRdma)] = 3;
  if (seed % 5 == 3) args.weights = {{std::string(api::kGpuCore), 2}, {std::string(api::kGpuMemory), 1}};
  if (seed % 3 == 1) args.unshared = {{"nvidia", "A100"}, {"", "H20"}};
  return oracle;
}

KubeSchedulerConfiguration config_of(const reference::Config& oracle) {
  const reference::DeviceArgs& args = oracle.devices;
  std::string unshared;
  for (const auto& [vendor, model] : args.unshared)
    unshared +=
        fmt::format(R"({}{{"vendor":"{}","model":"{}"}})", unshared.empty() ? "" : ",", vendor, model);
  return config_of_plugin(oracle, "DeviceShare",
                          fmt::format(R"({{"scoringStrategy":{},"gpuShareUnsupportedModels":[{}]}})",
                                      scoring_strategy(args.most, args.weights), unshared));
}

std::shared_ptr<const api::ConfigMap> config_map(const std::string& data) {
  auto map = std::make_shared<api::ConfigMap>();
  map->metadata.namespace_ = "koordinator-system";
  map->metadata.name = "gpu-shared-resource-templates";
  map->metadata.uid = "1";
  map->data[api::GpuShareTemplates::kDataKey] = data;
  return map;
}

}  // namespace

RandomDevicesWorld::RandomDevicesWorld(unsigned seed, EngineOptions options)
    : PodStory(seed, std::move(options), oracle_of(seed), config_of(oracle_of(seed)), "DeviceShare"),
      random_(seed) {
  begin();
}

void RandomDevicesWorld::put_others() {
  if (random_.chance(60)) put_templates();
}

void RandomDevicesWorld::tell_others(Told& told) {
  cluster_.once_devices.clear();
  tell_again(told, cluster_.devices);
  oracle_.devices.templates = *api::parse_gpu_share_templates(templates_);
  if (!templates_.empty()) told.emplace_back([this] { world_->engine.put_object(config_map(templates_)); });
}

/// A Device of a node that is not there waits for it; who has something of devices makes a node known, and
/// so it is forgotten when the last pod has gone from where no node is any more.
void RandomDevicesWorld::note() {
  for (const auto& [name, node] : cluster_.nodes)
    if (const auto at = cluster_.devices.find(name); at != cluster_.devices.end())
      cluster_.once_devices[name] = at->second;
  std::set<std::string> hosts;
  for (const auto& [key, pod] : cluster_.pods) {
    hosts.insert(pod->spec.node_name.str());
    if (reference::devices_of(*pod) || !reference::unclear_of(*pod).empty())
      cluster_.once_devices.try_emplace(pod->spec.node_name.str(), nullptr);
  }
  std::erase_if(cluster_.once_devices, [&](const auto& each) {
    return !cluster_.nodes.contains(each.first) && !hosts.contains(each.first);
  });
}

void RandomDevicesWorld::change(int what) {
  if (what < 8) return put_node();
  if (what < 10) return remove_node();
  if (what < 20) return put_machine(any_of(cluster_.nodes));
  if (what < 23) return remove_any("Device", cluster_.devices);
  if (what < 25) return restart();
  if (what < 27) return put_templates();
  if (what < 33) return place_foreign_pod();
  if (what < 39) return change_pod();
  if (what < 55 && !cluster_.pods.empty()) return remove_pod(any_of(cluster_.pods));
  if (what < 62) return end_a_binding(random_.chance(60));
  add_pod();
}

void RandomDevicesWorld::put_machine(const std::string& node) {
  put("Device", cluster_.devices, node, random_.device(node));
}

void RandomDevicesWorld::put_templates() {
  templates_ = random_.chance(10) ? "a: b" : random_.templates();
  done_ = "put templates";
  // Those that cannot be read leave what there was.
  if (auto read = api::parse_gpu_share_templates(templates_)) oracle_.devices.templates = *std::move(read);
  world_->engine.put_object(config_map(templates_));
  // Who comes next knows no others.
  if (templates_ == "a: b") templates_.clear();
}

bool RandomDevicesWorld::has_gift(const api::Pod& pod) const {
  return reference::devices_of(pod).has_value();
}

void RandomDevicesWorld::say_given(api::Pod& pod) { annotate(pod, random_.chance(80) ? 1 : 0); }

void RandomDevicesWorld::annotate(api::Pod& pod, int way) {
  auto& annotations = pod.metadata.annotations;
  if (way == 0) annotations.erase(api::DeviceAllocations::kAnnotation);
  if (way == 1)
    annotations[api::DeviceAllocations::kAnnotation] = Symbol(random_.allocated(pod.spec.node_name.str()));
}

std::string RandomDevicesWorld::objects_of(const std::string& node) const {
  const auto at = cluster_.devices.find(node);
  return at == cluster_.devices.end() ? "" : "\n  " + api::encode(*at->second);
}

}  // namespace koord::scheduling::test
