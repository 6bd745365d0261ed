// What is passed on: bytes, streams, metadata, the end of either side, and many at once.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include <random>
#include <thread>

#include "rpc_rig.hpp"
#include "stream_rig.hpp"

namespace koord::rpc {
namespace {

using namespace test_rig;

constexpr char kMethod[] = "/some.Service/Method";

/// A relay between a caller and a back end. The event loop runs on a thread of its own: callers block.
struct Relay {
  explicit Relay(int max_streams = 1000) : backend(rig.path("back.sock")) {
    auto options = rig.options("front.sock");
    options.rest = &rig.channel("back.sock");
    options.max_streams = max_streams;
    server = &rig.server(options);
    REQUIRE(server->listen().has_value());
    loop_ = std::thread([this] {
      while (!stop_) {
        rig.loop.context.restart();
        rig.loop.context.run_one_for(5ms);
      }
    });
  }
  ~Relay() {
    stop_ = true;
    loop_.join();
  }
  std::string front() const { return rig.path("front.sock"); }
  template <class Condition>
  void until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > end)
        throw std::runtime_error(
            fmt::format("it never came: calls {} messages {} closed {} cancelled {}, open {}",
                        backend.count("calls"), backend.count("messages"), backend.count("closed"),
                        backend.count("cancelled"), server->relayed().open));
      std::this_thread::yield();
    }
  }

  Rig rig;
  StreamBackend backend;
  Server* server = nullptr;

 private:
  std::atomic<bool> stop_ = false;
  std::thread loop_;
};

TEST_CASE("Messages go both ways in their order, however many, and so does the end") {
  Relay relay;
  StreamCaller caller(relay.front(), kMethod);
  for (const std::string text : {"one", "", "three"}) {
    REQUIRE(caller.send(text));
    CHECK(caller.receive() == text);
  }
  REQUIRE(caller.send("flood 500"));
  for (int i = 0; i < 500; ++i) REQUIRE(caller.receive() == "flood 500");
  REQUIRE(caller.close());
  CHECK_FALSE(caller.receive());
  CHECK(caller.end().ok());
  CHECK(relay.backend.count("closed") == 1);
  relay.until([&] { return relay.server->relayed().open == 0; });
  CHECK(relay.server->relayed().calls == 1);
  CHECK(relay.server->relayed().messages == 4 + 503);
}

TEST_CASE("Metadata, headers, trailers, status and details are the back end's") {
  Relay relay;
  StreamCaller caller(relay.front(), kMethod, [](grpc::ClientContext& context) {
    context.AddMetadata("traceparent", "00-1-2-01");
    context.AddMetadata("some-bin", std::string("\0\x80", 2));
  });
  REQUIRE(caller.send("end"));
  CHECK_FALSE(caller.receive());
  const grpc::Status status = caller.end();
  CHECK(status.error_code() == grpc::StatusCode::NOT_FOUND);
  CHECK(status.error_message() == "gone");
  CHECK(status.error_details() == "details");
  CHECK(caller.header_fields() ==
        Metadata{{"some-bin", std::string("\0\x80", 2)}, {"traceparent", "00-1-2-01"}});
  CHECK(caller.trailer_fields() == Metadata{{"a-trailer", "t"}});
}

TEST_CASE("Headers do not wait for a message, messages not for the next one") {
  Relay relay;
  StreamCaller caller(relay.front(), kMethod,
                      [](grpc::ClientContext& context) { context.AddMetadata("h", "1"); });
  REQUIRE(caller.send("headers"));
  REQUIRE(caller.headers());
  CHECK(caller.header_fields() == Metadata{{"h", "1"}});
  REQUIRE(caller.send("silence"));
  relay.until([&] { return relay.backend.count("messages") == 2; });
  REQUIRE(caller.send("now"));
  CHECK(caller.receive() == "now");
}

TEST_CASE("A call without any message arrives as one") {
  Relay relay;
  StreamCaller caller(relay.front(), kMethod);
  REQUIRE(caller.close());
  CHECK_FALSE(caller.receive());
  CHECK(caller.end().ok());
  CHECK(relay.backend.count("messages") == 0);
  CHECK(relay.backend.count("closed") == 1);
}

