#include "koord/kube/client.hpp"

#include <catch2/catch.hpp>
#include <deque>

#include "koord/api/schema/kind.hpp"
#include "rate_limit.hpp"
#include "support/run_task.hpp"

using namespace koord;
using namespace koord::kube;
using namespace std::chrono_literals;

namespace {

constexpr api::Kind kPod("v1", "Pod", "pods");
constexpr api::Kind kNode = api::Kind("v1", "Node", "nodes").cluster_scoped();
constexpr api::Kind kLease("coordination.k8s.io/v1", "Lease", "leases");

std::string status(int code, const std::string& reason) {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"said so","reason":")" + reason +
         R"(","code":)" + std::to_string(code) + "}";
}

/// Answers from a list, the last one again and again, and keeps what was asked.
class FakeTransport final : public Transport {
 public:
  std::deque<net::Response> answers;
  std::vector<net::Request> requests;

  Task<Result<net::Response>> send(const net::Request& request) override {
    requests.push_back(request);
    net::Response answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    co_return answer;
  }
  Task<Result<std::unique_ptr<net::Stream>>> open_stream(net::Request request) override {
    struct Stream final : net::Stream {
      net::Response response;
      std::string body;
      const net::Response& head() const override { return response; }
      Task<Result<std::string_view>> read(nanoseconds) override {
        std::string text = std::exchange(body, "");
        last = text;
        co_return std::string_view(last);
      }
      std::string last;
    };
    requests.push_back(std::move(request));
    auto stream = std::make_unique<Stream>();
    stream->response.status = answers.front().status;
    stream->body = answers.front().body;
    co_return std::unique_ptr<net::Stream>(std::move(stream));
  }
};

net::Response answer(unsigned code, std::string body = "{}", std::optional<std::chrono::seconds> retry = {}) {
  net::Response response;
  response.status = code;
  response.body = std::move(body);
  if (retry) response.headers.add("Retry-After", std::to_string(retry->count()));
  return response;
}

struct Fixture {
  test::Loop loop;
  FakeTransport transport;
  Client client{transport, loop.clock, {}};
  explicit Fixture(std::deque<net::Response> answers) { transport.answers = std::move(answers); }
  const net::Request& last() const { return transport.requests.back(); }
};

}  // namespace

