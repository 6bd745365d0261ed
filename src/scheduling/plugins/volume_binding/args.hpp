// VolumeBindingArgs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "koord/scheduling/plugin/args.hpp"
#include "koord/scheduling/scoring/node_resources_fit_args.hpp"

namespace koord::scheduling::volume_binding {

struct VolumeBindingArgs {
  std::optional<std::int64_t> bind_timeout_seconds;
  std::vector<ShapePoint> shape;  // only with the gate StorageCapacityScoring

  void validate(const std::string& path, FieldErrors& errors) const;
  /// The shape that counts; `scores`: the gate StorageCapacityScoring, without which none may be written.
  Result<std::vector<ShapePoint>> scoring_shape(bool scores) const;
  KOORD_STRUCT(VolumeBindingArgs);
};

}  // namespace koord::scheduling::volume_binding
