// VolumeBindingArgs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/args.hpp"
#include "plugins/node_resources_fit/args.hpp"

namespace koord::scheduler::volume_binding {

struct VolumeBindingArgs {
  std::optional<std::int64_t> bind_timeout_seconds;
  std::vector<node_resources_fit::ShapePoint> shape;  // only with the gate StorageCapacityScoring

  void validate(const std::string& path, FieldErrors& errors) const;
  /// The shape that counts; `scores`: the gate StorageCapacityScoring, without which none may be written.
  Result<std::vector<node_resources_fit::ShapePoint>> scoring_shape(bool scores) const;
  KOORD_STRUCT(VolumeBindingArgs);
};

}  // namespace koord::scheduler::volume_binding
