// Informers against an API server that the test plays, faults included.
#include "koord/kube/informer.hpp"

#include <catch2/catch.hpp>
#include <set>

#include "koord/api/schema/kind.hpp"
#include "koord/api/types/core_v1/node.hpp"
#include "koord/api/types/slo_v1alpha1/node_metric.hpp"
#include "koord/base/log.hpp"
#include "unit/kube/informer_rig.hpp"

namespace koord::kube::test {

TEST_CASE("a watch-list fills the store and tells the queue") {
  World w;
  auto pods = w.set.informer<Pod>(
      w.client, {}, {index<Pod>("node", [](const Pod& p) -> std::string_view { return p.spec.node_name; })});
  pods.deliver_to(w.queue);
  w.loop.settle();
  CHECK(w.server.requests.empty());
  w.set.start();
  w.loop.settle();
  REQUIRE(w.server.requests.size() == 1);
  for (const char* text : {"/api/v1/pods?", "sendInitialEvents=true", "resourceVersionMatch=NotOlderThan",
                           "allowWatchBookmarks=true", "timeoutSeconds="})
    CHECK(has(w.last(), text));
  w.feed(line("ADDED", pod_json("a", 1, "n1")) + line("ADDED", pod_json("b", 2)));
  CHECK_FALSE(pods.synced());
  CHECK(w.changes() == "+a +b ");
  CHECK_FALSE(w.queue.synced());
  w.feed(bookmark(10, true));
  CHECK(pods.synced());
  w.changes();
  CHECK(w.queue.synced());
  w.feed(line("MODIFIED", pod_json("b", 11, "n1")) + line("DELETED", pod_json("a", 12, "n1")));
  CHECK(w.changes() == "~b -a ");
  REQUIRE(pods.get("ns", "b"));
  CHECK(pods.get("ns", "b")->spec.node_name == "n1");
  CHECK_FALSE(pods.get("ns", "a"));
  CHECK_FALSE(pods.get("other", "b"));
  CHECK(pods.list_by("node", "n1").size() == 1);
  CHECK(pods.size() == 1);
}

TEST_CASE("a server without watch-list is listed in pages, then watched") {
  World w;
  w.watch_list = false;
  w.pages = {list_json(50, {pod_json("a", 1), pod_json("b", 2)}, "next page/+"),
             list_json(50, {pod_json("c", 3)})};
  auto pods = w.set.informer<Pod>(w.client);
  pods.deliver_to(w.queue);
  w.set.start();
  w.loop.settle();
  REQUIRE(w.server.requests.size() == 4);
  CHECK(has(w.server.requests[1], "limit=500"));
  CHECK(has(w.server.requests[2], "continue=next%20page%2F%2B"));
  CHECK(has(w.server.requests[3], "resourceVersion=50"));
  CHECK(w.changes() == "+a +b +c ");
  CHECK(pods.synced());
}

TEST_CASE("lines come in any pieces") {
  Synced w;
  const std::string text = line("ADDED", pod_json("c", 11)) + line("MODIFIED", pod_json("a", 12));
  for (const char c : text) w.body().feed(std::string(1, c));
  w.loop.settle();
  CHECK(w.changes() == "+c ~a ");
}

TEST_CASE("an object of megabytes comes through a list and a watch") {
  const std::string much = R"({"l":")" + std::string(3 << 20, 'x') + R"("})";
  Synced w;
  const std::string text = line("ADDED", pod_json("c", 11, "", much));
  for (std::size_t at = 0; at < text.size(); at += 16'384) w.body().feed(text.substr(at, 16'384));
  w.loop.settle();
  CHECK(w.changes() == "+c ");
  CHECK(*w.pods.get("ns", "c")->metadata.labels.find("l") == std::string(3 << 20, 'x'));

  World listed;
  listed.watch_list = false;
  listed.pages = {list_json(50, {pod_json("c", 11, "", much)})};
  auto pods = listed.set.informer<Pod>(listed.client);
  listed.set.start();
  listed.reconnect();
  CHECK(pods.size() == 1);
  CHECK(pods.status().skipped == 0);
}

