// AdmissionReview as API servers send it and as Go's programs answer it.
#include "framework/webhook/review.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/base/base64.hpp"
#include "koord/base/manual_clock.hpp"
#include "koord/json/patch.hpp"
#include "koord/json/writer.hpp"

namespace koord::manager {
namespace {

constexpr std::string_view kReview = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1",
  "request":{"uid":"u-1","kind":{"group":"","version":"v1","kind":"Binding"},
    "resource":{"group":"","version":"v1","resource":"pods"},"subResource":"binding","name":"a","namespace":"ns",
    "operation":"CREATE","userInfo":{"username":"system:kube-scheduler","uid":"u-2","groups":["x"],"extra":{"a":["b"]}},
    "object":{"target":{"name":"n1"},"unknown":[1.5]},"oldObject":null,"dryRun":true,"options":{}}})";

TEST_CASE("a review is read once, its objects as they came") {
  const auto review = read_review(kReview);
  REQUIRE(review.has_value());
  const AdmissionRequest& request = review->request;
  CHECK(review->api_version == "admission.k8s.io/v1beta1");
  CHECK(request.uid == "u-1");
  CHECK(request.operation == Operation::create);
  CHECK(request.group.empty());
  CHECK(request.version == "v1");
  CHECK(request.resource == "pods");
  CHECK(request.subresource == "binding");
  CHECK(request.name == "a");
  CHECK(request.ns == "ns");
  CHECK(request.username == "system:kube-scheduler");
  CHECK(request.user_uid == "u-2");
  CHECK(json::to_text(request.extra) == R"({"a":["b"]})");
  CHECK(request.dry_run);
  CHECK(json::to_text(request.object) == R"({"target":{"name":"n1"},"unknown":[1.5]})");
  CHECK(request.old_object.is_null());

  const auto untyped = read_review(R"({"request":{"uid":"1","operation":"DELETE"}})");
  REQUIRE(untyped.has_value());
  CHECK(untyped->api_version == "admission.k8s.io/v1");
  CHECK(untyped->request.operation == Operation::remove);
  CHECK(untyped->request.extra.is_null());
}

TEST_CASE("what is no review is told why") {
  struct Row {
    std::string_view body, error;
  };
  for (const Row& row : {
           Row{"", "request body is empty"},
           Row{"{", "line 1, column 2"},
           Row{"[]", "an AdmissionReview is an object"},
           Row{R"({"kind":"Pod","apiVersion":"v1"})", R"(kind "Pod" of "v1" is not AdmissionReview of)"},
           Row{R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v2"})",
               R"(of "admission.k8s.io/v2" is not)"},
           Row{R"({"kind":"AdmissionReview"})", R"(of "" is not)"},
           Row{"{}", "the review has no request"},
           Row{R"({"request":[]})", "the review has no request"},
           Row{R"({"request":{"uid":1}})", "the review's request has no uid"},
           Row{R"({"request":{"uid":"1","operation":"PATCH"}})",
               R"(operation "PATCH" is not CREATE, UPDATE)"},
       }) {
    CAPTURE(row.body);
    const auto review = read_review(row.body);
    REQUIRE_FALSE(review.has_value());
    CHECK(review.error().code() == Code::bad_request);
    CHECK_THAT(review.error().message(), Catch::Contains(std::string(row.error)));
  }
}

TEST_CASE("an answer has the review's version and uid, the verdict's status, and a patch if it allows one") {
  const auto review = read_review(kReview);
  REQUIRE(review.has_value());
  const std::string head =
      R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1beta1","response":{"uid":"u-1","allowed":)";
  CHECK(write_answer(*review, Verdict::allow()) ==
        fmt::format(R"({}true,"status":{{"metadata":{{}},"code":200}}}}}})", head));
  CHECK(
      write_answer(*review, Verdict::deny("no \"a\"")) ==
      fmt::format(
          R"({}false,"status":{{"metadata":{{}},"message":"no \"a\"","reason":"Forbidden","code":403}}}}}})",
          head));
  CHECK(write_answer(*review, Verdict::error(500, "x"), "[]") ==
        fmt::format(R"({}false,"status":{{"metadata":{{}},"message":"x","code":500}}}}}})", head));

  json::Document changed = json::clone(review->request.object);
  json::set_text(*json::find(changed, "target"), "name", "n2", changed.arena());
  const std::string patch = json::json_diff(review->request.object, changed);
  CHECK(patch == R"([{"op":"replace","path":"/target/name","value":"n2"}])");
  CHECK(write_answer(*review, Verdict::allow(), patch) ==
        fmt::format(
            R"({}true,"status":{{"metadata":{{}},"code":200}},"patch":"{}","patchType":"JSONPatch"}}}})",
            head, encode_base64(patch)));

  CHECK(write_refusal(400, "request body is empty") ==
        R"({"response":{"uid":"","allowed":false,)"
        R"("status":{"metadata":{},"message":"request body is empty","code":400}}})");
}

TEST_CASE("what plugins take is counted by type, object, operation, plugin and verdict") {
  metrics::Registry registry;
  ManualClock clock;
  const PluginTimes times(registry, clock, WebhookType::validate, "pod");
  const auto take = [&](const char* plugin, Verdict verdict) {
    return times.run(Operation::update, plugin, [&] {
      clock.advance(std::chrono::microseconds(3));
      return verdict;
    });
  };
  CHECK(take("Some", Verdict::allow()).allowed);
  CHECK_FALSE(take("Other", Verdict::deny("no")).allowed);
  const std::string text = registry.exposition();
  for (
      const char* line :
      {R"({webhook_type="validate",object_type="pod",operation="UPDATE",plugin_name="Some",status="allowed",le="0.002"} 0)",
       R"({webhook_type="validate",object_type="pod",operation="UPDATE",plugin_name="Some",status="allowed",le="0.004"} 1)",
       R"({webhook_type="validate",object_type="pod",operation="UPDATE",plugin_name="Other",status="rejected"} 1)"})
    CHECK_THAT(text, Catch::Contains(line));
}

}  // namespace
}  // namespace koord::manager
