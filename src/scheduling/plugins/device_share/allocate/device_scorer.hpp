// DeviceScorer: how full devices are, or a machine by its devices.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "koord/scheduling/scoring/resource_args.hpp"
#include "scheduling/plugins/device_share/request/amounts.hpp"

namespace koord::scheduling::device_share {

/// Koordinator's LeastAllocated and MostAllocated: the weighted mean, in whole numbers, over the resources of
/// which there are any.
class DeviceScorer {
 public:
  /// Scores 0.
  DeviceScorer() = default;
  /// Of a resource that is there twice the last entry counts; those that no device has count for nothing.
  explicit DeviceScorer(const KoordinatorScoring& scoring);

  /// 0 to 100: a device, or all of a machine's of one type added up, if `asked` came onto it.
  std::int64_t score(DeviceType type, const Amounts& asked, const Amounts& total, const Amounts& free) const;

 private:
  bool most_ = false;
  std::array<std::array<std::int64_t, kUnits>, kDeviceTypes> weights_{};
};

}  // namespace koord::scheduling::device_share
