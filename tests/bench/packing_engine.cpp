// The same pods placed by the engine, with the plugins that a profile would have.
#include <fmt/format.h>
#include <time.h>

#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "koord/api/koordinator/devices.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/api/types/scheduling_v1alpha1/device.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/scheduling/config/config.hpp"
#include "koord/scheduling/engine/engine.hpp"
#include "koord/scheduling/plugins.hpp"
#include "packing_trace.hpp"

namespace koord::scheduling::bench {

namespace {

constexpr const char* kModel = "model";

double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

KubeSchedulerConfiguration config(bool gradient) {
  KubeSchedulerConfiguration config;
  ProfileConfig& profile = config.profiles.emplace_back();
  Plugins& plugins = profile.plugins.ensure();
  for (PluginSet* set : {&plugins.pre_filter, &plugins.filter, &plugins.reserve, &plugins.pre_bind})
    set->enabled = {{"DeviceShare", {}}};
  plugins.pre_bind.enabled.push_back({"DefaultPreBind", {}});
  plugins.post_filter.disabled = {{"*", {}}};
  plugins.score.disabled = plugins.pre_score.disabled = {{"*", {}}};
  if (gradient)
    plugins.score.enabled = {{"FragmentationGradient", {}}};
  else
    plugins.score.enabled = plugins.pre_score.enabled = {{"DeviceShare", {}}, {"NodeResourcesFit", {}}};
  profile.plugin_config.push_back(
      {"DeviceShare",
       api::RawJson{R"({"scoringStrategy":{"type":"MostAllocated","resources":[)"
                    R"({"name":"koordinator.sh/gpu-memory-ratio","weight":1}]}})"},
       nullptr});
  profile.plugin_config.push_back(
      {"NodeResourcesFit",
       api::RawJson{R"({"scoringStrategy":{"type":"MostAllocated","resources":[)"
                    R"({"name":"cpu","weight":1},{"name":"koordinator.sh/gpu-memory-ratio","weight":1}]}})"},
       nullptr});
  return config;
}

void add_node(Engine& engine, const PackedNode& of, std::size_t number) {
  auto node = std::make_shared<api::Node>();
  auto device = std::make_shared<api::Device>();
  node->metadata.name = device->metadata.name = fmt::format("n{}", number);
  node->metadata.labels[kModel] = Symbol(of.model);
  const std::int64_t percent = 100 * std::int64_t{of.row.gpus};
  node->status.allocatable = {{"cpu", api::Quantity::must(fmt::format("{}m", of.row.cpu))},
                              {"memory", api::Quantity::from_int(of.row.memory)},
                              {"pods", api::Quantity::from_int(10'000)},
                              {api::kGpu, api::Quantity::from_int(percent)},
                              {api::kGpuCore, api::Quantity::from_int(percent)},
                              {api::kGpuMemoryRatio, api::Quantity::from_int(percent)}};
  for (std::int32_t i = 0; i < of.row.gpus; ++i) {
    api::DeviceInfo& info = device->spec.devices.emplace_back();
    info.type = "gpu";
    info.minor = i;
    info.health = true;
    info.resources = {{api::kGpuCore, api::Quantity::from_int(100)},
                      {api::kGpuMemoryRatio, api::Quantity::from_int(100)},
                      {api::kGpuMemory, api::Quantity::must("16Gi")}};
  }
  engine.put_node(std::move(node));
  engine.put_object<api::Device>(std::move(device));
}

std::shared_ptr<const api::Pod> make_pod(const PackedPod& of, std::size_t number) {
  auto pod = std::make_shared<api::Pod>();
  pod->metadata.name = fmt::format("p{}", number);
  pod->metadata.namespace_ = "default";
  pod->metadata.uid = pod->metadata.name;
  pod->spec.scheduler_name = "default-scheduler";
  auto& requests = pod->spec.containers.emplace_back().resources.requests;
  requests["cpu"] = api::Quantity::must(fmt::format("{}m", of.request.cpu));
  requests["memory"] = api::Quantity::from_int(of.request.memory);
  if (shares(of.request)) {
    // Koordinator counts percent.
    for (const std::string_view name : {api::kGpuCore, api::kGpuMemoryRatio})
      requests[name] = api::Quantity::from_int((of.request.share + 9) / 10);
  } else if (of.request.gpus > 0) {
    requests[api::kGpu] = api::Quantity::from_int(100 * std::int64_t{of.request.gpus});
  }
  if (!of.model.empty()) pod->spec.node_selector[kModel] = Symbol(of.model);
  return pod;
}

}  // namespace

double run_engine(const Trace& trace, const std::vector<PackedPod>& pods, bool gradient, double& seconds) {
  ManualClock clock;
  Engine engine(clock, {.queue = {}, .seed = 1});
  KubeSchedulerConfiguration configuration = config(gradient);
  if (auto done = complete(configuration, plugin_table()); !done)
    throw std::runtime_error(done.error().message());
  auto profiles = build_profiles(configuration, plugin_table(), engine.context());
  if (!profiles) throw std::runtime_error(profiles.error().message());
  engine.set_profiles(std::move(*profiles));
  for (std::size_t i = 0; i < trace.nodes.size(); ++i) add_node(engine, trace.nodes[i], i);
  std::int64_t left = trace.gpus;
  const double began = thread_seconds();
  for (std::size_t i = 0; i < pods.size(); ++i) {
    auto pod = make_pod(pods[i], i);
    engine.put_pod(pod);
    std::vector<Decision> decisions;
    engine.schedule(1, decisions);
    if (decisions.empty()) throw std::runtime_error("nothing was decided");
    const Decision& d = decisions.front();
    if (d.kind() != Decision::Kind::bind) {
      engine.remove_pod(*pod);
      continue;
    }
    auto bound = std::make_shared<api::Pod>(*d.pod);
    if (const auto& changes = d.as<Decision::Bind>()->changes) apply(*changes, bound->metadata);
    bound->spec.node_name = d.node();
    engine.put_pod(std::move(bound));
    left -= std::int64_t{pods[i].request.gpus} * pods[i].request.share;
  }
  seconds += thread_seconds() - began;
  return 100.0 * static_cast<double>(left) / static_cast<double>(trace.gpus);
}

}  // namespace koord::scheduling::bench
