// CookieBook: see cookie_book.hpp. The rows of its file, a process each:
//   PID<tab>START<tab>SET<tab>WAS<tab>NAME<tab>GROUP
#include "framework/action/cookie_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/action/cookie_bearer.hpp"
#include "koord/host/text.hpp"

namespace koord::koordlet {

namespace {

using host::CoreCookie;
using host::kNoCookie;

/// Who forks all the time is looked for so often in one pass.
constexpr int kRounds = 4;

Error kept_theirs(std::size_t count) {
  return Error(Code::conflict,
               fmt::format("{} processes have a cookie that somebody else gave them, and keep it", count));
}
Error hidden(std::size_t count) {
  return Error(Code::forbidden, fmt::format("{} processes cannot be asked for their cookies", count));
}

}  // namespace

/// One pass: what is found, and what the file shall have after it.
struct CookieBook::Pass {
  Pass(CookieBook& of, std::span<const ProcessSetting> wanted, Outcome& out)
      : book(of), settings(wanted), outcome(out), members(wanted.size()) {
    for (const auto& [pid, row] : book.rows_) {
      ours.insert({row.set, row.was});
      had[row.name].insert(row.set);
    }
  }

  void look();
  std::vector<std::size_t> of_name(std::string_view name) const;
  void share(const std::string& name);
  void give(CookieBearer& bearer, std::span<const std::size_t> containers, CoreCookie cookie);
  std::vector<std::pair<Process, Row>> unwanted();
  void give_back();

  /// Whether the file has room for it: with all that it has had before, no more than its rows.
  bool is_admitted(const Process& process) {
    if (book.find(process) != nullptr) return true;
    if (known + fresh >= book.kind_.book.max_rows) return false;
    ++fresh;
    return true;
  }
  /// Somebody else gave it.
  bool is_others(CoreCookie cookie) const { return cookie != kNoCookie && !ours.contains(cookie); }
  void note(std::size_t container, const Process& process, CoreCookie cookie) {
    const CoreCookie was = process.value == kNoCookie ? cookie : process.value;
    next.insert_or_assign(
        process.pid, Row{process.start, cookie, was, settings[container].shared, settings[container].group});
  }
  /// What a name of containers has now, and of whom it can be had.
  std::pair<CoreCookie, std::vector<Process>> shared_by(std::string_view name,
                                                        std::span<const std::size_t> containers) const;
  /// All that is to be remembered while the pass is under way.
  void save() {
    Rows all = book.rows_;
    for (const auto& [pid, row] : next) all.insert_or_assign(pid, row);
    book.save(std::move(all), outcome);
  }

  CookieBook& book;
  const std::span<const ProcessSetting> settings;
  Outcome& outcome;
  std::vector<std::vector<Process>> members;  // by the container
  std::set<pid_t> seen, tried;
  const std::size_t known = book.rows_.size();
  std::size_t fresh = 0;             // of those who are seen and have no row yet
  std::set<CoreCookie> ours, taken;  // ever given by this book; those of names in this pass
  std::map<std::string, std::set<CoreCookie>, std::less<>> had;  // before the pass, by the name
  Rows next;
};

CookieBook::CookieBook(const ProcessKind& kind, BootFile::Place place, ProcessFiles& files)
    : kind_(kind), file_(kind.book, std::move(place)), files_(files) {}

Result<> CookieBook::load() {
  rows_.clear();
  Rows rows;
  KOORD_CHECK(file_.load([&](std::string_view line) {
    Row row;
    pid_t pid = 0;
    const bool numbers = host::to_number(take_field(line), pid) && pid > 1 &&
                         host::to_number(take_field(line), row.start) &&
                         host::to_number(take_field(line), row.set) && row.set != kNoCookie &&
                         host::to_number(take_field(line), row.was) && row.was != kNoCookie;
    if (!numbers) return false;
    row.name = take_field(line);
    row.group = line;
    return !row.name.empty() && !row.group.empty() && rows.emplace(pid, std::move(row)).second;
  }));
  rows_ = std::move(rows);
  return {};
}

void CookieBook::save(Rows rows, Outcome& outcome) {
  const bool same = rows == rows_;
  rows_ = std::move(rows);
  if (same && !file_.is_stale()) return;
  std::string text;
  for (const auto& [pid, row] : rows_)
    fmt::format_to(std::back_inserter(text), "{}\t{}\t{}\t{}\t{}\t{}\n", pid, row.start, row.set, row.was,
                   row.name, row.group);
  if (const auto saved = file_.save(text); !saved) outcome.not_saved = saved.error();
}

const CookieBook::Row* CookieBook::find(const Process& process) const {
  const auto it = rows_.find(process.pid);
  return it != rows_.end() && it->second.start == process.start ? &it->second : nullptr;
}

void CookieBook::Pass::look() {
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const auto found = book.files_.processes(book.kind_, settings[i].group);
    if (!found) {
      if (found.error().code() == Code::not_found) continue;
      outcome.containers[i].refused = found.error();
      for (const auto& [pid, row] : book.rows_)  // nobody can tell who has gone
        if (row.group == settings[i].group && seen.insert(pid).second) next.emplace(pid, row);
      continue;
    }
    std::size_t unseen = 0;
    for (const Process& process : *found) {
      if (seen.contains(process.pid)) continue;  // of another group, too
      if (!is_admitted(process)) {
        outcome.containers[i].refused =
            Error(Code::too_large, fmt::format("more than {} processes", book.kind_.book.max_rows));
        continue;
      }
      seen.insert(process.pid);
      if (process.value == kHiddenCookie) {
        ++unseen;
        if (const Row* row = book.find(process)) next.emplace(process.pid, *row);
      } else {
        members[i].push_back(process);
      }
    }
    if (unseen > 0) outcome.containers[i].refused = hidden(unseen);
  }
}