TEST_CASE("a line without an end is given up, its memory given back, and others' lines are not") {
  Synced w;
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 17; ++i) w.body().feed(piece);
  w.loop.settle();
  CHECK_THAT(w.pods.status().last_error, Catch::Contains("a watch line of more than 16 MiB"));
  w.reconnect();
  w.feed(line("ADDED", pod_json("e", 13)));
  CHECK(w.changes() == "+e ");
}

TEST_CASE("lines without an end are bounded together; who reads usual ones does not notice") {
  World w;
  std::vector<Informer<Pod>> all;
  for (const char* ns : {"a", "b", "c", "d"}) {
    Scope scope;
    scope.ns = ns;
    all.push_back(w.set.informer<Pod>(w.client, scope));
  }
  w.set.start();
  w.loop.settle();
  REQUIRE(w.server.bodies.size() == 4);
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 15; ++i) {
    for (std::size_t of = 0; of < 3; ++of) w.server.bodies[of]->feed(piece);
    w.loop.settle();
  }
  w.server.bodies[3]->feed(piece.substr(1));
  w.loop.settle();
  std::string failed;
  for (const auto& each : all)
    failed += each.status().last_error.find("a watch line") != std::string::npos ? '!' : '.';
  CHECK(std::ranges::count(failed, '!') == 1);
  CHECK(failed[3] == '.');
}

TEST_CASE("a watch that breaks resumes without loss and without a list") {
  const int how = GENERATE(0, 1, 2, 3);
  CAPTURE(how);
  Synced w;
  const std::string next = line("MODIFIED", pod_json("a", 12));
  w.feed(line("ADDED", pod_json("c", 11)) + next.substr(0, how == 3 ? next.size() : 40));
  if (how == 0) w.body().cut();
  if (how == 1) w.body().end();  // orderly, but within a line
  if (how == 2) w.feed("garbage\n");
  if (how == 3)
    w.feed(line("ERROR", R"({"kind":"Status","status":"Failure","reason":"InternalError","code":500})"));
  w.loop.settle();
  CHECK(w.changes() == (how == 3 ? "+c ~a " : "+c "));
  w.reconnect();
  CHECK(has(w.last(), how == 3 ? "resourceVersion=12" : "resourceVersion=11"));
  CHECK_FALSE(has(w.last(), "sendInitialEvents"));
  w.feed(next + line("DELETED", pod_json("b", 13)));
  CHECK(w.changes() == (how == 3 ? "-b " : "~a -b "));
  CHECK(w.pods.size() == 2);
}

TEST_CASE("410 relists, and what vanished meanwhile is told as deleted") {
  const bool as_event = GENERATE(true, false);
  Synced w;
  w.feed(line("ADDED", pod_json("c", 11)));
  CHECK(w.changes() == "+c ");
  if (as_event) {
    w.feed(line("ERROR",
                R"({"kind":"Status","status":"Failure","reason":"Expired","message":"too old","code":410})"));
  } else {
    auto usual = w.server.answer;
    w.server.answer = [&w, usual](const net::Request&) {
      w.server.answer = usual;
      return koord::test::status_response(410, "Expired");
    };
    w.body().cut();
  }
  w.reconnect();
  CHECK(w.pods.status().expired == 1);
  CHECK(has(w.last(), "sendInitialEvents=true"));
  CHECK(w.pods.synced());
  CHECK(w.pods.size() == 3);  // the old state is shown until the new one is whole
  w.feed(line("ADDED", pod_json("a", 1)) + line("ADDED", pod_json("c", 31)) +
         line("ADDED", pod_json("d", 32)));
  w.feed(bookmark(40, true));
  CHECK(w.changes() == "~c +d -b ");
  CHECK(w.pods.size() == 3);
}

