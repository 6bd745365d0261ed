// ResctrlGroups: see resctrl_groups.hpp.
#include "framework/resctrl/resctrl_groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "framework/audit/auditor.hpp"

namespace koord::koordlet {

namespace {

constexpr nanoseconds kLogAgain = std::chrono::minutes(5);
constexpr int kAuditVerbosity = 3;
constexpr std::string_view kAuditReason = "Resctrl";

bool same(const host::ResctrlBandwidth& a, const host::ResctrlBandwidth& b) {
  return a.scale == b.scale && a.least == b.least && a.step == b.step && a.most == b.most && a.ids == b.ids;
}
bool same(const host::ResctrlInfo& a, const host::ResctrlInfo& b) {
  if (a.groups != b.groups || a.occupancy != b.occupancy || a.local_bytes != b.local_bytes ||
      a.total_bytes != b.total_bytes || a.bandwidth.has_value() != b.bandwidth.has_value())
    return false;
  if (a.bandwidth && !same(*a.bandwidth, *b.bandwidth)) return false;
  return std::ranges::equal(a.caches, b.caches, [](const auto& one, const auto& other) {
    return one.name == other.name && one.full == other.full && one.least_bits == other.least_bits &&
           one.ids == other.ids;
  });
}

}  // namespace

ResctrlGroups::ResctrlGroups(Options options, ResctrlFiles& files, Later later, Clock& clock, Logger log,
                             Auditor* auditor)
    : options_(std::move(options)),
      files_(files),
      book_(options_.book, files),
      later_(std::move(later)),
      clock_(clock),
      log_(std::move(log)),
      auditor_(auditor) {}

Result<> ResctrlGroups::load() {
  if (auto info = files_.info()) info_ = std::make_shared<const host::ResctrlInfo>(std::move(*info));
  return book_.load();
}

void ResctrlGroups::want(std::string_view strategy, std::span<const CacheGroup> groups,
                         std::string_view swept) {
  auto it = wanted_.find(strategy);
  if (it == wanted_.end()) {
    it = wanted_.emplace(strategy, Wanted{}).first;
    due_ = true;
  }
  Wanted& wanted = it->second;
  if (std::ranges::equal(wanted.groups, groups) && wanted.swept == swept) return;
  wanted.groups.assign(groups.begin(), groups.end());
  wanted.swept = swept;
  due_ = true;
}

std::vector<CacheGroup> ResctrlGroups::all_wanted() const {
  std::vector<CacheGroup> all;
  for (const auto& [strategy, wanted] : wanted_)
    all.insert(all.end(), wanted.groups.begin(), wanted.groups.end());
  return all;
}

std::vector<std::string> ResctrlGroups::all_swept() const {
  std::vector<std::string> all;
  for (const auto& [strategy, wanted] : wanted_)
    if (!wanted.swept.empty()) all.push_back(wanted.swept);
  return all;
}

bool ResctrlGroups::tick() {
  const bool made = std::exchange(made_, false);
  // Schemata of what was made are written with this tick, and only then are there tasks.
  if (made || wanted_.size() < strategies_ || under_way_) return made;
  const bool idle = book_.empty() && std::ranges::all_of(wanted_, [](const auto& one) {
                      return one.second.groups.empty() && one.second.swept.empty();
                    });
  const MonoTime now = clock_.mono();
  if (idle) due_ = false;
  if (idle || (!due_ && began_ && now - *began_ < options_.again)) return false;
  due_ = false;
  under_way_ = true;
  began_ = now;
  auto outcome = std::make_shared<ResctrlBook::Outcome>();
  later_(
      [this, outcome, wanted = all_wanted(), swept = all_swept()] { *outcome = book_.pass(wanted, swept); },
      [this, outcome] {
        under_way_ = false;
        finish(*outcome);
      });
  return std::exchange(made_, false);
}

Result<std::size_t> ResctrlGroups::give_back() {
  if (book_.empty()) return std::size_t{0};
  const ResctrlBook::Outcome outcome = book_.pass({}, {});
  if (outcome.not_returned) return outcome.not_returned->context("a group of resctrl");
  for (const std::string& group : outcome.removed) audit(group, "removed");
  for (const std::string& group : outcome.watched)
    log_.warn("a group of resctrl stays: others have monitoring groups in it", kv("group", group));
  tell_of_mount(outcome);
  return outcome.removed.size() + outcome.returned;
}

void ResctrlGroups::finish(const ResctrlBook::Outcome& outcome) {
  if (outcome.info && (!info_ || !same(*info_, *outcome.info)))
    info_ = std::make_shared<const host::ResctrlInfo>(*outcome.info);
  // Who could not look for once knows what was there.
  if (!outcome.info && outcome.info.error().code() == Code::not_found) info_.reset();
  tell_of_mount(outcome);
  std::string why = outcome.absent ? outcome.absent->message() : "";
  if (!why.empty() && why != absent_)
    log_.warn("caches and the memory's bandwidth stay undivided", kv("error", *outcome.absent));
  absent_ = std::move(why);
  for (const std::string& group : outcome.removed) {
    log_.v(1, "a group of resctrl was removed", kv("group", group));
    audit(group, "removed");
  }
  for (const std::string& group : outcome.watched)
    if (std::ranges::find(watched_, group) == watched_.end())
      log_.info("a group of resctrl stays until others' monitoring groups in it have gone",
                kv("group", group));
  watched_ = outcome.watched;
  for (const auto& group : outcome.groups) tell(group);
  std::erase_if(refused_, [&](const auto& said) {
    return std::ranges::none_of(outcome.groups, [&](const auto& one) { return one.group == said.first; });
  });
  std::string kept = outcome.not_returned ? outcome.not_returned->message() : "";
  if (!kept.empty() && kept != not_returned_)
    log_.warn("a group of resctrl cannot be let go", kv("error", *outcome.not_returned));
  not_returned_ = std::move(kept);
  if (!outcome.not_saved) {
    save_failed_.reset();
  } else if (!save_failed_ || clock_.mono() - *save_failed_ >= kLogAgain) {
    save_failed_ = clock_.mono();
    log_.warn(
        "cannot write down which groups of resctrl were made; an agent that starts after a crash will "
        "not know",
        kv("error", *outcome.not_saved));
  }
}

void ResctrlGroups::tell_of_mount(const ResctrlBook::Outcome& outcome) {
  if (outcome.left_mounted) log_.info("resctrl stays mounted: somebody else has groups in it");
}

void ResctrlGroups::tell(const ResctrlBook::Outcome::Group& group) {
  if (group.unfilled && !group.refused) made_ = due_ = true;  // its tasks come with the next pass
  if (group.made) {
    log_.v(1, "a group of resctrl was made", kv("group", group.group));
    audit(group.group, "made");
  }
  if (group.moved > 0) {
    log_.v(1, "tasks were moved into a group of resctrl", kv("group", group.group), kv("tasks", group.moved));
    audit(group.group, fmt::format("{} tasks moved into it", group.moved));
  }
  // Errors name tasks, of which each pass may find others.
  std::string said;
  if (group.refused) said = to_string(group.refused->code());
  if (group.others > 0) said.append("others");
  if (said.empty()) {
    refused_.erase(group.group);
    return;
  }
  if (std::exchange(refused_[group.group], said) == said) return;
  if (group.refused)
    log_.warn("a group of resctrl is not as it shall be", kv("group", group.group),
              kv("error", *group.refused));
  if (group.others > 0)
    log_.warn("somebody else has put tasks into groups of resctrl: they stay there",
              kv("not_in", group.group), kv("tasks", group.others));
}

void ResctrlGroups::audit(std::string_view group, std::string_view message) {
  if (auditor_ != nullptr) auditor_->record(kAuditVerbosity, {"group", "", group, "", kAuditReason, message});
}

}  // namespace koord::koordlet
