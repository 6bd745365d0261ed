// The ConfigMap slo-controller-config: see slo_config.hpp.
#include "framework/config/slo_config.hpp"

#include <fmt/format.h>

#include "framework/config/go_json.hpp"
#include "koord/api/koordinator/colocation.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kInline = "nodeConfigs", kStrategies = "nodeStrategies";

constexpr KeyLayout kColocation{
    .key = "colocation-config",
    .groups = kInline,
    .inlined = true,
    .defaults =
        R"({"enable":false,"metricAggregateDurationSeconds":300,"metricReportIntervalSeconds":60,)"
        R"("metricAggregatePolicy":{"durations":["5m0s","10m0s","30m0s"]},)"
        R"("metricMemoryCollectPolicy":"usageWithoutPageCache","cpuReclaimThresholdPercent":60,)"
        R"("cpuCalculatePolicy":"usage","memoryReclaimThresholdPercent":65,"memoryCalculatePolicy":"usage",)"
        R"("degradeTimeMinutes":15,"updateTimeThresholdSeconds":300,"resourceDiffThreshold":0.1,)"
        R"("midCPUThresholdPercent":100,"midMemoryThresholdPercent":100,"midUnallocatedPercent":0,)"
        R"("midStaticCPUReservedPercent":0,"midStaticMemoryReservedPercent":0})"};
constexpr KeyLayout kThreshold{
    .key = "resource-threshold-config",
    .groups = kStrategies,
    .defaults = R"({"enable":false,"cpuSuppressThresholdPercent":65,"cpuSuppressPolicy":"cpuset",)"
                R"("memoryEvictThresholdPercent":70,"cpuEvictPolicy":"evictByRealLimit"})"};
constexpr KeyLayout kQos{.key = "resource-qos-config", .groups = kStrategies, .defaults = "{}"};
constexpr KeyLayout kBurst{.key = "cpu-burst-config",
                           .groups = kStrategies,
                           .defaults =
                               R"({"policy":"none","cpuBurstPercent":1000,"cfsQuotaBurstPercent":300,)"
                               R"("cfsQuotaBurstPeriodSeconds":-1,"sharePoolThresholdPercent":50})"};
constexpr KeyLayout kSystem{
    .key = "system-config", .groups = kStrategies, .defaults = R"({"totalNetworkBandwidth":"0"})"};
constexpr KeyLayout kHostApplications{
    .key = "host-application-config", .groups = kInline, .inlined = true, .replaced = true, .defaults = "{}"};
constexpr KeyLayout kExtensions{.key = "node-slo-extensions-config", .groups = kStrategies, .defaults = "{}"};
constexpr KeyLayout kNormalization{
    .key = "cpu-normalization-config", .groups = kInline, .inlined = true, .defaults = R"({"enable":false})"};
constexpr KeyLayout kAmplification{.key = "resource-amplification-config",
                                   .groups = kInline,
                                   .inlined = true,
                                   .defaults = R"({"enable":false})"};
constexpr std::array kKeys = {kColocation,       kThreshold,  kQos,           kBurst,        kSystem,
                              kHostApplications, kExtensions, kNormalization, kAmplification};

constexpr std::string_view kColocationReason = "ColocationCfgUnmarshalFailed",
                           kSloReason = "SLOCfgUnmarshalFailed",
                           kNormalizationReason = "CPUNormalizationCfgUnmarshalFailed",
                           kAmplificationReason = "ResourceAmplificationCfgUnmarshalFailed",
                           kInvalidReason = "ColocationCfgInvalid", kSelectorReason = "NodeSelectorInvalid";

void report_left(const KeyLayout& layout, const std::vector<std::string>& left, SloConfig::Update& update) {
  for (const std::string& line : left)
    update.problems.push_back({kSelectorReason, fmt::format("{}: {}: left out", layout.key, line)});
}

void keep_text(api::StringMap& good, const KeyLayout& layout, const std::string* text) {
  if (text != nullptr)
    good[layout.key] = *text;
  else
    good.erase(layout.key);
}

/// `what` is upstream's name of the key in its events.
template <class T>
void set_key(Layered<T>& value, const api::ConfigMap& map, const KeyLayout& layout, std::string_view reason,
             std::string_view what, api::StringMap& good, SloConfig::Update& update) {
  const std::string* const text = map.data.find(layout.key);
  std::vector<std::string> left;
  Result<Layered<T>> read = text ? Layered<T>::read(*text, layout, left) : Layered<T>::defaults(layout);
  report_left(layout, left, update);
  if (!read) {
    update.problems.push_back(
        {reason, fmt::format("failed to unmarshal {}, err: {}", what, read.error().message()), layout.key});
    return;
  }
  keep_text(good, layout, text);
  update.changed |= !(value == *read);
  value = std::move(*read);
}

}  // namespace