TEST_CASE("a server that restarts in the middle of initial events loses nothing") {
  World w;
  auto pods = w.set.informer<Pod>(w.client);
  pods.deliver_to(w.queue);
  w.refuses = true;
  w.set.start();
  w.pass(20s);
  CHECK(w.server.requests.size() > 3);
  CHECK(w.server.requests.size() < 25);
  CHECK_FALSE(pods.status().last_error.empty());
  w.refuses = false;
  w.reconnect();
  w.feed(line("ADDED", pod_json("a", 1)) + line("ADDED", pod_json("b", 2)));
  w.refuses = true;
  w.body().cut();
  w.pass(10s);
  CHECK_FALSE(pods.synced());
  w.refuses = false;
  w.reconnect();
  w.feed(line("ADDED", pod_json("b", 2)) + line("ADDED", pod_json("c", 3)) + bookmark(10, true));
  CHECK(w.changes() == "+b +c ");  // a was added and deleted between two looks
  CHECK(pods.size() == 2);
  CHECK(pods.status().last_error.empty());
}

TEST_CASE("429 waits as long as the server says") {
  Synced w;
  auto usual = w.server.answer;
  w.server.answer = [](const net::Request&) {
    auto response = koord::test::status_response(429, "TooManyRequests");
    response.headers.add("Retry-After", "30");
    return response;
  };
  w.body().cut();
  w.loop.advance(1s);
  const std::size_t asked = w.server.requests.size();
  w.server.answer = usual;
  w.pass(29s);
  CHECK(w.server.requests.size() == asked);
  w.pass(5s);
  CHECK(w.server.requests.size() == asked + 1);
}

TEST_CASE("a page that is no list, or cut short, is asked for again") {
  World w;
  w.watch_list = false;
  const std::string good = list_json(50, {pod_json("a", 1)});
  const std::string bad =
      GENERATE(as<std::string>(), "", "<html>", "{", R"({"kind":"PodList","items":[{"metadata":)");
  w.pages = {bad, good};
  auto pods = w.set.informer<Pod>(w.client);
  w.set.start();
  w.reconnect();
  CHECK(pods.synced());
  CHECK(pods.size() == 1);
}

TEST_CASE("informers of one kind and scope are one, narrow ones read from wide ones") {
  World w;
  Client same{w.server, w.loop.clock, {.credentials = "c"}},
      same_too{w.server, w.loop.clock, {.credentials = "c"}};
  auto narrow = w.set.informer<Pod>(same, {.fields = "spec.nodeName=n1"});
  auto labelled = w.set.informer<Pod>(same, {.labels = "app in (x)"});
  auto wide = w.set.informer<Pod>(same);
  auto wide_too = w.set.informer<Pod>(same_too);
  auto other_user = w.set.informer<Pod>(w.client, {.fields = "spec.nodeName=n1"});
  narrow.deliver_to(w.queue);
  DeliveryQueue labels;
  labelled.deliver_to(labels);
  w.set.start();
  w.loop.settle();
  REQUIRE(w.server.bodies.size() == 2);
  const bool first_is_wide = !has(w.server.requests[0], "fieldSelector");
  koord::test::FakeBody& all = *w.server.bodies[first_is_wide ? 0 : 1];
  CHECK(has(w.server.requests[first_is_wide ? 1 : 0], "fieldSelector=spec.nodeName%3Dn1"));
  all.feed(line("ADDED", pod_json("a", 1, "n1")) + line("ADDED", pod_json("b", 2, "n2", R"({"app":"x"})")) +
           bookmark(10, true));
  w.loop.settle();
  CHECK(wide.size() == 2);
  CHECK(wide_too.size() == 2);
  CHECK(narrow.size() == 1);
  CHECK(narrow.synced());
  CHECK_FALSE(other_user.synced());
  CHECK_FALSE(narrow.get("ns", "b"));
  CHECK(labelled.list().size() == 1);
  CHECK(w.changes() == "+a ");
  all.feed(line("MODIFIED", pod_json("b", 11, "n1")) + line("MODIFIED", pod_json("a", 12, "n3")));
  w.loop.settle();
  CHECK(w.changes() == "+b -a ");  // they came into the scope and left it
  CHECK(labels.try_next()->changes.empty());
  CHECK(w.set.status().size() == 2);
}

