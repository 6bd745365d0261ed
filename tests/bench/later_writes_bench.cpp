// How late the agent's ticks come while the kernel reclaims a group's memory for a write to its limit: with
// the write on the loop, and off it. Real cgroups of its own; page cache is what is reclaimed.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "framework/executor/executor.hpp"
#include "framework/executor/threaded_files.hpp"
#include "koord/async/system_clock.hpp"
#include "koord/base/log.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "koord/host/file.hpp"

namespace {

using namespace koord;
using namespace koord::koordlet;
using host::Knob;
using std::chrono::milliseconds;

constexpr nanoseconds kTick = milliseconds(20);
constexpr int kTicks = 100;
constexpr std::int64_t kLow = 8 << 20;

/// A cgroup, and a file whose pages a process in it has read and written: both go at the end.
class Group {
 public:
  Group(const host::CgroupFs& fs, Knob knob, std::int64_t bytes)
      : name_(fmt::format("koord-bench-{}", getpid())), folder_(*fs.folder(knob, name_)), bytes_(bytes) {
    made_ = mkdir(folder_.c_str(), 0755) == 0 && host::exists(*fs.write_path(knob, name_));
  }
  ~Group() {
    (void)unlink(file_.c_str());
    for (int i = 0; i < 10'000 && rmdir(folder_.c_str()) != 0 && errno == EBUSY; ++i)
      std::this_thread::yield();  // a process that has ended leaves its group a moment later
  }
  bool made() const { return made_; }
  const std::string& name() const { return name_; }
  /// The pages belong to the group; they are dirty, so that reclaiming them means writing them.
  bool fill() const {
    const pid_t child = fork();
    if (child == 0) {
      const std::string procs = folder_ + "/cgroup.procs";
      bool done = host::write_file(procs, "0").has_value();
      const int fd = open(file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      const std::string block(1 << 20, 'x');
      for (std::int64_t at = 0; done && at < bytes_; at += 1 << 20)
        done = write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size());
      _exit(done ? 0 : 1);
    }
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
  }

 private:
  std::string name_, folder_;
  std::string file_ = fmt::format("/var/tmp/koord-bench-{}", getpid());
  std::int64_t bytes_;
  bool made_ = false;
};

struct Lateness {
  double most_ms = 0, write_ms = 0;
  int late = 0;  // ticks by more than a tick
};

/// Ticks as the agent's; the limit is lowered in the tenth.
Lateness run(const host::CgroupFs& fs, KernelFiles& files, boost::asio::io_context& loop, Knob knob,
             const std::string& group) {
  SystemClock clock(loop.get_executor());
  CapturedLog log;
  metrics::Registry registry;
  Executor executor(fs, files, clock, Logger(log, clock), registry, {}, nullptr);
  const KnobId id = *executor.find(knob, group);
  Lateness seen;
  std::optional<MonoTime> began, ended;
  MonoTime next = clock.mono() + kTick;
  for (int tick = 0; tick < kTicks || (began && !ended); ++tick) {
    bool due = false;
    clock.call_at(next, [&due] { due = true; });
    loop.restart();
    while (!due) loop.run_one();
    const MonoTime now = clock.mono();
    const double late = std::chrono::duration<double, std::milli>(now - next).count();
    seen.most_ms = std::max(seen.most_ms, late);
    seen.late += now - next > kTick ? 1 : 0;
    next = std::max(next + kTick, now);
    const KnobValue value = tick < 10 ? host::kUnlimited : kLow;
    const WriteRequest request{id, &value, "bench"};
    const Executor::Outcome outcome = executor.apply({&request, 1});
    if (tick >= 10 && !began) began = now;
    if (began && !ended && outcome.pending == 0) ended = clock.mono();
  }
  seen.write_ms = std::chrono::duration<double, std::milli>(*ended - *began).count();
  return seen;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t mib = argc > 1 ? std::atoll(argv[1]) : 512;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 3;
  const auto version = host::detect_cgroup_version(host::Root::host_mode());
  const auto fs = host::CgroupFs::open(host::Root::host_mode());
  if (!version || !fs || mib < 16 || rounds < 1) {
    fmt::print(stderr, "usage: later_writes_bench [MIB [ROUNDS]]\n");
    return 2;
  }
  const Knob knob = *version == host::CgroupVersion::v2 ? Knob::memory_high : Knob::memory_limit;
  Group group(*fs, knob, mib << 20);
  if (!group.made()) {
    fmt::print("ticks while the kernel reclaims: left out, no cgroup with a memory limit can be made here\n");
    return 0;
  }
  fmt::print(
      "A limit is lowered from {} MiB of dirty page cache to {} MiB ({}); a tick each {} ms.\n\n"
      "| the write | the write takes, ms | the latest tick comes late by, ms | ticks late by more than one "
      "|\n"
      "|---|---|---|---|\n",
      mib, kLow >> 20, *fs->write_path(knob, ""), std::chrono::duration_cast<milliseconds>(kTick).count());
  boost::asio::io_context loop;
  KernelFiles on_loop;
  ThreadedFiles off_loop(loop.get_executor());
  for (int round = 0; round < rounds; ++round)
    for (KernelFiles* files : {&on_loop, static_cast<KernelFiles*>(&off_loop)}) {
      (void)host::write_file(*fs->write_path(knob, group.name()),
                             *version == host::CgroupVersion::v2 ? "max" : "-1");
      if (!group.fill()) {
        fmt::print("the page cache cannot be filled\n");
        return 1;
      }
      const Lateness seen = run(*fs, *files, loop, knob, group.name());
      fmt::print("| {} | {:.0f} | {:.1f} | {} |\n", files == &on_loop ? "on the loop" : "off the loop",
                 seen.write_ms, seen.most_ms, seen.late);
    }
  return 0;
}
