// Queue: see queue.hpp.
#include "koord/scheduling/queue/queue.hpp"

#include <algorithm>
#include <bit>

namespace koord::scheduling {

namespace {

constexpr nanoseconds kWindow = std::chrono::seconds(1);
constexpr std::string_view kAttemptFailed = "ScheduleAttemptFailure";

MonoTime window(MonoTime t) { return MonoTime(t.time_since_epoch() - t.time_since_epoch() % kWindow); }

/// Backoffs end on a window's start and are over in the window after it.
bool over(const QueuedPod& pod, MonoTime now) { return pod.backoff_until < window(now); }

}  // namespace

Queue::Queue(QueueOptions options, const QueueSortPlugin& sort, Gate gate)
    : options_(options),
      active_(BySort{&sort}),
      backoff_(ByBackoff{&sort}),
      error_backoff_(ByBackoff{&sort}),
      unschedulable_(ByAge{}),
      gate_(std::move(gate)) {}

bool Queue::is_in(const QueuedPod& pod) {
  switch (pod.place) {
    case Place::active:
    case Place::backoff:
    case Place::error_backoff:
    case Place::unschedulable:
    case Place::gated: return true;
    default: return false;
  }
}

void Queue::enter(QueuedPod& pod, Place place, std::string_view queue, std::string_view event) {
  pod.place = place;
  ++incoming_[{queue, event}];
}

void Queue::count(const QueuedPod& pod, int change) {
  if (pod.rejectors == 0) return;
  auto& counts = rejections_[pod.profile];
  for (PluginMask left = pod.rejectors; left != 0; left &= left - 1)
    counts[static_cast<std::size_t>(std::countr_zero(left))] += static_cast<std::uint32_t>(change);
}

void Queue::add_active(QueuedPod& pod, MonoTime now, std::string_view event) {
  if (!pod.first_attempt) pod.first_attempt = now;
  enter(pod, Place::active, "active", event);
  active_.push(&pod);
}

bool Queue::add(QueuedPod& pod, MonoTime now, std::string_view event) {
  if (gate(pod, event)) return false;
  add_active(pod, now, event);
  return true;
}

/// Of a pod that is in no queue. As in kube-scheduler: pending_pods tells gated pods from unschedulable ones,
/// the metric of incoming ones does not.
bool Queue::gate(QueuedPod& pod, std::string_view event) {
  const PluginIndex by = gate_(pod);
  if (by == kNoPlugin) return false;
  count(pod, -1);
  pod.rejectors = mask_of(by);
  pod.pending = 0;
  count(pod, 1);
  enter(pod, Place::gated, "unschedulable", event);
  groups_.add(pod);
  ++gated_;
  return true;
}

void Queue::add_failed(QueuedPod& pod, MonoTime now, Hint meanwhile) {
  if (pod.rejectors == 0) {
    ++pod.error_count;
  } else {
    ++pod.unschedulable_count;
    pod.error_count = 0;
  }
  count(pod, 1);
  pod.timestamp = now;
  std::uint32_t failures = pod.error_count > 0 ? pod.error_count : pod.unschedulable_count;
  nanoseconds wait = options_.initial_backoff;
  for (std::uint32_t n = 1; n < failures && wait < options_.max_backoff; ++n) wait *= 2;
  // Without a maximum there is no backoff at all.
  wait = std::min(wait, options_.max_backoff);
  pod.backoff_until = wait == nanoseconds::zero() ? MonoTime::min() : window(now + wait);
  if (pod.rejectors == 0) {
    if (gate(pod, kAttemptFailed)) return;
    enter(pod, Place::error_backoff, "backoff", kAttemptFailed);
    error_backoff_.push(&pod);
    return;
  }
  pod.place = Place::unschedulable;
  unschedulable_.push(&pod);
  groups_.add(pod);
  if (meanwhile != Hint::skip) {
    retry(pod, now, kAttemptFailed, meanwhile);
  } else {
    ++incoming_[{"unschedulable", kAttemptFailed}];
  }
}

bool Queue::retry(QueuedPod& pod, MonoTime now, std::string_view event, Hint hint) {
  if (pod.place != Place::unschedulable && pod.place != Place::gated) return false;
  take_out(pod);
  if (gate(pod, event)) return false;
  if (hint == Hint::queue_now || over(pod, now)) {
    add_active(pod, now, event);
    return true;
  }
  enter(pod, Place::backoff, "backoff", event);
  backoff_.push(&pod);
  return false;
}

void Queue::back_off(QueuedPod& pod, MonoTime now) {
  if (pod.place != Place::unschedulable && pod.place != Place::gated) return;
  take_out(pod);
  if (gate(pod, kAttemptFailed)) return;
  if (over(pod, now)) return add_active(pod, now, kAttemptFailed);
  enter(pod, Place::error_backoff, "backoff", kAttemptFailed);
  error_backoff_.push(&pod);
}

void Queue::activate(QueuedPod& pod, MonoTime now) {
  constexpr std::string_view kForced = "ForceActivate";
  if (pod.place != Place::backoff && pod.place != Place::error_backoff) {
    retry(pod, now, kForced, Hint::queue_now);
    return;
  }
  take_out(pod);
  add_active(pod, now, kForced);
}

void Queue::retry_worth(const ClusterEvent& event, MonoTime now, const WaitingGroups::Worth& worth) {
  for (const auto& [pod, hint] : groups_.worth(event, worth))
    if (pod->priority <= event.most_priority) retry(*pod, now, label(event), hint);
}

void Queue::set_class(QueuedPod& pod, PodClass& cls) {
  const bool waits = pod.place == Place::unschedulable || pod.place == Place::gated;
  if (waits) groups_.remove(pod);
  pod.cls = &cls;
  if (waits) groups_.add(pod);
}

void Queue::set_rejector_key(QueuedPod& pod, Symbol key) {
  if (pod.rejector_key == key) return;
  groups_.remove(pod);
  pod.rejector_key = std::move(key);
  groups_.add(pod);
}

/// All of them are out of their heaps before the first compares otherwise than it did.
void Queue::resort(std::span<QueuedPod* const> pods, const std::function<void()>& change) {
  const auto sorted = [](const QueuedPod& pod) {
    return pod.place == Place::active || pod.place == Place::backoff || pod.place == Place::error_backoff;
  };
  for (QueuedPod* pod : pods)
    if (sorted(*pod)) take_out(*pod);
  change();
  for (QueuedPod* pod : pods) {
    if (!sorted(*pod)) continue;
    if (pod->place == Place::active) active_.push(pod);
    if (pod->place == Place::backoff) backoff_.push(pod);
    if (pod->place == Place::error_backoff) error_backoff_.push(pod);
  }
}

/// Of the queue that it is in; it stays counted among the rejected.
void Queue::take_out(QueuedPod& pod) {
  switch (pod.place) {
    case Place::active: active_.erase(&pod); break;
    case Place::backoff: backoff_.erase(&pod); break;
    case Place::error_backoff: error_backoff_.erase(&pod); break;
    case Place::unschedulable:
      unschedulable_.erase(&pod);
      groups_.remove(pod);
      break;
    case Place::gated:
      groups_.remove(pod);
      --gated_;
      break;
    default: break;
  }
}

void Queue::remove(QueuedPod& pod) {
  if (!is_in(pod)) return;
  take_out(pod);
  count(pod, -1);
  pod.place = Place::nowhere;
}

void Queue::flush(MonoTime now) {
  while (!backoff_.empty() && over(*backoff_.top(), now)) add_active(*backoff_.pop(), now, "BackoffComplete");
  while (!error_backoff_.empty() && over(*error_backoff_.top(), now))
    add_active(*error_backoff_.pop(), now, "BackoffComplete");
  while (!unschedulable_.empty() && now - unschedulable_.top()->timestamp > options_.max_unschedulable)
    retry(*unschedulable_.top(), now, "UnschedulableTimeout");
}

QueuedPod* Queue::pop(MonoTime now) {
  flush(now);
  QueuedPod* pod = nullptr;
  if (!active_.empty()) {
    pod = active_.pop();
  } else if (options_.pop_from_backoff && !backoff_.empty()) {
    pod = backoff_.pop();
    if (!pod->first_attempt) pod->first_attempt = now;
    ++incoming_[{"active", "PopFromBackoffQ"}];
  } else {
    return nullptr;
  }
  begin(*pod);
  return pod;
}

bool Queue::take(QueuedPod& pod) {
  if (!is_in(pod)) return false;
  take_out(pod);
  begin(pod);
  return true;
}

/// An attempt; the pod is in no queue any more.
void Queue::begin(QueuedPod& pod) {
  count(pod, -1);
  pod.rejectors = 0;
  pod.pending = 0;
  pod.rejector_key = {};
  pod.place = Place::nowhere;
  ++pod.attempts;
}

std::optional<MonoTime> Queue::next_wakeup() const {
  std::optional<MonoTime> at;
  auto earlier = [&](MonoTime t) {
    if (!at || t < *at) at = t;
  };
  if (!error_backoff_.empty()) earlier(error_backoff_.top()->backoff_until + kWindow);
  if (!backoff_.empty()) earlier(backoff_.top()->backoff_until + kWindow);
  if (!unschedulable_.empty())
    earlier(unschedulable_.top()->timestamp + options_.max_unschedulable + nanoseconds(1));
  return at;
}

QueueSizes Queue::sizes() const {
  return {active_.size(), backoff_.size() + error_backoff_.size(), unschedulable_.size(), gated_};
}

}  // namespace koord::scheduling
