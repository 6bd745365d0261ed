// Devices in the kubelet's answers: see koord/rpc/pod_resources.hpp.
#include "koord/rpc/pod_resources.hpp"

#include <algorithm>
#include <utility>

#include "pod_resources.pb.h"

namespace koord::rpc::pod_resources {

namespace {

namespace wire = ::koord::wire::pod_resources;

template <class Message>
Result<Message> parse(std::string_view bytes, std::string_view what) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return Error(Code::parse, "the bytes are no message").context(what);
  return message;
}

void add(wire::PodResources& pod, const DevicesOf& devices_of) {
  if (pod.containers_size() == 0) return;
  const auto added = devices_of(pod.namespace_(), pod.name());
  if (added.empty()) return;
  auto& devices = *pod.mutable_containers(0)->mutable_devices();
  for (const Devices& one : added) {
    wire::ContainerDevices& row = *devices.Add();
    row.set_resource_name(one.resource);
    for (const std::string& id : one.ids) row.add_device_ids(id);
  }
  std::stable_sort(devices.pointer_begin(), devices.pointer_end(),
                   [](const auto* a, const auto* b) { return a->resource_name() < b->resource_name(); });
}

}  // namespace

Result<std::string> add_to_list(std::string_view bytes, const DevicesOf& devices_of) {
  KOORD_TRY(list, parse<wire::ListPodResourcesResponse>(bytes, "ListPodResourcesResponse"));
  for (wire::PodResources& pod : *list.mutable_pod_resources()) add(pod, devices_of);
  return list.SerializeAsString();
}

Result<std::string> add_to_pod(std::string_view bytes, const DevicesOf& devices_of) {
  KOORD_TRY(message, parse<wire::GetPodResourcesResponse>(bytes, "GetPodResourcesResponse"));
  if (message.has_pod_resources()) add(*message.mutable_pod_resources(), devices_of);
  return message.SerializeAsString();
}

}  // namespace koord::rpc::pod_resources