std::vector<std::size_t> CookieBook::Pass::of_name(std::string_view name) const {
  std::vector<std::size_t> containers;
  for (std::size_t i = 0; i < settings.size(); ++i)
    if (settings[i].shared == name) containers.push_back(i);
  return containers;
}

std::pair<CoreCookie, std::vector<Process>> CookieBook::Pass::shared_by(
    std::string_view name, std::span<const std::size_t> containers) const {
  const auto before = had.find(name);
  const auto was_given = [&](CoreCookie cookie) {
    return before != had.end() && before->second.contains(cookie);
  };
  std::pair<CoreCookie, std::vector<Process>> found{kNoCookie, {}};
  const auto add = [&](const Process& process) {
    if (process.value == kNoCookie || taken.contains(process.value)) return;
    if (found.first == kNoCookie) found.first = process.value;
    if (found.first == process.value) found.second.push_back(process);
  };
  for (const std::size_t i : containers)
    for (const Process& process : members[i]) {
      const Row* const row = book.find(process);
      // Who has no row was forked with what its parent had.
      if (row != nullptr ? row->name == name && row->set == process.value : was_given(process.value))
        add(process);
    }
  for (const auto& [pid, row] : next) {  // of groups that cannot be looked at now
    if (row.name != name) continue;
    const auto now = book.files_.find(book.kind_, pid);
    if (now && now->start == row.start && now->value == row.set) add(*now);
  }
  return found;
}

void CookieBook::Pass::share(const std::string& name) {
  const std::vector<std::size_t> containers = of_name(name);
  auto [cookie, sources] = shared_by(name, containers);
  bool whole = true;
  for (const std::size_t i : containers) {
    std::size_t others = 0;
    std::erase_if(members[i], [&](const Process& process) {
      const bool theirs = is_others(process.value);
      others += theirs ? 1 : 0;
      return theirs;
    });
    if (others > 0) outcome.containers[i].refused = kept_theirs(others);
    for (const Process& process : members[i]) whole = whole && process.value == cookie && cookie != kNoCookie;
  }
  if (whole) {
    taken.insert(cookie);
    for (const std::size_t i : containers) {
      outcome.containers[i].value = cookie;
      outcome.containers[i].have = members[i].size();
      for (const Process& process : members[i]) note(i, process, cookie);
    }
    return;
  }
  const auto fail = [&](const Error& why) {
    for (const std::size_t i : containers) {
      outcome.containers[i].refused = why;
      for (const Process& process : members[i])
        if (const Row* row = book.find(process)) next.emplace(process.pid, *row);
    }
  };
  const auto borne = book.files_.bear([&, cookie = cookie, &sources = sources](CookieBearer& bearer) {
    CoreCookie has = kNoCookie;
    for (const Process& source : sources) {
      const auto took = bearer.take(source);
      if (took && *took == cookie) has = cookie;
      if (has != kNoCookie) break;
    }
    if (has == kNoCookie) {
      const auto made = bearer.make();
      if (!made) return fail(made.error());
      if (*made == kNoCookie)
        return fail(Error(Code::unavailable, "the kernel does not tell cookies apart yet"));
      has = *made;
    }
    ours.insert(has);
    taken.insert(has);
    give(bearer, containers, has);
  });
  if (!borne) fail(borne.error());
}

