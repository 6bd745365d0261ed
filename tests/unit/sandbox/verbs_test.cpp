// Create, get, list, update, patch, delete, bind: answers and refusals as Kubernetes gives them.
#include <catch2/catch.hpp>

#include "cluster.hpp"

using namespace koord::sandbox;

TEST_CASE("a created pod has what kube-apiserver would give it") {
  TestCluster cluster;
  auto made = cluster.call("POST", kPods, TestCluster::pod("web", R"(,"x-unknown":{"kept":[1,2.5]})"));
  REQUIRE(made.status == 201);
  CHECK(made.text("metadata", "namespace") == "default");
  CHECK(made.text("metadata", "uid").size() == 36);
  CHECK(made.text("metadata", "generation") == "1");
  CHECK(made.text("metadata", "creationTimestamp") == "2023-11-14T22:13:20Z");
  CHECK(made.text("spec", "schedulerName") == "default-scheduler");
  CHECK(made.text("spec", "terminationGracePeriodSeconds") == "30");
  CHECK(made.text("spec", "priority") == "0");
  CHECK(made.text("spec", "preemptionPolicy") == "PreemptLowerPriority");
  CHECK(made.text("spec", "x-unknown") == R"({"kept":[1,2.5]})");
  CHECK(made.text("status", "qosClass") == "Guaranteed");
  CHECK(made.text("status", "phase") == "Pending");
  auto& container = (*find(made.doc, "spec", "containers"))[0];
  CHECK(text_at(container, "resources", "requests", "cpu") == "1");
  CHECK(text_at(container, "imagePullPolicy") == "IfNotPresent");
  CHECK(find(made.doc, "spec", "tolerations")->size() == 2);
  CHECK(cluster.call("GET", kPods + "/web").body == made.body);
}

TEST_CASE("refusals") {
  struct Row {
    std::string method, target, body;
    unsigned status;
    std::string reason, message;
  };
  const std::string kLong(254, 'a');
  const Row rows[] = {
      {"GET", kPods + "/none", "", 404, "NotFound", "pods \"none\" not found"},
      {"POST", "/api/v1/namespaces/nowhere/pods", TestCluster::pod("a"), 404, "NotFound",
       "namespaces \"nowhere\" not found"},
      {"POST", kPods, TestCluster::pod("web"), 409, "AlreadyExists", "pods \"web\" already exists"},
      {"POST", kPods, R"({"kind":"Node","apiVersion":"v1"})", 400, "BadRequest",
       "Node in version \"v1\" cannot be handled as a Pod: no kind \"Node\" is registered for version "
       "\"v1\""},
      {"POST", kPods, R"({"metadata":{"name":"p"},"spec":{}})", 422, "Invalid",
       "Pod \"p\" is invalid: spec.containers: Required value"},
      {"POST", kPods, R"({"spec":{"containers":[{"name":"c","image":"i"}]}})", 422, "Invalid",
       "Pod \"\" is invalid: metadata.name: Required value: name or generateName is required"},
      {"POST", kPods, TestCluster::pod("Web"), 422, "Invalid",
       "Pod \"Web\" is invalid: metadata.name: Invalid value: \"Web\": a lowercase RFC 1123 subdomain must "
       "consist of lower case alphanumeric "
       "characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "
       "regex used for validation is "
       "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
      {"POST", kPods, TestCluster::pod(kLong), 422, "Invalid",
       "Pod \"" + kLong + "\" is invalid: metadata.name: Invalid value: \"" + kLong +
           "\": must be no more than 253 characters"},
      {"POST", kPods, TestCluster::pod("p", R"(,"priorityClassName":"no")"), 403, "Forbidden",
       "pods \"p\" is forbidden: no PriorityClass with name no was found"},
      {"POST", kPods, TestCluster::pod("p", R"(,"preemptionPolicy":"Never")"), 403, "Forbidden",
       "pods \"p\" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod "
       "spec; "
       "priority admission controller computed PreemptLowerPriority from the given PriorityClass name"},
      {"POST", kPods, R"({"metadata":{"name":"p","namespace":"other"}})", 400, "BadRequest",
       "the namespace of the provided object does not match the namespace sent on the request"},
      {"DELETE", kPods + "/none", "", 404, "NotFound", "pods \"none\" not found"},
      {"DELETE", "/api/v1/namespaces/default", "", 403, "Forbidden",
       "namespaces \"default\" is forbidden: this namespace may not be deleted"},
      {"GET", "/api/v1/nothings", "", 404, "NotFound", "the server could not find the requested resource"},
      {"GET", "/elsewhere", "", 404, "NotFound", "the server could not find the requested resource"},
      {"GET", kPods + "?fieldSelector=spec.bogus=1", "", 400, "BadRequest",
       "field label not supported: spec.bogus"},
  };
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kPods, TestCluster::pod("web")).status == 201);
  for (const Row& row : rows) {
    auto answer = cluster.call(row.method, row.target, row.body);
    CAPTURE(row.method, row.target, answer.body);
    CHECK(answer.status == row.status);
    CHECK(answer.text("reason") == row.reason);
    CHECK(answer.text("message") == row.message);
    CHECK(answer.text("code") == std::to_string(row.status));
  }
}

