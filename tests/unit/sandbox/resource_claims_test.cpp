// Claims for devices in the sandbox: made with pods, reserved while pods use them, gone with them; who is
// started when.
#include <catch2/catch.hpp>

#include "live_cluster.hpp"
#include "sandbox/controllers/resource_claims.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

const std::string kClaims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const std::string kTemplates = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates";
const std::string kMerge = "application/merge-patch+json";
const std::string kRequest = R"({"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"c"}}]}})";
const std::string kFromTemplate = R"({"name":"gpu","resourceClaimTemplateName":"t"})";

struct ClaimCluster : LiveCluster {
  Workloads::Done held;  // of a creation that somebody is asked about
  bool ask = false, refuse = false;
  int asked = 0;
  ResourceClaims claims{
      verbs,
      [this](const Kind& kind, const std::string& ns, json::Document doc, const Workloads::Done& done) {
        ++asked;
        if (ask) {
          held = [this, &kind, ns, body = json::to_text(doc), done](const Outcome<ObjectPtr>&) {
            json::Document copy;
            REQUIRE(copy.read(body).has_value());
            done(verbs.create(kind, ns, copy));
          };
        } else if (refuse) {
          done(forbidden({"resource.k8s.io", "resourceclaims"}, "", "a webhook says no"));
        } else {
          done(verbs.create(kind, ns, doc));
        }
      }};

  void make_template(const std::string& metadata = "{}") {
    REQUIRE(call("POST", kTemplates,
                 fmt::format(R"({{"metadata":{{"name":"t"}},"spec":{{"metadata":{},"spec":{}}}}})", metadata,
                             kRequest))
                .status == 201);
  }
  void make_claim(const std::string& name) {
    REQUIRE(call("POST", kClaims, fmt::format(R"({{"metadata":{{"name":"{}"}},"spec":{}}})", name, kRequest))
                .status == 201);
  }
  /// `list` are the elements of spec.resourceClaims.
  void make_pod(const std::string& name, const std::string& list, const std::string& more = "") {
    REQUIRE(call("POST", kPods, pod(name, fmt::format(R"(,"resourceClaims":[{}]{})", list, more))).status ==
            201);
  }
  void bind(const std::string& name, const std::string& node) {
    REQUIRE(call("POST", fmt::format("{}/{}/binding", kPods, name),
                 fmt::format(R"({{"target":{{"name":"{}"}}}})", node))
                .status == 201);
  }
  std::string uid(const std::string& pod) { return call("GET", kPods + "/" + pod).text("metadata", "uid"); }
  /// As a scheduler does it: the finalizer, then the allocation and for whom it is reserved.
  void allocate(const std::string& claim, const std::vector<std::string>& pods) {
    const std::string path = fmt::format("{}/{}", kClaims, claim);
    REQUIRE(call("PATCH", path, R"({"metadata":{"finalizers":["resource.kubernetes.io/delete-protection"]}})",
                 kMerge)
                .status == 200);
    std::string users;
    for (const std::string& pod : pods)
      users += fmt::format(R"({}{{"resource":"pods","name":"{}","uid":"{}"}})", users.empty() ? "" : ",", pod,
                           uid(pod));
    const Answer answer = call(
        "PATCH", path + "/status",
        fmt::format(
            R"({{"status":{{"allocation":{{"devices":{{"results":[{{"request":"r","driver":"d","pool":"p",)"
            R"("device":"g"}}]}}}},"reservedFor":[{}]}}}})",
            users),
        kMerge);
    INFO(answer.body);
    REQUIRE(answer.status == 200);
  }
  std::vector<std::string> names() {
    std::vector<std::string> out;
    const Answer all = call("GET", kClaims);
    for (const json::Value& each : find(all.doc, "items")->elements())
      out.emplace_back(text_at(each, "metadata", "name"));
    return out;
  }
  /// "allocated, a b" with the users' names.
  std::string state(const std::string& claim) {
    const Answer answer = call("GET", kClaims + "/" + claim);
    if (answer.status != 200) return "gone";
    std::string out = find(answer.doc, "status", "allocation") ? "allocated," : "free,";
    if (const json::Value* users = find(answer.doc, "status", "reservedFor"))
      for (const json::Value& each : users->elements()) out += fmt::format(" {}", text_at(each, "name"));
    return out;
  }
  std::string statuses(const std::string& pod) {
    return call("GET", kPods + "/" + pod).text("status", "resourceClaimStatuses");
  }
  std::string phase(const std::string& pod) { return call("GET", kPods + "/" + pod).text("status", "phase"); }
};

}  // namespace

