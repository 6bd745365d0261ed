// The collector of the system: what the node uses less what pods, host applications and the best-effort roots
// do. It reads nothing itself.
#include <algorithm>
#include <string>
#include <vector>

#include "framework/sampler/collector.hpp"
#include "framework/tick/best_effort_use.hpp"
#include "framework/tick/claimed_use.hpp"

namespace koord::koordlet {

namespace {

class SystemCollector final : public Collector {
 public:
  explicit SystemCollector(const CollectorContext& context)
      : context_(context),
        cpu_(context.open(Metric::system_cpu, "")),
        memory_(context.open(Metric::system_memory, "")) {}

  void sample(const TickView& view) override;
  void show(TickView& view) const override { view.system = usage_; }

 private:
  struct Numa {
    int id = 0;
    SeriesId cpu, memory;
  };
  void follow_numa(std::span<const NumaUsage> nodes);
  void sample_numa(const TickView& view, const ClaimedUse& claimed);

  const CollectorContext& context_;
  SeriesId cpu_, memory_;
  std::vector<Numa> numa_;  // as in the view
  Usage usage_;
};

void SystemCollector::sample(const TickView& view) {
  follow_numa(view.numa);
  usage_ = Usage{};
  const ClaimedUse* const shown = view.find<ClaimedUse>();
  if (shown == nullptr || !shown->fresh) return;
  const ClaimedUse& claimed = *shown;
  double best_effort = claimed.best_effort_cpu;
  // The roots have those too whom nobody has named yet: what they use is not the system's.
  if (const double used = best_effort_use(view).usage_milli; known(used))
    best_effort = std::max(best_effort, used / 1000);
  // What is unknown of the node stays unknown.
  if (known(view.node.cpu)) usage_.cpu = std::max(0.0, view.node.cpu - (claimed.cpu + best_effort));
  if (known(view.node.memory)) usage_.memory = std::max(0.0, view.node.memory - claimed.memory);
  context_.series.append(cpu_, view.at, usage_.cpu);
  context_.series.append(memory_, view.at, usage_.memory);
  sample_numa(view, claimed);
}

void SystemCollector::sample_numa(const TickView& view, const ClaimedUse& claimed) {
  for (std::size_t i = 0; i < numa_.size(); ++i) {
    const NumaUsage& node = view.numa[i];
    if (view.node.cpu > 0)
      context_.series.append(numa_[i].cpu, view.at, usage_.cpu * node.cpu / view.node.cpu);
    // Host applications are not taken off: as in the original.
    const auto id = static_cast<std::size_t>(node.id);
    const double pods = id < claimed.numa_bytes.size() ? claimed.numa_bytes[id] : 0;
    if (known(node.memory))
      context_.series.append(numa_[i].memory, view.at, std::max(0.0, node.memory - pods));
  }
}

void SystemCollector::follow_numa(std::span<const NumaUsage> nodes) {
  if (std::equal(numa_.begin(), numa_.end(), nodes.begin(), nodes.end(),
                 [](const Numa& a, const NumaUsage& b) { return a.id == b.id; }))
    return;
  for (const Numa& gone : numa_)
    for (const SeriesId id : {gone.cpu, gone.memory}) context_.series.close(id);
  numa_.clear();
  for (const NumaUsage& node : nodes) {
    const std::string id = std::to_string(node.id);
    numa_.push_back(
        {node.id, context_.open(Metric::system_numa_cpu, id), context_.open(Metric::system_numa_memory, id)});
  }
}

}  // namespace

extern const CollectorEntry kSystem;
const CollectorEntry kSystem{.name = "system", .make = &make_collector<SystemCollector>};

}  // namespace koord::koordlet
