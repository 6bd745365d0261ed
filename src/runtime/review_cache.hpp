// ReviewCache: what the API server answered, by the hash of the whole question, for as long as it holds.
#pragma once

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "koord/async/event.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/clock.hpp"

namespace koord::runtime {

using Digest = std::array<unsigned char, 32>;
/// SHA-256: a question holds tokens, which are not kept, and others must not be able to make two alike.
Digest digest_of(std::string_view question);

/// Questions that are equal and under way are one. An answer goes when its time is over, and the one with the
/// least time left where the bytes would be too many. The event loop's thread only.
template <class Answer>
class ReviewCache {
 public:
  using Ptr = std::shared_ptr<const Answer>;
  using Ask = std::function<Task<Result<Answer>>()>;
  /// How long an answer holds, and how many bytes it takes beyond its own size.
  using Retention = std::function<std::pair<nanoseconds, std::size_t>(const Answer&)>;

  ReviewCache(asio::any_io_executor executor, Clock& clock, std::size_t max_bytes, Retention retention)
      : clock_(clock), max_bytes_(max_bytes), retention_(std::move(retention)), tasks_(std::move(executor)) {}
  ~ReviewCache() { clock_.cancel(timer_); }
  ReviewCache(const ReviewCache&) = delete;
  ReviewCache& operator=(const ReviewCache&) = delete;

  /// The answer that holds, or that of `ask`. Who is cancelled leaves the answer to the others; when the last
  /// of them has gone, the question is given up.
  Task<Result<Ptr>> get(Digest key, Ask ask) {
    expire();
    if (const auto found = entries_.find(key); found != entries_.end()) co_return found->second.answer;
    std::shared_ptr<Pending>& slot = pending_[key];
    if (!slot) {
      slot = std::make_shared<Pending>();
      tasks_.spawn("review", ask_server(key, slot, std::move(ask)));
    }
    const std::shared_ptr<Pending> pending = slot;
    const Waiter waiter(*this, key, *pending);
    KOORD_CO_CHECK(co_await pending->answered.wait());
    co_return pending->outcome;
  }

  /// Gives up every question.
  Task<> stop() {
    for (const auto& [key, pending] : pending_) pending->give_up.emit(asio::cancellation_type::terminal);
    co_await tasks_.stop(clock_, std::chrono::milliseconds{100});
  }

  std::size_t size() const { return entries_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Pending {
    Event answered;
    Result<Ptr> outcome = Error(Code::cancelled, "asked to stop");
    asio::cancellation_signal give_up;
    int waiters = 0;
  };
  struct Waiter {
    Waiter(ReviewCache& cache, const Digest& key, Pending& pending)
        : cache_(cache), key_(key), awaited_(pending) {
      ++awaited_.waiters;
    }
    ~Waiter() {
      if (--awaited_.waiters > 0 || awaited_.answered.is_set()) return;
      cache_.pending_.erase(key_);
      awaited_.give_up.emit(asio::cancellation_type::terminal);
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

   private:
    ReviewCache& cache_;
    const Digest key_;
    Pending& awaited_;
  };
  struct Entry {
    Ptr answer;
    std::size_t bytes;
  };

  Task<> ask_server(Digest key, std::shared_ptr<Pending> pending, Ask ask) {
    try {
      const auto executor = co_await asio::this_coro::executor;
      auto token = asio::bind_cancellation_slot(pending->give_up.slot(), asio::use_awaitable);
      Result<Answer> answer = co_await asio::co_spawn(executor, ask(), token);
      if (answer) {
        const auto made = std::make_shared<const Answer>(std::move(*answer));
        remember(key, made);
        pending->outcome = made;
      } else {
        pending->outcome = std::move(answer).error();
      }
    } catch (const boost::system::system_error& e) {
      if (e.code() != asio::error::operation_aborted) throw;
    }
    pending->answered.set();
    if (const auto own = pending_.find(key); own != pending_.end() && own->second == pending)
      pending_.erase(own);
  }

  void remember(const Digest& key, const Ptr& answer) {
    const auto [holds, own_bytes] = retention_(*answer);
    const std::size_t bytes = own_bytes + sizeof(Answer) + kOverhead;
    if (holds <= nanoseconds::zero() || bytes > max_bytes_ || entries_.contains(key)) return;
    while (bytes_ + bytes > max_bytes_) forget_first();
    entries_.emplace(key, Entry{answer, bytes});
    ends_.emplace(clock_.mono() + holds, key);
    bytes_ += bytes;
    arm();
  }
  void forget_first() {
    const auto entry = entries_.find(ends_.begin()->second);
    bytes_ -= entry->second.bytes;
    entries_.erase(entry);
    ends_.erase(ends_.begin());
  }
  void expire() {
    while (!ends_.empty() && ends_.begin()->first <= clock_.mono()) forget_first();
  }
  void arm() {
    clock_.cancel(std::exchange(timer_, 0));
    if (ends_.empty()) return;
    timer_ = clock_.call_at(ends_.begin()->first, [this] {
      timer_ = 0;
      expire();
      arm();
    });
  }

  static constexpr std::size_t kOverhead = 256;  // the nodes of both maps
  Clock& clock_;
  const std::size_t max_bytes_;
  const Retention retention_;
  std::map<Digest, Entry> entries_;
  std::multimap<MonoTime, Digest> ends_;
  std::size_t bytes_ = 0;
  std::map<Digest, std::shared_ptr<Pending>> pending_;
  TimerId timer_ = 0;
  TaskGroup tasks_;
};

}  // namespace koord::runtime
