// Group identity: on kernels that have it, who is latency-sensitive runs before best-effort work on a CPU,
// and does not share a core with it. On the others the containers of best-effort pods go idle: what wakes up
// takes a CPU on which nothing else runs for a free one.
#include "framework/hooks/idle.hpp"
#include "framework/hooks/reconciler.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::koordlet {

namespace group_identity {
namespace {

using host::Knob;
using host::KubeQos;

constexpr std::string_view kOfItsClass = "the identity of its class";
constexpr std::string_view kItsOwn = "the identity that the pod asks for";
constexpr std::string_view kIdle = "the kernel has no group identity: best-effort work is idle instead";
constexpr std::string_view kNeeded = "group identity needs it";
constexpr std::string_view kPolicy = "groupIdentity";
constexpr std::string_view kSwitch = "kernel/sched_group_identity_enabled", kCoreSched = "kernel/sched_core";
/// Pods and their containers, of a folder of the kubelet's; and the containers of a pod.
constexpr int kBelowFolder = 2, kBelowPod = 1;

struct Identities {
  bool enabled = false;  // at least one class has one
  std::int64_t lsr = 0, ls = 0, be = 0;
  bool has_lsr = false, has_ls = false;

  std::int64_t of(Qos qos, KubeQos kube) const {
    switch (qos) {
      case Qos::lse:
      case Qos::lsr: return lsr;
      case Qos::ls: return ls;
      case Qos::be: return be;
      case Qos::system:
      case Qos::none: break;
    }
    if (kube == KubeQos::guaranteed) return has_lsr ? lsr : ls;
    return kube == KubeQos::burstable ? ls : be;
  }
};

Identities identities(const api::NodeSloSpec* slo) {
  Identities all;
  if (slo == nullptr || !slo->resource_qos_strategy) return all;
  const api::ResourceQosStrategy& strategy = *slo->resource_qos_strategy;
  if (strategy.policies && !strategy.policies->cpu_policy.empty() && strategy.policies->cpu_policy != kPolicy)
    return all;
  const auto take = [&all](const auto& of, std::int64_t& identity) {
    if (!of || !of->cpu_qos || of->cpu_qos->enable != true) return false;
    identity = of->cpu_qos->qos.group_identity.value_or(0);
    return all.enabled = true;
  };
  all.has_lsr = take(strategy.lsr_class, all.lsr);
  all.has_ls = take(strategy.ls_class, all.ls);
  take(strategy.be_class, all.be);
  return all;
}

/// A pod may say otherwise of itself only if it is LS: nobody makes himself more important.
HookValue of_pod(const Identities& all, const PodInfo& pod) {
  HookValue value{Knob::cpu_bvt, all.of(pod.qos, pod.kube_qos), kOfItsClass};
  const auto& own = terms_of(pod).cpu_qos;
  if (own && pod.qos == Qos::ls) {
    value.reason = kItsOwn;
    if (own->enable != true)
      value.value = std::int64_t{0};
    else if (own->group_identity)
      value.value = *own->group_identity;
  }
  value.reach = {0, kBelowPod, {}};
  return value;
}

void idle(const HookFacts& facts, const Identities& all, const HookTarget& target, HookAnswer& answer) {
  if (all.be < 0 && may_be_idle(facts, target) && facts.has(Knob::cpu_idle))
    answer.knobs.push_back({Knob::cpu_idle, std::int64_t{1}, kIdle});
}

void answer(const HookFacts& facts, const HookTarget& target, HookAnswer& answer) {
  const Identities all = identities(facts.inventory.slo.get());
  const auto on = facts.setting(Knob::proc_sys, kSwitch);
  if (target.level == HookLevel::machine) {
    // The kernel has either of both.
    if (!all.enabled || !on) return;
    for (const std::string_view name : {kCoreSched, kSwitch})
      if (facts.setting(Knob::proc_sys, name))
        answer.knobs.push_back({.knob = Knob::proc_sys,
                                .value = std::int64_t{name == kSwitch ? 1 : 0},
                                .reason = kNeeded,
                                .name = name});
    return;
  }
  if (!facts.has(Knob::cpu_bvt)) return idle(facts, all, target, answer);
  if (!all.enabled && on.value_or(1) == 0) return;
  switch (target.level) {
    case HookLevel::qos_folder: {
      // The one of guaranteed pods is the root of all.
      const bool root = target.folder == KubeQos::guaranteed;
      answer.knobs.push_back({.knob = Knob::cpu_bvt,
                              .value = root ? 0 : all.of(Qos::none, target.folder),
                              .reason = kOfItsClass,
                              .reach = {0, root ? 0 : kBelowFolder, {}}});
      return;
    }
    case HookLevel::pod: answer.knobs.push_back(of_pod(all, *target.pod)); return;
    case HookLevel::host_application: {
      const Qos qos = target.application->qos;
      const bool none = qos == Qos::none || qos == Qos::system;
      answer.knobs.push_back({Knob::cpu_bvt, none ? 0 : all.of(qos, KubeQos::burstable), kOfItsClass});
      return;
    }
    case HookLevel::best_effort_root:
      answer.knobs.push_back(
          {.knob = Knob::cpu_bvt, .value = all.be, .reason = kOfItsClass, .reach = {0, kBelowFolder, {}}});
      return;
    case HookLevel::sandbox:  // the pod's reach
    case HookLevel::container:
    case HookLevel::machine: return;
  }
}

constexpr Hook kHook{.audit_reason = "GroupIdentity", .answer = &answer};
constexpr std::string_view kGates[] = {"GroupIdentity"};

}  // namespace
}  // namespace group_identity

extern const StrategyEntry kGroupIdentity{
    .name = "GroupIdentity",
    .gates = group_identity::kGates,
    .replan = Replan::on_change,
    .hold = kHookHold,
    .hook = &group_identity::kHook,
    .terms = &read_hook_terms,
    .make = &reconcile<group_identity::kHook>,
};

}  // namespace koord::koordlet
