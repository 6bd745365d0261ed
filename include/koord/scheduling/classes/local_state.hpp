// LocalState: what follows from each row for itself for one class of pods, kept up to date by what changes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/scheduling/classes/cache_memory.hpp"
#include "koord/scheduling/classes/facet.hpp"
#include "koord/scheduling/classes/overlay.hpp"
#include "koord/scheduling/classes/random.hpp"
#include "koord/scheduling/classes/score_index.hpp"
#include "koord/scheduling/classes/sweep_scratch.hpp"
#include "koord/scheduling/cluster/node_table.hpp"
#include "koord/scheduling/cluster/node_view.hpp"
#include "koord/scheduling/config/profile.hpp"
#include "koord/scheduling/plugin/plugin.hpp"
#include "koord/scheduling/plugin/verdict.hpp"

namespace koord::scheduling {

class CycleHooks;

/// What the classes of an engine share; outlives them.
struct ClassShared {
  NodeTable& nodes;
  VerdictTable& verdicts;
  FacetTable& facets;
  CacheMemory& memory;
  RowScratch& scratch;
  SweepScratch& sweep;
  const Nominated* nominated = nullptr;  // if there is anything that nominates
  CycleHooks* hooks = nullptr;           // if there is anybody to be asked
};

/// Raw score of a plugin on a row, and what became of it: 0..100 before its weight.
struct ScoreDetail {
  PluginIndex plugin;
  std::int32_t weight;
  std::int64_t raw, normalized;
};

/// What is known of a row that a class sees otherwise than it is (RowDeltaPlugin), in a cycle in which that
/// is not kept.
struct SeenRow {
  Row row = kNoRow;
  VerdictId verdict = kPass;
  std::vector<std::int32_t> raw;  // scores, as LocalState::raw_scores() has them; only if it is feasible
};

/// The first update() looks at all nodes, a block of rows at a time; later ones at those that the node
/// table's log names, unless these are so many that a look at all is cheaper. A class whose pods may only go
/// to nodes that a plugin names looks at those alone. Rows that the class sees otherwise than they are stand
/// among the others as they are seen, and are looked at again when they, or how they are seen, have changed.
/// Its own are 4 bytes a row, and 4 more for a normalised
/// score that is not 0 everywhere; what follows from the nodes' objects alone is shared, in facets.
class LocalState {
 public:
  /// What a row's slot holds: the sum of its scores, or the verdict that rejects it, as a negative number.
  static constexpr std::int32_t slot_of(VerdictId verdict) { return ~static_cast<std::int32_t>(verdict); }
  static constexpr VerdictId verdict_of(std::int32_t slot) {
    return slot >= 0 ? kPass : static_cast<VerdictId>(~slot);
  }
  using Slots = std::vector<std::pair<Row, std::int32_t>>;

  /// `pod` stands for the class. The other arguments outlive the state.
  LocalState(const Profile& profile, const ClassShared& shared, const PodInfo& pod);

  /// A preparation says that no node will do, before any is looked at.
  const std::string& rejected() const { return rejected_; }
  StatusCode rejected_code() const { return rejected_code_; }
  /// Of the preparation in the profile's filters.
  std::size_t rejected_at() const { return rejected_at_; }
  /// The plugins that rejected or narrowed down while they prepared.
  PluginMask rejectors() const { return rejectors_; }
  bool only_named() const { return only_nodes_.has_value(); }
  /// The last place of a filter that looks at rows; -1: there is none.
  int last_filter() const { return filters_.empty() ? -1 : static_cast<int>(filters_.back().position); }

  /// `seen`: the rows that this cycle's pod sees otherwise; nullptr: none, and if only_named().
  void update(SeenRows* seen = nullptr);

