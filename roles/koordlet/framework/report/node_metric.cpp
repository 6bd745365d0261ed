// NodeMetric's status: see node_metric.hpp.
#include "framework/report/node_metric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "framework/devices/device_reading.hpp"
#include "framework/tick/gpu_use.hpp"
#include "framework/tick/huge_use.hpp"
#include "framework/tick/interference.hpp"
#include "koord/api/koordinator/devices.hpp"
#include "koord/json/writer.hpp"

namespace koord::koordlet {

namespace {

constexpr std::int64_t kMinInterval = 30, kMinAggregate = 60;
/// An aggregate counts once its samples span this share of its window.
constexpr double kWarm = 0.5;
constexpr int kMaxNumaNodes = 1024;

/// The series that a kind of entity's usage is in.
struct Source {
  Metric cpu, memory, memory_with_page_cache, memory_with_hot_pages;
};
constexpr Source kNode = {Metric::node_cpu, Metric::node_memory, Metric::node_memory_with_page_cache,
                          Metric::node_memory_with_hot_pages};
constexpr Source kSystem = {Metric::system_cpu, Metric::system_memory, Metric::system_memory,
                            Metric::system_memory};
constexpr Source kPod = {Metric::pod_cpu, Metric::pod_memory, Metric::pod_memory_with_page_cache,
                         Metric::pod_memory_with_hot_pages};
constexpr Source kApplication = {Metric::host_application_cpu, Metric::host_application_memory,
                                 Metric::host_application_memory_with_page_cache,
                                 Metric::host_application_memory_with_hot_pages};
constexpr Source kNumaNode = {Metric::node_numa_cpu, Metric::node_numa_memory, Metric::node_numa_memory,
                              Metric::node_numa_memory};
constexpr Source kNumaSystem = {Metric::system_numa_cpu, Metric::system_numa_memory,
                                Metric::system_numa_memory, Metric::system_numa_memory};

using Pick = double Aggregate::*;

api::ResourceMap resource_map(std::int64_t milli_cpu, std::int64_t memory) {
  api::ResourceMap usage;
  usage.resources["cpu"] = api::Quantity::from_milli(milli_cpu);
  usage.resources["memory"] = api::Quantity::from_int(memory, api::Quantity::Format::binary_si);
  return usage;
}

api::ResourceMap usage_of(const Aggregate& cpu, const Aggregate& memory, Pick pick) {
  // Truncated, as the original does.
  return resource_map(static_cast<std::int64_t>(cpu.*pick * 1000), static_cast<std::int64_t>(memory.*pick));
}

/// Beside what is known of CPU and memory: by itself it would be taken for all that is used.
void add_huge_pages(api::ResourceMap& usage, const HugePages& used) {
  if (usage.resources.empty()) return;
  const auto add = [&usage](std::string_view name, std::uint64_t bytes) {
    usage.resources[name] =
        api::Quantity::from_int(static_cast<std::int64_t>(bytes), api::Quantity::Format::binary_si);
  };
  add("hugepages-1Gi", used.one_gib);
  add("hugepages-2Mi", used.two_mib);
}

bool is_warm(const Aggregate& aggregate, nanoseconds window) {
  return static_cast<double>(aggregate.span.count()) >= kWarm * static_cast<double>(window.count());
}

/// As upstream's Go writes and reads extensions: below a member Object.
std::string extensions(const InterferenceParts& lost) {
  std::string text;
  json::Writer json(text);
  json.begin_object().key("Object").begin_object().key("interference").begin_object();
  const auto part = [&json](std::string_view name, double value) {
    if (known(value)) json.member(name, std::round(value * 1000) / 1000);
  };
  part("all", lost.all());
  part("runQueue", lost.run_queue);
  part("memory", lost.memory);
  part("io", lost.io);
  part("cpi", lost.cpi);
  json.end_object().end_object().end_object();
  return text;
}

class Builder {
 public:
  Builder(const SeriesStore& series, const ReportPolicy& policy, MonoTime now, const GpuUse* gpus)
      : series_(series),
        policy_(policy),
        now_(now),
        gpus_(gpus),
        hot_(policy.with_hot_pages &&
             series.aggregate(Metric::node_memory_with_hot_pages, "", now, policy.aggregate).has_value()) {}

