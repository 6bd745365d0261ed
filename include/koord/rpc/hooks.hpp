// Koordinator's runtime hooks (runtime.v1alpha1.RuntimeHookService) in plain structs, and their bytes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/base/result.hpp"

namespace koord::rpc::hooks {

/// In the order of the service. A hook configuration and `--runtime-hooks-disable-stages` name them so.
enum class Stage : std::uint8_t {
  pre_run_pod_sandbox,
  post_stop_pod_sandbox,
  pre_create_container,
  pre_start_container,
  post_start_container,
  post_stop_container,
  pre_update_container_resources,
  /// Never called by a proxy; the agent's NRI transport has it.
  pre_remove_run_pod_sandbox,
};
inline constexpr std::size_t kStages = 8, kCalledStages = 7;
std::string_view to_string(Stage stage);  // "PreRunPodSandbox"
std::optional<Stage> stage_named(std::string_view name);
/// "/runtime.v1alpha1.RuntimeHookService/PreRunPodSandboxHook"; empty for the stage that has no call.
std::string_view method_of(Stage stage);
constexpr bool of_sandbox(Stage stage) {
  return stage == Stage::pre_run_pod_sandbox || stage == Stage::post_stop_pod_sandbox ||
         stage == Stage::pre_remove_run_pod_sandbox;
}

/// A map of the wire, sorted by its keys, each once.
using Map = std::vector<std::pair<std::string, std::string>>;

struct PodMeta {
  std::string name, uid, ns;
  std::uint32_t attempt = 0;
  friend bool operator==(const PodMeta&, const PodMeta&) = default;
};
struct ContainerMeta {
  std::string name;
  std::uint32_t attempt = 0;
  std::string id;
  friend bool operator==(const ContainerMeta&, const ContainerMeta&) = default;
};
struct HugepageLimit {
  std::string page_size;
  std::uint64_t limit = 0;
  friend bool operator==(const HugepageLimit&, const HugepageLimit&) = default;
};
/// As cgroup v1 has them; 0 and empty: not said.
struct Resources {
  std::int64_t cpu_period = 0, cpu_quota = 0, cpu_shares = 0, memory_limit = 0, oom_score_adj = 0;
  std::string cpuset_cpus, cpuset_mems;
  std::vector<HugepageLimit> hugepages;
  Map unified;
  std::int64_t memory_swap_limit = 0;
  friend bool operator==(const Resources&, const Resources&) = default;
};

struct PodRequest {
  PodMeta meta;
  std::string runtime_handler;
  Map labels, annotations;
  std::string cgroup_parent;
  std::optional<Resources> overhead, resources;
  friend bool operator==(const PodRequest&, const PodRequest&) = default;
};
struct PodResponse {
  Map labels, annotations;
  std::string cgroup_parent;
  std::optional<Resources> resources;
  friend bool operator==(const PodResponse&, const PodResponse&) = default;
};
struct ContainerRequest {
  PodMeta pod;
  ContainerMeta meta;
  Map annotations;
  std::optional<Resources> resources, pod_resources;
  Map pod_annotations, pod_labels;
  std::string pod_cgroup_parent;
  Map env;
  friend bool operator==(const ContainerRequest&, const ContainerRequest&) = default;
};
struct ContainerResponse {
  Map annotations;
  std::optional<Resources> resources;
  std::string pod_cgroup_parent;
  Map env;
  friend bool operator==(const ContainerResponse&, const ContainerResponse&) = default;
};

/// Fields that are not described here are left out. decode: Code::parse where the bytes are no such message.
std::string encode(const PodRequest& message);
std::string encode(const PodResponse& message);
std::string encode(const ContainerRequest& message);
std::string encode(const ContainerResponse& message);
Result<PodRequest> decode_pod_request(std::string_view bytes);
Result<PodResponse> decode_pod_response(std::string_view bytes);
Result<ContainerRequest> decode_container_request(std::string_view bytes);
Result<ContainerResponse> decode_container_response(std::string_view bytes);

}  // namespace koord::rpc::hooks
