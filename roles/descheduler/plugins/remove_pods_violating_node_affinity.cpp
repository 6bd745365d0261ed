// RemovePodsViolatingNodeAffinity: pods whose node their node affinity no longer wants, or likes less than
// another.
#include <algorithm>
#include <unordered_set>

#include "framework/plugin_table.hpp"
#include "koord/api/rules/node_selector.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler {

namespace remove_pods_violating_node_affinity {

constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";

struct RemovePodsViolatingNodeAffinityArgs {
  PodChoiceArgs pods;
  std::vector<std::string> node_affinity_type;

  void validate(const std::string& path, api::FieldErrors& errors) const {
    if (node_affinity_type.empty()) errors.add(found_at(path, "nodeAffinityType needs to be set"));
    pods.validate(path, errors);
  }
  KOORD_STRUCT(RemovePodsViolatingNodeAffinityArgs);
};
KOORD_OBJECT(RemovePodsViolatingNodeAffinityArgs, descheduler_kind("RemovePodsViolatingNodeAffinityArgs"),
             ROW(pods).inlined(),
             ROW(node_affinity_type)
                 .doc("requiredDuringSchedulingIgnoredDuringExecution: pods whose node they may not be on. "
                      "preferredDuringSchedulingIgnoredDuringExecution: pods that fit on a node that they "
                      "prefer to theirs."));

namespace {

const api::NodeAffinity* affinity_of(const api::Pod& pod) {
  return pod.spec.affinity ? pod.spec.affinity->node_affinity.get() : nullptr;
}

bool violates(Pass& pass, const api::Pod& pod, const NodeView& node) {
  const api::NodeAffinity* const affinity = affinity_of(pod);
  if (affinity == nullptr || !affinity->required) return false;
  if (api::RequiredNodeAffinity(pod.spec).matches(*node.node)) return false;
  return pass.node_fit().fits_elsewhere(pod, pass.nodes());
}

bool prefers_another(Pass& pass, const api::Pod& pod, const NodeView& node) {
  const api::NodeAffinity* const affinity = affinity_of(pod);
  if (affinity == nullptr || affinity->preferred.empty()) return false;
  const api::PreferredNodeAffinity preferred(affinity->preferred);
  const auto score = [&](const NodeView& of) {
    return preferred.score(of.node->metadata.labels, of.node->metadata.name);
  };
  const std::int64_t here = score(node);
  return std::ranges::any_of(pass.nodes(), [&](const NodeView* other) {
    return other != &node && score(*other) > here && pass.node_fit().fits(pod, *other);
  });
}

class RemovePodsViolatingNodeAffinity final : public Plugin {
 public:
  RemovePodsViolatingNodeAffinity(const RemovePodsViolatingNodeAffinityArgs& args,
                                  const PluginContext& context)
      : types_(args.node_affinity_type), choice_(args.pods) {
    for (const std::string& type : types_)
      if (type != kRequired && type != kPreferred)
        context.log.warn("invalid nodeAffinityType, nothing is looked for", kv("nodeAffinityType", type));
  }

  Task<Result<>> deschedule(Pass& pass) override {
    std::unordered_set<const api::Pod*> gone;
    for (const std::string& type : types_) {
      const bool required = type == kRequired;
      if (!required && type != kPreferred) continue;
      for (const NodeView* node : pass.nodes()) {
        const auto pods = candidates(pass, *node, [&](const api::Pod& pod) {
          return !has_ended(pod) && !gone.contains(&pod) && choice_.has(pod) &&
                 (required ? violates(pass, pod, *node) : prefers_another(pass, pod, *node));
        });
        for (const PodPtr& pod : pods)
          if (co_await pass.evict(pod, required ? "the pod's required node affinity does not want its node"
                                                : "the pod prefers another node to its own"))
            gone.insert(pod.get());
      }
    }
    co_return Result<>();
  }

 private:
  std::vector<std::string> types_;
  PodChoice choice_;
};

}  // namespace
}  // namespace remove_pods_violating_node_affinity

extern const PluginEntry kRemovePodsViolatingNodeAffinity{
    .name = "RemovePodsViolatingNodeAffinity",
    .args = &args_type<remove_pods_violating_node_affinity::RemovePodsViolatingNodeAffinityArgs>,
    .deschedules = true,
    .make = &make_with<remove_pods_violating_node_affinity::RemovePodsViolatingNodeAffinity,
                       remove_pods_violating_node_affinity::RemovePodsViolatingNodeAffinityArgs>};

}  // namespace koord::descheduler
