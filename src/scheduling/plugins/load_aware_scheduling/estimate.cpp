// Estimates: see estimate.hpp.
#include "scheduling/plugins/load_aware_scheduling/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "koord/api/koordinator/classes.hpp"
#include "koord/api/koordinator/node.hpp"
#include "koord/api/koordinator/scheduling.hpp"
#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/schema/codec.hpp"
#include "koord/api/schema/table.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/core_v1/pod.hpp"
#include "koord/json/value.hpp"

namespace koord::scheduling::load_aware {

struct CustomAggregatedUsage {
  Numbers usage_thresholds;
  std::string usage_aggregation_type;
  std::optional<api::Duration> usage_aggregated_duration;
  KOORD_STRUCT(CustomAggregatedUsage);
};
/// The annotation of a node.
struct CustomThresholds {
  Numbers usage_thresholds;
  Numbers prod_usage_thresholds;
  api::Box<CustomAggregatedUsage> aggregated_usage;
  KOORD_STRUCT(CustomThresholds);
};
KOORD_SCHEMA(CustomAggregatedUsage, ROW(usage_thresholds), ROW(usage_aggregation_type),
             ROW(usage_aggregated_duration));
KOORD_SCHEMA(CustomThresholds, ROW(usage_thresholds), ROW(prod_usage_thresholds), ROW(aggregated_usage));

namespace {

/// What a pod without requests and limits is taken to use.
constexpr std::int64_t kDefaultMilliCpu = 250, kDefaultMemory = std::int64_t{200} << 20;
/// Whoever writes more seconds means for ever.
constexpr std::int64_t kLongest = std::int64_t{10} * 365 * 24 * 3600;

std::int64_t cut(std::int64_t amount) { return std::clamp(amount, -kMost, kMost); }
std::int64_t amount_of(std::string_view name, const api::Quantity& quantity) {
  return cut(name == "cpu" ? quantity.milli_value() : quantity.value());
}

/// The resource that a pod of the class asks for in place of this one; empty: none.
std::string_view real_name(api::KoordPriority of, std::string_view name) {
  using api::KoordPriority;
  if (of == KoordPriority::prod || of == KoordPriority::none) return name;
  const bool cpu = name == "cpu", memory = name == "memory";
  if (of == KoordPriority::batch) return cpu ? api::kBatchCpu : memory ? api::kBatchMemory : "";
  if (of == KoordPriority::mid) return cpu ? api::kMidCpu : memory ? api::kMidMemory : "";
  return {};
}

/// Requests and limits of a pod, one resource at a time. Most pods have containers and nothing else: nothing
/// is put together for them.
class Asked {
 public:
  explicit Asked(const api::Pod& pod) : pod_(pod) {
    plain_ = pod.spec.init_containers.empty() && pod.spec.overhead.empty() && !pod.spec.resources;
    if (plain_) return;
    const api::PodRequestsOptions spec_alone{.use_status = false};
    requests_ = api::pod_requests(pod, spec_alone);
    limits_ = api::pod_limits(pod, spec_alone);
  }
  api::Quantity request(std::string_view name) const {
    return plain_ ? sum(&api::ResourceRequirements::requests, name) : found(requests_, name);
  }
  api::Quantity limit(std::string_view name) const {
    return plain_ ? sum(&api::ResourceRequirements::limits, name) : found(limits_, name);
  }

 private:
  static api::Quantity found(const api::ResourceList& list, std::string_view name) {
    const api::Quantity* quantity = list.find(name);
    return quantity != nullptr ? *quantity : api::Quantity();
  }
  api::Quantity sum(api::ResourceList api::ResourceRequirements::*list, std::string_view name) const {
    api::Quantity total;
    for (const api::Container& c : pod_.spec.containers)
      if (const api::Quantity* quantity = (c.resources.*list).find(name)) total += *quantity;
    return total;
  }

