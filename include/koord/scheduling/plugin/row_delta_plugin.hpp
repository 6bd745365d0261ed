// RowDeltaPlugin: pods that see some rows otherwise than they are.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "koord/scheduling/cluster/node_view.hpp"
#include "koord/scheduling/plugin/plugin_base.hpp"

namespace koord::scheduling {

/// Gives rows back for some pods what is kept there for them, or keeps from them what others may have: for
/// the filters and the scores of a class each of its rows is as the plugin makes the NodeView. A row that
/// refused the pod may take it then; another class does not see it. What reaches over rows is told of the
/// view's pods in its filters, and scores the pods that there are.
class RowDeltaPlugin {
 public:
  virtual ~RowDeltaPlugin() = default;
  /// Once for a class; what it reads of the pod it signs. nullptr: its pods see rows as they are, whatever
  /// happens, and the plugin is not asked again. May go and be made again between cycles.
  virtual std::unique_ptr<PodState> prepare_deltas(const PodInfo& pod) = 0;
  /// In each cycle: the rows that differ for this pod of the class, ascending, each once, maybe without a
  /// node; good until the cycle ends. It costs little if nothing changed.
  virtual std::span<const Row> delta_rows(PodState& state, const PodInfo& pod) = 0;
  /// Of one of these. What follows from the difference holds while it is the same number: what differs from
  /// pod to pod has different ones.
  virtual std::uint64_t delta_version(const PodState& state, Row row) const = 0;
  /// Of all of these together. The same as in an earlier cycle of the class: since then no row has come to
  /// them, left them, or has another version, but for those that the node table's log names. 0: nobody knows.
  virtual std::uint64_t delta_key(const PodState&) const { return 0; }
  /// Makes the difference. The view may have those of other plugins already.
  virtual void apply(const PodState& state, NodeView& view) const = 0;
};

}  // namespace koord::scheduling
