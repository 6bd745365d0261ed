// Who is evicted: what shall become free, what each pod would free, and in which order pods go. Shared by CPU
// and memory eviction. Pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "framework/action/actions.hpp"
#include "framework/plan/strategy.hpp"

namespace koord::koordlet::evict {

enum class Resource : std::uint8_t { cpu, memory, batch_cpu, batch_memory, mid_cpu, mid_memory };
inline constexpr std::size_t kResources = 6;
/// CPU in thousandths, memory in bytes.
using Amounts = std::array<std::int64_t, kResources>;
constexpr std::int64_t& of(Amounts& amounts, Resource resource) {
  return amounts[static_cast<std::size_t>(resource)];
}
constexpr std::int64_t of(const Amounts& amounts, Resource resource) {
  return amounts[static_cast<std::size_t>(resource)];
}

/// What a pod's going is counted by: what it used, or what it had asked for.
enum class Target : std::uint8_t { used, request };

struct Candidate {
  std::shared_ptr<const PodInfo> pod;
  std::int64_t used = 0;  // of the resource that is short; 0: not known
};

/// What one feature wants.
struct Task {
  std::string_view feature;  // its gate
  Target target{};
  Amounts release{};                  // shall become free; 0 or less: nothing of it
  std::vector<Candidate> candidates;  // in the order in which they go
  std::function<Amounts(const Candidate&)> frees;
};

struct Victim {
  std::string_view feature;
  std::shared_ptr<const PodInfo> pod;
};
struct Choice {
  std::vector<Victim> victims;
  /// By task: whether victims, and those who are going already, free all that it wants.
  std::vector<bool> satisfied;
};
/// Pods that go, task by task, until each task has what it wants. What a victim of one task frees counts for
/// the others of the same target, what several count of one pod counts once; pods that are going already
/// count before anybody is chosen, refused and spared ones do not, and nobody goes for nothing. At most
/// `room` victims.
Choice choose(std::span<const Task> tasks, const std::function<Standing(const PodInfo&)>& standing,
              std::int64_t room);

/// What is asked of a node's batch and mid resources, by pods of this priority or less; and what pods of the
/// classes that ask for too much ask for.
struct Overcommit {
  Amounts release{};
  bool batch = false, mid = false;
};
/// `cpu`: of their CPU, otherwise of their memory. More than `threshold` percent of what the node has is too
/// much, `lower` percent is left; where the node has none all is too much.
Overcommit overcommit(const Inventory& inventory, bool cpu, std::int32_t priority,
                      std::int64_t threshold_percent, std::int64_t lower_percent);
/// What a pod of such a class asks for; nothing for the others.
Amounts asked(const Overcommit& over, bool cpu, const PodInfo& pod);

/// Whether koordinator.sh/eviction-policy lets this feature evict the pod.
bool allows(const PodInfo& pod, std::string_view feature);

/// Pods of quality BE that run and let the feature evict them: by priority, ascending, then by `weight`,
/// descending, then by name, descending.
std::vector<Candidate> best_effort(const TickView& view, std::string_view feature, double Usage::*used,
                                   double scale, const std::function<double(const Candidate&)>& weight);
/// Pods of at most this priority that run, are measured and enabled their eviction: by
/// koordinator.sh/eviction-priority, priority, koordinator.sh/priority, ascending, then by `weight`,
/// descending, then by name, descending.
std::vector<Candidate> by_priority(const TickView& view, std::string_view feature, std::int32_t priority,
                                   double Usage::*used, double scale,
                                   const std::function<double(const Candidate&)>& weight);

/// Chooses among the tasks and hands the victims to the plan, with upstream's words.
Choice act(std::span<const Task> tasks, const Actions& actions, Plan& plan);

}  // namespace koord::koordlet::evict
