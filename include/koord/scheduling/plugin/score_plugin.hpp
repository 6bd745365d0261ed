// Scores that look at one row: its node, and the pods on it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/node_view.hpp"
#include "koord/scheduling/plugin/plugin_base.hpp"

namespace koord::scheduling {

/// Raw scores, and how they become 0..100.
class ScorePlugin {
 public:
  enum class Normalize : std::uint8_t {
    none,      // raw scores are 0..100 already
    to_best,   // 100 * raw / (the best raw among the feasible nodes)
    to_worst,  // 100 - the same; 100 for all if there is none
  };
  struct Prepared {
    std::unique_ptr<PodState> state;
    bool skip = false;  // the plugin has no say about this class
  };

  virtual ~ScorePlugin() = default;
  virtual Depends score_depends() const = 0;
  virtual Normalize normalize() const { return Normalize::none; }
  virtual Prepared prepare_score(const PodInfo& pod) = 0;
  /// What all its raw scores follow from besides their rows, if a node's change can change those of other
  /// nodes: they are all made anew when this is another number. It changes with nodes alone.
  virtual std::uint64_t score_version(const PodState* /*state*/) const { return 0; }
  virtual void score(PodState* state, const NodeTable& nodes, std::span<const Row> rows,
                     std::span<std::int32_t> out) const = 0;
  /// The raw score of the view's row as it would be. To be written by what depends on pods; for the others
  /// the row itself says it.
  virtual std::int32_t score_view(PodState* state, const NodeTable& nodes, const NodeView& view) const {
    const Row row = view.row();
    std::int32_t raw = 0;
    score(state, nodes, {&row, 1}, {&raw, 1});
    return raw;
  }
};

/// Marks a score whose preparation is kube-scheduler's PreScore: without it there it does not skip.
class PreScorePlugin {
 public:
  virtual ~PreScorePlugin() = default;
};

}  // namespace koord::scheduling
