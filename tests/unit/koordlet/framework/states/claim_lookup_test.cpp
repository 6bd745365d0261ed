// Which claims are asked for, and when.
#include "framework/states/claim_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "framework/model/inventory.hpp"
#include "koord/async/task_group.hpp"
#include "koord/base/log.hpp"
#include "koord/kube/client.hpp"
#include "plugins/blkio/terms.hpp"
#include "support/fake_transport.hpp"
#include "support/run_task.hpp"

namespace koord::koordlet {
namespace {

TEST_CASE("A claim is asked for until it has a volume, and forgotten with its pods", "[koordlet][claims]") {
  const MonoTime start{std::chrono::minutes(1)};
  ClaimBook book;
  CHECK(book.due(start) == nullptr);
  const ClaimKeys::value_type a{"ns", "a"}, b{"ns", "b"};
  book.want({a, b});
  REQUIRE(book.due(start) != nullptr);
  CHECK(*book.due(start) == a);
  book.note(a, "pv-a", start);
  CHECK(*book.due(start) == b);
  book.note(b, "", start);  // not bound, or nobody answers
  CHECK(book.due(start) == nullptr);
  CHECK(book.due(start + std::chrono::seconds(29)) == nullptr);
  CHECK(*book.due(start + std::chrono::seconds(30)) == b);
  CHECK(book.known().volumes == std::map<ClaimKeys::value_type, std::string>{{a, "pv-a"}, {b, ""}});
  book.note(b, "pv-b", start + std::chrono::seconds(30));
  CHECK(book.due(start + std::chrono::hours(9)) == nullptr);
  book.want({b});
  CHECK(book.known().volumes == std::map<ClaimKeys::value_type, std::string>{{b, "pv-b"}});
  book.note(a, "late", start);  // its pod has gone meanwhile
  CHECK(book.known().volumes.size() == 1);
  book.want({});
  CHECK(book.known().volumes.empty());
}

TEST_CASE("Only claims that limits are for are asked for", "[koordlet][claims]") {
  Inventory inventory;
  const auto pod = [&](const char* ns, std::vector<PodBlock> blocks) {
    auto info = std::make_shared<PodInfo>();
    info->ns = ns;
    auto terms = std::make_shared<PodBlocks>();
    terms->blocks = std::move(blocks);
    info->terms.put(std::shared_ptr<const PodBlocks>(std::move(terms)));
    inventory.pods.push_back(std::move(info));
  };
  inventory.pods.push_back(std::make_shared<PodInfo>());
  pod("x", {{.said = {}, .claim = "c", .volume = ""}, {.said = {}, .claim = "", .volume = "v"}});
  pod("y", {{.said = {}, .claim = "c", .volume = ""}, {.said = {}, .claim = "c", .volume = ""}});
  CHECK(claims_of(inventory) == ClaimKeys{{"x", "c"}, {"y", "c"}});
}

/// Claims of an API server that the test plays, looked up by a node whose pods name them.
struct Node {
  explicit Node(std::vector<std::string> names) {
    for (const std::string& name : names) wanted.emplace("ns", name);
    server.answer = [this](const net::Request& request) -> Result<net::Response> {
      const std::string name = request.target.substr(request.target.rfind('/') + 1);
      asked.push_back(name);
      if (on_ask) on_ask();
      if (name.starts_with("bad")) return test::status_response(403, "Forbidden", name + " is nobody's");
      return test::json_response(
          200, fmt::format(R"({{"kind":"PersistentVolumeClaim","apiVersion":"v1",)"
                           R"("metadata":{{"name":"{0}"}},"spec":{{"volumeName":"pv-{0}"}}}})",
                           name));
    };
    tasks.spawn("claims", lookup.run());
    loop.settle();
  }
  ~Node() { test::run_task(loop, tasks.stop(loop.clock, std::chrono::seconds(5))); }
  void pass(int milliseconds) {
    for (int i = 0; i < milliseconds / 50; ++i) loop.advance(std::chrono::milliseconds(50));
  }
  void publish(std::shared_ptr<const ClaimVolumes> known) {
    Inventory next = *hub.current();
    next.claims = std::move(known);
    hub.publish(std::move(next));
  }
  std::size_t known() const { return hub.current()->claims ? hub.current()->claims->volumes.size() : 0; }

  test::Loop loop;
  test::FakeTransport server{loop.clock};
  kube::Client api{server, loop.clock, {.max_retries = 0}};
  CapturedLog captured;
  Logger log{captured, loop.clock};
  InventoryHub hub;
  ClaimKeys wanted;
  std::vector<std::string> asked;
  std::function<void()> on_ask;
  TaskGroup tasks{loop.executor()};
  ClaimLookup lookup{{loop.clock, log, api, hub},
                     [this](const Inventory&) { return wanted; },
                     [this](std::shared_ptr<const ClaimVolumes> known) { publish(std::move(known)); }};
};

TEST_CASE("Each claim that cannot be asked for is told once, however many there are", "[koordlet][claims]") {
  Node node({"bad-1", "bad-2"});
  node.pass(300'000);
  CHECK(node.asked.size() >= 10);
  for (const char* name : {"bad-1 is nobody's", "bad-2 is nobody's"}) {
    const auto lines = node.captured.lines();
    CHECK(std::count_if(lines.begin(), lines.end(),
                        [&](const std::string& line) { return line.find(name) != std::string::npos; }) == 1);
  }
}

TEST_CASE("An answer counts at once, and what pods want meanwhile is asked for", "[koordlet][claims]") {
  std::vector<std::string> many;
  for (int i = 0; i < 50; ++i) many.push_back(fmt::format("m{:02}", i));
  Node node(many);
  node.pass(1000);  // of the five seconds that all take
  const std::size_t after = node.asked.size();
  CHECK(after < 20);
  CHECK(node.known() >= after - 1);
  node.wanted = {{"ns", "a"}, {"ns", "m49"}};  // the other pods have gone
  node.pass(400);
  CHECK(node.asked.size() <= after + 3);
  CHECK(node.known() == 2);
  CHECK(node.hub.current()->claims->volumes ==
        std::map<ClaimKeys::value_type, std::string>{{{"ns", "a"}, "pv-a"}, {{"ns", "m49"}, "pv-m49"}});
}

}  // namespace
}  // namespace koord::koordlet
