// NodeMetric's and NodeSLO's specs: see specs.hpp.
#include "controllers/specs.hpp"

#include <fmt/format.h>

#include "koord/api/koordinator/node.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

api::NodeMetricCollectPolicy collect_policy(const ColocationStrategy& strategy) {
  api::NodeMetricCollectPolicy policy;
  policy.aggregate_duration_seconds = strategy.metric_aggregate_duration_seconds;
  policy.report_interval_seconds = strategy.metric_report_interval_seconds;
  policy.node_aggregate_policy = strategy.metric_aggregate_policy;
  policy.node_memory_collect_policy = Symbol(strategy.metric_memory_collect_policy.value_or(""));
  return policy;
}

/// On the wire extensions stand within "Object": Go does not inline the map that upstream means to inline.
api::RawJson wrapped(const api::RawJson& extensions) {
  return {fmt::format(R"({{"Object":{}}})", extensions.empty() ? "{}" : extensions.text)};
}

}  // namespace

api::NodeMetricSpec node_metric_spec(const SloConfig& config, const api::Node& node,
                                     const api::NodeMetricSpec* before, SpecParts& parts) {
  if (before != nullptr && config.colocation_in_error()) return *before;
  const ColocationStrategy strategy = colocation_of(config.colocation(), node);
  const bool usable = !invalid(strategy) && strategy.enable.value_or(false);
  parts.push_back({"getNodeMetricCollectPolicy", usable});
  api::NodeMetricSpec spec;
  if (usable) {
    spec.metric_collect_policy = collect_policy(strategy);
  } else {
    static const ColocationStrategy kDefaults = SloConfig().colocation().cluster;
    spec.metric_collect_policy = collect_policy(kDefaults);
  }
  return spec;
}

api::NodeSloSpec node_slo_spec(const SloConfig& config, const api::Node& node, const api::NodeSloSpec* before,
                               SpecParts& parts) {
  const api::SymbolMap& labels = node.metadata.labels;
  api::NodeSloSpec spec;
  spec.resource_used_threshold_with_be = config.threshold().of(labels);
  parts.push_back({"getResourceThresholdSpec"});
  spec.resource_qos_strategy = config.qos().of(labels);
  parts.push_back({"getResourceQOSSpec"});
  spec.cpu_burst_strategy = config.burst().of(labels);
  parts.push_back({"getCPUBurstConfigSpec"});
  spec.system_strategy = config.system().of(labels);
  bool system = true;
  if (const Symbol* text = node.metadata.annotations.find(api::kNetworkBandwidth)) {
    if (const auto bandwidth = api::Quantity::parse(text->view()))
      spec.system_strategy->total_network_bandwidth = *bandwidth;
    else
      system = false;
  }
  if (!system) spec.system_strategy.reset();
  parts.push_back({"getSystemConfigSpec", system});
  spec.host_applications = config.host_applications().of(labels).applications;
  parts.push_back({"getHostApplicationConfig"});
  const api::RawJson& extensions = config.extensions().of(labels).extensions;
  const bool kept = extensions.empty() && before != nullptr && !before->extensions.empty();
  spec.extensions = kept ? before->extensions : wrapped(extensions);
  // As an API server completes it: else what is stored would differ from what is wanted for ever.
  (void)api::apply_defaults(&spec, api::schema<api::NodeSloSpec>());
  return spec;
}

}  // namespace koord::manager
