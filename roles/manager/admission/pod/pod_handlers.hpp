// Pods under admission: what is made of them, and which of them are refused.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "admission/pod/enhanced_validator.hpp"
#include "admission/profile/profile.hpp"
#include "admission/quota/quota_evaluator.hpp"
#include "admission/quota/quota_handlers.hpp"
#include "framework/webhook/admission.hpp"
#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/quota_v1alpha1/elastic_quota_profile.hpp"
#include "koord/base/log.hpp"

namespace koord::manager {

/// /mutate-pod: profiles and what follows from them. Pods that are made, no others.
class PodMutating final : public MutatingHandler {
 public:
  struct Options {
    bool keep_resources = false;              // gate ColocationProfileSkipMutatingResources
    bool without_extended_resources = false;  // gate DisableExtendedResourceSpec
    bool without_device_resources = false;    // gate DisableDeviceResourceSpec
  };
  struct Parts {
    Logger log;
    std::function<ProfileSet::Sources()> profiles;
    std::function<std::shared_ptr<const api::Namespace>(std::string_view name)> namespaces;
    PriorityClasses classes;
    Dice dice;
    /// The gate MultiQuotaTree; null: it is off.
    std::shared_ptr<QuotaCatalog> quotas = {};
    /// Those with a tree's id, by namespace and name; called if there are quotas.
    std::function<std::vector<std::shared_ptr<const api::ElasticQuotaProfile>>(std::string_view tree)> trees =
        {};
    Options options = {};
  };
  explicit PodMutating(Parts parts) : parts_(std::move(parts)) {}

  Verdict handle(const AdmissionRequest& request, json::Document& object, const PluginTimes& times) override;

 private:
  Verdict apply(const AdmissionRequest& request, json::Document& object);

  Parts parts_;
  ProfileSet profiles_;
  ProfileFailures failures_;
};

/// A rule of /validate-pod, and what it says of a pod.
struct BrokenRule {
  std::string_view plugin;  // "ClusterColocationProfile"; static
  std::string message;
};

/// /validate-pod: what pods may say when they are made, and what they may change, by a resize too.
class PodValidating final : public ValidatingHandler {
 public:
  struct Options {
    bool priority_may_change = false;  // gate ColocationProfileSkipValidatingPriority
    bool devices = false;              // gate ValidatePodDeviceResource
    bool enhanced = false;             // gate EnablePodEnhancedValidator
    bool evaluate_update = false;      // gate EnableQuotaAdmissionOnUpdate
    bool replace_resources = false;    // gate ElasticQuotaEvaluationTransformPod
  };
  struct Parts {
    Logger log;
    /// The enhanced validator's ConfigMap, nullptr if there is none; not called unless that is on.
    std::function<std::shared_ptr<const api::ConfigMap>()> config;
    QuotaParts quotas = {};                          // null: no pod is asked about them
    std::shared_ptr<QuotaEvaluator> evaluator = {};  // gate EnableQuotaAdmission; null: it is off
    Options options = {};
  };
  explicit PodValidating(Parts parts) : parts_(std::move(parts)) {}

  Verdict handle(const AdmissionRequest& request, const PluginTimes& times) override;
  /// The first rule for new pods that a pod which is there breaks.
  std::optional<BrokenRule> broken_rule(const json::Value& pod);

 private:
  using Step = std::function<Verdict()>;
  /// All rules in their order until one refuses; `run` decides one of them.
  Verdict check(const AdmissionRequest& request,
                const std::function<Verdict(std::string_view plugin, const Step&)>& run);
  Verdict check_quota(const AdmissionRequest& request);
  /// Whether there is something to evaluate, and, with `later`, what that takes.
  Verdict evaluate(const AdmissionRequest& request);
  Verdict check_enhanced(const AdmissionRequest& request);

  Parts parts_;
  EnhancedValidator enhanced_;
  std::shared_ptr<const api::ConfigMap> config_;  // as it was read last
};

}  // namespace koord::manager
