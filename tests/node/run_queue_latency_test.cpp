// The run-queue latency collector on a real kernel: what it counts of known loads agrees with the kernel's
// own books, /proc/TASK/schedstat. `--cost` measures what it adds to a wake-up and a switch. Exit status 77:
// skipped.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/run_queue_latency_variants.hpp"
#include "koord/host/cgroup_fs.hpp"
#include "loads.hpp"

namespace {
using koord::host::CgroupFs;
using koord::host::CgroupVersion;
using koord::host::Root;
using koord::host::RunQueueLatency;
using koord::host::Tracepoints;
using namespace koord::node_test;

constexpr int kSkipped = 77;
constexpr double kTolerance = 0.05;
constexpr double kSlackNs = 2e6;  // where a sum is next to nothing
constexpr std::uint64_t kSlackCount = 20;

/// Processes that begin together on the first CPU that this one may use, each in its group, and stay after
/// their work until their books were read.
class Load {
 public:
  explicit Load(std::size_t groups) : books_(groups) {}
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() {
    for (const Process& process : processes_) {
      kill(process.pid, SIGKILL);
      waitpid(process.pid, nullptr, 0);
    }
  }

  void add(std::size_t group, const TestGroup& folder, const std::function<Books()>& work) {
    const pid_t pid = fork();
    if (pid < 0) fail("fork");
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      ready_.put();
      start_.wait();
      pin();  // a change of the cpuset would undo it
      const Books of_children = work();
      done_.put(&of_children, sizeof of_children);
      hold_.wait();
      _exit(0);
    }
    processes_.push_back({pid, group});
    ready_.wait();
    // What it waited before it entered its group does not count.
    const Books before = books_of(pid);
    folder.enter(pid);
    books_[group].run_ns -= before.run_ns;
    books_[group].wait_ns -= before.wait_ns;
    books_[group].slices -= before.slices;
  }

  void run() {
    for (std::size_t i = 0; i < processes_.size(); ++i) start_.put();
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      Books of_children;
      if (!done_.get(&of_children, sizeof of_children)) fail("a load ended early");
      // Only one group of a load has children.
      if (of_children.slices > 0) of_children_ += of_children;
    }
    for (const Process& process : processes_) books_[process.group] += books_of(process.pid);
  }

  const Books& books(std::size_t group) const { return books_[group]; }
  const Books& of_children() const { return of_children_; }

 private:
  struct Process {
    pid_t pid;
    std::size_t group;
  };
  static void pin() {
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    CPU_ZERO(&one);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed)) ++cpu;
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }

  Pipe ready_, start_, done_, hold_;
  std::vector<Process> processes_;
  std::vector<Books> books_;
  Books of_children_;
};

Books burn() {
  spin(std::chrono::seconds(3));
  return {};
}

/// Wakes up again and again: two of them play ping-pong.
Books play(const Pipe& mine, const Pipe& theirs, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    theirs.put();
    mine.wait();
  }
  return {};
}

/// Short-lived children, whose first wait began with their birth. Returns the sum of their books, which the
/// dead keep until they are waited for: a child that is dead for its parent may still wait for the CPU that
/// it ends on.
Books breed() {
  std::vector<pid_t> children;
  for (int i = 0; i < 300; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      spin(std::chrono::microseconds(200));
      _exit(0);
    }
    siginfo_t info;
    if (child < 0 || waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0) _exit(1);
    children.push_back(child);
  }
  Books sum;
  for (const pid_t child : children) {
    sum += books_of(child);
    waitpid(child, nullptr, 0);
  }
  return sum;
}

bool agree(double counted, double expected, double slack) {
  return std::abs(counted - expected) <= std::max(kTolerance * expected, slack);
}

