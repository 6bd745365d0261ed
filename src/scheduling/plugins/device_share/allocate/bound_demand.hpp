// BoundDemand: what follows from a demand and a shape alone, once for all machines of that shape.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "scheduling/plugins/device_share/devices/device_shape.hpp"
#include "scheduling/plugins/device_share/request/demand.hpp"

namespace koord::scheduling::device_share {

/// Keeps the shape; the demand outlives it. Immutable.
struct BoundDemand {
  struct OfType {
    Places selected = 0;  // by the hint's selector; without one all
    std::vector<std::uint64_t>
        functions;  // that the selector of virtual functions takes, by the type's words
  };

  BoundDemand(const DeviceDemand& demand, std::shared_ptr<const DeviceShape> shape);

  const DeviceDemand* demand;
  std::shared_ptr<const DeviceShape> shape;
  std::array<OfType, kDeviceTypes> types;
  /// Of the pod's number of GPUs, with enough bandwidth; nullptr: the shape has none of so many.
  const DeviceShape::Partitions* partitions = nullptr;
  std::vector<const DeviceShape::Partition*> wide_enough;
  /// How many of the pod's templates this model has, and the name if it is one.
  std::size_t templates = 0;
  std::string share_template;
};

}  // namespace koord::scheduling::device_share
