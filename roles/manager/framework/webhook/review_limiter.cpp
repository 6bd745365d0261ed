// ReviewLimiter: see review_limiter.hpp.
#include "framework/webhook/review_limiter.hpp"

#include "koord/async/timer.hpp"

namespace koord::manager {

ReviewLimiter::Place::Place(ReviewLimiter& limiter, std::size_t bytes, bool known)
    : limiter_(&limiter), bytes_(bytes), known_(known) {
  for (Limits* used : {&limiter.all_, known ? nullptr : &limiter.strangers_}) {
    if (used == nullptr) continue;
    ++used->count;
    used->bytes += bytes;
  }
}

ReviewLimiter::Place::~Place() {
  if (limiter_ == nullptr) return;
  for (Limits* used : {&limiter_->all_, known_ ? nullptr : &limiter_->strangers_}) {
    if (used == nullptr) continue;
    --used->count;
    used->bytes -= bytes_;
  }
}

bool ReviewLimiter::fits(const Limits& used, std::size_t bytes, const Limits& most) {
  return used.count < most.count && used.bytes + bytes <= most.bytes;
}

std::optional<ReviewLimiter::Place> ReviewLimiter::enter(std::size_t bytes, bool known) {
  if (!fits(all_, bytes, limits_)) return std::nullopt;
  if (!known && !fits(strangers_, bytes, {limits_.count / 2, limits_.bytes / 2})) return std::nullopt;
  return std::optional<Place>(std::in_place, *this, bytes, known);
}

/// Stands in a list while its coroutine waits; a turn that it was given and did not take goes to the next.
struct ReviewLimiter::Asking {
  Asking(ReviewLimiter& asked, std::list<Asking*>& in)
      : limiter(asked), list(in), place(in.insert(in.end(), this)) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() {
    if (!go.is_set())
      list.erase(place);
    else if (!taken)
      limiter.pass_on();
  }
  ReviewLimiter& limiter;
  Event go;
  bool taken = false;
  std::list<Asking*>& list;
  std::list<Asking*>::iterator place;
};

Task<Result<ReviewLimiter::Turn>> ReviewLimiter::turn(bool known) {
  Turn turn;
  if (busy_) {
    Asking asking(*this, known ? known_asking_ : strangers_asking_);
    KOORD_CO_CHECK(co_await asking.go.wait());
    asking.taken = true;
    turn = Turn(*this);
  } else {
    busy_ = true;
    turn = Turn(*this);
  }
  if (clock_.mono() < free_at_) KOORD_CO_CHECK(co_await sleep_until(clock_, free_at_));
  co_return turn;
}

ReviewLimiter::Turn::~Turn() {
  if (limiter_ != nullptr) limiter_->pass_on();
}

void ReviewLimiter::Turn::held(nanoseconds time) { limiter_->free_at_ = limiter_->clock_.mono() + time; }

void ReviewLimiter::pass_on() {
  for (std::list<Asking*>* asking : {&known_asking_, &strangers_asking_}) {
    if (asking->empty()) continue;
    Asking& next = *asking->front();
    asking->pop_front();
    next.go.set();
    return;
  }
  busy_ = false;
}

}  // namespace koord::manager
