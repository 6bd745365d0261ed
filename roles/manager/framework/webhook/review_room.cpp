// ReviewRoom: see review_room.hpp.
#include "framework/webhook/review_room.hpp"

#include "koord/async/timer.hpp"

namespace koord::manager {

ReviewRoom::Place::Place(ReviewRoom& room, std::size_t bytes, bool known)
    : room_(&room), bytes_(bytes), known_(known) {
  for (Limits* used : {&room.all_, known ? nullptr : &room.strangers_}) {
    if (used == nullptr) continue;
    ++used->count;
    used->bytes += bytes;
  }
}

ReviewRoom::Place::~Place() {
  if (room_ == nullptr) return;
  for (Limits* used : {&room_->all_, known_ ? nullptr : &room_->strangers_}) {
    if (used == nullptr) continue;
    --used->count;
    used->bytes -= bytes_;
  }
}

bool ReviewRoom::fits(const Limits& used, std::size_t bytes, const Limits& most) {
  return used.count < most.count && used.bytes + bytes <= most.bytes;
}

std::optional<ReviewRoom::Place> ReviewRoom::enter(std::size_t bytes, bool known) {
  if (!fits(all_, bytes, limits_)) return std::nullopt;
  if (!known && !fits(strangers_, bytes, {limits_.count / 2, limits_.bytes / 2})) return std::nullopt;
  return std::optional<Place>(std::in_place, *this, bytes, known);
}

/// Stands in a list while its coroutine waits; a turn that it was given and did not take goes to the next.
struct ReviewRoom::Asking {
  Asking(ReviewRoom& asked, std::list<Asking*>& in)
      : room(asked), list(in), place(in.insert(in.end(), this)) {}
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() {
    if (!go.is_set())
      list.erase(place);
    else if (!taken)
      room.pass_on();
  }
  ReviewRoom& room;
  Event go;
  bool taken = false;
  std::list<Asking*>& list;
  std::list<Asking*>::iterator place;
};

Task<Result<ReviewRoom::Turn>> ReviewRoom::turn(bool known) {
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

ReviewRoom::Turn::~Turn() {
  if (room_ != nullptr) room_->pass_on();
}

void ReviewRoom::Turn::held(nanoseconds time) { room_->free_at_ = room_->clock_.mono() + time; }

void ReviewRoom::pass_on() {
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
