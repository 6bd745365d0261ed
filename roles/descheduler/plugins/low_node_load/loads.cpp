// Loads: see loads.hpp.
#include "plugins/low_node_load/loads.hpp"

#include <algorithm>
#include <limits>
#include <set>

namespace koord::descheduler::low_node_load {

namespace {

constexpr double kNothing = 0, kAll = 100;

/// As Go converts it: cut off, not rounded.
std::int64_t share(std::int64_t capacity, double percent) {
  return static_cast<std::int64_t>(percent * 0.01 * static_cast<double>(capacity));
}

std::int64_t thousandths(std::int64_t part, std::int64_t of) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1000;
  return of <= kMost ? part * 1000 / of : part / (of / 1000);
}

/// The mean of what nodes use of a resource, in percent; of all nodes, also those that have none of it.
double average(std::span<const NodeLoad> nodes, Amounts NodeLoad::*usage, std::size_t resource) {
  double sum = 0;
  for (const NodeLoad& node : nodes)
    if (const std::int64_t capacity = node.capacity[resource]; capacity != 0)
      sum += static_cast<double>((node.*usage)[resource]) / static_cast<double>(capacity) * 100.0;
  return sum / static_cast<double>(nodes.size());
}

}  // namespace

Thresholds complete_thresholds(const Percentages& low, const Percentages& high, const Percentages& prod_low,
                               const Percentages& prod_high, bool deviation) {
  std::set<std::string_view> names = {"memory"};
  for (const Percentages* all : {&low, &high, &prod_low, &prod_high})
    for (const auto& [name, percent] : *all) names.insert(name.view());
  Thresholds done;
  done.deviation = deviation;
  const double unlimited = deviation ? kNothing : kAll;
  const auto add = [&](std::string_view name, const Percentages& lower, const Percentages& upper,
                       std::vector<double>& to_lower, std::vector<double>& to_upper) {
    const double* const said = lower.find(name);
    const double* const above = upper.find(name);
    to_lower.push_back(said != nullptr ? *said : unlimited);
    to_upper.push_back(said == nullptr ? unlimited : above != nullptr ? *above : kNothing);
  };
  for (const std::string_view name : names) {
    done.resources.emplace_back(name);
    add(name, low, high, done.low, done.high);
    add(name, prod_low, prod_high, done.prod_low, done.prod_high);
  }
  return done;
}

std::vector<Limits> limits_of(const Thresholds& thresholds, std::span<const NodeLoad> nodes) {
  const std::size_t count = thresholds.resources.size();
  std::vector<Limits> limits(nodes.size());
  for (std::size_t r = 0; r < count; ++r) {
    const bool deviates = thresholds.deviation && !nodes.empty();
    const double mean = deviates ? average(nodes, &NodeLoad::usage, r) : 0;
    const double prod_mean = deviates ? average(nodes, &NodeLoad::prod_usage, r) : 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::int64_t capacity = nodes[i].capacity[r];
      const auto add = [&](double lower, double upper, double around, Amounts& to_lower, Amounts& to_upper) {
        if (!thresholds.deviation) {
          to_lower.push_back(share(capacity, lower));
          to_upper.push_back(share(capacity, upper));
        } else if (lower == kNothing) {
          to_lower.push_back(capacity);
          to_upper.push_back(capacity);
        } else {
          to_lower.push_back(share(capacity, std::clamp(around - lower, kNothing, kAll)));
          to_upper.push_back(share(capacity, std::clamp(around + upper, kNothing, kAll)));
        }
      };
      add(thresholds.low[r], thresholds.high[r], mean, limits[i].low, limits[i].high);
      add(thresholds.prod_low[r], thresholds.prod_high[r], prod_mean, limits[i].prod_low,
          limits[i].prod_high);
    }
  }
  return limits;
}

std::optional<double> percent_of(std::int64_t usage, std::int64_t capacity) {
  if (capacity == 0) return std::nullopt;
  return 100 * static_cast<double>(usage) / static_cast<double>(capacity);
}

bool exceeds(const Amounts& usage, const Amounts& limit) {
  for (std::size_t r = 0; r < limit.size(); ++r)
    if (usage[r] > limit[r]) return true;
  return false;
}

Kind kind_of(const NodeLoad& node, const Limits& limits) {
  const bool prod_high = exceeds(node.prod_usage, limits.prod_high);
  const bool prod_low = node.schedulable && !exceeds(node.prod_usage, limits.prod_low);
  if (node.schedulable && !exceeds(node.usage, limits.low))
    return prod_high ? Kind::prod_high : prod_low ? Kind::both_low : Kind::low;
  if (exceeds(node.usage, limits.high)) return Kind::high;
  return prod_high ? Kind::prod_high : prod_low ? Kind::prod_low : Kind::fine;
}

std::int64_t node_score(const Amounts& usage, const Amounts& capacity,
                        std::span<const std::int64_t> weights) {
  std::int64_t score = 0, sum = 0;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    sum += weights[r];
    if (capacity[r] > 0)
      score += thousandths(std::clamp<std::int64_t>(usage[r], 0, capacity[r]), capacity[r]) * weights[r];
  }
  return sum != 0 ? score / sum : 0;
}

double pod_score(const Amounts& usage, const Amounts& excess, std::span<const std::int64_t> weights) {
  double score = 0;
  std::int64_t sum = 0;
  for (std::size_t r = 0; r < weights.size(); ++r) {
    if (excess[r] <= 0) continue;
    sum += weights[r];
    const double ratio = static_cast<double>(usage[r]) / static_cast<double>(excess[r]);
    score += (ratio >= 1 ? 1 / ratio + 1 : ratio) * static_cast<double>(weights[r]);
  }
  return sum != 0 ? score / static_cast<double>(sum) : 0;
}

}  // namespace koord::descheduler::low_node_load
