// NodeStory: how what a node lends to batch pods came about, figure by figure, and what makes it change. By
// the manager's own formula, from the objects as they are now.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "framework/noderesource/plugin.hpp"
#include "koord/api/figures/cluster_view.hpp"

namespace koord::manager {

/// A line of the sum. A part that the policy does not count is absent.
struct FigureView {
  std::string name;  // capacity, margin, reserved, system, pods, level, ratio, threshold, others, lent
  std::string words;
  std::optional<double> cpu_cores;
  std::optional<std::int64_t> memory_bytes;
  bool of_above = false;  // a part of the line above, not of the sum
  KOORD_STRUCT(FigureView);
};

/// A pod that takes from what is lent.
struct TakerView {
  std::string pod;  // namespace/name
  std::string why;  // uses, "asks for (it is not measured yet)", ...
  figures::Amount amount;
  KOORD_STRUCT(TakerView);
};

struct NodeStory {
  std::string node;
  api::Time time;
  bool lends = false;
  std::string why_not;
  std::string cpu_policy, memory_policy;
  std::vector<FigureView> figures;
  figures::Amount lent;     // by the figures of now
  figures::Amount written;  // what the node says
  figures::Amount asked;    // by the batch pods that are on it
  bool over_asked = false;
  std::optional<api::Time> reported;  // of the figures: when the agent wrote them
  std::vector<TakerView> takers;      // most CPU first, some
  std::vector<std::string> changes;   // sentences: why it is not what it was, or will be another
  std::vector<std::string> notes;
  KOORD_STRUCT(NodeStory);
};

/// `plan` is plan_node()'s of the same facts and strategy.
NodeStory tell_node(const NodeFacts& facts, const ColocationStrategy& strategy, const NodePlan& plan);

/// Lines of text, each ended, of at most 80 columns but for names and sentences.
std::string render(const NodeStory& story);

}  // namespace koord::manager
