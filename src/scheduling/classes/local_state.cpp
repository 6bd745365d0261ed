// LocalState: see local_state.hpp.
#include "koord/scheduling/classes/local_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "koord/api/types/core_v1/node.hpp"

namespace koord::scheduling {

namespace {

/// out[i] = values[rows[i]]
void gather(std::span<const std::int32_t> values, std::span<const Row> rows, std::vector<std::int32_t>& out) {
  if (in_a_row(rows)) {
    const auto run = values.subspan(rows.front(), rows.size());
    out.assign(run.begin(), run.end());
    return;
  }
  out.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) out[i] = values[rows[i]];
}

/// f(the row's place among `rows`, what is seen) for those of `rows` that are seen otherwise. Both ascend.
template <class F>
void each_seen(std::span<const Row> rows, std::span<const SeenRow> seen, F&& f) {
  auto from = rows.begin();
  for (const SeenRow& row : seen) {
    from = std::lower_bound(from, rows.end(), row.row);
    if (from == rows.end()) return;
    if (*from == row.row) f(static_cast<std::size_t>(from - rows.begin()), row);
  }
}

}  // namespace

LocalState::LocalState(const Profile& profile, const ClassShared& shared, const PodInfo& pod)
    : shared_(shared) {
  std::vector<std::string> restricting;
  for (std::size_t at = 0; at < profile.filters.size(); ++at) {
    const Profile::Filter& registered = profile.filters[at];
    if (registered.local == nullptr) continue;
    Filter filter{registered.local, at, {}, {}};
    if (registered.local->filter_depends() == Depends::node)
      filter.facet = shared.facets.filter(profile, registered, pod);
    if (!filter.facet) filter.own = registered.local->prepare_filter(pod);
    const FilterPlugin::Prepared& prepared = filter.prepared();
    if (registered.prepares && !prepared.rejected.empty()) {
      rejected_ = prepared.rejected;
      rejected_code_ = prepared.code;
      rejected_at_ = at;
      rejectors_ = mask_of(registered.index);
      return;
    }
    if (registered.prepares && prepared.only_nodes) {
      std::vector<std::string> names = *prepared.only_nodes, both;
      std::sort(names.begin(), names.end());
      names.erase(std::unique(names.begin(), names.end()), names.end());
      if (only_nodes_) {
        std::set_intersection(names.begin(), names.end(), only_nodes_->begin(), only_nodes_->end(),
                              std::back_inserter(both));
        names = std::move(both);
      }
      only_nodes_ = std::move(names);
      restricting.emplace_back(profile.plugin_name(registered.index));
      rejectors_ |= mask_of(registered.index);
      rejected_at_ = at;
    }
    if (registered.answers && !prepared.skip) filters_.push_back(std::move(filter));
  }
  if (only_nodes_) {
    std::sort(restricting.begin(), restricting.end());
    const std::string why = fmt::format("node(s) didn't satisfy plugin(s) [{}]", fmt::join(restricting, " "));
    if (only_nodes_->empty()) {
      rejected_ = restricting.size() == 1
                      ? fmt::format("node(s) didn't satisfy plugin {}", restricting.front())
                      : fmt::format("{} simultaneously", why);
      return;
    }
    not_among_ = shared.verdicts.intern({kNoPlugin, true, {why}});
  }
  for (const Profile::Score& registered : profile.scores) {
    if (registered.local == nullptr) continue;
    Score score{registered.local,
                registered.index,
                registered.weight,
                registered.local->normalize(),
                {},
                {},
                0,
                {},
                {}};
    if (registered.local->score_depends() == Depends::node)
      score.facet = shared.facets.score(profile, registered, pod);
    if (!score.facet) score.own = registered.local->prepare_score(pod);
    if (!score.prepared().skip || !registered.prepares) scores_.push_back(std::move(score));
  }
}

std::int32_t LocalState::Score::part(std::int32_t raw_score, std::int32_t best_raw) const {
  constexpr std::int64_t kMax = 100;
  switch (normalize) {
    case ScorePlugin::Normalize::none: return weight * raw_score;
    case ScorePlugin::Normalize::to_best:
      return best_raw == 0 ? weight * raw_score
                           : weight * static_cast<std::int32_t>(kMax * raw_score / best_raw);
    case ScorePlugin::Normalize::to_worst:
      return best_raw == 0 ? weight * 100
                           : weight * static_cast<std::int32_t>(kMax - kMax * raw_score / best_raw);
  }
  return 0;
}

