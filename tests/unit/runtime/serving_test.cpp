// Health checks, and who may see what: delegated to a reviewer that the test plays.
#include "koord/runtime/serving.hpp"

#include <catch2/catch.hpp>

#include "koord/async/event.hpp"
#include "runtime/delegated_auth.hpp"
#include "support/run_task.hpp"

namespace koord::runtime {
namespace {

net::Request get(std::string path) {
  net::Request request;
  request.method = "GET";
  request.path = std::move(path);
  request.peer = std::make_shared<net::Peer>();
  return request;
}

TEST_CASE("health checks answer as the API server's do") {
  HealthChecks checks;
  bool well = true;
  checks.add(
      "sync", [&]() -> Result<> { return well ? Result<>() : Error(Code::unavailable, "secret"); },
      HealthChecks::readyz);
  net::Request verbose = get("/readyz");
  verbose.query = {{"verbose", ""}};
  CHECK(checks.answer(HealthChecks::readyz, get("/readyz"), "").body == "ok");
  CHECK(checks.answer(HealthChecks::readyz, verbose, "").body ==
        "[+]ping ok\n[+]sync ok\nreadyz check passed\n");
  well = false;
  const net::Response failed = checks.answer(HealthChecks::readyz, get("/readyz"), "");
  CHECK(failed.status == 500);
  CHECK(failed.body == "[+]ping ok\n[-]sync failed: reason withheld\nreadyz check failed\n");
  CHECK(checks.answer(HealthChecks::healthz, get("/healthz"), "").status == 200);
  CHECK(checks.answer(HealthChecks::readyz, get("/readyz/sync"), "sync").status == 500);
  CHECK(checks.answer(HealthChecks::readyz, get("/readyz/nope"), "nope").status == 404);
  net::Request excluding = get("/readyz");
  excluding.query = {{"exclude", "sync"}};
  CHECK(checks.answer(HealthChecks::readyz, excluding, "").status == 200);
}

class FakeReviewer final : public Reviewer {
 public:
  int tokens = 0, accesses = 0, given_up = 0;
  Event answers;  // what everything waits for once `slow`
  bool slow = false;
  bool down = false, allow = true;
  Task<Result<api::TokenReviewStatus>> review(std::string token) override {
    ++tokens;
    const Leaving leaving{given_up};
    if (slow) KOORD_CO_CHECK(co_await answers.wait());
    leaving.answered = true;
    if (down) co_return Error(Code::unavailable, "down");
    api::TokenReviewStatus status;
    status.authenticated = token != "bad";
    status.user.username = token;
    if (token == "admin") status.user.groups = {"system:masters"};
    co_return status;
  }
  Task<Result<api::SubjectAccessReviewStatus>> review(api::SubjectAccessReviewSpec spec) override {
    ++accesses;
    last = std::move(spec);
    api::SubjectAccessReviewStatus status;
    status.allowed = allow;
    co_return status;
  }
  api::SubjectAccessReviewSpec last;

