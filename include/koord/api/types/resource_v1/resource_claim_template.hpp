// resource.k8s.io/v1: ResourceClaimTemplate, of which each pod that names it gets a claim of its own.
#pragma once

#include "koord/api/types/resource_v1/resource_claim.hpp"

namespace koord::api {

/// All that a template may say of the claims' metadata.
struct ClaimTemplateMetadata {
  SymbolMap labels;
  SymbolMap annotations;
  KOORD_STRUCT(ClaimTemplateMetadata);
};

struct ResourceClaimTemplateSpec {
  ClaimTemplateMetadata metadata;
  ResourceClaimSpec spec;
  KOORD_STRUCT(ResourceClaimTemplateSpec);
};

struct ResourceClaimTemplate {
  ObjectMeta metadata;
  ResourceClaimTemplateSpec spec;
  KOORD_STRUCT(ResourceClaimTemplate);
};

}  // namespace koord::api
