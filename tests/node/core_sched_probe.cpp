// Looks at core scheduling cookies in the virtual machine, and has some of its own.
//   read GROUP     the cookies of all threads of a cgroup, and how many threads and processes they are
//   load THREADS   threads that sleep, and a child every few milliseconds
//   bear PROGRAM   runs a program with a cookie of its own
//   (nothing)      says whether there are any
// Exit status 77: this kernel has none.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "koord/base/file.hpp"
#include "koord/host/core_sched.hpp"
#include "koord/host/text.hpp"

namespace {

using namespace koord;
constexpr int kSkipped = 77;

int read(const std::string& group) {
  const auto text = read_file(fmt::format("/sys/fs/cgroup/{}/cgroup.threads", group));
  if (!text) return 1;
  std::set<host::CoreCookie> cookies;
  std::size_t threads = 0;
  std::string_view rest = *text, line;
  while (host::next_line(rest, line)) {
    pid_t tid = 0;
    if (!host::to_number(host::trimmed(line), tid)) continue;
    const auto cookie = host::core_cookie(tid);
    if (!cookie) continue;  // it has ended
    cookies.insert(*cookie);
    ++threads;
  }
  std::string all;
  for (const auto cookie : cookies) all += fmt::format("{}{}", all.empty() ? "" : ",", cookie);
  fmt::print("{} threads={}\n", all, threads);
  return 0;
}

void wait_ms(long milliseconds) {
  const timespec time{0, milliseconds * 1'000'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);
}

[[noreturn]] void load(int threads) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([] { ::pause(); });
  for (;;) {
    if (::fork() == 0) {
      wait_ms(200);
      ::_exit(0);
    }
    wait_ms(10);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
}

int bear(char** words) {
  if (!host::make_core_cookie()) return 1;
  ::execv(words[0], words);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (const auto available = host::core_sched_available(); !available) {
    fmt::print("{}\n", available.error().message());
    return kSkipped;
  }
  const std::string_view what = count > 1 ? words[1] : "";
  if (what.empty()) return 0;
  if (what == "read" && count == 3) return read(words[2]);
  if (what == "load" && count == 3) load(std::atoi(words[2]));
  if (what == "bear" && count > 2) return bear(words + 2);
  return 2;
}
