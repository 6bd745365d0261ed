// scheduling.k8s.io/v1alpha1: Workload, Kubernetes' own gangs as 1.35 has them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "koord/api/types/meta_v1/meta.hpp"
#include "koord/api/values/box.hpp"

namespace koord::api {

/// Pods that are placed together or not at all.
struct GangPolicy {
  int32_t min_count = 0;  // so many of them at least; the API server takes 1 and more
  KOORD_STRUCT(GangPolicy);
};

struct WorkloadPodGroupPolicy {
  Box<GangPolicy> gang;  // absent: the pods are placed one by one ("basic")
  KOORD_STRUCT(WorkloadPodGroupPolicy);
};

struct WorkloadPodGroup {
  std::string name;
  WorkloadPodGroupPolicy policy;
  KOORD_STRUCT(WorkloadPodGroup);
};

struct WorkloadSpec {
  std::vector<WorkloadPodGroup> pod_groups;  // cannot be changed
  KOORD_STRUCT(WorkloadSpec);
};

/// Its pods name it, and one of its groups, by spec.workloadRef.
struct Workload {
  ObjectMeta metadata;
  WorkloadSpec spec;
  KOORD_STRUCT(Workload);
};

}  // namespace koord::api
