// Options of requests: what is refused, and in which words.
#include <catch2/catch.hpp>

#include "cluster.hpp"

using namespace koord::sandbox;

TEST_CASE("options that are malformed are refused in Kubernetes' words") {
  struct Row {
    std::string method, target;
    unsigned status;
    std::string message;
  };
  const std::string kBadOptions = "ListOptions.meta.k8s.io \"\" is invalid: ";
  const Row rows[] = {
      {"GET", "?limit=abc", 400, "strconv.ParseInt: parsing \"abc\": invalid syntax"},
      {"GET", "?limit=", 400, "strconv.ParseInt: parsing \"\": invalid syntax"},
      {"GET", "?limit=9223372036854775808", 400,
       "strconv.ParseInt: parsing \"9223372036854775808\": value out of range"},
      {"GET", "?limit=-1", 200, ""},
      {"GET", "?limit=+5", 200, ""},
      {"GET", "?limit=1.5", 400, "strconv.ParseInt: parsing \"1.5\": invalid syntax"},
      {"GET", "?watch=true&timeoutSeconds=1h", 400, "strconv.ParseInt: parsing \"1h\": invalid syntax"},
      {"GET", "?watch=true&timeoutSeconds=99999999999999999999", 400,
       "strconv.ParseInt: parsing \"99999999999999999999\": value out of range"},
      {"GET", "?watch=true&timeoutSeconds=9223372036854775807", 400,
       "timeoutSeconds: 9223372036854775807 is longer than a time.Duration"},
      {"GET", "?timeoutSeconds=x", 400, "strconv.ParseInt: parsing \"x\": invalid syntax"},
      {"GET", "?resourceVersion=-1", 400,
       "Invalid value: \"-1\": strconv.ParseUint: parsing \"-1\": invalid syntax"},
      {"GET", "?resourceVersion=18446744073709551616", 400,
       "Invalid value: \"18446744073709551616\": strconv.ParseUint: parsing \"18446744073709551616\": value "
       "out "
       "of range"},
      {"GET", "/x?resourceVersion=x", 400,
       "Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax"},
      {"GET", "?watch=1&resourceVersion=x", 400,
       "Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax"},
      {"GET", "?continue=x", 400, "invalid continue token: continue key is not valid"},
      {"GET", "?continue=1.2x", 400, "invalid continue token: continue key is not valid"},
      {"GET", "?continue=99999999999999999999.1", 400, "invalid continue token: continue key is not valid"},
      {"GET", "?continue=1.1&resourceVersion=1", 400,
       "specifying resource version is not allowed when using continue"},
      {"GET", "?resourceVersionMatch=Exact", 422,
       kBadOptions + "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless "
                     "resourceVersion is provided"},
      {"GET", "?resourceVersionMatch=Never&resourceVersion=1", 422,
       kBadOptions + "resourceVersionMatch: Unsupported value: \"Never\": supported values: \"Exact\", "
                     "\"NotOlderThan\", \"\""},
      {"GET", "?resourceVersionMatch=Exact&resourceVersion=0", 422,
       kBadOptions + "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for "
                     "resourceVersion \"0\""},
      {"GET", "?sendInitialEvents=true", 422,
       kBadOptions + "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"},
      {"GET", "?watch=true&sendInitialEvents=true", 422,
       kBadOptions + "resourceVersionMatch: Forbidden: sendInitialEvents requires setting "
                     "resourceVersionMatch to NotOlderThan"},
      {"DELETE", "?limit=abc", 400, "strconv.ParseInt: parsing \"abc\": invalid syntax"},
      {"DELETE", "/x?gracePeriodSeconds=soon", 400, "strconv.ParseInt: parsing \"soon\": invalid syntax"},
      {"DELETE", "/x?propagationPolicy=Sideways", 422,
       "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"Sideways\": "
       "supported "
       "values: \"Foreground\", \"Background\", \"Orphan\", \"nil\""},
      {"DELETE", "/x?propagationPolicy=Orphan&orphanDependents=true", 422,
       "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \"Orphan\": "
       "orphanDependents "
       "and deletionPropagation cannot be both set"},
  };
  TestCluster cluster;
  for (const Row& row : rows) {
    CAPTURE(row.method, row.target);
    auto answer = cluster.call(row.method, kPods + row.target);
    CHECK(answer.status == row.status);
    CHECK(answer.text("message") == row.message);
  }
}

TEST_CASE("a watch ends when it was asked to, however long that is") {
  TestCluster cluster;
  const auto deadline = [&](const std::string& seconds) {
    auto opened = cluster.call("GET", kPods + "?watch=true&timeoutSeconds=" + seconds);
    REQUIRE(opened.watch);
    return opened.watch->deadline() - cluster.clock.mono();
  };
  CHECK(deadline("5") == std::chrono::seconds{5});
  CHECK(deadline("-5") < std::chrono::seconds{0});
  CHECK(deadline("9223372035") == std::chrono::hours{365 * 24});
  CHECK(deadline("-9223372036854775808") < std::chrono::seconds{0});
}

TEST_CASE("a grace period of centuries ends") {
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kPods, TestCluster::pod("p", R"(,"nodeName":"n")")).status == 201);
  auto deleted = cluster.call("DELETE", kPods + "/p?gracePeriodSeconds=9223372036854775807");
  CHECK(deleted.status == 200);
  CHECK(deleted.text("metadata", "deletionTimestamp").substr(0, 4) == "2123");
}
