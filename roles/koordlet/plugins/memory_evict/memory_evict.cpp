// Memory eviction: where more of the node's memory is used than a threshold allows, or more is asked of what
// it lends than it has, pods go until a lower mark is reached.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/qos/plugin.hpp"
#include "koord/api/types/slo_v1alpha1/node_slo.hpp"
#include "plugins/evict/settings.hpp"
#include "plugins/evict/victims.hpp"

namespace koord::koordlet {

namespace memory_evict {
namespace {

using evict::Candidate;
using evict::Resource;
using evict::Task;

constexpr std::string_view kName = "MemoryEvict";
constexpr std::string_view kBestEffort = "BEMemoryEvict", kByAllocatable = "MemoryAllocatableEvict",
                           kByUse = "MemoryEvict";
constexpr std::string_view kGates[] = {kBestEffort, kByAllocatable, kByUse};

class MemoryEvict final : public Strategy {
 public:
  explicit MemoryEvict(const PluginContext& context)
      : context_(context), cool_(context.seconds("memory-evict-cool-time-seconds")) {}

  StrategyStatus status() const override { return status_; }
  void release(const Inventory&, Plan&) override { status_ = {}; }

  void plan(const TickView& view, Plan& plan) override {
    const auto* slo = view.inventory->slo->resource_used_threshold_with_be.get();
    status_ = {};
    if (slo == nullptr || !slo->enable.value_or(false)) {
      status_.summary = evict::kOff;
      return;
    }
    if (context_.actions.is_cooling(kName, cool_)) {
      status_.active = true;
      status_.summary = evict::kCooling;
      return;
    }
    std::vector<Task> tasks;
    notes_.clear();
    if (context_.gates.enabled(kBestEffort)) by_use(view, *slo, false, tasks);
    if (context_.gates.enabled(kByAllocatable)) by_allocatable(view, *slo, tasks);
    if (context_.gates.enabled(kByUse)) by_use(view, *slo, true, tasks);
    status_.active = !tasks.empty();
    const evict::Choice choice = evict::act(tasks, context_.actions, plan);
    notes_.summary(tasks, choice, status_.summary);
  }

 private:
  /// `all`: of pods that enabled it, up to a priority; otherwise of best-effort ones.
  void by_use(const TickView& view, const api::ResourceThresholdStrategy& slo, bool all,
              std::vector<Task>& tasks) {
    const std::string_view feature = all ? kByUse : kBestEffort;
    const evict::Marks marks = evict::marks(slo.memory_evict_threshold_percent,
                                            slo.memory_evict_lower_percent, evict::Lower::by_default);
    if (!marks.nonsense.empty()) return notes_.invalid(feature, marks.nonsense);
    if (all && !slo.evict_enabled_priority_threshold)
      return notes_.missing(feature, "evictEnabledPriorityThreshold");
    const std::int64_t capacity = view.inventory->node.capacity_memory;
    if (!known(view.node.memory) || capacity <= 0) return notes_.blind(feature, "the node's memory");
    auto task = evict::use_task(feature,
                                {.what = "memory",
                                 .resource = Resource::memory,
                                 .amount = static_cast<std::int64_t>(view.node.memory),
                                 .capacity = capacity},
                                marks, notes_);
    if (!task) return;
    const auto used = [](const Candidate& candidate) { return static_cast<double>(candidate.used); };
    task->candidates = all ? evict::by_priority(view, feature, *slo.evict_enabled_priority_threshold,
                                                &Usage::memory, 1, used)
                           : evict::best_effort(view, feature, &Usage::memory, 1, used);
    tasks.push_back(std::move(*task));
  }

  void by_allocatable(const TickView& view, const api::ResourceThresholdStrategy& slo,
                      std::vector<Task>& tasks) {
    auto task = evict::allocatable_task(
        view, kByAllocatable, false, slo.memory_allocatable_evict_threshold_percent,
        slo.memory_allocatable_evict_lower_percent, slo.allocatable_evict_priority_threshold, notes_);
    if (task) tasks.push_back(std::move(*task));
  }

  const PluginContext& context_;
  nanoseconds cool_;
  StrategyStatus status_;
  evict::Notes notes_;  // of one tick; kept for its memory
};

}  // namespace
}  // namespace memory_evict

extern const StrategyEntry kMemoryEvict{
    .name = memory_evict::kName,
    .gates = memory_evict::kGates,
    .interval = "memory-evict-interval-seconds",
    .make = &make<memory_evict::MemoryEvict>,
};

}  // namespace koord::koordlet
