// CycleHooks: whom a class asks within a cycle, besides the plugins that it keeps something of.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "koord/base/clock.hpp"
#include "koord/scheduling/plugin/status.hpp"
#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::scheduling {

struct PodInfo;
struct Profile;

class CycleHooks {
 public:
  struct Narrowed {
    /// Anything but a success ends the cycle, in these words.
    Status status = {};
    /// Set: only these nodes are looked at.
    std::optional<std::vector<std::string>> only_nodes = {};
    /// Who says so.
    PluginIndex by = kNoPlugin;
  };
  virtual ~CycleHooks() = default;
  /// All preparations are done and none has rejected the pod. Asked where Profile::narrows().
  virtual Narrowed prepared(const Profile& profile, const PodInfo& pod) = 0;
  /// A plugin has made the rows of this cycle otherwise, and took so long for it.
  virtual void saw_deltas(const Profile& profile, PluginIndex plugin, nanoseconds took) = 0;
};

}  // namespace koord::scheduling
