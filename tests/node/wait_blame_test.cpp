// Who ran while others waited, on a real kernel: what the programs say of known loads agrees with the
// kernel's own books: the CPU clocks of those who ran and /proc/TASK/schedstat of who waited. Exit status 77:
// skipped.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "blame_rig.hpp"

namespace {
using koord::host::Root;
using koord::host::Tracepoints;
using namespace koord::node_test;

constexpr int kSkipped = 77;

/// What somebody who could always run sees in a moment in which he runs, so that nobody else on his CPU does:
/// between two of them he waited whenever somebody else ran.
struct Look {
  double wall = 0, ran = 0, waited = 0;
  Parts others{};
  WaitBlame::State state;
};

Look look(const Bench& bench, const std::vector<std::pair<CpuTier, pid_t>>& others) {
  Look now;
  now.state = read(bench.blame);
  now.wall = static_cast<double>(now_ns());
  now.ran = cpu_ns(getpid());
  now.waited = static_cast<double>(books_of(getpid()).wait_ns);
  for (const auto& [tier, pid] : others) now.others[index(tier)] += cpu_ns(pid);
  return now;
}

/// Runs `others` on one CPU beside an LS task that could always run, but is let run `rarely`.
void beside(const Bench& bench, const char* what,
            const std::vector<std::pair<CpuTier, std::function<void()>>>& others, bool rarely = false) {
  std::printf("  %s\n", what);
  const Groups groups(bench.cgroups, bench.blame);
  for (std::size_t i = 0; rarely && i < koord::host::kCpuTiers; ++i)
    groups[static_cast<CpuTier>(i)].weigh(i != index(CpuTier::ls));
  const Shared<std::array<Look, 2>> looks;
  const int cpu = bench.cpus[0];
  std::vector<std::unique_ptr<Process>> running;
  std::vector<std::pair<CpuTier, pid_t>> pids;
  for (const auto& [tier, work] : others) {
    running.push_back(std::make_unique<Process>(groups[tier], [&work = work, cpu] {
      pin(0, cpu);
      work();
    }));
    pids.emplace_back(tier, running.back()->pid());
  }
  Process waiter(groups[CpuTier::ls], [&] {
    pin(0, cpu);
    spin(std::chrono::milliseconds(50));
    (*looks)[0] = look(bench, pids);
    spin(kWindow);
    (*looks)[1] = look(bench, pids);
  });
  const auto before = read(bench.blame);
  waiter.join();
  const auto& [from, to] = *looks;
  Parts expected{};
  // Whatever else ran on this CPU is in no group of ours.
  double& rest = expected[index(CpuTier::system)];
  rest = (to.wall - from.wall) - (to.ran - from.ran);
  for (std::size_t i = 0; i < index(CpuTier::system); ++i) {
    expected[i] = to.others[i] - from.others[i];
    rest -= expected[i];
  }
  const Figures figures = between(from.state, to.state, CpuTier::ls);
  std::printf("    %.0f waits\n", figures.waits);
  agree(figures, expected, to.waited - from.waited);
  const auto waits = bench.counters.read(groups[CpuTier::ls].id());
  if (!waits) fail(waits.error().message());
  agree("sum (of run-queue latency)", between(before, read(bench.blame), CpuTier::ls).sum,
        static_cast<double>(waits->sum_ns));
}

/// One that runs before all others, in turns of the given length, each followed by as long a sleep.
struct Turns {
  static constexpr std::size_t kMost = 4096;
  std::array<std::uint64_t, kMost> begin{}, end{};
  volatile std::size_t count = 0;
};

void take_turns(Turns& turns, std::chrono::microseconds length, std::chrono::microseconds pause) {
  run_first(10);
  for (std::size_t i = 0; i < Turns::kMost; ++i) {
    turns.begin[i] = now_ns();
    spin(length);
    turns.end[i] = now_ns();
    turns.count = i + 1;
    rest(pause);
  }
}

/// A service that wakes at known times, on a CPU that best-effort work takes at known times.
void known_times(const Bench& bench) {
  std::printf("  woken at known times, best-effort work in known turns\n");
  const Groups groups(bench.cgroups, bench.blame);
  struct Waker {
    std::array<std::uint64_t, 1024> due{}, awake{};
    std::size_t count = 0;
    double waited = 0;
    WaitBlame::State before, after;
  };
  groups[CpuTier::best_effort].real_time(50);
  groups[CpuTier::lsr].real_time(20);
  const Shared<Turns> turns;
  const Shared<Waker> waker;
  const int cpu = bench.cpus[0];
  const Process hog(groups[CpuTier::best_effort], [&] {
    pin(0, cpu);
    take_turns(*turns, std::chrono::milliseconds(8), std::chrono::milliseconds(12));
  });
  Process service(groups[CpuTier::lsr], [&] {
    pin(0, cpu);
    run_first(5);  // before all but the hog
    waker->before = read(bench.blame);
    const auto before_books = books_of(getpid());
    std::uint64_t due = now_ns();
    const std::uint64_t end = due + static_cast<std::uint64_t>(std::chrono::nanoseconds(kWindow).count());
    for (std::size_t i = 0; due < end && i < waker->due.size(); ++i) {
      due += 3'700'000;
      const timespec when{static_cast<time_t>(due / 1'000'000'000), static_cast<long>(due % 1'000'000'000)};
      while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) != 0) {
      }
      waker->awake[i] = now_ns();
      waker->due[i] = due;
      waker->count = i + 1;
      due = std::max(due, waker->awake[i]);
    }
    waker->waited = static_cast<double>(books_of(getpid()).wait_ns - before_books.wait_ns);
    waker->after = read(bench.blame);
  });
  service.join();
  const Figures figures = between(waker->before, waker->after, CpuTier::lsr);
  double best_effort = 0;
  std::vector<double> parts;
  for (std::size_t i = 0; i < waker->count; ++i) {
    double part = 0;
    for (std::size_t turn = 0; turn < turns->count; ++turn) {
      const auto from = std::max(waker->due[i], turns->begin[turn]);
      const auto to = std::min(waker->awake[i], turns->end[turn]);
      if (to > from) part += static_cast<double>(to - from);
    }
    parts.push_back(part / 1000);
    best_effort += part;
  }
  agree("BE", figures.parts[index(CpuTier::best_effort)], best_effort);
  agree("sum (of schedstat)", figures.sum, waker->waited);
  std::sort(parts.begin(), parts.end());
  const double p90 = parts[parts.size() * 9 / 10];
  const double counted =
      figures.caused_parts.upper_quantile_us(0.9, static_cast<std::uint64_t>(figures.waits));
  std::printf("    p90 of the best-effort part: %.0f us, at most %.0f us says the histogram\n", p90, counted);
  if (counted < p90 * 0.95 || counted > p90 * 1.30) fail("the histogram of best-effort parts is off");
}

