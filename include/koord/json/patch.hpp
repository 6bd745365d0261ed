// JSON patches (RFC 6902) and JSON merge patches (RFC 7386) on documents.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "koord/base/result.hpp"
#include "koord/json/value.hpp"

namespace koord::json {

/// Of a JSON patch, as kube-apiserver has them: operations in all, and what its copies may add, as text.
inline constexpr std::size_t kMaxPatchOperations = 10'000;
inline constexpr std::size_t kMaxCopiedBytes = 3 << 20;
/// And of our own: members looked through, elements moved and values measured by one patch, which is a second
/// of work at most. 10,000 operations on an object of 1,000 members take a tenth of it.
inline constexpr std::size_t kMaxPatchWork = 30'000'000;

/// null removes, objects merge, everything else replaces. n log n in target and patch.
void merge_patch(Value& target, const Value& patch, Arena& arena);
/// The merge patch from one value to another, nothing if they are equal.
std::optional<Value> merge_diff(const Value& before, const Value& after, Arena& arena);

/// The operations, one by one. A failed one is Code::invalid, as is what would be nested deeper than
/// kMaxDepth or copies too much; what is no list is Code::bad_request, too many operations or too much work
/// Code::too_large. After an error the target is half changed: who needs it has another. The result is no
/// larger than target, patch and kMaxCopiedBytes together.
Result<> json_patch(Value& target, const Value& patch, Arena& arena);

/// A copy to be changed and then held against `value` with json_diff, which tells at once that a text is the
/// same one: texts are not copied, so `value` must live as long.
Document draft(const Value& value);

/// The JSON patch from one value to another, as text; empty if they are equal. Members are told apart by
/// name, elements by place. Applied to what equals `before` it gives what equals `after`. n log n, and what
/// both sides of a list of another length begin and end with is compared once for each list around it.
std::string json_diff(const Value& before, const Value& after);

}  // namespace koord::json
