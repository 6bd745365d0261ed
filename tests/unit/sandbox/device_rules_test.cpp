// What the sandbox takes and refuses of resource.k8s.io; rows of Kubernetes 1.35's validation tests of that
// group. The same beside a real kube-apiserver: tests/kube/claim_rules_test.py.
#include <catch2/catch.hpp>

#include "cluster.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

const std::string kGroup = "/apis/resource.k8s.io/v1";
const std::string kClaims = kGroup + "/namespaces/default/resourceclaims";
const std::string kTemplates = kGroup + "/namespaces/default/resourceclaimtemplates";
const std::string kClasses = kGroup + "/deviceclasses";
const std::string kSlices = kGroup + "/resourceslices";
const std::string kMerge = "application/merge-patch+json";
const std::string kRequest = R"({"name":"r","exactly":{"deviceClassName":"c"}})";

std::string object(const std::string& spec) {
  return fmt::format(R"({{"metadata":{{"name":"x"}},"spec":{}}})", spec);
}
std::string claim(const std::string& requests, const std::string& more = "") {
  return object(fmt::format(R"({{"devices":{{"requests":[{}]{}}}}})", requests, more));
}
std::string exact(const std::string& more) {
  return claim(fmt::format(R"({{"name":"r","exactly":{{"deviceClassName":"c",{}}}}})", more));
}
std::string selector(const std::string& expression) {
  return exact(fmt::format(R"("selectors":[{{"cel":{{"expression":{}}}}}])", json::quote(expression)));
}
std::string repeated(int count, const std::string& item) {  // {} in the item is its number
  std::string out;
  for (int n = 0; n < count; ++n)
    out += fmt::format("{}{}", n ? "," : "", fmt::format(fmt::runtime(item), n));
  return out;
}
std::string slice(const std::string& devices, const std::string& more = R"("nodeName":"n")") {
  return object(
      fmt::format(R"({{"driver":"d","pool":{{"name":"p","resourceSliceCount":1}},{}{}"devices":[{}]}})", more,
                  more.empty() ? "" : ",", devices));
}

struct Row {
  const char* name;
  std::string path, object;
  std::string message;  // a part of it; empty: it is taken
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    CAPTURE(row.name);
    TestCluster cluster;
    const auto answer = cluster.call("POST", row.path, row.object);
    CHECK(answer.status == (row.message.empty() ? 201 : 422));
    if (!row.message.empty()) CHECK_THAT(answer.text("message"), Catch::Contains(row.message));
  }
}

const std::string kResult = R"({"request":"r","driver":"d","pool":"p","device":"g"})";
const std::string kAllocation = fmt::format(R"("allocation":{{"devices":{{"results":[{}]}}}})", kResult);

std::string users(int count) {
  return fmt::format(R"("reservedFor":[{}])",
                     repeated(count, R"({{"resource":"pods","name":"p{0}","uid":"u{0}"}})"));
}

struct StatusCluster : TestCluster {
  StatusCluster() { REQUIRE(call("POST", kClaims, claim(kRequest)).status == 201); }
  /// The message of the refusal, empty if it is taken.
  std::string status(const std::string& members) {
    const Answer answer =
        call("PATCH", kClaims + "/x/status", fmt::format(R"({{"status":{{{}}}}})", members), kMerge);
    return answer.status == 200 ? "" : answer.text("message");
  }
};

}  // namespace