 private:
  struct Leaving {
    int& given_up;
    mutable bool answered = false;
    ~Leaving() { given_up += !answered; }
  };
};

struct Auth {
  test::Loop loop;
  FakeReviewer reviewer;
  DelegatedAuth auth{loop.executor(), reviewer, loop.clock, settings()};
  static AuthSettings settings() {
    AuthSettings settings;
    settings.always_allow_paths = {"/healthz", "/open/*"};
    return settings;
  }
  unsigned ask(std::string path, std::string token = "", bool debug = false) {
    net::Request request = get(std::move(path));
    if (!token.empty()) request.headers.add("authorization", "Bearer " + token);
    auto refusal = test::run_task(loop, auth.refuse(request, debug));
    return refusal ? refusal->status : 200;
  }
};

TEST_CASE("open paths need nobody, debug paths never are open") {
  Auth t;
  CHECK(t.ask("/healthz") == 200);
  CHECK(t.ask("/open/x") == 200);
  CHECK(t.reviewer.accesses == 0);
  CHECK(t.ask("/open/x", "", true) == 401);
  CHECK(t.ask("/open/x", "bad", true) == 401);
  CHECK(t.ask("/open/x", "user", true) == 200);
}

TEST_CASE("the API server is asked once while the answer is fresh") {
  Auth t;
  CHECK(t.ask("/metrics", "user") == 200);
  CHECK(t.ask("/metrics", "user") == 200);
  CHECK(t.reviewer.tokens == 1);
  CHECK(t.reviewer.accesses == 1);
  CHECK(t.reviewer.last.user == "user");
  CHECK(t.reviewer.last.non_resource_attributes->path == "/metrics");
  CHECK(t.reviewer.last.non_resource_attributes->verb == "get");
  t.reviewer.allow = false;
  t.loop.advance(std::chrono::seconds{11});
  CHECK(t.ask("/metrics", "user") == 403);
  CHECK(t.ask("/metrics") == 403);
  CHECK(t.reviewer.last.user == "system:anonymous");
}

TEST_CASE("an answer holds for one question: another user, uid, group or extra value is another") {
  Auth t;
  t.auth.set_request_headers({.allowed_names = {},
                              .username_headers = {"x-remote-user"},
                              .uid_headers = {"x-remote-uid"},
                              .group_headers = {"x-remote-group"},
                              .extra_prefixes = {"x-remote-extra-"}});
  const auto ask = [&](std::vector<std::pair<std::string, std::string>> headers,
                       const std::string& method = "GET", const std::string& path = "/metrics") {
    net::Request request = get(path);
    request.method = method;
    auto peer = std::make_shared<net::Peer>();
    peer->proxy_verified = true;
    request.peer = peer;
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    (void)test::run_task(t.loop, t.auth.refuse(request, false));
    return t.reviewer.accesses;
  };
  const std::pair<std::string, std::string> user{"x-remote-user", "u"};
  CHECK(ask({user}) == 1);
  CHECK(ask({user}) == 1);
  CHECK(ask({{"x-remote-user", "v"}}) == 2);
  CHECK(ask({user, {"x-remote-uid", "1"}}) == 3);
  CHECK(ask({user, {"x-remote-uid", "2"}}) == 4);
  CHECK(ask({user, {"x-remote-group", "a"}}) == 5);
  CHECK(ask({user, {"x-remote-group", "a"}, {"x-remote-group", "b"}}) == 6);
  CHECK(ask({user, {"x-remote-group", "a\",\"b"}}) == 7);
  CHECK(ask({user, {"x-remote-extra-scope", "a"}}) == 8);
  CHECK(ask({user, {"x-remote-extra-scope", "b"}}) == 9);
  CHECK(ask({user}, "POST") == 10);
  CHECK(ask({user}, "GET", "/metrics2") == 11);
  CHECK(ask({user, {"x-remote-extra-scope", "b"}}) == 11);
}

TEST_CASE("what strangers ask takes bounded memory, and none when its time is over") {
  Auth t;
  t.reviewer.allow = false;
  for (int i = 0; i < 5'000; ++i)
    (void)t.ask("/" + std::to_string(i) + std::string(1'000, 'p'),
                "bad" + std::to_string(i) + std::string(1'000, 't'));
  CHECK(t.auth.remembered_bytes() > kReviewBytes / 2);
  CHECK(t.auth.remembered_bytes() <= 2 * kReviewBytes);
  t.loop.advance(std::chrono::seconds{10});
  CHECK(t.auth.remembered_bytes() == 0);
}

Task<> ask_into(DelegatedAuth& auth, net::Request request, std::vector<unsigned>& out) {
  const std::optional<net::Response> refusal = co_await auth.refuse(request, false);
  out.push_back(refusal ? refusal->status : 200);
}

TEST_CASE("equal questions are one; who gives up leaves the answer to the others") {
  Auth t;
  t.reviewer.slow = true;
  net::Request request = get("/metrics");
  request.headers.add("Authorization", "Bearer user");
  std::vector<unsigned> out;
  TaskGroup first(t.loop.executor()), others(t.loop.executor());
  first.spawn("first", ask_into(t.auth, request, out));
  for (int i = 0; i < 3; ++i) others.spawn("other", ask_into(t.auth, request, out));
  t.loop.settle();
  CHECK(t.reviewer.tokens == 1);
  test::run_task(t.loop, first.stop(t.loop.clock, std::chrono::seconds{1}));
  CHECK(t.reviewer.given_up == 0);
  SECTION("answered") {
    t.reviewer.answers.set();
    t.loop.settle();
    REQUIRE(test::run_task(t.loop, others.join()).has_value());
    CHECK(std::count(out.begin(), out.end(), 200U) == 3);
    CHECK(t.reviewer.tokens == 1);
    CHECK(t.reviewer.accesses == 1);
  }
  SECTION("all have gone: the question is given up, and asked anew by the next") {
    test::run_task(t.loop, others.stop(t.loop.clock, std::chrono::seconds{1}));
    t.loop.settle();
    CHECK(t.reviewer.given_up == 1);
    t.reviewer.slow = false;
    CHECK(t.ask("/metrics", "user") == 200);
    CHECK(t.reviewer.tokens == 2);
  }
  SECTION("stopped") {
    test::run_task(t.loop, t.auth.stop());
    t.loop.settle();
    CHECK(t.reviewer.given_up == 1);
    test::run_task(t.loop, others.stop(t.loop.clock, std::chrono::seconds{1}));
  }
}

TEST_CASE("masters pass, bad tokens do not, and an API server that is away is no yes") {
  Auth t;
  t.reviewer.allow = false;
  CHECK(t.ask("/metrics", "admin") == 200);
  CHECK(t.ask("/metrics", "bad") == 401);
  t.reviewer.down = true;
  CHECK(t.ask("/metrics", "other") == 500);
  CHECK(t.ask("/metrics", "admin") == 200);  // remembered
  t.loop.advance(std::chrono::seconds{11});
  CHECK(t.ask("/metrics", "admin") == 500);
}

}  // namespace
}  // namespace koord::runtime
