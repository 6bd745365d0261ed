// What resource.k8s.io says of devices and claims, on objects as API servers write them.
#include <catch2/catch.hpp>

#include <string>

#include "koord/api/schema/codec.hpp"
#include "koord/api/types/resource_v1/device_class.hpp"
#include "koord/api/types/resource_v1/resource_claim.hpp"
#include "koord/api/types/resource_v1/resource_claim_template.hpp"
#include "koord/api/types/resource_v1/resource_slice.hpp"

using namespace koord::api;

namespace {

template <class T>
void survives(const std::string& text) {
  INFO(text);
  const auto object = decode<T>(text);
  REQUIRE(object.has_value());
  CHECK(encode(*object) == text);
}

}  // namespace

TEST_CASE("claims, templates, classes and slices survive a round trip") {
  survives<DeviceClass>(
      R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},"spec":{"selectors":[{"cel":{"expression":"device.driver == \"gpu.example.com\""}}],"config":[{"opaque":{"driver":"gpu.example.com","parameters":{"apiVersion":"v1","sharing":[1,"two"]}}}],"extendedResourceName":"example.com/gpu"}})");
  survives<ResourceClaim>(
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c","namespace":"shop"},"spec":{"devices":{"requests":[{"name":"one","exactly":{"deviceClassName":"gpu","selectors":[{"cel":{"expression":"true"}}],"allocationMode":"ExactCount","count":2,"adminAccess":false,"tolerations":[{"key":"sick","operator":"Exists","effect":"NoExecute","tolerationSeconds":30}],"capacity":{"requests":{"memory":"8Gi"}}}},{"name":"other","firstAvailable":[{"name":"big","deviceClassName":"gpu","allocationMode":"All"},{"name":"small","deviceClassName":"part","allocationMode":"ExactCount","count":1}]}],"constraints":[{"requests":["one"],"matchAttribute":"gpu.example.com/numa"},{"distinctAttribute":"gpu.example.com/slot"}],"config":[{"requests":["one","other/big"],"opaque":{"driver":"gpu.example.com","parameters":{}}}]}},"status":{"allocation":{"devices":{"results":[{"request":"other/small","driver":"gpu.example.com","pool":"n1","device":"gpu-0","adminAccess":true,"bindingConditions":["attached"],"bindingFailureConditions":["lost"],"shareID":"aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa","consumedCapacity":{"memory":"8Gi"}}],"config":[{"source":"FromClass","requests":["other/small"],"opaque":{"driver":"gpu.example.com","parameters":{"a":1}}}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]},"allocationTimestamp":"2026-01-02T03:04:05Z"},"reservedFor":[{"resource":"pods","name":"p","uid":"5a1b"},{"apiGroup":"apps","resource":"deployments","name":"d","uid":"6c"}],"devices":[{"driver":"gpu.example.com","pool":"n1","device":"gpu-0","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"Up","message":"up"}],"data":{"any":1},"networkData":{"interfaceName":"eth0","ips":["10.0.0.1/24"],"hardwareAddress":"ea:9f:cb:40:b1:7b"}}]}})");
  survives<ResourceClaimTemplate>(
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaimTemplate","metadata":{"name":"t","namespace":"shop"},"spec":{"metadata":{"labels":{"a":"b"}},"spec":{"devices":{"requests":[{"name":"one","exactly":{"deviceClassName":"gpu","allocationMode":"ExactCount","count":1}}]}}}})");
  survives<ResourceSlice>(
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"gpu.example.com","pool":{"name":"n1","generation":3,"resourceSliceCount":2},"devices":[{"name":"gpu-0","attributes":{"big":{"bool":false},"example.com/model":{"string":""},"numa":{"int":0},"version":{"version":"1.2.3"}},"capacity":{"memory":{"value":"80Gi","requestPolicy":{"default":"1Gi","validRange":{"min":"1Gi","max":"40Gi","step":"1Gi"}}},"slots":{"value":"4","requestPolicy":{"default":"1","validValues":["1","2"]}}},"consumesCounters":[{"counterSet":"gpu-0","counters":{"memory":{"value":"40Gi"}}}],"nodeName":"n1","taints":[{"key":"sick","value":"ecc","effect":"NoSchedule","timeAdded":"2026-01-02T03:04:05Z"}],"bindsToNode":true,"bindingConditions":["attached"],"bindingFailureConditions":["lost"],"allowMultipleAllocations":true}],"perDeviceNodeSelection":true}})");
  survives<ResourceSlice>(
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s"},"spec":{"driver":"gpu.example.com","pool":{"name":"n1","generation":3,"resourceSliceCount":2},"nodeSelector":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"Exists"}]}]},"sharedCounters":[{"name":"gpu-0","counters":{"memory":{"value":"80Gi"}}}]}})");
}

TEST_CASE("of a claim's status, consumers are merged by their uid and all else is replaced") {
  ResourceClaim before;
  before.metadata.name = "c";
  before.metadata.resource_version = "7";
  before.status.reserved_for.push_back({{}, "pods", "p", "1"});
  ResourceClaim after = before;
  after.status.reserved_for.push_back({{}, "pods", "q", "2"});
  const auto patch = diff(before, after);
  REQUIRE(patch.has_value());
  CHECK(patch->type == PatchType::strategic);
  CHECK(patch->body.find(R"("name":"q")") != std::string::npos);
  CHECK(patch->body.find(R"("name":"p")") == std::string::npos);
}