/// Waits go on on another CPU, with another one to blame.
void moving(const Bench& bench) {
  std::printf("  a waiter that is moved every few milliseconds\n");
  const Groups groups(bench.cgroups, bench.blame);
  struct Result {
    double waited = 0;
    WaitBlame::State before, after;
  };
  const Shared<Result> result;
  const Pipe begun;
  const Shared<std::atomic<bool>> stop;
  const Shared<std::array<std::atomic<double>, 2>> ran;  // by the hogs: they tell as they run
  const auto lost_before = bench.blame.losses().value().unseen;
  const CpuTier tiers[] = {CpuTier::best_effort, CpuTier::lsr};
  std::vector<std::unique_ptr<Process>> hogs;
  for (std::size_t i = 0; i < 2; ++i)
    hogs.push_back(std::make_unique<Process>(groups[tiers[i]], [&, i] {
      pin(0, bench.cpus[i]);
      while (true) (*ran)[i].store(cpu_ns(getpid()), std::memory_order_relaxed);
    }));
  Process waiter(groups[CpuTier::lse], [&] {
    nice(19);
    result->before = read(bench.blame);
    const auto waited = books_of(getpid()).wait_ns;
    begun.put();
    while (!stop->load(std::memory_order_relaxed)) {
    }
    result->waited = static_cast<double>(books_of(getpid()).wait_ns - waited);
    result->after = read(bench.blame);
  });
  // What each ran while the waiter was on its CPU.
  std::array<double, 2> hog{};
  const std::uint64_t end = now_ns() + 3'000'000'000;
  std::size_t at = 0;
  begun.wait();
  if (!schedule(SCHED_FIFO, 20)) setpriority(PRIO_PROCESS, 0, -20);
  pin(waiter.pid(), bench.cpus[at]);
  std::size_t moves = 0;
  double began = (*ran)[at];
  for (; now_ns() < end; ++moves) {
    rest(std::chrono::milliseconds(at == 0 ? 7 : 4));
    pin(waiter.pid(), bench.cpus[1 - at]);
    hog[at] += (*ran)[at] - began;
    at = 1 - at;
    began = (*ran)[at];
  }
  stop->store(true);
  schedule(SCHED_OTHER, 0);
  setpriority(PRIO_PROCESS, 0, 0);
  for (const auto& one : hogs) one->end();
  waiter.join();
  const Figures figures = between(result->before, result->after, CpuTier::lse);
  const auto lost = bench.blame.losses().value().unseen - lost_before;
  std::printf("    %zu moves, %.0f waits, %llu lost\n", moves, figures.waits,
              static_cast<unsigned long long>(lost));
  agree("BE", figures.parts[index(CpuTier::best_effort)], hog[0]);
  agree("LSR", figures.parts[index(CpuTier::lsr)], hog[1]);
  agree("sum (of schedstat)", figures.sum, result->waited);
}

