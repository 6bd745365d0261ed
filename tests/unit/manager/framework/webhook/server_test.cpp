// The webhook server between a request's bytes and its answer: who is let in, what waits, what is refused.
#include "framework/webhook/server.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "koord/api/types/core_v1/namespace.hpp"
#include "koord/api/types/scheduling_v1/priority_class.hpp"
#include "koord/async/timer.hpp"
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
    const std::string_view name = json::text_at(request.object, "metadata", "name");
    if (name == "stands") return Verdict::unless_soon(400, "nobody knows it");
    const bool never = name == "never";
    return never || ++asked_ < 4 ? Verdict::not_yet("nobody knows it yet") : Verdict::allow();
  }

 private:
  int asked_ = 0;
};

/// Allows, once others have answered: "slow" is never answered; "until" is told how long it may wait.
class AsksOthers final : public ValidatingHandler {
 public:
  explicit AsksOthers(Clock& clock) : clock_(clock) {}
  Verdict handle(const AdmissionRequest& request, const PluginTimes&) override {
    const std::string name(json::text_at(request.object, "metadata", "name"));
    Verdict verdict = Verdict::allow();
    if (name == "until")
      return Verdict::error(400, request.until == MonoTime::max()
                                     ? "for ever"
                                     : fmt::format("{}", (request.until - clock_.mono()) / kReviewTime));
    verdict.later = [this, name] { return answer(name); };
    return verdict;
  }

 private:
  Task<Result<Verdict>> answer(std::string name) {
    KOORD_CO_CHECK(
        co_await sleep(clock_, name == "slow" ? std::chrono::hours(1) : std::chrono::milliseconds(50)));
    if (name == "ends") co_return Error(Code::cancelled, "asked to stop");
    co_return name == "full" ? Verdict::error(400, "there is no room") : Verdict::allow();
  }

  Clock& clock_;
};

HandlerRow asks(std::string_view path, std::string_view late) {
  const auto make = [](HandlerContext& context) -> Result<AdmissionHandler> {
    return AdmissionHandler(
        std::unique_ptr<ValidatingHandler>(std::make_unique<AsksOthers>(context.role.clock)));
  };
  return {path, WebhookType::validate, "pod", "PodValidatingWebhook", {}, {}, make, true, late};
}

const HandlerRow kRows[] = {
    {.path = "/later",
     .type = WebhookType::validate,
     .object_type = "pod",
     .gate = "PodValidatingWebhook",
     .plugins = {},
     .entries = {},
     .make = [](HandlerContext& context) -> Result<AdmissionHandler> {
       context.add_page("/page", [] { return std::string("{}"); });
       return AdmissionHandler(std::unique_ptr<ValidatingHandler>(std::make_unique<Later>()));
     }},
    asks("/asks", "the others do not answer"),
    asks("/asks-too", {}),
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
  CHECK(late.status == 500);
  CHECK_THAT(late.body, Catch::StartsWith("the manager does not know these yet: namespaces"));
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

/// Looks priority classes up; allows whatever it finds.
class Classes final : public ValidatingHandler {
 public:
  explicit Classes(HandlerContext& context) : classes_(context.informer<api::PriorityClass>()) {}
  Verdict handle(const AdmissionRequest&, const PluginTimes&) override {
    return Verdict::deny(fmt::format("{} classes", classes_.size()));
  }

 private:
  kube::Informer<api::PriorityClass> classes_;
};

const HandlerRow kClassRows[] = {
    {.path = "/classes",
     .type = WebhookType::validate,
     .object_type = "pod",
     .gate = "PodValidatingWebhook",
     .plugins = {},
     .entries = {},
     .make = [](HandlerContext& context) -> Result<AdmissionHandler> {
       return AdmissionHandler(std::unique_ptr<ValidatingHandler>(std::make_unique<Classes>(context)));
     }},
};

/// An API server that serves a kind, then fails with it in one way, then serves it again; both of a kind that
/// every cluster has (namespaces) and of one whose definition may be missing (a group of its own).
struct Failing : test::RoleRig {
  explicit Failing(bool core)
      : RoleRig(manager::role(), {}), path(core ? "/validate" : "/classes"), core(core) {
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      return failure ? failure(request) : well(request);
    };
    made = WebhookServer::make(context, api, core ? std::span<const HandlerRow>(kRows) : kClassRows);
    REQUIRE(made.has_value());
  }
  Result<net::Response> well(const net::Request& request) const {
    if (core) return one_namespace(request);
    if (request.target.find("sendInitialEvents") != std::string::npos)
      return test::status_response(422, "Invalid");
    if (request.target.find("watch=") != std::string::npos) return test::json_response(200, "");
    return test::json_response(
        200,
        R"({"kind":"PriorityClassList","apiVersion":"scheduling.k8s.io/v1","metadata":{"resourceVersion":"1"},)"
        R"("items":[{"metadata":{"name":"a"}}]})");
  }
  /// Streams that were open end as they do when their time is over; what comes next is the server's answer.
  void end_streams() {
    for (const auto& body : server.bodies)
      if (!body->dropped()) body->end();
  }
  void pass(std::chrono::seconds time) {
    for (int i = 0; i < 10 * time.count(); ++i) loop.advance(std::chrono::milliseconds(100));
  }
  /// Status and what the body says: "200 allowed", "200 denied: ...", "503 ...".
  std::string answer() {
    net::Request request;
    request.method = "POST";
    request.path = path;
    request.query = {{"timeout", "3s"}};
    request.peer = Rig::peer(true);
    request.headers.add("Content-Type", "application/json");
    request.body =
        R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"CREATE",)"
        R"("namespace":"ns","object":{}}})";
    auto now = (*made)->answer_now(request);
    const net::Response response =
        now ? std::move(*now) : test::run_task(loop, (*made)->answer(std::move(request)));
    if (response.status != 200) return fmt::format("{} {}", response.status, response.body);
    const json::Document read = *json::parse(response.body);
    const json::Value& said = *json::find(read, "response");
    if (json::find(said, "allowed")->is_true()) return "200 allowed";
    return fmt::format("200 {}", json::text_at(said, "status", "message"));
  }
  std::string readiness() const {
    const Result<> ready = (*made)->ready();
    return ready ? "ready" : ready.error().message();
  }

  const std::string path;
  const bool core;
  std::function<Result<net::Response>(const net::Request&)> failure;
  Result<std::unique_ptr<WebhookServer>> made{Error(Code::internal, "")};
};

