// Settings of eviction: see settings.hpp.
#include "plugins/evict/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <span>

namespace koord::koordlet::evict {

namespace {

constexpr std::int64_t kBuffer = 2;  // percent
/// koord-mid's highest: what is above is koord-prod's, and nobody's to evict by requests.
constexpr std::int32_t kHighestPriority = 7999;
/// How old the list of pods may be by which requests are summed. Use is measured, whatever the kubelet says.
constexpr nanoseconds kFreshPods = std::chrono::minutes(1);
constexpr double kMilli = 1000;
constexpr std::int64_t kLeastLower = -100;  // percent

std::int64_t saturated(__int128 amount) {
  using Limits = std::numeric_limits<std::int64_t>;
  return static_cast<std::int64_t>(std::clamp<__int128>(amount, Limits::min(), Limits::max()));
}

}  // namespace

Marks marks(std::optional<std::int64_t> threshold, std::optional<std::int64_t> lower, Lower kind) {
  if (!threshold) return {.nonsense = "no threshold"};
  if (*threshold < 0) return {.nonsense = "a threshold below 0"};
  if (!lower && kind == Lower::required) return {.nonsense = "no lower percentage"};
  const Marks marks{*threshold, std::max(lower.value_or(*threshold - kBuffer), kLeastLower)};
  if (marks.lower >= marks.threshold)
    return {.nonsense = "a lower percentage that is not below the threshold"};
  return marks;
}

std::int64_t percent_of(std::int64_t amount, std::int64_t whole) {
  return saturated(static_cast<__int128>(amount) * 100 / whole);
}
std::int64_t part_of(std::int64_t whole, std::int64_t percent) {
  return saturated(static_cast<__int128>(whole) * percent / 100);
}

std::string& Notes::next(std::string_view feature) {
  if (said_ == notes_.size()) notes_.emplace_back();
  Note& note = notes_[said_++];
  note.feature = feature;
  note.text.clear();
  return note.text;
}

void Notes::summary(const std::vector<Task>& tasks, const Choice& choice, std::string& text) const {
  text.clear();
  for (const auto& [feature, note] : std::span(notes_).first(said_)) {
    text.append(text.empty() ? "" : "; ").append(feature).append(": ").append(note);
    const auto task =
        std::find_if(tasks.begin(), tasks.end(), [&](const Task& t) { return t.feature == feature; });
    if (task == tasks.end()) continue;
    const auto victims = std::count_if(choice.victims.begin(), choice.victims.end(),
                                       [&](const Victim& victim) { return victim.feature == feature; });
    const bool enough = choice.satisfied[static_cast<std::size_t>(task - tasks.begin())];
    text.append(fmt::format(", {} pods go{}", victims, enough ? "" : ", which is not enough"));
  }
}

std::optional<Task> use_task(std::string_view feature, const Used& used, const Marks& marks, Notes& notes) {
  const std::int64_t percent = percent_of(used.amount, used.capacity);
  notes.say(feature, "{}% of the {} is used, {}% may be", percent, used.what, marks.threshold);
  if (percent < marks.threshold) return std::nullopt;
  Task task{.feature = feature, .target = Target::used};
  of(task.release, used.resource) = part_of(used.capacity, percent - marks.lower);
  task.frees = [resource = used.resource](const Candidate& candidate) {
    Amounts amounts{};
    of(amounts, resource) = candidate.used;
    return amounts;
  };
  return task;
}

std::optional<Task> allocatable_task(const TickView& view, std::string_view feature, bool cpu,
                                     std::optional<std::int64_t> threshold, std::optional<std::int64_t> lower,
                                     std::optional<std::int32_t> priority, Notes& notes) {
  const Marks checked = marks(threshold, lower, Lower::required);
  if (!checked.nonsense.empty()) {
    notes.invalid(feature, checked.nonsense);
    return std::nullopt;
  }
  if (!priority) {
    notes.missing(feature, "allocatableEvictPriorityThreshold");
    return std::nullopt;
  }
  if (*priority > kHighestPriority) {
    notes.say(feature, "the NodeSLO's allocatableEvictPriorityThreshold reaches koord-prod");
    return std::nullopt;
  }
  if (!view.pods_listed || view.at - *view.pods_listed > kFreshPods) {
    notes.blind(feature, "who asks for how much");
    return std::nullopt;
  }
  const Overcommit over = overcommit(*view.inventory, cpu, *priority, checked.threshold, checked.lower);
  if (!over.batch && !over.mid) {
    notes.say(feature, "no more is asked than may be");
    return std::nullopt;
  }
  notes.say(feature, "more {} is asked than may be", cpu ? "CPU" : "memory");
  Task task{.feature = feature, .target = Target::request, .release = over.release};
  const auto request = [cpu](const Candidate& candidate) {
    const PodRequests& requests = candidate.pod->requests;
    switch (candidate.pod->effective_class()) {
      case PriorityClass::batch: return static_cast<double>(cpu ? requests.batch_cpu : requests.batch_memory);
      case PriorityClass::mid: return static_cast<double>(cpu ? requests.mid_cpu : requests.mid_memory);
      default: return static_cast<double>(cpu ? requests.cpu : requests.memory);
    }
  };
  task.candidates =
      by_priority(view, feature, *priority, cpu ? &Usage::cpu : &Usage::memory, cpu ? kMilli : 1, request);
  task.frees = [over, cpu](const Candidate& candidate) { return asked(over, cpu, *candidate.pod); };
  return task;
}

}  // namespace koord::koordlet::evict