void compare(const char* kind, const char* name, const koord::host::LatencyHistogram& counted,
             const Books& books, double slack_ns = kSlackNs) {
  std::printf(
      "run_queue_latency: %-5s %-8s waits %8llu (schedstat %8llu), sum %10.3f ms (schedstat %10.3f ms), p50 "
      "%.0f us, p99 %.0f us\n",
      kind, name, static_cast<unsigned long long>(counted.count()),
      static_cast<unsigned long long>(books.slices), static_cast<double>(counted.sum_ns) / 1e6,
      static_cast<double>(books.wait_ns) / 1e6, counted.quantile_us(0.5), counted.quantile_us(0.99));
  if (!agree(static_cast<double>(counted.sum_ns), static_cast<double>(books.wait_ns), slack_ns))
    fail(std::string(name) + ": the sum differs by more than 5%");
  if (!agree(static_cast<double>(counted.count()), static_cast<double>(books.slices), kSlackCount))
    fail(std::string(name) + ": the count differs by more than 5%");
}

void run_loads(RunQueueLatency& collector, const CgroupFs& cgroups, const char* kind) {
  enum { burning, playing, breeding, throttled, kGroups };
  const std::string prefix = "koord-test-" + std::to_string(getpid()) + "-" + kind + "-";
  const char* const names[kGroups] = {"burn", "play", "breed", "quota"};
  TestGroup burners(cgroups, prefix + names[burning]), players(cgroups, prefix + names[playing]),
      breeders(cgroups, prefix + names[breeding]), limited(cgroups, prefix + names[throttled]);
  TestGroup* const groups[kGroups] = {&burners, &players, &breeders, &limited};
  const bool has_quota = limited.quota(5);
  std::vector<RunQueueLatency::GroupId> ids;
  for (const TestGroup* group : groups) ids.push_back(group->id());
  {
    const Pipe ping, pong;
    Load load(kGroups);
    for (int i = 0; i < 3; ++i) load.add(burning, burners, burn);
    load.add(playing, players, [&] { return play(ping, pong, 2000); });
    load.add(playing, players, [&] { return play(pong, ping, 2000); });
    load.add(breeding, breeders, breed);
    if (has_quota) load.add(throttled, limited, burn);
    std::vector<RunQueueLatency::Group> state;
    load.run();
    if (const auto taken = collector.snapshot(state); !taken) fail(taken.error().message());
    for (std::size_t i = 0; i < (has_quota ? kGroups : throttled); ++i) {
      const auto found =
          std::find_if(state.begin(), state.end(), [&](const auto& group) { return group.id == ids[i]; });
      if (found == state.end()) fail(std::string(names[i]) + " is not in the snapshot");
      Books books = load.books(i);
      if (i == breeding) books += load.of_children();
      compare(kind, names[i], found->histogram, books);
      const auto one = collector.read(ids[i]);
      if (!one || one->count() < found->histogram.count()) fail("read() and snapshot() differ");
    }
    const auto lost = collector.losses();
    if (!lost || *lost != RunQueueLatency::Losses{}) fail("waits were lost");
  }
  if (const auto removed = collector.remove(ids[burning]); !removed) fail(removed.error().message());
  for (TestGroup* group : groups) group->remove();
  for (const auto id : ids) {
    const auto gone = collector.read(id);
    if (gone || gone.error().code() != koord::Code::not_found) fail("a removed group keeps its place");
  }
}

/// Nanoseconds of CPU time of a round of ping-pong on one CPU: two wake-ups, two switches. What else the
/// machine does is not in it, but for its caches: the best of some tries.
double round_ns() {
  constexpr int kRounds = 50'000;
  double best = 1e18;
  for (int i = 0; i < 7; ++i) {
    const Pipe ping, pong;
    const auto cgroups = CgroupFs::open(Root::host_mode());
    const TestGroup group(*cgroups, "koord-test-" + std::to_string(getpid()) + "-cost");
    Load load(1);
    load.add(0, group, [&] { return play(ping, pong, kRounds); });
    load.add(0, group, [&] { return play(pong, ping, kRounds); });
    load.run();
    best = std::min(best, static_cast<double>(load.books(0).run_ns) / kRounds);
  }
  return best;
}

