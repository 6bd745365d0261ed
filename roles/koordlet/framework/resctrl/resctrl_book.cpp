// ResctrlBook: see resctrl_book.hpp. The rows of its file:
//   mount<tab>WHICH: koord has mounted it; WHICH is missing until it is known
//   made<tab>GROUP, joined<tab>GROUP: a group, by whom it was made
//   pod<tab>GROUP<tab>CGROUP: whose tasks are in it
#include "framework/resctrl/resctrl_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace koord::koordlet {

namespace {

constexpr BootFile::Kind kKind{.header = "koord-resctrl 1 ",
                               .what = "a file of resctrl's groups",
                               .row = "group",
                               .max_size = std::size_t{8} << 20,
                               .max_rows = 50'000};
constexpr std::string_view kMount = "mount", kMade = "made", kJoined = "joined", kPod = "pod";
/// Who forks for longer than that is gone on with in the next pass.
constexpr int kMostRounds = 32;

bool is_name(std::string_view group) {
  return !group.empty() && !group.starts_with('/') && group.find("..") == std::string_view::npos &&
         group.find('\n') == std::string_view::npos;
}

const CacheGroup* find(std::span<const CacheGroup> wanted, std::string_view group) {
  const auto it = std::ranges::find(wanted, group, &CacheGroup::group);
  return it == wanted.end() ? nullptr : &*it;
}

}  // namespace

ResctrlBook::ResctrlBook(BootFile::Place place, ResctrlFiles& files)
    : file_(kKind, std::move(place)), files_(files) {}

Result<> ResctrlBook::load() {
  rows_.clear();
  mount_.reset();
  Rows rows;
  Mount mount;
  KOORD_CHECK(file_.load([&](std::string_view line) {
    const std::string_view kind = take_field(line);
    if (kind == kMount) {
      mount = line;
      return true;
    }
    const std::string group(take_field(line));
    if (!is_name(group)) return false;
    if (kind == kPod) return !line.empty() && rows.contains(group) && rows[group].pods.emplace(line).second;
    return (kind == kMade || kind == kJoined) && line.empty() &&
           rows.emplace(group, Row{kind == kMade, {}}).second;
  }));
  rows_ = std::move(rows);
  mount_ = std::move(mount);
  return {};
}

void ResctrlBook::save(Rows rows, Mount mount, Outcome& outcome) {
  const bool same = rows == rows_ && mount == mount_;
  rows_ = std::move(rows);
  mount_ = std::move(mount);
  if (same && !file_.is_stale()) return;
  std::string text;
  const auto to = std::back_inserter(text);
  if (mount_) fmt::format_to(to, "{}{}{}\n", kMount, mount_->empty() ? "" : "\t", *mount_);
  for (const auto& [group, row] : rows_) {
    fmt::format_to(to, "{}\t{}\n", row.made ? kMade : kJoined, group);
    for (const std::string& pod : row.pods) fmt::format_to(to, "{}\t{}\t{}\n", kPod, group, pod);
  }
  const auto saved = text.empty() ? file_.remove() : file_.save(text);
  if (!saved) outcome.not_saved = saved.error();
}

/// What there was and what is wanted, both.
ResctrlBook::Rows ResctrlBook::next_of(std::span<const CacheGroup> wanted,
                                       std::span<const std::string> swept) {
  Rows rows = rows_;
  for (const CacheGroup& one : wanted) {
    auto it = rows.find(one.group);
    // One that went meanwhile is made anew.
    if (it == rows.end() || !files_.exists(one.group))
      it = rows.insert_or_assign(one.group, Row{!files_.exists(one.group), {}}).first;
    it->second.pods.insert(one.pods.begin(), one.pods.end());
  }
  if (swept.empty()) return rows;
  const auto groups = files_.groups();
  if (!groups) return rows;
  for (const std::string& group : *groups)
    for (const std::string& prefix : swept)
      if (group.starts_with(prefix)) rows[group].made = true;
  return rows;
}

ResctrlBook::Outcome ResctrlBook::pass(std::span<const CacheGroup> wanted,
                                       std::span<const std::string> swept) {
  Outcome outcome;
  outcome.info = files_.info();
  if (!outcome.info && outcome.info.error().code() == Code::not_found && !wanted.empty()) {
    // What was in a mount that has gone has gone with it.
    save({}, "", outcome);
    if (auto mounted = files_.mount(); !mounted) {
      outcome.absent = std::move(mounted).error();
      save({}, std::nullopt, outcome);
    } else {
      outcome.info = files_.info();
    }
  }
  if (!outcome.info) {
    if (!outcome.absent && !wanted.empty()) outcome.absent = outcome.info.error();
    const bool gone = outcome.info.error().code() == Code::not_found;
    if (gone) save({}, std::nullopt, outcome);
    if (gone || !wanted.empty()) return outcome;  // what is there stays while nobody can read what it is
  }
  check_mount(outcome);
  Rows rows = next_of(wanted, swept);
  const std::vector<CacheGroup> members = with_fallbacks(wanted);
  for (const CacheGroup& one : members) {
    outcome.groups.emplace_back().group = one.group;
    rows[one.group].pods.insert(one.pods.begin(), one.pods.end());
  }
  save(rows, mount_, outcome);  // before the first change
  // Before groups go, so that nobody is in none between two of them. One that is new holds nobody back yet:
  // its tasks come when its schemata are written, and until then they stay where they are.
  bool stay = false;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool exists = files_.exists(members[i].group);
    outcome.groups[i].unfilled = known_.insert(members[i].group).second || !exists;
    stay = stay || (outcome.groups[i].unfilled && exists);
    if (!outcome.groups[i].unfilled) fill(members[i], outcome.groups[i]);
  }
  if (!stay) let_go(members, rows, outcome);  // before others are made: a machine has room for few
  for (Outcome::Group& group : outcome.groups) {
    if (files_.exists(group.group)) continue;
    if (auto made = files_.make(group.group); !made) {
      group.refused = std::move(made).error();
      rows.erase(group.group);  // who makes it later is somebody else
    } else {
      group.made = true;
    }
  }
  std::erase_if(known_, [&](const std::string& group) { return find(wanted, group) == nullptr; });
  save(rows, mount_, outcome);
  if (mount_ && rows.empty() && wanted.empty()) unmount(outcome);
  return outcome;
}

