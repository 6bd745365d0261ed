// The webhook server between a request's bytes and its answer: who is let in, what waits, what is refused.
#include "webhook/server.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/base/base64.hpp"
#include "role.hpp"
#include "support/role_rig.hpp"

namespace koord::manager {
namespace {

/// Adds a label; what it thinks of other operations than CREATE it throws.
class Labels final : public MutatingHandler {
 public:
  Verdict handle(const AdmissionRequest& request, json::Document& object, const PluginTimes& times) override {
    if (request.operation != Operation::create) throw std::runtime_error("lost");
    return times.run(request.operation, "Labels", [&] {
      json::Value& metadata = json::object_at(object, "metadata", object.arena());
      if (json::text_at(metadata, "name") == "bad") return Verdict::error(500, "no such thing");
      if (json::text_at(metadata, "name") == "same") return Verdict::allow();
      json::set_text(json::object_at(metadata, "labels", object.arena()), "a/b", "c", object.arena());
      return Verdict::allow();
    });
  }
};

/// Knows of namespaces.
class Known final : public ValidatingHandler {
 public:
  explicit Known(HandlerContext& context) : namespaces_(context.informer<api::Namespace>()) {}
  Verdict handle(const AdmissionRequest& request, const PluginTimes&) override {
    return namespaces_.get("", request.ns) ? Verdict::allow() : Verdict::deny("nobody knows it");
  }

 private:
  kube::Informer<api::Namespace> namespaces_;
};

/// Has what it needs when it is asked the fourth time; of "never", never.
class Later final : public ValidatingHandler {
 public:
  Verdict handle(const AdmissionRequest& request, const PluginTimes&) override {
    const bool never = json::text_at(request.object, "metadata", "name") == "never";
    return never || ++asked_ < 4 ? Verdict::not_yet("nobody knows it yet") : Verdict::allow();
  }

 private:
  int asked_ = 0;
};

const HandlerRow kRows[] = {
    {.path = "/later",
     .type = WebhookType::validate,
     .object_type = "pod",
     .gate = "PodValidatingWebhook",
     .plugins = {},
     .entries = {},
     .make = [](HandlerContext&) -> Result<AdmissionHandler> {
       return AdmissionHandler(std::unique_ptr<ValidatingHandler>(std::make_unique<Later>()));
     }},
    {.path = "/mutate",
     .type = WebhookType::mutate,
     .object_type = "pod",
     .gate = "PodMutatingWebhook",
     .plugins = {},
     .entries = {},
     .make = [](HandlerContext&) -> Result<AdmissionHandler> {
       return AdmissionHandler(std::unique_ptr<MutatingHandler>(std::make_unique<Labels>()));
     }},
    {.path = "/validate",
     .type = WebhookType::validate,
     .object_type = "pod",
     .gate = "PodValidatingWebhook",
     .plugins = {},
     .entries = {},
     .make = [](HandlerContext& context) -> Result<AdmissionHandler> {
       return AdmissionHandler(std::unique_ptr<ValidatingHandler>(std::make_unique<Known>(context)));
     }},
    {.path = "/off",
     .object_type = "node",
     .gate = "NodeMutatingWebhook",
     .plugins = {},
     .entries = {},
     .make = nullptr},
};

struct Rig : test::RoleRig {
  Rig() : RoleRig(manager::role(), {}), made(WebhookServer::make(context, api, kRows)) {
    REQUIRE(made.has_value());
  }

  net::Request request(std::string_view path, std::string body, std::string_view operation = "CREATE") {
    net::Request request;
    request.method = "POST";
    request.path = path;
    request.peer = peer(false);
    request.headers.add("Content-Type", "application/json");
    if (!body.empty())
      request.body = fmt::format(
          R"({{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"u","operation":"{}",)"
          R"("namespace":"ns","object":{}}}}})",
          operation, body);
    return request;
  }
  static std::shared_ptr<const net::Peer> peer(bool known) {
    auto made = std::make_shared<net::Peer>();
    made->known = known;
    return made;
  }
  /// Status and body; "waits" if it cannot be answered yet.
  std::string answer(net::Request request) {
    const auto response = (*made)->answer_now(request);
    return response ? fmt::format("{} {}", response->status, response->body) : "waits";
  }
  std::string admit(std::string_view method, std::string_view path) {
    net::Request request;
    request.method = method;
    request.path = path;
    const net::Admission admission = (*made)->admit(request);
    return admission.refusal ? fmt::format("{} {}", admission.refusal->status, admission.refusal->body)
                             : std::to_string(admission.max_body);
  }

