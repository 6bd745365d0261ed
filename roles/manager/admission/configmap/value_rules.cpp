// Bounds of fields: see value_rules.hpp.
#include "admission/configmap/value_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace koord::manager {
namespace {

using json::Value;

constexpr ValueRule percent(std::string_view wire, std::string_view named) { return {wire, named, 0, 100}; }
constexpr ValueRule at_least(std::string_view wire, std::string_view named, double least) {
  return {wire, named, least};
}

constexpr ValueRule kColocation[] = {
    at_least("metricAggregateDurationSeconds", "MetricAggregateDurationSeconds", 1),
    at_least("metricReportIntervalSeconds", "MetricReportIntervalSeconds", 1),
    at_least("cpuReclaimThresholdPercent", "CPUReclaimThresholdPercent", 0),
    at_least("memoryReclaimThresholdPercent", "MemoryReclaimThresholdPercent", 0),
    at_least("degradeTimeMinutes", "DegradeTimeMinutes", 1),
    at_least("updateTimeThresholdSeconds", "UpdateTimeThresholdSeconds", 1),
    {.wire = "resourceDiffThreshold", .named = "ResourceDiffThreshold", .least = 0, .most = 1, .above = true},
    percent("midCPUThresholdPercent", "MidCPUThresholdPercent"),
    percent("midMemoryThresholdPercent", "MidMemoryThresholdPercent"),
    percent("midUnallocatedPercent", "MidUnallocatedPercent"),
    percent("midStaticCPUReservedPercent", "MidStaticCPUReservedPercent"),
    percent("midStaticMemoryReservedPercent", "MidStaticMemoryReservedPercent"),
    at_least("batchCPUThresholdPercent", "BatchCPUThresholdPercent", 0),
    at_least("batchMemoryThresholdPercent", "BatchMemoryThresholdPercent", 0),
};

constexpr ValueRule kThreshold[] = {
    percent("cpuSuppressThresholdPercent", "CPUSuppressThresholdPercent"),
    percent("cpuSuppressMinPercent", "CPUSuppressMinPercent"),
    {.wire = "memoryEvictThresholdPercent",
     .named = "MemoryEvictThresholdPercent",
     .least = 0,
     .most = 100,
     .greater_than = "memoryEvictLowerPercent"},
    {.wire = "memoryEvictLowerPercent",
     .named = "MemoryEvictLowerPercent",
     .least = 0,
     .most = 100,
     .less_than = "memoryEvictThresholdPercent"},
    {.wire = "memoryAllocatableEvictThresholdPercent",
     .named = "MemoryAllocatableEvictThresholdPercent",
     .least = 0,
     .greater_than = "memoryAllocatableEvictLowerPercent"},
    {.wire = "memoryAllocatableEvictLowerPercent",
     .named = "MemoryAllocatableEvictLowerPercent",
     .least = 0,
     .less_than = "memoryAllocatableEvictThresholdPercent"},
    {.wire = "cpuEvictBESatisfactionUpperPercent",
     .named = "CPUEvictBESatisfactionUpperPercent",
     .least = 0,
     .most = 100,
     .greater_than = "cpuEvictBESatisfactionLowerPercent"},
    {.wire = "cpuEvictBESatisfactionLowerPercent",
     .named = "CPUEvictBESatisfactionLowerPercent",
     .least = 0,
     .most = 100,
     .less_than = "cpuEvictBESatisfactionUpperPercent"},
    percent("cpuEvictBEUsageThresholdPercent", "CPUEvictBEUsageThresholdPercent"),
    {.wire = "cpuEvictTimeWindowSeconds", .named = "CPUEvictTimeWindowSeconds", .least = 0, .above = true},
    {.wire = "cpuEvictThresholdPercent",
     .named = "CPUEvictThresholdPercent",
     .least = 0,
     .most = 100,
     .greater_than = "cpuEvictLowerPercent"},
    {.wire = "cpuEvictLowerPercent",
     .named = "CPUEvictLowerPercent",
     .least = 0,
     .most = 100,
     .less_than = "cpuEvictThresholdPercent"},
    {.wire = "cpuAllocatableEvictThresholdPercent",
     .named = "CPUAllocatableEvictThresholdPercent",
     .least = 0,
     .greater_than = "cpuAllocatableEvictLowerPercent"},
    {.wire = "cpuAllocatableEvictLowerPercent",
     .named = "CPUAllocatableEvictLowerPercent",
     .least = 0,
     .less_than = "cpuAllocatableEvictThresholdPercent"},
    {.wire = "allocatableEvictPriorityThreshold",
     .named = "AllocatableEvictPriorityThreshold",
     .least = 0,
     .most = 7999},
};

/// `end` is where the agent's own defaults end the range.
constexpr std::array<ValueRule, 15> class_rules(double end) {
  return {{
      {"cpuQOS.groupIdentity", "CPUQOS.CPUQOS.GroupIdentity", -1, 2},
      {"cpuQOS.schedIdle", "CPUQOS.CPUQOS.SchedIdle", 0, 1},
      percent("memoryQOS.minLimitPercent", "MemoryQOS.MemoryQOS.MinLimitPercent"),
      percent("memoryQOS.lowLimitPercent", "MemoryQOS.MemoryQOS.LowLimitPercent"),
      percent("memoryQOS.throttlingPercent", "MemoryQOS.MemoryQOS.ThrottlingPercent"),
      percent("memoryQOS.wmarkRatio", "MemoryQOS.MemoryQOS.WmarkRatio"),
      {"memoryQOS.wmarkScalePermill", "MemoryQOS.MemoryQOS.WmarkScalePermill", 1, 1000},
      {"memoryQOS.wmarkMinAdj", "MemoryQOS.MemoryQOS.WmarkMinAdj", -25, 50},
      {"memoryQOS.priorityEnable", "MemoryQOS.MemoryQOS.PriorityEnable", 0, 1},
      {"memoryQOS.priority", "MemoryQOS.MemoryQOS.Priority", 0, 12},
      {"memoryQOS.oomKillGroup", "MemoryQOS.MemoryQOS.OomKillGroup", 0, 1},
      percent("memoryQOS.pageCacheLimitPercent", "MemoryQOS.MemoryQOS.PageCacheLimitPercent"),
      {.wire = "resctrlQOS.catRangeStartPercent",
       .named = "ResctrlQOS.ResctrlQOS.CATRangeStartPercent",
       .least = 0,
       .most = 100,
       .less_than = "resctrlQOS.catRangeEndPercent",
       .below_if_absent = end},
      {.wire = "resctrlQOS.catRangeEndPercent",
       .named = "ResctrlQOS.ResctrlQOS.CATRangeEndPercent",
       .least = 0,
       .most = 100,
       .greater_than = "resctrlQOS.catRangeStartPercent"},
      percent("resctrlQOS.mbaPercent", "ResctrlQOS.ResctrlQOS.MBAPercent"),
  }};
}

constexpr auto kClass = class_rules(100), kBestEffort = class_rules(30);

constexpr ValueRule kSystem[] = {
    {.wire = "minFreeKbytesFactor", .named = "MinFreeKbytesFactor", .least = 0, .above = true},
    {.wire = "watermarkScaleFactor", .named = "WatermarkScaleFactor", .least = 0, .most = 400, .above = true},
    {"memcgReapBackGround", "MemcgReapBackGround", 0, 1},
    {"pageCacheLimitEnabled", "PageCacheLimitEnabled", 0, 1},
};

constexpr ValueRule kBurst[] = {
    {"cpuBurstPercent", "CPUBurstConfig.CPUBurstPercent", 1, 10000},
    at_least("cfsQuotaBurstPercent", "CPUBurstConfig.CFSQuotaBurstPercent", 100),
    at_least("cfsQuotaBurstPeriodSeconds", "CPUBurstConfig.CFSQuotaBurstPeriodSeconds", -1),
    percent("sharePoolThresholdPercent", "CPUBurstConfig.SharePoolThresholdPercent"),
};

constexpr ValuePart kColocationParts[] = {{"", "", kColocation}};
constexpr ValuePart kThresholdParts[] = {{"", "", kThreshold}};
constexpr ValuePart kQosParts[] = {{"lsrClass", "LSRClass.", kClass},
                                   {"lsClass", "LSClass.", kClass},
                                   {"beClass", "BEClass.", kBestEffort},
                                   {"systemClass", "SystemClass.", kClass},
                                   {"cgroupRoot", "CgroupRoot.", kClass}};
constexpr ValuePart kSystemParts[] = {{"", "", kSystem}};
constexpr ValuePart kBurstParts[] = {{"", "", kBurst}};

/// The number at a path of members, nothing where there is none.
std::optional<double> number_at(const Value* value, std::string_view path) {
  while (value != nullptr && !path.empty()) {
    const std::size_t dot = std::min(path.find('.'), path.size());
    value = json::find(*value, path.substr(0, dot));
    path.remove_prefix(std::min(dot + 1, path.size()));
  }
  return value != nullptr ? value->to_double() : std::nullopt;
}

std::string_view last_of(std::string_view path) { return path.substr(path.rfind('.') + 1); }

/// As English writes whole numbers: 10,000.
std::string in_english(double number) {
  std::string digits = std::to_string(static_cast<std::int64_t>(number));
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string_view named_in(std::span<const ValueRule> rules, std::string_view wire) {
  const auto rule = std::ranges::find(rules, wire, &ValueRule::wire);
  return rule != rules.end() ? last_of(rule->named) : wire;
}

/// What is wrong with a field's value; empty if nothing.
std::string fault(const ValueRule& rule, double value, const Value* effective,
                  std::span<const ValueRule> rules) {
  const std::string_view name = last_of(rule.named);
  if (rule.least && rule.above && !(value > *rule.least))
    return fmt::format("{} must be greater than {}", name, in_english(*rule.least));
  if (rule.least && !(value >= *rule.least))
    return fmt::format("{} must be {} or greater", name, in_english(*rule.least));
  if (rule.most && !(value <= *rule.most))
    return fmt::format("{} must be {} or less", name, in_english(*rule.most));
  if (!rule.greater_than.empty()) {
    const auto other = number_at(effective, rule.greater_than);
    if (other && !(value > *other))
      return fmt::format("{} must be greater than {}", name, named_in(rules, rule.greater_than));
  }
  if (!rule.less_than.empty()) {
    auto other = number_at(effective, rule.less_than);
    if (!other) other = rule.below_if_absent;
    if (!other || !(value < *other))
      return fmt::format("{} must be less than {}", name, named_in(rules, rule.less_than));
  }
  return {};
}

}  // namespace

std::span<const ValuePart> colocation_values() { return kColocationParts; }
std::span<const ValuePart> threshold_values() { return kThresholdParts; }
std::span<const ValuePart> qos_values() { return kQosParts; }
std::span<const ValuePart> system_values() { return kSystemParts; }
std::span<const ValuePart> burst_values() { return kBurstParts; }

void check_values(const Value& strategy, const Value& effective, std::span<const ValuePart> parts,
                  std::string_view prefix, ValueErrors& errors) {
  for (const ValuePart& part : parts) {
    const Value* const said = part.wire.empty() ? &strategy : json::find(strategy, part.wire);
    const Value* const in_effect = part.wire.empty() ? &effective : json::find(effective, part.wire);
    if (said == nullptr) continue;
    for (const ValueRule& rule : part.rules) {
      const auto value = number_at(said, rule.wire);
      if (!value) continue;
      std::string wrong = fault(rule, *value, in_effect, part.rules);
      if (!wrong.empty()) errors[fmt::format("{}{}{}", prefix, part.named, rule.named)] = std::move(wrong);
    }
  }
}

}  // namespace koord::manager
