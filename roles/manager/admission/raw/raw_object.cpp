// Objects as documents: see raw_object.hpp.
#include "admission/raw/raw_object.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/base/text.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

using json::Member;
using json::Value;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool absent(const Value* value) { return value == nullptr || value->is_null(); }

Error wrong(std::string_view path, std::string_view expected) {
  return Error(Code::parse, fmt::format("{}: {} is expected", path, expected));
}

Result<> object_or_absent(const Value* value, std::string_view path) {
  return absent(value) || value->is_object() ? Result<>() : wrong(path, "an object");
}

Result<> text_or_absent(const Value* value, std::string_view path) {
  return absent(value) || value->is_string() ? Result<>() : wrong(path, "a string");
}

Result<> map_of_texts(const Value* map, std::string_view path) {
  KOORD_CHECK(object_or_absent(map, path));
  if (absent(map)) return {};
  for (const Member& member : map->members())
    if (!member.value.is_string() && !member.value.is_null())
      return wrong(fmt::format("{}.{}", path, utf8_prefix(member.key(), 300)), "a string");
  return {};
}

Result<> resource_list(const Value* list, std::string_view path) {
  KOORD_CHECK(object_or_absent(list, path));
  if (absent(list)) return {};
  for (const Member& member : list->members())
    if (!to_quantity(member.value))
      return wrong(fmt::format("{}.{}", path, utf8_prefix(member.key(), 300)), "a quantity");
  return {};
}

Result<> resources(const Value* value, std::string_view path) {
  KOORD_CHECK(object_or_absent(value, path));
  if (absent(value)) return {};
  KOORD_CHECK(resource_list(json::find(*value, "requests"), fmt::format("{}.requests", path)));
  return resource_list(json::find(*value, "limits"), fmt::format("{}.limits", path));
}

Result<> container_list(const Value& spec, std::string_view list, std::string_view path) {
  const Value* const all = json::find(spec, list);
  if (absent(all)) return {};
  if (!all->is_array()) return wrong(fmt::format("{}.{}", path, list), "an array");
  for (std::size_t i = 0; i < all->size(); ++i) {
    const Value& container = (*all)[i];
    const auto inside = [&](std::string_view field) {
      return fmt::format("{}.{}[{}]{}", path, list, i, field);
    };
    if (!container.is_object()) return wrong(inside(""), "an object");
    if (const Value* name = json::find(container, "name"); !absent(name) && !name->is_string())
      return wrong(inside(".name"), "a string");
    if (const Value* part = json::find(container, "resources"); !absent(part))
      KOORD_CHECK(resources(part, inside(".resources")));
  }
  return {};
}

Result<> check_metadata(const Value& object, std::string_view path) {
  const Value* const metadata = json::find(object, "metadata");
  const auto inside = [&](std::string_view field) { return fmt::format("{}metadata{}", path, field); };
  KOORD_CHECK(object_or_absent(metadata, inside("")));
  if (absent(metadata)) return {};
  KOORD_CHECK(text_or_absent(json::find(*metadata, "name"), inside(".name")));
  KOORD_CHECK(text_or_absent(json::find(*metadata, "namespace"), inside(".namespace")));
  KOORD_CHECK(map_of_texts(json::find(*metadata, "labels"), inside(".labels")));
  return map_of_texts(json::find(*metadata, "annotations"), inside(".annotations"));
}

Result<> check_pod_spec(const Value* spec, std::string_view path) {
  KOORD_CHECK(object_or_absent(spec, path));
  if (absent(spec)) return {};
  for (const std::string_view field : {"schedulerName", "priorityClassName", "preemptionPolicy"})
    if (const Value* text = json::find(*spec, field); !absent(text) && !text->is_string())
      return wrong(fmt::format("{}.{}", path, field), "a string");
  if (const Value* priority = json::find(*spec, "priority"); !absent(priority)) {
    const auto number = priority->to_int();
    if (!number || *number != static_cast<std::int32_t>(*number))
      return wrong(fmt::format("{}.priority", path), "an integer of 32 bits");
  }
  KOORD_CHECK(container_list(*spec, "initContainers", path));
  KOORD_CHECK(container_list(*spec, "containers", path));
  if (const Value* part = json::find(*spec, "resources"); !absent(part))
    KOORD_CHECK(resources(part, fmt::format("{}.resources", path)));
  return resource_list(json::find(*spec, "overhead"), fmt::format("{}.overhead", path));
}

std::optional<std::string_view> text_in(const Value& object, std::string_view map, std::string_view key) {
  const Value* const value = json::find(object, "metadata", map, key);
  if (value == nullptr || (!value->is_string() && !value->is_null())) return std::nullopt;
  return value->text();  // Go reads a null in a map as ""
}

void copy_list(const Value* list, api::ResourceList& out) {
  if (list == nullptr) return;
  for (const Member* member : by_name(*list))
    if (auto quantity = to_quantity(member->value)) out[member->key()] = std::move(*quantity);
}

void copy_resources(const Value* from, api::ResourceRequirements& out) {
  if (from == nullptr) return;
  copy_list(json::find(*from, "requests"), out.requests);
  copy_list(json::find(*from, "limits"), out.limits);
}

}  // namespace

Result<> check_pod(const Value& pod) {
  if (!pod.is_object()) return wrong("Pod", "an object");
  KOORD_CHECK(check_metadata(pod, ""));
  KOORD_CHECK(check_pod_spec(json::find(pod, "spec"), "spec"));
  return object_or_absent(json::find(pod, "status"), "status");
}

