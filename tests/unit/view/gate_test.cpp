// Gate: which names, origins and methods are answered, and which token a request shows.
#include "view/page/gate.hpp"

#include <catch2/catch.hpp>

#include "koord/base/base64.hpp"

using namespace koord;
using view::GateSettings;

namespace {

net::Request request(std::string method, std::string path,
                     std::vector<std::pair<std::string_view, std::string_view>> headers) {
  net::Request out;
  out.method = std::move(method);
  out.path = std::move(path);
  for (const auto& [name, value] : headers) out.headers.add(name, value);
  return out;
}

unsigned judged(const GateSettings& settings, const net::Request& asked) {
  const auto refusal = view::refuse_foreign(settings, asked);
  return refusal ? refusal->status : 200;
}

}  // namespace

TEST_CASE("only this server's names are answered") {
  struct Row {
    std::string_view host;
    bool loopback;
    unsigned status;
  };
  const auto row = GENERATE(values<Row>({
      {"127.0.0.1:8089", true, 200},
      {"localhost:1", true, 200},
      {"LOCALHOST", true, 200},
      {"[::1]:8089", true, 200},
      {"127.1.2.3:9", true, 200},
      {"koord.example:8089", true, 200},
      {"evil.example", true, 421},
      {"10.0.0.7:8089", true, 421},
      {"127.0.0.1.evil.example", true, 421},
      {"localhost.evil.example", true, 421},
      {"", true, 421},
      {"127.0.0.1:x", true, 421},
      {"[::1", true, 421},
      {"[::1]x", true, 421},
      {"localhost:80:80", true, 421},
      {"10.0.0.7:8089", false, 200},
      {"[fd00::1]:8089", false, 200},
      {"evil.example", false, 421},
      {"localhost:2", false, 200},
      {"127.0.0.1\t", true, 421},
      {"0x7f.1", false, 421},
  }));
  CAPTURE(row.host, row.loopback);
  const GateSettings settings{.loopback = row.loopback, .tls = !row.loopback, .hosts = {"Koord.Example"}};
  CHECK(judged(settings, request("GET", "/ui/", {{"Host", row.host}})) == row.status);
}

TEST_CASE("one Host and no more") {
  CHECK(judged({}, request("GET", "/ui/", {})) == 421);
  CHECK(judged({}, request("GET", "/ui/", {{"Host", "localhost"}, {"Host", "localhost"}})) == 421);
}

TEST_CASE("other sites are not answered") {
  struct Row {
    std::string_view path, name, value;
    unsigned status;
  };
  const auto row = GENERATE(values<Row>({
      {"/ui/data/groups", "Origin", "http://localhost:8089", 200},
      {"/ui/data/groups", "Origin", "https://localhost:8089", 403},
      {"/ui/data/groups", "Origin", "http://localhost:8090", 403},
      {"/ui/data/groups", "Origin", "http://evil.example", 403},
      {"/ui/data/groups", "Origin", "null", 403},
      {"/ui/data/groups", "Origin", "", 403},
      {"/ui/data/groups", "Sec-Fetch-Site", "same-origin", 200},
      {"/ui/data/groups", "Sec-Fetch-Site", "none", 200},
      {"/ui/data/groups", "Sec-Fetch-Site", "same-site", 403},
      {"/ui/data/stream", "Sec-Fetch-Site", "cross-site", 403},
      {"/ui/page.js", "Sec-Fetch-Site", "cross-site", 403},
  }));
  CAPTURE(row.path, row.name, row.value);
  CHECK(judged({}, request("GET", std::string(row.path),
                           {{"Host", "localhost:8089"}, {row.name, row.value}})) == row.status);
}

TEST_CASE("a link on another site leads to the page, and to nothing else") {
  const auto followed = [](std::string path) {
    return judged({}, request("GET", std::move(path),
                              {{"Host", "localhost"},
                               {"Sec-Fetch-Site", "cross-site"},
                               {"Sec-Fetch-Mode", "navigate"},
                               {"Sec-Fetch-Dest", "document"}}));
  };
  CHECK(followed("/ui/") == 200);
  CHECK(followed("/") == 200);
  CHECK(followed("/ui/data/groups") == 403);
}

TEST_CASE("the port is for reading; a pod is posted to one path, as what no form sends") {
  for (const char* method : {"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"})
    CHECK(judged({}, request(method, "/ui/data/groups", {{"Host", "localhost"}})) == 405);
  CHECK(judged({}, request("GET", "/ui/data/what-if", {{"Host", "localhost"}})) == 405);
  for (const char* path : {"/ui/data/explain", "/ui/data/groups", "/ui/data/stream", "/ui/data/what-if"})
    CHECK(judged({}, request("HEAD", path, {{"Host", "localhost"}})) == 405);
  CHECK(judged({}, request("HEAD", "/ui/page.js", {{"Host", "localhost"}})) == 200);
  const auto posted = [](std::string_view type) {
    return judged({}, request("POST", "/ui/data/what-if", {{"Host", "localhost"}, {"Content-Type", type}}));
  };
  CHECK(posted("application/yaml") == 200);
  CHECK(posted("Application/JSON; charset=utf-8") == 200);
  CHECK(posted("text/plain") == 415);
  CHECK(posted("application/x-www-form-urlencoded") == 415);
  CHECK(posted("") == 415);
}

TEST_CASE("the token is a bearer's, or a password") {
  const auto shown = [](std::string_view value) {
    return view::shown_token(request("GET", "/ui/", {{"Authorization", value}}));
  };
  CHECK(shown("Bearer abc") == "abc");
  CHECK(shown("bearer abc") == "abc");
  const std::string basic = encode_base64("anybody:a:b");
  CHECK(shown(std::string("Basic ").append(basic)) == "a:b");
  CHECK(shown("Basic !!!").empty());
  CHECK(shown("Basic YWJj").empty());  // without a colon
  CHECK(shown("Digest abc").empty());
  CHECK(shown("Bearer").empty());
  CHECK(view::shown_token(request("GET", "/", {{"Authorization", "Bearer a"}, {"Authorization", "Bearer b"}}))
            .empty());
}
