// CPU normalization: where the node's CPUs are faster than those that pods ask for, their quotas are less.
#include "framework/hooks/normalization.hpp"

#include "framework/hooks/reconciler.hpp"

namespace koord::koordlet {

namespace cpu_normalization {
namespace {

using host::Knob;

constexpr std::string_view kFaster = "the node's CPUs are faster than those it asked for";

void answer(const HookFacts& facts, const HookTarget& target, HookAnswer& answer) {
  if (target.level != HookLevel::pod && target.level != HookLevel::container) return;
  const double ratio = shared_ratio(facts.inventory, facts.gates, *target.pod);
  if (ratio <= 1) return;
  std::optional<std::int64_t> limit = target.pod->cpu_limit_milli;
  if (target.container != nullptr) {
    limit = target.container->cpu_limit_milli;
    if (terms_of(*target.pod).lent_to.contains(target.container->name)) return;  // that is another resource
  } else if (facts.cgroup_version == host::CgroupVersion::v1) {
    // A container is made with the quota of its spec, which v1 refuses below a smaller one: it could never
    // start. Those of the containers hold the pod back as well.
    return;
  }
  if (!limit || *limit <= 0) return;
  const std::int64_t quota = host::milli_cpu_to_quota(*limit);
  answer.knobs.push_back({.knob = Knob::cpu_quota,
                          .value = normalized_quota(quota, ratio),
                          .reason = kFaster,
                          .undo = quota,
                          .where_limited = true});
}

constexpr Hook kHook{.audit_reason = "CPUNormalization", .answer = &answer};
constexpr std::string_view kGates[] = {"CPUNormalization"};

}  // namespace
}  // namespace cpu_normalization

extern const StrategyEntry kCpuNormalization{
    .name = "CPUNormalization",
    .gates = cpu_normalization::kGates,
    .replan = Replan::on_change,
    .hold = kHookHold,
    .needs_slo = false,
    .hook = &cpu_normalization::kHook,
    .make = &reconcile<cpu_normalization::kHook>,
};

}  // namespace koord::koordlet
