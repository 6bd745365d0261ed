// ClassState: see class_state.hpp.
#include "framework/class_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "koord/api/types/core_v1/node.hpp"

namespace koord::scheduler {

ClassState::ClassState(const Profile& profile, NodeTable& nodes, VerdictTable& verdicts, const PodInfo& pod)
    : profile_(profile), nodes_(nodes), verdicts_(verdicts) {
  std::vector<std::string> restricting;
  for (std::size_t i = 0; i < profile.filters.size(); ++i) {
    const auto& f = profile.filters[i];
    FilterPlugin::Prepared prepared = f.plugin->prepare_filter(pod);
    if (!prepared.rejected.empty()) {
      rejected_ = std::move(prepared.rejected);
      rejectors_ = mask_of(f.index);
      return;
    }
    if (prepared.only_nodes) {
      std::unordered_set<std::string> names(prepared.only_nodes->begin(), prepared.only_nodes->end());
      if (only_nodes_) {
        std::erase_if(*only_nodes_, [&](const std::string& name) { return !names.contains(name); });
      } else {
        only_nodes_ = std::move(names);
      }
      restricting.emplace_back(profile.plugin_name(f.index));
      rejectors_ |= mask_of(f.index);
    }
    if (prepared.skip) continue;
    filters_.push_back(
        {f.plugin, std::move(prepared.state), static_cast<int>(i), f.plugin->filter_depends()});
  }
  if (only_nodes_) {
    std::sort(restricting.begin(), restricting.end());
    const std::string why = fmt::format("node(s) didn't satisfy plugin(s) [{}]", fmt::join(restricting, " "));
    if (only_nodes_->empty()) {
      rejected_ = fmt::format("{} simultaneously", why);
      return;
    }
    not_among_ = verdicts_.intern({kNoPlugin, true, {why}});
  }
  for (const auto& s : profile.scores) {
    ScorePlugin::Prepared prepared = s.plugin->prepare_score(pod);
    if (prepared.skip) continue;
    scores_.push_back({s.plugin,
                       std::move(prepared.state),
                       s.weight,
                       s.plugin->normalize(),
                       s.plugin->score_depends(),
                       {},
                       {},
                       0});
  }
}

std::int32_t ClassState::Score::total(std::int32_t raw_score, std::int32_t best_raw) const {
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

void ClassState::grow() {
  std::size_t rows = nodes_.rows();
  if (verdict_.size() == rows) return;
  static_verdict_.resize(rows, kAbsent);
  verdict_.resize(rows, kAbsent);
  base_.resize(rows, 0);
  index_.resize(rows);
  for (Score& s : scores_)
    if (s.keeps_raw()) s.raw.resize(rows, 0);
}

void ClassState::update(Scratch& scratch) {
  if (!rejected_.empty()) return;
  std::uint64_t end = nodes_.log_end();
  if (built_ && cursor_ == end) return;
  grow();
  scratch.rows.clear();
  scratch.statics.clear();
  if (!built_ || cursor_ < nodes_.log_begin()) {
    scratch.rows.resize(nodes_.rows());
    std::iota(scratch.rows.begin(), scratch.rows.end(), 0);
    scratch.statics = scratch.rows;
  } else {
    for (std::uint64_t n = cursor_; n < end; ++n) {
      if (!nodes_.latest(n)) continue;
      Row row = nodes_.change(n);
      scratch.rows.push_back(row);
      if (nodes_.node_change(row) >= cursor_) scratch.statics.push_back(row);
    }
  }
  built_ = true;
  cursor_ = end;
  if (!scratch.statics.empty()) judge_statics(scratch.statics, scratch);
  judge(scratch.rows, scratch);
}

/// The verdicts and scores that follow from the nodes' objects.
void ClassState::judge_statics(std::span<const Row> rows, Scratch& scratch) {
  auto& live = scratch.live;
  live.clear();
  for (Row row : rows) {
    const auto& node = nodes_.node(row);
    static_verdict_[row] = !node                                                        ? kAbsent
                           : only_nodes_ && !only_nodes_->contains(node->metadata.name) ? not_among_
                                                                                        : kPass;
    if (static_verdict_[row] == kPass) live.push_back(row);
  }
  for (Filter& f : filters_) {
    if (f.depends != Depends::node || live.empty()) continue;
    scratch.verdicts.resize(live.size());
    f.plugin->filter(f.state.get(), nodes_, live, scratch.verdicts);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < live.size(); ++i) {
      if (scratch.verdicts[i] == kPass) {
        live[kept++] = live[i];
      } else {
        static_verdict_[live[i]] = scratch.verdicts[i];
      }
    }
    live.resize(kept);
  }
  for (Score& s : scores_) {
    if (s.depends != Depends::node || live.empty()) continue;
    // The counts hold what the rows were ranked with: take it out before it is overwritten.
    if (s.normalize != ScorePlugin::Normalize::none)
      for (Row row : live)
        if (verdict_[row] == kPass) count(s, s.raw[row], -1);
    scratch.scores.resize(live.size());
    s.plugin->score(s.state.get(), nodes_, live, scratch.scores);
    for (std::size_t i = 0; i < live.size(); ++i) s.raw[live[i]] = scratch.scores[i];
    if (s.normalize != ScorePlugin::Normalize::none)
      for (Row row : live)
        if (verdict_[row] == kPass) count(s, s.raw[row], 1);
  }
}

void ClassState::judge(std::span<const Row> rows, Scratch& scratch) {
  // The first filter in the profile's order that rejects a node gives the verdict, so a filter that
  // depends on pods still has a say where a later one rejects by the node alone.
  auto& live = scratch.live;
  auto& passing = scratch.passing;
  passing.clear();
  live.clear();
  auto position = [&](VerdictId v) { return profile_.filter_position(verdicts_[v].plugin); };
  bool first = true;
  auto settle = [&](Row row, VerdictId now) {
    VerdictId before = verdict_[row];
    if (before == now) return;
    if (before == kPass) {
      --feasible_;
      for (Score& s : scores_)
        if (s.normalize != ScorePlugin::Normalize::none) count(s, s.raw[row], -1);
      index_.set(row, ScoreIndex::kNone);
    } else if (before != kAbsent) {
      count(before, -1);
    }
    verdict_[row] = now;
    if (now == kPass) {
      ++feasible_;
      for (Score& s : scores_)
        if (s.normalize != ScorePlugin::Normalize::none) count(s, s.raw[row], 1);
    } else if (now != kAbsent) {
      count(now, 1);
    }
  };
  live.assign(rows.begin(), rows.end());
  for (Filter& f : filters_) {
    if (f.depends != Depends::pods || live.empty()) continue;
    if (first) {
      // What was rejected before any filter stays so.
      std::size_t kept = 0;
      for (Row row : live) {
        VerdictId v = static_verdict_[row];
        if (v == kAbsent || (v != kPass && position(v) < f.position)) {
          settle(row, v);
        } else {
          live[kept++] = row;
        }
      }
      live.resize(kept);
      first = false;
    }
    scratch.verdicts.resize(live.size());
    f.plugin->filter(f.state.get(), nodes_, live, scratch.verdicts);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < live.size(); ++i) {
      Row row = live[i];
      VerdictId v = scratch.verdicts[i];
      if (v != kPass && (static_verdict_[row] == kPass || f.position < position(static_verdict_[row]))) {
        settle(row, v);
      } else {
        live[kept++] = row;
      }
    }
    live.resize(kept);
  }
  for (Row row : live) {
    settle(row, static_verdict_[row]);
    if (static_verdict_[row] == kPass) passing.push_back(row);
  }
  const MonoTime start = scratch.clock != nullptr ? scratch.clock->mono() : MonoTime();
  rank(passing, scratch);
  if (scratch.clock != nullptr) scratch.scoring += scratch.clock->mono() - start;
}

