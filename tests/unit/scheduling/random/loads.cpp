// Random reports of what nodes use: see loads.hpp.
#include "random/loads.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace koord::scheduling::test {

namespace {

constexpr const char* kTypes[] = {"avg", "p50", "p95"};
constexpr std::chrono::minutes kPeriods[] = {std::chrono::minutes(0), std::chrono::minutes(5),
                                             std::chrono::minutes(30)};
constexpr std::string_view kDomain = "scheduling.koordinator.sh/";

}  // namespace

/// Some of the names, as they are written in JSON.
std::string RandomLoads::numbers(reference::LoadArgs::Numbers& into, std::initializer_list<const char*> names,
                                 int most) {
  into.clear();
  std::vector<std::string> members;
  for (const char* name : names) {
    if (chance(30)) continue;
    into[name] = 1 + below(most);
    members.push_back(fmt::format(R"("{}":{})", name, into[name]));
  }
  return fmt::format("{{{}}}", fmt::join(members, ","));
}

RandomProfile RandomLoads::with_loads(RandomProfile profile) {
  if (!on_) return profile;
  reference::LoadArgs& o = profile.oracle.load;
  std::vector<std::string> args;
  const auto say = [&](std::string_view field, const auto& value) {
    args.push_back(fmt::format(R"("{}":{})", field, value));
  };
  const auto coin = [&](std::string_view field, bool& value) {
    value = chance(50);
    say(field, value);
  };
  coin("filterExpiredNodeMetrics", o.filter_expired);
  coin("enableScheduleWhenNodeMetricsExpired", o.schedule_when_expired);
  coin("prodUsageIncludeSys", o.prod_includes_system);
  coin("scoreAccordingProdUsage", o.score_by_prod);
  coin("allowCustomizeEstimation", o.customizable);
  o.expiration = std::chrono::seconds(60 + below(1500));
  say("nodeMetricExpirationSeconds", o.expiration.count());
  const auto some = [&](std::string_view field, reference::LoadArgs::Numbers& into, int most) {
    reference::LoadArgs::Numbers made;
    const std::string text = numbers(made, {"cpu", "memory"}, most);
    if (made.empty()) return false;
    into = std::move(made);
    say(field, text);
    return true;
  };
  some("usageThresholds", o.thresholds, 100);
  if (chance(50)) some("prodUsageThresholds", o.prod_thresholds, 100);
  const bool weighted = some("resourceWeights", o.weights, 5);
  if (chance(30)) {
    say("dominantResourceWeight", o.dominant_weight = 1 + below(10));
    if (!weighted) o.weights.clear();
  }
  if (chance(50)) {
    reference::LoadArgs::Numbers made;
    say("estimatedScalingFactors", numbers(made, {"cpu", "memory", "ephemeral-storage"}, 100));
    for (const auto& [name, factor] : made) o.factors[name] = factor;
  }
  if (chance(30)) say("estimatedSecondsAfterPodScheduled", o.after_scheduled = below(300));
  if (chance(30)) say("estimatedSecondsAfterInitialized", o.after_initialized = below(300));
  if (chance(50)) {
    std::vector<std::string> aggregated;
    const auto aggregation = [&](std::string_view what, std::optional<reference::LoadAggregation>& of) {
      of.emplace();
      of->type = one_of(kTypes);
      of->period = one_of(kPeriods);
      aggregated.push_back(fmt::format(R"("{0}AggregationType":"{1}","{0}AggregatedDuration":"{2}")", what,
                                       of->type, api::Duration(of->period).to_string()));
    };
    if (chance(70)) {
      aggregation("usage", o.aggregated);
      aggregated.push_back(
          fmt::format(R"("usageThresholds":{})", numbers(o.aggregated->thresholds, {"cpu", "memory"}, 100)));
      if (o.aggregated->thresholds.empty()) o.aggregated.reset();
    }
    if (chance(50)) aggregation("score", o.scored);
    say("aggregated", fmt::format("{{{}}}", fmt::join(aggregated, ",")));
  }
  ProfileConfig& made = profile.config;
  for (PluginSet* set : {&made.plugins.ensure().filter, &made.plugins.ensure().score})
    set->enabled.push_back({"LoadAwareScheduling", {}});
  PluginConfig& config = made.plugin_config.emplace_back();
  config.name = "LoadAwareScheduling";
  config.args.text = fmt::format("{{{}}}", fmt::join(args, ","));
  profile.oracle.filters.emplace_back("LoadAwareScheduling");
  profile.oracle.scores.push_back({"LoadAwareScheduling", 1});
  return profile;
}

