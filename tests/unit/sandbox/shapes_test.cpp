// Whatever stands in a place of an object where it does not belong, the API answers: with the object, or with
// what is wrong.
#include <catch2/catch.hpp>

#include "live_cluster.hpp"

using namespace koord;
using namespace koord::sandbox;

namespace {

struct Row {
  const char* path;
  const char* object;
};

constexpr Row kRows[] = {
    {"/api/v1/namespaces/default/pods",
     R"({"metadata":{"name":"o","labels":{"a":"b"},"annotations":{"a":"b"},"finalizers":["a/b"],)"
     R"("ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]},)"
     R"("spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"env":[{"name":"A","value":"b"}],)"
     R"("resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}},"volumeMounts":[{"name":"v","mountPath":"/v"}]}],)"
     R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}},)"
     R"({"name":"e","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}],)"
     R"("tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":3}],"nodeSelector":{"a":"b"},)"
     R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":)"
     R"([{"key":"a","operator":"In","values":["b"]}]}]}}},"topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"z",)"
     R"("whenUnsatisfiable":"DoNotSchedule","labelSelector":{"matchLabels":{"a":"b"}}}],"priorityClassName":"system-node-critical",)"
     R"("schedulingGates":[{"name":"a/b"}],"overhead":{"cpu":"1"},"terminationGracePeriodSeconds":3}})"},
    {"/api/v1/nodes",
     R"({"metadata":{"name":"o"},"spec":{"taints":[{"key":"a","effect":"NoSchedule"}],"unschedulable":true},)"
     R"("status":{"capacity":{"cpu":"1"},"allocatable":{"cpu":"1"},"conditions":[{"type":"Ready","status":"True"}]}})"},
    {"/apis/apps/v1/namespaces/default/deployments",
     R"({"metadata":{"name":"o"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"strategy":{"type":"RollingUpdate",)"
     R"("rollingUpdate":{"maxSurge":"25%","maxUnavailable":1}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})"},
    {"/apis/apps/v1/namespaces/default/statefulsets",
     R"({"metadata":{"name":"o"},"spec":{"replicas":1,"serviceName":"s","selector":{"matchLabels":{"a":"b"}},"ordinals":{"start":1},)"
     R"("persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete"},"volumeClaimTemplates":[{"metadata":{"name":"v"},)"
     R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],)"
     R"("template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})"},
    {"/apis/batch/v1/namespaces/default/jobs",
     R"({"metadata":{"name":"o"},"spec":{"completions":2,"parallelism":1,"backoffLimit":1,"completionMode":"Indexed","activeDeadlineSeconds":9,)"
     R"("ttlSecondsAfterFinished":9,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}})"},
    {"/api/v1/namespaces/default/services",
     R"({"metadata":{"name":"o"},"spec":{"type":"ClusterIP","selector":{"a":"b"},"ports":[{"port":80,"targetPort":"http"}]}})"},
    {"/apis/policy/v1/namespaces/default/poddisruptionbudgets",
     R"({"metadata":{"name":"o"},"spec":{"minAvailable":"50%","selector":{"matchLabels":{"a":"b"},"matchExpressions":)"
     R"([{"key":"a","operator":"In","values":["b"]}]}}})"},
    {"/api/v1/namespaces/default/persistentvolumeclaims",
     R"({"metadata":{"name":"o"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},"storageClassName":"s",)"
     R"("selector":{"matchLabels":{"a":"b"}}}})"},
    {"/api/v1/persistentvolumes",
     R"({"metadata":{"name":"o"},"spec":{"capacity":{"storage":"1Gi"},"accessModes":["ReadWriteOnce"],"hostPath":{"path":"/a"},)"
     R"("claimRef":{"namespace":"default","name":"c"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchExpressions":)"
     R"([{"key":"a","operator":"In","values":["b"]}]}]}},"persistentVolumeReclaimPolicy":"Retain"}})"},
    {"/apis/storage.k8s.io/v1/storageclasses",
     R"({"metadata":{"name":"o","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"p",)"
     R"("allowedTopologies":[{"matchLabelExpressions":[{"key":"a","values":["b"]}]}],"volumeBindingMode":"Immediate"})"},
    {"/apis/scheduling.k8s.io/v1/priorityclasses",
     R"({"metadata":{"name":"o"},"value":7,"globalDefault":true,"preemptionPolicy":"Never"})"},
    {"/apis/scheduling.k8s.io/v1alpha1/namespaces/default/workloads",
     R"({"metadata":{"name":"o"},"spec":{"controllerRef":{"apiGroup":"batch","kind":"Job","name":"j"},"podGroups":)"
     R"([{"name":"a","policy":{"gang":{"minCount":3}}},{"name":"b","policy":{"basic":{}}}]}})"},
    {"/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups",
     R"({"metadata":{"name":"o"},"spec":{"schedulingPolicy":{"gang":{"minCount":3}},"schedulingConstraints":)"
     R"({"topology":[{"key":"rack"}]},"disruptionMode":{"all":{}}}})"},
    {"/apis/coordination.k8s.io/v1/namespaces/default/leases",
     R"({"metadata":{"name":"o"},"spec":{"holderIdentity":"h","leaseDurationSeconds":4,"renewTime":"2026-01-02T00:00:00.000000Z"}})"},
    {"/api/v1/namespaces", R"({"metadata":{"name":"o"},"spec":{"finalizers":["kubernetes"]}})"},
    {"/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
     R"({"metadata":{"name":"os.x.io"},"spec":{"group":"x.io","scope":"Namespaced","names":{"plural":"os","kind":"O","shortNames":["oo"]},)"
     R"("versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},"additionalPrinterColumns":)"
     R"([{"name":"A","type":"string","jsonPath":".spec.a"}],"schema":{"openAPIV3Schema":{"type":"object","properties":)"
     R"({"spec":{"type":"object","properties":{"a":{"type":"string","default":"b","pattern":"^b$"},"l":{"type":"array","items":{"type":"integer"}}}}}}}}]}})"},
    {"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
     R"({"metadata":{"name":"o"},"webhooks":[{"name":"a.b.c","clientConfig":{"url":"https://127.0.0.1:1/x"},"sideEffects":"None",)"
     R"("admissionReviewVersions":["v1"],"rules":[{"operations":["CREATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"]}],)"
     R"("namespaceSelector":{"matchLabels":{"a":"b"}}}]})"},
};

