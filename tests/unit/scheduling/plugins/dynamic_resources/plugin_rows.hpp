// The rows of kube-scheduler's own test of DynamicResources, as what a pod is told and its claims get.
#pragma once

#include <string>
#include <vector>

#include "plugins/dynamic_resources/claim_rig.hpp"

namespace koord::scheduling::test {

struct PluginRow {
  const char* name;
  std::vector<std::string> claims;
  std::vector<std::string> classes = {class_json()};
  std::vector<std::string> slices = {};
  std::string says;  // of the attempt; "" if the pod is kept out of the queue
  std::string has = {};
  std::vector<std::string> writes = {};
  std::string gates = {};
  std::vector<std::string> nodes = {kNode};
  std::shared_ptr<const api::Pod> pod = claim_pod();
  std::string args = {};
};

inline std::string none_fits(const std::string& why, const std::string& then = "still not schedulable") {
  return "0/1 nodes are available: 1 " + why + ". " + then;
}
inline std::string not_looked(const std::string& why,
                              const std::string& then = "no new claims to deallocate") {
  return "0/1 nodes are available: " + why + ". " + then;
}

inline std::vector<PluginRow> plugin_rows() {
  const std::string pending = claim_json(one_request()), slice = slice_json(kNode);
  const std::string healthy = R"(,"attributes":{"healthy":{"bool":true}})";
  const std::string broken =
      R"("selectors":[{"cel":{"expression":"device.attributes[\"some-driver\"].healthy"}}])";
  const std::string other = claim_json(one_request(), allocated(), "not-my-claim");
  const std::string both = std::string("PUT ") + kClaim, status = both + "/status";
  const std::string given = "req-1=instance-1@worker; my-pod", bound = "bound to worker";
  const auto subrequest = [](int number, int count, const std::string& more = "",
                             const std::string& device_class = kClass) {
    return fmt::format(
        R"({{"name":"subreq-{}","deviceClassName":"{}","allocationMode":"ExactCount","count":{}{}}})", number,
        device_class, count, more);
  };
  const auto first_of = [](const std::string& ways, int number = 1) {
    return fmt::format(R"({{"name":"req-{}","firstAvailable":[{}]}})", number, ways);
  };
  const auto labelled = [](const char* key, const char* value) {
    return fmt::format(R"({{"matchExpressions":[{{"key":"{}","operator":"In","values":["{}"]}}]}})", key,
                       value);
  };
  const std::string gone = "no-such-label";
  const std::string binding = "DRADeviceBindingConditions=true",
                    conditions =
                        R"(,"bindingConditions":["condition"],"bindingFailureConditions":["failed"])";
  const auto device_status = [](const char* condition, const char* failed) {
    return fmt::format(
        R"(,"devices":[{{"driver":"some-driver","pool":"worker","device":"instance-1","conditions":[{{"type":"condition","status":"{}"}},{{"type":"failed","status":"{}","reason":"Broken","message":"it is"}}]}}])",
        condition, failed);
  };
  // Since when it is allocated, as the rig's world begins (22:15:00): longer than a binding may take, and not
  // yet.
  const std::string kTooLong = "2023-11-14T22:04:59Z", kNearly = "2023-11-14T22:05:10Z";
  const auto since = [](const std::string& time, std::string allocation) {
    allocation.insert(allocation.find(R"("devices")"), fmt::format(R"("allocationTimestamp":"{}",)", time));
    return allocation;
  };
  // It has another device.
  const auto second = [](std::string claim) {
    for (std::size_t at = 0; (at = claim.find("instance-1", at)) != std::string::npos;)
      claim.replace(at, 10, "instance-2");
    return claim;
  };
  const std::string kFinalized = "resource.kubernetes.io/delete-protection";
  std::string finalized = pending;
  finalized.replace(finalized.find(R"("ownerReferences")"), 0,
                    fmt::format(R"("finalizers":["{}"],)", kFinalized));
  std::string going = claim_json(one_request(), allocated());
  going.replace(going.find(R"("ownerReferences")"), 0, R"("deletionTimestamp":"2026-01-02T03:04:05Z",)");
  std::string of_another = claim_json(one_request(), allocated());
  of_another.replace(of_another.find(R"("uid":"1234")"), 12, R"("uid":"1234123")");
  const auto missing = [](const char* what) {
    return not_looked(fmt::format("request {}: device class does-not-exist does not exist", what));
  };

  return {
      {.name = "claim-reference",
       .claims = {claim_json(one_request(), allocated()), other},
       .says = bound,
       .has = given,
       .writes = {status}},
      {.name = "claim-template",
       .claims = {claim_json(one_request(), allocated()), other},
       .says = bound,
       .has = given,
       .writes = {status},
       .pod = claim_pod({kClaim}, true)},
      {.name = "missing-claim",
       .claims = {claim_json(one_request(), allocated())},
       .says = "",
       .has = "req-1=instance-1@worker",
       .pod = claim_pod({""}, true)},
      {.name = "deleted-claim",
       .claims = {going},
       .says = "",
       .has = "req-1=instance-1@worker",
       .pod = claim_pod({kClaim}, true)},
      {.name = "wrong-claim",
       .claims = {of_another},
       .says = "",
       .has = "req-1=instance-1@worker",
       .pod = claim_pod({kClaim}, true)},
      {.name = "no-resources", .claims = {pending}, .says = none_fits("cannot allocate all claims")},
      {.name = "with-resources",
       .claims = {pending},
       .slices = {slice},
       .says = bound,
       .has = given,
       .writes = {both, status}},
      {.name = "with-resources-has-finalizer",
       .claims = {finalized},
       .slices = {slice},
       .says = bound,
       .has = given,
       .writes = {status}},
      {.name = "exhausted-resources",
       .claims = {pending, other},
       .slices = {slice},
       .says = none_fits("cannot allocate all claims")},
      {.name = "tainted-device-disabled",
       .claims = {pending},
       .slices = {slice_json(kNode, 1, R"(,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}])")},
       .says = bound,
       .has = given,
       .writes = {both, status}},
      {.name = "tainted-device-enabled",
       .claims = {pending},
       .slices = {slice_json(kNode, 1, R"(,"taints":[{"key":"k","value":"v","effect":"NoSchedule"}])")},
       .says = none_fits("cannot allocate all claims"),
       .gates = "DRADeviceTaints=true"},
      {.name = "request-admin-access-with-DRAAdminAccess-featuregate",
       .claims = {claim_json(one_request(R"(,"adminAccess":true)")), other},
       .slices = {slice},
       .says = bound,
       .has = given,
       .writes = {both, status}},
      {.name = "request-admin-access-without-DRAAdminAccess-featuregate",
       .claims = {claim_json(one_request(R"(,"adminAccess":true)")), other},
       .slices = {slice},
       .says =
           R"(running "DynamicResources" filter plugin: claim default/my-pod-my-resource, request req-1: )"
           "admin access is requested, but the feature is disabled",
       .gates = "DRAAdminAccess=false"},
      {.name = "structured-ignore-allocated-admin-access",
       .claims = {pending,
                  claim_json(one_request(), allocated("", R"(,"adminAccess":true)"), "not-my-claim")},
       .slices = {slice},
       .says = bound,
       .has = given,
       .writes = {both, status}},
      {.name = "claim-parameters-CEL-runtime-error",
       .claims = {claim_json(one_request("," + broken))},
       .slices = {slice},
       .says = R"(running "DynamicResources" filter plugin: claim default/my-pod-my-resource: selector #0: )"
               "CEL runtime error: no such key: healthy"},
      {.name = "class-parameters-CEL-runtime-error",
       .claims = {pending},
       .classes = {class_json("{" + broken + "}")},
       .slices = {slice},
       .says = R"(running "DynamicResources" filter plugin: class my-resource-class: selector #0: )"
               "CEL runtime error: no such key: healthy"},
      {.name = "CEL-runtime-error-for-one-of-two-nodes",
       .claims = {claim_json(one_request("," + broken))},
       .slices = {slice, slice_json("worker-2", 1, healthy)},
       .says = R"(running "DynamicResources" filter plugin: claim default/my-pod-my-resource: selector #0: )"
               "CEL runtime error: no such key: healthy",
       .nodes = {kNode, "worker-2"}},
      {.name = "missing-class",
       .claims = {pending},
       .classes = {},
       .says = not_looked("request req-1: device class my-resource-class does not exist")},
      {.name = "good-topology",
       .claims = {claim_json(one_request(), allocated(labelled("kubernetes.io/hostname", kNode)))},
       .says = bound,
       .has = given,
       .writes = {status}},
      {.name = "wrong-topology",
       .claims = {claim_json(one_request(), allocated(labelled("no-such-label", "no-such-value")))},
       .says =
           none_fits("resourceclaim not available on the node", "deallocation of ResourceClaim completed"),
       .has = "req-1=instance-1@worker"},
      {.name = "wrong topology, and somebody else uses it",
       .claims = {claim_json(one_request(), allocated(labelled("no-such-label", "no-such-value"), "",
                                                      kept_for("another", "another")))},
       .says = none_fits("resourceclaim not available on the node"),
       .has = "req-1=instance-1@worker; another"},
      {.name = "reserved-okay",
       .claims = {claim_json(one_request(), allocated("", "", kept_for()))},
       .says = bound,
       .has = given},
      {.name = "claim-with-request-with-unknown-device-class",
       .claims = {claim_json(one_request("", "does-not-exist"))},
       .says = missing("req-1")},
      {.name = "claim-with-prioritized-list-feature-disabled",
       .claims = {claim_json(first_of(subrequest(1, 1)))},
       .says =
           not_looked("resource claim default/my-pod-my-resource, request req-1: has subrequests, but the "
                      "DRAPrioritizedList feature is disabled"),
       .gates = "DRAPrioritizedList=false"},
      {.name = "claim-with-prioritized-list-unknown-device-class",
       .claims = {claim_json(first_of(subrequest(1, 1, "", "does-not-exist")))},
       .says = missing("req-1/subreq-1")},
      {.name = "claim-with-prioritized-list",
       .claims = {claim_json(first_of(subrequest(1, 1)))},
       .slices = {slice},
       .says = bound,
       .has = "req-1/subreq-1=instance-1@worker; my-pod",
       .writes = {both, status}},
      {.name = "timeout_zero",
       .claims = {pending},
       .slices = {slice},
       .says = bound,
       .has = given,
       .writes = {both, status},
       .args = R"({"filterTimeout":"0s"})"},
      {.name = "timeout_disabled",
       .claims = {pending},
       .slices = {slice},
       .says = bound,
       .has = given,
       .writes = {both, status},
       .gates = "DRASchedulerFilterTimeout=false"},
      {.name = "bound-claim-with-succeeded-binding-conditions",
       .claims = {claim_json(one_request(), allocated("", conditions, device_status("True", "False")))},
       .says = bound,
       .has = given,
       .writes = {status},
       .gates = binding},
      {.name = "bound-claim-with-failed-binding",
       .claims = {claim_json(one_request(), allocated("", conditions, device_status("False", "True")))},
       .says =
           none_fits("resourceclaim not available on the node", "deallocation of ResourceClaim completed"),
       .has = "req-1=instance-1@worker",
       .gates = binding},
      {.name = "CEL-runtime-error-for-one-of-three-nodes",
       .claims = {claim_json(one_request("," + broken))},
       .slices = {slice, slice_json("worker-2", 1, healthy), slice_json("worker-3", 1, healthy)},
       .says = R"(running "DynamicResources" filter plugin: claim default/my-pod-my-resource: selector #0: )"
               "CEL runtime error: no such key: healthy",
       .nodes = {kNode, "worker-2", "worker-3"}},
      {.name = "bound-claim-without-binding-conditions",
       .claims = {claim_json(one_request(), allocated()), claim_json(one_request(), "{}", "not-my-claim")},
       .says = bound,
       .has = given,
       .writes = {status},
       .gates = binding,
       .pod = claim_pod({kClaim}, true)},
      {.name = "bound-claim-with-timed-out-binding",
       .claims = {claim_json(one_request(),
                             since(kTooLong, allocated("", conditions, device_status("False", "False"))))},
       .says =
           none_fits("resourceclaim not available on the node", "deallocation of ResourceClaim completed"),
       .has = "req-1=instance-1@worker",
       .gates = binding},
      {.name = "bound-claim-with-mixed-binding-conditions",
       .claims = {claim_json(one_request(),
                             since(kTooLong, allocated("", R"(,"bindingConditions":["condition","failed"])",
                                                       device_status("True", "False"))))},
       .says =
           none_fits("resourceclaim not available on the node", "deallocation of ResourceClaim completed"),
       .has = "req-1=instance-1@worker",
       .gates = binding},
      {.name = "prebind-fail-with-binding-timeout",
       .claims = {claim_json(one_request(),
                             since(kNearly, allocated("", conditions, device_status("False", "False"))))},
       .says = "failed: claim my-pod-my-resource binding timeout",
       .has = given,
       .writes = {status},
       .gates = binding,
       .args = R"({"bindingTimeout":"600s"})"},
      {.name = "multi-claims-binding-conditions-all-success",
       .claims = {claim_json(one_request(), allocated("", conditions, device_status("True", "False"))),
                  second(claim_json(one_request(), allocated("", conditions, device_status("True", "False")),
                                    "another"))},
       .says = bound,
       .has = given,
       .writes = {status, "PUT another/status"},
       .gates = binding,
       .pod = claim_pod({kClaim, "another"})},
      {.name = "multi-claims-binding-conditions-one-fail",
       .claims = {claim_json(one_request(), allocated("", conditions, device_status("True", "False"))),
                  second(claim_json(one_request(), allocated("", conditions, device_status("False", "True")),
                                    "another"))},
       .says =
           none_fits("resourceclaim not available on the node", "deallocation of ResourceClaim completed"),
       .has = "req-1=instance-1@worker",
       .gates = binding,
       .pod = claim_pod({kClaim, "another"})},
      {.name = "prioritized-list-scoring: the better way",
       .claims = {claim_json(first_of(subrequest(1, 2) + "," + subrequest(2, 1)))},
       .slices = {slice, slice_json("worker-2", 2)},
       .says = "bound to worker-2",
       .has = "req-1/subreq-1=instance-1@worker-2 req-1/subreq-1=instance-2@worker-2; my-pod",
       .writes = {both, status},
       .nodes = {kNode, "worker-2"}},
      {.name = "a claim that has devices and one that asks for the better way",
       .claims =
           {claim_json(
                one_request(),
                R"({"allocation":{"devices":{"results":[]}},"reservedFor":[{"resource":"pods","name":"my-pod","uid":"1234"}]})",
                "shared"),
            claim_json(first_of(subrequest(1, 2) + "," + subrequest(2, 1)))},
       .slices = {slice, slice_json("worker-2", 2)},
       .says = "bound to worker-2",
       .has = "req-1/subreq-1=instance-1@worker-2 req-1/subreq-1=instance-2@worker-2; my-pod",
       .writes = {both, status},
       .nodes = {kNode, "worker-2"},
       .pod = claim_pod({"shared", kClaim})},
  };
}

}  // namespace koord::scheduling::test
