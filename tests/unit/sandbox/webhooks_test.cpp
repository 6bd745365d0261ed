// Admission webhooks: who is asked, what the answers come to, what goes on meanwhile.
#include <deque>
#include <functional>

#include "cluster.hpp"
#include "koord/async/timer.hpp"
#include "koord/base/base64.hpp"
#include "sandbox/builtin/builtin_kinds.hpp"
#include "sandbox/webhooks/webhooks.hpp"
#include "support/run_task.hpp"

#include <catch2/catch.hpp>

using namespace koord;
using namespace koord::sandbox;

namespace {

/// Webhooks by their names, answering out of the test.
class FakeCaller final : public Caller {
 public:
  explicit FakeCaller(Clock& clock) : clock_(clock) {}

  /// What a webhook does with a review: the members of its response, beside the uid.
  using Answer = std::function<std::string(const json::Value& request)>;
  std::map<std::string, Answer> answers;
  std::map<std::string, nanoseconds> delays;
  std::map<std::string, net::Response> raw;  // instead of an answer
  std::vector<std::string> asked;            // "name OPERATION"
  std::vector<std::string> reviews;
  int at_once = 0, most_at_once = 0;

  Task<Result<net::Response>> post(HookPtr hook, std::string body, std::chrono::seconds timeout) override {
    json::Document doc;
    REQUIRE(doc.read(body).has_value());
    const json::Value& request = *find(doc, "request");
    asked.push_back(fmt::format("{} {}", hook->name, text_at(request, "operation")));
    reviews.push_back(std::move(body));
    most_at_once = std::max(most_at_once, ++at_once);
    const nanoseconds delay = delays[hook->name];
    const auto slept = co_await sleep(clock_, std::min<nanoseconds>(delay, timeout));
    --at_once;
    if (!slept) co_return slept.error();
    if (delay >= timeout) co_return Error(Code::timeout, "Post \"u\": context deadline exceeded");
    if (const auto it = raw.find(hook->name); it != raw.end()) co_return it->second;
    const std::string members =
        answers.contains(hook->name) ? answers[hook->name](request) : R"("allowed":true)";
    co_return net::Response::json(
        200, fmt::format(R"({{"kind":"AdmissionReview","apiVersion":"{}","response":{{"uid":"{}",{}}}}})",
                         text_at(doc, "apiVersion"), text_at(request, "uid"), members));
  }

 private:
  Clock& clock_;
};

std::string patch(std::string_view operations) {
  return fmt::format(R"("allowed":true,"patchType":"JSONPatch","patch":"{}")", encode_base64(operations));
}
std::string label(std::string_view key, std::string_view value = "yes") {
  return patch(
      fmt::format(R"([{{"op":"add","path":"/metadata/labels","value":{{"{}":"{}"}}}}])", key, value));
}

struct Rig : test::Loop {
  Store store;
  Registry registry{store};
  Verbs verbs{store, with_kinds(registry), clock, 1};
  Api api{verbs, {}};
  FakeCaller caller{clock};
  Webhooks webhooks{executor(), verbs, caller};

  Rig() { add_initial_objects(verbs); }
  static Registry& with_kinds(Registry& registry) {
    add_builtin_kinds(registry);
    return registry;
  }
  ~Rig() { run_task(*this, webhooks.stop()); }

  net::Request request(const std::string& method, const std::string& path, const std::string& body,
                       const std::string& type = "application/json", bool dry_run = false) {
    net::Request http;
    http.method = method;
    http.path = http.target = path;
    http.body = body;
    if (dry_run) http.query.emplace_back("dryRun", "All");
    http.headers.add("Content-Type", type);
    http.headers.add("Accept", "application/json");
    return http;
  }
  struct Answer {
    unsigned status;
    json::Document doc;
    std::vector<std::string> warnings;
    template <class... Keys>
    std::string text(Keys... keys) const {
      return std::string(text_at(doc, keys...));
    }
  };
  static Answer read(Reply reply) {
    Answer answer{reply.http.status, {}, {}};
    std::string body = reply.http.body;
    for (const auto& part : reply.http.parts) body += *part;
    (void)answer.doc.read(body);
    for (const std::string_view text : reply.http.headers.all("Warning")) answer.warnings.emplace_back(text);
    return answer;
  }
  Answer call(const std::string& method, const std::string& path, const std::string& body = "",
              const std::string& type = "application/json", bool dry_run = false) {
    return read(run_task(*this, webhooks.handle(api, request(method, path, body, type, dry_run))));
  }
  /// `more`: members of the webhook, e.g. R"("failurePolicy":"Ignore",)". `rule`: its operations and
  /// resources.
  static std::string webhook(const std::string& name, const std::string& more = "",
                             const std::string& operations = R"(["*"])",
                             const std::string& resources = R"(["pods"])") {
    return R"({"name":")" + name + R"(.example.com",)" + more +
           R"("sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"url":"https://x/"},)"
           R"("rules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":)" +
           operations + R"(,"resources":)" + resources + "}]}";
  }
  void configure(const std::string& kind, const std::string& name, const std::string& webhooks_json) {
    const auto made = call("POST", "/apis/admissionregistration.k8s.io/v1/" + kind + "webhookconfigurations",
                           R"({"metadata":{"name":")" + name + R"("},"webhooks":[)" + webhooks_json + "]}");
    INFO(made.text("message"));
    REQUIRE(made.status == 201);
  }
};

