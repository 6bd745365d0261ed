// What the tests of wait blame and of stalls have in common: a group for each tier, processes in them,
// figures.
#pragma once

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "bpf/run_queue_latency_variants.hpp"
#include "loads.hpp"

namespace koord::node_test {

using host::CgroupFs;
using host::CpuTier;
using host::FineHistogram;
using host::RunQueueLatency;
using host::WaitBlame;

inline constexpr double kTolerance = 0.05;
inline constexpr double kSlackNs = 4e6;
inline constexpr auto kWindow = std::chrono::milliseconds(1500);

inline constexpr std::array<const char*, WaitBlame::kRunners> kNames = {"LSE",    "LSR",    "LS",     "BE",
                                                                        "system", "nobody", "unknown"};

inline std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// What a process has run: to the nanosecond while it does not, and for itself.
inline double cpu_ns(pid_t pid) {
  clockid_t clock{};
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) fail("no CPU clock");
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

/// Those that this process may use.
inline std::vector<int> usable_cpus() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  return cpus;
}

inline void pin(pid_t pid, const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  if (sched_setaffinity(pid, sizeof set, &set) != 0) fail("sched_setaffinity");
}
inline void pin(pid_t pid, int cpu) { pin(pid, std::vector<int>{cpu}); }

/// Memory that a test and its processes have in common.
template <typename T>
class Shared {
 public:
  Shared() {
    void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("mmap");
    value_ = new (memory) T();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { munmap(value_, sizeof(T)); }
  T* operator->() const { return value_; }
  T& operator*() const { return *value_; }

 private:
  T* value_;
};

/// A process in a group, ended with the object.
class Process {
 public:
  /// `work` begins once the group was entered.
  Process(const TestGroup& group, const std::function<void()>& work) {
    const Pipe go;
    pid_ = fork();
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      go.wait();
      rest(std::chrono::milliseconds(1));  // what a task is counts from its next switch on
      work();
      _exit(0);
    }
    group.enter(pid_);
    go.put();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { end(); }
  pid_t pid() const { return pid_; }
  void end() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void join() {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_ || status != 0) fail("a process failed");
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
};

[[noreturn]] inline void spin_on() {
  for (volatile std::uint64_t i = 0;; i = i + 1) {
  }
}

/// When somebody who could always run did not: his clock jumped, and the kernel's books say that he waited.
struct Pauses {
  static constexpr std::size_t kMost = 1 << 16;
  std::array<std::uint64_t, kMost> begin{}, end{};
  volatile std::size_t count = 0;

  /// Of that while, what he was kept from running.
  double within(std::uint64_t from, std::uint64_t to) const {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i)
      if (const auto a = std::max(from, begin[i]), b = std::min(to, end[i]); b > a)
        sum += static_cast<double>(b - a);
    return sum;
  }
};

[[noreturn]] inline void spin_noting(Pauses& pauses) {
  constexpr std::uint64_t kJump = 15'000;
  std::uint64_t waited = books_of(getpid()).wait_ns, last = now_ns();
  while (true) {
    const std::uint64_t now = now_ns();
    if (now - last < kJump) {
      last = now;
      continue;
    }
    const std::uint64_t all = books_of(getpid()).wait_ns;
    if (2 * (all - waited) > now - last && pauses.count < Pauses::kMost) {
      pauses.begin[pauses.count] = last;
      pauses.end[pauses.count] = now;
      pauses.count = pauses.count + 1;
    }
    waited = all;
    last = now_ns();
  }
}

inline bool schedule(int policy, int priority) {
  const sched_param parameter{priority};
  return sched_setscheduler(0, policy, &parameter) == 0;
}

inline void run_first(int priority) {
  if (!schedule(SCHED_FIFO, priority)) _exit(1);
}

/// One group for each tier.
class Groups {
 public:
  Groups(const CgroupFs& cgroups, WaitBlame& blame) : blame_(blame) {
    const char* const names[] = {"lse", "lsr", "ls", "be", "none"};
    std::vector<WaitBlame::Named> named;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      groups_[i] = std::make_unique<TestGroup>(
          cgroups, "koord-test-" + std::to_string(getpid()) + "-blame-" + names[i]);
      // Whatever nobody names is the system's.
      if (i != static_cast<std::size_t>(CpuTier::system))
        named.push_back({groups_[i]->id(), static_cast<CpuTier>(i)});
    }
    if (const auto set = blame_.name_groups(named); !set) fail(set.error().message());
  }
  const TestGroup& operator[](CpuTier tier) const { return *groups_[static_cast<std::size_t>(tier)]; }

 private:
  WaitBlame& blame_;
  std::array<std::unique_ptr<TestGroup>, host::kCpuTiers> groups_;
};

inline WaitBlame::State read(WaitBlame& blame) {
  WaitBlame::State state;
  if (const auto done = blame.read(state); !done) fail(done.error().message());
  return state;
}

using Parts = std::array<double, WaitBlame::kRunners>;

struct Figures {
  Parts parts{};
  double sum = 0, waits = 0;
  double caused = 0, own_quota = 0;
  FineHistogram whole, caused_parts;
};

