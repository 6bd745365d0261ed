// Feed: the cluster's frames as server-sent events, to many readers of any speed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "koord/async/event.hpp"
#include "koord/net/message.hpp"

namespace koord::view {

/// One thread. A reader is given a whole frame first, then what changed; one that misses a frame is given a
/// whole one again, so that nothing queues for it: it holds at most the frame that is being written to it.
/// All share the bytes. A stream ends after kFrames: who reads asks again, and is looked at again by whoever
/// lets readers in. Outlives its streams.
class Feed {
 public:
  static constexpr std::size_t kStreams = 64;
  static constexpr std::uint64_t kFrames = 150;  // 5 minutes of one every 2 s

  /// `whole`: the JSON of all there is now; asked once a frame at most.
  explicit Feed(std::function<std::string()> whole) : whole_(std::move(whole)) {}

  /// Null: as many as there may be read already.
  std::shared_ptr<net::BodySource> open();
  std::size_t streams() const { return streams_; }
  /// The JSON of what has changed since the frame before.
  void publish(const std::string& delta);
  /// Nobody reads, and what changed is not told: the next reader is given all there is then.
  void forget();
  /// Ends all streams.
  void close();

 private:
  class Stream;
  net::Bytes frame_after(std::uint64_t seen);

  std::function<std::string()> whole_;
  std::size_t streams_ = 0;
  std::uint64_t number_ = 1;  // of the newest frame
  net::Bytes delta_, whole_frame_;
  std::uint64_t whole_number_ = 0;
  Event news_;
  bool closed_ = false;
};

}  // namespace koord::view
