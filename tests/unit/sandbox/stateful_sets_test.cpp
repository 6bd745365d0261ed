// StatefulSets: pods one after the other or all at once, their claims, updates and revisions.
#include <catch2/catch.hpp>

#include "live_cluster.hpp"
#include "sandbox/controllers/claim_guard.hpp"
#include "sandbox/controllers/provisioner.hpp"
#include "sandbox/controllers/stateful_sets.hpp"
#include "sandbox/controllers/volume_binder.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

const std::string kSets = "/apis/apps/v1/namespaces/default/statefulsets";
const std::string kClaims = "/api/v1/namespaces/default/persistentvolumeclaims";
const std::string kMerge = "application/merge-patch+json";
const std::string kClaimTemplate =
    R"("volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],)"
    R"("storageClassName":"disks","resources":{"requests":{"storage":"1Gi"}}}}],)";

struct SetCluster : LiveCluster {
  StatefulSets sets{verbs};
  VolumeBinder binder{verbs};
  Provisioner provisioner{verbs};
  ClaimGuard guard{verbs};

  SetCluster() {
    REQUIRE(call("POST", "/apis/storage.k8s.io/v1/storageclasses",
                 R"({"metadata":{"name":"disks"},"provisioner":"example.com/disk"})")
                .status == 201);
  }

  /// `spec`: members of the set's; `pod`: members of its pods' spec.
  Answer create(const std::string& spec, const std::string& pod = R"("nodeName":"node-0000",)") {
    return call("POST", kSets,
                R"({"metadata":{"name":"web"},"spec":{"serviceName":"svc",)" + spec +
                    R"("selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":)"
                    R"({"app":"web"}},"spec":{)" +
                    pod + R"("containers":[{"name":"c","image":"i:1"}]}}}})");
  }
  Answer patch(const std::string& spec) {
    return call("PATCH", kSets + "/web", R"({"spec":)" + spec + "}", kMerge);
  }
  Answer new_image(const std::string& image) {
    return patch(R"({"template":{"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}}})");
  }
  std::string status(const char* field) { return call("GET", kSets + "/web").text("status", field); }
  /// The names of a collection's objects, or what `of` says of them.
  std::string names(const std::string& path, const std::function<std::string(const json::Value&)>& of = {}) {
    std::string out;
    const Answer answer = call("GET", path);
    for (const json::Value& item : find(answer.doc, "items")->elements())
      out += fmt::format("{}{}", out.empty() ? "" : " ",
                         of ? of(item) : std::string(text_at(item, "metadata", "name")));
    return out;
  }
  std::string pods() { return names(kPods); }
  std::string images() {
    return names(kPods, [](const json::Value& pod) {
      return std::string(text_at((*find(pod, "spec", "containers"))[0], "image"));
    });
  }
  /// Lets the set's work and the pods' starts of `steps` tenths of a second happen.
  void after(int steps) { clock.advance(std::chrono::milliseconds{100} * steps); }
};

}  // namespace

TEST_CASE("a StatefulSet has what kube-apiserver would give it, and is refused in its words") {
  SetCluster cluster;
  const auto made = cluster.create(kClaimTemplate);
  REQUIRE(made.status == 201);
  CHECK(made.text("spec", "replicas") == "1");
  CHECK(made.text("spec", "podManagementPolicy") == "OrderedReady");
  CHECK(made.text("spec", "updateStrategy") == R"({"type":"RollingUpdate","rollingUpdate":{"partition":0}})");
  CHECK(made.text("spec", "persistentVolumeClaimRetentionPolicy") ==
        R"({"whenDeleted":"Retain","whenScaled":"Retain"})");
  const json::Value& claim = (*find(made.doc, "spec", "volumeClaimTemplates"))[0];
  CHECK(text_at(claim, "spec", "volumeMode") == "Filesystem");
  CHECK(text_at(claim, "status", "phase") == "Pending");
  CHECK(cluster.patch(R"({"serviceName":"other"})").text("message") ==
        R"(StatefulSet.apps "web" is invalid: spec: Forbidden: updates to statefulset spec for fields other )"
        R"(than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', )"
        R"('persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden)");

  struct Row {
    const char *spec, *why;
  };
  const Row rows[] = {
      {R"("podManagementPolicy":"Any",)",
       R"(spec.podManagementPolicy: Invalid value: "Any": must be 'OrderedReady' or 'Parallel')"},
      {R"("updateStrategy":{"type":"OnDelete","rollingUpdate":{"partition":1}},)",
       R"(spec.updateStrategy.rollingUpdate: Invalid value: {"partition":1}: only allowed for updateStrategy 'RollingUpdate')"},
      {R"("replicas":-1,)", "spec.replicas: Invalid value: -1: must be greater than or equal to 0"},
      {R"("volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"]}}],)",
       "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value"},
  };
  for (const Row& row : rows) {
    SetCluster fresh;
    const auto refused = fresh.create(row.spec);
    CHECK(refused.status == 422);
    CHECK_THAT(refused.text("message"), Catch::Contains(row.why));
  }
}

