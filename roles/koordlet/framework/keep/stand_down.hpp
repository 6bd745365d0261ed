// StandDown: how --cleanup asks the agent of this host to end, and keeps it from starting over.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "koord/base/result.hpp"

namespace koord::koordlet {

/// The one way back, for messages: removes the file of stand_down_path().
inline constexpr std::string_view kUndo = "koord --role=koordlet --cleanup=undo";

/// A file beside the host lock, in a folder that is root's. The agent that holds the lock looks for it once a
/// second and ends; the one that is started in its place stands by. It is of one boot, as what it keeps from
/// coming back is: after a reboot nothing is held back, and nobody stands by.
struct StandDown {
  std::string time;   // when it was asked for, RFC 3339
  std::string by;     // who asked, for people
  std::string pod;    // the UID of the pod whose agent was asked; empty: an agent of the host's own
  bool done = false;  // what it had held back is set free
};

/// Beside the lock of that path.
std::string stand_down_path(std::string_view lock);

/// Nothing where there is none, or one of another boot. Code::parse: a file that is no such file.
Result<std::optional<StandDown>> read_stand_down(const std::string& path, const std::string& boot_id);
/// Replaced with rename, readable by root only.
Result<> write_stand_down(const std::string& path, const std::string& boot_id, const StandDown& said);
/// Whether there was one.
Result<bool> remove_stand_down(const std::string& path);

/// What an agent writes into the host lock about itself, and the UID of its pod in that text; empty: none.
std::string lock_holder(std::string_view node, std::string_view pod);
std::string pod_of_holder(std::string_view holder);

}  // namespace koord::koordlet