  const api::Pod& pod_;
  bool plain_;
  api::ResourceList requests_, limits_;
};

/// `factor` per cent of the larger of request and limit, but not more than the limit.
std::int64_t estimated(const Asked& asked, std::string_view name, std::int64_t factor) {
  if (name.empty()) return 0;
  const api::Quantity limit = asked.limit(name), request = asked.request(name);
  const api::Quantity& most = limit > request ? limit : request;
  if (most.is_zero()) {
    if (name == "cpu" || name == api::kBatchCpu) return kDefaultMilliCpu;
    return name == "memory" || name == api::kBatchMemory ? kDefaultMemory : 0;
  }
  const double scaled =
      std::round(static_cast<double>(amount_of(name, most)) * static_cast<double>(factor) / 100);
  const auto bound = static_cast<double>(kMost);
  const auto used = static_cast<std::int64_t>(std::clamp(scaled, -bound, bound));
  const std::int64_t at_most = amount_of(name, limit);
  return at_most > 0 ? std::min(used, at_most) : used;
}

/// The annotation's object; empty if there is none or it cannot be read.
json::Document read_map(const api::ObjectMeta& meta, std::string_view key) {
  const auto text = api::annotation_text(meta.annotations, key);
  if (!text || !*text) return {};
  auto map = json::parse(**text);
  return map && map->is_object() ? std::move(*map) : json::Document();
}

std::optional<std::int64_t> seconds(const api::Pod& pod, std::string_view key) {
  const std::string_view text = api::value_or(pod.metadata.annotations, key);
  std::int64_t number = 0;
  const char* const from = text.starts_with('+') ? text.data() + 1 : text.data();
  const auto [end, error] = std::from_chars(from, text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || number < 0) return {};
  return number;
}

std::optional<api::Quantity> quantity_of(const json::Value& value) {
  if (value.is_null()) return api::Quantity();
  if (const auto number = value.to_int()) return api::Quantity::from_int(*number);
  auto read = value.is_number() ? api::Quantity::parse(fmt::format("{}", *value.to_double()))
                                : api::Quantity::parse(value.text());
  if (!read) return {};
  return std::move(*read);
}

}  // namespace

// Resources

Resources::Resources(const LoadAwareSchedulingArgs& args) {
  std::set<std::string> names{"cpu", "memory"};
  const auto add = [&](const Numbers& numbers) {
    for (const auto& [name, number] : numbers) names.emplace(name.view());
  };
  add(args.usage_thresholds);
  add(args.prod_usage_thresholds);
  if (args.aggregated) add(args.aggregated->usage_thresholds);
  add(args.resource_weights);
  add(args.estimated_scaling_factors);
  names.insert(args.supported_resources.begin(), args.supported_resources.end());
  names_.assign(names.begin(), names.end());
}

Amounts Resources::amounts(const api::ResourceList& list) const {
  Amounts out(names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (const api::Quantity* quantity = list.find(names_[i])) out[i] = amount_of(names_[i], *quantity);
  return out;
}

Amounts Resources::numbers(const Numbers& numbers) const {
  Amounts out(names_.size());
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (const std::int64_t* number = numbers.find(names_[i])) out[i] = *number;
  return out;
}

api::Quantity Resources::quantity(std::size_t i, std::int64_t amount) const {
  using Format = api::Quantity::Format;
  if (names_[i] == "cpu") return api::Quantity::from_milli(amount);
  const bool binary = names_[i] == "memory" && amount % 1024 == 0;
  return api::Quantity::from_int(amount, binary ? Format::binary_si : Format::decimal_si);
}

// Pods

const api::PodCondition* true_since(const api::Pod& pod, std::string_view type) {
  for (const api::PodCondition& c : pod.status.conditions)
    if (c.type == type) return c.status == "True" && c.last_transition_time != api::Time() ? &c : nullptr;
  return nullptr;
}

api::KoordPriority priority_class(const api::Pod& pod) {
  const api::KoordPriority said = api::koord_priority(pod);
  if (said != api::KoordPriority::none) return said;
  const api::KoordQos qos = api::koord_qos(pod);
  return api::with_default(said,
                           qos != api::KoordQos::none ? qos : api::with_default(qos, api::kube_qos(pod)));
}

Estimator::Estimator(const LoadAwareSchedulingArgs& args, const Resources& resources)
    : resources_(resources),
      factors_(args.estimated_scaling_factors),
      after_scheduled_(args.estimated_seconds_after_pod_scheduled),
      after_initialized_(args.estimated_seconds_after_initialized),
      customizable_(args.allow_customize_estimation) {}

void Estimator::estimate(const api::Pod& pod, api::KoordPriority of, std::span<std::int64_t> out) const {
  const json::Document custom =
      customizable_ ? read_map(pod.metadata, api::kLoadEstimatedScalingFactors) : json::Document();
  // One that is no whole number spoils them all.
  const bool readable = std::ranges::all_of(
      custom.members(), [](const json::Member& m) { return m.value.is_null() || m.value.is_int(); });
  const Asked asked(pod);
  for (std::size_t i = 0; i < resources_.size(); ++i) {
    const std::string& name = resources_.name(i);
    const json::Value* own = readable ? json::find(custom, name) : nullptr;
    const std::int64_t* factor = factors_.find(name);
    out[i] =
        own == nullptr && factor == nullptr
            ? 0
            : estimated(asked, real_name(of, name), own != nullptr ? own->to_int().value_or(0) : *factor);
  }
}

std::optional<WallTime> Estimator::deadline(const api::Pod& pod, WallTime since) const {
  std::optional<std::int64_t> scheduled = after_scheduled_, initialized = after_initialized_;
  if (customizable_) {
    if (const auto own = seconds(pod, api::kLoadEstimatedAfterScheduled)) scheduled = own;
    if (const auto own = seconds(pod, api::kLoadEstimatedAfterInitialized)) initialized = own;
  }
  const auto after = [](WallTime from, std::int64_t n) {
    return from + std::chrono::seconds(std::min(n, kLongest));
  };
  // Init containers may take long, and what was said of them holds no longer when they have ended.
  if (initialized.value_or(0) > 0)
    if (const api::PodCondition* c = true_since(pod, "Initialized"))
      return after(bounded(c->last_transition_time), *initialized);
  if (scheduled.value_or(0) > 0) return after(since, *scheduled);
  return {};
}

// Nodes

Amounts Estimator::allocatable(const api::Node& node) const {
  Amounts out = resources_.amounts(node.status.allocatable);
  const json::Document raw = read_map(node.metadata, api::kRawAllocatable);
  Amounts said = out;
  for (const json::Member& member : raw.members()) {
    const std::optional<api::Quantity> quantity = quantity_of(member.value);
    if (!quantity) return out;
    for (std::size_t i = 0; i < resources_.size(); ++i)
      if (resources_.name(i) == member.key()) said[i] = amount_of(member.key(), *quantity);
  }
  return said;
}

Thresholds make_thresholds(const LoadAwareSchedulingArgs& args, const Resources& resources) {
  Thresholds t;
  t.usage = resources.numbers(args.usage_thresholds);
  t.prod = resources.numbers(args.prod_usage_thresholds);
  if (!args.aggregated || args.aggregated->usage_thresholds.empty() ||
      args.aggregated->usage_aggregation_type.empty())
    return t;
  t.aggregated = resources.numbers(args.aggregated->usage_thresholds);
  t.type = args.aggregated->usage_aggregation_type;
  t.duration = args.aggregated->usage_aggregated_duration.value_or(api::Duration()).value;
  return t;
}

std::optional<Thresholds> custom_thresholds(const api::Node& node, const Thresholds& defaults,
                                            const Resources& resources) {
  const auto read = api::read_annotation<CustomThresholds>(node.metadata.annotations, api::kUsageThresholds);
  if (!read || !*read) return {};
  const std::optional<CustomThresholds>& said = *read;
  Thresholds t = defaults;
  if (!said->usage_thresholds.empty()) t.usage = resources.numbers(said->usage_thresholds);
  if (!said->prod_usage_thresholds.empty()) t.prod = resources.numbers(said->prod_usage_thresholds);
  if (const auto& a = said->aggregated_usage;
      a && !a->usage_thresholds.empty() && !a->usage_aggregation_type.empty()) {
    t.aggregated = resources.numbers(a->usage_thresholds);
    t.type = a->usage_aggregation_type;
    t.duration = a->usage_aggregated_duration.value_or(api::Duration()).value;
  }
  return t;
}

WallTime bounded(api::Time time) {
  constexpr std::chrono::seconds kLast{7'258'118'400};
  return WallTime(std::clamp(time.at.time_since_epoch(), std::chrono::seconds(0), kLast));
}

bool any(const Amounts& amounts) {
  return std::ranges::any_of(amounts, [](std::int64_t amount) { return amount != 0; });
}

}  // namespace koord::scheduling::load_aware
