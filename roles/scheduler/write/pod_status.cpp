// What the scheduler writes into pods: see pod_status.hpp.
#include "write/pod_status.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/plugin/placed_objects.hpp"

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

std::optional<scheduling::ObjectPatch> patch_of(const api::Pod& before, const api::Pod& after,
                                                std::string_view subresource) {
  std::optional<api::Patch> patch = api::diff(before, after);
  if (!patch) return std::nullopt;
  return scheduling::ObjectPatch{*std::move(patch), subresource};
}

const api::Pod& pod_of(const void* object) { return *static_cast<const api::Pod*>(object); }

class PodKind final : public scheduling::PlacedKind {
 public:
  const kube::ObjectType& type() const override { return kube::kObjectType<api::Pod>; }
  std::string_view word() const override { return "pod"; }
  std::shared_ptr<const api::Pod> as_pod(const kube::Object& object) const override {
    return std::static_pointer_cast<const api::Pod>(object);
  }

  std::optional<scheduling::ObjectPatch> failed(const void* now,
                                                const scheduling::AttemptFailure& failure) const override {
    const api::Pod& pod = pod_of(now);
    const Said said{"PodScheduled", "False", failure.reason, failure.message};
    const bool same = says(pod, said);
    if (same && (!failure.nominate || pod.status.nominated_node_name == *failure.nominate))
      return std::nullopt;
    api::Pod after = pod;
    if (failure.nominate) after.status.nominated_node_name = *failure.nominate;
    if (!same) say(after, said, failure.now);
    return patch_of(pod, after, kStatus);
  }

  std::optional<scheduling::ObjectPatch> nominated(const void* now, const Symbol& node) const override {
    const api::Pod& pod = pod_of(now);
    if (pod.status.nominated_node_name == node) return std::nullopt;
    api::Pod after = pod;
    after.status.nominated_node_name = node;
    return patch_of(pod, after, kStatus);
  }

  std::optional<scheduling::ObjectPatch> changed(const void* now,
                                                 const scheduling::PodPatch& patch) const override {
    const api::Pod& pod = pod_of(now);
    return patch_of(pod, scheduling::patched(pod, patch), {});
  }

  /// Disruption budgets are not asked.
  scheduling::Eviction evicted(const void* now, const scheduling::Preemptor& by) const override {
    const api::Pod& pod = pod_of(now);
    const std::string message =
        by.job.empty()
            ? fmt::format("{}: preempting to accommodate a higher priority {}", by.profile, by.word)
            : fmt::format("{}: preempting to accommodate higher priority pods, preemptor: {}, triggerPod: {}",
                          by.profile, by.job, by.trigger);
    const Said said{"DisruptionTarget", "True", "PreemptionByScheduler", message};
    if (says(pod, said)) return {};
    api::Pod after = pod;
    say(after, said, by.now);
    return {.told = patch_of(pod, after, kStatus)};
  }

 private:
  static constexpr std::string_view kStatus = "status";
};

}  // namespace

const scheduling::PlacedKind& pod_kind() {
  static const PodKind kPods;
  return kPods;
}

}  // namespace koord::scheduler
