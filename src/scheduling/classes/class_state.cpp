// ClassState: see class_state.hpp.
#include "koord/scheduling/classes/class_state.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "koord/scheduling/classes/cycle_hooks.hpp"
#include "scheduling/classes/trial.hpp"

namespace koord::scheduling {

namespace {

/// To judge a row by itself costs about as much as some dozens of them in a sweep of all, of which there may
/// be thousands.
constexpr std::uint32_t kSingly = 32;

}  // namespace

ClassState::ClassState(const Profile& profile, const ClassShared& shared, const PodInfo& pod)
    : profile_(profile), shared_(shared), local_(profile, shared, pod) {
  for (std::size_t at = 0; at < profile.filters.size(); ++at) {
    const Profile::Filter& registered = profile.filters[at];
    if (registered.local != nullptr) continue;
    filters_.push_back(
        {registered.cross_node, registered.per_pod, at,
         registered.cross_node != nullptr ? registered.cross_node->prepare_cross_node_filter(pod) : nullptr});
  }
  for (const Profile::Score& registered : profile.scores)
    if (registered.cross_node != nullptr)
      scores_.push_back({registered.cross_node, registered.index, registered.weight,
                         registered.cross_node->prepare_cross_node_score(pod)});
  for (const auto& p : profile.row_deltas)
    if (auto state = p.plugin->prepare_deltas(pod)) deltas_.push_back({p.plugin, std::move(state), p.index});
}

void ClassState::update(const PodInfo& pod, Rows rows) {
  pod_ = &pod;
  singly_ = 0;
  if (std::exchange(done_, false)) rejected_ = {};
  swept_ = ranked_ = false;
  out_ = kPass;
  seen_.clear();
  differs_ = find_deltas();
  pre_filter();
  if (!done_ && profile_.narrows() && shared_.hooks != nullptr) ask_hooks();
  const bool plain = !differs_ && out_ == kPass && !local_.only_named() && local_.rejected().empty() &&
                     (shared_.nominated == nullptr || shared_.nominated->rows().empty());
  if (rows == Rows::some && plain && !done_) {
    singly_ = kSingly;
    return;
  }
  // Whoever is done reads no row: what is kept stays as it is.
  overlaid_ =
      differs_ && !local_.only_named() && !reaches_over_rows() && (!done_ || !local_.overlaid().empty());
  local_.update(overlaid_ ? this : nullptr);
  if (done_ || (overlaid_ && overlay_failed())) return;
  bool over_rows = (differs_ && !overlaid_) || out_ != kPass;
  for (const Filter& f : filters_)
    over_rows = over_rows ||
                (f.asked && (local_.feasible() > 0 || local_.last_filter() > static_cast<int>(f.position)));
  for (Score& s : scores_) {
    s.asked = (local_.feasible() > 0 || differs_) && s.plugin->may_score(*s.state, pod);
  }
  if (over_rows || (shared_.nominated != nullptr && !shared_.nominated->rows().empty())) sweep();
  if (differs_) tell_deltas();
}

// Before the rows

/// As kube-scheduler goes through its PreFilter plugins: what victims may undo lets the others speak too.
void ClassState::pre_filter() {
  const bool locally = !local_.rejected().empty();
  for (Filter& f : filters_) f.asked = false;
  for (Filter& f : filters_) {
    if (locally && local_.rejected_at() < f.position) break;
    PreFiltered said;
    if (f.cross_node != nullptr) {
      said = f.cross_node->pre_filter(*f.state, *pod_);
    } else {
      f.state = f.per_pod->pre_filter_pod(*pod_, said);
    }
    const Profile::Filter& registered = profile_.filters[f.position];
    f.asked = registered.answers && !said.skip && f.state != nullptr;
    if (!registered.prepares || said.skip || said.rejected.empty()) continue;
    if (reject(f.position, std::move(said))) return;
  }
  if (locally) reject(local_.rejected_at(), {false, local_.rejected(), local_.rejected_code()});
}

/// True: nothing else matters.
bool ClassState::reject(std::size_t position, PreFiltered said) {
  const PluginIndex plugin = profile_.filters[position].index;
  done_ = true;
  rejected_.code = said.code;
  rejected_.rejectors = local_.only_named() || !local_.rejected().empty() ? local_.rejectors() : 0;
  // Preparations cannot let a pod wait for something of their own (pending): to kube-scheduler, too, that is
  // an error there.
  if (said.code != StatusCode::unschedulable && said.code != StatusCode::unresolvable) {
    rejected_.error =
        fmt::format("running PreFilter plugin \"{}\": {}", profile_.plugin_name(plugin), said.rejected);
    return true;
  }
  rejected_.rejectors |= mask_of(plugin);
  rejected_.prefilter_message = std::move(said.rejected);
  return said.code == StatusCode::unresolvable;
}

void ClassState::ask_hooks() {
  CycleHooks::Narrowed said = shared_.hooks->prepared(profile_, *pod_);
  if (!said.status.ok()) {
    done_ = true;
    rejected_.code = said.status.code;
    rejected_.rejectors = local_.only_named() ? local_.rejectors() : 0;
    if (!said.status.rejected()) {
      rejected_.error = std::move(said.status.message);
      return;
    }
    rejected_.rejectors |= mask_of(said.by);
    rejected_.prefilter_message = std::move(said.status.message);
    return;
  }
  if (!said.only_nodes) return;
  only_.clear();
  for (const std::string& name : *said.only_nodes)
    if (const Row row = shared_.nodes.find(name); row != kNoRow && shared_.nodes.node(row))
      only_.push_back(row);
  std::sort(only_.begin(), only_.end());
  // Whoever has narrowed the nodes down before is named with the one that has now.
  std::vector<std::string_view> names{profile_.plugin_name(said.by)};
  if (local_.only_named())
    for (const Profile::Filter& filter : profile_.filters)
      if ((local_.rejectors() & mask_of(filter.index)) != 0)
        names.push_back(profile_.plugin_name(filter.index));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  out_ = shared_.verdicts.intern(
      {said.by, true, {fmt::format("node(s) didn't satisfy plugin(s) [{}]", fmt::join(names, " "))}});
}

// The choice

/// Of the plugins that reach over rows, if one alone has a say.
const ClassState::Score* ClassState::only_score() const {
  const Score* only = nullptr;
  for (const Score& s : scores_) {
    if (!s.asked) continue;
    if (only != nullptr) return nullptr;
    only = &s;
  }
  return only;
}

void ClassState::rank() {
  if (ranked_) return;
  if (!std::exchange(swept_, true)) collect();
  ranked_ = true;
  rank(shared_.sweep.live);
  shared_.sweep.sums.swap(shared_.scratch.sums);
}

/// The sums of these rows into scratch.sums, as if no others were feasible.
void ClassState::rank(std::span<const Row> rows, std::vector<ScoreDetail>* detail, std::size_t of) {
  RowScratch& scratch = shared_.scratch;
  const MonoTime start = scratch.clock != nullptr ? scratch.clock->mono() : MonoTime();
  local_.sums_among(rows, seen_);
  std::vector<std::int32_t>& sums = scratch.sums;
  std::vector<std::int64_t>& scores = shared_.sweep.scores;
  for (Score& s : scores_) {
    if (!s.asked || rows.empty() || !s.plugin->pre_score(*s.state, *pod_, shared_.nodes, rows)) continue;
    scores.resize(rows.size());
    in_blocks(rows, [&](std::span<const Row> block) {
      s.plugin->score(
          *s.state, shared_.nodes, block,
          std::span(scores).subspan(static_cast<std::size_t>(block.data() - rows.data()), block.size()));
    });
    if (detail != nullptr) detail->push_back({s.index, s.weight, scores[of], 0});
    s.plugin->normalize(*s.state, rows, scores);
    if (detail != nullptr) detail->back().normalized = scores[of];
    for (std::size_t i = 0; i < rows.size(); ++i) sums[i] += s.weight * static_cast<std::int32_t>(scores[i]);
  }
  if (scratch.clock != nullptr) scratch.scoring += scratch.clock->mono() - start;
}

/// Of these rows one with the best sum, each of them with the same chance.
Row ClassState::best_of(std::span<const Row> rows, std::span<const std::int32_t> sums, Random& random) const {
  if (rows.empty()) return kNoRow;
  // The best of each block first: only blocks that have the best of all are looked at again.
  std::vector<std::int32_t>& tops = shared_.sweep.tops;
  tops.clear();
  const auto each_block = [&](auto&& f) {
    for (std::size_t at = 0, block = 0; at < rows.size(); at += kRowsAtOnce, ++block)
      f(block, at, sums.subspan(at, std::min(kRowsAtOnce, rows.size() - at)));
  };
  std::int32_t top = sums[0];
  each_block([&](std::size_t, std::size_t, std::span<const std::int32_t> block) {
    std::int32_t best = block[0];
    for (const std::int32_t sum : block) best = std::max(best, sum);
    tops.push_back(best);
    top = std::max(top, best);
  });
  std::uint32_t ties = 0;
  const auto tied = [&](std::span<const std::int32_t> block) {
    std::uint32_t n = 0;
    for (const std::int32_t sum : block) n += sum == top;
    return n;
  };
  each_block([&](std::size_t b, std::size_t, std::span<const std::int32_t> block) {
    if (tops[b] == top) ties += tied(block);
  });
  std::uint32_t left = ties == 1 ? 0 : random.below(ties);
  for (std::size_t b = 0;; ++b) {
    if (tops[b] != top) continue;
    const std::size_t at = b * kRowsAtOnce;
    const auto block = sums.subspan(at, std::min(kRowsAtOnce, rows.size() - at));
    if (const std::uint32_t n = tied(block); left >= n) {
      left -= n;
      continue;
    }
    for (std::size_t i = 0;; ++i)
      if (block[i] == top && left-- == 0) return rows[at + i];
  }
}

Row ClassState::pick(Random& random) {
  if (done_) return kNoRow;
  if (!swept_ && std::ranges::none_of(scores_, &Score::asked)) return local_.pick(random);
  if (const Score* const only = only_score(); only != nullptr && !swept_ && !local_.only_named())
    if (FewScores& few = shared_.sweep.few;
        only->plugin->score_few(*only->state, *pod_, shared_.nodes, local_.slots(), few))
      return local_.pick_with(few, only->weight, random);
  rank();
  return best_of(shared_.sweep.live, shared_.sweep.sums, random);
}

Row ClassState::pick_among(std::uint32_t wanted, Row& start, Random& random) {
  if (done_ || local_.only_named()) return pick(random);
  const auto slots = swept_ ? this->slots() : local_.slots();
  std::vector<Row>& found = shared_.sweep.found;
  found.clear();
  const auto rows = static_cast<Row>(slots.size());
  if (rows == 0) return kNoRow;
  Row row = start % rows;
  for (Row n = 0; n < rows && found.size() < wanted; ++n, row = row + 1 == rows ? 0 : row + 1)
    if (slots[row] >= 0) found.push_back(row);
  start = row;
  std::sort(found.begin(), found.end());
  rank(found);
  return best_of(found, shared_.scratch.sums, random);
}

Row ClassState::pick_from(std::span<const Row> rows, std::span<const std::int64_t> more, Random& random) {
  if (rows.size() == 1) return rows[0];
  rank(rows);
  const std::vector<std::int32_t>& sums = shared_.scratch.sums;
  std::int64_t top = std::numeric_limits<std::int64_t>::min();
  std::vector<Row>& best = shared_.sweep.found;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t score = sums[i] + more[i];
    if (score > top) best.clear();
    top = std::max(top, score);
    if (score == top) best.push_back(rows[i]);
  }
  return best[best.size() == 1 ? 0 : random.below(static_cast<std::uint32_t>(best.size()))];
}

