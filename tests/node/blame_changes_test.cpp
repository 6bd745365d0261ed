// Who ran while others waited, while groups, tasks, names and CPUs come and go, on a real kernel: nothing
// stays of what has gone, what finds no place is counted as lost, and the tables are bounded. Exit status 77:
// skipped.
#include <bpf/bpf.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "blame_rig.hpp"
#include "bpf/run_queue_latency.h"

namespace {
using koord::host::Root;
using koord::host::Tracepoints;
using namespace koord::node_test;

constexpr int kSkipped = 77;

/// The maps that there are already: another agent may run.
std::set<std::uint32_t> maps_now() {
  std::set<std::uint32_t> ids;
  for (std::uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) ids.insert(id);
  return ids;
}

/// Those that have come since.
template <typename Do>
void each_map(const std::set<std::uint32_t>& others, const Do& visit) {
  for (std::uint32_t id = 0; bpf_map_get_next_id(id, &id) == 0;) {
    const koord::Fd map(bpf_map_get_fd_by_id(id));
    bpf_map_info info{};
    std::uint32_t size = sizeof info;
    if (map && !others.contains(id) && bpf_obj_get_info_by_fd(map.get(), &info, &size) == 0) visit(map, info);
  }
}

/// Keys in a map of the programs.
std::size_t entries(const std::set<std::uint32_t>& others, const std::string& name) {
  std::size_t count = 0;
  each_map(others, [&](const koord::Fd& map, const bpf_map_info& info) {
    if (info.name != name) return;
    std::vector<char> key(info.key_size), next(info.key_size);
    bool more = bpf_map_get_next_key(map.get(), nullptr, next.data()) == 0;
    for (; more; more = bpf_map_get_next_key(map.get(), key.data(), next.data()) == 0) {
      ++count;
      key.swap(next);
    }
  });
  return count;
}

/// Its second thread becomes another program: it takes the number of the first one.
[[noreturn]] void become_another() {
  std::thread([] {
    execl("/proc/self/exe", "nothing", "--nothing", nullptr);
    _exit(1);
  }).join();
  _exit(1);
}

/// Thousands of groups and tasks come and go, nested ones too, and leave nothing.
void come_and_go(const Bench& bench, int groups_to_come, const std::set<std::uint32_t>& other_maps) {
  std::printf("  %d groups with three tasks each\n", groups_to_come);
  const std::size_t tasks_before = entries(other_maps, "blamed");
  const auto before = read(bench.blame);
  std::vector<WaitBlame::Named> named;
  std::set<WaitBlame::GroupId> ids;
  for (int i = 0; i < groups_to_come; ++i) {
    const std::string name = "koord-test-" + std::to_string(getpid()) + "-churn";
    TestGroup group(bench.cgroups, name), nested(bench.cgroups, name + "/nested");
    named.assign({{group.id(), CpuTier::ls}});
    ids.insert({group.id(), nested.id()});
    if (const auto set = bench.blame.name_groups(named); !set) fail(set.error().message());
    Process process(nested, [i] {
      for (int child = 0; child < 2; ++child) {
        const pid_t pid = fork();
        if (pid == 0 && child == 0 && i % 10 == 0) become_another();
        if (pid == 0) _exit(0);
        int status = 0;
        if (waitpid(pid, &status, 0) != pid || status != 0) _exit(1);
      }
    });
    process.join();
    nested.remove();
  }
  const Figures figures = between(before, read(bench.blame), CpuTier::ls);
  std::printf("    %.0f waits, %.3f ms\n", figures.waits, figures.sum / 1e6);
  if (figures.waits < groups_to_come) fail("nested groups do not count as the group above them");
  std::vector<WaitBlame::Group> groups;
  if (const auto taken = bench.blame.groups(groups); !taken) fail(taken.error().message());
  for (const auto& group : groups)
    if (ids.contains(group.id)) fail("a removed group keeps its place");
  if (entries(other_maps, "tiers") > 1) fail("a removed group keeps its name");
  if (entries(other_maps, "blamed") > tasks_before + 500) fail("tasks that have ended keep their places");
}

/// While a task waits its group becomes another tier's: the wait is that one's, whole.
void renamed(const Bench& bench) {
  std::printf("  a group that becomes LSR while its task waits\n");
  const Groups groups(bench.cgroups, bench.blame);
  groups[CpuTier::best_effort].real_time(50);
  const Pipe hog_turn, service_turn, over;
  const Process hog(groups[CpuTier::best_effort], [&] {
    pin(0, bench.cpus[0]);
    run_first(10);
    hog_turn.wait();
    service_turn.put();
    spin(std::chrono::milliseconds(80));
    pause();
  });
  const Process service(groups[CpuTier::ls], [&] {
    pin(0, bench.cpus[0]);
    while (true) {
      service_turn.wait();
      over.put();
    }
  });
  pin(0, bench.cpus[1]);
  rest(std::chrono::milliseconds(20));
  const auto before = read(bench.blame);
  hog_turn.put();
  rest(std::chrono::milliseconds(20));
  const WaitBlame::Named named[] = {{groups[CpuTier::best_effort].id(), CpuTier::best_effort},
                                    {groups[CpuTier::ls].id(), CpuTier::lsr}};
  if (const auto set = bench.blame.name_groups(named); !set) fail(set.error().message());
  over.wait();
  pin(0, bench.cpus);
  const auto after = read(bench.blame);
  const Figures as_ls = between(before, after, CpuTier::ls), as_lsr = between(before, after, CpuTier::lsr);
  if (as_ls.waits != 0) fail("the wait is its former tier's");
  agree("BE", as_lsr.parts[index(CpuTier::best_effort)], 80e6);
}

/// Tables that are too small: what finds no place is counted, the rest is right.
void full(const CgroupFs& cgroups) {
  std::printf("blame_changes: tables for 16 tasks and a group\n");
  const auto opened = koord::host::open_run_queue_latency(
      Root::host_mode(), cgroups.version(), Tracepoints::typed, true,
      koord::host::TableSizes{.groups = 1, .shards = 1, .places = 1, .tasks = 16});
  if (!opened) fail(opened.error().message());
  WaitBlame& blame = *(*opened)->blame();
  const Groups groups(cgroups, blame);
  const auto before = read(blame);
  std::vector<std::unique_ptr<Process>> sleepers;
  sleepers.reserve(40);
  for (int i = 0; i < 40; ++i)
    sleepers.push_back(std::make_unique<Process>(groups[static_cast<CpuTier>(i % 5)], [] {
      while (true) rest(std::chrono::milliseconds(1));
    }));
  rest(std::chrono::milliseconds(100));
  const auto lost = blame.losses();
  const auto lost_groups = (*opened)->losses();
  if (!lost || !lost_groups) fail("no losses");
  std::printf("    lost: %llu waits of tasks, %llu of groups\n", static_cast<unsigned long long>(lost->tasks),
              static_cast<unsigned long long>(lost_groups->groups));
  if (lost->tasks == 0 || lost_groups->groups == 0) fail("nobody says that a table is full");
  for (std::size_t tier = 0; tier < koord::host::kCpuTiers; ++tier)
    between(before, read(blame), static_cast<CpuTier>(tier));
}

/// A group whose tasks run on several CPUs has a place on each, which that CPU alone writes.
void apart(const CgroupFs& cgroups) {
  std::printf("blame_changes: a group on two CPUs\n");
  const std::vector<int> cpus = usable_cpus();
  if (cpus.size() < 2) return;
  const std::set<std::uint32_t> others = maps_now();
  const auto opened =
      koord::host::open_run_queue_latency(Root::host_mode(), cgroups.version(), Tracepoints::typed, true);
  if (!opened) fail(opened.error().message());
  const Groups groups(cgroups, *(*opened)->blame());
  const auto id = groups[CpuTier::ls].id();
  std::vector<std::unique_ptr<Process>> sleepers;
  sleepers.reserve(2);
  for (int i = 0; i < 2; ++i)
    sleepers.push_back(
        std::make_unique<Process>(groups[CpuTier::ls], [cpu = cpus[static_cast<std::size_t>(i)]] {
          pin(0, cpu);
          while (true) rest(std::chrono::milliseconds(1));
        }));
  rest(std::chrono::milliseconds(300));
  std::set<std::uint32_t> places;
  std::uint64_t waits = 0;
  each_map(others, [&](const koord::Fd& map, const bpf_map_info& info) {
    if (std::string_view(info.name) == "crowded") {
      const koord_group_key all{.id = id, .shard = 0, .zero = 0};
      koord_group_waits found{};
      if (bpf_map_lookup_elem(map.get(), &all, &found) == 0) fail("all CPUs share a place");
    }
    if (std::string_view(info.name) != "groups") return;
    for (std::uint32_t shard = 0; shard < koord_max_shards; ++shard) {
      const koord_group_key key{.id = id, .shard = shard, .zero = 0};
      koord_group_waits found{};
      if (bpf_map_lookup_elem(map.get(), &key, &found) != 0) continue;
      places.insert(shard);
      for (const auto count : found.counts) waits += count;
    }
  });
  std::printf("    %zu places, %llu waits\n", places.size(), static_cast<unsigned long long>(waits));
  for (int i = 0; i < 2; ++i)
    if (!places.contains(static_cast<std::uint32_t>(cpus[static_cast<std::size_t>(i)])))
      fail("a CPU has no place of its own");
  if (const auto sum = (*opened)->read(id); !sum || sum->count() < waits) fail("places do not add up");
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
  const auto opened = koord::host::open_run_queue_latency(
      Root::host_mode(), cgroups.version(), Tracepoints::typed, true, koord::host::table_sizes(kCpus));
  if (!opened) fail(opened.error().message());
  const std::set<std::string> names = {"blamed",       "clocks", "domains", "blames",
                                       "group_blames", "tiers",  "groups",  "crowded"};
  std::printf("blame_changes: memory for %zu CPUs, up to 8192 groups\n", kCpus);
  std::uint64_t sum = 0;
  each_map(others, [&](const koord::Fd& map, const bpf_map_info& info) {
    if (!names.contains(info.name)) return;
    // One value for each CPU of this machine is one for each of that one.
    const bool per_cpu = info.type == BPF_MAP_TYPE_PERCPU_ARRAY;
    const std::uint64_t taken = per_cpu ? kCpus * info.max_entries * info.value_size : bytes_of(map);
    std::printf("    %-12s %7.2f MiB, %u entries of %u bytes\n", info.name,
                static_cast<double>(taken) / (1 << 20), info.max_entries, info.value_size);
    sum += taken;
  });
  std::printf("    in all       %7.2f MiB\n", static_cast<double>(sum) / (1 << 20));
  if (sum > std::uint64_t{80} << 20) fail("the tables take more than 80 MiB");
}

/// Takes a CPU from the machine, or gives it back.
void switch_cpu(int cpu, bool on) {
  const auto done = koord::host::write_file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/online",
                                            on ? "1" : "0");
  if (!done) fail(done.error().message());
}

