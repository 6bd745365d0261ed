// PermitWaits: pods that are assumed on a node and wait for plugins to permit their binding.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "koord/scheduling/cluster/cluster_event.hpp"
#include "koord/scheduling/engine/decision.hpp"
#include "koord/scheduling/plugin/status.hpp"
#include "koord/scheduling/queue/queued_pod.hpp"

namespace koord::scheduling {

/// Pure state on the time that it is told. Holds pointers; a pod is removed before it goes.
class PermitWaits {
 public:
  struct On {
    PluginIndex plugin;
    nanoseconds timeout;  // from now
  };
  struct Outcome {
    QueuedPod* pod;
    Status status;  // success, or unschedulable with why
    PluginIndex by = kNoPlugin;
    Decision decision;  // that it waits with
    MonoTime since{};
    std::uint64_t events = 0;
  };

  /// `events` is the position in the log of events from which on they concern it.
  void add(QueuedPod& pod, std::span<const On> plugins, MonoTime now, Decision decision,
           std::uint64_t events);
  /// It does not wait any more, and nothing comes of it.
  void remove(QueuedPod& pod);
  bool has(std::string_view uid) const { return waits_.contains(uid); }
  std::size_t size() const { return waits_.size(); }
  /// In the order in which they came.
  std::vector<const QueuedPod*> pods() const;
  /// Of the pod that has waited longest; nothing waits: the largest there is.
  std::uint64_t oldest_events() const;

  void allow(std::string_view uid, PluginIndex plugin);
  /// False: it does not wait.
  bool reject(std::string_view uid, PluginIndex plugin, std::string_view message);
  /// The next pod whose wait is over, by a plugin's word or by time; it does not wait any more.
  std::optional<Outcome> next(MonoTime now);
  /// When next() may have one that it does not have now.
  std::optional<MonoTime> next_wakeup() const;

 private:
  struct Wait {
    QueuedPod* pod;
    std::uint64_t order;
    std::vector<std::pair<PluginIndex, MonoTime>> pending;
    std::vector<On> asked;
    Decision decision;
    MonoTime since;
    std::uint64_t events;
    std::optional<std::pair<Status, PluginIndex>> over;
  };
  using Waits = std::map<std::string, Wait, std::less<>>;  // by uid

  void end(Wait& wait, Status status, PluginIndex by);
  void drop_deadline(const Wait& wait, std::pair<PluginIndex, MonoTime> pending);

  Waits waits_;
  std::map<std::uint64_t, Wait*> by_order_;
  /// (when, order of the pod, plugin) of those that are not over.
  std::set<std::tuple<MonoTime, std::uint64_t, PluginIndex>> deadlines_;
  std::deque<std::uint64_t> over_;  // orders; of those that are still there
  std::uint64_t next_order_ = 0;
};

/// What happened while pods waited, for those that are rejected afterwards. Bounded: what is older than the
/// last kMost events is forgotten, and who asks for it is told so.
class EventLog {
 public:
  struct Entry {
    ClusterEvent event;
    std::shared_ptr<const void> before, now;  // keep what the event points to
  };
  static constexpr std::size_t kMost = 16'384;

  std::uint64_t end() const { return begin_ + entries_.size(); }
  void add(Entry entry);
  /// Nobody asks for what is older.
  void forget(std::uint64_t before);
  /// False: some of them are forgotten.
  bool complete(std::uint64_t from) const { return from >= begin_; }
  /// From the first that complete() allows up to the one before end().
  const Entry& at(std::uint64_t number) const { return entries_[number - begin_]; }

 private:
  std::deque<Entry> entries_;
  std::uint64_t begin_ = 0;
};

}  // namespace koord::scheduling
