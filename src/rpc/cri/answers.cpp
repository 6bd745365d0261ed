// What a back end says of what it has: see koord/rpc/cri.hpp.
#include <google/protobuf/arena.h>

#include "fields.hpp"
#include "verbose_info.hpp"

namespace koord::rpc::cri {

namespace {

/// Of a sandbox in a list, and of one's status.
template <class Wire>
ListedSandbox to_sandbox(const Wire& message) {
  ListedSandbox listed{.id = message.id(),
                       .pod = {.meta = to_meta(message.metadata()),
                               .runtime_handler = to_text(message.runtime_handler()),
                               .labels = to_map(message.labels()),
                               .annotations = to_map(message.annotations()),
                               .cgroup_parent = {},
                               .overhead = {},
                               .resources = {}}};
  listed.pod.meta.attempt = 0;  // as hooks are asked before it is made
  return listed;
}

}  // namespace

Result<std::string> read_id(std::string_view bytes) {
  wire::cri::Id message;
  KOORD_CHECK(parse_message(message, bytes, "message with an id"));
  return std::move(*message.mutable_id());
}

Result<std::vector<ListedSandbox>> read_sandboxes(std::string_view bytes) {
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<wire::cri::ListPodSandboxResponse>(&arena);
  KOORD_CHECK(parse_message(message, bytes, "ListPodSandboxResponse"));
  std::vector<ListedSandbox> sandboxes;
  sandboxes.reserve(static_cast<std::size_t>(message.items_size()));
  for (const wire::cri::PodSandbox& item : message.items()) sandboxes.push_back(to_sandbox(item));
  return sandboxes;
}

Result<std::vector<ListedContainer>> read_containers(std::string_view bytes) {
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<wire::cri::ListContainersResponse>(&arena);
  KOORD_CHECK(parse_message(message, bytes, "ListContainersResponse"));
  std::vector<ListedContainer> containers;
  containers.reserve(static_cast<std::size_t>(message.containers_size()));
  for (const wire::cri::Container& item : message.containers()) {
    containers.push_back({.id = item.id(),
                          .sandbox = item.pod_sandbox_id(),
                          .meta = to_meta(item.metadata()),
                          .annotations = to_map(item.annotations())});
    containers.back().meta.id = to_text(item.id());
  }
  return containers;
}

std::string verbose_status_of(std::string_view id) {
  wire::cri::StatusRequest message;
  message.set_id(std::string(id));
  message.set_verbose(true);
  return message.SerializeAsString();
}

Result<ListedSandbox> read_sandbox_status(std::string_view bytes) {
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<wire::cri::PodSandboxStatusResponse>(&arena);
  KOORD_CHECK(parse_message(message, bytes, "PodSandboxStatusResponse"));
  ListedSandbox listed = to_sandbox(message.status());
  listed.pod.cgroup_parent = cgroup_parent_of(message.info());
  return listed;
}

Result<ContainerDetails> read_container_status(std::string_view bytes) {
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<wire::cri::ContainerStatusResponse>(&arena);
  KOORD_CHECK(parse_message(message, bytes, "ContainerStatusResponse"));
  const wire::cri::ContainerStatus& status = message.status();
  ContainerDetails details{.sandbox = {},
                           .meta = to_meta(status.metadata()),
                           .annotations = to_map(status.annotations()),
                           .resources = {},
                           .env = {}};
  details.meta.id = to_text(status.id());
  if (status.resources().has_linux()) details.resources = to_resources(status.resources().linux());
  add_details(message.info(), details);
  return details;
}

}  // namespace koord::rpc::cri