TEST_CASE("a role alone lists only its scope, and one that comes later reads what is there") {
  World w;
  auto mine = w.set.informer<Pod>(w.client, {.ns = "ns", .fields = "spec.nodeName=n1"});
  w.set.start();
  w.loop.settle();
  CHECK(has(w.last(), "/api/v1/namespaces/ns/pods?"));
  CHECK(has(w.last(), "fieldSelector=spec.nodeName%3Dn1"));
  w.feed(line("ADDED", pod_json("a", 1, "n1")) + bookmark(10, true));
  auto later = w.set.informer<Pod>(w.client, {.ns = "ns", .fields = "spec.nodeName=n1"});
  later.deliver_to(w.queue);
  CHECK(w.server.bodies.size() == 1);
  CHECK(w.changes() == "+a ");
  CHECK(w.queue.synced());
  CHECK_THROWS_AS(w.set.informer<Pod>(w.client, {.fields = "spec.nodeName"}), std::invalid_argument);
  CHECK_THROWS_AS(w.set.informer<Pod>(w.client, {.labels = "a in (b"}), std::invalid_argument);
}

TEST_CASE("nodes and pods feed one queue") {
  World w;
  auto pods = w.set.informer<Pod>(w.client);
  auto nodes = w.set.informer<api::Node>(w.client);
  pods.deliver_to(w.queue);
  nodes.deliver_to(w.queue);
  w.set.start();
  w.loop.settle();
  REQUIRE(w.server.bodies.size() == 2);
  const bool pods_first = has(w.server.requests[0], "/pods");
  auto& pod_body = *w.server.bodies[pods_first ? 0 : 1];
  auto& node_body = *w.server.bodies[pods_first ? 1 : 0];
  pod_body.feed(line("ADDED", pod_json("a", 1)) + bookmark(10, true));
  w.loop.settle();
  CHECK(w.changes() == "+a ");
  CHECK_FALSE(w.queue.synced());
  node_body.feed(line("ADDED", R"({"kind":"Node","metadata":{"name":"n1","resourceVersion":"3"}})") +
                 bookmark(10, true, "Node"));
  w.loop.settle();
  CHECK(w.changes() == "+n1 ");
  CHECK(w.queue.synced());
  CHECK(nodes.get("", "n1"));
  auto all = [](InformerSet& set) -> Task<bool> {
    auto synced = co_await set.wait_synced();
    co_return synced.has_value();
  };
  CHECK(koord::test::run_task(w.loop, all(w.set)));
}

TEST_CASE("a queue that goes away is forgotten, one that outlives the informers is too") {
  auto late = std::make_unique<DeliveryQueue>();
  {
    Synced w;
    auto early = std::make_unique<DeliveryQueue>();
    w.pods.deliver_to(*early);
    w.pods.deliver_to(*late);
    early.reset();
    w.feed(line("ADDED", pod_json("c", 11)));
  }
  CHECK(late->try_next()->changes.size() == 3);
}

TEST_CASE("a kind that the server does not serve is told from one that is not here yet") {
  World w;
  auto pods = w.set.informer<Pod>(w.client);
  CHECK(pods.undefined() == nullptr);
  const auto usual = w.server.answer;
  w.server.answer = [](const net::Request&) { return net::Response::text(404, "404 page not found\n"); };
  w.set.start();
  w.loop.settle();
  REQUIRE(pods.undefined() != nullptr);
  CHECK(pods.undefined()->kind == "Pod");
  CHECK(w.log.contains("the API server has no Pod in v1: is its definition installed?"));
  w.server.answer = usual;
  w.refuses = true;  // nothing is known again
  w.pass(120s);
  CHECK(pods.undefined() == nullptr);
  w.refuses = false;
  w.reconnect();
  w.feed(bookmark(10, true));
  CHECK(pods.synced());
  CHECK(pods.undefined() == nullptr);
}

