// Core scheduling by prctl(2): see core_sched.hpp.
#include "koord/host/core_sched.hpp"

#include <fmt/format.h>

#include <linux/prctl.h>
#include <sys/prctl.h>

#include <cerrno>
#include <string_view>

#include "koord/base/file.hpp"

namespace koord::host {

namespace {

constexpr unsigned long kThread = PR_SCHED_CORE_SCOPE_THREAD, kProcess = PR_SCHED_CORE_SCOPE_THREAD_GROUP;

Result<> ask(std::string_view what, unsigned long command, pid_t pid, unsigned long scope,
             unsigned long address = 0) {
  // NOLINTNEXTLINE: prctl(2) is variadic
  if (::prctl(PR_SCHED_CORE, command, static_cast<unsigned long>(pid), scope, address) == 0) return {};
  switch (errno) {
    case EINVAL:
      return Error(Code::unsupported,
                   "the kernel has no core scheduling (CONFIG_SCHED_CORE, from Linux 5.14 on)");
    case ENODEV: return Error(Code::unsupported, "no core of this machine has two threads that are in use");
    default: return errno_error(errno == ESRCH ? ENOENT : errno, fmt::format("{} {}", what, pid));
  }
}

}  // namespace

Result<> core_sched_available() {
  KOORD_CHECK(core_cookie(0));
  return {};
}

Result<CoreCookie> core_cookie(pid_t thread) {
  std::uint64_t cookie = 0;  // the kernel asks for an address that 8 divides
  KOORD_CHECK(ask("the core scheduling cookie of", PR_SCHED_CORE_GET, thread, kThread,
                  reinterpret_cast<unsigned long>(&cookie)));
  return static_cast<CoreCookie>(cookie);
}

Result<> make_core_cookie() { return ask("a core scheduling cookie for", PR_SCHED_CORE_CREATE, 0, kThread); }

Result<> take_core_cookie(pid_t thread) {
  return ask("taking the core scheduling cookie of", PR_SCHED_CORE_SHARE_FROM, thread, kThread);
}

Result<> give_core_cookie(pid_t process) {
  return ask("giving a core scheduling cookie to", PR_SCHED_CORE_SHARE_TO, process, kProcess);
}

}  // namespace koord::host
