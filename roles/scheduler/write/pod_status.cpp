// What a failed attempt changes in a pod's status: see pod_status.hpp.
#include "write/pod_status.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"

namespace koord::scheduler {

namespace {

struct Said {
  std::string_view type, status, reason, message;
};

template <class Conditions>
auto find_condition(Conditions& conditions, std::string_view type) {
  return std::find_if(conditions.begin(), conditions.end(),
                      [&](const api::PodCondition& each) { return each.type == type; });
}

bool says(const api::Pod& pod, const Said& said) {
  const auto c = find_condition(pod.status.conditions, said.type);
  return c != pod.status.conditions.end() && c->status == said.status && c->reason == said.reason &&
         c->message == said.message;
}

// The time is that of the last change of the condition's status.
void say(api::Pod& pod, const Said& said, WallTime now) {
  auto& conditions = pod.status.conditions;
  const auto it = find_condition(conditions, said.type);
  const bool known = it != conditions.end();
  api::PodCondition& c = known ? *it : conditions.emplace_back();
  if (!known || c.status != said.status) c.last_transition_time = api::Time(now);
  c.type = Symbol(said.type);
  c.status = Symbol(said.status);
  c.reason = Symbol(said.reason);
  c.message = Symbol(said.message);
  c.observed_generation = pod.metadata.generation;
}

}  // namespace

std::optional<api::Patch> failure_patch(const api::Pod& pod, const Failure& failure) {
  const Said said{"PodScheduled", "False", failure.reason, failure.message};
  const bool same = says(pod, said);
  if (same && (!failure.nominate || pod.status.nominated_node_name == *failure.nominate)) return std::nullopt;
  api::Pod after = pod;
  if (failure.nominate) after.status.nominated_node_name = *failure.nominate;
  if (!same) say(after, said, failure.now);
  return api::diff(pod, after);
}

std::optional<api::Patch> nomination_patch(const api::Pod& pod, const Symbol& node) {
  if (pod.status.nominated_node_name == node) return std::nullopt;
  api::Pod after = pod;
  after.status.nominated_node_name = node;
  return api::diff(pod, after);
}

std::optional<api::Patch> victim_patch(const api::Pod& pod, std::string_view profile, WallTime now) {
  const std::string message = fmt::format("{}: preempting to accommodate a higher priority pod", profile);
  const Said said{"DisruptionTarget", "True", "PreemptionByScheduler", message};
  if (says(pod, said)) return std::nullopt;
  api::Pod after = pod;
  say(after, said, now);
  return api::diff(pod, after);
}

}  // namespace koord::scheduler
