// Health checks, and who may see what: delegated to a reviewer that the test plays.
#include "koord/runtime/serving.hpp"

#include <catch2/catch.hpp>

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
  int tokens = 0, accesses = 0;
  bool down = false, allow = true;
  Task<Result<api::TokenReviewStatus>> review(std::string token) override {
    ++tokens;
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
};

struct Auth {
  test::Loop loop;
  FakeReviewer reviewer;
  DelegatedAuth auth{reviewer, loop.clock, settings()};
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
