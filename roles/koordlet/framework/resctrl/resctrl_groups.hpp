// ResctrlGroups: has a ResctrlBook make the groups that strategies want and move who shall be in them, off
// the loop, now and again: who is new in a pod is found by the next pass.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/resctrl/resctrl_book.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"

namespace koord::koordlet {

class Auditor;

/// Used on the event loop's thread.
class ResctrlGroups {
 public:
  /// Runs `work` elsewhere, then `done` on the event loop's thread; not at all if the agent ends before.
  using Later = std::function<void(std::function<void()> work, std::function<void()> done)>;
  struct Options {
    BootFile::Place book;
    nanoseconds again = std::chrono::seconds(10);  // between two passes where nothing else is wanted
  };
  /// All outlive it; `auditor` may be null.
  ResctrlGroups(Options options, ResctrlFiles& files, Later later, Clock& clock, Logger log,
                Auditor* auditor);
  ResctrlGroups(const ResctrlGroups&) = delete;
  ResctrlGroups& operator=(const ResctrlGroups&) = delete;

  Result<> load();
  /// Of one strategy (static text), from now on these. `swept`: what else begins so was an agent's, and goes;
  /// empty: nothing does. Before all strategies that have groups have said something nothing is touched, what
  /// an earlier agent has made neither.
  void want(std::string_view strategy, std::span<const CacheGroup> groups, std::string_view swept = {});
  /// How many strategies there are that have groups.
  void expect(std::size_t strategies) { strategies_ = strategies; }
  /// Once a tick: begins a pass, if it is time. True: groups have been made since the last tick.
  bool tick();
  /// For --cleanup, which may block: lets go of everything. How many groups went and tasks were moved.
  Result<std::size_t> give_back();

  /// What the machine can, as of the last pass; null: nothing, or it was not looked at yet.
  const std::shared_ptr<const host::ResctrlInfo>& info() const { return info_; }
  /// Why nothing can be divided here; empty: something can, or nobody has tried.
  const std::string& absent() const { return absent_; }

 private:
  struct Wanted {
    std::vector<CacheGroup> groups;
    std::string swept;
  };
  std::vector<CacheGroup> all_wanted() const;
  std::vector<std::string> all_swept() const;
  void finish(const ResctrlBook::Outcome& outcome);
  void tell_of_mount(const ResctrlBook::Outcome& outcome);
  void tell(const ResctrlBook::Outcome::Group& group);
  void audit(std::string_view group, std::string_view message);

  Options options_;
  ResctrlFiles& files_;
  ResctrlBook book_;  // the pass's while one is under way
  Later later_;
  Clock& clock_;
  Logger log_;
  Auditor* auditor_;
  std::size_t strategies_ = 1;
  std::map<std::string, Wanted, std::less<>> wanted_;  // by strategy
  bool due_ = false, under_way_ = false, made_ = false;
  std::optional<MonoTime> began_, save_failed_;
  std::shared_ptr<const host::ResctrlInfo> info_;
  std::string absent_, not_returned_, unreadable_;
  std::vector<std::string> watched_;            // groups that were told of
  std::map<std::string, std::string> refused_;  // what was said of a group, until it is not true any more
};

}  // namespace koord::koordlet
