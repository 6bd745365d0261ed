// What the keys of the ConfigMap slo-controller-config hold, beyond the strategies that are part of NodeSLO
// (apis/configuration upstream).
#pragma once

#include "koord/api/koordinator/colocation.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"

namespace koord::manager {

using api::ColocationStrategy;

/// What a cluster's strategy must be like to be taken; the first thing that is wrong, or nothing. A field
/// that is absent is right.
std::optional<std::string> invalid(const ColocationStrategy& strategy);

/// host-application-config.
struct HostApplications {
  std::vector<api::HostApplicationSpec> applications;
  KOORD_STRUCT(HostApplications);
};

/// node-slo-extensions-config, koord's own key: reaches NodeSLO's spec.extensions as it is.
struct NodeSloExtensions {
  api::RawJson extensions;
  KOORD_STRUCT(NodeSloExtensions);
};

/// How much faster than the base a CPU model is, without and with hyper-threading and turbo.
struct ModelRatio {
  std::optional<double> base_ratio;
  std::optional<double> hyper_thread_enabled_ratio;
  std::optional<double> turbo_enabled_ratio;
  std::optional<double> hyper_thread_turbo_enabled_ratio;
  KOORD_STRUCT(ModelRatio);
};

/// cpu-normalization-config.
struct CpuNormalizationStrategy {
  std::optional<bool> enable;
  std::optional<double> default_ratio;
  api::FlatMap<ModelRatio> ratio_model;
  KOORD_STRUCT(CpuNormalizationStrategy);
};

/// resource-amplification-config.
struct ResourceAmplificationStrategy {
  std::optional<bool> enable;
  api::FlatMap<double> resource_amplification_ratio;
  KOORD_STRUCT(ResourceAmplificationStrategy);
};

}  // namespace koord::manager
