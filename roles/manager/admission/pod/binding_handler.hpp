// Bindings of pods under admission.
#pragma once

#include <functional>
#include <memory>

#include "admission/pod/binding.hpp"
#include "framework/webhook/admission.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"

namespace koord::manager {

/// /validate-pod-binding, served with the pods' webhook; what it decides is counted.
class BindingValidating final : public ValidatingHandler {
 public:
  struct Parts {
    Logger log;
    metrics::Registry& registry;
    bool enabled = false;  // gate BindingAdmissionWebhook
    BindingRules rules = {};
    std::function<std::shared_ptr<const api::Pod>(std::string_view ns, std::string_view name)> pods;
  };
  explicit BindingValidating(Parts parts);

  Verdict handle(const AdmissionRequest& request, const PluginTimes& times) override;

  static const metrics::Table kMetrics;

 private:
  Parts parts_;
  metrics::Family<metrics::Counter> decisions_;
};

}  // namespace koord::manager
