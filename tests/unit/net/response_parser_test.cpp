#include "response_parser.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "codec/gzip.hpp"

using namespace koord;
using namespace koord::net;

namespace {

struct Read {
  Result<> result;
  std::string body;
  bool done = false;
  bool keep = false;
  unsigned status = 0;
};

/// Feeds `text` in pieces of `step` bytes, then ends the connection.
Read read(const std::string& text, std::size_t step, std::string method = "GET") {
  ResponseParser reader(method);
  Read out;
  for (std::size_t at = 0; at < text.size() && !reader.done(); at += step) {
    const auto used = reader.feed(std::string_view(text).substr(at, step), out.body);
    if (!used) {
      out.result = used.error();
      return out;
    }
  }
  out.result = reader.finish();
  out.done = reader.done();
  out.keep = reader.keep_alive();
  out.status = reader.head().status;
  return out;
}

}  // namespace

TEST_CASE("whole responses are read the same however they are cut into pieces") {
  struct Row {
    const char* text;
    const char* body;
    unsigned status;
    bool keep;
    std::string method = "GET";
  };
  const Row rows[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", 200, true},
      {"HTTP/1.1 200 \r\ncontent-length:0\r\n\r\n", "", 200, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
       "abc0123456789", 200, true},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nTrailer: x\r\n\r\n", "a", 200,
       true},
      {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", "a", 200, false},
      {"HTTP/1.0 200 OK\r\n\r\nuntil the end", "until the end", 200, false},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", "{}", 201, true},
      {"HTTP/1.1 204 No Content\r\n\r\n", "", 204, true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", "", 200, true, "HEAD"},
  };
  for (const Row& row : rows) {
    for (const std::size_t step : {1u, 2u, 3u, 7u, 4096u}) {
      INFO(row.text << " by " << step);
      const Read got = read(row.text, step, row.method);
      REQUIRE(got.result.has_value());
      CHECK(got.body == row.body);
      CHECK(got.status == row.status);
      CHECK(got.keep == row.keep);
      CHECK(got.done);
    }
  }
}

TEST_CASE("cut and malformed responses are errors") {
  struct Row {
    const char* text;
    Code code;
  };
  const Row rows[] = {
      {"", Code::unavailable},
      {"HTTP/1.1 200 OK\r\nContent-Le", Code::unavailable},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", Code::unavailable},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", Code::unavailable},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", Code::unavailable},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: br\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\n folded: x\r\n\r\n", Code::parse},
      {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nX: a\r\n folded\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", Code::parse},
      {"HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\nx", Code::parse},
      {"HTTP/1.1 200 OK\nContent-Length: 0\n\r\n\r\n", Code::parse},
      {"HTTP/1.1 20 OK\r\n\r\n", Code::parse},
      {"HTTP/2 200 OK\r\n\r\n", Code::parse},
      {"SSH-2.0-OpenSSH_9.2\r\n\r\n", Code::parse},
      {"HTTP/1.1 101 Switching\r\n\r\n", Code::parse},
  };
  for (const Row& row : rows) {
    for (const std::size_t step : {1u, 4096u}) {
      INFO(row.text);
      const Read got = read(row.text, step);
      REQUIRE(got.result.has_error());
      CHECK(got.result.error().code() == row.code);
    }
  }
  CHECK(read("HTTP/1.1 200 OK\r\nX: " + std::string(70'000, 'x'), 1000).result.error().code() == Code::parse);
  const std::string chunked =
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;" + std::string(9'000, 'x');
  CHECK(read(chunked, 1000).result.error().code() == Code::parse);
}

TEST_CASE("the headers are the head's") {
  ResponseParser reader("GET");
  std::string body;
  REQUIRE(reader.feed("HTTP/1.1 429 X\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", body).has_value());
  CHECK(reader.head().headers.get("retry-after") == "7");
}

TEST_CASE("gzip bodies are unpacked within bounds") {
  // printf '%s' hello | gzip -n, and 100 KB of zeros would be packed the same way
  const std::string hello(
      "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00\x86\xa6\x10\x36\x05\x00\x00\x00",
      25);
  const auto text = gunzip(hello, 100);
  REQUIRE(text.has_value());
  CHECK(*text == "hello");
  CHECK(gunzip(hello, 5).has_value());
  CHECK(gunzip(hello, 4).error().code() == Code::too_large);
  CHECK(gunzip(hello.substr(0, 20), 100).error().code() == Code::parse);
  CHECK(gunzip("not gzip", 100).error().code() == Code::parse);
  CHECK(gunzip("", 100).error().code() == Code::parse);
  Gunzip steps(hello, 100);
  CHECK(steps.step().value());
  CHECK(steps.text() == "hello");
}
