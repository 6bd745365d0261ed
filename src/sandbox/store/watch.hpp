// Watch: one client's place in a collection's history; gives out frames that share the objects' bytes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "koord/base/clock.hpp"
#include "sandbox/store/store.hpp"

namespace koord::sandbox {

struct WatchOptions {
  std::string ns, name;                           // empty: all
  std::function<bool(const Object&)> match;       // selectors; empty: everything
  std::function<Bytes(const ObjectPtr&)> render;  // another form (Table, another version); empty: as stored
  std::string api_version, kind;                  // of bookmarks
  std::optional<std::uint64_t> after;  // changes after this version; none: begin with what there is
  bool initial_end = false;            // a bookmark says where what there is ends
  bool bookmarks = false;
  MonoTime deadline = MonoTime::max();       // the server ends it then
  MonoTime last_bookmark = MonoTime::max();  // before that end the watcher is told how far it is
  // And then, if what there was at the beginning has not been read: it is held for one who does not read.
  MonoTime initial_deadline = MonoTime::max();
};

class Watch final : public Listener {
 public:
  Watch(Collection& collection, WatchOptions options);
  ~Watch() override;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  enum class State { ready, waiting, ended };
  /// Appends the frames of up to `max_events` events: waiting if there are none now, ended if there
  /// will be none any more.
  State read(std::vector<Bytes>& out, std::size_t max_events = 256);
  /// Called once when read() may have something after it returned `waiting`.
  void set_wake(std::function<void()> wake) { wake_ = std::move(wake); }

  void on_changes() override;
  /// The time has come for a bookmark; given when all changes have been read.
  void want_bookmark();
  /// True once, when the bookmark before the end is due.
  bool take_last_bookmark(MonoTime now) {
    if (now < options_.last_bookmark) return false;
    options_.last_bookmark = MonoTime::max();
    return true;
  }
  /// No more events: what read() has not given is lost, as when a connection breaks.
  void end();
  /// An ERROR event with this Status ends the watch.
  void fail(std::string status_json);
  MonoTime deadline() const { return options_.deadline; }
  bool overdue(MonoTime now) const {
    return now >= options_.deadline || (now >= options_.initial_deadline && initial_next_ < initial_.size());
  }

 private:
  bool concerns(const Object& object) const;
  void emit(std::vector<Bytes>& out, Change::Type type, const ObjectPtr& object) const;
  bool emit_change(std::vector<Bytes>& out, const Change& change) const;
  void emit_bookmark(std::vector<Bytes>& out, bool initial_end) const;

  Collection& collection_;
  WatchOptions options_;
  std::vector<ObjectPtr> initial_;
  std::size_t initial_next_ = 0;
  std::uint64_t next_ = 0;  // number of the next change
  bool owes_initial_end_ = false, owes_bookmark_ = false, ended_ = false;
  std::optional<std::string> failure_;
  std::function<void()> wake_;
};

}  // namespace koord::sandbox
