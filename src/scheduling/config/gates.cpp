// koord-scheduler's feature gates: see gates.hpp.
#include "koord/scheduling/config/gates.hpp"

#include <iterator>
#include <vector>

#include "koord/scheduling/config/kube_gates.hpp"

namespace koord::scheduling {

namespace {

// What comes with a later part, which the warning names.
constexpr std::string_view kInline = "Without effect: a strict gang is always decided as one, inline.";
constexpr std::string_view kBarrier =
    "Without effect: a new leader always learns first what the one before wrote (--sync-hard-timeout).";
constexpr std::string_view kOldServers =
    "Without effect: for API servers that are older than those koord speaks to.";
constexpr FeatureGate kGates[] = {
    {.name = "CompatibleCSIStorageCapacity", .enabled = false, .stage = Stage::alpha, .help = kOldServers},
    {.name = "DisableCSIStorageCapacityInformer",
     .enabled = false,
     .stage = Stage::alpha,
     .help = kOldServers},
    {.name = "CompatiblePodDisruptionBudget", .enabled = false, .stage = Stage::alpha, .help = kOldServers},
    {.name = "DisablePodDisruptionBudgetInformer",
     .enabled = false,
     .stage = Stage::alpha,
     .help = kOldServers},
    {.name = "DisableDynamicResourceAllocationInformer",
     .enabled = false,
     .stage = Stage::alpha,
     .help = kOldServers},
    {.name = "ResizePod",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "A Reservation keeps what its devices come to (DeviceShare), beside what it asks for."},
    {.name = "MultiQuotaTree",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "ElasticQuotas with the label tree-id make trees of their own, each with what its root says."},
    {.name = "ElasticQuotaIgnorePodOverhead",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "Of pods that are counted in ElasticQuotas spec.overhead does not count."},
    {.name = "ElasticQuotaIgnoreTerminatingPod",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "A pod that is being deleted counts in no ElasticQuota once its grace period is over."},
    {.name = "ElasticQuotaImmediateIgnoreTerminatingPod",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "A pod that is being deleted counts in no ElasticQuota."},
    {.name = "ElasticQuotaGuaranteeUsage",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "What an ElasticQuota uses is never taken back, and its min is not lent."},
    {.name = "DisableDefaultQuota",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "A pod belongs to the ElasticQuota that its label names, and else to none."},
    {.name = "SupportParentQuotaSubmitPod",
     .enabled = false,
     .stage = Stage::alpha,
     .help =
         "Without effect here: the webhook asks for it; the scheduler counts pods in parents either way."},
    {.name = "LazyReservationRestore",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "Without effect: reserved room is always looked at only where a pod may have it."},
    {.name = "OmitNodeLabelsForReservation",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "A reservation affinity is matched with a reservation's own labels, without its node's."},
    {.name = "SkipReservationFitsNode",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "Without effect: whether a node has room is always said once."},
    {.name = "DevicePluginAdaption",
     .enabled = false,
     .stage = Stage::alpha,
     .help =
         "DeviceShare also writes what the device plugins of Huawei, Cambricon, MetaX and HAMi look for."},
    {.name = "CleanExpiredReservationAllocated",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "Pods lose the annotation reservation-allocated when their reservation has expired."},
    {.name = "SkipFilterWithNominatedPods",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "Where a pod yields to pods that are nominated to a node it has to fit with them, and not "
             "without them, too."},
    {.name = "DynamicSchedulerCheck",
     .enabled = true,
     .stage = Stage::beta,
     .help = "Before its binding a pod is looked at once more: it must be there, stay, and be meant for the "
             "profile."},
    {.name = "CSIStorageCapacity", .enabled = true, .stage = Stage::beta, .help = kOldServers},
    {.name = "GenericEphemeralVolume", .enabled = true, .stage = Stage::beta, .help = kOldServers},
    {.name = "PodDisruptionBudget", .enabled = true, .stage = Stage::beta, .help = kOldServers},
    {.name = "SyncBarrier", .enabled = false, .stage = Stage::alpha, .help = kBarrier},
    {.name = "CrossSchedulerNomination",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "Pods that other schedulers have nominated to a node keep their room there from pods of a lower "
             "priority."},
    {.name = "GangPendingPodsConditionPatch",
     .enabled = true,
     .stage = Stage::beta,
     .help = "Of a gang that finds no place all pods hear why, and count as unschedulable."},
    {.name = "JobPreemptionIgnoresDisruptionBudgets",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "Of koord: preemption of jobs (enablePreemption of Coscheduling) evicts pods whose disruption "
             "budget keeps them, as Koordinator's does."},
    {.name = "EnableInlineBatchSchedule", .enabled = false, .stage = Stage::alpha, .help = kInline},
    {.name = "EnableBatchScheduleNodeSnapshot", .enabled = true, .stage = Stage::beta, .help = kInline},
    {.name = "PriorityTransformer",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "Pods without a priority get that of their Koordinator class."},
    {.name = "PreemptionPolicyTransformer",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "A label of pods says whether they preempt; those without it do not."},
    {.name = "ReplaceResourcesTransformer",
     .enabled = false,
     .stage = Stage::alpha,
     .help = "An annotation of pods puts their resources under other names."},
};

}  // namespace

std::span<const FeatureGate> gates() {
  static const std::vector<FeatureGate> kAll = [] {
    std::vector<FeatureGate> all(std::begin(kGates), std::end(kGates));
    const std::vector<FeatureGate> kube = kube_gates();
    all.insert(all.end(), kube.begin(), kube.end());
    return all;
  }();
  return kAll;
}

bool gate_has_effect(const FeatureGate& gate) {
  return has_effect(gate.name) || (!gate.help.empty() && !gate.help.starts_with("Without effect"));
}

}  // namespace koord::scheduling
