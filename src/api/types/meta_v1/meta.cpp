// The schema tables of koord/api/types/meta_v1/meta.hpp: metadata and selectors.
#include "koord/api/types/meta_v1/meta.hpp"

#include <cstddef>

namespace koord::api {
namespace {

constexpr std::string_view kConditionStatus[] = {"True", "False", "Unknown"};
constexpr std::string_view kConditionType =
    R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$)";
constexpr std::string_view kConditionReason = R"(^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$)";

}  // namespace

template <>
const Schema& schema<OwnerReference>() {
  using T = OwnerReference;
  static constexpr Field kRows[] = {
      KOORD_FIELD(api_version, "apiVersion").required(),
      KOORD_FIELD(kind, "kind").required(),
      KOORD_FIELD(name, "name").required(),
      KOORD_FIELD(uid, "uid").required(),
      KOORD_FIELD(controller, "controller"),
      KOORD_FIELD(block_owner_deletion, "blockOwnerDeletion"),
  };
  static const Schema kSchema("OwnerReference", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ObjectMeta>() {
  using T = ObjectMeta;
  static constexpr Field kRows[] = {
      KOORD_FIELD(name, "name"),
      KOORD_FIELD(generate_name, "generateName"),
      KOORD_FIELD(namespace_, "namespace"),
      KOORD_FIELD(uid, "uid").immutable(),
      KOORD_FIELD(resource_version, "resourceVersion").immutable(),
      KOORD_FIELD(generation, "generation").immutable(),
      KOORD_FIELD(creation_timestamp, "creationTimestamp").immutable(),
      KOORD_FIELD(deletion_timestamp, "deletionTimestamp").immutable(),
      KOORD_FIELD(deletion_grace_period_seconds, "deletionGracePeriodSeconds").immutable(),
      KOORD_FIELD(labels, "labels"),
      KOORD_FIELD(annotations, "annotations"),
      KOORD_FIELD(owner_references, "ownerReferences").merge_key("uid"),
      KOORD_FIELD(finalizers, "finalizers").set_list(),
  };
  static const Schema kSchema("ObjectMeta", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<ListMeta>() {
  using T = ListMeta;
  static constexpr Field kRows[] = {
      KOORD_FIELD(resource_version, "resourceVersion"),
      KOORD_FIELD(continue_, "continue"),
      KOORD_FIELD(remaining_item_count, "remainingItemCount"),
  };
  static const Schema kSchema("ListMeta", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<Condition>() {
  using T = Condition;
  static constexpr Field kRows[] = {
      KOORD_FIELD(type, "type").required().max_length(316).pattern(kConditionType),
      KOORD_FIELD(status, "status").required().one_of(kConditionStatus),
      KOORD_FIELD(observed_generation, "observedGeneration").min(0),
      KOORD_FIELD(last_transition_time, "lastTransitionTime").required(),
      KOORD_FIELD(reason, "reason").required().min_length(1).max_length(1024).pattern(kConditionReason),
      KOORD_FIELD(message, "message").required().max_length(32768),
  };
  static const Schema kSchema("Condition", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<LabelSelectorRequirement>() {
  using T = LabelSelectorRequirement;
  static constexpr Field kRows[] = {
      KOORD_FIELD(key, "key").required(),
      KOORD_FIELD(operator_, "operator").required(),
      KOORD_FIELD(values, "values"),
  };
  static const Schema kSchema("LabelSelectorRequirement", kRows, type_of<T>);
  return kSchema;
}

template <>
const Schema& schema<LabelSelector>() {
  using T = LabelSelector;
  static constexpr Field kRows[] = {
      KOORD_FIELD(match_labels, "matchLabels"),
      KOORD_FIELD(match_expressions, "matchExpressions"),
  };
  static const Schema kSchema("LabelSelector", kRows, type_of<T>);
  return kSchema;
}

const OwnerReference* controller_of(const ObjectMeta& meta) {
  for (const OwnerReference& owner : meta.owner_references)
    if (owner.controller.value_or(false)) return &owner;
  return nullptr;
}

}  // namespace koord::api