std::string pod(const std::string& name) { return TestCluster::pod(name); }

}  // namespace

TEST_CASE("mutating webhooks are asked by name, one after the other, then validating ones together") {
  Rig rig;
  rig.configure("mutating", "b", Rig::webhook("second"));
  rig.configure("mutating", "a", Rig::webhook("first"));
  rig.configure("validating", "v", Rig::webhook("one") + "," + Rig::webhook("two"));
  rig.caller.delays = {{"one.example.com", std::chrono::seconds{1}},
                       {"two.example.com", std::chrono::seconds{1}}};
  rig.caller.answers["first.example.com"] = [](const json::Value& review) {
    CHECK(find(review, "object", "metadata", "uid") == nullptr);
    return label("first");
  };
  rig.caller.answers["second.example.com"] = [](const json::Value& review) {
    CHECK(text_at(review, "object", "metadata", "labels", "first") == "yes");
    return patch(R"([{"op":"add","path":"/metadata/labels/second","value":"yes"}])") +
           R"(,"warnings":["mind \"it\""])";
  };
  rig.caller.answers["one.example.com"] = [](const json::Value& review) {
    CHECK(text_at(review, "object", "metadata", "uid").size() == 36);
    CHECK(text_at(review, "object", "spec", "preemptionPolicy") == "PreemptLowerPriority");
    return R"("allowed":true,"warnings":["mind \"it\"","other"])";
  };
  const auto made = rig.call("POST", kPods, pod("p"));
  REQUIRE(made.status == 201);
  CHECK(made.text("metadata", "labels", "second") == "yes");
  CHECK(rig.caller.asked == std::vector<std::string>{"first.example.com CREATE", "second.example.com CREATE",
                                                     "one.example.com CREATE", "two.example.com CREATE"});
  CHECK(rig.caller.most_at_once == 2);
  CHECK(made.warnings == std::vector<std::string>{R"(299 - "mind \"it\"")", R"(299 - "other")"});
  // An API server's own shape of a review.
  json::Document review = *json::parse(rig.caller.reviews[0]);
  const json::Value& request = *find(review, "request");
  CHECK(text_at(request, "requestKind", "kind") == "Pod");
  CHECK(text_at(request, "requestResource", "resource") == "pods");
  CHECK(text_at(request, "name") == "p");
  CHECK(text_at(request, "namespace") == "default");
  CHECK(find(request, "oldObject")->is_null());
  CHECK(text_at(request, "options", "kind") == "CreateOptions");
  CHECK_FALSE(find(request, "dryRun")->is_true());
}

