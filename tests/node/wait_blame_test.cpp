// Who ran while others waited, on a real kernel: what the programs say of known loads agrees with the
// kernel's own books: the CPU clocks of those who ran and /proc/TASK/schedstat of who waited. Exit status 77:
// skipped.
#include <bpf/bpf.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <set>
#include <vector>

#include "blame_rig.hpp"

namespace {
using koord::host::Root;
using koord::host::Tracepoints;
using namespace koord::node_test;

constexpr int kSkipped = 77;
constexpr auto kWindow = std::chrono::milliseconds(1500);

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

/// Room is never wanting, and hardly a move or an end is missed.
void check_losses(WaitBlame& blame, const WaitBlame::Losses& earlier, const WaitBlame::State& before) {
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
  for (const CpuTier tier : {CpuTier::ls, CpuTier::best_effort})
    add(tier, [] {
      while (true)
        if (const pid_t child = fork(); child == 0)
          _exit(0);
        else
          waitpid(child, nullptr, 0);
    });
  const auto play = [](const Pipe& mine, const Pipe& theirs) {
    while (true) {
      theirs.put();
      mine.wait();
    }
  };
  add(CpuTier::ls, [&] { play(ping, pong); });
  add(CpuTier::ls, [&] { play(pong, ping); });
  rest(kWindow);
  running.clear();
  check_losses(bench.blame, lost, before);
}

struct Beside {
  Figures figures;
  double waited = 0, caused = 0;  // as the three say themselves
};

/// Two that always want to run, beside best-effort work: what of their waiting it causes.
Beside pair_beside(const Bench& bench, const Groups& groups, int best_effort_cpu, bool pinned) {
  const Shared<Pauses> hogs;
  const Shared<std::array<Pauses, 2>> pairs;
  Process hog(groups[CpuTier::best_effort], [&] {
    pin(0, best_effort_cpu);
    spin_noting(*hogs);
  });
  const auto serve = [&](std::size_t i) {
    if (pinned) pin(0, bench.cpus[0]);
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

/// Best-effort work has one CPU, two of a service stand behind one another on the other; then all are equal,
/// and one of the service goes to and fro.
void displacing(const Bench& bench) {
  std::printf("  best-effort work on another CPU that the service may use, then may not\n");
  for (const bool most : {true, false}) {
    const Groups groups(bench.cgroups, bench.blame);
    if (most) groups[CpuTier::best_effort].weigh(true);
    const Beside free = pair_beside(bench, groups, bench.cpus[1], false);
    agree("caused", free.figures.caused, free.caused);
    agree("sum", free.figures.sum, free.waited);
  }
  const Groups groups(bench.cgroups, bench.blame);
  groups[CpuTier::best_effort].weigh(true);
  const Figures pinned = pair_beside(bench, groups, bench.cpus[1], true).figures;
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
    const Figures held = pair_beside(bench, groups, bench.cpus[0], true).figures;
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
    const Figures held = pair_beside(bench, groups, bench.cpus[1], false).figures;
    if (held.sum < 1e8) fail("nobody waited");
    std::printf("    by its own quota while somebody ran %.1f ms\n", held.own_quota / 1e6);
    if (held.own_quota < 0.9 * (held.sum - held.parts[WaitBlame::kIdle])) fail("it is not its own quota's");
    if (held.caused > 0.02 * held.sum) fail("best-effort work is blamed for a service that overloads itself");
  }
  const Groups groups(bench.cgroups, bench.blame);
  const Figures let = pair_beside(bench, groups, bench.cpus[0], true).figures;
  agree("caused", let.caused, let.parts[index(CpuTier::best_effort)]);
  if (let.caused < 0.1 * let.sum) fail("best-effort work is not blamed");
}

/// The maps that there are already: another agent may run.
std::set<std::uint32_t> maps_now() {
  std::set<std::uint32_t> ids;
  for (std::uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) ids.insert(id);
  return ids;
}

/// Keys in a map of the programs.
std::size_t entries(const std::set<std::uint32_t>& others, const std::string& name) {
  std::size_t count = 0;
  std::uint32_t id = 0;
  while (bpf_map_get_next_id(id, &id) == 0) {
    const koord::Fd map(bpf_map_get_fd_by_id(id));
    bpf_map_info info{};
    std::uint32_t size = sizeof info;
    if (!map || others.contains(id) || bpf_obj_get_info_by_fd(map.get(), &info, &size) != 0 ||
        info.name != name)
      continue;
    std::vector<char> key(info.key_size), next(info.key_size);
    bool more = bpf_map_get_next_key(map.get(), nullptr, next.data()) == 0;
    for (; more; more = bpf_map_get_next_key(map.get(), key.data(), next.data()) == 0) {
      ++count;
      key.swap(next);
    }
  }
  return count;
}

/// Thousands of groups and tasks come and go, nested ones too, and leave nothing.
void come_and_go(const Bench& bench) {
  std::printf("  %d groups with three tasks each\n", bench.groups);
  const std::size_t tasks_before = entries(bench.other_maps, "blamed");
  const auto before = read(bench.blame);
  std::vector<WaitBlame::Named> named;
  std::set<WaitBlame::GroupId> ids;
  for (int i = 0; i < bench.groups; ++i) {
    const std::string name = "koord-test-" + std::to_string(getpid()) + "-churn";
    TestGroup group(bench.cgroups, name), nested(bench.cgroups, name + "/nested");
    named.assign({{group.id(), CpuTier::ls}});
    ids.insert({group.id(), nested.id()});
    if (const auto set = bench.blame.name_groups(named); !set) fail(set.error().message());
    Process process(nested, [] {
      for (int child = 0; child < 2; ++child)
        if (const pid_t pid = fork(); pid == 0)
          _exit(0);
        else
          waitpid(pid, nullptr, 0);
    });
    process.join();
    nested.remove();
  }
  const Figures figures = between(before, read(bench.blame), CpuTier::ls);
  std::printf("    %.0f waits, %.3f ms\n", figures.waits, figures.sum / 1e6);
  if (figures.waits < bench.groups) fail("nested groups do not count as the group above them");
  std::vector<WaitBlame::Group> groups;
  if (const auto taken = bench.blame.groups(groups); !taken) fail(taken.error().message());
  for (const auto& group : groups)
    if (ids.contains(group.id)) fail("a removed group keeps its place");
  if (entries(bench.other_maps, "tiers") > 1) fail("a removed group keeps its name");
  if (entries(bench.other_maps, "blamed") > tasks_before + 500)
    fail("tasks that have ended keep their places");
}

/// What the kernel says that a map takes.
std::uint64_t bytes_of(const koord::Fd& map) {
  const auto text = koord::read_file("/proc/self/fdinfo/" + std::to_string(map.get()));
  const auto at = text ? text->find("memlock:") : std::string::npos;
  return at == std::string::npos ? 0 : std::strtoull(text->c_str() + at + 8, nullptr, 10);
}

/// Prints what the tables take on a machine of 128 CPUs: they do not grow with the number of groups.
void print_memory(const CgroupFs& cgroups) {
  constexpr std::size_t kCpus = 128;
  const std::set<std::uint32_t> others = maps_now();
  const auto opened = koord::host::open_run_queue_latency(Root::host_mode(), cgroups.version(),
                                                          Tracepoints::typed, true, kCpus);
  if (!opened) fail(opened.error().message());
  const std::set<std::string> names = {"blamed",       "clocks", "domains", "blames",
                                       "group_blames", "tiers",  "groups"};
  std::printf("wait_blame: memory for %zu CPUs, up to 8192 groups\n", kCpus);
  std::uint64_t sum = 0;
  std::uint32_t id = 0;
  while (bpf_map_get_next_id(id, &id) == 0) {
    const koord::Fd map(bpf_map_get_fd_by_id(id));
    bpf_map_info info{};
    std::uint32_t size = sizeof info;
    if (!map || others.contains(id) || bpf_obj_get_info_by_fd(map.get(), &info, &size) != 0 ||
        !names.contains(info.name))
      continue;
    // One value for each CPU of this machine is one for each of that one.
    const bool per_cpu = info.type == BPF_MAP_TYPE_PERCPU_ARRAY;
    const std::uint64_t taken = per_cpu ? kCpus * info.max_entries * info.value_size : bytes_of(map);
    std::printf("    %-12s %7.2f MiB, %u entries of %u bytes\n", info.name,
                static_cast<double>(taken) / (1 << 20), info.max_entries, info.value_size);
    sum += taken;
  }
  std::printf("    in all       %7.2f MiB\n", static_cast<double>(sum) / (1 << 20));
  if (sum > std::uint64_t{48} << 20) fail("the tables take more than 48 MiB");
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
  const std::set<std::uint32_t> others = maps_now();
  const auto opened = koord::host::open_run_queue_latency(Root::host_mode(), cgroups.version(), kind, true);
  if (!opened) {
    std::printf("wait_blame: skipped: %s\n", opened.error().message().c_str());
    return false;
  }
  const Bench bench{cgroups, **opened, *(*opened)->blame(), usable_cpus(), brief ? 50 : 1500, others};
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
  come_and_go(bench);
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
  if (option == "--memory") return print_memory(*cgroups), 0;
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
  print_memory(*cgroups);
  std::printf("wait_blame: passed\n");
  return 0;
} catch (const std::exception& error) {
  std::printf("wait_blame: FAILED: %s\n", error.what());
  return 1;
}
