// What plugins tell of their own: events about pods that found no node, and metrics.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace koord::api {
struct Pod;
}
namespace koord::metrics {
class Registry;
}

namespace koord::scheduling {

/// Tells a pod in its own terms why an attempt to place it failed.
class FailureEventPlugin {
 public:
  struct Event {
    std::string_view reason = {};  // lives as long as the plugin
    std::string note = {};
  };
  virtual ~FailureEventPlugin() = default;
  /// A warning beside FailedScheduling, under the same limits; `message` is the one of that event. Absent:
  /// there is nothing to add. Constant: it is asked on the event loop's thread while the engine's has the
  /// plugin, so that it looks at what it is given alone.
  virtual std::optional<Event> event_of_failure(const api::Pod& pod, std::string_view message) const = 0;
};

/// A plugin that counts. Its rows stand in plugin_metrics() (plugins.hpp), by which they are known whether a
/// profile has the plugin or not.
class MeasuredPlugin {
 public:
  virtual ~MeasuredPlugin() = default;
  /// Once, before the engine's thread has the plugin, of each instance; the registry outlives it. Without
  /// that call it counts into nothing.
  virtual void measure(metrics::Registry& registry) = 0;
};

}  // namespace koord::scheduling
