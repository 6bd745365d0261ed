// ExtenderCalls: what extenders are sent and what is made of their answers, good ones and bad ones.
#include "extenders/extender_calls.hpp"

#include <catch2/catch.hpp>

#include "koord/async/offload.hpp"
#include "koord/async/task_group.hpp"
#include "koord/json/value.hpp"
#include "koord/kube/client.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"
#include "world.hpp"

namespace koord::scheduler::test {
namespace {

using namespace scheduling::test;
using koord::test::json_response;
using namespace std::chrono_literals;
using Answers = std::map<std::string, Result<net::Response>>;

scheduling::Extender extender(std::string url = "http://x:1/base/") {
  scheduling::Extender e;
  e.url_prefix = std::move(url);
  e.filter_verb = "filter";
  e.http_timeout.value = 5s;
  e.weight = 2;
  e.node_cache_capable = true;
  return e;
}

/// Extenders by their URL, each with answers by verb, and an API server that has every pod.
struct Scene {
  explicit Scene(std::vector<scheduling::Extender> extenders, nanoseconds delay = {}) {
    api.answer = [](const net::Request&) {
      return json_response(200, R"({"metadata":{"name":"p"},"spec":{"unknown":"stays"}})");
    };
    auto made = ExtenderCalls::make(
        Logger(captured, loop.clock), client, workers, extenders,
        [this, delay](const scheduling::Extender& e) -> Result<std::unique_ptr<kube::Transport>> {
          auto transport = std::make_unique<koord::test::FakeTransport>(loop.clock);
          transport->delay = delay;
          last = transport.get();
          transport->answer = [this, url = e.url_prefix](const net::Request& request) {
            asked.push_back(url);
            requests.push_back(request);
            return answers[url].at(request.target);
          };
          return transport;
        });
    REQUIRE(made.has_value());
    calls = std::move(*made);
  }
  scheduling::ExtenderAnswer ask(const std::vector<std::string>& nodes = {"a", "b", "c"}) {
    auto question = std::make_shared<scheduling::ExtenderQuestion>();
    for (const std::string& name : nodes) question->nodes.push_back(make_node(name));
    return koord::test::run_task(loop, calls->ask(make_pod("p"), question), true);
  }
  scheduling::ExtenderAnswer ask_victims() {
    auto question = std::make_shared<scheduling::ExtenderQuestion>();
    question->victims["a"] = {{make_pod("v"), make_pod("w")}, 1};
    question->victims["b"] = {{make_pod("u")}, 0};
    return koord::test::run_task(loop, calls->ask(make_pod("p"), question), true);
  }
  json::Document body(std::size_t i) { return *json::parse(requests.at(i).body); }
  static std::string names(const scheduling::ExtenderAnswer& answer) {
    std::map<std::string, std::int64_t> sorted;
    for (const auto& [node, score] : answer.passed) sorted[node.str()] = score;
    std::string all;
    for (const auto& [node, score] : sorted)
      all += fmt::format("{}{}:{}", all.empty() ? "" : " ", node, score);
    return all;
  }