TEST_CASE("refusals and failures in kube-apiserver's words") {
  struct Row {
    std::string more;    // of the webhook
    std::string answer;  // members of the response
    std::optional<net::Response> raw;
    unsigned status;
    std::string reason, message;
  };
  const auto text = [](unsigned status, std::string body, std::string type = "text/plain") {
    net::Response response;
    response.status = status;
    response.body = std::move(body);
    response.content_type = std::move(type);
    return response;
  };
  const std::string denied = R"(admission webhook "w.example.com" denied the request)";
  const std::string failed = R"(Internal error occurred: failed calling webhook "w.example.com": )";
  const Row rows[] = {
      {"", R"("allowed":false)", {}, 400, "", denied + " without explanation"},
      {"",
       R"("allowed":false,"status":{"message":"no","code":403,"reason":"Forbidden"})",
       {},
       403,
       "Forbidden",
       denied + ": no"},
      {"",
       R"("allowed":false,"status":{"reason":"Because","code":200})",
       {},
       400,
       "Because",
       denied + ": Because"},
      {R"("failurePolicy":"Ignore",)", R"("allowed":false)", {}, 400, "", denied + " without explanation"},
      {"", "", text(500, "boom"), 500, "InternalError",
       failed +
           R"(failed to call webhook: an error on the server ("boom") has prevented the request from succeeding)"},
      {R"("failurePolicy":"Ignore",)", "", text(500, "boom"), 201, "", ""},
      {"", "", text(404, "x"), 500, "InternalError",
       failed + "failed to call webhook: the server could not find the requested resource"},
      {"", "", text(200, "", "application/json"), 500, "InternalError",
       failed + "failed to call webhook: 0-length response with status code: 200 and content type: "
                "application/json"},
      {"", "", text(200, "<html>", "text/html"), 500, "InternalError",
       failed + "failed to call webhook: couldn't get version/kind; json parse error: json: cannot unmarshal "
                "string into Go value of type struct"},
      {"", "",
       text(200, R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"})", "application/json"), 500,
       "InternalError", failed + "received invalid webhook response: webhook response was absent"},
      {"",
       R"("allowed":"yes")",
       {},
       500,
       "InternalError",
       failed + "failed to call webhook: json: cannot unmarshal string into Go struct field "
                "AdmissionResponse.response.allowed of type bool"},
      {"",
       R"("allowed":true,"patch":"W10=")",
       {},
       500,
       "InternalError",
       failed +
           "received invalid webhook response: webhook returned response.patch but not response.patchType"},
      {R"("failurePolicy":"Ignore",)", patch("x"), {}, 201, "", ""},
      {R"("failurePolicy":"Ignore",)",
       patch(R"([{"op":"remove","path":"/none"}])"),
       {},
       500,
       "InternalError",
       "Internal error occurred: "},
      {"",
       patch(R"([{"op":"add","path":"/spec/containers","value":[]}])"),
       {},
       422,
       "Invalid",
       "Pod \"p\" is invalid: spec.containers: Required value"},
      {"",
       patch(R"([{"op":"add","path":"/metadata/namespace","value":"x"}])"),
       {},
       400,
       "BadRequest",
       "the namespace of the provided object does not match"},
  };
  for (const Row& row : rows) {
    INFO(row.more << row.answer << (row.raw ? row.raw->body : ""));
    Rig rig;
    rig.configure("mutating", "m", Rig::webhook("w", row.more));
    if (row.raw) rig.caller.raw["w.example.com"] = *row.raw;
    rig.caller.answers["w.example.com"] = [&](const json::Value&) { return row.answer; };
    const auto made = rig.call("POST", kPods, pod("p"));
    CHECK(made.status == row.status);
    if (row.status == 201) continue;
    CHECK(made.text("reason") == row.reason);
    CHECK(made.text("message").starts_with(row.message));
    CHECK(rig.call("GET", kPods + "/p").status == 404);
  }
}

TEST_CASE("a webhook that never answers holds nothing up but the write, for as long as it may") {
  Rig rig;
  rig.configure("validating", "v", Rig::webhook("w", R"("timeoutSeconds":3,)"));
  rig.caller.delays["w.example.com"] = std::chrono::hours{1};
  std::optional<Reply> reply;
  asio::co_spawn(rig.context, rig.webhooks.handle(rig.api, rig.request("POST", kPods, pod("p"))),
                 [&](std::exception_ptr, Reply done) { reply = std::move(done); });
  rig.advance(std::chrono::seconds{2});
  CHECK_FALSE(reply);
  CHECK(rig.api.handle(rig.request("POST", "/api/v1/namespaces", R"({"metadata":{"name":"other"}})"))
            .http.status == 201);
  rig.advance(std::chrono::seconds{2});
  REQUIRE(reply);
  const auto answer = Rig::read(std::move(*reply));
  CHECK(answer.status == 500);
  CHECK(
      answer.text("message") ==
      R"(Internal error occurred: failed calling webhook "w.example.com": failed to call webhook: Post "u": context deadline exceeded)");
}

