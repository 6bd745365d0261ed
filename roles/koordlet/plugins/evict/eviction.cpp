// When pods are evicted at all: see eviction.hpp.
#include "plugins/evict/eviction.hpp"

#include <utility>

namespace koord::koordlet::evict {

Eviction::Eviction(const PluginContext& context, const Terms& terms)
    : context_(context),
      terms_(terms),
      cool_(context.seconds(terms.cool_flag)),
      started_(context.clock.mono()) {}

void Eviction::plan(const TickView& view, Plan& plan) {
  const auto* slo = view.inventory->slo->resource_used_threshold_with_be.get();
  status_ = {};
  if (slo == nullptr || !slo->enable.value_or(false)) {
    status_.summary = kOff;
    return;
  }
  if (context_.actions.is_cooling(terms_.name, cool_) ||
      (terms_.cools_at_start && view.at - started_ < cool_)) {
    status_.active = true;
    status_.summary = kCooling;
    return;
  }
  std::vector<Task> tasks;
  notes_.clear();
  add_tasks(view, *slo, tasks);
  status_.active = !tasks.empty();
  const Choice choice = act(tasks, context_.actions, plan);
  notes_.summary(tasks, choice, status_.summary);
}

void Eviction::by_allocatable(const TickView& view, const Threshold& slo, std::string_view feature, bool cpu,
                              std::vector<Task>& tasks) {
  auto task = allocatable_task(
      view, feature, cpu,
      cpu ? slo.cpu_allocatable_evict_threshold_percent : slo.memory_allocatable_evict_threshold_percent,
      cpu ? slo.cpu_allocatable_evict_lower_percent : slo.memory_allocatable_evict_lower_percent,
      slo.allocatable_evict_priority_threshold, notes_);
  if (task) tasks.push_back(std::move(*task));
}

void Eviction::by_use(const TickView& view, const Threshold& slo, const Use& use, std::vector<Task>& tasks) {
  const Marks read = marks(use.threshold, use.lower, Lower::by_default);
  if (!read.nonsense.empty()) return notes_.invalid(use.feature, read.nonsense);
  if (use.of_enabled && !slo.evict_enabled_priority_threshold)
    return notes_.missing(use.feature, "evictEnabledPriorityThreshold");
  if (!use.amount || use.capacity <= 0)
    return notes_.say(use.feature, "the node's {} is not known now", use.what);
  auto task = use_task(use.feature,
                       {.what = use.what,
                        .resource = use.resource,
                        .amount = static_cast<std::int64_t>(*use.amount),
                        .capacity = use.capacity},
                       read, notes_);
  if (!task) return;
  const auto used = [](const Candidate& candidate) { return static_cast<double>(candidate.used); };
  task->candidates = use.of_enabled ? by_priority(view, use.feature, *slo.evict_enabled_priority_threshold,
                                                  use.of_pod, use.scale, used)
                                    : best_effort(view, use.feature, use.of_pod, use.scale, used);
  tasks.push_back(std::move(*task));
}

}  // namespace koord::koordlet::evict
