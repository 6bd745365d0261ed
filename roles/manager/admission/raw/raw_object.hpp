// Objects as the documents that an API server sends: what the webhooks read of them. They stay documents, so
// that what koord does not describe survives.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "framework/webhook/admission.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/rules/selector.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/result.hpp"
#include "koord/json/index.hpp"
#include "koord/json/value.hpp"

namespace koord::manager {

/// Whether what the webhooks look at has the types of a Pod (a Reservation, a Node): labels and annotations
/// are texts, containers are objects, amounts are quantities. The error names the path. What follows may be
/// called on what was found right; it takes anything else for absent.
Result<> check_pod(const json::Value& pod);
Result<> check_reservation(const json::Value& reservation);
Result<> check_node(const json::Value& node);

/// Whether a request is about objects of a resource, or about that part of them.
bool is_about(const AdmissionRequest& request, std::string_view resource, std::string_view subresource = {});

/// An object's members in the order in which sorted maps take them without moving what they have, those of
/// one name as they came: whoever sends them chooses their order. Valid while the object does not change.
std::vector<const json::Member*> by_name(const json::Value& object);

/// Empty if absent.
std::optional<std::string_view> label(const json::Value& object, std::string_view key);
std::optional<std::string_view> annotation(const json::Value& object, std::string_view key);
/// metadata.labels and metadata.annotations, made if they are not there.
json::Value& labels_of(json::Value& object, json::Arena& arena);
json::Value& annotations_of(json::Value& object, json::Arena& arena);

/// The labels of a document, for who looks for many: valid until they change.
json::Members<const json::Value> label_index(const json::Value& object);
bool matches(const api::Selector& selector, const json::Members<const json::Value>& labels);

/// A quantity of a list such as resources.requests; nothing where it is absent or none. A null is zero, as in
/// Go.
std::optional<api::Quantity> amount(const json::Value* list, std::string_view resource);
std::optional<api::Quantity> to_quantity(const json::Value& value);

/// spec.containers or spec.initContainers; empty where there are none.
std::span<json::Value> containers(json::Value& pod, std::string_view list = "containers");
std::span<const json::Value> containers(const json::Value& pod, std::string_view list = "containers");

/// What classes and requests follow from (labels, priority, resources, status.qosClass): for the rules of
/// koord/api.
api::Pod outline(const json::Value& pod);

/// By labels and spec.priority alone; `none` where they say nothing.
api::KoordQos koord_qos(const json::Value& pod);
api::KoordPriority koord_priority(const json::Value& pod);

}  // namespace koord::manager