  /// Nothing where there is no sample.
  std::optional<api::ResourceMap> average(const Source& source, std::string_view entity) const {
    const auto cpu = series_.aggregate(source.cpu, entity, now_, policy_.aggregate);
    const auto memory = series_.aggregate(memory_of(source), entity, now_, policy_.aggregate);
    if (!cpu || !memory) return std::nullopt;
    return usage_of(*cpu, *memory, &Aggregate::avg);
  }

  std::vector<api::AggregatedUsage> aggregates(const Source& source, bool with_gpus = false) const {
    static constexpr std::array<std::pair<std::string_view, Pick>, 5> kPicks = {{{"avg", &Aggregate::avg},
                                                                                 {"p50", &Aggregate::p50},
                                                                                 {"p90", &Aggregate::p90},
                                                                                 {"p95", &Aggregate::p95},
                                                                                 {"p99", &Aggregate::p99}}};
    std::vector<api::AggregatedUsage> all;
    for (const nanoseconds window : policy_.windows) {
      api::AggregatedUsage one;
      one.duration.emplace(window);
      const auto cpu = series_.aggregate(source.cpu, "", now_, window);
      const auto memory = series_.aggregate(memory_of(source), "", now_, window);
      const bool warm = cpu && memory && is_warm(*cpu, window) && is_warm(*memory, window);
      for (const auto& [name, pick] : kPicks) {
        one.usage[name] = warm ? usage_of(*cpu, *memory, pick) : api::ResourceMap();
        if (warm && with_gpus) one.usage[name].devices = gpus({}, window, pick);
      }
      all.push_back(std::move(one));
    }
    return all;
  }

  /// Of GPUs, those that have samples. Empty `pod`: of the node.
  std::vector<api::DeviceInfo> gpus(std::string_view pod, nanoseconds window,
                                    Pick pick = &Aggregate::avg) const {
    std::vector<api::DeviceInfo> all;
    if (gpus_ == nullptr) return all;
    for (const GpuUse::Card& card : gpus_->cards) {
      const std::string entity = gpu_entity(card.uuid, pod);
      const auto core =
          series_.aggregate(pod.empty() ? Metric::node_gpu_core : Metric::pod_gpu_core, entity, now_, window);
      const auto memory = series_.aggregate(pod.empty() ? Metric::node_gpu_memory : Metric::pod_gpu_memory,
                                            entity, now_, window);
      if (!core || !memory || card.memory == 0) continue;
      api::DeviceInfo& to = all.emplace_back();
      to.type = Symbol(kGpuType);
      to.id = card.uuid;
      to.minor = card.minor;
      const auto bytes = static_cast<std::int64_t>((*memory).*pick);
      const double ratio = 100 * ((*memory).*pick) / static_cast<double>(card.memory);
      to.resources[api::kGpuCore] = api::Quantity::from_int(static_cast<std::int64_t>((*core).*pick));
      to.resources[api::kGpuMemory] = api::Quantity::from_int(bytes, api::Quantity::Format::binary_si);
      to.resources[api::kGpuMemoryRatio] = api::Quantity::from_int(static_cast<std::int64_t>(ratio));
    }
    return all;
  }

  std::vector<api::NumaUsage> numa() const {
    std::vector<api::NumaUsage> all;
    for (int node = 0; node < kMaxNumaNodes; ++node) {
      const std::string number = std::to_string(node);
      if (!series_.find(Metric::node_numa_cpu, number)) break;
      auto usage = average(kNumaNode, number);
      if (!usage) continue;
      api::NumaUsage one;
      one.numa_node_id = node;
      one.node_usage = std::move(*usage);
      one.system_usage = average(kNumaSystem, number).value_or(api::ResourceMap());
      all.push_back(std::move(one));
    }
    return all;
  }

 private:
  Metric memory_of(const Source& source) const {
    if (hot_) return source.memory_with_hot_pages;
    return policy_.with_page_cache ? source.memory_with_page_cache : source.memory;
  }

