// CPU eviction: where best-effort work may use much less CPU than it asks for, the node's CPU is used beyond
// a threshold, or more is asked of what it lends than it has, pods go until a lower mark is reached.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "framework/tick/best_effort_use.hpp"
#include "plugins/cpu_evict/satisfaction.hpp"
#include "plugins/evict/eviction.hpp"
#include "plugins/evict/terms.hpp"

namespace koord::koordlet {

namespace cpu_evict {
namespace {

using evict::Amounts;
using evict::Candidate;
using evict::Resource;
using evict::Target;
using evict::Task;

constexpr std::string_view kName = "CPUEvict";
constexpr std::string_view kBestEffort = "BECPUEvict", kByAllocatable = "CPUAllocatableEvict",
                           kByUse = "CPUEvict";
constexpr std::string_view kGates[] = {kBestEffort, kByAllocatable, kByUse};
constexpr std::string_view kEvictByAllocatable = "evictByAllocatable";
constexpr std::int64_t kHighestLower = 60, kBelowUpper = 100;  // percent
constexpr double kMilli = 1000;

/// Why what the NodeSLO says of satisfaction is not obeyed; empty: it is.
std::string_view read(const api::ResourceThresholdStrategy& slo, Satisfaction& settings) {
  if (!slo.cpu_evict_be_satisfaction_lower_percent || !slo.cpu_evict_be_satisfaction_upper_percent)
    return "no cpuEvictBESatisfactionLowerPercent or no cpuEvictBESatisfactionUpperPercent";
  settings.lower = *slo.cpu_evict_be_satisfaction_lower_percent;
  settings.upper = *slo.cpu_evict_be_satisfaction_upper_percent;
  settings.usage_threshold = slo.cpu_evict_be_usage_threshold_percent.value_or(settings.usage_threshold);
  if (settings.lower <= 0 || settings.lower > kHighestLower)
    return "a cpuEvictBESatisfactionLowerPercent that is not in (0, 60]";
  if (settings.upper <= 0 || settings.upper >= kBelowUpper)
    return "a cpuEvictBESatisfactionUpperPercent that is not in (0, 100)";
  if (settings.upper < settings.lower) return "a cpuEvictBESatisfactionUpperPercent below the lower one";
  return {};
}

/// Of all that is lent to batch work; below 0: not known. While nothing is lent it is next to nothing, so
/// that there can be want.
double allocatable_batch(const NodeInfo& node) {
  for (const ExtendedResource& resource : node.extended)
    if (resource.name == api::kBatchCpu && resource.value >= 0)
      return static_cast<double>(std::max<std::int64_t>(resource.value, 1));
  return -1;
}

class CpuEvict final : public evict::Eviction {
 public:
  /// An agent that has just started knows little.
  explicit CpuEvict(const PluginContext& context)
      : Eviction(context,
                 {.name = kName, .cool_flag = "cpu-evict-cool-time-seconds", .cools_at_start = true}) {}

 private:
  void add_tasks(const TickView& view, const Threshold& slo, std::vector<Task>& tasks) override {
    if (context_.gates.enabled(kBestEffort)) by_satisfaction(view, slo, tasks);
    if (context_.gates.enabled(kByAllocatable)) by_allocatable(view, slo, kByAllocatable, true, tasks);
    if (context_.gates.enabled(kByUse)) by_use(view, slo, cpu_use(view, slo), tasks);
  }

  static nanoseconds window(const TickView& view, const Threshold& slo) {
    const nanoseconds wanted = std::chrono::seconds(std::clamp<std::int64_t>(
        slo.cpu_evict_time_window_seconds.value_or(0), 0, std::chrono::hours(1) / std::chrono::seconds(1)));
    return std::max(wanted, view.interval);
  }

  void by_satisfaction(const TickView& view, const Threshold& slo, std::vector<Task>& tasks) {
    Satisfaction settings;
    if (const auto nonsense = read(slo, settings); !nonsense.empty())
      return notes_.invalid(kBestEffort, nonsense);
    const nanoseconds span = window(view, slo);
    const auto average = [&](Metric metric) { return context_.series.aggregate(metric, "", view.at, span); };
    const auto usage = average(Metric::be_cpu_usage);
    const auto request = average(Metric::be_cpu_request);
    const auto limit = average(Metric::be_cpu_real_limit);
    const BestEffortUse now = best_effort_use(view);
    if (!usage || !request || !limit || !known(now.usage_milli) || !known(now.request_milli) ||
        !known(now.real_limit_milli))
      return notes_.blind(kBestEffort, "what best-effort work uses or may use");
    const auto seconds = [](nanoseconds d) {
      return std::chrono::duration_cast<std::chrono::seconds>(d).count();
    };
    const auto samples = static_cast<std::int64_t>(std::min({usage->count, request->count, limit->count}));
    if (!is_filled(samples, seconds(view.interval), seconds(span)))
      return notes_.blind(kBestEffort, "what best-effort work used for long enough");
    BestEffort past{usage->avg, request->avg, limit->avg};
    BestEffort present{now.usage_milli, now.request_milli, now.real_limit_milli};
    if (slo.cpu_evict_policy == kEvictByAllocatable)
      past.limit = present.limit = allocatable_batch(view.inventory->node);
    notes_.say(kBestEffort, "{:.2f} of {:.2f} CPUs that best-effort work asks for may be used",
               present.limit / kMilli, present.request / kMilli);
    Task task{.feature = kBestEffort, .target = Target::request};
    of(task.release, Resource::batch_cpu) = cpu_evict::release(settings, past, present);
    if (of(task.release, Resource::batch_cpu) <= 0) return;
    task.candidates =
        evict::best_effort(view, kBestEffort, &Usage::cpu, kMilli, [](const Candidate& candidate) {
          const std::int64_t asked = candidate.pod->requests.batch_cpu;
          return asked > 0 ? static_cast<double>(candidate.used) / static_cast<double>(asked) : 0;
        });
    task.frees = [](const Candidate& candidate) {
      Amounts amounts{};
      of(amounts, Resource::batch_cpu) = candidate.pod->requests.batch_cpu;
      return amounts;
    };
    tasks.push_back(std::move(task));
  }

  Use cpu_use(const TickView& view, const Threshold& slo) const {
    const auto used = context_.series.aggregate(Metric::node_cpu, "", view.at, window(view, slo));
    return {.feature = kByUse,
            .threshold = slo.cpu_evict_threshold_percent,
            .lower = slo.cpu_evict_lower_percent,
            .what = "CPU",
            .resource = Resource::cpu,
            .amount = used ? std::optional(used->avg * kMilli) : std::nullopt,
            .capacity = view.inventory->node.capacity_milli_cpu,
            .of_pod = &Usage::cpu,
            .scale = kMilli};
  }
};

}  // namespace
}  // namespace cpu_evict

extern const StrategyEntry kCpuEvict{
    .name = cpu_evict::kName,
    .gates = cpu_evict::kGates,
    .interval = "cpu-evict-interval-seconds",
    .terms = &read_eviction_terms,
    .make = &make<cpu_evict::CpuEvict>,
};

}  // namespace koord::koordlet