inline Figures between(const WaitBlame::State& before, const WaitBlame::State& after, CpuTier victim) {
  const auto& earlier = before[static_cast<std::size_t>(victim)];
  const auto& later = after[static_cast<std::size_t>(victim)];
  Figures all;
  for (std::size_t i = 0; i < WaitBlame::kRunners; ++i) {
    all.parts[i] = static_cast<double>(later.ran_ns[i] - earlier.ran_ns[i]);
    all.sum += all.parts[i];
  }
  all.waits = static_cast<double>(later.waits - earlier.waits);
  all.whole = later.whole.since(earlier.whole);
  all.caused = static_cast<double>(later.caused_ns - earlier.caused_ns);
  all.own_quota = static_cast<double>(later.own_quota_ns - earlier.own_quota_ns);
  all.caused_parts = later.caused.since(earlier.caused);
  if (all.whole.count() != later.waits - earlier.waits) fail("waits and their histogram differ");
  return all;
}

inline void agree(const char* what, double counted, double expected) {
  std::printf("    %-28s %10.3f ms, expected %10.3f ms (%+.2f%%)\n", what, counted / 1e6, expected / 1e6,
              expected > 0 ? (counted / expected - 1) * 100 : 0);
  if (std::abs(counted - expected) > std::max(kTolerance * expected, kSlackNs))
    fail(std::string(what) + ": off by more than 5%");
}

inline void agree(const Figures& figures, const Parts& expected, double waited) {
  for (std::size_t i = 0; i < WaitBlame::kRunners; ++i)
    if (expected[i] > 0 || figures.parts[i] > 0) agree(kNames[i], figures.parts[i], expected[i]);
  agree("sum (of schedstat)", figures.sum, waited);
}

constexpr std::size_t index(CpuTier tier) { return static_cast<std::size_t>(tier); }

struct Bench {
  const CgroupFs& cgroups;
  RunQueueLatency& counters;
  WaitBlame& blame;
  std::vector<int> cpus;
};

/// Room is never wanting, and hardly a move or an end is missed.
inline void check_losses(WaitBlame& blame, const WaitBlame::Losses& earlier, const WaitBlame::State& before) {
  const auto now = blame.losses().value();
  const auto after = read(blame);
  double waits = 0;
  for (std::size_t tier = 0; tier < koord::host::kCpuTiers; ++tier)
    waits += between(before, after, static_cast<CpuTier>(tier)).waits;
  const auto unseen = now.unseen - earlier.unseen;
  std::printf("    lost: %llu of %.0f waits\n", static_cast<unsigned long long>(unseen), waits);
  if (now.tasks != earlier.tasks || now.groups != earlier.groups) fail("a table was full");
  if (static_cast<double>(unseen) > waits / 1000) fail("waits were lost");
}

struct Beside {
  Figures figures;
  double waited = 0, caused = 0;  // as the three say themselves
};

/// Two on `cpus` that always want to run, beside best-effort work: what of their waiting it causes.
inline Beside pair_beside(const Bench& bench, const Groups& groups, int best_effort_cpu,
                          const std::vector<int>& cpus) {
  const Shared<Pauses> hogs;
  const Shared<std::array<Pauses, 2>> pairs;
  Process hog(groups[CpuTier::best_effort], [&] {
    pin(0, best_effort_cpu);
    spin_noting(*hogs);
  });
  // Who has a CPU to himself is switched by nobody, and a kernel that did not tell of the switch to him tells
  // of none.
  groups[CpuTier::system].real_time(10);
  const Process metronome(groups[CpuTier::system], [&] {
    pin(0, best_effort_cpu);
    run_first(1);
    while (true) rest(std::chrono::milliseconds(2));
  });
  const auto serve = [&](std::size_t i) {
    pin(0, cpus);
    spin_noting((*pairs)[i]);
  };
  Process one(groups[CpuTier::ls], [&] { serve(0); }), other(groups[CpuTier::ls], [&] { serve(1); });
  rest(std::chrono::milliseconds(200));
  const auto before = read(bench.blame);
  const std::uint64_t from = now_ns();
  rest(kWindow);
  Beside all{.figures = between(before, read(bench.blame), CpuTier::ls)};
  const std::uint64_t to = now_ns();
  for (Process* process : {&hog, &one, &other}) process->end();
  for (const Pauses& waits : *pairs)
    for (std::size_t i = 0; i < waits.count; ++i) {
      const std::uint64_t begin = waits.begin[i], end = waits.end[i];
      if (end < from || end >= to) continue;
      all.waited += static_cast<double>(end - begin);
      all.caused += static_cast<double>(end - begin) - hogs->within(begin, end);
    }
  const Figures& figures = all.figures;
  std::printf("    waited %.1f ms, caused %.1f ms, nobody's %.1f ms, BE on its CPU %.1f ms\n",
              figures.sum / 1e6, figures.caused / 1e6, figures.parts[WaitBlame::kIdle] / 1e6,
              figures.parts[index(CpuTier::best_effort)] / 1e6);
  return all;
}

}  // namespace koord::node_test
