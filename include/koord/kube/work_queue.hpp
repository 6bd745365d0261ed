// WorkQueue: keys that need work, each once, with backoff for those that failed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "koord/async/event.hpp"
#include "koord/base/clock.hpp"

namespace koord::kube {

struct WorkQueueOptions {
  nanoseconds backoff_first = std::chrono::milliseconds(5);
  nanoseconds backoff_max = std::chrono::seconds(1000);
};

/// A key is queued at most once, is never handed to two workers at a time, and when it is added while it
/// is worked on it comes again after done(). Bounded by the number of keys. One thread or strand.
template <class Key, class Hash = std::hash<Key>>
class WorkQueue {
 public:
  explicit WorkQueue(Clock& clock, WorkQueueOptions options = {}) : clock_(clock), options_(options) {}
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  ~WorkQueue() {
    if (timer_ != 0) clock_.cancel(timer_);
  }

  void add(const Key& key) {
    if (closed_) return;
    Item& item = items_[key];
    if (item.due) {
      due_.erase({*item.due, item.order});
      item.due.reset();
    }
    make_ready(key, item);
  }

  /// Adds the key when `delay` has passed; the earliest of several wins, an add() at once overtakes it.
  void add_after(const Key& key, nanoseconds delay) {
    if (delay <= nanoseconds::zero()) return add(key);
    if (closed_) return;
    Item& item = items_[key];
    if (item.dirty) return;
    const MonoTime at = clock_.mono() + delay;
    if (item.due) {
      if (*item.due <= at) return;
      due_.erase({*item.due, item.order});
    }
    item.due = at;
    item.order = ++order_;
    due_.emplace(std::pair(at, item.order), key);
    arm();
  }

  /// add_after with the key's own backoff: first, twice that, ... until forget().
  void retry(const Key& key) {
    Item& item = items_[key];
    nanoseconds delay = options_.backoff_first;
    for (unsigned i = 0; i < item.failures && delay < options_.backoff_max; ++i) delay *= 2;
    ++item.failures;
    add_after(key, std::min(delay, options_.backoff_max));
  }
  /// The key succeeded (or is given up): its next failure is its first.
  void forget(const Key& key) {
    const auto it = items_.find(key);
    if (it == items_.end()) return;
    it->second.failures = 0;
    drop_if_idle(it);
  }
  unsigned failures(const Key& key) const {
    const auto it = items_.find(key);
    return it == items_.end() ? 0 : it->second.failures;
  }

  /// The key that has waited longest; call done() when it has been worked on.
  std::optional<Key> try_next() {
    if (ready_.empty()) return std::nullopt;
    Key key = std::move(ready_.front());
    ready_.pop_front();
    Item& item = items_[key];
    item.dirty = false;
    item.busy = true;
    if (ready_.empty() && !closed_) readable_.reset();
    return key;
  }
  /// Waits for a key; empty when closed and drained. Error(Code::cancelled) if cancelled.
  Task<Result<std::optional<Key>>> next() {
    while (ready_.empty() && !closed_) KOORD_CO_CHECK(co_await readable_.wait());
    co_return try_next();
  }
  void done(const Key& key) {
    const auto it = items_.find(key);
    if (it == items_.end() || !it->second.busy) return;
    it->second.busy = false;
    if (it->second.dirty)
      enqueue(key);
    else
      drop_if_idle(it);
  }

  /// Later additions are ignored, delayed ones are dropped; what is ready can still be taken.
  void close() {
    closed_ = true;
    for (const auto& [when, key] : due_) items_[key].due.reset();
    due_.clear();
    arm();
    readable_.set();
  }
  std::size_t size() const { return ready_.size(); }
  /// Keys that the queue remembers for any reason: ready, delayed, worked on, or failed before.
  std::size_t known() const { return items_.size(); }

 private:
  struct Item {
    bool dirty = false;  // wants work: in ready_, or busy and to come again
    bool busy = false;
    unsigned failures = 0;
    std::optional<MonoTime> due;
    std::uint64_t order = 0;
  };
  using Items = std::unordered_map<Key, Item, Hash>;

  void make_ready(const Key& key, Item& item) {
    if (item.dirty) return;
    item.dirty = true;
    if (!item.busy) enqueue(key);
  }
  void enqueue(const Key& key) {
    ready_.push_back(key);
    readable_.set();
  }
  void drop_if_idle(typename Items::iterator it) {
    const Item& item = it->second;
    if (!item.dirty && !item.busy && !item.due && item.failures == 0) items_.erase(it);
  }
  void arm() {
    const MonoTime at = due_.empty() ? MonoTime{} : due_.begin()->first.first;
    if (timer_ != 0 && !due_.empty() && timer_at_ <= at) return;
    if (timer_ != 0) clock_.cancel(timer_);
    timer_ = 0;
    if (due_.empty()) return;
    timer_at_ = at;
    timer_ = clock_.call_at(at, [this] { on_timer(); });
  }
  void on_timer() {
    timer_ = 0;
    const MonoTime now = clock_.mono();
    while (!due_.empty() && due_.begin()->first.first <= now) {
      const Key key = std::move(due_.begin()->second);
      due_.erase(due_.begin());
      Item& item = items_[key];
      item.due.reset();
      make_ready(key, item);
    }
    arm();
  }

  Clock& clock_;
  WorkQueueOptions options_;
  Items items_;
  std::deque<Key> ready_;
  std::map<std::pair<MonoTime, std::uint64_t>, Key> due_;
  std::uint64_t order_ = 0;
  TimerId timer_ = 0;
  MonoTime timer_at_{};
  Event readable_;
  bool closed_ = false;
};

}  // namespace koord::kube