TEST_CASE("what changed while a webhook thought is reviewed again") {
  Rig rig;
  REQUIRE(rig.call("POST", kPods, pod("p")).status == 201);
  rig.configure("mutating", "m", Rig::webhook("w", "", R"(["UPDATE"])"));
  rig.caller.delays["w.example.com"] = std::chrono::seconds{1};
  rig.caller.answers["w.example.com"] = [](const json::Value& review) {
    const std::string_view color = text_at(review, "object", "metadata", "annotations", "color");
    return patch(fmt::format(R"([{{"op":"add","path":"/metadata/annotations/seen","value":"{}"}}])", color));
  };
  const std::string merge = "application/merge-patch+json";
  std::optional<Reply> reply;
  asio::co_spawn(rig.context,
                 rig.webhooks.handle(rig.api, rig.request("PATCH", kPods + "/p",
                                                          R"({"metadata":{"labels":{"a":"b"}}})", merge)),
                 [&](std::exception_ptr, Reply done) { reply = std::move(done); });
  rig.settle();
  // Somebody else, whom nobody asks.
  CHECK(rig.api
            .handle(
                rig.request("PATCH", kPods + "/p", R"({"metadata":{"annotations":{"color":"red"}}})", merge))
            .http.status == 200);
  rig.advance(std::chrono::seconds{1});
  CHECK_FALSE(reply);
  rig.advance(std::chrono::seconds{1});
  REQUIRE(reply);
  const auto answer = Rig::read(std::move(*reply));
  CHECK(answer.status == 200);
  CHECK(answer.text("metadata", "annotations", "seen") == "red");
  CHECK(answer.text("metadata", "labels", "a") == "b");
  // A write that names the version that it saw is refused instead.
  const auto stale =
      rig.call("PUT", kPods + "/p", R"({"metadata":{"name":"p","resourceVersion":"1"},"spec":{}})");
  CHECK(stale.status == 409);
}

TEST_CASE("reinvocation: those who want to see what others did after them, once") {
  Rig rig;
  rig.configure("mutating", "a", Rig::webhook("first", R"("reinvocationPolicy":"IfNeeded",)"));
  rig.configure("mutating", "b", Rig::webhook("second"));
  rig.caller.answers["first.example.com"] = [](const json::Value& review) {
    return text_at(review, "object", "metadata", "labels", "second").empty()
               ? label("first")
               : patch(R"([{"op":"add","path":"/metadata/labels/again","value":"yes"}])");
  };
  rig.caller.answers["second.example.com"] = [](const json::Value&) {
    return patch(R"([{"op":"add","path":"/metadata/labels/second","value":"yes"}])");
  };
  const auto made = rig.call("POST", kPods, pod("p"));
  REQUIRE(made.status == 201);
  CHECK(made.text("metadata", "labels", "again") == "yes");
  CHECK(rig.caller.asked.size() == 3);
}