void LocalState::Score::count(std::int32_t raw_score, bool in) {
  if (raw_score <= 0) return;
  const auto it = counts.try_emplace(raw_score, 0).first;
  if (in) {
    ++it->second;
  } else if (--it->second == 0) {
    counts.erase(it);
  }
}

/// The rows to look at again; false: all of them.
bool LocalState::changed_rows(std::vector<Row>& rows) const {
  const NodeTable& nodes = shared_.nodes;
  rows.clear();
  if (!built_ || cursor_ < nodes.log_begin()) return false;
  // A row out of order costs as much as several in order.
  const std::size_t most = std::max<std::size_t>(nodes.rows() / 3, 16);
  for (std::uint64_t n = cursor_; n < nodes.log_end(); ++n) {
    if (!nodes.latest(n)) continue;
    if (rows.size() == most) return false;
    rows.push_back(nodes.change(n));
  }
  return true;
}

/// Scores of rows that did not change may have, all the same.
bool LocalState::versions_changed() {
  if (built_ && cursor_ > shared_.nodes.newest_node_change()) return false;
  bool changed = false;
  for (Score& s : scores_) {
    const std::uint64_t now = s.plugin->score_version(s.prepared().state.get());
    changed |= std::exchange(s.version, now) != now;
  }
  return changed;
}

void LocalState::update(SeenRows* seen) {
  const NodeTable& nodes = shared_.nodes;
  RowScratch& scratch = shared_.scratch;
  const bool overlaid = seen != nullptr || !overlay_.empty();
  if (!rejected_.empty() || (built_ && !overlaid && cursor_ == nodes.log_end())) return;
  if (only_nodes_) {
    judge_named();
  } else {
    for (Filter& f : filters_)
      if (f.facet) f.facet->update(nodes, shared_.memory, scratch);
    for (Score& s : scores_)
      if (s.facet) s.facet->update(nodes, shared_.memory, scratch);
    sweeping_ = !changed_rows(scratch.rows);
    if (versions_changed()) sweeping_ = true;
    if (sweeping_) {
      index_.clear(nodes.rows(), slot_of(kAbsent));
      feasible_ = 0;
      forget_verdicts();
      for (Score& s : scores_) {
        s.raw.clear();
        s.counts.clear();
        s.best = 0;
      }
      scratch.rows.resize(nodes.rows());
      std::iota(scratch.rows.begin(), scratch.rows.end(), 0);
    } else {
      index_.resize(nodes.rows(), slot_of(kAbsent));
      for (Score& s : scores_)
        if (!s.raw.empty()) s.raw.resize(nodes.rows(), 0);
    }
    scratch.overlaid.clear();
    if (overlaid) overlay_.move_to(seen, nodes, sweeping_, scratch.rows, scratch.overlaid);
    scratch.looked_at += scratch.rows.size() + scratch.overlaid.size();
    if (!sweeping_) fetch(scratch.rows);
    scratch.passing.clear();
    in_blocks(scratch.rows, [&](std::span<const Row> block) { judge_rows(block); });
    const std::size_t as_they_are = scratch.passing.size();
    if (!scratch.overlaid.empty()) see(*seen);
    const std::span<const Row> passing = scratch.passing, plain = passing.first(as_they_are);
    const MonoTime start = scratch.clock != nullptr ? scratch.clock->mono() : MonoTime();
    if (!sweeping_)
      for (const Row row : passing) take_out(row);
    in_blocks(plain, [&](std::span<const Row> block) { weigh(block); });
    weigh_seen(passing.subspan(as_they_are));
    settle_bests(passing);
    in_blocks(plain, [&](std::span<const Row> block) { rank(block); });
    rank_seen(passing.subspan(as_they_are));
    if (sweeping_) index_.rebuild();
    if (scratch.clock != nullptr) scratch.scoring += scratch.clock->mono() - start;
  }
  built_ = true;
  cursor_ = nodes.log_end();
}