/// Many short waits that end on another CPU than they began on.
void migrating(const Bench& bench) {
  std::printf("  short sleepers, forkers and ping-pong wherever there is room\n");
  using std::chrono::microseconds;
  const Groups groups(bench.cgroups, bench.blame);
  const auto lost = bench.blame.losses().value();
  const auto before = read(bench.blame);
  const Pipe ping, pong;
  std::vector<std::unique_ptr<Process>> running;
  const auto add = [&](CpuTier tier, const std::function<void()>& work) {
    running.push_back(std::make_unique<Process>(groups[tier], work));
  };
  for (int i = 0; i < 6; ++i)
    add(i % 2 == 0 ? CpuTier::ls : CpuTier::best_effort, [i] {
      while (true) {
        spin(microseconds(20 + 30 * i));
        rest(microseconds(20 + 37 * i));
      }
    });
  const Shared<std::atomic<bool>> stop;
  std::vector<std::unique_ptr<Process>> forkers;
  forkers.reserve(2);
  for (const CpuTier tier : {CpuTier::ls, CpuTier::best_effort})
    forkers.push_back(std::make_unique<Process>(groups[tier], [&] {
      while (!stop->load(std::memory_order_relaxed))
        if (const pid_t child = fork(); child == 0)
          _exit(0);
        else
          waitpid(child, nullptr, 0);
    }));
  const auto play = [](const Pipe& mine, const Pipe& theirs) {
    while (true) {
      theirs.put();
      mine.wait();
    }
  };
  add(CpuTier::ls, [&] { play(ping, pong); });
  add(CpuTier::ls, [&] { play(pong, ping); });
  rest(kWindow);
  stop->store(true);
  for (const auto& forker : forkers) forker->join();  // no child is left in its group
  running.clear();
  check_losses(bench.blame, lost, before);
}

/// Best-effort work has one CPU, two of a service stand behind one another on the other; then all are equal,
/// and one of the service goes to and fro.
void displacing(const Bench& bench) {
  std::printf("  best-effort work on another CPU that the service may use, then may not\n");
  for (const bool most : {true, false}) {
    const Groups groups(bench.cgroups, bench.blame);
    if (most) groups[CpuTier::best_effort].weigh(true);
    const Beside free = pair_beside(bench, groups, bench.cpus[1], bench.cpus);
    agree("caused", free.figures.caused, free.caused);
    agree("sum", free.figures.sum, free.waited);
  }
  const Groups groups(bench.cgroups, bench.blame);
  groups[CpuTier::best_effort].weigh(true);
  const Figures pinned = pair_beside(bench, groups, bench.cpus[1], {bench.cpus[0]}).figures;
  if (pinned.sum < 1e8) fail("nobody waited");
  agree("caused", pinned.caused, 0);
}

