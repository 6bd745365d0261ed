// ClassState: what is known about one class of pods on every node, kept up to date by what changes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "framework/node_table.hpp"
#include "framework/plugin.hpp"
#include "framework/profile.hpp"
#include "framework/random.hpp"
#include "framework/score_index.hpp"
#include "framework/verdict.hpp"
#include "koord/base/clock.hpp"

namespace koord::scheduler {

/// The first update() looks at all nodes; later ones at those that the node table's log names. Verdicts
/// and scores that follow from the node's object alone are computed again only when that object changed.
class ClassState {
 public:
  /// Buffers that all classes of an engine share, so that an update allocates nothing.
  struct Scratch {
    std::vector<Row> rows, statics, live, passing;
    std::vector<VerdictId> verdicts;
    std::vector<std::int32_t> scores;
    /// If there is a clock, the time that ranking took is added up here.
    const Clock* clock = nullptr;
    nanoseconds scoring{0};
  };

  /// `pod` stands for the class. The arguments outlive the state.
  ClassState(const Profile& profile, NodeTable& nodes, VerdictTable& verdicts, const PodInfo& pod);

  void update(Scratch& scratch);

  // All of these are as of the last update().
  std::uint32_t feasible() const { return feasible_; }
  VerdictId verdict(Row row) const { return row < verdict_.size() ? verdict_[row] : kAbsent; }
  /// The weighted sum after normalisation; only for feasible rows.
  std::int32_t score(Row row) const { return index_.score(row); }
  /// A best node, each of them with the same chance; kNoRow if none is feasible.
  Row pick(Random& random) const {
    return index_.pick([&](std::uint32_t n) { return random.below(n); });
  }
  /// As pick, but among the first `wanted` feasible nodes from `start` on, wrapping around; `start` moves
  /// behind the last node looked at.
  Row pick_among(std::uint32_t wanted, Row& start, Random& random) const;
  Diagnosis diagnose() const;
  std::size_t bytes() const;

 private:
  struct Filter {
    FilterPlugin* plugin;
    std::unique_ptr<PodState> state;
    int position;
    Depends depends;
  };
  struct Score {
    ScorePlugin* plugin;
    std::unique_ptr<PodState> state;
    std::int32_t weight;
    ScorePlugin::Normalize normalize;
    Depends depends;
    std::vector<std::int32_t> raw;  // kept if normalised or following from the node alone
    std::vector<std::pair<std::int32_t, std::uint32_t>> counts;  // of the feasible rows' raw, if normalised
    std::int32_t best = 0;                                       // the largest of them, at least 0
    bool keeps_raw() const { return normalize != ScorePlugin::Normalize::none || depends == Depends::node; }
    std::int32_t total(std::int32_t raw_score, std::int32_t best_raw) const;
  };

  void grow();
  void judge_statics(std::span<const Row> rows, Scratch& scratch);
  void judge(std::span<const Row> rows, Scratch& scratch);
  void rank(std::span<const Row> rows, Scratch& scratch);
  void count(VerdictId verdict, int change);
  static void count(Score& score, std::int32_t raw, int change);
  bool bests_moved();
  std::int32_t total(Row row) const;

  const Profile& profile_;
  NodeTable& nodes_;
  VerdictTable& verdicts_;
  std::vector<Filter> filters_;
  std::vector<Score> scores_;
  std::string rejected_;  // by a preparation: nothing else is computed
  PluginMask rejectors_ = 0;
  std::optional<std::unordered_set<std::string>> only_nodes_;
  VerdictId not_among_ = kPass;  // of the nodes outside only_nodes_

  std::uint64_t cursor_ = 0;
  bool built_ = false;
  std::vector<VerdictId> static_verdict_, verdict_;
  std::vector<std::int32_t> base_;  // the weighted sum of the scores that are not normalised
  ScoreIndex index_;
  std::uint32_t feasible_ = 0;
  std::vector<std::pair<VerdictId, std::uint32_t>> histogram_;  // of the rows that hold a node
};

}  // namespace koord::scheduler
