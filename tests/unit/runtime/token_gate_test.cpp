// TokenGate: who gets in, what the API server is asked about them, and that nobody does where it cannot be.
#include "koord/runtime/token_gate.hpp"

#include <catch2/catch.hpp>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/authentication_v1/token_review.hpp"
#include "koord/api/types/authorization_v1/subject_access_review.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::runtime {
namespace {

using namespace std::chrono_literals;

/// An API server that knows one token and says of its owner what the test wants.
struct Gate {
  test::Loop loop;
  test::FakeTransport server{loop.clock};
  kube::Client client{server, loop.clock, {.max_retries = 0}};
  TokenGate gate{loop.executor(), loop.clock, client, "/ui"};
  bool allowed = true, denied = false, token_review_fails = false, access_review_fails = false;
  std::vector<std::string> groups{"viewers"};
  std::vector<api::SubjectAccessReviewSpec> asked;

  Gate() {
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      CHECK(request.method == "POST");
      if (request.target == "/apis/authentication.k8s.io/v1/tokenreviews") {
        if (token_review_fails) return test::status_response(403, "Forbidden");
        auto review = api::decode<api::TokenReview>(request.body).value();
        review.status.authenticated = review.spec.token == "good";
        review.status.user.username = "kim";
        review.status.user.groups = groups;
        return test::json_response(201, api::encode(review));
      }
      CHECK(request.target == "/apis/authorization.k8s.io/v1/subjectaccessreviews");
      if (access_review_fails) return test::status_response(500, "InternalError");
      auto review = api::decode<api::SubjectAccessReview>(request.body).value();
      asked.push_back(review.spec);
      review.status.allowed = allowed;
      review.status.denied = denied;
      return test::json_response(201, api::encode(review));
    };
  }
  unsigned ask(std::string_view token) {
    const auto refusal = test::run_task(loop, gate.refuse(token));
    return refusal ? refusal->status : 200;
  }
};

TEST_CASE("a token gets in if its owner may get that path, which alone is asked") {
  Gate t;
  CHECK(t.ask("good") == 200);
  REQUIRE(t.asked.size() == 1);
  const api::SubjectAccessReviewSpec& spec = t.asked.front();
  CHECK(spec.user == "kim");
  CHECK(spec.groups == std::vector<std::string>{"viewers"});
  REQUIRE(spec.non_resource_attributes.has_value());
  CHECK(spec.non_resource_attributes->verb == "get");
  CHECK(spec.non_resource_attributes->path == "/ui");
  CHECK(!spec.resource_attributes.has_value());
  CHECK(t.ask("good") == 200);
  CHECK(t.asked.size() == 1);  // for a while it is known
}

TEST_CASE("a token that is none's is 401; one whose owner may not is 403") {
  Gate t;
  CHECK(t.ask("") == 401);
  CHECK(t.server.requests.empty());
  CHECK(t.ask("bad") == 401);
  CHECK(t.asked.empty());
  t.allowed = false;
  CHECK(t.ask("good") == 403);
  t.loop.advance(11s);
  t.allowed = t.denied = true;
  CHECK(t.ask("good") == 403);
  t.loop.advance(11s);
  t.denied = false;
  CHECK(t.ask("good") == 200);
}

TEST_CASE("a right that is taken away ends within seconds") {
  Gate t;
  CHECK(t.ask("good") == 200);
  t.allowed = false;
  t.loop.advance(11s);
  CHECK(t.ask("good") == 403);
}

TEST_CASE("where a review fails nobody gets in, and the next one is asked again") {
  Gate t;
  t.token_review_fails = true;
  CHECK(t.ask("good") == 500);
  t.token_review_fails = false;
  t.access_review_fails = true;
  CHECK(t.ask("good") == 500);
  t.access_review_fails = false;
  CHECK(t.ask("good") == 200);
}

}  // namespace
}  // namespace koord::runtime
