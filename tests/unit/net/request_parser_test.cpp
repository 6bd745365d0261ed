// RequestParser: requests in any cutting, and what is refused.
#include "request_parser.hpp"

#include <catch2/catch.hpp>

namespace koord::net {
namespace {

constexpr RequestParser::Limits kLimits{1024, 4096};

/// What the server does: the parser stops behind the header. Returns how much it used in all.
std::size_t feed(RequestParser& parser, std::string_view bytes) {
  std::size_t used = 0;
  while (parser.failure().status == 0 && !parser.done()) {
    const std::size_t n = parser.feed(bytes.substr(used));
    used += n;
    if (n == 0) break;
  }
  return used;
}

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
      buffer.erase(0, feed(parser, buffer));
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
    std::string buffer = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (const char c : end) {
      buffer.erase(0, feed(parser, buffer));
      REQUIRE_FALSE(parser.done());
      buffer += c;
    }
    buffer.erase(0, feed(parser, buffer));
    CHECK(parser.failure().status == 0);
    REQUIRE(parser.done());
    CHECK(buffer.empty());
    CHECK(parser.take().body.empty());
  }
}

TEST_CASE("what follows a request is left for the next") {
  RequestParser parser(kLimits);
  std::string buffer =
      "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";
  buffer.erase(0, feed(parser, buffer));
  REQUIRE(parser.done());
  CHECK(parser.take().path == "/1");
  buffer.erase(0, feed(parser, buffer));
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
      {"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /% HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET /?a=%f HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET relative HTTP/1.1\r\nHost: h\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nNo colon\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nBad\x01name: 1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1;a=\"b\r\nx\r\n0\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4097\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1001\r\n" + std::string(0x1001, 'x') +
           "\r\n0\r\n\r\n",
       413},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2000, 'x') + "\r\n\r\n", 431},
      {"GET /" + std::string(2000, 'x'), 431},
      // As Go's server, which kube-apiserver is.
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", 400},
      {"GET / HTTP/1.0\r\nHost: h\r\nHost: i\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked, chunked\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: identity\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding:\r\n\r\n", 501},
      {"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nX : a\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\n: a\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: a\x01\r\n\r\n", 400},
      {"GET / HTTP/1.1\nHost: h\n\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: a\nY: b\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n", 400},
      {std::string(2000, '\0'), 400},
  };
  for (const Row& row : rows) {
    CAPTURE(row.wire.substr(0, 80));
    RequestParser parser(kLimits);
    feed(parser, row.wire);
    CHECK(parser.failure().status == row.status);
  }
}

TEST_CASE("what Go takes is taken") {
  for (const char* wire : {"GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.1\r\nHost:\r\n\r\n",
                           "GET http://a/b HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
                           "POST / HTTP/1.1\r\nhost: h\r\nTRANSFER-ENCODING: Chunked\r\n\r\n0\r\n\r\n",
                           "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"}) {
    CAPTURE(wire);
    RequestParser parser(kLimits);
    feed(parser, wire);
    CHECK(parser.failure().status == 0);
    CHECK(parser.done());
  }
}

TEST_CASE("a trailer adds nothing to the header that was judged") {
  RequestParser parser(kLimits);
  feed(parser,
       "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Remote-User: root\r\nHost: "
       "x\r\n\r\n");
  REQUIRE(parser.done());
  CHECK_FALSE(parser.take().headers.has("X-Remote-User"));
}

TEST_CASE("a header can be judged before its body is taken, and a body be refused") {
  struct Row {
    std::string wire;
    std::size_t limit;
    unsigned status;
  };
  const std::string chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  const Row rows[] = {
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 0, 413},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 2, 413},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc", 3, 0},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 0, 0},
      {"GET / HTTP/1.1\r\nHost: h\r\n\r\n", 0, 0},
      {chunked + "0\r\n\r\n", 0, 413},
      {chunked + "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", 2, 413},
      {chunked + "2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", 3, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.wire, row.limit);
    RequestParser parser(kLimits);
    const std::size_t used = parser.feed(row.wire);
    REQUIRE(parser.header_done());
    CHECK(used == row.wire.find("\r\n\r\n") + 4);
    CHECK(parser.request().headers.get("host") == "h");
    parser.limit_body(row.limit);
    feed(parser, std::string_view(row.wire).substr(used));
    CHECK(parser.failure().status == row.status);
  }
}

std::string padded(const std::string& head, const std::string& tail, std::size_t size) {
  return head + std::string(size - head.size() - tail.size(), 'x') + tail;
}

TEST_CASE("the limit of a header, a chunk's line and a trailer is exact, however the bytes are cut") {
  const std::string chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  struct Row {
    std::string before, head, tail, after;
  };
  const Row rows[] = {
      {"", "GET / HTTP/1.1\r\nHost: h\r\nX: ", "\r\n\r\n", ""},
      {"", "GET /", " HTTP/1.1\r\nHost: h\r\n\r\n", ""},
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
          buffer.erase(0, feed(parser, buffer));
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
    feed(parser, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
    std::string buffer = begin;
    while (parser.failure().status == 0 && buffer.size() < 100'000) {
      buffer += "x";
      buffer.erase(0, feed(parser, buffer));
    }
    CHECK(parser.failure().status == 431);
    CHECK(buffer.size() <= kLimits.max_header_bytes + 1);
  }
}

TEST_CASE("a truncated body is never a request") {
  RequestParser parser(kLimits);
  const std::string wire = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab";
  feed(parser, wire);
  CHECK(parser.header_done());
  CHECK_FALSE(parser.done());
  CHECK(parser.failure().status == 0);
}

TEST_CASE("a client may wait for leave to send its body") {
  RequestParser parser(kLimits);
  feed(parser, "PUT / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n");
  CHECK(parser.expects_continue());
  CHECK_FALSE(parser.done());
}

}  // namespace
}  // namespace koord::net
