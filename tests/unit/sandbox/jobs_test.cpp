// Jobs: pods until enough have succeeded or too many failed; and what kubectl top and logs are told.
#include <catch2/catch.hpp>

#include "live_cluster.hpp"
#include "sandbox/controllers/jobs.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

const std::string kJobs = "/apis/batch/v1/namespaces/default/jobs";

struct JobCluster : LiveCluster {
  Jobs jobs{verbs};

  /// `spec`: members of the job's; `notes`: annotations of its pods.
  Answer job(const std::string& spec, const std::string& notes = "") {
    return call(
        "POST", kJobs,
        R"({"metadata":{"name":"j"},"spec":{)" + spec + R"("template":{"metadata":{"annotations":{)" + notes +
            R"(}},"spec":{"restartPolicy":"Never","nodeName":"node-0000","containers":[{"name":"c","image":"i"}]}}}})");
  }
  std::string condition() {
    const auto got = call("GET", kJobs + "/j");
    const json::Value* list = find(got.doc, "status", "conditions");
    if (is_empty(list)) return "";
    const json::Value& last = (*list)[list->size() - 1];
    return fmt::format("{} {}", text_at(last, "type"), text_at(last, "reason"));
  }
  std::string status(const char* field) { return call("GET", kJobs + "/j").text("status", field); }
  std::size_t made() { return pods("job-name=j"); }
  void after(std::chrono::seconds time) { clock.advance(time); }
};

}  // namespace

TEST_CASE("a job has what kube-apiserver would give it") {
  JobCluster cluster;
  const auto made = cluster.job("");
  REQUIRE(made.status == 201);
  CHECK(made.text("spec", "completions") == "1");
  CHECK(made.text("spec", "backoffLimit") == "6");
  CHECK(made.text("spec", "completionMode") == "NonIndexed");
  CHECK(text_at(made.doc, "spec", "selector", "matchLabels", "batch.kubernetes.io/controller-uid") ==
        made.text("metadata", "uid"));
  CHECK(text_at(*find(made.doc, "spec", "template"), "metadata", "labels", "job-name") == "j");
  CHECK(
      cluster
          .call(
              "POST", kJobs,
              R"({"metadata":{"name":"k"},"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}})")
          .text("message") ==
      R"(Job.batch "k" is invalid: spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never")");
  CHECK(cluster.call("PATCH", kJobs + "/j", R"({"spec":{"completions":2}})", "application/merge-patch+json")
            .status == 422);
}

TEST_CASE("pods run side by side until enough have succeeded") {
  JobCluster cluster;
  REQUIRE(cluster.job(R"("completions":5,"parallelism":2,)", R"("sandbox.koordinator.sh/run-seconds":"10")")
              .status == 201);
  cluster.after(std::chrono::seconds{5});
  CHECK(cluster.status("active") == "2");
  CHECK(cluster.status("ready") == "2");
  cluster.after(std::chrono::seconds{10});
  CHECK(cluster.status("succeeded") == "2");
  cluster.after(std::chrono::seconds{60});
  CHECK(cluster.condition() == "Complete CompletionsReached");
  CHECK(cluster.status("succeeded") == "5");
  CHECK(cluster.status("active").empty());
  CHECK(cluster.made() == 5);
}

TEST_CASE("pods that say nothing run for five seconds; a finished job goes when its time has passed") {
  JobCluster cluster;
  REQUIRE(cluster.job(R"("ttlSecondsAfterFinished":100,)").status == 201);
  cluster.after(std::chrono::seconds{4});
  CHECK(cluster.condition().empty());
  cluster.after(std::chrono::seconds{4});
  CHECK(cluster.condition() == "Complete CompletionsReached");
  cluster.after(std::chrono::seconds{110});
  CHECK(cluster.call("GET", kJobs + "/j").status == 404);
  CHECK(cluster.made() == 0);
}

TEST_CASE("failures are tried again, at longer and longer intervals, up to the limit") {
  JobCluster cluster;
  REQUIRE(cluster
              .job(R"("backoffLimit":2,)",
                   R"("sandbox.koordinator.sh/run-seconds":"1","sandbox.koordinator.sh/exit-code":"3")")
              .status == 201);
  cluster.after(std::chrono::seconds{5});
  CHECK(cluster.made() == 1);
  cluster.after(std::chrono::seconds{10});  // 10 s after the first
  CHECK(cluster.made() == 2);
  cluster.after(std::chrono::seconds{10});
  CHECK(cluster.made() == 2);
  cluster.after(std::chrono::seconds{15});  // 20 s after the second
  CHECK(cluster.made() == 3);
  CHECK(cluster.condition() == "Failed BackoffLimitExceeded");
  CHECK(cluster.status("failed") == "3");
}

