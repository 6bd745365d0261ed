// What all API objects share: kinds, metadata, conditions, label selectors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "koord/api/schema/schema.hpp"
#include "koord/api/values/quantity.hpp"
#include "koord/api/values/string_map.hpp"
#include "koord/api/values/time.hpp"
#include "koord/base/symbol.hpp"

namespace koord::api {

// In all of these structs: a field that is not optional and is empty (or zero, or at the epoch for times)
// is absent on the wire, unless the schema says that it is always written.

struct GroupVersionKind {
  std::string group;
  std::string version;
  std::string kind;

  friend bool operator==(const GroupVersionKind&, const GroupVersionKind&) = default;
};

/// Resource quantities by name ("cpu", "memory", "nvidia.com/gpu").
using ResourceList = FlatMap<Quantity>;

struct OwnerReference {
  Symbol api_version;
  Symbol kind;
  Symbol name;  // an owner's name and uid repeat in all that it owns
  Symbol uid;
  std::optional<bool> controller;
  std::optional<bool> block_owner_deletion;

  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};
KOORD_API_SCHEMA(OwnerReference);

struct ObjectMeta {
  std::string name;
  Symbol generate_name;
  Symbol namespace_;
  std::string uid;
  std::string resource_version;
  int64_t generation = 0;
  Time creation_timestamp;
  Maybe<Time> deletion_timestamp;
  Maybe<int64_t> deletion_grace_period_seconds;
  SymbolMap labels;
  SymbolMap annotations;
  List<OwnerReference> owner_references;
  List<Symbol> finalizers;

  friend bool operator==(const ObjectMeta&, const ObjectMeta&) = default;
};
KOORD_API_SCHEMA(ObjectMeta);

/// The owner that is marked as the managing controller, or nullptr.
const OwnerReference* controller_of(const ObjectMeta& meta);

struct ListMeta {
  std::string resource_version;
  std::string continue_;
  std::optional<int64_t> remaining_item_count;

  friend bool operator==(const ListMeta&, const ListMeta&) = default;
};
KOORD_API_SCHEMA(ListMeta);

/// metav1.Condition, the form that newer types use.
struct Condition {
  Symbol type;
  Symbol status;
  int64_t observed_generation = 0;
  Time last_transition_time;
  Symbol reason;
  std::string message;

  friend bool operator==(const Condition&, const Condition&) = default;
};
KOORD_API_SCHEMA(Condition);

struct LabelSelectorRequirement {
  Symbol key;
  Symbol operator_;  // In, NotIn, Exists, DoesNotExist
  List<Symbol> values;

  friend bool operator==(const LabelSelectorRequirement&, const LabelSelectorRequirement&) = default;
};
KOORD_API_SCHEMA(LabelSelectorRequirement);

/// Absent and empty differ: an absent selector matches nothing, an empty one everything.
struct LabelSelector {
  SymbolMap match_labels;
  List<LabelSelectorRequirement> match_expressions;

  friend bool operator==(const LabelSelector&, const LabelSelector&) = default;
};
KOORD_API_SCHEMA(LabelSelector);

}  // namespace koord::api
