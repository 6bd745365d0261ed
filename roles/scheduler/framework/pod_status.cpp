// What a failed attempt changes in a pod's status: see pod_status.hpp.
#include "framework/pod_status.hpp"

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduler {

std::optional<api::Patch> failure_patch(const api::Pod& pod, const Failure& failure) {
  const auto& conditions = pod.status.conditions;
  auto old = std::find_if(conditions.begin(), conditions.end(),
                          [](const api::PodCondition& c) { return c.type == "PodScheduled"; });
  bool known = old != conditions.end();
  bool same =
      known && old->status == "False" && old->reason == failure.reason && old->message == failure.message;
  if (same && (!failure.nominate || pod.status.nominated_node_name == *failure.nominate)) return std::nullopt;
  api::Pod after = pod;
  if (failure.nominate) after.status.nominated_node_name = *failure.nominate;
  if (!same) {
    api::PodCondition& c = known ? after.status.conditions[static_cast<std::size_t>(old - conditions.begin())]
                                 : after.status.conditions.emplace_back();
    if (!known || c.status != "False") c.last_transition_time = api::Time(failure.now);
    c.type = "PodScheduled";
    c.status = "False";
    c.reason = failure.reason;
    c.message = failure.message;
    c.observed_generation = pod.metadata.generation;
  }
  return api::diff(pod, after);
}

std::optional<api::Patch> nomination_patch(const api::Pod& pod, const Symbol& node) {
  if (pod.status.nominated_node_name == node) return std::nullopt;
  api::Pod after = pod;
  after.status.nominated_node_name = node;
  return api::diff(pod, after);
}

}  // namespace koord::scheduler
