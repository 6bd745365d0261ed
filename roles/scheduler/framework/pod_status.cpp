// What a failed attempt changes in a pod's status: see pod_status.hpp.
#include "framework/pod_status.hpp"

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduler {

std::optional<api::Patch> failure_patch(const api::Pod& pod, std::string_view reason,
                                        std::string_view message, WallTime now) {
  const auto& conditions = pod.status.conditions;
  auto old = std::find_if(conditions.begin(), conditions.end(),
                          [](const api::PodCondition& c) { return c.type == "PodScheduled"; });
  bool known = old != conditions.end();
  bool same = known && old->status == "False" && old->reason == reason && old->message == message;
  if (same && pod.status.nominated_node_name.empty()) return std::nullopt;
  api::Pod after = pod;
  after.status.nominated_node_name = Symbol();
  if (!same) {
    api::PodCondition& c = known ? after.status.conditions[static_cast<std::size_t>(old - conditions.begin())]
                                 : after.status.conditions.emplace_back();
    if (!known || c.status != "False") c.last_transition_time = api::Time(now);
    c.type = "PodScheduled";
    c.status = "False";
    c.reason = reason;
    c.message = message;
    c.observed_generation = pod.metadata.generation;
  }
  return api::diff(pod, after);
}

}  // namespace koord::scheduler
