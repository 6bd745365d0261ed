// The table of handlers: see handlers.hpp.
#include "admission/handlers.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "admission/configmap/config_handler.hpp"
#include "admission/node/node_handlers.hpp"
#include "admission/pod/binding_handler.hpp"
#include "admission/pod/device_allocation.hpp"
#include "admission/pod/pod_handlers.hpp"
#include "admission/quota/quota_evaluator.hpp"
#include "admission/quota/quota_handlers.hpp"
#include "admission/reservation/reservation_handler.hpp"
#include "koord/api/koordinator/admission.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/api/koordinator/quota.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/joined.hpp"
#include "koord/base/log.hpp"

namespace koord::manager {
namespace {

using enum Operation;

constexpr std::string_view kLabel = "label:";
constexpr std::string_view kQuotaLabelIndex = kJoined<kLabel, api::kQuotaNameLabel>;
constexpr Operation kCreate[] = {create}, kUpdate[] = {update}, kCreateUpdate[] = {create, update},
                    kCreateUpdateRemove[] = {create, update, remove};
/// The namespaces of the control plane are not asked about.
constexpr std::string_view kOutsideControlPlane = "!control-plane";

bool gate(const HandlerContext& context, std::string_view name) { return context.role.gates.enabled(name); }

template <class T>
std::function<std::shared_ptr<const T>(std::string_view)> by_name(kube::Informer<T> informer) {
  return [informer](std::string_view name) { return informer.get("", name); };
}

std::function<ProfileSet::Sources()> all_profiles(HandlerContext& context) {
  const auto profiles = context.informer<api::ClusterColocationProfile>();
  return [profiles] { return profiles.list(); };
}

Dice dice() {
  return [engine = std::minstd_rand(std::random_device()())]() mutable {
    return std::uniform_int_distribution(0, 99)(engine);
  };
}

/// One ConfigMap, and how it is found.
std::function<std::shared_ptr<const api::ConfigMap>()> config_map(HandlerContext& context,
                                                                  const std::string& ns,
                                                                  const std::string& name) {
  kube::Scope scope;
  scope.ns = ns;
  scope.fields = "metadata.name=";
  scope.fields += name;
  const auto maps = context.informer<api::ConfigMap>(std::move(scope));
  return [maps, ns, name] { return maps.get(ns, name); };
}

/// Quotas, and what is asked of pods by the rules about them: one of each a process, whoever asks first.
QuotaParts quota_parts(HandlerContext& context) {
  const auto quotas = context.informer<api::ElasticQuota>();
  kube::Scope unfinished;
  unfinished.fields = kUnfinishedPods;
  const auto pods = context.informer<api::Pod>(
      std::move(unfinished),
      {kube::index_by_label(kube::kObjectType<api::Pod>, std::string(api::kQuotaNameLabel))});
  return *context.shared->get<QuotaParts>([&] {
    auto parts = std::make_shared<QuotaParts>();
    parts->catalog = std::make_shared<QuotaCatalog>(context.role.clock);
    parts->catalog->follow(quotas);
    QuotaPods of_pods;
    of_pods.of_quota = [pods](std::string_view quota) {
      std::vector<std::string> names;
      for (const auto& pod : pods.list_by(kQuotaLabelIndex, quota)) names.push_back(pod->metadata.name);
      return names;
    };
    of_pods.in_namespace = [pods](std::string_view ns) {
      bool found = false;
      pods.for_each([&](const kube::Object& pod) {
        found = found || static_cast<const api::Pod*>(pod.get())->metadata.namespace_ == ns;
      });
      return found;
    };
    QuotaRuleOptions options;
    options.keys_may_differ = gate(context, "ElasticQuotaEnableUpdateResourceKey");
    options.guarantees_usage = gate(context, "ElasticQuotaGuaranteeUsage");
    options.parents_may_own_pods = gate(context, "SupportParentQuotaSubmitPod");
    options.without_default = gate(context, "DisableDefaultQuota");
    parts->rules = std::make_shared<const QuotaRules>(*parts->catalog, std::move(of_pods), options);
    return parts;
  });
}

Result<AdmissionHandler> make_quota_mutating(HandlerContext& context) {
  return AdmissionHandler(std::make_unique<QuotaMutating>(quota_parts(context), context.role.metrics));
}

Result<AdmissionHandler> make_quota_validating(HandlerContext& context) {
  QuotaParts parts = quota_parts(context);
  if (context.add_page)
    context.add_page("/elasticQuota", [catalog = parts.catalog] { return quota_page(*catalog); });
  return AdmissionHandler(std::make_unique<QuotaValidating>(std::move(parts), context.role.metrics));
}

Result<std::shared_ptr<QuotaEvaluator>> quota_evaluator(HandlerContext& context, const QuotaParts& quotas) {
  const runtime::FlagValues& flags = context.role.flags;
  QuotaEvaluator::Settings settings;
  settings.max_retries =
      static_cast<int>(std::clamp<std::int64_t>(flags.get_int("quota-update-max-retries"), 0, 1000));
  settings.jitter = flags.get_duration("quota-update-retry-jitter");
  settings.max_total_jitter = flags.get_duration("quota-update-max-total-jitter");
  return std::make_shared<QuotaEvaluator>(QuotaEvaluator::Parts{.clock = context.role.clock,
                                                                .log = context.role.log,
                                                                .client = context.client,
                                                                .catalog = quotas.catalog,
                                                                .settings = settings});
}

Result<AdmissionHandler> make_pod_mutating(HandlerContext& context) {
  std::shared_ptr<QuotaCatalog> quotas;
  std::function<std::vector<std::shared_ptr<const api::ElasticQuotaProfile>>(std::string_view)> trees;
  if (gate(context, "MultiQuotaTree")) {
    quotas = quota_parts(context).catalog;
    const std::string label(api::kQuotaTreeIdLabel);
    const auto profiles = context.informer<api::ElasticQuotaProfile>(
        {}, {kube::index_by_label(kube::kObjectType<api::ElasticQuotaProfile>, label)});
    trees = [profiles, index = "label:" + label](std::string_view tree) {
      auto found = profiles.list_by(index, tree);
      std::ranges::sort(found, {}, [](const auto& profile) {
        return std::pair(profile->metadata.namespace_.view(), std::string_view(profile->metadata.name));
      });
      return found;
    };
  }
  PodMutating::Options options;
  options.keep_resources = gate(context, "ColocationProfileSkipMutatingResources");
  options.without_extended_resources = gate(context, "DisableExtendedResourceSpec");
  options.without_device_resources = gate(context, "DisableDeviceResourceSpec");
  return AdmissionHandler(std::make_unique<PodMutating>(
      PodMutating::Parts{.log = context.role.log,
                         .profiles = all_profiles(context),
                         .namespaces = by_name(context.informer<api::Namespace>()),
                         .classes = by_name(context.informer<api::PriorityClass>()),
                         .dice = dice(),
                         .quotas = std::move(quotas),
                         .trees = std::move(trees),
                         .options = options}));
}

PodValidating::Parts pod_validating(HandlerContext& context) {
  PodValidating::Parts parts{.log = context.role.log, .config = {}};
  parts.options.priority_may_change = gate(context, "ColocationProfileSkipValidatingPriority");
  parts.options.devices = gate(context, "ValidatePodDeviceResource");
  parts.options.enhanced = gate(context, "EnablePodEnhancedValidator");
  if (parts.options.enhanced)
    parts.config = config_map(context, context.role.flags.get("pod-enhanced-validator-config-namespace"),
                              context.role.flags.get("pod-enhanced-validator-config-name"));
  return parts;
}

Result<AdmissionHandler> make_pod_validating(HandlerContext& context) {
  PodValidating::Parts parts = pod_validating(context);
  parts.quotas = quota_parts(context);
  if (gate(context, "EnableQuotaAdmission")) {
    KOORD_TRY(evaluator, quota_evaluator(context, parts.quotas));
    parts.evaluator = std::move(evaluator);
    parts.options.evaluate_update = gate(context, "EnableQuotaAdmissionOnUpdate");
    parts.options.replace_resources =
        gate(context, "ElasticQuotaEvaluationTransformPod") && gate(context, "ReplaceResourcesTransformer");
  }
  return AdmissionHandler(std::make_unique<PodValidating>(std::move(parts)));
}

Result<AdmissionHandler> make_binding_validating(HandlerContext& context) {
  BindingValidating::Parts parts{.log = context.role.log,
                                 .registry = context.role.metrics,
                                 .enabled = gate(context, "BindingAdmissionWebhook"),
                                 .rules = BindingRules::from(context.role.flags),
                                 .pods = {}};
  parts.enabled = parts.enabled && !parts.rules.users.empty();
  if (parts.enabled) {
    kube::Scope unfinished;
    unfinished.fields = kUnfinishedPods;
    const auto pods = context.informer<api::Pod>(std::move(unfinished));
    parts.pods = [pods](std::string_view ns, std::string_view name) { return pods.get(ns, name); };
  }
  return AdmissionHandler(std::make_unique<BindingValidating>(std::move(parts)));
}

Result<AdmissionHandler> make_devices_validating(HandlerContext& context) {
  return AdmissionHandler(std::make_unique<DevicesValidating>(
      DevicesValidating::Parts{.clock = context.role.clock,
                               .log = context.role.log,
                               .registry = context.role.metrics,
                               .may_bind = [&client = context.client](Subject subject, std::string ns) {
                                 return may_bind(client, std::move(subject), std::move(ns));
                               }}));
}

Result<AdmissionHandler> make_node_mutating(HandlerContext& context) {
  return AdmissionHandler(std::make_unique<NodeStatusMutating>(context.role.log));
}

Result<AdmissionHandler> make_node_validating(HandlerContext& context) {
  return AdmissionHandler(std::make_unique<NodeValidating>(
      NodeValidating::Parts{.log = context.role.log,
                            .config = config_map(context, context.role.flags.get("config-namespace"),
                                                 context.role.flags.get("slo-config-name"))}));
}

Result<AdmissionHandler> make_config_validating(HandlerContext& context) {
  const auto nodes = context.informer<api::Node>();
  return AdmissionHandler(std::make_unique<ConfigMapValidating>(ConfigMapValidating::Parts{
      .log = context.role.log,
      .ns = context.role.flags.get("config-namespace"),
      .name = context.role.flags.get("slo-config-name"),
      .check_names = context.role.flags.get("node-strategy-name-need-check") == "true",
      .nodes = [nodes](const std::function<bool(const api::Node&)>& visit) {
        bool more = true;
        nodes.for_each([&](const kube::Object& object) {
          more = more && visit(*static_cast<const api::Node*>(object.get()));
        });
      }}));
}

Result<AdmissionHandler> make_reservation_mutating(HandlerContext& context) {
  return AdmissionHandler(std::make_unique<ReservationMutating>(
      ReservationMutating::Parts{.log = context.role.log,
                                 .profiles = all_profiles(context),
                                 .classes = by_name(context.informer<api::PriorityClass>()),
                                 .dice = dice()}));
}

/// Reviewed so that it is noted who changes them (ChangeNotes); all is admitted.
class ProfileValidating final : public ValidatingHandler {
 public:
  Verdict handle(const AdmissionRequest&, const PluginTimes&) override { return Verdict::allow(); }
};

Result<AdmissionHandler> make_profile_validating(HandlerContext&) {
  return AdmissionHandler(std::make_unique<ProfileValidating>());
}

constexpr std::string_view kPodMutating[] = {"ClusterColocationProfile", "ExtendedResourceSpec",
                                             "MultiQuotaTree", "DeviceResourceSpec"},
                           kPodValidating[] = {"ClusterReservation", "ClusterColocationProfile",
                                               "QuotaMetaChecker",   "EvaluateQuota",
                                               "DeviceResource",     "EnhancedValidation"},
                           kQuota[] = {"QuotaMetaChecker"},
                           kNodeMutating[] = {"NodeResourceAmplificationPlugin"},
                           kNodeValidating[] = {"SLOManagerConfigConflictForNode"},
                           kConfigValidating[] = {"SLOConfig"},
                           kReservationMutating[] = {"ClusterColocationProfile"};

// Selectors of labels. Of an update each pod is one entry's: the first's whose label it has.
constexpr std::string_view kIsTrue = "=true", kAndNot = ",!", kIsStrategies = "=slo-controller-config";
constexpr std::string_view
    kMutatingUpdate = kJoined<api::kMutatingUpdateLabel, kIsTrue>,
    kClassAlone = kJoined<api::kPriorityClassLabel, kAndNot, api::kQosLabel>,
    kPriorityAlone =
        kJoined<api::kSubPriorityLabel, kAndNot, api::kPriorityClassLabel, kAndNot, api::kQosLabel>,
    kQuotaAlone = kJoined<api::kQuotaNameLabel, kAndNot, api::kSubPriorityLabel, kAndNot,
                          api::kPriorityClassLabel, kAndNot, api::kQosLabel>,
    kPreemptibleAlone =
        kJoined<api::kQuotaPreemptibleLabel, kAndNot, api::kQuotaNameLabel, kAndNot, api::kSubPriorityLabel,
                kAndNot, api::kPriorityClassLabel, kAndNot, api::kQosLabel>,
    kStrategies = kJoined<api::kConfigMapTypeLabel, kIsStrategies>;

constexpr WebhookEntry kPodMutatingEntries[] = {{.name = "mpod-create.koordinator.sh",
                                                 .group = "",
                                                 .version = "v1",
                                                 .resource = "pods",
                                                 .operations = kCreate,
                                                 .namespace_selector = kOutsideControlPlane},
                                                {.name = "mpod-update.koordinator.sh",
                                                 .group = "",
                                                 .version = "v1",
                                                 .resource = "pods",
                                                 .operations = kUpdate,
                                                 .object_selector = kMutatingUpdate,
                                                 .namespace_selector = kOutsideControlPlane}};
/// Of updates those of pods that say, or said, something of koord's; each pod is one entry's. (An API server
/// asks if the labels match before the update or after it.)
constexpr WebhookEntry kPodValidatingEntries[] = {{.name = "vpod.koordinator.sh",
                                                   .group = "",
                                                   .version = "v1",
                                                   .resource = "pods",
                                                   .operations = kCreate,
                                                   .namespace_selector = kOutsideControlPlane},
                                                  {.name = "vpod-update-qos.koordinator.sh",
                                                   .group = "",
                                                   .version = "v1",
                                                   .resource = "pods",
                                                   .operations = kUpdate,
                                                   .object_selector = api::kQosLabel,
                                                   .namespace_selector = kOutsideControlPlane},
                                                  {.name = "vpod-update-class.koordinator.sh",
                                                   .group = "",
                                                   .version = "v1",
                                                   .resource = "pods",
                                                   .operations = kUpdate,
                                                   .object_selector = kClassAlone,
                                                   .namespace_selector = kOutsideControlPlane},
                                                  {.name = "vpod-update-priority.koordinator.sh",
                                                   .group = "",
                                                   .version = "v1",
                                                   .resource = "pods",
                                                   .operations = kUpdate,
                                                   .object_selector = kPriorityAlone,
                                                   .namespace_selector = kOutsideControlPlane},
                                                  {.name = "vpod-update-quota.koordinator.sh",
                                                   .group = "",
                                                   .version = "v1",
                                                   .resource = "pods",
                                                   .operations = kUpdate,
                                                   .object_selector = kQuotaAlone,
                                                   .namespace_selector = kOutsideControlPlane},
                                                  {.name = "vpod-update-preemptible.koordinator.sh",
                                                   .group = "",
                                                   .version = "v1",
                                                   .resource = "pods",
                                                   .operations = kUpdate,
                                                   .object_selector = kPreemptibleAlone,
                                                   .namespace_selector = kOutsideControlPlane},
                                                  {.name = "vpod-resize.koordinator.sh",
                                                   .group = "",
                                                   .version = "v1",
                                                   .resource = "pods/resize",
                                                   .operations = kUpdate,
                                                   .object_selector = api::kQosLabel,
                                                   .namespace_selector = kOutsideControlPlane}};
/// Asked whatever the pod's labels, of the few updates alone that change the annotation.
constexpr std::string_view
    kDevices = api::DeviceAllocations::kAnnotation,
    kHasNow = "(has(object.metadata.annotations) && '",
    kNow = "' in object.metadata.annotations ? [object.metadata.annotations['",
    kHadBefore = "']] : []) != (has(oldObject.metadata.annotations) && '",
    kBefore = "' in oldObject.metadata.annotations ? [oldObject.metadata.annotations['", kEnd = "']] : [])",
    kDevicesChange =
        kJoined<kHasNow, kDevices, kNow, kDevices, kHadBefore, kDevices, kBefore, kDevices, kEnd>;
constexpr WebhookEntry kDevicesEntries[] = {{.name = "vpod-update-devices.koordinator.sh",
                                             .group = "",
                                             .version = "v1",
                                             .resource = "pods",
                                             .operations = kUpdate,
                                             .namespace_selector = kOutsideControlPlane,
                                             .condition = kDevicesChange}};
constexpr WebhookEntry kQuotaMutatingEntries[] = {{.name = "melasticquota.koordinator.sh",
                                                   .group = "scheduling.sigs.k8s.io",
                                                   .version = "v1alpha1",
                                                   .resource = "elasticquotas",
                                                   .operations = kCreate}};
constexpr WebhookEntry kQuotaValidatingEntries[] = {{.name = "velasticquota.koordinator.sh",
                                                     .group = "scheduling.sigs.k8s.io",
                                                     .version = "v1alpha1",
                                                     .resource = "elasticquotas",
                                                     .operations = kCreateUpdateRemove}};
constexpr WebhookEntry kBindingEntries[] = {{.name = "vpodbinding.koordinator.sh",
                                             .group = "",
                                             .version = "v1",
                                             .resource = "pods/binding",
                                             .operations = kCreate}};
constexpr WebhookEntry kNodeMutatingEntries[] = {{.name = "mnode-status.koordinator.sh",
                                                  .group = "",
                                                  .version = "v1",
                                                  .resource = "nodes/status",
                                                  .operations = kCreateUpdate}};
constexpr WebhookEntry kNodeValidatingEntries[] = {{.name = "vnode.koordinator.sh",
                                                    .group = "",
                                                    .version = "v1",
                                                    .resource = "nodes",
                                                    .operations = kCreateUpdate}};
constexpr WebhookEntry kConfigEntries[] = {{.name = "vconfigmap.koordinator.sh",
                                            .group = "",
                                            .version = "v1",
                                            .resource = "configmaps",
                                            .operations = kCreateUpdateRemove,
                                            .object_selector = kStrategies}};
constexpr WebhookEntry kReservationEntries[] = {{.name = "mreservation-create.koordinator.sh",
                                                 .group = "scheduling.koordinator.sh",
                                                 .version = "v1alpha1",
                                                 .resource = "reservations",
                                                 .operations = kCreate}};
constexpr WebhookEntry kProfileEntries[] = {{.name = "vclustercolocationprofile.koordinator.sh",
                                             .group = "config.koordinator.sh",
                                             .version = "v1alpha1",
                                             .resource = "clustercolocationprofiles",
                                             .operations = kCreateUpdateRemove}};
constexpr WebhookEntry kQuotaProfileEntries[] = {{.name = "velasticquotaprofile.koordinator.sh",
                                                  .group = "quota.koordinator.sh",
                                                  .version = "v1alpha1",
                                                  .resource = "elasticquotaprofiles",
                                                  .operations = kCreateUpdateRemove}};

constexpr std::string_view kLateQuota = "Internal error occurred: elastic quota evaluation timed out";

constexpr HandlerRow kRows[] = {
    {"/mutate-pod", WebhookType::mutate, "pod", "PodMutatingWebhook", kPodMutating, kPodMutatingEntries,
     &make_pod_mutating},
    {"/validate-pod", WebhookType::validate, "pod", "PodValidatingWebhook", kPodValidating,
     kPodValidatingEntries, &make_pod_validating, false, kLateQuota},
    {"/validate-pod-devices",
     WebhookType::validate,
     "pod",
     "PodValidatingWebhook",
     {},
     kDevicesEntries,
     &make_devices_validating},
    {"/validate-pod-binding",
     WebhookType::validate,
     "pod",
     "PodValidatingWebhook",
     {},
     kBindingEntries,
     &make_binding_validating},
    {"/mutate-scheduling-sigs-k8s-io-v1alpha1-elasticquota", WebhookType::mutate, "elasticquota",
     "ElasticMutatingWebhook", kQuota, kQuotaMutatingEntries, &make_quota_mutating},
    {"/validate-scheduling-sigs-k8s-io-v1alpha1-elasticquota", WebhookType::validate, "elasticquota",
     "ElasticValidatingWebhook", kQuota, kQuotaValidatingEntries, &make_quota_validating, true},
    {"/mutate-node-status", WebhookType::mutate, "node", "NodeMutatingWebhook", kNodeMutating,
     kNodeMutatingEntries, &make_node_mutating},
    {"/validate-node", WebhookType::validate, "node", "NodeValidatingWebhook", kNodeValidating,
     kNodeValidatingEntries, &make_node_validating},
    {"/validate-configmap", WebhookType::validate, "configmap", "ConfigMapValidatingWebhook",
     kConfigValidating, kConfigEntries, &make_config_validating, true},
    {"/validate-clustercolocationprofile",
     WebhookType::validate,
     "clustercolocationprofile",
     "PodMutatingWebhook",
     {},
     kProfileEntries,
     &make_profile_validating,
     true},
    {"/validate-elasticquotaprofile",
     WebhookType::validate,
     "elasticquotaprofile",
     "ElasticValidatingWebhook",
     {},
     kQuotaProfileEntries,
     &make_profile_validating,
     true},
    {"/mutate-reservation", WebhookType::mutate, "reservation", "ReservationMutatingWebhook",
     kReservationMutating, kReservationEntries, &make_reservation_mutating},
};

}  // namespace

std::span<const HandlerRow> handlers() { return kRows; }

PodRules pod_rules(HandlerContext& context) {
  if (!gate(context, "WebhookFramework") || !gate(context, "PodValidatingWebhook")) return {};
  return [rules = std::make_shared<PodValidating>(pod_validating(context))](const json::Value& pod) {
    return rules->broken_rule(pod);
  };
}

std::span<const metrics::Table> handler_metrics() {
  static const metrics::Table kTables[] = {PluginTimes::kMetrics, BindingValidating::kMetrics,
                                           DevicesValidating::kMetrics, QuotaMutating::kMetrics};
  return kTables;
}

}  // namespace koord::manager
