// quota.koordinator.sh/v1alpha1: ElasticQuotaProfile, a tree of quotas over some of the nodes.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct ElasticQuotaProfileSpec {
  std::string quota_name;  // of the tree's root, in the profile's namespace
  SymbolMap quota_labels;
  /// A decimal number in (0, 1]; anything else is 1.
  std::optional<std::string> resource_ratio;
  Box<LabelSelector> node_selector;  // absent selects nothing
  KOORD_STRUCT(ElasticQuotaProfileSpec);
};

struct ElasticQuotaProfileStatus {
  KOORD_STRUCT(ElasticQuotaProfileStatus);
};

struct ElasticQuotaProfile {
  ObjectMeta metadata;
  ElasticQuotaProfileSpec spec;
  ElasticQuotaProfileStatus status;
  KOORD_STRUCT(ElasticQuotaProfile);
};

}  // namespace koord::api
