// perf_event_open(2) with PERF_FLAG_PID_CGROUP: one group of two events a CPU and cgroup.
#include "koord/host/perf.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "koord/base/file.hpp"

namespace koord::host {

namespace {

/// What read(2) of a group's first descriptor gives, with the formats asked for below.
struct GroupRead {
  std::uint64_t count = 0, enabled_ns = 0, running_ns = 0;
  std::array<std::uint64_t, 2> values{};
};

Fd open_event(const PerfEvent& event, bool first, pid_t pid, int cpu, int group, unsigned long flags) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = event.type;
  attr.config = event.config;
  attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  attr.disabled = first ? 1 : 0;  // the first one begins and ends for both
  return Fd(
      static_cast<int>(syscall(SYS_perf_event_open, &attr, pid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC)));
}

Error refused(int error) {
  if (error == ENOENT || error == EOPNOTSUPP)
    return Error(Code::unsupported,
                 "the kernel shows no such counters of this machine's (a virtual machine?)");
  if (error == ENOSYS) return Error(Code::unsupported, "the kernel has no perf events");
  if (error == EACCES || error == EPERM)
    return Error(Code::forbidden, "perf events are not allowed (CAP_PERFMON, kernel.perf_event_paranoid)");
  return errno_error(error, "perf_event_open");
}

class Counter final : public PerfCounter {
 public:
  struct Group {
    Fd first, second;
  };
  explicit Counter(std::vector<Group> groups) : groups_(std::move(groups)) {}

  Result<PerfCounts> read() override {
    PerfCounts counts;
    double wanted = 0, counted = 0;
    for (const Group& group : groups_) {
      GroupRead now;
      const ssize_t size = ::read(group.first.get(), &now, sizeof now);
      if (size < 0) return errno_error(errno, "reading perf events");
      // 0: the counters are in an error state, as after a CPU went.
      if (size != static_cast<ssize_t>(sizeof now) || now.count != now.values.size()) continue;
      const auto enabled = static_cast<double>(now.enabled_ns), running = static_cast<double>(now.running_ns);
      wanted += enabled;
      if (now.running_ns == 0) continue;
      counted += enabled;
      const double scale = enabled > running ? enabled / running : 1;
      counts.first += static_cast<double>(now.values[0]) * scale;
      counts.second += static_cast<double>(now.values[1]) * scale;
    }
    if (wanted > 0) counts.covered = counted / wanted;
    return counts;
  }

 private:
  std::vector<Group> groups_;
};

class Events final : public PerfEvents {
 public:
  explicit Events(const PerfPair& pair) : pair_(pair) {}

  Result<std::unique_ptr<PerfCounter>> count(const std::string& folder, std::span<const int> cpus) override {
    const Fd cgroup(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!cgroup) return errno_error(errno, folder);
    std::vector<Counter::Group> groups;
    groups.reserve(cpus.size());
    for (const int cpu : cpus) {
      Counter::Group group{open_event(pair_.first, true, cgroup.get(), cpu, -1, PERF_FLAG_PID_CGROUP), {}};
      if (group.first)
        group.second =
            open_event(pair_.second, false, cgroup.get(), cpu, group.first.get(), PERF_FLAG_PID_CGROUP);
      if (!group.second) {
        if (errno == ENODEV) continue;  // the CPU is offline
        if (errno == EMFILE || errno == ENFILE)
          return Error(Code::unavailable, fmt::format("{}: no descriptors are left for perf events", folder));
        return Error(refused(errno)).context(folder);
      }
      groups.push_back(std::move(group));
    }
    // All CPUs begin once all are there: as nearly together as can be.
    for (const Counter::Group& group : groups)
      if (ioctl(group.first.get(), PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) != 0)
        return errno_error(errno, folder);
    return std::unique_ptr<PerfCounter>(std::make_unique<Counter>(std::move(groups)));
  }

 private:
  PerfPair pair_;
};

}  // namespace

const PerfPair kCyclesAndInstructions = {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
                                         {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}};
const PerfPair kTaskClockAndSwitches = {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
                                        {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}};

Result<std::unique_ptr<PerfEvents>> PerfEvents::open(const PerfPair& pair) {
  const Fd first = open_event(pair.first, true, 0, -1, -1, 0);
  if (!first) return refused(errno);
  const Fd second = open_event(pair.second, false, 0, -1, first.get(), 0);
  if (!second) return refused(errno);
  return std::unique_ptr<PerfEvents>(std::make_unique<Events>(pair));
}

}  // namespace koord::host
