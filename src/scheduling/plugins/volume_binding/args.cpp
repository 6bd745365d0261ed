// VolumeBindingArgs: see args.hpp.
#include "scheduling/plugins/volume_binding/args.hpp"

#include <fmt/format.h>

#include "koord/api/schema/table.hpp"

namespace koord::scheduling::volume_binding {

void VolumeBindingArgs::validate(const std::string& path, FieldErrors& errors) const {
  if (*bind_timeout_seconds < 0)
    errors.invalid(fmt::format("{}.bindTimeoutSeconds", path), std::to_string(*bind_timeout_seconds),
                   "invalid BindTimeoutSeconds, should not be a negative value");
}

Result<std::vector<ShapePoint>> VolumeBindingArgs::scoring_shape(bool scores) const {
  FieldErrors errors;
  if (!scores && !shape.empty()) {
    std::vector<std::string> points;
    for (const auto& p : shape)
      points.push_back(fmt::format(R"({{"Utilization":{},"Score":{}}})", p.utilization, p.score));
    errors.invalid("shape", fmt::format("[{}]", fmt::join(points, ",")),
                   "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring");
  }
  if (scores && !shape.empty()) validate_shape(shape, "shape", errors);
  if (!errors.empty()) return Error(Code::invalid, errors.text());
  // The less of its storage is taken, the better.
  if (scores && shape.empty()) return std::vector<ShapePoint>{{0, 10}, {100, 0}};
  return shape;
}

KOORD_OBJECT(
    VolumeBindingArgs, args_kind("VolumeBindingArgs"),
    ROW(bind_timeout_seconds)
        .default_json("600")
        .doc("How long a pod waits for its volumes to be bound before it is tried anew, in seconds."),
    ROW(shape).doc("With the gate StorageCapacityScoring: points of a broken line, the score by the "
                   "used percentage of the storage; the emptier the better."));

}  // namespace koord::scheduling::volume_binding
