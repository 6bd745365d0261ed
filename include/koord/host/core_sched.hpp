// Core scheduling: tasks run on the threads of one core at a time only if they have the same cookie.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "koord/base/result.hpp"

namespace koord::host {

/// What stands for a cookie to whoever asks: the kernel's own number of it, which only says whether two are
/// the same. 0: none. It is nobody's any more when the last task that has it has gone.
using CoreCookie = std::int64_t;
inline constexpr CoreCookie kNoCookie = 0;

/// Whether cookies can be read and given here. Code::unsupported: the kernel has none (CONFIG_SCHED_CORE,
/// from Linux 5.14 on), or no core of the machine has two threads that are in use.
Result<> core_sched_available();

/// Of a thread, or of a process' first one; 0: of the calling thread. Code::not_found: there is none of that
/// number. Code::forbidden: it is somebody else's, and CAP_SYS_PTRACE is missing.
Result<CoreCookie> core_cookie(pid_t thread);
/// The calling thread gets a cookie that nobody has.
Result<> make_core_cookie();
/// The calling thread gets what that thread has, none included. Errors as above.
Result<> take_core_cookie(pid_t thread);
/// All threads of the process get what the calling thread has, none included; who is forked meanwhile has one
/// of both. Errors as above.
Result<> give_core_cookie(pid_t process);

}  // namespace koord::host
