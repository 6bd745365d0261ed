#include "koord/host/run_queue_latency.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "blame_maps.hpp"
#include "bpf_object.hpp"
#include "koord/host/cpuset.hpp"
#include "koord/host/file.hpp"
#include "koord/host/text.hpp"
#include "run_queue_latency.h"
#include "run_queue_latency.skel.h"
#include "run_queue_latency_raw.skel.h"
#include "run_queue_latency_variants.hpp"

// Embedded as literals, which the standard lets be 64 KiB and compilers much more.
#pragma GCC diagnostic ignored "-Woverlength-strings"
#include "wait_blame.skel.h"
#include "wait_blame_raw.skel.h"

namespace koord::host {
namespace {

constexpr std::size_t kBatch = 1024;       // entries of one call of a snapshot: some 200 KiB
constexpr std::size_t kTasksOfCpu = 1024;  // as the kernel's own default of pid_max has it
constexpr std::size_t kPlacesOfCpu = 1024;
constexpr std::size_t kMostTasks = std::size_t{4} * koord_max_tasks;

void add(LatencyHistogram& total, const koord_group_waits& waits) {
  for (std::size_t i = 0; i < LatencyHistogram::kBuckets; ++i) total.counts[i] += waits.counts[i];
  total.sum_ns += waits.sum_ns;
}

class Collector final : public RunQueueLatency {
 public:
  struct Program {
    const char* name;
    const char* tracepoint;  // null: it knows its own
    Fd program;
  };
  struct Descriptors {
    Fd groups, crowded, losses, pace, spent;
    std::unique_ptr<BlameMaps> blame;  // null: not asked for
    std::vector<Program> programs;     // in the order in which they are attached
  };

  /// `possible`: how many CPUs there may ever be.
  Collector(Descriptors held, const TableSizes& sizes, std::size_t possible)
      : held_(std::move(held)), sizes_(sizes), numbers_(possible), spent_(possible) {
    make_room();
  }

  Result<LatencyHistogram> read(GroupId id) override {
    LatencyHistogram total;
    bool any = false;
    koord_group_key key{.id = id, .shard = 0, .zero = 0};
    for (; key.shard < sizes_.shards; ++key.shard) {
      koord_group_waits waits{};
      const bool found = bpf_map_lookup_elem(held_.groups.get(), &key, &waits) == 0;
      if (!found && errno != ENOENT) return call_error(errno);
      if (found) add(total, waits);
      any = any || found;
    }
    key.shard = 0;
    if (koord_group_waits waits{}; bpf_map_lookup_elem(held_.crowded.get(), &key, &waits) == 0) {
      add(total, waits);
      any = true;
    }
    if (!any) return call_error(ENOENT);
    return total;
  }

  Result<> snapshot(std::vector<Group>& into) override {
    into.clear();
    ++snapshot_;
    auto taken = take(held_.groups, into);
    if (taken) taken = take(held_.crowded, into);
    if (places_.size() > 2 * into.size() + kBatch)
      std::erase_if(places_, [&](const auto& entry) { return entry.second.snapshot != snapshot_; });
    return taken;
  }

  Result<> remove(GroupId id) override {
    koord_group_key key{.id = id, .shard = 0, .zero = 0};
    if (bpf_map_delete_elem(held_.crowded.get(), &key) != 0 && errno != ENOENT) return call_error(errno);
    for (; key.shard < sizes_.shards; ++key.shard)
      if (bpf_map_delete_elem(held_.groups.get(), &key) != 0 && errno != ENOENT) return call_error(errno);
    return {};
  }

  Result<Losses> losses() override {
    Losses lost;
    KOORD_TRY(groups, sum_over_cpus(held_.losses, koord_lost_groups, numbers_));
    KOORD_TRY(tasks, sum_over_cpus(held_.losses, koord_lost_tasks, numbers_));
    lost.groups = groups;
    lost.tasks = tasks;
    return lost;
  }

  Result<Spent> spent() override {
    const std::uint32_t zero = 0;
    if (bpf_map_lookup_elem(held_.spent.get(), &zero, spent_.data()) != 0) return call_error(errno);
    Spent sum;
    for (const koord_spent& one : spent_) {
      sum.events += one.events;
      sum.timed += one.timed;
      sum.timed_ns += one.timed_ns;
    }
    return sum;
  }

  Result<> trace(Tracing tracing) override {
    if (tracing == Tracing::paused) {
      links_.clear();
      return {};
    }
    const bool full = tracing == Tracing::full;
    if (full && !links_.empty()) return Error(Code::internal, "run-queue latency was not paused");
    auto begun = begin(full);
    if (!begun) links_.clear();
    return begun;
  }

  std::size_t capacity() const override { return sizes_.groups; }
  WaitBlame* blame() override { return held_.blame.get(); }

 private:
  static Error call_error(int errnum) { return errno_error(errnum, "run-queue latency map"); }

