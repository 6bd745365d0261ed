// RemovePodsHavingTooManyRestarts: pods whose containers were started anew too often, the worst first.
#include <fmt/format.h>

#include <algorithm>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler {

namespace remove_pods_having_too_many_restarts {

struct RemovePodsHavingTooManyRestartsArgs {
  PodChoiceArgs pods;
  std::int32_t pod_restart_threshold = 0;
  bool including_init_containers = false;
  std::vector<std::string> states;

  void validate(const std::string& path, api::FieldErrors& errors) const {
    pods.validate(path, errors);
    if (pod_restart_threshold < 1) errors.add(found_at(path, "invalid PodsHavingTooManyRestarts threshold"));
    if (std::ranges::any_of(states, [](const std::string& state) {
          return state != "CrashLoopBackOff" && state != "Running";
        }))
      errors.add(found_at(path, "states must be one of [CrashLoopBackOff Running]"));
  }
  KOORD_STRUCT(RemovePodsHavingTooManyRestartsArgs);
};
KOORD_OBJECT(RemovePodsHavingTooManyRestartsArgs, descheduler_kind("RemovePodsHavingTooManyRestartsArgs"),
             ROW(pods).inlined(),
             ROW(pod_restart_threshold).doc("From so many restarts of all containers on; 1 at least."),
             ROW(including_init_containers).doc("Init containers count, for restarts and states."),
             ROW(states).doc("Only pods that are in one of these: Running, or a container of theirs that "
                             "waits with the reason CrashLoopBackOff."));

namespace {

class RemovePodsHavingTooManyRestarts final : public Plugin {
 public:
  RemovePodsHavingTooManyRestarts(const RemovePodsHavingTooManyRestartsArgs& args, const PluginContext&)
      : args_(args), choice_(args.pods) {}

  Task<Result<>> deschedule(Pass& pass) override {
    for (const NodeView* node : pass.nodes()) {
      auto pods = candidates(pass, *node, [&](const api::Pod& pod) {
        return choice_.has(pod) && restarts_of(pod) >= args_.pod_restart_threshold && in_states(pod);
      });
      std::ranges::stable_sort(pods, std::greater<>(),
                               [this](const PodPtr& pod) { return restarts_of(*pod); });
      for (const PodPtr& pod : pods)
        co_await pass.evict(pod,
                            fmt::format("the pod's containers have restarted {} times", restarts_of(*pod)));
    }
    co_return Result<>();
  }

 private:
  std::int64_t restarts_of(const api::Pod& pod) const {
    std::int64_t sum = 0;
    for (const api::ContainerStatus& status : pod.status.container_statuses) sum += status.restart_count;
    if (args_.including_init_containers)
      for (const api::ContainerStatus& status : pod.status.init_container_statuses)
        sum += status.restart_count;
    return sum;
  }
  bool in_states(const api::Pod& pod) const {
    if (args_.states.empty()) return true;
    const auto listed = [this](const Symbol& state) {
      return std::ranges::find(args_.states, state.view()) != args_.states.end();
    };
    const auto waits = [&](const api::ContainerStatus& status) {
      return status.state.waiting && listed(status.state.waiting->reason);
    };
    return listed(pod.status.phase) || std::ranges::any_of(pod.status.container_statuses, waits) ||
           (args_.including_init_containers &&
            std::ranges::any_of(pod.status.init_container_statuses, waits));
  }

  RemovePodsHavingTooManyRestartsArgs args_;
  PodChoice choice_;
};

}  // namespace
}  // namespace remove_pods_having_too_many_restarts

extern const PluginEntry kRemovePodsHavingTooManyRestarts{
    .name = "RemovePodsHavingTooManyRestarts",
    .args = &args_type<remove_pods_having_too_many_restarts::RemovePodsHavingTooManyRestartsArgs>,
    .deschedules = true,
    .make = &make_with<remove_pods_having_too_many_restarts::RemovePodsHavingTooManyRestarts,
                       remove_pods_having_too_many_restarts::RemovePodsHavingTooManyRestartsArgs>};

}  // namespace koord::descheduler
