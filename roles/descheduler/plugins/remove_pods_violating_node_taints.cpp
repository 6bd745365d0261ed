// RemovePodsViolatingNodeTaints: pods that do not tolerate a taint that their node has now.
#include <algorithm>

#include "framework/plugin_table.hpp"
#include "koord/api/rules/toleration.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler {

namespace remove_pods_violating_node_taints {

using Names = std::vector<std::string>;

struct RemovePodsViolatingNodeTaintsArgs {
  PodChoiceArgs pods;
  bool include_prefer_no_schedule = false;
  Names excluded_taints;
  api::Box<Names> included_taints;  // one that is empty includes nothing

  void validate(const std::string& path, api::FieldErrors& errors) const {
    pods.validate(path, errors);
    if (!excluded_taints.empty() && included_taints && !included_taints->empty())
      errors.add(found_at(path, "either includedTaints or excludedTaints can be set, but not both"));
  }
  KOORD_STRUCT(RemovePodsViolatingNodeTaintsArgs);
};
KOORD_OBJECT(RemovePodsViolatingNodeTaintsArgs, descheduler_kind("RemovePodsViolatingNodeTaintsArgs"),
             ROW(pods).inlined(), ROW(include_prefer_no_schedule).doc("Taints PreferNoSchedule count, too."),
             ROW(excluded_taints).doc("Taints that do not count: key or key=value."),
             ROW(included_taints).doc("Only these count: key or key=value."));

namespace {

bool names(const Names& taints, const api::Taint& taint) {
  return std::ranges::any_of(taints, [&](std::string_view name) {
    const std::string_view key = taint.key.view(), value = taint.value.view();
    if (name == key) return true;
    return !value.empty() && name.size() == key.size() + 1 + value.size() && name.starts_with(key) &&
           name[key.size()] == '=' && name.ends_with(value);
  });
}

class RemovePodsViolatingNodeTaints final : public Plugin {
 public:
  RemovePodsViolatingNodeTaints(const RemovePodsViolatingNodeTaintsArgs& args, const PluginContext&)
      : args_(args), choice_(args.pods) {}

  Task<Result<>> deschedule(Pass& pass) override {
    for (const NodeView* node : pass.nodes()) {
      std::vector<const api::Taint*> taints;
      for (const api::Taint& taint : node->node->spec.taints)
        if (counts(taint)) taints.push_back(&taint);
      if (taints.empty()) continue;
      const auto pods = candidates(pass, *node, [&](const api::Pod& pod) {
        return !has_ended(pod) && choice_.has(pod) && !std::ranges::all_of(taints, [&](const auto* taint) {
          return api::tolerates(pod.spec.tolerations, *taint, /*comparisons=*/true);
        });
      });
      for (const PodPtr& pod : pods)
        co_await pass.evict(pod, "the pod does not tolerate a taint of its node");
    }
    co_return Result<>();
  }

 private:
  bool counts(const api::Taint& taint) const {
    const std::string_view effect = taint.effect.view();
    if (effect != api::kNoSchedule && !(args_.include_prefer_no_schedule && effect == api::kPreferNoSchedule))
      return false;
    return !names(args_.excluded_taints, taint) &&
           (!args_.included_taints || names(*args_.included_taints, taint));
  }

  RemovePodsViolatingNodeTaintsArgs args_;
  PodChoice choice_;
};

}  // namespace
}  // namespace remove_pods_violating_node_taints

extern const PluginEntry kRemovePodsViolatingNodeTaints{
    .name = "RemovePodsViolatingNodeTaints",
    .args = &args_type<remove_pods_violating_node_taints::RemovePodsViolatingNodeTaintsArgs>,
    .deschedules = true,
    .make = &make_with<remove_pods_violating_node_taints::RemovePodsViolatingNodeTaints,
                       remove_pods_violating_node_taints::RemovePodsViolatingNodeTaintsArgs>};

}  // namespace koord::descheduler
