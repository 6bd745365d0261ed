// NRI's messages from and to bytes: see koord/rpc/nri.hpp.
#include <fmt/format.h>

#include <utility>

#include "parts.hpp"

namespace koord::rpc::nri {

namespace {

template <class Message>
Result<Message> parse(std::string_view bytes, std::string_view what) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Error(Code::parse, fmt::format("{} bytes are no {} of NRI", bytes.size(), what));
  return message;
}

/// Of requests with a pod and perhaps a container in them.
template <class Message>
Happened happened(Event event, Message& message) {
  Happened happened;
  happened.event = event;
  happened.pod = pod_of(std::move(*message.mutable_pod()));
  if constexpr (requires { message.container(); })
    if (message.has_container()) happened.container = container_of(std::move(*message.mutable_container()));
  return happened;
}

bool is_about_a_pod(Event event) {
  switch (event) {
    case Event::run_pod_sandbox:
    case Event::stop_pod_sandbox:
    case Event::remove_pod_sandbox:
    case Event::update_pod_sandbox:
    case Event::post_update_pod_sandbox: return true;
    default: return false;
  }
}

template <class Message>
void put_all(const Happened& from, Message& to) {
  put(from.pod, *to.mutable_pod());
  if constexpr (requires { to.container(); })
    if (from.container) put(*from.container, *to.mutable_container());
}

}  // namespace

std::string encode(const RegisterPlugin& message) {
  wire::RegisterPluginRequest to;
  to.set_plugin_name(message.name);
  to.set_plugin_idx(message.index);
  return to.SerializeAsString();
}

Result<RegisterPlugin> decode_register_plugin(std::string_view bytes) {
  KOORD_TRY(message, parse<wire::RegisterPluginRequest>(bytes, "RegisterPluginRequest"));
  return RegisterPlugin{message.plugin_name(), message.plugin_idx()};
}

std::string encode_events(std::int32_t events) {
  wire::ConfigureResponse to;
  to.set_events(events);
  return to.SerializeAsString();
}

Result<std::int32_t> decode_events(std::string_view bytes) {
  KOORD_TRY(message, parse<wire::ConfigureResponse>(bytes, "ConfigureResponse"));
  return message.events();
}

std::string encode(const SynchronizeAnswer& message) {
  wire::SynchronizeResponse to;
  for (const Update& update : message.updates) put(update, *to.add_update());
  to.set_more(message.more);
  return to.SerializeAsString();
}

Result<SynchronizeAnswer> decode_synchronize_answer(std::string_view bytes) {
  KOORD_TRY(message, parse<wire::SynchronizeResponse>(bytes, "SynchronizeResponse"));
  SynchronizeAnswer answer;
  for (wire::ContainerUpdate& update : *message.mutable_update())
    answer.updates.push_back(update_of(std::move(update)));
  answer.more = message.more();
  return answer;
}

std::string encode(const CreateContainerAnswer& message) {
  wire::CreateContainerResponse to;
  if (message.adjust != Adjustment{}) put(message.adjust, *to.mutable_adjust());
  for (const Update& update : message.updates) put(update, *to.add_update());
  return to.SerializeAsString();
}

Result<CreateContainerAnswer> decode_create_container_answer(std::string_view bytes) {
  KOORD_TRY(message, parse<wire::CreateContainerResponse>(bytes, "CreateContainerResponse"));
  CreateContainerAnswer answer;
  answer.adjust = adjustment_of(std::move(*message.mutable_adjust()));
  for (wire::ContainerUpdate& update : *message.mutable_update())
    answer.updates.push_back(update_of(std::move(update)));
  return answer;
}

std::string encode(const std::vector<Update>& updates) {
  wire::UpdateResponse to;
  for (const Update& update : updates) put(update, *to.add_update());
  return to.SerializeAsString();
}

Result<std::vector<Update>> decode_updates(std::string_view bytes) {
  KOORD_TRY(message, parse<wire::UpdateResponse>(bytes, "list of updates"));
  std::vector<Update> updates;
  for (wire::ContainerUpdate& update : *message.mutable_update())
    updates.push_back(update_of(std::move(update)));
  return updates;
}