void ClassState::rank(std::span<const Row> rows, Scratch& scratch) {
  for (Row row : rows) base_[row] = 0;
  for (Score& s : scores_) {
    if (rows.empty()) break;
    bool normalized = s.normalize != ScorePlugin::Normalize::none;
    if (s.depends == Depends::pods) {
      scratch.scores.resize(rows.size());
      s.plugin->score(s.state.get(), nodes_, rows, scratch.scores);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (!normalized) {
          base_[rows[i]] += s.weight * scratch.scores[i];
        } else if (s.raw[rows[i]] != scratch.scores[i]) {
          count(s, s.raw[rows[i]], -1);
          s.raw[rows[i]] = scratch.scores[i];
          count(s, s.raw[rows[i]], 1);
        }
      }
    } else if (!normalized) {
      for (Row row : rows) base_[row] += s.weight * s.raw[row];
    }
  }
  if (!bests_moved() && rows.size() < verdict_.size() / 4) {
    for (Row row : rows) index_.set(row, total(row));
    return;
  }
  auto all = index_.scores();
  for (Row row = 0; row < all.size(); ++row)
    all[row] = verdict_[row] == kPass ? total(row) : ScoreIndex::kNone;
  index_.rebuild();
}

std::int32_t ClassState::total(Row row) const {
  std::int32_t sum = base_[row];
  for (const Score& s : scores_)
    if (s.normalize != ScorePlugin::Normalize::none) sum += s.total(s.raw[row], s.best);
  return sum;
}

