// Webhook configurations: what is put right in them, and what is left alone.
#include "webhook/configuration.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/base/base64.hpp"
#include "koord/json/writer.hpp"

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
    const KeptConfiguration first = keep_configuration(document, settings(), "CA", false, pods_only);
    CHECK(first.changed);
    CHECK_FALSE(first.template_lost);
    CHECK(first.left_out == std::vector<std::string>{"quota"});
    CHECK(template_of(document) == fmt::format("[{}]", all));
    CHECK(webhooks_of(document) == fmt::format("[{}]", kept("pod", "/mutate-pod")));
    // The second time there is nothing to do.
    CHECK_FALSE(keep_configuration(document, settings(), "CA", false, pods_only).changed);
    // A gate that is switched on has its entry back.
    const auto everything = [](std::string_view) { return true; };
    CHECK(keep_configuration(document, settings(), "CA", false, everything).changed);
    CHECK(webhooks_of(document) ==
          fmt::format("[{},{}]", kept("quota", "/mutate-quota"), kept("pod", "/mutate-pod")));
    // So does one that somebody took out, and another CA is put in everywhere.
    json::find(document, "webhooks")->set_array();
    CHECK(keep_configuration(document, settings(), "CA", false, pods_only).changed);
    CHECK(webhooks_of(document) == fmt::format("[{}]", kept("pod", "/mutate-pod")));
    CHECK(keep_configuration(document, settings(), "CA 2", false, pods_only).changed);
    CHECK(webhooks_of(document).find(encode_base64("CA 2")) != std::string::npos);
  }
}

TEST_CASE("a host takes the place of the service, and its URLs stay") {
  json::Document document = configuration("", entry("pod", "/mutate-pod"));
  CHECK(keep_configuration(document, settings("10.0.0.1"), "CA", false, pods_only).changed);
  CHECK(webhooks_of(document) ==
        fmt::format(
            R"([{{"name":"pod","clientConfig":{{"caBundle":"{}","url":"https://10.0.0.1:9876/mutate-pod"}},)"
            R"("failurePolicy":"Fail","future":[1]}}])",
            encode_base64("CA")));
  CHECK_FALSE(keep_configuration(document, settings("10.0.0.1"), "CA", false, pods_only).changed);

  json::Document v6 = configuration("", entry("pod", "/mutate-pod"));
  keep_configuration(v6, settings("fd00::1"), "CA", false, pods_only);
  CHECK(webhooks_of(v6).find("https://[fd00::1]:9876/mutate-pod") != std::string::npos);

  // An entry that has a URL already keeps it.
  json::Document urls = configuration(
      "",
      R"({"name":"u","clientConfig":{"url":"https://else:1/mutate-pod?x"}},{"name":"w","clientConfig":{"url":"x"}})");
  CHECK(keep_configuration(urls, settings(), "CA", false, pods_only).left_out ==
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
    const KeptConfiguration result = keep_configuration(document, settings(), "CA", false, pods_only);
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
  CHECK(keep_configuration(document, settings(), "CA", false, pods_only).left_out.size() == 4);
  CHECK(webhooks_of(document) == "[]");
  json::Document bare = *json::parse(R"({"metadata":{"name":"c"}})");
  CHECK(keep_configuration(bare, settings(), "CA", false, pods_only).changed);
  CHECK(template_of(bare) == "[]");
  CHECK_FALSE(keep_configuration(bare, settings(), "CA", false, pods_only).changed);
}

}  // namespace
}  // namespace koord::manager