TEST_CASE("claims are taken or refused in Kubernetes' words") {
  const std::string nine = repeated(9, R"({{"name":"s{}","deviceClassName":"c"}})");
  check({
      {"one request", kClaims, claim(kRequest), ""},
      {"none", kClaims, object("{}"), ""},
      {"32", kClaims, claim(repeated(32, R"({{"name":"r{}","exactly":{{"deviceClassName":"c"}}}})")), ""},
      {"33", kClaims, claim(repeated(33, R"({{"name":"r{}","exactly":{{"deviceClassName":"c"}}}})")),
       "spec.devices.requests: Too many: 33: must have at most 32 items"},
      {"neither form", kClaims, claim(R"({"name":"r"})"),
       "spec.devices.requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"},
      {"two of one name", kClaims, claim(kRequest + "," + kRequest),
       R"(spec.devices.requests[1]: Duplicate value: "r")"},
      {"9 alternatives", kClaims, claim(fmt::format(R"({{"name":"r","firstAvailable":[{}]}})", nine)),
       "spec.devices.requests[0].firstAvailable: Too many: 9: must have at most 8 items"},
      {"no class", kClaims, claim(R"({"name":"r","exactly":{}})"),
       "spec.devices.requests[0].exactly.deviceClassName: Required value"},
      {"all with a count", kClaims, exact(R"("allocationMode":"All","count":2)"),
       "exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'"},
      {"a negative count", kClaims, exact(R"("count":-1)"),
       "exactly.count: Invalid value: -1: must be greater than zero"},
      {"another mode", kClaims, exact(R"("allocationMode":"Some")"),
       R"(exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount")"},
      {"33 selectors", kClaims,
       exact(fmt::format(R"("selectors":[{}])", repeated(33, R"({{"cel":{{"expression":"true"}}}})"))),
       "exactly.selectors: Too many: 33: must have at most 32 items"},
      {"a toleration without operator", kClaims, exact(R"("tolerations":[{"key":"a","value":"b"}])"), ""},
      {"a toleration of another operator", kClaims, exact(R"("tolerations":[{"operator":"Like"}])"),
       R"(tolerations[0].operator: Unsupported value: "Like": supported values: "Equal", "Exists")"},
      {"a constraint", kClaims,
       claim(kRequest, R"(,"constraints":[{"requests":["r"],"matchAttribute":"d.e/numa"}])"), ""},
      {"a constraint without attribute", kClaims, claim(kRequest, R"(,"constraints":[{}])"),
       "spec.devices.constraints[0]: Required value"},
      {"an attribute without domain", kClaims,
       claim(kRequest, R"(,"constraints":[{"matchAttribute":"numa"}])"),
       "a fully qualified name must be a domain and a name separated by a slash"},
      {"an unknown request", kClaims,
       claim(kRequest, R"(,"constraints":[{"requests":["s"],"matchAttribute":"d/a"}])"),
       R"(constraints[0].requests[0]: Invalid value: "s": must be the name of a request in the claim)"},
      {"parameters that are none", kClaims,
       claim(kRequest, R"(,"config":[{"opaque":{"driver":"d","parameters":[1]}}])"),
       R"(config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object)"},
      {"long parameters", kClaims,
       claim(kRequest, fmt::format(R"(,"config":[{{"opaque":{{"driver":"d","parameters":{{"a":"{}"}}}}}}])",
                                   std::string(10'240, 'x'))),
       "config[0].opaque.parameters: Too long: may not be more than 10240 bytes"},
      {"a template's metadata", kTemplates,
       object(fmt::format(R"({{"metadata":{{"name":"y"}},"spec":{{"devices":{{"requests":[{}]}}}}}})",
                          kRequest)),
       "spec.metadata.name: Forbidden: cannot be set"},
      {"a template's claim", kTemplates, object(R"({"spec":{"devices":{"requests":[{"name":"r"}]}}})"),
       "spec.spec.devices.requests[0]: Required value"},
  });
}

TEST_CASE("selectors are expressions of a device that give a bool") {
  check({
      {"an attribute", kClaims, selector("device.attributes['d.e'].model == 'x'"), ""},
      {"an attribute that may be one", kClaims, selector("device.attributes['d.e'].shared"), ""},
      {"a bound name", kClaims, selector("cel.bind(a, device.attributes['d'], a.x && a.y)"), ""},
      {"a number", kClaims, selector("1"), "must evaluate to bool or the unknown type, not int"},
      {"an unknown type that is no attribute", kClaims, selector("dyn(1)"),
       "must evaluate to bool or the unknown type, not dyn"},
      {"all attributes", kClaims, selector("device.attributes"),
       "not map(string, map(string, google.protobuf.Any))"},
      {"no expression", kClaims, selector("device.driver =="),
       "compilation failed: ERROR: <input>:1:17: Syntax error"},
      {"an unknown name", kClaims, selector("zz"), "undeclared reference to 'zz'"},
      {"a long one", kClaims, selector(std::string(10'241, ' ')),
       "selectors[0].cel.expression: Too long: may not be more than 10240 bytes"},
      {"no selector", kClasses, object(R"({"selectors":[{}]})"), "spec.selectors[0].cel: Required value"},
      {"a class", kClasses, object(R"({"selectors":[{"cel":{"expression":"device.driver == 'd'"}}]})"), ""},
      {"a class for Kubernetes' resource", kClasses, object(R"({"extendedResourceName":"cpu"})"),
       R"(spec.extendedResourceName: Invalid value: "cpu": must be a valid extended resource name)"},
  });
}

TEST_CASE("slices: devices, attributes, taints, counters and homes") {
  check({
      {"a device", kSlices, slice(R"({"name":"g","attributes":{"model":{"string":"x"},"d.e/n":{"int":1}}})"),
       ""},
      {"128", kSlices, slice(repeated(128, R"({{"name":"d{}"}})")), ""},
      {"129", kSlices, slice(repeated(129, R"({{"name":"d{}"}})")),
       "spec.devices: Too many: 129: must have at most 128 items"},
      {"65, one with a taint", kSlices,
       slice(repeated(64, R"({{"name":"d{}"}})") +
             R"(,{"name":"t","taints":[{"key":"a","effect":"NoSchedule"}]})"),
       "spec.devices: Too many: 65: must have at most 64 items"},
      {"33 attributes", kSlices,
       slice(fmt::format(R"({{"name":"g","attributes":{{{}}}}})", repeated(33, R"("a{0}":{{"int":{0}}})"))),
       "spec.devices[0]: Invalid value: 33: the total number of attributes and capacities must not exceed "
       "32"},
      {"a long value", kSlices,
       slice(fmt::format(R"({{"name":"g","attributes":{{"a":{{"string":"{}"}}}}}})", std::string(65, 'x'))),
       "spec.devices[0].attributes[a].string: Too long: may not be more than 64 bytes"},
      {"two values", kSlices, slice(R"({"name":"g","attributes":{"a":{"int":1,"bool":true}}})"),
       R"({"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null}: exactly one value must be specified)"},
      {"a version", kSlices, slice(R"({"name":"g","attributes":{"a":{"version":"1.2.3-a.1+b"}}})"), ""},
      {"no version", kSlices, slice(R"({"name":"g","attributes":{"a":{"version":"1.02.3"}}})"),
       "must be a string compatible with semver.org spec 2.0.0"},
      {"no identifier", kSlices, slice(R"({"name":"g","attributes":{"a-b":{"int":1}}})"),
       "spec.devices[0].attributes[a-b]: Invalid value: \"a-b\": a valid C identifier"},
      {"a bad effect", kSlices, slice(R"({"name":"g","taints":[{"key":"a","effect":"Never"}]})"),
       R"(taints[0].effect: Unsupported value: "Never": supported values: "NoExecute", "NoSchedule", "None")"},
      {"no home", kSlices, slice(R"({"name":"g"})", ""), "spec: Required value: exactly one of `nodeName`"},
      {"lists of counters and of devices", kSlices, slice("", R"("nodeName":"n","sharedCounters":[])"),
       "spec: Invalid value: \"\": only one of `sharedCounters` or `devices` is allowed"},
      {"two homes", kSlices, slice(R"({"name":"g"})", R"("nodeName":"n","allNodes":true)"),
       "spec: Invalid value: \"{`nodeName`, `allNodes`}\": exactly one of"},
      {"two terms", kSlices, slice(R"({"name":"g"})", R"("nodeSelector":{"nodeSelectorTerms":[{},{}]})"),
       R"([{"MatchExpressions":null,"MatchFields":null},{"MatchExpressions":null,"MatchFields":null}]: must have )"
       "exactly one node selector term"},
      {"a device's home", kSlices, slice(R"({"name":"g","nodeName":"n"})"),
       "can only be set if `perDeviceNodeSelection` is set to true"},
      {"a policy of a device for one", kSlices,
       slice(R"({"name":"g","capacity":{"m":{"value":"1","requestPolicy":{"default":"1"}}}})"),
       "requestPolicy: Forbidden: allowMultipleAllocations must be true"},
      {"a default outside of its range", kSlices,
       slice(R"({"name":"g","allowMultipleAllocations":true,"capacity":{"m":{"value":"4Gi","requestPolicy":)"
             R"({"default":"3Gi","validRange":{"min":"1Gi","max":"2Gi"}}}}})"),
       R"(validRange.max: Invalid value: "3Gi": default is more than max: 2Gi)"},
      {"a step of nothing", kSlices,
       slice(R"({"name":"g","allowMultipleAllocations":true,"capacity":{"m":{"value":"4Gi","requestPolicy":)"
             R"({"default":"3Gi","validRange":{"min":"1Gi","step":"0"}}}}})"),
       "value is not a multiple of a given step (0)"},
  });
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kSlices, slice(R"({"name":"g"})")).status == 201);
  CHECK(find(cluster.call("GET", kSlices + "?fieldSelector=spec.nodeName=n,spec.driver=d").doc, "items")
            ->size() == 1);
  CHECK(find(cluster.call("GET", kSlices + "?fieldSelector=spec.nodeName=m").doc, "items")->empty());
  CHECK_THAT(
      cluster.call("PATCH", kSlices + "/x", R"({"spec":{"pool":{"name":"q"}}})", kMerge).text("message"),
      Catch::Contains(R"(spec.pool.name: Invalid value: "q": field is immutable)"));
}

TEST_CASE("what a claim leaves open is set, its spec stays, and what is no claim is none") {
  TestCluster cluster;
  const auto made = cluster.call("POST", kClaims, exact(R"("tolerations":[{"key":"a"}])"));
  REQUIRE(made.status == 201);
  CHECK(made.text("spec", "devices", "requests") ==
        R"([{"name":"r","exactly":{"deviceClassName":"c","tolerations":[{"key":"a","operator":"Equal"}],)"
        R"("allocationMode":"ExactCount","count":1}}])");
  CHECK(made.text("status") == "{}");
  CHECK_THAT(cluster.call("PUT", kClaims + "/x", claim(R"({"name":"s","exactly":{"deviceClassName":"c"}})"))
                 .text("message"),
             Catch::Contains("spec: Invalid value"));
  for (const char* spec : {R"({"devices":{"requests":[{"name":1}]}})", R"({"devices":[]})",
                           R"({"devices":{"requests":[{"name":"r","exactly":{"count":"many"}}]}})"}) {
    CAPTURE(spec);
    const auto answer = cluster.call("POST", kClaims, object(spec));
    CHECK(answer.status == 400);
    CHECK_THAT(answer.text("message"),
               Catch::StartsWith(R"(ResourceClaim in version "v1" cannot be handled as a ResourceClaim: )"));
  }
}

TEST_CASE("admin access needs a namespace that is marked for it") {
  TestCluster cluster;
  const std::string wanted = exact(R"("adminAccess":true)");
  CHECK_THAT(
      cluster.call("POST", kClaims, wanted).text("message"),
      Catch::Contains("spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the "
                      "`resource.kubernetes.io/admin-access: true` label on the containing namespace"));
  REQUIRE(cluster
              .call("PATCH", "/api/v1/namespaces/default",
                    R"({"metadata":{"labels":{"resource.kubernetes.io/admin-access":"true"}}})", kMerge)
              .status == 200);
  CHECK(cluster.call("POST", kClaims, wanted).status == 201);
}

TEST_CASE("a claim's status: an allocation stays as it is, and may be taken back") {
  StatusCluster cluster;
  CHECK_THAT(cluster.status(users(1)),
             Catch::Contains("status.reservedFor: Forbidden: may not be specified when"));
  CHECK_THAT(
      cluster.status(
          R"("allocation":{"devices":{"results":[{"request":"s","driver":"d","pool":"p","device":"g"}]}})"),
      Catch::Contains(R"(results[0].request: Invalid value: "s")"));
  CHECK_THAT(cluster.status(fmt::format("{},{}", kAllocation, users(257))),
             Catch::Contains("status.reservedFor: Too many: 257: must have at most 256 items"));
  CHECK(cluster.status(fmt::format("{},{}", kAllocation, users(256))).empty());
  CHECK_THAT(cluster.status(R"("allocation":{"devices":{"results":[]}})"),
             Catch::Contains("status.allocation: Invalid value") && Catch::Contains("field is immutable"));
  CHECK(cluster.call("GET", kClaims + "/x").text("metadata", "name") == "x");
  CHECK(cluster.status(R"("allocation":null,"reservedFor":[])").empty());
  CHECK(cluster.status(kAllocation).empty());

  SECTION("a claim that is deleted gets no new users") {
    REQUIRE(cluster.status(users(1)).empty());
    REQUIRE(cluster.call("PATCH", kClaims + "/x", R"({"metadata":{"finalizers":["a/b"]}})", kMerge).status ==
            200);
    REQUIRE(cluster.call("DELETE", kClaims + "/x").status == 200);
    CHECK_THAT(cluster.status(users(2)), Catch::Contains("new entries may not be added while"));
    CHECK(cluster.status(R"("reservedFor":[])").empty());
  }
  SECTION("what a driver says of a device goes with the device") {
    const std::string report = R"("devices":[{"driver":"d","pool":"p","device":"g","data":{"a":1}}])";
    CHECK_THAT(cluster.status(R"("devices":[{"driver":"d","pool":"p","device":"h"}])"),
               Catch::Contains(
                   R"({"Driver":"d","Pool":"p","Device":"h","ShareID":""}: must be an allocated device)"));
    REQUIRE(cluster.status(report).empty());
    REQUIRE(cluster.status(R"("allocation":null)").empty());
    CHECK(cluster.call("GET", kClaims + "/x").text("status", "devices").empty());
  }
}

TEST_CASE("a pod's claims have names, one source each, and containers use those") {
  const auto pod = [](const std::string& claims, const std::string& uses) {
    return fmt::format(
        R"({{"metadata":{{"name":"p"}},"spec":{{"resourceClaims":[{}],"containers":[{{"name":"c","image":"i",)"
        R"("resources":{{"claims":[{}]}}}}]}}}})",
        claims, uses);
  };
  const std::string named = R"({"name":"a","resourceClaimName":"x"})";
  check({
      {"one", kPods, pod(named, R"({"name":"a","request":"r"})"), ""},
      {"no source", kPods, pod(R"({"name":"a"})", ""),
       R"(spec.resourceClaims[0]: Invalid value: {"Name":"a","ResourceClaimName":null,"ResourceClaimTemplateName":null}: )"
       "must specify one of"},
      {"two sources", kPods,
       pod(R"({"name":"a","resourceClaimName":"x","resourceClaimTemplateName":"t"})", ""),
       "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"},
      {"alike", kPods, pod(named + "," + named, ""), R"(spec.resourceClaims[1].name: Duplicate value: "a")"},
      {"none", kPods, pod("", R"({"name":"a"})"),
       R"(spec.containers[0].resources.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims )"
       "which is empty"},
      {"another", kPods, pod(named, R"({"name":"b"})"),
       R"(Not found: "b": must be one of the names in pod.spec.resourceClaims: a)"},
      {"all after a part", kPods, pod(named, R"({"name":"a","request":"r"},{"name":"a"})"),
       R"(resources.claims[1]: Duplicate value: "a")"},
  });
  TestCluster cluster;
  REQUIRE(cluster.call("POST", kPods, pod(named, "")).status == 201);
  CHECK_THAT(cluster
                 .call("PATCH", kPods + "/p/status", R"({"status":{"resourceClaimStatuses":[{"name":"b"}]}})",
                       kMerge)
                 .text("message"),
             Catch::Contains("must match the name of an entry in `spec.resourceClaims`"));
}

TEST_CASE("objects that mean harm are refused with few words") {
  std::string requests;
  for (int r = 0; r < 32; ++r) {
    std::string list;
    for (int s = 0; s < 32; ++s) {
      std::string terms = fmt::format("'{}'=='{}'", r, s);
      for (int t = 0; t < 200; ++t) terms += "||1==1";
      list += fmt::format(R"({}{{"cel":{{"expression":"{}"}}}})", s ? "," : "", terms);
    }
    requests += fmt::format(R"({}{{"name":"r{}","exactly":{{"deviceClassName":"c","selectors":[{}]}}}})",
                            r ? "," : "", r, list);
  }
  const Row rows[] = {
      {"10,000 requests", kClaims,
       claim(repeated(10'000, R"({{"name":"r{}","exactly":{{"deviceClassName":"c"}}}})")),
       "spec.devices.requests: Too many: 10000"},
      {"more expressions than anybody compiles", kClaims, claim(requests),
       "the selectors of this object are too many or too large"},
      {"mistakes in long lines", kClasses,
       object(fmt::format(R"({{"selectors":[{}]}})",
                          repeated(32, fmt::format(R"({{{{"cel":{{{{"expression":"'{}' == {{}}"}}}}}}}})",
                                                   std::string(10'000, 'x'))))),
       "found no matching overload for '_==_'"},
      {"an attribute of 64 KiB", kSlices,
       slice(
           fmt::format(R"({{"name":"g","attributes":{{"a":{{"string":"{}"}}}}}})", std::string(65'536, 'x'))),
       "spec.devices[0].attributes[a].string: Too long"},
      {"a key of 64 KiB", kSlices,
       slice(fmt::format(R"({{"name":"g","attributes":{{"{}":{{"int":1}}}}}})", std::string(65'536, 'x'))),
       "Too long: may not be more than 32 bytes"},
      {"20,000 attributes", kSlices,
       slice(fmt::format(R"({{"name":"g","attributes":{{{}}}}})", repeated(20'000, R"("-{0:05}":{{}})"))),
       "spec.devices[0]: Invalid value: 20000: the total number"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    TestCluster cluster;
    const auto answer = cluster.call("POST", row.path, row.object);
    CHECK(answer.status == 422);
    CHECK_THAT(answer.text("message"), Catch::Contains(row.message));
    CHECK(answer.body.size() < 256 * 1024);
  }
}

TEST_CASE("kubectl get shows a claim's state, and whose a slice is") {
  StatusCluster cluster;
  const std::string table = "application/json;as=Table;v=v1;g=meta.k8s.io";
  const auto cells = [&](const std::string& path) {
    const auto answer = cluster.call("GET", path, "", "application/json", table);
    return json::to_text(*find((*find(answer.doc, "rows"))[0], "cells"));
  };
  CHECK(cells(kClaims) == R"(["x","pending","0s"])");
  REQUIRE(cluster.status(kAllocation).empty());
  CHECK(cells(kClaims) == R"(["x","allocated","0s"])");
  REQUIRE(cluster.status(users(1)).empty());
  CHECK(cells(kClaims) == R"(["x","allocated,reserved","0s"])");
  REQUIRE(cluster.call("POST", kSlices, slice(R"({"name":"g"})")).status == 201);
  CHECK(cells(kSlices) == R"(["x","n","d","p","0s"])");
}
