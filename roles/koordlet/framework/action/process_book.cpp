// ProcessBook: see process_book.hpp. The rows of its file, a process each:
//   PID<tab>START<tab>BEFORE<tab>SET<tab>WAS<tab>GROUP
#include "framework/action/process_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

bool take_value(std::string_view& line, const ProcessKind& kind, std::int64_t& value) {
  return host::to_number(take_field(line), value) && value >= kind.least && value <= kind.most;
}

}  // namespace

ProcessBook::ProcessBook(const ProcessKind& kind, BootFile::Place place, ProcessFiles& files)
    : kind_(kind), file_(kind.book, std::move(place)), files_(files) {}

Result<> ProcessBook::load() {
  rows_.clear();
  Rows rows;
  KOORD_CHECK(file_.load([&](std::string_view line) {
    Row row;
    pid_t pid = 0;
    const bool whole = host::to_number(take_field(line), pid) && pid > 1 &&
                       host::to_number(take_field(line), row.start) && take_value(line, kind_, row.before) &&
                       take_value(line, kind_, row.set) && take_value(line, kind_, row.was) && !line.empty();
    row.group = line;
    return whole && rows.emplace(pid, std::move(row)).second;
  }));
  rows_ = std::move(rows);
  return {};
}

void ProcessBook::save(Rows rows, Outcome& outcome) {
  const bool same = rows == rows_;
  rows_ = std::move(rows);
  if (same && !file_.is_stale()) return;
  std::string text;
  for (const auto& [pid, row] : rows_)
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}\n", pid, row.start, row.before, row.set,
                   row.was, row.group);
  if (const auto saved = file_.save(text); !saved) outcome.not_saved = saved.error();
}

const ProcessBook::Row* ProcessBook::find(const Process& process) const {
  const auto it = rows_.find(process.pid);
  return it != rows_.end() && it->second.start == process.start ? &it->second : nullptr;
}

/// `sibling`: any of the group that was known before; who is new and has its score was forked with it.
ProcessBook::Row ProcessBook::row_of(const Process& process, const ProcessSetting& setting,
                                     const Row* sibling) const {
  Row row;
  if (const Row* known = find(process)) {
    row = *known;
  } else {
    row = {.start = process.start, .before = process.value, .set = process.value, .was = process.value};
    const auto parent = rows_.find(process.parent);
    const Row* const like =
        parent != rows_.end() && parent->second.group == setting.group ? &parent->second : sibling;
    if (like && (process.value == like->set || process.value == like->was)) row.before = like->before;
  }
  row.group = setting.group;
  if (process.value == setting.value) {
    row.set = row.was = setting.value;
  } else if (row.set != setting.value) {
    if (process.value != row.was) row.was = row.set;  // otherwise the last one was refused
    row.set = setting.value;
  }
  return row;
}

void ProcessBook::look(const ProcessSetting& setting, std::size_t index, Rows& next,
                       std::vector<Change>& changes, Outcome::Container& outcome) const {
  const auto found = files_.processes(kind_, setting.group);
  if (!found) {
    if (found.error().code() == Code::not_found) return;
    outcome.refused = found.error();
    for (const auto& [pid, row] : rows_)  // nobody can tell who has gone
      if (row.group == setting.group) next.emplace(pid, row);
    return;
  }
  const auto known = std::find_if(rows_.begin(), rows_.end(),
                                  [&](const auto& one) { return one.second.group == setting.group; });
  const Row* const sibling = known == rows_.end() ? nullptr : &known->second;
  for (const Process& process : *found) {
    if (next.size() >= kind_.book.max_rows) {
      outcome.refused = Error(Code::too_large, fmt::format("more than {} processes", kind_.book.max_rows));
      return;
    }
    if (!next.emplace(process.pid, row_of(process, setting, sibling)).second)
      continue;  // of another group, too
    if (process.value == setting.value)
      ++outcome.have;
    else
      changes.push_back({process, index});
  }
}

ProcessBook::Outcome ProcessBook::pass(std::span<const ProcessSetting> settings) {
  Outcome outcome;
  outcome.containers.resize(settings.size());
  Rows next;
  std::vector<Change> changes;
  for (std::size_t i = 0; i < settings.size(); ++i) {
    outcome.containers[i].value = settings[i].value;
    look(settings[i], i, next, changes, outcome.containers[i]);
  }
  std::vector<std::pair<Process, Row>> unwanted;
  for (const auto& [pid, row] : rows_) {
    if (const auto it = next.find(pid); it != next.end() && it->second.start == row.start) continue;
    const auto now = files_.find(kind_, pid);
    if (!now || now->start != row.start || now->value == row.before) continue;
    if (now->value == row.set || now->value == row.was) unwanted.emplace_back(*now, row);
  }
  Rows noted = next;
  for (const auto& [process, row] : unwanted) noted.insert_or_assign(process.pid, row);
  save(std::move(noted), outcome);  // before the first write
  for (const Change& change : changes) {
    Outcome::Container& container = outcome.containers[change.container];
    const auto set = files_.set(kind_, change.process, settings[change.container].value);
    if (set)
      ++container.set;
    else if (set.error().code() != Code::not_found)
      container.refused = set.error();
  }
  give_back(unwanted, next, outcome);
  save(std::move(next), outcome);
  return outcome;
}

void ProcessBook::give_back(const std::vector<std::pair<Process, Row>>& whose, Rows& next, Outcome& outcome) {
  for (const auto& [process, row] : whose) {
    const auto set = files_.set(kind_, process, row.before);
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