TEST_CASE("verbs become the right requests") {
  Fixture f({answer(200)});
  auto run = [&](auto task) {
    const auto got = test::run_task(f.loop, std::move(task));
    REQUIRE(got.has_value());
    return f.last().method + " " + f.last().target + " " + std::string(f.last().headers.get("Content-Type")) +
           " " + f.last().body;
  };
  CHECK(run(f.client.get_raw(kPod, {"ns", "p"})) == "GET /api/v1/namespaces/ns/pods/p  ");
  CHECK(run(f.client.get_raw(kNode, {"", "n"}, "status")) == "GET /api/v1/nodes/n/status  ");
  CHECK(run(f.client.get_raw(kPod, {"ns", "a/../b c"})) == "GET /api/v1/namespaces/ns/pods/a%2F..%2Fb%20c  ");
  ListOptions list;
  list.label_selector = "a in (b,c)";
  list.limit = 500;
  CHECK(run(f.client.list_raw(kLease, list)) ==
        "GET /apis/coordination.k8s.io/v1/leases?labelSelector=a%20in%20%28b%2Cc%29&limit=500  ");
  CHECK(run(f.client.create_raw(kPod, "ns", "{}")) == "POST /api/v1/namespaces/ns/pods application/json {}");
  CHECK(run(f.client.update_raw(kLease, {"ns", "l"}, "{}")) ==
        "PUT /apis/coordination.k8s.io/v1/namespaces/ns/leases/l application/json {}");
  PatchOptions patch;
  patch.type = api::PatchType::strategic;
  patch.subresource = "status";
  CHECK(run(f.client.patch_raw(kPod, {"ns", "p"}, "{}", patch)) ==
        "PATCH /api/v1/namespaces/ns/pods/p/status application/strategic-merge-patch+json {}");
  patch = {.type = api::PatchType::apply, .subresource = "", .field_manager = "koord", .force = true};
  CHECK(run(f.client.patch_raw(kNode, {"", "n"}, "{}", patch)) ==
        "PATCH /api/v1/nodes/n?fieldManager=koord&force=true application/apply-patch+yaml {}");
  DeleteOptions remove;
  remove.uid = "u";
  remove.grace_period_seconds = 0;
  remove.propagation_policy = "Background";
  remove.orphan_dependents = false;
  remove.dry_run = {"All"};
  CHECK(
      run(f.client.remove(kPod, {"ns", "p"}, remove)) ==
      "DELETE /api/v1/namespaces/ns/pods/p application/json "
      R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u"},"gracePeriodSeconds":0,"orphanDependents":false,"propagationPolicy":"Background","dryRun":["All"]})");
  CHECK(
      run(f.client.bind({"ns", "p"}, "u", "n\"1")) ==
      "POST /api/v1/namespaces/ns/pods/p/binding application/json "
      R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"p","namespace":"ns","uid":"u"},"target":{"apiVersion":"v1","kind":"Node","name":"n\"1"}})");
  CHECK(
      run(f.client.evict({"ns", "p"})) ==
      "POST /api/v1/namespaces/ns/pods/p/eviction application/json "
      R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"ns"},"deleteOptions":{"apiVersion":"v1","kind":"DeleteOptions"}})");
  WatchOptions watch;
  watch.resource_version = "7";
  watch.send_initial_events = true;
  watch.timeout = 300s;
  CHECK(run(f.client.watch(kPod, watch)) ==
        "GET /api/v1/pods?watch=true&resourceVersion=7&allowWatchBookmarks=true&sendInitialEvents=true"
        "&resourceVersionMatch=NotOlderThan&timeoutSeconds=300  ");
}

TEST_CASE("keys that name no object are refused before anything is sent") {
  Fixture f({answer(200)});
  for (const ObjectKey& key : {ObjectKey{"ns", ""}, ObjectKey{"", "p"}, ObjectKey{"ns", ".."}})
    CHECK(test::run_task(f.loop, f.client.get_raw(kPod, key)).error().code() == Code::invalid);
  CHECK(f.transport.requests.empty());
}

TEST_CASE("the server's Status becomes a typed error") {
  struct Row {
    unsigned http;
    const char* reason;
    Code code;
  };
  for (const Row& row :
       {Row{404, "NotFound", Code::not_found}, Row{409, "AlreadyExists", Code::already_exists},
        Row{409, "Conflict", Code::conflict}, Row{410, "Expired", Code::gone},
        Row{422, "Invalid", Code::invalid}, Row{403, "Forbidden", Code::forbidden},
        Row{401, "Unauthorized", Code::unauthorized}, Row{500, "InternalError", Code::server_error},
        Row{504, "Timeout", Code::timeout}, Row{503, "ServiceUnavailable", Code::unavailable}}) {
    INFO(row.reason);
    Fixture f({answer(row.http, status(static_cast<int>(row.http), row.reason))});
    const auto got = test::run_task(f.loop, f.client.get_raw(kPod, {"ns", "p"}));
    REQUIRE(got.has_error());
    CHECK(got.error().code() == row.code);
    CHECK_THAT(got.error().message(), Catch::Contains("said so"));
    CHECK(f.transport.requests.size() == 1);
    WatchOptions watch;
    const auto stream = test::run_task(f.loop, f.client.watch(kPod, watch));
    REQUIRE(stream.has_error());
    CHECK(stream.error().code() == row.code);
  }
}

