// Resources of a pod that is admitted: see pod_resources.hpp.
#include "admission/pod/pod_resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>

#include "admission/pod/device_names.hpp"
#include "admission/raw/raw_object.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/node_agent.hpp"
#include "koord/json/writer.hpp"

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

/// {"BATCH-CPU":"1k",...}; empty where the list has none of them.
std::string batch_amounts(const Value* list) {
  std::string text;
  for (const std::string_view name : {api::kBatchCpu, api::kBatchMemory}) {
    const auto quantity = amount(list, name);
    if (!quantity) continue;
    text += text.empty() ? '{' : ',';
    fmt::format_to(std::back_inserter(text), "{}:{}", json::quote(name), json::quote(quantity->to_string()));
  }
  if (!text.empty()) text += '}';
  return text;
}

/// The same of any list of quantities, as Go prints a map; nothing where it cannot be read.
std::optional<std::string> all_amounts(const Value& list) {
  if (!list.is_object()) return std::nullopt;
  std::map<std::string_view, std::string> sorted;
  for (const json::Member& member : list.members()) {
    const auto quantity = to_quantity(member.value);
    if (!quantity) return std::nullopt;
    sorted[member.key()] = quantity->to_string();
  }
  std::string text;
  json::Writer json(text);
  json.begin_object();
  for (const auto& [name, quantity] : sorted) json.member(name, quantity);
  json.end_object();
  return text == "{}" ? std::string() : text;
}

/// `containers` holds {"limits":...,"requests":...} by name.
std::string print_spec(const std::map<std::string_view, std::string>& containers) {
  std::string text;
  json::Writer json(text);
  json.begin_object();
  if (!containers.empty()) {
    json.key("containers").begin_object();
    for (const auto& [name, said] : containers) json.key(name).raw(said);
    json.end_object();
  }
  json.end_object();
  return text;
}

std::string print_container(std::string_view limits, std::string_view requests) {
  std::string text;
  json::Writer json(text);
  json.begin_object();
  if (!limits.empty()) json.key("limits").raw(limits);
  if (!requests.empty()) json.key("requests").raw(requests);
  json.end_object();
  return text;
}

Error unreadable(std::string_view why) {
  return Error(Code::parse, fmt::format("failed to get current extended resource spec, err: {}", why));
}

/// What the annotation says, as it would be printed.
Result<std::string> canonical_spec(std::string_view text) {
  json::Document spec;
  if (const auto read = spec.read(text); !read) return unreadable(read.error().message());
  if (spec.is_null()) return std::string("{}");
  if (!spec.is_object()) return unreadable("an object is expected");
  std::map<std::string_view, std::string> said;
  if (const Value* all = json::find(spec, "containers"); all != nullptr && !all->is_null()) {
    if (!all->is_object()) return unreadable(".containers: an object is expected");
    if (all->empty()) return std::string();  // Go keeps an empty map apart from none
    for (const json::Member& container : all->members()) {
      std::string lists[2];
      for (const std::size_t side : {0, 1}) {
        const Value* const list = json::find(container.value, side == 0 ? "limits" : "requests");
        if (list == nullptr || list->is_null()) continue;
        auto amounts = all_amounts(*list);
        if (!amounts) return unreadable("a list of quantities is expected");
        lists[side] = std::move(*amounts);
      }
      if (!container.value.is_object() && !container.value.is_null())
        return unreadable("an object is expected");
      said[container.key()] = print_container(lists[0], lists[1]);
    }
  }
  return print_spec(said);
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
  std::map<std::string_view, std::string> asked;
  const auto tell = [&asked](const Value& container) {
    const Value* const resources = json::find(container, "resources");
    if (resources == nullptr) return;
    const std::string limits = batch_amounts(json::find(*resources, "limits"));
    const std::string requests = batch_amounts(json::find(*resources, "requests"));
    if (!limits.empty() || !requests.empty())
      asked[json::text_at(container, "name")] = print_container(limits, requests);
  };
  for (const Value& container : containers(std::as_const(pod), "initContainers"))
    if (json::text_at(container, "restartPolicy") == "Always") tell(container);  // it runs beside the others
  for (const Value& container : containers(std::as_const(pod))) tell(container);
  const std::string wanted = print_spec(asked);
  std::string said = "{}";
  if (const auto before = annotation(pod, api::kExtendedResourceSpec)) {
    KOORD_TRY(canonical, canonical_spec(*before));
    said = std::move(canonical);
  }
  if (said != wanted) json::set_text(annotations_of(pod, arena), api::kExtendedResourceSpec, wanted, arena);
  return {};
}

void set_device_resources(Value& pod, Arena& arena) {
  for (Value& container : containers(pod))
    if (Value* const resources = object_in(container, "resources"))
      set_device_resources_of(*resources, arena);
}

}  // namespace koord::manager
