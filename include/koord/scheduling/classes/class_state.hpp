// ClassState: the answers for one class of pods: what follows from the rows, and what reaches over them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "koord/scheduling/classes/local_state.hpp"
#include "koord/scheduling/classes/random.hpp"
#include "koord/scheduling/plugin/cross_node_plugin.hpp"
#include "koord/scheduling/plugin/row_delta_plugin.hpp"

namespace koord::scheduling {

/// What all plugins say of one row.
struct Explanation {
  VerdictId verdict;
  std::vector<ScoreDetail> scores;  // of a feasible row; without those that have no say
  std::int64_t total = 0;
};

/// What follows from each row for itself is kept (LocalState), also of rows that the class sees otherwise
/// than they are, unless a filter reaches over rows, whose answers follow from how they are seen. If a plugin
/// that reaches over rows has a say in this cycle, or pods are nominated, all rows are swept: the kept slots,
/// the verdicts of those plugins, what is seen otherwise and not kept, and, once it is known which rows are
/// feasible in the end, the scores normalised over these. Who scores but few rows, and alone, does without.
/// The answers of a sweep are in the scratch that all classes share: they hold until another class is asked.
class ClassState final : private SeenRows {
 public:
  /// `pod` stands for the class. The other arguments outlive the state.
  ClassState(const Profile& profile, const ClassShared& shared, const PodInfo& pod);

  /// Of which rows is asked in a cycle. `some`: of a few, and nothing but verdicts: they are judged when they
  /// are asked for, and all rows only when they are many.
  enum class Rows : std::uint8_t { all, some };
  /// Brings it up to date and begins a cycle for this pod of the class, which outlives the cycle.
  void update(const PodInfo& pod, Rows rows = Rows::all);
  /// False: it is made as fast as it is found.
  bool worth_keeping() const { return local_.rejected().empty() && !local_.only_named(); }

  // All of these are as of the last update().
  std::uint32_t feasible() const;
  VerdictId verdict(Row row) const;
  /// The same, and the one to ask where update() was told of some rows.
  VerdictId judge(Row row);
  /// No row can do, whatever is said of single ones: it was refused before they were looked at.
  bool refused() const { return done_ && !swept_; }
  /// The same of all rows, by row.
  void verdicts(std::vector<VerdictId>& out) const;
  /// The weighted sum after normalisation; only for feasible rows.
  std::int32_t score(Row row);
  /// A best node, each of them with the same chance; kNoRow if none is feasible.
  Row pick(Random& random);
  /// As pick, but among the first `wanted` feasible nodes from `start` on, wrapping around; `start` moves
  /// behind the last node looked at.
  Row pick_among(std::uint32_t wanted, Row& start, Random& random);
  /// Of these feasible rows, ascending, one with the best score among them plus what `more` says of it.
  Row pick_from(std::span<const Row> rows, std::span<const std::int64_t> more, Random& random);
  Diagnosis diagnose() const;
  /// Ascending; until another class is asked.
  std::span<const Row> feasible_rows();
  /// The verdicts that refuse rows, each with how many and the first `examples` of them. Nothing if it was
  /// said before the rows were looked at.
  struct Refused {
    VerdictId verdict;
    std::uint32_t rows = 0;
    std::vector<Row> examples = {};
  };
  std::vector<Refused> refused(std::size_t examples) const;
  /// While some rows are feasible nobody asks why others with nominated pods are not. For those who tell of
  /// single rows all the same: makes that answer as good.
  void judge_refused();
  Explanation explain(Row row);
  /// What a plugin's pre_filter_pod() made for this cycle, for what comes after the choice; nullptr: nothing.
  std::unique_ptr<PodState> take_per_pod(PluginIndex plugin);
  /// What a plugin keeps with the class, by its type, beside what it prepares; it may go between cycles.
  /// nullptr: nothing.
  template <class T>
  T* kept() const {
    const auto it = std::ranges::find(kept_, std::type_index(typeid(T)), &Kept::type);
    return it != kept_.end() ? static_cast<T*>(it->state.get()) : nullptr;
  }
  /// In place of what was there.
  template <class T>
  T& keep(std::unique_ptr<T> made) {
    T& state = *made;
    const std::type_index type = typeid(T);
    const auto it = std::ranges::find(kept_, type, &Kept::type);
    if (it != kept_.end()) {
      it->state = std::move(made);
    } else {
      kept_.push_back({type, std::move(made)});
    }
    return state;
  }
  /// What follows from how the class sees the row holds while this, and the row, are the same; 0: it sees the
  /// row as it is.
  std::uint64_t delta_version(Row row) const;
  /// A filter that looks at more than one row, or differs from pod to pod, has a say in this cycle.
  bool reaches_over_rows() const;
  std::size_t bytes() const;

