// ClassState: what is known about one class of pods on every node, kept up to date by what changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/cache_memory.hpp"
#include "framework/facet.hpp"
#include "framework/node_table.hpp"
#include "framework/plugin.hpp"
#include "framework/profile.hpp"
#include "framework/random.hpp"
#include "framework/score_index.hpp"
#include "framework/verdict.hpp"

namespace koord::scheduler {

/// The first update() looks at all nodes, a block of rows at a time; later ones at those that the node
/// table's log names, unless these are so many that a look at all is cheaper. A class whose pods may only go
/// to nodes that a plugin names looks at those alone. Its own are 4 bytes a row, and 4 more for a normalised
/// score that is not 0 everywhere; what follows from the nodes' objects alone is shared, in facets.
class ClassState {
 public:
  /// What the classes of an engine share; outlives them.
  struct Shared {
    NodeTable& nodes;
    VerdictTable& verdicts;
    FacetTable& facets;
    CacheMemory& memory;
    RowScratch& scratch;
  };

  /// `pod` stands for the class. The other arguments outlive the state.
  ClassState(const Profile& profile, const Shared& shared, const PodInfo& pod);

  void update();
  /// False: it is made as fast as it is found.
  bool worth_keeping() const { return rejected_.empty() && !only_nodes_; }

  // All of these are as of the last update().
  std::uint32_t feasible() const { return feasible_; }
  VerdictId verdict(Row row) const;
  /// The weighted sum after normalisation; only for feasible rows.
  std::int32_t score(Row row) const;
  /// A best node, each of them with the same chance; kNoRow if none is feasible.
  Row pick(Random& random) const;
  /// As pick, but among the first `wanted` feasible nodes from `start` on, wrapping around; `start` moves
  /// behind the last node looked at.
  Row pick_among(std::uint32_t wanted, Row& start, Random& random) const;
  Diagnosis diagnose() const;
  std::size_t bytes() const;

 private:
  struct Filter {
    FilterPlugin* plugin;
    FacetRef facet;  // if it follows from the node alone and is shared
    FilterPlugin::Prepared own;
    const FilterPlugin::Prepared& prepared() const { return facet ? facet->filtering() : own; }
  };
  struct Score {
    ScorePlugin* plugin;
    std::int32_t weight;
    ScorePlugin::Normalize normalize;
    FacetRef facet;
    ScorePlugin::Prepared own;
    // Of a normalised score, as the rows were ranked with it.
    std::vector<std::int32_t> raw;                 // by row; empty: 0 everywhere
    std::map<std::int32_t, std::uint32_t> counts;  // the feasible rows' raw scores above 0
    std::int32_t best = 0;                         // the largest of them

    const ScorePlugin::Prepared& prepared() const { return facet ? facet->scoring() : own; }
    bool normalized() const { return normalize != ScorePlugin::Normalize::none; }
    /// Its part of the sum.
    std::int32_t part(std::int32_t raw_score, std::int32_t best_raw) const;
    void count(std::int32_t raw_score, bool in);
  };

  /// What a row's slot holds: the sum of its scores, or the verdict that rejects it, as a negative number.
  static constexpr std::int32_t slot_of(VerdictId verdict) { return ~static_cast<std::int32_t>(verdict); }
  static constexpr VerdictId verdict_of(std::int32_t slot) {
    return slot >= 0 ? kPass : static_cast<VerdictId>(~slot);
  }

  bool changed_rows(std::vector<Row>& rows) const;
  void judge(std::span<const Row> rows);
  void weigh(std::span<const Row> rows);
  void rank(std::span<const Row> rows);
  void judge_named();
  void raw_scores(const Score& score, std::span<const Row> rows, bool use_facets) const;
  void rank_alone(std::span<const Row> rows) const;
  template <class Reject>
  void filter(std::vector<Row>& live, bool use_facets, Reject&& reject);
  void take_out(Row row);
  void put(Row row, std::int32_t slot);
  void count(VerdictId verdict, bool in);
  void settle_bests(std::span<const Row> pending);

  const Profile& profile_;
  const Shared& shared_;
  std::vector<Filter> filters_;
  std::vector<Score> scores_;
  std::string rejected_;  // by a preparation: nothing else is computed
  PluginMask rejectors_ = 0;
  std::optional<std::vector<std::string>> only_nodes_;  // sorted
  VerdictId not_among_ = kPass;                         // of the nodes outside only_nodes_
  std::vector<std::pair<Row, std::int32_t>> named_;     // only_nodes_ that there are, with their slots

  std::uint64_t cursor_ = 0;
  bool built_ = false;
  bool sweeping_ = false;  // all rows are looked at: the index is made at the end
  ScoreIndex index_;       // of the slots; unused with only_nodes_
  std::uint32_t feasible_ = 0;
  std::vector<std::pair<VerdictId, std::uint32_t>> histogram_;  // of the rows that hold a node
};

}  // namespace koord::scheduler