TEST_CASE("what the server refused for now is repeated when it says, and not for ever") {
  {
    Fixture f({answer(429, status(429, "TooManyRequests"), 3s), answer(503, "", 2s), answer(201)});
    CHECK(test::run_task(f.loop, f.client.create_raw(kPod, "ns", "{\"x\":1}")).has_value());
    CHECK(f.loop.clock.mono() == MonoTime{} + 5s);
    REQUIRE(f.transport.requests.size() == 3);
    for (const net::Request& request : f.transport.requests) CHECK(request.body == "{\"x\":1}");
  }
  {
    Fixture f({answer(429, status(429, "TooManyRequests"))});  // no Retry-After: our own backoff
    const auto got = test::run_task(f.loop, f.client.get_raw(kPod, {"ns", "p"}));
    REQUIRE(got.has_error());
    CHECK(got.error().code() == Code::too_many_requests);
    CHECK(f.transport.requests.size() == 6);
    CHECK(f.loop.clock.mono() >= MonoTime{} + 3100ms);
    CHECK(f.loop.clock.mono() < MonoTime{} + 4650ms);
  }
  {
    Fixture f({answer(429, status(429, "TooManyRequests"), 10s)});  // a disruption budget
    const auto got = test::run_task(f.loop, f.client.evict({"ns", "p"}));
    REQUIRE(got.has_error());
    CHECK(got.error().retry_after() == 10s);
    CHECK(f.transport.requests.size() == 1);
  }
}

TEST_CASE("the client-side limit lets a burst through and then paces") {
  TokenBucket bucket(10, 5);
  MonoTime now{};
  for (int i = 0; i < 5; ++i) CHECK(bucket.take(now) == 0ns);
  CHECK(bucket.take(now) == 100ms);
  CHECK(bucket.take(now) == 200ms);
  CHECK(bucket.take(now + 10s) == 0ns);
  TokenBucket none(0, 0);
  for (int i = 0; i < 1000; ++i) CHECK(none.take(now) == 0ns);

  test::Loop loop;
  FakeTransport transport;
  transport.answers = {answer(200)};
  Client client(transport, loop.clock,
                {.default_namespace = "default", .qps = 50, .burst = 100, .max_retries = 0});
  for (int i = 0; i < 200; ++i) REQUIRE(test::run_task(loop, client.get_raw(kNode, {"", "n"})).has_value());
  CHECK(loop.clock.mono() > MonoTime{} + 1990ms);
  CHECK(loop.clock.mono() < MonoTime{} + 2010ms);
}

TEST_CASE("what a server may make us wait is capped, in the header and in the Status") {
  struct Row {
    const char* header;
    std::optional<std::chrono::seconds> wait;
  };
  const Row rows[] = {
      {"7", 7s}, {"60", 60s}, {"61", 60s}, {"86400", 60s}, {"99999999999999999999999", 60s},
      {"", {}},  {"-1", {}},  {"1.5", {}}, {" 1", {}},     {"Wed, 21 Oct 2026 07:28:00 GMT", {}}};
  for (const Row& row : rows) {
    CAPTURE(row.header);
    net::Response response;
    response.headers.add("Retry-After", row.header);
    CHECK(retry_after(response) == row.wait);
  }
  Fixture f({answer(500, R"({"kind":"Status","apiVersion":"v1","status":"Failure","reason":"ServerTimeout",)"
                         R"("details":{"retryAfterSeconds":86400},"code":500})")});
  const auto got = test::run_task(f.loop, f.client.get_raw(kNode, {"", "n"}));
  REQUIRE(got.has_error());
  CHECK(got.error().retry_after() == 60s);
}

TEST_CASE("an object's answer is bounded tighter than a list's") {
  Fixture f({answer(200)});
  (void)test::run_task(f.loop, f.client.get_raw(kNode, {"", "n"}));
  const std::size_t object = f.last().max_answer;
  (void)test::run_task(f.loop, f.client.list_raw(kNode, {}));
  CHECK(object == std::size_t{16} << 20);
  CHECK(f.last().max_answer == std::size_t{256} << 20);
}