  Result<std::unique_ptr<WebhookServer>> made;
};

constexpr std::string_view kHead =
    R"(200 {"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":)";

TEST_CASE("a review of a path that is served is answered, with the patch of what was changed") {
  Rig rig;
  CHECK((*rig.made)->serves("/mutate"));
  CHECK_FALSE((*rig.made)->serves("/off"));
  CHECK(rig.answer(rig.request("/mutate", R"({"metadata":{"name":"x"},"unknown":{"y":[1.0]}})")) ==
        fmt::format(
            R"({}true,"status":{{"metadata":{{}},"code":200}},"patch":"{}","patchType":"JSONPatch"}}}})",
            kHead, encode_base64(R"([{"op":"add","path":"/metadata/labels","value":{"a/b":"c"}}])")));
  CHECK(rig.answer(rig.request("/mutate", R"({"metadata":{"name":"same"}})")) ==
        fmt::format(R"({}true,"status":{{"metadata":{{}},"code":200}}}}}})", kHead));
  CHECK(
      rig.answer(rig.request("/mutate", R"({"metadata":{"name":"bad"}})")) ==
      fmt::format(R"({}false,"status":{{"metadata":{{}},"message":"no such thing","code":500}}}}}})", kHead));
  // A defect answers, too.
  CHECK(rig.answer(rig.request("/mutate", "{}", "DELETE")) ==
        fmt::format(
            R"({}false,"status":{{"metadata":{{}},"message":"panic: lost [recovered]","code":500}}}}}})",
            kHead));
  CHECK_THAT(
      rig.metrics.exposition(),
      Catch::Contains(R"(controller_runtime_webhook_requests_total{webhook="/mutate",code="200"} 4)") &&
          Catch::Contains(R"(controller_runtime_webhook_latency_seconds_count{webhook="/mutate"} 4)"));
}

TEST_CASE("who sends no review is told so") {
  Rig rig;
  const auto refused = [](std::string_view message) {
    return fmt::format(
        R"(200 {{"response":{{"uid":"","allowed":false,"status":{{"metadata":{{}},"message":"{}","code":400}}}}}})",
        message);
  };
  CHECK(rig.answer(rig.request("/mutate", "")) == refused("request body is empty"));
  net::Request typed = rig.request("/mutate", "{}");
  typed.headers.clear();
  typed.headers.add("Content-Type", "text/plain");
  CHECK(rig.answer(typed) == refused("contentType=text/plain, expected application/json"));
  typed.headers.clear();
  CHECK(rig.answer(typed) == refused("contentType=, expected application/json"));
  typed.headers.add("Content-Type", "application/json; charset=utf-8");
  CHECK(rig.answer(typed).starts_with(kHead));
  typed.body.resize(typed.body.size() / 2);
  CHECK_THAT(rig.answer(typed), Catch::StartsWith("200 {\"response\":{\"uid\":\"\",\"allowed\":false"));

  CHECK(rig.admit("POST", "/mutate") == std::to_string(kMaxReviewBytes));
  CHECK(rig.admit("GET", "/mutate") == "405 reviews are posted\n");
  CHECK(rig.admit("POST", "/off") == "404 404 page not found\n");
  CHECK(rig.admit("POST", "/") == "404 404 page not found\n");
  CHECK(rig.admit("GET", "/healthz") == "0");
  net::Request health;
  health.path = "/healthz";
  CHECK(rig.answer(health) == "200 ");
  // Nobody is known by that: a seat is kept for who brings reviews.
  typed.body = "{";
  CHECK_FALSE((*rig.made)->answer_now(health)->proves);
  CHECK_FALSE((*rig.made)->answer_now(typed)->proves);
  typed = rig.request("/mutate", "{}");
  CHECK((*rig.made)->answer_now(typed)->proves);
}

/// An API server that has the namespace "ns" and nothing else.
Result<net::Response> one_namespace(const net::Request& request) {
  if (request.target.find("sendInitialEvents") != std::string::npos)
    return test::status_response(422, "Invalid");
  if (request.target.find("watch=") != std::string::npos) return test::json_response(200, "");
  return test::json_response(
      200, R"({"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"1"},)"
           R"("items":[{"metadata":{"name":"ns"}}]})");
}

