// RunQueue: see run_queue.hpp.
#include "framework/serve/run_queue.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "framework/serve/available.hpp"
#include "koord/host/file.hpp"

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
constexpr metrics::Metric kLost{
    .name = "koordlet_run_queue_latency_lost_total",
    .type = metrics::Type::counter,
    .help = "Waits that were not counted because the kernel's tables of groups or of tasks were full.",
    .labels = {"table"}};
/// Levels of cgroups below a pod's.
constexpr int kDeepest = 32;

void export_to(const metrics::Histogram& histogram, const LatencyHistogram& delta) {
  std::array<std::uint64_t, kBounds + 1> counts{};
  for (std::size_t i = 0; i < LatencyHistogram::kBuckets; ++i)
    counts[std::min((i + 1) / 2, kBounds)] += delta.counts[i];
  histogram.add_counts(counts, static_cast<double>(delta.sum_ns) / 1e9);
}

}  // namespace

const metrics::Table RunQueue::kMetrics = {&kLatency, &kCollectorAvailable, &kLost};

RunQueue::RunQueue(std::unique_ptr<host::RunQueueLatency> counters, std::string reason,
                   const host::CgroupFs& cgroups, Logger& log, metrics::Registry& registry)
    : counters_(std::move(counters)),
      reason_(std::move(reason)),
      cgroups_(cgroups),
      log_(log),
      family_(registry.histograms(kLatency)),
      available_(registry.gauges(kCollectorAvailable).with({"run_queue_latency"})),
      lost_groups_(registry.counters(kLost).with({"groups"})),
      lost_tasks_(registry.counters(kLost).with({"tasks"})) {
  available_.set(counters_ ? 1 : 0);
  if (!counters_) log_.info("run-queue latency is not measured", kv("reason", reason_));
}

void RunQueue::add_owner(const PodInfo& pod, const ContainerInfo* container) {
  std::shared_ptr<Owner>& owner = owners_[container != nullptr ? container->group : pod.group];
  const std::string_view container_id = container != nullptr ? std::string_view(container->id) : "";
  if (!owner || owner->pod_uid != pod.uid || owner->container_id != container_id) {
    owner = std::make_shared<Owner>();
    owner->pod_uid = pod.uid;
    owner->container_id = container_id;
    if (container != nullptr) {
      owner->labels = {pod.ns, pod.name, pod.uid, container->name, container->id};
      const std::vector<std::string_view> labels(owner->labels.begin(), owner->labels.end());
      owner->exported = family_.with(labels);
    }
  }
  owner->known = true;
}

void RunQueue::follow(const Inventory& inventory) {
  for (auto& [group, owner] : owners_) owner->known = false;
  for (const auto& pod : inventory.pods) {
    add_owner(*pod, nullptr);
    for (const ContainerInfo& container : pod->containers) add_owner(*pod, &container);
  }
  for (const auto& [group, gone] : owners_) {
    const std::vector<std::string>& labels = gone->labels;
    if (!gone->known && !labels.empty())
      family_.remove({labels[0], labels[1], labels[2], labels[3], labels[4]});
  }
  std::erase_if(owners_, [](const auto& entry) { return !entry.second->known; });
  find_groups();
}

/// Whose cgroup is whose: all folders at and below those of pods and containers.
void RunQueue::find_groups() {
  owned_.clear();
  for (const auto& [group, owner] : owners_) {
    if (!owner->container_id.empty()) continue;  // it is below its pod's
    std::string path = group;
    walk(path, owner, 0);
  }
  for (auto& [id, group] : groups_) {
    const auto it = owned_.find(id);
    const std::shared_ptr<Owner> owner = it != owned_.end() ? it->second : nullptr;
    if (owner == group.owner) continue;
    // What waited before it was known whose it is.
    if (owner && !owner->labels.empty()) export_to(owner->exported, group.total);
    group.owner = owner;
  }
}

void RunQueue::walk(std::string& group, std::shared_ptr<Owner> owner, int level) {
  const auto folder = cgroups_.folder(host::Knob::cpu_quota, group);
  if (!folder) return;
  const auto id = host::cgroup_id(*folder);
  if (!id) return;  // it has gone, or has not come yet
  if (const auto it = owners_.find(group); it != owners_.end()) owner = it->second;
  owned_[*id] = owner;
  if (level == kDeepest || host::is_leaf_folder(*folder)) return;
  const auto below = host::list_folders(*folder);
  if (!below) return;
  const std::size_t length = group.size();
  for (const std::string& name : *below) {
    group.append("/").append(name);
    walk(group, owner, level + 1);
    group.resize(length);
  }
}

void RunQueue::tick(MonoTime now, const std::shared_ptr<const Inventory>& inventory) {
  if (!counters_) return;
  if (inventory->generation != generation_) {
    generation_ = inventory->generation;
    follow(*inventory);
  }
  if (reading_ > 0 && now < due_) return;
  due_ = now + kPeriod;
  read();
  read_losses();
}

void RunQueue::read() {
  const auto taken = counters_->snapshot(scratch_);
  if (!taken && !failing_)
    log_.warn("the counters of run-queue latency cannot be read", kv("error", taken.error()));
  failing_ = !taken;
  waits_.pods.clear();
  waits_.containers.clear();
  if (!taken) return;
  waits_.reading = ++reading_;
  // A cgroup that nobody has heard of: it may be a service or a nested container that came since.
  const bool strangers = std::any_of(scratch_.begin(), scratch_.end(), [&](const auto& one) {
    return !groups_.contains(one.id) && !owned_.contains(one.id);
  });
  if (strangers && reading_ > 1) find_groups();
  for (const host::RunQueueLatency::Group& one : scratch_) add(one);
  std::erase_if(groups_, [&](const auto& entry) { return entry.second.reading != reading_; });
}

void RunQueue::add(const host::RunQueueLatency::Group& one) {
  Group& group = groups_[one.id];
  if (group.reading == 0)
    if (const auto it = owned_.find(one.id); it != owned_.end()) group.owner = it->second;
  group.reading = reading_;
  const LatencyHistogram delta = one.histogram.since(group.total);
  group.total = one.histogram;
  const Owner* owner = group.owner.get();
  if (owner == nullptr) return;
  if (!owner->labels.empty()) export_to(owner->exported, delta);
  if (reading_ == 1) return;  // from before the first period
  if (!owner->container_id.empty()) waits_.containers[owner->container_id] += delta;
  waits_.pods[owner->pod_uid] += delta;
}

void RunQueue::read_losses() {
  const auto lost = counters_->losses();
  if (!lost) return;
  lost_groups_.add(static_cast<double>(lost->groups - lost_.groups));
  lost_tasks_.add(static_cast<double>(lost->tasks - lost_.tasks));
  lost_ = *lost;
}

const LatencyHistogram* RunQueue::container(const std::string& id) const {
  const auto it = waits_.containers.find(id);
  return it != waits_.containers.end() ? &it->second : nullptr;
}

const std::string* RunQueue::pod_of(host::RunQueueLatency::GroupId id) const {
  const auto it = owned_.find(id);
  return it != owned_.end() ? &it->second->pod_uid : nullptr;
}

const LatencyHistogram* RunQueue::pod(const std::string& uid) const {
  const auto it = waits_.pods.find(uid);
  return it != waits_.pods.end() ? &it->second : nullptr;
}

}  // namespace koord::koordlet
