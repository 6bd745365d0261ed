// Batch resources: the kubelet knows nothing of them, so that their pods' CPU and memory limits, and their
// weights, are set here.
#include "framework/hooks/normalization.hpp"
#include "framework/hooks/reconciler.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::koordlet {

namespace batch_resource {
namespace {

using host::Knob;

constexpr std::string_view kAsked = "what it asks of lent resources";
constexpr std::string_view kSuppressed = "the best-effort tier has a quota as a whole";

/// Best-effort pods, and those that live of mid resources.
bool borrows(const PodInfo& pod) {
  if (pod.qos == Qos::be) return true;
  return pod.priority_class == PriorityClass::mid && (pod.qos == Qos::ls || pod.qos == Qos::none);
}

/// In cgroup v1 the quota of the whole tier has to be as wide as those of its pods: only one of both is set.
bool tier_has_quota(const Inventory& inventory) {
  if (!inventory.slo || !inventory.slo->resource_used_threshold_with_be) return false;
  const api::ResourceThresholdStrategy& strategy = *inventory.slo->resource_used_threshold_with_be;
  return strategy.enable == true && strategy.cpu_suppress_policy == "cfsQuota";
}

void answer(const HookFacts& facts, const HookTarget& target, HookAnswer& answer) {
  if (target.level != HookLevel::pod && target.level != HookLevel::container) return;
  if (!borrows(*target.pod)) return;
  const HookTerms& terms = terms_of(*target.pod);
  const LentResources* lent = terms.lent ? &*terms.lent : nullptr;
  if (target.level == HookLevel::container) {
    const auto found = terms.lent_to.find(target.container->name);
    lent = found == terms.lent_to.end() ? nullptr : &found->second;
  }
  if (lent == nullptr) return;
  answer.knobs.push_back({Knob::cpu_shares, host::milli_cpu_to_shares(lent->cpu_request), kAsked});
  if (tier_has_quota(facts.inventory))
    answer.knobs.push_back({Knob::cpu_quota, host::kUnlimited, kSuppressed});
  else
    answer.knobs.push_back({Knob::cpu_quota,
                            normalized_quota(host::milli_cpu_to_quota(lent->cpu_limit.value_or(0)),
                                             facts.inventory.node.cpu_normalization),
                            kAsked});
  answer.knobs.push_back({Knob::memory_limit, lent->memory_limit.value_or(host::kUnlimited), kAsked});
}

constexpr Hook kHook{.audit_reason = "BatchResource", .answer = &answer};
constexpr std::string_view kGates[] = {"BatchResource"};

}  // namespace
}  // namespace batch_resource

extern const StrategyEntry kBatchResource{
    .name = "BatchResource",
    .gates = batch_resource::kGates,
    .replan = Replan::on_change,
    .hold = kHookHold,
    .needs_slo = false,
    .hook = &batch_resource::kHook,
    .terms = &read_hook_terms,
    .make = &reconcile<batch_resource::kHook>,
};

}  // namespace koord::koordlet
