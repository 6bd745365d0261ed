// Server-side apply: fields come and go with their managers.
#include "live_cluster.hpp"
#include "moment.hpp"
#include "support/sanitized.hpp"

using namespace koord;
using namespace koord::sandbox;

TEST_CASE("server-side apply takes back what it no longer has") {
  LiveCluster cluster;
  const std::string target = "/api/v1/namespaces/default/configmaps/cm?fieldManager=";
  auto apply = [&](const std::string& manager, const std::string& data) {
    return cluster.call(
        "PATCH", target + manager,
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm"},"data":)" + data + "}",
        "application/apply-patch+yaml");
  };
  CHECK(apply("one", R"({"a":"1","b":"2"})").status == 201);
  CHECK(apply("two", R"({"b":"2","c":"3"})").status == 200);
  CHECK(apply("one", R"({"a":"9"})").text("data") == R"({"a":"9","b":"2","c":"3"})");
  CHECK(apply("two", "{}").text("data") == R"({"a":"9"})");
  for (const std::string& wrong :
       {std::string(), std::string("a\xff"), std::string("a\nb"), std::string(129, 'm')}) {
    CAPTURE(wrong);
    CHECK(apply(wrong, "{}").status == 422);
  }
  CHECK(apply(std::string(128, 'm'), "{}").status == 200);
  CHECK(cluster.call("PATCH", target + "x", "a: [", "application/apply-patch+yaml").status == 400);
}

TEST_CASE("lists are applied by their keys, sets by their values") {
  TestCluster cluster;
  const auto apply = [&](const std::string& manager, const std::string& body) {
    return cluster.call("PATCH", kPods + "/p?fieldManager=" + manager,
                        R"({"apiVersion":"v1","kind":"Pod",)" + body + "}", "application/apply-patch+yaml");
  };
  const auto containers = [&](const char* first, const char* more) {
    return fmt::format(R"("spec":{{"containers":[{{"name":"a","image":"{}"}}{}]}})", first, more);
  };
  REQUIRE(apply("one", R"("metadata":{"finalizers":["e.io/a","e.io/b"]},)" +
                           containers("i:1", R"(,{"name":"b","image":"i:1"})"))
              .status == 201);
  auto second =
      apply("two", R"("metadata":{"finalizers":["e.io/b"],"labels":{"x":"1"}},)" + containers("i:2", ""));
  CHECK(second.status == 200);
  CHECK(second.text("metadata", "finalizers") == R"(["e.io/a","e.io/b"])");
  CHECK((*find(second.doc, "spec", "containers")).size() == 2);
  // What another manager has stays.
  auto third = apply("one", R"("metadata":{},)" + containers("i:2", R"(,{"name":"b","image":"i:1"})"));
  CHECK(third.text("metadata", "finalizers") == R"(["e.io/b"])");
  CHECK(third.text("metadata", "labels", "x") == "1");
}

TEST_CASE("an apply of very many fields and items takes a moment") {
  TestCluster cluster;
  const Moment moment;
  const int finalizers = static_cast<int>(test::hostile(8'000)),
            keys = static_cast<int>(test::hostile(15'000)), shift = static_cast<int>(test::hostile(5'000));
  const auto body = [&](int first) {
    std::string text = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","finalizers":[)";
    for (int i = 0; i < finalizers; ++i) text += fmt::format("{}\"e.io/f{}\"", i ? "," : "", first + i);
    text += R"(]},"data":{)";
    for (int i = 0; i < keys; ++i) text += fmt::format("{}\"k{}\":\"v\"", i ? "," : "", first + i);
    return text + "}}";
  };
  const std::string target = "/api/v1/namespaces/default/configmaps/m?fieldManager=";
  const std::string type = "application/apply-patch+yaml";
  REQUIRE(cluster.call("PATCH", target + "a", body(0), type).status == 201);
  REQUIRE(cluster.call("PATCH", target + "b", body(0), type).status == 200);
  auto moved = cluster.call("PATCH", target + "a", body(shift), type);
  REQUIRE(moved.status == 200);
  CHECK(find(moved.doc, "data")->size() == static_cast<std::size_t>(keys + shift));
  CHECK(find(moved.doc, "metadata", "finalizers")->size() == static_cast<std::size_t>(finalizers + shift));
}
