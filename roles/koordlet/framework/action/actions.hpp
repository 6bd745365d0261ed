// Actions: which actions may begin now, what is under way, and what was done lately, remembered by a small
// file for the agent that comes next: one that is killed between two evictions does not begin to count anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/keep/boot_file.hpp"
#include "framework/plan/action.hpp"
#include "koord/base/clock.hpp"
#include "koord/base/log.hpp"
#include "koord/base/metrics.hpp"

namespace koord::koordlet {

/// How it stands with a pod that might be acted on.
enum class Standing : std::uint8_t {
  free,     // it may be
  pending,  // it is under way, or was done lately: what it frees counts already
  refused,  // it failed lately, or does not end: others first
  spared,   // never: the agent's own pod, a static or a critical one
};

/// Used on the event loop's thread.
class Actions {
 public:
  static const metrics::Table kMetrics;
  struct Options {
    BootFile::Place file;
    /// --only-evict-by-api: pods are evicted; otherwise their containers are stopped.
    bool only_by_api = false;
    /// --evictions-per-hour: so many actions in any hour, of all strategies; 0: no such bound.
    std::int64_t per_hour = 0;
    std::string own_pod;  // the uid of the pod that the agent runs in; empty: in none
    /// How long others wait for one that is under way.
    nanoseconds patience = std::chrono::seconds(30);
    /// How long a pod that was acted on and is still there, with the same containers, counts as going.
    nanoseconds going = std::chrono::minutes(2);
  };
  /// All outlive it.
  Actions(Options options, ActionRunner& runner, Clock& clock, Logger log, metrics::Registry& metrics);
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  /// What an earlier agent of this boot did. The groups whose tasks it was about to stop and has not said
  /// whether it did: they may be frozen. After an error nothing was taken over.
  Result<std::vector<std::string>> load();

  // What strategies ask. What one of them did on trial only that one sees.
  Standing standing(const PodInfo& pod, std::string_view strategy) const;
  bool is_spared(const PodInfo& pod) const;
  /// Whether an action of the strategy is under way, or one that did not fail began less than `cool` ago.
  bool is_cooling(std::string_view strategy, nanoseconds cool) const;
  /// How many more may begin now.
  std::int64_t room(std::string_view strategy) const;

  /// Begins it, written down beforehand; false: it may not. `dry`: it counts as done, and is only told.
  bool begin(Action action, bool dry);
  /// Once a tick: forgets what is too old, and settles whether evictions happened that nobody answered for:
  /// by the node's pods, which were listed at `listed`.
  void tick(const Inventory& inventory, std::optional<MonoTime> listed);

 private:
  enum class State : std::uint8_t {
    running,
    done,
    failed,
    unsure,  // nobody can tell: the agent died meanwhile, or the API server did not answer
    dry,
  };
  struct Row {
    std::string strategy, uid;
    ActionKind kind{};
    State state{};
    MonoTime begun{};
    MonoTime shows_at{};  // of an unsure one: by then it shows whether it was done
    MonoTime retry_at{};  // of a failed or unsure one
    std::uint64_t id = 0;
    std::uint32_t failures = 0;       // in a row, of a pod
    std::vector<std::string> groups;  // whose tasks are or were stopped
    std::string ns, name;             // of the pod
  };
  std::optional<Row> parse(std::string_view line) const;
  void save();
  void finish(std::uint64_t id, const Result<>& outcome);
  const Row* find(std::string_view uid, std::string_view strategy) const;
  bool is_overdue(const Row& row) const;
  bool goes_on(const Row& row, const PodInfo& pod) const;
  bool is_needed(const Row& row) const;
  bool settle(Row& row, const Inventory& inventory, std::optional<MonoTime> listed) const;

  Options options_;
  BootFile file_;
  ActionRunner& runner_;
  Clock& clock_;
  Logger log_;
  metrics::Family<metrics::Counter> evictions_, details_;
  std::map<std::pair<std::string, std::string>, MonoTime> shown_;  // details that are shown, by pod
  std::vector<Row> rows_;                                          // ascending by the time of their beginning
  std::uint64_t last_id_ = 0;
  std::optional<MonoTime> save_failed_;  // when the log was told
};

/// The uid of the pod in whose mounts (/proc/self/mountinfo) a process lives; empty: it lives in none.
std::string own_pod_uid(std::string_view mountinfo);

}  // namespace koord::koordlet
