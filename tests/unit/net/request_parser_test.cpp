// RequestParser: requests in any cutting, and what is refused.
#include "request_parser.hpp"

#include <catch2/catch.hpp>

namespace koord::net {
namespace {

constexpr RequestParser::Limits kLimits{1024, 4096};

TEST_CASE("a request is the same however it is cut") {
  const std::string wire =
      "POST /a%20b/c?x=1&y=a+b%26&flag HTTP/1.1\r\nHost: h\r\nX-One: 1\r\nx-one: 2\r\n"
      "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\n\r\n";
  for (std::size_t cut = 1; cut < wire.size(); ++cut) {
    CAPTURE(cut);
    RequestParser parser(kLimits);
    std::string buffer;
    for (std::size_t at = 0; at < wire.size(); at += cut) {
      buffer += wire.substr(at, cut);
      buffer.erase(0, parser.feed(buffer));
      REQUIRE(parser.failure().status == 0);
    }
    REQUIRE(parser.done());
    CHECK(buffer.empty());
    CHECK(parser.keep_alive());
    const Request request = parser.take();
    CHECK(request.method == "POST");
    CHECK(request.path == "/a b/c");
    CHECK(request.query_get("x") == "1");
    CHECK(request.query_get("y") == "a b&");
    CHECK(request.query_has("flag"));
    CHECK_FALSE(request.query_has("z"));
    CHECK(request.headers.get("X-ONE") == "1");
    CHECK(request.headers.all("x-one") == std::vector<std::string_view>{"1", "2"});
    CHECK(request.body == "abcde");
  }
}

TEST_CASE("an empty body in chunks may be cut anywhere") {
  for (const std::string end : {"0\r\n\r\n", "000\r\n\r\n", "0;ext=1\r\n\r\n", "0\r\nTrailer: 1\r\n\r\n"}) {
    CAPTURE(end);
    RequestParser parser(kLimits);
    std::string buffer = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const char c : end) {
      buffer.erase(0, parser.feed(buffer));
      REQUIRE_FALSE(parser.done());
      buffer += c;
    }
    buffer.erase(0, parser.feed(buffer));
    CHECK(parser.failure().status == 0);
    REQUIRE(parser.done());
    CHECK(buffer.empty());
    CHECK(parser.take().body.empty());
  }
}

TEST_CASE("what follows a request is left for the next") {
  RequestParser parser(kLimits);
  std::string buffer = "GET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nConnection: close\r\n\r\n";
  buffer.erase(0, parser.feed(buffer));
  REQUIRE(parser.done());
  CHECK(parser.take().path == "/1");
  buffer.erase(0, parser.feed(buffer));
  REQUIRE(parser.done());
  CHECK_FALSE(parser.keep_alive());
  CHECK(parser.take().path == "/2");
}

TEST_CASE("bad requests are refused with a status") {
  struct Row {
    std::string wire;
    unsigned status;
  };
  const Row rows[] = {
      {"GARBAGE\r\n\r\n", 400},
      {"GET\r\n\r\n", 400},
      {"GET /%zz HTTP/1.1\r\n\r\n", 400},
      {"GET /% HTTP/1.1\r\n\r\n", 400},
      {"GET /?a=%f HTTP/1.1\r\n\r\n", 400},
      {"GET relative HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nNo colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nBad\x01name: 1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 4097\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1001\r\n" + std::string(0x1001, 'x') +
           "\r\n0\r\n\r\n",
       413},
      {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nX: " + std::string(2000, 'x') + "\r\n\r\n", 431},
      {"GET /" + std::string(2000, 'x'), 431},
      {std::string(2000, '\0'), 400},
  };
  for (const Row& row : rows) {
    CAPTURE(row.wire.substr(0, 80));
    RequestParser parser(kLimits);
    parser.feed(row.wire);
    CHECK(parser.failure().status == row.status);
  }
}

std::string padded(const std::string& head, const std::string& tail, std::size_t size) {
  return head + std::string(size - head.size() - tail.size(), 'x') + tail;
}

TEST_CASE("the limit of a header, a chunk's line and a trailer is exact, however the bytes are cut") {
  const std::string chunked = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  struct Row {
    std::string before, head, tail, after;
  };
  const Row rows[] = {
      {"", "GET / HTTP/1.1\r\nX: ", "\r\n\r\n", ""},
      {"", "GET /", " HTTP/1.1\r\n\r\n", ""},
      {chunked, "1;a=", "\r\n", "x\r\n0\r\n\r\n"},
      {chunked, "0;a=", "\r\n\r\n", ""},
      {chunked, "0\r\nX: ", "\r\n\r\n", ""},
      {chunked + "1\r\nx", "\r\n0\r\nX: ", "\r\nY: 1\r\n\r\n", ""},
  };
  for (const Row& row : rows) {
    for (const std::size_t over : {0, 1}) {
      const std::string wire =
          row.before + padded(row.head, row.tail, kLimits.max_header_bytes + over) + row.after;
      for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{1000}, wire.size()}) {
        CAPTURE(wire.substr(0, 80), over, step);
        RequestParser parser(kLimits);
        std::string buffer;
        for (std::size_t at = 0; at < wire.size() && parser.failure().status == 0; at += step) {
          buffer += wire.substr(at, step);
          buffer.erase(0, parser.feed(buffer));
        }
        CHECK(parser.failure().status == (over > 0 ? 431U : 0U));
        CHECK(parser.done() == (over == 0));
      }
    }
  }
}

TEST_CASE("a chunk's line or a trailer without an end is not kept without bound") {
  for (const char* begin : {"1;", "0;", "0\r\n"}) {
    CAPTURE(begin);
    RequestParser parser(kLimits);
    parser.feed("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n");
    std::string buffer = begin;
    while (parser.failure().status == 0 && buffer.size() < 100'000) {
      buffer += "x";
      buffer.erase(0, parser.feed(buffer));
    }
    CHECK(parser.failure().status == 431);
    CHECK(buffer.size() <= kLimits.max_header_bytes + 1);
  }
}

TEST_CASE("a truncated body is never a request") {
  RequestParser parser(kLimits);
  const std::string wire = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab";
  parser.feed(wire);
  CHECK(parser.header_done());
  CHECK_FALSE(parser.done());
  CHECK(parser.failure().status == 0);
}

TEST_CASE("a client may wait for leave to send its body") {
  RequestParser parser(kLimits);
  parser.feed("PUT / HTTP/1.1\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n");
  CHECK(parser.expects_continue());
  CHECK_FALSE(parser.done());
}

}  // namespace
}  // namespace koord::net
