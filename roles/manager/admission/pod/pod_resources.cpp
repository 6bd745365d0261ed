// Resources of a pod that is admitted: see pod_resources.hpp.
#include "admission/pod/pod_resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "admission/pod/device_names.hpp"
#include "admission/raw/raw_object.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/node_agent.hpp"

namespace koord::manager {
namespace {

using json::Arena;
using json::Value;

/// The names that a class has for cpu and memory; empty for classes whose resources are not overcommitted.
struct ClassNames {
  std::string_view cpu, memory;
};

ClassNames names_of(api::KoordPriority priority) {
  switch (priority) {
    case api::KoordPriority::batch: return {api::kBatchCpu, api::kBatchMemory};
    case api::KoordPriority::mid: return {api::kMidCpu, api::kMidMemory};
    default: return {};
  }
}

/// A null counts as absent.
Value* object_in(Value& parent, std::string_view key) {
  Value* const found = json::find(parent, key);
  return found != nullptr && found->is_object() ? found : nullptr;
}

void rename(Value* list, std::string_view from, std::string_view to, bool in_milli, Arena& arena) {
  if (list == nullptr) return;
  auto quantity = amount(list, from);
  if (!quantity) return;
  if (in_milli) quantity = api::Quantity::from_int(quantity->milli_value());
  json::remove(*list, from);
  json::set_text(*list, to, quantity->to_string(), arena);
}

void raise_request(Value& resources, std::string_view name, Arena& arena) {
  const Value* const limits = object_in(resources, "limits");
  const Value* const limit = limits != nullptr ? json::find(*limits, name) : nullptr;
  if (limit == nullptr) return;
  Value& requests = json::object_at(resources, "requests", arena);
  if (json::find(requests, name) == nullptr) json::set(requests, name, json::clone(*limit, arena), arena);
}

void translate(Value* list, const ClassNames& names, Arena& arena) {
  rename(list, "cpu", names.cpu, true, arena);
  rename(list, "memory", names.memory, false, arena);
}

/// Those of the list that are batch resources.
api::ResourceList batch_amounts(const Value* list) {
  api::ResourceList amounts;
  for (const std::string_view name : {api::kBatchCpu, api::kBatchMemory})
    if (const auto quantity = amount(list, name)) amounts[name] = *quantity;
  return amounts;
}

/// What the annotation says; nothing of one that is too long to be read by anybody, and is written anew.
Result<std::optional<api::ExtendedResourceSpec>> said_spec(std::string_view text) {
  api::ExtendedResourceSpec spec;
  if (text.size() > api::kMaxAnnotation) return std::optional<api::ExtendedResourceSpec>();
  if (const auto read = decode_annotation(text, spec); !read)
    return Error(Code::parse, fmt::format("failed to get current extended resource spec, err: {}",
                                          read.error().message()));
  return std::optional(std::move(spec));
}

/// How many GPUs a share of them takes: a multiple of a hundred percent is that many.
std::optional<std::int64_t> gpus_of(const Value& requests, std::string_view name) {
  const auto percent = amount(&requests, name);
  if (!percent) return std::nullopt;
  const std::int64_t value = percent->value();
  return value > 100 && value % 100 == 0 ? value / 100 : 1;
}

void set_both(Value& resources, std::string_view name, std::int64_t value, Arena& arena) {
  const std::string text = api::Quantity::from_int(value).to_string();
  for (const std::string_view list : {"requests", "limits"})
    json::set_text(json::object_at(resources, list, arena), name, text, arena);
}

void set_device_resources_of(Value& resources, Arena& arena) {
  const auto asked_in = [&](std::string_view list) {
    const Value* const amounts = object_in(resources, list);
    return amounts != nullptr && std::ranges::any_of(kGpuResources, [&](std::string_view name) {
             return json::find(*amounts, name) != nullptr;
           });
  };
  if (!asked_in("requests") && !asked_in("limits")) return;
  if (const auto gpus = amount(object_in(resources, "requests"), kGpu)) {
    set_both(resources, kGpuCore, gpus->value(), arena);
    set_both(resources, kGpuMemoryRatio, gpus->value(), arena);
    for (const std::string_view list : {"requests", "limits"})
      json::remove(json::object_at(resources, list, arena), kGpu);
  }
  const Value& requests = json::object_at(resources, "requests", arena);
  if (json::find(requests, kGpuShared) != nullptr) return;
  auto shared = gpus_of(requests, kGpuMemoryRatio);
  if (!shared) shared = gpus_of(requests, kGpuCore);
  set_both(resources, kGpuShared, shared.value_or(1), arena);
}

}  // namespace

api::KoordPriority priority_with_default(const Value& pod) {
  const api::KoordPriority said = koord_priority(pod);
  if (said != api::KoordPriority::none) return said;
  const api::KoordQos qos = koord_qos(pod);
  return api::with_default(
      said, qos != api::KoordQos::none ? qos : api::with_default(qos, api::kube_qos(outline(pod))));
}

bool is_lent_to(const Value& pod) { return !names_of(priority_with_default(pod)).cpu.empty(); }

void translate_resources(Value& pod, Arena& arena) {
  const ClassNames names = names_of(priority_with_default(pod));
  if (names.cpu.empty()) return;
  for (const std::string_view list : {"initContainers", "containers"}) {
    for (Value& container : containers(pod, list)) {
      Value* const resources = object_in(container, "resources");
      if (resources == nullptr) continue;
      translate(object_in(*resources, "requests"), names, arena);
      translate(object_in(*resources, "limits"), names, arena);
      raise_request(*resources, names.cpu, arena);
      raise_request(*resources, names.memory, arena);
    }
  }
  if (Value* const spec = object_in(pod, "spec")) translate(object_in(*spec, "overhead"), names, arena);
}

bool is_untranslated(const Value& pod) {
  if (!is_lent_to(pod)) return false;
  json::Document translated = json::clone(pod);
  translate_resources(translated, translated.arena());
  return !(translated == pod);
}

Result<> set_extended_resource_spec(Value& pod, Arena& arena) {
  api::ExtendedResourceSpec wanted;
  const auto tell = [&wanted](const Value& container) {
    const Value* const resources = json::find(container, "resources");
    if (resources == nullptr) return;
    api::ExtendedContainerSpec spec{.limits = batch_amounts(json::find(*resources, "limits")),
                                    .requests = batch_amounts(json::find(*resources, "requests"))};
    if (!spec.limits.empty() || !spec.requests.empty())
      wanted.containers[json::text_at(container, "name")] = std::move(spec);
  };
  for (const Value& container : containers(std::as_const(pod), "initContainers"))
    if (json::text_at(container, "restartPolicy") == "Always") tell(container);  // it runs beside the others
  for (const Value& container : containers(std::as_const(pod))) tell(container);
  std::optional<api::ExtendedResourceSpec> said = api::ExtendedResourceSpec();
  if (const auto before = annotation(pod, api::ExtendedResourceSpec::kAnnotation)) {
    KOORD_TRY(spec, said_spec(*before));
    said = std::move(spec);
  }
  if (said != wanted)
    json::set_text(annotations_of(pod, arena), api::ExtendedResourceSpec::kAnnotation,
                   encode_annotation(wanted), arena);
  return {};
}

void set_device_resources(Value& pod, Arena& arena) {
  for (Value& container : containers(pod))
    if (Value* const resources = object_in(container, "resources"))
      set_device_resources_of(*resources, arena);
}

}  // namespace koord::manager
