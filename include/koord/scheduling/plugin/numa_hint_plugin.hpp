// NumaHintPlugin: on which memory nodes of a machine a pod may have what it asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "koord/scheduling/cluster/node_view.hpp"
#include "koord/scheduling/plugin/plugin_base.hpp"

namespace koord::scheduling {

/// Memory nodes of a machine: bit i is the one with the number i.
using NumaMask = std::uint64_t;

struct NumaHint {
  NumaMask nodes = 0;
  bool preferred = false;  // nothing narrower would ever do
  std::int64_t score = 0;
  friend bool operator==(const NumaHint&, const NumaHint&) = default;
};

/// What one resource of a provider could have, each mask once: fewer nodes first, then those of lower numbers
/// ({0,1}, {0,2}, {1,2}). Absent: it does not care; none: it can have it nowhere.
struct NumaHintList {
  std::string resource;
  std::optional<std::vector<NumaHint>> hints;
};

/// Koordinator's NUMATopologyHintProvider.
class NumaHintPlugin {
 public:
  virtual ~NumaHintPlugin() = default;
  /// Once for all pods that the plugin signs alike. nullptr: it has no say about them.
  virtual std::unique_ptr<PodState> prepare_numa_hints(const PodInfo& pod) = 0;
  /// Appends a list for each resource. What they follow from besides the row in the table is marked there
  /// (NodeTable::mark) when it changes.
  virtual void numa_hints(PodState& state, const NodeView& view, std::vector<NumaHintList>& out) const = 0;
};

}  // namespace koord::scheduling
