// Who changes what the manager works by: which reviews are noted, and what of them.
#include "framework/webhook/change_notes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <catch2/catch.hpp>

#include "koord/net/message.hpp"
#include "support/run_task.hpp"

namespace koord::manager {
namespace {

struct Rig {
  /// "VERB OBJECT: FIELDS: RESULT" of the record that it makes; empty: none.
  std::string noted(AdmissionRequest request, const Verdict& verdict = Verdict::allow(), bool known = true) {
    const std::size_t before = count();
    request.username = "eve";
    notes.note(request, verdict, known);
    if (count() == before) return {};
    const json::Document page = json::parse(audit->answer(net::Request()).body).value();
    const json::Value& newest = (*json::find(page, "records"))[0];
    std::string fields;
    if (const json::Value* changes = json::find(newest, "changes"))
      for (const json::Value& field : changes->elements()) fields += " " + std::string(field.text());
    CHECK(json::text_at(newest, "user") == "eve");
    return fmt::format("{} {}/{}/{}:{}: {}", json::text_at(newest, "verb"), json::text_at(newest, "resource"),
                       json::text_at(newest, "namespace"), json::text_at(newest, "name"), fields,
                       json::text_at(newest, "result"));
  }
  std::size_t count() {
    const json::Document page = json::parse(audit->answer(net::Request()).body).value();
    return json::find(page, "records")->size();
  }

