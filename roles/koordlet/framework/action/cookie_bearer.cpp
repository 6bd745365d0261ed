// CookieBearer, by the kernel: see cookie_bearer.hpp.
#include "framework/action/cookie_bearer.hpp"

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <system_error>
#include <thread>

namespace koord::koordlet {

namespace {

/// Kernel threads come from it and have no cookie; where it cannot be seen, the first process of all has
/// none.
constexpr pid_t kWithout[] = {2, 1};

/// Whether a process is still itself: its number cannot become another's before it has gone.
Result<> is_there(const std::string& proc, const Process& process) {
  KOORD_TRY(stat, ProcessFolder(proc, process.pid).read("stat"));
  KOORD_TRY(now, parse_stat(stat));
  if (now.start == process.start) return {};
  return Error(Code::not_found, fmt::format("process {} has gone", process.pid));
}

class KernelBearer final : public CookieBearer {
 public:
  explicit KernelBearer(const std::string& proc) : proc_(proc) {}

  Result<host::CoreCookie> make() override {
    KOORD_CHECK(host::make_core_cookie());
    return host::core_cookie(0);
  }
  Result<host::CoreCookie> take(const Process& from) override {
    KOORD_CHECK(host::take_core_cookie(from.pid));
    KOORD_CHECK(is_there(proc_, from));
    return host::core_cookie(0);
  }
  Result<> drop() override {
    std::optional<Error> why;
    for (std::size_t i = 0;; ++i) {
      KOORD_TRY(own, host::core_cookie(0));
      if (own == host::kNoCookie) return {};
      if (i == std::size(kWithout)) break;
      if (const auto taken = host::take_core_cookie(kWithout[i]); !taken) why = taken.error();
    }
    if (why) return std::move(*why).context("the agent itself has a core scheduling cookie");
    return Error(Code::unavailable, "the agent itself has a core scheduling cookie, and nobody is without");
  }
  Result<> give(const Process& to) override {
    KOORD_CHECK(is_there(proc_, to));
    KOORD_CHECK(host::give_core_cookie(to.pid));
    return is_there(proc_, to);
  }

 private:
  const std::string& proc_;
};

}  // namespace

Result<> KernelProcesses::bear(const std::function<void(CookieBearer&)>& use) {
  try {
    std::thread bearing([&] {
      KernelBearer bearer(proc_);
      use(bearer);
    });
    bearing.join();
  } catch (const std::system_error&) {
    return Error(Code::unavailable, "no thread can be started to carry a core scheduling cookie");
  }
  return {};
}

}  // namespace koord::koordlet
