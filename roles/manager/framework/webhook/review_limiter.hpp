// ReviewLimiter: whole reviews that cannot be answered at once, bounded; the large ones of them in turn.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <utility>

#include "koord/async/event.hpp"
#include "koord/async/task.hpp"
#include "koord/base/clock.hpp"

namespace koord::manager {

/// Anybody may send reviews that wait, so there is room for so many and so many bytes of bodies; who is not
/// known (net::Peer::known) gets half of it. The event loop's thread only; outlives what it gives.
class ReviewLimiter {
 public:
  struct Limits {
    std::size_t count, bytes;
  };
  ReviewLimiter(Clock& clock, Limits limits) : clock_(clock), limits_(limits) {}
  ReviewLimiter(const ReviewLimiter&) = delete;
  ReviewLimiter& operator=(const ReviewLimiter&) = delete;

  /// Gives its room back when it ends.
  class Place {
   public:
    Place(ReviewLimiter& limiter, std::size_t bytes, bool known);
    Place(Place&& other) noexcept
        : limiter_(std::exchange(other.limiter_, nullptr)), bytes_(other.bytes_), known_(other.known_) {}
    Place& operator=(Place&&) = delete;
    ~Place();

   private:
    ReviewLimiter* limiter_;
    std::size_t bytes_;
    bool known_;
  };
  /// Nothing if there is no room: such a review is answered with an error, so that the failurePolicy decides.
  std::optional<Place> enter(std::size_t bytes, bool known);
  /// So long one that was decided in `took` and waits on leaves the event loop to others: all that wait so
  /// take a quarter of its time together.
  nanoseconds rest(nanoseconds took) const { return took * static_cast<std::int64_t>(4 * all_.count); }

  /// One large review at a time; passed on when it ends.
  class Turn {
   public:
    Turn() = default;
    explicit Turn(ReviewLimiter& limiter) : limiter_(&limiter) {}
    Turn(Turn&& other) noexcept : limiter_(std::exchange(other.limiter_, nullptr)) {}
    Turn& operator=(Turn&& other) noexcept {
      std::swap(limiter_, other.limiter_);
      return *this;
    }
    ~Turn();
    /// The event loop was held for so long: the next turn begins no sooner than as much later.
    void held(nanoseconds time);

   private:
    ReviewLimiter* limiter_ = nullptr;
  };
  /// Waits until no other large review has the turn; who is known goes first. Code::cancelled.
  Task<Result<Turn>> turn(bool known);

 private:
  struct Asking;
  void pass_on();
  static bool fits(const Limits& used, std::size_t bytes, const Limits& most);

  Clock& clock_;
  const Limits limits_;
  Limits all_{}, strangers_{};  // used
  std::list<Asking*> known_asking_, strangers_asking_;
  bool busy_ = false;
  MonoTime free_at_{};
};

}  // namespace koord::manager