TEST_CASE("a pod that names a template gets a claim of its own") {
  ClaimCluster cluster;
  cluster.make_template(R"({"labels":{"l":"1"},"annotations":{"a":"2"}})");
  cluster.make_pod("p", kFromTemplate);
  cluster.settle();
  const auto names = cluster.names();
  REQUIRE(names.size() == 1);
  CHECK(names[0].starts_with("p-gpu-"));
  CHECK(names[0].size() == std::string("p-gpu-").size() + 5);
  CHECK(cluster.statuses("p") == fmt::format(R"([{{"name":"gpu","resourceClaimName":"{}"}}])", names[0]));
  const auto claim = cluster.call("GET", kClaims + "/" + names[0]);
  CHECK(claim.text("metadata", "labels") == R"({"l":"1"})");
  const json::Value* notes = find(claim.doc, "metadata", "annotations");
  REQUIRE(notes);
  CHECK(text_at(*notes, "a") == "2");
  CHECK(text_at(*notes, "resource.kubernetes.io/pod-claim-name") == "gpu");
  CHECK(claim.text("metadata", "ownerReferences") ==
        fmt::format(R"([{{"apiVersion":"v1","kind":"Pod","name":"p","uid":"{}","controller":true}}])",
                    cluster.uid("p")));
  CHECK(claim.text("spec", "devices", "requests") ==
        R"([{"name":"r","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1}}])");
  CHECK(cluster.asked == 1);

  SECTION("which comes again if somebody takes it") {
    REQUIRE(cluster.call("DELETE", kClaims + "/" + names[0]).status == 200);
    cluster.settle();
    const auto again = cluster.names();
    REQUIRE(again.size() == 1);
    CHECK(again[0] != names[0]);
    CHECK_THAT(cluster.statuses("p"), Catch::Contains(again[0]));
  }
  SECTION("and goes with the pod") {
    REQUIRE(cluster.call("DELETE", kPods + "/p?gracePeriodSeconds=0").status == 200);
    cluster.settle();
    CHECK(cluster.names().empty());
  }
}

TEST_CASE("of several claims one comes again, and the pod's status keeps the others") {
  ClaimCluster cluster;
  cluster.make_template();
  cluster.make_pod(
      "p", R"({"name":"a","resourceClaimTemplateName":"t"},{"name":"b","resourceClaimTemplateName":"t"})");
  cluster.settle();
  auto names = cluster.names();
  REQUIRE(names.size() == 2);
  REQUIRE(cluster.call("DELETE", fmt::format("{}/{}", kClaims, names[0])).status == 200);
  cluster.settle();
  CHECK(cluster.asked == 3);
  const std::string kept = names[1], statuses = cluster.statuses("p");
  names = cluster.names();
  REQUIRE(names.size() == 2);
  CHECK_THAT(statuses, Catch::Contains(names[0]) && Catch::Contains(names[1]) && Catch::Contains(kept));
  cluster.settle();
  CHECK(cluster.asked == 3);
}

TEST_CASE("names of claims: a long one is cut, each part to its share") {
  ClaimCluster cluster;
  cluster.make_template();
  const std::string pod(60, 'p'), claim(40, 'c');
  cluster.make_pod(pod, fmt::format(R"({{"name":"{}","resourceClaimTemplateName":"t"}})", claim));
  cluster.settle();
  const auto names = cluster.names();
  REQUIRE(names.size() == 1);
  CHECK(names[0].starts_with(fmt::format("{}-{}", std::string(33, 'p'), std::string(22, 'c'))));
  CHECK(names[0].size() == 33 + 1 + 22 + 5);
}