TEST_CASE("malformed bodies are refused, whatever they are") {
  TestCluster cluster;
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"), std::string("\"x\""),
        std::string(400'000, '['), std::string("{\"metadata\":7}"),
        std::string("{\"metadata\":{\"labels\":[1]}}"), std::string("{\"spec\":\"x\"}"),
        std::string("{}\0{}", 5), std::string("{\"a\":\"\xff\"}")}) {
    CAPTURE(body.substr(0, 40));
    CHECK(cluster.call("POST", kPods, body).status / 100 == 4);
    CHECK(cluster.call("PUT", kPods + "/x", body).status / 100 == 4);
  }
  CHECK(
      cluster.call("POST", kPods, TestCluster::pod("big", R"(,"x":")" + std::string(1600 * 1024, 'x') + "\""))
          .status == 413);
  CHECK(cluster.call("POST", kPods, "k8s", "application/vnd.kubernetes.protobuf").status == 400);
}

TEST_CASE("of equal names in a body the last counts") {
  TestCluster cluster;
  CHECK(cluster
            .call("POST", "/api/v1/namespaces/default/configmaps",
                  R"({"metadata":{"name":"a"},"data":{"k":"1"},"data":{"k":"2"}})")
            .text("data", "k") == "2");
}

TEST_CASE("binding assigns a pod once") {
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kPods, TestCluster::pod("web")).status == 201);
  auto bind = [&](const std::string& node, const std::string& uid = "") {
    return cluster.call("POST", kPods + "/web/binding",
                        R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":"web","uid":")" + uid +
                            R"(","annotations":{"a":"b"}},"target":{"kind":"Node","name":")" + node + "\"}}");
  };
  CHECK(bind("n1", "another").status == 409);
  auto bound = bind("n1");
  CHECK(bound.status == 201);
  CHECK(bound.text("status") == "Success");
  auto pod = cluster.call("GET", kPods + "/web");
  CHECK(pod.text("spec", "nodeName") == "n1");
  CHECK(pod.text("metadata", "annotations", "a") == "b");
  CHECK(text_at((*find(pod.doc, "status", "conditions"))[0], "type") == "PodScheduled");
  auto again = bind("n2");
  CHECK(again.status == 409);
  CHECK(again.text("message") ==
        "Operation cannot be fulfilled on pods/binding \"web\": pod web is already assigned to node \"n1\"");
  CHECK(cluster.call("GET", "/api/v1/pods?fieldSelector=spec.nodeName=n1").text("items").find("\"web\"") !=
        std::string::npos);
  CHECK(cluster.call("GET", "/api/v1/pods?fieldSelector=spec.nodeName=").text("items") == "[]");
}

TEST_CASE("updates: conflicts, immutable fields, subresources, generation, nothing for no change") {
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kPods, TestCluster::pod("web")).status == 201);
  auto pod = cluster.call("GET", kPods + "/web");
  std::string version = pod.text("metadata", "resourceVersion");
  CHECK(cluster.call("PUT", kPods + "/web", pod.body).text("metadata", "resourceVersion") == version);

  auto labelled = cluster.call("PATCH", kPods + "/web", R"({"metadata":{"labels":{"app":"web"}}})",
                               "application/merge-patch+json");
  CHECK(labelled.status == 200);
  CHECK(labelled.text("metadata", "generation") == "1");
  auto stale = cluster.call("PUT", kPods + "/web", pod.body);
  CHECK(stale.status == 409);
  CHECK(stale.text("message") ==
        "Operation cannot be fulfilled on pods \"web\": the object has been modified; please apply your "
        "changes to the latest version and try again");

  CHECK(cluster.call("PATCH", kPods + "/web", R"({"spec":{"hostname":"x"}})", "application/merge-patch+json")
            .status == 422);
  auto image =
      cluster.call("PATCH", kPods + "/web", R"({"spec":{"containers":[{"name":"c","image":"busybox:2"}]}})",
                   "application/strategic-merge-patch+json");
  CHECK(image.status == 200);
  CHECK(image.text("metadata", "generation") == "2");

  // status and the rest do not reach into each other
  auto status = cluster.call("PATCH", kPods + "/web/status",
                             R"({"status":{"phase":"Running"},"spec":{"hostname":"y"}})",
                             "application/merge-patch+json");
  CHECK(status.text("status", "phase") == "Running");
  CHECK(status.text("spec", "hostname") == "");
  CHECK(cluster
            .call("PATCH", kPods + "/web", R"({"status":{"phase":"Failed"}})", "application/merge-patch+json")
            .text("status", "phase") == "Running");
  auto json = cluster.call(
      "PATCH", kPods + "/web",
      R"([{"op":"test","path":"/metadata/labels/app","value":"web"},{"op":"remove","path":"/metadata/labels/app"}])",
      "application/json-patch+json");
  CHECK(json.status == 200);
  CHECK(json.text("metadata", "labels", "app") == "");
  CHECK(cluster
            .call("PATCH", kPods + "/web", R"([{"op":"test","path":"/metadata/name","value":"no"}])",
                  "application/json-patch+json")
            .status == 422);
  std::string many = "[";
  for (int i = 0; i <= 10'000; ++i)
    (many += i == 0 ? "" : ",") += R"({"op":"test","path":"/kind","value":"Pod"})";
  const auto refused = cluster.call("PATCH", kPods + "/web", many + "]", "application/json-patch+json");
  CHECK(refused.status == 413);
  CHECK(refused.text("reason") == "RequestEntityTooLarge");
  CHECK(refused.text("message") ==
        "Request entity is too large: The allowed maximum operations in a JSON patch is 10000, got 10001");
}