  Result<> begin(bool full) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);  // bpf_ktime_get_ns()
    const std::uint32_t zero = 0;
    const koord_pace pace{.begun = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                                   static_cast<std::uint64_t>(now.tv_nsec),
                          .mask = full ? 0U : static_cast<std::uint32_t>(kSampledOneIn - 1),
                          .shards = static_cast<std::uint32_t>(sizes_.shards)};
    if (full && held_.blame) KOORD_CHECK(held_.blame->restart());
    if (bpf_map_update_elem(held_.pace.get(), &zero, &pace, 0) != 0) return call_error(errno);
    if (!links_.empty()) return {};
    for (const Program& one : held_.programs) {
      KOORD_TRY(link, attach_program(one.program, one.name, one.tracepoint));
      links_.push_back(std::move(link));
    }
    return {};
  }

  void make_room() {
    keys_.resize(batch_);
    waits_.resize(batch_);
  }

  /// The shards of a group come in any order.
  void put(std::vector<Group>& into, const koord_group_key& key, const koord_group_waits& waits) {
    Place& place = places_[key.id];
    if (place.snapshot != snapshot_) {
      place = {snapshot_, into.size()};
      into.push_back({key.id, {}});
    }
    add(into[place.index].histogram, waits);
  }

  Result<> take(const Fd& map, std::vector<Group>& into) {
    return one_by_one_ ? take_one_by_one(map, into) : take_batches(map, into);
  }

  Result<> take_batches(const Fd& map, std::vector<Group>& into) {
    std::uint32_t place = 0;
    bool begun = false;
    while (true) {
      auto count = static_cast<std::uint32_t>(batch_);
      std::uint32_t next = 0;
      const int status = bpf_map_lookup_batch(map.get(), begun ? &place : nullptr, &next, keys_.data(),
                                              waits_.data(), &count, nullptr);
      if (status == -ENOSPC) {  // more entries in one bucket of the table than the batch holds
        batch_ *= 2;
        make_room();
        continue;
      }
      if (status != 0 && status != -ENOENT) {
        if (begun) return call_error(-status);
        one_by_one_ = true;  // before 5.6
        return take_one_by_one(map, into);
      }
      for (std::size_t i = 0; i < count; ++i) put(into, keys_[i], waits_[i]);
      if (status == -ENOENT) return {};
      place = next;
      begun = true;
    }
  }

  // A key that goes away while it is asked for its successor leads back to the first one.
  Result<> take_one_by_one(const Fd& map, std::vector<Group>& into) {
    all_keys_.clear();
    const std::size_t most = 2 * std::max(sizes_.groups, sizes_.places);
    koord_group_key key{};
    bool more = bpf_map_get_next_key(map.get(), nullptr, &key) == 0;
    while (more && all_keys_.size() < most) {
      all_keys_.push_back(key);
      more = bpf_map_get_next_key(map.get(), &all_keys_.back(), &key) == 0;
    }
    const auto order = [](const koord_group_key& k) { return std::pair(k.id, k.shard); };
    std::sort(all_keys_.begin(), all_keys_.end(),
              [&](const auto& a, const auto& b) { return order(a) < order(b); });
    all_keys_.erase(std::unique(all_keys_.begin(), all_keys_.end(),
                                [&](const auto& a, const auto& b) { return order(a) == order(b); }),
                    all_keys_.end());
    for (const koord_group_key& known : all_keys_) {
      koord_group_waits waits{};
      if (bpf_map_lookup_elem(map.get(), &known, &waits) == 0) put(into, known, waits);
    }
    return {};
  }

  struct Place {
    std::uint64_t snapshot = 0;
    std::size_t index = 0;
  };

  Descriptors held_;
  TableSizes sizes_;
  std::vector<Fd> links_;               // none: paused
  std::vector<std::uint64_t> numbers_;  // one for each CPU that there may be
  std::vector<koord_spent> spent_;      // the same
  std::size_t batch_ = kBatch;
  bool one_by_one_ = false;
  std::uint64_t snapshot_ = 0;
  std::vector<koord_group_key> keys_, all_keys_;
  std::vector<koord_group_waits> waits_;
  std::unordered_map<GroupId, Place> places_;  // in the last snapshot that had the group
};

std::span<const char> bytes(const void* (*elf_bytes)(std::size_t*)) {
  std::size_t size = 0;
  const void* data = elf_bytes(&size);
  return {static_cast<const char*>(data), size};
}

/// In the order in which they are attached.
using Programs = std::vector<BpfObject::Program>;

Programs programs_of(CgroupVersion version, bool with_blame) {
  const bool v2 = version == CgroupVersion::v2;
  const BpfObject::Program removed{v2 ? "rmdir_v2" : "rmdir_v1", "cgroup_rmdir"},
      switched{v2 ? "switch_v2" : "switch_v1", "sched_switch"}, woken{"wakeup", "sched_wakeup"},
      born{"wakeup_new", "sched_wakeup_new"};
  // The switches last: a wait that began before is known then.
  if (!with_blame) return {removed, woken, born, switched};
  // The switches before all that begins a wait: none is without an end.
  return {removed, {"migrate", "sched_migrate_task"}, switched, woken, born};
}

