// The schema tables of koord/api/types/meta_v1/meta.hpp: metadata and selectors.
#include "koord/api/types/meta_v1/meta.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kConditionStatus[] = {"True", "False", "Unknown"};
constexpr std::string_view kConditionType =
    R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$)";
constexpr std::string_view kConditionReason = R"(^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$)";

}  // namespace

KOORD_SCHEMA(OwnerReference, ROW(api_version).required(), ROW(kind).required(), ROW(name).required(),
             ROW(uid).required(), ROW(controller), ROW(block_owner_deletion));
KOORD_SCHEMA(ObjectMeta, ROW(name), ROW(generate_name), ROW(namespace_), ROW(uid).immutable(),
             ROW(resource_version).immutable(), ROW(generation).immutable(),
             ROW(creation_timestamp).immutable(), ROW(deletion_timestamp).immutable(),
             ROW(deletion_grace_period_seconds).immutable(), ROW(labels), ROW(annotations),
             ROW(owner_references).merge_key("uid"), ROW(finalizers).set_list());
KOORD_SCHEMA(ListMeta, ROW(resource_version), ROW(continue_), ROW(remaining_item_count));
KOORD_SCHEMA(Condition, ROW(type).required().max_length(316).pattern(kConditionType),
             ROW(status).required().one_of(kConditionStatus), ROW(observed_generation).min(0),
             ROW(last_transition_time).required(),
             ROW(reason).required().min_length(1).max_length(1024).pattern(kConditionReason),
             ROW(message).required().max_length(32768));
KOORD_SCHEMA(LabelSelectorRequirement, ROW(key).required(), ROW(operator_).required(), ROW(values).atomic());
KOORD_SCHEMA(LabelSelector, ROW(match_labels), ROW(match_expressions).atomic());

const OwnerReference* controller_of(const ObjectMeta& meta) {
  for (const OwnerReference& owner : meta.owner_references)
    if (owner.controller.value_or(false)) return &owner;
  return nullptr;
}

}  // namespace koord::api