TEST_CASE("a kind without a definition counts as empty, and is followed when its definition comes") {
  World w;
  auto metrics = w.set.informer<api::NodeMetric>(w.client);
  metrics.deliver_to(w.queue);
  const auto usual = w.server.answer;
  w.server.answer = [](const net::Request&) { return net::Response::text(404, "404 page not found\n"); };
  w.set.start();
  w.loop.settle();
  CHECK(metrics.synced());
  CHECK_FALSE(metrics.listed());
  REQUIRE(metrics.undefined() != nullptr);
  const auto first = w.queue.try_next();
  REQUIRE(first);
  CHECK(first->synced);
  CHECK(first->changes.empty());
  CHECK(
      w.log.contains("the API server has no NodeMetric in slo.koordinator.sh/v1alpha1, which counts as none: "
                     "is its definition installed?"));
  w.pass(120s);
  CHECK(w.log.count(LogLevel::warn) == 1);

  w.server.answer = usual;
  w.reconnect();
  const std::string object =
      R"({"kind":"NodeMetric","apiVersion":"slo.koordinator.sh/v1alpha1","metadata":{"name":"n1","resourceVersion":"5"}})";
  w.feed(line("ADDED", object) + bookmark(10, true, "NodeMetric"));
  CHECK(metrics.listed());
  CHECK(metrics.undefined() == nullptr);
  CHECK(w.changes() == "+n1 ");
  // The definition goes: what was there is gone, too, once that is sure.
  w.server.answer = [](const net::Request&) { return net::Response::text(404, "404 page not found\n"); };
  w.body().end();
  w.pass(20s);
  CHECK(metrics.undefined() != nullptr);
  CHECK(metrics.get("", "n1"));
  w.pass(60s);
  CHECK(w.changes() == "-n1 ");
}

TEST_CASE("the right to follow a kind is missing only for as long as every answer says so") {
  World w;
  auto pods = w.set.informer<Pod>(w.client);
  const auto answer = [&w](int status, const char* reason) {
    w.server.answer = [status, reason](const net::Request&) {
      return koord::test::status_response(status, reason);
    };
  };
  answer(500, "InternalError");
  w.set.start();
  w.pass(60s);
  const auto failing_since = pods.status().failing_since;
  REQUIRE(failing_since);
  CHECK_FALSE(pods.status().forbidden_since);

  answer(403, "Forbidden");
  w.pass(60s);
  REQUIRE(pods.status().forbidden_since);
  CHECK(*pods.status().forbidden_since >= *failing_since + 60s);
  CHECK(pods.status().failing_since == failing_since);

  answer(500, "InternalError");
  w.pass(60s);
  CHECK_FALSE(pods.status().forbidden_since);
  CHECK(pods.status().failing_since == failing_since);
}

TEST_CASE("who lacks the right to follow a kind is told what to do") {
  World w;
  auto pods = w.set.informer<Pod>(w.client);
  w.server.answer = [](const net::Request&) { return koord::test::status_response(403, "Forbidden"); };
  w.set.start();
  w.loop.settle();
  const std::string said =
      ": grant the right to list and watch them (koord manifests roles prints what a role needs)";
  CHECK(pods.status().last_error.starts_with("forbidden: "));
  CHECK(pods.status().last_error.ends_with(said));
  CHECK(w.log.contains(said));
  CHECK_FALSE(pods.synced());
}

TEST_CASE("failures are logged, with the informer's name") {
  World w;
  w.refuses = true;
  auto pods = w.set.informer<Pod>(w.client, {.ns = "team"});
  w.set.start();
  w.loop.settle();
  CHECK(
      w.log.contains("level=warn informer=\"pods in team\" msg=\"not followed for now\" "
                     "error=\"unavailable: connection refused\""));
  // Not with every try, but as long as it lasts.
  for (int i = 0; i < 200; ++i) w.loop.advance(std::chrono::seconds(1));
  CHECK(w.log.count(LogLevel::warn) == 1);
  for (int i = 0; i < 200; ++i) w.loop.advance(std::chrono::seconds(1));
  CHECK(w.log.count(LogLevel::warn) == 2);
  w.refuses = false;
  w.reconnect();
  w.feed(line("ADDED", pod_json("a", 1)) + bookmark(10, true));
  CHECK(w.log.contains("msg=complete objects=1"));
  const std::size_t warnings = w.log.count(LogLevel::warn);
  w.feed("nonsense\n");
  CHECK(w.log.count(LogLevel::warn) == warnings + 1);
}

}  // namespace koord::kube::test