TEST_CASE("a template that comes later is used then; until then no status names a claim") {
  ClaimCluster cluster;
  cluster.make_claim("mine");
  cluster.make_pod("p", R"({"name":"own","resourceClaimName":"mine"},)" + kFromTemplate);
  cluster.settle();
  CHECK(cluster.names() == std::vector<std::string>{"mine"});
  CHECK(cluster.statuses("p").empty());
  CHECK(cluster.asked == 0);
  cluster.make_template();
  cluster.settle();
  CHECK(cluster.names().size() == 2);
  CHECK_THAT(cluster.statuses("p"), Catch::Contains("p-gpu-"));
}

TEST_CASE("a claim that is refused is asked for again, at longer and longer intervals") {
  ClaimCluster cluster;
  cluster.refuse = true;
  cluster.make_template();
  cluster.make_pod("p", kFromTemplate);
  cluster.clock.advance(std::chrono::seconds{60});
  CHECK(cluster.names().empty());
  CHECK(cluster.asked >= 5);
  CHECK(cluster.asked <= 8);
  cluster.refuse = false;
  cluster.clock.advance(std::chrono::seconds{60});
  CHECK(cluster.names().size() == 1);
}

TEST_CASE("while somebody is asked about a claim no second one is made") {
  ClaimCluster cluster;
  cluster.ask = true;
  cluster.make_template();
  cluster.make_pod("p", kFromTemplate);
  cluster.settle();
  REQUIRE(cluster.held);
  REQUIRE(cluster.call("PATCH", kPods + "/p", R"({"metadata":{"labels":{"a":"b"}}})", kMerge).status == 200);
  cluster.settle();
  CHECK(cluster.asked == 1);
  SECTION("and it is found when it is there") {
    cluster.held(ObjectPtr());
    cluster.settle();
    CHECK(cluster.names().size() == 1);
    CHECK_THAT(cluster.statuses("p"), Catch::Contains("p-gpu-"));
  }
  SECTION("and one whose pod has gone meanwhile goes, too") {
    REQUIRE(cluster.call("DELETE", kPods + "/p?gracePeriodSeconds=0").status == 200);
    cluster.held(ObjectPtr());
    cluster.settle();
    CHECK(cluster.names().empty());
  }
  CHECK(cluster.asked == 1);
}

TEST_CASE("a pod starts when its claims are there and reserved for it") {
  ClaimCluster cluster;
  cluster.make_template();
  cluster.make_pod("p", kFromTemplate);
  cluster.settle();
  cluster.bind("p", "node-0000");
  cluster.settle();
  CHECK(cluster.phase("p") == "Pending");
  cluster.allocate(cluster.names().at(0), {"p"});
  cluster.settle();
  CHECK(cluster.phase("p") == "Running");
}

TEST_CASE("a pod that was bound by hand is reserved its claim") {
  ClaimCluster cluster;
  cluster.make_claim("mine");
  cluster.make_pod("p", R"({"name":"own","resourceClaimName":"mine"})");
  cluster.bind("p", "node-0000");
  cluster.settle();
  CHECK(cluster.state("mine") == "free,");
  cluster.allocate("mine", {});
  cluster.settle();
  CHECK(cluster.state("mine") == "allocated, p");
  CHECK(cluster.phase("p") == "Running");
}

