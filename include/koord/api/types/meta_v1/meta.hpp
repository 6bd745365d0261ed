// What all API objects share: kinds, metadata, conditions, label selectors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "koord/api/schema/schema.hpp"
#include "koord/api/values/box.hpp"
#include "koord/api/values/maybe.hpp"
#include "koord/api/values/quantity.hpp"
#include "koord/api/values/raw_json.hpp"
#include "koord/api/values/string_map.hpp"
#include "koord/api/values/time.hpp"
#include "koord/base/symbol.hpp"

namespace koord::api {

/// Resource quantities by name ("cpu", "memory", "nvidia.com/gpu").
using ResourceList = FlatMap<Quantity>;

struct OwnerReference {
  Symbol api_version;
  Symbol kind;
  Symbol name;  // an owner's name and uid repeat in all that it owns
  Symbol uid;
  std::optional<bool> controller;
  std::optional<bool> block_owner_deletion;
  KOORD_STRUCT(OwnerReference);
};

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
  KOORD_STRUCT(ObjectMeta);
};

/// The owner that is marked as the managing controller, or nullptr.
const OwnerReference* controller_of(const ObjectMeta& meta);

struct ListMeta {
  std::string resource_version;
  std::string continue_;
  std::optional<int64_t> remaining_item_count;
  KOORD_STRUCT(ListMeta);
};

/// metav1.Condition, the form that newer types use.
struct Condition {
  Symbol type;
  Symbol status;
  int64_t observed_generation = 0;
  Time last_transition_time;
  Symbol reason;
  std::string message;
  KOORD_STRUCT(Condition);
};

struct LabelSelectorRequirement {
  Symbol key;
  Symbol operator_;  // In, NotIn, Exists, DoesNotExist
  List<Symbol> values;
  KOORD_STRUCT(LabelSelectorRequirement);
};

/// Absent and empty differ: an absent selector matches nothing, an empty one everything.
struct LabelSelector {
  SymbolMap match_labels;
  List<LabelSelectorRequirement> match_expressions;
  KOORD_STRUCT(LabelSelector);
};

}  // namespace koord::api