// What is told

std::uint32_t ClassState::feasible() const {
  if (done_) return 0;
  return swept_ ? static_cast<std::uint32_t>(shared_.sweep.live.size()) : local_.feasible();
}

VerdictId ClassState::verdict(Row row) const {
  if (!swept_ || row >= shared_.nodes.rows() || !shared_.nodes.node(row) || !local_.may_go(row))
    return local_.verdict(row);
  return LocalState::verdict_of(slots()[place(row)]);
}

VerdictId ClassState::judge(Row row) {
  if (singly_ == 0) return verdict(row);
  if (row >= shared_.nodes.rows() || !shared_.nodes.node(row)) return kAbsent;
  if (--singly_ > 0) return Trial(*this, row).verdict();
  update(*pod_);
  return verdict(row);
}

void ClassState::verdicts(std::vector<VerdictId>& out) const {
  out.resize(shared_.nodes.rows());
  const auto slots = swept_ ? this->slots() : local_.slots();
  if (local_.only_named() || slots.size() < out.size()) {
    for (Row row = 0; row < out.size(); ++row) out[row] = verdict(row);
  } else {
    for (Row row = 0; row < out.size(); ++row) out[row] = LocalState::verdict_of(slots[row]);
  }
}

std::int32_t ClassState::score(Row row) {
  if (!swept_ && std::ranges::none_of(scores_, &Score::asked)) return local_.score(row);
  rank();
  const std::span<const Row> live = shared_.sweep.live;
  const auto it = std::lower_bound(live.begin(), live.end(), row);
  return it == live.end() || *it != row ? -1
                                        : shared_.sweep.sums[static_cast<std::size_t>(it - live.begin())];
}

