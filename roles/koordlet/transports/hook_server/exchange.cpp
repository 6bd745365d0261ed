// Between a proxy's messages and the desk: see exchange.hpp.
#include "transports/hook_server/exchange.hpp"

#include <algorithm>
#include <utility>

namespace koord::koordlet::hook_server {

namespace {

using rpc::hooks::Map;
using rpc::hooks::Resources;
using rpc::hooks::Stage;

std::vector<RuntimePair> pairs(Map from) {
  std::vector<RuntimePair> to;
  to.reserve(from.size());
  for (auto& [name, value] : from) to.push_back({std::move(name), std::move(value)});
  return to;
}
Map map(std::vector<RuntimePair> from) {
  Map to;
  to.reserve(from.size());
  for (RuntimePair& pair : from) to.emplace_back(std::move(pair.name), std::move(pair.value));
  return to;
}
/// What is said wins over what there is of that name.
void overlay(Map& map, const std::vector<RuntimePair>& said) {
  const std::size_t had = map.size();
  for (const RuntimePair& pair : said) {
    const auto end = map.begin() + static_cast<std::ptrdiff_t>(had);
    const auto at =
        std::lower_bound(map.begin(), end, pair.name,
                         [](const auto& one, const std::string& name) { return one.first < name; });
    if (at != end && at->first == pair.name)
      at->second = pair.value;
    else
      map.emplace_back(pair.name, pair.value);
  }
  if (map.size() > had) std::ranges::sort(map);
}

std::optional<std::int64_t> said(std::int64_t value) {
  return value == 0 ? std::nullopt : std::optional(value);
}
RuntimeResources resources_of(const Resources& from) {
  RuntimeResources to;
  to.cpu_period = said(from.cpu_period);
  to.cpu_quota = said(from.cpu_quota);
  to.cpu_shares = said(from.cpu_shares);
  to.memory_limit = said(from.memory_limit);
  to.oom_score_adj = from.oom_score_adj;
  to.cpuset_cpus = from.cpuset_cpus;
  to.cpuset_mems = from.cpuset_mems;
  return to;
}

void overlay(std::optional<Resources>& resources, const RuntimeSettings& settings) {
  if (settings.empty()) return;
  if (!resources) resources.emplace();
  if (settings.cpu_period) resources->cpu_period = *settings.cpu_period;
  if (settings.cpu_quota) resources->cpu_quota = *settings.cpu_quota;
  if (settings.cpu_shares) resources->cpu_shares = *settings.cpu_shares;
  if (settings.memory_limit.value_or(0) > 0) resources->memory_limit = *settings.memory_limit;
  if (settings.oom_score_adj) resources->oom_score_adj = *settings.oom_score_adj;
  if (settings.cpuset_cpus) resources->cpuset_cpus = *settings.cpuset_cpus;
}

Result<Verdict> verdict_of(Desk& desk, const RuntimeRequest& request, bool asked) {
  if (!asked) return Verdict();
  return desk.answer(request, Transport::hook_server);
}

}  // namespace

std::optional<RuntimeMoment> moment_of(Stage stage) {
  switch (stage) {
    case Stage::pre_run_pod_sandbox: return RuntimeMoment::run_sandbox;
    case Stage::post_stop_pod_sandbox: return RuntimeMoment::stop_sandbox;
    case Stage::pre_create_container: return RuntimeMoment::create_container;
    case Stage::pre_start_container: return RuntimeMoment::start_container;
    case Stage::post_stop_container: return RuntimeMoment::stop_container;
    case Stage::pre_update_container_resources: return RuntimeMoment::update_container;
    case Stage::post_start_container:
    case Stage::pre_remove_run_pod_sandbox: break;
  }
  return std::nullopt;
}

RuntimeRequest request_of(RuntimeMoment moment, std::string runtime, rpc::hooks::PodRequest from) {
  RuntimeRequest request;
  request.moment = moment;
  request.runtime = std::move(runtime);
  request.sandbox.uid = std::move(from.meta.uid);
  request.sandbox.ns = std::move(from.meta.ns);
  request.sandbox.name = std::move(from.meta.name);
  request.sandbox.labels = pairs(std::move(from.labels));
  request.sandbox.annotations = pairs(std::move(from.annotations));
  request.sandbox.cgroup_parent = std::move(from.cgroup_parent);
  request.sandbox.runtime_handler = std::move(from.runtime_handler);
  return request;
}

RuntimeRequest request_of(RuntimeMoment moment, std::string runtime, rpc::hooks::ContainerRequest from) {
  RuntimeRequest request;
  request.moment = moment;
  request.runtime = std::move(runtime);
  request.sandbox.uid = std::move(from.pod.uid);
  request.sandbox.ns = std::move(from.pod.ns);
  request.sandbox.name = std::move(from.pod.name);
  request.sandbox.labels = pairs(std::move(from.pod_labels));
  request.sandbox.annotations = pairs(std::move(from.pod_annotations));
  request.sandbox.cgroup_parent = std::move(from.pod_cgroup_parent);
  RuntimeContainer& container = request.container.emplace();
  container.name = std::move(from.meta.name);
  container.id = std::move(from.meta.id);
  container.annotations = pairs(std::move(from.annotations));
  container.env = pairs(std::move(from.env));
  if (from.resources) container.resources = resources_of(*from.resources);
  return request;
}

rpc::hooks::PodResponse pod_response(RuntimeRequest request, std::optional<Resources> had,
                                     const Verdict& verdict) {
  rpc::hooks::PodResponse response;
  response.labels = map(std::move(request.sandbox.labels));
  response.annotations = map(std::move(request.sandbox.annotations));
  response.cgroup_parent = std::move(request.sandbox.cgroup_parent);
  response.resources = std::move(had);
  overlay(response.annotations, verdict.annotations);
  overlay(response.resources, verdict.settings);
  return response;
}

rpc::hooks::ContainerResponse container_response(RuntimeRequest request, std::optional<Resources> had,
                                                 const Verdict& verdict) {
  rpc::hooks::ContainerResponse response;
  response.annotations = map(std::move(request.container->annotations));
  response.env = map(std::move(request.container->env));
  response.pod_cgroup_parent = std::move(request.sandbox.cgroup_parent);
  response.resources = std::move(had);
  overlay(response.annotations, verdict.annotations);
  overlay(response.env, verdict.env);
  overlay(response.resources, verdict.settings);
  return response;
}

Result<std::string> answer(Desk& desk, Stage stage, const std::string& runtime, std::string_view bytes,
                           const WriteNow& write) {
  const auto moment = moment_of(stage);
  const bool asked = moment && desk.asked_at(*moment);
  // Who has no say in it gives back what there is.
  const RuntimeMoment at = moment.value_or(RuntimeMoment::start_container);
  if (rpc::hooks::of_sandbox(stage)) {
    KOORD_TRY(pod, rpc::hooks::decode_pod_request(bytes));
    auto had = std::move(pod.resources);
    RuntimeRequest request = request_of(at, runtime, std::move(pod));
    KOORD_TRY(verdict, verdict_of(desk, request, asked));
    // Its group is there: the kubelet makes it before it asks for a sandbox.
    if (write && !verdict.later.empty()) write(verdict.later);
    return rpc::hooks::encode(pod_response(std::move(request), std::move(had), verdict));
  }
  KOORD_TRY(container, rpc::hooks::decode_container_request(bytes));
  auto had = container.resources;
  RuntimeRequest request = request_of(at, runtime, std::move(container));
  KOORD_TRY(verdict, verdict_of(desk, request, asked));
  return rpc::hooks::encode(container_response(std::move(request), std::move(had), verdict));
}

}  // namespace koord::koordlet::hook_server
