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
  bool any = false;
  for (Delta& d : deltas_) {
    d.rows = d.plugin->delta_rows(*d.state, *pod_);
    any = any || !d.rows.empty();
  }
  return any;
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

/// The verdicts of these rows in place of those that they have as they are, and which rows are feasible then.
void ClassState::see_deltas() {
  SweepScratch& s = shared_.sweep;
  s.deltas.clear();
  for (const Delta& d : deltas_) s.deltas.insert(s.deltas.end(), d.rows.begin(), d.rows.end());
  std::sort(s.deltas.begin(), s.deltas.end());
  s.deltas.erase(std::unique(s.deltas.begin(), s.deltas.end()), s.deltas.end());
  std::erase_if(s.deltas,
                [&](Row row) { return !shared_.nodes.node(row) || !local_.may_go(row) || is_out(row); });

  // What is known of rows that are seen again is kept.
  if (!std::ranges::equal(seen_, s.deltas, {}, &SeenRow::row)) {
    std::vector<SeenRow> seen(s.deltas.size());
    std::vector<SeenAt> seen_at(s.deltas.size());
    std::size_t old = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
      while (old < seen_.size() && seen_[old].row < s.deltas[i]) ++old;
      if (old < seen_.size() && seen_[old].row == s.deltas[i]) {
        seen[i] = std::move(seen_[old]);
        seen_at[i] = seen_at_[old++];
      }
      seen[i].row = s.deltas[i];
    }
    seen_ = std::move(seen);
    seen_at_ = std::move(seen_at);
  }
  const bool keep = !reaches_over_rows();
  bool moved = false;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    SeenRow& seen = seen_[i];
    const SeenAt now{shared_.nodes.changes(seen.row), delta_version(seen.row),
                     shared_.nodes.newest_node_change()};
    if (!keep || seen_at_[i] != now) {
      look_at(seen);
      seen_at_[i] = now;
    }
    if (failed_by(seen.verdict)) return;
    std::int32_t& slot = own_slots()[place(seen.row)];
    moved = moved || (slot >= 0) != (seen.verdict == kPass);
    // Its score is in no slot.
    slot = seen.verdict == kPass ? 0 : LocalState::slot_of(seen.verdict);
  }
  if (shared_.hooks != nullptr)
    for (const Delta& d : deltas_)
      if (const nanoseconds took = std::exchange(d.took, nanoseconds{0}); took != nanoseconds{0})
        shared_.hooks->saw_deltas(profile_, d.index, took);
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

void ClassState::look_at(SeenRow& seen) {
  const Trial trial(*this, seen.row);
  seen.verdict = trial.verdict();
  seen.raw.clear();
  if (seen.verdict == kPass) local_.raw_scores(trial.view(), seen.raw);
}

}  // namespace koord::scheduling
