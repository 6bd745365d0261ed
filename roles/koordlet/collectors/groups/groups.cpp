// The collector of groups: what each pod, container and host application uses, pods by NUMA node, too, and
// what all of them use together.
#include <algorithm>
#include <memory>
#include <vector>

#include "collectors/groups/group_sampler.hpp"
#include "collectors/groups/tracked_groups.hpp"
#include "framework/sampler/collector.hpp"
#include "framework/sampler/sampler.hpp"
#include "framework/tick/claimed_use.hpp"
#include "koord/host/cgroup_stats.hpp"

namespace koord::koordlet {

namespace {

constexpr std::size_t kFilesOfGroup = 3;

class GroupsCollector final : public Collector {
 public:
  explicit GroupsCollector(const CollectorContext& context)
      : context_(context),
        numa_every_(ticks_of(context.config.numa_interval, context.config.interval)),
        groups_(context),
        tracked_(context, groups_) {}

  void follow(const Inventory& inventory) override;
  void sample(const TickView& view) override;
  void show(TickView& view) const override;

 private:
  void collect();
  void read_numa(SampledPod& pod);
  void claim(const Inventory& inventory, MonoTime at);
  bool add(const GroupState& state, MonoTime at, double& cpu, double& memory) const;

  const CollectorContext& context_;
  std::uint32_t numa_every_;
  GroupSampler groups_;
  TrackedGroups tracked_;
  bool told_descriptors_ = false, complete_ = false;
  std::vector<Usage> pods_, containers_, applications_;
  std::vector<std::uint64_t> bytes_;
  ClaimedUse claimed_;
};

void GroupsCollector::follow(const Inventory& inventory) {
  tracked_.follow(inventory);
  complete_ = false;  // who came has not been read
  collect();
  const std::size_t wanted = tracked_.groups() * kFilesOfGroup;
  if (wanted <= context_.reader.max_held() || told_descriptors_) return;
  context_.log.warn(
      "the limit of open files is below what the collectors hold open: the other files are opened for each "
      "read, which costs more CPU; raise the limit (LimitNOFILE)",
      kv("wanted", wanted), kv("allowed", context_.reader.max_held()));
  told_descriptors_ = true;
}

void GroupsCollector::sample(const TickView& view) {
  complete_ = view.inventory->pods_known;
  groups_.start_tick();
  for (std::size_t i = 0; i < tracked_.pods.size(); ++i) {
    SampledPod& pod = *tracked_.pods[i];
    groups_.sample(pod.state, pod.info->group, view.at);
    complete_ = complete_ && pod.state.complete;
    for (SampledContainer& container : pod.containers)
      groups_.sample(container.state, container.group, view.at);
    if (pod.numa_bytes.empty() || (view.tick + i) % numa_every_ == 0) read_numa(pod);
  }
  for (SampledApplication& application : tracked_.applications) {
    groups_.sample(application.state, application.info.group, view.at);
    complete_ = complete_ && application.state.complete;
    const Usage& now = application.state.now;
    if (known(now.cpu)) application.cpu.set(now.cpu);
    if (known(now.memory)) application.memory.set(now.memory);
  }
  collect();
  claim(*view.inventory, view.at);
}

void GroupsCollector::show(TickView& view) const {
  view.pods = pods_;
  view.containers = containers_;
  view.host_applications = applications_;
  view.complete = complete_;
  view.slots.show(&claimed_, view.at);
}

void GroupsCollector::collect() {
  pods_.clear();
  containers_.clear();
  applications_.clear();
  for (const auto& pod : tracked_.pods) {
    pods_.push_back(pod->state.now);
    for (const SampledContainer& container : pod->containers) containers_.push_back(container.state.now);
  }
  for (const SampledApplication& application : tracked_.applications)
    applications_.push_back(application.state.now);
}

void GroupsCollector::read_numa(SampledPod& pod) {
  if (!pod.state.present) {
    pod.numa_bytes.clear();
    return;
  }
  std::string_view text;
  if (!groups_.read_numa(pod.state, pod.info->group, text)) return;
  if (const auto parsed =
          host::parse_numa_stat(text, context_.cgroups.version(), context_.config.page_size, bytes_);
      parsed)
    pod.numa_bytes.assign(bytes_.begin(), bytes_.end());
  else
    context_.garbled(host::Knob::memory_numa_stat, pod.info->group, parsed.error());
}

/// Adds an entity's last good values; false if one is too old.
bool GroupsCollector::add(const GroupState& state, MonoTime at, double& cpu, double& memory) const {
  if (known(state.last_cpu)) {
    if (at - state.last_cpu_at > context_.config.system_outdated) return false;
    cpu += state.last_cpu;
  }
  if (known(state.last_memory)) {
    if (at - state.last_memory_at > context_.config.system_outdated) return false;
    memory += state.last_memory;
  }
  return true;
}

void GroupsCollector::claim(const Inventory& inventory, MonoTime at) {
  ClaimedUse& all = claimed_;
  all.fresh = false;
  if (!inventory.pods_known) return;
  all.cpu = all.best_effort_cpu = all.memory = 0;
  std::fill(all.numa_bytes.begin(), all.numa_bytes.end(), 0);
  for (const auto& pod : tracked_.pods) {
    if (!add(pod->state, at, pod->in_best_effort ? all.best_effort_cpu : all.cpu, all.memory)) return;
    if (all.numa_bytes.size() < pod->numa_bytes.size()) all.numa_bytes.resize(pod->numa_bytes.size());
    for (std::size_t i = 0; i < pod->numa_bytes.size(); ++i)
      all.numa_bytes[i] += static_cast<double>(pod->numa_bytes[i]);
  }
  for (const SampledApplication& application : tracked_.applications)
    if (!add(application.state, at, application.in_best_effort ? all.best_effort_cpu : all.cpu, all.memory))
      return;
  all.fresh = true;
}

}  // namespace

extern const CollectorEntry kGroups;
const CollectorEntry kGroups{
    .name = "groups", .metrics = TrackedGroups::kMetrics, .make = &make_collector<GroupsCollector>};

}  // namespace koord::koordlet
