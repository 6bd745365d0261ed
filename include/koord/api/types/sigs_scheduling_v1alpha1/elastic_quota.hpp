// scheduling.sigs.k8s.io/v1alpha1: ElasticQuota, what a group of pods is sure of and may have at most.
#pragma once

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct ElasticQuotaSpec {
  ResourceList min;
  ResourceList max;
  KOORD_STRUCT(ElasticQuotaSpec);
};

struct ElasticQuotaStatus {
  ResourceList used;
  KOORD_STRUCT(ElasticQuotaStatus);
};

struct ElasticQuota {
  ObjectMeta metadata;
  ElasticQuotaSpec spec;
  ElasticQuotaStatus status;
  KOORD_STRUCT(ElasticQuota);
};

}  // namespace koord::api