TEST_CASE("the last user's end frees a claim, and what may go then goes") {
  ClaimCluster cluster;
  const std::string own = R"({"name":"own","resourceClaimName":"mine"})";
  cluster.make_claim("mine");
  for (const char* name : {"a", "b"}) cluster.make_pod(name, own, R"(,"restartPolicy":"Never")");
  cluster.allocate("mine", {"a", "b"});
  for (const char* name : {"a", "b"}) cluster.bind(name, "node-0000");
  cluster.settle();
  CHECK(cluster.state("mine") == "allocated, a b");
  const auto end = [&](const std::string& pod) {
    REQUIRE(cluster
                .call("PATCH", fmt::format("{}/{}/status", kPods, pod), R"({"status":{"phase":"Succeeded"}})",
                      kMerge)
                .status == 200);
    cluster.settle();
  };
  end("a");
  CHECK(cluster.state("mine") == "allocated, b");
  SECTION("one that stays is free, and its finalizer gone") {
    end("b");
    CHECK(cluster.state("mine") == "free,");
    CHECK(cluster.call("GET", kClaims + "/mine").text("metadata", "finalizers").empty());
  }
  SECTION("one that is deleted waits for its users") {
    REQUIRE(cluster.call("DELETE", kClaims + "/mine").status == 200);
    cluster.settle();
    CHECK(cluster.state("mine") == "allocated, b");
    REQUIRE(cluster.call("DELETE", kPods + "/b?gracePeriodSeconds=0").status == 200);
    cluster.settle();
    CHECK(cluster.state("mine") == "gone");
  }
  SECTION("and a pod of the same name is somebody else") {
    REQUIRE(cluster.call("DELETE", kPods + "/b?gracePeriodSeconds=0").status == 200);
    cluster.make_pod("b", own);
    cluster.settle();
    CHECK(cluster.state("mine") == "free,");
  }
}

TEST_CASE("the claim that was made for a pod goes when the pod has ended, though the pod stays") {
  ClaimCluster cluster;
  cluster.make_template();
  cluster.make_pod("p", kFromTemplate, R"(,"restartPolicy":"Never")");
  cluster.settle();
  cluster.allocate(cluster.names().at(0), {"p"});
  cluster.bind("p", "node-0000");
  cluster.settle();
  REQUIRE(cluster.phase("p") == "Running");
  REQUIRE(cluster.call("PATCH", kPods + "/p/status", R"({"status":{"phase":"Failed"}})", kMerge).status ==
          200);
  cluster.settle();
  CHECK(cluster.names().empty());
  CHECK(cluster.phase("p") == "Failed");
}

TEST_CASE("claims that nobody uses, or that others use, are left alone") {
  ClaimCluster cluster;
  cluster.make_claim("unused");
  cluster.allocate("unused", {});
  cluster.make_claim("foreign");
  cluster.make_pod("p", R"({"name":"own","resourceClaimName":"foreign"})");
  cluster.allocate("foreign", {"p"});
  const std::string path = kClaims + "/foreign/status";
  REQUIRE(
      cluster
          .call("PATCH", path,
                R"({"status":{"reservedFor":[{"apiGroup":"batch","resource":"jobs","name":"j","uid":"u"}]}})",
                kMerge)
          .status == 200);
  REQUIRE(cluster.call("DELETE", kPods + "/p?gracePeriodSeconds=0").status == 200);
  cluster.settle();
  CHECK(cluster.state("unused") == "allocated,");
  CHECK(cluster.state("foreign") == "allocated, j");
}

TEST_CASE("a pod of thousands of claims keeps nobody waiting") {
  ClaimCluster cluster;
  cluster.make_template();
  std::string list;
  constexpr int kMany = 600;
  for (int n = 0; n < kMany; ++n)
    list += fmt::format(R"({}{{"name":"c{}","resourceClaimTemplateName":"t"}})", n ? "," : "", n);
  cluster.make_pod("p", list);
  // A turn of the wheel makes some of them.
  int most = 0;
  for (int turn = 0, before = 0; turn < 40; ++turn) {
    cluster.clock.advance(std::chrono::milliseconds{10});
    most = std::max(most, cluster.asked - before);
    before = cluster.asked;
  }
  CHECK(most <= 50);
  CHECK(cluster.asked == kMany);
  CHECK(cluster.names().size() == kMany);
  CHECK(find(cluster.call("GET", kPods + "/p").doc, "status", "resourceClaimStatuses")->size() == kMany);
}