constexpr const char* kWrong[] = {"7", R"("x")", "[]", "{}", "null", "[7]", R"({"a":7})"};

// Every place of a value in a document, as the values' order when it is walked.
std::size_t count(const json::Value& value) {
  std::size_t all = 1;
  for (const json::Value& each : value.elements()) all += count(each);
  for (const json::Member& each : value.members()) all += count(each.value);
  return all;
}

json::Value* at(json::Value& value, std::size_t& place) {
  if (place-- == 0) return &value;
  for (json::Value& each : value.elements())
    if (json::Value* found = at(each, place)) return found;
  for (json::Member& each : value.members())
    if (json::Value* found = at(each.value, place)) return found;
  return nullptr;
}

}  // namespace

TEST_CASE("an object with anything in any place is taken or refused, shown and removed") {
  LiveCluster cluster(1);
  std::size_t taken = 0, refused = 0;
  for (const Row& row : kRows) {
    CAPTURE(row.path);
    json::Document whole;
    REQUIRE(whole.read(row.object).has_value());
    const auto name = [&](const json::Value& object) {
      return std::string(text_at(object, "metadata", "name"));
    };
    REQUIRE(cluster.call("POST", row.path, row.object).status == 201);
    for (std::size_t place = 1; place < count(whole); ++place)
      for (const char* wrong : kWrong) {
        json::Document doc, value;
        REQUIRE(doc.read(row.object).has_value());
        REQUIRE(value.read(wrong).has_value());
        std::size_t left = place;
        *at(doc, left) = clone(value, doc.arena());
        const std::string body = json::to_text(doc);
        CAPTURE(body);
        const bool is_new = (place + taken + refused) % 2 == 0;  // else it replaces the right one
        const auto answer = is_new ? cluster.call("POST", fmt::format("{}?dryRun=All", row.path), body)
                                   : cluster.call("PUT", fmt::format("{}/{}", row.path, name(whole)), body);
        CHECK((answer.status / 100 == 2 || answer.status / 100 == 4));
        ++(answer.status / 100 == 2 ? taken : refused);
      }
    const auto table =
        cluster.call("GET", row.path, "", "application/json", "application/json;as=Table;v=v1;g=meta.k8s.io");
    CHECK(table.status == 200);
    cluster.settle();
    CHECK(cluster.call("DELETE", fmt::format("{}/{}", row.path, name(whole))).status / 100 == 2);
    cluster.settle();
  }
  CHECK(taken > 200);
  CHECK(refused > 1500);
}
