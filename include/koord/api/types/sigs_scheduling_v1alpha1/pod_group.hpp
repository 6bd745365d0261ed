// scheduling.sigs.k8s.io/v1alpha1: PodGroup, pods that are placed together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "koord/api/types/meta_v1/meta.hpp"

namespace koord::api {

struct PodGroupSpec {
  int32_t min_member = 0;
  ResourceList min_resources;                       // nobody reads it, as in Koordinator
  std::optional<int32_t> schedule_timeout_seconds;  // how long members wait for one another
  KOORD_STRUCT(PodGroupSpec);
};

struct PodGroupStatus {
  Symbol phase;             // Pending, PreScheduling, Scheduling, Scheduled, Running, Finished or Failed
  std::string occupied_by;  // whose pods they are: "namespace/owner", by commas
  int32_t scheduled = 0, running = 0, succeeded = 0, failed = 0;  // numbers of pods
  std::optional<Time> schedule_start_time;
  KOORD_STRUCT(PodGroupStatus);
};

/// Its pods name it by the label kPodGroupLabel; what its spec does not say its annotations do
/// (koordinator/gang.hpp).
struct PodGroup {
  ObjectMeta metadata;
  PodGroupSpec spec;
  PodGroupStatus status;
  KOORD_STRUCT(PodGroup);
};

}  // namespace koord::api