void CookieBook::Pass::give(CookieBearer& bearer, std::span<const std::size_t> containers,
                            CoreCookie cookie) {
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::pair<std::size_t, Process>> lacking;
    for (const std::size_t i : containers) {
      Outcome::Container& container = outcome.containers[i];
      container.value = cookie;
      for (const Process& process : members[i]) {
        note(i, process, cookie);
        if (process.value == cookie)
          ++container.have;
        else
          lacking.emplace_back(i, process);
      }
    }
    save();  // before the first is given
    for (const auto& [i, process] : lacking) {
      tried.insert(process.pid);
      const auto gave = bearer.give(process);
      if (gave)
        ++outcome.containers[i].set;
      else if (gave.error().code() != Code::not_found)
        outcome.containers[i].refused = gave.error();
    }
    if (lacking.empty()) return;
    for (const std::size_t i : containers) {  // who was forked meanwhile
      members[i].clear();
      const auto found = book.files_.processes(book.kind_, settings[i].group);
      if (!found) continue;
      for (const Process& process : *found)
        if (!tried.contains(process.pid) && process.value != kHiddenCookie && !is_others(process.value) &&
            !seen.contains(process.pid) && is_admitted(process)) {
          seen.insert(process.pid);
          members[i].push_back(process);
        }
    }
  }
}

/// Those that have what is not wanted of them any more; whom nobody can ask stay in the file.
std::vector<std::pair<Process, CookieBook::Row>> CookieBook::Pass::unwanted() {
  std::vector<std::pair<Process, Row>> all;
  std::map<std::string_view, std::vector<std::pair<pid_t, const Row*>>> groups;
  for (const auto& [pid, row] : book.rows_)
    if (!next.contains(pid)) groups[row.group].emplace_back(pid, &row);
  for (const auto& [group, rows] : groups) {
    const auto found = book.files_.processes(book.kind_, std::string(group));
    const bool unknown = !found && found.error().code() != Code::not_found;
    std::set<CoreCookie> given;
    std::set<pid_t> listed;
    const bool stays = std::ranges::any_of(settings, [&](const auto& one) { return one.group == group; });
    for (const auto& [pid, row] : rows) given.insert({row->set, row->was});
    const auto has = [&](const Process& process, const Row& row) {
      if (process.value == kHiddenCookie) {
        outcome.not_returned = hidden(1);
        next.emplace(process.pid, row);
      } else if (given.contains(process.value) && !tried.contains(process.pid)) {
        all.emplace_back(process, row);
      }
    };
    if (found)
      for (const Process& process : *found) {
        listed.insert(process.pid);
        if (stays || next.contains(process.pid)) continue;
        if (const Row* row = book.find(process))
          has(process, *row);
        else if (process.value != kHiddenCookie)  // forked with what its parent had
          has(process, *rows.front().second);
      }
    for (const auto& [pid, row] : rows) {
      if (listed.contains(pid)) continue;
      if (unknown) {
        outcome.not_returned = found.error();
        next.emplace(pid, *row);
      } else if (const auto now = book.files_.find(book.kind_, pid); now && now->start == row->start) {
        has(*now, *row);
      }
    }
  }
  return all;
}

void CookieBook::Pass::give_back() {
  tried.clear();
  for (int round = 0; round < kRounds; ++round) {
    const auto all = unwanted();
    if (all.empty()) return;
    const auto keep = [&](const Process& process, Row row, const Error& why) {
      outcome.not_returned = why;
      row.start = process.start;
      next.emplace(process.pid, std::move(row));
    };
    const auto borne = book.files_.bear([&](CookieBearer& bearer) {
      const auto dropped = bearer.drop();
      for (const auto& [process, row] : all) {
        tried.insert(process.pid);
        const auto taken_back = dropped ? bearer.give(process) : dropped;
        if (!taken_back) {
          if (taken_back.error().code() != Code::not_found) keep(process, row, taken_back.error());
          continue;
        }
        auto& returned = outcome.returned;
        if (returned.empty() || returned.back().group != row.group) returned.push_back({row.group});
        ++returned.back().processes;
      }
    });
    if (borne) continue;
    for (const auto& [process, row] : all) keep(process, row, borne.error());
    return;
  }
}

SettingBook::Outcome CookieBook::pass(std::span<const ProcessSetting> settings) {
  Outcome outcome;
  outcome.containers.resize(settings.size());
  if (settings.empty() && rows_.empty()) return outcome;
  if (const auto available = files_.available(kind_); !available) {
    outcome.unavailable = available.error();
    return outcome;
  }
  Pass pass(*this, settings, outcome);
  pass.look();
  std::set<std::string_view> names;
  for (const ProcessSetting& setting : settings)
    if (names.insert(setting.shared).second) pass.share(setting.shared);
  pass.give_back();
  save(std::move(pass.next), outcome);
  return outcome;
}

}  // namespace koord::koordlet
