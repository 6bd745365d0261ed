// Feed: whole frames first and for who is slow, changes for who keeps up, and no more streams than there may
// be.
#include "view/page/feed.hpp"

#include <catch2/catch.hpp>

#include "koord/async/task_group.hpp"
#include "support/run_task.hpp"

using namespace koord;
using view::Feed;

namespace {

std::string next(test::Loop& loop, net::BodySource& stream) {
  const auto frames = test::run_task(loop, stream.next());
  REQUIRE(frames.has_value());
  return frames->empty() ? "end" : *frames->front();
}

}  // namespace

TEST_CASE("a reader gets all first, then what changed; one that missed a frame gets all again") {
  test::Loop loop;
  int wholes = 0;
  Feed feed([&] {
    ++wholes;
    return std::string("{\"all\":1}");
  });
  const auto quick = feed.open(), slow = feed.open(), third = feed.open();
  const std::string all = "event: cluster\ndata: {\"all\":1}\n\n";
  CHECK(next(loop, *quick) == all);
  CHECK(next(loop, *slow) == all);
  CHECK(wholes == 1);  // shared
  feed.publish("{\"n\":2}");
  CHECK(next(loop, *quick) == "event: cluster\ndata: {\"n\":2}\n\n");
  feed.publish("{\"n\":3}");
  CHECK(next(loop, *quick) == "event: cluster\ndata: {\"n\":3}\n\n");
  CHECK(next(loop, *slow) == all);
  CHECK(next(loop, *third) == all);
  CHECK(wholes == 2);
}

TEST_CASE("who waits hears of the next frame, of its own end and of the feed's") {
  test::Loop loop;
  Feed feed([] { return std::string("{}"); });
  const auto stream = feed.open(), other = feed.open();
  next(loop, *stream);
  next(loop, *other);
  TaskGroup tasks(loop.executor());
  std::string heard;
  const auto listen = [&](net::BodySource& source) -> Task<> {
    const auto frames = co_await source.next();
    heard += !frames ? "error " : frames->empty() ? "end " : *frames->front();
  };
  tasks.spawn("listen", listen(*stream));
  loop.settle();
  CHECK(heard.empty());
  feed.publish("1");
  loop.settle();
  CHECK(heard == "event: cluster\ndata: 1\n\n");
  heard.clear();
  tasks.spawn("listen", listen(*stream));
  loop.settle();
  stream->cancel();
  loop.settle();
  CHECK(heard == "end ");
  next(loop, *other);
  tasks.spawn("listen", listen(*other));
  loop.settle();
  feed.close();
  loop.settle();
  CHECK(heard == "end end ");
  CHECK(tasks.size() == 0);
  CHECK(feed.open() == nullptr);
}

TEST_CASE("a stream ends after a while, and the next one begins with all there is") {
  test::Loop loop;
  Feed feed([] { return std::string("{}"); });
  const auto stream = feed.open();
  std::uint64_t frames = 0;
  while (next(loop, *stream) != "end") {
    REQUIRE(++frames <= Feed::kFrames);
    feed.publish("1");
  }
  CHECK(frames == Feed::kFrames);
  CHECK(next(loop, *stream) == "end");
  CHECK(next(loop, *feed.open()) == "event: cluster\ndata: {}\n\n");
}

TEST_CASE("what was told while somebody read is not told to who comes after a rest") {
  test::Loop loop;
  int now = 1;
  Feed feed([&] { return std::to_string(now); });
  CHECK(next(loop, *feed.open()) == "event: cluster\ndata: 1\n\n");
  now = 2;
  feed.forget();
  CHECK(next(loop, *feed.open()) == "event: cluster\ndata: 2\n\n");
}

TEST_CASE("streams are bounded, and a place that is left is free again") {
  Feed feed([] { return std::string("{}"); });
  std::vector<std::shared_ptr<net::BodySource>> streams;
  for (std::size_t i = 0; i < Feed::kStreams; ++i) streams.push_back(feed.open());
  CHECK(feed.streams() == Feed::kStreams);
  CHECK(feed.open() == nullptr);
  streams.pop_back();
  CHECK(feed.open() != nullptr);
}
