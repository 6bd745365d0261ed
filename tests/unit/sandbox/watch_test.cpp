// Lists and watches: pages, versions, history, bookmarks, selections that objects enter and leave.
#include <catch2/catch.hpp>

#include "cluster.hpp"

using namespace koord::sandbox;

namespace {

const std::string kMaps = "/api/v1/namespaces/default/configmaps";

std::string map_of(const std::string& name, const std::string& app) {
  return R"({"metadata":{"name":")" + name + R"(","labels":{"app":")" + app + "\"}}}";
}
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("lists in pages show one version") {
  TestCluster cluster;
  for (int i = 0; i < 5; ++i)
    REQUIRE(cluster.call("POST", kMaps, map_of("m" + std::to_string(i), "a")).status == 201);
  auto first = cluster.call("GET", kMaps + "?limit=2");
  CHECK(count(first.text("items"), "\"uid\"") == 2);
  CHECK(first.text("metadata", "remainingItemCount") == "3");
  REQUIRE(cluster.call("DELETE", kMaps + "/m4").status == 200);
  auto rest = cluster.call("GET", kMaps + "?limit=500&continue=" + first.text("metadata", "continue"));
  CHECK(count(rest.text("items"), "\"uid\"") == 3);
  CHECK(rest.text("metadata", "continue") == "");
  CHECK(rest.text("metadata", "resourceVersion") == first.text("metadata", "resourceVersion"));
  CHECK(cluster.call("GET", kMaps + "?continue=99.0").status == 410);
  CHECK(cluster.call("GET", kMaps + "?continue=x").status == 400);
  auto then = cluster.call("GET", kMaps + "?resourceVersionMatch=Exact&resourceVersion=" +
                                      first.text("metadata", "resourceVersion"));
  CHECK(count(then.text("items"), "\"uid\"") == 5);
  CHECK(cluster.call("GET", kMaps + "?resourceVersion=999999").status == 504);
  CHECK(cluster.call("GET", kMaps + "?resourceVersion=abc").status == 400);
}

TEST_CASE("label selectors") {
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kMaps, map_of("one", "a")).status == 201);
  REQUIRE(cluster.call("POST", kMaps, map_of("two", "b")).status == 201);
  struct Row {
    std::string selector;
    std::size_t found;
  };
  for (const Row& row : {Row{"app=a", 1}, Row{"app==b", 1}, Row{"app!=a", 1}, Row{"app in (a,b)", 2},
                         Row{"app notin (a, b)", 0}, Row{"app", 2}, Row{"!app", 0}, Row{"app=a,app=b", 0},
                         Row{"other notin (x)", 2}}) {
    CAPTURE(row.selector);
    CHECK(count(cluster.call("GET", kMaps + "?labelSelector=" + row.selector).text("items"), "\"uid\"") ==
          row.found);
  }
  for (const std::string& bad : {"app in a", "=x", "app in (a", "a b", "app=a b", ",", "app=a,,", "-x"}) {
    CAPTURE(bad);
    CHECK(cluster.call("GET", kMaps + "?labelSelector=" + bad).status == 400);
  }
}

TEST_CASE("a watch shows what there is, where that ends, and every change") {
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kMaps, map_of("one", "a")).status == 201);
  auto opened = cluster.call(
      "GET",
      kMaps +
          "?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan");
  REQUIRE(opened.watch);
  std::string text = TestCluster::read(*opened.watch);
  CHECK(count(text, R"({"type":"ADDED")") == 1);
  CHECK(count(text, R"("k8s.io/initial-events-end":"true")") == 1);
  CHECK(text.ends_with("}\n"));

  bool woken = false;
  opened.watch->set_wake([&] { woken = true; });
  REQUIRE(cluster.call("POST", kPods, TestCluster::pod("elsewhere")).status == 201);
  CHECK_FALSE(woken);
  REQUIRE(cluster.call("POST", kMaps, map_of("two", "a")).status == 201);
  CHECK(woken);
  REQUIRE(cluster.call("DELETE", kMaps + "/one").status == 200);
  text = TestCluster::read(*opened.watch);
  CHECK(count(text, R"({"type":"ADDED")") == 1);
  CHECK(count(text, R"({"type":"DELETED")") == 1);
  opened.watch->want_bookmark();
  text = TestCluster::read(*opened.watch);
  CHECK(text.find("BOOKMARK") != std::string::npos);
  CHECK(text.find("\"resourceVersion\":\"" + std::to_string(cluster.store.version()) + "\"") !=
        std::string::npos);
}

