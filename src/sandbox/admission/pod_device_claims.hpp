// The resource claims of a pod: which it names, and which of them its containers use.
#pragma once

#include <string_view>
#include <unordered_set>

#include "sandbox/base/field_path.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// The names by which a pod calls its claims. Lives as long as the pod's spec.
class PodClaimNames {
 public:
  /// `list` is spec.resourceClaims, or null; it is validated.
  PodClaimNames(const json::Value* list, const FieldPath& path, StatusCauses& errors);
  /// resources.claims of a container: `path` is theirs.
  void check_uses(const json::Value& resources, const FieldPath& path, StatusCauses& errors) const;

 private:
  /// "must be one of ...", with all names in order.
  std::string explanation() const;
  std::unordered_set<std::string_view> names_;
};

/// status.resourceClaimStatuses beside spec.resourceClaims.
void check_pod_claim_statuses(const json::Value& pod, StatusCauses& errors);

}  // namespace koord::sandbox
