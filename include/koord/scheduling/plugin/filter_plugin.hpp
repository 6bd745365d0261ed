// Filters that look at one row: its node, and the pods on it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/node_view.hpp"
#include "koord/scheduling/plugin/plugin_base.hpp"
#include "koord/scheduling/plugin/status_code.hpp"
#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::scheduling {

/// The preparation and the verdicts of a filter.
class FilterPlugin {
 public:
  struct Prepared {
    std::unique_ptr<PodState> state;
    bool skip = false;  // every node passes
    /// Set: only these nodes are looked at; the others count as "didn't satisfy plugin(s) [NAME]".
    std::optional<std::vector<std::string>> only_nodes;
    std::string rejected;                        // set: no node can do, and this is why
    StatusCode code = StatusCode::unresolvable;  // of `rejected`: this or error
  };

  virtual ~FilterPlugin() = default;
  virtual Depends filter_depends() const = 0;
  virtual Prepared prepare_filter(const PodInfo& pod) = 0;
  /// out[i] = verdict on rows[i], kPass if the pod may go there. Every row holds a node. Where all nodes are
  /// looked at, the rows come in blocks, in order.
  virtual void filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
                      std::span<VerdictId> out) const = 0;
  /// The verdict on the view's row as it would be. To be written by what depends on
  /// pods; for the others the row itself says it.
  virtual VerdictId filter_view(PodState* state, const NodeTable& nodes, const NodeView& view) const {
    const Row row = view.row();
    VerdictId verdict = kPass;
    filter(state, nodes, {&row, 1}, {&verdict, 1});
    return verdict;
  }
};

/// Marks a filter whose preparation is kube-scheduler's PreFilter: for a configuration that does not name it
/// there the preparation neither rejects, nor narrows down, nor skips.
class PreFilterPlugin {
 public:
  virtual ~PreFilterPlugin() = default;
};

/// Marks a filter that is a preparation and nothing else: no plugin for the extension point Filter.
class PreFilterAlonePlugin : public PreFilterPlugin, public FilterPlugin {
 public:
  void filter(PodState*, const NodeTable&, std::span<const Row>, std::span<VerdictId>) const final {}
};

/// A filter that judges node by node.
class NodeFilterPlugin : public FilterPlugin {
 public:
  void filter(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
              std::span<VerdictId> out) const final {
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = filter_node(state, nodes, rows[i]);
  }
  virtual VerdictId filter_node(PodState* state, const NodeTable& nodes, Row row) const = 0;
};

}  // namespace koord::scheduling
