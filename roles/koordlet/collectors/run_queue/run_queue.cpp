// The collector of run-queue latency: how long the tasks of each pod and container wait for a CPU, where the
// kernel lets us count it.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/model/shown_id.hpp"
#include "framework/sampler/collector.hpp"
#include "framework/tick/run_queue_waits.hpp"
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

constexpr metrics::Table kShown = {&kLatency, &kLost};

/// Costs nothing where it is not available.
class RunQueueCollector final : public Collector {
 public:
  explicit RunQueueCollector(const CollectorContext& context);

  void follow(const Inventory& inventory) override;
  void sample(const TickView& view) override;
  void show(TickView& view) const override { view.slots.show(known_ ? &waits_ : nullptr, read_at_); }
  void tell(std::vector<Availability>& all) const override {
    all.push_back({"run_queue_latency", counters_ != nullptr, context_.counters.no_run_queue});
  }

 private:
  /// A pod or container that tasks wait in.
  struct Owner {
    std::string pod_uid, container_id;  // no container: the pod itself
    std::vector<std::string> labels;    // of a container's series
    metrics::Histogram exported;
    bool known = false;  // to the present inventory
  };
  /// A cgroup that the kernel counts. The kernel counts each alone; whose it is its folder's place says.
  struct Group {
    std::shared_ptr<Owner> owner;  // the closest; null: nobody's
    LatencyHistogram total;
    std::uint64_t reading = 0;  // the last one that had it
  };

  void add_owner(const PodInfo& pod, const ContainerInfo* container);
  void find_groups();
  void walk(std::string& group, std::shared_ptr<Owner> owner, int level);
  void add(const host::RunQueueLatency::Group& one);
  void read_losses();

  const CollectorContext& context_;
  host::RunQueueLatency* counters_;  // null: not available
  metrics::Family<metrics::Histogram> family_;
  metrics::Counter lost_groups_, lost_tasks_;
  host::RunQueueLatency::Losses lost_;
  bool failing_ = false;
  bool known_ = counters_ != nullptr;  // what waits there were
  std::uint64_t reading_ = 0;
  MonoTime read_at_;
  RunQueueWaits waits_;
  std::vector<host::RunQueueLatency::Group> scratch_;
  std::unordered_map<std::string, std::shared_ptr<Owner>> owners_;  // by group
  std::unordered_map<host::RunQueueLatency::GroupId, std::shared_ptr<Owner>> owned_;
  std::unordered_map<host::RunQueueLatency::GroupId, Group> groups_;
};

RunQueueCollector::RunQueueCollector(const CollectorContext& context)
    : context_(context),
      counters_(context.counters.run_queue.get()),
      family_(context.metrics.histograms(kLatency)),
      lost_groups_(context.metrics.counters(kLost).with({"groups"})),
      lost_tasks_(context.metrics.counters(kLost).with({"tasks"})) {}

void RunQueueCollector::add_owner(const PodInfo& pod, const ContainerInfo* container) {
  std::shared_ptr<Owner>& owner = owners_[container != nullptr ? container->group : pod.group];
  const std::string_view container_id = container != nullptr ? std::string_view(container->id) : "";
  if (!owner || owner->pod_uid != pod.uid || owner->container_id != container_id) {
    owner = std::make_shared<Owner>();
    owner->pod_uid = pod.uid;
    owner->container_id = container_id;
    if (container != nullptr) {
      owner->labels = {pod.ns, pod.name, pod.uid, container->name, shown_id(*container)};
      const std::vector<std::string_view> labels(owner->labels.begin(), owner->labels.end());
      owner->exported = family_.with(labels);
    }
  }
  owner->known = true;
}

void RunQueueCollector::follow(const Inventory& inventory) {
  if (counters_ == nullptr) return;
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
void RunQueueCollector::find_groups() {
  owned_.clear();
  for (const auto& [group, owner] : owners_) {
    if (!owner->container_id.empty()) continue;  // it is below its pod's
    std::string path = group;
    walk(path, owner, 0);
  }
  waits_.owners.clear();
  for (const auto& [id, owner] : owned_) waits_.owners.emplace(id, &owner->pod_uid);
  for (auto& [id, group] : groups_) {
    const auto it = owned_.find(id);
    const std::shared_ptr<Owner> owner = it != owned_.end() ? it->second : nullptr;
    if (owner == group.owner) continue;
    // What waited before it was known whose it is.
    if (owner && !owner->labels.empty()) export_to(owner->exported, group.total);
    group.owner = owner;
  }
}

void RunQueueCollector::walk(std::string& group, std::shared_ptr<Owner> owner, int level) {
  const auto folder = context_.cgroups.folder(host::Knob::cpu_quota, group);
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

void RunQueueCollector::sample(const TickView& view) {
  if (counters_ == nullptr) return;
  const auto* const tracing = view.find<host::RunQueueLatency::Tracing>();
  known_ = tracing == nullptr || *tracing != host::RunQueueLatency::Tracing::paused;
  if (!known_) return;
  read_at_ = view.at;
  read_losses();
  const auto taken = counters_->snapshot(scratch_);
  if (!taken && !failing_)
    context_.log.warn("the counters of run-queue latency cannot be read", kv("error", taken.error()));
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

void RunQueueCollector::add(const host::RunQueueLatency::Group& one) {
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

void RunQueueCollector::read_losses() {
  const auto lost = counters_->losses();
  if (!lost) return;
  lost_groups_.add(static_cast<double>(lost->groups - lost_.groups));
  lost_tasks_.add(static_cast<double>(lost->tasks - lost_.tasks));
  lost_ = *lost;
}

}  // namespace

extern const CollectorEntry kRunQueue;
const CollectorEntry kRunQueue{.name = "run_queue",
                               .period = std::chrono::seconds(5),
                               .metrics = kShown,
                               .make = &make_collector<RunQueueCollector>};

}  // namespace koord::koordlet
