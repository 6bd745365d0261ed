// Bounded queues between coroutines (Channel) and from other threads to one coroutine (Inbox).
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "koord/async/event.hpp"

namespace koord {

/// One thread or strand; any number of producers and consumers there.
template <class T>
class Channel {
 public:
  explicit Channel(std::size_t capacity) : capacity_(capacity) { writable_.set(); }

  /// False if it is full or closed; the value is then untouched.
  bool try_push(T&& value) {
    if (closed_ || items_.size() >= capacity_) return false;
    items_.push_back(std::move(value));
    update();
    return true;
  }
  /// Waits for room; Error(Code::cancelled) if cancelled or closed.
  Task<Result<>> push(T value) {
    while (!try_push(std::move(value))) {
      if (closed_) co_return Error(Code::cancelled, "the channel is closed");
      KOORD_CO_CHECK(co_await writable_.wait());
    }
    co_return Result<>();
  }
  std::optional<T> try_pop() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> value(std::move(items_.front()));
    items_.pop_front();
    update();
    return value;
  }
  /// Waits for a value; empty when the channel is closed and drained.
  Task<Result<std::optional<T>>> pop() {
    while (items_.empty() && !closed_) KOORD_CO_CHECK(co_await readable_.wait());
    co_return try_pop();
  }
  /// No more values; what is queued can still be popped.
  void close() {
    closed_ = true;
    update();
  }
  std::size_t size() const { return items_.size(); }
  bool closed() const { return closed_; }

 private:
  void update() {
    if (!items_.empty() || closed_)
      readable_.set();
    else
      readable_.reset();
    if (items_.size() < capacity_ || closed_)
      writable_.set();
    else
      writable_.reset();
  }

  std::size_t capacity_;
  std::deque<T> items_;
  Event readable_;
  Event writable_;
  bool closed_ = false;
};

/// push() from any thread; drain() by one coroutine on the executor, which takes all at once.
template <class T>
class Inbox {
 public:
  Inbox(boost::asio::any_io_executor executor, std::size_t capacity)
      : executor_(std::move(executor)), shared_(std::make_shared<Shared>(capacity)) {}
  ~Inbox() {
    const std::lock_guard lock(shared_->mutex);
    shared_->closed = true;
  }

  /// False if full or closed: the producer decides what that means.
  bool push(T value) {
    {
      const std::lock_guard lock(shared_->mutex);
      if (shared_->closed || shared_->items.size() >= shared_->capacity) return false;
      shared_->items.push_back(std::move(value));
      if (std::exchange(shared_->posted, true)) return true;
    }
    boost::asio::post(executor_, [shared = shared_] { shared->arrived.set(); });
    return true;
  }
  /// Waits until something is there and takes it all, in order of arrival.
  Task<Result<std::deque<T>>> drain() {
    KOORD_CO_CHECK(co_await shared_->arrived.wait());
    shared_->arrived.reset();
    const std::lock_guard lock(shared_->mutex);
    shared_->posted = false;
    co_return std::exchange(shared_->items, {});
  }

 private:
  struct Shared {
    explicit Shared(std::size_t n) : capacity(n) {}
    std::mutex mutex;
    std::deque<T> items;
    const std::size_t capacity;
    bool posted = false;
    bool closed = false;
    Event arrived;  // touched on the executor only
  };
  boost::asio::any_io_executor executor_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace koord
