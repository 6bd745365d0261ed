// The Reservation of a job: upstream's rows, and what users' templates leave open.
#include "migration/reservation_template.hpp"

#include <catch2/catch.hpp>

#include <string>

#include "koord/json/value.hpp"
#include "koord/json/writer.hpp"

namespace koord::descheduler::migration::test {
namespace {

using namespace std::chrono_literals;
const WallTime kNow{1'700'000'000'123ms};

std::string made(const api::PodMigrationJob& job, std::string_view pod, bool without_claims = false) {
  auto text = reservation_template(job, pod, without_claims, kNow);
  return text ? *text : "error: " + text.error().message();
}

std::string pod(std::string_view more = {}) {
  return R"({"metadata":{"namespace":"default","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment",)"
         R"("name":"test","controller":true}]},"spec":{"nodeName":"test-node")" +
         std::string(more) + "}}";
}

void check_json(const std::string& got, const std::string& want) {
  const json::Document a = json::parse(got).value(), b = json::parse(want).value();
  INFO(got);
  CHECK((static_cast<const json::Value&>(a) == static_cast<const json::Value&>(b)));
}

std::string expected(std::string_view spec) {
  return R"({"metadata":{"name":"the-uid","labels":{"app.kubernetes.io/created-by":"koord-descheduler",)"
         R"("scheduling.koordinator.sh/reservation-order":"1700000000123"}},"spec":{"allocateOnce":true,)"
         R"("owners":[{"controller":{"apiVersion":"apps/v1","kind":"Deployment","name":"test","controller":true,)"
         R"("namespace":"default"}}],"template":{"metadata":{"namespace":"default","ownerReferences":[)"
         R"({"apiVersion":"apps/v1","kind":"Deployment","name":"test","controller":true}]},"spec":)" +
         std::string(spec) + "}}}";
}

TEST_CASE("the reservation of a job: upstream's rows") {
  api::PodMigrationJob job;
  job.metadata.uid = "the-uid";
  constexpr std::string_view kOff = R"({"key":"metadata.name","operator":"NotIn","values":["test-node"]})";
  const std::string terms = R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
                            R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"test","operator":"In",)"
                            R"("values":["xxxx"]}])";
  const std::string off = R"(,"matchFields":[)" + std::string(kOff) + "]";
  const std::string claims = R"(,"volumes":[{"name":"","persistentVolumeClaim":{}}])";
  check_json(made(job, pod()),
             expected(R"({"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
                      R"({"nodeSelectorTerms":[{"matchFields":[)" +
                      std::string(kOff) + "]}]}}}}"));
  check_json(made(job, pod("," + terms + "}]}}}")), expected("{" + terms + off + "}]}}}}"));
  check_json(made(job, pod("," + terms + "}]}}}" + claims)),
             expected("{" + terms + off + "}]}}}" + claims + "}"));
  check_json(made(job, pod("," + terms + "}]}}}" + claims), true), expected("{" + terms + off + "}]}}}}"));
}

TEST_CASE("what a job's own template says stays") {
  api::PodMigrationJob job;
  job.metadata.uid = "the-uid";
  job.spec.ttl = api::Duration(5min);
  auto& options = job.spec.reservation_options.ensure();
  options.template_.text =
      R"({"metadata":{"name":"mine","labels":{"a":"b"}},"spec":{"ttl":"1h","unschedulable":true,)"
      R"("owners":[{"labelSelector":{"matchLabels":{"app":"x"}}}],"template":{"spec":{"containers":[]}}}})";
  json::Document got = json::parse(made(job, pod())).value();
  CHECK(json::text_at(got, "metadata", "name") == "mine");
  CHECK(json::text_at(got, "metadata", "labels", "a") == "b");
  CHECK(json::text_at(got, "metadata", "labels", "app.kubernetes.io/created-by") == "koord-descheduler");
  CHECK(json::text_at(got, "spec", "ttl") == "1h");
  CHECK(json::true_at(got, "spec", "unschedulable"));
  CHECK(json::true_at(got, "spec", "allocateOnce"));
  CHECK(json::find(got, "spec", "owners")->size() == 1);
  CHECK(json::find(got, "spec", "template", "spec", "containers"));
  options.template_.text = R"({"spec":{"expires":"2026-01-01T00:00:00Z"}})";
  got = json::parse(made(job, pod())).value();
  CHECK_FALSE(json::find(got, "spec", "ttl"));
  options.template_.text = "{}";
  got = json::parse(made(job, pod())).value();
  CHECK(json::text_at(got, "spec", "ttl") == "5m0s");
  for (const char* bad : {"[]", "7", "\"x\""}) {
    options.template_.text = bad;
    CHECK_THAT(made(job, pod()), Catch::StartsWith("error: spec.reservationOptions.template"));
  }
}

TEST_CASE("a pod that found no node is the owner itself, and is kept off none") {
  api::PodMigrationJob job;
  job.metadata.uid = "the-uid";
  const std::string text =
      R"({"metadata":{"namespace":"default","name":"a","uid":"1","managedFields":[{}],"ownerReferences":)"
      R"([{"uid":"s","controller":true}]},"spec":{},"status":{"phase":"Pending","conditions":[)"
      R"({"type":"PodScheduled","status":"False"}]}})";
  const json::Document got = json::parse(made(job, text)).value();
  CHECK(json::to_text(*json::find(got, "spec", "owners")) ==
        R"([{"object":{"kind":"Pod","namespace":"default","name":"a","uid":"1"}}])");
  CHECK_FALSE(json::find(got, "spec", "template", "spec", "affinity"));
  CHECK_FALSE(json::find(got, "spec", "template", "metadata", "managedFields"));
}

TEST_CASE("the document to create has the template's parts and nothing else") {
  CHECK(
      reservation_document(R"({"metadata":{"name":"r"},"spec":{"a":1},"other":2})").value() ==
      R"({"apiVersion":"scheduling.koordinator.sh/v1alpha1","kind":"Reservation","metadata":{"name":"r"},"spec":{"a":1}})");
}

}  // namespace
}  // namespace koord::descheduler::migration::test
