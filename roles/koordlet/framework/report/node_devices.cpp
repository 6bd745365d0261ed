// The node's Device: see node_devices.hpp.
#include "framework/report/node_devices.hpp"

#include <algorithm>
#include <array>
#include <tuple>

#include "framework/report/node_object.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::koordlet {

namespace {

/// Those that the agent keeps; an empty value in `wanted_device()`'s answer is one that is taken away.
constexpr std::array<std::string_view, 4> kOurLabels = {
    api::kGpuVendorLabel, api::kGpuModelLabel, api::kGpuDriverVersionLabel, api::kGpuPartitionPolicyLabel};

auto order(const api::DeviceInfo& device) {
  return std::tuple(device.type.view(), device.minor.value_or(-1), std::string_view(device.id));
}

const api::DeviceInfo* find_same(const std::vector<api::DeviceInfo>& all, const api::DeviceInfo& device) {
  const auto at = std::ranges::find_if(
      all, [&device](const auto& one) { return one.type == device.type && one.id == device.id; });
  return at != all.end() ? &*at : nullptr;
}

void keep_times(std::vector<api::Condition>& wanted, const api::DeviceInfo* old, const api::Time& now) {
  for (api::Condition& condition : wanted) {
    condition.last_transition_time = now;
    if (old == nullptr) continue;
    const auto at = std::ranges::find(old->conditions, condition.type, &api::Condition::type);
    if (at != old->conditions.end() && at->status == condition.status)
      condition.last_transition_time = at->last_transition_time;
  }
}

/// What is empty goes only where it is known that there is none.
void say(api::SymbolMap& to, std::string_view key, const std::string& text, bool known) {
  if (!text.empty())
    to[key] = Symbol(text);
  else if (known)
    to.erase(key);
}

}  // namespace

api::Device wanted_device(const NodeDevices& devices, const api::Device& object, const api::Time& now) {
  api::Device wanted = object;
  std::vector<api::DeviceInfo>& list = wanted.spec.devices;
  list = devices.devices;
  for (api::DeviceInfo& device : list) {
    const api::DeviceInfo* const old = find_same(object.spec.devices, device);
    keep_times(device.conditions, old, now);
    if (old == nullptr) continue;
    device.labels = old->labels;
    device.module_id = old->module_id;
  }
  for (const api::DeviceInfo& old : object.spec.devices) {
    const bool ours = old.type == kGpuType || old.type == kRdmaType;
    const bool complete = old.type == kGpuType ? devices.gpus_complete : devices.rdma_complete;
    const bool taken = std::ranges::any_of(list, [&old](const api::DeviceInfo& one) {
      return one.type == old.type && (one.id == old.id || one.minor == old.minor);
    });
    if ((!ours || !complete) && !taken) list.push_back(old);
  }
  std::ranges::sort(list, {}, &order);
  const bool any = std::ranges::any_of(list, [](const auto& device) { return device.type == kGpuType; });
  const GpuDescription& gpus = devices.gpus;
  const bool links = devices.gpus_complete && (gpus.knows_partitions || !any);
  api::SymbolMap& labels = wanted.metadata.labels;
  say(labels, api::kGpuVendorLabel, gpus.vendor, devices.gpus_complete);
  say(labels, api::kGpuModelLabel, gpus.model, devices.gpus_complete);
  say(labels, api::kGpuDriverVersionLabel, gpus.driver_version, devices.gpus_complete);
  say(labels, api::kGpuPartitionPolicyLabel, gpus.partition_policy, links);
  say(wanted.metadata.annotations, api::GpuPartitions::kAnnotation, gpus.partitions, links);
  return wanted;
}

bool says(const api::Device& object, const api::Device& wanted) {
  std::vector<api::DeviceInfo> is = object.spec.devices;
  std::ranges::sort(is, {}, &order);
  return is == wanted.spec.devices && object.metadata.labels == wanted.metadata.labels &&
         object.metadata.annotations == wanted.metadata.annotations;
}

void write_device(json::Document& document, const api::Device& wanted) {
  json::Arena& arena = document.arena();
  json::Value& meta = json::object_at(document, "metadata", arena);
  const auto write = [&](std::string_view map, std::string_view key, const Symbol* text) {
    if (text != nullptr)
      json::set_text(json::object_at(meta, map, arena), key, *text, arena);
    else if (json::Value* const at = json::find(meta, map))
      json::remove(*at, key);
  };
  for (const std::string_view label : kOurLabels) write("labels", label, wanted.metadata.labels.find(label));
  write("annotations", api::GpuPartitions::kAnnotation,
        wanted.metadata.annotations.find(api::GpuPartitions::kAnnotation));
  json::Value list = json::Value::array();
  for (const api::DeviceInfo& device : wanted.spec.devices) list.push_back(api::encode(device, arena), arena);
  json::set(json::object_at(document, "spec", arena), "devices", std::move(list), arena);
}

std::string new_device(const api::Device& wanted, const api::Node& node) {
  std::string text;
  json::Writer json(text);
  json.begin_object().member("apiVersion", "scheduling.koordinator.sh/v1alpha1").member("kind", "Device");
  write_owned_metadata(json, node);
  json.end_object();
  auto document = json::parse(text);
  write_device(*document, wanted);
  return json::to_text(*document);
}

}  // namespace koord::koordlet
