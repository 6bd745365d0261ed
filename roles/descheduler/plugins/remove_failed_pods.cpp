// RemoveFailedPods: pods that have failed, by why and how long ago they were made.
#include <algorithm>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler {

namespace remove_failed_pods {

struct RemoveFailedPodsArgs {
  PodChoiceArgs pods;
  std::vector<std::string> exclude_owner_kinds;
  std::optional<std::int64_t> min_pod_lifetime_seconds;
  std::vector<std::string> reasons;
  std::vector<std::int32_t> exit_codes;
  bool including_init_containers = false;

  void validate(const std::string& path, api::FieldErrors& errors) const { pods.validate(path, errors); }
  KOORD_STRUCT(RemoveFailedPodsArgs);
};
KOORD_OBJECT(RemoveFailedPodsArgs, descheduler_kind("RemoveFailedPodsArgs"), ROW(pods).inlined(),
             ROW(exclude_owner_kinds).doc("Not those that an object of one of these kinds owns."),
             ROW(min_pod_lifetime_seconds)
                 .min(0)
                 .default_json("3600")
                 .doc("Not those that were made less than so long ago."),
             ROW(reasons).doc("Only those of which a container, or the pod, gives one of these reasons."),
             ROW(exit_codes).doc("Only those of which a container ended with one of these."),
             ROW(including_init_containers).doc("Init containers count for reasons and exitCodes, too."));

namespace {

class RemoveFailedPods final : public Plugin {
 public:
  RemoveFailedPods(const RemoveFailedPodsArgs& args, const PluginContext&)
      : args_(args), choice_(args.pods) {}

  Task<Result<>> deschedule(Pass& pass) override {
    const WallTime now = pass.snapshot().now();
    for (const NodeView* node : pass.nodes()) {
      const auto pods =
          candidates(pass, *node, [&](const api::Pod& pod) { return choice_.has(pod) && wanted(pod, now); });
      for (const PodPtr& pod : pods) co_await pass.evict(pod, "the pod has failed");
    }
    co_return Result<>();
  }

 private:
  bool wanted(const api::Pod& pod, WallTime now) const {
    if (pod.status.phase.view() != "Failed") return false;
    if (age_of(pod, now) < std::chrono::seconds(args_.min_pod_lifetime_seconds.value_or(0))) return false;
    if (has_owner_of(pod, args_.exclude_owner_kinds)) return false;
    return has_reason(pod) && has_exit_code(pod);
  }
  bool has_reason(const api::Pod& pod) const {
    if (args_.reasons.empty()) return true;
    const auto listed = [this](const Symbol& reason) {
      return !reason.view().empty() && std::ranges::find(args_.reasons, reason.view()) != args_.reasons.end();
    };
    return listed(pod.status.reason) || any_status(pod, [&](const api::ContainerState& state) {
             return (state.waiting && listed(state.waiting->reason)) ||
                    (state.terminated && listed(state.terminated->reason));
           });
  }
  bool has_exit_code(const api::Pod& pod) const {
    return args_.exit_codes.empty() || any_status(pod, [this](const api::ContainerState& state) {
             return state.terminated && std::ranges::find(args_.exit_codes, state.terminated->exit_code) !=
                                            args_.exit_codes.end();
           });
  }
  bool any_status(const api::Pod& pod, const auto& matches) const {
    const auto of = [&](const api::ContainerStatus& status) { return matches(status.state); };
    return std::ranges::any_of(pod.status.container_statuses, of) ||
           (args_.including_init_containers && std::ranges::any_of(pod.status.init_container_statuses, of));
  }

  RemoveFailedPodsArgs args_;
  PodChoice choice_;
};

}  // namespace
}  // namespace remove_failed_pods

extern const PluginEntry kRemoveFailedPods{
    .name = "RemoveFailedPods",
    .args = &args_type<remove_failed_pods::RemoveFailedPodsArgs>,
    .deschedules = true,
    .make = &make_with<remove_failed_pods::RemoveFailedPods, remove_failed_pods::RemoveFailedPodsArgs>};

}  // namespace koord::descheduler
