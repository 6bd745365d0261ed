// See args.hpp.
#include "plugins/default_evictor/args.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "framework/plugin_table.hpp"
#include "koord/api/schema/table.hpp"

namespace koord::descheduler::default_evictor {

namespace {

struct Protection {
  std::string_view name;
  bool Protections::*member;
};
constexpr std::array<Protection, 4> kDefaults = {{{"PodsWithLocalStorage", &Protections::local_storage},
                                                  {"SystemCriticalPods", &Protections::system_critical},
                                                  {"FailedBarePods", &Protections::failed_bare_pods},
                                                  {"DaemonSetPods", &Protections::daemon_sets}}};
constexpr std::array<Protection, 3> kExtra = {{{"PodsWithPVC", &Protections::pvc},
                                               {"PodsWithoutPDB", &Protections::without_budget},
                                               {"PodsWithResourceClaims", &Protections::resource_claims}}};

template <std::size_t N>
void set(Protections& protections, const std::array<Protection, N>& known,
         const std::vector<std::string>& names, bool to) {
  for (const auto& [name, member] : known)
    if (std::ranges::find(names, name) != names.end()) protections.*member = to;
}

template <std::size_t N>
void check_names(const std::vector<std::string>& names, const std::array<Protection, N>& known,
                 std::string_view list, const std::string& path, api::FieldErrors& errors) {
  std::string options;
  for (const auto& [name, member] : known) options += fmt::format("{}{}", options.empty() ? "" : " ", name);
  for (const std::string& name : names)
    if (std::ranges::find(known, name, &Protection::name) == known.end())
      errors.add(
          found_at(path, fmt::format("invalid pod protection policy in {}: \"{}\". Valid options are: [{}]",
                                     list, name, options)));
}

void check_twice(const std::vector<std::string>& names, std::string_view list, const std::string& path,
                 api::FieldErrors& errors) {
  if (std::set<std::string_view>(names.begin(), names.end()).size() < names.size())
    errors.add(found_at(path, fmt::format("PodProtections.{} contains duplicate entries", list)));
}

void check_selector(const api::Box<api::LabelSelector>& selector, std::string_view words,
                    const std::string& path, api::FieldErrors& errors) {
  if (!selector) return;
  if (const auto read = api::Selector::from(selector.get()); !read)
    errors.add(found_at(path, fmt::format("{}: {}", words, read.error().message())));
}

}  // namespace

KOORD_SCHEMA(ProtectedStorageClass, ROW(name).required().doc("Of a StorageClass."));
KOORD_SCHEMA(PodsWithPvcConfig,
             ROW(protected_storage_classes).doc("Only pods with claims of these are protected; all."));
KOORD_SCHEMA(PodProtectionsConfig, ROW(pods_with_pvc).wire("PodsWithPVC").doc("Of that protection."));
KOORD_SCHEMA(PodProtections,
             ROW(extra_enabled)
                 .doc("Protections besides the default ones: PodsWithPVC, PodsWithoutPDB, "
                      "PodsWithResourceClaims."),
             ROW(default_disabled)
                 .doc("Default ones that are left out: PodsWithLocalStorage, SystemCriticalPods, "
                      "FailedBarePods (pods without an owner that have failed may go), DaemonSetPods."),
             ROW(config).doc("More about single protections."));
KOORD_OBJECT(
    DefaultEvictorArgs, descheduler_kind("DefaultEvictorArgs"),
    ROW(node_selector).doc("With nodeFit: the nodes on which a pod has to find room, as a=b,c!=d; all."),
    ROW(label_selector).doc("Only pods with these labels go; all."),
    ROW(namespace_label_selector).doc("Only pods of namespaces with these labels go; all."),
    ROW(priority_threshold)
        .doc("Pods of this priority and of higher ones stay, as long as system-critical "
             "ones do."),
    ROW(node_fit).doc("Only pods that find room on another node go."),
    ROW(min_replicas).min(0).doc("Pods whose owner has fewer pods stay, from 2 on."),
    ROW(min_pod_age).doc("Pods that started less long ago stay."),
    ROW(no_eviction_policy)
        .doc("Mandatory: pods with the annotation descheduler.alpha.kubernetes.io/prefer-no-eviction stay. "
             "Preferred, which empty means too: others go before them."),
    ROW(pod_protections).doc("Which kinds of pods stay."),
    ROW(evict_local_storage_pods).doc("Deprecated: podProtections.defaultDisabled PodsWithLocalStorage."),
    ROW(evict_daemon_set_pods).doc("Deprecated: podProtections.defaultDisabled DaemonSetPods."),
    ROW(evict_system_critical_pods).doc("Deprecated: podProtections.defaultDisabled SystemCriticalPods."),
    ROW(ignore_pvc_pods).doc("Deprecated: podProtections.extraEnabled PodsWithPVC."),
    ROW(ignore_pods_without_pdb)
        .wire("ignorePodsWithoutPDB")
        .doc("Deprecated: podProtections.extraEnabled PodsWithoutPDB."),
    ROW(evict_failed_bare_pods).doc("Deprecated: podProtections.defaultDisabled FailedBarePods."));

void DefaultEvictorArgs::validate(const std::string& path, api::FieldErrors& errors) const {
  const auto say = [&](std::string_view words) { errors.add(found_at(path, words)); };
  if (priority_threshold) {
    if (priority_threshold->value && !priority_threshold->name.empty())
      say("priority threshold misconfigured, only one of priorityThreshold fields can be set");
    if (priority_threshold->value && *priority_threshold->value > kSystemCriticalPriority)
      say(fmt::format("priority threshold can't be greater than {}", kSystemCriticalPriority));
  }
  if (!no_eviction_policy.empty() && no_eviction_policy != "Preferred" && no_eviction_policy != "Mandatory")
    say(R"(noEvictionPolicy accepts only ["Preferred" "Mandatory"] values)");
  const auto& [extra, disabled, config] = pod_protections;
  const bool deprecated = evict_local_storage_pods || evict_daemon_set_pods || evict_system_critical_pods ||
                          ignore_pvc_pods || ignore_pods_without_pdb || evict_failed_bare_pods;
  if (deprecated && (!extra.empty() || !disabled.empty()))
    say("cannot use Deprecated fields alongside PodProtections.ExtraEnabled or "
        "PodProtections.DefaultDisabled");
  check_names(extra, kExtra, "ExtraEnabled", path, errors);
  check_names(disabled, kDefaults, "DefaultDisabled", path, errors);
  check_twice(disabled, "DefaultDisabled", path, errors);
  check_twice(extra, "ExtraEnabled", path, errors);
  if (config && config->pods_with_pvc) {
    const auto& classes = config->pods_with_pvc->protected_storage_classes;
    for (std::size_t i = 0; i < classes.size(); ++i)
      if (classes[i].name.empty())
        say(fmt::format("PodProtections.Config.PodsWithPVC.ProtectedStorageClasses[{}] name cannot be empty",
                        i));
  }
  check_selector(label_selector, "could not get selector from label selector", path, errors);
  check_selector(namespace_label_selector, "unable to convert namespaceLabelSelector to label selector", path,
                 errors);
  if (const auto read = api::Selector::parse(node_selector); !read)
    say(fmt::format("nodeSelector: {}", read.error().message()));
}

Protections DefaultEvictorArgs::protections() const {
  Protections protections;
  const auto& [extra, disabled, config] = pod_protections;
  if (!extra.empty() || !disabled.empty()) {
    set(protections, kDefaults, disabled, false);
    set(protections, kExtra, extra, true);
    return protections;
  }
  return {.local_storage = !evict_local_storage_pods,
          .daemon_sets = !evict_daemon_set_pods,
          .system_critical = !evict_system_critical_pods,
          .failed_bare_pods = !evict_failed_bare_pods,
          .pvc = ignore_pvc_pods,
          .without_budget = ignore_pods_without_pdb};
}

EvictableRules DefaultEvictorArgs::rules() const {
  const Protections kept = protections();
  EvictableRules rules{.failed_bare_pods = !kept.failed_bare_pods,
                       .local_storage = !kept.local_storage,
                       .daemon_sets = !kept.daemon_sets,
                       .system_critical = !kept.system_critical,
                       .priority_threshold = {},
                       .ignore_pvc_pods = kept.pvc && protected_storage_classes().empty(),
                       .label_selector = {}};
  if (priority_threshold) rules.priority_threshold = priority_threshold->value;
  if (label_selector) {
    auto selector = api::Selector::from(label_selector.get());
    // One that cannot be read is refused before; should it get here, nothing may go.
    rules.label_selector = selector ? *std::move(selector) : api::Selector::nothing();
  }
  return rules;
}

std::string DefaultEvictorArgs::priority_class() const {
  return priority_threshold && !priority_threshold->value && protections().system_critical
             ? priority_threshold->name
             : std::string();
}

std::vector<std::string> DefaultEvictorArgs::protected_storage_classes() const {
  std::vector<std::string> names;
  if (pod_protections.config && pod_protections.config->pods_with_pvc)
    for (const auto& each : pod_protections.config->pods_with_pvc->protected_storage_classes)
      names.push_back(each.name);
  return names;
}

}  // namespace koord::descheduler::default_evictor
