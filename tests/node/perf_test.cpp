// Events of cgroups on a real kernel: what software events count agrees with the kernel's own books,
// /proc/PID/schedstat; with `cycles` and `instructions` where the machine shows them. Exit status 77:
// skipped.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "koord/host/perf.hpp"
#include "koord/host/procfs.hpp"
#include "koord/host/topology.hpp"
#include "loads.hpp"

namespace {
using koord::host::CgroupFs;
using koord::host::Knob;
using koord::host::PerfEvents;
using koord::host::Root;
using namespace koord::node_test;

constexpr int kSkipped = 77;
constexpr double kTolerance = 0.05, kSlackNs = 5e6;

/// A folder in the hierarchy that has perf_event: its own, or that of v2, also where v1 is beside it.
std::string perf_folder(const CgroupFs& cgroups, const std::string& name) {
  const std::string unified = "/sys/fs/cgroup/unified/";
  if (const auto own = cgroups.folder(Knob::perf_event, ""); own && koord::host::exists(*own))
    return *own + "/" + name;
  return koord::host::exists(unified) ? unified + name : std::string();
}

class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {
    if (mkdir(path_.c_str(), 0755) != 0) fail("mkdir " + path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { rmdir(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// A process that spins in the group for so long, then waits for its end.
class Spinner {
 public:
  Spinner(const Folder& group, std::chrono::milliseconds length) {
    pid_ = fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      start_.wait();
      spin(length);
      done_.put();
      hold_.wait();
      _exit(0);
    }
    if (const auto in = koord::host::write_file(group.path() + "/cgroup.procs", std::to_string(pid_)); !in)
      fail(in.error().message());
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;
  ~Spinner() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  double run() const {
    const Books before = books_of(pid_);
    start_.put();
    done_.wait();
    return static_cast<double>(books_of(pid_).run_ns - before.run_ns);
  }

 private:
  pid_t pid_ = -1;
  Pipe start_, done_, hold_;
};

void check(const std::string& what, double counted, double true_ns) {
  std::printf("    %s: %.2f ms counted, %.2f ms in the books\n", what.c_str(), counted / 1e6, true_ns / 1e6);
  if (std::abs(counted - true_ns) > kTolerance * true_ns + kSlackNs) fail(what + " differs");
}

void count(const std::string& name, const std::vector<int>& cpus) {
  const Folder group(name), below(name + "/below"), other(name + "-other");
  const auto events = PerfEvents::open(koord::host::kTaskClockAndSwitches);
  if (!events) fail(events.error().message());
  const auto whole = (*events)->count(group.path(), cpus), part = (*events)->count(below.path(), cpus),
             idle = (*events)->count(other.path(), cpus);
  if (!whole || !part || !idle)
    fail(whole ? part ? idle.error().message() : part.error().message() : whole.error().message());
  const Spinner first(group, std::chrono::milliseconds(150)), second(below, std::chrono::milliseconds(100));
  const double own = first.run(), nested = second.run();
  check("a group with what is below it", (*whole)->read()->first, own + nested);
  check("what is below it", (*part)->read()->first, nested);
  check("a group without tasks", (*idle)->read()->first, 0);
  if ((*idle)->read()->covered != 1) fail("an idle group is not whole");
  if ((*events)->count(name + "-none", cpus).error().code() != koord::Code::not_found) fail("no such group");

  const auto cycles = PerfEvents::open(koord::host::kCyclesAndInstructions);
  if (!cycles) {
    std::printf("    no cycles: %s\n", cycles.error().message().c_str());
    return;
  }
  const auto counter = (*cycles)->count(group.path(), cpus);
  if (!counter) fail(counter.error().message());
  const Spinner third(group, std::chrono::milliseconds(100));
  (void)third.run();
  const auto counts = (*counter)->read();
  std::printf("    %.0f cycles, %.0f instructions, of %.0f%%\n", counts->first, counts->second,
              counts->covered * 100);
  if (counts->covered > 0.5 && (counts->first <= 0 || counts->second <= 0))
    fail("no cycles of a task that ran");
}

}  // namespace

int main() try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const auto cgroups = CgroupFs::open(Root::host_mode());
  if (!cgroups) fail(cgroups.error().message());
  const std::string folder = perf_folder(*cgroups, "koord-perf-" + std::to_string(getpid()));
  const auto online = koord::read_file("/sys/devices/system/cpu/online");
  if (folder.empty() || !online || geteuid() != 0) {
    std::printf("perf: skipped: no hierarchy has perf_event, or this is not root\n");
    return kSkipped;
  }
  count(folder, koord::host::CpuSet::parse(*online)->cpus());
  std::printf("perf: passed\n");
  return 0;
} catch (const std::exception& error) {
  std::printf("perf: FAILED: %s\n", error.what());
  return 1;
}
