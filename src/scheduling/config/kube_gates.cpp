// kube-scheduler's feature gates: see kube_gates.hpp.
#include "koord/scheduling/config/kube_gates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace koord::scheduling {

namespace {

using Names = std::span<const std::string_view>;

constexpr std::string_view kAlpha[] = {"APIServingWithRoutine",
                                       "AllowUnsafeMalformedObjectDeletion",
                                       "CBORServingAndStorage",
                                       "CPUManagerPolicyAlphaOptions",
                                       "CSIVolumeHealth",
                                       "ClientsAllowCBOR",
                                       "ClientsPreferCBOR",
                                       "CloudControllerManagerWatchBasedRoutesReconciliation",
                                       "CloudControllerManagerWebhook",
                                       "ComponentFlagz",
                                       "ComponentStatusz",
                                       "ConstrainedImpersonation",
                                       "ContainerStopSignals",
                                       "CrossNamespaceVolumeDataSource",
                                       "CustomCPUCFSQuotaPeriod",
                                       "DRAConsumableCapacity",
                                       "DRADeviceBindingConditions",
                                       "DRADeviceTaintRules",
                                       "DRADeviceTaints",
                                       "DRAExtendedResource",
                                       "DRAPartitionableDevices",
                                       "EventedPLEG",
                                       "GangScheduling",
                                       "GenericWorkload",
                                       "HPAScaleToZero",
                                       "InPlacePodLevelResourcesVerticalScaling",
                                       "InPlacePodVerticalScalingExclusiveCPUs",
                                       "InPlacePodVerticalScalingExclusiveMemory",
                                       "InTreePluginPortworxUnregister",
                                       "KubeletInUserNamespace",
                                       "LoggingAlphaOptions",
                                       "MemoryQoS",
                                       "MutablePVNodeAffinity",
                                       "MutablePodResourcesForSuspendedJobs",
                                       "MutableSchedulingDirectivesForSuspendedJobs",
                                       "NodeDeclaredFeatures",
                                       "PodAndContainerStatsFromCRI",
                                       "PodLogsQuerySplitStreams",
                                       "QOSReserved",
                                       "ReduceDefaultCrashLoopBackOffDecay",
                                       "RelaxedServiceNameValidation",
                                       "ResourceHealthStatus",
                                       "RestartAllContainersOnContainerExits",
                                       "RuntimeClassInImageCriApi",
                                       "StorageCapacityScoring",
                                       "StorageVersionAPI",
                                       "StrictIPCIDRValidation",
                                       "TaintTolerationComparisonOperators",
                                       "TopologyManagerPolicyAlphaOptions",
                                       "UnknownVersionInteroperabilityProxy",
                                       "UserNamespacesHostNetworkSupport",
                                       "VolumeLimitScaling",
                                       "WindowsCPUAndMemoryAffinity"};
constexpr std::string_view kBeta[] = {"APIResponseCompression",
                                      "APIServerIdentity",
                                      "AllowParsingUserUIDFromCertAuth",
                                      "AuthorizePodWebsocketUpgradeCreatePermission",
                                      "CPUManagerPolicyBetaOptions",
                                      "CSIServiceAccountTokenSecrets",
                                      "ClearingNominatedNodeNameAfterBinding",
                                      "ContainerCheckpoint",
                                      "ContainerRestartRules",
                                      "ContextualLogging",
                                      "DRAAdminAccess",
                                      "DRAPrioritizedList",
                                      "DRAResourceClaimDeviceStatus",
                                      "DRASchedulerFilterTimeout",
                                      "DeclarativeValidation",
                                      "DeploymentReplicaSetTerminatingReplicas",
                                      "DetectCacheInconsistency",
                                      "DisableCPUQuotaWithExclusiveCPUs",
                                      "EnvFiles",
                                      "ExternalServiceAccountTokenSigner",
                                      "GracefulNodeShutdown",
                                      "GracefulNodeShutdownBasedOnPodPriority",
                                      "HPAConfigurableTolerance",
                                      "HostnameOverride",
                                      "ImageVolume",
                                      "InOrderInformers",
                                      "InOrderInformersBatchProcess",
                                      "KubeletCrashLoopBackOffMax",
                                      "KubeletEnsureSecretPulledImages",
                                      "KubeletFineGrainedAuthz",
                                      "KubeletPSI",
                                      "KubeletPodResourcesDynamicResources",
                                      "KubeletPodResourcesGet",
                                      "KubeletSeparateDiskGC",
                                      "KubeletServiceAccountTokenForCredentialProviders",
                                      "ListFromCacheSnapshot",
                                      "LoggingBetaOptions",
                                      "MatchLabelKeysInPodTopologySpread",
                                      "MatchLabelKeysInPodTopologySpreadSelectorMerge",
                                      "MutableCSINodeAllocatableCount",
                                      "NominatedNodeNameForExpectation",
                                      "OpenAPIEnums",
                                      "OpportunisticBatching",
                                      "PodDeletionCost",
                                      "PodLevelResources",
                                      "PodReadyToStartContainersCondition",
                                      "PodTopologyLabelsAdmission",
                                      "PortForwardWebsockets",
                                      "PreventStaticPodAPIReferences",
                                      "ProcMountType",
                                      "ReloadKubeletServerCertificateFile",
                                      "RemoteRequestHeaderUID",
                                      "RotateKubeletServerCertificate",
                                      "SELinuxChangePolicy",
                                      "SELinuxMountReadWriteOncePod",
                                      "SchedulerAsyncPreemption",
                                      "SchedulerPopFromBackoffQ",
                                      "ServiceAccountNodeAudienceRestriction",
                                      "SizeBasedListCostEstimate",
                                      "StatefulSetSemanticRevisionComparison",
                                      "StorageVersionHash",
                                      "StructuredAuthenticationConfigurationEgressSelector",
                                      "StructuredAuthenticationConfigurationJWKSMetrics",
                                      "TokenRequestServiceAccountUIDValidation",
                                      "TopologyManagerPolicyBetaOptions",
                                      "TranslateStreamCloseWebsocketRequests",
                                      "UnauthenticatedHTTP2DOSMitigation",
                                      "UserNamespacesSupport",
                                      "WatchList",
                                      "WatchListClient",
                                      "WindowsGracefulNodeShutdown"};
constexpr std::string_view kBetaOff[] = {"CRDObservedGenerationTracking",
                                         "ClusterTrustBundle",
                                         "ClusterTrustBundleProjection",
                                         "ConcurrentWatchObjectDecode",
                                         "CoordinatedLeaderElection",
                                         "DeclarativeValidationTakeover",
                                         "LocalStorageCapacityIsolationFSQuotaMonitoring",
                                         "MaxUnavailableStatefulSet",
                                         "MutatingAdmissionPolicy",
                                         "NodeLogQuery",
                                         "PodCertificateRequest",
                                         "SELinuxMount",
                                         "SchedulerAsyncAPICalls",
                                         "StorageVersionMigrator",
                                         "WatchCacheInitializationPostStartHook"};
constexpr std::string_view kLocked[] = {"APIServerTracing",
                                        "AnonymousAuthConfigurableEndpoints",
                                        "AnyVolumeDataSource",
                                        "AuthorizeNodeWithSelectors",
                                        "AuthorizeWithSelectors",
                                        "BtreeWatchCache",
                                        "CPUManagerPolicyOptions",
                                        "CRDValidationRatcheting",
                                        "CSIMigrationPortworx",
                                        "ConsistentListFromCache",
                                        "CustomResourceFieldSelectors",
                                        "DisableAllocatorDualWrite",
                                        "DynamicResourceAllocation",
                                        "ExecProbeTimeout",
                                        "HonorPVReclaimPolicy",
                                        "ImageMaximumGCAge",
                                        "InPlacePodVerticalScaling",
                                        "JobBackoffLimitPerIndex",
                                        "JobManagedBy",
                                        "JobPodReplacementPolicy",
                                        "JobSuccessPolicy",
                                        "KubeletCgroupDriverFromCRI",
                                        "KubeletTracing",
                                        "LogarithmicScaleDown",
                                        "MatchLabelKeysInPodAffinity",
                                        "MemoryManager",
                                        "MultiCIDRServiceAllocator",
                                        "NFTablesProxyMode",
                                        "NodeInclusionPolicyInPodTopologySpread",
                                        "NodeSwap",
                                        "OrderedNamespaceDeletion",
                                        "PodLifecycleSleepAction",
                                        "PodLifecycleSleepActionAllowZero",
                                        "PodObservedGenerationTracking",
                                        "PodSchedulingReadiness",
                                        "PreferSameTrafficDistribution",
                                        "RecoverVolumeExpansionFailure",
                                        "RecursiveReadOnlyMounts",
                                        "RelaxedDNSSearchValidation",
                                        "RelaxedEnvironmentVariableValidation",
                                        "ResilientWatchCacheInitialization",
                                        "RetryGenerateName",
                                        "SchedulerQueueingHints",
                                        "SeparateTaintEvictionController",
                                        "ServiceAccountTokenJTI",
                                        "ServiceAccountTokenNodeBinding",
                                        "ServiceAccountTokenNodeBindingValidation",
                                        "ServiceAccountTokenPodNodeInfo",
                                        "ServiceTrafficDistribution",
                                        "SidecarContainers",
                                        "StreamingCollectionEncodingToJSON",
                                        "StreamingCollectionEncodingToProtobuf",
                                        "StructuredAuthenticationConfiguration",
                                        "StructuredAuthorizationConfiguration",
                                        "SupplementalGroupsPolicy",
                                        "SystemdWatchdog",
                                        "TopologyAwareHints",
                                        "WinDSR",
                                        "WinOverlay"};
constexpr std::string_view kStable[] = {"TopologyManagerPolicyOptions", "VolumeAttributesClass"};
constexpr std::string_view kDeprecatedOn[] = {
    "DisableNodeKubeProxyVersion", "KubeletPodResourcesListUseActivePods", "StorageNamespaceIndex"};
constexpr std::string_view kDeprecated[] = {"AllowDNSOnlyNodeCSR",
                                            "AllowInsecureKubeletCertificateSigningRequests",
                                            "ChangeContainerStatusOnKubeletRestart",
                                            "GitRepoVolumeDriver",
                                            "InPlacePodVerticalScalingAllocatedStatus",
                                            "KMSv1",
                                            "KubeletRegistrationGetOnExistsOnly",
                                            "SeparateCacheWatchRPC",
                                            "WindowsHostNetwork"};
constexpr std::string_view kDeprecatedLockedOn[] = {"AggregatedDiscoveryRemoveBetaType"};
constexpr std::string_view kDeprecatedLocked[] = {"AllowOverwriteTerminationGracePeriodSeconds",
                                                  "WatchFromStorageWithoutResourceVersion"};

struct Group {
  Names names;
  bool enabled;
  Stage stage;
  bool locked;
};
constexpr Group kGroups[] = {
    {kAlpha, false, Stage::alpha, false},
    {kBeta, true, Stage::beta, false},
    {kBetaOff, false, Stage::beta, false},
    {kLocked, true, Stage::ga, true},
    {kStable, true, Stage::ga, false},
    {kDeprecatedOn, true, Stage::deprecated, false},
    {kDeprecated, false, Stage::deprecated, false},
    {kDeprecatedLockedOn, true, Stage::deprecated, true},
    {kDeprecatedLocked, false, Stage::deprecated, true},
};

/// Those that koord honours, too.
struct Help {
  std::string_view name, text;
};
constexpr Help kHonoured[] = {
    {"DRAAdminAccess", "Claims may look at devices that others have (adminAccess)."},
    {"DRAConsumableCapacity",
     "Several claims may have parts of one device: DynamicResources counts its capacity."},
    {"DRADeviceBindingConditions",
     "A pod waits before its binding until its devices may be used. Needs DRAResourceClaimDeviceStatus."},
    {"DRADeviceTaintRules",
     "What DeviceTaintRules say of devices counts as the devices' taints. Needs DRADeviceTaints."},
    {"DRADeviceTaints", "Devices with taints are for claims that tolerate these."},
    {"DRAExtendedResource",
     "Extended resources that a DeviceClass backs are devices of claims where nodes do not list them: "
     "DynamicResources makes the claims, NodeResourcesFit leaves these resources to it, scores count them."},
    {"DRAPartitionableDevices", "Devices may take of counters that they share with others."},
    {"DRAPrioritizedList", "Requests of claims may name several ways, the best first (firstAvailable)."},
    {"DRAResourceClaimDeviceStatus", "What drivers say of given devices counts: binding conditions."},
    {"DRASchedulerFilterTimeout", "The search for devices of claims ends after filterTimeout."},
    {kPlacesGangs,
     "Pods of a Workload's group, or of a PodGroup of Kubernetes' own, are placed together or not at all "
     "(plugin GangScheduling). Needs GenericWorkload."},
    {kKnowsWorkloads, "The API of Workloads is used: with GangScheduling."},
    {kNominateExpected,
     "The node of a pod whose binding has to wait is written down as its nominated one before."},
    {kPopFromBackoff, "Pods in backoff are tried while nothing else is to do."},
    {kStorageCapacityScoring, "VolumeBinding scores nodes by how much of their storage is taken."},
    {kVolumeAttributesClass, "Claims get volumes of their VolumeAttributesClass alone."},
    {kVolumeLimitScaling, "A pod with volumes of a CSI driver goes only where that is installed."},
};

/// Which gate needs which other one.
struct Need {
  std::string_view name, needs;
};
constexpr Need kNeeds[] = {
    {kPlacesGangs, kKnowsWorkloads},
    {"DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"},
    {"DRADeviceTaintRules", "DRADeviceTaints"},
};

std::string_view help_of(std::string_view name) {
  const auto* row = std::find_if(std::begin(kHonoured), std::end(kHonoured),
                                 [&](const Help& help) { return help.name == name; });
  return row != std::end(kHonoured) ? row->text : std::string_view();
}

}  // namespace

bool has_effect(std::string_view name) { return !help_of(name).empty(); }

Result<> check_gates(const FeatureGates& gates) {
  const auto on = [&](std::string_view name) { return gates.known(name) && gates.enabled(name); };
  for (const auto& [name, needs] : kNeeds)
    if (on(name) && !on(needs))
      return Error(
          Code::invalid,
          fmt::format("{} is enabled, but depends on features that are disabled: [{}]", name, needs));
  return {};
}

std::vector<FeatureGate> kube_gates() {
  std::vector<FeatureGate> gates;
  for (const Group& group : kGroups)
    for (const std::string_view name : group.names)
      gates.push_back({name, group.enabled, group.stage, group.locked, help_of(name)});
  return gates;
}

}  // namespace koord::scheduling
