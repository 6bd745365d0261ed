// The messages that hooks may change: see koord/rpc/cri.hpp.
#include <google/protobuf/arena.h>

#include "fields.hpp"

namespace koord::rpc::cri {

namespace {

/// A message with the memory of all that is in it.
template <class Wire>
struct Held {
  google::protobuf::Arena arena;
  Wire* wire = google::protobuf::Arena::CreateMessage<Wire>(&arena);
};

hooks::PodRequest to_pod(const wire::cri::PodSandboxConfig& config) {
  hooks::PodRequest pod{.meta = to_meta(config.metadata()),
                        .runtime_handler = {},
                        .labels = to_map(config.labels()),
                        .annotations = to_map(config.annotations()),
                        .cgroup_parent = to_text(config.linux().cgroup_parent()),
                        .overhead = {},
                        .resources = {}};
  pod.meta.attempt = 0;
  return pod;
}

}  // namespace

bool ResourceChange::empty() const { return *this == ResourceChange(); }
bool ContainerChange::empty() const {
  return annotations.empty() && resources.empty() && !pod_cgroup_parent && env.empty() && env_removed.empty();
}

struct RunPodSandbox::Message : Held<wire::cri::RunPodSandboxRequest> {};
RunPodSandbox::RunPodSandbox(std::unique_ptr<Message> message) : message_(std::move(message)) {}
RunPodSandbox::RunPodSandbox(RunPodSandbox&&) noexcept = default;
RunPodSandbox& RunPodSandbox::operator=(RunPodSandbox&&) noexcept = default;
RunPodSandbox::~RunPodSandbox() = default;

Result<RunPodSandbox> RunPodSandbox::read(std::string_view bytes) {
  auto message = std::make_unique<Message>();
  KOORD_CHECK(parse_message(*message->wire, bytes, "RunPodSandboxRequest"));
  return RunPodSandbox(std::move(message));
}

hooks::PodRequest RunPodSandbox::asked() const {
  hooks::PodRequest pod = to_pod(message_->wire->config());
  pod.runtime_handler = to_text(message_->wire->runtime_handler());
  return pod;
}

void RunPodSandbox::apply(const PodChange& change) {
  if (change.empty()) return;
  wire::cri::PodSandboxConfig& config = *message_->wire->mutable_config();
  set_entries(*config.mutable_labels(), change.labels);
  set_entries(*config.mutable_annotations(), change.annotations);
  if (change.cgroup_parent) config.mutable_linux()->set_cgroup_parent(*change.cgroup_parent);
}

std::string RunPodSandbox::bytes() const { return message_->wire->SerializeAsString(); }

struct CreateContainer::Message : Held<wire::cri::CreateContainerRequest> {};
CreateContainer::CreateContainer(std::unique_ptr<Message> message) : message_(std::move(message)) {}
CreateContainer::CreateContainer(CreateContainer&&) noexcept = default;
CreateContainer& CreateContainer::operator=(CreateContainer&&) noexcept = default;
CreateContainer::~CreateContainer() = default;

Result<CreateContainer> CreateContainer::read(std::string_view bytes) {
  auto message = std::make_unique<Message>();
  KOORD_CHECK(parse_message(*message->wire, bytes, "CreateContainerRequest"));
  return CreateContainer(std::move(message));
}

std::string_view CreateContainer::sandbox_id() const { return message_->wire->pod_sandbox_id(); }

hooks::PodRequest CreateContainer::sandbox() const { return to_pod(message_->wire->sandbox_config()); }

hooks::ContainerRequest CreateContainer::asked() const {
  const wire::cri::ContainerConfig& config = message_->wire->config();
  return {.pod = {},
          .meta = to_meta(config.metadata()),
          .annotations = to_map(config.annotations()),
          .resources = to_resources(config.linux().resources()),
          .pod_resources = {},
          .pod_annotations = {},
          .pod_labels = {},
          .pod_cgroup_parent = to_text(message_->wire->sandbox_config().linux().cgroup_parent()),
          .env = to_map(config.envs())};
}

void CreateContainer::apply(const ContainerChange& change) {
  if (change.pod_cgroup_parent)
    message_->wire->mutable_sandbox_config()->mutable_linux()->set_cgroup_parent(*change.pod_cgroup_parent);
  wire::cri::ContainerConfig& config = *message_->wire->mutable_config();
  set_entries(*config.mutable_annotations(), change.annotations);
  remove_entries(*config.mutable_envs(), change.env_removed);
  set_entries(*config.mutable_envs(), change.env);
  if (!change.resources.empty())
    set_resources(*config.mutable_linux()->mutable_resources(), change.resources);
}

std::string CreateContainer::bytes() const { return message_->wire->SerializeAsString(); }

struct UpdateContainerResources::Message : Held<wire::cri::UpdateContainerResourcesRequest> {};
UpdateContainerResources::UpdateContainerResources(std::unique_ptr<Message> message)
    : message_(std::move(message)) {}
UpdateContainerResources::UpdateContainerResources(UpdateContainerResources&&) noexcept = default;
UpdateContainerResources& UpdateContainerResources::operator=(UpdateContainerResources&&) noexcept = default;
UpdateContainerResources::~UpdateContainerResources() = default;

Result<UpdateContainerResources> UpdateContainerResources::read(std::string_view bytes) {
  auto message = std::make_unique<Message>();
  KOORD_CHECK(parse_message(*message->wire, bytes, "UpdateContainerResourcesRequest"));
  return UpdateContainerResources(std::move(message));
}

std::string_view UpdateContainerResources::container_id() const { return message_->wire->container_id(); }

std::optional<hooks::Resources> UpdateContainerResources::resources() const {
  if (!message_->wire->has_linux()) return std::nullopt;
  return to_resources(message_->wire->linux());
}

hooks::Map UpdateContainerResources::annotations() const { return to_map(message_->wire->annotations()); }

void UpdateContainerResources::apply(const ContainerChange& change) {
  set_entries(*message_->wire->mutable_annotations(), change.annotations);
  if (!change.resources.empty()) set_resources(*message_->wire->mutable_linux(), change.resources);
}

std::string UpdateContainerResources::bytes() const { return message_->wire->SerializeAsString(); }

}  // namespace koord::rpc::cri