std::span<const KeyLayout> config_keys() { return kKeys; }

SloConfig::SloConfig()
    : colocation_(Layered<ColocationStrategy>::defaults(kColocation)),
      threshold_(Layered<api::ResourceThresholdStrategy>::defaults(kThreshold)),
      qos_(Layered<api::ResourceQosStrategy>::defaults(kQos)),
      burst_(Layered<api::CpuBurstStrategy>::defaults(kBurst)),
      system_(Layered<api::SystemStrategy>::defaults(kSystem)),
      normalization_(Layered<CpuNormalizationStrategy>::defaults(kNormalization)),
      amplification_(Layered<ResourceAmplificationStrategy>::defaults(kAmplification)) {}

SloConfig::Update SloConfig::set(const api::ConfigMap& map) {
  Update update;
  update.changed = !available_;
  set_colocation(map, update);
  set_key(threshold_, map, kThreshold, kSloReason, "ThresholdCfg", good_, update);
  set_key(qos_, map, kQos, kSloReason, "ResourceQOSCfg", good_, update);
  set_key(burst_, map, kBurst, kSloReason, "CPUBurstCfg", good_, update);
  set_key(system_, map, kSystem, kSloReason, "SystemCfg", good_, update);
  set_key(host_applications_, map, kHostApplications, kSloReason, "HostApplicationCfg", good_, update);
  set_key(extensions_, map, kExtensions, kSloReason, "ExtensionCfg", good_, update);
  set_key(normalization_, map, kNormalization, kNormalizationReason, "CPUNormalizationCfg", good_, update);
  set_key(amplification_, map, kAmplification, kAmplificationReason, "ResourceAmplificationCfg", good_,
          update);
  available_ = true;
  return update;
}

void SloConfig::set_colocation(const api::ConfigMap& map, Update& update) {
  const std::string* const text = map.data.find(kColocation.key);
  std::vector<std::string> left;
  Result<Layered<ColocationStrategy>> read = text && !text->empty()
                                                 ? Layered<ColocationStrategy>::read(*text, kColocation, left)
                                                 : Layered<ColocationStrategy>::defaults(kColocation);
  report_left(kColocation, left, update);
  std::optional<ConfigProblem> problem;
  if (!read)
    problem = {kColocationReason,
               fmt::format("failed to unmarshal colocation config, err: {}", read.error().message()),
               kColocation.key};
  else if (const auto wrong = invalid(read->cluster))
    problem = {kInvalidReason, fmt::format("the colocation config is not taken: {}", *wrong),
               kColocation.key};
  const bool was_in_error = colocation_in_error_;
  colocation_in_error_ = problem.has_value();
  if (problem) {
    update.problems.push_back(std::move(*problem));
    return;
  }
  for (auto& group : read->groups) {
    const auto wrong = invalid(group.strategy);
    if (!wrong) continue;
    update.problems.push_back(
        {kInvalidReason,
         fmt::format("nodeConfigs \"{}\" gets the cluster's strategy: {}", group.name, *wrong)});
    group.strategy = read->cluster;
  }
  keep_text(good_, kColocation, text);
  update.changed |= was_in_error || !colocation_available_ || !(colocation_ == *read);
  colocation_ = std::move(*read);
  colocation_available_ = true;
}

void SloConfig::restore(const api::ConfigMap& last_good) {
  set(last_good);
  available_ = colocation_in_error_ = false;
  colocation_available_ = good_.contains(kColocation.key);
}

SloConfig::Update SloConfig::set_absent() {
  Update update;
  if (available_) return update;
  update.changed = true;
  available_ = colocation_available_ = true;
  colocation_in_error_ = true;  // what a manager that had a ConfigMap wrote stays
  return update;
}

ColocationStrategy colocation_of(const Layered<ColocationStrategy>& config, const api::Node& node) {
  ColocationStrategy strategy = config.of(node.metadata.labels);
  // Merged over the node's strategy by Go's rules, as the groups of the ConfigMap are.
  const auto text = api::annotation_text(node.metadata.annotations, ColocationStrategy::kAnnotation);
  if (text && *text) {
    const std::string before = api::encode(strategy);
    const KeyLayout layout{.key = "annotation", .groups = "", .inlined = true, .defaults = before};
    std::vector<std::string> left;
    if (auto read = Layered<ColocationStrategy>::read(**text, layout, left))
      strategy = std::move(read->cluster);
  }
  api::apply_ratio_labels(node.metadata.labels, strategy);
  return strategy;
}

}  // namespace koord::manager
