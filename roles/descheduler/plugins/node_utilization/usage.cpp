// See usage.hpp.
#include "plugins/node_utilization/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "koord/api/rules/pod_requests.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "plugins/choice.hpp"

namespace koord::descheduler::node_utilization {

namespace {

std::int64_t amount(std::string_view resource, const api::Quantity& quantity) {
  return resource == "cpu" ? quantity.milli_value() : quantity.value();
}

std::int64_t in_units(double percent) { return std::llround(percent * static_cast<double>(kPercent)); }

/// of * times / parts, where the product may not fit.
std::int64_t share(std::int64_t of, std::int64_t times, std::int64_t parts) {
  const __int128 result = static_cast<__int128>(of) * times / parts;
  return static_cast<std::int64_t>(std::min<__int128>(result, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

Resources::Resources(const Thresholds& thresholds) : limited_(thresholds.size()) {
  for (const auto& [name, value] : thresholds) names_.emplace_back(name.view());
  for (const char* name : {"cpu", "memory", "pods"})
    if (!thresholds.contains(name)) names_.emplace_back(name);
}

Amounts Resources::asked(const api::Pod& pod) const {
  const api::ResourceList requests = api::pod_requests(pod, {.use_status = false});
  Amounts amounts;
  for (const std::string& name : names_) {
    const api::Quantity* const quantity = requests.find(name);
    amounts.push_back(name == "pods" ? 1 : quantity != nullptr ? amount(name, *quantity) : 0);
  }
  return amounts;
}

Amounts Resources::has(const api::Node& node) const {
  const api::NodeStatus& status = node.status;
  const api::ResourceList& all = status.allocatable.empty() ? status.capacity : status.allocatable;
  Amounts amounts;
  for (const std::string& name : names_) {
    const api::Quantity* const quantity = all.find(name);
    amounts.push_back(quantity != nullptr ? std::max<std::int64_t>(amount(name, *quantity), 0) : -1);
  }
  return amounts;
}

Usage::Usage(const NodeView& of, const Resources& resources)
    : node(&of), used(resources.names().size()), capacity(resources.has(*of.node)) {
  for (const PodPtr& pod : of.pods) {
    if (has_ended(*pod)) continue;
    pods.push_back(pod);
    const Amounts asked = resources.asked(*pod);
    for (std::size_t i = 0; i < used.size(); ++i) used[i] = plus(used[i], asked[i]);
  }
}

std::optional<std::int64_t> Usage::percentage(std::size_t resource) const {
  const std::int64_t all = capacity[resource];
  if (all < 0) return {};
  return all == 0 ? 0 : share(used[resource], 100 * kPercent, all);
}

bool Usage::is_within(const Percentages& limits) const {
  for (std::size_t i = 0; i < limits.size(); ++i)
    if (limits[i] && percentage(i).value_or(0) > *limits[i]) return false;
  return true;
}

Amounts Usage::capped(const Percentages& limits) const {
  Amounts amounts;
  for (std::size_t i = 0; i < capacity.size(); ++i) {
    const std::int64_t all = std::max<std::int64_t>(capacity[i], 0);
    amounts.push_back(i < limits.size() && limits[i] ? share(all, *limits[i], 100 * kPercent) : all);
  }
  return amounts;
}

std::int64_t Usage::sum() const {
  std::int64_t all = 0;
  for (const std::int64_t each : used) all = plus(all, each);
  return all;
}

Percentages fixed(const Thresholds& thresholds) {
  Percentages limits;
  for (const auto& [name, value] : thresholds) limits.emplace_back(in_units(value));
  return limits;
}

Percentages beside_average(std::span<const Usage> nodes, const Thresholds& thresholds, int sign) {
  Percentages limits;
  for (std::size_t i = 0; i < thresholds.size(); ++i) {
    std::int64_t sum = 0, count = 0;
    for (const Usage& node : nodes) {
      const auto percentage = node.percentage(i);
      if (!percentage) continue;
      sum = plus(sum, *percentage);
      ++count;
    }
    auto& limit = limits.emplace_back();
    if (count > 0)
      limit = std::clamp<std::int64_t>(sum / count + sign * in_units(thresholds.at_index(i).value), 0,
                                       100 * kPercent);
  }
  return limits;
}

bool check_thresholds(const Thresholds& thresholds, const std::string& path, std::string_view before,
                      api::FieldErrors& errors) {
  if (thresholds.empty()) {
    errors.add(found_at(path, fmt::format("{}no resource threshold is configured", before)));
    return false;
  }
  for (const auto& [name, value] : thresholds) {
    if (value >= 0 && value <= 100) continue;
    errors.add(found_at(path, fmt::format("{}{} threshold not in [0, 100] range", before, name.view())));
    return false;
  }
  return true;
}

}  // namespace koord::descheduler::node_utilization
