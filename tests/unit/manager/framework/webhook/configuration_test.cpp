// Webhook configurations: what is put right in them, and what is left alone.
#include "framework/webhook/configuration.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <optional>

#include "admission/handlers.hpp"
#include "framework/webhook/entries.hpp"
#include "koord/base/base64.hpp"
#include "koord/json/writer.hpp"
#include "manifests.hpp"

namespace koord::manager {
namespace {

WebhookSettings settings(std::string host = {}) {
  return {.port = 9876,
          .host = std::move(host),
          .folder = {},
          .ns = "ns",
          .secret = {},
          .service = "service",
          .mutating = {},
          .validating = {}};
}
const json::Document kOwn = *json::parse(R"([{"name":"own"}])");
bool pods_only(std::string_view path) { return path == "/mutate-pod"; }

/// An entry as manifests have it, with something that koord does not know.
std::string entry(std::string_view name, std::string_view path, std::string_view more = {}) {
  return fmt::format(
      R"({{"name":"{}","clientConfig":{{"service":{{"namespace":"system","name":"webhook-service","path":"{}"}}{}}},)"
      R"("failurePolicy":"Fail","future":[1]}})",
      name, path, more);
}
std::string kept(std::string_view name, std::string_view path) {
  return fmt::format(
      R"({{"name":"{}","clientConfig":{{"service":{{"namespace":"ns","name":"service","path":"{}"}},"caBundle":"{}"}},)"
      R"("failurePolicy":"Fail","future":[1]}})",
      name, path, encode_base64("CA"));
}

json::Document configuration(std::string_view annotations, std::string_view webhooks) {
  auto parsed = json::parse(
      fmt::format(R"({{"kind":"MutatingWebhookConfiguration","metadata":{{"name":"c"{}}},"webhooks":[{}]}})",
                  annotations, webhooks));
  REQUIRE(parsed.has_value());
  return std::move(*parsed);
}
std::string template_of(const json::Document& document) {
  return std::string(json::text_at(document, "metadata", "annotations", "template"));
}
std::string webhooks_of(const json::Document& document) {
  return json::to_text(*json::find(document, "webhooks"));
}

TEST_CASE(
    "entries get the CA and the service, those that nobody serves go, and the first ones are remembered") {
  const std::string quota = entry("quota", "/mutate-quota"), pod = entry("pod", "/mutate-pod");
  const std::string all = fmt::format("{},{}", quota, pod);
  for (const char* annotations : {"", R"(,"annotations":{"template":""})", R"(,"annotations":null)"}) {
    json::Document document = configuration(annotations, all);
    const KeptConfiguration first = keep_configuration(document, settings(), "CA", false, pods_only, kOwn);
    CHECK(first.changed);
    CHECK_FALSE(first.template_lost);
    CHECK(first.left_out == std::vector<std::string>{"quota"});
    CHECK(template_of(document) == fmt::format("[{}]", all));
    CHECK(webhooks_of(document) == fmt::format("[{}]", kept("pod", "/mutate-pod")));
    // The second time there is nothing to do.
    CHECK_FALSE(keep_configuration(document, settings(), "CA", false, pods_only, kOwn).changed);
    // A gate that is switched on has its entry back.
    const auto everything = [](std::string_view) { return true; };
    CHECK(keep_configuration(document, settings(), "CA", false, everything, kOwn).changed);
    CHECK(webhooks_of(document) ==
          fmt::format("[{},{}]", kept("quota", "/mutate-quota"), kept("pod", "/mutate-pod")));
    // So does one that somebody took out, and another CA is put in everywhere.
    json::find(document, "webhooks")->set_array();
    CHECK(keep_configuration(document, settings(), "CA", false, pods_only, kOwn).changed);
    CHECK(webhooks_of(document) == fmt::format("[{}]", kept("pod", "/mutate-pod")));
    CHECK(keep_configuration(document, settings(), "CA 2", false, pods_only, kOwn).changed);
    CHECK(webhooks_of(document).find(encode_base64("CA 2")) != std::string::npos);
  }
}

TEST_CASE("a host takes the place of the service, and its URLs stay") {
  json::Document document = configuration("", entry("pod", "/mutate-pod"));
  CHECK(keep_configuration(document, settings("10.0.0.1"), "CA", false, pods_only, kOwn).changed);
  CHECK(webhooks_of(document) ==
        fmt::format(
            R"([{{"name":"pod","clientConfig":{{"caBundle":"{}","url":"https://10.0.0.1:9876/mutate-pod"}},)"
            R"("failurePolicy":"Fail","future":[1]}}])",
            encode_base64("CA")));
  CHECK_FALSE(keep_configuration(document, settings("10.0.0.1"), "CA", false, pods_only, kOwn).changed);

  json::Document v6 = configuration("", entry("pod", "/mutate-pod"));
  keep_configuration(v6, settings("fd00::1"), "CA", false, pods_only, kOwn);
  CHECK(webhooks_of(v6).find("https://[fd00::1]:9876/mutate-pod") != std::string::npos);

  // An entry that has a URL already keeps it.
  json::Document urls = configuration(
      "",
      R"({"name":"u","clientConfig":{"url":"https://else:1/mutate-pod?x"}},{"name":"w","clientConfig":{"url":"x"}})");
  CHECK(keep_configuration(urls, settings(), "CA", false, pods_only, kOwn).left_out ==
        std::vector<std::string>{"w"});
  CHECK(webhooks_of(urls) ==
        fmt::format(
            R"([{{"name":"u","clientConfig":{{"url":"https://else:1/mutate-pod?x","caBundle":"{}"}}}}])",
            encode_base64("CA")));
}

TEST_CASE("a template that cannot be read is replaced by the entries that are there") {
  for (const char* text : {"{", "{}", "[1]", "null"}) {
    json::Document document = configuration(
        fmt::format(R"(,"annotations":{{"template":"{}","other":"x"}})", text), kept("pod", "/mutate-pod"));
    const KeptConfiguration result = keep_configuration(document, settings(), "CA", false, pods_only, kOwn);
    CHECK(result.changed);
    CHECK(result.template_lost);
    CHECK(template_of(document) == fmt::format("[{}]", kept("pod", "/mutate-pod")));
    CHECK(webhooks_of(document) == template_of(document));
    CHECK(json::text_at(document, "metadata", "annotations", "other") == "x");
  }
}

TEST_CASE("entries that lead nowhere go, a configuration without any stays empty") {
  json::Document document = configuration(
      "",
      R"({"name":"a"},{"name":"b","clientConfig":{}},{"name":"c","clientConfig":{"service":{}}},{"name":"d","clientConfig":1})");
  CHECK(keep_configuration(document, settings(), "CA", false, pods_only, kOwn).left_out.size() == 4);
  CHECK(webhooks_of(document) == "[]");
  json::Document bare = *json::parse(R"({"metadata":{"name":"c"}})");
  CHECK(keep_configuration(bare, settings(), "CA", false, pods_only, kOwn).changed);
  CHECK(template_of(bare) == "[]");
  CHECK_FALSE(keep_configuration(bare, settings(), "CA", false, pods_only, kOwn).changed);
}

/// What the table gives for validation, as an API server with its defaults would have it.
json::Document defaulted(json::Document entries) {
  for (json::Value& entry : entries.elements()) {
    json::set_text(entry, "matchPolicy", "Equivalent", entries.arena());
    json::object_at(entry, "objectSelector", entries.arena());
    json::set_int(*json::find(entry, "clientConfig", "service"), "port", 443, entries.arena());
    json::set_text((*json::find(entry, "rules"))[0], "scope", "*", entries.arena());
  }
  return entries;
}

TEST_CASE("configurations of the manifests begin empty and get the manager's entries") {
  CHECK_THAT(webhook_manifests(), Catch::Contains("webhooks: []") && !Catch::Contains("failurePolicy"));
  const auto everything = [](std::string_view) { return true; };
  const json::Document own = webhook_entries(handlers(), WebhookType::validate, settings());
  json::Document document =
      configuration(R"(,"annotations":{"koordinator.sh/webhook-entries":"manager"})", "");
  CHECK(keep_configuration(document, settings(), "CA", false, everything, own).changed);
  CHECK(json::find(document, "webhooks")->size() == own.size());
  CHECK(template_of(document).empty());
  for (const json::Value& entry : json::find(document, "webhooks")->elements()) {
    CHECK(json::text_at(entry, "failurePolicy") == "Ignore");
    CHECK(json::int_at(entry, "timeoutSeconds") == 3);
    CHECK(json::text_at(entry, "clientConfig", "caBundle") == encode_base64("CA"));
  }
  // What the API server adds is no reason to write again; what somebody changes is.
  json::Value& live = *json::find(document, "webhooks");
  live = json::clone(defaulted(json::clone(live)), document.arena());
  CHECK_FALSE(keep_configuration(document, settings(), "CA", false, everything, own).changed);
  json::set_text(live[0], "failurePolicy", "Fail", document.arena());
  CHECK(keep_configuration(document, settings(), "CA", false, everything, own).changed);
  CHECK(json::text_at((*json::find(document, "webhooks"))[0], "failurePolicy") == "Ignore");
  // Whoever wants pods refused rather than unasked about says so; of nodes and others that is not said.
  WebhookSettings strict = settings();
  strict.pods_policy = "Fail";
  const json::Document refusing = webhook_entries(handlers(), WebhookType::validate, strict);
  for (const json::Value& entry : refusing.elements())
    CHECK((json::text_at(entry, "failurePolicy") == "Fail") ==
          (json::text_at(entry, "name").starts_with("vpod") &&
           json::text_at(entry, "name") != "vpodbinding.koordinator.sh"));
}

TEST_CASE(
    "the environment says what becomes of quotas and reservations, and how long is waited; of nodes it is "
    "Ignore") {
  std::map<std::string, std::string> variables = {
      {"WEBHOOK_CONFIGURATION_FAILURE_POLICY_ELASTICQUOTAS", "Fail"},
      {"WEBHOOK_CONFIGURATION_FAILURE_POLICY_RESERVATIONS", "Fail"},
      {"WEBHOOK_CONFIGURATION_TIMEOUT_SECONDS", "30"}};
  const auto read = [&] {
    return webhook_settings("", [&](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    });
  };
  const WebhookSettings strict = *read();
  int refusing = 0;
  for (const WebhookType type : {WebhookType::mutate, WebhookType::validate}) {
    const json::Document entries = webhook_entries(handlers(), type, strict);
    for (const json::Value& entry : entries.elements()) {
      const std::string_view name = json::text_at(entry, "name");
      const bool refuses = json::text_at(entry, "failurePolicy") == "Fail";
      CHECK(refuses == (name == "melasticquota.koordinator.sh" || name == "velasticquota.koordinator.sh" ||
                        name == "mreservation-create.koordinator.sh"));
      CHECK(json::int_at(entry, "timeoutSeconds") == 30);
      refusing += refuses;
    }
  }
  CHECK(refusing == 3);
  for (const auto& [name, wrong] : {std::pair("WEBHOOK_CONFIGURATION_FAILURE_POLICY_ELASTICQUOTAS", "fail"),
                                    std::pair("WEBHOOK_CONFIGURATION_TIMEOUT_SECONDS", "0"),
                                    std::pair("WEBHOOK_CONFIGURATION_TIMEOUT_SECONDS", "31"),
                                    std::pair("WEBHOOK_CONFIGURATION_TIMEOUT_SECONDS", "3s")}) {
    variables = {{name, wrong}};
    const auto refused = read();
    REQUIRE(refused.has_error());
    CHECK_THAT(refused.error().message(), Catch::StartsWith(name));
  }
}

TEST_CASE("what the manager's entries ask about") {
  const json::Document entries = webhook_entries(handlers(), WebhookType::validate, settings());
  std::vector<std::string> updates;
  for (const json::Value& entry : entries.elements()) {
    const std::string text = json::to_text(entry);
    if (!json::text_at(entry, "name").starts_with("vpod")) continue;
    CHECK_THAT(text, Catch::Contains(R"("key":"kubernetes.io/metadata.name","operator":"NotIn","values":)"
                                     R"(["kube-system","ns"])"));
    if (text.find(R"("operations":["UPDATE"])") == std::string::npos) continue;
    updates.emplace_back(json::text_at(entry, "name"));
    if (updates.back() == "vpod-update-devices.koordinator.sh")
      CHECK_THAT(text, Catch::Contains(R"("matchConditions":[{"name":"vpod-update-devices.koordinator.sh",)"
                                       R"("expression":"(has(object.metadata.annotations) && ')"));
    else
      CHECK_THAT(text, Catch::Contains(R"("objectSelector":{"matchExpressions":[{"key":"koordinator.sh/)"));
  }
  CHECK(updates ==
        std::vector<std::string>{"vpod-update-qos.koordinator.sh", "vpod-update-class.koordinator.sh",
                                 "vpod-update-priority.koordinator.sh", "vpod-update-quota.koordinator.sh",
                                 "vpod-update-preemptible.koordinator.sh", "vpod-resize.koordinator.sh",
                                 "vpod-update-devices.koordinator.sh"});
}

TEST_CASE("what lacks its conditions alone is written only where it is asked for") {
  const json::Document own = webhook_entries(handlers(), WebhookType::validate, settings());
  json::Document live = configuration(R"(,"annotations":{"koordinator.sh/webhook-entries":"manager"})", "");
  const auto everything = [](std::string_view) { return true; };
  CHECK(keep_configuration(live, settings(), "CA", false, everything, own).changed);
  json::Value* const entries = json::find(live, "webhooks");
  std::size_t dropped = 0;
  for (json::Value& entry : entries->elements()) dropped += json::remove(entry, "matchConditions") ? 1 : 0;
  CHECK(dropped == 1);
  const KeptConfiguration left = keep_configuration(live, settings(), "CA", false, everything, own, false);
  CHECK((left.unconditional && !left.changed));
  const KeptConfiguration written = keep_configuration(live, settings(), "CA", false, everything, own);
  CHECK((written.unconditional && written.changed));
  CHECK_THAT(webhooks_of(live), Catch::Contains("matchConditions"));
  const KeptConfiguration whole = keep_configuration(live, settings(), "CA", false, everything, own);
  CHECK_FALSE((whole.unconditional || whole.changed));
  for (json::Value& entry : entries->elements()) json::remove(entry, "rules");
  CHECK(keep_configuration(live, settings(), "CA", false, everything, own, false).changed);
}

TEST_CASE("the entries of koord's first manifests are the manager's, all others stay what they are") {
  constexpr std::string_view kFirst =
      R"({"name":"vpod.koordinator.sh","clientConfig":{"service":{"path":"/validate-pod"}},"failurePolicy":"Fail",)"
      R"("timeoutSeconds":10,"namespaceSelector":{"matchExpressions":[{"key":"control-plane","operator":"DoesNotExist"},)"
      R"({"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["koordinator-system"]}]}},)"
      R"({"name":"vconfigmap.koordinator.sh","failurePolicy":"Fail","timeoutSeconds":10})";
  const auto everything = [](std::string_view) { return true; };
  const json::Document own = webhook_entries(handlers(), WebhookType::validate, settings());
  const auto kept_of = [&](std::string_view remembered, std::string_view live) {
    json::Document document = configuration("", live);
    if (!remembered.empty())
      json::set_text(json::object_at(*json::find(document, "metadata"), "annotations", document.arena()),
                     "template", fmt::format("[{}]", remembered), document.arena());
    const KeptConfiguration done = keep_configuration(document, settings(), "CA", false, everything, own);
    CHECK(done.migrated == (json::text_at(document, "metadata", "annotations",
                                          "koordinator.sh/webhook-entries") == "manager"));
    return done.migrated ? "ours " + template_of(document) : webhooks_of(document);
  };
  // Whether a manager has remembered them or none has run.
  CHECK(kept_of(kFirst, kFirst) == "ours ");
  CHECK(kept_of("", kFirst) == "ours ");
  // The chart's say Fail where its user wanted it, and wait for 30 seconds.
  const std::string chart = entry("vpod.koordinator.sh", "/validate-pod");
  CHECK_THAT(kept_of("", chart), Catch::Contains(R"("failurePolicy":"Fail","future":[1])"));
  CHECK_THAT(kept_of(chart, kFirst), Catch::Contains(R"("failurePolicy":"Fail","future":[1])"));
  CHECK_THAT(kept_of("", entry("pod.example.com", "/validate-pod", R"(},"timeoutSeconds":10,"x":{)")),
             Catch::Contains("pod.example.com"));
}

}  // namespace
}  // namespace koord::manager
