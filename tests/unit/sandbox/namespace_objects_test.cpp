// What every namespace has: the service account of its pods, and what verifies the API server.
#include "sandbox/controllers/namespace_objects.hpp"

#include <catch2/catch.hpp>

#include "live_cluster.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

std::string account(const std::string& ns) { return "/api/v1/namespaces/" + ns + "/serviceaccounts/default"; }
std::string root_ca(const std::string& ns) {
  return "/api/v1/namespaces/" + ns + "/configmaps/kube-root-ca.crt";
}

TEST_CASE("every namespace has a service account and the root CA") {
  LiveCluster cluster;
  NamespaceObjects objects(cluster.verbs);
  objects.set_ca("the CA");
  cluster.settle();
  for (const char* ns : {"default", "kube-system"}) {
    CHECK(cluster.call("GET", account(ns)).status == 200);
    CHECK(cluster.call("GET", root_ca(ns)).text("data", "ca.crt") == "the CA");
  }
  REQUIRE(cluster.call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"new"}})").status == 201);
  cluster.settle();
  CHECK(cluster.call("GET", account("new")).status == 200);
  CHECK(cluster.call("GET", root_ca("new")).status == 200);

  // What is deleted comes again; what somebody has written stays.
  REQUIRE(cluster.call("DELETE", account("new")).status == 200);
  CHECK(cluster.call("GET", account("new")).status == 404);
  REQUIRE(
      cluster.call("PATCH", root_ca("new"), R"({"data":{"ca.crt":"mine"}})", "application/merge-patch+json")
          .status == 200);
  cluster.settle();
  CHECK(cluster.call("GET", account("new")).status == 200);
  CHECK(cluster.call("GET", root_ca("new")).text("data", "ca.crt") == "mine");

  // A namespace that ends takes them along and is not filled again.
  REQUIRE(cluster.call("DELETE", "/api/v1/namespaces/new").status == 200);
  cluster.settle();
  CHECK(cluster.call("GET", "/api/v1/namespaces/new").status == 404);
  CHECK(cluster.call("GET", account("new")).status == 404);
}

}  // namespace