/// Leaves in `live` what passes. The first filter in the profile's order that rejects a node gives the
/// verdict.
template <class Reject>
void LocalState::filter(std::vector<Row>& live, bool use_facets, Reject&& reject) {
  std::vector<VerdictId>& verdicts = shared_.scratch.verdicts;
  for (const Filter& f : filters_) {
    if (live.empty()) return;
    std::size_t kept = 0;
    const auto keep = [&](std::size_t i, VerdictId verdict) {
      if (verdict == kPass) {
        live[kept++] = live[i];
      } else {
        reject(live[i], verdict);
      }
    };
    if (use_facets && f.facet && f.facet->kept()) {
      if (f.facet->all_zero()) continue;
      const Facet& facet = *f.facet;
      for (std::size_t i = 0; i < live.size(); ++i) keep(i, static_cast<VerdictId>(facet[live[i]]));
    } else {
      verdicts.resize(live.size());
      f.plugin->filter(f.prepared().state.get(), shared_.nodes, live, verdicts);
      for (std::size_t i = 0; i < live.size(); ++i) keep(i, verdicts[i]);
    }
    live.resize(kept);
  }
}

/// What a class keeps of rows here and there has left the CPU's caches by its next turn.
void LocalState::fetch(std::span<const Row> rows) const {
  const std::span<const std::int32_t> slots = index_.scores();
  for (const Row row : rows) {
    __builtin_prefetch(&slots[row]);
    for (const Score& s : scores_)
      if (!s.raw.empty()) __builtin_prefetch(&s.raw[row]);
  }
}

void LocalState::refuse(Row row, VerdictId verdict) {
  if (!sweeping_) take_out(row);
  if (verdict != kAbsent) count(verdict, true);
  put(row, slot_of(verdict));
}

void LocalState::judge_rows(std::span<const Row> rows) {
  const auto reject = [&](Row row, VerdictId verdict) { refuse(row, verdict); };
  std::vector<Row>& live = shared_.scratch.live;
  live.clear();
  if (shared_.nodes.nodes() == shared_.nodes.rows()) {
    live.assign(rows.begin(), rows.end());
  } else {
    for (const Row row : rows)
      if (shared_.nodes.node(row)) {
        live.push_back(row);
      } else {
        reject(row, kAbsent);
      }
  }
  filter(live, true, reject);
  auto& passing = shared_.scratch.passing;
  passing.insert(passing.end(), live.begin(), live.end());
}

/// The rows of scratch.overlaid: those that pass follow in scratch.passing.
void LocalState::see(SeenRows& seen) {
  RowScratch& scratch = shared_.scratch;
  scratch.raws.clear();
  for (const Row row : scratch.overlaid) {
    if (const VerdictId verdict = seen.look(row, scratch.raws); verdict != kPass) {
      refuse(row, verdict);
    } else {
      scratch.passing.push_back(row);
    }
  }
}

/// Into scratch.scores, in the order of the rows. `use_facets`: they were updated with the class.
void LocalState::raw_scores(const Score& score, std::span<const Row> rows, bool use_facets) const {
  std::vector<std::int32_t>& out = shared_.scratch.scores;
  out.resize(rows.size());
  if (use_facets && score.facet && score.facet->kept()) {
    const Facet& facet = *score.facet;
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = facet[rows[i]];
  } else {
    score.plugin->score(score.prepared().state.get(), shared_.nodes, rows, out);
  }
}

/// The raw scores that are normalised: by which, is known when all rows are in.
void LocalState::weigh(std::span<const Row> rows) {
  const std::vector<std::int32_t>& raw = shared_.scratch.scores;
  for (Score& s : scores_) {
    if (!s.normalized() || (s.raw.empty() && s.facet && s.facet->kept() && s.facet->all_zero())) continue;
    raw_scores(s, rows, true);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (s.raw.empty() && raw[i] != 0) s.raw.resize(shared_.nodes.rows(), 0);
      if (!s.raw.empty()) s.raw[rows[i]] = raw[i];
      s.count(raw[i], true);
    }
  }
}

/// The same of rows that are seen otherwise, whose raw scores are in scratch.raws.
void LocalState::weigh_seen(std::span<const Row> rows) {
  const std::int32_t* raw = shared_.scratch.raws.data();
  for (const Row row : rows) {
    for (Score& s : scores_) {
      const std::int32_t score = *raw++;
      if (!s.normalized()) continue;
      if (s.raw.empty() && score != 0) s.raw.resize(shared_.nodes.rows(), 0);
      if (!s.raw.empty()) s.raw[row] = score;
      s.count(score, true);
    }
  }
}

