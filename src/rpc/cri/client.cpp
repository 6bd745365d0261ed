// What a runtime is asked and answers: see koord/rpc/cri_client.hpp.
#include "koord/rpc/cri_client.hpp"

#include <google/protobuf/arena.h>

#include <utility>

#include "cri_client.pb.h"
#include "fields.hpp"

namespace koord::rpc::cri {

namespace {

namespace wire = ::koord::wire::cri_client;

constexpr int kLastState = 3;

}  // namespace

std::string version_request() { return wire::VersionRequest().SerializeAsString(); }

Result<RuntimeVersion> read_version(std::string_view bytes) {
  wire::VersionResponse message;
  KOORD_CHECK(parse_message(message, bytes, "VersionResponse"));
  return RuntimeVersion{.name = to_text(message.runtime_name()),
                        .version = to_text(message.runtime_version()),
                        .api = to_text(message.runtime_api_version())};
}

std::string stop_request(std::string_view container, std::int64_t seconds) {
  wire::StopContainerRequest message;
  message.set_container_id(std::string(container));
  message.set_timeout(seconds);
  return message.SerializeAsString();
}

std::string list_request(std::optional<ContainerState> state) {
  wire::ListContainersRequest message;
  if (state) message.mutable_filter()->mutable_state()->set_state(static_cast<int>(*state));
  return message.SerializeAsString();
}

Result<std::vector<RuntimeContainer>> read_listed(std::string_view bytes) {
  google::protobuf::Arena arena;
  auto& message = *google::protobuf::Arena::CreateMessage<wire::ListContainersResponse>(&arena);
  KOORD_CHECK(parse_message(message, bytes, "ListContainersResponse"));
  std::vector<RuntimeContainer> listed;
  listed.reserve(static_cast<std::size_t>(message.containers_size()));
  for (const wire::Container& item : message.containers()) {
    RuntimeContainer& one = listed.emplace_back();
    one.id = to_text(item.id());
    one.sandbox = to_text(item.pod_sandbox_id());
    one.name = to_text(item.metadata().name());
    one.attempt = item.metadata().attempt();
    if (item.state() >= 0 && item.state() <= kLastState)
      one.state = static_cast<ContainerState>(item.state());
    one.created_at = item.created_at();
    for (const wire::Entry& label : item.labels()) {
      if (label.key() == "io.kubernetes.pod.uid") one.pod_uid = to_text(label.value());
      if (label.key() == "io.kubernetes.pod.namespace") one.pod_ns = to_text(label.value());
      if (label.key() == "io.kubernetes.pod.name") one.pod_name = to_text(label.value());
    }
  }
  return listed;
}

}  // namespace koord::rpc::cri
