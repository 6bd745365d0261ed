// RunQueue: see run_queue.hpp.
#include "framework/serve/run_queue.hpp"

#include <array>

namespace koord::koordlet {

namespace {

using host::LatencyHistogram;

/// Every second bucket: 1 us, 4 us, ... 1.05 s, in seconds.
constexpr std::size_t kBounds = LatencyHistogram::kBuckets / 2;

constexpr metrics::Metric kLatency{
    .name = "koordlet_container_run_queue_latency_seconds",
    .type = metrics::Type::histogram,
    .help = "How long tasks of the container waited for a CPU.",
    .labels = {"pod_namespace", "pod_name", "pod_uid", "container_name", "container_id"},
    .bounds = metrics::exponential_bounds(1e-6, 4, kBounds)};
constexpr metrics::Metric kAvailable{.name = "koordlet_collector_available",
                                     .type = metrics::Type::gauge,
                                     .help = "Whether an optional collector works on this kernel.",
                                     .labels = {"collector"}};

void export_to(const metrics::Histogram& histogram, const LatencyHistogram& delta) {
  std::array<std::uint64_t, kBounds + 1> counts{};
  for (std::size_t i = 0; i < LatencyHistogram::kBuckets; ++i)
    counts[std::min((i + 1) / 2, kBounds)] += delta.counts[i];
  histogram.add_counts(counts, static_cast<double>(delta.sum_ns) / 1e9);
}

}  // namespace

const metrics::Table RunQueue::kMetrics = {&kLatency, &kAvailable};

RunQueue::RunQueue(std::unique_ptr<host::RunQueueLatency> counters, std::string reason,
                   const host::CgroupFs& cgroups, Logger& log, metrics::Registry& registry)
    : counters_(std::move(counters)),
      reason_(std::move(reason)),
      cgroups_(cgroups),
      log_(log),
      family_(registry.histograms(kLatency)),
      available_(registry.gauges(kAvailable).with({"run_queue_latency"})) {
  available_.set(counters_ ? 1 : 0);
  if (!counters_) log_.info("run-queue latency is not measured", kv("reason", reason_));
}

void RunQueue::add(const Inventory& inventory, const PodInfo& pod, const ContainerInfo* container) {
  const std::string& group = container != nullptr ? container->group : pod.group;
  const auto folder = cgroups_.folder(host::Knob::cpu_quota, group);
  if (!folder) return;
  const auto id = host::cgroup_id(*folder);
  if (!id) return;  // it has gone, or has not come yet: the next inventory tells
  Group& entry = groups_[*id];
  const std::string container_id = container != nullptr ? container->id : "";
  if (entry.inventory == 0 || entry.pod_uid != pod.uid || entry.container_id != container_id) {
    entry = Group();
    entry.pod_uid = pod.uid;
    entry.container_id = container_id;
    if (container != nullptr)
      entry.exported = family_.with({pod.ns, pod.name, pod.uid, container->name, container->id});
  }
  entry.inventory = inventory.generation;
}

void RunQueue::map_groups(const Inventory& inventory) {
  for (const auto& pod : inventory.pods) {
    add(inventory, *pod, nullptr);
    for (const ContainerInfo& container : pod->containers) add(inventory, *pod, &container);
  }
  bool gone = false;
  std::erase_if(groups_, [&](const auto& entry) {
    const bool old = entry.second.inventory != inventory.generation;
    gone = gone || (old && !entry.second.container_id.empty());
    return old;
  });
  if (!gone) return;
  // Their series end with them; those that are left go on from what they had.
  family_.clear();
  for (auto& [id, group] : groups_) {
    if (group.container_id.empty()) continue;
    for (const auto& pod : inventory.pods)
      for (const ContainerInfo& container : pod->containers)
        if (container.id == group.container_id) {
          group.exported = family_.with({pod->ns, pod->name, pod->uid, container.name, container.id});
          export_to(group.exported, group.total);
        }
  }
}

void RunQueue::tick(MonoTime now, const std::shared_ptr<const Inventory>& inventory) {
  if (!counters_) return;
  if (inventory->generation != generation_) {
    generation_ = inventory->generation;
    map_groups(*inventory);
  }
  if (begun_ && now < due_) return;
  begun_ = true;
  due_ = now + kPeriod;
  const auto read = counters_->snapshot(scratch_);
  if (!read && !failing_)
    log_.warn("the counters of run-queue latency cannot be read", kv("error", read.error()));
  failing_ = !read;
  pods_.clear();
  containers_.clear();
  if (!read) return;
  for (const host::RunQueueLatency::Group& one : scratch_) {
    const auto it = groups_.find(one.id);
    if (it == groups_.end()) continue;
    Group& group = it->second;
    const LatencyHistogram delta = one.histogram.since(group.total);
    const bool fresh = !group.counted;
    group.counted = true;
    group.total = one.histogram;
    if (!group.container_id.empty()) export_to(group.exported, delta);
    if (fresh) continue;  // from before it was known: no period of ours
    pods_[group.pod_uid] += delta;
    if (!group.container_id.empty()) containers_[group.container_id] = delta;
  }
}

const LatencyHistogram* RunQueue::container(const std::string& id) const {
  const auto it = containers_.find(id);
  return it != containers_.end() ? &it->second : nullptr;
}

const LatencyHistogram* RunQueue::pod(const std::string& uid) const {
  const auto it = pods_.find(uid);
  return it != pods_.end() ? &it->second : nullptr;
}

}  // namespace koord::koordlet