TEST_CASE("a kind without a definition counts as empty; any other failure is an HTTP error, and not ready") {
  const auto status = [](unsigned code, std::string reason) {
    return [=](const net::Request&) -> Result<net::Response> {
      return test::status_response(code, reason, "for a reason");
    };
  };
  struct Row {
    const char* name;
    bool core;
    std::function<Result<net::Response>(const net::Request&)> failure;
    std::string answer, readiness;  // empty: as if there were nothing of the kind
  };
  const auto not_found = [](const net::Request&) -> Result<net::Response> {
    return net::Response::text(404, "404 page not found\n");
  };
  const auto refused = [](const net::Request&) -> Result<net::Response> {
    return Error(Code::unavailable, "connection refused");
  };
  const auto garbled = [](const net::Request& request) -> Result<net::Response> {
    if (request.target.find("sendInitialEvents") != std::string::npos)
      return test::status_response(422, "Invalid");
    if (request.target.find("watch=") != std::string::npos) return test::status_response(410, "Expired");
    return test::json_response(200, "{]");
  };
  const Row row = GENERATE_COPY(values<Row>({
      {"a definition that is gone", false, not_found, "", ""},
      {"a core kind that is gone", true, not_found, "is its definition installed?", "not found"},
      {"no right", true, status(403, "Forbidden"), "forbidden: ", "forbidden"},
      {"no right to another group's", false, status(403, "Forbidden"), "forbidden: ", "forbidden"},
      {"a token that expired", true, status(401, "Unauthorized"), "unauthorized: ", "unauthorized"},
      {"an API server that fails", false, status(500, "InternalError"), "server error: ", "server error"},
      {"an API server that is away", true, refused, "unavailable: ", "unavailable"},
      {"an answer that cannot be read", false, garbled, "parse error: ", "parse error"},
  }));
  INFO(row.name);
  Failing rig(row.core);
  const std::string kind = row.core ? "namespaces" : "priorityclasses";
  const std::string well = row.core ? "200 allowed" : "200 1 classes", empty = "200 0 classes";

  SECTION("from the start") {
    rig.failure = row.failure;
    rig.informers.start();
    rig.pass(kStale + std::chrono::seconds(1));
    const auto began = rig.loop.clock.mono();
    if (row.answer.empty()) {
      CHECK(rig.answer() == empty);
      CHECK(rig.readiness() == "ready");
    } else {
      CHECK_THAT(rig.answer(),
                 Catch::StartsWith(fmt::format("500 {} have not been followed since 20", kind)) &&
                     Catch::Contains(row.answer));
      CHECK_THAT(rig.readiness(), Catch::StartsWith(fmt::format("{}: {} since 20", kind, row.readiness)));
    }
    CHECK(rig.loop.clock.mono() == began);  // nobody waits for what does not come
  }
  SECTION("after it was known") {
    rig.informers.start();
    rig.pass(std::chrono::seconds(2));
    CHECK(rig.answer() == well);
    CHECK(rig.readiness() == "ready");
    rig.failure = row.failure;
    rig.end_streams();
    rig.pass(kStale / 2);
    CHECK(rig.answer() == well);  // as it was told last
    CHECK(rig.readiness() == "ready");
    rig.pass(kStale);
    if (row.answer.empty()) {
      rig.pass(std::chrono::seconds(60));
      CHECK(rig.answer() == empty);
      CHECK(rig.readiness() == "ready");
    } else {
      CHECK_THAT(rig.answer(),
                 Catch::StartsWith(fmt::format("500 {} have not been followed since 20", kind)) &&
                     Catch::Contains(row.answer));
      CHECK_THAT(rig.readiness(), Catch::StartsWith(fmt::format("{}: {} since 20", kind, row.readiness)));
    }
  }
  rig.failure = {};
  rig.pass(std::chrono::seconds(120));
  CHECK(rig.answer() == well);
  CHECK(rig.readiness() == "ready");
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
  CHECK(fmt::format("{} {}", response.status, response.body) == "500 nobody knows it yet\n");
  CHECK(rig.loop.clock.mono() - began == 2 * kAgainPause + kAgainTime);
  // What must not pass for allowed is refused in the end.
  response = test::run_task(rig.loop,
                            (*rig.made)->answer(rig.request("/later", R"({"metadata":{"name":"stands"}})")));
  CHECK(response.status == 200);
  CHECK_THAT(response.body, Catch::Contains(R"("allowed":false)") && Catch::Contains("nobody knows it"));
  CHECK(rig.loop.clock.mono() - began == 2 * kAgainPause + 2 * kAgainTime);
}

