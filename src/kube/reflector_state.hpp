// ReflectorState: decides how a local copy of a collection follows the server. No I/O, no timers.
#pragma once

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <variant>

#include "koord/base/error.hpp"
#include "retry_pace.hpp"

namespace koord::kube {

struct ReflectorOptions {
  int page_limit = 500;
  /// Each watch asks for a random length in this range, so that restarts spread.
  std::chrono::seconds watch_min{300};
  std::chrono::seconds watch_max{600};
  nanoseconds backoff_first = std::chrono::milliseconds(200);
  nanoseconds backoff_max = std::chrono::seconds(30);
  /// While nothing answers at all a try costs the server nothing, so they come closer together.
  nanoseconds backoff_max_unreachable = std::chrono::seconds(5);
  nanoseconds backoff_forget = std::chrono::seconds(30);
  /// A server that takes sendInitialEvents for an ordinary watch never says that the initial events have
  /// ended; after this much silence the collection is listed instead.
  nanoseconds initial_patience = std::chrono::seconds(60);
  /// A watch that the server has not ended this long after it was due is dead.
  nanoseconds watch_grace = std::chrono::seconds(30);
  bool watch_list = true;
  /// Begins with a watch from here, as if a list had shown this; empty: with a list.
  std::string resume_at;
  /// The server may not serve the kind: its definition is not installed, or not yet. 404 then says that there
  /// is nothing, and not that the way is wrong.
  bool may_be_undefined = false;
  /// What the store has shown is gone after 404s of so long: a proxy may say so for a moment.
  nanoseconds undefined_patience = std::chrono::seconds(30);
  std::uint64_t seed = 1;
};

enum class WatchEventType { added, modified, deleted, bookmark };

/// The driver asks next(), does it, and tells what came of it; then asks again. Every input carries the
/// time, so that a test needs no clock.
class ReflectorState {
 public:
  /// One page. `first`: the store begins a replacement (see Store::begin_replace).
  struct List {
    std::string continue_token;
    int limit = 0;  // 0: the whole collection at once
    bool first = false;
  };
  struct Watch {
    std::string resource_version;
    /// Watch-list: sendInitialEvents=true, resourceVersionMatch=NotOlderThan; the store begins a replacement.
    bool initial_events = false;
    std::chrono::seconds timeout{};  // timeoutSeconds
  };
  struct Wait {
    MonoTime until;
  };
  using Action = std::variant<List, Watch, Wait>;

  /// What the driver does to the store after an input.
  enum class Effect {
    none,      // nothing: a bookmark or a duplicate
    apply,     // the object is put into the store or taken out
    complete,  // the replacement is whole: what it did not name is gone (Store::end_replace)
    empty,     // the server does not serve the kind: all is gone, as if an empty replacement were whole
  };

  explicit ReflectorState(ReflectorOptions options);

  Action next(MonoTime now);

  /// A page came: its items have been put into the store.
  Effect on_page(std::string_view resource_version, std::string_view continue_token, MonoTime now);
  /// An event of the running watch. `initial_end`: a bookmark with the annotation k8s.io/initial-events-end.
  Effect on_event(WatchEventType type, std::string_view resource_version, bool initial_end, MonoTime now);
  /// A list or watch failed, or the watch sent an ERROR event. The action is over. Effect: none or empty.
  Effect on_error(const Error& error, MonoTime now);
  /// Whether the error says no more than that the server begins no watch with what is there (it does not know
  /// watch-lists, or has them switched off: 1.31, 1.33 and older): after on_error() the kind is listed
  /// instead. That costs one request, and is no failure.
  bool refuses_watch_list(const Error& error) const;
  /// The server ended the watch in order, as it does when timeoutSeconds have passed.
  void on_watch_end(MonoTime now);
  /// When the running watch has to be given up if nothing more comes; then call on_deadline.
  std::optional<MonoTime> deadline() const;
  void on_deadline(MonoTime now);

  /// The version up to which the store is known to be whole; empty before the first list.
  const std::string& resource_version() const { return version_; }
  /// The version of the last change that a watch brought; empty: none has.
  const std::string& last_change() const { return last_change_; }
  /// True once the store has been whole (or empty as the kind is not served); stays true.
  bool synced() const { return synced_; }
  bool uses_watch_list() const { return watch_list_; }
  /// False where one is no decimal number: nothing is known then.
  static bool older(std::string_view a, std::string_view b);

 private:
  enum class Phase { replace, list, initial_events, watch };

  /// The replacement ends; an ordinary watch is next.
  Effect whole();
  void fail(const Error& error, MonoTime now);
  /// The server said 404.
  Effect on_undefined(MonoTime now);
  void restart_replace();

  ReflectorOptions options_;
  RetryPace pace_, pace_unreachable_;
  std::mt19937_64 random_;
  Phase phase_ = Phase::replace;
  bool watch_list_;
  bool synced_ = false;
  bool whole_list_ = false;  // pages expire faster than they are read: ask for all at once
  std::string last_change_;
  std::string version_;         // where an ordinary watch resumes
  std::string not_older_than_;  // for a watch-list
  std::string list_version_, continue_token_;
  MonoTime not_before_{};
  MonoTime started_{}, last_event_{};
  nanoseconds watch_length_{};
  bool eventful_ = false;
  int unreadable_ = 0;  // failed to decode, at this version
  std::optional<MonoTime> undefined_since_;
  bool empty_told_ = false;
};

}  // namespace koord::kube