std::string encode_failed(const std::vector<Update>& failed) {
  wire::UpdateContainersResponse to;
  for (const Update& update : failed) put(update, *to.add_failed());
  return to.SerializeAsString();
}

Result<std::vector<Update>> decode_failed(std::string_view bytes) {
  KOORD_TRY(message, parse<wire::UpdateContainersResponse>(bytes, "UpdateContainersResponse"));
  std::vector<Update> failed;
  for (wire::ContainerUpdate& update : *message.mutable_failed())
    failed.push_back(update_of(std::move(update)));
  return failed;
}

std::string encode(const Configure& message) {
  wire::ConfigureRequest to;
  to.set_config(message.config);
  to.set_runtime_name(message.runtime_name);
  to.set_runtime_version(message.runtime_version);
  to.set_nri_version(message.nri_version);
  to.set_registration_timeout(message.registration_timeout_ms);
  to.set_request_timeout(message.request_timeout_ms);
  return to.SerializeAsString();
}

Result<Configure> decode_configure(std::string_view bytes) {
  KOORD_TRY(message, parse<wire::ConfigureRequest>(bytes, "ConfigureRequest"));
  return Configure{message.config(),      message.runtime_name(),         message.runtime_version(),
                   message.nri_version(), message.registration_timeout(), message.request_timeout()};
}

std::string encode(const Synchronize& message) {
  wire::SynchronizeRequest to;
  for (const Pod& pod : message.pods) put(pod, *to.add_pods());
  for (const Container& container : message.containers) put(container, *to.add_containers());
  to.set_more(message.more);
  return to.SerializeAsString();
}

Result<Synchronize> decode_synchronize(std::string_view bytes) {
  KOORD_TRY(message, parse<wire::SynchronizeRequest>(bytes, "SynchronizeRequest"));
  Synchronize all;
  all.pods.reserve(static_cast<std::size_t>(message.pods_size()));
  all.containers.reserve(static_cast<std::size_t>(message.containers_size()));
  for (wire::PodSandbox& pod : *message.mutable_pods()) all.pods.push_back(pod_of(std::move(pod)));
  for (wire::ContainerState& container : *message.mutable_containers())
    all.containers.push_back(container_of(std::move(container)));
  all.more = message.more();
  return all;
}

std::string encode(const Happened& message, bool as_state_change) {
  if (as_state_change) {
    wire::StateChangeEvent to;
    to.set_event(static_cast<int>(message.event));
    put_all(message, to);
    return to.SerializeAsString();
  }
  if (message.event == Event::update_container) {
    wire::UpdateContainerRequest to;
    put_all(message, to);
    if (message.resources) put(*message.resources, *to.mutable_linux_resources());
    return to.SerializeAsString();
  }
  wire::ContainerRequest to;
  put_all(message, to);
  return to.SerializeAsString();
}

Result<Happened> decode_happened(Event event, std::string_view bytes) {
  if (event == Event::unknown) {
    KOORD_TRY(message, parse<wire::StateChangeEvent>(bytes, "StateChangeEvent"));
    const bool known = message.event() > 0 &&
                       !to_string(static_cast<Event>(message.event() & 0xFF)).empty() &&
                       message.event() <= 0xFF;
    return happened(known ? static_cast<Event>(message.event()) : Event::unknown, message);
  }
  if (is_about_a_pod(event)) {
    KOORD_TRY(message, parse<wire::PodRequest>(bytes, to_string(event)));
    return happened(event, message);
  }
  if (event == Event::update_container) {
    KOORD_TRY(message, parse<wire::UpdateContainerRequest>(bytes, to_string(event)));
    Happened update = happened(event, message);
    if (message.has_linux_resources())
      update.resources = resources_of(std::move(*message.mutable_linux_resources()));
    return update;
  }
  KOORD_TRY(message, parse<wire::ContainerRequest>(bytes, to_string(event)));
  return happened(event, message);
}

}  // namespace koord::rpc::nri
