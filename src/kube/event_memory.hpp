// What an event recorder remembers: series of equal events, and a token bucket for each object. No I/O.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "koord/base/clock.hpp"

namespace koord::kube {

/// A map that forgets what was longest unused once it holds `limit` entries.
template <class Value>
class RecentMap {
 public:
  using Entry = std::pair<std::string, Value>;
  explicit RecentMap(std::size_t limit) : limit_(limit) {}

  Value* find(const std::string& key) {
    const auto it = index_.find(key);
    if (it == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, it->second);
    return &it->second->second;
  }
  /// Adds a key that is not there; what had to go for it, if anything.
  std::optional<Entry> add(std::string key, Value value) {
    std::optional<Entry> gone;
    if (entries_.size() >= limit_) {
      index_.erase(entries_.back().first);  // before its key is moved away
      gone = std::move(entries_.back());
      entries_.pop_back();
    }
    entries_.emplace_front(std::move(key), std::move(value));
    index_.emplace(entries_.front().first, entries_.begin());
    return gone;
  }
  template <class Fn>
  void erase_if(Fn fn) {
    for (auto it = entries_.begin(); it != entries_.end();) {
      const auto here = it++;
      if (!fn(here->second)) continue;
      index_.erase(here->first);
      entries_.erase(here);
    }
  }
  std::size_t size() const { return entries_.size(); }

 private:
  std::size_t limit_;
  std::list<Entry> entries_;
  std::unordered_map<std::string_view, typename std::list<Entry>::iterator> index_;  // keys live in entries_
};

/// So many events of an object at once, and one more each `refill`: a loop about one object does not
/// flood the server, and does not silence the others.
class EventLimiter {
 public:
  EventLimiter(int burst, nanoseconds refill, std::size_t limit)
      : burst_(burst), refill_(refill), buckets_(limit) {}
  bool allow(const std::string& object, MonoTime now);

 private:
  struct Bucket {
    double tokens;
    MonoTime at;
  };
  int burst_;
  nanoseconds refill_;
  RecentMap<Bucket> buckets_;
};

/// Equal events within a window become a series, as client-go's recorder makes them: the second is written
/// at once, later ones are counted and written when the series is refreshed or ends.
class EventSeriesMemory {
 public:
  struct Write {  // of a series that exists on the server as an event
    std::string ns, name;
    int count;
    WallTime last;
  };
  enum class Answer { first, second, counted };

  EventSeriesMemory(nanoseconds window, nanoseconds refresh, std::size_t limit)
      : window_(window), refresh_(refresh), series_(limit) {}

  /// `first`: the caller writes a new event and calls remember(), or lets both be. `second`: it writes
  /// `write`. `counted`: nothing.
  Answer seen(const std::string& key, MonoTime now, WallTime wall, Write& write);
  /// The event of this key is being written as ns/name.
  void remember(std::string key, std::string_view ns, std::string_view name, MonoTime now, WallTime wall);
  /// The event is not on the server: the next equal one is a first.
  void forget(std::string_view ns, std::string_view name);
  /// What has to be written by now. Forgets what has not been seen for the window.
  std::vector<Write> due(MonoTime now);
  bool empty() const { return series_.size() == 0 && evicted_.empty(); }

 private:
  struct Series {
    std::string ns, name;
    int count = 1, written = 1;
    MonoTime seen_at{}, written_at{};
    WallTime last{};
  };
  static Write write_of(Series& series, MonoTime now);

  nanoseconds window_, refresh_;
  RecentMap<Series> series_;
  std::vector<Write> evicted_;
};

}  // namespace koord::kube
