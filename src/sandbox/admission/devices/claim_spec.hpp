// A claim's spec, of a ResourceClaim or inside of a template: defaults and validation.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "sandbox/base/field_path.hpp"
#include "sandbox/kinds/kind.hpp"

namespace koord::sandbox {

/// Sets what the API defaults; `spec` may be of any form.
void default_claim_spec(json::Value& spec, json::Arena& arena);
void default_tolerations(json::Value& holder, json::Arena& arena);

void check_claim_spec(const api::ResourceClaimSpec& spec, const FieldPath& path, StatusCauses& errors);

/// Refuses requests with admin access outside of namespaces whose label allows it. The paths are
/// kube-apiserver's, a template's too.
void check_admin_access(const api::ResourceClaimSpec& spec, std::string_view ns, const Registry& registry,
                        StatusCauses& errors);
/// Whether a namespace's label allows admin access; else the error says what is missing.
void check_admin_namespace(std::string_view ns, const FieldPath& path, const Registry& registry,
                           StatusCauses& errors);

/// The requests of a claim, by which constraints, configuration and results name them.
class RequestNames {
 public:
  /// The claim must live longer.
  explicit RequestNames(const api::DeviceClaim& claim);
  /// "NAME" or "NAME/SUBNAME".
  bool has(std::string_view name) const;
  /// What is wrong with such a reference.
  void check(std::string_view name, const FieldPath& path, StatusCauses& errors) const;

 private:
  std::unordered_map<std::string_view, std::unordered_set<std::string_view>> names_;
};

/// A list of references, each once.
void check_request_refs(const api::List<Symbol>& requests, const FieldPath& path, const RequestNames& names,
                        StatusCauses& errors);

}  // namespace koord::sandbox
