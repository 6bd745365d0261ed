// PodLifeTime: pods that have been there for too long, or for long enough in a state that nobody wants; the
// oldest of all nodes first.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler {

namespace pod_life_time {

using std::chrono::seconds;
using Texts = std::vector<std::string>;

struct OwnerKinds {
  Texts include, exclude;
  KOORD_STRUCT(OwnerKinds);
};

/// All that is said must hold.
struct PodConditionFilter {
  std::string type, status, reason;
  std::optional<std::int64_t> min_time_since_last_transition_seconds;
  KOORD_STRUCT(PodConditionFilter);
};

struct PodLifeTimeArgs {
  PodChoiceArgs pods;
  api::Box<OwnerKinds> owner_kinds;
  std::optional<std::int64_t> max_pod_life_time_seconds;
  Texts states;
  std::vector<PodConditionFilter> conditions;
  std::vector<std::int32_t> exit_codes;
  bool including_init_containers = false;
  bool including_ephemeral_containers = false;

  void validate(const std::string& path, api::FieldErrors& errors) const;
  KOORD_STRUCT(PodLifeTimeArgs);
};

KOORD_SCHEMA(OwnerKinds, ROW(include).doc("Only pods with an owner of one of these kinds."),
             ROW(exclude).doc("No pods with one."));
KOORD_SCHEMA(PodConditionFilter, ROW(type).doc("The condition's type; empty: any."),
             ROW(status).doc("True, False or Unknown; empty: any."), ROW(reason).doc("Empty: any."),
             ROW(min_time_since_last_transition_seconds).min(0).doc("For how long it has been so at least."));
KOORD_OBJECT(PodLifeTimeArgs, descheduler_kind("PodLifeTimeArgs"), ROW(pods).inlined(),
             ROW(owner_kinds).doc("By what owns the pod."),
             ROW(max_pod_life_time_seconds).min(0).doc("Only pods that were made longer ago."),
             ROW(states).doc("Only pods in one of these: phases, reasons of pods, reasons for which a "
                             "container waits or has ended."),
             ROW(conditions).doc("Only pods with a condition that one of these describes."),
             ROW(exit_codes).doc("Only pods of which a container ended with one of these."),
             ROW(including_init_containers).doc("Init containers count for states and exitCodes."),
             ROW(including_ephemeral_containers).doc("Ephemeral containers count for states."));

namespace {

/// By name, as the error says them.
constexpr auto kStates = std::to_array<std::string_view>({"Completed",
                                                          "ContainerCannotRun",
                                                          "ContainerCreating",
                                                          "CrashLoopBackOff",
                                                          "CreateContainerConfigError",
                                                          "CreateContainerError",
                                                          "DeadlineExceeded",
                                                          "ErrImagePull",
                                                          "Error",
                                                          "Evicted",
                                                          "Failed",
                                                          "ImagePullBackOff",
                                                          "InvalidImageName",
                                                          "NodeAffinity",
                                                          "NodeLost",
                                                          "OOMKilled",
                                                          "Pending",
                                                          "PodInitializing",
                                                          "Running",
                                                          "Shutdown",
                                                          "StartError",
                                                          "Succeeded",
                                                          "UnexpectedAdmissionError",
                                                          "Unknown"});

bool listed(const Texts& texts, const Symbol& text) {
  return std::ranges::find(texts, text.view()) != texts.end();
}

class PodLifeTime final : public Plugin {
 public:
  PodLifeTime(const PodLifeTimeArgs& args, const PluginContext&) : args_(args), choice_(args.pods) {}

  Task<Result<>> deschedule(Pass& pass) override {
    const WallTime now = pass.snapshot().now();
    std::vector<PodPtr> pods;
    for (const NodeView* node : pass.nodes()) {
      const auto more = candidates(pass, *node, [&](const api::Pod& pod) {
        return choice_.has(pod) && old_enough(pod, now) && in_states(pod) && owner_fits(pod) &&
               has_condition(pod, now) && has_exit_code(pod);
      });
      pods.insert(pods.end(), more.begin(), more.end());
    }
    std::ranges::stable_sort(pods, {}, [](const PodPtr& pod) { return pod->metadata.creation_timestamp; });
    for (const PodPtr& pod : pods)
      co_await pass.evict(pod, fmt::format("the pod is {} seconds old", age_of(*pod, now).count()));
    co_return Result<>();
  }