std::span<const char> programs_for(Tracepoints tracepoints, bool with_blame) {
  if (tracepoints == Tracepoints::typed)
    return bytes(with_blame ? wait_blame_bpf__elf_bytes : run_queue_latency_bpf__elf_bytes);
  return bytes(with_blame ? wait_blame_raw_bpf__elf_bytes : run_queue_latency_raw_bpf__elf_bytes);
}

/// One more than the highest number that a CPU may ever have: there may be gaps.
std::size_t cpu_numbers(const Root& root, std::size_t possible) {
  const auto text = read_file(root.sys + "devices/system/cpu/possible");
  const auto cpus = text ? CpuSet::parse(*text) : Result<CpuSet>(text.error());
  return cpus && !cpus->empty() ? static_cast<std::size_t>(cpus->cpus().back()) + 1 : possible;
}

bool is_before_5_12() {
  utsname name{};
  int major = 0, minor = 0;
  if (uname(&name) != 0) return false;
  std::string_view rest = name.release;
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos || !to_number(rest.substr(0, dot), major)) return false;
  rest.remove_prefix(dot + 1);
  if (!to_number(rest.substr(0, rest.find_first_not_of("0123456789")), minor)) return false;
  return std::pair(major, minor) < std::pair(5, 12);
}

}  // namespace

TableSizes table_sizes(std::size_t cpus) {
  const std::size_t shards = std::clamp<std::size_t>(cpus, 1, koord_max_shards);
  return {.groups = koord_max_groups,
          .shards = shards,
          .places =
              std::min(koord_max_groups * shards,
                       std::clamp<std::size_t>(kPlacesOfCpu * shards, koord_least_places, koord_most_places)),
          .tasks = std::clamp<std::size_t>(kTasksOfCpu * cpus, koord_max_tasks, kMostTasks)};
}

Result<std::unique_ptr<RunQueueLatency>> open_run_queue_latency(const Root& root, CgroupVersion version,
                                                                Tracepoints tracepoints, bool with_blame,
                                                                std::optional<TableSizes> wanted) {
  const bool typed = tracepoints == Tracepoints::typed;
  // Those that there may ever be: each has a number.
  const int counted = libbpf_num_possible_cpus();
  if (counted <= 0) return errno_error(-counted, "the number of CPUs");
  const auto possible = static_cast<std::size_t>(counted);
  const std::size_t numbers = cpu_numbers(root, possible);
  const TableSizes sizes = wanted ? *wanted : table_sizes(numbers);
  const Programs programs = programs_of(version, with_blame);

  KOORD_TRY(object, BpfObject::open(root, "run_queue_latency", programs_for(tracepoints, with_blame)));
  KOORD_CHECK(object.choose(programs));
  KOORD_CHECK(object.resize("groups", static_cast<std::uint32_t>(sizes.places)));
  KOORD_CHECK(object.resize("crowded", static_cast<std::uint32_t>(sizes.groups)));
  KOORD_CHECK(object.resize(with_blame ? "blamed" : "waiting", static_cast<std::uint32_t>(sizes.tasks)));
  if (with_blame) KOORD_CHECK(object.resize("clocks", static_cast<std::uint32_t>(numbers)));
  KOORD_CHECK(object.load());
  Collector::Descriptors held;
  const std::pair<const char*, Fd*> maps[] = {{"groups", &held.groups},
                                              {"crowded", &held.crowded},
                                              {"losses", &held.losses},
                                              {"pace", &held.pace},
                                              {"spent", &held.spent}};
  for (const auto& [name, place] : maps) {
    KOORD_TRY(map, object.map(name));
    *place = std::move(map);
  }
  if (with_blame) {
    KOORD_TRY(blame, BlameMaps::take(object, root, possible, numbers));
    held.blame = std::move(blame);
  }
  for (const auto& [name, tracepoint] : programs) {
    KOORD_TRY(program, object.program(name));
    held.programs.push_back({name, typed ? nullptr : tracepoint, std::move(program)});
  }
  auto collector = std::make_unique<Collector>(std::move(held), sizes, possible);
  KOORD_CHECK(collector->trace(RunQueueLatency::Tracing::full));
  return collector;
}

Result<std::unique_ptr<RunQueueLatency>> RunQueueLatency::open(const Root& root, CgroupVersion version,
                                                               bool with_blame) {
  auto opened = open_run_queue_latency(root, version, Tracepoints::typed, with_blame);
  if (!opened && opened.error().code() != Code::forbidden) {
    // The first reason is the one to tell.
    if (auto raw = open_run_queue_latency(root, version, Tracepoints::raw, with_blame); raw)
      opened = std::move(raw);
  }
  malloc_trim(0);  // the kernel's BTF was read: megabytes, once
  if (!opened && with_blame && opened.error().code() == Code::unsupported && is_before_5_12())
    return std::move(opened).error().context(
        "this kernel is older than Linux 5.12, from which on programs can tell who ran");
  return opened;
}

Result<RunQueueLatency::GroupId> cgroup_id(const std::string& folder) {
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0) return errno_error(errno, folder);
  return info.st_ino;
}

}  // namespace koord::host
