// The schema tables of koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp: ElasticQuota.
#include "koord/api/types/sigs_scheduling_v1alpha1/elastic_quota.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {

KOORD_SCHEMA(ElasticQuotaSpec, ROW(min).doc("What is guaranteed."), ROW(max).doc("What is allowed at most."));
KOORD_SCHEMA(ElasticQuotaStatus, ROW(used).doc("What is used."));
KOORD_OBJECT(ElasticQuota,
             Kind("scheduling.sigs.k8s.io/v1alpha1", "ElasticQuota", "elasticquotas")
                 .custom_resource("What a group of pods is sure of and may have at most.")
                 .without_status()
                 .approved("https://github.com/kubernetes-sigs/scheduler-plugins/pull/52"),
             ROW(metadata), ROW(spec).always(), ROW(status));

}  // namespace koord::api
