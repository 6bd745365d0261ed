// CookieBearer: a thread that carries a core scheduling cookie from one process to another. The kernel knows
// no other way: who gives a cookie has it himself, and no other thread of the agent must.
#pragma once

#include "framework/action/processes.hpp"
#include "koord/host/core_sched.hpp"

namespace koord::koordlet {

/// Valid during the call of ProcessFiles::bear() that it was made for. Errors are those of
/// host/core_sched.hpp.
class CookieBearer {
 public:
  virtual ~CookieBearer() = default;
  /// It has one that nobody has, which stays nobody else's for as long as it has it.
  virtual Result<host::CoreCookie> make() = 0;
  /// It has what this process' first thread has.
  virtual Result<host::CoreCookie> take(const Process& from) = 0;
  /// It has none, whatever the agent itself was given by others.
  virtual Result<> drop() = 0;
  /// All threads of the process have what it has.
  virtual Result<> give(const Process& to) = 0;
};

}  // namespace koord::koordlet
