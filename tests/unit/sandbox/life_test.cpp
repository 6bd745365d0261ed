// What happens by itself: pods run and end, owners take their own along, custom kinds come and go; manifests
// and apply.
#include <catch2/catch.hpp>

#include "cluster.hpp"
#include "sandbox/controllers/garbage.hpp"
#include "sandbox/controllers/workloads.hpp"
#include "sandbox/crd/registrar.hpp"
#include "sandbox/load/loader.hpp"
#include "sandbox/nodes/kubelets.hpp"
#include "sandbox/nodes/make_nodes.hpp"
#include "sandbox/protobuf/decode.hpp"
#include "sandbox/summary/summary.hpp"

using namespace koord;
using namespace koord::sandbox;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

struct LiveCluster : TestCluster {
  Registrar registrar{verbs};
  Garbage garbage{verbs};
  Workloads workloads{verbs};
  Kubelets kubelets{verbs, {milliseconds{100}, milliseconds{100}, seconds{10}}};
  Summary summary{verbs};

  explicit LiveCluster(int nodes = 2) {
    REQUIRE(make_nodes(verbs, nodes, "cpu=4,example.com/gpu=2", {}).has_value());
    clock.advance(milliseconds{50});
  }
  void settle() { clock.advance(seconds{2}); }
  std::size_t pods(const std::string& selector) {
    return find(call("GET", kPods + "?labelSelector=" + selector).doc, "items")->Size();
  }
};

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
  CHECK(find(cluster.call("GET", "/apis/apps/v1/replicasets").doc, "items")->Size() == 0);
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

TEST_CASE("custom kinds: defaults, pruning, validation, status, removal") {
  LiveCluster cluster;
  const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  auto made = cluster.call(
      "POST", crds,
      R"({"metadata":{"name":"ws.e.io"},"spec":{"group":"e.io","scope":"Cluster","names":{"plural":"ws","kind":"W"},"versions":[{"name":"v1","served":true,"storage":true,)"
      R"("subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":1},)"
      R"("c":{"type":"string","default":"red","enum":["red","blue"]}}},"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}})");
  REQUIRE(made.status == 201);
  CHECK(made.body.find(R"("type":"Established","status":"True")") != std::string::npos);
  auto w = cluster.call(
      "POST", "/apis/e.io/v1/ws",
      R"({"apiVersion":"e.io/v1","kind":"W","metadata":{"name":"w"},"spec":{"n":2,"gone":1},"status":{"x":1}})");
  CHECK(w.text("spec") == R"({"n":2,"c":"red"})");
  CHECK(w.text("status") == "");
  auto bad =
      cluster.call("POST", "/apis/e.io/v1/ws", R"({"metadata":{"name":"b"},"spec":{"n":0,"c":"green"}})");
  CHECK(bad.text("message") ==
        "W.e.io \"b\" is invalid: [spec.n: Invalid value: 0: spec.n in body should be greater than or equal "
        "to 1, spec.c: Unsupported value: \"green\": supported values: "
        "\"red\", \"blue\"]");
  CHECK(
      cluster
          .call("PATCH", "/apis/e.io/v1/ws/w/status", R"({"status":{"x":1}})", "application/merge-patch+json")
          .text("status", "x") == "1");
  CHECK(cluster.call("PATCH", "/apis/e.io/v1/ws/w", "{}", "application/strategic-merge-patch+json").status ==
        415);
  REQUIRE(cluster.call("DELETE", crds + "/ws.e.io").status == 200);
  CHECK(cluster.call("GET", "/apis/e.io/v1/ws").status == 404);
}

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

TEST_CASE("manifests are read piece by piece, mistakes are named") {
  struct Row {
    std::string text;
    int objects;
    std::string error;
  };
  const Row rows[] = {
      {R"({"kind":"List","apiVersion":"v1","items":[{"kind":"A"},{"kind":"B","items":[{}]}]})", 2, ""},
      {R"({"kind":"A"}{"kind":"B"})", 2, ""},
      {R"({"kind":"ConfigMap","data":{"items":[1]}})", 1, ""},
      {"kind: A\n---\n# nothing\n---\nkind: B\n", 2, ""},
      {"apiVersion: v1\nkind: List\nitems:\n- kind: A\n- kind: B\n", 2, ""},
      {"", 0, ""},
      {R"({"kind":"List","items":[{"kind":"A"})", 1, "f: the list does not end"},
      {"{\"a\":1}\n{\"b\":", 1, "f:2: the object does not end"},
      {"kind: A\nkind: B\n", 0, "f:2: .kind: the key is there twice"},
      {"a: [", 0, "f:1: "},
      {"kind: A\n---\n# a remark\nkind: B\nkind: B\n", 1, "f:5: .kind: the key is there twice"},
      {"kind: A\n---\n- 1\n", 1, "f:3: expected an object"},
      {std::string(400'000, '['), 0, "f:1: nested too deeply"},
      {"kind: A\n---\na: " + std::string(400'000, '['), 1, "f:3: nested too deeply"},
      {"{\"kind\":\"A\"}\n{\"a\":" + std::string(400'000, '['), 1, "f:2: the object does not end"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text.substr(0, 60));
    ManifestReader reader = ManifestReader::from_text(row.text, "f");
    int objects = 0;
    std::string error;
    for (;;) {
      auto item = reader.next();
      if (!item) error = item.error().message();
      if (!item || !*item) break;
      ++objects;
    }
    CHECK(objects == row.objects);
    CHECK((row.error.empty() ? error.empty() : error.starts_with(row.error)));
  }
  LiveCluster cluster;
  CHECK(load_object(cluster.verbs, TestCluster::pod("loaded")).has_value());
  auto refused =
      load_object(cluster.verbs, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":{}})");
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message() == "Pod \"x\" is invalid: spec.containers: Required value");
  const std::string brackets(400'000, '['), ends(400'000, ']');
  CHECK_FALSE(load_object(cluster.verbs, R"({"apiVersion":"v1","kind":"Pod","spec":)" + brackets + ends + "}")
                  .has_value());
}

TEST_CASE("protobuf bodies") {
  std::string object =
      std::string("\x0a\x04\x0a\x02", 4) + "cm" + std::string("\x12\x08\x0a\x01k\x12\x03val", 10);
  std::string body = std::string("k8s\0", 4) + std::string("\x0a\x0f\x0a\x02v1\x12\x09", 8) + "ConfigMap" +
                     "\x12" + static_cast<char>(object.size()) + object;
  JsonDoc doc;
  std::string error;
  REQUIRE(decode_protobuf(body, doc, error));
  CHECK(write_json(doc) ==
        R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm"},"data":{"k":"val"}})");
  constexpr std::size_t kTypeEnds = 21;
  for (std::size_t n = 0; n < kTypeEnds; ++n) {
    JsonDoc cut;
    CHECK_FALSE(decode_protobuf(body.substr(0, n), cut, error));
  }
  JsonDoc cut;
  CHECK_FALSE(decode_protobuf(body.substr(0, body.size() - 1), cut, error));
}