  // All of these are as of the last update().
  std::uint32_t feasible() const { return feasible_; }
  VerdictId verdict(Row row) const;
  /// The weighted sum after normalisation; only for feasible rows.
  std::int32_t score(Row row) const;
  /// By row; not if only_named().
  std::span<const std::int32_t> slots() const { return index_.scores(); }
  /// Those that are seen otherwise, ascending.
  std::span<const Row> overlaid() const { return overlay_.rows(); }
  /// The others there are, if only_named(); in order of the row.
  const Slots& named() const { return named_; }
  /// A best node, each of them with the same chance; kNoRow if none is feasible.
  Row pick(Random& random) const;
  /// The same with these scores on top of those that are known, each times `weight`, which is not negative.
  /// Not if only_named().
  Row pick_with(const FewScores& few, std::int32_t weight, Random& random) const;
  /// Into scratch.sums: the scores of these feasible rows, as if no others were. They may be another pod's
  /// choice of the feasible rows, so that scores are normalised by others than those of score().
  void sums_among(std::span<const Row> rows) const { sums_among(rows, {}); }
  /// The same, with what is seen otherwise; ascending, as the rows are.
  void sums_among(std::span<const Row> rows, std::span<const SeenRow> seen) const;
  /// The same from the raw scores: where few of the feasible rows are meant.
  void sums_alone(std::span<const Row> rows, std::span<const SeenRow> seen = {}) const;
  /// Appends all raw scores of a row with deltas.
  void raw_scores(const NodeView& view, std::vector<std::int32_t>& out) const;
  /// What the filters at these places of the profile, `from` to before `to`, say of a row with deltas.
  VerdictId judge(const NodeView& view, std::size_t from, std::size_t to) const;
  bool may_go(Row row) const;
  /// Of a row among those that are feasible in the end.
  void explain(Row row, std::span<const Row> feasible, std::span<const SeenRow> seen,
               std::vector<ScoreDetail>& out) const;
  void diagnose(Diagnosis& diagnosis) const;
  /// Only of the nodes that are not named().
  void diagnose_others(Diagnosis& diagnosis) const;
  std::size_t bytes() const;

 private:
  struct Filter {
    FilterPlugin* plugin;
    std::size_t position;  // in the profile's filters
    FacetRef facet;        // if it follows from the node alone and is shared
    FilterPlugin::Prepared own;
    const FilterPlugin::Prepared& prepared() const { return facet ? facet->filtering() : own; }
  };
  struct Score {
    ScorePlugin* plugin;
    PluginIndex index;
    std::int32_t weight;
    ScorePlugin::Normalize normalize;
    FacetRef facet;
    ScorePlugin::Prepared own;
    std::uint64_t version = 0;
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

  bool changed_rows(std::vector<Row>& rows) const;
  bool versions_changed();
  void fetch(std::span<const Row> rows) const;
  void judge_rows(std::span<const Row> rows);
  void weigh(std::span<const Row> rows);
  void rank(std::span<const Row> rows);
  void refuse(Row row, VerdictId verdict);
  void see(SeenRows& seen);
  void weigh_seen(std::span<const Row> rows);
  void rank_seen(std::span<const Row> rows);
  void judge_named();
  void raw_scores(const Score& score, std::span<const Row> rows, bool use_facets) const;
  void raw_scores(const Score& score, std::span<const Row> rows, std::span<const SeenRow> seen) const;
  void sums_with(std::span<const Row> rows, std::span<const SeenRow> seen) const;
  template <class Reject>
  void filter(std::vector<Row>& live, bool use_facets, Reject&& reject);
  void take_out(Row row);
  void put(Row row, std::int32_t slot);
  void count(VerdictId verdict, bool in);
  void forget_verdicts();
  /// The slot of one of only_nodes_; nullptr: it is none.
  const std::int32_t* named(Row row) const;
  void settle_bests(std::span<const Row> pending);

  const ClassShared& shared_;
  std::vector<Filter> filters_;
  std::vector<Score> scores_;
  std::string rejected_;  // by a preparation: nothing else is computed
  StatusCode rejected_code_ = StatusCode::unresolvable;
  std::size_t rejected_at_ = 0;
  PluginMask rejectors_ = 0;
  std::optional<std::vector<std::string>> only_nodes_;  // sorted
  VerdictId not_among_ = kPass;                         // of the nodes outside only_nodes_
  Slots named_;                                         // only_nodes_ that there are

  std::uint64_t cursor_ = 0;
  bool built_ = false;
  bool sweeping_ = false;  // all rows are looked at: the index is made at the end
  ScoreIndex index_;       // of the slots; unused with only_nodes_
  Overlay overlay_;        // the rows whose slots tell how they are seen
  std::uint32_t feasible_ = 0;
  using Histogram = std::unordered_map<VerdictId, std::uint32_t>;
  Histogram histogram_;                    // of the rows that hold a node
  Histogram::value_type* last_ = nullptr;  // that was counted
};

}  // namespace koord::scheduling