  const SeriesStore& series_;
  const ReportPolicy& policy_;
  MonoTime now_;
  const GpuUse* gpus_;  // null: none are known
  bool hot_;            // cold pages are measured, and asked for
};

}  // namespace

ReportPolicy report_policy(const api::NodeMetricSpec& spec) {
  ReportPolicy policy;
  if (!spec.metric_collect_policy) return policy;
  const api::NodeMetricCollectPolicy& given = *spec.metric_collect_policy;
  constexpr std::int64_t kDay = 86'400;
  if (given.report_interval_seconds)
    policy.interval = std::chrono::seconds(std::clamp(*given.report_interval_seconds, kMinInterval, kDay));
  if (given.aggregate_duration_seconds)
    policy.aggregate =
        std::chrono::seconds(std::clamp(*given.aggregate_duration_seconds, kMinAggregate, kDay));
  if (given.node_aggregate_policy && !given.node_aggregate_policy->durations.empty()) {
    policy.windows.clear();
    for (const api::Duration& duration : given.node_aggregate_policy->durations)
      policy.windows.push_back(duration.value);
  }
  policy.with_page_cache = given.node_memory_collect_policy.view() == "usageWithPageCache";
  policy.with_hot_pages = given.node_memory_collect_policy.view() == "usageWithHotPageCache";
  return policy;
}

api::NodeMetricStatus node_metric_status(const SeriesStore& series, const Inventory& inventory,
                                         const ReportPolicy& policy, MonoTime now, WallTime wall,
                                         ProdPredictor& prod, const Interference* interference,
                                         const GpuUse* gpus, const HugeUse* huge) {
  const Builder build(series, policy, now, gpus);
  api::NodeMetricStatus status;
  status.update_time = api::Time{std::chrono::floor<std::chrono::seconds>(wall)};
  api::NodeMetricInfo& node = status.node_metric.emplace();
  node.node_usage = build.average(kNode, "").value_or(api::ResourceMap());
  if (!node.node_usage.resources.empty()) node.node_usage.devices = build.gpus({}, policy.aggregate);
  node.aggregated_node_usages = build.aggregates(kNode, true);
  node.system_usage = build.average(kSystem, "").value_or(api::ResourceMap());
  node.aggregated_system_usages = build.aggregates(kSystem);
  node.numa_usages = build.numa();
  if (huge != nullptr) {
    add_huge_pages(node.node_usage, huge->node);
    for (api::NumaUsage& one : node.numa_usages) {
      const auto at = std::ranges::find(huge->numa, one.numa_node_id, &HugeUse::Numa::id);
      if (at != huge->numa.end()) add_huge_pages(one.node_usage, at->used);
    }
  }

  for (const auto& pod : inventory.pods) {
    auto usage = build.average(kPod, pod->uid);
    if (!usage) continue;
    prod.add(*pod);
    api::PodMetricInfo one;
    one.name = pod->name;
    one.namespace_ = Symbol(pod->ns);
    one.pod_usage = std::move(*usage);
    one.pod_usage.devices = build.gpus(pod->uid, policy.aggregate);
    const Qos qos = with_default(pod->qos, pod->kube_qos);
    one.priority = Symbol(to_string(with_default(pod->priority_class, qos)));
    one.qos = Symbol(to_string(qos));
    if (interference != nullptr)
      if (const auto lost = interference->pods.find(pod->uid); lost != interference->pods.end())
        one.extensions.text = extensions(lost->second);
    status.pods_metric.push_back(std::move(one));
  }
  std::sort(status.pods_metric.begin(), status.pods_metric.end(), [](const auto& a, const auto& b) {
    return std::pair(a.namespace_.view(), std::string_view(a.name)) <
           std::pair(b.namespace_.view(), std::string_view(b.name));
  });
  for (const HostApplication& application : inventory.host_applications) {
    auto usage = build.average(kApplication, application.name);
    if (!usage) continue;
    api::HostApplicationMetricInfo one;
    one.name = Symbol(application.name);
    one.usage = std::move(*usage);
    one.priority = Symbol(to_string(application.priority_class));
    one.qos = Symbol(to_string(application.qos));
    status.host_application_metric.push_back(std::move(one));
  }
  return status;
}

void set_forecast(api::NodeMetricStatus& status, const Forecast& forecast) {
  api::PredictedMetric& reclaimable = status.prod_reclaimable_metric.emplace();
  if (forecast.reclaimable)
    reclaimable.resource = resource_map(forecast.reclaimable->cpu, forecast.reclaimable->memory);
  if (forecast.peak)
    status.prod_peak_metric.emplace().resource = resource_map(forecast.peak->cpu, forecast.peak->memory);
}

}  // namespace koord::koordlet