TEST_CASE("a review waits for informers, for as long as its API server does, and no more than so many") {
  Rig rig;
  rig.server.delay = std::chrono::seconds(5);
  rig.server.answer = &one_namespace;
  rig.informers.start();
  CHECK(rig.answer(rig.request("/validate", "{}")) == "waits");
  CHECK(rig.answer(rig.request("/mutate", "{}")).starts_with(kHead));

  const auto began = rig.loop.clock.mono();
  net::Request short_of_time = rig.request("/validate", "{}");
  short_of_time.query = {{"timeout", "3s"}};
  const net::Response late = test::run_task(rig.loop, (*rig.made)->answer(short_of_time));
  CHECK(late.status == 504);
  CHECK(late.body == "the manager does not know these yet: namespaces\n");
  CHECK(rig.loop.clock.mono() - began == std::chrono::milliseconds(2700));

  std::vector<net::Response> answers;
  const auto ask = [&](bool known, std::string object) -> Task<> {
    net::Request request = rig.request("/validate", std::move(object));
    request.peer = Rig::peer(known);
    answers.push_back(co_await (*rig.made)->answer(std::move(request)));
  };
  const auto ask_many = [&](std::size_t count, bool known, const std::string& object) {
    for (std::size_t i = 0; i < count; ++i) rig.tasks.spawn("review", ask(known, object));
    rig.loop.settle();
  };
  // Of strangers half as many as there is room; the others are answered at once, by an error.
  ask_many(kHeldReviews.count / 2 + 3, false, "{}");
  REQUIRE(answers.size() == 3);
  CHECK(answers[2].status == 503);
  CHECK(answers[2].body == "too many reviews wait\n");
  ask_many(kHeldReviews.count / 2, true, "{}");
  CHECK(answers.size() == 3);
  ask_many(1, true, "{}");
  CHECK(answers.size() == 4);
  CHECK_THAT(
      rig.metrics.exposition(),
      Catch::Contains(R"(controller_runtime_webhook_requests_in_flight{webhook="/validate"} 256)") &&
          Catch::Contains(R"(controller_runtime_webhook_requests_total{webhook="/validate",code="503"} 4)"));
  CHECK(test::run_task(rig.loop, rig.tasks.join()).has_value());
  REQUIRE(answers.size() == kHeldReviews.count + 4);
  CHECK(answers.back().status == 200);
  CHECK(answers.back().body.find(R"("allowed":true)") != std::string::npos);
  CHECK(rig.answer(rig.request("/validate", "{}")).find(R"("allowed":true)") != std::string::npos);
}

TEST_CASE("bodies that wait are bounded together, and a known peer's has room beside those of strangers") {
  Rig rig;
  rig.server.delay = std::chrono::seconds(1);
  rig.server.answer = &one_namespace;
  rig.informers.start();
  const std::string large = fmt::format(R"({{"x":"{}"}})", std::string(5 << 20, 'y'));
  std::vector<unsigned> answers;
  const auto ask = [&](bool known) -> Task<> {
    net::Request request = rig.request("/validate", large);
    request.peer = Rig::peer(known);
    answers.push_back((co_await (*rig.made)->answer(std::move(request))).status);
  };
  for (int i = 0; i < 5; ++i) rig.tasks.spawn("review", ask(false));
  rig.loop.settle();
  CHECK(answers == std::vector<unsigned>{503, 503});  // 16 MiB for strangers
  for (int i = 0; i < 4; ++i) rig.tasks.spawn("review", ask(true));
  rig.loop.settle();
  CHECK(answers == std::vector<unsigned>{503, 503, 503});  // 32 MiB for all
  for (int i = 0; i < 5; ++i) rig.loop.advance(std::chrono::seconds(1));
  CHECK(test::run_task(rig.loop, rig.tasks.join(), true).has_value());
  CHECK(answers == std::vector<unsigned>{503, 503, 503, 200, 200, 200, 200, 200, 200});
}

