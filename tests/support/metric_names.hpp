// Names of metrics, for comparing what a role registers with what its descriptor lists.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "koord/base/metrics.hpp"

namespace koord::test {

/// Sorted; a name that stands twice is there twice.
inline std::vector<std::string_view> metric_names(std::span<const metrics::Table> tables) {
  std::vector<std::string_view> names;
  for (const metrics::Table& table : tables)
    for (const metrics::Metric* row : table) names.push_back(row->name);
  std::ranges::sort(names);
  return names;
}

inline std::vector<std::string_view> metric_names(const metrics::Registry& registry) {
  std::vector<std::string_view> names;
  for (const metrics::Metric* row : registry.rows()) names.push_back(row->name);
  return names;
}

}  // namespace koord::test