TEST_CASE("whose requests are a webhook's") {
  struct Row {
    std::string more, operations, resources;
    std::string method, path, body;
    std::string asked;  // the operation, or empty
  };
  const std::string binding = R"({"metadata":{"name":"old"},"target":{"kind":"Node","name":"n"}})";
  const Row rows[] = {
      {"", R"(["*"])", R"(["pods"])", "POST", kPods, pod("p"), "CREATE"},
      {"", R"(["*"])", R"(["*"])", "POST", kPods, pod("p"), "CREATE"},
      {"", R"(["UPDATE"])", R"(["pods"])", "POST", kPods, pod("p"), ""},
      {"", R"(["*"])", R"(["nodes"])", "POST", kPods, pod("p"), ""},
      {"", R"(["*"])", R"(["pods"])", "POST", kPods + "/old/binding", binding, ""},
      {"", R"(["*"])", R"(["pods/binding"])", "POST", kPods + "/old/binding", binding, "CREATE"},
      {"", R"(["*"])", R"(["pods/*"])", "POST", kPods + "/old/eviction", R"({"metadata":{"name":"old"}})",
       "CREATE"},
      {"", R"(["*"])", R"(["*/*"])", "POST", kPods + "/old/exec", "", "CONNECT"},
      {"", R"(["*"])", R"(["bindings"])", "POST", "/api/v1/namespaces/default/bindings", binding, "CREATE"},
      {"", R"(["*"])", R"(["pods"])", "DELETE", kPods + "/old", "", "DELETE"},
      {"", R"(["*"])", R"(["pods"])", "DELETE", kPods, "", "DELETE"},
      {"", R"(["*"])", R"(["pods"])", "DELETE", kPods + "/none", "", ""},
      {"", R"(["*"])", R"(["pods/status"])", "PUT", kPods + "/old/status",
       R"({"metadata":{"name":"old"},"status":{}})", "UPDATE"},
      {"", R"(["*"])", R"(["namespaces"])", "POST", "/api/v1/namespaces", R"({"metadata":{"name":"new"}})",
       "CREATE"},
      {R"("namespaceSelector":{"matchLabels":{"a":"b"}},)", R"(["*"])", R"(["pods"])", "POST", kPods,
       pod("p"), ""},
      {R"("namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"default"}},)", R"(["*"])",
       R"(["pods"])", "POST", kPods, pod("p"), "CREATE"},
      {R"("namespaceSelector":{"matchLabels":{"a":"b"}},)", R"(["*"])", R"(["nodes"])", "POST",
       "/api/v1/nodes", R"({"metadata":{"name":"n"}})", "CREATE"},
      {R"("namespaceSelector":{"matchLabels":{"a":"b"}},)", R"(["*"])", R"(["namespaces"])", "POST",
       "/api/v1/namespaces", R"({"metadata":{"name":"new","labels":{"a":"b"}}})", "CREATE"},
      {R"("objectSelector":{"matchLabels":{"a":"b"}},)", R"(["*"])", R"(["pods"])", "POST", kPods, pod("p"),
       ""},
      {R"("objectSelector":{"matchLabels":{"app":"old"}},)", R"(["*"])", R"(["pods"])", "DELETE",
       kPods + "/old", "", "DELETE"},
      {"", R"(["*"])", R"(["*/*"])", "POST",
       "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
       R"({"metadata":{"name":"x"}})", ""},
      {R"("matchPolicy":"Exact",)", R"(["*"])", R"(["events"])", "POST",
       "/apis/events.k8s.io/v1/namespaces/default/events", R"({"metadata":{"name":"e"}})", "CREATE"},
  };
  for (const Row& row : rows) {
    INFO(row.more << row.operations << row.resources << " " << row.method << " " << row.path);
    Rig rig;
    REQUIRE(
        rig.call(
               "POST", kPods,
               R"({"metadata":{"name":"old","labels":{"app":"old"}},"spec":{"containers":[{"name":"c","image":"i"}]}})")
            .status == 201);
    rig.configure("validating", "v", Rig::webhook("w", row.more, row.operations, row.resources));
    (void)rig.call(row.method, row.path, row.body);
    CHECK(rig.caller.asked ==
          (row.asked.empty() ? std::vector<std::string>{} : std::vector{"w.example.com " + row.asked}));
  }
}

TEST_CASE("conditions: one that is false spares the webhook, an error leaves it to the failure policy") {
  struct Row {
    std::string conditions, policy;
    bool asked;
    unsigned status;
    std::string message;
  };
  const Row rows[] = {
      {"true", "Fail", true, 201, ""},
      {"object.metadata.name == 'p' && request.operation == 'CREATE' && request.userInfo.username == 'admin'",
       "Fail", true, 201, ""},
      {"request.resource.resource == 'pods' && request.kind.kind == 'Pod' && request.namespace == 'default'",
       "Fail", true, 201, ""},
      {"oldObject == null && namespaceObject == null", "Fail", true, 201, ""},
      {"object.metadata.name == 'q'", "Fail", false, 201, ""},
      {"has(object.metadata.labels) && object.metadata.labels['a'] == 'b'", "Fail", false, 201, ""},
      {"object.spec.zz == 1", "Fail", false, 403,
       "pods \"p\" is forbidden: expression 'object.spec.zz == 1' resulted in error: no such key: zz"},
      {"object.spec.zz == 1", "Ignore", false, 201, ""},
      {"object.spec.zz == 1\",\"name\":\"a\"},{\"name\":\"b\",\"expression\":\"false", "Fail", false, 201,
       ""},
      {"object.spec.zz == 1\",\"name\":\"a\"},{\"name\":\"b\",\"expression\":\"true", "Fail", false, 403,
       "pods \"p\" is forbidden: expression 'object.spec.zz == 1' resulted in error: no such key: zz"},
      {"lists.range(1000).all(a, lists.range(1000).all(b, a + b >= 0))", "Fail", false, 403,
       "resulted in error: operation cancelled: actual cost limit exceeded"},
  };
  for (const bool mutating : {true, false})
    for (const Row& row : rows) {
      CAPTURE(mutating, row.conditions, row.policy);
      Rig rig;
      const std::string more = R"("failurePolicy":")" + row.policy +
                               R"(","matchConditions":[{"name":"c","expression":")" + row.conditions +
                               R"("}],)";
      const auto made = rig.call("POST",
                                 fmt::format("/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations",
                                             mutating ? "mutating" : "validating"),
                                 R"({"metadata":{"name":"x"},"webhooks":[)" + Rig::webhook("a", more) + "]}");
      REQUIRE(made.status == 201);
      const auto pod = rig.call(
          "POST", kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
      CHECK(pod.status == row.status);
      CHECK_THAT(pod.text("message"), Catch::Contains(row.message));
      CHECK(rig.caller.asked.empty() != row.asked);
    }
}

TEST_CASE("a dry run is reviewed by those who have no side effects, and nothing is kept") {
  Rig rig;
  rig.configure("mutating", "m", Rig::webhook("w"));
  const auto made = rig.call("POST", kPods, pod("p"), "application/json", true);
  CHECK(made.status == 201);
  CHECK(rig.caller.asked.size() == 1);
  CHECK(find(*json::parse(rig.caller.reviews[0]), "request", "dryRun")->is_true());
  CHECK(rig.call("GET", kPods + "/p").status == 404);
}

TEST_CASE("a deleted collection: each object once, and none goes if one may not") {
  Rig rig;
  for (const char* name : {"a", "b", "c"}) REQUIRE(rig.call("POST", kPods, pod(name)).status == 201);
  rig.configure("validating", "v", Rig::webhook("w", "", R"(["DELETE"])"));
  rig.caller.answers["w.example.com"] = [](const json::Value& review) {
    return text_at(review, "oldObject", "metadata", "name") == "b" ? R"("allowed":false)"
                                                                   : R"("allowed":true)";
  };
  CHECK(rig.call("DELETE", kPods).status == 400);
  CHECK(rig.caller.asked.size() == 3);
  CHECK(find(rig.call("GET", kPods).doc, "items")->size() == 3);
  rig.caller.answers.clear();
  CHECK(rig.call("DELETE", kPods).status == 200);
  CHECK(rig.caller.asked.size() == 6);
  CHECK(find(rig.call("GET", kPods).doc, "items")->empty());
}

TEST_CASE("a generated name is given once, and a new object is one however often it is reviewed") {
  Rig rig;
  rig.configure("mutating", "m", Rig::webhook("m"));
  rig.configure("validating", "v", Rig::webhook("v"));
  std::string seen;
  rig.caller.answers["m.example.com"] = [](const json::Value& review) {
    CHECK(text_at(review, "object", "metadata", "name").empty());
    CHECK(text_at(review, "name").empty());
    return label("x");
  };
  rig.caller.answers["v.example.com"] = [&](const json::Value& review) {
    seen = text_at(review, "name");
    return R"("allowed":true)";
  };
  const auto made =
      rig.call("POST", kPods,
               R"({"metadata":{"generateName":"p-"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  REQUIRE(made.status == 201);
  CHECK(made.text("metadata", "name") == seen);
  CHECK(find(rig.call("GET", kPods).doc, "items")->size() == 1);
}

TEST_CASE("configurations are completed and validated when they are written") {
  struct Row {
    std::string webhook, message;
  };
  const auto with =
      [](const std::string& more, const std::string& client = R"({"url":"https://x/"})",
         const std::string& rule =
             R"({"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]})") {
        return R"({"name":"w.example.com",)" + more +
               R"("sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":)" + client +
               R"(,"rules":[)" + rule + "]}";
      };
  const Row rows[] = {
      {R"({"name":"w","clientConfig":{"url":"https://x"}})",
       "[webhooks[0].name: Invalid value: \"w\": should be a domain with at least three segments separated "
       "by dots, "
       "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun, "
       "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1]"},
      {with(R"("timeoutSeconds":31,)"),
       "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds"},
      {with("", "{}"), "webhooks[0].clientConfig: Required value: exactly one of url or service is required"},
      {with("", R"({"url":"http://x/"})"),
       "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; "
       "desired format: https://host[/path]"},
      {with("", R"({"service":{"namespace":"a","name":"b","port":0}})"),
       "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and "
       "65535, inclusive"},
      {with("", R"({"service":{"namespace":"a","name":"b","path":"x"}})"),
       "webhooks[0].clientConfig.service.path: Invalid value: \"x\": must start with a '/'"},
      {with(R"("failurePolicy":"Maybe",)"),
       "webhooks[0].failurePolicy: Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\""},
      {with(
           "", R"({"url":"https://x/"})",
           R"({"apiGroups":["*","a"],"apiVersions":["v1"],"operations":["GET"],"resources":["pods","pods/*","pods/x"]})"),
       "webhooks[0].rules[0].operations[0]: Unsupported value: \"GET\": supported values: \"*\", "
       "\"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\""},
      {with(R"("matchConditions":[{"name":"a","expression":" object.x == "}],)"),
       "webhooks[0].matchConditions[0].expression: Invalid value: \"object.x ==\": compilation failed: "
       "ERROR: "
       "<input>:1:12: Syntax error: mismatched input '<EOF>' expecting "},
      {with(R"("matchConditions":[{"name":"a","expression":"request.foo == 1"}],)"),
       "compilation failed: ERROR: <input>:1:8: undefined field 'foo'\n | request.foo == 1\n | .......^"},
      {with(R"("matchConditions":[{"name":"a","expression":"object.x"}],)"),
       "webhooks[0].matchConditions[0].expression: Invalid value: \"object.x\": must evaluate to bool but "
       "got dyn"},
      {with(
           R"x("matchConditions":[{"name":"a","expression":"authorizer.group('').resource('pods').check('get').allowed()"}],)x"),
       "the sandbox has no authorizer that expressions could ask"},
      {with(
           R"("matchConditions":[{"name":"a","expression":"true"},{"name":"a","expression":""},{"expression":"true"}],)"),
       "[webhooks[0].matchConditions[1].expression: Required value, "
       "webhooks[0].matchConditions[1].name: Duplicate value: \"a\", "
       "webhooks[0].matchConditions[2].name: Required value]"},
      {with("") + "," + with(""), "webhooks[1].name: Duplicate value: \"w.example.com\""},
  };
  for (const Row& row : rows) {
    INFO(row.webhook);
    TestCluster cluster;
    const auto made =
        cluster.call("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
                     R"({"metadata":{"name":"x"},"webhooks":[)" + row.webhook + "]}");
    CHECK(made.status == 422);
    CHECK_THAT(made.text("message"), Catch::Contains(row.message));
  }
  TestCluster cluster;
  const auto made =
      cluster.call("POST", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
                   R"({"metadata":{"name":"x"},"webhooks":[)" +
                       with("", R"({"service":{"namespace":"a","name":"b"}})") + "]}");
  REQUIRE(made.status == 201);
  const json::Value& webhook = (*find(made.doc, "webhooks"))[0];
  CHECK(text_at(webhook, "failurePolicy") == "Fail");
  CHECK(text_at(webhook, "matchPolicy") == "Equivalent");
  CHECK(text_at(webhook, "reinvocationPolicy") == "Never");
  CHECK(int_at(webhook, "timeoutSeconds") == 10);
  CHECK(int_at(webhook, "clientConfig", "service", "port") == 443);
  CHECK(text_at((*find(webhook, "rules"))[0], "scope") == "*");
}

TEST_CASE("a service leads to its target port on loopback") {
  Rig rig;
  HookClient client;
  client.service = "hook";
  client.service_ns = "default";
  client.path = "/path";
  const Collection& services = *rig.registry.get("", "services").objects;
  auto missing = resolve_hook(client, services, std::chrono::seconds{10});
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().message() ==
        R"(Post "https://hook.default.svc:443/path?timeout=10s": service "hook" not found)");
  REQUIRE(
      rig.call(
             "POST", "/api/v1/namespaces/default/services",
             R"({"metadata":{"name":"hook"},"spec":{"ports":[{"port":443,"targetPort":9443},{"port":80}]}})")
          .status == 201);
  auto found = resolve_hook(client, services, std::chrono::seconds{10});
  REQUIRE(found.has_value());
  CHECK(found->url.host == "127.0.0.1");
  CHECK(found->url.port == 9443);
  CHECK(found->server_name == "hook.default.svc");
  CHECK(found->target == "/path?timeout=10s");
}
