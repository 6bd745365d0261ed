// The ConfigMap slo-controller-config under admission.
#pragma once

#include <string>

#include "admission/configmap/config_check.hpp"
#include "framework/webhook/admission.hpp"
#include "koord/base/log.hpp"

namespace koord::manager {

/// /validate-configmap. Other ConfigMaps are let through.
class ConfigMapValidating final : public ValidatingHandler {
 public:
  struct Parts {
    Logger log;
    std::string ns, name;      // of the ConfigMap
    bool check_names = false;  // --node-strategy-name-need-check
    VisitNodes nodes;
  };
  explicit ConfigMapValidating(Parts parts) : parts_(std::move(parts)) {}

  Verdict handle(const AdmissionRequest& request, const PluginTimes& times) override;

 private:
  Verdict check(const AdmissionRequest& request);

  Parts parts_;
};

}  // namespace koord::manager
