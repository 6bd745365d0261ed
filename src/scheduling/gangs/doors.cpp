// Whose gangs are placed here: see doors.hpp.
#include "scheduling/gangs/doors.hpp"

#include <fmt/format.h>

#include "koord/api/koordinator/gang.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/cluster/placeholder.hpp"

namespace koord::scheduling::gangs {

namespace {

bool has_kube_gang(const api::Pod& pod) { return pod.spec.workload_ref || pod.spec.scheduling_group; }

}  // namespace

bool Doors::in_two(const api::Pod& pod) const {
  return koordinators && kubernetes && has_kube_gang(pod) && api::gang_of(pod.metadata);
}

std::string kube_gang_of(const api::Pod& pod) {
  if (const api::PodSchedulingGroup* group = pod.spec.scheduling_group.get())
    return fmt::format("the pod group \"{}\" (spec.schedulingGroup)", group->pod_group_name);
  const api::WorkloadReference* ref = pod.spec.workload_ref.get();
  if (ref == nullptr) return {};
  return fmt::format("the pod group \"{}\" of the workload \"{}\" (spec.workloadRef)", ref->pod_group,
                     ref->name);
}

std::string told_of_two(const api::Pod& pod) {
  const auto named = api::gang_of(pod.metadata);
  return fmt::format(
      "pod {} is in two gangs: in \"{}\" by its labels or annotations, and in {}: take the labels and "
      "annotations of the first away, or create the pod without the second",
      text(placed_name(pod)), named ? named->name.view() : std::string_view(), kube_gang_of(pod));
}

}  // namespace koord::scheduling::gangs