std::shared_ptr<const api::Node> RandomLoads::dress(std::shared_ptr<const api::Node> node) {
  if (!on_ || !chance(40)) return node;
  auto made = std::make_shared<api::Node>(*node);
  reference::LoadArgs::Numbers unused;
  const std::string some = numbers(unused, {"cpu", "memory", "example.com/unknown"}, 100);
  std::string text;
  switch (below(4)) {
    case 0: text = fmt::format(R"({{"usageThresholds":{}}})", some); break;
    case 1: text = fmt::format(R"({{"prodUsageThresholds":{}}})", some); break;
    case 2:
      text = fmt::format(
          R"({{"aggregatedUsage":{{"usageThresholds":{},"usageAggregationType":"{}","usageAggregatedDuration":"{}"}}}})",
          some, one_of(kTypes), api::Duration(one_of(kPeriods)).to_string());
      break;
    default:
      made->metadata.annotations["node.koordinator.sh/raw-allocatable"] = R"({"cpu":1,"memory":"3Gi"})";
  }
  if (!text.empty()) made->metadata.annotations[fmt::format("{}usage-thresholds", kDomain)] = Symbol(text);
  return made;
}

std::shared_ptr<const api::Pod> RandomLoads::dress(std::shared_ptr<const api::Pod> pod) {
  if (!on_ || !chance(40)) return pod;
  auto made = std::make_shared<api::Pod>(*pod);
  api::ResourceRequirements& r = made->spec.containers[0].resources;
  switch (below(6)) {
    case 0: made->metadata.owner_references.emplace_back().kind = "DaemonSet"; break;
    case 1:
      made->metadata.labels["koordinator.sh/priority-class"] =
          one_of({"koord-prod", "koord-mid", "koord-batch", "koord-free"});
      break;
    case 2: made->metadata.labels["koordinator.sh/qosClass"] = one_of({"LS", "BE"}); break;
    case 3:
      made->metadata.annotations[fmt::format("{}load-estimated-scaling-factors", kDomain)] = R"({"cpu":40})";
      break;
    case 4:
      made->metadata.annotations[fmt::format("{}load-estimated-seconds-after-pod-scheduled", kDomain)] =
          Symbol(fmt::format("{}", below(200)));
      break;
    default:
      if (const api::Quantity* cpu = r.requests.find("cpu")) r.limits["cpu"] = *cpu * 2;
  }
  return made;
}

void RandomLoads::settle(api::Pod& pod, WallTime now) {
  if (!on_) return;
  const auto add = [&](const char* type) {
    api::PodCondition& c = pod.status.conditions.emplace_back();
    c.type = type;
    c.status = "True";
    c.last_transition_time = api::Time(now - std::chrono::seconds(below(200)));
  };
  add("PodScheduled");
  if (chance(30)) add("Initialized");
}

api::ResourceMap RandomLoads::usage(int most) {
  api::ResourceMap map;
  if (chance(10)) return map;
  map.resources["cpu"] = api::Quantity::from_milli(below(most));
  map.resources["memory"] = api::Quantity::from_int(std::int64_t{below(most)} << 20);
  return map;
}

std::shared_ptr<const api::NodeMetric> RandomLoads::report(const std::string& node,
                                                           const reference::Cluster& cluster) {
  auto metric = std::make_shared<api::NodeMetric>();
  metric->metadata.name = node;
  if (chance(50)) metric->spec.metric_collect_policy.ensure().report_interval_seconds = 10 + below(100);
  api::NodeMetricStatus& status = metric->status;
  if (chance(90)) status.update_time = api::Time(cluster.now - std::chrono::seconds(below(90)));
  if (chance(90)) {
    api::NodeMetricInfo& info = status.node_metric.ensure();
    info.node_usage = usage(6000);
    info.system_usage = usage(1000);
    for (const auto period : kPeriods)
      if (chance(50) && period != std::chrono::minutes(0)) {
        api::AggregatedUsage& aggregated = info.aggregated_node_usages.emplace_back();
        aggregated.duration = api::Duration(period);
        for (const char* type : kTypes) aggregated.usage[type] = usage(6000);
      }
  }
  for (const auto& [key, pod] : cluster.pods) {
    if (pod->spec.node_name != node || chance(30)) continue;
    api::PodMetricInfo& info = status.pods_metric.emplace_back();
    info.namespace_ = pod->metadata.namespace_;
    info.name = pod->metadata.name;
    if (chance(60)) info.priority = "koord-prod";
    info.pod_usage = usage(1500);
  }
  return metric;
}

}  // namespace koord::scheduling::test
