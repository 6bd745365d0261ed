#include "koord/host/run_queue_latency.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <unordered_map>
#include <utility>

#include "blame_maps.hpp"
#include "bpf_object.hpp"
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
constexpr std::size_t kMostTasks = std::size_t{4} * koord_max_tasks;

void add(LatencyHistogram& total, const koord_group_waits& waits) {
  for (std::size_t i = 0; i < LatencyHistogram::kBuckets; ++i) total.counts[i] += waits.counts[i];
  total.sum_ns += waits.sum_ns;
}

class Collector final : public RunQueueLatency {
 public:
  struct Descriptors {
    Fd groups, losses;
    std::unique_ptr<BlameMaps> blame;  // null: not asked for
    std::vector<Fd> links;
  };

  Collector(Descriptors held, const TableSizes& sizes) : held_(std::move(held)), sizes_(sizes) {
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
    if (!any) return call_error(ENOENT);
    return total;
  }

  Result<> snapshot(std::vector<Group>& into) override {
    into.clear();
    ++snapshot_;
    auto taken = one_by_one_ ? take_one_by_one(into) : take_batches(into);
    if (places_.size() > 2 * into.size() + kBatch)
      std::erase_if(places_, [&](const auto& entry) { return entry.second.snapshot != snapshot_; });
    return taken;
  }

  Result<> remove(GroupId id) override {
    koord_group_key key{.id = id, .shard = 0, .zero = 0};
    for (; key.shard < sizes_.shards; ++key.shard)
      if (bpf_map_delete_elem(held_.groups.get(), &key) != 0 && errno != ENOENT) return call_error(errno);
    return {};
  }

  Result<Losses> losses() override {
    Losses lost;
    const std::uint32_t groups = koord_lost_groups;
    const std::uint32_t tasks = koord_lost_tasks;
    if (bpf_map_lookup_elem(held_.losses.get(), &groups, &lost.groups) != 0) return call_error(errno);
    if (bpf_map_lookup_elem(held_.losses.get(), &tasks, &lost.tasks) != 0) return call_error(errno);
    return lost;
  }

  std::size_t capacity() const override { return sizes_.groups; }
  WaitBlame* blame() override { return held_.blame.get(); }

 private:
  static Error call_error(int errnum) { return errno_error(errnum, "run-queue latency map"); }

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

  Result<> take_batches(std::vector<Group>& into) {
    std::uint32_t place = 0;
    bool begun = false;
    while (true) {
      auto count = static_cast<std::uint32_t>(batch_);
      std::uint32_t next = 0;
      const int status = bpf_map_lookup_batch(held_.groups.get(), begun ? &place : nullptr, &next,
                                              keys_.data(), waits_.data(), &count, nullptr);
      if (status == -ENOSPC) {  // more entries in one bucket of the table than the batch holds
        batch_ *= 2;
        make_room();
        continue;
      }
      if (status != 0 && status != -ENOENT) {
        if (begun) return call_error(-status);
        one_by_one_ = true;  // before 5.6
        return take_one_by_one(into);
      }
      for (std::size_t i = 0; i < count; ++i) put(into, keys_[i], waits_[i]);
      if (status == -ENOENT) return {};
      place = next;
      begun = true;
    }
  }

  // A key that goes away while it is asked for its successor leads back to the first one.
  Result<> take_one_by_one(std::vector<Group>& into) {
    all_keys_.clear();
    const std::size_t most = 2 * sizes_.groups * sizes_.shards;
    koord_group_key key{};
    bool more = bpf_map_get_next_key(held_.groups.get(), nullptr, &key) == 0;
    while (more && all_keys_.size() < most) {
      all_keys_.push_back(key);
      more = bpf_map_get_next_key(held_.groups.get(), &all_keys_.back(), &key) == 0;
    }
    const auto order = [](const koord_group_key& k) { return std::pair(k.id, k.shard); };
    std::sort(all_keys_.begin(), all_keys_.end(),
              [&](const auto& a, const auto& b) { return order(a) < order(b); });
    all_keys_.erase(std::unique(all_keys_.begin(), all_keys_.end(),
                                [&](const auto& a, const auto& b) { return order(a) == order(b); }),
                    all_keys_.end());
    for (const koord_group_key& known : all_keys_) {
      koord_group_waits waits{};
      if (bpf_map_lookup_elem(held_.groups.get(), &known, &waits) == 0) put(into, known, waits);
    }
    return {};
  }

  struct Place {
    std::uint64_t snapshot = 0;
    std::size_t index = 0;
  };

  Descriptors held_;
  TableSizes sizes_;
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

}  // namespace

TableSizes table_sizes(std::size_t cpus) {
  return {.groups = koord_max_groups,
          .shards = std::min<std::size_t>(std::max<std::size_t>(cpus, 1), koord_shards),
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
  const TableSizes sizes = wanted ? *wanted : table_sizes(possible);
  const Programs programs = programs_of(version, with_blame);

  KOORD_TRY(object, BpfObject::open(root, "run_queue_latency", programs_for(tracepoints, with_blame)));
  KOORD_CHECK(object.choose(programs));
  KOORD_CHECK(object.resize("groups", static_cast<std::uint32_t>(sizes.groups * sizes.shards)));
  KOORD_CHECK(object.resize(with_blame ? "blamed" : "waiting", static_cast<std::uint32_t>(sizes.tasks)));
  if (with_blame) KOORD_CHECK(object.resize("clocks", static_cast<std::uint32_t>(possible)));
  KOORD_CHECK(object.load());
  Collector::Descriptors held;
  KOORD_TRY(groups, object.map("groups"));
  held.groups = std::move(groups);
  KOORD_TRY(losses, object.map("losses"));
  held.losses = std::move(losses);
  if (with_blame) {
    KOORD_TRY(blame, BlameMaps::take(object, root, possible));
    held.blame = std::move(blame);
  }
  for (const auto& [program, tracepoint] : programs) {
    KOORD_TRY(link, object.attach(program, typed ? nullptr : tracepoint));
    held.links.push_back(std::move(link));
  }
  return std::make_unique<Collector>(std::move(held), sizes);
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
  return opened;
}

Result<RunQueueLatency::GroupId> cgroup_id(const std::string& folder) {
  struct stat info {};
  if (stat(folder.c_str(), &info) != 0) return errno_error(errno, folder);
  return info.st_ino;
}

}  // namespace koord::host
