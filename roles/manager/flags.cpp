// The manager's flags and gates: see flags.hpp.
#include "flags.hpp"

#include <fmt/format.h>

#include <array>

#include "koord/api/koordinator/admission.hpp"
#include "koord/runtime/audit.hpp"
#include "koord/view/page/page.hpp"

namespace koord::manager {

namespace {

using runtime::Flag;
using runtime::FlagType;

constexpr std::string_view kConfig = "Configuration flags", kElection = "Leader election flags",
                           kWebhook = "Webhook flags", kProfile = "Profile flags";
constexpr std::string_view kNoEffect = "accepted, without effect in this version";
constexpr std::string_view kNotNeeded = "accepted, without effect: what koord watches is not read again";

constexpr Flag later(std::string_view name, FlagType type, std::string_view value,
                     std::string_view why = kNoEffect) {
  return {name, type, value, "", 0, kWebhook, true, why};
}

constexpr std::string_view kAuditFolder =
    "A folder of this process alone for audit.log: a line of JSON for each change of the strategies' "
    "ConfigMap, "
    "of quotas and of profiles that it reviews. Empty: the newest are in memory, for /audit.";

constexpr std::array kServingFlags = {
    Flag{"metrics-addr", FlagType::text, ":8080",
         "Where metrics are served: ADDRESS:PORT; \"0\" serves none."},
    Flag{"health-probe-addr", FlagType::text, ":8000",
         "Where probes are served: ADDRESS:PORT; \"0\" serves none."},
    Flag{"webhook-port", FlagType::text, "",
         "The port of the webhooks; 0: none; empty: what the environment's WEBHOOK_PORT says, else 9876."},
    Flag{"shutdown-delay", FlagType::duration, "5s",
         "After SIGTERM /readyz fails and reviews are answered for so long, until endpoints do without this "
         "process; its work stops and its lease is given back at once. No delay where no API server asks it. "
         "A "
         "second signal ends it at once."},
    Flag{"pprof-addr", FlagType::text, ":8090", "", 0, {}, true, kNoEffect},
    Flag{"enable-pprof", FlagType::boolean, "true", "", 0, {}, true, kNoEffect},
    Flag{"rest-config-qps", FlagType::integer, "200", "Requests a second to the API server; 0: no limit."},
    Flag{"rest-config-burst", FlagType::integer, "400", "Requests at once beyond that."},
    Flag{"sync-period", FlagType::text, "", "", 0, {}, true, kNotNeeded},
    Flag{"disable-no-deepcopy", FlagType::boolean, "false", "", 0, {}, true, kNotNeeded},
    Flag{"namespace", FlagType::text, "", "", 0, {}, true, kNoEffect},
    Flag{"logtostderr", FlagType::boolean, "true", "", 0, {}, true},
    Flag{"alsologtostderr", FlagType::boolean, "false", "", 0, {}, true, "accepted: the log goes to stderr"},
};

constexpr std::array kElectionFlags = {
    Flag{"enable-leader-election", FlagType::boolean, "true", "Work only while holding the lease.", 0,
         kElection},
    Flag{"leader-election-namespace", FlagType::text, "koordinator-system",
         "The namespace of the lease koordinator-manager.", 0, kElection},
    Flag{"leader-elect-resource-lock", FlagType::text, "leases", "\"leases\" is the only kind.", 0,
         kElection},
};

constexpr std::array kConfigFlags = {
    Flag{"config-namespace", FlagType::text, "koordinator-system", "The namespace of --slo-config-name.", 0,
         kConfig},
    Flag{"slo-config-name", FlagType::text, "slo-controller-config",
         "The ConfigMap with the strategies of nodes.", 0, kConfig},
    Flag{"cleanup", FlagType::boolean, "false",
         "Take from the cluster what managers have written (lent resources, annotations, agents' "
         "topologies and Devices, NodeSLOs, NodeMetrics, webhooks, their Secret, the lease), and end.",
         0, kConfig},
    Flag{"controllers", FlagType::list, "nodemetric,noderesource,nodeslo,quotaprofile,colocationprofile",
         "Which controllers run: names, \"*\" for all, \"-NAME\" for all but that.", 0, kConfig},
    Flag{"noderesource-plugins", FlagType::list,
         "MidResource,BatchResource,CPUNormalization,ResourceAmplification,GPUDeviceResource,"
         "RDMADeviceResource",
         "What the controller noderesource works out, written as --controllers.", 0, kConfig},
    Flag{"node-strategy-name-need-check", FlagType::text, "false",
         "\"true\": /validate-configmap wants groups of nodes to have names, each its own.", 0, kConfig},
};

constexpr std::array kWebhookFlags = {
    Flag{"pod-enhanced-validator-config-namespace", FlagType::text, "koordinator-system",
         "The namespace of --pod-enhanced-validator-config-name.", 0, kWebhook},
    Flag{"pod-enhanced-validator-config-name", FlagType::text, "pod-enhanced-validator-config",
         "The ConfigMap with the labels that pods must have (gate EnablePodEnhancedValidator).", 0, kWebhook},
    later("pod-enhanced-validator-reconcile-interval", FlagType::duration, "5m", kNotNeeded),
    Flag{"binding-admission-user-name", FlagType::text, "",
         "Who may bind pods: parts of users' names, by commas; empty: everybody (gate "
         "BindingAdmissionWebhook).",
         0, kWebhook},
    Flag{"binding-admission-dry-run", FlagType::boolean, "false",
         "Count bindings that would be denied, and let them through.", 0, kWebhook},
    Flag{"binding-admission-namespaces", FlagType::text, "",
         "The namespaces whose pods --binding-admission-user-name is about; \"*\": all; empty: none.", 0,
         kWebhook},
    Flag{"binding-admission-exclude-namespaces", FlagType::text, "kube-system",
         "Namespaces whose pods everybody may bind.", 0, kWebhook},
    Flag{"binding-admission-bypass-labels", FlagType::text, api::kBindingBypassLabel,
         "Pods with one of these labels, whatever its value, everybody may bind.", 0, kWebhook},
    Flag{"binding-admission-bypass-annotations", FlagType::text, "", "The same of annotations.", 0, kWebhook},
};

constexpr std::array kQuotaFlags = {
    Flag{"quota-update-max-retries", FlagType::integer, "3",
         "How often the write that counts pods in a quota is repeated at most, 3 at least: 3 times, and once "
         "more each time that its pods double (gate EnableQuotaAdmission).",
         0, kWebhook},
    Flag{"quota-update-retry-jitter", FlagType::duration, "0s",
         "The pause before such a repetition: something between half of it and all of it.", 0, kWebhook},
    Flag{"quota-update-max-total-jitter", FlagType::duration, "1s", "The pauses of one write together.", 0,
         kWebhook},
    later("quota-update-conflict-fresh-get", FlagType::boolean, "false",
          "accepted, without effect: after a conflict the quota is always read anew"),
};

constexpr std::array kProfileFlags = {
    Flag{"colocation-profile-reconcile-by-default", FlagType::boolean, "false",
         "With the gate ColocationProfileController: every ClusterColocationProfile is in the controller's "
         "care, not "
         "just those with the label config.koordinator.sh/controller-managed=true.",
         0, kProfile},
    Flag{"colocation-profile-reconcile-interval", FlagType::duration, "30s",
         "How often pods that wait for a node are looked at.", 0, kProfile},
    Flag{"colocation-profile-force-update-pod-duration", FlagType::duration, "5m",
         "After which time a pod that has what a profile gives is looked at again.", 0, kProfile},
    later("colocation-profile-expire-pod-cache-duration", FlagType::duration, "10m",
          "accepted, without effect: what was looked at is forgotten in time"),
    Flag{"colocation-profile-update-pod-qps", FlagType::real, "10", "Pods a second that are looked at.", 0,
         kProfile},
    Flag{"colocation-profile-update-pod-qps-burst", FlagType::integer, "100", "Pods at once beyond that.", 0,
         kProfile},
};

constexpr auto kFlags =
    runtime::join_flags(kServingFlags, kElectionFlags, kConfigFlags, kProfileFlags, kWebhookFlags,
                        kQuotaFlags, runtime::audit_flags(kAuditFolder), view::kPageFlags);

constexpr std::array kGates = {
    gate_on("PodMutatingWebhook",
            "Serve /mutate-pod: ClusterColocationProfiles and the resources that follow from them."),
    gate_on("PodValidatingWebhook", "Serve /validate-pod, /validate-pod-devices and /validate-pod-binding."),
    gate_on("ElasticMutatingWebhook",
            "Serve /mutate-scheduling-sigs-k8s-io-v1alpha1-elasticquota: what new ElasticQuotas do not say."),
    gate_on("ElasticValidatingWebhook",
            "Serve /validate-scheduling-sigs-k8s-io-v1alpha1-elasticquota: ElasticQuotas fit their tree."),
    gate_on("WebhookFramework", "Serve webhooks at all."),
    gate_off("NodeMutatingWebhook", "Serve /mutate-node-status: amplified nodes."),
    gate_off("NodeValidatingWebhook",
             "Serve /validate-node: a node is in one group of each strategy at most."),
    gate_on("ConfigMapValidatingWebhook",
            "Serve /validate-configmap: slo-controller-config is checked before it is stored."),
    gate_off("ReservationMutatingWebhook", "Serve /mutate-reservation: ClusterColocationProfiles."),
    gate_off("ColocationProfileSkipMutatingResources", "Profiles leave cpu and memory of pods as they are."),
    gate_off("ColocationProfileSkipValidatingPriority",
             "The label koordinator.sh/priority of a pod may change."),
    gate_off("MultiQuotaTree", "/mutate-pod keeps pods of a quota tree on the nodes of its profile."),
    gate_off("ElasticQuotaIgnorePodOverhead"),
    gate_off("ElasticQuotaGuaranteeUsage",
             "A quota's min must be guaranteed by a quota above it (annotation guaranteed)."),
    gate_off("ElasticQuotaEnableUpdateResourceKey",
             "A quota's max may lack resources that its parent's names."),
    gate_off("ElasticQuotaEvaluationTransformPod",
             "EnableQuotaAdmission counts pods with the resources that their annotation replaces, if "
             "ReplaceResourcesTransformer is on, too."),
    gate_off("DisableDefaultQuota", "A pod's quota is the one that its label names, and no other."),
    gate_off("SupportParentQuotaSubmitPod", "Pods may belong to quotas that have children."),
    gate_off("EnableQuotaAdmission",
             "/validate-pod refuses pods that their quota has no room for, and counts those that it has."),
    gate_off("EnableQuotaAdmissionOnUpdate", "The same of pods whose quota changes."),
    gate_off("EnableSyncGPUSharedResource",
             "A node says koordinator.sh/gpu.shared: 100 for each of its GPUs."),
    gate_off("ColocationProfileController",
             "Pods that wait for a node get what profiles with the label "
             "config.koordinator.sh/controller-managed=true give them."),
    gate_off("ValidatePodDeviceResource", "/validate-pod checks GPUs and shares of them."),
    gate_off("EnablePodEnhancedValidator",
             "/validate-pod wants the labels that --pod-enhanced-validator-config-name names."),
    gate_off("DisableExtendedResourceSpec", "/mutate-pod does not tell batch resources in an annotation."),
    gate_off("DisableDeviceResourceSpec", "/mutate-pod leaves the resources of devices as they are."),
    gate_off("BindingAdmissionWebhook",
             "/validate-pod-binding lets --binding-admission-user-name alone bind pods."),
    gate_off("DisablePVCReservation"),
    gate_off("PriorityTransformer"),
    gate_off("PreemptionPolicyTransformer"),
    gate_off("ReplaceResourcesTransformer", "See ElasticQuotaEvaluationTransformPod."),
};

}  // namespace

std::span<const Flag> flags() { return kFlags; }
std::span<const FeatureGate> gates() { return kGates; }

Result<runtime::LeaderElectionSettings> election_settings(const runtime::FlagValues& flags) {
  runtime::LeaderElectionSettings election;
  election.leader_elect = flags.get_bool("enable-leader-election");
  election.resource_namespace = flags.get("leader-election-namespace");
  election.resource_lock = flags.get("leader-elect-resource-lock");
  if (election.resource_lock != "leases")
    return Error(Code::invalid, fmt::format("--leader-elect-resource-lock: \"{}\" is not \"leases\"",
                                            election.resource_lock));
  runtime::set_defaults(election, "koordinator-system", "koordinator-manager");
  return election;
}

bool is_enabled(std::span<const std::string> list, std::string_view name) {
  bool all = false;
  for (const std::string& entry : list) {
    if (entry == name) return true;
    if (entry.starts_with('-') && std::string_view(entry).substr(1) == name) return false;
    all |= entry == "*";
  }
  return all;
}

}  // namespace koord::manager