/// If a best raw score has changed, the sums of all rows have; those of `pending` are not made yet.
void LocalState::settle_bests(std::span<const Row> pending) {
  bool moved = false;
  auto slots = index_.scores();
  for (Score& s : scores_) {
    const std::int32_t best = s.counts.empty() ? 0 : s.counts.rbegin()->first;
    const std::int32_t before = std::exchange(s.best, best);
    if (best == before || sweeping_) continue;
    if (!moved)
      for (const Row row : pending) slots[row] = slot_of(kAbsent);
    moved = true;
    for (Row row = 0; row < slots.size(); ++row)
      if (slots[row] >= 0) slots[row] += s.part(s.raw[row], best) - s.part(s.raw[row], before);
  }
  if (moved) index_.rebuild();
}

void LocalState::rank(std::span<const Row> rows) {
  std::vector<std::int32_t>& sums = shared_.scratch.sums;
  const std::vector<std::int32_t>& raw = shared_.scratch.scores;
  sums.assign(rows.size(), 0);
  for (const Score& s : scores_) {
    if (!s.normalized()) {
      if (s.facet && s.facet->kept() && s.facet->all_zero()) continue;
      raw_scores(s, rows, true);
      for (std::size_t i = 0; i < rows.size(); ++i) sums[i] += s.weight * raw[i];
    } else if (!s.raw.empty()) {
      for (std::size_t i = 0; i < rows.size(); ++i) sums[i] += s.part(s.raw[rows[i]], s.best);
    } else if (const std::int32_t part = s.part(0, s.best); part != 0) {
      for (std::int32_t& sum : sums) sum += part;
    }
  }
  feasible_ += static_cast<std::uint32_t>(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) put(rows[i], std::max(sums[i], 0));
}

void LocalState::rank_seen(std::span<const Row> rows) {
  const std::int32_t* raw = shared_.scratch.raws.data();
  feasible_ += static_cast<std::uint32_t>(rows.size());
  for (const Row row : rows) {
    std::int32_t sum = 0;
    for (const Score& s : scores_) sum += s.part(*raw++, s.best);
    put(row, std::max(sum, 0));
  }
}

void LocalState::take_out(Row row) {
  const std::int32_t slot = index_.score(row);
  if (slot < 0) {
    if (slot != slot_of(kAbsent)) count(verdict_of(slot), false);
    return;
  }
  --feasible_;
  for (Score& s : scores_)
    if (!s.raw.empty()) s.count(s.raw[row], false);
}

void LocalState::put(Row row, std::int32_t slot) {
  if (sweeping_) {
    index_.scores()[row] = slot;
  } else {
    index_.set(row, slot);
  }
}

void LocalState::count(VerdictId verdict, bool in) {
  if (last_ == nullptr || last_->first != verdict) last_ = &*histogram_.try_emplace(verdict, 0).first;
  if (in) {
    ++last_->second;  // the next row's is mostly the same
  } else if (--last_->second == 0) {
    histogram_.erase(verdict);
    last_ = nullptr;
  }
}

void LocalState::forget_verdicts() {
  histogram_.clear();
  last_ = nullptr;
}

/// The few nodes that a plugin named; no state of the others is made.
void LocalState::judge_named() {
  const NodeTable& nodes = shared_.nodes;
  RowScratch& scratch = shared_.scratch;
  named_.clear();
  forget_verdicts();
  scratch.live.clear();
  for (const std::string& name : *only_nodes_) {
    const Row row = nodes.find(name);
    if (row != kNoRow && nodes.node(row)) scratch.live.push_back(row);
  }
  scratch.looked_at += scratch.live.size();
  const auto others = nodes.nodes() - static_cast<std::uint32_t>(scratch.live.size());
  if (others > 0) histogram_.emplace(not_among_, others);
  filter(scratch.live, false, [&](Row row, VerdictId verdict) {
    count(verdict, true);
    named_.emplace_back(row, slot_of(verdict));
  });
  const MonoTime start = scratch.clock != nullptr ? scratch.clock->mono() : MonoTime();
  sums_alone(scratch.live);
  for (std::size_t i = 0; i < scratch.live.size(); ++i)
    named_.emplace_back(scratch.live[i], std::max(scratch.sums[i], 0));
  std::sort(named_.begin(), named_.end());
  feasible_ = static_cast<std::uint32_t>(scratch.live.size());
  if (scratch.clock != nullptr) scratch.scoring += scratch.clock->mono() - start;
}

