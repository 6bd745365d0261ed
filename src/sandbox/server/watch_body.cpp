// Frames of a watch, as many as there are, whenever there are some.
#include "sandbox/server/watch_body.hpp"

namespace koord::sandbox {

WatchBody::WatchBody(std::unique_ptr<Watch> watch, Open& open)
    : watch_(std::move(watch)), open_(open), place_(open_.insert(open_.end(), this)) {}

WatchBody::~WatchBody() { open_.erase(place_); }

Task<Result<std::vector<Bytes>>> WatchBody::next() {
  std::vector<Bytes> frames;
  while (!cancelled_) {
    if (broken_) co_return Error(Code::unavailable, "the watch is broken off");
    Watch::State state = watch_->read(frames);
    if (!frames.empty() || state == Watch::State::ended) break;
    if (state == Watch::State::ready) continue;
    news_.reset();
    watch_->set_wake([this] { news_.set(); });
    auto waited = co_await news_.wait();
    if (!waited) break;
  }
  co_return Result<std::vector<Bytes>>(std::move(frames));
}

void WatchBody::cancel() {
  cancelled_ = true;
  news_.set();
}

void WatchBody::break_off() {
  broken_ = true;
  news_.set();
}

}  // namespace koord::sandbox