TEST_CASE("A caller that gives up or goes ends the call behind, too") {
  Relay relay;
  {
    StreamCaller caller(relay.front(), kMethod);
    REQUIRE(caller.send("x"));
    CHECK(caller.receive() == "x");
    caller.context.TryCancel();
    relay.until([&] { return relay.backend.count("cancelled") == 1; });
  }
  {
    StreamCaller caller(relay.front(), kMethod);
    REQUIRE(caller.send("silence"));
    relay.until([&] { return relay.backend.count("messages") == 2; });
  }
  relay.until([&] { return relay.backend.count("cancelled") == 2; });
  relay.until([&] { return relay.server->relayed().open == 0; });
}

TEST_CASE("The caller's time ends the call behind") {
  Relay relay;
  StreamCaller caller(relay.front(), kMethod, [](grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + 300ms);
  });
  REQUIRE(caller.send("silence"));
  CHECK_FALSE(caller.receive());
  CHECK(caller.end().error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
  relay.until([&] { return relay.backend.count("cancelled") == 1; });
}

TEST_CASE("Big messages pass, bigger ones than 16 MiB do not and say so") {
  Relay relay;
  {
    StreamCaller caller(relay.front(), kMethod);
    std::string big(15 << 20, '\0');
    std::mt19937 random(7);
    for (std::size_t i = 0; i < big.size(); i += 4096) big[i] = static_cast<char>(random());
    REQUIRE(caller.send(big));
    CHECK(caller.receive() == big);
  }
  StreamCaller caller(relay.front(), kMethod);
  (void)caller.send(std::string(17 << 20, 'x'));
  CHECK_FALSE(caller.receive());
  CHECK(caller.end().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_CASE("Random talks of many callers at once come out as without a relay") {
  Relay relay(8);
  const auto talk = [&](unsigned seed, int& wrong) {
    std::mt19937 random(seed);
    for (int calls = 0; calls < 10; ++calls) {
      StreamCaller caller(relay.front(), kMethod);
      const int messages = static_cast<int>(random() % 5);
      bool ended = false;
      for (int i = 0; i < messages && !ended; ++i) {
        const unsigned kind = random() % 8;
        if (kind == 0) {
          wrong += caller.send("end") && !caller.receive() ? 0 : 1;
          ended = true;
        } else if (kind == 1) {
          const int many = static_cast<int>(random() % 20) + 1;
          const std::string text = "flood " + std::to_string(many);
          wrong += caller.send(text) ? 0 : 1;
          for (int j = 0; j < many; ++j) wrong += caller.receive() == text ? 0 : 1;
        } else {
          const std::string text(random() % 70'000, static_cast<char>('a' + kind));
          wrong += caller.send(text) && caller.receive() == text ? 0 : 1;
        }
      }
      if (!ended && random() % 4 != 0) {
        wrong += caller.close() && !caller.receive() ? 0 : 1;
        wrong += caller.end().ok() ? 0 : 1;
      } else if (ended) {
        wrong += caller.end().error_code() == grpc::StatusCode::NOT_FOUND ? 0 : 1;
      }  // else it goes in the middle
    }
  };
  constexpr unsigned kCallers = 8;
  int wrong[kCallers] = {};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kCallers; ++i) threads.emplace_back([&, i] { talk(i + 1, wrong[i]); });
  for (auto& thread : threads) thread.join();
  for (unsigned i = 0; i < kCallers; ++i) CHECK(wrong[i] == 0);
  relay.until([&] { return relay.server->relayed().open == 0; });
}

TEST_CASE("A back end that is away is an error, never a wrong answer; one that comes back serves again") {
  Rig rig;
  auto options = rig.options("front.sock");
  options.rest = &rig.channel("back.sock");
  REQUIRE(rig.server(options).listen().has_value());
  Channel& caller = rig.channel("front.sock");
  CHECK(rig.call(caller, kMethod, "x").status.code == StatusCode::unavailable);
  for (int round = 0; round < 2; ++round) {
    StreamBackend backend(rig.path("back.sock"));
    Reply reply;
    rig.until([&] { return (reply = rig.call(caller, kMethod, "x")).status.ok(); });
    CHECK(reply.message == "x");
  }
  CHECK(rig.call(caller, kMethod, "x").status.code == StatusCode::unavailable);
}

}  // namespace
}  // namespace koord::rpc