void ResctrlBook::check_mount(Outcome& outcome) {
  if (!mount_) return;
  auto which = files_.which();
  if (!which || *which == *mount_) return;
  if (mount_->empty())
    save(rows_, std::move(*which), outcome);
  else  // somebody has unmounted it, and mounted it for himself
    save({}, std::nullopt, outcome);
}

void ResctrlBook::unmount(Outcome& outcome) {
  const auto bare = files_.is_bare();
  if (bare && !*bare) {  // it is theirs from now on
    outcome.left_mounted = true;
    return save({}, std::nullopt, outcome);
  }
  if (auto gone = bare ? files_.unmount() : Result<>(bare.error()); gone)
    save({}, std::nullopt, outcome);
  else
    outcome.not_returned = std::move(gone).error();
}

std::vector<CacheGroup> ResctrlBook::with_fallbacks(std::span<const CacheGroup> wanted) {
  std::vector<CacheGroup> all(wanted.begin(), wanted.end());
  for (const CacheGroup& one : wanted) {
    if (one.otherwise.empty() || files_.exists(one.group)) continue;
    const auto other = std::ranges::find(all, one.otherwise, &CacheGroup::group);
    if (other != all.end()) other->pods.insert(other->pods.end(), one.pods.begin(), one.pods.end());
  }
  return all;
}

