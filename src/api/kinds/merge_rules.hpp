// How the lists of Kubernetes' built-in kinds merge.
#pragma once

#include <span>
#include <string_view>

#include "koord/api/kinds/patch.hpp"

namespace koord::api {

/// One field that does not merge as maps do (member by member) and atomic lists do (replaced whole), or
/// whose structure contains such a field.
struct MergeRule {
  enum class Kind : uint8_t {
    structure,    // merges member by member; `type` has rules of its own
    by_key,       // list of objects, found by `key`
    set,          // list of scalars without duplicates
    replace_map,  // an object that is replaced whole
  };
  std::string_view owner;  // the structure that has the field
  std::string_view field;
  Kind kind;
  std::string_view key;   // by_key
  std::string_view type;  // of the field or of the list's elements; empty if it has no rules

  bool merges_lists() const { return kind == Kind::by_key || kind == Kind::set; }
};

/// The name of a built-in kind's structure for find_merge_rule, empty for kinds that have none.
std::string_view merge_type(std::string_view group, std::string_view kind);

/// nullptr: an object merges by member, a list is replaced whole.
const MergeRule* find_merge_rule(std::string_view owner, std::string_view field);

/// Every rule, by owner and field: those of the schemas' rows and the extra ones. Thread-safe.
std::span<const MergeRule> merge_rules();
/// Those of what koord does not describe.
std::span<const MergeRule> extra_merge_rules();

}  // namespace koord::api