TEST_CASE("pods come one after the other, each when the one before it is ready") {
  SetCluster cluster;
  REQUIRE(cluster.create(R"("replicas":3,)" + kClaimTemplate).status == 201);
  cluster.after(1);
  CHECK(cluster.pods() == "web-0");
  cluster.clock.advance(std::chrono::seconds{5});
  CHECK(cluster.pods() == "web-0 web-1 web-2");
  CHECK(cluster.names(kClaims) == "data-web-0 data-web-1 data-web-2");
  const auto pod = cluster.call("GET", kPods + "/web-1");
  CHECK(text_at(pod.doc, "metadata", "labels", "apps.kubernetes.io/pod-index") == "1");
  CHECK(text_at(pod.doc, "metadata", "labels", "statefulset.kubernetes.io/pod-name") == "web-1");
  CHECK(pod.text("spec", "hostname") == "web-1");
  CHECK(pod.text("spec", "subdomain") == "svc");
  CHECK(pod.text("spec", "volumes") ==
        R"([{"name":"data","persistentVolumeClaim":{"claimName":"data-web-1"}}])");
  CHECK(text_at(cluster.call("GET", kClaims + "/data-web-1").doc, "metadata", "labels", "app") == "web");
  CHECK(cluster.status("replicas") == "3");
  CHECK(cluster.status("readyReplicas") == "3");
  CHECK(cluster.status("availableReplicas") == "3");
  CHECK(cluster.status("currentRevision") == cluster.status("updateRevision"));

  // One that is deleted comes back under its name, with its claim.
  const std::string uid = pod.text("metadata", "uid");
  CHECK(cluster.call("DELETE", kPods + "/web-1").status == 200);
  cluster.settle();
  CHECK(cluster.pods() == "web-0 web-1 web-2");
  CHECK(cluster.call("GET", kPods + "/web-1").text("metadata", "uid") != uid);

  // The highest goes first.
  CHECK(cluster.patch(R"({"replicas":1})").status == 200);
  cluster.after(2);
  CHECK(cluster.pods() == "web-0 web-1");
  cluster.settle();
  CHECK(cluster.pods() == "web-0");
  CHECK(cluster.names(kClaims) == "data-web-0 data-web-1 data-web-2");
}

TEST_CASE("a pod that does not start holds those after it back, unless they are parallel") {
  SetCluster ordered;
  REQUIRE(ordered.create(R"("replicas":3,)", "").status == 201);
  ordered.settle();
  CHECK(ordered.pods() == "web-0");

  SetCluster parallel;
  REQUIRE(parallel.create(R"("replicas":3,"podManagementPolicy":"Parallel","ordinals":{"start":5},)", "")
              .status == 201);
  parallel.after(1);
  CHECK(parallel.pods() == "web-5 web-6 web-7");
  CHECK(parallel.patch(R"({"replicas":1})").status == 200);
  parallel.settle();
  CHECK(parallel.pods() == "web-5");

  SetCluster waits;
  REQUIRE(waits.create(R"("replicas":2,"minReadySeconds":30,)").status == 201);
  waits.clock.advance(std::chrono::seconds{20});
  CHECK(waits.pods() == "web-0");
  CHECK(waits.status("availableReplicas") == "0");
  waits.clock.advance(std::chrono::seconds{20});
  CHECK(waits.pods() == "web-0 web-1");
  CHECK(waits.status("availableReplicas") == "1");
}

