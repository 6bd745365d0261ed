// What tests of informers share: an API server that the test plays, and an informer of pods that knows two.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "koord/api/types/core_v1/pod.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"
#include "koord/kube/informer.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::kube::test {

using namespace std::chrono_literals;
using api::Pod;

inline std::string pod_json(std::string name, int rv, std::string node = "", std::string labels = "{}") {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + name +
         R"(","namespace":"ns","uid":"u","resourceVersion":")" + std::to_string(rv) + R"(","labels":)" +
         labels + R"(},"spec":{"nodeName":")" + node + R"("}})";
}
inline std::string line(std::string type, std::string object) {
  return R"({"type":")" + type + R"(","object":)" + object + "}\n";
}
inline std::string bookmark(int rv, bool end, std::string kind = "Pod") {
  return line("BOOKMARK", R"({"kind":")" + kind + R"(","apiVersion":"v1","metadata":{"resourceVersion":")" +
                              std::to_string(rv) +
                              (end ? R"(","annotations":{"k8s.io/initial-events-end":"true"}}})" : R"("}})"));
}
inline std::string list_json(int rv, std::vector<std::string> pods, std::string more = "") {
  std::string items;
  for (const std::string& pod : pods) items += (items.empty() ? "" : ",") + pod;
  return R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":")" + std::to_string(rv) +
         R"(","continue":")" + more + R"("},"items":[)" + items + "]}";
}

inline bool is_watch(const net::Request& request) {
  return request.target.find("watch=") != std::string::npos;
}
inline bool has(const net::Request& request, std::string_view text) {
  return request.target.find(text) != std::string::npos;
}

struct World {
  koord::test::Loop loop;
  koord::test::FakeTransport server{loop.clock};
  Client client{server, loop.clock, {.max_retries = 0}};
  CapturedLog log;
  InformerSet set{loop.executor(), loop.clock, Logger(log, loop.clock, 2)};
  DeliveryQueue queue;
  bool refuses = false;
  bool watch_list = true;
  std::vector<std::string> pages{list_json(50, {})};  // by number, as lists ask for them
  std::size_t page = 0;

  World() {
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      if (refuses) return Error(Code::unavailable, "connection refused");
      if (!is_watch(request)) return koord::test::json_response(200, pages.at(page++ % pages.size()));
      if (!watch_list && has(request, "sendInitialEvents"))
        return koord::test::status_response(422, "Invalid");
      return koord::test::json_response(200, "");
    };
  }
  ~World() { koord::test::run_task(loop, set.stop()); }

  koord::test::FakeBody& body() {
    REQUIRE_FALSE(server.bodies.empty());
    return *server.bodies.back();
  }
  void feed(std::string text) {
    body().feed(std::move(text));
    loop.settle();
  }
  /// Lets backoffs pass until another watch is open.
  void reconnect() {
    const std::size_t before = server.bodies.size();
    for (int i = 0; i < 200 && server.bodies.size() == before; ++i) loop.advance(500ms);
    REQUIRE(server.bodies.size() > before);
  }
  /// In steps, as a chain of timers needs it.
  void pass(nanoseconds time) {
    for (; time > 0s; time -= 100ms) loop.advance(100ms);
  }
  std::string changes() {
    std::string text;
    while (auto batch = queue.try_next()) {
      for (const Change& change : batch->changes) {
        text += !change.before ? "+" : !change.after ? "-" : "~";
        text += change.type->meta((change.after ? change.after : change.before).get()).name + " ";
      }
    }
    return text;
  }
  const net::Request& last() const { return server.requests.back(); }
};

struct Synced : World {
  Informer<Pod> pods = set.informer<Pod>(client);
  Synced() {
    pods.deliver_to(queue);
    set.start();
    loop.settle();
    feed(line("ADDED", pod_json("a", 1)) + line("ADDED", pod_json("b", 2)) + bookmark(10, true));
    REQUIRE(pods.synced());
    REQUIRE(changes() == "+a +b ");
  }
};

}  // namespace koord::kube::test