/// The kernel's own figures of the programs that are loaded, by name.
void print_run_times() {
  std::uint32_t id = 0;
  while (bpf_prog_get_next_id(id, &id) == 0) {
    const koord::Fd program(bpf_prog_get_fd_by_id(id));
    bpf_prog_info info{};
    std::uint32_t size = sizeof info;
    if (!program || bpf_obj_get_info_by_fd(program.get(), &info, &size) != 0 || info.run_cnt == 0) continue;
    std::printf("  %-12s %8llu runs, %4llu ns each\n", info.name,
                static_cast<unsigned long long>(info.run_cnt),
                static_cast<unsigned long long>(info.run_time_ns / info.run_cnt));
  }
}

int measure_cost(CgroupVersion version) {
  const double without = round_ns();
  std::printf("a round of ping-pong on one CPU (2 wake-ups, 2 switches): %.0f ns\n", without);
  for (int variant = 0; variant < 4; ++variant) {
    const Tracepoints kind = variant % 2 == 0 ? Tracepoints::typed : Tracepoints::raw;
    const bool blame = variant / 2 == 1;
    const auto collector = koord::host::open_run_queue_latency(Root::host_mode(), version, kind, blame);
    if (!collector) fail(collector.error().message());
    const double with = round_ns();
    // As they time themselves: less the kernel's way to them.
    const auto spent = (*collector)->spent();
    if (!spent || spent->timed == 0) fail("nothing was timed");
    std::printf("with the collector, %s tracepoints%s: %.0f ns, %.0f ns an event, %.0f by its own clock\n",
                kind == Tracepoints::typed ? "typed" : "raw", blame ? ", with blame" : "", with,
                (with - without) / 4,
                static_cast<double>(spent->timed_ns) / static_cast<double>(spent->timed));
    if (const auto done = (*collector)->trace(RunQueueLatency::Tracing::sampled); !done)
      fail(done.error().message());
    const auto before = (*collector)->spent();
    const double sampled = round_ns();
    const auto after = (*collector)->spent();
    if (!before || !after || after->timed == before->timed) fail("nothing was timed");
    std::printf("  sampled: %.0f ns, %.0f ns an event, %.0f by its own clock\n", sampled,
                (sampled - without) / 4,
                static_cast<double>(after->timed_ns - before->timed_ns) /
                    static_cast<double>(after->timed - before->timed));
    if (const auto done = (*collector)->trace(RunQueueLatency::Tracing::paused); !done)
      fail(done.error().message());
    if (const auto done = (*collector)->trace(RunQueueLatency::Tracing::full); !done)
      fail(done.error().message());
    // Only while this is open the kernel measures, and adds to what it measures.
    const koord::Fd measuring(bpf_enable_stats(BPF_STATS_RUN_TIME));
    if (measuring) {
      round_ns();
      print_run_times();
    }
  }
  return 0;
}

/// False where the collector cannot be opened.
bool run_kind(const CgroupFs& cgroups, Tracepoints kind) {
  const auto collector = koord::host::open_run_queue_latency(Root::host_mode(), cgroups.version(), kind);
  if (!collector) {
    std::printf("run_queue_latency: skipped: %s\n", collector.error().message().c_str());
    return false;
  }
  run_loads(**collector, cgroups, kind == Tracepoints::typed ? "typed" : "raw");
  return true;
}

/// The kernel takes the tables of large machines, and one that counts with them is read.
void check_sizes(const CgroupFs& cgroups) {
  for (const std::size_t cpus : {128, 8192}) {
    const auto collector = koord::host::open_run_queue_latency(
        Root::host_mode(), cgroups.version(), Tracepoints::typed, false, koord::host::table_sizes(cpus));
    if (!collector) fail(std::to_string(cpus) + " CPUs: " + collector.error().message());
    for (int i = 0; i < 5; ++i) {  // each waits, from its birth on
      const pid_t child = fork();
      if (child == 0) _exit(0);
      if (child < 0 || waitpid(child, nullptr, 0) != child) fail("fork");
    }
    std::vector<RunQueueLatency::Group> state;
    if (const auto taken = (*collector)->snapshot(state); !taken) fail(taken.error().message());
    if (state.empty()) fail(std::to_string(cpus) + " CPUs: nothing was counted");
  }
}