int node_of(int cpu) {
  for (int node = 0; node < 64; ++node)
    if (koord::host::exists("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/node" +
                            std::to_string(node)))
      return node;
  return 0;
}

/// CPUs go and come back while it counts: who may use all that are left may use all; what runs on another
/// memory node displaces nobody. At the end all are back.
void unplugged(const CgroupFs& cgroups) {
  const auto opened =
      koord::host::open_run_queue_latency(Root::host_mode(), cgroups.version(), Tracepoints::typed, true);
  if (!opened) fail(opened.error().message());
  const Bench bench{cgroups, **opened, *(*opened)->blame(), usable_cpus()};
  const int first = bench.cpus[0], near = bench.cpus[1];
  int far = first;
  for (const int cpu : bench.cpus)
    if (node_of(cpu) != node_of(first)) far = cpu;
  if (node_of(near) != node_of(first) || far == first)
    fail("this needs two memory nodes, with two CPUs on the first");
  const auto lost = bench.blame.losses().value();
  const auto before = read(bench.blame);
  for (const int cpu : bench.cpus)
    if (cpu != first && cpu != near) switch_cpu(cpu, false);
  const auto pair = [&](int other) {
    const Groups groups(cgroups, bench.blame);
    groups[CpuTier::best_effort].weigh(true);
    const Beside beside = pair_beside(bench, groups, other, {first, other});
    if (beside.figures.sum < 1e8) fail("nobody waited");
    return beside;
  };
  std::printf("blame_changes: two CPUs are left, of one memory node\n");
  // Waits are long here, and one more or less is a tenth of them: of some tries one agrees.
  for (int tries = 4;;) try {
      const Beside displaced = pair(near);
      agree("caused", displaced.figures.caused, displaced.figures.sum * displaced.caused / displaced.waited);
      break;
    } catch (const std::exception& error) {
      if (--tries <= 0) throw;
      std::printf("blame_changes: once more: %s\n", error.what());
    }
  std::printf("blame_changes: two CPUs are left, of two memory nodes\n");
  switch_cpu(far, true);
  switch_cpu(near, false);
  const Figures apart = pair(far).figures;
  agree("caused", apart.caused, apart.parts[index(CpuTier::best_effort)]);
  for (const int cpu : bench.cpus)
    if (cpu != first && cpu != far) switch_cpu(cpu, true);
  check_losses(bench.blame, lost, before);
}

