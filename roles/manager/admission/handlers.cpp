// The table of handlers: see handlers.hpp.
#include "admission/handlers.hpp"

#include <array>
#include <random>

#include "admission/configmap/config_handler.hpp"
#include "admission/node/node_handlers.hpp"
#include "admission/pod/binding_handler.hpp"
#include "admission/pod/pod_handlers.hpp"
#include "admission/reservation/reservation_handler.hpp"
#include "koord/api/koordinator/admission.hpp"
#include "koord/api/koordinator/classes.hpp"
#include "koord/base/feature_gate.hpp"
#include "koord/base/joined.hpp"
#include "koord/base/log.hpp"

namespace koord::manager {
namespace {

using enum Operation;

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

Result<AdmissionHandler> make_pod_mutating(HandlerContext& context) {
  if (gate(context, "MultiQuotaTree"))
    context.role.log.warn("the gate MultiQuotaTree has no effect: koord has no quota trees yet");
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
  if (gate(context, "EnableQuotaAdmission"))
    context.role.log.warn("the gate EnableQuotaAdmission has no effect: koord has no quotas yet");
  return AdmissionHandler(std::make_unique<PodValidating>(pod_validating(context)));
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

constexpr std::string_view kPodMutating[] = {"ClusterColocationProfile", "ExtendedResourceSpec",
                                             "DeviceResourceSpec"},
                           kPodValidating[] = {"ClusterReservation", "ClusterColocationProfile",
                                               "DeviceResource", "EnhancedValidation"},
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
                                                  {.name = "vpod-resize.koordinator.sh",
                                                   .group = "",
                                                   .version = "v1",
                                                   .resource = "pods/resize",
                                                   .operations = kUpdate,
                                                   .object_selector = api::kQosLabel,
                                                   .namespace_selector = kOutsideControlPlane}};
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

constexpr HandlerRow kRows[] = {
    {"/mutate-pod", WebhookType::mutate, "pod", "PodMutatingWebhook", kPodMutating, kPodMutatingEntries,
     &make_pod_mutating},
    {"/validate-pod", WebhookType::validate, "pod", "PodValidatingWebhook", kPodValidating,
     kPodValidatingEntries, &make_pod_validating},
    {"/validate-pod-binding",
     WebhookType::validate,
     "pod",
     "PodValidatingWebhook",
     {},
     kBindingEntries,
     &make_binding_validating},
    {"/mutate-node-status", WebhookType::mutate, "node", "NodeMutatingWebhook", kNodeMutating,
     kNodeMutatingEntries, &make_node_mutating},
    {"/validate-node", WebhookType::validate, "node", "NodeValidatingWebhook", kNodeValidating,
     kNodeValidatingEntries, &make_node_validating},
    {"/validate-configmap", WebhookType::validate, "configmap", "ConfigMapValidatingWebhook",
     kConfigValidating, kConfigEntries, &make_config_validating},
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
  static const metrics::Table kTables[] = {PluginTimes::kMetrics, BindingValidating::kMetrics};
  return kTables;
}

}  // namespace koord::manager
