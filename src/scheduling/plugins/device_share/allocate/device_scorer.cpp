// DeviceScorer: see device_scorer.hpp.
#include "scheduling/plugins/device_share/allocate/device_scorer.hpp"

#include <algorithm>

namespace koord::scheduling::device_share {

DeviceScorer::DeviceScorer(const KoordinatorScoring& scoring) : most_(scoring.type == "MostAllocated") {
  for (const KoordinatorScoring::Resource& resource : scoring.resources)
    for (const DeviceType type : kAllDeviceTypes)
      if (const auto unit = parse_unit(type, resource.name))
        weights_[index(type)][static_cast<std::size_t>(*unit)] = resource.weight;
}

std::int64_t DeviceScorer::score(DeviceType type, const Amounts& asked, const Amounts& total,
                                 const Amounts& free) const {
  std::int64_t sum = 0, weights = 0;
  for (std::size_t i = 0; i < kUnits; ++i) {
    const auto unit = static_cast<Unit>(i);
    const std::int64_t weight = weights_[index(type)][i], capacity = total[unit];
    if (weight == 0 || capacity == 0) continue;
    const std::int64_t used = capacity >= free[unit] ? capacity - free[unit] + asked[unit] : capacity;
    const std::int64_t score = most_             ? std::min(used, capacity) * 100 / capacity
                               : used > capacity ? 0
                                                 : (capacity - used) * 100 / capacity;
    sum += score * weight;
    weights += weight;
  }
  return weights == 0 ? 0 : sum / weights;
}

}  // namespace koord::scheduling::device_share
