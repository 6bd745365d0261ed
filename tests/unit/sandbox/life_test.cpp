// What happens by itself: pods run and end, owners take their own along.
#include <catch2/catch.hpp>

#include "live_cluster.hpp"

using namespace koord;
using namespace koord::sandbox;
using std::chrono::seconds;

namespace {

const std::string kDeployment =
    R"({"metadata":{"name":"front"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"f"}},"template":{"metadata":{"labels":{"app":"f"}},)"
    R"("spec":{"containers":[{"name":"c","image":"i"}]}}}})";
const std::string kDeployments = "/apis/apps/v1/namespaces/default/deployments";

}  // namespace

TEST_CASE("nodes become ready and renew their leases") {
  LiveCluster cluster;
  auto node = cluster.call("GET", "/api/v1/nodes/node-0000");
  CHECK(node.text("status", "allocatable", "example.com/gpu") == "2");
  CHECK(node.body.find("KubeletReady") != std::string::npos);
  auto lease =
      cluster.call("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-0000");
  std::string renewed = lease.text("spec", "renewTime");
  CHECK(renewed.size() == 27);
  cluster.clock.advance(seconds{11});
  CHECK(cluster.call("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-0000")
            .text("spec", "renewTime") > renewed);
  REQUIRE(cluster.call("DELETE", "/api/v1/nodes/node-0000").status == 200);
  cluster.settle();
  CHECK(cluster.call("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-0000")
            .status == 404);
}

TEST_CASE("a bound pod runs, finishes, and goes when it is deleted") {
  LiveCluster cluster;
  REQUIRE(
      cluster
          .call(
              "POST", kPods,
              R"({"metadata":{"name":"job","annotations":{"sandbox.koordinator.sh/run-seconds":"5"}},"spec":{"restartPolicy":"Never",)"
              R"("containers":[{"name":"c","image":"i"}]}})")
          .status == 201);
  cluster.settle();
  CHECK(cluster.call("GET", kPods + "/job").text("status", "phase") == "Pending");
  REQUIRE(cluster.call("POST", kPods + "/job/binding", R"({"target":{"name":"node-0001"}})").status == 201);
  cluster.settle();
  CHECK(cluster.call("GET", kPods + "/job").text("status", "phase") == "Running");
  cluster.clock.advance(seconds{5});
  CHECK(cluster.call("GET", kPods + "/job").text("status", "phase") == "Succeeded");
  REQUIRE(cluster.call("POST", kPods, TestCluster::pod("web", R"(,"nodeName":"node-0001")")).status == 201);
  cluster.settle();
  CHECK(cluster.call("DELETE", kPods + "/web").text("metadata", "deletionTimestamp") != "");
  cluster.settle();
  CHECK(cluster.call("GET", kPods + "/web").status == 404);
  CHECK(cluster.summary.json().find(R"("created":2,"bound":2,"pending":0)") != std::string::npos);
}

TEST_CASE("deployments make, scale, replace and take along their pods") {
  LiveCluster cluster;
  REQUIRE(cluster.call("POST", kDeployments, kDeployment).status == 201);
  cluster.settle();
  CHECK(cluster.pods("app=f") == 3);
  auto list = cluster.call("GET", kPods);
  CHECK(list.text("items").find(R"("kind":"ReplicaSet")") != std::string::npos);
  CHECK(cluster.call("GET", kDeployments + "/front").text("status", "replicas") == "3");
  auto scale = cluster.call("PATCH", kDeployments + "/front/scale", R"({"spec":{"replicas":1}})",
                            "application/merge-patch+json");
  CHECK(scale.text("kind") == "Scale");
  cluster.settle();
  CHECK(cluster.pods("app=f") == 1);
  REQUIRE(cluster
              .call("PATCH", kDeployments + "/front",
                    R"({"spec":{"template":{"metadata":{"labels":{"v":"2"}}}}})",
                    "application/merge-patch+json")
              .status == 200);
  cluster.settle();
  CHECK(cluster.pods("app=f,v=2") == 1);
  CHECK(cluster.pods("app=f") == 1);
  REQUIRE(cluster.call("DELETE", kDeployments + "/front").status == 200);
  cluster.settle();
  CHECK(cluster.pods("app=f") == 0);
  CHECK(find(cluster.call("GET", "/apis/apps/v1/replicasets").doc, "items")->size() == 0);
}

TEST_CASE("deletion in the foreground waits, orphans stay") {
  LiveCluster cluster;
  REQUIRE(cluster.call("POST", kDeployments, kDeployment).status == 201);
  cluster.settle();
  CHECK(cluster.call("DELETE", kDeployments + "/front", R"({"propagationPolicy":"Orphan"})").status == 200);
  cluster.settle();
  CHECK(cluster.call("GET", kDeployments + "/front").status == 404);
  CHECK(cluster.pods("app=f") == 3);
  auto sets = cluster.call("GET", "/apis/apps/v1/replicasets");
  std::string name(text_at((*find(sets.doc, "items"))[0], "metadata", "name"));
  const std::string target = "/apis/apps/v1/namespaces/default/replicasets/" + name;
  CHECK(cluster.call("DELETE", target, R"({"propagationPolicy":"Foreground"})")
            .text("metadata", "finalizers") == R"(["foregroundDeletion"])");
  cluster.settle();
  CHECK(cluster.call("GET", target).status == 404);
  CHECK(cluster.pods("app=f") == 0);
}

TEST_CASE("a namespace takes what is in it along") {
  LiveCluster cluster;
  REQUIRE(cluster.call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"team"}})").status == 201);
  REQUIRE(
      cluster
          .call("POST", "/api/v1/namespaces/team/pods", TestCluster::pod("p", R"(,"nodeName":"node-0000")"))
          .status == 201);
  CHECK(cluster.call("DELETE", "/api/v1/namespaces/team").text("status", "phase") == "Terminating");
  CHECK(cluster.call("POST", "/api/v1/namespaces/team/pods", TestCluster::pod("q")).status == 403);
  cluster.settle();
  CHECK(cluster.call("GET", "/api/v1/namespaces/team").status == 404);
  CHECK(cluster.call("GET", "/api/v1/namespaces/team/pods/p").status == 404);
}