TEST_CASE("a review that takes others' answers waits for them, and is refused when they do not come") {
  Rig rig;
  const auto ask = [&](std::string_view name, std::string_view path = "/asks") {
    net::Request request = rig.request(path, fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
    CHECK(rig.answer(request) == "waits");
    return test::run_task(rig.loop, (*rig.made)->answer(std::move(request))).body;
  };
  CHECK_THAT(ask("free"), Catch::Contains(R"("allowed":true)"));
  CHECK_THAT(ask("full"), Catch::Contains(R"("allowed":false)") && Catch::Contains("there is no room"));
  const MonoTime began = rig.loop.clock.mono();
  CHECK_THAT(ask("slow"), Catch::Contains(R"("allowed":false)") &&
                              Catch::Contains(R"("message":"the others do not answer","code":400)"));
  CHECK(rig.loop.clock.mono() - began == kReviewTime);
  // What has no words of its own, and what is called off, is tried again.
  CHECK_THAT(ask("slow", "/asks-too"),
             Catch::Contains(R"("allowed":false)") && Catch::Contains("/asks-too takes too long") &&
                 Catch::Contains(R"("details":{"retryAfterSeconds":1},"code":503)"));
  CHECK_THAT(ask("ends"), Catch::Contains(R"("allowed":false)") && Catch::Contains("the manager ends") &&
                              Catch::Contains(R"("code":503)"));
  CHECK_THAT(rig.answer(rig.request("/asks", R"({"metadata":{"name":"until"}})")),
             Catch::Contains("for ever"));
  CHECK_THAT(
      test::run_task(rig.loop, (*rig.made)->answer(rig.request("/asks", R"({"metadata":{"name":"until"}})")))
          .body,
      Catch::Contains(R"("message":"1")"));
}

TEST_CASE("who changes what is noted once a review is decided, and shown at /audit to its own host") {
  Rig rig;
  const auto audit =
      runtime::Audit::make(rig.loop.executor(), rig.loop.clock, rig.context.log, runtime::Audit::Options{});
  REQUIRE(audit.has_value());
  ChangeNotes notes(**audit, rig.context.log, "ns", "config");
  CHECK(rig.admit("GET", "/audit") == "404 404 page not found\n");
  (*rig.made)->note_changes(notes, **audit);
  const auto shown = [&](std::string_view address, std::string_view limit = "10") {
    net::Request request;
    request.path = "/audit";
    request.query.emplace_back("limit", limit);
    auto peer = std::make_shared<net::Peer>();
    peer->address = address;
    request.peer = peer;
    return rig.answer(std::move(request));
  };
  CHECK_THAT(shown("127.0.0.1"), Catch::Contains(R"("records":[])"));
  for (const std::string_view name : {"free", "full"}) {
    net::Request request = rig.request("/asks", fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name));
    CHECK(rig.answer(request) == "waits");
    (void)test::run_task(rig.loop, (*rig.made)->answer(std::move(request)));
  }
  (void)rig.answer(rig.request("/mutate", R"({"metadata":{"name":"nobody asks"}})"));
  const std::string all = shown("::1");
  CHECK_THAT(all, Catch::Contains(R"("name":"free","result":"admitted")") &&
                      Catch::Contains(R"("name":"full","result":"refused","message":"there is no room")"));
  CHECK(all.find("nobody asks") == std::string::npos);
  CHECK(all.find("free") == all.rfind("free"));
  CHECK_THAT(shown("127.0.0.1", "0"), Catch::StartsWith("400 limit: "));
  CHECK_THAT(shown("10.0.0.1"), Catch::StartsWith("403 "));
}

TEST_CASE("a page is for who asks from the same host") {
  Rig rig;
  const auto ask = [&](std::string_view address) {
    net::Request request;
    request.path = "/page";
    auto peer = std::make_shared<net::Peer>();
    peer->address = address;
    request.peer = peer;
    return rig.answer(std::move(request)).substr(0, 6);
  };
  CHECK(rig.admit("GET", "/page") == "0");
  for (const std::string_view own : {"127.0.0.1", "::1"}) CHECK(ask(own) == "200 {}");
  for (const std::string_view other : {"10.0.0.1", "", "::2", "1.127.0.0"}) CHECK(ask(other) == "403 th");
}

}  // namespace
}  // namespace koord::manager