TEST_CASE("a watcher is told how far it is two seconds before the watch ends") {
  TestCluster cluster;
  auto opened = cluster.call("GET", kMaps + "?watch=true&allowWatchBookmarks=true&timeoutSeconds=3");
  REQUIRE(opened.watch);
  CHECK_FALSE(opened.watch->take_last_bookmark(cluster.clock.mono()));
  cluster.clock.advance(std::chrono::seconds{1});
  CHECK(opened.watch->take_last_bookmark(cluster.clock.mono()));
  CHECK_FALSE(opened.watch->take_last_bookmark(cluster.clock.mono()));  // once
  auto shorter = cluster.call("GET", kMaps + "?watch=true&allowWatchBookmarks=true&timeoutSeconds=2");
  REQUIRE(shorter.watch);
  cluster.clock.advance(std::chrono::seconds{1});
  CHECK_FALSE(shorter.watch->take_last_bookmark(cluster.clock.mono()));
}

TEST_CASE("objects that enter or leave a selection are added and deleted") {
  TestCluster cluster;
  auto opened = cluster.call("GET", kMaps + "?watch=1&labelSelector=app=a");
  REQUIRE(opened.watch);
  auto relabel = [&](const char* app) {
    REQUIRE(cluster
                .call("PATCH", kMaps + "/one",
                      std::string(R"({"metadata":{"labels":{"app":")") + app + "\"}}}",
                      "application/merge-patch+json")
                .status == 200);
  };
  REQUIRE(cluster.call("POST", kMaps, map_of("one", "b")).status == 201);
  CHECK(TestCluster::read(*opened.watch).empty());
  relabel("a");
  CHECK(TestCluster::read(*opened.watch).starts_with(R"({"type":"ADDED")"));
  relabel("c");
  std::string left = TestCluster::read(*opened.watch);
  CHECK(left.starts_with(R"({"type":"DELETED")"));
  CHECK(left.find("\"resourceVersion\":\"" + std::to_string(cluster.store.version()) + "\"") !=
        std::string::npos);
  CHECK(left.find(R"("app":"a")") != std::string::npos);
}

TEST_CASE("a watch that nobody reads ends: it would hold what there was for ever") {
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kMaps, map_of("one", "a")).status == 201);
  auto unread = cluster.call("GET", kMaps + "?watch=true");
  auto read = cluster.call("GET", kMaps + "?watch=true");
  REQUIRE(unread.watch);
  REQUIRE(read.watch);
  CHECK(TestCluster::read(*read.watch).starts_with(R"({"type":"ADDED")"));
  cluster.clock.advance(std::chrono::minutes{4});
  CHECK_FALSE(unread.watch->overdue(cluster.clock.mono()));
  cluster.clock.advance(std::chrono::minutes{2});
  CHECK(unread.watch->overdue(cluster.clock.mono()));
  CHECK_FALSE(read.watch->overdue(cluster.clock.mono()));
}

TEST_CASE("watches resume from a version, and get 410 when it is forgotten") {
  TestCluster cluster(10);
  REQUIRE(cluster.call("POST", kMaps, map_of("one", "a")).status == 201);
  std::string version = std::to_string(cluster.store.version());
  REQUIRE(cluster.call("POST", kMaps, map_of("two", "a")).status == 201);
  auto resumed = cluster.call("GET", kMaps + "?watch=true&resourceVersion=" + version);
  std::string text = TestCluster::read(*resumed.watch);
  CHECK(count(text, "ADDED") == 1);
  CHECK(text.find("\"two\"") != std::string::npos);
  for (int i = 0; i < 12; ++i)
    REQUIRE(cluster.call("POST", kMaps, map_of("m" + std::to_string(i), "a")).status == 201);
  // One that reads too slowly
  text = TestCluster::read(*resumed.watch);
  CHECK(text.starts_with(R"({"type":"ERROR")"));
  CHECK(text.find("\"code\":410") != std::string::npos);
  std::vector<Bytes> more;
  CHECK(resumed.watch->read(more) == Watch::State::ended);
  auto late = cluster.call("GET", kMaps + "?watch=true&resourceVersion=" + version);
  CHECK(late.status == 410);
  CHECK(late.text("reason") == "Expired");
  CHECK(late.text("message").starts_with("too old resource version: " + version + " ("));
}
