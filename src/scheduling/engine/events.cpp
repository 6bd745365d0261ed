// Engine: who hears of what happened, and when the next thing happens by itself; see engine.hpp.
#include <algorithm>
#include <utility>

#include "koord/scheduling/engine/engine.hpp"

namespace koord::scheduling {

Hint Engine::hint(const QueuedPod& pod, const ClusterEvent& event) {
  if (pod.rejectors == 0) return Hint::queue;
  if (!event.about.key.empty() && !pod.rejector_key.empty() && pod.rejector_key != event.about.key)
    return Hint::skip;
  Hint found = Hint::skip;
  for (const auto& e : pod.profile->events) {
    if ((pod.rejectors & mask_of(e.index)) == 0 || !e.plugin->events().has(event.kind)) continue;
    if (!event.about.plugin.empty() && pod.profile->plugin_name(e.index) != event.about.plugin) continue;
    if (e.plugin->events_of_pods().has(event.kind) && !e.plugin->concerns(pod.info, event)) continue;
    const MonoTime began = clock_.mono();
    const bool worth = e.plugin->worth_retrying(pod.info, event);
    hints_.observe({pod.profile->plugin_name(e.index), label(event), worth ? "Queue" : "QueueSkip"},
                   clock_.mono() - began);
    if (!worth) continue;
    if ((pod.pending & mask_of(e.index)) != 0) return Hint::queue_now;
    if (pod.pending == 0) return Hint::queue;
    found = Hint::queue;
  }
  return found;
}

void Engine::move(const ClusterEvent& event, const std::shared_ptr<const void>& before,
                  const std::shared_ptr<const void>& now) {
  ++events_;
  if (!event.about.key.empty())
    refusing_.erase(event.about);
  else if (admit_events_.has(event.kind))
    refusing_.clear();
  queue_->retry_worth(event, clock_.mono(), [&](const QueuedPod& pod) { return hint(pod, event); });
  if (waits_.size() != 0 && followed_.has(event.kind)) meanwhile_.add({event, before, now});
}

void Engine::happened(const RejectorKey& key, std::string_view label) {
  if (raised_keys_.insert(key).second) raised_.emplace_back(key, label);
}

/// What plugins tell meanwhile is told afterwards.
void Engine::tell_raised() {
  while (!raised_.empty()) {
    raised_keys_.clear();
    for (const auto& [key, label] : std::exchange(raised_, {}))
      move({.kind = EventKind::plugin_told, .object_label = label, .about = key});
  }
}

/// Plugins whose time has come look at what they keep.
void Engine::pass_time() {
  for (TimedPlugin* plugin : timed_) {
    const std::optional<WallTime> at = plugin->next_time();
    if (!at) continue;
    const WallTime now = clock_.now();
    if (*at <= now) plugin->time_passed(now, [this](const ClusterEvent& event) { move(event); });
  }
}

std::optional<MonoTime> Engine::next_wakeup() const {
  std::optional<MonoTime> soonest = queue_->next_wakeup();
  const auto also = [&](std::optional<MonoTime> at) {
    if (at && (!soonest || *at < *soonest)) soonest = at;
  };
  also(waits_.next_wakeup());
  for (const TimedPlugin* plugin : timed_)
    if (const std::optional<WallTime> at = plugin->next_time())
      also(clock_.mono() + std::max(*at - clock_.now(), nanoseconds{0}));
  return soonest;
}

}  // namespace koord::scheduling