void LocalState::raw_scores(const NodeView& view, std::vector<std::int32_t>& out) const {
  for (const Score& s : scores_)
    out.push_back(s.plugin->score_view(s.prepared().state.get(), shared_.nodes, view));
}

/// The plugin's own, into scratch.scores, and in place of them those of what is seen otherwise.
void LocalState::raw_scores(const Score& score, std::span<const Row> rows,
                            std::span<const SeenRow> seen) const {
  raw_scores(score, rows, false);
  const auto at = static_cast<std::size_t>(&score - scores_.data());
  each_seen(rows, seen, [&](std::size_t i, const SeenRow& row) { shared_.scratch.scores[i] = row.raw[at]; });
}

void LocalState::sums_alone(std::span<const Row> rows, std::span<const SeenRow> seen) const {
  std::vector<std::int32_t>& sums = shared_.scratch.sums;
  const std::vector<std::int32_t>& raw = shared_.scratch.scores;
  sums.assign(rows.size(), 0);
  for (const Score& s : scores_) {
    raw_scores(s, rows, seen);
    std::int32_t best = 0;
    if (s.normalized())
      for (const std::int32_t r : raw) best = std::max(best, r);
    for (std::size_t i = 0; i < rows.size(); ++i) sums[i] += s.part(raw[i], best);
  }
}

VerdictId LocalState::verdict(Row row) const {
  if (!only_nodes_) return row < index_.size() ? verdict_of(index_.score(row)) : kAbsent;
  if (const std::int32_t* slot = named(row)) return verdict_of(*slot);
  return row < shared_.nodes.rows() && shared_.nodes.node(row) ? not_among_ : kAbsent;
}

std::int32_t LocalState::score(Row row) const {
  if (!only_nodes_) return index_.score(row);
  const std::int32_t* slot = named(row);
  return slot == nullptr ? slot_of(not_among_) : *slot;
}

const std::int32_t* LocalState::named(Row row) const {
  const auto it = std::ranges::lower_bound(named_, row, {}, &Slots::value_type::first);
  return it != named_.end() && it->first == row ? &it->second : nullptr;
}

Row LocalState::pick(Random& random) const {
  if (!only_nodes_) return index_.pick([&](std::uint32_t n) { return random.below(n); });
  Row chosen = kNoRow;
  std::int32_t top = -1;
  std::uint32_t ties = 0;
  for (const auto& [row, slot] : named_) {
    if (slot < 0 || slot < top) continue;
    ties = slot > top ? 1 : ties + 1;
    top = slot;
    if (ties == 1 || random.below(ties) == 0) chosen = row;
  }
  return chosen;
}

Row LocalState::pick_with(const FewScores& few, std::int32_t weight, Random& random) const {
  const std::span<const std::int32_t> slots = index_.scores();
  const std::int32_t best = index_.best();
  if (best < 0) return kNoRow;
  // Of a row with a score on top of its slot the index has too little: it is not among its best then.
  std::int32_t top = best;
  std::uint32_t ties = 0;
  for (std::size_t i = 0; i < few.rows.size(); ++i) {
    const std::int32_t sum = slots[few.rows[i]] + weight * few.scores[i];
    if (sum < top || few.scores[i] == 0) continue;
    ties = sum > top ? 1 : ties + 1;
    top = sum;
  }
  const std::uint32_t known = top == best ? index_.ties(best) : 0;
  std::uint32_t left = known + ties == 1 ? 0 : random.below(known + ties);
  if (left < known) return index_.nth(best, left);
  left -= known;
  for (std::size_t i = 0;; ++i)
    if (few.scores[i] != 0 && slots[few.rows[i]] + weight * few.scores[i] == top && left-- == 0)
      return few.rows[i];
}

