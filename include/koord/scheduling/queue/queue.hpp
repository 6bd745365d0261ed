// Queue: the pods that wait, by priority, in backoff, or for an event.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "koord/scheduling/queue/indexed_heap.hpp"
#include "koord/scheduling/queue/queued_pod.hpp"
#include "koord/scheduling/queue/waiting_groups.hpp"

namespace koord::scheduling {

struct QueueOptions {
  nanoseconds initial_backoff = std::chrono::seconds(1);
  nanoseconds max_backoff = std::chrono::seconds(10);
  /// After this long unschedulable pods are tried again without an event.
  nanoseconds max_unschedulable = std::chrono::minutes(5);
  /// Pods in backoff are tried while nothing else is to do (the gate SchedulerPopFromBackoffQ).
  bool pop_from_backoff = true;
};

/// How many pods are where, as in scheduler_pending_pods.
struct QueueSizes {
  std::size_t active = 0, backoff = 0, unschedulable = 0, gated = 0;
  friend bool operator==(const QueueSizes&, const QueueSizes&) = default;
};

/// kube-scheduler's queue: the first backoff doubles with every failed attempt up to a maximum, ends on a
/// one-second window, and is cut short while nothing else is to do (except after errors). Holds pointers;
/// a pod must be removed before it goes. Pure state on the time that it is told.
class Queue {
 public:
  /// Which plugin keeps a pod out of the active queue now, and rejector_key of that; kNoPlugin: none.
  using Gate = std::function<PluginIndex(QueuedPod&)>;
  Queue(QueueOptions options, const QueueSortPlugin& sort, Gate gate);

  /// A new pod; false: it is gated. `event` labels scheduler_queue_incoming_pods_total, here and below.
  bool add(QueuedPod& pod, MonoTime now, std::string_view event);
  /// After an attempt that failed: with rejectors it waits for an event, else for its backoff. `meanwhile`
  /// is what happened since it was popped.
  void add_failed(QueuedPod& pod, MonoTime now, Hint meanwhile = Hint::skip);
  /// An unschedulable or gated pod is worth another attempt: it becomes active, waits for its backoff, or is
  /// gated (still). True: the first of these.
  bool retry(QueuedPod& pod, MonoTime now, std::string_view event, Hint hint = Hint::queue);
  /// The same of any pod that is not active yet, whatever its backoff.
  void activate(QueuedPod& pod, MonoTime now);
  /// An unschedulable or gated pod is tried again when its backoff is over, and no sooner.
  void back_off(QueuedPod& pod, MonoTime now);
  /// All unschedulable pods that the event makes worth it, asked for group by group.
  void retry_worth(const ClusterEvent& event, MonoTime now, const WaitingGroups::Worth& worth);
  void set_class(QueuedPod& pod, PodClass& cls);
  /// Of an unschedulable or gated pod.
  void set_rejector_key(QueuedPod& pod, Symbol key);
  /// `change` changes what the sort plugin reads of these pods, some of which may be in no queue.
  void resort(std::span<QueuedPod* const> pods, const std::function<void()>& change);
  void remove(QueuedPod& pod);

  /// The next pod to try; its place is then Place::nowhere and nobody its rejector. nullptr: none now.
  QueuedPod* pop(MonoTime now);
  /// The same of this pod, out of turn. False: it is in no queue.
  bool take(QueuedPod& pod);
  /// When pop() may have something that it does not have now; after a pop() that had nothing.
  std::optional<MonoTime> next_wakeup() const;

  QueueSizes sizes() const;
  /// Pods that entered a queue ("active", "backoff", "unschedulable"), by event.
  using Incoming = std::map<std::pair<std::string_view, std::string_view>, std::uint64_t>;
  const Incoming& incoming() const { return incoming_; }
  /// Waiting pods by the plugins that rejected them at their last attempt, or gate them; by profile and
  /// plugin.
  using Rejections = std::unordered_map<const Profile*, std::array<std::uint32_t, 64>>;
  const Rejections& rejections() const { return rejections_; }

 private:
  struct BySort {
    const QueueSortPlugin* sort;
    bool operator()(const QueuedPod& a, const QueuedPod& b) const { return sort->less(a, b); }
  };
  struct ByBackoff {
    const QueueSortPlugin* sort;
    bool operator()(const QueuedPod& a, const QueuedPod& b) const {
      return a.backoff_until != b.backoff_until ? a.backoff_until < b.backoff_until : sort->less(a, b);
    }
  };
  struct ByAge {
    bool operator()(const QueuedPod& a, const QueuedPod& b) const {
      return a.timestamp != b.timestamp ? a.timestamp < b.timestamp : a.order < b.order;
    }
  };
  /// Some queue holds it, or it is gated.
  static bool is_in(const QueuedPod& pod);
  void begin(QueuedPod& pod);
  void flush(MonoTime now);
  void take_out(QueuedPod& pod);
  void add_active(QueuedPod& pod, MonoTime now, std::string_view event);
  bool gate(QueuedPod& pod, std::string_view event);
  void count(const QueuedPod& pod, int change);
  void enter(QueuedPod& pod, Place place, std::string_view queue, std::string_view event);

  QueueOptions options_;
  IndexedHeap<BySort> active_;
  IndexedHeap<ByBackoff> backoff_, error_backoff_;
  IndexedHeap<ByAge> unschedulable_;
  Gate gate_;
  WaitingGroups groups_;  // of the same pods, and of the gated ones
  std::size_t gated_ = 0;
  Incoming incoming_;
  Rejections rejections_;
};

}  // namespace koord::scheduling
