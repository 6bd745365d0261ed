// Feed: frames by number; see feed.hpp.
#include "view/page/feed.hpp"

#include <fmt/format.h>

namespace koord::view {

namespace {

net::Bytes event(const std::string& json) {
  return std::make_shared<const std::string>(fmt::format("event: cluster\ndata: {}\n\n", json));
}

}  // namespace

class Feed::Stream final : public net::BodySource {
 public:
  explicit Stream(Feed& feed) : feed_(feed), end_(feed.number_ + kFrames) { ++feed_.streams_; }
  ~Stream() override { --feed_.streams_; }

  Task<Result<std::vector<net::Bytes>>> next() override {
    std::vector<net::Bytes> frames;
    while (!cancelled_ && !feed_.closed_ && seen_ == feed_.number_) {
      feed_.news_.reset();
      const Result<> waited = co_await feed_.news_.wait();
      if (!waited) co_return Result<std::vector<net::Bytes>>(std::move(frames));
    }
    if (cancelled_ || feed_.closed_ || feed_.number_ >= end_)
      co_return Result<std::vector<net::Bytes>>(std::move(frames));
    frames.push_back(feed_.frame_after(seen_));
    seen_ = feed_.number_;
    co_return Result<std::vector<net::Bytes>>(std::move(frames));
  }
  void cancel() override {
    cancelled_ = true;
    feed_.news_.set();
  }

 private:
  Feed& feed_;
  const std::uint64_t end_;  // the first frame that is not told here
  std::uint64_t seen_ = 0;
  bool cancelled_ = false;
};

std::shared_ptr<net::BodySource> Feed::open() {
  if (streams_ >= kStreams || closed_) return nullptr;
  return std::make_shared<Stream>(*this);
}

void Feed::publish(const std::string& delta) {
  delta_ = event(delta);
  ++number_;
  news_.set();
}

void Feed::forget() {
  delta_.reset();
  whole_frame_.reset();
  whole_number_ = 0;
}

void Feed::close() {
  closed_ = true;
  news_.set();
}

net::Bytes Feed::frame_after(std::uint64_t seen) {
  if (seen > 0 && seen + 1 == number_ && delta_) return delta_;
  if (whole_number_ != number_) {
    whole_frame_ = event(whole_());
    whole_number_ = number_;
  }
  return whole_frame_;
}

}  // namespace koord::view
