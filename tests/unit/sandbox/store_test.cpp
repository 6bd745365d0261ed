// The histories' bounds: by counts, by bytes, and what a reader of an older version is told.
#include <catch2/catch.hpp>

#include "cluster.hpp"

using namespace koord::sandbox;

namespace {

ObjectPtr object(Store& store, const std::string& name, std::size_t bytes) {
  auto made = std::make_shared<Object>();
  made->name = name;
  made->rv = store.next_version();
  made->bytes.assign(bytes, ' ');
  return made;
}

}  // namespace

TEST_CASE("histories keep no more bytes than they may, the largest gives first") {
  constexpr std::size_t kLarge = 10'000;
  Store store(50'000, 5'000, 16 * kLarge);
  Collection& small = store.collection("small");
  Collection& large = store.collection("large");
  for (int i = 0; i < 10; ++i) small.put(object(store, "s", 100));
  for (int i = 0; i < 100'000; ++i) {
    large.put(object(store, "l", kLarge));
    if (store.history_bytes() > 16 * kLarge) FAIL("the histories keep " << store.history_bytes() << " bytes");
  }
  CHECK(small.end_change() - small.first_change() == 10);
  CHECK(large.end_change() - large.first_change() == 15);
  CHECK(large.end_change() == 100'000);
  CHECK(large.forgotten() == large.change(large.first_change()).rv - 1);
  store.compact();
  CHECK(store.history_bytes() == 0);
}

TEST_CASE("what is too large for the histories' bytes is one change long") {
  Store store(50'000, 5'000, 1000);
  Collection& objects = store.collection("x");
  for (int i = 0; i < 5; ++i) objects.put(object(store, "x", 5000));
  CHECK(objects.end_change() - objects.first_change() == 1);
}

TEST_CASE("a watch of what bytes have pushed out gets 410") {
  TestCluster cluster(50'000, std::size_t{8} * 1024 * 1024);
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  REQUIRE(cluster.call("POST", maps, R"({"metadata":{"name":"m"}})").status == 201);
  const std::string version = std::to_string(cluster.store.version());
  auto reader = cluster.call("GET", maps + "?watch=true&resourceVersion=" + version);
  REQUIRE(reader.watch);
  for (int i = 0; i < 20; ++i)
    REQUIRE(cluster
                .call("PATCH", maps + "/m",
                      R"({"data":{"k":")" + std::string(1'000'000, static_cast<char>('a' + i)) + "\"}}",
                      "application/merge-patch+json")
                .status == 200);
  CHECK(cluster.store.history_bytes() <= std::size_t{8} * 1024 * 1024);
  CHECK(TestCluster::read(*reader.watch).find("\"code\":410") != std::string::npos);
  CHECK(cluster.call("GET", maps + "?watch=true&resourceVersion=" + version).status == 410);
  CHECK(cluster.call("GET", maps + "?resourceVersionMatch=Exact&resourceVersion=" + version).status == 410);
}

TEST_CASE("pages of lists hold no more bytes than they may") {
  TestCluster cluster;
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  const std::string text(1'000'000, 'x');
  for (int i = 0; i < 20; ++i)
    REQUIRE(cluster
                .call("POST", maps,
                      R"({"metadata":{"name":"m)" + std::to_string(i) + R"("},"data":{"k":")" + text + "\"}}")
                .status == 201);
  std::vector<std::string> tokens;
  for (int i = 0; i < 10; ++i)
    tokens.push_back(cluster.call("GET", maps + "?limit=1").text("metadata", "continue"));
  CHECK(cluster.call("GET", maps + "?limit=1&continue=" + tokens.front()).status == 410);
  CHECK(cluster.call("GET", maps + "?limit=1&continue=" + tokens.back()).status == 200);
}
