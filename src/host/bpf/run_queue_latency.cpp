#include "koord/host/run_queue_latency.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "bpf_object.hpp"
#include "run_queue_latency.h"
#include "run_queue_latency.skel.h"
#include "run_queue_latency_raw.skel.h"
#include "run_queue_latency_variants.hpp"

namespace koord::host {
namespace {

static_assert(LatencyHistogram::kBuckets == koord_latency_buckets);

constexpr std::size_t kGroupsBudget = 16 << 20;  // bytes of the kernel, all CPUs together
constexpr std::size_t kFewestGroups = 1024;      // even with very many CPUs
constexpr std::size_t kBatchBudget = 256 << 10;  // bytes of ours for one call of a snapshot
constexpr std::size_t kSmallestBatch = 16;

LatencyHistogram sum(std::span<const koord_group_waits> cpus) {
  LatencyHistogram total;
  for (const koord_group_waits& cpu : cpus) {
    for (std::size_t i = 0; i < LatencyHistogram::kBuckets; ++i) total.counts[i] += cpu.counts[i];
    total.sum_ns += cpu.sum_ns;
  }
  return total;
}

class Collector final : public RunQueueLatency {
 public:
  struct Descriptors {
    Fd groups, losses;
    std::vector<Fd> links;
  };

  Collector(Descriptors held, std::size_t cpus, std::size_t capacity)
      : held_(std::move(held)),
        cpus_(cpus),
        capacity_(capacity),
        batch_(std::max(kSmallestBatch, kBatchBudget / (cpus * sizeof(koord_group_waits)))) {
    make_room();
  }

  Result<LatencyHistogram> read(GroupId id) override {
    if (bpf_map_lookup_elem(held_.groups.get(), &id, waits_.data()) != 0) return call_error(errno);
    return sum(std::span(waits_).first(cpus_));
  }

  Result<> snapshot(std::vector<Group>& into) override {
    into.clear();
    if (one_by_one_) return snapshot_one_by_one(into);
    std::uint32_t place = 0;
    bool begun = false;
    while (true) {
      auto count = static_cast<std::uint32_t>(batch_);
      std::uint32_t next = 0;
      const int status = bpf_map_lookup_batch(held_.groups.get(), begun ? &place : nullptr, &next,
                                              ids_.data(), waits_.data(), &count, nullptr);
      if (status == -ENOSPC) {  // more groups in one bucket of the table than the batch holds
        batch_ *= 2;
        make_room();
        continue;
      }
      if (status != 0 && status != -ENOENT) {
        if (begun) return call_error(-status);
        one_by_one_ = true;  // before 5.6
        return snapshot_one_by_one(into);
      }
      for (std::size_t i = 0; i < count; ++i)
        into.push_back({ids_[i], sum(std::span(waits_).subspan(i * cpus_, cpus_))});
      if (status == -ENOENT) return {};
      place = next;
      begun = true;
    }
  }

  Result<> remove(GroupId id) override {
    if (bpf_map_delete_elem(held_.groups.get(), &id) != 0 && errno != ENOENT) return call_error(errno);
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

  std::size_t capacity() const override { return capacity_; }

 private:
  static Error call_error(int errnum) { return errno_error(errnum, "run-queue latency map"); }

  void make_room() {
    ids_.resize(batch_);
    waits_.resize(batch_ * cpus_);
  }

  // A key that goes away while it is asked for its successor leads back to the first one.
  Result<> snapshot_one_by_one(std::vector<Group>& into) {
    all_ids_.clear();
    GroupId id = 0;
    bool more = bpf_map_get_next_key(held_.groups.get(), nullptr, &id) == 0;
    while (more && all_ids_.size() < 2 * capacity_) {
      all_ids_.push_back(id);
      more = bpf_map_get_next_key(held_.groups.get(), &all_ids_.back(), &id) == 0;
    }
    std::sort(all_ids_.begin(), all_ids_.end());
    all_ids_.erase(std::unique(all_ids_.begin(), all_ids_.end()), all_ids_.end());
    for (const GroupId known : all_ids_) {
      if (auto histogram = read(known); histogram) into.push_back({known, *histogram});
    }
    return {};
  }

  Descriptors held_;
  std::size_t cpus_;
  std::size_t capacity_;
  std::size_t batch_;
  bool one_by_one_ = false;
  std::vector<GroupId> ids_, all_ids_;
  std::vector<koord_group_waits> waits_;  // by group, then by CPU
};

std::span<const char> bytes(const void* (*elf_bytes)(std::size_t*)) {
  std::size_t size = 0;
  const void* data = elf_bytes(&size);
  return {static_cast<const char*>(data), size};
}

}  // namespace

Result<std::unique_ptr<RunQueueLatency>> open_run_queue_latency(const Root& root, CgroupVersion version,
                                                                Tracepoints tracepoints) {
  const bool typed = tracepoints == Tracepoints::typed;
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0) return errno_error(-cpus, "the number of CPUs");
  const std::size_t affordable = kGroupsBudget / (static_cast<std::size_t>(cpus) * sizeof(koord_group_waits));
  const std::size_t capacity = std::clamp<std::size_t>(affordable, kFewestGroups, koord_max_groups);
  const bool v2 = version == CgroupVersion::v2;
  const char* const switched = v2 ? "switch_v2" : "switch_v1";
  const char* const removed = v2 ? "rmdir_v2" : "rmdir_v1";

  KOORD_TRY(object, BpfObject::open(root, "run_queue_latency",
                                    bytes(typed ? run_queue_latency_bpf__elf_bytes
                                                : run_queue_latency_raw_bpf__elf_bytes)));
  KOORD_CHECK(object.choose({"wakeup", "wakeup_new", switched, removed}));
  KOORD_CHECK(object.resize("groups", static_cast<std::uint32_t>(capacity)));
  KOORD_CHECK(object.load());
  Collector::Descriptors held;
  KOORD_TRY(groups, object.map("groups"));
  held.groups = std::move(groups);
  KOORD_TRY(losses, object.map("losses"));
  held.losses = std::move(losses);
  // The switches last: a wait that began before is known then.
  const std::pair<const char*, const char*> programs[] = {{removed, "cgroup_rmdir"},
                                                          {"wakeup", "sched_wakeup"},
                                                          {"wakeup_new", "sched_wakeup_new"},
                                                          {switched, "sched_switch"}};
  for (const auto& [program, tracepoint] : programs) {
    KOORD_TRY(link, object.attach(program, typed ? nullptr : tracepoint));
    held.links.push_back(std::move(link));
  }
  return std::make_unique<Collector>(std::move(held), static_cast<std::size_t>(cpus), capacity);
}

Result<std::unique_ptr<RunQueueLatency>> RunQueueLatency::open(const Root& root, CgroupVersion version) {
  auto opened = open_run_queue_latency(root, version, Tracepoints::typed);
  if (!opened && opened.error().code() != Code::forbidden) {
    // The first reason is the one to tell.
    if (auto raw = open_run_queue_latency(root, version, Tracepoints::raw); raw) opened = std::move(raw);
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
