// GroupTrial: for how many pods rows have room, one after the other; see group_plugin.hpp.
#include <algorithm>
#include <utility>

#include "koord/api/types/core_v1/pod.hpp"
#include "scheduling/classes/trial.hpp"
#include "scheduling/engine/group_trial.hpp"

namespace koord::scheduling {

namespace {

/// What was found of rows for pods of a class, kept with the class.
struct KeptRooms final : PodState {
  struct Kept {
    std::uint64_t changes = 0;  // of the row, when it was looked at
    std::uint32_t asked = 0;    // for so many; 0: never
    Placements::Room room;

    /// It says for how many of `pods` there is room.
    bool serves(std::uint64_t now, std::uint32_t pods) const {
      return asked != 0 && changes == now && (room.pods < asked || asked >= pods);
    }
  };
  std::vector<Kept> rows;

  std::size_t bytes() const override { return sizeof *this + rows.capacity() * sizeof rows[0]; }
};

/// How many pods of one class a row takes: more and more are put onto it until it refuses, then the number in
/// between is sought. A row that has no room for some has none for more.
class Measure {
 public:
  Measure(Trial& trial, std::span<QueuedPod* const> pods) : trial_(trial), pods_(pods) {}

  Placements::Room run() {
    const std::size_t all = pods_.size();
    std::size_t fit = 0, refused = 0;  // 0: no number is known yet
    for (std::size_t next = 1; fit < all && refused == 0; next = std::min(2 * next, all)) {
      if (fits(next)) {
        fit = next;
      } else {
        refused = next;
      }
    }
    while (refused > fit + 1) {
      const std::size_t middle = fit + (refused - fit) / 2;
      (fits(middle) ? fit : refused) = middle;
    }
    return {static_cast<std::uint32_t>(fit), fit < all ? refusal_ : kPass};
  }

 private:
  /// So many have room. Of those that do not, the smallest number is asked last.
  bool fits(std::size_t pods) {
    while (there_ + 1 < pods) trial_.add(pods_[there_++]->info);
    while (there_ + 1 > pods) trial_.remove(pods_[--there_]->info);
    const VerdictId verdict = trial_.verdict();
    if (verdict != kPass) refusal_ = verdict;
    return verdict == kPass;
  }

  Trial& trial_;
  std::span<QueuedPod* const> pods_;
  std::size_t there_ = 0;
  VerdictId refusal_ = kPass;
};

}  // namespace

Placements::NoRoom GroupTrial::room(std::span<const api::Pod* const> pods, std::vector<Room>& by_row) {
  std::vector<QueuedPod*> run;
  run.reserve(pods.size());
  for (const api::Pod* object : pods) {
    QueuedPod* const pod = engine_.find(*object);
    if (Status may = may_place(pod); !may.ok()) return {std::move(may), object};
    run.push_back(pod);
  }
  by_row.assign(engine_.nodes_.rows(), {});
  for (std::size_t begin = 0, end = 0; begin < run.size(); begin = end) {
    while (end < run.size() && run[end]->cls == run[begin]->cls) ++end;
    Status status = add_room(std::span(run).first(begin), std::span(run).subspan(begin, end - begin), by_row);
    engine_.forget_transformed();
    if (!status.ok()) return {std::move(status), pods[begin]};
  }
  return {};
}

Status GroupTrial::add_room(std::span<QueuedPod* const> before, std::span<QueuedPod* const> alike,
                            std::vector<Room>& by_row) {
  QueuedPod& first = *alike.front();
  const NodeTable& nodes = engine_.nodes_;
  ClassState& state = engine_.state_of(*first.profile, first.cls, first.info);
  if (state.feasible() == 0) {
    Diagnosis diagnosis = state.diagnose();
    if (!diagnosis.error.empty()) return {StatusCode::error, std::move(diagnosis.error)};
    if (!diagnosis.prefilter_message.empty()) return refuse(first, std::move(diagnosis), {}).status;
  }
  KeptRooms* kept = nullptr;
  if (before.empty() && !state.reaches_over_rows()) {
    kept = state.kept<KeptRooms>();
    if (kept == nullptr) kept = &state.keep(std::make_unique<KeptRooms>());
    kept->rows.resize(nodes.rows());
  }
  const auto wanted = static_cast<std::uint32_t>(alike.size());
  const Symbol job = first.profile->job_of(first.info);
  const bool nominations = engine_.nominator_.size() != 0;
  for (Row row = 0; row < nodes.rows(); ++row) {
    Room& room = by_row[row];
    if (!nodes.node(row) || room.pods < before.size()) continue;
    if (before.empty())
      if (const VerdictId verdict = state.verdict(row); verdict != kPass) {
        room.refusal = verdict;
        continue;
      }
    const auto nominated = nominations ? engine_.nominator_.on(row) : std::span<const PodInfo* const>();
    const bool plain = kept != nullptr && nominated.empty() && state.delta_version(row) == 0;
    const std::uint64_t changes = nodes.changes(row);
    if (!plain || !kept->rows[row].serves(changes, wanted)) {
      Trial trial(state, row);
      for (const PodInfo* other : nominated)
        if (first.profile->yields(first.info, job, *other, engine_.nominator_)) trial.add(*other);
      for (const QueuedPod* other : before) trial.add(other->info);
      const Room found = Measure(trial, alike).run();
      if (plain) kept->rows[row] = {changes, wanted, found};
      room.pods += found.pods;
      room.refusal = found.refusal;
      continue;
    }
    const Room& known = kept->rows[row].room;
    room.pods = std::min(known.pods, wanted);
    room.refusal = known.pods >= wanted ? kPass : known.refusal;
  }
  return {};
}

}  // namespace koord::scheduling
