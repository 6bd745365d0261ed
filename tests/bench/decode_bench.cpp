// Decoding a list of 100,000 pods: rate, and memory of a cached pod.
#include <fmt/format.h>
#include <malloc.h>

#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "koord/api/lists/list_decoder.hpp"
#include "koord/api/types/core_v1/pod.hpp"

namespace {

using namespace koord;
using namespace koord::api;

/// A running pod of a Deployment as an API server sends it, with the parts that koord skips.
std::string pod_json(int i) {
  const int app = i % 300;
  const std::string id =
      fmt::format("{:08x}-6f0f-4a3e-9a55-{:012x}", static_cast<unsigned>(i) * 2654435761u, i);
  const std::string owner =
      fmt::format("{:08x}-0a1b-4c2d-8e3f-{:012x}", static_cast<unsigned>(app) * 2654435761u, app);
  const std::string hash = fmt::format("{:010x}", app * 7919);
  return fmt::format(
      R"({{"metadata":{{"name":"service-{0}-{2}-{1:05x}","generateName":"service-{0}-{2}-","namespace":"team-{3}","uid":"{4}",)"
      R"("resourceVersion":"{5}","generation":1,"creationTimestamp":"2026-03-04T05:06:07Z","labels":{{"app":"service-{0}",)"
      R"("pod-template-hash":"{2}","koordinator.sh/qosClass":"LS","app.kubernetes.io/version":"1.{0}.0"}},)"
      R"("annotations":{{"prometheus.io/scrape":"true","prometheus.io/port":"9090"}},)"
      R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"service-{0}-{2}","uid":"{10}","controller":true,"blockOwnerDeletion":true}}],)"
      R"("managedFields":[{{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-03-04T05:06:07Z","fieldsType":"FieldsV1",)"
      R"("fieldsV1":{{"f:metadata":{{"f:generateName":{{}},"f:labels":{{".":{{}},"f:app":{{}},"f:pod-template-hash":{{}}}},"f:ownerReferences":{{".":{{}},"k:{{\"uid\":\"{4}\"}}":{{}}}}}},)"
      R"("f:spec":{{"f:containers":{{"k:{{\"name\":\"main\"}}":{{".":{{}},"f:image":{{}},"f:imagePullPolicy":{{}},"f:name":{{}},"f:resources":{{".":{{}},"f:limits":{{}},"f:requests":{{}}}}}}}},"f:dnsPolicy":{{}},"f:restartPolicy":{{}}}}}}}}]}},)"
      R"("spec":{{"volumes":[{{"name":"kube-api-access-{1:05x}","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},)"
      R"({{"configMap":{{"name":"kube-root-ca.crt","items":[{{"key":"ca.crt","path":"ca.crt"}}]}}}}],"defaultMode":420}}}}],)"
      R"("containers":[{{"name":"main","image":"registry.example.com/team-{3}/service-{0}:1.{0}.0","ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],)"
      R"("env":[{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}},{{"name":"LEVEL","value":"info"}}],)"
      R"("resources":{{"limits":{{"cpu":"2","memory":"4Gi"}},"requests":{{"cpu":"500m","memory":"1Gi"}}}},)"
      R"("volumeMounts":[{{"name":"kube-api-access-{1:05x}","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],)"
      R"("livenessProbe":{{"httpGet":{{"path":"/healthz","port":8080,"scheme":"HTTP"}},"timeoutSeconds":1,"periodSeconds":10}},)"
      R"("terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}}],)"
      R"("restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default",)"
      R"("nodeName":"node-{6:05}","securityContext":{{}},"schedulerName":"koord-scheduler","tolerations":[)"
      R"({{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},)"
      R"({{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],)"
      R"("priority":9000,"priorityClassName":"koord-prod","enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"}},)"
      R"("status":{{"observedGeneration":1,"phase":"Running","conditions":[)"
      R"({{"type":"PodReadyToStartContainers","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-04T05:06:09Z"}},)"
      R"({{"type":"Initialized","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-04T05:06:08Z"}},)"
      R"({{"type":"Ready","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-04T05:06:09Z"}},)"
      R"({{"type":"ContainersReady","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-04T05:06:09Z"}},)"
      R"({{"type":"PodScheduled","status":"True","lastProbeTime":null,"lastTransitionTime":"2026-03-04T05:06:08Z"}}],)"
      R"("hostIP":"10.0.{7}.{8}","hostIPs":[{{"ip":"10.0.{7}.{8}"}}],"podIP":"10.{9}.{7}.{8}","podIPs":[{{"ip":"10.{9}.{7}.{8}"}}],"startTime":"2026-03-04T05:06:08Z",)"
      R"("containerStatuses":[{{"name":"main","state":{{"running":{{"startedAt":"2026-03-04T05:06:09Z"}}}},"lastState":{{}},"ready":true,"restartCount":0,)"
      R"("image":"registry.example.com/team-{3}/service-{0}:1.{0}.0","imageID":"registry.example.com/team-{3}/service-{0}@sha256:{0:064x}",)"
      R"("containerID":"containerd://{1:064x}","started":true}}],"qosClass":"Burstable"}}}})",
      app, i, hash, app % 50, id, 1'000'000 + i, i % 5000, i / 256 % 256, i % 256, 1 + i / 65536, owner);
}

/// Of this process: what else runs on the machine does not show.
double cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

size_t heap() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 100'000;
  std::string list = R"({"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[)";
  for (int i = 0; i < count; ++i) {
    if (i > 0) list.push_back(',');
    list += pod_json(i);
  }
  list += "]}";
  list.reserve(list.size() + 16);  // a reader that works in place may look beyond the end

  std::vector<std::shared_ptr<const Pod>> cache;
  cache.reserve(static_cast<size_t>(count));
  const size_t before = heap();
  int bad = 0;
  const double began = cpu_seconds();
  const auto meta = decode_list<Pod>(
      list, [&](std::shared_ptr<const Pod> pod) { cache.push_back(std::move(pod)); },
      [&](const Pod&, const Error& error) {
        if (bad++ == 0) fmt::print("bad pod: {}\n", error.message());
      });
  const double took = cpu_seconds() - began;
  if (!meta || bad > 0 || cache.size() != static_cast<size_t>(count)) {
    fmt::print("decoding failed: {}\n", meta ? "bad pods" : meta.error().message());
    return 1;
  }
  const size_t used = heap() - before;
  fmt::print(
      "| pods | JSON bytes a pod | pods/s of CPU time | MB/s of CPU time | us a pod | heap bytes a pod | "
      "goal "
      "|\n|---|---|---|---|---|---|---|\n");
  fmt::print("| {} | {} | {:.0f} | {:.0f} | {:.1f} | {} | 2048 |\n", count,
             list.size() / static_cast<size_t>(count), count / took,
             static_cast<double>(list.size()) / 1e6 / took, took / count * 1e6,
             used / static_cast<size_t>(count));
  fmt::print(
      "sizeof: Pod {} ObjectMeta {} PodSpec {} PodStatus {} Container {} ContainerStatus {} PodCondition {} "
      "Toleration {} Volume {}\n",
      sizeof(Pod), sizeof(ObjectMeta), sizeof(PodSpec), sizeof(PodStatus), sizeof(Container),
      sizeof(ContainerStatus), sizeof(PodCondition), sizeof(Toleration), sizeof(Volume));
  return 0;
}
