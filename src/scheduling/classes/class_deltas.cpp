// ClassState: rows that the class sees otherwise than they are; see class_state.hpp.
#include <algorithm>
#include <utility>

#include "koord/scheduling/classes/class_state.hpp"
#include "koord/scheduling/classes/cycle_hooks.hpp"
#include "scheduling/classes/trial.hpp"

namespace koord::scheduling {

namespace {

bool has(std::span<const Row> rows, Row row) { return std::binary_search(rows.begin(), rows.end(), row); }

}  // namespace

/// False: there are none in this cycle.
bool ClassState::find_deltas() {
  seen_rows_ = {};
  std::size_t plugins = 0;
  for (Delta& d : deltas_) {
    d.rows = d.plugin->delta_rows(*d.state, *pod_);
    if (d.rows.empty()) continue;
    ++plugins;
    seen_rows_ = d.rows;
  }
  if (plugins < 2) return plugins != 0;
  all_deltas_.clear();
  for (const Delta& d : deltas_) all_deltas_.insert(all_deltas_.end(), d.rows.begin(), d.rows.end());
  std::sort(all_deltas_.begin(), all_deltas_.end());
  all_deltas_.erase(std::unique(all_deltas_.begin(), all_deltas_.end()), all_deltas_.end());
  seen_rows_ = all_deltas_;
  return true;
}

std::uint64_t ClassState::key() const {
  std::uint64_t all = 0;
  for (const Delta& d : deltas_) {
    const std::uint64_t key = d.plugin->delta_key(*d.state);
    if (key == 0) return 0;
    all = (all ^ key) * 0x9E3779B97F4A7C15u;
  }
  return all;
}

std::uint64_t ClassState::delta_version(Row row) const {
  // Of several plugins each moves it, so that it is never what it was; nothing is told by its size.
  std::uint64_t version = 0;
  for (const Delta& d : deltas_)
    if (has(d.rows, row))
      version = (version ^ (d.plugin->delta_version(*d.state, row) + 1)) * 0x9E3779B97F4A7C15u;
  return version;
}

void ClassState::apply_deltas(NodeView& view) const {
  const Clock* const clock = shared_.scratch.clock;
  for (const Delta& d : deltas_) {
    if (!has(d.rows, view.row())) continue;
    const MonoTime began = clock != nullptr ? clock->mono() : MonoTime();
    d.plugin->apply(*d.state, view);
    if (clock != nullptr) d.took += clock->mono() - began;
  }
}

VerdictId ClassState::look(Row row, std::vector<std::int32_t>& raws) {
  const Trial trial(*this, row);
  const VerdictId verdict = trial.verdict();
  if (verdict == kPass) local_.raw_scores(trial.view(), raws);
  return verdict;
}

/// True: one of the rows that are seen otherwise is an error, and the attempt is over.
bool ClassState::overlay_failed() {
  if (!shared_.verdicts.errors()) return false;
  return std::ranges::any_of(local_.overlaid(), [&](Row row) {
    const VerdictId verdict = local_.verdict(row);
    return verdict != kPass && !is_out(row) && failed_by(verdict);
  });
}

/// What is known of these rows, also of those whose slots are kept.
std::vector<SeenRow> ClassState::all_seen() {
  std::vector<SeenRow> all = seen_;
  if (!overlaid_) return all;
  for (const Row row : local_.overlaid()) {
    if (std::ranges::binary_search(seen_, row, {}, &SeenRow::row)) continue;
    SeenRow& seen = all.emplace_back(SeenRow{row, kPass, {}});
    seen.verdict = look(row, seen.raw);
  }
  std::ranges::sort(all, {}, &SeenRow::row);
  return all;
}

/// The verdicts of these rows in place of those that they have as they are, and which rows are feasible then.
void ClassState::see_deltas() {
  SweepScratch& s = shared_.sweep;
  bool moved = false;
  for (const Row row : seen_rows_) {
    if (!shared_.nodes.node(row) || !local_.may_go(row) || is_out(row)) continue;
    SeenRow& seen = seen_.emplace_back(SeenRow{row, kPass, {}});
    seen.verdict = look(row, seen.raw);
    if (failed_by(seen.verdict)) return;
    std::int32_t& slot = own_slots()[place(row)];
    moved = moved || (slot >= 0) != (seen.verdict == kPass);
    // Its score is in no slot.
    slot = seen.verdict == kPass ? 0 : LocalState::slot_of(seen.verdict);
  }
  if (!moved) return;
  s.asked.clear();
  std::size_t next = 0;
  const auto take_seen = [&](Row before) {
    for (; next < seen_.size() && seen_[next].row < before; ++next)
      if (seen_[next].verdict == kPass) s.asked.push_back(seen_[next].row);
  };
  for (const Row row : s.live) {
    take_seen(row);
    if (next < seen_.size() && seen_[next].row == row) {
      take_seen(row + 1);
    } else {
      s.asked.push_back(row);
    }
  }
  take_seen(kNoRow);
  s.kept.swap(s.asked);
  s.live = s.kept;
}

/// How long it took to make the differences.
void ClassState::tell_deltas() {
  if (shared_.hooks == nullptr) return;
  for (const Delta& d : deltas_)
    if (const nanoseconds took = std::exchange(d.took, nanoseconds{0}); took != nanoseconds{0})
      shared_.hooks->saw_deltas(profile_, d.index, took);
}

}  // namespace koord::scheduling