/// All waits, a sample of them, none, and all again: of each what it says, and nothing of one is in another.
void check_tracing(const CgroupFs& cgroups, bool with_blame) {
  using Tracing = RunQueueLatency::Tracing;
  const auto opened = koord::host::open_run_queue_latency(Root::host_mode(), cgroups.version(),
                                                          Tracepoints::typed, with_blame);
  if (!opened) fail(opened.error().message());
  RunQueueLatency& collector = **opened;
  const auto is = [](const char* what, bool good) {
    if (!good) fail(std::string("tracing: ") + what);
  };
  int run = 0;
  for (const Tracing tracing :
       {Tracing::full, Tracing::sampled, Tracing::paused, Tracing::full, Tracing::paused, Tracing::sampled}) {
    if (run > 0)
      if (const auto done = collector.trace(tracing); !done) fail(done.error().message());
    const TestGroup group(cgroups,
                          "koord-test-" + std::to_string(getpid()) + "-trace" + std::to_string(run++));
    koord::host::WaitBlame::State before, after;
    if (with_blame) {
      const koord::host::WaitBlame::Named named[] = {{group.id(), koord::host::CpuTier::ls}};
      is("a group has no tier", collector.blame()->name_groups(named) && collector.blame()->read(before));
    }
    const auto spent = collector.spent();
    Books books;
    {
      const Pipe ping, pong;
      Load load(1);
      load.add(0, group, [&] { return play(ping, pong, 10'000); });
      load.add(0, group, [&] { return play(pong, ping, 10'000); });
      load.run();
      books = load.books(0);
    }
    const auto now = collector.spent();
    is("no cost", spent && now);
    is("what tells of all has another cost than events", tracing == Tracing::paused
                                                             ? now->events == spent->events
                                                             : now->events >= spent->events + books.slices);
    const auto waits = collector.read(group.id());
    if (with_blame) is("blame cannot be read", collector.blame()->read(after).has_value());
    const auto& ls = after[static_cast<std::size_t>(koord::host::CpuTier::ls)];
    const auto& earlier = before[static_cast<std::size_t>(koord::host::CpuTier::ls)];
    if (tracing == Tracing::paused) {
      is("something was counted in a pause", !waits);
    } else if (tracing == Tracing::full) {
      // The kernel looks at its clock a little before the program does: much of such short waits.
      const double slack =
          1000 * static_cast<double>(books.slices) + 0.2 * static_cast<double>(books.wait_ns);
      compare(with_blame ? "blame" : "plain", "all", waits.value(), books, slack);
      double parts = 0;
      for (std::size_t i = 0; i < ls.ran_ns.size(); ++i)
        parts += static_cast<double>(ls.ran_ns[i] - earlier.ran_ns[i]);
      is("the parts do not add up", !with_blame || agree(parts, static_cast<double>(books.wait_ns), slack));
    } else {
      const std::uint64_t counted = waits ? waits->count() : 0;
      std::printf("run_queue_latency: sampled  waits %8llu (schedstat %8llu)\n",
                  static_cast<unsigned long long>(counted), static_cast<unsigned long long>(books.slices));
      // A sample of 1,250: a fifth is seven deviations.
      is("a sample does not count for all", counted % RunQueueLatency::kSampledOneIn == 0);
      is("a sample is off by more than a fifth",
         std::abs(static_cast<double>(counted) - static_cast<double>(books.slices)) <
             0.2 * static_cast<double>(books.slices));
      is("somebody is blamed by a sample", ls.waits == earlier.waits);
    }
  }
}

/// What the programs are told of a kernel before 5.5, whose kernfs_node had a union for a number: this
/// kernel's types with that one. The place of the number is the same, so that they run, too.
void write_old_types(const std::string& path) {
  struct Free {
    void operator()(btf* types) const { btf__free(types); }
  };
  const std::unique_ptr<btf, Free> types(btf__parse("/sys/kernel/btf/vmlinux", nullptr));
  if (!types) fail("this kernel's BTF cannot be read");
  const int u32 = btf__find_by_name_kind(types.get(), "unsigned int", BTF_KIND_INT);
  const int halves = btf__add_struct(types.get(), nullptr, 8);
  bool good = u32 > 0 && halves > 0 && btf__add_field(types.get(), "ino", u32, 0, 0) == 0 &&
              btf__add_field(types.get(), "generation", u32, 32, 0) == 0;
  const int both = btf__add_union(types.get(), "kernfs_node_id", 8);
  good = good && both > 0 && btf__add_field(types.get(), "", halves, 0, 0) == 0;
  const int node = btf__find_by_name_kind(types.get(), "kernfs_node", BTF_KIND_STRUCT);
  good = good && node > 0;
  if (!good) fail("the types cannot be made older");
  auto* const type = const_cast<btf_type*>(btf__type_by_id(types.get(), static_cast<std::uint32_t>(node)));
  btf_member* const members = btf_members(type);
  const auto id = std::find_if(members, members + btf_vlen(type), [&](const btf_member& member) {
    return std::string_view(btf__name_by_offset(types.get(), member.name_off)) == "id";
  });
  if (id == members + btf_vlen(type)) fail("kernfs_node has no id");
  id->type = static_cast<std::uint32_t>(both);
  std::uint32_t size = 0;
  const void* const data = btf__raw_data(types.get(), &size);
  std::ofstream(path, std::ios::binary).write(static_cast<const char*>(data), size);
}

/// Groups are told apart by their folders' numbers there, too.
void check_before_5_5(const CgroupFs& cgroups) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("koord-btf-" + std::to_string(getpid()));
  fs::create_directories(folder / "kernel/btf");
  write_old_types(folder / "kernel/btf/vmlinux");
  Root root = Root::host_mode();
  root.sys = folder.string() + "/";
  const auto collector = koord::host::open_run_queue_latency(root, cgroups.version(), Tracepoints::raw);
  fs::remove_all(folder);
  if (!collector) fail("before 5.5: " + collector.error().message());
  const TestGroup group(cgroups, "koord-test-" + std::to_string(getpid()) + "-old");
  const pid_t child = fork();
  if (child == 0) {
    group.enter(getpid());
    for (int i = 0; i < 20; ++i) rest(std::chrono::milliseconds(1));
    _exit(0);
  }
  if (child < 0 || waitpid(child, nullptr, 0) != child) fail("fork");
  const auto waits = (*collector)->read(group.id());
  if (!waits || waits->count() < 20) fail("before 5.5: waits are not counted by the group's number");
  std::printf("run_queue_latency: types before 5.5: %llu waits of the group\n",
              static_cast<unsigned long long>(waits->count()));
}

}  // namespace

// --tries=N: a virtual machine stalls now and then, also between the kernel's look at the clock and the
// program's.
int main(int argc, char** argv) try {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const std::string option = argc > 1 ? argv[1] : "";
  const auto cgroups = CgroupFs::open(Root::host_mode());
  if (!cgroups) fail(cgroups.error().message());
  if (option == "--cost") return measure_cost(cgroups->version());
  const int tries = option.starts_with("--tries=") ? std::atoi(option.c_str() + 8) : 1;
  for (const Tracepoints kind : {Tracepoints::typed, Tracepoints::raw}) {
    for (int left = tries;; --left) {
      try {
        if (!run_kind(*cgroups, kind)) return kSkipped;
        break;
      } catch (const std::exception& error) {
        if (left <= 1) throw;
        std::printf("run_queue_latency: once more: %s\n", error.what());
      }
    }
  }
  check_sizes(*cgroups);
  check_before_5_5(*cgroups);
  for (const bool with_blame : {false, true}) {
    if (const auto able = koord::host::open_run_queue_latency(Root::host_mode(), cgroups->version(),
                                                              Tracepoints::typed, with_blame);
        !able) {
      std::printf("run_queue_latency: not tried: %s\n", able.error().message().c_str());
      continue;
    }
    for (int left = tries;; --left) try {
        check_tracing(*cgroups, with_blame);
        break;
      } catch (const std::exception& error) {
        if (left <= 1) throw;
        std::printf("run_queue_latency: once more: %s\n", error.what());
      }
  }
  std::printf("run_queue_latency: passed\n");
  return 0;
} catch (const std::exception& error) {
  std::printf("run_queue_latency: FAILED: %s\n", error.what());
  return 1;
}
