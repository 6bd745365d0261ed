// Kubernetes' patches on raw documents: the strategic one, which knows how the built-in kinds' lists merge.
#pragma once

#include <string_view>

#include "koord/api/schema/codec.hpp"
#include "koord/base/result.hpp"
#include "koord/json/value.hpp"

namespace koord::api {

/// Kubernetes' strategic merge: lists of built-in kinds merge by the keys of one table (see
/// merge_rules.hpp), with $patch, $retainKeys, $setElementOrder and $deleteFromPrimitiveList. `group` and
/// `kind` say which rules apply; an error (Code::unsupported) for kinds that have none (custom resources),
/// and Code::bad_request for a patch that makes no sense. n log n in target and patch. After an error the
/// target is half changed. `arena` is the target's.
Result<> strategic_patch(json::Value& target, const json::Value& patch, std::string_view group,
                         std::string_view kind, json::Arena& arena);

/// Any of them (see json/patch.hpp), but Code::unsupported for `apply`.
Result<> apply_patch(json::Value& target, PatchType type, const json::Value& patch, std::string_view group,
                     std::string_view kind, json::Arena& arena);

/// How a built-in kind's list at a path merges.
struct ListRule {
  enum class Merge { atomic, by_key, set };
  Merge merge = Merge::atomic;
  std::string_view key;
};
/// The rule of a list: `kind` as above, `path` of field names without indexes ("spec.containers.ports").
ListRule list_rule(std::string_view group, std::string_view kind, std::string_view path);

}  // namespace koord::api
