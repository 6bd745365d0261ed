// The schema tables of koord/api/types/quota_v1alpha1/elastic_quota_profile.hpp: ElasticQuotaProfile.
#include "koord/api/types/quota_v1alpha1/elastic_quota_profile.hpp"

#include "koord/api/schema/table.hpp"

namespace koord::api {
namespace {

constexpr std::string_view kShorts[] = {"eqp"};

}  // namespace

KOORD_SCHEMA(
    ElasticQuotaProfileSpec, ROW(quota_name).required().doc("ElasticQuota that is the root of the tree."),
    ROW(quota_labels).doc("Labels that the root gets."),
    ROW(resource_ratio).doc("Part of the nodes' resources that the tree has, above 0 and at most 1, as 0.9."),
    ROW(node_selector).required().doc("Labels of the tree's nodes."));
KOORD_SCHEMA(ElasticQuotaProfileStatus);
KOORD_OBJECT(ElasticQuotaProfile,
             Kind("quota.koordinator.sh/v1alpha1", "ElasticQuotaProfile", "elasticquotaprofiles")
                 .custom_resource("A tree of quotas over some of the nodes.")
                 .without_status()
                 .shorts(kShorts),
             ROW(metadata), ROW(spec), ROW(status));

}  // namespace koord::api