TEST_CASE("deletion: grace, finalizers, preconditions") {
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kPods, TestCluster::pod("pending")).status == 201);
  CHECK(cluster.call("DELETE", kPods + "/pending", R"({"preconditions":{"uid":"x"}})").status == 409);
  CHECK(cluster.call("DELETE", kPods + "/pending").status == 200);
  CHECK(cluster.call("GET", kPods + "/pending").status == 404);

  REQUIRE(cluster.call("POST", kPods, TestCluster::pod("bound", R"(,"nodeName":"n1")")).status == 201);
  auto first = cluster.call("DELETE", kPods + "/bound");
  CHECK(first.text("metadata", "deletionTimestamp") == "2023-11-14T22:13:50Z");
  CHECK(first.text("metadata", "deletionGracePeriodSeconds") == "30");
  CHECK(cluster.call("GET", kPods + "/bound").status == 200);
  CHECK(cluster.call("DELETE", kPods + "/bound", R"({"gracePeriodSeconds":0})").status == 200);
  CHECK(cluster.call("GET", kPods + "/bound").status == 404);

  const std::string maps = "/api/v1/namespaces/default/configmaps";
  REQUIRE(
      cluster.call("POST", maps, R"({"metadata":{"name":"held","finalizers":["example.com/f"]}})").status ==
      201);
  CHECK(cluster.call("DELETE", maps + "/held").text("metadata", "name") == "held");
  CHECK(cluster.call("GET", maps + "/held").text("metadata", "deletionTimestamp") != "");
  CHECK(cluster
            .call("PATCH", maps + "/held", R"({"metadata":{"finalizers":null}})",
                  "application/merge-patch+json")
            .status == 200);
  CHECK(cluster.call("GET", maps + "/held").status == 404);
}

TEST_CASE("a deletion is shown with its own version, whatever an object says of versions") {
  TestCluster cluster;
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  REQUIRE(
      cluster
          .call(
              "POST", maps,
              R"({"data":{"resourceVersion":"1","metadata":"{\"resourceVersion\":\"1\"}"},"metadata":{"annotations":{"resourceVersion":"1"},"name":"m"}})")
          .status == 201);
  auto watch = cluster.call("GET", maps + "?watch=true");
  REQUIRE(watch.watch);
  auto made = cluster.call("GET", maps + "/m");
  (void)TestCluster::read(*watch.watch);
  REQUIRE(cluster.call("DELETE", maps + "/m").status == 200);
  koord::json::Document event;
  REQUIRE(event.read(TestCluster::read(*watch.watch)).has_value());
  CHECK(text_at(event, "object", "metadata", "resourceVersion") == std::to_string(cluster.store.version()));
  auto& object = *find(event, "object");
  set_text(*find(object, "metadata"), "resourceVersion", made.text("metadata", "resourceVersion"),
           event.arena());
  CHECK(koord::json::to_text(object) == made.body);
}

TEST_CASE("names are generated, dry runs leave nothing") {
  TestCluster cluster;
  std::string body = R"({"metadata":{"generateName":"job-"},"data":{}})";
  const std::string maps = "/api/v1/namespaces/default/configmaps";
  auto a = cluster.call("POST", maps, body), b = cluster.call("POST", maps, body);
  CHECK(a.text("metadata", "name").size() == 9);
  CHECK(a.text("metadata", "name") != b.text("metadata", "name"));
  CHECK(cluster.call("POST", maps + "?dryRun=All", R"({"metadata":{"name":"dry"}})").status == 201);
  CHECK(cluster.call("GET", maps + "/dry").status == 404);
}

TEST_CASE("events are the same objects in both groups") {
  TestCluster cluster;
  auto made = cluster.call(
      "POST", "/apis/events.k8s.io/v1/namespaces/default/events",
      R"({"metadata":{"name":"e"},"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"koord","reportingInstance":"i","action":"Binding",)"
      R"("reason":"Scheduled","note":"hello","type":"Normal","regarding":{"kind":"Pod","name":"web","namespace":"default"}})");
  REQUIRE(made.status == 201);
  CHECK(made.text("apiVersion") == "events.k8s.io/v1");
  CHECK(made.text("note") == "hello");
  auto core = cluster.call("GET", "/api/v1/namespaces/default/events?fieldSelector=involvedObject.name=web");
  CHECK(core.text("items").find("\"message\":\"hello\"") != std::string::npos);
  CHECK(core.text("items").find("\"apiVersion\":\"v1\"") != std::string::npos);
}
