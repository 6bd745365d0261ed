// DefaultEvictorArgs: which pods DefaultEvictor lets go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evictions/evictable.hpp"
#include "koord/api/rules/field_errors.hpp"
#include "koord/api/types/meta_v1/meta.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler::default_evictor {

struct ProtectedStorageClass {
  std::string name;
  KOORD_STRUCT(ProtectedStorageClass);
};
struct PodsWithPvcConfig {
  std::vector<ProtectedStorageClass> protected_storage_classes;  // none: all
  KOORD_STRUCT(PodsWithPvcConfig);
};
struct PodProtectionsConfig {
  api::Box<PodsWithPvcConfig> pods_with_pvc;
  KOORD_STRUCT(PodProtectionsConfig);
};
struct PodProtections {
  std::vector<std::string> extra_enabled, default_disabled;
  api::Box<PodProtectionsConfig> config;
  KOORD_STRUCT(PodProtections);
};

/// What keeps pods where they are.
struct Protections {
  bool local_storage = true, daemon_sets = true, system_critical = true, failed_bare_pods = true;
  bool pvc = false, without_budget = false, resource_claims = false;
  friend bool operator==(const Protections&, const Protections&) = default;
};

struct DefaultEvictorArgs {
  std::string node_selector;  // "a=b,c!=d"
  api::Box<api::LabelSelector> label_selector, namespace_label_selector;
  api::Box<PriorityThreshold> priority_threshold;
  bool node_fit = false;
  std::int64_t min_replicas = 0;
  std::optional<api::Duration> min_pod_age;
  std::string no_eviction_policy;
  PodProtections pod_protections;
  // What pod_protections says since they were deprecated.
  bool evict_local_storage_pods = false, evict_daemon_set_pods = false, evict_system_critical_pods = false;
  bool ignore_pvc_pods = false, ignore_pods_without_pdb = false, evict_failed_bare_pods = false;

  /// In sigs' words.
  void validate(const std::string& path, api::FieldErrors& errors) const;
  KOORD_STRUCT(DefaultEvictorArgs);

  // What follows from the fields; they have been validated.
  Protections protections() const;
  EvictableRules rules() const;
  /// The PriorityClass whose value is the threshold; empty: none is needed.
  std::string priority_class() const;
  /// A pod with a claim of one of these stays; empty: one with any.
  std::vector<std::string> protected_storage_classes() const;
  bool heeds_no_eviction() const { return no_eviction_policy == "Mandatory"; }
};

}  // namespace koord::descheduler::default_evictor