void ResctrlBook::let_go(std::span<const CacheGroup> wanted, Rows& rows, Outcome& outcome) {
  for (auto it = rows.begin(); it != rows.end();) {
    auto& [group, row] = *it;
    const CacheGroup* const still = find(wanted, group);
    bool stays = false;
    if (still == nullptr && row.made) {
      const auto watched = files_.is_watched(group);
      if (!watched) {
        outcome.not_returned = watched.error();
        ++it;
        continue;
      }
      stays = *watched;
    }
    if (stays) outcome.watched.push_back(group);
    if (still == nullptr && row.made && !stays) {
      const bool was_there = files_.exists(group);
      if (auto removed = files_.remove(group); !removed) {
        outcome.not_returned = std::move(removed).error();
        ++it;
        continue;
      }
      if (was_there) outcome.removed.push_back(group);
      it = rows.erase(it);
      continue;
    }
    for (auto pod = row.pods.begin(); pod != row.pods.end();) {
      if (still != nullptr && std::ranges::find(still->pods, *pod) != still->pods.end()) {
        ++pod;
        continue;
      }
      if (auto failed = empty_out(group, *pod, outcome.returned)) {
        outcome.not_returned = std::move(failed);
        ++pod;
      } else {
        pod = row.pods.erase(pod);
      }
    }
    it = still == nullptr && row.pods.empty() && !stays ? rows.erase(it) : std::next(it);
  }
}

std::optional<Error> ResctrlBook::empty_out(const std::string& group, const std::string& pod,
                                            std::size_t& moved) {
  Tasks tried;
  for (int round = 0; round < kMostRounds; ++round) {
    const auto inside = files_.tasks(group);
    const auto below = files_.tasks_below(pod);
    if (!inside || !below) {
      const Error& error = !inside ? inside.error() : below.error();
      return error.code() == Code::not_found ? std::nullopt : std::optional(error);
    }
    const Tasks members(inside->begin(), inside->end());
    bool none = true;
    for (const std::int32_t task : *below) {
      if (!members.contains(task) || !tried.insert(task).second) continue;
      none = false;
      auto back = files_.move(task, "");
      if (back)
        ++moved;
      else if (back.error().code() != Code::not_found)
        return std::move(back).error();
    }
    if (none) return std::nullopt;
  }
  return Error(Code::unavailable, fmt::format("{}: its tasks fork faster than they can be moved", pod));
}

ResctrlBook::Tasks ResctrlBook::others() const {
  Tasks all;
  const auto groups = files_.groups();
  if (!groups) return all;
  for (const std::string& group : *groups) {
    if (rows_.contains(group)) continue;
    if (const auto tasks = files_.tasks(group)) all.insert(tasks->begin(), tasks->end());
  }
  return all;
}

/// In rounds, until one finds nobody new: who is forked by a task that was not moved yet is found by the next
/// one, and who is forked by one that was is in the group with it.
void ResctrlBook::fill(const CacheGroup& wanted, Outcome::Group& outcome) {
  const auto found = files_.tasks(wanted.group);
  if (!found) {
    outcome.refused = found.error();
    return;
  }
  Tasks inside(found->begin(), found->end());
  Tasks others_seen;
  for (const std::string& pod : wanted.pods) {
    bool more = true;
    for (int round = 0; more && round < kMostRounds; ++round) {
      const auto below = files_.tasks_below(pod);
      more = false;
      if (!below) {
        if (below.error().code() != Code::not_found) outcome.refused = below.error();
        break;
      }
      const bool all_inside = std::ranges::all_of(*below, [&](auto task) { return inside.contains(task); });
      if (all_inside) break;
      // Asked after who is there: who was forked meanwhile by a task of another group is in that one.
      const Tasks others = this->others();
      for (const std::int32_t task : *below) {
        if (inside.contains(task)) continue;
        if (others.contains(task)) {
          others_seen.insert(task);
          continue;
        }
        more = true;
        inside.insert(task);  // tried once
        auto moved = files_.move(task, wanted.group);
        if (moved)
          ++outcome.moved;
        else if (moved.error().code() != Code::not_found)
          outcome.refused = std::move(moved).error();
      }
    }
    if (more)
      outcome.refused =
          Error(Code::unavailable, fmt::format("{}: its tasks fork faster than they can be moved", pod));
  }
  outcome.others = others_seen.size();
}

}  // namespace koord::koordlet