  koord::test::Loop loop;
  CapturedLog captured;
  Logger log{captured, loop.clock};
  std::unique_ptr<runtime::Audit> audit =
      runtime::Audit::make(loop.executor(), loop.clock, log, runtime::Audit::Options{}).value();
  ChangeNotes notes{*audit, log, "koordinator-system", "slo-controller-config"};
};

json::Value value(const json::Document& document, json::Arena& arena) { return json::clone(document, arena); }

AdmissionRequest review(Operation operation, std::string_view resource, std::string_view ns,
                        std::string_view before, std::string_view after, json::Arena& arena) {
  AdmissionRequest request;
  request.operation = operation;
  request.group = resource == "elasticquotas" ? "scheduling.sigs.k8s.io" : "";
  request.version = "v1";
  request.resource = resource;
  request.ns = ns;
  if (!after.empty()) request.object = value(json::parse(after).value(), arena);
  if (!before.empty()) request.old_object = value(json::parse(before).value(), arena);
  return request;
}

constexpr std::string_view
    kConfig = R"({"metadata":{"name":"slo-controller-config","uid":"u"},"data":{"a":"1","b":"s3cret"}})",
    kOther =
        R"({"metadata":{"name":"slo-controller-config","uid":"u"},"data":{"a":"1","b":"s4cret","c":"2"}})";

TEST_CASE("the strategies' ConfigMap: its keys by name, never what they say") {
  Rig rig;
  json::Arena arena;
  const auto config = [&](Operation operation, std::string_view before, std::string_view after,
                          std::string_view ns = "koordinator-system") {
    return review(operation, "configmaps", ns, before, after, arena);
  };
  CHECK(rig.noted(config(Operation::update, kConfig, kOther)) ==
        "update configmaps/koordinator-system/slo-controller-config: data[b] data[c]: admitted");
  CHECK(rig.noted(config(Operation::create, "", kConfig)) ==
        "create configmaps/koordinator-system/slo-controller-config: data[a] data[b]: admitted");
  CHECK(rig.noted(config(Operation::remove, kConfig, "")) ==
        "delete configmaps/koordinator-system/slo-controller-config:: admitted");
  CHECK(rig.noted(config(Operation::update, kOther, kConfig), Verdict::deny("no")) ==
        "update configmaps/koordinator-system/slo-controller-config: data[b] -data[c]: refused");
  CHECK(rig.noted(config(Operation::update, kConfig, kOther), Verdict::not_yet("wait"), false) ==
        "update configmaps/koordinator-system/slo-controller-config: data[b] data[c]: unknown");
  CHECK(rig.noted(config(Operation::update, kConfig, kConfig)).empty());
  CHECK(rig.noted(config(Operation::update, kConfig, kOther, "elsewhere")).empty());
  CHECK(rig.noted(config(Operation::update, R"({"metadata":{"name":"mine"},"data":{}})",
                         R"({"metadata":{"name":"mine"},"data":{"a":"1"}})"))
            .empty());
  for (const std::string& line : rig.captured.lines()) CHECK(line.find("cret") == std::string::npos);
  CHECK(rig.audit->answer(net::Request()).body.find("cret") == std::string::npos);
}

TEST_CASE("quotas: what people change, not what is counted in them") {
  Rig rig;
  json::Arena arena;
  const auto quota = [&](std::string_view before, std::string_view after) {
    return review(Operation::update, "elasticquotas", "ns", before, after, arena);
  };
  constexpr std::string_view kQuota =
      R"({"metadata":{"name":"q","annotations":{"quota.scheduling.koordinator.sh/runtime":"1"}},)"
      R"("spec":{"max":{"cpu":"1"}},"status":{"used":{"cpu":"1"}}})";
  CHECK(rig
            .noted(quota(
                kQuota,
                R"({"metadata":{"name":"q","annotations":{"quota.scheduling.koordinator.sh/runtime":"2"}},)"
                R"("spec":{"max":{"cpu":"1"}},"status":{"used":{"cpu":"2"}}})"))
            .empty());
  CHECK(
      rig.noted(quota(
          kQuota, R"({"metadata":{"name":"q","annotations":{"quota.scheduling.koordinator.sh/runtime":"2"}},)"
                  R"("spec":{"max":{"cpu":"2"}}})")) ==
      "update elasticquotas.scheduling.sigs.k8s.io/ns/q: "
      "metadata.annotations[quota.scheduling.koordinator.sh/runtime] spec.max.cpu -status: admitted");
  AdmissionRequest status = quota(kQuota, R"({"metadata":{"name":"q"}})");
  status.subresource = "status";
  CHECK(rig.noted(std::move(status)).empty());
}

TEST_CASE("profiles: all that is changed in them") {
  Rig rig;
  json::Arena arena;
  AdmissionRequest request =
      review(Operation::update, "clustercolocationprofiles", "",
             R"({"metadata":{"name":"batch"},"spec":{"qosClass":"BE","labels":{"a":"1"}}})",
             R"({"metadata":{"name":"batch"},"spec":{"qosClass":"LS","labels":{"a":"1","b":"2"}}})", arena);
  request.group = "config.koordinator.sh";
  CHECK(rig.noted(std::move(request)) ==
        "update clustercolocationprofiles.config.koordinator.sh//batch: spec.labels[b] spec.qosClass: "
        "admitted");
}

TEST_CASE("reviews of no shape at all are noted without harm, and large ones in time") {
  Rig rig;
  json::Arena arena;
  for (const std::string_view object :
       {"null", "7", "[]", "{}", R"({"metadata":7})", R"({"metadata":{"name":{}}})"})
    for (const Operation operation : {Operation::create, Operation::update, Operation::remove})
      (void)rig.noted(review(operation, "elasticquotas", "ns", object, object, arena));
  std::string before = R"({"metadata":{"name":"q","annotations":{)", after = before;
  for (int i = 0; i < 50'000; ++i) {
    before += fmt::format(R"("k{}":"1",)", i);
    after += fmt::format(R"("k{}":"1",)", 49'999 - i);
  }
  before += R"("x":"1"}}})";
  after += R"("x":"2"}}})";
  CHECK(rig.noted(review(Operation::update, "elasticquotas", "ns", before, after, arena)) ==
        "update elasticquotas.scheduling.sigs.k8s.io/ns/q: metadata.annotations[x]: admitted");
}

}  // namespace
}  // namespace koord::manager
