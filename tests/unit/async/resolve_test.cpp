#include "koord/async/resolve.hpp"

#include <arpa/inet.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/udp.hpp>
#include <catch2/catch.hpp>
#include <string>

#include "koord/async/system_clock.hpp"
#include "koord/async/task_group.hpp"
#include "koord/async/timer.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace std::chrono_literals;
using asio::ip::udp;

namespace {

/// A name server on loopback: silent, or answering every A question with 10.1.2.3 and the rest with nothing.
class NameServer {
 public:
  NameServer(asio::io_context& context, bool silent)
      : socket_(context, udp::endpoint(asio::ip::address_v4::loopback(), 0)), silent_(silent) {
    receive();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(socket_.local_endpoint().port()); }
  std::function<void()> on_question = [] {};
  std::vector<std::string> questions;

 private:
  void receive() {
    socket_.async_receive_from(asio::buffer(in_), from_, [this](auto failed, std::size_t size) {
      if (failed) return;
      questions.push_back(name(size));
      on_question();
      if (!silent_) answer(size);
      receive();
    });
  }
  std::string name(std::size_t size) const {
    std::string out;
    for (std::size_t at = 12; at < size && in_[at] != 0; at += in_[at] + 1u)
      out += (out.empty() ? "" : ".") + std::string(reinterpret_cast<const char*>(&in_[at + 1]), in_[at]);
    return out;
  }
  void answer(std::size_t size) {
    std::size_t end = 12;
    while (end < size && in_[end] != 0) end += in_[end] + 1u;
    const bool ipv4 = in_[end + 2] == 1;
    std::string out(reinterpret_cast<const char*>(in_.data()), end + 5);
    out[2] = '\x81';
    out[3] = '\x80';
    for (int i = 4; i < 12; ++i) out[static_cast<std::size_t>(i)] = 0;
    out[5] = 1;
    if (ipv4) {
      out[7] = 1;
      out += std::string("\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\x01\x02\x03", 16);
    }
    socket_.send_to(asio::buffer(out), from_);
  }

  udp::socket socket_;
  udp::endpoint from_;
  std::array<unsigned char, 1500> in_{};
  bool silent_;
};

Task<> lookup(Clock& clock, std::string host, ResolveOptions options,
              Result<std::vector<asio::ip::address>>& out) {
  out = co_await resolve(clock, host, options);
}

Result<std::vector<asio::ip::address>> numeric(const std::string& host) {
  test::Loop loop;
  return test::run_task(loop, resolve(loop.clock, host));
}

}  // namespace

TEST_CASE("numeric addresses and localhost need no name server") {
  struct Row {
    const char* host;
    const char* first;
  };
  for (const Row& row : {Row{"10.0.0.1", "10.0.0.1"}, Row{"::1", "::1"}, Row{"[fd00::1]", "fd00::1"},
                         Row{"localhost", "127.0.0.1"}}) {
    const auto got = numeric(row.host);
    REQUIRE(got.has_value());
    CHECK(got->front().to_string() == row.first);
  }
  const auto empty = numeric("");
  REQUIRE(empty.has_error());
  CHECK(empty.error().code() == Code::invalid);
}

TEST_CASE("a name is resolved by the server") {
  test::Loop loop;
  SystemClock clock(loop.executor());
  NameServer server(loop.context, false);
  ResolveOptions options;
  options.servers = {server.address()};
  const auto got = test::run_task(loop, resolve(clock, "api.example.test", options), true);
  REQUIRE(got.has_value());
  REQUIRE(got->size() == 1);
  CHECK(got->front().to_string() == "10.1.2.3");
  REQUIRE(!server.questions.empty());
  CHECK(server.questions.front() == "api.example.test");
}

TEST_CASE("a silent name server: cancelled at once, timed out at the end") {
  test::Loop loop;
  SystemClock clock(loop.executor());
  NameServer server(loop.context, true);
  ResolveOptions options;
  options.servers = {server.address()};
  Result<std::vector<asio::ip::address>> out;
  TaskGroup group(loop.executor());
  TaskGroup stopper(loop.executor());
  server.on_question = [&] {
    if (stopper.size() == 0 && !group.stopping()) stopper.spawn("stop", group.stop(clock, 1h));
  };
  group.spawn("lookup", lookup(clock, "api.example.test", options, out));
  REQUIRE(test::run_task(loop, group.join(), true).has_value());
  REQUIRE(test::run_task(loop, stopper.join(), true).has_value());
  REQUIRE(out.has_error());
  CHECK(out.error().code() == Code::cancelled);
  CHECK(clock.pending() == 0);

  options.timeout = 20ms;
  options.tries = 1;
  const auto late = test::run_task(loop, resolve(clock, "api.example.test", options), true);
  REQUIRE(late.has_error());
  CHECK(late.error().code() == Code::timeout);
}

TEST_CASE("a malformed name server is refused") {
  test::Loop loop;
  ResolveOptions options;
  options.servers = {"no address"};
  const auto got = test::run_task(loop, resolve(loop.clock, "a.test", options));
  REQUIRE(got.has_error());
  CHECK(got.error().code() == Code::invalid);
}
