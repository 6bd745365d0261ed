// ResctrlBook: brings groups of resctrl and who is in them to what is wanted, and back to what was there
// before: remembered by a small file, so that the next agent gives back what one that died has made.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "framework/keep/boot_file.hpp"
#include "framework/plan/cache_group.hpp"
#include "framework/resctrl/resctrl_files.hpp"
#include "koord/base/result.hpp"

namespace koord::koordlet {

/// Used by one thread at a time; it blocks for as long as the files take.
class ResctrlBook {
 public:
  struct Outcome {
    struct Group {
      std::string group;
      bool made = false;
      bool unfilled = false;         // new to this agent: nobody was moved into it yet
      std::size_t moved = 0;         // tasks that are in it now and were not
      std::size_t others = 0;        // those that somebody else has put elsewhere: they stay there
      std::optional<Error> refused;  // why it is not there, or not all who shall be in it are
    };
    std::vector<Group> groups;          // as they were wanted
    std::vector<std::string> removed;   // groups that have gone
    std::vector<std::string> watched;   // that would have, were there no monitoring groups of others inside
    std::size_t returned = 0;           // tasks that are in the root's group again, without a group going
    std::optional<Error> absent;        // nothing can be divided here
    std::optional<Error> not_returned;  // tried again with the next pass
    std::optional<Error> not_saved;
    bool left_mounted = false;  // by koord, and others have groups in it now
    Result<host::ResctrlInfo> info{Error(Code::not_found, "it was not looked at")};
  };

  /// `files` outlives it.
  ResctrlBook(BootFile::Place place, ResctrlFiles& files);

  /// What an earlier agent of this boot has made. After an error nothing was taken over.
  Result<> load();
  /// Makes what is wanted, moves who shall be in it, lets go what is not wanted any more: a group that koord
  /// made goes, out of another one only those are moved back whom koord put there. Each is written down
  /// before it is done. One in which others have monitoring groups, which would go with it, is emptied of
  /// whom koord put there and goes once they have gone. Groups whose names begin with one of `swept` go,
  /// whoever made them, unless they are wanted: they were an agent's. Mounts it where something is wanted,
  /// and unmounts what it has mounted, unless others have groups in it by then. What was noted of a mount
  /// that is there no more counts no more. A task is moved into a group only out of the root's, or out of
  /// another of these, straight: it is nobody's else. Not with the pass that finds the group for the first
  /// time since the start, or makes it: an agent that died may have left it without schemata, and it holds
  /// nobody back.
  /// While one that was there waits for that, nothing is let go: its tasks stay held back where they are.
  Outcome pass(std::span<const CacheGroup> wanted, std::span<const std::string> swept);
  bool empty() const { return rows_.empty() && !mount_; }

 private:
  struct Row {
    bool made = false;           // by koord: it goes
    std::set<std::string> pods;  // cgroups whose tasks are in it
    friend bool operator==(const Row&, const Row&) = default;
  };
  using Rows = std::map<std::string, Row>;
  using Tasks = std::set<std::int32_t>;

  using Mount = std::optional<std::string>;  // that koord has made: what tells it; empty: not known yet

  void save(Rows rows, Mount mount, Outcome& outcome);
  void check_mount(Outcome& outcome);
  void unmount(Outcome& outcome);
  Rows next_of(std::span<const CacheGroup> wanted, std::span<const std::string> swept);
  /// With the pods, too, whose own groups are not there.
  std::vector<CacheGroup> with_fallbacks(std::span<const CacheGroup> wanted);
  void let_go(std::span<const CacheGroup> wanted, Rows& rows, Outcome& outcome);
  void fill(const CacheGroup& wanted, Outcome::Group& outcome);
  /// The tasks of groups that are none of ours.
  Tasks others() const;
  std::optional<Error> empty_out(const std::string& group, const std::string& pod, std::size_t& moved);

  BootFile file_;
  ResctrlFiles& files_;
  Rows rows_;
  Mount mount_;
  std::set<std::string> known_;  // groups that a pass of this agent has found
};

}  // namespace koord::koordlet
