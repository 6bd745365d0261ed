// CPU normalization: see cpu_normalization.hpp.
#include "plugins/cpu_normalization/cpu_normalization.hpp"

#include <fmt/format.h>

#include "framework/noderesource/node_update.hpp"
#include "koord/api/koordinator/cpus.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/base/text.hpp"

namespace koord::manager {
namespace {

constexpr double kLeast = 1, kMost = 5;

/// The field of a model's ratios that these features select.
const std::optional<double>& ratio_of(const ModelRatio& model, bool hyper_threads, bool turbo) {
  if (hyper_threads) return turbo ? model.hyper_thread_turbo_enabled_ratio : model.hyper_thread_enabled_ratio;
  return turbo ? model.turbo_enabled_ratio : model.base_ratio;
}

constexpr std::string_view kAnnotations[] = {api::kCpuNormalizationRatio};

Result<PluginStage> plan_normalization(NodeDraft& draft) {
  if (!draft.enabled) return PluginStage::reset;
  const NodeFacts& facts = draft.facts;
  const std::string_view written =
      api::value_or(facts.node.metadata.annotations, api::kCpuNormalizationRatio);
  // Until the topologies are known the ratio is what it was.
  if (facts.topology == nullptr && !facts.topologies_known) {
    if (const auto ratio = api::parse_cpu_normalization_ratio(written)) draft.plan.ratio = ratio->value_or(1);
    return PluginStage::none;
  }
  const auto ratio = normalization_ratio(draft.config.normalization().of(facts.node.metadata.labels),
                                         facts.node, facts.topology);
  if (!ratio) return ratio.error();
  draft.plan.ratio = api::parse_cpu_normalization_ratio(*ratio)->value_or(1);
  if (differs(written, *ratio)) set_annotation(draft.plan.after, api::kCpuNormalizationRatio, *ratio);
  return PluginStage::calculate;
}

}  // namespace

Result<std::string> normalization_ratio(const CpuNormalizationStrategy& strategy, const api::Node& node,
                                        const api::NodeResourceTopology* topology) {
  bool enabled = strategy.enable.value_or(false);
  if (const Symbol* label = node.metadata.labels.find(api::kCpuNormalizationEnabled)) {
    const auto wanted = parse_bool(label->view());
    if (!wanted)
      return Error(Code::invalid, fmt::format("label {}: \"{}\" is not true or false",
                                              api::kCpuNormalizationEnabled, *label));
    enabled = *wanted;
  }
  if (!enabled) return "1.00";
  if (topology == nullptr) return Error(Code::not_found, "there is no NodeResourceTopology");
  KOORD_TRY(info, api::read_annotation<api::CpuBasicInfo>(topology->metadata.annotations));
  if (!info)
    return Error(Code::not_found,
                 fmt::format("NodeResourceTopology has no annotation {}", api::CpuBasicInfo::kAnnotation));
  const std::string& name = info->cpu_model;
  const ModelRatio* const model = strategy.ratio_model.find(name);
  std::optional<double> ratio;
  if (model != nullptr) ratio = ratio_of(*model, info->hyper_thread_enabled, info->turbo_enabled);
  if (!ratio) ratio = strategy.default_ratio;
  if (!ratio) return Error(Code::not_found, fmt::format("the configuration has no ratio for CPU {}", name));
  if (!(*ratio >= kLeast && *ratio <= kMost))
    return Error(Code::invalid,
                 fmt::format("the ratio {} of CPU {} is not from {} to {}", *ratio, name, kLeast, kMost));
  return fmt::format("{:.2f}", *ratio);
}

bool differs(std::string_view written, std::string_view ratio) {
  const auto old = api::parse_cpu_normalization_ratio(written),
             now = api::parse_cpu_normalization_ratio(ratio);
  if (!old) return true;
  if (!now) return false;
  if (!*old || !*now) return old->has_value() != now->has_value();
  constexpr double kClose = 0.01;
  return **old > **now + kClose || **old < **now - kClose;
}

extern const ResourcePlugin kCpuNormalization{
    .name = "CPUNormalization",
    .annotations = kAnnotations,
    .make = [](const FeatureGates&) -> ResourcePluginRun { return &plan_normalization; },
};

}  // namespace koord::manager
