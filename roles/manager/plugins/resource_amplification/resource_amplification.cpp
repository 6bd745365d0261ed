// Resource amplification: see resource_amplification.hpp.
#include "plugins/resource_amplification/resource_amplification.hpp"

#include <fmt/format.h>

#include "framework/noderesource/node_update.hpp"
#include "koord/api/koordinator/node.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kAnnotations[] = {api::AmplificationRatios::kAnnotation};

Result<PluginStage> plan_amplification(NodeDraft& draft) {
  api::Node& node = draft.plan.after;
  if (!draft.enabled) {
    set_annotation(node, api::AmplificationRatios::kAnnotation, {});
    return PluginStage::reset;
  }
  const auto cpus = api::cpu_normalization_ratio(node.metadata.annotations);
  auto ratios = amplification_ratios(draft.config.amplification().of(draft.facts.node.metadata.labels),
                                     cpus ? *cpus : std::nullopt);
  // Upstream drops the annotation then, and with it resources that pods have already.
  if (!ratios) return ratios.error();
  set_annotation(node, api::AmplificationRatios::kAnnotation, *ratios);
  return PluginStage::calculate;
}

}  // namespace

Result<std::string> amplification_ratios(const ResourceAmplificationStrategy& strategy,
                                         std::optional<double> normalization) {
  api::AmplificationRatios said;
  api::FlatMap<double>& ratios = said.ratios;
  if (strategy.enable.value_or(false)) ratios = strategy.resource_amplification_ratio;
  const double* const wanted = ratios.find("cpu");
  const double cpu = (wanted && *wanted > 0 ? *wanted : 1) * normalization.value_or(1);
  if (cpu > 1) ratios["cpu"] = cpu;
  if (ratios.empty()) return std::string();
  for (const auto& [resource, ratio] : ratios)
    if (!(ratio >= 1))
      return Error(Code::invalid, fmt::format("the ratio {} of {} is below 1", ratio, resource));
  return api::encode_annotation(said);
}

extern const ResourcePlugin kResourceAmplification{
    .name = "ResourceAmplification",
    .annotations = kAnnotations,
    .make = [](const FeatureGates&) -> ResourcePluginRun { return &plan_amplification; },
};

}  // namespace koord::manager
