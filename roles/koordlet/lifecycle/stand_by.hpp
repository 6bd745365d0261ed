// Standing by: what an agent does whose host somebody has cleaned up beside it, and how --cleanup gets there.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "framework/keep/host_lock.hpp"
#include "framework/keep/stand_down.hpp"
#include "framework/keep/state_dirs.hpp"
#include "koord/runtime/role.hpp"

namespace koord::koordlet {

/// Which file says so, and what it says.
struct StandingBy {
  std::string file;
  StandDown said;
};

/// Whether this agent is the one that was asked to end: the same container started again, or an agent of the
/// host's own after another one. A new pod is somebody's new decision (a rollout, a fresh install): it is
/// not. A file that cannot be read is told and counts as none.
std::optional<StandingBy> must_stand_by(const StateDirs& dirs, const std::string& boot_id, Logger& log);

/// Live and not ready, until the file goes: says why in the log, to systemd, by /readyz and by an event of
/// the node, then ends so that whoever started it starts it anew. `client` may be null.
std::unique_ptr<runtime::Role> stand_by_role(runtime::RoleContext& context, kube::Client* client,
                                             StandingBy standing, std::string boot_id, std::string node);

/// Ends at once what keeps agents of this host standing by.
std::unique_ptr<runtime::Role> undo_role(runtime::RoleContext& context, StateDirs dirs);

/// Waits, for ever, until the agent in `pod` that holds `lock` is asked to end. The result is who asks.
Task<Result<std::string>> asked_to_end(Clock& clock, std::string lock, std::string boot_id, std::string pod);

/// Takes the lock of a cleanup, blocking. Who holds it is asked to end, and waited for; who does not within
/// `patience` (stopped, hanging, of a version that knows nothing of this) is not asked any more, and nothing
/// was changed: Code::timeout, which says who it is. An agent of a pod that does not run just now is told,
/// too: its container may be started again at any time. Code::already_exists: another cleanup runs, or the
/// agent cannot be asked or told (the disk is full).
struct CleanupAsking {
  std::string node, pod, boot_id;  // of who asks
  nanoseconds patience;
};
Result<HostLock> take_from_agent(const std::string& lock, const CleanupAsking& asking, Clock& clock,
                                 Logger& log);

/// Notes beside a lock that is held that what the agent had held back is set free, if one was asked to end.
Result<> note_done(const std::string& lock, const std::string& boot_id);

}  // namespace koord::koordlet