TEST_CASE("a large review is not decided where others wait for it, and says what a small one says") {
  Rig rig;
  const auto object = [](std::string_view name, std::size_t bytes) {
    return fmt::format(R"({{"metadata":{{"name":"{}"}},"x":"{}"}})", name, std::string(bytes, 'y'));
  };
  for (const std::string_view name : {"new", "same", "bad"}) {
    const std::string small = rig.answer(rig.request("/mutate", object(name, 1)));
    net::Request large = rig.request("/mutate", object(name, kLightReview));
    REQUIRE(rig.answer(large) == "waits");
    const net::Response response = test::run_task(rig.loop, (*rig.made)->answer(std::move(large)), true);
    CHECK(fmt::format("{} {}", response.status, response.body) == small);
    CHECK(response.proves);
  }
  net::Request garbage = rig.request("/mutate", std::string(kLightReview, '['));
  const net::Response refused = test::run_task(rig.loop, (*rig.made)->answer(std::move(garbage)), true);
  CHECK(refused.status == 200);
  CHECK_THAT(refused.body, Catch::StartsWith("{\"response\":{\"uid\":\"\",\"allowed\":false"));
  CHECK_FALSE(refused.proves);
}

TEST_CASE("a review that needs a kind without a definition is refused at once, by name, until there is one") {
  Rig rig;
  bool defined = false;
  rig.server.answer = [&](const net::Request& request) -> Result<net::Response> {
    if (!defined) return net::Response::text(404, "404 page not found\n");
    return one_namespace(request);
  };
  rig.informers.start();
  CHECK(rig.answer(rig.request("/validate", "{}")) == "waits");  // nothing is known
  rig.loop.settle();
  const std::string refused = fmt::format(
      R"({}false,"status":{{"metadata":{{}},"message":"no matches for kind \"Namespace\" in version \"v1\"","code":500}}}}}})",
      kHead);
  CHECK(rig.answer(rig.request("/validate", "{}")) == refused);
  CHECK(rig.answer(rig.request("/mutate", "{}")).starts_with(kHead));
  const net::Response waited = test::run_task(rig.loop, (*rig.made)->answer(rig.request("/validate", "{}")));
  CHECK(fmt::format("{} {}", waited.status, waited.body) == refused);

  defined = true;
  for (int i = 0; i < 600; ++i) rig.loop.advance(std::chrono::milliseconds(100));
  CHECK(rig.answer(rig.request("/validate", "{}")).find(R"("allowed":true)") != std::string::npos);
}

TEST_CASE("a review that lacks what was made a moment ago is decided again, for a second") {
  Rig rig;
  CHECK(rig.answer(rig.request("/later", "{}")) == "waits");
  const auto began = rig.loop.clock.mono();
  net::Response response = test::run_task(rig.loop, (*rig.made)->answer(rig.request("/later", "{}")));
  CHECK_THAT(response.body, Catch::Contains(R"("allowed":true)"));
  CHECK(rig.loop.clock.mono() - began == 2 * kAgainPause);

  response = test::run_task(rig.loop,
                            (*rig.made)->answer(rig.request("/later", R"({"metadata":{"name":"never"}})")));
  CHECK_THAT(response.body, Catch::Contains(R"("message":"nobody knows it yet","code":500)"));
  CHECK(rig.loop.clock.mono() - began == 2 * kAgainPause + kAgainTime);
}

}  // namespace
}  // namespace koord::manager