Diagnosis ClassState::diagnose() const {
  Diagnosis d;
  if (done_) d = rejected_;
  d.nodes = shared_.nodes.nodes();
  if (done_) return d;
  d.rejectors = local_.rejectors();
  if (!swept_) {
    local_.diagnose(d);
    return d;
  }
  if (local_.only_named() && out_ == kPass) local_.diagnose_others(d);
  if (local_.only_named() && out_ != kPass && d.nodes > local_.named().size())
    d.count(shared_.verdicts[out_], d.nodes - static_cast<std::uint32_t>(local_.named().size()));
  std::unordered_map<VerdictId, std::uint32_t> counts;
  VerdictId last = kPass;
  std::uint32_t* count = nullptr;
  for (const std::int32_t slot : slots()) {
    const VerdictId verdict = LocalState::verdict_of(slot);
    if (verdict == kPass || verdict == kAbsent) continue;
    if (count == nullptr || verdict != last) count = &counts[last = verdict];
    ++*count;
  }
  for (const auto& [verdict, rows] : counts) d.count(shared_.verdicts[verdict], rows);
  return d;
}

std::vector<ClassState::Refused> ClassState::refused(std::size_t examples) const {
  std::vector<Refused> all;
  if (done_) return all;
  std::size_t last = 0;
  std::unordered_map<VerdictId, std::size_t> places;
  const auto add = [&](Row row, VerdictId verdict, std::uint32_t rows) {
    if (verdict == kPass || verdict == kAbsent) return;
    if (last >= all.size() || all[last].verdict != verdict) {
      const auto [place, added] = places.try_emplace(verdict, all.size());
      last = place->second;
      if (added) all.push_back({verdict});
    }
    all[last].rows += rows;
    if (row != kNoRow && all[last].examples.size() < examples) all[last].examples.push_back(row);
  };
  if (local_.only_named()) {
    const auto& named = local_.named();
    for (std::size_t i = 0; i < named.size(); ++i)
      add(named[i].first, LocalState::verdict_of(swept_ ? slots()[i] : named[i].second), 1);
    Row other = kNoRow;
    for (Row row = 0; row < shared_.nodes.rows() && other == kNoRow; ++row)
      if (shared_.nodes.node(row) && !local_.may_go(row)) other = row;
    if (other != kNoRow)
      add(other, local_.verdict(other), shared_.nodes.nodes() - static_cast<std::uint32_t>(named.size()));
    return all;
  }
  const auto slots = swept_ ? this->slots() : local_.slots();
  for (Row row = 0; row < slots.size(); ++row) add(row, LocalState::verdict_of(slots[row]), 1);
  return all;
}

