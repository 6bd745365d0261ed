// Memory eviction: where more of the node's memory is used than a threshold allows, or more is asked of what
// it lends than it has, pods go until a lower mark is reached.
#include <optional>
#include <vector>

#include "plugins/evict/eviction.hpp"
#include "plugins/evict/terms.hpp"

namespace koord::koordlet {

namespace memory_evict {
namespace {

using evict::Task;

constexpr std::string_view kName = "MemoryEvict";
constexpr std::string_view kBestEffort = "BEMemoryEvict", kByAllocatable = "MemoryAllocatableEvict",
                           kByUse = "MemoryEvict";
constexpr std::string_view kGates[] = {kBestEffort, kByAllocatable, kByUse};

class MemoryEvict final : public evict::Eviction {
 public:
  explicit MemoryEvict(const PluginContext& context)
      : Eviction(context, {.name = kName, .cool_flag = "memory-evict-cool-time-seconds"}) {}

 private:
  void add_tasks(const TickView& view, const Threshold& slo, std::vector<Task>& tasks) override {
    if (context_.gates.enabled(kBestEffort)) by_use(view, slo, memory_use(view, slo, kBestEffort), tasks);
    if (context_.gates.enabled(kByAllocatable)) by_allocatable(view, slo, kByAllocatable, false, tasks);
    if (context_.gates.enabled(kByUse)) by_use(view, slo, memory_use(view, slo, kByUse), tasks);
  }

  static Use memory_use(const TickView& view, const Threshold& slo, std::string_view feature) {
    return {.feature = feature,
            .of_enabled = feature == kByUse,
            .threshold = slo.memory_evict_threshold_percent,
            .lower = slo.memory_evict_lower_percent,
            .what = "memory",
            .resource = evict::Resource::memory,
            .amount = known(view.node.memory) ? std::optional(view.node.memory) : std::nullopt,
            .capacity = view.inventory->node.capacity_memory,
            .of_pod = &Usage::memory};
  }
};

}  // namespace
}  // namespace memory_evict

extern const StrategyEntry kMemoryEvict{
    .name = memory_evict::kName,
    .gates = memory_evict::kGates,
    .interval = "memory-evict-interval-seconds",
    .terms = &read_eviction_terms,
    .make = &make<memory_evict::MemoryEvict>,
};

}  // namespace koord::koordlet
