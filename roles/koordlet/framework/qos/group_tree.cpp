// Walking the cgroup folders, and keeping what was found.
#include "framework/qos/group_tree.hpp"

#include <algorithm>
#include <utility>

namespace koord::koordlet {

const std::vector<GroupTree::Member>& GroupTree::members(host::Knob knob, std::string_view group,
                                                         const LevelRange& reach, std::string_view key) {
  if (reach.from == 0 && reach.to == 0) {
    single_.resize(1);
    single_[0].level = 0;
    single_[0].group = group;
    const auto target = executor_.find(knob, group, key);
    single_[0].target = target ? *target : KnobId{};
    return single_;
  }
  auto it = std::find_if(listed_.begin(), listed_.end(), [&](const Listed& listed) {
    return listed.knob == knob && listed.group == group && listed.key == key && listed.reach == reach;
  });
  if (it == listed_.end()) {
    listed_.push_back({.knob = knob, .group = std::string(group), .key = std::string(key), .reach = reach});
    it = std::prev(listed_.end());
  }
  it->asked = true;
  if (it->tick == 0) list(*it);
  return it->members;
}

void GroupTree::start_tick(std::uint64_t inventory_generation) {
  ++tick_;
  if (inventory_generation != generation_) forget();
  generation_ = inventory_generation;
}

void GroupTree::start(host::Knob knob) {
  for (Listed& listed : listed_) listed.asked = listed.asked && listed.knob != knob;
}

void GroupTree::refresh(const std::function<void(host::Knob)>& changed) {
  for (Listed& listed : listed_) {
    if (!listed.asked || listed.tick == tick_) continue;
    if (listed.complete && clock_.mono() - listed.at < relist_) continue;
    std::swap(before_, listed.members);
    list(listed);
    if (listed.members != before_)
      changed(listed.knob);
    else
      std::swap(before_, listed.members);
  }
}

void GroupTree::forget() {
  listed_.clear();
  ++version_;
}

void GroupTree::list(Listed& listed) {
  listed.members.clear();
  listed.at = clock_.mono();
  listed.tick = tick_;
  std::string group = listed.group;
  listed.complete = walk(listed, group, 0);
}

bool GroupTree::walk(Listed& listed, std::string& group, int level) {
  const auto& except = listed.reach.except;
  if (std::find(except.begin(), except.end(), group) != except.end()) return true;
  if (level >= listed.reach.from) {
    const auto target = executor_.find(listed.knob, group, listed.key);
    listed.members.push_back({target ? *target : KnobId{}, level, group});
  }
  if (level == listed.reach.to) return true;
  const auto children = executor_.children(listed.knob, group);
  if (!children) return level > 0;  // the root is to come yet; anything else has just gone
  const std::size_t length = group.size();
  for (const std::string& child : *children) {
    group.append("/").append(child);
    walk(listed, group, level + 1);
    group.resize(length);
  }
  return true;
}

}  // namespace koord::koordlet