/// False where the programs cannot be loaded.
bool run_kind(const CgroupFs& cgroups, Tracepoints kind, bool brief) {
  std::printf("blame_changes: %s\n", kind == Tracepoints::typed ? "typed" : "raw");
  const std::set<std::uint32_t> others = maps_now();
  const auto opened = koord::host::open_run_queue_latency(Root::host_mode(), cgroups.version(), kind, true);
  if (!opened) {
    std::printf("blame_changes: skipped: %s\n", opened.error().message().c_str());
    return false;
  }
  const Bench bench{cgroups, **opened, *(*opened)->blame(), usable_cpus()};
  const auto lost = bench.blame.losses().value();
  const auto before = read(bench.blame);
  if (bench.cpus.size() > 1) renamed(bench);
  come_and_go(bench, brief ? 50 : 1500, others);
  check_losses(bench.blame, lost, before);
  return true;
}

}  // namespace

// --tries=N: a virtual machine stalls now and then. --unplug: on a machine whose CPUs may be taken away, and
// a slow one.
int main(int argc, char** argv) try {
  const std::string option = argc > 1 ? argv[1] : "";
  if (option == "--nothing") return 0;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool unplug = option == "--unplug";
  const auto cgroups = CgroupFs::open(Root::host_mode());
  if (!cgroups) fail(cgroups.error().message());
  int tries = option.starts_with("--tries=") ? std::atoi(option.c_str() + 8) : (unplug ? 4 : 1);
  for (const Tracepoints kind : {Tracepoints::typed, Tracepoints::raw}) {
    while (true) {
      try {
        if (!run_kind(*cgroups, kind, unplug)) return kSkipped;
        break;
      } catch (const std::exception& error) {
        if (--tries <= 0) throw;
        std::printf("blame_changes: once more: %s\n", error.what());
      }
    }
  }
  full(*cgroups);
  apart(*cgroups);
  print_memory(*cgroups);
  if (unplug) unplugged(*cgroups);
  std::printf("blame_changes: passed\n");
  return 0;
} catch (const std::exception& error) {
  std::printf("blame_changes: FAILED: %s\n", error.what());
  return 1;
}