bool ClassState::bests_moved() {
  bool moved = false;
  for (Score& s : scores_) {
    if (s.normalize == ScorePlugin::Normalize::none) continue;
    std::int32_t best = 0;
    for (const auto& [raw, rows] : s.counts) best = std::max(best, raw);
    moved |= best != s.best;
    s.best = best;
  }
  return moved;
}

void ClassState::count(VerdictId verdict, int change) {
  auto it = std::find_if(histogram_.begin(), histogram_.end(), [&](auto& e) { return e.first == verdict; });
  if (it == histogram_.end()) it = histogram_.insert(it, {verdict, 0});
  it->second += static_cast<std::uint32_t>(change);
  if (it->second == 0) {
    *it = histogram_.back();
    histogram_.pop_back();
  }
}

void ClassState::count(Score& score, std::int32_t raw, int change) {
  auto it = std::find_if(score.counts.begin(), score.counts.end(), [&](auto& e) { return e.first == raw; });
  if (it == score.counts.end()) it = score.counts.insert(it, {raw, 0});
  it->second += static_cast<std::uint32_t>(change);
  if (it->second == 0) {
    *it = score.counts.back();
    score.counts.pop_back();
  }
}

Row ClassState::pick_among(std::uint32_t wanted, Row& start, Random& random) const {
  std::vector<Row> found;
  auto rows = static_cast<Row>(verdict_.size());
  if (rows == 0) return kNoRow;
  Row row = start % rows;
  for (Row n = 0; n < rows && found.size() < wanted; ++n, row = row + 1 == rows ? 0 : row + 1)
    if (verdict_[row] == kPass) found.push_back(row);
  start = row;
  std::vector<std::int32_t> bests;
  for (const Score& s : scores_) {
    std::int32_t best = 0;
    if (s.normalize != ScorePlugin::Normalize::none)
      for (Row r : found) best = std::max(best, s.raw[r]);
    bests.push_back(best);
  }
  Row chosen = kNoRow;
  std::int32_t top = 0;
  std::uint32_t ties = 0;
  for (Row r : found) {
    std::int32_t sum = base_[r];
    for (std::size_t i = 0; i < scores_.size(); ++i)
      if (scores_[i].normalize != ScorePlugin::Normalize::none)
        sum += scores_[i].total(scores_[i].raw[r], bests[i]);
    if (chosen == kNoRow || sum > top) {
      chosen = r;
      top = sum;
      ties = 1;
    } else if (sum == top && random.below(++ties) == 0) {
      chosen = r;
    }
  }
  return chosen;
}

Diagnosis ClassState::diagnose() const {
  Diagnosis d;
  d.nodes = nodes_.nodes();
  d.prefilter_message = rejected_;
  d.rejectors = rejectors_;
  if (!rejected_.empty()) return d;
  for (const auto& [id, rows] : histogram_) {
    const Verdict& v = verdicts_[id];
    d.rejectors |= mask_of(v.plugin);
    for (const std::string& reason : v.reasons) d.reasons[reason] += rows;
  }
  return d;
}

std::size_t ClassState::bytes() const {
  std::size_t a_row = 2 * sizeof(VerdictId) + sizeof(std::int32_t) * 2;
  for (const Score& s : scores_)
    if (s.keeps_raw()) a_row += sizeof(std::int32_t);
  return sizeof *this + verdict_.capacity() * a_row;
}

}  // namespace koord::scheduler
