// ScoreBook: see score_book.hpp. The rows of its file, a process each:
//   PID<tab>START<tab>BEFORE<tab>SET<tab>WAS<tab>GROUP
#include "framework/action/score_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

constexpr BootFile::Kind kKind{.header = "koord-scores 1 ",
                               .what = "a file of scores",
                               .row = "process",
                               .max_size = std::size_t{32} << 20,
                               .max_rows = 50'000};

bool take_score(std::string_view& line, std::int64_t& score) {
  return host::to_number(take_field(line), score) && score >= kLeastScore && score <= kMostScore;
}

}  // namespace

ScoreBook::ScoreBook(BootFile::Place place, ProcessFiles& files)
    : file_(kKind, std::move(place)), files_(files) {}

Result<> ScoreBook::load() {
  rows_.clear();
  Rows rows;
  KOORD_CHECK(file_.load([&rows](std::string_view line) {
    Row row;
    pid_t pid = 0;
    const bool whole = host::to_number(take_field(line), pid) && pid > 1 &&
                       host::to_number(take_field(line), row.start) && take_score(line, row.before) &&
                       take_score(line, row.set) && take_score(line, row.was) && !line.empty();
    row.group = line;
    return whole && rows.emplace(pid, std::move(row)).second;
  }));
  rows_ = std::move(rows);
  return {};
}

void ScoreBook::save(Rows rows, Outcome& outcome) {
  const bool same = rows == rows_;
  rows_ = std::move(rows);
  if (same && !file_.is_stale()) return;
  std::string text;
  for (const auto& [pid, row] : rows_)
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}\n", pid, row.start, row.before, row.set,
                   row.was, row.group);
  if (const auto saved = file_.save(text); !saved) outcome.not_saved = saved.error();
}

const ScoreBook::Row* ScoreBook::find(const Process& process) const {
  const auto it = rows_.find(process.pid);
  return it != rows_.end() && it->second.start == process.start ? &it->second : nullptr;
}

/// `sibling`: any of the group that was known before; who is new and has its score was forked with it.
ScoreBook::Row ScoreBook::row_of(const Process& process, const ScoreWish& wish, const Row* sibling) const {
  Row row;
  if (const Row* known = find(process)) {
    row = *known;
  } else {
    row = {.start = process.start, .before = process.score, .set = process.score, .was = process.score};
    const auto parent = rows_.find(process.parent);
    const Row* const like =
        parent != rows_.end() && parent->second.group == wish.group ? &parent->second : sibling;
    if (like && (process.score == like->set || process.score == like->was)) row.before = like->before;
  }
  row.group = wish.group;
  if (process.score == wish.score) {
    row.set = row.was = wish.score;
  } else if (row.set != wish.score) {
    if (process.score != row.was) row.was = row.set;  // otherwise the last one was refused
    row.set = wish.score;
  }
  return row;
}

void ScoreBook::look(const ScoreWish& wish, std::size_t index, Rows& next, std::vector<Change>& changes,
                     Outcome::Container& outcome) const {
  const auto found = files_.processes(wish.group);
  if (!found) {
    if (found.error().code() == Code::not_found) return;
    outcome.refused = found.error();
    for (const auto& [pid, row] : rows_)  // nobody can tell who has gone
      if (row.group == wish.group) next.emplace(pid, row);
    return;
  }
  const auto known = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const auto& one) { return one.second.group == wish.group; });
  const Row* const sibling = known == rows_.end() ? nullptr : &known->second;
  for (const Process& process : *found) {
    if (next.size() >= kKind.max_rows) {
      outcome.refused = Error(Code::too_large, fmt::format("more than {} processes", kKind.max_rows));
      return;
    }
    if (!next.emplace(process.pid, row_of(process, wish, sibling)).second) continue;  // of another group, too
    if (process.score == wish.score)
      ++outcome.have;
    else
      changes.push_back({process, index});
  }
}

ScoreBook::Outcome ScoreBook::pass(std::span<const ScoreWish> wishes) {
  Outcome outcome;
  outcome.containers.resize(wishes.size());
  Rows next;
  std::vector<Change> changes;
  for (std::size_t i = 0; i < wishes.size(); ++i) look(wishes[i], i, next, changes, outcome.containers[i]);
  std::vector<std::pair<Process, Row>> unwanted;
  for (const auto& [pid, row] : rows_) {
    if (const auto it = next.find(pid); it != next.end() && it->second.start == row.start) continue;
    const auto now = files_.find(pid);
    if (!now || now->start != row.start || now->score == row.before) continue;
    if (now->score == row.set || now->score == row.was) unwanted.emplace_back(*now, row);
  }
  Rows noted = next;
  for (const auto& [process, row] : unwanted) noted.insert_or_assign(process.pid, row);
  save(std::move(noted), outcome);  // before the first write
  for (const Change& change : changes) {
    Outcome::Container& container = outcome.containers[change.container];
    const auto set = files_.set_score(change.process, wishes[change.container].score);
    if (set)
      ++container.set;
    else if (set.error().code() != Code::not_found)
      container.refused = set.error();
  }
  give_back(unwanted, next, outcome);
  save(std::move(next), outcome);
  return outcome;
}

void ScoreBook::give_back(const std::vector<std::pair<Process, Row>>& whose, Rows& next, Outcome& outcome) {
  for (const auto& [process, row] : whose) {
    const auto set = files_.set_score(process, row.before);
    if (!set && set.error().code() != Code::not_found) {
      outcome.not_returned = set.error();
      next.emplace(process.pid, row);
      continue;
    }
    if (!set) continue;
    auto& returned = outcome.returned;
    if (returned.empty() || returned.back().group != row.group) returned.push_back({row.group});
    ++returned.back().processes;
  }
}

}  // namespace koord::koordlet
