// The schema tables of koord/api/types/resource_v1/resource_claim_template.hpp: ResourceClaimTemplate.
#include "koord/api/types/resource_v1/resource_claim_template.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(ClaimTemplateMetadata, ROW(labels), ROW(annotations));
KOORD_SCHEMA(ResourceClaimTemplateSpec, ROW(metadata), ROW(spec).required());
KOORD_OBJECT(ResourceClaimTemplate,
             Kind("resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates"), ROW(metadata),
             ROW(spec).required());

}  // namespace koord::api
