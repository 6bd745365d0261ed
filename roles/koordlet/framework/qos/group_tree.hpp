// GroupTree: which groups an intent reaches, listed now and then, not every tick.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/executor/executor.hpp"

namespace koord::koordlet {

class GroupTree {
 public:
  struct Member {
    KnobId target;
    int level = 0;  // below the intent's group
    std::string group;
    friend bool operator==(const Member&, const Member&) = default;
  };
  /// `relist`: how old a list may become.
  GroupTree(Executor& executor, Clock& clock, nanoseconds relist)
      : executor_(executor), clock_(clock), relist_(relist) {}

  /// Parents before children. The group itself is a member also if it does not exist. A list of more than one
  /// group is valid until refresh() says that another one has come, the answer for a group alone until the
  /// next call.
  const std::vector<Member>& members(host::Knob knob, std::string_view group, const LevelRange& reach,
                                     std::string_view key = {});
  void start_tick(std::uint64_t inventory_generation);
  /// Nothing of a knob has been asked for yet: what is, from now on, is what refresh() lists again.
  void start(host::Knob knob);
  /// Lists again what is too old or not whole, once a tick; calls `changed` with the knob of each list that
  /// is another one now.
  void refresh(const std::function<void(host::Knob)>& changed);
  /// Grows when all lists have gone: when the inventory has changed, and after forget().
  std::uint64_t version() const { return version_; }
  void forget();

 private:
  struct Listed {
    host::Knob knob{};
    std::string group, key;
    LevelRange reach;
    MonoTime at{};
    std::uint64_t tick = 0;
    std::vector<Member> members;
    bool complete = false, asked = false;
  };
  void list(Listed& listed);
  bool walk(Listed& listed, std::string& group, int level);

  Executor& executor_;
  Clock& clock_;
  nanoseconds relist_;
  std::uint64_t generation_ = 0, tick_ = 0, version_ = 0;
  std::vector<Listed> listed_;  // few: trees only
  std::vector<Member> single_;  // the answer for a group alone
  std::vector<Member> before_;  // kept for its memory
};

}  // namespace koord::koordlet
