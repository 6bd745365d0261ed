// ClassState's sweep: which rows are feasible in the end; see class_state.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/scheduling/classes/class_state.hpp"
#include "scheduling/classes/trial.hpp"

namespace koord::scheduling {

void ClassState::sweep() {
  swept_ = true;
  collect();
  if (out_ != kPass) narrow();
  for (const Filter& f : filters_)
    if (f.asked) ask(f);
  if (differs_ && !overlaid_ && !done_) see_deltas();
  if (shared_.nominated != nullptr) yield_to_nominated();
}

/// What is known of the rows for themselves.
void ClassState::collect() {
  SweepScratch& s = shared_.sweep;
  s.own_slots = local_.only_named();
  if (local_.only_named()) {
    s.named.clear();
    s.slots.clear();
    s.kept.clear();
    for (const auto& [row, slot] : local_.named()) {
      s.named.push_back(row);
      s.slots.push_back(slot);
      if (slot >= 0) s.kept.push_back(row);
    }
    s.live = s.kept;
    return;
  }
  const auto slots = local_.slots();
  while (s.all.size() < slots.size()) s.all.push_back(static_cast<Row>(s.all.size()));
  s.live = std::span(s.all).first(slots.size());
  if (local_.feasible() == slots.size()) return;
  s.kept.resize(slots.size());
  std::size_t n = 0;
  for (Row row = 0; row < slots.size(); ++row) {
    s.kept[n] = row;
    n += slots[row] >= 0;
  }
  s.live = std::span(s.kept).first(n);
}

bool ClassState::is_out(Row row) const {
  return out_ != kPass && !std::binary_search(only_.begin(), only_.end(), row);
}

/// Whatever the rows say for themselves.
void ClassState::narrow() {
  SweepScratch& s = shared_.sweep;
  std::vector<std::int32_t>& slots = own_slots();
  const std::span<const Row> all = local_.only_named() ? s.named : std::span(s.all).first(slots.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    if (LocalState::verdict_of(slots[i]) != kAbsent && is_out(all[i])) slots[i] = LocalState::slot_of(out_);
  s.asked.clear();
  for (const Row row : s.live)
    if (!is_out(row)) s.asked.push_back(row);
  s.kept.swap(s.asked);
  s.live = s.kept;
}

/// By row; with named nodes by their place among them.
std::span<const std::int32_t> ClassState::slots() const {
  return shared_.sweep.own_slots ? std::span<const std::int32_t>(shared_.sweep.slots) : local_.slots();
}

std::size_t ClassState::place(Row row) const {
  if (!local_.only_named()) return row;
  const std::vector<Row>& named = shared_.sweep.named;
  return static_cast<std::size_t>(std::lower_bound(named.begin(), named.end(), row) - named.begin());
}

/// Slots to be changed.
std::vector<std::int32_t>& ClassState::own_slots() const {
  SweepScratch& s = shared_.sweep;
  if (!s.own_slots) s.slots.assign(local_.slots().begin(), local_.slots().end());
  s.own_slots = true;
  return s.slots;
}

void ClassState::filter(const Filter& f, std::span<const Row> rows, std::span<VerdictId> out) const {
  if (f.cross_node != nullptr) {
    f.cross_node->filter(*f.state, shared_.nodes, rows, out);
  } else {
    f.per_pod->filter_pod(*f.state, shared_.nodes, rows, out);
  }
}

/// The rows that no filter before this place of the profile rejects.
std::span<const Row> ClassState::rows_before(std::size_t position) const {
  SweepScratch& s = shared_.sweep;
  if (local_.last_filter() < static_cast<int>(position)) return s.live;
  s.asked.clear();
  VerdictId last = kAbsent;
  bool before = true;
  const auto slots = this->slots();
  const std::span<const Row> all = local_.only_named() ? s.named : std::span(s.all).first(slots.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const VerdictId verdict = LocalState::verdict_of(slots[i]);
    if (verdict != kPass && verdict != last) {
      last = verdict;
      before = verdict == kAbsent || verdict == out_ ||
               profile_.filter_position(shared_.verdicts[verdict].plugin) < static_cast<int>(position);
    }
    if (verdict == kPass || !before) s.asked.push_back(all[i]);
  }
  return s.asked;
}

void ClassState::ask(const Filter& f) {
  SweepScratch& s = shared_.sweep;
  const std::span<const Row> rows = rows_before(f.position);
  s.verdicts.resize(rows.size());
  const bool only_live = rows.data() == s.live.data();
  bool all_pass = only_live;  // so far: then the rows stay where they are
  if (!only_live) s.kept.resize(std::max(s.kept.size(), rows.size()));
  std::size_t at = 0, kept = 0;
  in_blocks(rows, [&](std::span<const Row> block) {
    VerdictId* verdicts = s.verdicts.data() + at;
    filter(f, block, {verdicts, block.size()});
    VerdictId any = kPass;
    for (std::size_t i = 0; i < block.size(); ++i) any |= verdicts[i];
    if (all_pass && any != kPass) {
      all_pass = false;
      s.kept.resize(std::max(s.kept.size(), rows.size()));
      if (s.kept.data() != rows.data()) std::copy_n(rows.begin(), at, s.kept.begin());
      kept = at;
    }
    at += block.size();
    if (all_pass) return;
    if (any == kPass && only_live) {
      std::copy(block.begin(), block.end(), s.kept.begin() + static_cast<std::ptrdiff_t>(kept));
      kept += block.size();
      return;
    }
    // Which rows pass is anybody's guess: without branches.
    std::int32_t* const slots = own_slots().data();
    Row* const rest = s.kept.data();
    const auto take = [&](std::size_t i, std::int32_t& slot) {
      slot = verdicts[i] == kPass ? slot : LocalState::slot_of(verdicts[i]);
      rest[kept] = block[i];
      kept += slot >= 0;
    };
    if (local_.only_named()) {
      for (std::size_t i = 0; i < block.size(); ++i) take(i, slots[place(block[i])]);
    } else {
      for (std::size_t i = 0; i < block.size(); ++i) take(i, slots[block[i]]);
    }
  });
  if (!all_pass) s.live = std::span(s.kept).first(kept);
  if (!shared_.verdicts.errors()) return;
  for (const VerdictId verdict : s.verdicts)
    if (failed_by(verdict)) return;
}

/// It is an error, and the attempt is over.
bool ClassState::failed_by(VerdictId verdict) {
  const Verdict& v = shared_.verdicts[verdict];
  if (!v.error) return false;
  done_ = true;
  rejected_.code = StatusCode::error;
  rejected_.error = fmt::format("running \"{}\" filter plugin: {}", profile_.plugin_name(v.plugin),
                                v.reasons.empty() ? std::string() : v.reasons.front());
  shared_.sweep.live = {};
  return true;
}

/// Absent: the row is seen as it is without them.
std::optional<VerdictId> ClassState::yielding(Row row, const Symbol& job) {
  Trial trial(*this, row);
  for (const PodInfo* other : shared_.nominated->on(row))
    if (profile_.yields(*pod_, job, *other, *shared_.nominated)) trial.add(*other);
  if (trial.added() == 0) return std::nullopt;
  return trial.verdict();
}

/// Who yields to whom follows from the pod's priority and job.
void ClassState::keep_yielding_for(const Symbol& job) {
  if (yielding_priority_ != pod_->priority || yielding_job_ != job) yielding_.clear();
  yielding_priority_ = pod_->priority;
  yielding_job_ = job;
  yielding_.resize(shared_.nodes.rows());
}

const std::optional<VerdictId>& ClassState::kept_yielding(Row row, const Symbol& job) {
  Yielding& kept = yielding_[row];
  const std::uint64_t changes = shared_.nodes.changes(row), nominated = shared_.nominated->changes(row);
  const std::uint64_t delta = differs_ ? delta_version(row) : 0;
  if (kept.row != changes || kept.nominated != nominated || kept.delta != delta)
    kept = {changes, nominated, delta, yielding(row, job)};
  return kept.verdict;
}

/// Of the rows with nominated pods that are not out: judged(the row, its slot), which says whether the row's
/// verdict is wanted and takes it.
template <class F>
void ClassState::each_yielding(F&& judged) {
  // Where no other row has a say, a row's answer is the same until it or its nominated pods change.
  const bool keep = !reaches_over_rows();
  const Row own = keep ? shared_.nominated->row_of(*pod_) : kNoRow;
  const Symbol job = profile_.job_of(*pod_);
  if (keep) keep_yielding_for(job);
  for (const Row row : shared_.nominated->rows()) {
    if (!shared_.nodes.node(row) || !local_.may_go(row) || is_out(row)) continue;
    judged(row, [&] { return keep && row != own ? kept_yielding(row, job) : yielding(row, job); });
  }
}

/// Nominated pods of equal or higher priority take room as if they were there. What a row would say without
/// them counts too, so that a row's answer can only get worse.
void ClassState::yield_to_nominated() {
  if (profile_.with_nominated_alone) return judge_with_nominated();
  SweepScratch& s = shared_.sweep;
  if (yield_rows(true)) {
    std::size_t kept = 0;
    s.kept.resize(std::max(s.kept.size(), s.live.size()));
    for (std::size_t i = 0; i < s.live.size(); ++i) {
      s.kept[kept] = s.live[i];
      kept += s.slots[place(s.live[i])] >= 0;
    }
    s.live = std::span(s.kept).first(kept);
  }
  // Why a node was rejected is only told if all are.
  if (s.live.empty()) yield_rows(false);
}

void ClassState::judge_refused() {
  if (swept_ && !done_ && shared_.nominated != nullptr && !profile_.with_nominated_alone &&
      !shared_.sweep.live.empty())
    yield_rows(false);
}

/// Of the rows that are feasible so far, or of the others. True: some verdicts are others now.
bool ClassState::yield_rows(bool feasible) {
  bool fewer = false;
  each_yielding([&](Row row, auto&& verdict) {
    if ((slots()[place(row)] >= 0) != feasible) return;
    if (const std::optional<VerdictId> said = verdict(); said && *said != kPass) {
      own_slots()[place(row)] = LocalState::slot_of(*said);
      fewer = true;
    }
  });
  return fewer;
}

/// What a row says without them does not count where it has some: it may be feasible for their sake.
void ClassState::judge_with_nominated() {
  SweepScratch& s = shared_.sweep;
  bool moved = false;
  each_yielding([&](Row row, auto&& verdict) {
    const std::optional<VerdictId> said = verdict();
    if (!said) return;
    std::int32_t& slot = own_slots()[place(row)];
    const bool was = slot >= 0, is = *said == kPass;
    moved = moved || was != is;
    if (!is) {
      slot = LocalState::slot_of(*said);
    } else if (!was) {
      slot = 0;
      promote(row);
    }
  });
  if (!moved) return;
  std::ranges::sort(seen_, {}, &SeenRow::row);
  const std::span<const Row> all = local_.only_named() ? s.named : std::span(s.all).first(s.slots.size());
  s.asked.clear();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (s.slots[i] >= 0) s.asked.push_back(all[i]);
  s.kept.swap(s.asked);
  s.live = s.kept;
}

/// A row that is feasible though it was not: its scores are in no slot. They are without nominated pods, as
/// anybody's.
void ClassState::promote(Row row) {
  const auto it = std::ranges::find(seen_, row, &SeenRow::row);
  if (it == seen_.end() && local_.verdict(row) == kPass) return;
  SeenRow& seen = it != seen_.end() ? *it : seen_.emplace_back();
  seen = {row, kPass, {}};
  const Trial trial(*this, row);
  local_.raw_scores(trial.view(), seen.raw);
}

}  // namespace koord::scheduling