  koord::test::Loop loop;
  koord::test::FakeTransport api{loop.clock};
  kube::Client client{api, loop.clock, {}};
  CapturedLog captured;
  std::map<std::string, Answers> answers;  // by URL and path
  std::vector<std::string> asked;
  std::vector<net::Request> requests;
  koord::test::FakeTransport* last = nullptr;  // extender's
  WorkerPool workers{1};
  std::unique_ptr<ExtenderCalls> calls;
};

constexpr const char* kUrl = "http://x:1/base/";

TEST_CASE("a filter is sent the whole pod and names, or nodes, and says which may be gone to") {
  const bool by_name = GENERATE(true, false);
  scheduling::Extender e = extender();
  e.node_cache_capable = by_name;
  Scene s({e});
  s.answers[kUrl].emplace(
      "/filter",
      json_response(200, by_name ? R"({"nodenames":["b"],"FailedNodes":{"a":"full","z":"unknown"},)"
                                   R"("FailedAndUnresolvableNodes":{"c":"broken"}})"
                                 : R"({"Nodes":{"items":[{"metadata":{"name":"b"}}]},)"
                                   R"("FailedNodes":{"a":"full","c":"no"},)"
                                   R"("FailedAndUnresolvableNodes":{"c":"broken"}})"));
  const scheduling::ExtenderAnswer answer = s.ask();
  CHECK(answer.error.empty());
  CHECK(s.names(answer) == "b:0");
  CHECK(answer.refused.size() == 2);
  CHECK(answer.reasons == std::map<std::string, std::uint32_t>{{"full", 1}, {"broken", 1}});
  CHECK(answer.resolvable == std::unordered_set<Symbol>{Symbol("a")});
  REQUIRE(s.requests.size() == 1);
  CHECK(s.requests[0].method == "POST");
  const json::Document sent = s.body(0);
  CHECK(json::text_at(sent, "Pod", "spec", "unknown") == "stays");
  if (by_name) {
    CHECK(json::find(sent, "NodeNames")->size() == 3);
    CHECK(json::find(sent, "Nodes")->is_null());
  } else {
    CHECK(json::find(sent, "NodeNames")->is_null());
    CHECK(json::text_at((*json::find(sent, "Nodes", "items"))[0], "metadata", "name") == "a");
  }
}

TEST_CASE("scores count by weight, ten times; who gives none leaves it to the others") {
  scheduling::Extender one = extender("http://one"), two = extender("http://two"),
                       dumb = extender("http://dumb");
  for (scheduling::Extender* e : {&one, &two, &dumb}) {
    e->filter_verb.clear();
    e->prioritize_verb = "rank";
  }
  two.weight = 3;
  Scene s({one, two, dumb});
  s.answers["http://one"].emplace(
      "/rank",
      json_response(200, R"([{"Host":"a","Score":10},{"host":"b","score":1},{"Host":"z","Score":9}])"));
  s.answers["http://two"].emplace("/rank",
                                  json_response(200, R"([{"Host":"b","Score":4611686018427387904}])"));
  s.answers["http://dumb"].emplace("/rank", Error(Code::unavailable, "connection refused"));
  const scheduling::ExtenderAnswer answer = s.ask();
  CHECK(answer.error.empty());
  CHECK(s.names(answer) == fmt::format("a:200 b:{} c:0", (std::int64_t{1} << 50)));
  // One node is not scored.
  s.requests.clear();
  CHECK(s.names(s.ask({"a"})) == "a:0");
  CHECK(s.requests.empty());
}

TEST_CASE(
    "extenders are asked in turn, those that may be ignored last; what one refuses the next is not asked") {
  scheduling::Extender first = extender("http://first"), ignorable = extender("http://ignorable"),
                       last = extender("http://last");
  ignorable.ignorable = true;
  Scene s({ignorable, first, last});
  s.answers["http://first"].emplace("/filter", json_response(200, R"({"NodeNames":["a","b"]})"));
  s.answers["http://last"].emplace("/filter", json_response(200, R"({"NodeNames":["b"]})"));
  s.answers["http://ignorable"].emplace("/filter", json_response(500, "{}"));
  CHECK(s.names(s.ask()) == "b:0");
  CHECK(s.asked == std::vector<std::string>{"http://first", "http://last", "http://ignorable"});
  CHECK(json::find(s.body(1), "NodeNames")->size() == 2);
  CHECK(s.captured.contains("an extender that may be ignored failed"));
  s.asked.clear();
  s.answers["http://first"].at("/filter") = json_response(200, R"({"NodeNames":[]})");
  CHECK(s.names(s.ask()).empty());
  CHECK(s.asked.size() == 1);
}

TEST_CASE(
    "what an extender says that it should not is an error of the pod's attempt, in kube-scheduler's words") {
  struct Row {
    const char* name;
    Result<net::Response> answer;
    std::string message;
  };
  const Row kRows[] = {
      {"a status", json_response(503, "{}"),
       "failed filter with extender at URL http://x:1/base/filter, code 503"},
      {"an error of its own", json_response(200, R"({"Error":"no mood"})"), "no mood"},
      {"a node that it was not asked about", json_response(200, R"({"NodeNames":["a","q"]})"),
       "extender \"http://x:1/base/\" claims a filtered node \"q\" which is not found in the input node "
       "list"},
      {"nobody there", Error(Code::unavailable, "connection refused"),
       "Post \"http://x:1/base/filter\": connection refused"},
      {"nothing comes", Error(Code::timeout, "no answer"),
       "Post \"http://x:1/base/filter\": context deadline exceeded (Client.Timeout exceeded while awaiting "
       "headers)"},
      {"no object", json_response(200, "[]"), "the extender's answer: no object"},
  };
  for (const Row& row : kRows) {
    INFO(row.name);
    Scene s({extender()});
    s.answers[kUrl].emplace("/filter", row.answer);
    CHECK(s.ask().error == row.message);
  }
  for (const char* odd : {"", "x", "{", R"({"NodeNames":{"a":1}})", R"({"NodeNames":[1,null]})",
                          R"({"Nodes":[],"FailedNodes":[]})", R"({"NodeNames":"a"})"}) {
    INFO(odd);
    Scene s({extender()});
    s.answers[kUrl].emplace("/filter", json_response(200, odd));
    CHECK(s.ask().passed.empty());
  }
}

TEST_CASE("victims: names or whole pods, and what is left of them") {
  const bool by_uid = GENERATE(true, false);
  scheduling::Extender e = extender();
  e.node_cache_capable = by_uid;
  e.preempt_verb = "preempt";
  Scene s({e});
  s.answers[kUrl].emplace(
      "/preempt",
      json_response(200,
                    R"({"NodeNameToMetaVictims":{"a":{"Pods":[{"UID":"uid-w"}],"NumPDBViolations":4}}})"));
  const scheduling::ExtenderAnswer answer = s.ask_victims();
  REQUIRE(answer.victims);
  REQUIRE(answer.victims->size() == 1);
  CHECK(answer.victims->at("a").pods == std::vector<std::string>{"uid-w"});
  CHECK(answer.victims->at("a").violations == 4);
  const json::Document sent = s.body(0);
  const json::Value& pods =
      *json::find(sent, by_uid ? "NodeNameToMetaVictims" : "NodeNameToVictims", "a", "Pods");
  REQUIRE(pods.size() == 2);
  CHECK((by_uid ? json::text_at(pods[0], "UID") : json::text_at(pods[0], "metadata", "uid")) == "uid-v");
  s.answers[kUrl].at("/preempt") = json_response(200, R"({"NodeNameToMetaVictims":{"a":{"Pods":[]}}})");
  CHECK(s.ask_victims().victims_error == "expected at least one victim pod on node \"a\"");
}

TEST_CASE("questions as large as the cluster: no more than fit are on their way, and a worker writes them") {
  scheduling::Extender e = extender();
  e.node_cache_capable = false;
  Scene s({e}, 1h);
  const auto large = make_node("large", "1", "1Gi", [](api::Node& n) {
    n.metadata.annotations["a"] = Symbol(std::string(ExtenderCalls::kMostOnTheWay / 3, 'x'));
  });
  auto question = std::make_shared<scheduling::ExtenderQuestion>();
  question->nodes = {large};
  TaskGroup tasks(s.loop.executor(), log_failures(Logger(s.captured, s.loop.clock)));
  const auto ask = [&]() -> Task<> {
    Task<scheduling::ExtenderAnswer> asked = s.calls->ask(make_pod("p"), question);
    (void)co_await std::move(asked);
  };
  for (int i = 0; i < 8; ++i) tasks.spawn("ask", ask());
  // The event loop by itself sends nothing.
  s.loop.settle();
  CHECK(s.last->in_flight == 0);
  while (s.last->in_flight < 3) {
    s.loop.context.restart();
    s.loop.context.run_one();
  }
  s.loop.settle();
  CHECK(s.last->in_flight == 3);
  koord::test::run_task(s.loop, tasks.stop(s.loop.clock, 0s));
}

TEST_CASE("a pod that cannot be read is not asked about") {
  Scene s({extender()});
  s.api.answer = [](const net::Request&) { return koord::test::status_response(404, "NotFound", "gone"); };
  CHECK_FALSE(s.ask().error.empty());
  CHECK(s.requests.empty());
}

TEST_CASE("an extender binds, and what it says about that counts") {
  scheduling::Extender e = extender();
  e.bind_verb = "bind";
  e.ignorable = GENERATE(false, true);
  Scene s({e});
  CHECK(s.calls->binds(*make_pod("p")));
  const auto bind = [&](Result<net::Response> said) {
    s.answers[kUrl].insert_or_assign("/bind", std::move(said));
    return koord::test::run_task(s.loop, s.calls->bind(make_pod("p"), Symbol("a"), {}), true);
  };
  auto bound = bind(json_response(200, "{}"));
  REQUIRE(bound);
  CHECK(bound->has_value());
  const json::Document sent = s.body(0);
  CHECK(json::text_at(sent, "PodName") == "p");
  CHECK(json::text_at(sent, "PodNamespace") == "default");
  CHECK(json::text_at(sent, "PodUID") == "uid-p");
  CHECK(json::text_at(sent, "Node") == "a");
  bound = bind(json_response(200, R"({"Error":"no"})"));
  // One that may be ignored leaves it to the default binder.
  REQUIRE(bound.has_value() == !e.ignorable);
  if (bound) CHECK(bound->error().message() == "no");
}

TEST_CASE("an object that stands as a pod is asked about as that, and bound by nobody here") {
  scheduling::Extender e = extender();
  e.bind_verb = "bind";
  Scene s({e});
  s.api.answer = [](const net::Request&) { return koord::test::status_response(404, "NotFound"); };
  s.answers[kUrl].emplace("/filter", json_response(200, R"({"nodenames":["b"]})"));
  const auto placeholder = make_pod("booking:default:b", "3");
  CHECK_FALSE(s.calls->binds(*placeholder));
  auto question = std::make_shared<scheduling::ExtenderQuestion>();
  for (const char* name : {"a", "b"}) question->nodes.push_back(make_node(name));
  const scheduling::ExtenderAnswer answer =
      koord::test::run_task(s.loop, s.calls->ask(placeholder, question), true);
  CHECK(answer.error.empty());
  CHECK(s.names(answer) == "b:0");
  CHECK(json::text_at(s.body(0), "Pod", "metadata", "name") == "booking:default:b");
  CHECK(s.api.requests.empty());
}

}  // namespace
}  // namespace koord::scheduler::test