/// The sums of rows that are as they are follow from the kept ones and from what is best; those of the others
/// are made of their raw scores.
void LocalState::sums_with(std::span<const Row> rows, std::span<const SeenRow> seen) const {
  std::vector<std::int32_t>& sums = shared_.scratch.sums;
  gather(index_.scores(), rows, sums);
  std::vector<std::int32_t> bests(scores_.size());
  for (std::size_t at = 0; at < scores_.size(); ++at) {
    const Score& s = scores_[at];
    if (!s.normalized()) continue;
    std::int32_t& best = bests[at];
    std::size_t next = 0;
    const auto among = [&](std::size_t end) {
      for (; next < end && !s.raw.empty(); ++next) best = std::max(best, s.raw[rows[next]]);
    };
    each_seen(rows, seen, [&](std::size_t i, const SeenRow& row) {
      among(i);
      next = i + 1;
      best = std::max(best, row.raw[at]);
    });
    among(rows.size());
    if (best == s.best) continue;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::int32_t raw = s.raw.empty() ? 0 : s.raw[rows[i]];
      sums[i] += s.part(raw, best) - s.part(raw, s.best);
    }
  }
  each_seen(rows, seen, [&](std::size_t i, const SeenRow& row) {
    std::int32_t sum = 0;
    for (std::size_t at = 0; at < scores_.size(); ++at) sum += scores_[at].part(row.raw[at], bests[at]);
    sums[i] = std::max(sum, 0);
  });
}

void LocalState::sums_among(std::span<const Row> rows, std::span<const SeenRow> seen) const {
  if (only_nodes_) return sums_alone(rows, seen);
  if (!seen.empty()) return sums_with(rows, seen);
  std::vector<std::int32_t>& sums = shared_.scratch.sums;
  gather(index_.scores(), rows, sums);
  if (rows.size() == feasible_) return;
  for (const Score& s : scores_) {
    if (!s.normalized() || s.raw.empty()) continue;
    std::int32_t best = 0;
    for (std::size_t i = 0; i < rows.size() && best != s.best; ++i) best = std::max(best, s.raw[rows[i]]);
    if (best == s.best) continue;
    for (std::size_t i = 0; i < rows.size(); ++i)
      sums[i] += s.part(s.raw[rows[i]], best) - s.part(s.raw[rows[i]], s.best);
  }
}

bool LocalState::may_go(Row row) const { return !only_nodes_ || named(row) != nullptr; }

VerdictId LocalState::judge(const NodeView& view, std::size_t from, std::size_t to) const {
  for (const Filter& f : filters_) {
    if (f.position < from || f.position >= to) continue;
    const VerdictId verdict = f.plugin->filter_view(f.prepared().state.get(), shared_.nodes, view);
    if (verdict != kPass) return verdict;
  }
  return kPass;
}

void LocalState::explain(Row row, std::span<const Row> feasible, std::span<const SeenRow> seen,
                         std::vector<ScoreDetail>& out) const {
  const std::vector<std::int32_t>& raw = shared_.scratch.scores;
  for (const Score& s : scores_) {
    raw_scores(s, feasible, seen);
    const std::int32_t best = std::max(*std::max_element(raw.begin(), raw.end()), 0);
    raw_scores(s, {&row, 1}, seen);
    out.push_back({s.index, s.weight, raw[0], s.part(raw[0], best) / s.weight});
  }
}

void LocalState::diagnose(Diagnosis& d) const {
  for (const auto& [id, rows] : histogram_) d.count(shared_.verdicts[id], rows);
}

void LocalState::diagnose_others(Diagnosis& d) const {
  const auto others = shared_.nodes.nodes() - static_cast<std::uint32_t>(named_.size());
  if (others > 0) d.count(shared_.verdicts[not_among_], others);
}

std::size_t LocalState::bytes() const {
  std::size_t all = index_.bytes() + overlay_.bytes() + named_.capacity() * sizeof named_[0];
  for (const Filter& f : filters_) all += sizeof f + (f.own.state ? f.own.state->bytes() : 0);
  for (const Score& s : scores_)
    all += sizeof s + (s.own.state ? s.own.state->bytes() : 0) + s.raw.capacity() * sizeof s.raw[0] +
           s.counts.size() * 48;
  return all;
}

}  // namespace koord::scheduling
