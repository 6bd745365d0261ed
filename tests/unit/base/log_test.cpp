// Logger: the form of a line, verbosity, secrets; AsyncLogSink: slow, closed and full descriptors.
#include "koord/base/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include <catch2/catch.hpp>

#include "koord/base/manual_clock.hpp"
#include "koord/base/symbol.hpp"

using namespace koord;

namespace {

struct Pipe {
  int ends[2];
  Pipe() { REQUIRE(::pipe(ends) == 0); }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(int i) {
    if (ends[i] >= 0) ::close(ends[i]);
    ends[i] = -1;
  }
  std::string read_until(std::string_view end) {
    std::string out;
    char buffer[4096];
    while (!out.ends_with(end)) {
      const ssize_t n = ::read(ends[0], buffer, sizeof buffer);
      if (n <= 0) break;
      out.append(buffer, static_cast<std::size_t>(n));
    }
    return out;
  }
};

}  // namespace

TEST_CASE("a line is key=value") {
  CapturedLog captured;
  ManualClock clock;
  const Logger log = Logger(captured, clock, 4).with({kv("role", "scheduler")});
  const Symbol node = "n 1";
  log.info("pod bound", kv("pod", std::string("default/web-1")), kv("node", node), kv("score", -7),
           kv("bytes", std::uint64_t{1} << 63), kv("ok", true), kv("load", 0.25), kv("empty", ""));
  CHECK(captured.lines().at(0) ==
        "time=2023-11-14T22:13:20.000000Z level=info role=scheduler msg=\"pod bound\" pod=default/web-1 "
        "node=\"n "
        "1\" score=-7 bytes=9223372036854775808 ok=true load=0.25 empty=\"\"");
  log.error("x", kv("error", Error(Code::io, "a\nb\"c\\\x01")));
  CHECK(captured.lines().at(1).ends_with("level=error role=scheduler msg=x error=\"a\\nb\\\"c\\\\\\x01\""));
  log.warn("took", kv("a", std::chrono::milliseconds(1500)), kv("b", std::chrono::nanoseconds(12)),
           kv("c", std::chrono::microseconds(2)));
  CHECK(captured.lines().at(2).ends_with("msg=took a=1.5s b=12ns c=2us"));
  CHECK(captured.count(LogLevel::warn) == 1);
}

TEST_CASE("secrets are not printed and long values are cut") {
  CapturedLog captured;
  ManualClock clock;
  const Logger log(captured, clock);
  log.info("login", kv("token", Secret("hunter2")));
  CHECK(captured.contains("token=***"));
  CHECK_FALSE(captured.contains("hunter2"));
  log.info(std::string(1 << 20, 'x'));
  CHECK(captured.lines().at(1).size() < 10'000);
}

TEST_CASE("verbosity is shared by the copies of a logger") {
  CapturedLog captured;
  ManualClock clock;
  const Logger log(captured, clock, 2);
  const Logger copy = log.with({kv("a", 1)});
  copy.v(3, "hidden");
  CHECK(captured.lines().empty());
  log.set_verbosity(3);
  CHECK(copy.enabled(3));
  copy.v(3, "shown");
  CHECK(captured.lines().size() == 1);
}

TEST_CASE("AsyncLogSink writes everything in order") {
  Pipe pipe;
  {
    AsyncLogSink sink(pipe.ends[1]);
    sink.write(LogLevel::info, "one");
    sink.write(LogLevel::info, "two");
    sink.flush();
    sink.write(LogLevel::info, "three");
  }
  CHECK(pipe.read_until("three\n") == "one\ntwo\nthree\n");
}

TEST_CASE("AsyncLogSink drops the oldest lines when nobody reads, and says so") {
  Pipe pipe;
  AsyncLogSink sink(pipe.ends[1], 10'000);
  constexpr int kLines = 5'000;
  for (int i = 0; i < kLines; ++i) sink.write(LogLevel::info, std::to_string(i) + std::string(100, '.'));
  sink.write(LogLevel::info, "last");
  const std::string text = pipe.read_until("last\n");
  sink.flush();
  const auto dropped = sink.stats().dropped;
  CHECK(dropped > 0);
  CHECK(text.find("level=warn msg=\"log lines dropped\" count=") != std::string::npos);
  CHECK(text.ends_with("last\n"));
  const auto lines = static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  CHECK(lines >= kLines + 1 - dropped + 1);  // one or more lines tell of the drops
}

TEST_CASE("AsyncLogSink survives descriptors that take nothing") {
  SECTION("full disk") {
    const int full = ::open("/dev/full", O_WRONLY);
    REQUIRE(full >= 0);
    AsyncLogSink sink(full);
    sink.write(LogLevel::error, "lost");
    sink.flush();
    CHECK(sink.stats().failed == 1);
    ::close(full);
  }
  SECTION("closed descriptor") {
    AsyncLogSink sink(-1);
    sink.write(LogLevel::error, "lost");
    sink.flush();
    CHECK(sink.stats().failed == 1);
  }
  SECTION("reader gone") {
    Pipe pipe;
    pipe.close_end(0);
    AsyncLogSink sink(pipe.ends[1]);
    sink.write(LogLevel::error, "lost");
    sink.flush();
    CHECK(sink.stats().failed == 1);
  }
}

TEST_CASE("AsyncLogSink does not wait for ever for a reader that does not read") {
  Pipe pipe;
  const auto start = std::chrono::steady_clock::now();
  {
    AsyncLogSink sink(pipe.ends[1]);
    for (int i = 0; i < 5'000; ++i) sink.write(LogLevel::info, std::string(100, '.'));
    sink.flush();
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}
