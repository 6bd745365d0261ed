// Nodes under admission: their statuses, which are amplified, and their labels, by which strategies find
// them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "admission/configmap/config_check.hpp"
#include "framework/webhook/admission.hpp"
#include "koord/base/log.hpp"

namespace koord::manager {

/// /mutate-node-status.
class NodeStatusMutating final : public MutatingHandler {
 public:
  explicit NodeStatusMutating(Logger log) : log_(std::move(log)) {}

  Verdict handle(const AdmissionRequest& request, json::Document& object, const PluginTimes& times) override;

 private:
  Logger log_;
};

/// /validate-node: a node whose labels change is in one group of each of the configuration's keys at most.
class NodeValidating final : public ValidatingHandler {
 public:
  struct Parts {
    Logger log;
    std::function<std::shared_ptr<const api::ConfigMap>()>
        config;  // slo-controller-config; nullptr if there is none
  };
  explicit NodeValidating(Parts parts) : parts_(std::move(parts)) {}

  Verdict handle(const AdmissionRequest& request, const PluginTimes& times) override;

 private:
  std::string conflict(const json::Value& node);

  Parts parts_;
  std::shared_ptr<const api::ConfigMap> config_;  // that keys_ were read from
  std::vector<CheckedKey> keys_;
};

}  // namespace koord::manager