/// A service that has used its own quota up waits for nobody; while it has some left it goes before all
/// others.
void throttled(const Bench& bench) {
  std::printf("  a service with a quota beside best-effort work, then without\n");
  {
    const Groups groups(bench.cgroups, bench.blame);
    if (!groups[CpuTier::ls].quota(20)) {
      std::printf("    no quotas here\n");
      return;
    }
    groups[CpuTier::ls].weigh(true);
    const Figures held = pair_beside(bench, groups, bench.cpus[0], {bench.cpus[0]}).figures;
    if (held.sum < 1e8) fail("nobody waited");
    if (held.caused > 0.02 * held.sum) fail("best-effort work is blamed for a quota");
    if (held.parts[WaitBlame::kIdle] < 0.5 * held.sum) fail("a quota is somebody's");
  }
  if (bench.cpus.size() > 1) {
    std::printf(
        "  a service that wants more than its quota, and stands behind itself while it has some left\n");
    const Groups groups(bench.cgroups, bench.blame);
    groups[CpuTier::ls].quota(30);
    groups[CpuTier::ls].weigh(true);
    const Process third(groups[CpuTier::ls], spin_on), fourth(groups[CpuTier::ls], spin_on);
    const Figures held = pair_beside(bench, groups, bench.cpus[1], bench.cpus).figures;
    if (held.sum < 1e8) fail("nobody waited");
    std::printf("    by its own quota while somebody ran %.1f ms\n", held.own_quota / 1e6);
    if (held.own_quota < 0.9 * (held.sum - held.parts[WaitBlame::kIdle])) fail("it is not its own quota's");
    if (held.caused > 0.02 * held.sum) fail("best-effort work is blamed for a service that overloads itself");
  }
  const Groups groups(bench.cgroups, bench.blame);
  const Figures let = pair_beside(bench, groups, bench.cpus[0], {bench.cpus[0]}).figures;
  agree("caused", let.caused, let.parts[index(CpuTier::best_effort)]);
  if (let.caused < 0.1 * let.sum) fail("best-effort work is not blamed");
}

void take_turns_within_a_wait(const Bench& bench) {
  using std::chrono::microseconds;
  // The last one to run is always LSR's.
  const Pipe first, second, third;
  const auto relay = [](const Pipe& mine, const Pipe& next, int length) {
    while (true) {
      mine.wait();
      spin(microseconds(length));
      next.put();
    }
  };
  beside(bench, "three that take turns while one wait lasts",
         {{CpuTier::best_effort, [&] { relay(first, second, 3000); }},
          {CpuTier::system, [&] { relay(second, third, 1500); }},
          {CpuTier::lsr,
           [&] {
             while (true) {
               first.put();
               third.wait();
               spin(microseconds(500));
               rest(microseconds(1000));
             }
           }}},
         true);
}

/// False where the programs cannot be loaded.
bool run_kind(const CgroupFs& cgroups, Tracepoints kind, bool brief) {
  std::printf("wait_blame: %s\n", kind == Tracepoints::typed ? "typed" : "raw");
  const auto opened = koord::host::open_run_queue_latency(Root::host_mode(), cgroups.version(), kind, true);
  if (!opened) {
    std::printf("wait_blame: skipped: %s\n", opened.error().message().c_str());
    return false;
  }
  const Bench bench{cgroups, **opened, *(*opened)->blame(), usable_cpus()};
  const auto lost = bench.blame.losses().value();
  const auto before = read(bench.blame);
  beside(bench, "spinners of best effort and of the system, pinned to one CPU",
         {{CpuTier::best_effort, spin_on}, {CpuTier::best_effort, spin_on}, {CpuTier::system, spin_on}});
  if (!brief) take_turns_within_a_wait(bench);
  if (!brief) known_times(bench);
  throttled(bench);
  if (!brief && bench.cpus.size() > 1) {
    moving(bench);
    migrating(bench);
    displacing(bench);
  }
  check_losses(bench.blame, lost, before);
  return true;
}

}  // namespace

// --tries=N: a virtual machine stalls now and then. --brief: that the programs load and count, on a machine
// that is too slow for loads of microseconds.
int main(int argc, char** argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string option = argc > 1 ? argv[1] : "";
  const bool brief = option == "--brief";
  const auto cgroups = CgroupFs::open(Root::host_mode());
  if (!cgroups) fail(cgroups.error().message());
  int tries = option.starts_with("--tries=") ? std::atoi(option.c_str() + 8) : (brief ? 4 : 1);
  for (const Tracepoints kind : {Tracepoints::typed, Tracepoints::raw}) {
    while (true) {
      try {
        if (!run_kind(*cgroups, kind, brief)) return kSkipped;
        break;
      } catch (const std::exception& error) {
        if (--tries <= 0) throw;
        std::printf("wait_blame: once more: %s\n", error.what());
      }
    }
  }
  std::printf("wait_blame: passed\n");
  return 0;
} catch (const std::exception& error) {
  std::printf("wait_blame: FAILED: %s\n", error.what());
  return 1;
}