 private:
  friend class Trial;

  /// A filter of the profile that is not local.
  struct Filter {
    CrossNodeFilterPlugin* cross_node;
    PerPodFilterPlugin* per_pod;
    std::size_t position;  // in the profile's filters
    std::unique_ptr<PodState> state;
    bool asked = false;  // in this cycle
  };
  struct Score {
    CrossNodeScorePlugin* plugin;
    PluginIndex index;
    std::int32_t weight;
    std::unique_ptr<PodState> state;
    bool asked = false;
  };

  /// Who lets the class see rows otherwise.
  struct Delta {
    RowDeltaPlugin* plugin;
    std::unique_ptr<PodState> state;
    PluginIndex index;
    std::span<const Row> rows = {};  // in this cycle
    mutable nanoseconds took{};      // to make the difference, and not told yet
  };
  struct Kept {
    std::type_index type;
    std::unique_ptr<PodState> state;
  };

  /// What a row says with the pods that are nominated to it, for as long as nothing changes of either.
  struct Yielding {
    std::uint64_t row = 0, nominated = 0, delta = 0;
    std::optional<VerdictId> verdict = {};
  };

  void pre_filter();
  bool reject(std::size_t position, PreFiltered said);
  void ask_hooks();
  void narrow();
  bool is_out(Row row) const;
  void sweep();
  void collect();
  std::span<const std::int32_t> slots() const;
  std::vector<std::int32_t>& own_slots() const;
  std::size_t place(Row row) const;
  void ask(const Filter& filter);
  void filter(const Filter& filter, std::span<const Row> rows, std::span<VerdictId> out) const;
  std::span<const Row> rows_before(std::size_t position) const;
  bool find_deltas();
  std::span<const Row> rows() const override { return seen_rows_; }
  std::uint64_t key() const override;
  std::uint64_t version(Row row) const override { return delta_version(row); }
  VerdictId look(Row row, std::vector<std::int32_t>& raws) override;
  bool overlay_failed();
  void see_deltas();
  std::vector<SeenRow> all_seen();
  void tell_deltas();
  void apply_deltas(NodeView& view) const;
  bool failed_by(VerdictId verdict);
  void yield_to_nominated();
  bool yield_rows(bool feasible);
  void judge_with_nominated();
  void promote(Row row);
  std::optional<VerdictId> yielding(Row row, const Symbol& job);
  void keep_yielding_for(const Symbol& job);
  const std::optional<VerdictId>& kept_yielding(Row row, const Symbol& job);
  template <class F>
  void each_yielding(F&& judged);
  const Score* only_score() const;
  void rank();
  void rank(std::span<const Row> rows, std::vector<ScoreDetail>* detail = nullptr, std::size_t of = 0);
  Row best_of(std::span<const Row> rows, std::span<const std::int32_t> sums, Random& random) const;

  const Profile& profile_;
  const ClassShared& shared_;
  LocalState local_;
  std::vector<Filter> filters_;  // in order
  std::vector<Score> scores_;
  std::vector<Delta> deltas_;
  std::vector<Row> all_deltas_;  // of several plugins
  std::vector<Kept> kept_;
  std::vector<Yielding> yielding_;  // by row, as far as it was asked, for pods of this priority and job
  std::int32_t yielding_priority_ = 0;
  Symbol yielding_job_;

  // Of this cycle.
  const PodInfo* pod_ = nullptr;
  /// `differs_`: some rows are seen otherwise; `overlaid_`: the kept slots are theirs as they are seen.
  bool swept_ = false, ranked_ = false, differs_ = false, overlaid_ = false;
  std::uint32_t singly_ = 0;  // so many more rows are judged when they are asked for
  std::span<const Row> seen_rows_;
  std::vector<SeenRow> seen_;  // those whose slots are not kept; ascending
  /// Said of all rows but `only_`, ascending; kPass: of none.
  VerdictId out_ = kPass;
  std::vector<Row> only_;
  Diagnosis rejected_;  // by preparations or errors: nothing else is said
  bool done_ = false;   // it is set
};

}  // namespace koord::scheduling
