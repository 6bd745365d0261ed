// PermitWaits: pods that are assumed on a node and wait for plugins to permit their binding.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
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

/// Pods that a plugin lets wait with the same key are a group, of which all can be told at once. Each call
/// costs what follows from the pods that it is about, and the logarithm of all that wait. Pure state on the
/// time that it is told. Holds pointers; a pod is removed before it goes.
class PermitWaits {
 public:
  struct On {
    PluginIndex plugin;
    nanoseconds timeout;  // from now
    Symbol key = {};      // see RejectorKey
  };
  struct Outcome {
    QueuedPod* pod;
    Status status;               // success, or unschedulable with why
    PluginIndex by = kNoPlugin;  // whose status, and its key, it is
    Decision decision;           // that it waits with
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

  /// How many wait with the key, and which, in the order in which they came.
  std::size_t size(const RejectorKey& key) const;
  std::vector<const QueuedPod*> pods(const RejectorKey& key) const;

  void allow(std::string_view uid, PluginIndex plugin);
  /// False: it does not wait.
  bool reject(std::string_view uid, PluginIndex plugin, std::string_view message,
              Nomination nomination = Nomination::clear);
  /// Of all that wait with the key: so many.
  std::size_t allow_all(const RejectorKey& key);
  std::size_t reject_all(const RejectorKey& key, std::string_view message,
                         Nomination nomination = Nomination::clear);
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

  using ByOrder = std::map<std::uint64_t, Wait*>;

  static RejectorKey key_of(const Wait& wait, const On& on);
  void allow(Wait& wait, PluginIndex plugin);
  void end(Wait& wait, Status status, PluginIndex by);
  void leave_group(const Wait& wait, const On& on);
  /// Each of those that wait with the key, with the plugin's index in its profile. How many.
  std::size_t tell(const RejectorKey& key, const std::function<void(Wait&, PluginIndex)>& each);
  void drop_deadline(const Wait& wait, std::pair<PluginIndex, MonoTime> pending);

  Waits waits_;
  ByOrder by_order_;
  /// Groups; who has been allowed by the plugin, or whose wait is over, is no member any more.
  std::unordered_map<RejectorKey, ByOrder, RejectorKeyHash> by_key_;
  /// (when, order of the pod, plugin) of those that are not over.
  std::set<std::tuple<MonoTime, std::uint64_t, PluginIndex>> deadlines_;
  std::deque<std::uint64_t> over_;  // orders; those that were removed since are passed over
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
  /// One of these kinds was added from there on.
  bool any(const EventMask& kinds, std::uint64_t from) const;
  /// From the first that complete() allows up to the one before end().
  const Entry& at(std::uint64_t number) const { return entries_[number - begin_]; }

 private:
  std::deque<Entry> entries_;
  std::uint64_t begin_ = 0;
  std::array<std::uint64_t, kEventKinds> ends_{};  // by kind: after the last of them
};

}  // namespace koord::scheduling
