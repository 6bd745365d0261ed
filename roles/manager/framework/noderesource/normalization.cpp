// Normalization and amplification: see normalization.hpp.
#include "framework/noderesource/normalization.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "koord/base/text.hpp"
#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

constexpr double kLeast = 1, kMost = 5;

/// The field of a model's ratios that these features select.
const std::optional<double>& ratio_of(const ModelRatio& model, bool hyper_threads, bool turbo) {
  if (hyper_threads) return turbo ? model.hyper_thread_turbo_enabled_ratio : model.hyper_thread_enabled_ratio;
  return turbo ? model.turbo_enabled_ratio : model.base_ratio;
}

}  // namespace

Result<std::string> normalization_ratio(const CpuNormalizationStrategy& strategy, const api::Node& node,
                                        const api::NodeResourceTopology* topology) {
  bool enabled = strategy.enable.value_or(false);
  if (const Symbol* label = node.metadata.labels.find(kNormalizationEnabled)) {
    const auto wanted = parse_bool(label->view());
    if (!wanted)
      return Error(Code::invalid,
                   fmt::format("label {}: \"{}\" is not true or false", kNormalizationEnabled, *label));
    enabled = *wanted;
  }
  if (!enabled) return "1.00";
  if (topology == nullptr) return Error(Code::not_found, "there is no NodeResourceTopology");
  const Symbol* const text = topology->metadata.annotations.find(kCpuBasicInfo);
  if (text == nullptr)
    return Error(Code::not_found, fmt::format("NodeResourceTopology has no annotation {}", kCpuBasicInfo));
  const auto info = json::parse(text->view());
  if (!info || !info->is_object())
    return Error(Code::parse, fmt::format("annotation {} is no object", kCpuBasicInfo));
  const std::string_view name = json::text_at(*info, "cpuModel");
  const ModelRatio* const model = strategy.ratio_model.find(name);
  std::optional<double> ratio;
  if (model != nullptr)
    ratio =
        ratio_of(*model, json::true_at(*info, "hyperThreadEnabled"), json::true_at(*info, "turboEnabled"));
  if (!ratio) ratio = strategy.default_ratio;
  if (!ratio) return Error(Code::not_found, fmt::format("the configuration has no ratio for CPU {}", name));
  if (!(*ratio >= kLeast && *ratio <= kMost))
    return Error(Code::invalid,
                 fmt::format("the ratio {} of CPU {} is not from {} to {}", *ratio, name, kLeast, kMost));
  return fmt::format("{:.2f}", *ratio);
}

Result<std::optional<double>> read_ratio(std::string_view annotation) {
  if (annotation.empty()) return std::optional<double>();
  double ratio = 0;
  const auto [end, error] = std::from_chars(annotation.begin(), annotation.end(), ratio);
  if (error != std::errc() || end != annotation.end() || !(ratio > 0) || !std::isfinite(ratio))
    return Error(Code::parse,
                 fmt::format("annotation {}: \"{}\" is no ratio", kNormalizationRatio, annotation));
  return std::optional(ratio);
}

bool differs(std::string_view written, std::string_view ratio) {
  const auto old = read_ratio(written), now = read_ratio(ratio);
  if (!old) return true;
  if (!now) return false;
  if (!*old || !*now) return old->has_value() != now->has_value();
  constexpr double kClose = 0.01;
  return **old > **now + kClose || **old < **now - kClose;
}

Result<std::string> amplification_ratios(const ResourceAmplificationStrategy& strategy,
                                         std::optional<double> normalization) {
  api::FlatMap<double> ratios;
  if (strategy.enable.value_or(false)) ratios = strategy.resource_amplification_ratio;
  const double* const wanted = ratios.find("cpu");
  const double cpu = (wanted && *wanted > 0 ? *wanted : 1) * normalization.value_or(1);
  if (cpu > 1) ratios["cpu"] = cpu;
  if (ratios.empty()) return std::string();
  std::string out = "{";
  for (const auto& [resource, ratio] : ratios) {
    if (!(ratio >= 1))
      return Error(Code::invalid, fmt::format("the ratio {} of {} is below 1", ratio, resource));
    if (out.size() > 1) out.push_back(',');
    json::append_string(out, resource.view());
    fmt::format_to(std::back_inserter(out), ":{:.2f}", ratio);
  }
  out.push_back('}');
  return out;
}

}  // namespace koord::manager