TEST_CASE("deadline, suspension, deleted pods, indexes") {
  const std::string kLong = R"("sandbox.koordinator.sh/run-seconds":"1000")";
  JobCluster deadline;
  REQUIRE(deadline.job(R"("activeDeadlineSeconds":30,)", kLong).status == 201);
  deadline.after(std::chrono::seconds{40});
  CHECK(deadline.condition() == "Failed DeadlineExceeded");
  deadline.after(std::chrono::seconds{40});
  CHECK(deadline.made() == 0);

  JobCluster suspended;
  REQUIRE(suspended.job(R"("suspend":true,)", kLong).status == 201);
  suspended.after(std::chrono::seconds{5});
  CHECK(suspended.made() == 0);
  CHECK(suspended.condition() == "Suspended JobSuspended");
  suspended.call("PATCH", kJobs + "/j", R"({"spec":{"suspend":false}})", "application/merge-patch+json");
  suspended.after(std::chrono::seconds{5});
  CHECK(suspended.made() == 1);
  CHECK(suspended.call("DELETE", kPods + "?labelSelector=job-name=j").status == 200);
  suspended.after(std::chrono::seconds{60});
  CHECK(suspended.made() == 1);
  CHECK(suspended.status("failed").empty());

  JobCluster indexed;
  REQUIRE(indexed.job(R"("completions":4,"parallelism":2,"completionMode":"Indexed",)").status == 201);
  indexed.after(std::chrono::seconds{60});
  CHECK(indexed.status("completedIndexes") == "0-3");
  CHECK(indexed.condition() == "Complete CompletionsReached");
}

TEST_CASE("what nodes and pods use: a NodeMetric's figures, or those of a machine that is half busy") {
  LiveCluster cluster;
  const std::string api = "/apis/metrics.k8s.io/v1beta1/";
  const std::string pod =
      R"({"metadata":{"name":"p"},"spec":{"nodeName":"node-0000","containers":[)"
      R"({"name":"a","image":"i","resources":{"requests":{"cpu":"1","memory":"1Gi"}}},)"
      R"({"name":"b","image":"i","resources":{"requests":{"cpu":"3","memory":"1Gi"}}}]}})";
  REQUIRE(cluster.call("POST", kPods, pod).status == 201);
  const auto early = cluster.call("GET", api + "namespaces/default/pods/p");
  CHECK(early.status == 404);
  CHECK(early.text("message") == R"(podmetrics.metrics.k8s.io "default/p" not found)");
  cluster.settle();
  const auto one = cluster.call("GET", api + "namespaces/default/pods/p");
  REQUIRE(one.status == 200);
  const json::Value& containers = *find(one.doc, "containers");
  CHECK(text_at(containers[0], "usage", "cpu") == "500000000n");
  CHECK(text_at(containers[1], "usage", "cpu") == "1500000000n");
  // 2% of 4 CPUs and the pod.
  CHECK(text_at(cluster.call("GET", api + "nodes/node-0000").doc, "usage", "cpu") == "2080000000n");
  CHECK(find(cluster.call("GET", api + "nodes").doc, "items")->size() == 2);
  CHECK(find(cluster.call("GET", api + "pods?labelSelector=a=b").doc, "items")->empty());
  CHECK(cluster.call("POST", api + "nodes", "{}").status == 405);

  Kind metrics;  // as the CRD has it, without its schema
  metrics.group = "slo.koordinator.sh";
  metrics.version = "v1alpha1";
  metrics.resource = "nodemetrics";
  metrics.kind = "NodeMetric";
  metrics.namespaced = false;
  metrics.objects = &cluster.store.collection("nodemetrics.slo.koordinator.sh");
  cluster.registry.add(metrics);
  REQUIRE(
      cluster
          .call(
              "POST", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics",
              R"({"metadata":{"name":"node-0000"},"spec":{"metricCollectPolicy":{"aggregateDurationSeconds":300}},)"
              R"("status":{"updateTime":"2023-11-14T22:00:00Z","nodeMetric":{"nodeUsage":{"resources":{"cpu":"1234m","memory":"5Gi"}}},)"
              R"("podsMetric":[{"name":"p","namespace":"default","podUsage":{"resources":{"cpu":"400m","memory":"2Gi"}}}]}})")
          .status == 201);
  const auto node = cluster.call("GET", api + "nodes/node-0000");
  CHECK(text_at(node.doc, "usage", "cpu") == "1234000000n");
  CHECK(text_at(node.doc, "usage", "memory") == "5242880Ki");
  CHECK(node.text("window") == "300s");
  CHECK(node.text("timestamp") == "2023-11-14T22:00:00Z");
  const auto measured = cluster.call("GET", api + "namespaces/default/pods/p");
  CHECK(text_at((*find(measured.doc, "containers"))[1], "usage", "cpu") == "300000000n");
}

TEST_CASE("a log says that its container is simulated") {
  LiveCluster cluster;
  const std::string pod =
      R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"i"},{"name":"b","image":"i"}]}})";
  REQUIRE(cluster.call("POST", kPods, pod).status == 201);
  CHECK(cluster.call("GET", kPods + "/none/log").status == 404);
  CHECK(cluster.call("GET", kPods + "/p/log").text("message") ==
        "a container name must be specified for pod p, choose one of: [a b]");
  CHECK(cluster.call("GET", kPods + "/p/log?container=c").text("message") ==
        "container c is not valid for pod p");
  CHECK(cluster.call("GET", kPods + "/p/log?container=a").body.empty());
  REQUIRE(
      cluster.call("POST", kPods + "/p/binding", R"({"target":{"kind":"Node","name":"node-0000"}})").status ==
      201);
  CHECK(cluster.call("GET", kPods + "/p/log?container=a").text("message") ==
        R"(container "a" in pod "p" is waiting to start: ContainerCreating)");
  cluster.settle();
  CHECK_THAT(cluster.call("GET", kPods + "/p/log?container=a").body,
             Catch::StartsWith("Container a of pod default/p is simulated"));
}
