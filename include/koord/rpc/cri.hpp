// The container runtime interface (runtime.v1.RuntimeService): the calls that a proxy has a say in, as what
// hooks are asked with, and changes of their messages that leave everything else as it came.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "koord/base/result.hpp"
#include "koord/rpc/hooks.hpp"

namespace koord::rpc::cri {

/// Full names of methods: "/runtime.v1.RuntimeService/CreateContainer".
namespace method {
inline constexpr std::string_view kVersion = "/runtime.v1.RuntimeService/Version";
inline constexpr std::string_view kRunPodSandbox = "/runtime.v1.RuntimeService/RunPodSandbox";
inline constexpr std::string_view kStopPodSandbox = "/runtime.v1.RuntimeService/StopPodSandbox";
inline constexpr std::string_view kRemovePodSandbox = "/runtime.v1.RuntimeService/RemovePodSandbox";
inline constexpr std::string_view kCreateContainer = "/runtime.v1.RuntimeService/CreateContainer";
inline constexpr std::string_view kStartContainer = "/runtime.v1.RuntimeService/StartContainer";
inline constexpr std::string_view kUpdateContainerResources =
    "/runtime.v1.RuntimeService/UpdateContainerResources";
inline constexpr std::string_view kStopContainer = "/runtime.v1.RuntimeService/StopContainer";
inline constexpr std::string_view kRemoveContainer = "/runtime.v1.RuntimeService/RemoveContainer";
inline constexpr std::string_view kListPodSandbox = "/runtime.v1.RuntimeService/ListPodSandbox";
inline constexpr std::string_view kListContainers = "/runtime.v1.RuntimeService/ListContainers";
inline constexpr std::string_view kPodSandboxStatus = "/runtime.v1.RuntimeService/PodSandboxStatus";
inline constexpr std::string_view kContainerStatus = "/runtime.v1.RuntimeService/ContainerStatus";
}  // namespace method

/// What becomes of a message. Nothing, and what is not named in a map: it stays as it is.
struct ResourceChange {
  std::optional<std::int64_t> cpu_period, cpu_quota, cpu_shares, memory_limit, oom_score_adj,
      memory_swap_limit;
  std::optional<std::string> cpuset_cpus, cpuset_mems;
  std::vector<hooks::HugepageLimit> hugepages;  // by page size
  hooks::Map unified;
  bool empty() const;
  friend bool operator==(const ResourceChange&, const ResourceChange&) = default;
};
struct PodChange {
  hooks::Map labels, annotations;
  std::optional<std::string> cgroup_parent;
  bool empty() const { return labels.empty() && annotations.empty() && !cgroup_parent; }
  friend bool operator==(const PodChange&, const PodChange&) = default;
};
struct ContainerChange {
  hooks::Map annotations;
  ResourceChange resources;
  std::optional<std::string> pod_cgroup_parent;
  hooks::Map env;
  std::vector<std::string> env_removed;
  bool empty() const;
  friend bool operator==(const ContainerChange&, const ContainerChange&) = default;
};

// The three messages that hooks may change. read(): Code::parse where the bytes are no such message. What a
// hook cannot be told (pairs that are not UTF-8) is left out of what it is asked with, and stays in the
// message. Of a name that stands there twice the last counts, as in a container's environment; a change goes
// there. New names follow the old ones.

class RunPodSandbox {
 public:
  static Result<RunPodSandbox> read(std::string_view bytes);
  /// Without an attempt, overhead and resources, which hooks are not told.
  hooks::PodRequest asked() const;
  void apply(const PodChange& change);
  std::string bytes() const;

  struct Message;
  RunPodSandbox(RunPodSandbox&&) noexcept;
  RunPodSandbox& operator=(RunPodSandbox&&) noexcept;
  ~RunPodSandbox();

 private:
  explicit RunPodSandbox(std::unique_ptr<Message> message);
  std::unique_ptr<Message> message_;
};

class CreateContainer {
 public:
  static Result<CreateContainer> read(std::string_view bytes);
  std::string_view sandbox_id() const;
  /// The sandbox as the request itself has it: what is known of one that nobody else knows.
  hooks::PodRequest sandbox() const;
  /// All but what is the pod's: its names, labels, annotations and resources.
  hooks::ContainerRequest asked() const;
  void apply(const ContainerChange& change);
  std::string bytes() const;

  struct Message;
  CreateContainer(CreateContainer&&) noexcept;
  CreateContainer& operator=(CreateContainer&&) noexcept;
  ~CreateContainer();

 private:
  explicit CreateContainer(std::unique_ptr<Message> message);
  std::unique_ptr<Message> message_;
};

class UpdateContainerResources {
 public:
  static Result<UpdateContainerResources> read(std::string_view bytes);
  std::string_view container_id() const;
  std::optional<hooks::Resources> resources() const;  // nothing: the request has none
  hooks::Map annotations() const;
  /// Of the container's annotations and resources; of nothing else.
  void apply(const ContainerChange& change);
  std::string bytes() const;

  struct Message;
  UpdateContainerResources(UpdateContainerResources&&) noexcept;
  UpdateContainerResources& operator=(UpdateContainerResources&&) noexcept;
  ~UpdateContainerResources();

 private:
  explicit UpdateContainerResources(std::unique_ptr<Message> message);
  std::unique_ptr<Message> message_;
};

/// Of every message that is about one sandbox or container and has its id first: the requests to start, stop
/// and remove, the answers of RunPodSandbox and CreateContainer.
Result<std::string> read_id(std::string_view bytes);

// What a back end is asked, and says, of what it has.

struct ListedSandbox {
  std::string id;
  hooks::PodRequest pod;  // without its cgroup parent
};
struct ListedContainer {
  std::string id, sandbox;
  hooks::ContainerMeta meta;  // with the id
  hooks::Map annotations;
};
Result<std::vector<ListedSandbox>> read_sandboxes(std::string_view bytes);     // ListPodSandboxResponse
Result<std::vector<ListedContainer>> read_containers(std::string_view bytes);  // ListContainersResponse

/// A request of PodSandboxStatus or ContainerStatus.
std::string verbose_status_of(std::string_view id);

/// With the cgroup parent, where the verbose part tells it.
Result<ListedSandbox> read_sandbox_status(std::string_view bytes);
struct ContainerDetails {
  std::string sandbox;  // empty: not told
  hooks::ContainerMeta meta;
  hooks::Map annotations;
  std::optional<hooks::Resources> resources;
  /// Its variables, as it was given them, without those of the image; nothing: not told. Secret.
  std::optional<hooks::Map> env;
};
Result<ContainerDetails> read_container_status(std::string_view bytes);

}  // namespace koord::rpc::cri
