// Informers and objects that cannot be decoded: the others do not notice.
#include <catch2/catch.hpp>

#include "unit/kube/informer_rig.hpp"

namespace koord::kube::test {

TEST_CASE("an object of thousands of brackets is skipped, and what is around it is here") {
  const auto deep = [](std::size_t levels) {
    return R"({"metadata":{"name":"d","namespace":"ns","resourceVersion":"12"},"spec":{"affinity":)" +
           std::string(levels, '[') + std::string(levels, ']') + "}}";
  };
  Synced w;
  SECTION("as an API server takes them") {
    w.feed(line("ADDED", pod_json("c", 11)) + line("ADDED", deep(9'990)) + line("ADDED", pod_json("e", 13)));
    CHECK(w.changes() == "+c +e ");
    CHECK(w.pods.status().skipped == 1);
    CHECK(w.server.bodies.size() == 1);
  }
  SECTION("as none does") {
    w.feed(line("ADDED", pod_json("c", 11)) + line("ADDED", deep(400'000)));
    CHECK(w.changes() == "+c ");
    CHECK_FALSE(w.pods.status().last_error.empty());
    w.reconnect();
    w.feed(line("ADDED", pod_json("e", 13)));
    CHECK(w.changes() == "+e ");
  }
}

namespace {

/// Of the wrong form, but for its metadata.
std::string bad_json(std::string name, int rv, std::string uid = "u") {
  return R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + name + R"(","namespace":"ns","uid":")" +
         uid + R"(","resourceVersion":")" + std::to_string(rv) + R"("},"spec":{"containers":7}})";
}

}  // namespace

TEST_CASE("an item of the wrong form is skipped and counted, the others are here") {
  World w;
  w.watch_list = false;
  w.pages = {
      list_json(50, {pod_json("a", 1), R"({"metadata":{"name":"bad","resourceVersion":"2"},"spec":[7]})",
                     pod_json("c", 3)})};
  auto pods = w.set.informer<Pod>(w.client);
  w.set.start();
  w.loop.settle();
  CHECK(pods.synced());
  CHECK(pods.size() == 2);
  CHECK(pods.status().skipped == 1);
}

TEST_CASE("an event of the wrong form is passed over, and the watch goes on") {
  Synced w;
  w.feed(line("ADDED", bad_json("x", 11)) + line("ADDED", pod_json("c", 12)));
  CHECK(w.changes() == "+c ");
  CHECK(w.pods.status().skipped == 1);
  CHECK(w.pods.status().resource_version == "12");
  CHECK(w.pods.get("ns", "x") == nullptr);
  CHECK(w.log.contains("a malformed object is ignored"));
  CHECK(w.log.contains("name=x"));
  CHECK(w.log.contains(".object.spec.containers: expected a list, got a number"));
  w.pass(10s);
  CHECK(w.server.bodies.size() == 1);
  CHECK(w.pods.status().failures == 0);
  w.feed(line("MODIFIED", pod_json("x", 13)));
  CHECK(w.changes() == "+x ");
  CHECK(w.pods.status().skipped == 0);
}

TEST_CASE("of an object that turns bad what was known stays, until it is good again or gone") {
  Synced w;
  w.feed(line("MODIFIED", bad_json("a", 11)));
  CHECK(w.changes().empty());
  REQUIRE(w.pods.get("ns", "a"));
  CHECK(w.pods.get("ns", "a")->metadata.resource_version == "1");
  CHECK(w.pods.status().skipped == 1);
  CHECK(w.log.contains("what was known of it stays in effect"));
  SECTION("good again") {
    w.feed(line("MODIFIED", pod_json("a", 12)));
    CHECK(w.changes() == "~a ");
    CHECK(w.pods.status().skipped == 0);
  }
  SECTION("gone, in whichever form") {
    w.feed(line("DELETED", GENERATE(bad_json("a", 12), pod_json("a", 12))));
    CHECK(w.changes() == "-a ");
    CHECK(w.pods.status().skipped == 0);
  }
  SECTION("another one has its name") {
    w.feed(line("MODIFIED", bad_json("a", 12, "another")));
    CHECK(w.changes() == "-a ");
    CHECK(w.pods.status().skipped == 1);
  }
  SECTION("all are told anew") {
    const bool listed = GENERATE(true, false);
    CAPTURE(listed);
    w.watch_list = !listed;
    w.pages = {list_json(20, {bad_json("a", 11), bad_json("x", 12)}, "more"),
               list_json(20, {bad_json("y", 14)})};
    w.feed(line("ERROR", R"({"kind":"Status","status":"Failure","reason":"Expired","code":410})"));
    w.reconnect();
    CHECK(w.pods.status().skipped >= 1);  // also meanwhile
    if (!listed) {
      w.feed(line("ADDED", bad_json("a", 11)) + line("ADDED", bad_json("x", 12)));
      w.feed(line("ADDED", bad_json("y", 14)) + bookmark(20, true));
    }
    CHECK(w.changes() == "-b ");
    CHECK(w.pods.size() == 1);
    CHECK(w.pods.status().skipped == 3);
    w.feed(line("DELETED", bad_json("x", 21)) + line("DELETED", bad_json("a", 22)));
    CHECK(w.changes() == "-a ");
    CHECK(w.pods.status().skipped == 1);
  }
}

TEST_CASE("an event that does not say which object it is of breaks the watch") {
  const std::string nobody =
      GENERATE(std::string(R"({"metadata":{"name":7,"resourceVersion":"11"}})"),
               std::string(R"({"spec":7,"metadata":{"name":"x","namespace":"ns","resourceVersion":"11"}})"),
               std::string(R"({"metadata":{"name":"x"},"spec":7})"));
  Synced w;
  w.feed(line("ADDED", nobody) + line("ADDED", pod_json("c", 12)));
  CHECK(w.changes().empty());
  CHECK(w.pods.status().skipped == 0);
  CHECK(w.pods.status().failures == 1);
  w.reconnect();
  CHECK(has(w.last(), "resourceVersion=10"));
}

}  // namespace koord::kube::test