TEST_CASE("an update replaces the highest pod first and stops at the partition") {
  SetCluster cluster;
  REQUIRE(cluster.create(R"("replicas":3,)").status == 201);
  cluster.settle();
  const std::string first = cluster.status("updateRevision");
  REQUIRE(cluster.new_image("i:2").status == 200);
  cluster.after(3);
  CHECK(cluster.images() == "i:1 i:1 i:2");
  CHECK(cluster.status("currentRevision") == first);
  CHECK(cluster.status("updateRevision") != first);
  cluster.settle();
  CHECK(cluster.images() == "i:2 i:2 i:2");
  CHECK(cluster.status("currentRevision") == cluster.status("updateRevision"));
  CHECK(cluster.names("/apis/apps/v1/namespaces/default/controllerrevisions").size() == 2 * first.size() + 1);

  REQUIRE(cluster.patch(R"({"updateStrategy":{"rollingUpdate":{"partition":2}}})").status == 200);
  REQUIRE(cluster.new_image("i:3").status == 200);
  cluster.settle();
  CHECK(cluster.images() == "i:2 i:2 i:3");
  CHECK(cluster.call("DELETE", kPods + "/web-0").status == 200);
  cluster.settle();
  CHECK(cluster.images() == "i:2 i:2 i:3");  // what is below the partition stays what it was

  // Back to the first one: its revision is numbered anew.
  REQUIRE(cluster.patch(R"({"updateStrategy":{"rollingUpdate":{"partition":0}}})").status == 200);
  REQUIRE(cluster.new_image("i:1").status == 200);
  cluster.settle();
  CHECK(cluster.images() == "i:1 i:1 i:1");
  CHECK(cluster.status("updateRevision") == first);
  CHECK(
      cluster.call("GET", "/apis/apps/v1/namespaces/default/controllerrevisions/" + first).text("revision") ==
      "4");

  REQUIRE(
      cluster.patch(R"({"revisionHistoryLimit":1,"updateStrategy":{"type":"OnDelete","rollingUpdate":null}})")
          .status == 200);
  REQUIRE(cluster.new_image("i:5").status == 200);
  cluster.settle();
  CHECK(cluster.images() == "i:1 i:1 i:1");
  CHECK(cluster.call("DELETE", kPods + "/web-1").status == 200);
  cluster.settle();
  CHECK(cluster.images() == "i:1 i:5 i:1");
  CHECK(cluster.names("/apis/apps/v1/namespaces/default/controllerrevisions").size() == 3 * first.size() + 2);
}

TEST_CASE("claims go with their set or with their pod where the retention policy says so") {
  struct Row {
    const char *when_deleted, *when_scaled, *after_scaling, *after_deletion;
  };
  const Row rows[] = {
      {"Retain", "Retain", "data-web-0 data-web-1", "data-web-0 data-web-1"},
      {"Delete", "Retain", "data-web-0 data-web-1", ""},
      {"Retain", "Delete", "data-web-0", "data-web-0"},
      {"Delete", "Delete", "data-web-0", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.when_deleted, row.when_scaled);
    SetCluster cluster;
    REQUIRE(
        cluster
            .create(fmt::format(
                R"("replicas":2,"persistentVolumeClaimRetentionPolicy":{{"whenDeleted":"{}","whenScaled":"{}"}},{})",
                row.when_deleted, row.when_scaled, kClaimTemplate))
            .status == 201);
    cluster.clock.advance(std::chrono::seconds{5});
    CHECK(cluster.names(kClaims) == "data-web-0 data-web-1");
    CHECK(cluster.patch(R"({"replicas":1})").status == 200);
    cluster.settle();
    CHECK(cluster.names(kClaims) == row.after_scaling);
    CHECK(cluster.call("DELETE", kSets + "/web").status == 200);
    cluster.settle();
    CHECK(cluster.pods().empty());
    CHECK(cluster.names(kClaims) == row.after_deletion);
  }
}

TEST_CASE("a pod that is refused is tried again, at longer and longer intervals") {
  SetCluster cluster;
  REQUIRE(cluster.create("", R"("priorityClassName":"none","nodeName":"node-0000",)").status == 201);
  cluster.settle();
  CHECK(cluster.pods().empty());
  REQUIRE(cluster
              .call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
                    R"({"metadata":{"name":"none"},"value":1})")
              .status == 201);
  cluster.clock.advance(std::chrono::seconds{10});
  CHECK(cluster.pods() == "web-0");
}