std::span<const Row> ClassState::feasible_rows() {
  if (done_) return {};
  if (!swept_) collect();
  return shared_.sweep.live;
}

Explanation ClassState::explain(Row row) {
  Explanation e{verdict(row), {}, 0};
  if (e.verdict != kPass || done_) return e;
  if (!swept_) collect();
  const std::span<const Row> live = shared_.sweep.live;
  local_.explain(row, live, all_seen(), e.scores);
  rank(live, &e.scores,
       static_cast<std::size_t>(std::lower_bound(live.begin(), live.end(), row) - live.begin()));
  for (const ScoreDetail& score : e.scores) e.total += score.weight * score.normalized;
  return e;
}

std::unique_ptr<PodState> ClassState::take_per_pod(PluginIndex plugin) {
  for (Filter& f : filters_)
    if (f.per_pod != nullptr && profile_.filters[f.position].index == plugin) return std::move(f.state);
  return nullptr;
}

bool ClassState::reaches_over_rows() const {
  return std::any_of(filters_.begin(), filters_.end(), [](const Filter& f) { return f.asked; });
}

std::size_t ClassState::bytes() const {
  std::size_t all = sizeof *this + local_.bytes();
  for (const Filter& f : filters_) all += sizeof f + (f.state ? f.state->bytes() : 0);
  for (const Score& s : scores_) all += sizeof s + s.state->bytes();
  for (const Delta& d : deltas_) all += sizeof d + d.state->bytes();
  for (const Kept& k : kept_) all += k.state->bytes();
  for (const SeenRow& seen : seen_) all += sizeof seen + seen.raw.capacity() * sizeof seen.raw[0];
  all += yielding_.capacity() * sizeof yielding_[0];
  return all;
}

}  // namespace koord::scheduling