Result<> check_reservation(const Value& reservation) {
  if (!reservation.is_object()) return wrong("Reservation", "an object");
  KOORD_CHECK(check_metadata(reservation, ""));
  const Value* const spec = json::find(reservation, "spec");
  KOORD_CHECK(object_or_absent(spec, "spec"));
  const Value* const pod = absent(spec) ? nullptr : json::find(*spec, "template");
  KOORD_CHECK(object_or_absent(pod, "spec.template"));
  if (absent(pod)) return {};
  KOORD_CHECK(check_metadata(*pod, "spec.template."));
  return check_pod_spec(json::find(*pod, "spec"), "spec.template.spec");
}

Result<> check_node(const Value& node) {
  if (!node.is_object()) return wrong("Node", "an object");
  KOORD_CHECK(check_metadata(node, ""));
  const Value* const status = json::find(node, "status");
  KOORD_CHECK(object_or_absent(status, "status"));
  return absent(status) ? Result<>()
                        : resource_list(json::find(*status, "allocatable"), "status.allocatable");
}

bool is_about(const AdmissionRequest& request, std::string_view resource, std::string_view subresource) {
  return request.resource == resource && request.subresource == subresource;
}

std::vector<const Member*> by_name(const Value& object) {
  std::vector<const Member*> sorted;
  sorted.reserve(object.size());
  for (const Member& member : object.members()) sorted.push_back(&member);
  std::ranges::stable_sort(sorted, {}, &Member::key);
  return sorted;
}

std::optional<std::string_view> label(const Value& object, std::string_view key) {
  return text_in(object, "labels", key);
}

std::optional<std::string_view> annotation(const Value& object, std::string_view key) {
  return text_in(object, "annotations", key);
}

Value& labels_of(Value& object, json::Arena& arena) {
  return json::object_at(json::object_at(object, "metadata", arena), "labels", arena);
}

Value& annotations_of(Value& object, json::Arena& arena) {
  return json::object_at(json::object_at(object, "metadata", arena), "annotations", arena);
}

json::Members<const Value> label_index(const Value& object) {
  static const Value kNone;
  const Value* const labels = json::find(object, "metadata", "labels");
  return json::Members<const Value>(labels != nullptr ? *labels : kNone);
}

bool matches(const api::Selector& selector, const json::Members<const Value>& labels) {
  if (selector.is_nothing()) return false;
  for (const api::SelectorRequirement& requirement : selector.requirements()) {
    const Value* const value = labels.find(requirement.key);
    if (!requirement.matches_value(value != nullptr ? std::optional(value->text()) : std::nullopt))
      return false;
  }
  return true;
}

std::optional<api::Quantity> to_quantity(const Value& value) {
  if (value.is_null()) return api::Quantity();
  auto read = value.is_string()   ? api::Quantity::parse(trimmed(value.text()))
              : value.is_number() ? api::Quantity::parse(json::to_text(value))
                                  : Result<api::Quantity>(Error(Code::parse, ""));
  if (!read) return std::nullopt;
  return std::move(*read);
}

std::optional<api::Quantity> amount(const Value* list, std::string_view resource) {
  const Value* const value = list != nullptr ? json::find(*list, resource) : nullptr;
  return value != nullptr ? to_quantity(*value) : std::nullopt;
}

std::span<Value> containers(Value& pod, std::string_view list) {
  Value* const all = json::find(pod, "spec", list);
  return all != nullptr ? all->elements() : std::span<Value>();
}

std::span<const Value> containers(const Value& pod, std::string_view list) {
  const Value* const all = json::find(pod, "spec", list);
  return all != nullptr ? all->elements() : std::span<const Value>();
}

api::Pod outline(const Value& pod) {
  api::Pod out;
  for (const std::string_view key : {api::kQosLabel, api::kPriorityClassLabel})
    if (const auto text = label(pod, key)) out.metadata.labels[key] = Symbol(*text);
  if (const auto priority = json::int_at(pod, "spec", "priority"))
    out.spec.priority = static_cast<std::int32_t>(*priority);
  out.status.qos_class = Symbol(json::text_at(pod, "status", "qosClass"));
  const auto add = [&](std::string_view list, auto& into) {
    for (const Value& from : containers(pod, list)) {
      api::Container container;
      container.restart_policy = Symbol(json::text_at(from, "restartPolicy"));
      copy_resources(json::find(from, "resources"), container.resources);
      into.push_back(std::move(container));
    }
  };
  add("containers", out.spec.containers);
  add("initContainers", out.spec.init_containers);
  copy_list(json::find(pod, "spec", "overhead"), out.spec.overhead);
  if (const Value* own = json::find(pod, "spec", "resources"); own != nullptr && own->is_object())
    copy_resources(own, out.spec.resources.emplace());
  return out;
}

api::KoordQos koord_qos(const Value& pod) {
  return api::parse_koord_qos(label(pod, api::kQosLabel).value_or(std::string_view()));
}

api::KoordPriority koord_priority(const Value& pod) {
  if (const auto text = label(pod, api::kPriorityClassLabel)) return api::parse_koord_priority(*text);
  const auto priority = json::int_at(pod, "spec", "priority");
  return api::koord_priority_of(priority ? std::optional(static_cast<std::int32_t>(*priority))
                                         : std::nullopt);
}

}  // namespace koord::manager
