// How old figures may be: see node_view.hpp.
#include "framework/noderesource/node_view.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace koord::manager {

std::chrono::seconds fresh_for(const ColocationStrategy& strategy) {
  constexpr std::int64_t kYear = std::int64_t{365} * 24 * 60;  // longer is for ever, and must not overflow
  return std::chrono::minutes(std::clamp<std::int64_t>(strategy.degrade_time_minutes.value_or(15), 0, kYear));
}

std::optional<std::string> stale(const NodeView& view) {
  if (view.metric == nullptr || !view.metric->status.update_time) return "there is no NodeMetric";
  const api::NodeMetricStatus& status = view.metric->status;
  const std::chrono::seconds limit = fresh_for(view.strategy);
  const auto age = view.now.at - status.update_time->at;
  if (age > limit) return fmt::format("NodeMetric is {} s old", age.count());
  if (age < -limit) return "NodeMetric is from the future";
  const api::ResourceList* const system =
      status.node_metric ? &status.node_metric->system_usage.resources : nullptr;
  if (system == nullptr || !system->contains("cpu") || !system->contains("memory"))
    return "NodeMetric does not say what the system uses";
  return std::nullopt;
}

}  // namespace koord::manager
