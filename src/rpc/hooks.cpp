// Runtime hooks: plain structs and their bytes.
#include "koord/rpc/hooks.hpp"

#include <algorithm>
#include <string>

#include "runtime_hooks.pb.h"

namespace koord::rpc::hooks {
namespace {

namespace wire = ::runtime::v1alpha1;

struct Row {
  std::string_view name;
  std::string_view method;
};
constexpr std::array<Row, kStages> kRows{{
    {"PreRunPodSandbox", "/runtime.v1alpha1.RuntimeHookService/PreRunPodSandboxHook"},
    {"PostStopPodSandbox", "/runtime.v1alpha1.RuntimeHookService/PostStopPodSandboxHook"},
    {"PreCreateContainer", "/runtime.v1alpha1.RuntimeHookService/PreCreateContainerHook"},
    {"PreStartContainer", "/runtime.v1alpha1.RuntimeHookService/PreStartContainerHook"},
    {"PostStartContainer", "/runtime.v1alpha1.RuntimeHookService/PostStartContainerHook"},
    {"PostStopContainer", "/runtime.v1alpha1.RuntimeHookService/PostStopContainerHook"},
    {"PreUpdateContainerResources", "/runtime.v1alpha1.RuntimeHookService/PreUpdateContainerResourcesHook"},
    {"PreRemoveRunPodSandbox", ""},
}};

template <class Wire>
void put(const Map& from, Wire& to) {
  for (const auto& [key, value] : from) to[key] = value;
}
template <class Wire>
Map map_of(const Wire& from) {
  Map map(from.begin(), from.end());
  std::sort(map.begin(), map.end());
  return map;
}

void put(const PodMeta& from, wire::PodSandboxMetadata& to) {
  to.set_name(from.name);
  to.set_uid(from.uid);
  to.set_namespace_(from.ns);
  to.set_attempt(from.attempt);
}
PodMeta pod_meta_of(const wire::PodSandboxMetadata& from) {
  return {.name = from.name(), .uid = from.uid(), .ns = from.namespace_(), .attempt = from.attempt()};
}

void put(const Resources& from, wire::LinuxContainerResources& to) {
  to.set_cpu_period(from.cpu_period);
  to.set_cpu_quota(from.cpu_quota);
  to.set_cpu_shares(from.cpu_shares);
  to.set_memory_limit_in_bytes(from.memory_limit);
  to.set_oom_score_adj(from.oom_score_adj);
  to.set_cpuset_cpus(from.cpuset_cpus);
  to.set_cpuset_mems(from.cpuset_mems);
  for (const HugepageLimit& limit : from.hugepages) {
    auto& row = *to.add_hugepage_limits();
    row.set_page_size(limit.page_size);
    row.set_limit(limit.limit);
  }
  put(from.unified, *to.mutable_unified());
  to.set_memory_swap_limit_in_bytes(from.memory_swap_limit);
}
Resources resources_of(const wire::LinuxContainerResources& from) {
  Resources to{.cpu_period = from.cpu_period(),
               .cpu_quota = from.cpu_quota(),
               .cpu_shares = from.cpu_shares(),
               .memory_limit = from.memory_limit_in_bytes(),
               .oom_score_adj = from.oom_score_adj(),
               .cpuset_cpus = from.cpuset_cpus(),
               .cpuset_mems = from.cpuset_mems(),
               .hugepages = {},
               .unified = map_of(from.unified()),
               .memory_swap_limit = from.memory_swap_limit_in_bytes()};
  for (const auto& row : from.hugepage_limits()) to.hugepages.push_back({row.page_size(), row.limit()});
  return to;
}

template <class Message>
Result<Message> parse(std::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Error(Code::parse, "the bytes are no message of runtime hooks");
  return message;
}

}  // namespace

std::string_view to_string(Stage stage) { return kRows[static_cast<std::size_t>(stage)].name; }
std::string_view method_of(Stage stage) { return kRows[static_cast<std::size_t>(stage)].method; }
std::optional<Stage> stage_named(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (kRows[i].name == name) return static_cast<Stage>(i);
  return {};
}

std::string encode(const PodRequest& message) {
  wire::PodSandboxHookRequest out;
  put(message.meta, *out.mutable_pod_meta());
  out.set_runtime_handler(message.runtime_handler);
  put(message.labels, *out.mutable_labels());
  put(message.annotations, *out.mutable_annotations());
  out.set_cgroup_parent(message.cgroup_parent);
  if (message.overhead) put(*message.overhead, *out.mutable_overhead());
  if (message.resources) put(*message.resources, *out.mutable_resources());
  return out.SerializeAsString();
}

std::string encode(const PodResponse& message) {
  wire::PodSandboxHookResponse out;
  put(message.labels, *out.mutable_labels());
  put(message.annotations, *out.mutable_annotations());
  out.set_cgroup_parent(message.cgroup_parent);
  if (message.resources) put(*message.resources, *out.mutable_resources());
  return out.SerializeAsString();
}

std::string encode(const ContainerRequest& message) {
  wire::ContainerResourceHookRequest out;
  put(message.pod, *out.mutable_pod_meta());
  auto& meta = *out.mutable_container_meta();
  meta.set_name(message.meta.name);
  meta.set_attempt(message.meta.attempt);
  meta.set_id(message.meta.id);
  put(message.annotations, *out.mutable_container_annotations());
  if (message.resources) put(*message.resources, *out.mutable_container_resources());
  if (message.pod_resources) put(*message.pod_resources, *out.mutable_pod_resources());
  put(message.pod_annotations, *out.mutable_pod_annotations());
  put(message.pod_labels, *out.mutable_pod_labels());
  out.set_pod_cgroup_parent(message.pod_cgroup_parent);
  put(message.env, *out.mutable_container_envs());
  return out.SerializeAsString();
}

std::string encode(const ContainerResponse& message) {
  wire::ContainerResourceHookResponse out;
  put(message.annotations, *out.mutable_container_annotations());
  if (message.resources) put(*message.resources, *out.mutable_container_resources());
  out.set_pod_cgroup_parent(message.pod_cgroup_parent);
  put(message.env, *out.mutable_container_envs());
  return out.SerializeAsString();
}

Result<PodRequest> decode_pod_request(std::string_view bytes) {
  KOORD_TRY(in, parse<wire::PodSandboxHookRequest>(bytes));
  PodRequest out{.meta = pod_meta_of(in.pod_meta()),
                 .runtime_handler = in.runtime_handler(),
                 .labels = map_of(in.labels()),
                 .annotations = map_of(in.annotations()),
                 .cgroup_parent = in.cgroup_parent(),
                 .overhead = {},
                 .resources = {}};
  if (in.has_overhead()) out.overhead = resources_of(in.overhead());
  if (in.has_resources()) out.resources = resources_of(in.resources());
  return out;
}

Result<PodResponse> decode_pod_response(std::string_view bytes) {
  KOORD_TRY(in, parse<wire::PodSandboxHookResponse>(bytes));
  PodResponse out{.labels = map_of(in.labels()),
                  .annotations = map_of(in.annotations()),
                  .cgroup_parent = in.cgroup_parent(),
                  .resources = {}};
  if (in.has_resources()) out.resources = resources_of(in.resources());
  return out;
}

Result<ContainerRequest> decode_container_request(std::string_view bytes) {
  KOORD_TRY(in, parse<wire::ContainerResourceHookRequest>(bytes));
  const auto& meta = in.container_meta();
  ContainerRequest out{.pod = pod_meta_of(in.pod_meta()),
                       .meta = {.name = meta.name(), .attempt = meta.attempt(), .id = meta.id()},
                       .annotations = map_of(in.container_annotations()),
                       .resources = {},
                       .pod_resources = {},
                       .pod_annotations = map_of(in.pod_annotations()),
                       .pod_labels = map_of(in.pod_labels()),
                       .pod_cgroup_parent = in.pod_cgroup_parent(),
                       .env = map_of(in.container_envs())};
  if (in.has_container_resources()) out.resources = resources_of(in.container_resources());
  if (in.has_pod_resources()) out.pod_resources = resources_of(in.pod_resources());
  return out;
}

Result<ContainerResponse> decode_container_response(std::string_view bytes) {
  KOORD_TRY(in, parse<wire::ContainerResourceHookResponse>(bytes));
  ContainerResponse out{.annotations = map_of(in.container_annotations()),
                        .resources = {},
                        .pod_cgroup_parent = in.pod_cgroup_parent(),
                        .env = map_of(in.container_envs())};
  if (in.has_container_resources()) out.resources = resources_of(in.container_resources());
  return out;
}

}  // namespace koord::rpc::hooks