 private:
  bool old_enough(const api::Pod& pod, WallTime now) const {
    return !args_.max_pod_life_time_seconds || age_of(pod, now) > seconds(*args_.max_pod_life_time_seconds);
  }
  bool in_states(const api::Pod& pod) const {
    if (args_.states.empty()) return true;
    const auto has = [this](const api::List<api::ContainerStatus>& statuses) {
      return std::ranges::any_of(statuses, [this](const api::ContainerStatus& status) {
        const api::ContainerState& state = status.state;
        return (state.waiting && listed(args_.states, state.waiting->reason)) ||
               (state.terminated && listed(args_.states, state.terminated->reason));
      });
    };
    const api::PodStatus& status = pod.status;
    return listed(args_.states, status.phase) || listed(args_.states, status.reason) ||
           has(status.container_statuses) ||
           (args_.including_init_containers && has(status.init_container_statuses)) ||
           (args_.including_ephemeral_containers && has(status.ephemeral_container_statuses));
  }
  bool owner_fits(const api::Pod& pod) const {
    if (!args_.owner_kinds) return true;
    if (!args_.owner_kinds->include.empty()) return has_owner_of(pod, args_.owner_kinds->include);
    return !has_owner_of(pod, args_.owner_kinds->exclude);
  }
  bool has_condition(const api::Pod& pod, WallTime now) const {
    if (args_.conditions.empty()) return true;
    const auto describes = [&](const PodConditionFilter& filter, const api::PodCondition& condition) {
      if (!filter.type.empty() && condition.type.view() != filter.type) return false;
      if (!filter.status.empty() && condition.status.view() != filter.status) return false;
      if (!filter.reason.empty() && condition.reason.view() != filter.reason) return false;
      if (!filter.min_time_since_last_transition_seconds) return true;
      const auto since = condition.last_transition_time.at;
      return since != std::chrono::sys_seconds() &&
             std::chrono::floor<seconds>(now) - since >=
                 seconds(*filter.min_time_since_last_transition_seconds);
    };
    return std::ranges::any_of(args_.conditions, [&](const PodConditionFilter& filter) {
      return std::ranges::any_of(pod.status.conditions,
                                 [&](const auto& condition) { return describes(filter, condition); });
    });
  }
  bool has_exit_code(const api::Pod& pod) const {
    if (args_.exit_codes.empty()) return true;
    const auto has = [this](const api::ContainerStatus& status) {
      const auto& ended = status.state.terminated;
      return ended && std::ranges::find(args_.exit_codes, ended->exit_code) != args_.exit_codes.end();
    };
    return std::ranges::any_of(pod.status.container_statuses, has) ||
           (args_.including_init_containers && std::ranges::any_of(pod.status.init_container_statuses, has));
  }

  PodLifeTimeArgs args_;
  PodChoice choice_;
};

}  // namespace

void PodLifeTimeArgs::validate(const std::string& path, api::FieldErrors& errors) const {
  check_namespaces(pods.namespaces, path, errors);
  if (owner_kinds && !owner_kinds->include.empty() && !owner_kinds->exclude.empty())
    errors.add(found_at(path, "only one of Include/Exclude ownerKinds can be set"));
  pods.check_selector(path, errors);
  if (std::ranges::any_of(states, [](const std::string& state) {
        return std::ranges::find(kStates, state) == kStates.end();
      }))
    errors.add(found_at(path, fmt::format("states must be one of [{}]", fmt::join(kStates, " "))));
  for (std::size_t i = 0; i < conditions.size(); ++i)
    if (conditions[i] == PodConditionFilter())
      errors.add(found_at(path, fmt::format("conditions[{}]: at least one of type, status, reason, or "
                                            "minTimeSinceLastTransitionSeconds must be set",
                                            i)));
  if (!max_pod_life_time_seconds && states.empty() && conditions.empty() && exit_codes.empty())
    errors.add(found_at(path,
                        "at least one filtering criterion must be specified (maxPodLifeTimeSeconds, "
                        "states, conditions, or exitCodes)"));
}

}  // namespace pod_life_time

extern const PluginEntry kPodLifeTime{
    .name = "PodLifeTime",
    .args = &args_type<pod_life_time::PodLifeTimeArgs>,
    .deschedules = true,
    .make = &make_with<pod_life_time::PodLifeTime, pod_life_time::PodLifeTimeArgs>};

}  // namespace koord::descheduler
