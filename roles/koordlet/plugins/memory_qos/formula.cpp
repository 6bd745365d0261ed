// Memory QoS' figures: see formula.hpp.
#include "plugins/memory_qos/formula.hpp"

#include <algorithm>
#include <tuple>

#include "koord/host/page.hpp"

namespace koord::koordlet::memory_qos {

namespace {

using api::MemoryQos;
using host::Knob;

constexpr std::int64_t kMostPercent = 10'000;

/// What is written as it is said.
struct Plain {
  std::optional<std::int64_t> MemoryQos::*field;
  Knob knob;
};
constexpr Plain kPlain[] = {
    {&MemoryQos::wmark_ratio, Knob::memory_wmark_ratio},
    {&MemoryQos::wmark_scale_permill, Knob::memory_wmark_scale_factor},
    {&MemoryQos::wmark_min_adj, Knob::memory_wmark_min_adj},
    {&MemoryQos::priority_enable, Knob::memory_use_priority_oom},
    {&MemoryQos::priority, Knob::memory_priority},
    {&MemoryQos::oom_kill_group, Knob::memory_oom_group},
};

void add(Values& values, Knob knob, std::optional<std::int64_t> value) {
  const host::KnobRow& row = host::row(knob);
  if (!value || (row.minimum && *value < *row.minimum) || (row.maximum && *value > *row.maximum)) return;
  values.push_back({knob, *value});
}

struct Protected {
  std::optional<std::int64_t> min, low;
};
Protected protection(const MemoryQos& qos, std::int64_t request) {
  Protected result;
  if (qos.min_limit_percent) result.min = share(request, *qos.min_limit_percent);
  if (qos.low_limit_percent) result.low = share(request, *qos.low_limit_percent);
  // What is protected at all is protected as much as what may not be taken.
  if (result.min && result.low && *result.low > 0) result.low = std::max(*result.low, *result.min);
  return result;
}

std::optional<std::int64_t> high(const MemoryQos& qos, const Demand& container, std::int64_t node_memory) {
  if (!qos.throttling_percent) return std::nullopt;
  if (*qos.throttling_percent == 0) return host::kUnlimited;
  const std::int64_t limit = container.limit && *container.limit > 0 ? *container.limit : node_memory;
  if (limit <= 0) return std::nullopt;  // not known yet
  const std::int64_t bytes = container.request + share(limit - container.request, *qos.throttling_percent);
  return std::max<std::int64_t>(bytes, 0) / host::page_size() * host::page_size();
}

void add_page_cache(Values& values, const MemoryQos& qos, const std::optional<std::int64_t>& limit) {
  const bool limited = limit && *limit > 0;
  std::optional<std::int64_t> size;
  if (qos.page_cache_limit_size)
    size = limited ? std::min(*qos.page_cache_limit_size, *limit) : *qos.page_cache_limit_size;
  else if (qos.page_cache_limit_percent && limited)
    size = share(*limit, *qos.page_cache_limit_percent);
  std::optional<std::int64_t> enable;
  if (size) enable = *size > 0 ? 1 : 0;
  if (qos.page_cache_enable) enable = *qos.page_cache_enable ? 1 : 0;
  add(values, Knob::page_cache_enable, enable);
  add(values, Knob::page_cache_size, size ? std::optional(std::max<std::int64_t>(*size, 0)) : size);
  if (size && *size > 0)
    add(values, Knob::page_cache_sync, qos.page_cache_reclaim_sync.value_or(false) ? 1 : 0);
}

template <class T>
void overlay(std::optional<T>& to, const std::optional<T>& from) {
  if (from) to = from;
}
auto fields(auto& qos) {
  return std::tie(qos.min_limit_percent, qos.low_limit_percent, qos.throttling_percent, qos.wmark_ratio,
                  qos.wmark_scale_permill, qos.wmark_min_adj, qos.priority_enable, qos.priority,
                  qos.oom_kill_group, qos.page_cache_enable, qos.page_cache_limit_percent,
                  qos.page_cache_limit_size, qos.page_cache_reclaim_sync);
}
template <std::size_t... I>
bool overlay_all(MemoryQos& to, const MemoryQos& from, std::index_sequence<I...>) {
  (overlay(std::get<I>(fields(to)), std::get<I>(fields(from))), ...);
  return (std::get<I>(fields(to)).has_value() || ...);
}

}  // namespace

std::optional<MemoryQos> effective(const api::MemoryQosConfig* of_class, const MemoryQos& usual,
                                   const api::PodMemoryQos* pod) {
  MemoryQos qos;
  if (of_class != nullptr && of_class->enable == true) qos = of_class->qos;
  if (pod != nullptr && pod->policy == "none") return std::nullopt;
  if (pod != nullptr && pod->policy == "auto") qos = usual;
  const bool any = overlay_all(qos, pod != nullptr ? pod->qos : MemoryQos{}, std::make_index_sequence<13>{});
  return any ? std::optional(qos) : std::nullopt;
}

std::int64_t share(std::int64_t request, std::int64_t percent) {
  const std::int64_t bounded = std::clamp<std::int64_t>(percent, 0, kMostPercent);
  return request / 100 * bounded + request % 100 * bounded / 100;  // a request is at most 2^50
}

Values pod_values(const MemoryQos& qos, const Demand& pod) {
  Values values;
  const Protected bounds = protection(qos, pod.request);
  add(values, Knob::memory_min, bounds.min);
  add(values, Knob::memory_low, bounds.low);
  for (const Plain& plain : kPlain) add(values, plain.knob, qos.*plain.field);
  add_page_cache(values, qos, pod.limit);
  return values;
}

Values container_values(const MemoryQos& qos, const Demand& container, std::int64_t node_memory) {
  Values values;
  const Protected bounds = protection(qos, container.request);
  add(values, Knob::memory_min, bounds.min);
  add(values, Knob::memory_low, bounds.low);
  auto limit = high(qos, container, node_memory);
  if (limit && *limit > 0 && bounds.min) limit = std::max(*limit, *bounds.min);
  add(values, Knob::memory_high, limit);
  for (const Plain& plain : kPlain) add(values, plain.knob, qos.*plain.field);
  return values;
}

void Protection::add(const MemoryQos& qos, std::int64_t request) {
  if (qos.min_limit_percent) min = min.value_or(0) + share(request, *qos.min_limit_percent);
  if (qos.low_limit_percent) low = low.value_or(0) + share(request, *qos.low_limit_percent);
}

void Protection::add(const Protection& below) {
  if (below.min) min = min.value_or(0) + *below.min;
  if (below.low) low = low.value_or(0) + *below.low;
}

}  // namespace koord::koordlet::memory_qos
